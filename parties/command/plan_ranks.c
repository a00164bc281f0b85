#include "parties/command/plan.h"

#include "base/memory.h"
#include "base/words.h"
#include "netio/session.h"
#include "parties/command/machine.h"
#include "parties/exchange/price.h"
#include "parties/settings/three/tally.h"
#include "parties/study/study_uploads.h"
#include "protocols/tape.h"

#include <math.h>
#include <stdio.h>

#define GROUP_BYTES 8e6 /* of uploads that are counted together, */
#define GROUP_OWNERS 64 /* but from at least this many owners */
#define PROGRAM_BYTES 50e6
#define LANE_BYTES 256e6 /* that a rank's lanes together work in */

struct ranks_work {
    double count, noise, choose; /* seconds of one lane of each server */
    double uploads, group;       /* bytes that a server with vectors holds; of the largest group */
    double sums, samples;        /* bytes of shares: counted cells; noise that ranks make */
    bool near;                   /* rank 0 counts alone, since servers make the rows */
};

/* --- the work --------------------------------------------------------------------------------- */

/* The product of the two smallest domains of a marginal, each pair of columns once. */
static double add_pair(const struct study *s, const struct clique *c, bool *seen)
{
    const struct domain *d = s->domain;
    uint16_t a = c->attribute[0], b = c->attribute[1];
    for (size_t i = 1; i < c->n; i++)
        if (d->attribute[c->attribute[i]].size < d->attribute[a].size) {
            b = a;
            a = c->attribute[i];
        } else if (i > 1 && d->attribute[c->attribute[i]].size < d->attribute[b].size) {
            b = c->attribute[i];
        }
    if (seen[a * d->attributes + b] || seen[b * d->attributes + a])
        return 0;
    seen[a * d->attributes + b] = true;
    return (double)d->attribute[a].size * d->attribute[b].size;
}

/* Seconds for a record: its codes and their pairs become bits, 2 bytes each; then matrices. */
static enum err record_s(const struct study *s, double cells, double *seconds)
{
    const struct domain *d = s->domain;
    bool *seen CLEAN(memory_release) = NULL;
    double bits = 0;
    TRY(memory_new_array(&seen, d->attributes * d->attributes, sizeof *seen));
    for (size_t a = 0; a < d->attributes; a++)
        bits += d->attribute[a].size;
    for (size_t q = 0; q < s->workload->queries; q++)
        if (tally_counts(s, q) && s->workload->query[q].clique.n > 2)
            bits += add_pair(s, &s->workload->query[q].clique, seen);
    *seconds = 2 * bits / MACHINE_RECORD_BYTES_S + cells / MACHINE_RECORD_CELLS_S;
    return ERR_OK;
}

static void add_owner(struct ranks_work *w, const struct study *s, size_t i, double times,
                      double cells, double record)
{
    const struct study_owner *o = study_owner(s, i);
    const double bytes = (double)study_upload_bytes(s, i);
    if (study_batch(s, i) == i)
        w->count += times *
                    (o->records ? o->pad_to * record : cells * o->bits * MACHINE_COUNT_BIT_S);
    w->uploads += times * bytes;
    w->group = fmax(w->group, GROUP_OWNERS * bytes);
}

static enum err add_up(struct ranks_work *w, const struct study *s)
{
    const struct workload *load = s->workload;
    const struct price_noise noise = price_noise(s);
    const bool first = tape_cost(s->noise, NOISE_GAUSS)->first; /* lane that makes Gaussians */
    double cells = 0, record;
    for (size_t q = 0; q < load->queries; q++)
        cells += tally_counts(s, q) ? (double)load->query[q].cells : 0;
    TRY(record_s(s, cells, &record));
    for (size_t i = 0; i < s->owners; i++)
        add_owner(w, s, i, 1, cells, record);
    if (s->open.most > 0)
        add_owner(w, s, s->owners, (double)s->open.most, cells, record);
    w->group = fmin(w->uploads, fmax(w->group, GROUP_BYTES));
    w->noise = MACHINE_SAMPLE_S * (double)(noise.gumbel + (first ? 0 : noise.gauss));
    w->choose = MACHINE_SELECT_CELL_S * (double)load->cells * (s->rounds + s->sweeps) +
                (first ? MACHINE_SAMPLE_S * (double)noise.gauss : 0);
    w->sums = 16 * cells;
    w->samples = 16 * w->noise / MACHINE_SAMPLE_S;
    w->near = s->enforce_person || s->link.on;
    if (s->security == STUDY_ABORT) {
        w->count *= MACHINE_PROVED;
        w->noise *= MACHINE_PROVED;
        w->choose *= MACHINE_PROVED;
    }
    return ERR_OK;
}

/* --- what is said ----------------------------------------------------------------------------- */

static void print_line(const char *what, double one, double all)
{
    printf("  %-36s %12s %14s\n", what, one > 0 ? words_time(one).text : "-", words_time(all).text);
}

enum err plan_ranks(const struct study *s, unsigned ranks, unsigned lanes, struct log *log)
{
    const double r = ranks, t = lanes, all = r * t, other = (r - 1) / r;
    struct ranks_work w = {0};
    double passed, rank0, sum;
    if (ranks * lanes > SESSION_ALL_MAX)
        return log_fail(log, ERR_USAGE, "%u ranks of %u lanes are %u; a session has %d at most",
                        ranks, lanes, ranks * lanes, SESSION_ALL_MAX);
    TRY(add_up(&w, s));
    passed = other * ((w.near ? 0 : w.uploads) + w.samples) + (r - 1) * w.sums;
    rank0 = MACHINE_CUT_S * (w.near ? 0 : w.uploads) + MACHINE_PASS_S * passed +
            MACHINE_SUM_S * (r - 1) * w.sums;
    sum = w.count + w.noise + rank0;
    printf("ranks: servers of %u, with %u %s each; time on cores such as those of\n"
           "bench/README.md, where lanes share evenly and no network holds them up:\n"
           "  %-36s %12s %14s\n",
           ranks, lanes, lanes == 1 ? "lane" : "lanes", "", "one lane", "these ranks");
    print_line("counting, if all owners send", w.count, w.count / (w.near ? t : all));
    print_line("noise, at most", w.noise, w.noise / all);
    print_line("selecting and measuring, by rank 0", w.choose, w.choose / t);
    print_line("rank 0, cutting and putting together", 0, rank0);
    if (w.near)
        printf("Rank 0's lanes alone merge and count rows that have keys of persons.\n");
    printf("Rank 0 does %.1f %% of counting and noise beside what its lanes do. Between ranks\n"
           "go %s at the server that sends most.",
           100 * rank0 / sum, words_bytes((uint64_t)passed).text);
    printf(" A rank takes about %s,\nrank 0 %s more.\n",
           words_bytes((uint64_t)(PROGRAM_BYTES + LANE_BYTES + 2 * w.sums + 2 * w.group / r)).text,
           words_bytes((uint64_t)w.group).text);
    return ERR_OK;
}
