#include "base/line.h"

#include "base/file.h"

#include <stdarg.h>
#include <string.h>

#define MESSAGE_SIZE 512

static enum err begin(struct line_reader *r, const char *path, struct log *log)
{
    bytes_put_u8(&r->text, 0);
    r->path = path;
    r->log = log;
    r->next = r->number = 0;
    return bytes_ok(&r->text);
}

enum err line_file(struct line_reader *r, const char *path, size_t limit, struct log *log)
{
    TRY(file_read(path, limit, &r->text, log));
    return begin(r, path, log);
}

enum err line_text(struct line_reader *r, const char *path, const void *text, size_t n,
                   struct log *log)
{
    bytes_set(&r->text, text, n);
    return begin(r, path, log);
}

void line_clear(struct line_reader *r)
{
    bytes_clear(&r->text);
}

char *line_next(struct line_reader *r)
{
    char *line = (char *)r->text.data + r->next, *end;
    size_t n = r->text.size - r->next - 1;
    r->number++;
    if (n == 0)
        return NULL;
    end = memchr(line, '\n', n);
    r->cut = end == NULL;
    n = r->cut ? n : (size_t)(end - line);
    r->next += n + !r->cut;
    for (size_t i = 0; i < n; i++)
        if (line[i] == '\0')
            line[i] = '\x01';
    line[n > 0 && line[n - 1] == '\r' ? n - 1 : n] = '\0';
    return line;
}

bool line_says_nothing(const char *line)
{
    return line[0] == '\0' || (line[0] == '#' && strchr(line, '\x01') == NULL);
}

char *line_value(char *line, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

enum err line_fail(const struct line_reader *r, enum err e, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return log_fail(r->log, e, "%s:%zu: %s", r->path, r->number, message);
}
