#include "base/secret.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum err secret_start(void)
{
    return sodium_init() < 0 ? ERR_CRYPTO : ERR_OK;
}

enum err secret_harden_process(struct log *log)
{
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "cannot keep the process's memory out of core dumps: %s",
                    strerror(errno));
}

/* Whether later mappings are refused once they pass the limit of locked memory. */
static bool is_limited(void)
{
    struct rlimit limit = {0, 0};
    size_t more;
    void *p;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
        return false;
    more = (size_t)limit.rlim_cur + ((size_t)1 << 20); /* who has CAP_IPC_LOCK may pass it */
    p = mmap(NULL, more, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return true;
    munmap(p, more);
    return false;
}

void secret_lock_process(struct log *log)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_max == RLIM_INFINITY) {
        limit.rlim_cur = RLIM_INFINITY;
        (void)setrlimit(RLIMIT_MEMLOCK, &limit);
    }
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0 && !is_limited())
        return;
    munlockall();
    log_warn(log, "the limit of locked memory does not allow to lock this process's: copies of its "
                  "keys could be written to swap. Use ulimit -l unlimited (for systemd: "
                  "LimitMEMLOCK=infinity), or have no swap");
}

void *secret_new(size_t bytes)
{
    /* memory is guarded even if the caller forgot to start the library */
    void *p = secret_start() == ERR_OK ? sodium_malloc(bytes ? bytes : 1) : NULL;
    if (p != NULL)
        memset(p, 0, bytes);
    return p;
}

void secret_release(void *address_of_pointer)
{
    void *p;
    memcpy(&p, address_of_pointer, sizeof p);
    sodium_free(p);
    p = NULL;
    memcpy(address_of_pointer, &p, sizeof p);
}

void secret_wipe(void *p, size_t bytes)
{
    sodium_memzero(p, bytes);
}

void secret_random(void *p, size_t bytes)
{
    randombytes_buf(p, bytes);
}
