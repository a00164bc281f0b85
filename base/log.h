/*
 * base/log.h - messages for people.
 *
 * A log is a small value that a context carries; there is no global one. Formats are checked as
 * printf's, and the build makes a mismatch an error: since shares are struct types, a share cannot
 * be passed to a log call (tests/nocompile proves it). A NULL log swallows everything.
 */
#ifndef TREFOIL_BASE_LOG_H
#define TREFOIL_BASE_LOG_H

#include <stddef.h>
#include <stdio.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
    FILE *file;           /* where lines go, or NULL */
    char *buffer;         /* a second, bounded sink, always NUL-ended, or NULL */
    size_t buffer_size;   /* bytes in buffer, the NUL counted */
    enum log_level level; /* lines above this level are dropped */
    const char *prefix;   /* stands before each line, or NULL */
    /* Called before a line goes to `file`, such as to take away a display there; or NULL. */
    void (*before)(void *self);
    void *self;
};

#define LOG_FORMAT __attribute__((format(printf, 2, 3)))

void log_error(struct log *log, const char *format, ...) LOG_FORMAT;
void log_warn(struct log *log, const char *format, ...) LOG_FORMAT;
void log_info(struct log *log, const char *format, ...) LOG_FORMAT;
void log_debug(struct log *log, const char *format, ...) LOG_FORMAT;

/*
 * The first message of a buffer that a log has written into, without its level: to be told elsewhere. Cuts the rest off.
 */
const char *log_first(char *buffer);

#endif
