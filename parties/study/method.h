/*
 * parties/study/method.h - the methods: what a study's file says of each, and what its runs open.
 *
 * Other layers have tables by the same enum: its price (parties/exchange/price.c), and what
 * commands do (parties/command/methods.c). Whoever needs to know what a run may do asks the table
 * here; hardly anything compares methods.
 */
#pragma once

#include "aim/run/loop.h"
#include "parties/study/rounds.h"
#include "parties/study/study.h"
#include "parties/study/yaml.h"

/* Exchanges of a step without and with a check, and the most memory for features at a server. */
#define METHOD_TRAIN_EXCHANGES 17
#define METHOD_TRAIN_PROVED 31
#define METHOD_TRAIN_BYTES (UINT64_C(1) << 32)
#define METHOD_TRAIN_ROWS (UINT64_C(1) << 26)

struct study_reading;

struct method {
    const char *word; /* in the file, and hashed */
    bool selects; /* runs select marginals in rounds and measure them; values with few rows merge */
    bool zeros;   /* the model leaves out what cannot occur: so columns may follow from others */
    bool with_two;  /* a provider and a keeper can do it */
    bool forms;     /* runs open numbers of pairs of attributes; the workload then has every pair */
    bool gradients; /* runs open gradients of a classifier, from records; no marginals but one */
    enum err (*read)(struct study_reading *r); /* its keys, and no other method's */
    /* Its own terms, after the word; NULL, which AIM alone may have: not even that. */
    void (*put)(const struct study *study, struct bytes *b);
    /* What a run does, in words. */
    void (*describe)(FILE *out, const struct study *study);
};

const struct method *method_row(enum study_method method);
const struct method *method_of(const struct study *study);
/* What servers keep in memory for gradients: 4 F bytes for each row of a batch, 64 at a time. */
uint64_t method_train_bytes(const struct study *study);
/*
 * ERR_STUDY, logged, unless servers can run the study: compute what its method opens, in memory
 * that they have. Programs that only read tables in the clear need not ask.
 */
enum err method_served(const struct study *study, struct log *log) MUST_CHECK;

/* The same, and ERR_RANGE, logged, unless its analyst can fit a model: before anything is paid. */
enum err method_works(const struct study *study, struct log *log) MUST_CHECK;

/* The options of AIM that the study states: its domain, its workload and what depends on them. */
struct aim_options method_aim(const struct study *study);

/* How many marginals it measures after the one-ways: "10", "at most 224". */
struct words_text method_rounds(const struct study *study);

/* Which rounds should do better; where the file says `rounds: auto` the study has these. */
struct rounds_choice method_choose_rounds(const struct study *study);
/* Once budget, workload and owners are read. */
void method_settle(struct study *study);
