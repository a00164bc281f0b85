#include "base/secret.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>
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
