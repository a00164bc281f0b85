/*
 * tests/preload_fault.c - loaded into a trefoil process (LD_PRELOAD), makes one thing go wrong, without any hook in
 * the program.
 *
 *   FAULT         KIND:N, what goes wrong at the N-th call (from 1) of that kind:
 *       alloc     an allocation by the program itself, not by a library: NULL
 *       write     write, pwrite to a file: ENOSPC     full    that one and all after it
 *       short     half of it is written
 *       sync      fsync, fdatasync: EIO               kill-before, kill-after    SIGKILL before or after it
 *       kill-write    SIGKILL before a write          kill-send    before something is sent to a socket
 *       rename    rename: EIO                         open    an open for writing: ENOSPC
 *       link      what the program asks of ZeroMQ: a socket, an option, room for a message: EMFILE, EINVAL, ENOMEM
 *   FAULT_UNDER   writes and syncs count only for files whose path begins with this
 *   FAULT_DONE    an empty file that is made when it has gone wrong: without it, there were fewer calls
 *   FAULT_TALLY   a file that gets a byte for each such call: "s" for syncs, "w" for writes, "n" for sends
 *   FAULT_FULL    while there is this file, writes fail with ENOSPC
 *   FAULT_CLOCK   a file with a number of seconds: the wall clock is so far ahead, or behind
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum kind {
    NONE,
    ALLOC,
    WRITE,
    FULL,
    SHORT,
    SYNC,
    KILL_BEFORE,
    KILL_AFTER,
    RENAME,
    OPEN,
    KILL_WRITE,
    KILL_SEND,
    LINK
};

static enum kind armed;
static long target;
static atomic_long calls;
static atomic_flag working = ATOMIC_FLAG_INIT;
static uintptr_t program[2]; /* from where to where its code lies */

/* What the program would have called: a sanitizer's function, or the C library's. */
static uintptr_t next(_Atomic(uintptr_t) *known, const char *name)
{
    if (*known == 0)
        *known = (uintptr_t)dlsym(RTLD_NEXT, name);
    return *known;
}

#define NEXT(name)                                                                                 \
    static _Atomic(uintptr_t) known_;                                                              \
    __typeof__(name) *real = (__typeof__(name) *)next(&known_, #name)

static int first_object(struct dl_phdr_info *info, size_t size, void *self)
{
    (void)size;
    (void)self;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            program[0] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            program[1] = program[0] + info->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the program itself comes first */
}

__attribute__((constructor)) static void arm(void)
{
    static const char *const names[] = {
        "",           "alloc",  "write", "full",       "short",     "sync", "kill-before",
        "kill-after", "rename", "open",  "kill-write", "kill-send", "link"};
    const char *fault = getenv("FAULT"), *colon = fault != NULL ? strchr(fault, ':') : NULL;
    dl_iterate_phdr(first_object, NULL);
    for (size_t k = 1; colon != NULL && k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == (size_t)(colon - fault) &&
            strncmp(fault, names[k], strlen(names[k])) == 0) {
            target = atol(colon + 1);
            armed = (enum kind)k;
        }
}

/* System calls: what this writes is no call of the program. */
static void append(const char *variable, const char *text)
{
    const char *path = getenv(variable);
    long fd;
    if (path == NULL)
        return;
    fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, text, strlen(text)) != (long)strlen(text))
        abort();
    syscall(SYS_close, fd);
}

/* What counts coverage writes its counts after the program has ended, and cannot do without. */
static void disarm(void)
{
    armed = NONE;
}

/* Whether this call, the next of its kind, goes wrong. */
static bool fails(enum kind kind)
{
    long n;
    if (armed != kind)
        return false;
    if (!atomic_flag_test_and_set(&working))
        atexit(disarm);
    n = atomic_fetch_add(&calls, 1) + 1;
    if (n == target)
        append("FAULT_DONE", "");
    return n == target || (kind == FULL && n > target);
}

static long failed(int code)
{
    errno = code;
    return -1;
}

/* --- memory ---------------------------------------------------------------------------------------- */

/* Libraries call these too, and some die without. */
static bool is_program(const void *caller)
{
    return (uintptr_t)caller >= program[0] && (uintptr_t)caller < program[1];
}

static bool fails_for(const void *caller)
{
    if (armed != ALLOC || !is_program(caller) || !fails(ALLOC))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    NEXT(malloc);
    return fails_for(__builtin_return_address(0)) ? NULL : real(n);
}

void *calloc(size_t count, size_t size)
{
    NEXT(calloc);
    return fails_for(__builtin_return_address(0)) ? NULL : real(count, size);
}

void *realloc(void *old, size_t n)
{
    NEXT(realloc);
    return fails_for(__builtin_return_address(0)) ? NULL : real(old, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    NEXT(aligned_alloc);
    return fails_for(__builtin_return_address(0)) ? NULL : real(alignment, n);
}

/* --- files ----------------------------------------------------------------------------------------- */

/* Of files only: what wakes a library's thread is a write too. */
static bool concerns(int fd)
{
    const char *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    struct stat s;
    ssize_t n;
    if (fd <= 2 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return false;
    if (under == NULL)
        return true;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    return n >= (ssize_t)strlen(under) && memcmp(path, under, strlen(under)) == 0;
}

static bool is_there(const char *variable)
{
    const char *path = getenv(variable);
    return path != NULL && access(path, F_OK) == 0;
}

/* How much of a write is tried; -1: it fails. */
static ssize_t allowed(int fd, size_t n)
{
    if (!concerns(fd))
        return (ssize_t)n;
    append("FAULT_TALLY", "w");
    if (fails(KILL_WRITE))
        kill(getpid(), SIGKILL);
    if (fails(WRITE) || fails(FULL) || is_there("FAULT_FULL"))
        return failed(ENOSPC);
    return (ssize_t)(n > 1 && fails(SHORT) ? n / 2 : n);
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

static int sync_by(int (*real)(int), int fd)
{
    int result;
    if (!concerns(fd))
        return real(fd);
    append("FAULT_TALLY", "s");
    if (fails(KILL_BEFORE))
        kill(getpid(), SIGKILL);
    if (fails(SYNC))
        return (int)failed(EIO);
    result = real(fd);
    if (fails(KILL_AFTER))
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
    return fails(RENAME) ? (int)failed(EIO) : real(from, to);
}

static bool fails_open(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY && fails(OPEN);
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    NEXT(open);
    va_list args;
    mode_t mode;
    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return fails_open(flags) ? (int)failed(ENOSPC) : real(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    NEXT(open64);
    va_list args;
    mode_t mode;
    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return fails_open(flags) ? (int)failed(ENOSPC) : real(path, flags, mode);
}

/* --- sockets --------------------------------------------------------------------------------------- */

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    NEXT(send);
    append("FAULT_TALLY", "n");
    if (fails(KILL_SEND))
        kill(getpid(), SIGKILL);
    return real(fd, p, n, flags);
}

/* --- the wall clock -------------------------------------------------------------------------------- */

static time_t ahead(void)
{
    const char *path = getenv("FAULT_CLOCK");
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
        t->tv_sec += ahead();
    return result;
}

/* As the C library has it, whose own calls do not come by here. */
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

/* --- links ----------------------------------------------------------------------------------------- */

void *zmq_socket(void *context, int type);
int zmq_setsockopt(void *socket, int option, const void *value, size_t size);
int zmq_msg_init_size(void *message, size_t size);

static bool link_fails(const void *caller)
{
    return armed == LINK && is_program(caller) && fails(LINK);
}

void *zmq_socket(void *context, int type)
{
    NEXT(zmq_socket);
    if (!link_fails(__builtin_return_address(0)))
        return real(context, type);
    errno = EMFILE;
    return NULL;
}

int zmq_setsockopt(void *socket, int option, const void *value, size_t size)
{
    NEXT(zmq_setsockopt);
    return link_fails(__builtin_return_address(0)) ? (int)failed(EINVAL)
                                                   : real(socket, option, value, size);
}

int zmq_msg_init_size(void *message, size_t size)
{
    NEXT(zmq_msg_init_size);
    return link_fails(__builtin_return_address(0)) ? (int)failed(ENOMEM) : real(message, size);
}
