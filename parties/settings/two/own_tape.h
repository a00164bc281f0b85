/*
 * parties/settings/two/own_tape.h - the noise of this server, each word taken once, and the stake
 * of a round: so many words of each kind. It makes them alone, or its words of joint noise; or they
 * are its shares of the owner's (owner_noise.h).
 *
 * Both servers count places alike and never say what is on their tapes: nothing here is sent, no
 * digest either, since a word has few values. How long a word takes to draw depends on what it is.
 * So all are drawn in batches, its own parts of joint noise too, and another server can only see
 * how long a whole batch takes: when a session begins, as many as a run of the study takes, and
 * OWN_TAPE_LEAST at least; and as many again whenever that was too little.
 */
#pragma once

#include "base/bytes.h"
#include "base/random.h"
#include "parties/setting/stake.h"

#define OWN_TAPE_LEAST ((size_t)4096)    /* words that are drawn at once */
#define OWN_TAPE_BATCH ((size_t)1 << 20) /* and at most, unless one request takes more: 8 MiB */
#define OWN_PARTS NOISE_LAWS             /* the reel of own parts of joint noise: in no stake */
#define OWN_REELS (NOISE_LAWS + 1)

struct own_tape {
    uint8_t id[32];
    struct random random;
    struct own_reel {
        uint64_t *word;
        size_t words, next; /* of `word`: those before `next` are taken */
        uint64_t before;    /* places before the first of `word` */
        size_t batch;       /* that are made at once */
        /* makes n words in the place of this server alone, if set; only in own_tape_make() */
        enum err (*make)(void *self, uint64_t *out, size_t n);
        void *self;
    } reel[OWN_REELS];
};

/* A stake, and how much of it was used. */
struct own_stake {
    struct stake_place place;
    uint64_t *word[NOISE_LAWS];
    size_t used[NOISE_LAWS];
};

/* Makes words for a run that may take so many, or 0: none of that kind yet. */
enum err own_tape_start(struct own_tape *t, const uint8_t id[32],
                        const uint64_t run[OWN_REELS]) MUST_CHECK;
void own_tape_free(struct own_tape *t);
/* Adds words to a reel at its end, which others made. */
enum err own_tape_add(struct own_tape *t, unsigned kind, const uint64_t *word, size_t n) MUST_CHECK;
/* Whether so many words of each kind are there; makes what is missing, and a batch more. */
bool own_tape_has(const struct own_tape *t, const size_t count[NOISE_LAWS]);
enum err own_tape_make(struct own_tape *t, const size_t count[NOISE_LAWS]) MUST_CHECK;
/* Takes n own parts of joint noise; draws them, and a batch more, if that many are not there. */
enum err own_tape_parts(struct own_tape *t, uint64_t *out, size_t n) MUST_CHECK;

/* Where the next stake would be; takes it, and wipes it from the tape. ERR_MISUSE: too few. */
struct stake_place own_tape_next(const struct own_tape *t, const size_t count[NOISE_LAWS]);
enum err own_tape_cut(struct own_tape *t, const size_t count[NOISE_LAWS],
                      struct own_stake **stake) MUST_CHECK;
/*
 * Gives back what the last stake did not use, under new places, unless it was cut from another
 * tape.
 */
void own_tape_return(struct own_tape *t, struct own_stake *stake);

/* As bytes; reads them back, ERR_FORMAT if they are not this place's. */
enum err own_stake_write(const struct own_stake *stake, struct bytes *out) MUST_CHECK;
enum err own_stake_read(struct own_stake **stake, const struct stake_place *place,
                        const struct bytes *kept) MUST_CHECK;
void own_stake_free(struct own_stake **stake);
