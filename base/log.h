/*
 * base/log.h - messages for people.
 *
 * A log is a small value that a context carries; there is no global one. Formats are checked as
 * printf's, and the build makes a mismatch an error: since shares are struct types, a share cannot
 * be passed to a log call (tests/nocompile proves it). A NULL log swallows everything.
 *
 * What others say may stand in a line: characters that could steer a terminal become `?`, and a line that goes on after
 * a line end goes on indented, so that nobody can make one that looks like ours.
 */
#ifndef TREFOIL_BASE_LOG_H
#define TREFOIL_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

struct log {
    FILE *file;              /* where lines go, or NULL */
    char *buffer;            /* a second, bounded sink, always NUL-ended, or NULL */
    size_t buffer_size;      /* bytes in buffer, the NUL counted */
    enum log_level level;    /* lines above this level are dropped */
    struct log_meter *meter; /* bounds what goes to `file`; NULL: nothing does */
    const char *prefix;      /* stands before each line, or NULL */
    bool dated;              /* the time in UTC stands before each line */
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
 * For a program that runs for months, some of whose lines others cause: of each kind of line, which is its format, so
 * many go to the file at once and one in LOG_METER_S seconds in the long run. What is more is counted, and told with
 * the last of them after a minute. Threads, and copies of a log, may share a meter.
 */
#define LOG_METER_S 10
#define LOG_METER_WARNINGS 20 /* at once, of warnings and errors */
struct log_meter *log_meter_new(size_t at_once) __attribute__((warn_unused_result));
/* Tells what is left to tell first. */
void log_meter_free(struct log *log);
/* To be called now and then: tells what was counted. */
void log_tend(struct log *log);

/*
 * The first message of a buffer that a log has written into, without its level: to be told elsewhere. Cuts the rest off.
 */
const char *log_first(char *buffer);

#endif
