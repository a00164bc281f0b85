/*
 * mpc/party.h - one server's context for secret computation, and the moves that all protocols share.
 *
 *   server i knows key_i (with server i-1) and key_(i+1) (with server i+1)
 *
 * There are four ways in which data moves, and nothing in mpc/ or protocols/ uses any other:
 *   reshare   server i sends a masked z_i to i-1                       (multiplication, AND)
 *   input     server j sends v - F(key_j) to j+1                       (a value that j alone knows)
 *   reveal    a masked component goes to a server that lacks it        (conversions)
 *   open      mpc/open.h, the only way by which a value becomes public
 *
 * Invariants: the three parties call the same functions with the same public arguments in the same
 * order; a PRG position masks one word once; a failed call ends the session.
 */
#ifndef TREFOIL_MPC_PARTY_H
#define TREFOIL_MPC_PARTY_H

#include "base/log.h"
#include "mpc/kernel.h"
#include "mpc/prg.h"
#include "mpc/scratch.h"
#include "mpc/share.h"
#include "netio/net.h"

/* Why a value is opened. Only the first two carry data-dependent values that are not masked. */
enum open_reason {
    OPEN_SELECTED_INDEX,
    OPEN_NOISY_MARGINAL,
    OPEN_REJECT_BIT,
    OPEN_CHECK_ZERO,
    OPEN_MASKED,
    OPEN_REASONS
};
const char *open_reason_name(enum open_reason reason);

/* Separate streams of each key, so that no two uses can meet. */
enum prg_purpose { PRG_ZERO, PRG_RANDOM, PRG_INPUT, PRG_MASK, PRG_PURPOSES };

/*
 * For tests: told of words that came in and are secret (masked shares), and of words that have been
 * opened. Both are called where the words stand, before they are used.
 */
struct party_watch {
    void (*secret)(void *self, const void *p, size_t n);
    void (*opened)(void *self, const void *p, size_t n);
    void *self;
};

struct party {
    unsigned index;
    struct net *net;                  /* borrowed */
    struct prg *prg[2][PRG_PURPOSES]; /* [0]: key_i, [1]: key_(i+1) */
    struct log *log;
    const struct kernel *kernel; /* kernel_best() */
    struct scratch *scratch;
    const struct party_watch *watch; /* NULL but in tests */
    struct {
        uint64_t calls, values;
    } opened[OPEN_REASONS];
    /* Called before each opening, if set; an error stops it. */
    enum err (*audit)(void *self, enum open_reason reason, size_t values);
    void *audit_self;
};

enum err party_new(struct party **party, struct net *net, const struct session *session,
                   uint32_t lane, struct log *log) MUST_CHECK;
void party_free(struct party **party);

/* Tells a test's watch of words that came in. */
static inline void party_secret(const struct party *p, const void *words, size_t n)
{
    if (p->watch != NULL)
        p->watch->secret(p->watch->self, words, n);
}

/* One round. `to` and `from` may be the same or differ; sizes may be 0. */
enum err party_exchange(struct party *p, enum net_peer to, const void *send, size_t send_size,
                        enum net_peer from, void *receive, size_t receive_size) MUST_CHECK;

/*
 * The same, streamed: payloads are made and used tile by tile (see net_stream()). Tiles are of
 * PARTY_TILE bytes, so that one stays in the second-level cache from the PRG to the socket.
 */
#define PARTY_TILE ((size_t)256 << 10)
enum err party_stream(struct party *p, const struct net_flow *flow) MUST_CHECK;

/* alpha_i with alpha_0 + alpha_1 + alpha_2 = 0 (or XOR 0): fills `mask` and adds nothing else. */
enum err party_zero16(struct party *p, uint16_t *mask, size_t n) MUST_CHECK;
enum err party_zero32(struct party *p, uint32_t *mask, size_t n) MUST_CHECK;
enum err party_zero64(struct party *p, uint64_t *mask, size_t n) MUST_CHECK;
enum err party_zero128(struct party *p, word128 *mask, size_t n) MUST_CHECK;
enum err party_zero_bits(struct party *p, uint64_t *mask, size_t words) MUST_CHECK;

/*
 * Resharing, streamed: z_i goes to i-1, and each server keeps its own z_i as component a and takes
 * what arrives as component b. All three run on ranges of bytes, in order.
 *   make   fills `out` with the masked summand
 *   keep   is given the same bytes back, to store as component a
 *   take   stores component b
 * `apart`: nothing that make reads is written by keep or take. Otherwise all of z is made first.
 * The messages are the same.
 */
struct party_reshare {
    struct party *p;
    size_t bytes;
    bool apart;
    enum err (*make)(void *self, size_t offset, uint8_t *out, size_t n);
    void (*keep)(void *self, size_t offset, const uint8_t *z, size_t n);
    void (*take)(void *self, size_t offset, const uint8_t *in, size_t n);
    void *self;
};
enum err party_reshare(const struct party_reshare *r) MUST_CHECK;

/* Random shares that nobody knows; no communication. */
enum err party_random64(struct party *p, struct share64 *x) MUST_CHECK;
enum err party_random_bits(struct party *p, struct bits *x) MUST_CHECK;

/* Vectors from the party's scratch: not zeroed, never freed one by one (scratch_release()). */
enum err party_planes(struct party *p, struct planes *x, unsigned width, size_t n) MUST_CHECK;
enum err party_bits(struct party *p, struct bits *x, size_t n) MUST_CHECK;
enum err party_share32(struct party *p, struct share32 *x, size_t n) MUST_CHECK;
enum err party_share64(struct party *p, struct share64 *x, size_t n) MUST_CHECK;
enum err party_share128(struct party *p, struct share128 *x, size_t n) MUST_CHECK;

/*
 * Lanes are divided in three contiguous parts, and part j is handled by server j in the role that
 * is heavier, so that all three send the same. For words: [begin, end) of part j.
 */
struct part {
    size_t begin, end;
};
static inline struct part party_part(size_t n, unsigned j)
{
    return (struct part){n / 3 * j + (n % 3) * j / 3, n / 3 * (j + 1) + (n % 3) * (j + 1) / 3};
}

#endif
