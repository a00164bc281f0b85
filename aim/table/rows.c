#include "aim/table/rows.h"

#include "aim/table/derive.h"
#include "aim/table/persons.h"
#include "base/encoding.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#define DEFAULT_ROWS 100000000
#define TELL_ROWS 4096

/* What may be wrong with a value. */
enum { MISFIT_WRONG, MISFIT_MISSING, MISFIT_NEAREST, MISFITS };

/* The first value of a kind in a column, and how many rows have such a one. */
struct rows_misfit {
    size_t rows, place, field;
    char shown[ROWS_SHOWN], hint[ROWS_HINT];
};

struct rows {
    struct table *table;
    const struct domain *domain;
    const struct rows_source *source;
    struct rows_options o;
    struct log *log;
    size_t field;   /* of the current row, from 0 */
    size_t columns; /* 0 until all are named */
    size_t problems;
    bool row_bad;
    uint32_t *attribute_of; /* column -> attribute, a further slot of `derive`, or DOMAIN_NO_CODE */
    size_t capacity;
    uint16_t *codes;
    double *numbers;                       /* of the current row, or NULL: they are not kept */
    size_t read;                           /* rows, those with mistakes among them */
    struct rows_misfit (*misfit)[MISFITS]; /* of each attribute */
    struct bytes ignored;                  /* names of columns that the domain does not know */
    char personal[ROWS_SHOWN]; /* the first of them that seems to say whose a row is, or "" */
    size_t person_column;      /* SIZE_MAX until it is found */
    struct persons *persons;
    struct person_key *key;     /* or NULL */
    struct derive_plan *derive; /* or NULL: no column follows from others */
    size_t places;              /* how many there is room for */
};

static size_t place(const struct rows *r)
{
    return r->source->place(r->source->of);
}

/* Counts a problem; returns whether to print it. */
static bool problem(struct rows *r)
{
    r->row_bad = true;
    return ++r->problems <= ROWS_ERRORS_SHOWN;
}

static void stands_twice(struct rows *r, const char *name)
{
    if (problem(r))
        log_error(r->log, "%s:%zu:%zu: column %s is in the header twice; remove one",
                  r->source->name, place(r), r->field + 1, name);
}

char *rows_trim(char *text, size_t *length)
{
    while (*length > 0 && (text[*length - 1] == ' ' || text[*length - 1] == '\t'))
        text[--*length] = '\0';
    while (*length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        --*length;
    }
    return text;
}

static bool has_column(const struct rows *r, uint32_t attribute)
{
    for (size_t i = 0; i < r->field; i++)
        if (r->attribute_of[i] == attribute)
            return true;
    return false;
}

bool rows_known(const struct rows *r)
{
    for (size_t i = 0; i < r->field; i++)
        if (r->attribute_of[i] != DOMAIN_NO_CODE)
            return true;
    return false;
}

enum err rows_column(struct rows *r, char *text, size_t length)
{
    bool makes_key, twice = false;
    uint32_t a;
    text = rows_trim(text, &length);
    makes_key = r->key != NULL && person_key_column(r->key, text, r->field, &twice);
    if (twice)
        stands_twice(r, text);
    a = domain_find(r->domain, text);
    if (r->derive != NULL && a != DOMAIN_NO_CODE && derive_is_from(r->derive, a))
        a = DOMAIN_NO_CODE;
    else if (r->derive != NULL && a == DOMAIN_NO_CODE)
        a = derive_find(r->derive, text);
    TRY(memory_room(&r->attribute_of, &r->capacity, r->field + 1));
    if (a != DOMAIN_NO_CODE && has_column(r, a))
        stands_twice(r, text);
    if (r->o.person != NULL && strcmp(text, r->o.person) == 0) {
        if (r->person_column != SIZE_MAX)
            stands_twice(r, text);
        r->person_column = r->field;
    } else if (a == DOMAIN_NO_CODE && !makes_key) {
        char shown[ROWS_SHOWN];
        encoding_printable(text, shown, sizeof shown);
        if (r->personal[0] == '\0' && rows_personal(shown))
            snprintf(r->personal, sizeof r->personal, "%s", shown);
        if (r->ignored.size > 0)
            bytes_put_text(&r->ignored, ", ");
        bytes_put_text(&r->ignored, shown);
    }
    r->attribute_of[r->field++] = a;
    return ERR_OK;
}

static void no_column(struct rows *r, const char *name)
{
    char hint[ROWS_HINT] = "";
    if (bytes_ok(&r->ignored) == ERR_OK) {
        rows_accents((const char *)r->ignored.data, &name, 1, hint);
        rows_case((const char *)r->ignored.data, name, hint);
    }
    log_error(r->log, "%s:%zu: no column is named %s; add it, or correct %s%s", r->source->name,
              place(r), name, r->source->correct, hint);
}

static void nobody(struct rows *r, const char *name)
{
    char hint[ROWS_HINT] = "";
    if (bytes_ok(&r->ignored) == ERR_OK)
        rows_case((const char *)r->ignored.data, name, hint);
    if (problem(r))
        log_error(r->log,
                  "%s:%zu: no column is named %s, which should say whose a row is%s; --person says "
                  "what it is called here",
                  r->source->name, place(r), name, hint);
}

static enum err columns_end(struct rows *r)
{
    const char *name;
    size_t k = 0;
    r->columns = r->field;
    bytes_put_u8(&r->ignored, 0);
    for (uint32_t a = 0; a < r->domain->attributes; a++)
        if (!has_column(r, a) && !r->o.partial &&
            !(r->derive != NULL && derive_is_from(r->derive, a)) && problem(r))
            no_column(r, r->domain->attribute[a].name);
    for (size_t a = r->domain->attributes; r->derive != NULL && a < derive_slots(r->derive); a++)
        if (derive_needs(r->derive, a) != NULL && !has_column(r, (uint32_t)a) && problem(r))
            no_column(r, derive_needs(r->derive, a));
    if (r->o.person != NULL && r->person_column == SIZE_MAX)
        nobody(r, r->o.person);
    while (r->key != NULL && (name = person_key_missing(r->key, &k)) != NULL)
        nobody(r, name);
    if (r->ignored.size > 1 && bytes_ok(&r->ignored) == ERR_OK)
        log_info(r->log, "%s: columns not in the study are ignored: %s", r->source->name,
                 (const char *)r->ignored.data);
    if (r->personal[0] != '\0' && r->o.per_person > 0 && r->o.person == NULL && r->key == NULL)
        log_info(r->log,
                 "%s: %s seems to say whose a row is: --person %s checks that nobody has more than "
                 "%zu %s",
                 r->source->name, r->personal, r->personal, r->o.per_person,
                 r->o.per_person == 1 ? "row" : "rows");
    return r->row_bad ? ERR_DATA : ERR_OK; /* otherwise every row would repeat it */
}

/* Each column and kind of mistake has one line for its owner, with the first value. */
static void tell_misfit(const struct rows *r, const struct domain_attribute *a, unsigned kind,
                        const struct rows_misfit *m)
{
    char allowed[300], all[64] = "";
    if (m->rows == 0)
        return;
    if (m->rows > 1)
        snprintf(all, sizeof all, " (%zu of %zu rows)", m->rows, r->read);
    rows_allowed(a, allowed, sizeof allowed);
    if (kind == MISFIT_WRONG)
        log_error(r->log, "%s:%zu:%zu: %s is '%s'%s; it must be %s%s", r->source->name, m->place,
                  m->field + 1, a->name, m->shown, m->hint, allowed, all);
    else
        log_warn(r->log,
                 "%s:%zu:%zu: %s is '%s'%s, which does not fit the study; it counts as %s%s",
                 r->source->name, m->place, m->field + 1, a->name, m->shown, m->hint,
                 kind == MISFIT_MISSING ? "missing" : "the nearest", all);
}

static void tell_misfits(const struct rows *r)
{
    for (size_t i = 0; i < r->domain->attributes; i++)
        for (unsigned kind = 0; kind < MISFITS; kind++)
            tell_misfit(r, &r->domain->attribute[i], kind, &r->misfit[i][kind]);
}

static bool has_wrong(const struct rows *r)
{
    for (size_t i = 0; i < r->domain->attributes; i++)
        if (r->misfit[i][MISFIT_WRONG].rows > 0)
            return true;
    return false;
}

/* `text` is shown as the table has it. */
static void take_misfit(struct rows *r, uint32_t attribute, size_t field, unsigned kind, char *text)
{
    const struct domain_attribute *a = &r->domain->attribute[attribute];
    const bool turned = r->o.decimal == ',' && field < r->columns && domain_has_numbers(a);
    struct rows_misfit *m = &r->misfit[attribute][kind];
    r->row_bad |= kind == MISFIT_WRONG;
    if (r->o.moments != NULL && kind == MISFIT_MISSING)
        r->o.moments[attribute].outside++;
    if (r->o.moments != NULL && kind == MISFIT_NEAREST)
        r->o.moments[attribute].clipped++;
    if (m->rows++ > 0)
        return;
    m->place = place(r);
    m->field = field;
    if (turned)
        rows_turn_decimal(text);
    rows_shown(a, turned ? ',' : '.', text, m->shown, m->hint);
    if (turned)
        rows_turn_decimal(text);
    if (r->o.moments != NULL && m->hint[0] != '\0')
        r->o.moments[attribute].strange = true;
}

/* A row without a person cannot be counted. */
static enum err person_field(struct rows *r, const char *text, size_t length)
{
    if (length > 0)
        return persons_add(r->persons, text, length, place(r));
    if (problem(r))
        log_error(r->log, "%s:%zu:%zu: %s is empty; every row needs it where persons are counted",
                  r->source->name, place(r), r->person_column + 1, r->o.person);
    return ERR_OK;
}

static enum err key_field(struct rows *r, size_t field, const char *text, size_t length)
{
    const char *name = NULL, *why = NULL;
    const enum err e = person_key_field(r->key, field, text, length, &name, &why);
    if (e != ERR_DATA && e != ERR_REFUSED)
        return e;
    if (problem(r))
        log_error(r->log, "%s:%zu:%zu: %s %s", r->source->name, place(r), field + 1, name, why);
    return e == ERR_DATA ? ERR_OK : e; /* one message about what this build lacks is enough */
}

static void take_number(struct rows *r, uint32_t attribute, uint32_t code, const char *text)
{
    const struct domain_attribute *a = &r->domain->attribute[attribute];
    double x;
    bool number = (r->o.moments != NULL || r->numbers != NULL) && domain_parse(a, text, &x) &&
                  !domain_missing_number(a, x);
    if (number && r->o.moments != NULL)
        rows_add(&r->o.moments[attribute], a, code, x);
    if (number && r->o.moments != NULL && a->calendar != NULL)
        rows_sample(&r->o.moments[attribute], text, x);
    if (r->numbers != NULL)
        r->numbers[attribute] = number && code < a->values ? x : NAN;
}

/* A column's value, of which `whole` says that it has no NUL inside. */
static enum err take_value(struct rows *r, uint32_t attribute, size_t field, char *text, bool whole)
{
    const struct domain_attribute *a = &r->domain->attribute[attribute];
    const uint32_t code = whole ? domain_code(a, text) : DOMAIN_NO_CODE;
    if (code == DOMAIN_NO_CODE) {
        take_misfit(r, attribute, field, MISFIT_WRONG, text);
        return ERR_OK;
    }
    r->codes[attribute] = (uint16_t)code;
    take_number(r, attribute, code, text);
    /* a value that does not fit has one of these codes: the nearest, or missing */
    if (a->policy != DOMAIN_REJECT && (code == 0 || code + 1 >= a->values) && !domain_fits(a, text))
        take_misfit(r, attribute, field, code == a->values ? MISFIT_MISSING : MISFIT_NEAREST, text);
    return r->derive != NULL ? derive_set(r->derive, attribute, code, text) : ERR_OK;
}

enum err rows_field(struct rows *r, char *text, size_t length)
{
    const struct domain_attribute *a;
    size_t field = r->field++;
    uint32_t attribute;
    text = rows_trim(text, &length);
    if (field == r->person_column)
        TRY(person_field(r, text, length));
    if (r->key != NULL)
        TRY(key_field(r, field, text, length));
    attribute = field < r->columns ? r->attribute_of[field] : DOMAIN_NO_CODE;
    if (attribute == DOMAIN_NO_CODE)
        return ERR_OK;
    if (attribute >= r->domain->attributes) {
        if (r->o.decimal == ',' && derive_is_number(r->derive, attribute))
            rows_turn_decimal(text);
        return derive_set(r->derive, attribute, 0, strlen(text) == length ? text : "");
    }
    a = &r->domain->attribute[attribute];
    if (r->o.fill != NULL && strcmp(text, r->o.fill) == 0) {
        r->codes[attribute] = ROWS_ANY;
        return ERR_OK;
    }
    if (r->o.decimal == ',' && domain_has_numbers(a) && !domain_missing_text(a, text))
        rows_turn_decimal(text);
    return take_value(r, attribute, field, text, strlen(text) == length);
}

/* A row that lacks some codes. */
static enum err append_partial(struct rows *r)
{
    uint16_t code[DOMAIN_ATTRIBUTES_MAX];
    const size_t row = r->table->rows;
    for (size_t a = 0; a < r->domain->attributes; a++)
        code[a] = r->codes[a] == ROWS_ANY ? 0 : r->codes[a];
    TRY(table_append(r->table, code));
    for (size_t a = 0; a < r->domain->attributes; a++)
        r->table->column[a][row] = r->codes[a];
    TRY(memory_room(r->o.places, &r->places, row + 1));
    (*r->o.places)[row] = place(r);
    return ERR_OK;
}

/* What follows from the row's values. */
static enum err derive_all(struct rows *r)
{
    char text[COLUMN_TEXT];
    for (size_t i = 0; i < r->domain->derived->from.count; i++) {
        snprintf(text, sizeof text, "%s", derive_from(r->derive, i));
        TRY(take_value(r, derive_from_attribute(r->derive, i), r->columns, text, true));
    }
    derive_begin(r->derive);
    return ERR_OK;
}

static void tell(const struct rows *r)
{
    const struct rows_source *s = r->source;
    r->o.tell(r->o.self, s->name, r->table->rows, s->part != NULL ? s->part(s->of) : NAN);
}

static enum err row_end(struct rows *r)
{
    r->read++;
    if (r->field != r->columns && problem(r))
        log_error(r->log, "%s:%zu: the row has %zu fields, the header %zu", r->source->name,
                  place(r), r->field, r->columns);
    if (r->derive != NULL)
        TRY(derive_all(r));
    if (r->table->rows >= r->o.max)
        return log_fail(r->log, ERR_RANGE, "%s:%zu: more than the %zu rows allowed",
                        r->source->name, place(r), r->o.max);
    if (r->row_bad)
        return ERR_OK;
    TRY(r->o.partial ? append_partial(r) : table_append(r->table, r->codes));
    for (size_t a = 0; r->numbers != NULL && a < r->domain->attributes; a++)
        if (r->table->number[a] != NULL && r->codes[a] != ROWS_ANY)
            r->table->number[a][r->table->rows - 1] = r->numbers[a];
    if (r->key != NULL)
        TRY(person_key_end(r->key, &r->table->key[r->table->rows - 1]));
    if (r->o.tell != NULL && r->table->rows % TELL_ROWS == 0)
        tell(r);
    return ERR_OK;
}

enum err rows_end(struct rows *r)
{
    TRY(r->columns == 0 ? columns_end(r) : row_end(r));
    r->field = 0;
    r->row_bad = false;
    return ERR_OK;
}

static void rows_free(struct rows **r)
{
    if (*r == NULL)
        return;
    table_free(&(*r)->table);
    memory_free_all(&(*r)->codes, &(*r)->numbers, &(*r)->misfit, &(*r)->attribute_of);
    persons_free(&(*r)->persons);
    person_key_free(&(*r)->key);
    bytes_clear(&(*r)->ignored);
    derive_free(&(*r)->derive);
    memory_free(r);
}

enum err rows_begin(struct rows **out, const struct domain *d, const struct rows_options *options,
                    const struct rows_source *source, struct log *log)
{
    struct rows *r CLEAN(rows_free) = NULL;
    *out = NULL;
    TRY(memory_new(&r, 1));
    *r = (struct rows){
        .domain = d, .source = source, .o = *options, .log = log, .person_column = SIZE_MAX};
    if (r->o.max == 0)
        r->o.max = DEFAULT_ROWS;
    TRY(table_new(&r->table, d, 0));
    TRY(memory_new(&r->codes, d->attributes));
    TRY(memory_new(&r->misfit, d->attributes));
    if (r->o.numbers) {
        TRY(table_keep_numbers(r->table));
        TRY(memory_new(&r->numbers, d->attributes));
    }
    for (size_t a = 0; r->o.partial && a < d->attributes; a++)
        r->codes[a] = ROWS_ANY;
    if (d->derived != NULL && !r->o.as_written)
        TRY(derive_new(&r->derive, d));
    if (r->o.person != NULL)
        TRY(persons_new(&r->persons));
    if (r->o.key != NULL) {
        TRY(table_keep_keys(r->table));
        TRY(person_key_new(&r->key, r->o.key));
    }
    return memory_hand_over(out, &r);
}

enum err rows_finish(struct rows **rows, enum err e, struct table **t)
{
    struct rows *r CLEAN(rows_free) = *rows;
    *rows = NULL;
    *t = NULL;
    if (r->problems > ROWS_ERRORS_SHOWN)
        log_error(r->log, "%s: %zu more problems like these", r->source->name,
                  r->problems - ROWS_ERRORS_SHOWN);
    tell_misfits(r);
    if (e == ERR_OK && (r->problems > 0 || has_wrong(r)))
        e = ERR_DATA;
    if (e == ERR_OK && r->persons != NULL)
        e = persons_check(r->persons, r->o.per_person, r->source->name, r->source->places, r->log);
    if (e == ERR_OK) {
        *t = r->table;
        r->table = NULL;
    }
    return e;
}
