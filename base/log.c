#include "base/log.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "base/rate.h"
#include "base/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

static const char *const levels[] = {"error: ", "warning: ", "", "debug: "};
static const char *const words[] = {"error", "warning", "info", "debug"};

#define LINE 1024
#define KINDS 128
#define WINDOW_MS 60000

/* Lines of one format. */
struct log_kind {
    const char *format; /* NULL: a vacant place */
    enum log_level level;
    struct rate rate;
    unsigned long held; /* lines that were held back */
    int64_t since_ms;
    char last[LINE];
};

struct log_meter {
    pthread_mutex_t mutex;
    size_t at_once;
    struct log_kind kind[KINDS]; /* the last is shared by all that find no place */
};

/* --- lines ----------------------------------------------------------------------------------- */

/* What follows a line end is indented, so that it does not look like a line of its own. */
static void put(FILE *file, const char *prefix, enum log_level level, const char *line)
{
    fputs(prefix != NULL ? prefix : "", file);
    fputs(levels[level], file);
    for (; *line != '\0'; line++) {
        fputc(*line, file);
        if (*line == '\n' && (line[1] != ' ' || line[2] != ' '))
            fputs("  ", file);
    }
    fputc('\n', file);
}

/* `text` has no control characters but line ends: text_tame(), or a format. */
static void put_json_text(FILE *file, const char *name, const char *text)
{
    fprintf(file, ",\"%s\":\"", name);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        if (*text == '\n')
            fputs("\\n", file);
        else
            fputc(*text, file);
    }
    fputc('"', file);
}

static void put_json(const struct log *log, enum log_level level, const char *kind,
                     const char *line)
{
    fprintf(log->file, "{\"time\":\"%s\"", date_text(date_now()).text);
    put_json_text(log->file, "level", words[level]);
    if (log->study != NULL) {
        put_json_text(log->file, "study", log->study);
        fprintf(log->file, ",\"server\":%u", log->server);
    }
    put_json_text(log->file, "kind", kind);
    put_json_text(log->file, "text", line);
    fputs("}\n", log->file);
}

static void write_line(const struct log *log, enum log_level level, const char *kind,
                       const char *line)
{
    if (log->before != NULL)
        log->before(log->self);
    fflush(stdout); /* so that both stand in order where they share a file */
    flockfile(log->file);
    if (log->json)
        put_json(log, level, kind, line);
    else {
        if (log->dated)
            fprintf(log->file, "%s ", date_text(date_now()).text);
        put(log->file, log->prefix, level, line);
    }
    fflush(log->file);
    funlockfile(log->file);
}

/* --- how many -------------------------------------------------------------------------------- */

struct log_meter *log_meter_new(size_t at_once)
{
    struct log_meter *m = memory_array(1, sizeof *m);
    if (m == NULL)
        return NULL;
    pthread_mutex_init(&m->mutex, NULL);
    m->at_once = at_once;
    return m;
}

static void tell_held(const struct log *log, struct log_kind *k, int64_t now)
{
    char line[LINE + 64];
    if (k->held == 0)
        return;
    snprintf(line, sizeof line, "%lu more like this in %.0f s, the last: %s", k->held,
             (double)(now - k->since_ms) / 1000, k->last);
    k->held = 0;
    write_line(log, k->level, k->format, line);
}

static struct log_kind *kind_of(struct log_meter *m, const char *format)
{
    size_t i = 0;
    while (i < KINDS - 1 && m->kind[i].format != NULL && m->kind[i].format != format)
        i++;
    return &m->kind[i];
}

/* Whether a line may be written now; if not, it is counted. */
static bool may_pass(struct log_meter *m, enum log_level level, const char *format,
                     const char *line)
{
    const int64_t now = clock_now_ms();
    struct log_kind *k = kind_of(m, format);
    size_t at_once = level <= LOG_WARN ? LOG_METER_WARNINGS : m->at_once;
    k->format = format;
    if (rate_take(&k->rate, 1.0 / LOG_METER_S, (double)at_once, now))
        return true;
    if (k->held++ == 0)
        k->since_ms = now;
    k->level = level;
    snprintf(k->last, sizeof k->last, "%s", line);
    return false;
}

static void tend(const struct log *log, int64_t older_than)
{
    const int64_t now = clock_now_ms();
    struct log_meter *m = log->meter;
    pthread_mutex_lock(&m->mutex);
    for (size_t i = 0; i < KINDS; i++)
        if (now - m->kind[i].since_ms >= older_than)
            tell_held(log, &m->kind[i], now);
    pthread_mutex_unlock(&m->mutex);
}

void log_tend(struct log *log)
{
    if (log != NULL && log->meter != NULL)
        tend(log, WINDOW_MS);
}

void log_meter_free(struct log *log)
{
    if (log->meter == NULL)
        return;
    tend(log, 0);
    pthread_mutex_destroy(&log->meter->mutex);
    memory_free(&log->meter);
}

/* --- messages -------------------------------------------------------------------------------- */

static void write_metered(const struct log *log, enum log_level level, const char *format,
                          const char *line)
{
    if (log->meter == NULL) {
        write_line(log, level, format, line);
        return;
    }
    pthread_mutex_lock(&log->meter->mutex);
    if (may_pass(log->meter, level, format, line))
        write_line(log, level, format, line);
    pthread_mutex_unlock(&log->meter->mutex);
}

static void emit(struct log *log, enum log_level level, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void emit(struct log *log, enum log_level level, const char *format, va_list args)
{
    char line[LINE];
    if (log == NULL || level > log->level)
        return;
    if (vsnprintf(line, sizeof line, format, args) < 0)
        return;
    text_tame(line);
    if (log->file != NULL)
        write_metered(log, level, format, line);
    if (log->buffer != NULL && log->buffer_size > 0) {
        size_t used = strlen(log->buffer);
        snprintf(log->buffer + used, log->buffer_size - used, "%s%s\n", levels[level], line);
    }
}

#define DEFINE(name, level)                                                                        \
    void name(struct log *log, const char *format, ...)                                            \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        emit(log, level, format, args);                                                            \
        va_end(args);                                                                              \
    }

DEFINE(log_error, LOG_ERROR)
DEFINE(log_warn, LOG_WARN)
DEFINE(log_info, LOG_INFO)
DEFINE(log_debug, LOG_DEBUG)

enum err log_fail(struct log *log, enum err e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(log, LOG_ERROR, format, args);
    va_end(args);
    return e;
}

const char *log_first(char *buffer)
{
    buffer[strcspn(buffer, "\n")] = '\0';
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        size_t n = strlen(levels[i]);
        if (n > 0 && strncmp(buffer, levels[i], n) == 0)
            return buffer + n;
    }
    return buffer;
}
