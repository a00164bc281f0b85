/*
 * base/memory.h - allocation whose size cannot overflow.
 *
 * All return zeroed memory, or NULL when count * size overflows or memory is short; a count of 0
 * gives a valid pointer. Free with memory_free(), which takes the address and nulls it.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_OWNED __attribute__((warn_unused_result, malloc))

void *memory_array(size_t count, size_t size) MEMORY_OWNED;

/* The same for `count` objects of the type pointed to, with ERR_NOMEM instead of NULL. */
#define memory_new(address_of_pointer, count)                                                      \
    memory_new_array((void *)(address_of_pointer), (count), sizeof **(address_of_pointer))
enum err memory_new_array(void *address_of_pointer, size_t count, size_t size) MUST_CHECK;

/* Gives what one pointer owns to another of its type, as the last step of making it. ERR_OK. */
#define memory_hand_over(to, from) memory_move((void *)(true ? (to) : (from)), (void *)(from))
enum err memory_move(void *to, void *from) MUST_CHECK;

/* Grows to `count` elements; the old block stays valid on ERR_NOMEM. New bytes are not zeroed. */
#define memory_extend(address_of_pointer, count)                                                   \
    memory_extend_array((void *)(address_of_pointer), NULL, (count), sizeof **(address_of_pointer))
/* Only if *room is below `count`, and then by half as much again: for elements added one by one. */
#define memory_room(address_of_pointer, room, count)                                               \
    memory_extend_array((void *)(address_of_pointer), (room), (count),                             \
                        sizeof **(address_of_pointer))
enum err memory_extend_array(void *address_of_pointer, size_t *room, size_t count,
                             size_t size) MUST_CHECK;

/* A copy of a string, or NULL. */
char *memory_string(const char *s) MEMORY_OWNED;

/* 64-byte aligned words for share vectors, zeroed; free with memory_wipe_free(). */
void *memory_words(size_t count, size_t size) MEMORY_OWNED;

#define memory_free(address_of_pointer) memory_release((void *)(address_of_pointer))
void memory_release(void *address_of_pointer);

/* The same for several pointers, in their order. */
#define memory_free_all(...)                                                                       \
    memory_release_all((void *const[]){__VA_ARGS__},                                               \
                       sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void memory_release_all(void *const addresses[], size_t count);

/* The pointers of an array of `count`, and the array, which may be NULL. */
#define memory_free_each(address_of_array, count)                                                  \
    memory_release_each((void *)(address_of_array), (count))
void memory_release_each(void *address_of_array, size_t count);

/* Overwrites `bytes` bytes (the compiler cannot leave it out), frees and nulls. */
#define memory_wipe_free(address_of_pointer, bytes)                                                \
    memory_wipe_release((void *)(address_of_pointer), (bytes))
void memory_wipe_release(void *address_of_pointer, size_t bytes);

/* Returns to the system the memory that the C library keeps; for use after much was freed. */
void memory_give_back(void);
