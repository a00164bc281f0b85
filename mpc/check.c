#include "mpc/check_private.h"

#include "base/bytes.h"
#include "base/memory.h"

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
    c->bits.from = c->numbers.from = &c->chunks;
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
    check_bit_log_free(&(*check)->bits);
    check_numbers_free(&(*check)->numbers);
    check_chunks_free(&(*check)->chunks);
    EVP_MD_CTX_free((*check)->script);
    for (unsigned k = 0; k < 3; k++)
        EVP_MD_CTX_free((*check)->heard[k]);
    memory_free(check);
}

bool check_notes(const struct check *c)
{
    return !check_bit_log_empty(&c->bits) || !check_numbers_empty(&c->numbers);
}

enum err check_bits(struct party *p, const struct move_term *terms, unsigned products)
{
    struct check_cursor sent, came;
    if (p->check == NULL)
        return ERR_OK;
    products = check_products(terms, products);
    sent = came = check_bit_log_end(&p->check->bits);
    TRY(check_say(p, CHECK_BITS, terms->words, products, 0));
    TRY(check_bit_log_room(&p->check->bits, terms, products, terms->words));
    check_bit_log_put(&p->check->bits, &sent, p->kernel, terms, products, 0, terms->out.a,
                      terms->words);
    check_bit_log_take(&p->check->bits, &came, p->kernel, terms, products, terms->out.b,
                       terms->words);
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
    const bool full = c != NULL && check_bit_log_bytes(&c->bits) + c->numbers.bytes > c->limits.log;
    return full ? c->prove(p) : ERR_OK;
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
        party_opened(p, digest, sizeof digest);
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
