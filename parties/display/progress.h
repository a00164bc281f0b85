/*
 * parties/display/progress.h - what a run shows: a line for each round, and on a terminal a last
 * line, drawn over, that says what it is waiting for.
 *
 * Lines fit 80 columns. Errors are sum |p - q|, from 0 to 2: `was` and `now` are how far the model
 * was and is from what was measured, `noise` is the error expected from noise alone. (In round 0
 * they are means over the one-ways.) All are computed from opened values.
 */
#pragma once

#include "aim/run/copula_run.h"
#include "aim/run/loop.h"
#include "aim/run/train_run.h"
#include "aim/table/rows.h"
#include "parties/study/study.h"

#define PROGRESS_NAME 27 /* columns for a marginal's name */

struct progress {
    FILE *out;
    size_t one_ways;
    unsigned rounds; /* 0: not known beforehand */
    double rho;
    unsigned columns; /* of the terminal; 0: there is none, and nothing is drawn over */
    double first;     /* clock_now_s() when the first round ended */
    unsigned done;    /* rounds that ended after it */
    bool drawn;       /* the line that is drawn over is on screen */
    double told;      /* clock_now_s() when a count was last shown */
};

/*
 * A display on `out`, terminal or not, for a run of this study, whose budget is rho. `study` may be
 * NULL if rounds are not shown.
 */
struct progress progress_start(FILE *out, const struct study *study, double rho);

/* Shows in a few words what is being waited for: drawn over on a terminal, nothing elsewhere. */
void progress_wait(struct progress *p, const char *what);
/* Fits of a model, refits for errors, refits for intervals: how many of how many are done. */
void progress_fits(void *self, size_t fits, size_t of);
void progress_refits(void *self, size_t fits, size_t of);
void progress_intervals(void *self, size_t fits, size_t of);
/* Shows "12 questions are answered" now and then, however often it is called. */
void progress_answered(struct progress *p, size_t questions);
/* Writes a line that stays. */
void progress_say(struct progress *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A round has ended: for aim_options.progress, with a struct progress as `self`. */
void progress_round(void *self, const struct aim_round *round);
/* Shows the result of a look: so many rows were linked, with noise of this deviation. */
void progress_linked(FILE *out, double rows, double sigma);
/* Shows what a copula is made of. */
void progress_copula(struct progress *p, const struct copula_result *result);
/*
 * A step of a classifier has ended: for train_options.progress, with a struct progress as `self`.
 */
/* What was opened at the end of a run, if that was. */
void progress_assess(struct progress *p, const struct aim_result *r);
void progress_step(void *self, const struct train_result *result, unsigned step);
/* Writes lines of any length, broken between words, in 79 columns. */
void progress_paragraphs(FILE *out, const char *text);
/* Erases the line that is drawn over, if it is there. */
void progress_end(struct progress *p);
/* Has the log do so before each of its lines, until progress_detach(), which does it once more. */
void progress_attach(struct progress *p, struct log *log);
void progress_detach(struct progress *p, struct log *log);

/* On a terminal: shows how much of a table has been read, on the log's standard error. */
struct progress_reading {
    struct progress progress;
    struct log *log;
};
/* Has the reader of rows report this, if there is a terminal, until progress_reading_end(). */
void progress_reading_begin(struct progress_reading *r, struct rows_options *rows, struct log *log);
void progress_reading_end(struct progress_reading *r);
/* For rows_options.tell. */
void progress_rows(void *self, const char *source, size_t rows, double part);
