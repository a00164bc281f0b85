/* library/keep.h - the memory of a result, which is freed as a whole; and failures as text. */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "library/trefoil.h"

struct keep {
    void **block;
    size_t blocks, room;
};

/* As memory_new(), of what is freed with the rest. */
#define keep_new(k, address_of_pointer, count)                                                     \
    keep_array((k), (void *)(address_of_pointer), (count), sizeof **(address_of_pointer))
enum err keep_array(struct keep *k, void *address_of_pointer, size_t count, size_t size) MUST_CHECK;
/* Takes over what a pointer owns, and nulls that. */
enum err keep_adopt(struct keep *k, void *address_of_pointer) MUST_CHECK;
enum err keep_string(struct keep *k, const char **to, const char *text, size_t size) MUST_CHECK;
void keep_clear(struct keep *k);

/* A log that writes into the error, which may be NULL; then what the caller of the library gets. */
struct log failure_log(struct trefoil_error *error);
enum trefoil_status failure_status(struct trefoil_error *error, enum err e);
