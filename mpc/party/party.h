/*
 * mpc/party/party.h - one server's context for secret computation.
 *
 *   server i knows key_i (with server i-1) and key_(i+1) (with server i+1)
 *
 * Shares travel by the moves of mpc/move/move.h, and by nothing else. Nothing here sends.
 *
 * Invariants: the three parties call the same functions with the same public arguments in the same
 * order; a PRG position masks one word once; a failed call ends the session.
 */
#pragma once

#include "base/log.h"
#include "base/prg.h"
#include "mpc/kernel/kernel.h"
#include "mpc/kernel/share.h"
#include "mpc/party/scratch.h"
#include "netio/net.h"

/* Why a value is opened. Only the first five depend on data of owners who follow the protocol. */
enum party_reason {
    OPEN_SELECTED_INDEX,
    OPEN_NOISY_MARGINAL,
    OPEN_NOISY_FORM,
    OPEN_NOISY_SCORE,
    OPEN_NOISY_GRADIENT,
    OPEN_SORTED,
    OPEN_REJECT_BIT,
    OPEN_REASONS
};
const char *party_reason_name(enum party_reason reason);

/* Separate streams of each key, so that no two uses can meet. */
enum party_purpose {
    PRG_ZERO,
    PRG_RANDOM,
    PRG_INPUT,
    PRG_MASK,
    PRG_COIN,  /* halves of the coins of a check */
    PRG_CHECK, /* what masks its sums */
    PRG_PURPOSES
};

/* Who is told what moves do: mpc/move/record.h has the calls. It is freed with its party. */
struct party_recorder {
    const struct record_calls *calls;
    size_t log; /* bytes that may be noted before they are proved */
    void (*free)(struct party_recorder *recorder);
};

struct crew;

struct party {
    unsigned index, lane;
    struct crew *crew;                /* of lane 0, if there is one: mpc/move/crew.h */
    struct net *net;                  /* borrowed */
    struct prg *prg[2][PRG_PURPOSES]; /* [0]: key_i, [1]: key_(i+1) */
    struct log *log;
    const struct kernel *kernel; /* kernel_best() */
    struct scratch *scratch;
    struct party_recorder *recorder; /* NULL: servers are trusted to follow the protocol */
    struct {
        uint64_t calls, values;
    } opened[OPEN_REASONS];
    /* Called before each opening, if set; an error stops it. */
    enum err (*audit)(void *self, enum party_reason reason, size_t values);
    void *audit_self;
    /* Called after each tile of a long computation, if set: how much is done. Sizes are public. */
    void (*progress)(void *self, uint64_t done, uint64_t all);
    void *progress_self;
};

enum err party_new(struct party **party, struct net *net, const struct session *session,
                   uint32_t lane, struct log *log) MUST_CHECK;
void party_free(struct party **party);
/*
 * From here on masks and random shares come from streams of their own, whose keys follow from the
 * session's secrets and from `topic` instead of its id. So servers whose topics differ share no
 * position of a stream, whatever they compute. A topic is used once in a session.
 */
enum err party_topic(struct party *p, const struct session *session,
                     const uint8_t topic[SESSION_ID_SIZE]) MUST_CHECK;

/* Whether servers prove to each other what they do, before anything is opened. */
static inline bool party_proves(const struct party *p)
{
    return p->recorder != NULL;
}

/*
 * Marks words, in place, that all three know from here on. It does nothing: whoever follows secrets
 * through the program, as tests do, wraps it.
 */
void party_opened(const struct party *p, const void *words, size_t bytes);

/* Random shares that nobody knows; no communication. */
enum err party_random64(struct party *p, struct share64 *x) MUST_CHECK;
enum err party_random_bits(struct party *p, struct bits *x) MUST_CHECK;

/* Vectors from the party's scratch: not zeroed, never freed one by one (scratch_release()). */
enum err party_planes(struct party *p, struct planes *x, unsigned width, size_t n) MUST_CHECK;
enum err party_bits(struct party *p, struct bits *x, size_t n) MUST_CHECK;
enum err party_share16(struct party *p, struct share16 *x, size_t n) MUST_CHECK;
enum err party_share32(struct party *p, struct share32 *x, size_t n) MUST_CHECK;
enum err party_share64(struct party *p, struct share64 *x, size_t n) MUST_CHECK;
enum err party_share128(struct party *p, struct share128 *x, size_t n) MUST_CHECK;

/*
 * Lanes are divided into three contiguous parts, and server j has the heavier role in part j, so
 * that all three send the same. These are [begin, end) of the parts in which this server is j, j+1
 * and j+2; each but the last of all begins and ends at a multiple of `unit`.
 */
struct party_part {
    size_t begin, end;
};
static inline size_t part_lanes(struct party_part part)
{
    return part.end - part.begin;
}
struct party_parts {
    struct party_part j, j1, j2;
};
struct party_parts party_parts(const struct party *p, size_t n, size_t unit);
