#include "aim/table/csv.h"
#include "aim/table/derive.h"
#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PIECE ((size_t)64 << 10) /* written at a time */

void csv_begin(struct bytes *out, const struct csv_form *form)
{
    if (form->bom)
        bytes_put_text(out, "\xef\xbb\xbf");
}

void csv_put(struct bytes *out, const char *text, const struct csv_form *form, bool quote)
{
    if (!quote && strpbrk(text, "\"\r\n") == NULL && strchr(text, form->delimiter) == NULL) {
        bytes_put_text(out, text);
        return;
    }
    bytes_put_u8(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            bytes_put_u8(out, '"');
        bytes_put_u8(out, (uint8_t)*text);
    }
    bytes_put_u8(out, '"');
}

void csv_put_number(struct bytes *out, char *text, const struct csv_form *form)
{
    char *point = strchr(text, '.');
    if (point != NULL)
        *point = form->decimal;
    csv_put(out, text, form, false);
}

/* Spaces at either end would be lost when read back. */
static void put_text(struct bytes *out, const char *text, const struct csv_form *form, bool quote)
{
    size_t n = strlen(text);
    csv_put(out, text, form, quote || *text == ' ' || (n > 0 && text[n - 1] == ' '));
}

/* Where lines go: a file draft, or standard output. */
struct sink {
    struct file_draft draft;
    bool standard;
    const struct csv_form *form;
    struct bytes text; /* to be written */
    struct derive_plan *derive;
    struct log *log;
};

/* A value as it is drawn: numbers may have another decimal sign. */
static void put_value(struct sink *s, const struct domain_attribute *a, uint16_t code, char *text,
                      bool alone)
{
    if (code < a->values && domain_has_bins(a) && domain_has_numbers(a))
        csv_put_number(&s->text, text, s->form);
    else
        put_text(&s->text, text, s->form, code >= a->values && alone);
}

static void put_cell(struct sink *s, const struct table *t, const struct densities *densities,
                     size_t row, size_t attribute, struct random *r)
{
    const struct domain_attribute *a = &t->domain->attribute[attribute];
    uint16_t code = t->column[attribute][row];
    bool alone = t->domain->attributes == 1; /* a lone empty field would be a blank line */
    char text[COLUMN_TEXT];
    if (code >= a->values) {
        put_text(&s->text, a->missing, s->form, alone);
        return;
    }
    if (!domain_has_bins(a)) {
        put_text(&s->text, domain_text(a, code, 0, text), s->form, false);
        return;
    }
    if (isnan(table_number(t, attribute, row)))
        a->kind->draw(a, code, densities->of[attribute], r, text);
    else
        domain_print(a, table_number(t, attribute, row), 0, text);
    put_value(s, a, code, text, alone);
}

/* A row with what follows from its values, behind them. */
static enum err put_derived(struct sink *s, const struct table *t,
                            const struct densities *densities, size_t row, struct random *r)
{
    const struct domain *d = t->domain;
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    double number[DOMAIN_ATTRIBUTES_MAX];
    char text[COLUMN_TEXT];
    for (size_t a = 0; a < d->attributes; a++) {
        code[a] = t->column[a][row];
        number[a] = table_number(t, a, row);
    }
    TRY(derive_draw(s->derive, code, number, densities, r));
    for (size_t a = 0; a < d->attributes; a++) {
        snprintf(text, sizeof text, "%s", derive_text(s->derive, a));
        if (a > 0)
            bytes_put_u8(&s->text, (uint8_t)s->form->delimiter);
        put_value(s, &d->attribute[a], code[a], text, d->attributes == 1);
    }
    for (size_t i = 0; i < d->derived->computed.count; i++) {
        snprintf(text, sizeof text, "%s", derive_computed(s->derive, i, NULL));
        bytes_put_u8(&s->text, (uint8_t)s->form->delimiter);
        if (d->derived->computed.of[i].type == DERIVE_NUMBER && *text != '\0')
            csv_put_number(&s->text, text, s->form);
        else
            put_text(&s->text, text, s->form, false);
    }
    bytes_put_u8(&s->text, '\n');
    return ERR_OK;
}

static enum err write_text(struct sink *s)
{
    const size_t n = s->text.size;
    TRY(bytes_ok(&s->text));
    s->text.size = 0;
    if (!s->standard)
        return file_draft_write(&s->draft, s->text.data, n);
    if (fwrite(s->text.data, 1, n, stdout) == n && fflush(stdout) == 0)
        return ERR_OK;
    return log_fail(s->log, ERR_SYSTEM, "cannot write to the standard output: %s", strerror(errno));
}

static enum err write_rows(struct sink *s, const struct table *t, const struct densities *densities,
                           uint64_t seed)
{
    const struct domain *d = t->domain;
    const size_t attributes = d->attributes;
    const size_t computed = d->derived != NULL ? d->derived->computed.count : 0;
    struct random r = random_of(seed);
    csv_begin(&s->text, s->form);
    for (size_t a = 0; a < attributes; a++) {
        put_text(&s->text, t->domain->attribute[a].name, s->form, false);
        bytes_put_u8(&s->text, a + 1 < attributes + computed ? (uint8_t)s->form->delimiter : '\n');
    }
    for (size_t i = 0; i < computed; i++) {
        put_text(&s->text, t->domain->derived->computed.of[i].name, s->form, false);
        bytes_put_u8(&s->text, i + 1 < computed ? (uint8_t)s->form->delimiter : '\n');
    }
    for (size_t row = 0; row < t->rows; row++) {
        if (s->derive != NULL)
            TRY(put_derived(s, t, densities, row, &r));
        for (size_t a = 0; s->derive == NULL && a < attributes; a++) {
            put_cell(s, t, densities, row, a, &r);
            bytes_put_u8(&s->text, a + 1 < attributes ? (uint8_t)s->form->delimiter : '\n');
        }
        if (s->text.size >= PIECE)
            TRY(write_text(s));
    }
    return write_text(s);
}

enum err table_write_csv_form(const char *path, const struct table *t,
                              const struct densities *densities, uint64_t seed,
                              const struct csv_form *form, struct log *log)
{
    struct sink s = {.standard = strcmp(path, "-") == 0, .form = form, .log = log};
    struct densities even CLEAN(densities_clear) = {0};
    enum err e;
    if (densities == NULL)
        TRY(densities_even(&even, t->domain));
    if (t->domain->derived != NULL)
        TRY(derive_new(&s.derive, t->domain));
    e = s.standard ? ERR_OK : file_draft_open(&s.draft, path, 0644, log);
    if (e != ERR_OK) {
        derive_free(&s.derive);
        return e;
    }
    e = write_rows(&s, t, densities != NULL ? densities : &even, seed);
    derive_free(&s.derive);
    bytes_clear(&s.text);
    return s.standard ? e : file_draft_end(&s.draft, e);
}

enum err table_write_csv(const char *path, const struct table *t, const struct densities *densities,
                         uint64_t seed, struct log *log)
{
    static const struct csv_form usual = {.delimiter = ',', .decimal = '.'};
    return table_write_csv_form(path, t, densities, seed, &usual, log);
}
