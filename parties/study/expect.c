#include "parties/study/expect.h"

#include "aim/answer/answer.h"
#include "aim/question/questions.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/study/method.h"

#include <stdlib.h>
#include <string.h>

#define SHOWN 20

/* --- one question ----------------------------------------------------------------------------- */

/* Which part of a code a case takes in; all of it in a column that the case does not mention. */
static double part_of(const struct question *q, const struct densities *even,
                      const struct one_case *c, uint16_t column, uint32_t code)
{
    const struct values *v = case_values(c, column);
    const struct domain_attribute *a = &q->domain->attribute[column];
    double share = 0;
    if (v == NULL)
        return 1;
    if (code >= a->values)
        return v->missing ? 1 : 0;
    for (uint32_t i = 0; i < v->spans; i++) {
        struct values_span s = q->pool.span[v->first + i];
        share += domain_has_order(a) ? density_part(even->of[column], code, s.from, s.below).share
                                     : code >= s.from && code < s.below;
    }
    return share;
}

/* The sum over a column's codes of the products of two cases' parts. */
static double both(const struct question *q, const struct densities *even, const struct one_case *x,
                   const struct one_case *y, uint16_t column)
{
    double sum = 0;
    for (uint32_t code = 0; code < q->domain->attribute[column].size; code++)
        sum += part_of(q, even, x, column, code) * part_of(q, even, y, column, code);
    return sum;
}

static double lines_of(const struct question *q)
{
    double lines = 1;
    for (size_t i = 0; i < q->groups; i++) {
        const uint32_t size = q->domain->attribute[q->group[i].column].size;
        uint32_t groups = 0;
        for (uint32_t code = 0; code < size; code++)
            groups += question_group_code(&q->group[i], code) == code;
        lines *= groups;
    }
    return lines;
}

/* The cells of a marginal that a question takes in: the sum of their parts, and of the squares. */
static void weigh(const struct question *q, const struct densities *even, const struct scope *s,
                  double *share, double *squares)
{
    struct one_case every = {0};
    *share = *squares = 0;
    for (unsigned k = 0; k < q->where.n; k++) {
        double one = 1;
        for (uint16_t i = 0; i < s->n; i++)
            one *= both(q, even, &q->where.one[k], &every, s->attribute[i]) /
                   q->domain->attribute[s->attribute[i]].size;
        *share += one;
        for (unsigned l = 0; l < q->where.n; l++) {
            double product = 1;
            for (uint16_t i = 0; i < s->n; i++)
                product *= both(q, even, &q->where.one[k], &q->where.one[l], s->attribute[i]);
            *squares += product;
        }
    }
}

static bool has_marginal(const struct study *s, const struct scope *columns)
{
    struct clique c = {.n = columns->n};
    if (columns->n > CLIQUE_MAX)
        return false;
    memcpy(c.attribute, columns->attribute, columns->n * sizeof *c.attribute);
    return columns->n == 0 || workload_find(s->workload, &c) != UINT32_MAX;
}

/* The noise in the number of all rows, as estimated from the marginals of single attributes. */
static double noise_of_all(const struct study *s, double sigma)
{
    double weights = 0;
    for (size_t i = 0; i < s->domain->attributes; i++)
        weights += 1.0 / s->domain->attribute[i].size;
    return sigma / sqrt(weights);
}

static struct expect judge(const struct study *s, const struct questions_next *next,
                           const struct densities *even, double sigma)
{
    const struct question *q = next->question;
    const double rows = (double)study_rows(s, true), lines = lines_of(q);
    struct expect e = {.together = true};
    size_t n = 0;
    for (size_t i = 0; i < next->size && n + 1 < sizeof e.text; i++) {
        bool space = strchr(" \t\r\n", next->text[i]) != NULL;
        if (!space || (n > 0 && e.text[n - 1] != ' '))
            e.text[n++] = space ? ' ' : next->text[i];
    }
    for (size_t i = 0; i < q->items; i++) {
        const struct scope columns = answer_columns(q, i);
        double share, squares, noise;
        weigh(q, even, &columns, &share, &squares);
        noise = columns.n > 0 ? sigma * sqrt(squares / lines) : noise_of_all(s, sigma);
        e.together &= has_marginal(s, &columns);
        e.rows = rows * share / lines;
        e.noise = fmax(e.noise, noise);
    }
    return e;
}

static int worst_first(const void *a, const void *b)
{
    const double x = expect_error(a), y = expect_error(b);
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(((const struct expect *)a)->text, ((const struct expect *)b)->text);
}

enum err expect_questions(struct expect **list, size_t *count, const struct study *s, double sigma,
                          struct log *log)
{
    struct expect *all CLEAN(memory_release) = NULL;
    struct densities even CLEAN(densities_clear) = {0};
    struct questions q CLEAN(questions_clear) = {.domain = s->domain, .log = log};
    size_t n = 0, room = 0;
    TRY(densities_of(&even, s->domain, NULL, NULL));
    TRY(questions_file(&q, s->questions));
    for (;;) {
        struct questions_next next CLEAN(questions_next_clear) = {0};
        TRY(questions_next(&q, &next));
        if (next.question == NULL)
            break;
        TRY(memory_room(&all, &room, n + 1));
        all[n++] = judge(s, &next, &even, sigma);
    }
    if (n > 0)
        qsort(all, n, sizeof *all, worst_first);
    *count = n;
    return memory_hand_over(list, &all);
}

/* --- for people ------------------------------------------------------------------------------- */

static const char *name_of(const struct study *s)
{
    const char *slash = strrchr(s->questions, '/');
    return slash != NULL ? slash + 1 : s->questions;
}

static void put_question(FILE *out, const struct expect *e, size_t columns)
{
    char text[EXPECT_TEXT];
    snprintf(text, sizeof text, "%s", e->text);
    text_tame(text);
    if (words_length(text) > columns)
        fprintf(out, "%.*s..\n", (int)words_prefix(text, columns - 2), text);
    else
        fprintf(out, "%s\n", text);
}

static size_t marginals_of(const struct study *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->workload->cliques; i++)
        n += s->workload->clique[i].n > 1;
    return n;
}

void expect_summary(FILE *out, const struct study *s, const struct expect *list, size_t count)
{
    size_t apart = 0, noisy = 0, shown = 0;
    for (size_t i = 0; i < count; i++) {
        apart += !list[i].together;
        noisy += list[i].together && expect_error(&list[i]) > EXPECT_WELL;
    }
    fprintf(out,
            "\nQuestions: %zu, of %s, for which the study has %zu marginal%s besides those of\n"
            "  one attribute; a run measures %s. If rows were spread evenly over the bins,\n"
            "  noise alone would leave %zu answer%s within %g %% of their number of rows.\n",
            count, name_of(s), marginals_of(s), marginals_of(s) == 1 ? "" : "s",
            method_rounds(s).text, count - apart - noisy, count - apart - noisy == 1 ? "" : "s",
            100 * EXPECT_WELL);
    if (apart + noisy > 0)
        fprintf(out,
                "  Not well answered: %zu for noise; %zu for which no marginal has all columns,\n"
                "  and which rest on smaller ones:\n",
                noisy, apart);
    for (size_t i = 0; i < count && expect_error(&list[i]) > EXPECT_WELL && shown < SHOWN; i++) {
        if (list[i].together)
            fprintf(out, "    noise %3.0f %%  ", fmin(999, 100 * expect_error(&list[i])));
        else
            fputs("    apart        ", out);
        put_question(out, &list[i], 60);
        shown++;
    }
    if (shown < apart + noisy)
        fprintf(out, "    ...          and %zu more\n", apart + noisy - shown);
}

void expect_table(FILE *out, const struct study *s, const struct expect *list, size_t count)
{
    size_t apart = 0;
    fprintf(out,
            "questions of %s, if rows are spread evenly over the bins: the rows behind an\n"
            "answer (of one group), and the noise in their number where the marginal over\n"
            "its columns is measured once:\n"
            "       rows     noise     error  question\n",
            name_of(s));
    for (size_t i = 0; i < count; i++) {
        apart += !list[i].together;
        if (!list[i].together || i - apart >= SHOWN)
            continue;
        fprintf(out, "  %9.4g %9.4g %7.2g %%  ", list[i].rows, list[i].noise,
                100 * expect_error(&list[i]));
        put_question(out, &list[i], 48);
    }
    if (count - apart > SHOWN)
        fprintf(out, "        ...  and %zu questions with smaller errors\n", count - apart - SHOWN);
    if (apart > 0)
        fprintf(out,
                "%zu more have no marginal of all their columns and rest on smaller ones: their\n"
                "error does not follow from the study alone\n",
                apart);
}
