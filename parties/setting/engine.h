/*
 * parties/setting/engine.h - what a server computes with within a session: its engine, as a table
 * of functions over a state that only its setting knows (parties/settings/three/engine.h: three
 * servers).
 *
 * Engines with the same study and uploads, given one request, produce the same public integers.
 * The order within a round (docs/protocols.md):
 *   prepare   checks the request against the study and prices it; local
 *   supply    gives it noise that was made ahead; local
 *   reserve   makes the noise that is missing; this does not depend on data
 *   stake     sets the round's noise aside, and gives what the store keeps of it
 *   (the caller agrees with the other servers, debits, and confirms)
 *   select    makes what scores need, if it is not there, then opens the index
 *   measure   opens the noisy marginals, or forms
 * The last two depend only on the uploads, the request and the stake: with the same ones they open
 * the same values again, under fresh masks. After a round that all servers played afresh, not from
 * what was kept, return_stake gives back what it did not use: a selection's stake has Gaussians for
 * the largest candidate, and few candidates are that large.
 *
 * Functions with LEAKS are protocols: all servers call them alike. The others send nothing.
 */
#pragma once

#include "aim/run/ask.h"
#include "parties/setting/stake.h"
#include "parties/setting/upload.h"

#define ENGINE_TOPIC 32 /* bytes */

/* Reads the uploads that are counted again, and gives them to `take`, some at a time. */
struct engine_uploads {
    enum err (*read)(void *self,
                     enum err (*take)(void *taker, const struct upload *uploads, size_t count),
                     void *taker);
    void *self;
};

/* What is counted so far. */
struct engine_counted {
    size_t owners;        /* whose rows the counts include */
    const bool *counted;  /* by owner: its upload is in */
    const bool *left_out; /* by owner: it was held, and is not counted; NULL: all are */
    bool at_end;          /* `add` only loads uploads, and `finish` counts them */
};

/* What is about to be opened, for the audit log; the first, unless it is known to be another. */
enum engine_opening {
    ENGINE_OPENS_OTHER,
    ENGINE_OPENS_INDEX,
    ENGINE_OPENS_VALUES,
    ENGINE_OPENS_NOTHING /* of people: it depends on no data, or is as an honest owner's must be */
};

/* A request that has been found permissible, with its cost. */
struct engine_step {
    const struct ask *ask;       /* borrowed */
    const struct merges *merges; /* borrowed, until the next step is prepared; NULL: none */
    struct ask_price price;
    struct stake_place place; /* of the noise that it would take */
    void *own;                /* the engine's */
};

/* `self` is first everywhere but in what belongs to a step or a stake. */
struct engine_ops {
    /* --- uploads */
    /*
     * Before these are added, with this digest together: agrees on what was opened of them before.
     * NULL: nothing is. LEAKS: which servers know that.
     */
    enum err (*hold)(void *self, const struct upload_name *upload, size_t count,
                     const uint8_t uploads[32]);
    /* Adds what is new among uploads as this server holds them. LEAKS: nothing. */
    enum err (*add)(void *self, const struct upload *uploads, size_t count);
    /*
     * Makes all counts of the closure, proved, if anything is new. LEAKS: whether an upload whose
     * order is not known is sorted by person.
     */
    enum err (*finish)(void *self);
    struct engine_counted (*counted)(const void *self);
    /*
     * From now on `show`, or nobody for NULL, hears after each part of a long computation how much
     * is done. NULL: there is none.
     */
    void (*watch)(void *self, void (*show)(void *to, uint64_t done, uint64_t all), void *to);

    /* --- a round */
    /* ERR_REFUSED or ERR_RANGE, logged, for what the study does not permit. */
    enum err (*prepare)(void *self, const struct ask *ask, struct engine_step *step);
    void (*clear)(struct engine_step *step);
    /* How many values a step measures; `selected` is read only if the request selects. */
    size_t (*cells)(const struct engine_step *step, size_t selected);
    /*
     * Gives a step noise that was made ahead, if any is missing; `made`: none is missing now.
     * ERR_AGAIN, logged, if that noise cannot be used: all of it is gone, and the session should
     * end.
     */
    enum err (*supply)(void *self, const struct engine_step *step, bool *made);
    /* Makes what is missing, proved. LEAKS: nothing but how much is made. */
    enum err (*reserve)(void *self, const struct engine_step *step);
    /* Takes the noise for a step; `kept` gets what take_stake takes. NULL after a failure. */
    enum err (*stake)(void *self, const struct engine_step *step, void **stake, struct bytes *kept);
    /* ERR_FORMAT if `kept` is not this place's. */
    enum err (*take_stake)(void *self, const struct stake_place *place, const struct bytes *kept,
                           void **stake);
    /* Only if nobody will read it again for more than what was used. All servers call it alike. */
    enum err (*return_stake)(void *self, void *stake);
    void (*free_stake)(void **stake);
    /*
     * Of the price, noise and weights that this server has computed, in which all must agree; and,
     * under keys that a third server lacks, of what is held alike with each neighbour. Zeros
     * without a stake, or if nothing is.
     */
    enum err (*digests)(void *self, const struct engine_step *step, const void *stake,
                        uint8_t own[32], uint8_t replica[2][32]);
    /*
     * From here on masks come from streams that only servers with the same topic share. Unless
     * NULL, `alike` has to be the same at all servers before anything leaves that depends on theirs
     * unmasked.
     */
    enum err (*topic)(void *self, const uint8_t topic[ENGINE_TOPIC], const uint8_t alike[32]);
    /* Whether nothing waits to be proved. Nothing that does is kept or answered. */
    bool (*proved)(const void *self);
    /* Whether what is opened is proved, so that it is right however often it is opened. */
    bool (*proves)(const void *self);
    /* `seed`: 32 common bytes. LEAKS: the index, which the request pays for. */
    enum err (*select)(void *self, const struct engine_step *step, void *stake, const uint8_t *seed,
                       size_t *selected);
    /*
     * `values` has room for step->price.cells; *measured of them are filled in. LEAKS: the noisy
     * values, which the request pays for.
     */
    enum err (*measure)(void *self, const struct engine_step *step, void *stake, size_t selected,
                        int64_t *values, size_t *measured);
};

struct engine {
    const struct engine_ops *ops;
    void *self;
};
