#include "aim/table/csv.h"
#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PIECE ((size_t)64 << 10) /* written at a time */

void csv_put(struct bytes *out, const char *text, bool quote)
{
    if (!quote && strpbrk(text, ",\"\r\n") == NULL) {
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

/* Spaces at either end would be lost when read back. */
static void put_text(struct bytes *out, const char *text, bool quote)
{
    size_t n = strlen(text);
    csv_put(out, text, quote || *text == ' ' || (n > 0 && text[n - 1] == ' '));
}

static void put_cell(struct bytes *out, const struct table *t, const struct densities *densities,
                     size_t row, size_t attribute, struct random *r)
{
    const struct domain_attribute *a = &t->domain->attribute[attribute];
    uint16_t code = t->column[attribute][row];
    bool alone = t->domain->attributes == 1; /* a lone empty field would be a blank line */
    char text[COLUMN_TEXT];
    if (code >= a->values) {
        put_text(out, a->missing, alone);
        return;
    }
    if (domain_has_bins(a)) {
        a->kind->draw(a, code, densities->of[attribute], r, text);
        bytes_put_text(out, text);
    } else
        put_text(out, domain_text(a, code, 0, text), false);
}

/* Where lines go: a file draft, or standard output. */
struct sink {
    struct file_draft draft;
    bool standard;
    struct bytes text; /* to be written */
    struct log *log;
};

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
    const size_t attributes = t->domain->attributes;
    struct random r = random_of(seed);
    for (size_t a = 0; a < attributes; a++) {
        put_text(&s->text, t->domain->attribute[a].name, false);
        bytes_put_u8(&s->text, a + 1 < attributes ? ',' : '\n');
    }
    for (size_t row = 0; row < t->rows; row++) {
        for (size_t a = 0; a < attributes; a++) {
            put_cell(&s->text, t, densities, row, a, &r);
            bytes_put_u8(&s->text, a + 1 < attributes ? ',' : '\n');
        }
        if (s->text.size >= PIECE)
            TRY(write_text(s));
    }
    return write_text(s);
}

enum err table_write_csv(const char *path, const struct table *t, const struct densities *densities,
                         uint64_t seed, struct log *log)
{
    struct sink s = {.standard = strcmp(path, "-") == 0, .log = log};
    struct densities even CLEAN(densities_clear) = {0};
    enum err e;
    if (densities == NULL)
        TRY(densities_even(&even, t->domain));
    if (!s.standard)
        TRY(file_draft_open(&s.draft, path, 0644, log));
    e = write_rows(&s, t, densities != NULL ? densities : &even, seed);
    bytes_clear(&s.text);
    return s.standard ? e : file_draft_end(&s.draft, e);
}
