#include "mpc/check/check_private.h"

#include "base/bytes.h"

bool check_notes(const struct check *c)
{
    return !check_bit_log_empty(&c->bits) || !check_numbers_empty(&c->numbers);
}

enum err check_fail(struct party *p, const char *what)
{
    struct check *c = check_of(p);
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
    return EVP_DigestUpdate(check_of(p)->script, words, bytes) == 1 ? ERR_OK : ERR_CRYPTO;
}

enum err check_say(const struct party *p, enum record_step step, uint64_t a, uint64_t b, uint64_t c)
{
    uint8_t said[32], *at = said;
    at = integer_put(at, step, 8);
    at = integer_put(at, a, 8);
    at = integer_put(at, b, 8);
    integer_put(at, c, 8);
    return check_say_opened(p, said, sizeof said);
}

enum err check_script(const struct check *c, uint8_t digest[MOVE_DIGEST])
{
    EVP_MD_CTX *copy = EVP_MD_CTX_new();
    const bool ok = copy != NULL && EVP_MD_CTX_copy_ex(copy, c->script) == 1 &&
                    EVP_DigestFinal_ex(copy, digest, NULL) == 1;
    EVP_MD_CTX_free(copy);
    return ok ? ERR_OK : ERR_CRYPTO;
}
