#include "parties/display/evaluation.h"

#include "aim/table/lists.h"
#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

const char *const evaluation_side[SIDES] = {"synthetic", "independent", "resample", "model"};

void evaluation_clear(struct evaluation *e)
{
    table_free(&e->real);
    for (size_t i = 0; i < SIDE_TABLES; i++) {
        table_free(&e->side[i]);
        memory_free(&e->each[i]);
    }
    memory_free_all(&e->column, &e->pair, &e->deviation);
    for (size_t i = 0; i < SIDES; i++)
        evaluate_answers_clear(&e->answers[i]);
}

/* The worst comes first. */
struct evaluation_entry {
    double error;
    size_t index;
};

static int by_error(const void *a, const void *b)
{
    const struct evaluation_entry *x = a, *y = b;
    if (x->error != y->error)
        return x->error > y->error ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static size_t shown(size_t all, size_t worst)
{
    return worst == 0 || worst > all ? all : worst;
}

static void print_rest(FILE *out, size_t all, size_t worst)
{
    if (shown(all, worst) < all)
        fprintf(out, "  ...     and %zu more (--worst 0 for all)\n", all - worst);
}

/* --- marginals -------------------------------------------------------------------------------- */

static enum err print_marginals(FILE *out, const struct evaluation *e, size_t worst)
{
    const struct workload *w = e->study->asked;
    struct evaluation_entry *order CLEAN(memory_release) = NULL;
    TRY(memory_new(&order, w->cliques));
    for (size_t i = 0; i < w->cliques; i++)
        order[i] = (struct evaluation_entry){e->each[SIDE_SYNTHETIC][i], i};
    qsort(order, w->cliques, sizeof *order, by_error);
    fprintf(out,
            "mean L1 error of a marginal: %.4f  (independent columns %.4f, a resample %.4f)\n"
            "  synth.  indep.  resample\n",
            e->mean[SIDE_SYNTHETIC], e->mean[SIDE_INDEPENDENT], e->mean[SIDE_RESAMPLE]);
    for (size_t i = 0; i < shown(w->cliques, worst); i++) {
        size_t k = order[i].index;
        fprintf(out, "  %.4f  %.4f  %.4f    %s\n", e->each[SIDE_SYNTHETIC][k],
                e->each[SIDE_INDEPENDENT][k], e->each[SIDE_RESAMPLE][k],
                clique_name(&w->clique[k], e->study->domain).text);
    }
    print_rest(out, w->cliques, worst);
    return ERR_OK;
}

/* --- columns ---------------------------------------------------------------------------------- */

static const char *name_of(const struct evaluation *e, uint16_t attribute)
{
    return e->study->domain->attribute[attribute].name;
}

static void print_relative(FILE *out, double is, double should_be)
{
    if (should_be != 0 && isfinite(is) && isfinite(should_be))
        fprintf(out, "  %+8.2f %%", 100 * (is / should_be - 1));
    else
        fprintf(out, "  %10s", "-");
}

static void print_columns(FILE *out, const struct evaluation *e)
{
    if (e->columns > 0)
        fputs("relative error of\n   synthetic                resample\n"
              "        mean   deviation        mean   deviation\n",
              out);
    for (size_t i = 0; i < e->columns; i++) {
        const struct evaluation_column *c = &e->column[i];
        for (size_t k = 0; k < SIDE_TABLES; k++) {
            if (k == SIDE_INDEPENDENT) /* for one column a resample is the same */
                continue;
            print_relative(out, c->of[k].mean, c->real.mean);
            print_relative(out, c->of[k].deviation, c->real.deviation);
        }
        fprintf(out, "  %s\n", name_of(e, c->attribute));
    }
}

static void print_correlation(FILE *out, double r)
{
    if (isnan(r))
        fprintf(out, "  %6s", "-");
    else
        fprintf(out, "  %+6.3f", r);
}

/* Over the pairs whose correlation both tables have. */
static double mean_error(const struct evaluation *e, enum evaluation_side side)
{
    double sum = 0, pairs = 0;
    for (size_t i = 0; i < e->pairs; i++) {
        const double off = fabs(e->pair[i].of[side] - e->pair[i].real);
        sum += isnan(off) ? 0 : off;
        pairs += !isnan(off);
    }
    return sum / fmax(1, pairs);
}

static enum err print_correlations(FILE *out, const struct evaluation *e, size_t worst)
{
    struct evaluation_entry *order CLEAN(memory_release) = NULL;
    TRY(memory_new(&order, e->pairs));
    if (e->pairs == 0)
        return ERR_OK;
    for (size_t i = 0; i < e->pairs; i++) {
        double off = fabs(e->pair[i].of[SIDE_SYNTHETIC] - e->pair[i].real);
        order[i] = (struct evaluation_entry){isnan(off) ? 0 : off, i};
    }
    qsort(order, e->pairs, sizeof *order, by_error);
    fprintf(out,
            "mean error of a correlation: %.4f  (independent columns %.4f, a resample %.4f)\n"
            "    real  synth.  indep.  resample\n",
            mean_error(e, SIDE_SYNTHETIC), mean_error(e, SIDE_INDEPENDENT),
            mean_error(e, SIDE_RESAMPLE));
    for (size_t i = 0; i < shown(e->pairs, worst); i++) {
        const struct evaluation_pair *p = &e->pair[order[i].index];
        print_correlation(out, p->real);
        for (size_t k = 0; k < SIDE_TABLES; k++)
            print_correlation(out, p->of[k]);
        fprintf(out, "    %s x %s\n", name_of(e, p->a), name_of(e, p->b));
    }
    print_rest(out, e->pairs, worst);
    return ERR_OK;
}

/* --- likelihood ------------------------------------------------------------------------------- */

static void print_likelihood(FILE *out, const struct evaluation *e)
{
    if (!e->model)
        return;
    fprintf(out,
            "negative log-likelihood of a real row under the model: %.4f\n"
            "  (independent columns, by the real rows' own counts: %.4f)\n"
            "log-likelihood of its numbers as written, in deviations: %.4f\n"
            "  (independent columns: %.4f)\n",
            -e->likelihood.codes, -e->alone.codes, e->likelihood.numbers, e->alone.numbers);
    if (e->impossible > 0)
        fprintf(out, "  (%zu rows are impossible under the model; each counts as %g)\n",
                e->impossible, EVALUATE_IMPOSSIBLE);
}

/* --- questions -------------------------------------------------------------------------------- */

static void print_answers(FILE *out, const struct evaluation *e, enum question_aggregate a,
                          size_t grouped)
{
    static const enum evaluation_side order[SIDES] = {SIDE_MODEL, SIDE_SYNTHETIC, SIDE_INDEPENDENT,
                                                      SIDE_RESAMPLE};
    bool first = true;
    for (size_t i = 0; i < SIDES; i++) {
        const struct evaluate_errors *x = &e->answers[order[i]].of[a][grouped];
        if (x->count == 0)
            continue;
        if (first)
            fprintf(out, "  %-10s  %-8s %6zu", aggregate_name(a), grouped ? "by group" : "",
                    x->count);
        else
            fprintf(out, "  %27s", "");
        first = false;
        fprintf(out, "  %-11s  %7.4f  %7.4f  %7.4f  %7.4f\n", evaluation_side[order[i]],
                evaluate_quantile(x, 0.5), evaluate_quantile(x, 0.95), evaluate_quantile(x, 0.99),
                evaluate_quantile(x, 1));
    }
}

static void print_questions(FILE *out, const struct evaluation *e)
{
    if (e->questions == 0)
        return;
    fprintf(out,
            "relative errors of the answers to %zu question%s\n"
            "  of                    items  by            median     95 %%     99 %%  largest\n",
            e->questions, e->questions == 1 ? "" : "s");
    for (size_t k = 0; k < 2; k++)
        for (size_t a = 0; a < AGGREGATES; a++)
            print_answers(out, e, (enum question_aggregate)a, k);
}

enum err evaluation_text(FILE *out, const struct evaluation *e, size_t worst)
{
    fprintf(out, "%zu real rows, %zu synthetic rows, %zu marginals\n", e->real->rows,
            e->side[SIDE_SYNTHETIC]->rows, e->study->asked->cliques);
    TRY(print_marginals(out, e, worst));
    print_columns(out, e);
    TRY(print_correlations(out, e, worst));
    print_likelihood(out, e);
    print_questions(out, e);
    return ERR_OK;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *of_sides(const double *of)
{
    json_t *o = json_object();
    for (size_t i = 0; i < SIDE_TABLES; i++)
        list_set(&o, evaluation_side[i], number(of[i]));
    return o;
}

static json_t *with_real(double real, const double *of)
{
    json_t *o = of_sides(of);
    list_set(&o, "real", number(real));
    return o;
}

static json_t *marginals(const struct evaluation *e)
{
    const struct workload *w = e->study->asked;
    json_t *each = json_array();
    for (size_t i = 0; i < w->cliques; i++) {
        const double of[SIDE_TABLES] = {e->each[0][i], e->each[1][i], e->each[2][i]};
        json_t *o = of_sides(of), *attributes = json_array();
        for (unsigned k = 0; k < w->clique[i].n; k++)
            list_append(&attributes, json_string(name_of(e, w->clique[i].attribute[k])));
        list_set(&o, "attributes", attributes);
        list_append(&each, o);
    }
    return json_pack("{s:o, s:o}", "mean", of_sides(e->mean), "each", each);
}

static json_t *columns(const struct evaluation *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->columns; i++) {
        const struct evaluation_column *c = &e->column[i];
        double mean[SIDE_TABLES], deviation[SIDE_TABLES];
        for (size_t k = 0; k < SIDE_TABLES; k++) {
            mean[k] = c->of[k].mean;
            deviation[k] = c->of[k].deviation;
        }
        list_append(&list, json_pack("{s:s, s:o, s:o}", "column", name_of(e, c->attribute), "mean",
                                     with_real(c->real.mean, mean), "deviation",
                                     with_real(c->real.deviation, deviation)));
    }
    return list;
}

static json_t *correlations(const struct evaluation *e)
{
    json_t *list = json_array();
    for (size_t i = 0; i < e->pairs; i++) {
        const struct evaluation_pair *p = &e->pair[i];
        json_t *o = with_real(p->real, p->of);
        list_set(&o, "columns", json_pack("[s, s]", name_of(e, p->a), name_of(e, p->b)));
        list_append(&list, o);
    }
    return list;
}

static json_t *model_and_alone(double model, double alone)
{
    return json_pack("{s:o, s:o}", "model", number(model), "independent", number(alone));
}

static json_t *quantiles(const struct evaluate_errors *x)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "median", number(evaluate_quantile(x, 0.5)), "p95",
                     number(evaluate_quantile(x, 0.95)), "p99", number(evaluate_quantile(x, 0.99)),
                     "max", number(evaluate_quantile(x, 1)));
}

static json_t *questions(const struct evaluation *e)
{
    json_t *list = json_array();
    for (size_t k = 0; k < 2; k++)
        for (size_t a = 0; a < AGGREGATES; a++) {
            const size_t items = e->answers[SIDE_SYNTHETIC].of[a][k].count;
            json_t *o;
            if (items == 0)
                continue;
            o = json_pack("{s:s, s:b, s:I}", "aggregate",
                          aggregate_name((enum question_aggregate)a), "by_group", (int)k, "items",
                          (json_int_t)items);
            for (size_t i = 0; i < SIDES; i++)
                if (e->answers[i].of[a][k].count > 0)
                    list_set(&o, evaluation_side[i], quantiles(&e->answers[i].of[a][k]));
            list_append(&list, o);
        }
    return list;
}

enum err evaluation_json(FILE *out, const struct evaluation *e)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    json_t *root = json_pack("{s:b, s:I, s:I, s:o, s:o, s:o}", "private", 0, "real_rows",
                             (json_int_t)e->real->rows, "synthetic_rows",
                             (json_int_t)e->side[SIDE_SYNTHETIC]->rows, "marginals", marginals(e),
                             "columns", columns(e), "correlations", correlations(e));
    enum err failure;
    if (e->model)
        list_set(&root, "likelihood",
                 json_pack("{s:o, s:o, s:I}", "codes",
                           model_and_alone(e->likelihood.codes, e->alone.codes), "numbers",
                           model_and_alone(e->likelihood.numbers, e->alone.numbers), "impossible",
                           (json_int_t)e->impossible));
    if (e->questions > 0)
        list_set(&root, "questions", questions(e));
    failure = root != NULL ? list_print(root, JSON_INDENT(1), &text) : ERR_NOMEM;
    json_decref(root);
    TRY(failure);
    fwrite(text.data, 1, text.size, out);
    return ERR_OK;
}
