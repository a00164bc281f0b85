#include "parties/study/outline.h"

#include "aim/table/number.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/words.h"

#include <math.h>
#include <string.h>

#define USUAL_BINS 10
#define CELLS_MOST 20 /* whole numbers with a cell each */
#define LINE 100      /* columns of text */

void outline_add(struct outline_texts *t, const char *text)
{
    bytes_put(&t->text, text, strlen(text) + 1);
    t->count += bytes_ok(&t->text) == ERR_OK; /* if not, whoever adds a column ends with that */
}

bool outline_has(const struct outline_texts *t, const char *text)
{
    const char *at = (const char *)t->text.data;
    for (size_t i = 0; i < t->count; i++, at += strlen(at) + 1)
        if (strcmp(at, text) == 0)
            return true;
    return false;
}

enum err outline_next(struct outline *o, const char *name, struct outline_column **c)
{
    TRY(memory_room(&o->column, &o->room, o->count + 1));
    *c = &o->column[o->count++];
    **c = (struct outline_column){.min = NAN, .max = NAN};
    (*c)->name = memory_string(name);
    return (*c)->name != NULL ? ERR_OK : ERR_NOMEM;
}

void outline_came(struct outline *o, const char *what, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(o->from, sizeof o->from, "%s %s", what, slash != NULL ? slash + 1 : path);
}

void outline_clear(struct outline *o)
{
    for (size_t i = 0; i < o->count; i++) {
        memory_free_all(&o->column[i].name, &o->column[i].file);
        bytes_clear(&o->column[i].values.text);
        bytes_clear(&o->column[i].missing.text);
    }
    memory_free(&o->column);
}

/* --- ranges ----------------------------------------------------------------------------------- */

bool outline_number(const char *text, bool date, double *x)
{
    int64_t day, same;
    if (!date)
        return number_double(text, x);
    if (!calendar_read(text, CALENDAR_DAY, false, &day, &same))
        return false;
    *x = (double)day;
    return true;
}

/* Whether text[0 .. n) is a number or a date, apart from spaces around it. */
static bool number(const char *text, size_t n, bool date, double *x)
{
    char copy[64];
    while (n > 0 && *text == ' ') {
        text++;
        n--;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    if (n == 0 || n >= sizeof copy)
        return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return outline_number(copy, date, x);
}

bool outline_range(const char *text, bool dates, double *min, double *max)
{
    static const char *const between[] = {"..", "\xe2\x80\x93", " to ", "-"};
    const size_t n = strlen(text);
    const char *comma = strchr(text, ',');
    if (n > 2 && text[0] == '[' && text[n - 1] == ']' && comma != NULL)
        return number(text + 1, (size_t)(comma - text) - 1, dates, min) &&
               number(comma + 1, (size_t)(text + n - 1 - comma) - 1, dates, max) && *min < *max;
    for (size_t k = 0; k < sizeof between / sizeof *between; k++)
        for (const char *at = text; (at = strstr(at, between[k])) != NULL; at++) {
            const char *right = at + strlen(between[k]);
            if (number(text, (size_t)(at - text), dates, min) &&
                number(right, strlen(right), dates, max) && *min < *max)
                return true;
        }
    return false;
}

/* --- YAML ------------------------------------------------------------------------------------- */

/* A text as YAML has it: in quotes unless it is plainly a word. */
static void put_text(struct bytes *out, const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_-");
    if (*text != '\0' && strchr(letters, *text) != NULL && text[word] == '\0') {
        bytes_put_text(out, text);
        return;
    }
    bytes_put_u8(out, '"');
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            text_put(out, "\\x%02x", (unsigned)(unsigned char)*text);
        else
            text_put(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    bytes_put_u8(out, '"');
}

static void put_texts(struct bytes *out, const char *key, const struct outline_texts *t)
{
    const char *at = (const char *)t->text.data;
    size_t begins = out->size;
    text_put(out, "    %s: [", key);
    for (size_t i = 0; i < t->count; i++, at += strlen(at) + 1) {
        const bool full = out->size - begins + strlen(at) + 4 > LINE;
        if (i > 0)
            bytes_put_text(out, full ? ",\n      " : ", ");
        if (i > 0 && full)
            begins = out->size - 6;
        put_text(out, at);
    }
    bytes_put_text(out, "]\n");
}

static void put_number(struct bytes *out, const char *key, double x)
{
    char text[40] = "FILL-IN";
    if (!isnan(x))
        number_shortest(text, sizeof text, x);
    text_put(out, "    %s: %s\n", key, text);
}

static void put_numbers(struct bytes *out, const struct outline_column *c)
{
    const bool whole = c->kind == OUTLINE_WHOLE;
    double bins = c->bins;
    if (bins == 0 && !(whole && c->max - c->min < CELLS_MOST))
        bins = whole && isnan(c->max - c->min) ? 0 : USUAL_BINS;
    put_number(out, "min", c->min);
    put_number(out, "max", c->max);
    if (bins > 0)
        put_number(out, "bins", bins);
    if (c->step > 0 && bins > 0 && !(whole && c->step == 1))
        put_number(out, "step", c->step);
}

static void put_date(struct bytes *out, const char *key, double day)
{
    const struct calendar usual = {.unit = CALENDAR_DAY};
    char text[CALENDAR_FORMAT] = "FILL-IN";
    if (!isnan(day))
        calendar_print(&usual, (int64_t)day, text);
    text_put(out, "    %s: %s\n", key, text);
}

static void put_dates(struct bytes *out, const struct outline_column *c)
{
    put_date(out, "from", c->min);
    put_date(out, "to", c->max);
    bytes_put_text(out, "    bins: month\n");
}

static void put_note(struct bytes *out, const char *before, const char *note)
{
    char line[sizeof((struct outline_column *)0)->note];
    snprintf(line, sizeof line, "%s", note);
    for (char *p = line; *p != '\0'; p++)
        *p = (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p;
    line[words_prefix(line, LINE - strlen(before))] = '\0';
    text_put(out, "%s%s\n", before, line);
}

static void put_column(struct bytes *out, const struct outline_column *c)
{
    static const char *const words[] = {[OUTLINE_UNKNOWN] = "FILL-IN",
                                        [OUTLINE_LABELS] = "categorical",
                                        [OUTLINE_WHOLE] = "integer",
                                        [OUTLINE_NUMBER] = "numeric",
                                        [OUTLINE_DATE] = "date"};
    if (c->kind == OUTLINE_NONE) {
        text_put(out, "  # left out: %s", c->name);
        put_note(out, c->note[0] != '\0' ? ", " : "", c->note);
        return;
    }
    bytes_put_text(out, "  - name: ");
    put_text(out, c->name);
    bytes_put_u8(out, '\n');
    if (c->note[0] != '\0')
        put_note(out, "    # ", c->note);
    text_put(out, "    kind: %s\n", words[c->kind]);
    if (c->kind == OUTLINE_LABELS && c->file != NULL) {
        bytes_put_text(out, "    values: {file: ");
        put_text(out, c->file);
        bytes_put_text(out, "}\n");
    } else if (c->kind == OUTLINE_LABELS && c->values.count == 0)
        bytes_put_text(out, "    values: FILL-IN\n");
    else if (c->kind == OUTLINE_LABELS)
        put_texts(out, "values", &c->values);
    else if (c->kind == OUTLINE_DATE)
        put_dates(out, c);
    else if (c->kind != OUTLINE_UNKNOWN)
        put_numbers(out, c);
    if (c->missing.count > 0)
        put_texts(out, "missing", &c->missing);
}

void outline_write(const struct outline *o, struct bytes *out)
{
    bytes_put_text(out, "# What the columns were written from. Everybody sees this, and checks "
                        "that it was not owners' rows.\ncolumns_from: ");
    put_text(out, o->from);
    bytes_put_text(out,
                   "\n\n"
                   "# FILL-IN: not known yet; trefoil check names each. A kind is "
                   "categorical, with values; integer,\n"
                   "# with min and max; numeric, with bins, too; or date, with from, to and bins. "
                   "Bins below are a guess, on\n"
                   "# which trefoil plan has advice.\n"
                   "domain:\n");
    for (size_t i = 0; i < o->count; i++)
        put_column(out, &o->column[i]);
    bytes_put_u8(out, '\n');
}
