/* Columns of the domain that are cut into bins: edges, spikes, steps, the tail. */
#include "aim/table/step.h"
#include "base/memory.h"
#include "parties/study/study_column.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 1e300
#define SPIKES_MAX 100

void study_edges_clear(struct column_edges *b)
{
    memory_free(&b->edge);
}

/* For messages. */
static const char *shown(const struct column_edges *b, double x, char text[CALENDAR_FORMAT])
{
    const struct calendar usual = {.unit = b->calendar != NULL ? b->calendar->unit : CALENDAR_DAY};
    if (b->calendar != NULL)
        calendar_print(&usual, (int64_t)x, text);
    else
        snprintf(text, CALENDAR_FORMAT, "%g", x);
    return text;
}

static enum err read_number(struct study_reading *r, const yaml_node_t *node, const char *what,
                            const struct column_edges *b, bool last, double *x)
{
    int64_t whole;
    if (b->calendar != NULL)
        return study_read_date(r, node, what, b->calendar->unit, last, x);
    if (!b->whole)
        return yaml_number(r->file, node, what, -NUMBER_MAX, NUMBER_MAX, x);
    TRY(yaml_integer(r->file, node, what, -COLUMN_WHOLE_MAX, COLUMN_WHOLE_MAX, &whole));
    *x = (double)whole;
    return ERR_OK;
}

/* --- edges ------------------------------------------------------------------------------------ */

enum err study_read_edges(struct study_reading *r, const yaml_node_t *node, struct column_edges *b)
{
    char text[CALENDAR_FORMAT], before[CALENDAR_FORMAT];
    for (size_t i = 0; i < b->edges; i++) {
        const yaml_node_t *item = yaml_item(r->file, node, i);
        TRY(read_number(r, item, "an edge", b, i + 1 == b->edges, &b->edge[i]));
        if (i > 0 && !(b->edge[i] > b->edge[i - 1]))
            return yaml_error(r->file, item,
                              "the edge %s does not exceed the one before, %s; "
                              "edges ascend",
                              shown(b, b->edge[i], text), shown(b, b->edge[i - 1], before));
    }
    return ERR_OK;
}

/*
 * Where the i-th of even bins begins. 100 * (11. / 20) is a little more than 55: an edge that 12
 * digits can write becomes exactly that number. Others keep the digits that terms of 0.1 had.
 */
static double even_edge(double min, double max, double i, double bins)
{
    const double edge = (min * (bins - i) + max * i) / bins;
    double said;
    char text[32];
    snprintf(text, sizeof text, "%.12g", edge);
    said = strtod(text, NULL);
    return fabs(said - edge) <= 4 * DBL_EPSILON * fabs(edge) ? said
                                                             : min + (max - min) * (i / bins);
}

/* Bins of equal width; or of as equally many whole numbers as possible, the last one up to max. */
enum err study_even_edges(struct study_reading *r, const struct column *c, const yaml_node_t *low,
                          const yaml_node_t *high, struct column_edges *b)
{
    char text[CALENDAR_FORMAT], before[CALENDAR_FORMAT];
    const double bins = (double)(b->edges - 1);
    double min, max;
    TRY(read_number(r, low, b->calendar != NULL ? "from" : "min", b, false, &min));
    TRY(read_number(r, high, b->calendar != NULL ? "to" : "max", b, true, &max));
    if (!(max > min))
        return yaml_error(r->file, high, "%s is %s; it should exceed %s, %s",
                          b->calendar != NULL ? "to" : "max", shown(b, max, text),
                          b->calendar != NULL ? "from" : "min", shown(b, min, before));
    if (b->whole && bins > max - min + 1)
        return yaml_error(r->file, c->part[COLUMN_BINS],
                          "there are %g whole numbers from %s to %s; make fewer bins, or leave "
                          "\"bins\" out for one value each",
                          max - min + 1, shown(b, min, before), shown(b, max, text));
    for (size_t i = 0; i + 1 < b->edges; i++)
        b->edge[i] = b->whole ? min + ceil(even_edge(0, max - min + 1, (double)i, bins))
                              : even_edge(min, max, (double)i, bins);
    b->edge[b->edges - 1] = max;
    return ERR_OK;
}

/* How many edges; checks which keys are there. */
static enum err count_edges(struct study_reading *r, const struct column *c, size_t *count)
{
    int64_t bins;
    TRY(study_check_keys(r, c, 0, HAS_VALUES | HAS_DATES));
    if (c->part[COLUMN_EDGES] != NULL) {
        TRY(study_check_keys(r, c, 0, HAS_MIN | HAS_MAX | HAS_BINS));
        return yaml_list(r->file, c->part[COLUMN_EDGES], "edges", 2, DOMAIN_SIZE_MAX, count);
    }
    if (c->part[COLUMN_MIN] == NULL && c->part[COLUMN_MAX] == NULL && c->part[COLUMN_BINS] == NULL)
        return yaml_error(r->file, c->node,
                          "the numeric attribute %.64s needs \"edges\", or \"min\", \"max\" and "
                          "\"bins\"; add them",
                          c->name);
    TRY(study_check_keys(r, c, HAS_MIN | HAS_MAX | HAS_BINS, 0));
    TRY(yaml_integer(r->file, c->part[COLUMN_BINS], "bins", 1, DOMAIN_SIZE_MAX - 1, &bins));
    *count = (size_t)bins + 1;
    return ERR_OK;
}

/* --- spikes ----------------------------------------------------------------------------------- */

static void insert(struct column_edges *b, size_t at, double x)
{
    memmove(b->edge + at + 1, b->edge + at, (b->edges - at) * sizeof *b->edge);
    b->edge[at] = x;
    b->edges++;
}

static void drop(struct column_edges *b, size_t at)
{
    b->edges--;
    memmove(b->edge + at, b->edge + at + 1, (b->edges - at) * sizeof *b->edge);
}

static bool doubled(const struct column_edges *b, size_t at)
{
    return (at > 0 && b->edge[at - 1] == b->edge[at]) ||
           (at + 1 < b->edges && b->edge[at] == b->edge[at + 1]);
}

/* An edge that occurs twice is a spike (aim/table/domain.h). */
static enum err add_spike(struct study_reading *r, const yaml_node_t *node, struct column_edges *b)
{
    size_t at = 0;
    double x;
    char text[CALENDAR_FORMAT], low[CALENDAR_FORMAT], high[CALENDAR_FORMAT];
    TRY(read_number(r, node, "a spike", b, false, &x));
    x += 0.0; /* -0 and 0 mean the same */
    if (x < b->edge[0] || x > b->edge[b->edges - 1])
        return yaml_error(r->file, node, "the spike %s is not within %s to %s; leave it out",
                          shown(b, x, text), shown(b, b->edge[0], low),
                          shown(b, b->edge[b->edges - 1], high));
    while (b->edge[at] < x)
        at++;
    if (b->edge[at] == x && doubled(b, at))
        return yaml_error(r->file, node, "the spike %s comes twice; leave one out",
                          shown(b, x, text));
    if (b->edge[at] != x)
        insert(b, at, x);
    insert(b, at, x);
    return ERR_OK;
}

static enum err read_spikes(struct study_reading *r, const yaml_node_t *node,
                            struct column_edges *b)
{
    size_t count;
    TRY(yaml_list(r->file, node, "spikes", 1, SPIKES_MAX, &count));
    TRY(memory_extend(&b->edge, b->edges + 2 * count));
    for (size_t i = 0; i < count; i++)
        TRY(add_spike(r, yaml_item(r->file, node, i), b));
    return ERR_OK;
}

/* Whether the bin that begins at an edge, if not a spike, holds no multiple of the step. */
static bool is_empty(const struct column_edges *b, size_t at)
{
    double low = b->edge[at], high = b->edge[at + 1];
    struct step s;
    if (low == high || !step_of(b->step, &s) || !step_reaches(&s, low) || !step_reaches(&s, high))
        return false;
    if (doubled(b, at)) /* the spike has it */
        low = nextafter(low, INFINITY);
    if (at + 2 == b->edges) /* the last bin includes its end */
        high = nextafter(high, INFINITY);
    return step_above(&s, low) >= step_above(&s, high);
}

/*
 * A spike may leave a bin next to it without any multiple of the step: [0, 1) holds no whole number
 * except 0. Such a bin is dropped. If two spikes are side by side, the first becomes an ordinary
 * bin, of one number.
 */
static void drop_empty(struct column_edges *b)
{
    for (size_t i = 0; b->step > 0 && i + 1 < b->edges; i++) {
        const bool after = doubled(b, i), before = doubled(b, i + 1);
        if (!is_empty(b, i))
            continue;
        if (after && (before || i + 2 == b->edges))
            drop(b, i);
        else if (after)
            drop(b, 1 + i--);
        else if (before && i > 0)
            drop(b, i--);
    }
}

/* --- the whole column ------------------------------------------------------------------------- */

static enum err read_step(struct study_reading *r, const yaml_node_t *node, struct column_edges *b)
{
    b->step = b->whole ? 1 : 0;
    if (node == NULL)
        return ERR_OK;
    TRY(read_number(r, node, "step", b, false, &b->step));
    if (!(b->step > 0))
        return yaml_error(r->file, node, "the step is %g; it should be above 0", b->step);
    return ERR_OK;
}

static enum err read_tail(struct study_reading *r, const struct column *c,
                          const struct column_edges *b)
{
    static const char *const words[] = {"exponential"};
    const yaml_node_t *node = c->part[COLUMN_TAIL], *typical;
    const struct yaml_key keys[] = {{"typical", true, &typical}};
    struct domain *d = r->study->domain;
    size_t word = 0;
    double x;
    if (node == NULL)
        return ERR_OK;
    if (!yaml_is_mapping(node)) {
        TRY(yaml_choice(r->file, node, "tail", COUNTED(words), &word));
        return study_note(r, domain_set_tail(d, DOMAIN_TAIL_EXPONENTIAL, 0, &r->quiet), node);
    }
    TRY(yaml_mapping(r->file, node, "tail", COUNTED(keys)));
    if (b->calendar != NULL)
        TRY(read_number(r, typical, "typical", b, false, &x));
    else
        TRY(yaml_number(r->file, typical, "typical", -NUMBER_MAX, NUMBER_MAX, &x));
    return study_note(r, domain_set_tail(d, DOMAIN_TAIL_TYPICAL, x, &r->quiet), typical);
}

/* Adds the attribute with all that is known about its numbers. */
static enum err add_edges(struct study_reading *r, const struct column *c,
                          const struct column_edges *b)
{
    struct domain *d = r->study->domain;
    if (b->calendar == NULL)
        return study_note(
            r, domain_add_numeric(d, c->name, b->edge, b->edges, c->missing, c->policy, &r->quiet),
            c->node);
    return study_note(r,
                      domain_add_date(d, c->name, b->calendar, b->edge, b->edges, c->missing,
                                      c->policy, &r->quiet),
                      c->node);
}

enum err study_finish_bins(struct study_reading *r, const struct column *c, struct column_edges *b)
{
    const yaml_node_t *step = c->part[COLUMN_STEP];
    TRY(read_spikes(r, c->part[COLUMN_SPIKES], b));
    drop_empty(b);
    TRY(add_edges(r, c, b));
    TRY(study_add_missing(r, c));
    if (b->step > 0)
        TRY(study_note(r, domain_set_step(r->study->domain, b->step, b->whole, &r->quiet),
                       step != NULL ? step : c->node));
    return read_tail(r, c, b);
}

enum err study_add_bins(struct study_reading *r, const struct column *c)
{
    struct column_edges b CLEAN(study_edges_clear) = {.whole = c->kind == &column_whole};
    TRY(count_edges(r, c, &b.edges));
    TRY(memory_new(&b.edge, b.edges));
    TRY(read_step(r, c->part[COLUMN_STEP], &b));
    TRY(c->part[COLUMN_EDGES] != NULL
            ? study_read_edges(r, c->part[COLUMN_EDGES], &b)
            : study_even_edges(r, c, c->part[COLUMN_MIN], c->part[COLUMN_MAX], &b));
    return study_finish_bins(r, c, &b);
}
