/*
 * parties/owner/book.h - an owner's budget book: which studies its key has sent data to.
 *
 * Budgets of studies over the same people add up, and no server can see other servers' studies. So
 * `share` keeps, beside the key (hospital-a.key: hospital-a.book), what each study may spend. The
 * file is text, and lines are only ever appended (docs/formats.md). A study is a name with terms;
 * its last line counts. A line is written before the first byte leaves, so that no crash can leave
 * out what was sent.
 */
#pragma once

#include "base/words.h"
#include "parties/study/study.h"

enum book_state {
    BOOK_BEGUN,     /* an upload began; servers may have it */
    BOOK_SENT,      /* all servers have signed for it */
    BOOK_REFUSED,   /* the first server took nothing, so no run can count it */
    BOOK_WITHDRAWN, /* all servers have deleted it */
};

struct book_entry {
    char study[STUDY_NAME_SIZE];
    struct words_text terms; /* their fingerprint */
    enum book_state state;
    int64_t time;
    double epsilon, delta;                  /* the study's promise */
    double rho, epsilon_slack, delta_slack; /* its ledger's limits for that (aim/budget/budget.h) */
};

struct book {
    size_t entries;
    struct book_entry *entry; /* the last of each study, in the order of their first */
};

/*
 * Reads the book at `path`, empty where there is no file. ERR_STUDY, logged with the line and what
 * to do, for a line that is not as book_add() writes it.
 */
enum err book_load(struct book *b, const char *path, struct log *log) MUST_CHECK;
enum err book_parse(struct book *b, const char *path, const void *text, size_t n,
                    struct log *log) MUST_CHECK;
void book_clear(struct book *b);

/* The entry of a study as of now; `limits` are those of its ledger. */
struct book_entry book_entry_of(const struct study *study, const struct ledger_limits *limits,
                                enum book_state state);
/* Whether the book already counts the budget of the entry's study. */
bool book_counts(const struct book *b, const struct book_entry *entry);
/* Puts the entry on disk, after the others. */
enum err book_add(const char *path, const struct book_entry *entry, struct log *log) MUST_CHECK;
/* Writes an entry's line, without the end of the line. */
void book_put(struct bytes *text, const struct book_entry *entry);

/*
 * What the studies that count add up to, for somebody whose rows are in all of them. Delta is the
 * sum of theirs, epsilon at most the sum of theirs.
 */
struct book_sum {
    size_t studies;
    double rho, epsilon, delta;
};
/* Without the study of `but` and with the entry `also`, unless they are NULL. */
struct book_sum book_add_up(const struct book *b, const struct book_entry *but,
                            const struct book_entry *also);

/* The whole book in words, for `share --book`. */
void book_describe(FILE *out, const struct book *b, const char *path);
/* Before an upload of the entry's study: what others were sent, and the sum with this one. */
void book_announce(FILE *out, const struct book *b, const char *path,
                   const struct book_entry *entry);
