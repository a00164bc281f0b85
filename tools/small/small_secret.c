/*
 * base/secret.h for a module: its memory is given back whole when it ends, no other process sees
 * it, and nothing can be locked.
 */
#include "base/secret.h"

#include "base/memory.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

enum err secret_start(void)
{
    return ERR_OK;
}

void secret_wipe(void *p, size_t bytes)
{
    volatile unsigned char *to = p;
    while (bytes-- > 0)
        *to++ = 0;
}

/* Also what libsodium's sources ask for. */
void sodium_memzero(void *const p, const size_t bytes)
{
    secret_wipe(p, bytes);
}

int sodium_memcmp(const void *const a, const void *const b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    volatile unsigned char any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= x[i] ^ y[i];
    return any == 0 ? 0 : -1;
}

void randombytes_buf(void *const p, const size_t bytes)
{
    secret_random(p, bytes);
}

int sodium_is_zero(const unsigned char *n, const size_t bytes)
{
    volatile unsigned char any = 0;
    for (size_t i = 0; i < bytes; i++)
        any |= n[i];
    return any == 0;
}

void sodium_misuse(void)
{
    __builtin_trap();
}

void secret_random(void *p, size_t bytes)
{
    for (uint8_t *to = p; bytes > 0;) {
        const size_t n = bytes < 256 ? bytes : 256;
        if (getentropy(to, n) != 0)
            __builtin_trap();
        to += n;
        bytes -= n;
    }
}

void *secret_new(size_t bytes)
{
    return memory_array(1, bytes);
}

void secret_release(void *address_of_pointer)
{
    memory_release(address_of_pointer);
}
