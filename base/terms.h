/*
 * base/terms.h - what the three servers of a study must agree on, as digests: one for each named
 * part, so that a difference can be named, and one over all of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TERMS_PARTS_MAX 16

struct terms {
    uint8_t digest[32];
    size_t parts;
    struct {
        char name[32];
        uint8_t digest[32];
    } part[TERMS_PARTS_MAX];
};
