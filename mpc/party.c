#include "mpc/party.h"

#include "base/memory.h"
#include "base/secret.h"

const char *open_reason_name(enum open_reason reason)
{
    static const char *const names[OPEN_REASONS] = {
        [OPEN_SELECTED_INDEX] = "SELECTED_INDEX",
        [OPEN_NOISY_MARGINAL] = "NOISY_MARGINAL",
        [OPEN_REJECT_BIT] = "REJECT_BIT",
        [OPEN_CHECK_ZERO] = "CHECK_ZERO",
        [OPEN_MASKED] = "MASKED",
    };
    return (unsigned)reason < OPEN_REASONS ? names[reason] : "?";
}

enum err party_new(struct party **party, struct net *net, const struct session *session,
                   uint32_t lane, struct log *log)
{
    static const char *const purposes[PRG_PURPOSES] = {"zero", "random", "input"};
    struct party *p = memory_array(1, sizeof *p);
    enum err e = ERR_OK;
    *party = p;
    if (p == NULL)
        return ERR_NOMEM;
    p->index = net_index(net);
    p->net = net;
    p->log = log;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES && e == ERR_OK; purpose++) {
            uint8_t key[16];
            e = session_prg_key(session, (p->index + side) % 3, lane, purposes[purpose], key);
            if (e == ERR_OK)
                e = prg_new(&p->prg[side][purpose], key);
            secret_wipe(key, sizeof key);
        }
    if (e != ERR_OK)
        party_free(party);
    return e;
}

void party_free(struct party **party)
{
    if (*party == NULL)
        return;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES; purpose++)
            prg_free(&(*party)->prg[side][purpose]);
    memory_free(party);
}

enum err party_exchange(struct party *p, enum net_peer to, const void *send, size_t send_size,
                        enum net_peer from, void *receive, size_t receive_size)
{
    struct net_round r = {0};
    r.send[to] = send;
    r.send_size[to] = send_size;
    r.receive[from] = receive;
    r.receive_size[from] = receive_size;
    return net_exchange(p->net, &r);
}

/* Draws the same length from both keys and combines them: the base of all zero sharings. */
#define DEFINE_ZERO(name, word, combine)                                                           \
    enum err name(struct party *p, word *mask, size_t n)                                           \
    {                                                                                              \
        word chunk[512];                                                                           \
        TRY(prg_fill(p->prg[0][PRG_ZERO], mask, n * sizeof *mask));                                \
        for (size_t at = 0; at < n; at += 512) {                                                   \
            size_t k = n - at < 512 ? n - at : 512;                                                \
            TRY(prg_fill(p->prg[1][PRG_ZERO], chunk, k * sizeof *chunk));                          \
            for (size_t i = 0; i < k; i++)                                                         \
                mask[at + i] combine chunk[i];                                                     \
        }                                                                                          \
        secret_wipe(chunk, sizeof chunk);                                                          \
        return ERR_OK;                                                                             \
    }

DEFINE_ZERO(party_zero64, uint64_t, -=)
DEFINE_ZERO(party_zero128, word128, -=)
DEFINE_ZERO(party_zero_bits, uint64_t, ^=)

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
