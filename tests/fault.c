/*
 * Fails one call of a program, for tests/test_faults.c: preloaded, with FAULT=KIND:N in the environment
 * it fails the N-th (from 1) call of a kind.
 *
 *   alloc    an allocation by the program itself, not by a library: NULL
 *   write    write, pwrite to a file: ENOSPC     short   half of it is written
 *   sync     fsync, fdatasync: EIO        rename  rename: EIO
 *   open     an open for writing: ENOSPC
 *
 * When it has done so, it makes the empty file $FAULT_DONE: without that, there were fewer calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { NONE, ALLOC, WRITE, SHORT, SYNC, RENAME, OPEN };

static enum kind armed;
static long target;
static atomic_long calls;
static uintptr_t program[2]; /* from where to where its code lies */

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

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
    static const char *const names[] = {"", "alloc", "write", "short", "sync", "rename", "open"};
    const char *fault = getenv("FAULT"), *colon = fault != NULL ? strchr(fault, ':') : NULL;
    dl_iterate_phdr(first_object, NULL);
    for (size_t k = 1; colon != NULL && k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == (size_t)(colon - fault) &&
            strncmp(fault, names[k], strlen(names[k])) == 0) {
            target = atol(colon + 1);
            armed = (enum kind)k;
        }
}

static bool fails(enum kind kind)
{
    const char *done;
    long fd;
    if (armed != kind || atomic_fetch_add(&calls, 1) + 1 != target)
        return false;
    done = getenv("FAULT_DONE");
    fd = done != NULL ? syscall(SYS_openat, AT_FDCWD, done, O_WRONLY | O_CREAT, 0600) : -1;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return true;
}

static bool fails_for(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (armed != ALLOC || at < program[0] || at >= program[1] || !fails(ALLOC))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return fails_for(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t count, size_t size)
{
    return fails_for(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t n)
{
    return fails_for(__builtin_return_address(0)) ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    return fails_for(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, n);
}

static long failed(int code)
{
    errno = code;
    return -1;
}

/* Of files only: what wakes a library's thread is a write too. */
static bool is_file(int fd)
{
    struct stat s;
    return fd > 2 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
}

ssize_t write(int fd, const void *p, size_t n)
{
    bool file = is_file(fd);
    if (file && fails(WRITE))
        return failed(ENOSPC);
    if (file && n > 1 && fails(SHORT))
        n /= 2;
    return syscall(SYS_write, fd, p, n);
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t at)
{
    if (fails(WRITE))
        return failed(ENOSPC);
    if (n > 1 && fails(SHORT))
        n /= 2;
    return syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return write_at(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
    return write_at(fd, p, n, at);
}

int fsync(int fd)
{
    return (int)(fails(SYNC) ? failed(EIO) : syscall(SYS_fsync, fd));
}

int fdatasync(int fd)
{
    return (int)(fails(SYNC) ? failed(EIO) : syscall(SYS_fdatasync, fd));
}

int rename(const char *from, const char *to)
{
    return (int)(fails(RENAME) ? failed(EIO) : syscall(SYS_rename, from, to));
}

static int open_file(const char *path, int flags, mode_t mode)
{
    if ((flags & O_ACCMODE) != O_RDONLY && fails(OPEN))
        return (int)failed(ENOSPC);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;
    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;
    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return open_file(path, flags, mode);
}
