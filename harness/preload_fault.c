/*
 * harness/preload_fault.c - loaded into a trefoil process (LD_PRELOAD), makes one thing go wrong,
 * without any hook in the program.
 *
 *   FAULT         KIND:N: the N-th call (from 1) of that kind goes wrong; KIND+N: so do all after
 *                 it; KIND@N: the first call from the N-th place does. Places differ in the
 *                 program's last three calls, for allocations and ZeroMQ in its last ten. So trying
 *                 each N once takes every branch that a failure can take. SECOND<FIRST, such as
 *                 alloc+1<sql@3: SECOND goes wrong once FIRST has.
 *       alloc     an allocation by the program itself, not by a library: NULL
 *       write     write, pwrite to a file: ENOSPC     short   half of it is written
 *       read      read, pread from a file: EIO
 *       sync      fsync, fdatasync: EIO               kill-before, kill-after    SIGKILL before or
 *                 after it
 *       kill-write    SIGKILL before a write          kill-send    before something is sent to a
 *                     socket
 *       rename    rename: EIO                         open    an open for writing: ENOSPC
 *       call      another call of the program to the system: a lock, a length, a folder, a process,
 *                 a limit
 *       sql       what the program asks of SQLite: SQLITE_IOERR
 *       library   what it asks of OpenSSL, libsodium, Jansson, libyaml, libmicrohttpd, threads
 *       link      what it asks of ZeroMQ, and sockets of its own: EMFILE, EINVAL, ENOMEM, ENOTSOCK
 *       signal    ZeroMQ's waits and messages are interrupted: EINTR
 *   FAULT_UNDER   writes, reads and syncs count only for files whose path begins with this
 *   FAULT_ALONE   programs that the process starts have no fault
 *   FAULT_DONE    an empty file that is made when the fault happens; if it is missing, there were
 *                 fewer calls
 *   FAULT_TALLY   a file that gets a byte for each such call: "s" for syncs, "w" for writes, "n"
 *                 for sends
 *   FAULT_FULL    while this file exists, writes fail with ENOSPC
 *   FAULT_CLOCK   a file with a number of seconds by which the wall clock is ahead, or behind
 *   FAULT_WAIT    a file with a number of seconds that seem to have passed, to the program alone
 *   FAULT_TRACE   prints the place at which the fault happened
 */
#include "harness/preload_fault.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 48
#define PLACES 4096

struct preload_failing {
    enum preload_kind kind;
    bool by_place, from_then_on;
    long target;
};

static struct preload_failing now, after; /* the fault, and the one after it */
static atomic_long calls;
static atomic_flag working = ATOMIC_FLAG_INIT;
static uintptr_t program[2]; /* where its code begins and ends */
static struct {
    pthread_mutex_t lock;
    uint64_t seen[PLACES];
    long count;
} places = {.lock = PTHREAD_MUTEX_INITIALIZER};

uintptr_t preload_next(_Atomic(uintptr_t) *known, const char *name)
{
    if (*known == 0)
        *known = (uintptr_t)dlsym(RTLD_NEXT, name);
    return *known;
}

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

bool preload_is_program(const void *code)
{
    return (uintptr_t)code >= program[0] && (uintptr_t)code < program[1];
}

/* One of "alloc:7", "alloc+7", "alloc@7". */
static struct preload_failing read_fault(const char *text)
{
    static const char *const names[] = {
        "",           "alloc",      "write",     "short",  "read", "sync", "kill-before",
        "kill-after", "kill-write", "kill-send", "rename", "open", "call", "sql",
        "library",    "link",       "signal"};
    const size_t n = strcspn(text, ":+@");
    for (size_t k = 1; k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == n && strncmp(text, names[k], n) == 0)
            return (struct preload_failing){.kind = (enum preload_kind)k,
                                            .by_place = text[n] == '@',
                                            .from_then_on = text[n] == '+',
                                            .target = atol(text + n + 1)};
    return (struct preload_failing){.kind = NONE};
}

__attribute__((constructor)) static void arm(void)
{
    const char *text = getenv("FAULT"), *first = text != NULL ? strchr(text, '<') : NULL;
    void *frame[1];
    dl_iterate_phdr(first_object, NULL);
    (void)backtrace(frame, 1); /* loads what it needs now, not during an allocation */
    if (first != NULL)
        after = read_fault(text);
    if (text != NULL)
        now = read_fault(first != NULL ? first + 1 : text);
    if (getenv("FAULT_ALONE") != NULL)
        unsetenv("FAULT");
}

/* System calls: a write of this library is not a call of the program. */
void preload_append(const char *variable, const char *text)
{
    const char *path = getenv(variable);
    if (path == NULL)
        return;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, text, strlen(text)) != (long)strlen(text))
        abort();
    syscall(SYS_close, fd);
}

static void disarm(void)
{
    now.kind = NONE;
}

void preload_begin(void)
{
    if (!atomic_flag_test_and_set(&working))
        atexit(disarm);
}

/* --- places ----------------------------------------------------------------------------------- */

/* The program's own part of the stack; addresses are relative to where it was loaded. */
static uint64_t this_place(void)
{
    void *frame[DEPTH];
    bool shared = now.kind == ALLOC || now.kind == LINK ||
                  now.kind == SIGNAL; /* used by much of the program */
    int n = backtrace(frame, DEPTH), most = shared ? 10 : 3;
    uint64_t hash = 14695981039346656037U;
    for (int i = 0, own = 0; i < n && own < most; i++)
        if (preload_is_program(frame[i]) && ++own)
            hash = (hash ^ ((uintptr_t)frame[i] - program[0])) * 1099511628211U;
    return hash | 1;
}

/* The number of the place if it is new, otherwise 0. */
static long number_of(uint64_t place)
{
    long n = 0;
    size_t at = place % PLACES;
    pthread_mutex_lock(&places.lock);
    while (places.seen[at] != 0 && places.seen[at] != place)
        at = (at + 1) % PLACES;
    if (places.seen[at] == 0 && places.count < PLACES - 1) {
        places.seen[at] = place;
        n = ++places.count;
    }
    pthread_mutex_unlock(&places.lock);
    return n;
}

static void trace(void)
{
    void *frame[DEPTH];
    if (getenv("FAULT_TRACE") != NULL)
        backtrace_symbols_fd(frame, backtrace(frame, DEPTH), STDERR_FILENO);
}

/* Now it is the second fault's turn. */
static void go_on(void)
{
    atomic_store(&calls, 0);
    pthread_mutex_lock(&places.lock);
    memset(places.seen, 0, sizeof places.seen);
    places.count = 0;
    pthread_mutex_unlock(&places.lock);
    now = after;
    after.kind = NONE;
}

bool preload_fails(enum preload_kind kind)
{
    const struct preload_failing f = now;
    if (f.kind != kind)
        return false;
    preload_begin();
    long n = f.by_place ? number_of(this_place()) : atomic_fetch_add(&calls, 1) + 1;
    if (n == f.target) {
        preload_append("FAULT_DONE", "");
        trace();
        if (after.kind != NONE)
            go_on();
    }
    return n == f.target || (f.from_then_on && n > f.target);
}

bool preload_fails_for(enum preload_kind kind, const void *caller)
{
    static const int code[] = {[ALLOC] = ENOMEM, [CALL] = EMFILE,  [LIBRARY] = EAGAIN,
                               [LINK] = EMFILE,  [SIGNAL] = EINTR, [SQL] = EIO};
    if (now.kind != kind || !preload_is_program(caller) || !preload_fails(kind))
        return false;
    errno = code[kind];
    return true;
}
