/*
 * tests/support_faults.h - real programs of a study, of which one call after another fails
 * (tests/preload_fault.c). A program may do without, or end with a documented exit code and words;
 * it never dies.
 *
 * TREFOIL_LONG=1 tries every fault. TREFOIL_SWEEP may name one kind, or one fault, such as link@87;
 * an argument of the program names the tests.
 */
#ifndef TREFOIL_TESTS_SUPPORT_FAULTS_H
#define TREFOIL_TESTS_SUPPORT_FAULTS_H

#include "tests/support_process.h"

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS];
    char folder[SUPPORT_PATH], done[SUPPORT_PATH];
};

/*
 * The programs that start until faults_disarm() have the fault; those that they start themselves
 * have none.
 */
void faults_arm(const struct scene *c, const char *kind, long n);
void faults_disarm(void);
/* The fault that was armed last, for a message. */
const char *faults_last(void);
/* Whether it happened; if not, there were fewer calls. */
bool faults_happened(const struct scene *c);

/*
 * Fails unless the code is documented, and the log has words for it; also messages where it says
 * that there are.
 */
void faults_expect_words(const char *log, int code, const char *kind, long n);

/* Tries one fault, at one of the servers where that matters; false if there is no such call. */
typedef bool (*faults_trial)(struct scene *c, unsigned victim, const char *kind, long n);

/*
 * Two faults of one kind, at the victim, `step` apart: about half of all that there are. In the
 * long tests all (of "+" more), at each of `servers`.
 */
struct sweep {
    const char *kind;
    unsigned victim;
    long step;
};

void faults_sweep(struct scene *c, faults_trial survives, unsigned servers, const struct sweep *of,
                  size_t sweeps);

/*
 * What a command leaves in the folder `work`: so many files if it succeeds, none or as many if not.
 */
struct faults_command {
    const char *const *arguments;
    unsigned files;
    long step;        /* of allocations and of reads; all others are failed one by one */
    const char *copy; /* is there before, unless NULL */
};

/* Fails each of its calls, allocation, library, file or other, once. */
void faults_command(struct scene *c, const struct faults_command *t);

void faults_remove(const char *path);
void faults_copy(const char *from, const char *to);
unsigned faults_entries(const char *folder);
void faults_show(const char *log);

/* main() of such a program. */
int faults_main(int argc, char **argv);

#endif
