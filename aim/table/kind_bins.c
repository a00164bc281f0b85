/* Columns of numbers in bins, some of which may hold one number only. */
#include "aim/table/density.h"
#include "aim/table/domain_private.h"
#include "aim/table/lists.h"
#include "aim/table/number.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>

static uint32_t code_of(const struct domain_attribute *a, const char *text)
{
    double v;
    int64_t whole;
    if (!number_double(text, &v) || (a->whole && !number_integer(text, &whole)))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        v = fmin(fmax(v, a->edges[0]), a->edges[a->values]);
    return domain_bin(a, v);
}

const char *kind_print_number(const struct domain_attribute *a, double number, int digits,
                              char room[COLUMN_TEXT])
{
    (void)a;
    if (digits > 0)
        number_round(room, COLUMN_TEXT, number, digits);
    else
        number_shortest(room, COLUMN_TEXT, number);
    return room;
}

bool kind_parse_number(const struct domain_attribute *a, const char *text, double *number)
{
    (void)a;
    return number_double(text, number);
}

double kind_edge(const struct domain_attribute *a, uint32_t code)
{
    return a->edges[code];
}

const char *kind_edge_text(const struct domain_attribute *a, uint32_t code, int digits,
                           char room[COLUMN_TEXT])
{
    return domain_print(a, a->edges[code], digits, room);
}

/* Multiples of a step have its digits; others have two digits more than the bin's width needs. */
static int decimals_of(const struct domain_attribute *a, const struct density *density,
                       uint32_t code)
{
    double digits = ceil(-log10(a->edges[code + 1] - a->edges[code])) + 2;
    if (density_decimals(density) >= 0)
        return density_decimals(density);
    return digits < 0 ? 0 : digits > 30 ? -1 : (int)digits; /* a spike has all digits */
}

/* If a number's rounded text leaves its bin, draws again, and finally writes all digits. */
static void draw(const struct domain_attribute *a, uint32_t code, const struct density *density,
                 struct random *r, char text[COLUMN_TEXT])
{
    int decimals = decimals_of(a, density, code);
    for (int trial = 0; trial < 8; trial++) {
        double x = density_draw(density, code, trial < 7 ? random_double(r) : 0.5);
        number_print(text, COLUMN_TEXT, x, trial < 6 ? decimals : -1);
        if (domain_code(a, text) == code)
            break;
    }
}

void kind_write_edges(const struct domain_attribute *a, struct bytes *out)
{
    for (uint32_t i = 0; i <= a->values; i++)
        bytes_put_double(out, a->edges[i]);
}

enum err kind_read_edges(struct domain_attribute *a, struct reader *r)
{
    TRY(memory_new(&a->edges, (size_t)a->values + 1));
    for (uint32_t i = 0; i <= a->values; i++)
        a->edges[i] = reader_double(r);
    return r->failed ? ERR_FORMAT : ERR_OK;
}

static enum err add_copy(struct domain *d, const struct domain_attribute *a, struct log *log)
{
    return domain_add_numeric(d, a->name, a->edges, (size_t)a->values + 1, a->missing, a->policy,
                              log);
}

void kind_tail_json(const struct domain_attribute *a, json_t **object)
{
    switch (a->tail) {
    case DOMAIN_TAIL_TREND:
        break;
    case DOMAIN_TAIL_EXPONENTIAL:
        list_set(object, "tail", json_string("exponential"));
        break;
    case DOMAIN_TAIL_TYPICAL:
        list_set(object, "typical", json_real(a->typical));
        break;
    }
}

/* With what is assumed about the numbers inside bins (aim/table/density.h). */
static void set_json(const struct domain_attribute *a, json_t **object)
{
    list_set(object, "edges", list_numbers(a->edges, (size_t)a->values + 1));
    if (a->step > 0)
        list_set(object, "step", json_real(a->step));
    kind_tail_json(a, object);
}

const struct column_kind column_bins = {.byte = 2,
                                        .word = "numeric",
                                        .noun = "number",
                                        .order = true,
                                        .bins = true,
                                        .numbers = true,
                                        .code = code_of,
                                        .parse = kind_parse_number,
                                        .print = kind_print_number,
                                        .number = kind_edge,
                                        .text = kind_edge_text,
                                        .draw = draw,
                                        .write = kind_write_edges,
                                        .read = kind_read_edges,
                                        .add = add_copy,
                                        .json = set_json};

enum err kind_add_edges(struct domain *d, struct domain_attribute *a, const char *name,
                        const double *edges, size_t count, const char *missing, struct log *log)
{
    TRY(domain_check_new(d, a, name, missing, log));
    for (size_t i = 0; i < count; i++)
        if (!isfinite(edges[i]) || (i > 0 && edges[i] < edges[i - 1]) ||
            (i > 1 && edges[i] == edges[i - 2]))
            return log_fail(log, ERR_STUDY,
                            "attribute %s: edge %zu (%g) is not a number above the one before",
                            name, i + 1, edges[i]);
    if (count >= 2 && count <= DOMAIN_SIZE_MAX + 1) {
        TRY(memory_new(&a->edges, count));
        for (size_t i = 0; i < count; i++)
            a->edges[i] = edges[i] + 0.0; /* -0 and 0 mean the same */
    }
    return domain_append(d, a, count > 0 ? count - 1 : 0, name, missing, log);
}

enum err domain_add_numeric(struct domain *d, const char *name, const double *edges, size_t count,
                            const char *missing, enum domain_policy policy, struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = &column_bins,
                                                               .policy = policy};
    return kind_add_edges(d, &a, name, edges, count, missing, log);
}
