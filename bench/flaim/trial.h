/*
 * bench/flaim/trial.h - one run of one method on one split of one table, and what came of it.
 *
 * A trial's name says everything on which its figures depend; the same name gives the same figures.
 */
#pragma once

#include "base/error.h"
#include "base/log.h"
#include "bench/flaim/servers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRIAL_NAME 256

struct trial {
    const char *table; /* a table's name, or "synthfs" */
    const char
        *split; /* "file" (k-means), "iid", "label" (Dirichlet of `beta`), "synthfs" (`beta`) */
    const char *method; /* see methods[] in trial.c */
    double beta;
    double epsilon, participation;
    unsigned rounds; /* 0: annealed */
    unsigned steps;  /* s of FLAIM */
    unsigned seed;
    /* No part of the name: they add a figure, or a check. */
    bool auc;    /* also train trees */
    bool real;   /* FLAIM's messages for real, sums checked */
    bool counts; /* of trial_servers(): see bench/flaim/servers.h */
    bool proved; /* the same: the study has `security: abort` */
};

struct trial_figures {
    double l1, nll, auc; /* auc: NAN where it was not asked for or cannot be had */
    double impossible;   /* share of test rows that the model deems impossible */
    double rounds, model_cells, left_out;
    double clients;                                              /* that took part, of all */
    double closure_cells;                                        /* of the workload */
    double paper_sent, paper_received, wire_sent, wire_received; /* FLAIM: mean over all clients */
    double seconds;                                              /* of the method alone, CPU */
};

bool trial_method_known(const char *method);
void trial_name(const struct trial *t, char name[TRIAL_NAME]);
enum err trial_run(const struct trial *t, struct trial_figures *f, struct log *log) MUST_CHECK;
/* The trial's clients and rounds as DistAIM over server processes. */
enum err trial_servers(const struct trial *t, struct servers_figures *f,
                       struct log *log) MUST_CHECK;
