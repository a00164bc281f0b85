#include "tests/support/whole.h"

#include "parties/settings/three/split.h"
#include "parties/study/study_uploads.h"
#include "tests/support/hooks.h"

enum err rows_of(const struct whole *w, unsigned o, struct table **t)
{
    unsigned first = (unsigned)w->s.study->owner[o].batch;
    TRY(support_table(t, w->s.study->domain, 300 + 500 * first, first));
    if (first != o)
        (*t)->rows -= 40;
    return ERR_OK;
}

/* Makes the rows' keys, and sorts them as `share` does. */
static enum err key_rows(const struct whole *w, unsigned o, struct table *t)
{
    const struct whole_persons *x = &w->persons;
    size_t surplus;
    t->rows = x->empty == o + 1 ? 0 : t->rows;
    TRY(table_keep_keys(t));
    for (size_t i = 0; i < t->rows; i++)
        t->key[i] = (i * (2 * o + 1) % x->count + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return x->unsorted == o + 1 ? ERR_OK : table_sort(t, 1, &surplus);
}

/* The columns of `all` that owner o holds. */
static enum err columns_of(const struct whole *w, unsigned o, const struct table *all,
                           struct domain **own, struct table **t)
{
    const struct study_owner *owner = &w->s.study->owner[o];
    uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
    TRY(pack_domain(own, w->s.study, o));
    TRY(table_new(t, *own, all->rows));
    for (size_t i = 0; i < all->rows; i++) {
        for (size_t c = 0; c < owner->columns; c++)
            codes[c] = all->column[owner->column[c]][i];
        TRY(table_append(*t, codes));
    }
    if (all->weight != NULL) {
        TRY(memory_new(&(*t)->weight, all->rows));
        memcpy((*t)->weight, all->weight, all->rows);
    }
    if (all->key == NULL)
        return ERR_OK;
    TRY(table_keep_keys(*t));
    memcpy((*t)->key, all->key, all->rows * sizeof *all->key);
    return ERR_OK;
}

enum err share_one(struct whole *w, unsigned o, int changed, struct upload parts[3],
                   struct log *log)
{
    const struct study *study = w->s.study;
    const unsigned form = study_upload_form(study, o);
    struct domain *own CLEAN(domain_free) = NULL;
    struct table *all CLEAN(table_free) = NULL, *t CLEAN(table_free) = NULL;
    struct identity *me CLEAN(identity_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    uint8_t secret[UPLOAD_SECRET_SIZE] = {1};
    TRY(identity_load(&me, support_path(&w->s, "o%u.key", o), log));
    TRY(rows_of(w, o, &all));
    if (w->persons.count > 0)
        TRY(key_rows(w, o, all));
    if (changed)
        all->rows--;
    TRY(columns_of(w, o, all, &own, &t));
    TRY(pack_table(study, o, form, t, &packed));
    marks_secret(secret, sizeof secret);
    marks_secret(packed.data, packed.size);
    TRY(upload_make(parts, &three_split, me, o, secret, study, form, &packed));
    for (unsigned i = 0; i < 3; i++) {
        marks_public(parts[i].vector.data, parts[i].vector.size); /* until the engine gets it */
        marks_public(&parts[i], sizeof parts[i]);
    }
    if (study->link.on) {
        TRY(memory_hand_over(&w->own[o], &t));
        return memory_hand_over(&w->columns[o], &own);
    }
    if (w->persons.count > 0)
        return w->persons.unsorted == o + 1 ? ERR_OK : central_append(w->all, all);
    /* whole rows count once; in a batch, only those that its last owner has too */
    if (!changed &&
        (t->domain->attributes == study->domain->attributes || study->owner[o].batch != o))
        TRY(central_append(w->all, all));
    return ERR_OK;
}

/* What the servers make of the owners' tables; nothing of a batch in which one is not sorted. */
static enum err link_all(struct whole *w)
{
    const struct study_owner *owner = w->s.study->owner;
    size_t surplus;
    for (unsigned o = 0; w->persons.unsorted > 0 && o < OWNERS; o++)
        if (owner[o].batch == owner[w->persons.unsorted - 1].batch) {
            w->own[o]->rows = 0;
            w->lacking++;
        }
    return central_link(w->all, w->s.study, w->own, &w->linked, &surplus);
}

static enum err share_all(struct whole *w, struct log *log)
{
    const struct study *study = w->s.study;
    size_t surplus;
    TRY(table_new(&w->all, study->domain, 0));
    if (w->persons.count > 0)
        TRY(table_keep_keys(w->all));
    for (unsigned o = 0; o < OWNERS; o++) {
        TRY(share_one(w, o, 0, w->parts[o], log));
        if (study->link.on && o == OWNERS - 1)
            TRY(link_all(w));
        else if (w->persons.count > 0 && o == OWNERS - 1)
            TRY(table_bound(w->all, study->rows_per_person, &surplus));
        TRY(table_new(&w->stage[o], study->domain, 0));
        TRY(central_append(w->stage[o], w->all));
        TRY(support_units(w->stage[o]));
    }
    return ERR_OK;
}

enum err count_all(struct three *g, const struct upload *uploads, size_t count)
{
    TRY(tally_add(g->party, &g->tally, uploads, count));
    TRY(three_finish(g));
    return check_clean(g->party) ? ERR_OK : ERR_MISUSE;
}

/* Seeds and vectors are secret. */
static void mark_upload(struct upload *u)
{
    marks_secret(u->seed, sizeof u->seed);
    marks_secret(u->vector.data, u->vector.size);
}

/* Adds the uploads of the first `owners` owners. */
static enum err add_uploads(struct whole *w, struct three *g, unsigned owners)
{
    const bool marked = hooks_watched(g->party); /* set by marks_begin() */
    struct upload held[OWNERS];
    for (unsigned o = 0; o < owners; o++) {
        held[o] = w->parts[o][g->party->index];
        if (marked)
            mark_upload(&held[o]);
    }
    TRY(count_all(g, held, owners));
    /* the marks reach the counts, so they are not lost on the way */
    if (marked && g->tally.owners > 0 && marks_reach(g->counts->x.a, 64) != marks_on())
        return ERR_MISUSE;
    return ERR_OK;
}

/* For struct engine_uploads: one owner's, then the others'. */
static enum err
read_again(void *self, enum err (*take)(void *taker, const struct upload *uploads, size_t count),
           void *taker)
{
    const struct whole_again *a = self;
    struct upload held[OWNERS];
    for (unsigned o = 0; o < OWNERS; o++) {
        held[o] = a->w->parts[o][a->p->index];
        if (hooks_watched(a->p))
            mark_upload(&held[o]);
    }
    if (a->w->s.study->owner[0].columns < a->w->s.study->domain->attributes)
        return take(taker, held, OWNERS);
    TRY(take(taker, held, 1));
    return take(taker, held + 1, OWNERS - 1);
}

/*
 * Uploads that come between rounds: at the first request one owner's are there, then one more each
 * time.
 */
static enum err next_request(struct whole_seat *s)
{
    unsigned owners = ++s->requests < OWNERS ? s->requests : OWNERS;
    if (s->w->coming == BETWEEN_ROUNDS)
        TRY(add_uploads(s->w, s->engine, owners));
    return ERR_OK;
}

/* Remembers the samples of a range before they are used and wiped. */
static enum err remember(struct whole_seat *s, const struct tape *range, enum noise_law kind)
{
    const struct share64 *samples = &range->reel[kind].samples;
    size_t *used = &s->w->used[kind][s->index];
    if (*used + samples->n > NOISE_MAX)
        return ERR_RANGE;
    if (samples->n > 0) {
        uint64_t *kept = s->w->noise[kind][s->index] + *used;
        memcpy(kept, samples->a, samples->n * sizeof *kept);
        if (marks_reach(kept, sizeof *kept) != marks_on())
            return ERR_MISUSE;
        marks_public(kept, samples->n * sizeof *kept); /* for the plaintext twin alone */
    }
    *used += samples->n;
    return ERR_OK;
}

/* Opens what a step asks for, with a range of noise that is then wiped. */
static enum err open_step(struct whole_seat *s, struct engine_step *step, struct tape *range,
                          struct ask_told *told)
{
    const struct round_statement statement = {.verdict = ERR_OK};
    struct net *net = s->engine->party->net;
    const uint8_t signature[2][64] = {{0}};
    struct round_talk talk = {.net = net, .log = s->engine->log};
    const bool finished = !ask_estimates(step->ask) ||
                          counts_finished(three_step(step)->scope.counts,
                                          three_step(step)->select.squared);
    uint64_t rounds = net_exchanges(net);
    round_agree(&talk, &statement);
    TRY(net_settle(net));
    round_confirm(&talk, ERR_OK, signature);
    TRY(net_settle(net));
    TRY(memory_new(&told->value, step->price.cells));
    if (step->ask->kind == ASK_SELECT)
        TRY(three_select(s->engine, step, range, talk.seed, &told->selected));
    TRY(three_measure(s->engine, step, range, told->selected, told->value, &told->values));
    rounds = s->w->exchanges[s->index] = net_exchanges(net) - rounds;
    if (!study_counts_pairs(s->engine->study) &&
        (step->ask->kind == ASK_FORMS || ask_trains(step->ask)))
        return ERR_OK; /* blocks of records take more */
    return rounds > ROUNDS_MAX + (finished ? 0 : ROUNDS_FINISH) ? ERR_RANGE : ERR_OK;
}

/* The same request, with the saved range: other masks, the same values. */
static enum err open_again(struct whole_seat *s, struct engine_step *step, const struct bytes *kept,
                           const struct ask_told *told)
{
    struct ask_told again CLEAN(told_clear) = {0};
    struct tape range CLEAN(tape_free) = {0};
    TRY(range_read(&range, step->place.of, step->place.count, s->engine->tape.noise, kept));
    TRY(open_step(s, step, &range, &again));
    if (again.values != told->values || again.selected != told->selected ||
        memcmp(again.value, told->value, told->values * sizeof *told->value) != 0)
        return ERR_MISMATCH;
    return ERR_OK;
}

enum err perform(struct whole_seat *s, const struct ask *a, struct ask_told *told)
{
    struct engine_step step CLEAN(three_step_clear) = {0};
    struct bytes kept CLEAN(bytes_clear) = {0};
    struct tape range CLEAN(tape_free) = {0};
    TRY(three_prepare(s->engine, a, &step));
    TRY(three_reserve(s->engine, &step));
    if (!check_clean(s->engine->party))
        return ERR_MISUSE;
    TRY(range_is_made(&s->engine->tape, three_step(&step)->noise)
            ? range_cut(&s->engine->tape, three_step(&step)->noise, &range)
            : ERR_MISUSE);
    TRY(range_write(&range, &kept));
    TRY(remember(s, &range, NOISE_GUMBEL));
    TRY(remember(s, &range, NOISE_GAUSS));
    TRY(open_step(s, &step, &range, told));
    TRY(range_return(&s->engine->tape, &range));
    if (s->w->twice)
        TRY(open_again(s, &step, &kept, told));
    /* only these were used of the Gaussians that were ready for the largest candidate */
    s->w->used[NOISE_GAUSS][s->index] -= three_step(&step)->noise[NOISE_GAUSS] - told->values;
    return ERR_OK;
}

enum err seat_ask(void *self, const struct ask *a, struct ask_told *told)
{
    struct whole_seat *s = self;
    struct whole *w = s->w;
    TRY(next_request(s));
    TRY(perform(s, a, told));
    told->population = s->engine->tally.owners;
    if (a->kind == ASK_SELECT)
        w->selected[s->index][w->selections[s->index]++] = a->query[told->selected];
    return ERR_OK;
}

struct aim_backend seat_backend(struct whole_seat *seat)
{
    return (struct aim_backend){.self = seat, .ask = seat_ask};
}

enum err load_engine(struct whole *w, struct party *p, struct three **engine)
{
    static const uint8_t id[TAPE_ID_SIZE] = {1};
    static const struct check_guard nobody;
    TRY(three_check(p, w->s.study, &nobody));
    TRY(three_new(engine, p, w->s.study, w->bounds, id, p->log));
    w->again[p->index] = (struct whole_again){w, p};
    (*engine)->uploads = (struct engine_uploads){read_again, &w->again[p->index]};
    for (unsigned o = w->coming == ONE_BY_ONE ? 1 : OWNERS;
         w->coming != BETWEEN_ROUNDS && o <= OWNERS; o++)
        TRY(add_uploads(w, *engine, o));
    return ERR_OK;
}

static enum err take_look(struct whole_seat *s, uint64_t multiplier)
{
    struct ask_told told CLEAN(told_clear) = {0};
    TRY(perform(s, &(struct ask){.kind = ASK_LOOK, .multiplier = multiplier}, &told));
    s->w->look[s->index] = told.value[0];
    return ERR_OK;
}

enum err run_mpc(struct party *p, void *shared)
{
    struct whole *w = shared;
    struct whole_seat seat = {.w = w, .index = p->index};
    const struct aim_backend backend = seat_backend(&seat);
    struct aim_options options;
    enum err e = marks_begin(p);
    if (e == ERR_OK)
        e = load_engine(w, p, &seat.engine);
    if (e == ERR_OK)
        e = release_loop_options(w->s.study, w->bounds, &options, p->log);
    if (e == ERR_OK && options.look.multiplier > 0)
        e = take_look(&seat, options.look.multiplier);
    if (e == ERR_OK)
        e = aim_run(&w->result[p->index], &options, &backend, p->log);
    three_free(&seat.engine);
    return e;
}

struct whole *whole_new(const struct study_options *o)
{
    struct whole *w = NULL;
    OK(memory_new(&w, 1));
    whole_fill(w, o, &(const struct whole_persons){0});
    return w;
}

void whole_fill(struct whole *w, const struct study_options *o, const struct whole_persons *persons)
{
    struct log log = {.file = stderr, .level = LOG_WARN, .prefix = "# "};
    memset(w, 0, sizeof *w);
    w->persons = *persons;
    w->lacking = o->link == NULL && persons->unsorted > 0;
    w->s = support_study_of(o, &log);
    OK(bounds_new(&w->bounds, w->s.study, &log));
    OK(share_all(w, &log));
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned i = 0; i < 3; i++)
            w->noise[kind][i] = memory_array(NOISE_MAX, sizeof(uint64_t));
}

void whole_free(struct whole *w)
{
    for (unsigned i = 0; i < 3; i++) {
        aim_result_free(&w->result[i]);
        memory_free_all(&w->noise[0][i], &w->noise[1][i]);
        for (unsigned o = 0; o < OWNERS; o++)
            upload_clear(&w->parts[o][i]);
    }
    for (unsigned o = 0; o < OWNERS; o++) {
        table_free(&w->stage[o]);
        table_free(&w->own[o]);
        domain_free(&w->columns[o]);
    }
    table_free(&w->all);
    bounds_free(&w->bounds);
    support_study_free(&w->s);
}

void whole_end(struct whole **w)
{
    whole_free(*w);
    memory_free(w);
}

static enum err next_samples(struct whole_replay *r, enum noise_law kind, size_t n, int64_t *out)
{
    if (r->next[kind] + n > r->w->used[kind][0])
        return ERR_RANGE;
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (unsigned c = 0; c < 3; c++)
            sum += r->w->noise[kind][c][r->next[kind] + i];
        out[i] = (int64_t)sum;
    }
    r->next[kind] += n;
    return ERR_OK;
}

enum err replay_gauss(void *self, size_t n, int64_t *out)
{
    return next_samples(self, NOISE_GAUSS, n, out);
}

enum err replay_gumbel(void *self, size_t n, int64_t *out)
{
    return next_samples(self, NOISE_GUMBEL, n, out);
}
