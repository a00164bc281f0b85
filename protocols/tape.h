/*
 * protocols/tape.h - noise made ahead of time and used once.
 *
 * A tape holds shared unit Gaussians of either kind (lattice 2^-20) and Gumbels (grid 2^-24) in
 * order. A range is named by (tape id, kind, offset, length); the servers take ranges in the same
 * order, so that all three hold shares of the same samples. What was taken cannot be taken again:
 * its place on the tape is wiped. LEAKS: nothing but how many samples are made.
 *
 * Making samples takes the same exchanges however many they are, so they are made in batches, as
 * large as 256 MiB of working memory at each server allow: what is missing, or a whole batch if the
 * plan has so many to come. A plan of n samples takes at most ceil(n / batch) batches; beyond the
 * plan each reservation takes one.
 */
#pragma once

#include "base/bytes.h"
#include "base/noise.h"
#include "mpc/party/party.h"

#define TAPE_ID_SIZE 32

/* What making samples costs. */
struct tape_cost {
    size_t batch; /* most samples at a time: a multiple of 128 */
    struct tape_messages {
        unsigned exchanges; /* of a batch; for discrete noise, of most */
        double bytes;       /* for each sample, of a whole batch, by the server that sends most */
    } plain, proved;        /* proved: with a check, which is flushed after the batch */
    bool first; /* it opens something, so lane 0 makes them, and shares out what it can */
};

/*
 * What the imprecision of a circuit costs, from its constants: `epsilon` for each measured
 * marginal, or added to each selection's; `tau` in total variation for each pair of Gaussians,
 * discrete Gaussian or Gumbel. See docs/proofs.md.
 */
struct tape_slack {
    double epsilon, tau;
    double gaussian; /* for each marginal where the ledger counts in Gaussian terms */
};

/*
 * The same for Gaussians as ratios: `epsilon` for each measured marginal, all in all; `tail`: what
 * is never made.
 */
struct tape_ratio {
    double epsilon, tail;
};

struct tape {
    uint8_t id[TAPE_ID_SIZE];
    enum noise_kind noise;
    struct {
        struct share64 samples;  /* of positions from `base` on */
        size_t base, made, next; /* [next..made) exist; those before are taken, and wiped or gone */
        size_t planned;          /* how many will be taken in all, at most, as far as is known */
    } reel[NOISE_LAWS];
};

void tape_start(struct tape *tape, const uint8_t id[TAPE_ID_SIZE], enum noise_kind noise);
void tape_free(struct tape *tape);

const struct tape_cost *tape_cost(enum noise_kind noise, enum noise_law kind);
/* To 24 bits, so that servers agree even if their mathematical libraries differ in the last one. */
double tape_rounded_up(double x);
struct tape_slack tape_slack(enum noise_kind noise, enum noise_law kind);
struct tape_ratio tape_ratio(enum noise_kind noise);
/*
 * For a selection among so many candidates: what is added to its epsilon; the most that is missed
 * of a candidate (gumbel_missed()).
 */
struct tape_ratio tape_select_ratio(double candidates, double epsilon);
/* Says how many samples to expect in all. More may still be reserved. */
void tape_plan(struct tape *tape, enum noise_law kind, size_t samples);

/* Where the next range begins. */
size_t tape_position(const struct tape *tape, enum noise_law kind);

/*
 * Makes samples until `count` more are there. Where there is a check, the caller proves it
 * (record_prove()) before any of it is kept. A protocol: all three call it alike.
 */
enum err tape_reserve(struct party *p, struct tape *tape, enum noise_law kind,
                      size_t count) MUST_CHECK;

/*
 * For a lane of another process: makes its share of a batch (crew_jobs()), as the arguments from
 * tape_reserve() say.
 */
enum err tape_make_share(struct party *lane, struct reader *arguments,
                         struct bytes *result) MUST_CHECK;

/* Moves the next samples to `out` (out.n of them) and wipes them on the tape. ERR_MISUSE if too
 * few. */
enum err tape_take(struct tape *tape, enum noise_law kind, struct share64 out) MUST_CHECK;

/*
 * Puts samples that were made elsewhere at the tape's end, as if they had been made here. For
 * Gaussians: whole pairs.
 */
enum err tape_fill(struct tape *tape, enum noise_law kind, struct share64 samples) MUST_CHECK;
/* The same with samples that were taken and not used: under new positions, beyond the plan. */
enum err tape_append(struct tape *tape, enum noise_law kind, struct share64 samples) MUST_CHECK;
