#include "parties/display/answers.h"

#include "aim/table/number.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"

#include <math.h>
#include <string.h>

#define NAME QUESTION_ITEM_NAME
#define CELL 600

/* --- one value -------------------------------------------------------------------------------- */

static void put_code(char text[CELL], const struct domain_attribute *a, uint32_t code)
{
    char room[COLUMN_TEXT];
    snprintf(text, CELL, "%s", code >= a->values ? "NULL" : domain_text(a, code, 0, room));
}

/* Uses six digits, or all before the point. */
static void put_rounded(char text[CELL], double v)
{
    if (fabs(v) >= 1e5 && fabs(v) < 1e18)
        number_print(text, CELL, v, 0);
    else
        snprintf(text, CELL, "%.6g", v);
}

static void put_group(char text[CELL], const struct question *q, size_t i, uint32_t code)
{
    const struct domain_attribute *a = &q->domain->attribute[q->group[i].column];
    const char *const *label = q->group[i].label;
    if (label != NULL)
        snprintf(text, CELL, "%s", label[code] != NULL ? label[code] : "NULL");
    else if (q->group[i].part != NULL && code < a->values)
        snprintf(text, CELL, "%d", question_group_number(q, i, code));
    else
        put_code(text, a, code);
}

/* A number that an item answers. */
static void put_number(char text[CELL], const struct question *q, size_t item, double v)
{
    char room[COLUMN_TEXT];
    if (question_item_is_quoted(q, item))
        snprintf(text, CELL, "%s", domain_print(question_item_column(q, item), v, 0, room));
    else
        put_rounded(text, v);
}

static bool may_lack(const struct question *q, size_t item)
{
    const struct scope s = answer_columns(q, item);
    bool may = false;
    if (!aggregate_has_parts(q->item[item].aggregate))
        return !q->item[item].rows && question_item_column(q, item)->missing != NULL;
    for (unsigned i = 0; i < s.n; i++)
        may |= q->domain->attribute[s.attribute[i]].missing != NULL;
    return may;
}

/* --- for people ------------------------------------------------------------------------------- */

#define COLUMNS_MAX (QUESTION_GROUPS_MAX + 3 * QUESTION_ITEMS_MAX + 1)

struct grid {
    size_t columns;
    size_t width[COLUMNS_MAX];
    size_t groups; /* of the columns, on the left */
    struct bytes *out;
    bool measuring; /* finds widths, writes nothing */
};

static void put_cell(struct grid *g, size_t column, const char *text)
{
    size_t n = words_length(text);
    int pad;
    if (g->measuring) {
        g->width[column] = n > g->width[column] ? n : g->width[column];
        return;
    }
    pad = (int)(g->width[column] - n);
    if (column > 0)
        bytes_put_text(g->out, "  ");
    if (column < g->groups)
        text_put(g->out, "%s%*s", text, pad, "");
    else
        text_put(g->out, "%*s%s", pad, "", text);
    if (column + 1 == g->columns)
        bytes_put_u8(g->out, '\n');
}

static void put_head(struct grid *g, const struct answers_entry *e)
{
    const struct question *q = e->answer->question;
    char name[NAME];
    size_t at = 0;
    for (size_t i = 0; i < q->groups; i++) {
        question_group_name(q, i, name, sizeof name);
        put_cell(g, at++, name);
    }
    for (size_t i = 0; i < q->items; i++) {
        question_item_name(q, i, name, sizeof name);
        put_cell(g, at++, name);
        if (e->level > 0) {
            snprintf(name, sizeof name, "%.6g %%", 100 * e->level);
            put_cell(g, at++, name);
        }
        if (may_lack(q, i))
            put_cell(g, at++, "of rows");
    }
    put_cell(g, at++, "rows");
    g->columns = at;
}

static void put_value(char text[CELL], const struct question *q, size_t item,
                      const struct answer_value *v)
{
    if (!v->known) {
        snprintf(text, CELL, "NULL");
    } else if (aggregate_is_code(q->item[item].aggregate)) {
        put_code(text, question_item_column(q, item), (uint32_t)v->number);
    } else {
        put_number(text, q, item, v->number);
        if (aggregate_is_extreme(q->item[item].aggregate)) {
            memmove(text + 1, text, strlen(text) + 1);
            text[0] = '~';
        }
    }
}

static void put_end(char text[CELL], const struct question *q, size_t item, double end)
{
    if (aggregate_is_code(q->item[item].aggregate))
        put_code(text, question_item_column(q, item), (uint32_t)end);
    else
        put_number(text, q, item, end);
}

/* "37.9 to 38.5"; for a label, how many refits agree. */
static void put_interval(struct grid *g, size_t column, const struct question *q, size_t item,
                         const struct answer_value *v)
{
    char low[CELL], high[CELL], text[2 * CELL + 8] = "-";
    if (v->known && v->bounded) {
        put_end(low, q, item, v->low);
        put_end(high, q, item, v->high);
        snprintf(text, sizeof text, "%s to %s", low, high);
    } else if (v->known && aggregate_is_code(q->item[item].aggregate) && v->agreed > 0) {
        snprintf(text, sizeof text, "%.0f %% agree", 100 * v->agreed);
    }
    put_cell(g, column, text);
}

static void put_rows(struct grid *g, size_t column, double rows)
{
    char text[CELL];
    snprintf(text, sizeof text, rows < 9.95 ? "%.1f" : "%.0f", rows);
    put_cell(g, column, text);
}

static void put_line(struct grid *g, const struct answers_entry *e, size_t line)
{
    const struct answer *a = e->answer;
    const struct question *q = a->question;
    char text[CELL];
    size_t at = 0;
    for (size_t i = 0; i < q->groups; i++) {
        put_group(text, q, i, answer_code(a, line, i));
        put_cell(g, at++, text);
    }
    for (size_t i = 0; i < q->items; i++) {
        const struct answer_value *v = answer_value_at(a, line, i);
        put_value(text, q, i, v);
        put_cell(g, at++, text);
        if (e->level > 0)
            put_interval(g, at++, q, i, v);
        if (may_lack(q, i))
            put_rows(g, at++, v->rows);
    }
    put_rows(g, at++, a->rows[line]);
}

/* "AVG(bmi), MODE(sex): ", the items that no measured marginal covers, if others have one. */
static void put_apart(struct bytes *out, const struct answers_entry *e)
{
    const struct question *q = e->answer->question;
    char name[NAME];
    size_t apart = 0, put = 0;
    for (size_t i = 0; i < q->items; i++)
        apart += !e->item[i];
    for (size_t i = 0; i < q->items && apart < q->items; i++) {
        if (e->item[i])
            continue;
        question_item_name(q, i, name, sizeof name);
        text_put(out, "%s%s", name, ++put < apart ? ", " : ": ");
    }
}

bool answers_left_out(const struct answer *a, char *text, size_t size)
{
    double rows;
    const size_t groups = answer_left_out(a, &rows);
    if (groups > 0)
        snprintf(text, size, "%zu group%s of less than half a row, %.*f rows together", groups,
                 groups == 1 ? "" : "s", rows < 9.95 ? 1 : 0, rows);
    return groups > 0;
}

static void put_notes(struct bytes *out, const struct answers_entry *e)
{
    const struct question *q = e->answer->question;
    bool approximate = false;
    char left[100];
    for (size_t i = 0; i < q->items; i++)
        approximate |= aggregate_is_extreme(q->item[i].aggregate);
    if (answers_left_out(e->answer, left, sizeof left))
        text_put(out, "(left out: %s)\n", left);
    if (approximate)
        bytes_put_text(out, "~ is approximate: a model has no least and no largest row\n");
    if (e->together)
        return;
    put_apart(out, e);
    bytes_put_text(out, e->copula ? "from a copula: these columns are related by correlations alone"
                                  : "no measured marginal holds these columns together: the answer "
                                    "rests on conditional\nindependence");
    if (e->level > 0 && e->learned)
        bytes_put_text(out, "; the interval is as wide as the errors of such answers where they "
                            "could be measured\n");
    else if (e->level > 0)
        bytes_put_text(
            out,
            ", and nothing that was measured tells how wrong it may be: there is no interval\n");
    else
        bytes_put_text(out, ", which may be wrong\n");
}

enum err answers_text(struct bytes *out, const struct answers_entry *e)
{
    size_t *lines CLEAN(memory_release) = NULL, count;
    const struct question *q = e->answer->question;
    struct grid g = {.groups = q->groups, .out = out, .measuring = true};
    TRY(answer_shown(e->answer, &lines, &count));
    for (int pass = 0; pass < 2; pass++, g.measuring = false) {
        put_head(&g, e);
        for (size_t i = 0; i < count; i++)
            put_line(&g, e, lines[i]);
    }
    put_notes(out, e);
    return ERR_OK;
}

/* --- CSV -------------------------------------------------------------------------------------- */

struct csv_out {
    struct bytes *to;
    const struct csv_form *form;
};

static void csv_field(const struct csv_out *out, const char *text, bool first)
{
    if (!first)
        bytes_put_u8(out->to, (uint8_t)out->form->delimiter);
    csv_put(out->to, text, out->form, false);
}

static void csv_number(const struct csv_out *out, char *text, bool first)
{
    if (!first)
        bytes_put_u8(out->to, (uint8_t)out->form->delimiter);
    csv_put_number(out->to, text, out->form);
}

/* Empty for a missing value. */
static void csv_code(const struct csv_out *out, const struct domain_attribute *a, uint32_t code,
                     bool first)
{
    char text[CELL] = "";
    if (code < a->values)
        put_code(text, a, code);
    if (domain_has_numbers(a))
        csv_number(out, text, first);
    else
        csv_field(out, text, first);
}

static void csv_group(const struct csv_out *out, const struct question *q, size_t i, uint32_t code)
{
    const struct domain_attribute *a = &q->domain->attribute[q->group[i].column];
    char text[CELL];
    if (q->group[i].label != NULL) {
        csv_field(out, q->group[i].label[code] != NULL ? q->group[i].label[code] : "", i == 0);
        return;
    }
    if (q->group[i].part == NULL || code >= a->values) {
        csv_code(out, a, code, i == 0);
        return;
    }
    put_group(text, q, i, code);
    csv_number(out, text, i == 0);
}

static void csv_ends_head(const struct csv_out *out, const struct question *q, size_t item,
                          const char *name)
{
    char text[NAME + 8];
    snprintf(text, sizeof text, "%s low", name);
    csv_field(out, text, false);
    snprintf(text, sizeof text, "%s high", name);
    csv_field(out, text, false);
    if (!aggregate_is_code(q->item[item].aggregate))
        return;
    snprintf(text, sizeof text, "%s agreed", name);
    csv_field(out, text, false);
}

static void csv_head(const struct csv_out *out, const struct answers_entry *e)
{
    const struct question *q = e->answer->question;
    char name[NAME];
    for (size_t i = 0; i < q->groups; i++) {
        question_group_name(q, i, name, sizeof name);
        csv_field(out, name, i == 0);
    }
    for (size_t i = 0; i < q->items; i++) {
        question_item_name(q, i, name, sizeof name);
        csv_field(out, name, q->groups + i == 0);
        if (e->level > 0)
            csv_ends_head(out, q, i, name);
        if (may_lack(q, i)) {
            snprintf(name + strlen(name), sizeof name - strlen(name), " of rows");
            csv_field(out, name, false);
        }
    }
    csv_field(out, "rows", false);
    csv_field(out, "together", false);
    bytes_put_u8(out->to, '\n');
}

static void csv_rounded(const struct csv_out *out, double v)
{
    char text[CELL];
    put_rounded(text, v);
    csv_number(out, text, false);
}

static void csv_value(const struct csv_out *out, const struct question *q, size_t item, bool known,
                      double value, bool first)
{
    char text[CELL] = "";
    if (known && aggregate_is_code(q->item[item].aggregate)) {
        csv_code(out, question_item_column(q, item), (uint32_t)value, first);
        return;
    }
    if (known)
        put_number(text, q, item, value);
    if (question_item_is_quoted(q, item))
        csv_field(out, text, first);
    else
        csv_number(out, text, first);
}

static void csv_ends(const struct csv_out *out, const struct question *q, size_t item,
                     const struct answer_value *v)
{
    csv_value(out, q, item, v->known && v->bounded, v->low, false);
    csv_value(out, q, item, v->known && v->bounded, v->high, false);
    if (aggregate_is_code(q->item[item].aggregate))
        csv_rounded(out, v->agreed);
}

static void csv_line(const struct csv_out *out, const struct answers_entry *e, size_t line)
{
    const struct answer *a = e->answer;
    const struct question *q = a->question;
    for (size_t i = 0; i < q->groups; i++)
        csv_group(out, q, i, answer_code(a, line, i));
    for (size_t i = 0; i < q->items; i++) {
        const struct answer_value *v = answer_value_at(a, line, i);
        csv_value(out, q, i, v->known, v->number, q->groups + i == 0);
        if (e->level > 0)
            csv_ends(out, q, i, v);
        if (may_lack(q, i))
            csv_rounded(out, v->rows);
    }
    csv_rounded(out, a->rows[line]);
    csv_field(out, e->together ? "true" : "false", false);
    bytes_put_u8(out->to, '\n');
}

enum err answers_csv(struct bytes *to, const struct answers_entry *e)
{
    size_t *lines CLEAN(memory_release) = NULL, count;
    const struct csv_out out = {.to = to, .form = e->csv};
    TRY(answer_shown(e->answer, &lines, &count));
    csv_head(&out, e);
    for (size_t i = 0; i < count; i++)
        csv_line(&out, e, lines[i]);
    return ERR_OK;
}
