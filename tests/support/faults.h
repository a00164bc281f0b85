/*
 * tests/support/faults.h - real programs of a study, whose calls fail one after another
 * (harness/preload_fault.c). A program may do without the call, or end with a documented exit code
 * and a message; it never dies.
 *
 * TREFOIL_LONG=1 tries every fault, otherwise it is one or two of each kind. TREFOIL_SWEEP may name
 * one kind, or one fault, such as link@87; an argument of the program selects the tests.
 */
#pragma once

#include "harness/process.h"

struct faults_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    char folder[SUPPORT_PATH], done[SUPPORT_PATH];
};

/*
 * Programs that start before faults_disarm() have the fault; those that they start themselves do
 * not.
 */
void faults_arm(const struct faults_scene *c, const char *kind, long n);
void faults_disarm(void);
/* The fault that was armed last, for a message. */
const char *faults_last(void);
/* Whether it happened; if not, there were fewer calls. */
bool faults_happened(const struct faults_scene *c);

/*
 * Fails unless the code is documented and the log explains it. Where the log refers to messages, it
 * must have some.
 */
void faults_expect_words(const char *log, int code, const char *kind, long n);

/* Tries one fault, at one server where it matters which; false if there is no such call. */
typedef bool (*faults_trial)(struct faults_scene *c, unsigned victim, const char *kind, long n);

/*
 * One fault of a kind, at the victim, `step` after the first, where `step` is about half of all
 * that there are; or the first. The long tests try all of them ("+": only more of them), at each of
 * `servers`.
 */
struct faults_sweep {
    const char *kind;
    unsigned victim;
    long step;
};

void faults_sweep(struct faults_scene *c, faults_trial survives, unsigned servers,
                  const struct faults_sweep *of, size_t sweeps);

/*
 * What a command leaves in the folder `work`: `files` files if it succeeds, at most so many if not.
 */
struct faults_command {
    const char *const *arguments;
    unsigned files;
    long step;        /* how far into allocations and reads a second one fails; of others, two */
    const char *copy; /* copied there before, unless NULL */
};

/* Fails each of its calls, allocation, library, file or other, once. */
void faults_command(struct faults_scene *c, const struct faults_command *t);

void faults_copy(const char *from, const char *to);
unsigned faults_entries(const char *folder);
void faults_show(const char *log);

/* main() of such a program. */
int faults_main(int argc, char **argv);
