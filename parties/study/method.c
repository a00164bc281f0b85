#include "parties/study/method.h"

#include "aim/budget/budget.h"
#include "aim/budget/schedule.h"
#include "aim/run/train_run.h"
#include "parties/study/study_parse.h"

#include <math.h>
#include <string.h>

struct aim_options method_aim(const struct study *s)
{
    return (struct aim_options){.domain = s->domain,
                                .workload = s->workload,
                                .zero = s->zero,
                                .zeros = s->zeros,
                                .apart = s->apart,
                                .apart_columns = s->apart_columns,
                                .grows = s->late_join,
                                .rounds = s->rounds,
                                .annealed = s->annealed,
                                .sweeps = s->sweeps,
                                .accounting = s->accounting,
                                .noise_by = s->noise_by,
                                .rows = study_rows(s, false),
                                .score = s->score,
                                .model_bytes = (uint64_t)s->max_mib << 20,
                                .fit_round = s->iterations,
                                .fit_final = s->final_iterations};
}

struct rounds_choice method_choose_rounds(const struct study *s)
{
    const double k = s->rows_per_person;
    return rounds_choose(&(const struct rounds_terms){
        .workload = s->workload,
        .rows = (double)study_rows(s, true),
        .rows_most = (double)study_rows(s, false),
        .epsilon = s->epsilon / k,
        .rho = budget_rho(s->accounting, s->epsilon, s->delta) / (k * k),
        .accounting = s->accounting,
        .l1 = s->score == AIM_L1,
        .exact = noise_exact[s->noise],
    });
}

/* --- what a run does -------------------------------------------------------------------------- */

static const char *score_kind(enum aim_score score)
{
    switch (score) {
    case AIM_L1:
        return "";
    case AIM_L2:
        return "squared ";
    }
    return "";
}

/* What a copula opens, and what it is not used for. */
static void describe_copula(FILE *out, const struct study *s)
{
    const size_t d = s->domain->attributes;
    fprintf(out,
            "\nMethod: a Gaussian copula. Each attribute is measured once, for %g of the budget;\n"
            "  then one number for each of %zu pairs of attributes, or of labels one for each\n"
            "  two groups of them, for the rest. Scores end at %g deviations or before. What\n"
            "  links more than two attributes is not measured. The workload (%zu marginals)\n"
            "  is what trefoil eval compares.\n",
            s->copula_share, d * (d - 1) / 2, s->copula_clip, s->asked->cliques);
}

struct words_text method_rounds(const struct study *s)
{
    struct words_text p = {"those that its sweeps choose"};
    if (s->sweeps == 0)
        snprintf(p.text, sizeof p.text, "%s%u", s->annealed ? "at most " : "", s->rounds);
    return p;
}

static void describe_auto(FILE *out, const struct study *s)
{
    const struct rounds_choice c = method_choose_rounds(s);
    fprintf(out, "  Here rounds: auto stands for \"%s\":\n  %s.\n", rounds_word(&c).text, c.cause);
}

static void describe_aim(FILE *out, const struct study *s)
{
    const struct workload *w = s->workload;
    size_t maximal = 0;
    for (size_t i = 0; i < w->queries; i++)
        maximal += w->query[i].maximal;
    fprintf(out,
            "\nMarginals: %zu in all (%llu cells), including the smaller ones they contain;\n"
            "  %zu have one attribute. The %zu largest (%llu cells) are counted; the others\n"
            "  are sums of those. A run measures each attribute once. Then it ",
            w->queries, (unsigned long long)w->cells, w->one_ways, maximal,
            (unsigned long long)w->maximal_cells);
    if (s->sweeps > 0)
        fprintf(out,
                "opens,\n"
                "  with noise, how far its model is from each of them, and measures those that\n"
                "  promise most: %u %s.\n",
                s->sweeps, s->sweeps == 1 ? "time" : "times");
    else
        fprintf(out,
                "chooses and\n"
                "  measures %s more, each time the one with the largest sum of %serrors.\n",
                method_rounds(s).text, score_kind(s->score));
    if (s->rounds_auto)
        describe_auto(out, s);
    if (s->assess > 0)
        fprintf(out,
                "\nAssessment: at the end, %g of the budget opens how far the model is from\n"
                "  each of %zu pairs of attributes, measured or not, and how far independent\n"
                "  columns are.\n",
                s->assess, assess_pairs(s->workload));
}

/* What a classifier opens, and who sees it. */
static void describe_train(FILE *out, const struct study *s)
{
    const struct features *f = s->features;
    char room[COLUMN_TEXT];
    fprintf(out,
            "\nMethod: a linear classifier of %s, with %u classes.\n"
            "  A row has %u features%s. A run counts the classes, for\n"
            "  %g of the budget; then it takes %u steps. In each the servers compute a\n"
            "  gradient from the rows, %u numbers, and open it with noise. One row can\n"
            "  move it by at most %.4g, whatever its owner sends. The weights are public:\n"
            "  they follow from what was opened before. Owners send records once and may go.\n",
            s->domain->attribute[f->target].name, f->classes, f->count,
            f->norm2 > 0 ? ", one for each column" : ", one for each value", TRAIN_COUNTS,
            s->train_steps, features_weights(f), sqrt((double)f->r2 * (double)f->q2));
    if (f->tests)
        fprintf(out,
                "  Rows whose %s is %s teach nothing. At the end, for %g of the budget,\n"
                "  the servers open with noise how many of them have which score and class.\n",
                s->domain->attribute[f->test].name, features_test_value(f, room), TRAIN_TEST);
}

/* --- the keys of each ------------------------------------------------------------------------- */

/* Their model and fits are other ones, unless the study says which. */
static void take_sweeps(struct study *s, unsigned sweeps, unsigned mib)
{
    s->sweeps = sweeps;
    s->max_mib = mib;
    s->iterations = AIM_SWEEPS_FIT;
    s->final_iterations = AIM_SWEEPS_FIT_FINAL;
}

static void take_annealed(struct study *s)
{
    s->annealed = true;
    s->rounds = schedule_rounds_most(s->workload->one_ways, 0, true);
}

/* "sweeps", or "sweeps 3". */
static enum err read_sweeps(struct study_reading *r, const yaml_node_t *node, const char *text)
{
    const bool given = text[0] == ' ' && text[1] >= '1' && text[1] <= '0' + STUDY_SWEEPS_MAX;
    if (text[0] != '\0' && !(given && text[2] == '\0'))
        return yaml_error(r->file, node, "write rounds: sweeps, or a number of them: \"sweeps 3\"");
    if (r->study->score != AIM_L1)
        return yaml_error(r->file, node, "rounds: sweeps opens distances, so it needs score: l1");
    take_sweeps(r->study, given ? (unsigned)(text[1] - '0') : AIM_SWEEPS, AIM_SWEEPS_MIB);
    return ERR_OK;
}

/*
 * A number, "annealed" (as many as the budget allows, at most 16 for each column), sweeps, or
 * "auto", which waits for method_settle().
 */
static enum err read_rounds(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    const char *text;
    TRY(yaml_text(r->file, node, "rounds", &text));
    s->rounds_auto = strcmp(text, "auto") == 0;
    if (s->rounds_auto)
        return ERR_OK;
    if (strncmp(text, "sweeps", 6) == 0)
        return read_sweeps(r, node, text + 6);
    if (strcmp(text, "annealed") != 0)
        return study_read_unsigned(r, node, "rounds", 1, STUDY_ROUNDS_MAX, &s->rounds);
    if (s->workload != NULL) /* else it, or the domain, has a mistake */
        take_annealed(s);
    return ERR_OK;
}

void method_settle(struct study *s)
{
    struct rounds_choice c;
    if (!s->rounds_auto)
        return;
    c = method_choose_rounds(s);
    s->rounds = c.rounds;
    if (c.sweeps > 0)
        take_sweeps(s, c.sweeps, c.mib);
    else if (c.annealed)
        take_annealed(s);
}

/* The keys that say more about another method. */
static enum err refuse_of(struct study_reading *r, const yaml_node_t *node, enum study_method other)
{
    return node == NULL
               ? ERR_OK
               : yaml_error(r->file, node, "this is for method: %s alone; take it out, or add that",
                            method_row(other)->word);
}

/* A share of the budget for the end of a run. */
static enum err read_assess(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    if (node == NULL)
        return ERR_OK;
    if (s->score != AIM_L1)
        return yaml_error(r->file, node, "assess opens distances, so it needs score: l1");
    if (s->servers != 3)
        return yaml_error(r->file, node, "assess needs three servers; take this key out");
    TRY(yaml_number(r->file, node, "assess", 0.001, 0.5, &s->assess));
    if (s->workload != NULL && assess_pairs(s->workload) == 0)
        return yaml_error(r->file, node,
                          "assess compares pairs of attributes, and the workload has none; take "
                          "this key out, or list marginals of several attributes");
    return ERR_OK;
}

static enum err read_aim(struct study_reading *r)
{
    TRY(study_go_on(r, read_assess(r, r->at.assess)));
    TRY(refuse_of(r, r->at.copula, STUDY_COPULA));
    TRY(refuse_of(r, r->at.train, STUDY_TRAIN));
    return r->at.rounds != NULL ? read_rounds(r, r->at.rounds) : study_lacks(r, "rounds");
}

/* The parameters of a copula. */
static enum err read_copula_numbers(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    const yaml_node_t *clip, *share;
    const struct yaml_key keys[] = {{"clip", false, &clip}, {"share", false, &share}};
    TRY(yaml_mapping(r->file, node, "copula", COUNTED(keys)));
    TRY(yaml_number(r->file, clip, "clip", 0.5, 8, &s->copula_clip));
    return yaml_number(r->file, share, "share", 0.01, 0.99, &s->copula_share);
}

/* It has no rounds. */
static enum err read_copula(struct study_reading *r)
{
    TRY(refuse_of(r, r->at.train, STUDY_TRAIN));
    TRY(refuse_of(r, r->at.assess, STUDY_AIM));
    if (r->at.rounds != NULL)
        return yaml_error(r->file, r->at.rounds, "method: copula has no rounds; take this key out");
    if (r->at.score != NULL)
        return yaml_error(r->file, r->at.score,
                          "method: copula selects nothing, so nothing has a score; take this key "
                          "out");
    if (r->at.impossible != NULL)
        return yaml_error(r->file, r->at.impossible,
                          "method: copula cannot leave out what is impossible; take this key out");
    if (r->study->late_join)
        return yaml_error(r->file, r->at.late_uploads,
                          "method: copula cannot take rows that come during a run; write wait");
    return read_copula_numbers(r, r->at.copula);
}

static void put_copula(const struct study *s, struct bytes *b)
{
    bytes_put_double(b, s->copula_clip);
    bytes_put_double(b, s->copula_share);
}

static void put_train(const struct study *s, struct bytes *b)
{
    bytes_put_string(b, s->domain->attribute[s->features->target].name);
    bytes_put_u32(b, s->features->norm2);
    bytes_put_u32(b, s->train_steps);
    bytes_put_double(b, s->train_rate);
    if (s->features->tests) {
        bytes_put_string(b, s->domain->attribute[s->features->test].name);
        bytes_put_u32(b, s->features->test_code);
    }
}

static const struct method methods[] = {
    [STUDY_AIM] = {.word = "aim",
                   .selects = true,
                   .zeros = true,
                   .with_two = true,
                   .read = read_aim,
                   .describe = describe_aim},
    [STUDY_COPULA] = {.word = "copula",
                      .forms = true,
                      .with_two = true,
                      .read = read_copula,
                      .put = put_copula,
                      .describe = describe_copula},
    [STUDY_TRAIN] = {.word = "train",
                     .gradients = true,
                     .read = study_read_train,
                     .put = put_train,
                     .describe = describe_train},
};
_Static_assert(sizeof methods / sizeof *methods == STUDY_METHODS, "each method can be read");

const struct method *method_row(enum study_method method)
{
    return &methods[method];
}

const struct method *method_of(const struct study *s)
{
    return method_row(s->method);
}

static uint64_t whole_words(uint64_t rows)
{
    return (rows + 63) / 64 * 64;
}

/*
 * How many rows servers keep: each batch's, in whole words of bits. Those that are linked stay in a
 * table with room for all rows of all their owners: nobody sees which of them were joined.
 */
static uint64_t kept_rows(const struct study *s)
{
    uint64_t rows = s->open.most * whole_words(s->open.each.pad_to);
    for (size_t i = 0; i < s->owners; i++)
        if (study_linked(s, i))
            rows += whole_words(s->owner[i].pad_to);
        else if (s->owner[i].batch == i)
            rows += whole_words(study_batch_rows(s, i, true));
    return rows;
}

uint64_t method_train_bytes(const struct study *s)
{
    return 4 * s->features->count * kept_rows(s);
}

enum err method_served(const struct study *s, struct log *log)
{
    if (!method_of(s)->gradients)
        return ERR_OK;
    if (kept_rows(s) > METHOD_TRAIN_ROWS || method_train_bytes(s) > METHOD_TRAIN_BYTES)
        return log_fail(log, ERR_STUDY,
                        "the features of %llu rows take %s of memory at each server, more than %s; "
                        "lower max_rows and pad_to, or take fewer columns or coarser bins",
                        (unsigned long long)kept_rows(s), words_bytes(method_train_bytes(s)).text,
                        words_bytes(METHOD_TRAIN_BYTES).text);
    return ERR_OK;
}

enum err method_works(const struct study *s, struct log *log)
{
    const struct aim_options options = method_aim(s);
    TRY(method_served(s, log));
    return method_of(s)->selects ? aim_check_model(&options, log) : ERR_OK;
}
