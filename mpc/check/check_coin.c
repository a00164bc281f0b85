/*
 * What the three tell each other before a proof: that they did and heard the same, and a coin
 * that none of them could choose.
 */
#include "mpc/check/check_private.h"

#include <string.h>

/* Both scripts received must equal this server's own. */
static enum err compare_scripts(struct party *p, const uint8_t own[MOVE_DIGEST],
                                const uint8_t last[MOVE_DIGEST], const uint8_t next[MOVE_DIGEST])
{
    if (memcmp(last, own, MOVE_DIGEST) != 0 || memcmp(next, own, MOVE_DIGEST) != 0)
        return check_fail(p, "what was computed so far");
    check_of(p)->apart = false;
    return ERR_OK;
}

enum err check_agree_lane(void *self, struct party *p, size_t k)
{
    uint8_t own[MOVE_DIGEST] = {0}, came[2][MOVE_DIGEST];
    const struct move_message all = move_whole(own, sizeof own);
    const struct move_exchange exchange = {
        .send = {{all}, {all}},
        .receive = {{move_kept(came[NET_PREV], sizeof own)},
                    {move_kept(came[NET_NEXT], sizeof own)}},
    };
    (void)self;
    (void)k;
    if (!check_of(p)->apart)
        return ERR_OK;
    TRY(check_script(check_of(p), own));
    TRY(move_exchange(p, &exchange));
    party_opened(p, came, sizeof came);
    return compare_scripts(p, own, came[NET_PREV], came[NET_NEXT]);
}

/* --- coin ------------------------------------------------------------------------------------- */

#define HALF 16

/* What one server tells another: a half, the digest of the other half, the script. */
struct share_of_coin {
    uint8_t half[HALF], other[MOVE_DIGEST], script[MOVE_DIGEST];
};

static bool fits(const uint8_t half[HALF], const uint8_t digest[MOVE_DIGEST], enum err *e)
{
    uint8_t own[MOVE_DIGEST];
    *e = move_digest(half, HALF, own);
    return *e == ERR_OK && memcmp(own, digest, sizeof own) == 0;
}

/* SHA-256("trefoil-coin-1", script, u_0, v_0 .. v_2): its first half is a key. */
static enum err stream_of(const uint8_t script[MOVE_DIGEST], const uint8_t half[3][2][HALF],
                          struct prg **weights)
{
    static const char label[] = "trefoil-coin-1";
    uint8_t all[sizeof label + MOVE_DIGEST + 6 * HALF], coin[MOVE_DIGEST];
    memcpy(all, label, sizeof label);
    memcpy(all + sizeof label, script, MOVE_DIGEST);
    memcpy(all + sizeof label + MOVE_DIGEST, half, 6 * HALF);
    TRY(move_digest(all, sizeof all, coin));
    return prg_new(weights, coin);
}

static enum err exchange(struct party *p, const struct share_of_coin sent[2],
                         struct share_of_coin came[2])
{
    const size_t bytes = sizeof *sent;
    const struct move_exchange exchange = {
        .send = {[NET_PREV] = {move_whole(&sent[NET_PREV], bytes)},
                 [NET_NEXT] = {move_whole(&sent[NET_NEXT], bytes)}},
        .receive = {[NET_PREV] = {move_kept(&came[NET_PREV], bytes)},
                    [NET_NEXT] = {move_kept(&came[NET_NEXT], bytes)}},
    };
    return move_exchange(p, &exchange);
}

enum err check_coin(struct party *p, struct prg **weights)
{
    const unsigned i = p->index, next = (i + 1) % 3, last = (i + 2) % 3;
    struct share_of_coin sent[2], came[2];
    uint8_t half[3][2][HALF]; /* u, v of each key */
    enum err e;
    *weights = NULL;
    for (unsigned side = 0; side < 2; side++)
        TRY(prg_fill(p->prg[side][PRG_COIN], half[(i + side) % 3], sizeof half[0]));
    TRY(check_script(check_of(p), sent[NET_NEXT].script));
    memcpy(sent[NET_PREV].script, sent[NET_NEXT].script, MOVE_DIGEST);
    memcpy(sent[NET_NEXT].half, half[i][0], HALF);
    memcpy(sent[NET_PREV].half, half[next][1], HALF);
    TRY(move_digest(half[i][1], HALF, sent[NET_NEXT].other));
    TRY(move_digest(half[next][0], HALF, sent[NET_PREV].other));
    TRY(exchange(p, sent, came));
    party_opened(p, came, sizeof came);
    party_opened(p, half, sizeof half);
    memcpy(half[last][0], came[NET_PREV].half, HALF);
    memcpy(half[last][1], came[NET_NEXT].half, HALF);
    TRY(compare_scripts(p, sent[NET_NEXT].script, came[NET_PREV].script, came[NET_NEXT].script));
    if (!fits(half[last][0], came[NET_NEXT].other, &e) ||
        !fits(half[last][1], came[NET_PREV].other, &e))
        return e != ERR_OK ? e : check_fail(p, "a coin");
    return stream_of(sent[NET_NEXT].script, (const uint8_t(*)[2][HALF])half, weights);
}
