#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(FILE_PATH >= PATH_MAX, "realpath() needs as much");

enum err file_path(char path[FILE_PATH], struct log *log, const char *format, ...)
{
    va_list args;
    int n;
    va_start(args, format);
    n = vsnprintf(path, FILE_PATH, format, args);
    va_end(args);
    if (n >= 0 && n < FILE_PATH)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "this path is too long: %s", path);
}

enum err file_in(char path[FILE_PATH], const char *given, const char *name, struct log *log)
{
    struct stat st;
    if (stat(given, &st) == 0 && S_ISDIR(st.st_mode))
        return file_path(path, log, "%s/%s", given, name);
    return file_path(path, log, "%s", given);
}

static enum err too_large(const char *path, size_t limit, struct log *log)
{
    return log_fail(log, ERR_RANGE, "%s is larger than the %zu bytes allowed here", path, limit);
}

enum err file_open(FILE **f, const char *path, struct log *log)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *f = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "rb") : NULL; /* reading may wait */
    if (*f != NULL)
        return ERR_OK;
    log_error(log, "cannot open %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ERR_SYSTEM;
}

#define BLOCK 16384

/*
 * Before anything is read, with room for all of a file. A pipe or a device does not say how much
 * will come: it may give less.
 */
static enum err begin(FILE *f, const char *path, size_t *limit, struct bytes *out, struct log *log)
{
    struct stat s;
    if (fstat(fileno(f), &s) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode)) {
        *limit = *limit < FILE_STREAM_MAX ? *limit : FILE_STREAM_MAX;
        return ERR_OK;
    }
    if ((uint64_t)s.st_size > *limit)
        return too_large(path, *limit, log);
    (void)bytes_extend(out, (size_t)s.st_size + BLOCK);
    out->size = 0;
    return bytes_ok(out);
}

enum err file_read(const char *path, uint64_t most, struct bytes *out, struct log *log)
{
    size_t limit = most < SIZE_MAX ? (size_t)most : SIZE_MAX, n = BLOCK;
    FILE *f;
    enum err e;
    bytes_clear(out);
    TRY(file_open(&f, path, log));
    e = begin(f, path, &limit, out, log);
    while (e == ERR_OK && n > 0) {
        uint8_t *at = bytes_extend(out, BLOCK);
        n = at != NULL ? fread(at, 1, BLOCK, f) : 0;
        out->size -= at != NULL ? BLOCK - n : 0;
        e = out->size > limit ? too_large(path, limit, log) : bytes_ok(out);
    }
    if (e == ERR_OK && ferror(f))
        e = log_fail(log, ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    fclose(f);
    if (e != ERR_OK)
        bytes_clear(out);
    return e;
}

int file_write_all(int fd, const void *p, size_t n)
{
    const uint8_t *at = p;
    while (n > 0) {
        ssize_t k = write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return -1;
        at += k;
        n -= (size_t)k;
    }
    return 0;
}

static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[4096] = ".";
    int fd, result;
    if (slash != NULL && (size_t)(slash - path) < sizeof folder) {
        size_t n = slash == path ? 1 : (size_t)(slash - path);
        memcpy(folder, path, n);
        folder[n] = '\0';
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    result = fsync(fd);
    close(fd);
    return result;
}

enum err file_sync_folder_of(const char *path, struct log *log)
{
    if (sync_folder_of(path) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot sync the folder of %s: %s", path, strerror(errno));
}

enum err file_draft_open(struct file_draft *d, const char *path, unsigned mode, struct log *log)
{
    struct stat st;
    d->path = path;
    d->log = log;
    d->name[0] = '\0';
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        d->fd = open(path, O_WRONLY | O_CLOEXEC);
        return d->fd >= 0 ? ERR_OK
                          : log_fail(log, ERR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    }
    if (realpath(path, d->place) == NULL)
        TRY(file_path(d->place, log, "%s", path)); /* it is not there yet */
    TRY(file_path(d->name, log, "%s.XXXXXX", d->place));
    d->fd = mkstemp(d->name);
    if (d->fd < 0)
        return log_fail(log, ERR_SYSTEM, "cannot create a file beside %s: %s", path,
                        strerror(errno));
    if (fchmod(d->fd, (mode_t)mode) == 0)
        return ERR_OK;
    log_error(log, "cannot write %s: %s", path, strerror(errno));
    return file_draft_end(d, ERR_SYSTEM);
}

enum err file_draft_write(const struct file_draft *d, const void *p, size_t n)
{
    if (file_write_all(d->fd, p, n) == 0)
        return ERR_OK;
    return log_fail(d->log, ERR_SYSTEM, "cannot write %s: %s", d->path, strerror(errno));
}

/* Afterwards the draft is on disk, for the caller to put in place, or gone. */
static enum err finish(struct file_draft *d, enum err e)
{
    bool synced = e == ERR_OK && (d->name[0] == '\0' || fsync(d->fd) == 0);
    int why = errno;
    if (close(d->fd) != 0 && synced) {
        why = errno;
        synced = false;
    }
    if (e == ERR_OK && !synced)
        e = log_fail(d->log, ERR_SYSTEM, "cannot write %s: %s", d->path, strerror(why));
    if (e != ERR_OK)
        unlink(d->name);
    return e;
}

static enum err not_in_place(const char *path, struct log *log)
{
    return log_fail(log, ERR_SYSTEM, "cannot put %s in place: %s", path, strerror(errno));
}

enum err file_draft_end(struct file_draft *d, enum err e)
{
    TRY(finish(d, e));
    if (d->name[0] == '\0')
        return ERR_OK;
    if (rename(d->name, d->place) != 0 || sync_folder_of(d->place) != 0) {
        e = not_in_place(d->path, d->log);
        unlink(d->name);
    }
    return e;
}

enum err file_write(const char *path, unsigned mode, const void *p, size_t n, struct log *log)
{
    struct file_draft d;
    TRY(file_draft_open(&d, path, mode, log));
    return file_draft_end(&d, file_draft_write(&d, p, n));
}

enum err file_write_new(const char *path, unsigned mode, const void *p, size_t n, struct log *log)
{
    struct file_draft d;
    enum err e = ERR_OK;
    if (file_is_there(path))
        return ERR_REFUSED;
    TRY(file_draft_open(&d, path, mode, log));
    TRY(finish(&d, file_draft_write(&d, p, n)));
    /* a link, unlike a rename, replaces nothing */
    if (link(d.name, path) != 0)
        e = errno == EEXIST ? ERR_REFUSED : not_in_place(path, log);
    else if (sync_folder_of(path) != 0) {
        e = not_in_place(path, log);
        unlink(path);
    }
    unlink(d.name);
    return e;
}

/* Whether the last line of an open file lacks its line end. */
static bool is_cut(int fd)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

enum err file_append(const char *path, const char *lines, struct log *log)
{
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool done;
    if (fd < 0)
        return log_fail(log, ERR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    done = (!is_cut(fd) || file_write_all(fd, "\n", 1) == 0) &&
           file_write_all(fd, lines, strlen(lines)) == 0 && fsync(fd) == 0;
    if (!done)
        log_error(log, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    TRY(done ? ERR_OK : ERR_SYSTEM);
    return file_sync_folder_of(path, log);
}

bool file_is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 || errno != ENOENT;
}

void file_drop_folder(const char *path, const char *const *names)
{
    for (; *names != NULL; names++) {
        char file[FILE_PATH];
        if (file_path(file, NULL, "%s/%s", path, *names) == ERR_OK)
            unlink(file);
    }
    rmdir(path);
}

enum err file_folder(const char *path, struct log *log)
{
    struct stat st;
    if (mkdir(path, 0700) == 0)
        return ERR_OK;
    if (errno != EEXIST)
        return log_fail(log, ERR_SYSTEM, "cannot make the folder %s: %s", path, strerror(errno));
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return log_fail(log, ERR_SYSTEM, "%s is there and is not a folder; name another", path);
    return ERR_OK;
}
