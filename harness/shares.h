/*
 * harness/shares.h - makes and frees vectors that the product takes only from a scratch.
 */
#pragma once

#include "mpc/kernel/share.h"

/* As share64_new() and share64_free(). */
enum err share32_new(struct share32 *x, size_t n) MUST_CHECK;
enum err share128_new(struct share128 *x, size_t n) MUST_CHECK;
enum err bits_new(struct bits *x, size_t n) MUST_CHECK;
void share32_free(struct share32 *x);
void share128_free(struct share128 *x);
void bits_free(struct bits *x);
