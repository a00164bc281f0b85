#include "parties/settings/two/rows.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "mpc/pair/pair.h"
#include "parties/exchange/price.h"
#include "parties/store/store_sorted.h"

#include <string.h>

void two_rows_free(struct two_rows *rows)
{
    lattice_ring_free(&rows->ring);
}

static bool is_provider(const struct two_rows *r)
{
    return net_index(r->net) == PAIR_PROVIDER;
}

/* --- what is kept ----------------------------------------------------------------------------- */

/*
 * On disk: the session, then the share, unless the key does not open the rows. What was altered is
 * as good as gone.
 */
static enum err recall(const struct two_rows *r, const struct upload *u, struct bytes *counted)
{
    const size_t whole = TWO_ROWS_SESSION + 8 * r->study->workload->maximal_cells;
    uint8_t digest[32];
    enum err e;
    upload_digest(u, r->study->terms.digest, digest);
    e = store_counted(r->store, digest, counted);
    if (e == ERR_OK &&
        (counted->size == 0 || counted->size == TWO_ROWS_SESSION || counted->size == whole))
        return ERR_OK;
    counted->size = 0;
    if (e != ERR_OK && e != ERR_AUTH)
        return e;
    log_error(r->log,
              "what was counted of the rows of %s does not unseal in this server's store, which "
              "was altered; they are counted again",
              study_owner_name(r->study, u->owner).text);
    return ERR_OK;
}

static enum err keep(const struct two_rows *r, const uint8_t digest[32], const uint64_t *word)
{
    struct bytes counted CLEAN(bytes_clear) = {0};
    bytes_put(&counted, r->session, TWO_ROWS_SESSION);
    for (uint64_t i = 0; word != NULL && i < r->study->workload->maximal_cells; i++)
        bytes_put_u64(&counted, word[i]);
    TRY(bytes_ok(&counted));
    return store_put_counted(r->store, digest, &counted);
}

static enum err take(const struct two_rows *r, const struct upload *u, uint64_t *word, bool *opens)
{
    struct bytes counted CLEAN(bytes_clear) = {0};
    TRY(recall(r, u, &counted));
    if (counted.size == 0)
        return ERR_MISUSE;
    *opens = counted.size > TWO_ROWS_SESSION;
    for (uint64_t i = 0; *opens && i < r->study->workload->maximal_cells; i++)
        word[i] = integer_get(counted.data + TWO_ROWS_SESSION + 8 * i, 8);
    return ERR_OK;
}

static bool concerns(const struct upload *u, const bool *counted)
{
    return u->form == UPLOAD_ENCRYPTED && !counted[u->owner];
}

enum err two_rows_meet(const struct two_rows *r, const struct upload *uploads, size_t count,
                       const bool *counted, bool **kept)
{
    static const uint8_t never[TWO_ROWS_SESSION] = {0};
    uint8_t *bytes CLEAN(memory_release) = NULL, *own, *came;
    size_t n = 0;
    TRY(memory_new(kept, count));
    TRY(memory_new(&bytes, 2 * count * TWO_ROWS_SESSION));
    came = bytes + count * TWO_ROWS_SESSION;
    for (size_t k = 0; k < count; k++) {
        struct bytes before CLEAN(bytes_clear) = {0};
        if (!concerns(&uploads[k], counted))
            continue;
        TRY(recall(r, &uploads[k], &before));
        if (before.size > 0)
            memcpy(bytes + n * TWO_ROWS_SESSION, before.data, TWO_ROWS_SESSION);
        n++;
    }
    if (n == 0)
        return ERR_OK;
    TRY(net_exchange(r->net, &(const struct net_exchange){.send = {bytes},
                                                          .send_size = {n * TWO_ROWS_SESSION},
                                                          .receive = {came},
                                                          .receive_size = {n * TWO_ROWS_SESSION}}));
    own = bytes;
    for (size_t k = 0; k < count; k++)
        if (concerns(&uploads[k], counted)) {
            (*kept)[k] = memcmp(own, never, TWO_ROWS_SESSION) != 0 &&
                         memcmp(own, came, TWO_ROWS_SESSION) == 0;
            own += TWO_ROWS_SESSION;
            came += TWO_ROWS_SESSION;
        }
    return ERR_OK;
}

/* --- counting --------------------------------------------------------------------------------- */

/* One upload, at either server; `at` bytes of a result are here, or are sent. */
struct two_rows_work {
    struct lattice_plan *plan;
    struct lattice_products *products; /* the provider's, as is the stream */
    struct prg *prg;
    struct lattice_key *key; /* the keeper's */
    bool opens;              /* all results so far */
    uint8_t *result;
    uint64_t *share, **cell; /* by pair: where its cells are */
    size_t at, results;
};

static void work_free(struct two_rows_work *w)
{
    lattice_plan_free(&w->plan);
    lattice_products_free(&w->products);
    prg_free(&w->prg);
    lattice_key_free(&w->key);
    memory_free(&w->result);
    memory_wipe_free(&w->share, LATTICE_N * sizeof *w->share);
    memory_free(&w->cell);
}

static enum err work_new(struct two_rows_work *w, const struct two_rows *r, size_t owner,
                         uint64_t *word)
{
    TRY(study_encrypted_plan(r->study, owner, &w->plan));
    TRY(memory_new(&w->result, LATTICE_RESULT_SIZE));
    TRY(memory_new(&w->share, LATTICE_N));
    TRY(memory_new(&w->cell, w->plan->shape.pairs));
    for (size_t p = 0; p < w->plan->shape.pairs; p++) {
        w->cell[p] = word;
        word += (size_t)w->plan->size[w->plan->pair[p][0]] * w->plan->size[w->plan->pair[p][1]];
    }
    return ERR_OK;
}

static enum err hide_next(struct two_rows_work *w)
{
    TRY(lattice_hide(w->products, w->results, w->prg, w->result, w->share));
    lattice_plan_take(w->plan, w->results++, w->share, w->cell);
    return ERR_OK;
}

static enum err open_next(struct two_rows_work *w)
{
    const enum err e = w->opens ? lattice_open(w->key, w->result, w->share) : ERR_DATA;
    w->opens = w->opens && e == ERR_OK;
    if (w->opens)
        lattice_plan_take(w->plan, w->results, w->share, w->cell);
    w->results++;
    return e == ERR_DATA ? ERR_OK : e; /* the stream goes on, and both hear of it */
}

/* How many of n bytes belong to the result in hand; it is done after the last of them. */
static size_t step(struct two_rows_work *w, size_t n, size_t *from)
{
    const size_t left = LATTICE_RESULT_SIZE - w->at, some = n < left ? n : left;
    *from = w->at;
    w->at = some == left ? 0 : w->at + some;
    return some;
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    struct two_rows_work *w = self;
    (void)offset;
    for (size_t some, from; n > 0; out += some, n -= some) {
        if (w->at == 0)
            TRY(hide_next(w));
        some = step(w, n, &from);
        memcpy(out, w->result + from, some);
    }
    return ERR_OK;
}

static enum err consume(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct two_rows_work *w = self;
    (void)offset;
    for (size_t some, from; n > 0; in += some, n -= some) {
        some = step(w, n, &from);
        memcpy(w->result + from, in, some);
        if (w->at == 0)
            TRY(open_next(w));
    }
    return ERR_OK;
}

/* Attempts are an owner's: a row may be in every upload that replaces, or follows, another. */
static enum err note_attempt(const struct two_rows *r, uint32_t owner)
{
    const struct words_text name = study_owner_name(r->study, owner);
    struct store_sorted before;
    uint8_t number[4], digest[32];
    integer_put(number, owner, sizeof number);
    hash_labelled(digest, "trefoil-two-rows-1", r->study->terms.digest, 32, number, sizeof number);
    TRY(store_sorted(r->store, digest, &before));
    if (before.attempts >= PRICE_COUNTINGS)
        return log_fail(r->log, ERR_REFUSED,
                        "the rows of %s were sent to the keeper %d times, and are not sent again: "
                        "restore a newer backup, or go on without %s, which runs trefoil share "
                        "--withdraw, if no run has paid for anything",
                        name.text, PRICE_COUNTINGS, name.text);
    return store_try_sorted(r->store, digest);
}

/* The provider's part before it sends anything: an attempt that is noted, under a fresh stream. */
static enum err begin(struct two_rows_work *w, const struct two_rows *r, const struct upload *u)
{
    uint8_t fresh[LATTICE_SEED];
    enum err e;
    TRY(note_attempt(r, u->owner));
    TRY(lattice_multiply(&w->products, r->ring, w->plan, u->vector.data));
    secret_random(fresh, sizeof fresh);
    e = prg_new(&w->prg, fresh);
    secret_wipe(fresh, sizeof fresh);
    return e;
}

static enum err send_results(const struct two_rows *r, struct two_rows_work *w)
{
    const size_t size = w->plan->results * LATTICE_RESULT_SIZE;
    const struct net_flow flow = {.to = NET_PREV,
                                  .from = NET_PREV,
                                  .send_size = is_provider(r) ? size : 0,
                                  .receive_size = is_provider(r) ? 0 : size,
                                  .produce = produce,
                                  .consume = consume,
                                  .self = w};
    const enum err e = net_stream(r->net, &flow, 1);
    return e != ERR_FORMAT
               ? e
               : log_fail(r->log, e,
                          "the provider sent what is no result of encrypted rows: it departs from "
                          "the protocol, or its memory is faulty; the session ends");
}

/* The keeper tells the provider. */
static enum err agree(const struct two_rows *r, bool *opens)
{
    uint8_t said = *opens, came = 0;
    if (!is_provider(r))
        return net_exchange(r->net,
                            &(const struct net_exchange){.send = {&said}, .send_size = {1}});
    TRY(net_exchange(r->net,
                     &(const struct net_exchange){.receive = {&came}, .receive_size = {1}}));
    *opens = came == 1;
    return ERR_OK;
}

static enum err count(struct two_rows *r, const struct upload *u, uint64_t *word, bool *opens)
{
    struct two_rows_work w CLEAN(work_free) = {.opens = true};
    uint8_t digest[32];
    enum err e;
    if (r->ring == NULL)
        TRY(lattice_ring_new(&r->ring));
    upload_digest(u, r->study->terms.digest, digest);
    TRY(work_new(&w, r, u->owner, word));
    e = is_provider(r) ? begin(&w, r, u) : lattice_key_new(&w.key, r->ring, u->seed[0]);
    if (e == ERR_DATA)
        return log_fail(r->log, e,
                        "%s sent encrypted rows that are malformed; nothing was counted. It should "
                        "run trefoil share --replace, before a run has paid for anything",
                        study_owner_name(r->study, u->owner).text);
    TRY(e);
    TRY(send_results(r, &w));
    TRY(agree(r, &w.opens));
    *opens = w.opens;
    return keep(r, digest, w.opens ? word : NULL);
}

enum err two_rows_share(struct two_rows *r, const struct upload *u, bool kept, uint64_t *word,
                        bool *opens)
{
    return kept ? take(r, u, word, opens) : count(r, u, word, opens);
}
