/*
 * bench/central.h - central runs on tables of the folder or of bench/generated.h: AIM with T
 * rounds, annealed or in sweeps, or a copula, all with the same budget, in Gaussian terms
 * (aim/budget/ledger.h).
 */
#pragma once

#include "bench/data.h"

enum central_way { CENTRAL_FIXED, CENTRAL_ANNEALED, CENTRAL_SWEEPS, CENTRAL_COPULA };

struct central_run {
    const char *table;
    size_t rows; /* of a generated table */
    enum central_way way;
    unsigned rounds; /* of CENTRAL_FIXED; sweeps */
    double epsilon;  /* delta is 1e-5 */
    unsigned mib;    /* the model's most; 0: as by default */
};

/* Over the seeds: means, but for peak_mib, which is the largest. */
struct central_figures {
    double l1, l1_standard_error; /* of as many rows as the table has, drawn from the model */
    double l1_model, loss;        /* of the model itself; NAN for a copula */
    double rounds;                /* after the one-ways */
    double scores;                /* that the first sweep opens */
    double cpu_s, peak_mib;       /* of the run, without what evaluation takes */
};

/* Seeds 1, 2, .., each in a process of its own. */
enum err central_measure(const struct central_run *run, unsigned seeds, struct central_figures *f,
                         struct log *log) MUST_CHECK;

/* The way and rounds of `rounds: auto` for this table (parties/study/rounds.h), which it prints. */
enum err central_choose(const struct central_run *run, struct central_run *chosen,
                        struct log *log) MUST_CHECK;

const char *central_word(enum central_way way);
/* Prints the figures as a line, and adds them to a list. */
void central_show(const struct central_run *run, unsigned seeds, const struct central_figures *f,
                  json_t *list);
