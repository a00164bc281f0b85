/* Columns of dates in bins: whole numbers of units since 1970, which texts say in formats. */
#include "aim/table/density.h"
#include "aim/table/domain_private.h"
#include "aim/table/lists.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/random.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

static bool parse(const struct domain_attribute *a, const char *text, double *number)
{
    int64_t whole;
    if (!calendar_parse(a->calendar, text, &whole))
        return false;
    *number = (double)whole;
    return true;
}

/* Means are rounded to the nearest unit. */
static const char *print(const struct domain_attribute *a, double number, int digits,
                         char room[COLUMN_TEXT])
{
    (void)digits;
    if (calendar_is_number(rint(number), a->calendar->unit))
        calendar_print(a->calendar, (int64_t)rint(number), room);
    else
        snprintf(room, COLUMN_TEXT, "no date");
    return room;
}

/* Whatever the formats are. */
static const char *spell(const struct domain_attribute *a, double number, char room[COLUMN_TEXT])
{
    calendar_print(&(const struct calendar){.unit = a->calendar->unit}, (int64_t)number, room);
    return room;
}

/* A day is all its units. */
static bool spelt(const struct domain_attribute *a, const char *text, double *low, double *high)
{
    int64_t first, last;
    if (!calendar_read(text, a->calendar->unit, true, &first, &last))
        return false;
    *low = (double)first;
    *high = (double)last;
    return true;
}

static uint32_t code_of(const struct domain_attribute *a, const char *text)
{
    double v;
    if (!parse(a, text, &v))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        v = fmin(fmax(v, a->edges[0]), a->edges[a->values]);
    return domain_bin(a, v);
}

static void draw(const struct domain_attribute *a, uint32_t code, const struct density *density,
                 struct random *r, char text[COLUMN_TEXT])
{
    print(a, density_draw(density, code, random_double(r)), 0, text);
}

void domain_write_calendar(const struct calendar *c, struct bytes *out)
{
    bytes_put_u8(out, (uint8_t)c->unit);
    bytes_put_u8(out, (uint8_t)c->formats);
    for (uint32_t i = 0; i < c->formats; i++)
        bytes_put_string(out, c->format[i]);
}

static void write_values(const struct domain_attribute *a, struct bytes *out)
{
    domain_write_calendar(a->calendar, out);
    kind_write_edges(a, out);
}

enum err domain_read_calendar(struct calendar *c, struct reader *r)
{
    uint8_t unit = reader_u8(r), formats = reader_u8(r);
    uint32_t bad;
    if (r->failed || unit >= CALENDAR_UNITS || formats > CALENDAR_FORMATS)
        return ERR_FORMAT;
    *c = (struct calendar){.unit = (enum calendar_unit)unit};
    while (c->formats < formats) {
        reader_string(r, c->format[c->formats], CALENDAR_FORMAT);
        if (r->failed || encoding_steers(c->format[c->formats++]))
            return ERR_FORMAT;
    }
    return calendar_check(c, "", &bad, NULL) == ERR_OK ? ERR_OK : ERR_FORMAT;
}

static enum err read_values(struct domain_attribute *a, struct reader *r)
{
    TRY(memory_new(&a->calendar, 1));
    TRY(domain_read_calendar(a->calendar, r));
    return kind_read_edges(a, r);
}

static enum err add_copy(struct domain *d, const struct domain_attribute *a, struct log *log)
{
    if (a->step != 1 || !a->whole)
        return ERR_FORMAT;
    return domain_add_date(d, a->name, a->calendar, a->edges, (size_t)a->values + 1, a->missing,
                           a->policy, log);
}

static json_t *edges_json(const struct domain_attribute *a)
{
    json_t *list = json_array();
    char room[COLUMN_TEXT];
    for (uint32_t i = 0; i <= a->values; i++)
        list_append(&list, json_string(spell(a, a->edges[i], room)));
    return list;
}

static void set_json(const struct domain_attribute *a, json_t **object)
{
    struct calendar *c = a->calendar;
    char *formats[CALENDAR_FORMATS];
    list_set(object, "unit", json_string(calendar_unit_words[c->unit]));
    for (uint32_t i = 0; i < c->formats; i++)
        formats[i] = c->format[i];
    if (c->formats > 0)
        list_set(object, "format", list_texts(formats, c->formats));
    list_set(object, "edges", edges_json(a));
    kind_tail_json(a, object);
}

const struct column_kind column_date = {.byte = 3,
                                        .word = "date",
                                        .noun = "date",
                                        .order = true,
                                        .bins = true,
                                        .parse = parse,
                                        .print = print,
                                        .spell = spell,
                                        .spelt = spelt,
                                        .code = code_of,
                                        .number = kind_edge,
                                        .text = kind_edge_text,
                                        .draw = draw,
                                        .write = write_values,
                                        .read = read_values,
                                        .add = add_copy,
                                        .json = set_json};

enum err domain_add_date(struct domain *d, const char *name, const struct calendar *calendar,
                         const double *edges, size_t count, const char *missing,
                         enum domain_policy policy, struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = &column_date,
                                                               .policy = policy};
    uint32_t bad;
    TRY(calendar_check(calendar, name, &bad, log));
    for (size_t i = 0; i < count; i++)
        if (edges[i] != floor(edges[i]) || !calendar_is_number(edges[i], calendar->unit))
            return log_fail(log, ERR_STUDY,
                            "attribute %s: edge %zu is no date of the years 1 to 9999", name,
                            i + 1);
    TRY(memory_new(&a.calendar, 1));
    *a.calendar = *calendar;
    TRY(kind_add_edges(d, &a, name, edges, count, missing, log));
    return domain_set_step(d, 1, true, log);
}
