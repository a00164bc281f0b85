/* Columns of dates: their unit and formats, and bins that follow the calendar. */
#include "base/memory.h"
#include "parties/study/study_column.h"

#include <stdio.h>
#include <string.h>

static enum err read_formats(struct study_reading *r, const yaml_node_t *node, struct calendar *c)
{
    const bool list = node != NULL && yaml_is_list(node);
    size_t count = 1;
    if (node == NULL)
        return ERR_OK;
    if (list)
        TRY(yaml_list(r->file, node, "format", 1, CALENDAR_FORMATS, &count));
    for (; c->formats < count; c->formats++) {
        const yaml_node_t *item = list ? yaml_item(r->file, node, c->formats) : node;
        const char *text;
        TRY(yaml_text(r->file, item, "format", &text));
        if (strlen(text) >= CALENDAR_FORMAT)
            return yaml_error(r->file, item, "a format has at most %d bytes", CALENDAR_FORMAT - 1);
        snprintf(c->format[c->formats], CALENDAR_FORMAT, "%s", text);
    }
    return ERR_OK;
}

enum err study_read_calendar(struct study_reading *r, const char *name, const yaml_node_t *units,
                             const yaml_node_t *formats, struct calendar *calendar)
{
    size_t unit = CALENDAR_DAY;
    uint32_t bad = 0;
    enum err e;
    TRY(yaml_choice(r->file, units, "unit", calendar_unit_words, CALENDAR_UNITS, &unit));
    calendar->unit = (enum calendar_unit)unit;
    TRY(read_formats(r, formats, calendar));
    e = calendar_check(calendar, name, &bad, &r->quiet);
    return study_note(r, e,
                      formats != NULL && yaml_is_list(formats) && bad < calendar->formats
                          ? yaml_item(r->file, formats, bad)
                          : formats);
}

/* A bin for each year, month, .. of from..to: the first and the last one may be cut. */
static enum err calendar_edges(struct study_reading *r, const struct column *c,
                               enum calendar_part part, struct column_edges *b)
{
    const enum calendar_unit unit = b->calendar->unit;
    size_t room = 0;
    double from, to;
    TRY(study_read_date(r, c->part[COLUMN_FROM], "from", unit, false, &from));
    TRY(study_read_date(r, c->part[COLUMN_TO], "to", unit, true, &to));
    if (to < from)
        return yaml_error(r->file, c->part[COLUMN_TO], "to is before from");
    if (part == CALENDAR_OF_HOUR && unit == CALENDAR_DAY)
        return yaml_error(r->file, c->part[COLUMN_BINS],
                          "bins of hours need \"unit: hour\" or a finer one");
    for (int64_t x = (int64_t)from; x <= (int64_t)to; x = calendar_next(x, unit, part)) {
        if (b->edges == DOMAIN_SIZE_MAX)
            return yaml_error(r->file, c->part[COLUMN_BINS],
                              "there are more than %d of these bins; take wider ones",
                              DOMAIN_SIZE_MAX);
        TRY(memory_room(&b->edge, &room, b->edges + 2));
        b->edge[b->edges++] = (double)x;
    }
    b->edge[b->edges++] = to;
    return ERR_OK;
}

static enum err read_bins(struct study_reading *r, const struct column *c, struct column_edges *b)
{
    const yaml_node_t *node = c->part[COLUMN_BINS];
    const char *text;
    size_t part = 0;
    int64_t bins;
    if (c->part[COLUMN_EDGES] != NULL) {
        TRY(study_check_keys(r, c, 0, HAS_FROM | HAS_TO | HAS_BINS));
        TRY(yaml_list(r->file, c->part[COLUMN_EDGES], "edges", 2, DOMAIN_SIZE_MAX, &b->edges));
        TRY(memory_new(&b->edge, b->edges));
        return study_read_edges(r, c->part[COLUMN_EDGES], b);
    }
    TRY(study_check_keys(r, c, HAS_FROM | HAS_TO | HAS_BINS, 0));
    TRY(yaml_text(r->file, node, "bins", &text));
    if (*text < '0' || *text > '9') {
        TRY(yaml_choice(r->file, node, "bins", calendar_part_words, CALENDAR_PARTS, &part));
        return calendar_edges(r, c, (enum calendar_part)part, b);
    }
    TRY(yaml_integer(r->file, node, "bins", 1, DOMAIN_SIZE_MAX - 1, &bins));
    b->edges = (size_t)bins + 1;
    TRY(memory_new(&b->edge, b->edges));
    return study_even_edges(r, c, c->part[COLUMN_FROM], c->part[COLUMN_TO], b);
}

enum err study_add_date(struct study_reading *r, const struct column *c)
{
    struct calendar calendar = {.unit = CALENDAR_DAY};
    struct column_edges b CLEAN(study_edges_clear) = {
        .step = 1, .whole = true, .calendar = &calendar};
    TRY(study_check_keys(r, c, 0, HAS_VALUES | HAS_MIN | HAS_MAX | HAS_STEP));
    TRY(study_read_calendar(r, c->name, c->part[COLUMN_UNIT], c->part[COLUMN_FORMAT], &calendar));
    TRY(read_bins(r, c, &b));
    return study_finish_bins(r, c, &b);
}
