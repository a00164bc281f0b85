#include "base/log.h"

#include <stdarg.h>
#include <string.h>

static const char *const levels[] = {"error: ", "warning: ", "", "debug: "};

static void emit(struct log *log, enum log_level level, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void emit(struct log *log, enum log_level level, const char *format, va_list args)
{
    char line[1024];
    int n;

    if (log == NULL || level > log->level)
        return;
    n = vsnprintf(line, sizeof line, format, args);
    if (n < 0)
        return;
    if (log->file != NULL) {
        if (log->before != NULL)
            log->before(log->self);
        fflush(stdout); /* so that messages stand where they belong, also in a file */
        flockfile(log->file);
        fprintf(log->file, "%s%s%s\n", log->prefix != NULL ? log->prefix : "", levels[level], line);
        fflush(log->file);
        funlockfile(log->file);
    }
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
