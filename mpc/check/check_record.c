/* What moves tell (mpc/move/record.h) becomes what is proved. This is above all of the check. */
#include "base/memory.h"
#include "mpc/check/check_private.h"
#include "mpc/move/crew.h"

/* A full log is proved: at the end of a move. */
static enum err prove_if_full(struct party *p)
{
    const struct check *c = check_of(p);
    const bool full = check_bit_log_bytes(&c->bits) + c->numbers.bytes > check_log_now(p);
    return full ? check_flush(p, NULL) : ERR_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

static enum err note_products(struct party *p, enum share_ring ring, const struct move_term *t,
                              unsigned products, struct check_place *place)
{
    const struct scratch_mark mark CLEAN(scratch_release) = scratch_mark(p->scratch);
    struct record_product *of;
    TRY(scratch_array(p->scratch, &of, products));
    for (unsigned l = 0; l < products; l++)
        of[l] = (struct record_product){t[l].x, t[l].y, .c = 1};
    return check_numbers_add(&check_of(p)->numbers, ring, of, products, NULL, t->words, place);
}

/* Notes what is asked, and products of numbers while they are still there. */
static enum err begin(struct party *p, const struct move_sums *sums)
{
    struct check *c = check_of(p);
    c->sums.products = sums->products;
    if (sums->ring == RING_BITS)
        c->sums.made = c->sums.came = check_bit_log_end(&c->bits);
    TRY(check_say(p, RECORD_SUMS, sums->ring, sums->count, sums->products));
    for (size_t k = 0; k < sums->count; k++) {
        const struct move_term *t = &sums->terms[sums->products * k];
        const unsigned products = check_products(t, sums->products);
        struct check_place place;
        TRY(check_say(p, RECORD_TERM, t->words, products, 0));
        c->owed = c->owed || (sums->proved && products > 0);
        if (sums->ring == RING_BITS)
            TRY(check_bit_log_room(&c->bits, t, products, t->words));
        else if (products > 0 && !sums->proved)
            TRY(note_products(p, sums->ring, t, products, k == 0 ? &c->sums.numbers : &place));
        else if (!sums->proved)
            return ERR_MISUSE;
    }
    return ERR_OK;
}

static void made(struct party *p, const struct move_term *term, size_t at, const uint64_t *z,
                 size_t words)
{
    struct check *c = check_of(p);
    check_bit_log_put(&c->bits, &c->sums.made, p->kernel, term,
                      check_products(term, c->sums.products), at, z, words);
}

static void came(struct party *p, const struct move_term *term, const uint64_t *z, size_t words)
{
    struct check *c = check_of(p);
    check_bit_log_take(&c->bits, &c->sums.came, p->kernel, term,
                       check_products(term, c->sums.products), z, words);
}

/* Notes z of numbers, both components. */
static enum err end(struct party *p, const struct move_sums *sums)
{
    struct check *c = check_of(p);
    for (size_t k = 0; sums->ring != RING_BITS && !sums->proved && k < sums->count; k++) {
        const struct move_term *t = &sums->terms[sums->products * k];
        check_numbers_fill(&c->numbers, &c->sums.numbers, t->out, t->words);
    }
    return sums->proved ? ERR_OK : prove_if_full(p);
}

/* --- notes ------------------------------------------------------------------------------------ */

static enum err bits(struct party *p, const struct move_term *terms, unsigned most)
{
    struct check_bit_log *log = &check_of(p)->bits;
    const unsigned products = check_products(terms, most);
    struct check_cursor to = check_bit_log_end(log), from = to;
    TRY(check_say(p, RECORD_BITS, terms->words, products, 0));
    TRY(check_bit_log_room(log, terms, products, terms->words));
    check_bit_log_put(log, &to, p->kernel, terms, products, 0, terms->out.a, terms->words);
    check_bit_log_take(log, &from, p->kernel, terms, products, terms->out.b, terms->words);
    return ERR_OK;
}

static enum err numbers(struct party *p, enum share_ring ring, const struct record_sums *of,
                        struct move_operand z, size_t n)
{
    struct check_numbers *log = &check_of(p)->numbers;
    struct check_place place;
    if (of->matrices != NULL)
        return check_matrices(p, of->matrices);
    TRY(check_say(p, RECORD_RING, ring, n, of->count));
    TRY(check_numbers_add(log, ring, of->products, of->count, of->start, n, &place));
    check_numbers_fill(log, &place, z, n);
    return prove_if_full(p);
}

/* --- what goes to both ------------------------------------------------------------------------ */

static enum err hear(const struct party *p, unsigned from, const void *words, size_t bytes)
{
    return EVP_DigestUpdate(check_of(p)->heard[from], words, bytes) == 1 ? ERR_OK : ERR_CRYPTO;
}

/* What each server said to both others goes into the script. */
static enum err heard(const struct party *p)
{
    struct check *c = check_of(p);
    TRY(check_say(p, RECORD_HEARD, 0, 0, 0));
    for (unsigned k = 0; k < 3; k++) {
        uint8_t digest[MOVE_DIGEST];
        if (EVP_DigestFinal_ex(c->heard[k], digest, NULL) != 1 ||
            EVP_DigestInit_ex(c->heard[k], EVP_sha256(), NULL) != 1)
            return ERR_CRYPTO;
        party_opened(p, digest, sizeof digest);
        TRY(check_say_opened(p, digest, sizeof digest));
    }
    c->apart = true;
    return ERR_OK;
}

static enum err alike(struct party *p, const void *bytes, size_t n)
{
    TRY(check_say(p, RECORD_ALIKE, n, 0, 0));
    TRY(check_say_opened(p, bytes, n));
    check_of(p)->apart = true;
    return ERR_OK;
}

/* --- what rode -------------------------------------------------------------------------------- */

static enum err rode(struct party *p, bool fits)
{
    struct check *c = check_of(p);
    if (!fits)
        return check_fail(p, "an index");
    c->rode = false;
    return check_guard(&c->limits.guard, c->limits.guard.end);
}

/* --- a new check ------------------------------------------------------------------------------ */

static void end_check(struct party_recorder *recorder)
{
    struct check *c = (struct check *)recorder;
    check_bit_log_free(&c->bits);
    check_numbers_free(&c->numbers);
    check_chunks_free(&c->chunks);
    EVP_MD_CTX_free(c->script);
    for (unsigned k = 0; k < 3; k++)
        EVP_MD_CTX_free(c->heard[k]);
    memory_free(&c);
}

static const struct record_calls calls = {
    .begin = begin,
    .made = made,
    .came = came,
    .end = end,
    .bits = bits,
    .numbers = numbers,
    .say = check_say,
    .opened = check_say_opened,
    .hear = hear,
    .heard = heard,
    .alike = alike,
    .agree = check_agree,
    .failed = check_fail,
    .prove = check_flush,
    .rode = rode,
    .begin_jobs = check_begin_jobs,
    .end_jobs = check_end_jobs,
};

static bool begin_digest(EVP_MD_CTX **digest)
{
    *digest = EVP_MD_CTX_new();
    return *digest != NULL && EVP_DigestInit_ex(*digest, EVP_sha256(), NULL) == 1;
}

static enum err begin_lane(void *self, struct party *lane, size_t k)
{
    const struct check_limits *limits = self;
    struct check *c = memory_array(1, sizeof *c);
    (void)k;
    if (c == NULL)
        return ERR_NOMEM;
    lane->recorder = &c->recorder;
    c->recorder = (struct party_recorder){&calls, limits->log, end_check};
    c->limits = *limits;
    c->limits.groups = c->limits.groups == 0 ? 1024 : c->limits.groups;
    c->bits.from = c->numbers.from = &c->chunks;
    c->numbers.kernel = lane->kernel;
    bool ok = begin_digest(&c->script);
    for (unsigned from = 0; from < 3; from++)
        ok = ok && begin_digest(&c->heard[from]);
    return ok ? ERR_OK : ERR_CRYPTO;
}

enum err check_new(struct party *p, const struct check_limits *limits)
{
    struct check_limits each = *limits;
    if (each.log == 0)
        each.log = check_log_share(crew_most(p));
    return crew_each_here(p, begin_lane, &each);
}
