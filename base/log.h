/*
 * base/log.h - messages for people.
 *
 * A log is a small value that a context carries; there is no global one. Formats are checked as
 * printf's, and a mismatch does not compile: shares are struct types, so no share can be passed to
 * a log call (tests/nocompile proves it). A NULL log swallows everything.
 *
 * A line of JSON has time, level, study and server (once known), kind, which is the format, so that
 * machines may count lines of one kind, and text.
 *
 * A line may quote what others say. Characters that could steer a terminal become `?`, and what
 * follows a line end is indented, so that nobody can forge a line.
 */
#pragma once

#include "base/error.h"

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
    const char *prefix;      /* goes before each line, or NULL */
    bool dated;              /* the time in UTC goes before each line */
    bool json;               /* each line to `file` is an object of JSON, for machines */
    const char *study;       /* in such objects, with the server's number; NULL: not known yet */
    unsigned server;
    /* Called before a line goes to `file`, for instance to clear a display there; or NULL. */
    void (*before)(void *self);
    void *self;
};

#define LOG_FORMAT __attribute__((format(printf, 2, 3)))

void log_error(struct log *log, const char *format, ...) LOG_FORMAT;
/* The same, and returns `e`: for code that notices a failure and returns it. */
enum err log_fail(struct log *log, enum err e, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));
void log_warn(struct log *log, const char *format, ...) LOG_FORMAT;
void log_info(struct log *log, const char *format, ...) LOG_FORMAT;
void log_debug(struct log *log, const char *format, ...) LOG_FORMAT;

/*
 * Bounds the log of a program that runs for months while others can cause some of its lines. Of
 * each kind of line (each format) `at_once` go to the file at once, and one in LOG_METER_S seconds
 * in the long run. The rest are counted; after a minute the log tells how many, with the last one.
 * Threads, and copies of a log, may share a meter.
 */
#define LOG_METER_S 10
#define LOG_METER_WARNINGS 20 /* at once, of warnings and errors */
struct log_meter *log_meter_new(size_t at_once) __attribute__((warn_unused_result));
/* First logs what was counted. */
void log_meter_free(struct log *log);
/* Logs what was counted; call it now and then. */
void log_tend(struct log *log);

/* The first message of a log's buffer, without its level; the buffer is cut after it. */
const char *log_first(char *buffer);
