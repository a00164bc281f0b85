/*
 * bench/flaim/joining.h - the plaintext backend of the AIM loop where clients come in between
 * rounds: DistAIM.
 *
 * Before the one-ways and before each selection clients are drawn (split_draw).
 *
 *   JOINING_STAY    a client that is drawn for the first time uploads then, once, and its rows
 *                   count from then on: the population grows
 *   JOINING_AHEAD   the same clients, but all that are ever drawn in `rounds` rounds upload before
 *                   the first
 *   JOINING_ROUND   only the round's clients count, in that round, as the authors' program
 *                   simulates DistAIM: nobody's shares are kept
 *
 * Each set of rows is a population to the loop. Noise is consumed as in aim/run/plaintext.h.
 */
#pragma once

#include "aim/run/plaintext.h"
#include "bench/flaim/split.h"

enum joining_kind { JOINING_STAY, JOINING_AHEAD, JOINING_ROUND };

struct joining_terms {
    const struct workload *workload;
    const struct flaim_split *split;
    enum joining_kind kind;
    double participation;
    unsigned rounds; /* selections to come: for JOINING_AHEAD alone */
    struct plaintext_noise noise;
    struct random *coins;
};

struct joining;

enum err joining_new(struct joining **j, const struct joining_terms *terms,
                     struct log *log) MUST_CHECK;
void joining_free(struct joining **j);
struct aim_backend joining_backend(struct joining *j);
/* Clients that have uploaded so far (or, with JOINING_ROUND, taken part). */
size_t joining_clients(const struct joining *j);
