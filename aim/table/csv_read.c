#include "aim/table/csv.h"
#include "aim/table/persons.h"
#include "base/encoding.h"
#include "base/memory.h"

#include <csv.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_ROWS 100000000
#define FIELDS_MAX 65536
#define SHOWN_SIZE 100
#define HINT_SIZE 200
#define FIELD_MAX (1 << 20) /* bytes */

struct csv_reading {
    struct table *table;
    const struct domain *domain;
    const char *path;
    struct log *log;
    size_t max_rows;
    char delimiter;
    char decimal;
    size_t line;   /* of the bytes being parsed, from 1 */
    size_t field;  /* of the row being parsed, from 0 */
    size_t fields; /* in the header; 0 until it is read */
    size_t problems;
    bool row_bad;
    uint32_t *attribute_of; /* header field -> attribute or DOMAIN_NO_CODE */
    size_t attribute_of_capacity;
    uint16_t *codes;
    size_t *changed;      /* values of each attribute that did not fit, and were taken as others */
    struct bytes ignored; /* names of columns that the domain does not know */
    const char *person;   /* the column that says whose a row is, or NULL */
    size_t person_field;  /* which it is; SIZE_MAX until it is found */
    size_t person_rows;
    struct persons *persons;
    enum err fatal;
};

/* Whether one more problem is still to be printed. */
static bool problem(struct csv_reading *r)
{
    r->row_bad = true;
    return ++r->problems <= TABLE_ERRORS_SHOWN;
}

static void describe_allowed(const struct domain_attribute *a, char *text, size_t size)
{
    int n = 0;
    if (a->kind == DOMAIN_INTEGER)
        n = snprintf(text, size, "a whole number from %lld to %lld", (long long)a->min,
                     (long long)a->max);
    else if (a->kind == DOMAIN_NUMERIC)
        n = snprintf(text, size, "a number from %g to %g", a->edges[0], a->edges[a->values]);
    else if (a->values <= 8) {
        n = snprintf(text, size, "one of");
        for (uint32_t i = 0; i < a->values && n >= 0 && (size_t)n < size; i++)
            n += snprintf(text + n, size - (size_t)n, "%s '%s'", i > 0 ? "," : "", a->labels[i]);
    } else {
        n = snprintf(text, size, "one of %u labels: '%s', '%s', '%s', ...", a->values, a->labels[0],
                     a->labels[1], a->labels[2]);
    }
    if (a->missing != NULL && n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", or '%s' if missing", a->missing);
}

static void stands_twice(struct csv_reading *r, const char *name)
{
    if (problem(r))
        log_error(r->log, "%s:%zu:%zu: column %s stands twice in the header; remove one", r->path,
                  r->line, r->field + 1, name);
}

/* Room for what the header's next field is. */
static enum err reserve_field(struct csv_reading *r)
{
    size_t capacity = r->attribute_of_capacity * 2 + 16;
    uint32_t *grown;
    if (r->field >= FIELDS_MAX) {
        log_error(r->log, "%s: the header has more than %d columns; is the delimiter right?",
                  r->path, FIELDS_MAX);
        return ERR_DATA;
    }
    if (r->field < r->attribute_of_capacity)
        return ERR_OK;
    grown = memory_grow(r->attribute_of, capacity, sizeof *grown);
    if (grown == NULL)
        return ERR_NOMEM;
    r->attribute_of = grown;
    r->attribute_of_capacity = capacity;
    return ERR_OK;
}

static void header_field(struct csv_reading *r, const char *text)
{
    uint32_t a = domain_find(r->domain, text);
    r->fatal = reserve_field(r);
    if (r->fatal != ERR_OK)
        return;
    for (size_t i = 0; a != DOMAIN_NO_CODE && i < r->field; i++)
        if (r->attribute_of[i] == a)
            stands_twice(r, text);
    if (r->person != NULL && strcmp(text, r->person) == 0) {
        if (r->person_field != SIZE_MAX)
            stands_twice(r, text);
        r->person_field = r->field;
    } else if (a == DOMAIN_NO_CODE) {
        char shown[100];
        encoding_printable(text, shown, sizeof shown);
        if (r->ignored.size > 0)
            bytes_put(&r->ignored, ", ", 2);
        bytes_put(&r->ignored, shown, strlen(shown));
    }
    r->attribute_of[r->field++] = a;
}

/* Where the header is one field, and that holds another delimiter. */
static const char *delimiter_hint(const struct csv_reading *r)
{
    const char *name = (const char *)r->ignored.data;
    if (r->field != 1 || r->ignored.size == 0)
        return "";
    if (memchr(name, ';', r->ignored.size) != NULL)
        return " (it seems to be ';')";
    if (memchr(name, ',', r->ignored.size) != NULL)
        return " (it seems to be ',')";
    return memchr(name, '?', r->ignored.size) != NULL ? " (it seems to be a tab)" : "";
}

static bool header_has(const struct csv_reading *r, uint32_t attribute)
{
    for (size_t i = 0; i < r->field; i++)
        if (r->attribute_of[i] == attribute)
            return true;
    return false;
}

/* No column that the study knows: the first line is hardly a header, or is cut at the wrong places. */
static bool header_is_none(struct csv_reading *r)
{
    for (uint32_t a = 0; a < r->domain->attributes; a++)
        if (header_has(r, a))
            return false;
    if (r->domain->attributes < 2 || !problem(r))
        return false;
    log_error(
        r->log,
        "%s:%zu: the first line should name the columns (%s, %s ..) and names none of them; add a "
        "header, or correct it or the delimiter%s",
        r->path, r->line, r->domain->attribute[0].name, r->domain->attribute[1].name,
        delimiter_hint(r));
    r->fatal = ERR_DATA;
    return true;
}

/* Two texts that look alike, one of them with accents as characters of their own. */
static void decomposed_hint(const char *text, const char *const *expected, size_t count, char *hint,
                            size_t size)
{
    char points[24];
    if (encoding_decomposed(text, points) != NULL) {
        snprintf(
            hint, size,
            " (decomposed Unicode: %s for one letter. The study may have it composed: save the "
            "file in the form NFC)",
            points);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (encoding_decomposed(expected[i], points) != NULL)
            snprintf(
                hint, size,
                " (the study has decomposed Unicode: %s for one letter. It and the file should "
                "both be in the form NFC)",
                points);
}

static void no_column(struct csv_reading *r, const char *name)
{
    char hint[200] = "";
    if (bytes_ok(&r->ignored) == ERR_OK)
        decomposed_hint((const char *)r->ignored.data, &name, 1, hint, sizeof hint);
    log_error(r->log,
              "%s:%zu: no column is named %s; add it, or correct the header or delimiter%s%s",
              r->path, r->line, name, delimiter_hint(r), hint);
}

static void header_end(struct csv_reading *r)
{
    r->fields = r->field;
    bytes_put_u8(&r->ignored, 0);
    if (header_is_none(r))
        return;
    for (uint32_t a = 0; a < r->domain->attributes; a++) {
        if (!header_has(r, a) && problem(r))
            no_column(r, r->domain->attribute[a].name);
    }
    if (r->person != NULL && r->person_field == SIZE_MAX && problem(r))
        log_error(r->log, "%s:%zu: no column is named %s, which should say whose a row is", r->path,
                  r->line, r->person);
    if (r->ignored.size > 1 && bytes_ok(&r->ignored) == ERR_OK)
        log_info(r->log, "%s: columns not in the study are ignored: %s", r->path,
                 (const char *)r->ignored.data);
    if (r->row_bad) /* without a sound header every row would only repeat it */
        r->fatal = ERR_DATA;
}

/* A value as it is shown, and what may be wrong with it. */
static void explain(const struct csv_reading *r, const struct domain_attribute *a, const char *text,
                    char shown[SHOWN_SIZE], char hint[HINT_SIZE])
{
    bool utf8 = encoding_printable(text, shown, SHOWN_SIZE);
    hint[0] = '\0';
    if (!utf8)
        snprintf(hint, HINT_SIZE, " (not UTF-8 but %s, it seems: save the file as UTF-8)",
                 encoding_guess(text));
    else if (a->kind == DOMAIN_CATEGORICAL)
        decomposed_hint(text, (const char *const *)a->labels, a->values, hint, HINT_SIZE);
    else if (strchr(text, r->decimal == ',' ? '.' : ',') != NULL)
        snprintf(hint, HINT_SIZE, " (numbers have a decimal %s here)",
                 r->decimal == ',' ? "comma" : "point");
}

static void wrong_value(struct csv_reading *r, const struct domain_attribute *a, size_t field,
                        const char *text)
{
    char allowed[300], shown[SHOWN_SIZE], hint[HINT_SIZE];
    if (!problem(r))
        return;
    describe_allowed(a, allowed, sizeof allowed);
    explain(r, a, text, shown, hint);
    log_error(r->log, "%s:%zu:%zu: %s is '%s'%s; it must be %s", r->path, r->line, field + 1,
              a->name, shown, hint, allowed);
}

/*
 * A value that does not fit, and is taken as another: the first of each column is told. For the
 * owner alone to judge.
 */
static void changed_value(struct csv_reading *r, uint32_t attribute, size_t field, uint32_t code,
                          const char *text)
{
    const struct domain_attribute *a = &r->domain->attribute[attribute];
    char shown[SHOWN_SIZE], hint[HINT_SIZE];
    if (r->changed[attribute]++ > 0)
        return;
    explain(r, a, text, shown, hint);
    log_warn(r->log, "%s:%zu:%zu: %s is '%s'%s, which does not fit the study; it counts as %s",
             r->path, r->line, field + 1, a->name, shown, hint,
             code == a->values ? "missing" : "the nearest");
}

/* The code of a field that may have a decimal comma; `text` is changed. */
static uint32_t code_of(const struct csv_reading *r, const struct domain_attribute *a, char *text)
{
    char *comma;
    if (r->decimal != ',' || a->kind == DOMAIN_CATEGORICAL ||
        (a->missing != NULL && strcmp(text, a->missing) == 0))
        return domain_code(a, text);
    comma = strchr(text, ',');
    if (strchr(text, '.') != NULL)
        *strchr(text, '.') = ','; /* no number at all: the policy decides */
    else if (comma != NULL)
        *comma = '.';
    return domain_code(a, text);
}

/* A row that is nobody's cannot be counted. */
static void person_field(struct csv_reading *r, const char *text, size_t length)
{
    if (length == 0 && problem(r))
        log_error(r->log, "%s:%zu:%zu: %s is empty; every row needs it where persons are counted",
                  r->path, r->line, r->person_field + 1, r->person);
    if (length > 0 && r->fatal == ERR_OK)
        r->fatal = persons_add(r->persons, text, length, r->line);
}

static void data_field(struct csv_reading *r, char *text, size_t length)
{
    size_t field = r->field++;
    const struct domain_attribute *a;
    uint32_t code = DOMAIN_NO_CODE;
    if (field == r->person_field)
        person_field(r, text, length);
    if (field >= r->fields || r->attribute_of[field] == DOMAIN_NO_CODE)
        return;
    a = &r->domain->attribute[r->attribute_of[field]];
    if (strlen(text) == length) /* a NUL inside is no value */
        code = code_of(r, a, text);
    if (code == DOMAIN_NO_CODE) {
        wrong_value(r, a, field, text);
        return;
    }
    r->codes[r->attribute_of[field]] = (uint16_t)code;
    /* only what was clipped, or is missing now, has one of these codes without fitting */
    if (a->policy != DOMAIN_REJECT && (code == 0 || code + 1 >= a->values) && !domain_fits(a, text))
        changed_value(r, r->attribute_of[field], field, code, text);
}

static void tell_changed(const struct csv_reading *r)
{
    for (size_t i = 0; i < r->domain->attributes; i++)
        if (r->changed[i] > 1)
            log_warn(r->log, "%s: %zu values of %s do not fit, and count so", r->path,
                     r->changed[i], r->domain->attribute[i].name);
}

static void data_end(struct csv_reading *r)
{
    if (r->field != r->fields && problem(r))
        log_error(r->log, "%s:%zu: the row has %zu fields, the header %zu", r->path, r->line,
                  r->field, r->fields);
    if (r->table->rows >= r->max_rows) {
        log_error(r->log, "%s:%zu: more than the %zu rows allowed", r->path, r->line, r->max_rows);
        r->fatal = ERR_RANGE;
    } else if (!r->row_bad) {
        r->fatal = table_append(r->table, r->codes);
    }
}

static void on_field(void *text, size_t length, void *reading)
{
    struct csv_reading *r = reading;
    char *start = text;
    if (r->fatal != ERR_OK)
        return;
    /* libcsv takes spaces off unquoted fields only. */
    while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t'))
        start[--length] = '\0';
    while (length > 0 && (*start == ' ' || *start == '\t')) {
        start++;
        length--;
    }
    if (r->fields == 0)
        header_field(r, start);
    else
        data_field(r, start, length);
}

static void on_row(int terminator, void *reading)
{
    struct csv_reading *r = reading;
    (void)terminator;
    if (r->fatal != ERR_OK)
        return;
    if (r->fields == 0)
        header_end(r);
    else
        data_end(r);
    r->field = 0;
    r->row_bad = false;
}

static enum err parse_failed(struct csv_reading *r, struct csv_parser *parser)
{
    if (csv_error(parser) != CSV_EPARSE)
        return ERR_NOMEM;
    log_error(r->log,
              "%s:%zu:%zu: a quote stands where none may be; put the field in quotes and double "
              "those inside",
              r->path, r->line, r->field + 1);
    return ERR_DATA;
}

/* libcsv does not say where it is, so it is fed one line at a time. */
static enum err parse_block(struct csv_reading *r, struct csv_parser *parser, const char *p,
                            size_t n)
{
    while (n > 0 && r->fatal == ERR_OK) {
        const char *end = memchr(p, '\n', n);
        size_t part = end != NULL ? (size_t)(end - p) + 1 : n;
        if (csv_parse(parser, p, part, on_field, on_row, r) != part)
            return parse_failed(r, parser);
        if (csv_get_buffer_size(parser) > FIELD_MAX) {
            log_error(r->log, "%s:%zu: a field has more than %d bytes; is this a CSV file?",
                      r->path, r->line, FIELD_MAX);
            return ERR_DATA;
        }
        r->line += end != NULL;
        p += part;
        n -= part;
    }
    return r->fatal;
}

/* Bytes to leave out at the start, or an error for what is not UTF-8 text. */
static enum err check_mark(struct csv_reading *r, const char *p, size_t n, size_t *skip)
{
    const char *name = encoding_foreign(p, n);
    *skip = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    if (name == NULL)
        return ERR_OK;
    log_error(r->log, "%s is %s; save it as CSV in UTF-8", r->path, name);
    return ERR_DATA;
}

static enum err read_stream(struct csv_reading *r, struct csv_parser *parser, FILE *f)
{
    char block[65536];
    size_t n = fread(block, 1, sizeof block, f), skip;
    enum err e = check_mark(r, block, n, &skip);
    while (e == ERR_OK && n > 0) {
        e = parse_block(r, parser, block + skip, n - skip);
        skip = 0;
        n = fread(block, 1, sizeof block, f);
    }
    explicit_bzero(block, sizeof block);
    if (e == ERR_OK && ferror(f)) {
        log_error(r->log, "cannot read %s: %s", r->path, strerror(errno));
        return ERR_SYSTEM;
    }
    if (e == ERR_OK && csv_fini(parser, on_field, on_row, r) != 0)
        e = parse_failed(r, parser);
    return e == ERR_OK ? r->fatal : e;
}

static enum err read_file(struct csv_reading *r)
{
    struct csv_parser parser;
    FILE *f = fopen(r->path, "rb");
    enum err e;
    if (f == NULL) {
        log_error(r->log, "cannot open %s: %s", r->path, strerror(errno));
        return ERR_SYSTEM;
    }
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
        fclose(f);
        return ERR_NOMEM;
    }
    csv_set_delim(&parser, (unsigned char)r->delimiter);
    e = read_stream(r, &parser, f);
    csv_free(&parser);
    fclose(f);
    if (e == ERR_OK && r->fields == 0) {
        log_error(r->log, "%s is empty; it needs a header line", r->path);
        e = ERR_DATA;
    }
    if (r->problems > TABLE_ERRORS_SHOWN)
        log_error(r->log, "%s: %zu more problems like these", r->path,
                  r->problems - TABLE_ERRORS_SHOWN);
    if (e == ERR_OK && r->person != NULL && r->problems == 0)
        e = persons_check(r->persons, r->person_rows, r->path, r->log);
    return e == ERR_OK && r->problems > 0 ? ERR_DATA : e;
}

static enum err check_options(const struct csv_reading *r)
{
    if (strchr("\"'\r\n.+-_", r->delimiter) != NULL || isalnum((unsigned char)r->delimiter)) {
        log_error(r->log, "%s: '%c' cannot be the delimiter of a CSV file", r->path,
                  isprint((unsigned char)r->delimiter) ? r->delimiter : '?');
        return ERR_USAGE;
    }
    if (r->decimal != '.' && r->decimal != ',') {
        log_error(r->log, "%s: decimals begin with a point or a comma, nothing else", r->path);
        return ERR_USAGE;
    }
    return ERR_OK;
}

enum err table_read_csv(struct table **t, const struct domain *d, const char *path,
                        const struct table_csv_options *options, struct log *log)
{
    struct csv_reading r = {
        .domain = d, .path = path, .log = log, .line = 1, .person_field = SIZE_MAX};
    enum err e;
    r.delimiter = options != NULL && options->delimiter != 0 ? options->delimiter : ',';
    r.decimal = options != NULL && options->decimal != 0 ? options->decimal : '.';
    r.max_rows = options != NULL && options->max_rows != 0 ? options->max_rows : DEFAULT_ROWS;
    r.person = options != NULL ? options->person : NULL;
    r.person_rows = options != NULL ? options->person_rows : 0;
    *t = NULL;
    TRY(check_options(&r));
    TRY(table_new(&r.table, d, 0));
    r.codes = memory_array(d->attributes, sizeof *r.codes);
    r.changed = memory_array(d->attributes, sizeof *r.changed);
    e = r.codes != NULL && r.changed != NULL ? ERR_OK : ERR_NOMEM;
    if (e == ERR_OK && r.person != NULL)
        e = persons_new(&r.persons);
    if (e == ERR_OK)
        e = read_file(&r);
    if (e == ERR_OK)
        tell_changed(&r);
    if (e != ERR_OK)
        table_free(&r.table);
    *t = r.table;
    memory_free(&r.codes);
    memory_free(&r.changed);
    memory_free(&r.attribute_of);
    persons_free(&r.persons);
    bytes_clear(&r.ignored);
    return e;
}
