#include "mpc/party/party.h"

#include "base/memory.h"
#include "base/secret.h"

#include <string.h>

const char *party_reason_name(enum party_reason reason)
{
    static const char *const names[OPEN_REASONS] = {
        [OPEN_SELECTED_INDEX] = "SELECTED_INDEX", [OPEN_NOISY_MARGINAL] = "NOISY_MARGINAL",
        [OPEN_NOISY_FORM] = "NOISY_FORM",         [OPEN_NOISY_SCORE] = "NOISY_SCORE",
        [OPEN_NOISY_GRADIENT] = "NOISY_GRADIENT", [OPEN_SORTED] = "SORTED",
        [OPEN_REJECT_BIT] = "REJECT_BIT",
    };
    return (unsigned)reason < OPEN_REASONS ? names[reason] : "?";
}

void party_opened(const struct party *p, const void *words, size_t bytes)
{
    (void)p, (void)words, (void)bytes;
}

static void end_streams(struct party *p)
{
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES; purpose++)
            prg_free(&p->prg[side][purpose]);
}

static enum err begin_streams(struct party *p, const struct session *session)
{
    static const char *const purposes[PRG_PURPOSES] = {"zero", "random", "input",
                                                       "mask", "coin",   "check"};
    enum err e = ERR_OK;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES && e == ERR_OK; purpose++) {
            uint8_t key[16];
            e = session_prg_key(session, (p->index + side) % 3, p->lane, purposes[purpose], key);
            if (e == ERR_OK)
                e = prg_new(&p->prg[side][purpose], key);
            secret_wipe(key, sizeof key);
        }
    return e;
}

enum err party_new(struct party **party, struct net *net, const struct session *session,
                   uint32_t lane, struct log *log)
{
    struct party *p CLEAN(party_free) = NULL;
    *party = NULL;
    TRY(memory_new(&p, 1));
    p->index = net_index(net);
    p->lane = lane;
    p->net = net;
    p->log = log;
    p->kernel = kernel_best(NULL);
    p->scratch = scratch_new();
    TRY(p->scratch == NULL ? ERR_NOMEM : begin_streams(p, session));
    return memory_hand_over(party, &p);
}

void party_free(struct party **party)
{
    if (*party == NULL)
        return;
    end_streams(*party);
    scratch_free(&(*party)->scratch);
    if ((*party)->recorder != NULL)
        (*party)->recorder->free((*party)->recorder);
    memory_free(party);
}

enum err party_topic(struct party *p, const struct session *session,
                     const uint8_t topic[SESSION_ID_SIZE])
{
    struct session about = *session;
    memcpy(about.id, topic, sizeof about.id);
    end_streams(p);
    return begin_streams(p, &about);
}

/* --- random values ---------------------------------------------------------------------------- */

enum err party_random64(struct party *p, struct share64 *x)
{
    TRY(prg_fill(p->prg[0][PRG_RANDOM], x->a, x->n * sizeof *x->a));
    return prg_fill(p->prg[1][PRG_RANDOM], x->b, x->n * sizeof *x->b);
}

enum err party_random_bits(struct party *p, struct bits *x)
{
    struct share64 words = {x->a, x->b, bits_words(x->n)};
    return party_random64(p, &words);
}

/* --- vectors from the scratch ----------------------------------------------------------------- */

#define PARTY_SHARE(type)                                                                          \
    enum err party_##type(struct party *p, struct type *x, size_t n)                               \
    {                                                                                              \
        x->n = n;                                                                                  \
        TRY(scratch_array(p->scratch, &x->a, n));                                                  \
        return scratch_array(p->scratch, &x->b, n);                                                \
    }
PARTY_SHARE(share16)
PARTY_SHARE(share32)
PARTY_SHARE(share64)
PARTY_SHARE(share128)

enum err party_planes(struct party *p, struct planes *x, unsigned width, size_t n)
{
    struct share64 words;
    TRY(party_share64(p, &words, width * bits_words(n)));
    *x = (struct planes){words.a, words.b, n, width};
    return ERR_OK;
}

enum err party_bits(struct party *p, struct bits *x, size_t n)
{
    struct planes one;
    TRY(party_planes(p, &one, 1, n));
    *x = (struct bits){one.a, one.b, n};
    return ERR_OK;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Where part j begins, of `units` units. */
static size_t start_of(size_t n, size_t unit, unsigned j)
{
    const size_t units = n / unit + (n % unit != 0),
                 at = (units / 3 * j + units % 3 * j / 3) * unit;
    return at < n ? at : n;
}

struct party_parts party_parts(const struct party *p, size_t n, size_t unit)
{
    struct party_part part[3];
    for (unsigned j = 0; j < 3; j++)
        part[j] = (struct party_part){start_of(n, unit, j), start_of(n, unit, j + 1)};
    return (struct party_parts){part[p->index], part[(p->index + 2) % 3], part[(p->index + 1) % 3]};
}
