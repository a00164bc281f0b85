/*
 * parties/command/admit.h - `trefoil admit`, in three files: cmd_admit.c makes tokens for keys,
 * admit_invite.c invitations, admit_register.c keeps the register of both.
 */
#pragma once

#include "base/line.h"
#include "parties/study/token.h"

/* A key that asks, and its line in the file. */
struct admit_asker {
    uint8_t sign[32];
    size_t line;
    bool known; /* it has a token, or comes twice */
};

/* A line of the register, or a new one: a token, or an invitation, which has its key in `token`. */
struct admit_entry {
    struct token token; /* first: entries are ordered as tokens */
    bool asked;         /* gets a file of its own */
};

/* One `trefoil admit`. */
struct admit {
    const char *study_path, *keys, *key, *tokens, *folder, *earlier_path, *until, *links, *page;
    int64_t invites; /* how many to make */
    uint32_t last_day;
    struct study *study, *earlier; /* earlier: may be NULL */
    struct identity *issuer;
    struct admit_entry *entry; /* those of the register, then the new ones */
    size_t count, room, before;
    size_t renewed; /* that an earlier issuer had signed */
    struct admit_asker *asker;
    size_t askers, asker_room;
    int lock; /* of the register; -1: there is none */
    struct log *log;
};

/* --- admit_register.c ------------------------------------------------------------------------- */

/* Calls `take` with each line of a file that is neither empty nor a comment. */
enum err admit_each_line(struct admit *a, const char *path,
                         enum err (*take)(struct admit *a, const struct line_reader *in,
                                          const char *line)) MUST_CHECK;
/* One program at a time, while others wait: two would give one number to two keys. */
enum err admit_lock(struct admit *a) MUST_CHECK;
/* Reads and checks it; entries are in the order of their keys. */
enum err admit_load(struct admit *a) MUST_CHECK;
/* Orders of entries. */
int admit_by_key(const void *a, const void *b);
/* The number after the last that was given; entries are in the order of numbers then. */
uint32_t admit_next(struct admit *a);
enum err admit_write(const struct admit *a) MUST_CHECK;
/* Writes the files of --folder. */
enum err admit_write_each(const struct admit *a) MUST_CHECK;

/* --- admit_invite.c --------------------------------------------------------------------------- */

/* Whether the options of --invite are there, and can be used. */
enum err admit_check_invites(struct admit *a) MUST_CHECK;
/* Makes invitations with the numbers from `next` on; `links` gets the text of their file. */
enum err admit_make_invites(struct admit *a, uint32_t next, struct bytes *links) MUST_CHECK;
