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

void csv_put_number(struct bytes *out, const char *text, const struct csv_form *form)
{
    const char *point = strchr(text, '.');
    char copy[COLUMN_TEXT];
    if (point != NULL && form->decimal != '.') {
        snprintf(copy, sizeof copy, "%s", text);
        copy[point - text] = form->decimal;
        text = copy;
    }
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

/* A row with what follows from its values, behind them. */
static enum err put_row(struct sink *s, const struct table *t, const struct densities *densities,
                        size_t row, struct random *r)
{
    const struct domain *d = t->domain;
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    double number[DOMAIN_ATTRIBUTES_MAX];
    for (size_t i = 0; i < d->attributes; i++) {
        code[i] = t->column[i][row];
        number[i] = table_number(t, i, row);
    }
    TRY(derive_draw(s->derive, code, number, true, densities, r));
    for (size_t i = 0; i < d->attributes; i++) {
        const struct domain_attribute *a = &d->attribute[i];
        if (i > 0)
            bytes_put_u8(&s->text, (uint8_t)s->form->delimiter);
        if (code[i] < a->values && domain_has_bins(a) && domain_has_numbers(a))
            csv_put_number(&s->text, derive_text(s->derive, i), s->form);
        else /* a lone empty field would be a blank line */
            put_text(&s->text, derive_text(s->derive, i), s->form,
                     code[i] >= a->values && d->attributes == 1);
    }
    for (size_t i = 0; d->derived != NULL && i < d->derived->computed.count; i++) {
        const char *text = derive_computed(s->derive, i, NULL);
        bytes_put_u8(&s->text, (uint8_t)s->form->delimiter);
        if (d->derived->computed.of[i].type == DERIVE_NUMBER)
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
    const size_t computed = d->derived != NULL ? d->derived->computed.count : 0;
    struct random r = random_of(seed);
    csv_begin(&s->text, s->form);
    for (size_t i = 0; i < d->attributes + computed; i++) {
        if (i > 0)
            bytes_put_u8(&s->text, (uint8_t)s->form->delimiter);
        put_text(&s->text,
                 i < d->attributes ? d->attribute[i].name
                                   : d->derived->computed.of[i - d->attributes].name,
                 s->form, false);
    }
    bytes_put_u8(&s->text, '\n');
    for (size_t row = 0; row < t->rows; row++) {
        TRY(put_row(s, t, densities, row, &r));
        if (s->text.size >= PIECE)
            TRY(write_text(s));
    }
    return write_text(s);
}

enum err table_write_csv(const char *path, const struct table *t, const struct densities *densities,
                         uint64_t seed, const struct csv_form *form, struct log *log)
{
    static const struct csv_form usual = {.delimiter = ',', .decimal = '.'};
    struct sink s = {
        .standard = strcmp(path, "-") == 0, .form = form != NULL ? form : &usual, .log = log};
    struct densities even CLEAN(densities_clear) = {0};
    enum err e;
    if (densities == NULL)
        TRY(densities_of(&even, t->domain, NULL, NULL));
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
