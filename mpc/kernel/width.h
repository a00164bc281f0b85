/*
 * mpc/kernel/width.h - names in bodies of code (*.inc) that a file includes once for each width of
 * words.
 *
 * A file that includes a body defines WIDTH, in bits; the body undefines it. With WIDTH 64,
 * OF_WIDTH(ring, _add) is ring64_add, and WORD is uint64_t.
 */
#pragma once

#define WIDTH_PASTE(a, b, c) a##b##c
#define WIDTH_NAME(a, b, c) WIDTH_PASTE(a, b, c)
#define OF_WIDTH(before, after) WIDTH_NAME(before, WIDTH, after)

#define WORD OF_WIDTH(WIDTH_WORD_, )
#define WIDTH_WORD_16 uint16_t
#define WIDTH_WORD_32 uint32_t
#define WIDTH_WORD_64 uint64_t
#define WIDTH_WORD_128 word128
