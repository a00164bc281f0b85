/* base/file.h - whole files: read with a bound, written so that a crash leaves the old or the new. */
#ifndef TREFOIL_BASE_FILE_H
#define TREFOIL_BASE_FILE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

#define FILE_PATH 4096

/* The name of a file, such as "%s/model"; ERR_SYSTEM, logged, where no path may be as long. */
enum err file_path(char path[FILE_PATH], struct log *log, const char *format, ...) MUST_CHECK
    __attribute__((format(printf, 3, 4)));

/*
 * Reads all of `path` into `out` (cleared first); a file above `limit` bytes is ERR_RANGE before any of it is read. A
 * pipe or a device may have FILE_STREAM_MAX bytes.
 */
#define FILE_STREAM_MAX ((size_t)64 << 20)
enum err file_read(const char *path, size_t limit, struct bytes *out, struct log *log) MUST_CHECK;

/*
 * Writes to a new file beside `path`, syncs it, renames it over `path` and syncs the folder.
 * `mode` is the permission of the new file, such as 0600.
 */
enum err file_write(const char *path, unsigned mode, const void *p, size_t n,
                    struct log *log) MUST_CHECK;

/*
 * The same piece by piece, for what is too long to be in memory at once. The end puts it in place if all before went
 * well, and removes it otherwise: it returns that failure, or its own.
 */
struct file_draft {
    int fd;
    const char *path; /* borrowed */
    char name[FILE_PATH];
    struct log *log;
};
enum err file_draft_open(struct file_draft *draft, const char *path, unsigned mode,
                         struct log *log) MUST_CHECK;
enum err file_draft_write(const struct file_draft *draft, const void *p, size_t n) MUST_CHECK;
enum err file_draft_end(struct file_draft *draft, enum err e) MUST_CHECK;

/* The same where nothing is there yet: what is there stays, and this is ERR_REFUSED, not logged. */
enum err file_write_new(const char *path, unsigned mode, const void *p, size_t n,
                        struct log *log) MUST_CHECK;

/*
 * Adds lines, each with its end, behind what is there, or makes the file; they are on disk when
 * this returns. A last line that a crash has cut stays apart from them. Two processes may do so at
 * the same time.
 */
enum err file_append(const char *path, unsigned mode, const char *lines,
                     struct log *log) MUST_CHECK;

/* All n bytes to an open file; -1, with errno, where some are not written. */
int file_write_all(int fd, const void *p, size_t n) MUST_CHECK;

/* After a name in it has changed: the change is on disk. */
enum err file_sync_folder_of(const char *path, struct log *log) MUST_CHECK;

/* Makes one folder of mode 0700 unless it is there. */
enum err file_folder(const char *path, struct log *log) MUST_CHECK;
bool file_is_there(const char *path);
/* For a folder that was made for nothing: removes files in it (a NULL-ended list of names), and it if it is empty then. */
void file_drop_folder(const char *path, const char *const *names);

#endif
