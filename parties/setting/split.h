/*
 * parties/setting/split.h - how an owner's data are split among the servers of a setting, as a
 * table.
 *
 * The data become components: seeds, and last the vector, which is what the seeds do not make of
 * the data. Each server holds some of them, one or two. The vector is long: the owner sends it to
 * one server alone, if need be in parts, and that one passes it on if another holds it too. What
 * follows from this table (parties/setting/upload.h) is the same in every setting.
 */
#pragma once

#include "base/bytes.h"
#include "parties/study/study_uploads.h"

#define SPLIT_COMPONENTS_MOST 3
#define SPLIT_HELD_MOST 2 /* components of one server */
#define SPLIT_SEED 16     /* bytes of a seed */
#define SPLIT_SEEDS_MOST 3
#define SPLIT_NOBODY UINT32_MAX

struct split {
    unsigned servers, components;
    unsigned held;                                          /* components of each server */
    uint8_t component[STUDY_SERVERS_MOST][SPLIT_HELD_MOST]; /* which, by server */
    unsigned given;  /* the server that gets the vector from the owner */
    unsigned passed; /* the one that gets it from that server, or SPLIT_NOBODY */
    unsigned seeds;  /* that are made: of the components, and then those for `mask` alone */
    const char *gets[2][STUDY_SERVERS_MOST]; /* what each gets, for people: of counts, of records */
    /* Bytes of the vector; 0 if the study does not take this form of the owner. */
    uint64_t (*bytes)(const struct study *study, size_t owner, unsigned form);
    /* The packed data become the vector. The seeds must be used for nothing else. */
    enum err (*mask)(const struct study *study, size_t owner, unsigned form,
                     const uint8_t seed[][SPLIT_SEED], struct bytes *vector);
    /* ERR_DATA for a vector that no owner makes; NULL: any can be. */
    enum err (*check)(unsigned form, const struct bytes *vector);
    /* A block of n samples of noise, as bytes for each server, and how many each gets; NULL: no
     * owner makes noise. */
    enum err (*noise)(enum noise_law kind, size_t n, struct bytes part[]);
    size_t (*noise_bytes)(unsigned server, size_t n);
};

/* The vector's number. */
static inline unsigned split_vector(const struct split *s)
{
    return s->components - 1;
}
