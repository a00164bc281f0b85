#include "aim/number.h"
#include "aim/random.h"
#include "aim/table.h"
#include "base/file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_text(struct bytes *out, const char *text, bool quote)
{
    size_t n = strlen(text);
    if (!quote && strpbrk(text, ",\"\r\n") == NULL && (n == 0 || *text != ' ') &&
        (n == 0 || text[n - 1] != ' ')) {
        bytes_put(out, text, n);
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

/* Two digits finer than the bin is wide, and never in another bin. */
static void put_numeric(struct bytes *out, const struct domain_attribute *a, uint16_t code,
                        struct random *r)
{
    double low = a->edges[code], width = a->edges[code + 1] - low;
    double digits = ceil(-log10(width)) + 2;
    int decimals = digits < 0 ? 0 : digits > 30 ? -1 : (int)digits;
    char text[400];
    for (int trial = 0; trial < 8; trial++) {
        number_print(text, sizeof text, low + width * random_double(r), decimals);
        if (domain_code(a, text) == code)
            break;
        if (trial == 6)
            low = a->edges[code], width = 0, decimals = -1;
    }
    bytes_put(out, text, strlen(text));
}

static void put_cell(struct bytes *out, const struct table *t, size_t row, size_t attribute,
                     struct random *r)
{
    const struct domain_attribute *a = &t->domain->attribute[attribute];
    uint16_t code = t->column[attribute][row];
    bool alone = t->domain->attributes == 1; /* a line of an empty field alone would be blank */
    char text[32];
    if (code >= a->values) {
        put_text(out, a->missing, alone);
    } else if (a->kind == DOMAIN_CATEGORICAL) {
        put_text(out, a->labels[code], false);
    } else if (a->kind == DOMAIN_NUMERIC) {
        put_numeric(out, a, code, r);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)a->min + code);
        bytes_put(out, text, strlen(text));
    }
}

static enum err write_out(const struct bytes *text, struct log *log)
{
    if (fwrite(text->data, 1, text->size, stdout) == text->size && fflush(stdout) == 0)
        return ERR_OK;
    log_error(log, "cannot write to the standard output: %s", strerror(errno));
    return ERR_SYSTEM;
}

enum err table_write_csv(const char *path, const struct table *t, uint64_t seed, struct log *log)
{
    struct bytes out = {0};
    struct random r;
    enum err e;
    random_seed_u64(&r, seed);
    for (size_t a = 0; a < t->domain->attributes; a++) {
        put_text(&out, t->domain->attribute[a].name, false);
        bytes_put_u8(&out, a + 1 < t->domain->attributes ? ',' : '\n');
    }
    for (size_t row = 0; row < t->rows; row++)
        for (size_t a = 0; a < t->domain->attributes; a++) {
            put_cell(&out, t, row, a, &r);
            bytes_put_u8(&out, a + 1 < t->domain->attributes ? ',' : '\n');
        }
    e = bytes_ok(&out);
    if (e == ERR_OK)
        e = strcmp(path, "-") == 0 ? write_out(&out, log)
                                   : file_write(path, 0644, out.data, out.size, log);
    bytes_clear(&out);
    return e;
}
