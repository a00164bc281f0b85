/*
 * tests/preload_fault.c - loaded into a trefoil process (LD_PRELOAD), makes one thing go wrong with its files.
 *
 *   FAULT_UNDER   only files whose path begins with this
 *   FAULT_DO      kill-before, kill-after: SIGKILL around the FAULT_AT-th fsync() or fdatasync() of such a file;
 *                 fail: that call fails with EIO; full: from the FAULT_AT-th write() or pwrite() on, all fail with ENOSPC
 *   FAULT_TALLY   a file that gets a byte for each such call: "s" for syncs, "w" for writes
 *
 * So a test can stop a program at every step after which its disk is different, without any hook in the program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long syncs, writes;

static bool concerns(int fd)
{
    const char *under = getenv("FAULT_UNDER");
    char link[64], path[4096];
    ssize_t n;
    if (under == NULL)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    return strncmp(path, under, strlen(under)) == 0;
}

static void tally(char what)
{
    const char *path = getenv("FAULT_TALLY");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "write");
    if (fd >= 0) {
        if (real(fd, &what, 1) != 1)
            abort();
        close(fd);
    }
}

static bool is_to(const char *what)
{
    const char *wanted = getenv("FAULT_DO");
    return wanted != NULL && strcmp(wanted, what) == 0;
}

static long place(void)
{
    const char *at = getenv("FAULT_AT");
    return at != NULL ? atol(at) : -1;
}

static int sync_by(const char *name, int fd)
{
    int (*real)(int);
    int result;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (!concerns(fd))
        return real(fd);
    tally('s');
    if (atomic_fetch_add(&syncs, 1) + 1 != place())
        return real(fd);
    if (is_to("kill-before"))
        kill(getpid(), SIGKILL);
    if (is_to("fail")) {
        errno = EIO;
        return -1;
    }
    result = real(fd);
    if (is_to("kill-after"))
        kill(getpid(), SIGKILL);
    return result;
}

int fsync(int fd)
{
    return sync_by("fsync", fd);
}

int fdatasync(int fd)
{
    return sync_by("fdatasync", fd);
}

/* Whether a write fails for want of room. */
static bool is_full(int fd)
{
    if (!concerns(fd))
        return false;
    tally('w');
    if (atomic_fetch_add(&writes, 1) + 1 < place() || !is_to("full"))
        return false;
    errno = ENOSPC;
    return true;
}

ssize_t write(int fd, const void *p, size_t n)
{
    ssize_t (*real)(int, const void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "write");
    return is_full(fd) ? -1 : real(fd, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    return is_full(fd) ? -1 : real(fd, p, n, at);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite64");
    return is_full(fd) ? -1 : real(fd, p, n, at);
}
