/*
 * base/reader.h - reading what base/bytes.h writes. A reader walks bytes that it does not own. A
 * read past the end yields zeros and marks the reader, so that a parser checks once, by
 * reader_done().
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
    const uint8_t *p;
    size_t left;
    bool failed;
};

struct reader reader_of(const void *p, size_t n);
uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);
uint64_t reader_small(struct reader *r); /* fails if it is longer than necessary */
double reader_double(struct reader *r);
/* The next n bytes in place, or NULL. */
const uint8_t *reader_bytes(struct reader *r, size_t n);
void reader_copy(struct reader *r, void *to, size_t n);
/* A block of bytes_put_block(): its bytes in place and its size; NULL if it does not fit. */
const uint8_t *reader_block(struct reader *r, size_t *n);
/* Copies a block as a string into `to`; fails if it needs more than `size` bytes or holds a NUL. */
void reader_string(struct reader *r, char *to, size_t size);
/* A block as a new string, which the caller frees; ERR_FORMAT if it does not fit or holds a NUL. */
enum err reader_text(struct reader *r, char **text) MUST_CHECK;
/* ERR_FORMAT if a read failed or bytes are left over. */
enum err reader_done(const struct reader *r) MUST_CHECK;
