/* base/file.h - whole files: read with a bound, written so that a crash leaves old or new. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#include <stdio.h>

#define FILE_PATH 4096

/* The name of a file, such as "%s/model"; ERR_SYSTEM, logged, if it is too long for a path. */
enum err file_path(char path[FILE_PATH], struct log *log, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));

/* `given` is a file, or a folder that has a file `name`. `path` becomes that file's path. */
enum err file_in(char path[FILE_PATH], const char *given, const char *name,
                 struct log *log) MUST_CHECK;

/*
 * Opens a file to be read; the caller closes it. Unlike fopen() it never waits: a pipe that nobody
 * writes to is an empty file. One that somebody writes to, such as <(..) of a shell, is read whole.
 */
enum err file_open(FILE **f, const char *path, struct log *log) MUST_CHECK;

/*
 * Reads all of `path` into `out` (cleared first). A file above `limit` bytes is ERR_RANGE before
 * any of it is read; a pipe or a device may give FILE_STREAM_MAX bytes.
 */
#define FILE_STREAM_MAX ((size_t)64 << 20)
enum err file_read(const char *path, uint64_t limit, struct bytes *out, struct log *log) MUST_CHECK;

/*
 * Writes to a new file beside `path`, syncs it, renames it over `path` and syncs the folder.
 * `mode` is the permission of the new file, such as 0600. A link to a file is followed; one that
 * leads nowhere is replaced. A pipe or a device, such as /dev/stdout, is not: it is written to.
 */
enum err file_write(const char *path, unsigned mode, const void *p, size_t n,
                    struct log *log) MUST_CHECK;

/*
 * The same piece by piece, for a file too long for memory. file_draft_end() puts the file in place
 * if `e` is ERR_OK and removes it otherwise; it returns `e`, or its own failure.
 */
struct file_draft {
    int fd;
    const char *path;      /* borrowed */
    char place[FILE_PATH]; /* where links lead */
    char name[FILE_PATH];  /* beside it; empty: the place itself is written to */
    struct log *log;
};
enum err file_draft_open(struct file_draft *draft, const char *path, unsigned mode,
                         struct log *log) MUST_CHECK;
enum err file_draft_write(const struct file_draft *draft, const void *p, size_t n) MUST_CHECK;
enum err file_draft_end(struct file_draft *draft, enum err e) MUST_CHECK;

/*
 * file_write(), but it never replaces a file: ERR_REFUSED, not logged. After any other failure no
 * file is there.
 */
enum err file_write_new(const char *path, unsigned mode, const void *p, size_t n,
                        struct log *log) MUST_CHECK;

/*
 * Appends lines, each with its line end. A file that is missing is made, with mode 0600. The lines
 * are on disk when this returns. If a crash has cut the last line of the file, they begin on a new
 * one. Two processes may append at the same time.
 */
enum err file_append(const char *path, const char *lines, struct log *log) MUST_CHECK;

/* Writes all n bytes to an open file; -1, with errno, if it cannot. */
int file_write_all(int fd, const void *p, size_t n) MUST_CHECK;

/* Syncs the folder of `path`, so that a changed name in it is on disk. */
enum err file_sync_folder_of(const char *path, struct log *log) MUST_CHECK;

/* Makes one folder with mode 0700 unless it exists. */
enum err file_folder(const char *path, struct log *log) MUST_CHECK;
bool file_is_there(const char *path);
/* Removes these files (a NULL-ended list) from a folder, and then the folder if it is empty. */
void file_drop_folder(const char *path, const char *const *names);
