/*
 * The model's rows of two attributes as shades, with a mark where there are more or fewer than if
 * the two were independent. Ranges of numbers are drawn to scale.
 */
#include "base/memory.h"
#include "base/words.h"
#include "parties/display/report_private.h"

#include <math.h>

#define RANGES_MOST 20
#define NAMES_MOST 10
#define SHADES 6       /* classes h1 .. h6 of report.css */
#define LEFT 96.0      /* names of the vertical axis */
#define NAME_ROOM 14.0 /* of a name, or a single number, beside the ranges */
#define RANGES_HIGH 130.0
#define CELL_LEAST 6.0 /* smaller cells have no mark */
#define NAME_CUT 10    /* characters of a name below */
#define NAME_LEFT 12   /* on the left; capitals, too, have room there */

struct heat_side {
    uint16_t attribute;
    struct report_slots slots;
    double *at;   /* where slots begin and end: slots.count + 1 places, and a gap after ranges */
    double *rows; /* of each slot */
    double length;
};

struct heat {
    const struct report *r;
    const struct report_pair *pair;
    struct heat_side across, down;
    double *cell;  /* rows; down by across, row-major */
    double *codes; /* how many cells of the marginal each has */
    double total;
};

static void side_clear(struct heat_side *s)
{
    report_slots_clear(&s->slots);
    memory_free_all(&s->at, &s->rows);
}

static void clear(struct heat *h)
{
    side_clear(&h->across);
    side_clear(&h->down);
    memory_free_all(&h->cell, &h->codes);
}

/* Places ranges to scale, then names, each with the same room. */
static enum err place(struct heat_side *s, double length)
{
    const size_t names = s->slots.count - s->slots.ranges;
    double ranges = length - NAME_ROOM * (double)names, each = NAME_ROOM;
    TRY(memory_new(&s->at, s->slots.count + 1));
    TRY(memory_new(&s->rows, s->slots.count));
    if (s->slots.ranges > 0)
        report_slots_place(&s->slots, ranges, s->at);
    else
        each = length / (double)names;
    for (size_t i = s->slots.ranges; i < s->slots.count; i++)
        s->at[i + 1] = s->at[i] + each;
    s->length = length;
    return ERR_OK;
}

static enum err side_new(const struct report *r, struct heat_side *s, uint16_t attribute)
{
    const struct domain_attribute *a = &r->of->domain->attribute[attribute];
    const struct clique clique = {1, {attribute}};
    double *counts CLEAN(memory_release) = NULL;
    s->attribute = attribute;
    TRY(memory_new(&counts, a->size));
    TRY(released_marginal(r->of, &clique, counts, r->log));
    return report_slots_new(&s->slots, a, counts, RANGES_MOST, NAMES_MOST);
}

static enum err add_up(struct heat *h)
{
    const struct domain *d = h->r->of->domain;
    const struct clique clique = {2, {h->pair->x, h->pair->y}};
    const bool flipped = h->across.attribute == h->pair->y;
    const uint32_t stride = d->attribute[h->pair->y].size;
    const uint64_t cells = clique_cells(&clique, d);
    double *counts CLEAN(memory_release) = NULL;
    TRY(memory_new(&counts, cells));
    TRY(released_marginal(h->r->of, &clique, counts, h->r->log));
    TRY(memory_new(&h->cell, h->across.slots.count * h->down.slots.count));
    TRY(memory_new(&h->codes, h->across.slots.count * h->down.slots.count));
    for (uint64_t i = 0; i < cells; i++) {
        const uint32_t x = (uint32_t)(i / stride), y = (uint32_t)(i % stride);
        const uint32_t a = h->across.slots.of[flipped ? y : x],
                       b = h->down.slots.of[flipped ? x : y];
        h->cell[b * h->across.slots.count + a] += counts[i];
        h->codes[b * h->across.slots.count + a]++;
        h->across.rows[a] += counts[i];
        h->down.rows[b] += counts[i];
        h->total += counts[i];
    }
    return ERR_OK;
}

/* --- drawing ---------------------------------------------------------------------------------- */

struct heat_box {
    double x, y, width, height;
};

static struct heat_box box_of(const struct heat *h, size_t a, size_t b)
{
    /* numbers ascend upwards, names are read downwards */
    const struct heat_side *d = &h->down;
    const double ranges = d->at[d->slots.ranges];
    const bool up = b < d->slots.ranges;
    return (struct heat_box){LEFT + h->across.at[a], up ? ranges - d->at[b + 1] : d->at[b],
                             h->across.at[a + 1] - h->across.at[a], d->at[b + 1] - d->at[b]};
}

/* Rows as the eye sees them: by area if ranges are to scale, so that wide bins are not dark. */
static double density(const struct heat *h, size_t a, size_t b)
{
    double width = 1;
    if (h->across.slots.to_scale && a < h->across.slots.ranges)
        width *= (h->across.slots.slot[a].high - h->across.slots.slot[a].low) /
                 h->across.slots.narrowest;
    if (h->down.slots.to_scale && b < h->down.slots.ranges)
        width *= (h->down.slots.slot[b].high - h->down.slots.slot[b].low) / h->down.slots.narrowest;
    return h->cell[b * h->across.slots.count + a] / width;
}

/* Shades go by the square root, so that small densities can be told apart. */
static void draw_shades(const struct heat *h)
{
    const size_t columns = h->across.slots.count, rows = h->down.slots.count;
    double most = 1e-9;
    for (size_t i = 0; i < columns * rows; i++)
        most = fmax(most, density(h, i % columns, i / columns));
    for (unsigned shade = 1; shade <= SHADES; shade++) {
        size_t n = 0;
        for (size_t i = 0; i < columns * rows; i++) {
            const struct heat_box b = box_of(h, i % columns, i / columns);
            const double v = sqrt(fmax(0, density(h, i % columns, i / columns)) / most);
            if ((unsigned)lround(v * SHADES) != shade)
                continue;
            if (n++ == 0)
                text_put(h->r->out, "<path class=\"h%u\" d=\"", shade);
            text_put(h->r->out, "M%.1f %.1fh%.1fv%.1fh%.1fz", b.x, b.y, b.width, b.height,
                     -b.width);
        }
        text_put(h->r->out, n > 0 ? "\"/>" : "");
    }
}

/* 1 if there are more rows than noise explains, -1 if fewer, else 0. */
static int differs(const struct heat *h, size_t a, size_t b)
{
    const size_t i = b * h->across.slots.count + a;
    const double expected = h->across.rows[a] * h->down.rows[b] / h->total;
    const double difference = h->cell[i] - expected;
    const double noise = REPORT_BAND * h->pair->sigma * sqrt(h->codes[i]);
    return fabs(difference) <= fmax(noise, expected / 10) ? 0 : difference > 0 ? 1 : -1;
}

static void draw_marks(const struct heat *h)
{
    const size_t columns = h->across.slots.count, rows = h->down.slots.count;
    size_t n = 0;
    for (size_t i = 0; i < columns * rows; i++) {
        const struct heat_box b = box_of(h, i % columns, i / columns);
        const int sign = differs(h, i % columns, i / columns);
        const double x = b.x + b.width / 2, y = b.y + b.height / 2;
        if (sign == 0 || b.width < CELL_LEAST || b.height < CELL_LEAST)
            continue;
        text_put(h->r->out, "%sM%.1f %.1fh6", n++ == 0 ? "<path class=\"sign\" d=\"" : "", x - 3,
                 y);
        if (sign > 0)
            text_put(h->r->out, "M%.1f %.1fv6", x, y - 3);
    }
    text_put(h->r->out, n > 0 ? "\"/>" : "");
}

static void put_number(const struct heat *h, double x, double y, const char *class, double v)
{
    text_put(h->r->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"t%s\">%.6g</text>", x, y, class, v);
}

static void draw_down_names(const struct heat *h)
{
    const struct heat_side *s = &h->down;
    const double ranges = s->at[s->slots.ranges];
    if (s->slots.ranges > 0) {
        put_number(h, LEFT - 5, ranges - 1, " end", s->slots.slot[0].low);
        put_number(h, LEFT - 5, 11, " end", report_slots_last(&s->slots));
    }
    for (size_t i = s->slots.ranges; i < s->slots.count; i++) {
        text_put(h->r->out, "<text x=\"%g\" y=\"%.1f\" class=\"t end\">", LEFT - 5,
                 (s->at[i] + s->at[i + 1]) / 2 + 4);
        report_slot_name(&s->slots, i, NAME_LEFT, h->r->out);
        text_put(h->r->out, "</text>");
    }
}

/* Names of columns are turned, so that each has room. */
static void draw_across_names(const struct heat *h)
{
    const struct heat_side *s = &h->across;
    const double y = h->down.length;
    if (s->slots.ranges > 0) {
        put_number(h, LEFT, y + 14, "", s->slots.slot[0].low);
        put_number(h, LEFT + s->at[s->slots.ranges], y + 14, " end", report_slots_last(&s->slots));
    }
    for (size_t i = s->slots.ranges; i < s->slots.count; i++) {
        const double x = LEFT + (s->at[i] + s->at[i + 1]) / 2 + 4;
        text_put(h->r->out, "<text class=\"t end\" transform=\"translate(%.1f %.1f)rotate(-90)\">",
                 x, y + 6);
        report_slot_name(&s->slots, i, NAME_CUT, h->r->out);
        text_put(h->r->out, "</text>");
    }
}

static void describe(const struct heat *h)
{
    const size_t columns = h->across.slots.count, rows = h->down.slots.count;
    size_t most = 0, signs = 0;
    for (size_t i = 0; i < columns * rows; i++) {
        most = h->cell[i] > h->cell[most] ? i : most;
        signs += differs(h, i % columns, i / columns) != 0;
    }
    html_between(h->r->out, "Rows by ", h->across.slots.a->name, " (across) and ");
    html_text(h->r->out, h->down.slots.a->name);
    text_put(h->r->out, " (down); most: ");
    report_slot_name(&h->across.slots, most % columns, 24, h->r->out);
    text_put(h->r->out, " and ");
    report_slot_name(&h->down.slots, most / columns, 24, h->r->out);
    text_put(h->r->out, ", %.0f rows; %zu of %zu cells differ from independence", h->cell[most],
             signs, columns * rows);
}

/* Room for the longest name. */
static double room_below(const struct heat *h)
{
    const struct report_slots *s = &h->across.slots;
    size_t longest = 0;
    for (size_t i = s->ranges; i < s->count; i++) {
        const bool label = s->slot[i].kind == SLOT_LABEL;
        const size_t n = label ? words_length(s->a->labels[s->slot[i].first]) : NAME_CUT;
        longest = n > longest ? n : longest;
    }
    return 12 + 7 * (double)(longest < NAME_CUT ? longest : NAME_CUT);
}

static void draw(const struct heat *h)
{
    report_svg(h->r->out, h->down.length + fmax(20, room_below(h)));
    describe(h);
    text_put(h->r->out, "\">");
    draw_shades(h);
    draw_marks(h);
    text_put(h->r->out, "<path class=\"axis\" d=\"M%g 0V%gH%g\"/>", LEFT, h->down.length,
             LEFT + h->across.length);
    draw_down_names(h);
    draw_across_names(h);
    text_put(h->r->out, "</svg>");
}

static bool has_ranges(const struct report *r, uint16_t attribute)
{
    return domain_has_order(&r->of->domain->attribute[attribute]);
}

/* An attribute of numbers goes across, if there is one: its labels need no room. */
static enum err prepare(struct heat *h)
{
    const uint16_t x = h->pair->x, y = h->pair->y;
    const bool flip = !has_ranges(h->r, x) && has_ranges(h->r, y);
    double high;
    TRY(side_new(h->r, &h->across, flip ? y : x));
    TRY(side_new(h->r, &h->down, flip ? x : y));
    high = h->down.slots.ranges > 0 ? RANGES_HIGH : 0;
    high += NAME_ROOM * (double)(h->down.slots.count - h->down.slots.ranges);
    TRY(place(&h->across, REPORT_WIDTH - LEFT - 4));
    return place(&h->down, high);
}

void report_known_from(const struct report *r, const struct report_pair *p)
{
    const struct clique pair = {2, {p->x, p->y}};
    bool published = false;
    for (size_t i = 0; i < r->found.knowns; i++)
        published |= clique_contains(&r->found.known[i].clique, &pair);
    if (p->times == 0)
        text_put(r->out, published ? "published" : "not measured");
    else if (p->times == 1)
        text_put(r->out, "measured in round %zu", p->first);
    else
        text_put(r->out, "measured %u times, in rounds %zu %s %zu", p->times, p->first,
                 p->times == 2 ? "and" : "to", p->last);
    if (p->times > 0 && p->alone == 0)
        text_put(r->out, ", with others");
}

enum err report_heat(const struct report *r, const struct report_pair *pair)
{
    struct heat h CLEAN(clear) = {.r = r, .pair = pair};
    const struct association *a = &pair->association;
    TRY(prepare(&h));
    TRY(add_up(&h));
    html_between(r->out, "<figure><figcaption>", h.across.slots.a->name, " across, ");
    html_text(r->out, h.down.slots.a->name);
    text_put(r->out, " down</figcaption><small>%s %.2f &plusmn; %.2f, ", association_word(a->kind),
             a->value, REPORT_BAND * a->error);
    report_known_from(r, pair);
    text_put(r->out, "</small>");
    draw(&h);
    text_put(r->out, "</figure>\n");
    return ERR_OK;
}
