#include "mpc/check_private.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <string.h>

static bool begin_digest(EVP_MD_CTX **digest)
{
    *digest = EVP_MD_CTX_new();
    return *digest != NULL && EVP_DigestInit_ex(*digest, EVP_sha256(), NULL) == 1;
}

enum err check_new_lane(struct party *p, const struct check_limits *limits)
{
    struct check *c = memory_array(1, sizeof *c);
    p->check = c;
    if (c == NULL)
        return ERR_NOMEM;
    c->limits = *limits;
    c->log.from = c->numbers.from = &c->chunks;
    c->numbers.kernel = p->kernel;
    c->limits.groups = c->limits.groups == 0 ? 1024 : c->limits.groups;
    bool ok = begin_digest(&c->script);
    for (unsigned k = 0; k < 3; k++)
        ok = ok && begin_digest(&c->heard[k]);
    if (!ok)
        check_free(&p->check);
    return ok ? ERR_OK : ERR_CRYPTO;
}

void check_free(struct check **check)
{
    if (*check == NULL)
        return;
    check_log_free(&(*check)->log);
    check_numbers_free(&(*check)->numbers);
    check_chunks_free(&(*check)->chunks);
    EVP_MD_CTX_free((*check)->script);
    for (unsigned k = 0; k < 3; k++)
        EVP_MD_CTX_free((*check)->heard[k]);
    memory_free(check);
}

bool check_notes(const struct check *c)
{
    return !check_log_empty(&c->log) || !check_numbers_empty(&c->numbers);
}

enum err check_bits(struct party *p, const struct move_term *terms, unsigned products)
{
    struct check_cursor sent, came;
    if (p->check == NULL)
        return ERR_OK;
    products = check_products(terms, products);
    sent = came = check_log_end(&p->check->log);
    TRY(check_say(p, CHECK_BITS, terms->words, products, 0));
    TRY(check_log_room(&p->check->log, terms, products, terms->words));
    check_log_put(&p->check->log, &sent, p->kernel, terms, products, 0, terms->out.a, terms->words);
    check_log_take(&p->check->log, &came, p->kernel, terms, products, terms->out.b, terms->words);
    return ERR_OK;
}

enum err check_ring(struct party *p, enum ring ring, const struct check_product *products,
                    unsigned count, const size_t *start, struct operand z, size_t n)
{
    struct check_place place;
    if (p->check == NULL)
        return ERR_OK;
    TRY(check_say(p, CHECK_RING, ring, n, count));
    TRY(check_numbers_add(&p->check->numbers, ring, products, count, start, n, &place));
    check_numbers_fill(&p->check->numbers, &place, z, n);
    return check_if_full(p);
}

size_t check_most(const struct party *p, size_t bytes)
{
    const size_t words = p->check == NULL ? SIZE_MAX / 64
                                          : p->check->limits.log / 4 * 3 / bytes / 64;
    return 64 * (words > 0 ? words : 1);
}

enum err check_if_full(struct party *p)
{
    const struct check *c = p->check;
    const bool full = c != NULL && check_log_bytes(&c->log) + c->numbers.bytes > c->limits.log;
    return full ? check_flush(p) : ERR_OK;
}

enum err check_fail(struct party *p, const char *what)
{
    struct check *c = p->check;
    c->failure = (struct check_failure){true, net_phase(p->net), c->flushes};
    log_error(
        p->log,
        "server %u or %u sent something that does not fit (phase %s, check %lu: %s): one of them "
        "departs from the protocol, or its memory is faulty. Nothing that depends on it was opened",
        (p->index + 1) % 3, (p->index + 2) % 3, net_phase_name(c->failure.phase),
        (unsigned long)c->failure.check, what);
    if (c->limits.guard.failed != NULL)
        c->limits.guard.failed(c->limits.guard.self);
    net_abort(p->net);
    return ERR_CHEAT;
}

/* --- script ----------------------------------------------------------------------------------- */

enum err check_say_opened(const struct party *p, const void *words, size_t bytes)
{
    if (p->check != NULL && EVP_DigestUpdate(p->check->script, words, bytes) != 1)
        return ERR_CRYPTO;
    return ERR_OK;
}

enum err check_say(const struct party *p, enum check_step step, uint64_t a, uint64_t b, uint64_t c)
{
    uint8_t said[32], *at = said;
    at = integer_put(at, step, 8);
    at = integer_put(at, a, 8);
    at = integer_put(at, b, 8);
    integer_put(at, c, 8);
    return check_say_opened(p, said, sizeof said);
}

enum err check_digest(const void *p, size_t bytes, uint8_t digest[CHECK_DIGEST])
{
    return EVP_Digest(p, bytes, digest, NULL, EVP_sha256(), NULL) == 1 ? ERR_OK : ERR_CRYPTO;
}

enum err check_script(const struct check *c, uint8_t digest[CHECK_DIGEST])
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    const bool ok = copy != NULL && EVP_MD_CTX_copy_ex(copy, c->script) == 1 &&
                    EVP_DigestFinal_ex(copy, digest, NULL) == 1;
    EVP_MD_CTX_free(copy);
    return ok ? ERR_OK : ERR_CRYPTO;
}

/* What all know, coins and digests of them among it, is public. */
static void tell(const struct party *p, const void *words, size_t bytes)
{
    if (p->watch != NULL)
        p->watch->opened(p->watch->self, words, bytes);
}

/* --- what goes to both ------------------------------------------------------------------------ */

enum err check_hear(const struct party *p, unsigned from, const void *words, size_t bytes)
{
    if (p->check != NULL && EVP_DigestUpdate(p->check->heard[from], words, bytes) != 1)
        return ERR_CRYPTO;
    return ERR_OK;
}

enum err check_heard(const struct party *p)
{
    struct check *c = p->check;
    if (c == NULL)
        return ERR_OK;
    TRY(check_say(p, CHECK_HEARD, 0, 0, 0));
    for (unsigned k = 0; k < 3; k++) {
        uint8_t digest[CHECK_DIGEST];
        if (EVP_DigestFinal_ex(c->heard[k], digest, NULL) != 1 ||
            EVP_DigestInit_ex(c->heard[k], EVP_sha256(), NULL) != 1)
            return ERR_CRYPTO;
        tell(p, digest, sizeof digest);
        TRY(check_say_opened(p, digest, sizeof digest));
    }
    c->apart = true;
    return ERR_OK;
}

enum err check_alike(struct party *p, const void *bytes, size_t n)
{
    if (p->check == NULL)
        return ERR_OK;
    TRY(check_say(p, CHECK_ALIKE, n, 0, 0));
    TRY(check_say_opened(p, bytes, n));
    p->check->apart = true;
    return ERR_OK;
}

/* Both scripts that have come must be this server's own. */
static enum err compare_scripts(struct party *p, const uint8_t own[CHECK_DIGEST],
                                const uint8_t last[CHECK_DIGEST], const uint8_t next[CHECK_DIGEST])
{
    if (memcmp(last, own, CHECK_DIGEST) != 0 || memcmp(next, own, CHECK_DIGEST) != 0)
        return check_fail(p, "what was computed so far");
    p->check->apart = false;
    return ERR_OK;
}

enum err check_agree_lane(struct party *p)
{
    uint8_t own[CHECK_DIGEST] = {0}, came[2][CHECK_DIGEST];
    const struct message all = move_whole(own, sizeof own);
    const struct round round = {
        .send = {{all}, {all}},
        .receive = {{move_kept(came[NET_PREV], sizeof own)},
                    {move_kept(came[NET_NEXT], sizeof own)}},
    };
    if (!p->check->apart)
        return ERR_OK;
    TRY(check_script(p->check, own));
    TRY(move_round(p, &round));
    tell(p, came, sizeof came);
    return compare_scripts(p, own, came[NET_PREV], came[NET_NEXT]);
}

/* --- coin ------------------------------------------------------------------------------------- */

#define HALF 16

/* What one server tells another: a half, the digest of the other half, the script. */
struct share_of_coin {
    uint8_t half[HALF], other[CHECK_DIGEST], script[CHECK_DIGEST];
};

static bool fits(const uint8_t half[HALF], const uint8_t digest[CHECK_DIGEST], enum err *e)
{
    uint8_t own[CHECK_DIGEST];
    *e = check_digest(half, HALF, own);
    return *e == ERR_OK && memcmp(own, digest, sizeof own) == 0;
}

/* SHA-256("trefoil-coin-1", script, u_0, v_0 .. v_2): its first half is a key. */
static enum err stream_of(const uint8_t script[CHECK_DIGEST], const uint8_t half[3][2][HALF],
                          struct prg **weights)
{
    static const char label[] = "trefoil-coin-1";
    uint8_t all[sizeof label + CHECK_DIGEST + 6 * HALF], coin[CHECK_DIGEST];
    memcpy(all, label, sizeof label);
    memcpy(all + sizeof label, script, CHECK_DIGEST);
    memcpy(all + sizeof label + CHECK_DIGEST, half, 6 * HALF);
    TRY(check_digest(all, sizeof all, coin));
    return prg_new(weights, coin);
}

static enum err exchange(struct party *p, const struct share_of_coin sent[2],
                         struct share_of_coin came[2])
{
    const size_t bytes = sizeof *sent;
    const struct round round = {
        .send = {[NET_PREV] = {move_whole(&sent[NET_PREV], bytes)},
                 [NET_NEXT] = {move_whole(&sent[NET_NEXT], bytes)}},
        .receive = {[NET_PREV] = {move_kept(&came[NET_PREV], bytes)},
                    [NET_NEXT] = {move_kept(&came[NET_NEXT], bytes)}},
    };
    return move_round(p, &round);
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
    TRY(check_script(p->check, sent[NET_NEXT].script));
    memcpy(sent[NET_PREV].script, sent[NET_NEXT].script, CHECK_DIGEST);
    memcpy(sent[NET_NEXT].half, half[i][0], HALF);
    memcpy(sent[NET_PREV].half, half[next][1], HALF);
    TRY(check_digest(half[i][1], HALF, sent[NET_NEXT].other));
    TRY(check_digest(half[next][0], HALF, sent[NET_PREV].other));
    TRY(exchange(p, sent, came));
    tell(p, came, sizeof came);
    tell(p, half, sizeof half);
    memcpy(half[last][0], came[NET_PREV].half, HALF);
    memcpy(half[last][1], came[NET_NEXT].half, HALF);
    TRY(compare_scripts(p, sent[NET_NEXT].script, came[NET_PREV].script, came[NET_NEXT].script));
    if (!fits(half[last][0], came[NET_NEXT].other, &e) ||
        !fits(half[last][1], came[NET_PREV].other, &e))
        return e != ERR_OK ? e : check_fail(p, "a coin");
    return stream_of(sent[NET_NEXT].script, (const uint8_t(*)[2][HALF])half, weights);
}
