/* harness/preload_system.c - stands between a program and the system: see preload_fault.c. */
#include "harness/preload_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long failed(int code)
{
    errno = code;
    return -1;
}

/* --- memory ----------------------------------------------------------------------------------- */

STAND_IN(ALLOC, NULL, void *, malloc, (size_t n), (n))
STAND_IN(ALLOC, NULL, void *, calloc, (size_t count, size_t size), (count, size))
STAND_IN(ALLOC, NULL, void *, realloc, (void *old, size_t n), (old, n))
STAND_IN(ALLOC, NULL, void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n))

/* --- files ------------------------------------------------------------------------------------ */

/* Files and folders only: waking a library's thread is a write too. */
static bool concerns(int fd)
{
    const char *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    struct stat s;
    if (fd <= 2 || fstat(fd, &s) != 0 || !(S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)))
        return false;
    if (under == NULL)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path);
    return n >= (ssize_t)strlen(under) && memcmp(path, under, strlen(under)) == 0;
}

static bool is_there(const char *variable)
{
    const char *path = getenv(variable);
    return path != NULL && access(path, F_OK) == 0;
}

/* How much of a write to try; -1: it fails. */
static ssize_t allowed(int fd, size_t n)
{
    if (!concerns(fd))
        return (ssize_t)n;
    preload_append("FAULT_TALLY", "w");
    if (preload_fails(KILL_WRITE))
        kill(getpid(), SIGKILL);
    if (preload_fails(WRITE) || is_there("FAULT_FULL"))
        return failed(ENOSPC);
    return (ssize_t)(n > 1 && preload_fails(SHORT) ? n / 2 : n);
}

ssize_t write(int fd, const void *p, size_t n)
{
    NEXT(write);
    ssize_t now = allowed(fd, n);
    return now < 0 ? -1 : real(fd, p, (size_t)now);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    NEXT(pwrite);
    ssize_t now = allowed(fd, n);
    return now < 0 ? -1 : real(fd, p, (size_t)now, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    NEXT(pwrite64);
    ssize_t now = allowed(fd, n);
    return now < 0 ? -1 : real(fd, p, (size_t)now, at);
}

/* Not for streams: the C library's own calls do not pass through here. */
static ssize_t read_by(ssize_t done, int fd)
{
    return done >= 0 && concerns(fd) && preload_fails(READ) ? failed(EIO) : done;
}

ssize_t read(int fd, void *p, size_t n)
{
    NEXT(read);
    return read_by(real(fd, p, n), fd);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    NEXT(pread);
    return read_by(real(fd, p, n, at), fd);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
    NEXT(pread64);
    return read_by(real(fd, p, n, at), fd);
}

static int sync_by(int (*real)(int), int fd)
{
    if (!concerns(fd))
        return real(fd);
    preload_append("FAULT_TALLY", "s");
    if (preload_fails(KILL_BEFORE))
        kill(getpid(), SIGKILL);
    if (preload_fails(SYNC))
        return (int)failed(EIO);
    int result = real(fd);
    if (preload_fails(KILL_AFTER))
        kill(getpid(), SIGKILL);
    return result;
}

int fsync(int fd)
{
    NEXT(fsync);
    return sync_by(real, fd);
}

int fdatasync(int fd)
{
    NEXT(fdatasync);
    return sync_by(real, fd);
}

int rename(const char *from, const char *to)
{
    NEXT(rename);
    return preload_fails(RENAME) ? (int)failed(EIO) : real(from, to);
}

static bool fails_open(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && preload_fails(OPEN);
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        va_list args;                                                                              \
        mode_t mode;                                                                               \
        va_start(args, flags);                                                                     \
        mode = mode_of(flags, args);                                                               \
        va_end(args);                                                                              \
        return fails_open(flags) ? (int)failed(ENOSPC) : real(path, flags, mode);                  \
    }

OPENS(open)
OPENS(open64)

/* --- other calls ------------------------------------------------------------------------------ */

STAND_IN(CALL, -1, int, flock, (int fd, int how), (fd, how))
STAND_IN(CALL, -1, int, ftruncate, (int fd, off_t size), (fd, size))
STAND_IN(CALL, -1, off_t, lseek, (int fd, off_t by, int from), (fd, by, from))
STAND_IN(CALL, -1, int, mkstemp, (char *name), (name))
STAND_IN(CALL, -1, int, fchmod, (int fd, mode_t mode), (fd, mode))
STAND_IN(CALL, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
STAND_IN(CALL, -1, int, link, (const char *from, const char *to), (from, to))
STAND_IN(CALL, -1, int, fork, (void), ())
STAND_IN(CALL, -1, int, setrlimit, (__rlimit_resource_t what, const struct rlimit *to), (what, to))
STAND_IN(CALL, NULL, FILE *, fopen, (const char *restrict path, const char *restrict how),
         (path, how))
STAND_IN(CALL, NULL, FILE *, fdopen, (int fd, const char *how), (fd, how))

/* The system call takes four more arguments, whatever the caller gives. */
int prctl(int what, ...)
{
    NEXT(prctl);
    unsigned long value[4];
    va_list args;
    va_start(args, what);
    for (unsigned i = 0; i < 4; i++)
        value[i] = va_arg(args, unsigned long);
    va_end(args);
    return preload_fails_for(CALL, __builtin_return_address(0))
               ? -1
               : real(what, value[0], value[1], value[2], value[3]);
}

/* --- sockets ---------------------------------------------------------------------------------- */

STAND_IN(LINK, -1, int, socket, (int family, int type, int protocol), (family, type, protocol))

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    NEXT(send);
    preload_append("FAULT_TALLY", "n");
    if (preload_fails(KILL_SEND))
        kill(getpid(), SIGKILL);
    return real(fd, p, n, flags);
}

/* --- clocks ----------------------------------------------------------------------------------- */

/* The number of seconds in the file named by a variable. */
static time_t ahead(const char *variable)
{
    const char *path = getenv(variable);
    char text[32] = "";
    long fd = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    if (syscall(SYS_read, fd, text, sizeof text - 1) < 0)
        abort();
    syscall(SYS_close, fd);
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    NEXT(clock_gettime);
    int result = real(clock, t);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        t->tv_sec += ahead("FAULT_CLOCK");
    if (result == 0 && clock == CLOCK_MONOTONIC && preload_is_program(__builtin_return_address(0)))
        t->tv_sec += ahead("FAULT_WAIT");
    return result;
}

/* As in the C library, whose own calls do not pass through here. */
time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out != NULL)
        *out = t.tv_sec;
    return t.tv_sec;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}
