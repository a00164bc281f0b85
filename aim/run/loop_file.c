/* The end of a round, and the state of a run as a file; aim/run/loop.h has the format. */
#include "aim/model/model_file.h"
#include "aim/run/loop_private.h"
#include "aim/table/series.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/version.h"

#include <math.h>
#include <sodium.h>
#include <string.h>

static const char magic[] = "trefoil-loop-2\n";

/* --- options --------------------------------------------------------------------------------- */

static void write_zeros(const struct aim_options *o, struct bytes *out)
{
    bytes_put_u64(out, o->zeros);
    for (size_t k = 0; k < o->zeros; k++) {
        const struct workload_zeros *z = &o->zero[k];
        bytes_put_block(out, z->clique.attribute, z->clique.n * sizeof z->clique.attribute[0]);
        bytes_put_u64(out, z->cells);
        for (size_t i = 0; i < z->cells; i++)
            bytes_put_u32(out, z->cell[i]);
    }
}

/* Everything a request depends on, so that no other run can use the state. */
static enum err digest_options(const struct aim_options *o, uint8_t digest[DIGEST_SIZE])
{
    struct bytes b CLEAN(bytes_clear) = {0};
    domain_write(o->domain, &b);
    workload_write(o->workload, &b);
    bytes_put_double(&b, o->limits.rho);
    bytes_put_double(&b, o->limits.epsilon_slack);
    bytes_put_double(&b, o->limits.delta_slack);
    bytes_put_u32(&b, o->limits.rows_per_person);
    bytes_put_u8(&b, o->annealed);
    bytes_put_u32(&b, schedule_rounds_most(o->workload->one_ways, o->rounds, o->annealed));
    bytes_put_u32(&b, o->bounds.bits);
    bytes_put_u8(&b, (uint8_t)o->score);
    for (uint32_t q = 0; q < o->workload->queries; q++)
        bytes_put_u64(&b, score_total(&o->bounds, q));
    bytes_put_double(&b, o->slack.select);
    bytes_put_double(&b, o->slack.marginal);
    bytes_put_u64(&b, loop_model_limit(o));
    bytes_put_u32(&b, loop_fit_iterations(o));
    bytes_put_u8(&b, 0); /* once the choice of fits */
    if (o->look.multiplier > 0)
        bytes_put_u64(&b, o->look.multiplier);
    if (o->sweeps > 0)
        bytes_put_u32(&b, o->sweeps);
    if (o->assess > 0)
        bytes_put_double(&b, o->assess);
    write_zeros(o, &b);
    if (o->accounting != ACCOUNTING_ZCDP) { /* states from before the choice keep their digest */
        bytes_put_u8(&b, (uint8_t)o->accounting);
        bytes_put_u64(&b, o->rows);
    }
    TRY(bytes_ok(&b));
    crypto_generichash(digest, DIGEST_SIZE, b.data, b.size, NULL, 0);
    return ERR_OK;
}

/* --- writing --------------------------------------------------------------------------------- */

static void write_round(const struct aim_round *r, struct bytes *out)
{
    bytes_put_u32(out, r->round);
    bytes_put_u32(out, r->query);
    bytes_put_double(out, r->sigma);
    bytes_put_double(out, r->epsilon);
    bytes_put_u64(out, r->candidates);
    bytes_put_double(out, r->moved);
    bytes_put_double(out, r->loss);
    bytes_put_double(out, r->before);
    bytes_put_double(out, r->after);
    bytes_put_double(out, r->noise);
    bytes_put_double(out, r->cost);
    bytes_put_double(out, r->spent);
    bytes_put_double(out, r->total);
    bytes_put_u64(out, r->model_cells);
    bytes_put_u8(out, r->last);
}

static void write_measurements(const struct loop *l, struct bytes *out)
{
    const struct aim_result *r = l->result;
    bytes_put_u32(out, (uint32_t)r->measurements);
    for (size_t i = 0; i < r->measurements; i++) {
        bytes_put_u32(out, r->query[i]);
        bytes_put_u64(out, r->population[i]);
        bytes_put_double(out, r->measurement[i].sigma);
        if (l->options->sweeps > 0)
            bytes_put_u32(out, r->sweep[i]);
        for (uint64_t k = 0; k < measurement_cells(&r->measurement[i], l->options->domain); k++)
            bytes_put_double(out, r->measurement[i].y[k]);
    }
}

static void write_scores(const struct aim_scores *s, struct bytes *out)
{
    bytes_put_double(out, s->sigma);
    bytes_put_u32(out, (uint32_t)s->candidates);
    for (size_t k = 0; k < s->candidates; k++) {
        bytes_put_u32(out, s->query[k]);
        bytes_put_double(out, s->value[k]);
    }
}

enum err loop_pack(const struct loop *l, struct bytes *out)
{
    const struct aim_result *r = l->result;
    uint8_t digest[DIGEST_SIZE];
    char *ledger CLEAN(memory_release) = NULL;
    TRY(digest_options(l->options, digest));
    TRY(ledger_text(l->ledger, &ledger));
    bytes_put_text(out, magic);
    bytes_put(out, digest, sizeof digest);
    bytes_put_string(out, ledger);
    bytes_put_u32(out, l->schedule.done);
    bytes_put_u8(out, l->schedule.last);
    bytes_put_u8(out, l->schedule.finished);
    bytes_put_double(out, l->schedule.sigma);
    bytes_put_double(out, l->schedule.epsilon);
    merges_write(r->merges, out);
    write_measurements(l, out);
    for (size_t i = 0; i < r->sweeps; i++)
        write_scores(&r->scores[i], out);
    bytes_put_u32(out, (uint32_t)r->rounds);
    for (size_t i = 0; i < r->rounds; i++)
        write_round(&r->round[i], out);
    model_write(r->model, out);
    if (l->options->assess > 0)
        bytes_put_u8(out, 0); /* not yet */
    return bytes_ok(out);
}

enum err loop_keep_assess(struct loop *l, struct bytes *state)
{
    if (l->result->assess == NULL)
        return ERR_OK;
    state->data[state->size - 1] = 1;
    assess_write(l->result->assess, state);
    TRY(bytes_ok(state));
    return digest_write(l->options->state_file, 0644, state, l->log);
}

/* --- reading --------------------------------------------------------------------------------- */

/* What a round asked for follows from its number, and what it measured from the measurements. */
static void read_round(const struct loop *l, struct reader *r, struct aim_round *round)
{
    const struct aim_result *result = l->result;
    const bool sweeps = l->options->sweeps > 0;
    *round = (struct aim_round){.round = reader_u32(r), .asked = ASK_MEASURE};
    if (round->round > 0 && (!sweeps || round->round % 2 != 0))
        round->asked = sweeps ? ASK_SCORES : ASK_SELECT;
    for (size_t i = 0; round->asked == ASK_MEASURE && i < result->measurements; i++)
        round->marginals += sweeps || i < l->options->workload->one_ways
                                ? 2 * result->sweep[i] == round->round
                                : 0;
    if (round->asked == ASK_SELECT)
        round->marginals = 1;
    round->query = reader_u32(r);
    round->sigma = reader_double(r);
    round->epsilon = reader_double(r);
    round->candidates = (size_t)reader_u64(r);
    round->moved = reader_double(r);
    round->loss = reader_double(r);
    round->before = reader_double(r);
    round->after = reader_double(r);
    round->noise = reader_double(r);
    round->cost = reader_double(r);
    round->spent = reader_double(r);
    round->total = reader_double(r);
    round->model_cells = reader_u64(r);
    round->last = reader_u8(r) != 0;
}

static enum err read_measurement(struct loop *l, struct reader *r)
{
    const struct workload *w = l->options->workload;
    struct aim_result *result = l->result;
    size_t i = result->measurements;
    uint32_t query = reader_u32(r);
    uint64_t population = reader_u64(r), cells;
    struct measurement *x = &result->measurement[i];
    double sigma = reader_double(r);
    result->sweep[i] = l->options->sweeps > 0 ? reader_u32(r) : 0;
    if (r->failed || query >= w->queries || !(sigma > 0 && isfinite(sigma)))
        return ERR_FORMAT;
    *x = (struct measurement){.clique = w->query[query].clique, .sigma = sigma};
    if (i >= w->one_ways && merges_touch(result->merges, &x->clique))
        x->merges = result->merges;
    cells = measurement_cells(x, l->options->domain);
    if (cells > r->left / sizeof *x->y)
        return ERR_FORMAT;
    TRY(memory_new(&x->y, cells));
    for (uint64_t k = 0; k < cells; k++)
        x->y[k] = reader_double(r);
    result->query[i] = query;
    result->population[i] = population;
    result->measurements++;
    return ERR_OK;
}

static enum err read_scores(struct loop *l, struct reader *r)
{
    struct aim_scores *s = &l->result->scores[l->result->sweeps++];
    *s = (struct aim_scores){.sigma = reader_double(r), .candidates = reader_u32(r)};
    if (r->failed || s->candidates > l->options->workload->queries)
        return ERR_FORMAT;
    TRY(memory_new(&s->query, s->candidates));
    TRY(memory_new(&s->value, s->candidates));
    for (size_t k = 0; k < s->candidates; k++) {
        s->query[k] = reader_u32(r);
        s->value[k] = reader_double(r);
        if (s->query[k] >= l->options->workload->queries)
            return ERR_FORMAT;
    }
    return ERR_OK;
}

static enum err read_ledger(struct loop *l, struct reader *r)
{
    char *text CLEAN(memory_release) = NULL;
    struct ledger *ledger = NULL;
    TRY(reader_text(r, &text));
    TRY(ledger_parse(&ledger, text, l->log));
    ledger_free(&l->ledger);
    l->ledger = ledger;
    return ERR_OK;
}

static enum err read_schedule(struct loop *l, struct reader *r)
{
    struct schedule *s = &l->schedule;
    s->done = reader_u32(r);
    s->last = reader_u8(r) != 0;
    s->finished = reader_u8(r) != 0;
    s->sigma = reader_double(r);
    s->epsilon = reader_double(r);
    /* a schedule that goes on has room for another round */
    return r->failed || s->done > s->most || (s->done == s->most && !s->finished) ||
                   !(s->sigma > 0 && isfinite(s->sigma)) ||
                   !(s->epsilon >= 0 && isfinite(s->epsilon))
               ? ERR_FORMAT
               : ERR_OK;
}

static enum err read_state(struct loop *l, struct reader *r)
{
    const struct aim_options *o = l->options;
    struct aim_result *result = l->result;
    uint32_t measurements, rounds;
    bool fit;
    TRY(read_ledger(l, r));
    TRY(read_schedule(l, r));
    TRY(memory_new(&result->merges, 1));
    TRY(merges_read(result->merges, o->domain, r));
    TRY(loop_merges_fit(l, &fit));
    if (!fit)
        return ERR_MISMATCH;
    measurements = reader_u32(r);
    if (o->sweeps > 0 ? measurements > l->measurements_most
                      : measurements != o->workload->one_ways + l->schedule.done)
        return ERR_FORMAT;
    while (result->measurements < measurements)
        TRY(read_measurement(l, r));
    while (2 * result->sweeps < l->schedule.done && o->sweeps > 0)
        TRY(read_scores(l, r));
    rounds = reader_u32(r);
    if (rounds != l->schedule.done + 1)
        return ERR_FORMAT;
    while (result->rounds < rounds)
        read_round(l, r, &result->round[result->rounds++]);
    TRY(model_read(&result->model, o->domain, merges_any(result->merges), r, loop_model_limit(o),
                   l->log));
    if (o->assess > 0 && reader_u8(r) != 0)
        TRY(assess_read(&result->assess, o->domain, r));
    return reader_done(r);
}

static enum err read_file(struct loop *l, const struct bytes *text)
{
    struct reader r = reader_of(text->data, text->size);
    uint8_t expected[DIGEST_SIZE];
    const uint8_t *digest;
    TRY(digest_check(&r, magic));
    TRY(digest_options(l->options, expected));
    digest = reader_bytes(&r, DIGEST_SIZE);
    if (digest == NULL)
        return ERR_FORMAT;
    if (memcmp(digest, expected, DIGEST_SIZE) != 0)
        return ERR_MISMATCH;
    return read_state(l, &r);
}

enum err loop_load(struct loop *l, bool *found)
{
    const char *path = l->options->state_file;
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e;
    *found = file_is_there(path);
    if (!*found)
        return ERR_OK;
    TRY(file_read(path, MODEL_FILE_MAX, &text, l->log));
    TRY(version_check(path, text.data, text.size, magic, 2, l->log));
    e = read_file(l, &text);
    if (e == ERR_MISMATCH)
        log_error(l->log,
                  "%s was kept by a run of another study, with other options, or by a version of "
                  "trefoil whose noise has other costs; give the same, or continue with the "
                  "version that began the run (what was spent stays spent)",
                  path);
    else if (e == ERR_FORMAT)
        log_error(l->log,
                  "%s is cut, altered or no state of a run. The run's answers can be had again: "
                  "trefoil run with another --out and --continue",
                  path);
    return e;
}

/* --- the end of a round ----------------------------------------------------------------------- */

enum err loop_settle(struct loop *l)
{
    const struct aim_options *o = l->options;
    struct aim_round *r = l->ended;
    if (r == NULL)
        return ERR_OK;
    if (o->state_file != NULL)
        TRY(digest_write(o->state_file, 0644, &l->unsaved, l->log));
    bytes_clear(&l->unsaved);
    l->ended = NULL;
    if (o->progress != NULL) {
        struct aim_round shown = loop_round_in_persons(r, series_units(o->domain));
        shown.name = l->name.text;
        shown.why = l->why;
        o->progress(o->self, &shown);
    }
    return ERR_OK;
}

enum err loop_leave(struct loop *l, struct aim_round *r, double spent_before)
{
    l->result->rounds++;
    r->spent = ledger_spent(l->ledger);
    r->cost = r->spent - spent_before;
    r->total = model_total(l->result->model);
    r->model_cells = model_cells(l->result->model);
    r->last = l->schedule.finished;
    if (l->options->state_file != NULL)
        TRY(loop_pack(l, &l->unsaved));
    l->ended = r;
    return l->backend->keeps ? ERR_OK : loop_settle(l);
}
