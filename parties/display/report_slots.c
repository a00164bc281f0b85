#include "base/memory.h"
#include "parties/display/report_private.h"

#include <math.h>
#include <stdlib.h>

#define END_SHARE 6 /* an end that is cut takes a sixth of the axis */
#define LEAST 0.005 /* of the axis: narrower ranges could not be seen */

struct ranked {
    double rows;
    uint32_t code;
};

static int more_rows_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows < y->rows ? 1 : -1;
    return x->code < y->code ? -1 : 1;
}

static bool is_missing(const struct domain_attribute *a, uint32_t code)
{
    return code >= a->values;
}

/* Whether a code stands for a range of numbers, and has a place on an axis. */
static bool is_range(const struct domain_attribute *a, uint32_t code)
{
    return !is_missing(a, code) && domain_has_order(a) && !domain_spike(a, code);
}

static enum report_slot_kind kind_of(const struct domain_attribute *a, uint32_t code)
{
    return is_missing(a, code)   ? SLOT_MISSING
           : is_range(a, code)   ? SLOT_NUMBERS
           : domain_has_order(a) ? SLOT_ONE_NUMBER
                                 : SLOT_LABEL;
}

/* Begins a slot with a code, which is alone in it unless join_slot() adds others. */
static void begin_slot(struct report_slots *s, uint32_t code)
{
    const struct domain_attribute *a = s->a;
    const enum report_slot_kind kind = kind_of(a, code);
    struct report_slot *slot = &s->slot[s->count];
    *slot = (struct report_slot){.kind = kind, .first = code, .codes = 1};
    if (kind == SLOT_NUMBERS) {
        slot->low = domain_number(a, code);
        slot->high = domain_number(a, code + 1); /* a value takes the axis up to the next one */
    }
    s->of[code] = (uint32_t)s->count++;
}

static void join_slot(struct report_slots *s, uint32_t code)
{
    struct report_slot *slot = &s->slot[s->count - 1];
    slot->codes++;
    if (slot->kind == SLOT_NUMBERS)
        slot->high = domain_number(s->a, code + 1);
    else
        slot->kind = SLOT_OTHERS;
    s->of[code] = (uint32_t)s->count - 1;
}

/* Each slot gets as many neighbouring ranges as necessary. */
static void make_ranges(struct report_slots *s, size_t most)
{
    uint32_t all = 0, each, n = 0;
    for (uint32_t i = 0; i < s->a->size; i++)
        all += is_range(s->a, i);
    each = (uint32_t)((all + most - 1) / most);
    for (uint32_t i = 0; i < s->a->size; i++)
        if (is_range(s->a, i)) {
            if (n++ % each == 0)
                begin_slot(s, i);
            else
                join_slot(s, i);
        }
    s->ranges = s->count;
}

/* Names in the study's order; if they are too many, by their rows, with the rest in one slot. */
static enum err make_names(struct report_slots *s, const double *counts, size_t most)
{
    struct ranked *name CLEAN(memory_release) = NULL;
    size_t n = 0;
    TRY(memory_new(&name, s->a->size));
    for (uint32_t i = 0; i < s->a->size; i++)
        if (!is_range(s->a, i))
            name[n++] = (struct ranked){counts[i], i};
    if (n > most)
        qsort(name, n, sizeof *name, more_rows_first);
    for (size_t i = 0; i < n; i++)
        if (i < most)
            begin_slot(s, name[i].code);
        else
            join_slot(s, name[i].code);
    return ERR_OK;
}

/* --- ranges on an axis ------------------------------------------------------------------------ */

static double width_of(const struct report_slots *s, size_t i)
{
    return s->slot[i].high - s->slot[i].low;
}

/*
 * Widths on the axis. An end wider than all the rest together, "500000 and more", would leave the
 * rest no room: it is cut.
 */
static void choose_scale(struct report_slots *s)
{
    double all = 0, rest, uncut;
    if (s->ranges == 0)
        return;
    s->narrowest = width_of(s, 0);
    for (size_t i = 0; i < s->ranges; i++) {
        all += width_of(s, i);
        s->narrowest = fmin(s->narrowest, width_of(s, i));
    }
    rest = all;
    if (s->ranges >= 3 && width_of(s, s->ranges - 1) > all / 2) {
        s->cut_high = true;
        rest -= width_of(s, s->ranges - 1);
    }
    if (s->ranges - s->cut_high >= 3 && width_of(s, 0) > rest / 2) {
        s->cut_low = true;
        rest -= width_of(s, 0);
    }
    uncut = 1 - (double)(s->cut_low + s->cut_high) / END_SHARE;
    s->to_scale = s->narrowest / rest * uncut >= LEAST;
    if (!s->to_scale)
        s->cut_low = s->cut_high = false;
}

void report_slots_place(const struct report_slots *s, double width, double *at)
{
    const double end = width / END_SHARE;
    double rest = 0, room = width - end * (s->cut_low + s->cut_high);
    for (size_t i = s->cut_low; i + s->cut_high < s->ranges; i++)
        rest += width_of(s, i);
    at[0] = 0;
    for (size_t i = 0; i < s->ranges; i++)
        at[i + 1] = at[i] + (!s->to_scale ? width / (double)s->ranges
                             : (i == 0 && s->cut_low) || (i + 1 == s->ranges && s->cut_high)
                                 ? end
                                 : width_of(s, i) / rest * room);
}

double report_slots_last(const struct report_slots *s)
{
    return s->slot[s->ranges - 1].high - !domain_has_bins(s->a);
}

/* --- life ------------------------------------------------------------------------------------- */

enum err report_slots_new(struct report_slots *s, const struct domain_attribute *a,
                          const double *counts, size_t ranges, size_t names)
{
    *s = (struct report_slots){.a = a};
    TRY(memory_new(&s->slot, a->size < ranges + names ? a->size : ranges + names));
    TRY(memory_new(&s->of, a->size));
    make_ranges(s, ranges);
    choose_scale(s);
    return make_names(s, counts, names);
}

void report_slots_clear(struct report_slots *s)
{
    memory_free_all(&s->slot, &s->of);
}

static void put_range(const struct report_slots *s, const struct report_slot *slot,
                      struct bytes *out)
{
    char low[COLUMN_TEXT], high[COLUMN_TEXT];
    if (domain_has_bins(s->a)) {
        html_text(out, domain_print(s->a, slot->low, 6, low));
        text_put(out, " to ");
        html_text(out, domain_print(s->a, slot->high, 6, high));
    } else if (slot->codes == 1)
        text_put(out, "%.0f", slot->low);
    else
        text_put(out, "%.0f to %.0f", slot->low, slot->high - 1);
}

void report_slot_name(const struct report_slots *s, size_t i, size_t characters, struct bytes *out)
{
    const struct report_slot *slot = &s->slot[i];
    char room[COLUMN_TEXT];
    switch (slot->kind) {
    case SLOT_NUMBERS:
        put_range(s, slot, out);
        break;
    case SLOT_LABEL:
        html_text_cut(out, s->a->labels[slot->first], characters);
        break;
    case SLOT_ONE_NUMBER:
        text_put(out, "just ");
        html_text(out, domain_text(s->a, slot->first, 6, room));
        break;
    case SLOT_MISSING:
        text_put(out, "missing");
        break;
    case SLOT_OTHERS:
        text_put(out, "%u others", (unsigned)slot->codes);
        break;
    }
}
