/*
 * tests/fuzz/fuzz.h - what a fuzz target is: fuzz_NAME.c defines both functions below.
 *
 * `make fuzz` builds it with libFuzzer and the sanitizers, `make test` with replay.c, which
 * feeds it its seeds and every file of tests/corpus/NAME. A target checks more than that nothing
 * crashes: what it accepts reads the same after it is written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Valid inputs to begin with, as today's program writes them; none if the corpus has them. */
typedef void (*fuzz_put)(void *self, const void *data, size_t size);
void fuzz_seeds(fuzz_put put, void *self);

/* What no input may bring about. */
static inline void never(bool wrong)
{
    if (wrong)
        abort();
}

/* A file that holds the bytes, mode 0600, and its path. The caller closes it. */
static inline int fuzz_file(const void *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    never(fd < 0 || fchmod(fd, 0600) != 0 || (size > 0 && write(fd, data, size) != (ssize_t)size));
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}
