/* What follows from what, in canonical bytes; and which of it is sound. */
#include "aim/table/derive.h"
#include "aim/table/domain_private.h"
#include "base/memory.h"

#include <string.h>

/* --- bytes ------------------------------------------------------------------------------------ */

static void write_one(const struct derive *e, struct bytes *out)
{
    bytes_put_string(out, e->name);
    bytes_put_string(out, e->text != NULL ? e->text : "");
    bytes_put_u8(out, (uint8_t)e->op);
    bytes_put_u8(out, (uint8_t)e->type);
    domain_write_calendar(&e->calendar, out);
    bytes_put_u8(out, (uint8_t)e->part);
    bytes_put_u64(out, (uint64_t)e->constant);
    bytes_put_u32(out, e->columns);
    for (uint32_t i = 0; i < e->columns; i++) {
        bytes_put_string(out, e->column[i]);
        bytes_put_u8(out, e->sign[i] < 0);
    }
    bytes_put_u32(out, e->keys);
    for (uint32_t i = 0; i < e->keys; i++) {
        bytes_put_string(out, e->key[i]);
        bytes_put_string(out, e->value[i]);
    }
}

/* NULL: all; or those about columns of a domain. */
static void write_list(const struct derive_list *list, const struct domain *about,
                       struct bytes *out)
{
    uint32_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += about == NULL || domain_find(about, list->of[i].name) != DOMAIN_NO_CODE;
    bytes_put_u32(out, count);
    for (size_t i = 0; i < list->count; i++)
        if (about == NULL || domain_find(about, list->of[i].name) != DOMAIN_NO_CODE)
            write_one(&list->of[i], out);
}

void derived_write(const struct derives *d, struct bytes *out)
{
    write_list(&d->read, NULL, out);
    write_list(&d->from, NULL, out);
    write_list(&d->computed, NULL, out);
}

static enum err read_book(struct derive *e, struct reader *r)
{
    const uint32_t keys = reader_u32(r);
    if (r->failed || keys > DERIVE_KEYS || keys > r->left / 8)
        return ERR_FORMAT;
    TRY(memory_new(&e->key, keys));
    TRY(memory_new(&e->value, keys));
    while (e->keys < keys) {
        const uint32_t at = e->keys++;
        TRY(domain_read_text(r, &e->key[at]));
        TRY(domain_read_text(r, &e->value[at]));
    }
    return ERR_OK;
}

static enum err read_one(struct derive *e, struct reader *r)
{
    uint8_t op, type, part;
    uint32_t columns;
    TRY(domain_read_text(r, &e->name));
    TRY(domain_read_text(r, &e->text));
    op = reader_u8(r);
    type = reader_u8(r);
    TRY(domain_read_calendar(&e->calendar, r));
    part = reader_u8(r);
    e->constant = (int64_t)reader_u64(r);
    columns = reader_u32(r);
    if (r->failed || op > DERIVE_LOOKUP || type > DERIVE_TEXT || part >= CALENDAR_PARTS ||
        columns > DERIVE_COLUMNS)
        return ERR_FORMAT;
    e->op = (enum derive_op)op;
    e->type = (enum derive_type)type;
    e->part = (enum calendar_part)part;
    while (e->columns < columns) {
        const uint32_t at = e->columns++;
        TRY(domain_read_text(r, &e->column[at]));
        e->sign[at] = reader_u8(r) != 0 ? -1 : 1;
    }
    return read_book(e, r);
}

static enum err read_list(struct derive_list *list, struct reader *r)
{
    const uint32_t count = reader_u32(r);
    if (r->failed || count > DOMAIN_ATTRIBUTES_MAX || count > r->left / 8)
        return ERR_FORMAT;
    TRY(memory_new(&list->of, count));
    while (list->count < count)
        TRY(read_one(&list->of[list->count++], r));
    return ERR_OK;
}

enum err derived_read(struct derives **out, struct reader *r)
{
    struct derives *d CLEAN(derived_free) = NULL;
    *out = NULL;
    TRY(memory_new(&d, 1));
    TRY(read_list(&d->read, r));
    TRY(read_list(&d->from, r));
    TRY(read_list(&d->computed, r));
    return memory_hand_over(out, &d);
}

/* Through bytes, as copies of all else are made. */
enum err derived_pick(struct domain *to, const struct domain *from)
{
    struct bytes bytes CLEAN(bytes_clear) = {0};
    struct reader r;
    if (from->derived == NULL)
        return ERR_OK;
    write_list(&from->derived->read, NULL, &bytes);
    write_list(&from->derived->from, to, &bytes);
    bytes_put_u32(&bytes, 0);
    TRY(bytes_ok(&bytes));
    r = reader_of(bytes.data, bytes.size);
    TRY(derived_read(&to->derived, &r));
    if (to->derived->from.count == 0)
        derived_free(&to->derived);
    return ERR_OK;
}

/* --- what is sound ---------------------------------------------------------------------------- */

struct derive_source {
    enum derive_type type;
    const struct calendar *calendar;
};

/* What is read before rows are counted, or was computed before, when they are written. */
static bool find_source(const struct domain *d, const struct derive *e, bool from, const char *name,
                        struct derive_source *s)
{
    const struct derive_list *list = from ? &d->derived->read : &d->derived->computed;
    const uint32_t a = domain_find(d, name);
    if (a != DOMAIN_NO_CODE) {
        const struct domain_attribute *at = &d->attribute[a];
        *s = (struct derive_source){at->calendar != NULL     ? DERIVE_DATE
                                    : domain_has_numbers(at) ? DERIVE_NUMBER
                                                             : DERIVE_TEXT,
                                    at->calendar};
        return !from || strcmp(name, e->name) != 0;
    }
    for (size_t i = 0; i < list->count && &list->of[i] != e; i++)
        if (strcmp(list->of[i].name, name) == 0) {
            *s = (struct derive_source){list->of[i].type, &list->of[i].calendar};
            return true;
        }
    return false;
}

/* Whether a column follows from others, and comes before this one. */
static bool comes_late(const struct domain *d, const struct derive *e, const char *name)
{
    for (size_t i = 0; i < d->derived->from.count; i++)
        if (strcmp(d->derived->from.of[i].name, name) == 0)
            return domain_find(d, name) >= domain_find(d, e->name);
    return false;
}

static enum err check_sum(struct derive *e, const struct derive_source *s, struct log *log)
{
    int dates = 0;
    for (uint32_t i = 0; i < e->columns; i++) {
        if (s[i].type == DERIVE_TEXT)
            return log_fail(log, ERR_STUDY, "%s: %s has texts, which cannot be added", e->name,
                            e->column[i]);
        if (s[i].type != DERIVE_DATE)
            continue;
        if (dates != 0 && e->calendar.unit != s[i].calendar->unit)
            return log_fail(log, ERR_STUDY, "%s: its dates have different units", e->name);
        if (e->sign[i] > 0 || dates == 0)
            e->calendar = *s[i].calendar;
        dates += e->sign[i];
        if (dates == 0) /* later ones must still have its unit */
            e->calendar.formats = 0;
    }
    e->type = dates == 1 ? DERIVE_DATE : DERIVE_NUMBER;
    if (dates < 0 || dates > 1)
        return log_fail(log, ERR_STUDY,
                        "%s: dates can be subtracted, and numbers added to one date; this does "
                        "something else",
                        e->name);
    return ERR_OK;
}

static enum err check_dates(struct derive *e, const struct derive_source *s, struct log *log)
{
    for (uint32_t i = 0; i < e->columns; i++)
        if (s[i].type != DERIVE_DATE)
            return log_fail(log, ERR_STUDY, "%s: %s has no dates", e->name, e->column[i]);
    if (e->op == DERIVE_PART && e->part == CALENDAR_OF_HOUR && s->calendar->unit == CALENDAR_DAY)
        return log_fail(log, ERR_STUDY, "%s: %s has days, without hours", e->name, e->column[0]);
    e->type = DERIVE_NUMBER;
    return ERR_OK;
}

static enum err check_one(const struct domain *d, struct derive *e, bool from, struct log *log)
{
    struct derive_source s[DERIVE_COLUMNS] = {{DERIVE_NUMBER, NULL}};
    static const uint32_t wanted[] = {[DERIVE_PART] = 1, [DERIVE_AGE] = 2, [DERIVE_LOOKUP] = 1};
    if (from && domain_find(d, e->name) == DOMAIN_NO_CODE)
        return log_fail(log, ERR_STUDY, "there is no column %s", e->name);
    if (e->op == DERIVE_READ || e->columns == 0 ||
        (e->op != DERIVE_SUM && e->columns != wanted[e->op]))
        return log_fail(log, ERR_STUDY, "%s follows from no column", e->name);
    for (uint32_t i = 0; i < e->columns; i++) {
        if (!find_source(d, e, from, e->column[i], &s[i]))
            return log_fail(log, ERR_STUDY,
                            from ? "%s: there is no column %s; name one of the domain, or add it "
                                   "to `read`"
                                 : "%s: there is no column %s, in the domain or computed before",
                            e->name, e->column[i]);
        if (from && comes_late(d, e, e->column[i]))
            return log_fail(log, ERR_STUDY, "%s: %s follows from others, too; list it before",
                            e->name, e->column[i]);
    }
    switch (e->op) {
    case DERIVE_SUM:
        return check_sum(e, s, log);
    case DERIVE_PART:
    case DERIVE_AGE:
        return check_dates(e, s, log);
    case DERIVE_READ:
    case DERIVE_LOOKUP:
        break;
    }
    e->type = DERIVE_TEXT;
    return ERR_OK;
}

static enum err check_list(const struct domain *d, const struct derive_list *list, bool from,
                           const struct derive **bad, struct log *log)
{
    for (size_t i = 0; i < list->count; i++) {
        *bad = &list->of[i];
        if (!from && domain_find(d, list->of[i].name) != DOMAIN_NO_CODE)
            return log_fail(log, ERR_STUDY, "there is a column %s already; rename one",
                            list->of[i].name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(list->of[k].name, list->of[i].name) == 0)
                return log_fail(log, ERR_STUDY, "there is a column %s already; rename one",
                                list->of[i].name);
        TRY(check_one(d, &list->of[i], from, log));
        if (from && list->of[i].type == DERIVE_DATE)
            return log_fail(log, ERR_STUDY,
                            "%s would be a date; measure the number of days, and compute the date",
                            list->of[i].name);
        if (from && d->attribute[domain_find(d, list->of[i].name)].missing == NULL)
            return log_fail(log, ERR_STUDY, "%s follows from others, so it needs `missing`",
                            list->of[i].name);
    }
    return ERR_OK;
}

enum err derive_check_computed(struct domain *d, const struct derive **bad, struct log *log)
{
    return check_list(d, &d->derived->computed, false, bad, log);
}

enum err derive_check(struct domain *d, const struct derive **bad, struct log *log)
{
    *bad = NULL;
    TRY(check_list(d, &d->derived->from, true, bad, log));
    return derive_check_computed(d, bad, log);
}
