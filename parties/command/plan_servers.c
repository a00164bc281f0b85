#include "parties/command/plan.h"

#include "aim/table/series.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/command/machine.h"
#include "parties/exchange/price.h"
#include "parties/study/method.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"
#include "protocols/link.h"
#include "protocols/tape.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What each server sends, and how long two cores take for all three. */
struct servers_work {
    double exchanges, bytes, seconds;
};

static void print_work(const struct study *study, enum study_security security,
                       const struct servers_work *w)
{
    printf("  %-11s %9.0f %13s %10.0f s %11.0f s%s\n", study_security_words[security], w->exchanges,
           words_bytes((uint64_t)w->bytes).text, ceil(w->seconds),
           ceil(w->exchanges * MACHINE_FAR_S), security == study->security ? "  (this study)" : "");
}

/* --- noise ------------------------------------------------------------------------------------ */

/* What servers send with this security, and how many samples two cores make per second. */
static const struct tape_messages *messages_of(const struct tape_cost *cost,
                                               enum study_security security, double *samples_per_s)
{
    switch (security) {
    case STUDY_SEMI_HONEST:
        *samples_per_s = MACHINE_SAMPLES;
        return &cost->plain;
    case STUDY_ABORT:
        *samples_per_s = MACHINE_PROVED_SAMPLES;
        return &cost->proved;
    }
    return NULL;
}

static double batches(uint64_t samples, const struct tape_cost *cost)
{
    return (double)((samples + cost->batch - 1) / cost->batch);
}

static struct servers_work noise_work(const struct study *study, enum study_security security)
{
    const struct price_noise noise = price_noise(study);
    const enum noise_kind kind = study->noise;
    const struct tape_cost *of_gauss = tape_cost(kind, NOISE_GAUSS),
                           *of_gumbel = tape_cost(kind, NOISE_GUMBEL);
    double per_s;
    const struct tape_messages *gauss = messages_of(of_gauss, security, &per_s),
                               *gumbel = messages_of(of_gumbel, security, &per_s);
    return (struct servers_work){.exchanges = batches(noise.gauss, of_gauss) * gauss->exchanges +
                                              batches(noise.gumbel, of_gumbel) * gumbel->exchanges,
                                 .bytes = (double)noise.gauss * gauss->bytes +
                                          (double)noise.gumbel * gumbel->bytes,
                                 .seconds = (double)(noise.gauss + noise.gumbel) / per_s};
}

/* "20 Gaussians and 3 Gumbels"; a run that selects nothing takes only Gaussians. */
static void print_samples(uint64_t gauss, uint64_t gumbel)
{
    printf("%" PRIu64 " Gaussians", gauss);
    if (gumbel > 0)
        printf(" and %" PRIu64 " Gumbels", gumbel);
}

/* Prints how much of it idle servers make before a run. */
static void print_ahead(const struct study *study)
{
    const struct price_ahead a = price_ahead(study);
    const size_t gauss = a.blocks[NOISE_GAUSS] * a.samples[NOISE_GAUSS],
                 gumbel = a.blocks[NOISE_GUMBEL] * a.samples[NOISE_GUMBEL];
    fputs("Idle servers make ", stdout);
    print_samples(gauss, gumbel);
    printf(" of it before a run, on %s\n"
           "of disk at each (trefoil serve --noise-ahead)\n",
           words_bytes(2 * sizeof(uint64_t) * (gauss + gumbel)).text);
}

static void print_noise(const struct study *study)
{
    const struct price_noise noise = price_noise(study);
    printf("noise: %s ", study->sweeps > 0 ? "about" : "at most");
    print_samples(noise.gauss, noise.gumbel);
    printf("%s.\n"
           "Making them takes at most so many exchanges between the servers, bytes that\n"
           "each sends, time on two cores for all three, and more of waiting where an\n"
           "exchange takes %.0f ms:\n"
           "  security    exchanges         bytes         time       waiting\n",
           noise.gumbel > 0 ? "; smaller selections take less" : "", 1e3 * MACHINE_FAR_S);
    for (unsigned s = STUDY_SEMI_HONEST; s <= STUDY_ABORT; s++) {
        const struct servers_work w = noise_work(study, (enum study_security)s);
        print_work(study, (enum study_security)s, &w);
    }
    print_ahead(study);
}

/* --- persons ---------------------------------------------------------------------------------- */

/* A flush of a check has about 8 exchanges. It comes when this much is sent: 6 bytes are noted for
 * each byte sent. */
#define FLUSH_EXCHANGES 8
#define FLUSH_BYTES (64.0 * 1024 * 1024 / 6)

static struct servers_work bound_work(const struct link_cost *cost, enum study_security security)
{
    struct servers_work w = {.exchanges = (double)cost->exchanges,
                             .bytes = 8 * (double)cost->words};
    switch (security) {
    case STUDY_SEMI_HONEST:
        w.seconds = w.bytes / MACHINE_BOUND_BYTES;
        break;
    case STUDY_ABORT:
        w.seconds = w.bytes / MACHINE_PROVED_BOUND_BYTES;
        w.exchanges += FLUSH_EXCHANGES * (2 + floor(w.bytes / FLUSH_BYTES));
        break;
    }
    return w;
}

static void print_merging(const struct study *study, const struct link_cost *cost)
{
    puts("  security    exchanges         bytes         time       waiting");
    for (unsigned s = STUDY_SEMI_HONEST; s <= STUDY_ABORT; s++) {
        const struct servers_work w = bound_work(cost, (enum study_security)s);
        print_work(study, (enum study_security)s, &w);
    }
}

/* Adds the cost of joining the batch with this first owner; *all: its owners' rows. */
static enum err add_batch(const struct study *study, size_t first, struct link_cost *sum,
                          size_t *all)
{
    size_t *rows CLEAN(memory_release) = NULL, count = 0, keep = study->owners;
    unsigned *columns CLEAN(memory_release) = NULL;
    struct link_cost cost;
    TRY(memory_new(&rows, study->owners));
    TRY(memory_new(&columns, study->owners));
    for (size_t i = first; i < study->owners; i++)
        if (study->owner[i].batch == first) {
            keep = study->link.keep == i ? count : keep;
            columns[count] = study_record_bits(study, i) - LINK_FRONT;
            *all += rows[count++] = study->owner[i].pad_to;
        }
    TRY(link_join_cost(&cost, rows, columns, count, keep));
    sum->words += cost.words;
    sum->exchanges += cost.exchanges;
    return ERR_OK;
}

static enum err print_links(const struct study *study)
{
    struct link_cost sum = {0};
    struct ledger_limits limits;
    struct look look;
    size_t all = 0;
    for (size_t i = 0; i < study->owners; i++)
        if (study->owner[i].batch == i && study_linked(study, i))
            TRY(add_batch(study, i, &sum, &all));
    printf("links: when a session begins, the servers join %zu rows of the batches' owners\n"
           "by person. About so much, on one lane:\n",
           all);
    print_merging(study, &sum);
    TRY(price_limits(study, &limits, NULL));
    TRY(price_look(study, &limits, &look, NULL));
    if (look.multiplier > 0)
        printf(
            "look: how many rows were linked, with noise of %.0f rows, for %.2g %% of the budget;\n"
            "%.2g %% are set aside for %d of them. A run stops below %u rows.\n",
            look_sigma(&look), 100 * study->link.look / LOOK_TRIES, 100 * study->link.look,
            LOOK_TRIES, study->link.min_linked);
    return ERR_OK;
}

static enum err print_persons(const struct study *study)
{
    size_t *rows CLEAN(memory_release) = NULL, all = 0;
    struct link_cost cost;
    TRY(memory_new(&rows, study->owners));
    for (size_t i = 0; i < study->owners; i++)
        all += rows[i] = study->owner[i].pad_to;
    TRY(link_bound_cost(&cost, rows, study->owners, study_record_bits(study, 0) - LINK_FRONT));
    printf("persons: when a session begins, the servers merge %zu rows of all owners, and\n"
           "keep %u of a person. About so much, on one lane:\n",
           all, study->rows_per_person);
    print_merging(study, &cost);
    return ERR_OK;
}

/* --- a provider and a keeper ------------------------------------------------------------------ */

/*
 * Of a joint Gaussian (mpc/pair/joint_noise.h): 16 for each random bit of the keeper, and tables.
 */
#define JOINT_KEEPER_BYTES ((uint64_t)16 * 512)
#define JOINT_PROVIDER_BYTES ((uint64_t)30086 - JOINT_KEEPER_BYTES)

/* What takes the most: how far the model is from every candidate (mpc/pair/distance.h). */
static enum err print_distances(const struct plan_asked *p)
{
    const struct study *s = p->study;
    struct price_sweep sweep;
    uint64_t unit = UINT64_C(1) << AIM_ESTIMATE_BITS;
    double bits, own, cells = (double)s->workload->cells;
    if (!method_of(s)->selects)
        return ERR_OK;
    if (s->sweeps > 0) {
        TRY(price_sweep(s, &sweep));
        TRY(scores_multiplier(sweep.most_sigma, &unit));
    }
    bits = p->bounds->counts.bits + ceil(log2((double)unit)) + 1;
    own = bits - __builtin_ctzll(unit); /* that the keeper enters */
    printf("%s, over all %zu marginals: the provider sends about %s, and\n"
           "the keeper %s, in %u exchanges with what is measured then; merged values\n"
           "take less.\n",
           s->sweeps > 0 ? "scores" : "a selection", s->workload->queries,
           words_bytes((uint64_t)(32 * (own + bits) * cells)).text,
           words_bytes((uint64_t)(16 * own * cells)).text,
           s->sweeps > 0 ? PLAN_TWO_SCORES : PLAN_TWO_SELECT);
    return ERR_OK;
}

/* What counting encrypted rows takes, once for each upload (mpc/lattice/lattice.h). */
static void print_encrypted(const struct study *s)
{
    double results = 0, longest = 0, provider = 0;
    for (size_t i = 0; i < s->owners; i++) {
        const struct study_encrypted *e = &s->owner[i].encrypted;
        const double sent = (double)(e->bytes / LATTICE_POLY_SIZE), of = (double)e->results;
        results += of;
        longest = fmax(longest, sent);
        provider += MACHINE_PREPARE_S * sent + MACHINE_MULTIPLY_S * of * (double)e->blocks +
                    MACHINE_HIDE_S * of;
    }
    printf("encrypted rows are counted once, when a session first has them: the provider\n"
           "sends the keeper %s. On one core that takes it about %.2g s, and the\n"
           "keeper %.2g s; an owner encrypts for %.2g s at most. Counts are exact. What the\n"
           "keeper decrypts costs a delta of %.2g, which is set aside.\n",
           words_bytes((uint64_t)results * LATTICE_RESULT_SIZE).text, provider,
           MACHINE_DECRYPT_S * results, MACHINE_ENCRYPT_S * longest, price_rows_slack(s));
}

/* But for distances and statements, two servers send a word for each value that they open. */
static enum err print_two(const struct plan_asked *p)
{
    const struct study *study = p->study;
    const struct price_noise noise = price_noise(study);
    const bool joint = study->noise_by == NOISE_BY_JOINT;
    if (study->noise_by == NOISE_BY_OWNER)
        printf("noise: the owner makes it. A run takes %s %" PRIu64 " Gaussians and\n"
               "%" PRIu64
               " Gumbels; share sends some more. What is opened deviates as much as with\n"
               "noise that three servers make together.\n",
               study->sweeps > 0 ? "about" : "at most", noise.gauss, noise.gumbel);
    else
        printf("noise: the provider and the keeper %s %s %" PRIu64 "\n"
               "Gaussians%s, and each %" PRIu64 " Gumbels of its own. What is opened\n"
               "deviates %.2f times as much as with noise that three servers make together.\n"
               "Sigmas here have that in them.\n",
               joint ? "together make" : "each make", study->sweeps > 0 ? "about" : "at most",
               noise.gauss, joint ? "" : " of their own", noise.gumbel,
               measure_spread(study->noise_by));
    if (joint)
        printf("For joint Gaussians the provider sends about %s, the keeper %s;\n"
               "noise_by: both needs no messages for noise, and deviates 1.41 times as much.\n",
               words_bytes(JOINT_PROVIDER_BYTES * noise.gauss).text,
               words_bytes(JOINT_KEEPER_BYTES * noise.gauss).text);
    printf("servers: each sends the other 8 bytes of each noisy value, at most %s,\n"
           "and about 1 kB for each round.\n",
           words_bytes(8 * noise.gauss).text);
    if (study_encrypts(study))
        print_encrypted(study);
    return print_distances(p);
}

enum err plan_servers(const struct plan_asked *p)
{
    const struct study *study = p->study;
    if (study->servers == 2)
        return print_two(p);
    print_noise(study);
    if (study->link.on)
        return print_links(study);
    return study->enforce_person ? print_persons(study) : ERR_OK;
}

/* --- uploads ---------------------------------------------------------------------------------- */

static void print_other_upload(const struct study *s, size_t i)
{
    uint64_t codes = study_records_bytes(s, i);
    const struct words_text records = words_bytes(codes);
    if (s->owner[i].columns < s->domain->attributes)
        printf("  %-20s %12s as records (%u bits a row) of its %zu columns\n", s->owner[i].name,
               records.text, study_record_bits(s, i), s->owner[i].columns);
    else if (method_of(s)->gradients)
        printf("  %-20s %12s as records (%u bits a row)\n", s->owner[i].name, records.text,
               study_record_bits(s, i));
    else
        printf("  %-20s %12s as counts (%u bits a cell),\n"
               "  %-20s %12s as records (%u bits a row): sends %s\n",
               s->owner[i].name, words_bytes(study_counts_bytes(s, i)).text,
               study_counts_form(s, i), "", codes == UINT64_MAX ? "not possible" : records.text,
               study_record_bits(s, i), s->owner[i].records ? "records" : "counts");
}

static void print_upload(const struct study *s, size_t i)
{
    if (s->servers == 2) {
        printf("  %-20s %12s as %s\n", s->owner[i].name, words_bytes(study_upload_bytes(s, i)).text,
               s->owner[i].records ? "records, encrypted" : "counts");
        return;
    }
    print_other_upload(s, i);
}

void plan_study(const struct plan_asked *p)
{
    const struct study *s = p->study;
    const size_t columns = s->domain->attributes, owners = study_owners_most(s);
    printf("study %s: %zu %s, %s %" PRIu64 " %s from %zu %s\n", s->name, columns,
           study_plural(columns, "attribute", "attributes"),
           p->rows < study_rows(s, false) ? "about" : "at most", p->rows / series_units(s->domain),
           series_counted(s->domain), owners, study_plural(owners, "owner", "owners"));
}

void plan_uploads(const struct plan_asked *p)
{
    const struct study *s = p->study;
    printf("uploads, from public bounds alone (each owner sends the same whatever its data):\n");
    for (size_t i = 0; i < s->owners && i < 10; i++)
        print_upload(s, i);
    if (s->owners > 10)
        printf("  ...     and %zu more %s\n", s->owners - 10, s->owners == 11 ? "owner" : "owners");
    if (s->open.most > 0)
        printf("  %-20s %12s each, as %s, of at most %zu\n", "others",
               words_bytes(study_upload_bytes(s, s->owners)).text,
               s->open.each.records ? "records" : "counts", s->open.most);
    printf("  disk: %s %s of them, %s only seeds; a ledger\n"
           "  grows by 1 kB a round\n",
           s->servers == 2 ? "the provider keeps" : "servers 1 and 2 keep",
           words_bytes(study_uploads_bytes(s)).text, s->servers == 2 ? "the keeper" : "server 0");
}
