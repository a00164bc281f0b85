/* The key `events`: how rows are events of persons (aim/table/series.h), and what cannot occur. */
#include "aim/table/series.h"

#include "base/memory.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

#include <inttypes.h>
#include <string.h>

#define PREVIOUS_MOST 50 /* codes of a column whose previous one is measured by default */
static const char *const stage_words[SERIES_STAGES] = {"none", "only", "first", "middle", "last"};

/* The nodes of the key. */
struct event_nodes {
    const yaml_node_t *name, *by, *columns, *number, *when, *gap, *previous, *ends, *units;
};

static enum err copy_name(struct study_reading *r, const yaml_node_t *node, const char *what,
                          char **to)
{
    const char *text;
    TRY(yaml_text(r->file, node, what, &text));
    if (*text == '\0' || strlen(text) >= STUDY_COLUMN_SIZE)
        return yaml_error(r->file, node, "%s has 1 to %d bytes", what, STUDY_COLUMN_SIZE - 1);
    *to = memory_string(text);
    return *to == NULL ? ERR_NOMEM : ERR_OK;
}

/* Gives a column a missing code, unless it has one. */
static enum err let_miss(struct study_reading *r, const yaml_node_t *node, uint16_t attribute,
                         bool *added)
{
    struct domain_attribute *a = &r->study->domain->attribute[attribute];
    *added = a->missing == NULL;
    return *added ? study_note(r, domain_let_miss(a, "", &r->quiet), node) : ERR_OK;
}

static enum err read_columns(struct study_reading *r, const yaml_node_t *node, struct series *e)
{
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    size_t count;
    TRY(study_read_attributes(r, node, "columns", DOMAIN_ATTRIBUTES_MAX, attribute, &count));
    TRY(memory_new(&e->column, count));
    for (; e->columns < count; e->columns++) {
        struct series_column *c = &e->column[e->columns];
        c->column = attribute[e->columns];
        c->previous = SERIES_NO;
        TRY(let_miss(r, node, c->column, &c->added));
    }
    return ERR_OK;
}

/* 0, 1 and 2 have to be told apart: their stages are others. */
static enum err read_number(struct study_reading *r, const yaml_node_t *node, struct series *e)
{
    const struct domain_attribute *a;
    TRY(study_read_attribute(r, node, "number", &e->number));
    a = &r->study->domain->attribute[e->number];
    if (!domain_has_numbers(a) || a->missing != NULL || a->values < 4 || domain_number(a, 0) != 0 ||
        domain_number(a, 1) != 1 || domain_number(a, 2) != 2 || domain_number(a, 3) != 3 ||
        (domain_has_bins(a) && !a->whole) || a->policy != DOMAIN_CLIP)
        return yaml_error(r->file, node,
                          "%.64s counts the events of a person: it needs kind: integer, neither "
                          "`missing` nor `outside`, and 0, 1 and 2 as values or bins of their own: "
                          "edges: [0, 1, 2, 3, ..]",
                          a->name);
    return ERR_OK;
}

static enum err read_dates(struct study_reading *r, const struct event_nodes *n, struct series *e)
{
    const struct domain_attribute *gap;
    bool added;
    e->when = e->gap = SERIES_NO;
    if ((n->when == NULL) != (n->gap == NULL))
        return yaml_error(r->file, n->when != NULL ? n->when : n->gap,
                          "`when` and `gap` go together: the date of the first event, and how long "
                          "after the one before the others are; without both, events are in the "
                          "order of their lines");
    if (n->when == NULL)
        return ERR_OK;
    TRY(study_read_attribute(r, n->when, "when", &e->when));
    TRY(study_read_attribute(r, n->gap, "gap", &e->gap));
    if (r->study->domain->attribute[e->when].calendar == NULL)
        return yaml_error(r->file, n->when, "%.64s needs kind: date",
                          r->study->domain->attribute[e->when].name);
    gap = &r->study->domain->attribute[e->gap];
    if (!domain_has_bins(gap) || !domain_has_numbers(gap) || domain_number(gap, 0) != 0 ||
        !gap->whole || gap->policy != DOMAIN_CLIP)
        return yaml_error(r->file, n->gap,
                          "%.64s is how many units of %.64s lie between two events: it needs kind: "
                          "integer, no `outside`, and edges from 0 on",
                          gap->name, r->study->domain->attribute[e->when].name);
    TRY(let_miss(r, n->when, e->when, &added));
    if (!added)
        return yaml_error(r->file, n->when,
                          "%.64s has `missing`; an event needs a date: take it out",
                          r->study->domain->attribute[e->when].name);
    TRY(let_miss(r, n->gap, e->gap, &added));
    return added ? ERR_OK
                 : yaml_error(r->file, n->gap, "take out the `missing` of %.64s", gap->name);
}

/* Whether a column has one role only. */
static enum err check_roles(struct study_reading *r, const struct event_nodes *n,
                            const struct series *e)
{
    const struct domain *d = r->study->domain;
    bool persons = false;
    for (uint16_t a = 0; a < d->attributes; a++) {
        int roles = (a == e->number) + (a == e->when) + (a == e->gap);
        for (size_t i = 0; i < e->columns; i++)
            roles += e->column[i].column == a;
        if (roles > 1)
            return yaml_error(r->file, n->columns,
                              "%.64s is named twice; columns, number, when and gap are different "
                              "columns",
                              d->attribute[a].name);
        persons |= roles == 0;
    }
    return persons ? ERR_OK
                   : yaml_error(r->file, n->columns,
                                "leave the domain a column of persons, who "
                                "have the same in all their events");
}

static struct series_column *column_of(struct series *e, uint32_t attribute)
{
    for (size_t i = 0; i < e->columns; i++)
        if (e->column[i].column == attribute)
            return &e->column[i];
    return NULL;
}

/* --- columns that are generated --------------------------------------------------------------- */

static enum err add_previous(struct study_reading *r, const yaml_node_t *node,
                             struct series_column *c)
{
    struct domain *d = r->study->domain;
    struct domain_attribute a = d->attribute[c->column];
    char name[STUDY_COLUMN_SIZE + 16];
    snprintf(name, sizeof name, "previous.%s", a.name);
    a.name = name;
    c->previous = (uint16_t)d->attributes;
    return study_note(r, domain_add_copy(d, &a, &r->quiet), node);
}

/* A list of columns, or none; by default those with few values. */
static enum err read_previous(struct study_reading *r, const struct event_nodes *n,
                              struct series *e)
{
    uint16_t attribute[DOMAIN_ATTRIBUTES_MAX];
    const char *text;
    size_t count;
    if (n->previous != NULL && !yaml_is_list(n->previous)) {
        TRY(yaml_text(r->file, n->previous, "previous", &text));
        return strcmp(text, "none") == 0
                   ? ERR_OK
                   : yaml_error(r->file, n->previous, "previous is a list of columns, or none");
    }
    for (size_t i = 0; n->previous == NULL && i < e->columns; i++)
        if (r->study->domain->attribute[e->column[i].column].values <= PREVIOUS_MOST)
            TRY(add_previous(r, n->columns, &e->column[i]));
    if (n->previous == NULL)
        return ERR_OK;
    TRY(study_read_attributes(r, n->previous, "previous", DOMAIN_ATTRIBUTES_MAX, attribute,
                              &count));
    for (size_t i = 0; i < count; i++) {
        struct series_column *c = column_of(e, attribute[i]);
        if (c == NULL)
            return yaml_error(r->file, n->previous, "%.64s is not among the columns of events",
                              r->study->domain->attribute[attribute[i]].name);
        TRY(add_previous(r, n->previous, c));
    }
    return ERR_OK;
}

static enum err read_end(struct study_reading *r, struct yaml_entry entry, struct series *e)
{
    const uint32_t index = domain_find(r->study->domain, entry.name);
    struct series_column *c = index != DOMAIN_NO_CODE ? column_of(e, index) : NULL;
    struct domain_attribute strict;
    size_t count;
    if (c == NULL)
        return yaml_error(r->file, entry.key, "%.64s is not among the columns of events",
                          entry.name);
    strict = r->study->domain->attribute[index];
    strict.policy = DOMAIN_REJECT;
    TRY(yaml_list(r->file, entry.value, entry.name, 1, strict.values, &count));
    TRY(memory_new(&c->end, count));
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item = yaml_item(r->file, entry.value, i);
        const char *text;
        uint32_t code;
        TRY(yaml_text(r->file, item, entry.name, &text));
        code = domain_code(&strict, text);
        if (code >= strict.values || domain_has_bins(&strict))
            return yaml_error(r->file, item,
                              "%.64s has no value \"%.64s\" on which a series can end", strict.name,
                              text);
        if (!domain_insert(c->end, i, (uint16_t)code))
            return yaml_error(r->file, item, "\"%.64s\" comes twice; leave one out", text);
        c->ends++;
    }
    return c->ends < strict.values ? ERR_OK
                                   : yaml_error(r->file, entry.value,
                                                "nothing would be left that "
                                                "another event follows");
}

static enum err read_ends(struct study_reading *r, const yaml_node_t *node, struct series *e)
{
    size_t count;
    TRY(yaml_entries(r->file, node, "ends", DOMAIN_ATTRIBUTES_MAX, &count));
    for (size_t i = 0; i < count; i++)
        TRY(read_end(r, yaml_entry(r->file, node, i), e));
    return ERR_OK;
}

/* --- what cannot occur ------------------------------------------------------------------------ */

/* Adds the cells of two columns for which `zero` says so. */
static enum err exclude(struct study *s, uint16_t a, uint16_t b, const struct series_column *of,
                        bool (*zero)(const struct domain *d, const struct series_column *of,
                                     uint32_t of_a, uint32_t of_b))
{
    const struct domain *d = s->domain;
    const bool turn = a > b;
    const struct clique c = {2, {turn ? b : a, turn ? a : b}};
    const uint32_t rows = d->attribute[a].size, columns = d->attribute[b].size;
    uint32_t *cell CLEAN(memory_release) = NULL;
    size_t cells = 0;
    TRY(memory_new(&cell, (size_t)rows * columns));
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++)
            if (zero(d, of, i, k))
                cell[cells++] = turn ? k * rows + i : i * columns + k;
    return study_add_cells(s, &c, cell, cells);
}

static bool no_stage(const struct domain *d, const struct series_column *of, uint32_t number,
                     uint32_t stage)
{
    uint32_t share[SERIES_STAGES];
    (void)of;
    series_shares(d, number, share);
    return share[stage] == 0;
}

static bool no_date(const struct domain *d, const struct series_column *of, uint32_t number,
                    uint32_t date)
{
    (void)of;
    return (number == 0) != (date == d->attribute[d->series->when].values);
}

static bool is_later(uint32_t stage)
{
    return stage == SERIES_MIDDLE || stage == SERIES_LAST;
}

static bool no_gap(const struct domain *d, const struct series_column *of, uint32_t stage,
                   uint32_t gap)
{
    (void)of;
    return is_later(stage) == (gap == d->attribute[d->series->gap].values);
}

/* Codes of the column itself; one that ends has no event behind it. */
static bool no_code(const struct domain *d, const struct series_column *of, uint32_t stage,
                    uint32_t code)
{
    const bool lacks = code == d->attribute[of->column].values;
    if (stage == SERIES_NONE)
        return !lacks;
    return (lacks && of->added) ||
           (series_ends(of, code) && (stage == SERIES_FIRST || stage == SERIES_MIDDLE));
}

static bool no_previous(const struct domain *d, const struct series_column *of, uint32_t stage,
                        uint32_t code)
{
    const bool lacks = code == d->attribute[of->column].values;
    return is_later(stage) ? (lacks && of->added) || series_ends(of, code) : !lacks;
}

static enum err add_zeros(struct study *s, const struct series *e)
{
    TRY(exclude(s, e->number, e->stage, NULL, no_stage));
    if (e->when != SERIES_NO) {
        TRY(exclude(s, e->number, e->when, NULL, no_date));
        TRY(exclude(s, e->stage, e->gap, NULL, no_gap));
    }
    for (size_t i = 0; i < e->columns; i++) {
        const struct series_column *c = &e->column[i];
        TRY(exclude(s, e->stage, c->column, c, no_code));
        if (c->previous != SERIES_NO)
            TRY(exclude(s, e->stage, c->previous, c, no_previous));
    }
    return ERR_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum err read_units(struct study_reading *r, const yaml_node_t *node, struct series *e)
{
    int64_t units = SERIES_UNITS;
    TRY(yaml_integer(r->file, node, "units", 1, SERIES_UNITS, &units));
    e->units = (uint32_t)units;
    return units == SERIES_UNITS || units == SERIES_UNITS_FEW
               ? ERR_OK
               : yaml_error(r->file, node, "units is %d or %d", SERIES_UNITS, SERIES_UNITS_FEW);
}

static enum err read_events(struct study_reading *r, const struct event_nodes *n, struct series *e)
{
    struct domain *d = r->study->domain;
    TRY(copy_name(r, n->name, "name", &e->name));
    if (!series_good_name(e->name))
        return yaml_error(r->file, n->name,
                          "\"%.64s\" cannot be a file's name: 1 to %d of a-z 0-9 _ -, not persons",
                          e->name, SERIES_NAME - 1);
    TRY(copy_name(r, n->by, "by", &e->by));
    if (domain_find(d, e->by) != DOMAIN_NO_CODE)
        return yaml_error(r->file, n->by,
                          "%.64s says whose a row is, and is never sent: take it out of the domain",
                          e->by);
    TRY(read_units(r, n->units, e));
    TRY(read_number(r, n->number, e));
    TRY(read_dates(r, n, e));
    TRY(read_columns(r, n->columns, e));
    TRY(check_roles(r, n, e));
    TRY(read_ends(r, n->ends, e));
    e->stage = (uint16_t)d->attributes;
    TRY(study_note(r,
                   domain_add_categorical(d, "stage", stage_words, SERIES_STAGES, NULL,
                                          DOMAIN_REJECT, &r->quiet),
                   n->name));
    return read_previous(r, n, e);
}

enum err study_read_events(struct study_reading *r)
{
    const yaml_node_t *node = r->at.events;
    struct event_nodes n;
    const struct yaml_key keys[] = {
        {"name", true, &n.name},          {"by", true, &n.by},      {"columns", true, &n.columns},
        {"number", true, &n.number},      {"when", false, &n.when}, {"gap", false, &n.gap},
        {"previous", false, &n.previous}, {"ends", false, &n.ends}, {"units", false, &n.units}};
    struct study *s = r->study;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "events", COUNTED(keys)));
    if (s->domain->derived != NULL)
        return yaml_error(r->file, node,
                          "with `events` no column follows from others: take out their `from`, "
                          "`read` and `computed`");
    TRY(memory_new(&s->domain->series, 1));
    TRY(read_events(r, &n, s->domain->series));
    return add_zeros(s, s->domain->series);
}

/* Owners bound cells, not totals, so that large marginals would leave scores no room. */
enum err study_leave_large(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    const struct workload *all = s->workload;
    struct workload *less = NULL;
    struct clique *clique CLEAN(memory_release) = NULL;
    double *weight CLEAN(memory_release) = NULL;
    size_t n = 0;
    if (s->domain->series == NULL || all == NULL)
        return ERR_OK;
    TRY(memory_new(&clique, all->cliques + s->domain->attributes));
    TRY(memory_new(&weight, all->cliques + s->domain->attributes));
    for (size_t k = 0; k < all->cliques; k++)
        if (clique_cells(&all->clique[k], s->domain) <= STUDY_EVENTS_CELLS)
            clique[n++] = all->clique[k];
    if (n == all->cliques)
        return ERR_OK;
    for (uint16_t a = 0; a < s->domain->attributes; a++) { /* who is left alone */
        bool there = false;
        for (size_t k = 0; k < n && !there; k++)
            there = clique_contains(&clique[k], &(const struct clique){1, {a}});
        if (!there)
            clique[n++] = (struct clique){1, {a}};
    }
    for (size_t k = 0; k < n; k++)
        weight[k] = 1;
    TRY(study_note(r, workload_new(&less, s->domain, clique, weight, n, &r->quiet), node));
    workload_free(&s->workload);
    s->workload = less;
    return ERR_OK;
}

enum err study_check_events(struct study_reading *r)
{
    const yaml_node_t *node = r->at.events,
                      *other = r->at.person != NULL ? r->at.person : r->at.link;
    struct study *s = r->study;
    if (s->domain == NULL || s->domain->series == NULL)
        return ERR_OK;
    if (!method_of(s)->zeros)
        return yaml_error(r->file, node, "events need method: aim");
    if (other != NULL)
        return yaml_error(r->file, other,
                          "with `events` owners send counts, which have no rows to join or to "
                          "bound: take out person and link; `by` says whose an event is");
    if ((uint64_t)s->rows_per_person * s->domain->series->units > LEDGER_ROWS_PER_PERSON_MAX)
        return yaml_error(r->file, node,
                          "with `events` rows_per_person says at how many owners a person may be, "
                          "and that is at most %" PRIu32 ", not %u",
                          LEDGER_ROWS_PER_PERSON_MAX / s->domain->series->units,
                          s->rows_per_person);
    s->rows_per_person *= s->domain->series->units;
    return ERR_OK;
}
