/* Columns from a header alone, or from rows that are public. */
#include "aim/table/csv.h"
#include "aim/table/number.h"
#include "base/memory.h"
#include "parties/study/outline.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#define LABELS_MOST 50
#define FEW 12 /* different numbers: perhaps codes, not amounts */

/* What was seen of a column. */
struct public_seen {
    struct outline_texts labels; /* different ones, until there are too many */
    bool many, numbers, whole, dates;
    double min, max;
    int decimals; /* the most after a point */
};

struct public_rows {
    struct outline *outline;
    const char *path;
    struct csv_place place;
    struct log *log;
    struct public_seen *seen; /* of each column; NULL while the header is read */
    bool alone;               /* only the header is read */
};

static bool is_missing(const char *text)
{
    static const char *const words[] = {"", "NA", "N/A", "NULL", "NaN", "?", "."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

static void take_number(struct public_seen *s, const char *text)
{
    const char *point = strchr(text, '.');
    double x;
    s->dates = s->dates && outline_number(text, true, &x);
    s->numbers = s->numbers && !s->dates && number_double(text, &x);
    if (!s->dates && !s->numbers)
        return;
    s->whole &= x == floor(x);
    s->min = fmin(s->min, x); /* NAN gives way */
    s->max = fmax(s->max, x);
    if (point != NULL && (int)strspn(point + 1, "0123456789") > s->decimals)
        s->decimals = (int)strspn(point + 1, "0123456789");
}

static enum err take_field(void *rows, char *text, size_t length)
{
    struct public_rows *r = rows;
    struct outline_column *c;
    struct public_seen *s;
    text = rows_trim(text, &length);
    if (r->seen == NULL)
        return outline_next(r->outline, text, &c);
    if (r->place.field >= r->outline->count)
        return log_fail(r->log, ERR_DATA, "%s:%zu: the row has more fields than the header",
                        r->path, r->place.line);
    c = &r->outline->column[r->place.field];
    s = &r->seen[r->place.field];
    if (is_missing(text)) {
        if (!outline_has(&c->missing, text))
            outline_add(&c->missing, text);
        return bytes_ok(&c->missing.text);
    }
    take_number(s, text);
    if (s->many || outline_has(&s->labels, text))
        return ERR_OK;
    s->many = s->labels.count == LABELS_MOST;
    if (!s->many)
        outline_add(&s->labels, text);
    return bytes_ok(&s->labels.text);
}

static enum err take_row(void *rows)
{
    struct public_rows *r = rows;
    if (r->seen != NULL)
        return ERR_OK;
    if (r->alone)
        return ERR_REFUSED; /* no row of the file is read */
    TRY(memory_new(&r->seen, r->outline->count));
    for (size_t i = 0; i < r->outline->count; i++)
        r->seen[i] = (struct public_seen){
            .numbers = true, .whole = true, .dates = true, .min = NAN, .max = NAN};
    return ERR_OK;
}

static void judge(struct outline_column *c, struct public_seen *s)
{
    const bool amounts = s->numbers && s->labels.count > 0 &&
                         (s->many || s->labels.count > FEW || s->whole);
    c->min = s->min;
    c->max = s->max;
    c->step = s->decimals > 3 ? 0 : pow(10, -s->decimals);
    if (s->dates && s->labels.count > 0) {
        c->kind = OUTLINE_DATE;
        return;
    }
    if (amounts && s->min < s->max) {
        c->kind = s->whole ? OUTLINE_WHOLE : OUTLINE_NUMBER;
        c->max = s->whole || s->decimals > 6 ? c->max : ceil(c->max);
        c->min = s->whole || s->decimals > 6 ? c->min : floor(c->min);
        return;
    }
    c->kind = s->many ? OUTLINE_NONE : OUTLINE_LABELS;
    snprintf(c->note, sizeof c->note, "%s", s->many ? "more than 50 different texts" : "");
    c->values = s->labels;
    s->labels = (struct outline_texts){{0}, 0};
}

static enum err read_rows(struct outline *o, const char *path, bool alone, struct log *log)
{
    struct public_rows r = {.outline = o, .path = table_csv_name(path), .log = log, .alone = alone};
    const struct csv_sink sink = {take_field, take_row, &r};
    enum err e = csv_split(path, ',', &sink, &r.place, log);
    for (size_t i = 0; i < o->count && r.seen != NULL; i++) {
        judge(&o->column[i], &r.seen[i]);
        bytes_clear(&r.seen[i].labels.text);
    }
    memory_free(&r.seen);
    if (o->count == 0 && (e == ERR_OK || e == ERR_REFUSED))
        return log_fail(log, ERR_DATA, "%s is empty; it needs a header line", r.path);
    return alone && e == ERR_REFUSED ? ERR_OK : e;
}

enum err outline_header(struct outline *o, const char *path, struct log *log)
{
    TRY(read_rows(o, path, true, log));
    outline_came(o, "no rows; only names and their order from the header of", path);
    return ERR_OK;
}

enum err outline_rows(struct outline *o, const char *path, struct log *log)
{
    TRY(read_rows(o, path, false, log));
    outline_came(o, "published or invented rows, in", path);
    return ERR_OK;
}
