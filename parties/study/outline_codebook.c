/* Codebooks: CSV files with a line for each column of a table; and REDCap's data dictionaries. */
#include "aim/table/csv.h"
#include "base/memory.h"
#include "parties/study/outline.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define FIELDS_MAX 256
#define WORD 48

/* What a codebook's columns say; the words are those of headers, with letters and digits alone. */
enum { NAME, KIND, VALUES, MIN, MAX, MISSING, LABEL, VALIDATION, REQUIRED, IDENTIFIER, BINS, STEP };
#define ROLES (STEP + 1)
static const struct {
    const char *words; /* with spaces between them, as below */
    unsigned role;
} heads[] = {
    {"name variable column field fieldname variablename columnname variablefieldname", NAME},
    {"kind type datatype fieldtype", KIND},
    {"values range valuesorrange choices categories codes levels"
     " choicescalculationsorsliderlabels selectchoicesorcalculations",
     VALUES},
    {"min minimum textvalidationmin", MIN},
    {"max maximum textvalidationmax", MAX},
    {"missing missingvalues", MISSING},
    {"label description fieldlabel", LABEL},
    {"textvalidationtypeorshowslidernumber", VALIDATION},
    {"requiredfield", REQUIRED},
    {"identifier", IDENTIFIER},
    {"bins", BINS},
    {"step", STEP},
};

/* Kinds by the beginnings of words for them, those of REDCap among them. */
static const struct {
    const char *words;
    enum outline_kind kind;
    const char *note;   /* why such a column is left out */
    const char *values; /* which it has by itself */
} kinds[] = {
    {"categor factor nominal ordinal enum radio dropdown", OUTLINE_LABELS, "", ""},
    {"yesno truefalse checkbox bool", OUTLINE_LABELS, "", "1|0"},
    {"logical", OUTLINE_LABELS, "", "TRUE|FALSE"},
    {"slider", OUTLINE_WHOLE, "", "0-100"},
    {"int whole count", OUTLINE_WHOLE, "", ""},
    {"num float double decimal real continuous calc", OUTLINE_NUMBER, "", ""},
    {"date timestamp", OUTLINE_DATE, "", ""},
    {"time", OUTLINE_NONE, "a time: add its hour as a column if it matters", ""},
    {"descriptive", OUTLINE_NONE, "no data", ""},
    {"file signature", OUTLINE_NONE, "a file", ""},
    {"id", OUTLINE_NONE, "it says whose a row is (the key person in docs/study.md)", ""},
    {"text string char notes", OUTLINE_NONE, "free text", ""},
};

struct codebook {
    struct outline *outline;
    const char *path;
    struct csv_place place;
    struct log *log;
    unsigned role[FIELDS_MAX]; /* of each field; ROLES: none */
    bool known[ROLES];
    bool header;        /* has been read */
    char *field[ROLES]; /* of the current row, or NULL */
};

static void forget(struct codebook *b)
{
    for (size_t i = 0; i < ROLES; i++)
        memory_free(&b->field[i]);
}

/* Letters in lower case and digits alone. */
static void plain_word(const char *text, char word[WORD])
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < WORD; text++)
        if (isalnum((unsigned char)*text))
            word[n++] = (char)tolower((unsigned char)*text);
    word[n] = '\0';
}

/* Whether one of the words is this one, or else begins it. */
static bool is_among(const char *words, const char *word, bool whole)
{
    for (size_t n; *words != '\0'; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (strncmp(words, word, n) == 0 && (!whole || word[n] == '\0'))
            return true;
    }
    return false;
}

static enum err take_field(void *codebook, char *text, size_t length)
{
    struct codebook *b = codebook;
    const size_t i = b->place.field;
    char word[WORD];
    text = rows_trim(text, &length);
    if (i >= FIELDS_MAX)
        return ERR_OK;
    if (b->header) {
        if (b->role[i] == ROLES || *text == '\0')
            return ERR_OK;
        memory_free(&b->field[b->role[i]]);
        b->field[b->role[i]] = memory_string(text);
        return b->field[b->role[i]] != NULL ? ERR_OK : ERR_NOMEM;
    }
    plain_word(text, word);
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        if (is_among(heads[k].words, word, true)) {
            b->role[i] = heads[k].role;
            b->known[heads[k].role] = true;
        }
    return ERR_OK;
}

/*
 * Puts the parts of a list into `t`; of "1 = male", or REDCap's "1, male", the code, which rows
 * have. In other codebooks a comma beside bars belongs to a value.
 */
static void split(const struct codebook *b, struct outline_texts *t, char *text)
{
    const char *ends = strchr(text, '|') != NULL ? "|" : strchr(text, ';') != NULL ? ";" : ",";
    char *rest = text, *part;
    while ((part = strsep(&rest, ends)) != NULL) {
        size_t n = strcspn(part, *ends == '|' && b->known[VALIDATION] ? ",=" : "=");
        part[n] = '\0';
        part = rows_trim(part, &n);
        if (n > 0 && !outline_has(t, part))
            outline_add(t, part);
    }
}

static double bound(const char *text, bool date)
{
    double x;
    return text != NULL && outline_number(text, date, &x) ? x : NAN;
}

static enum err take_values(const struct codebook *b, struct outline_column *c, char *text)
{
    if (strncasecmp(text, "file:", 5) == 0) {
        c->file = memory_string(text + 5 + strspn(text + 5, " "));
        return c->file != NULL ? ERR_OK : ERR_NOMEM;
    }
    if (c->kind == OUTLINE_LABELS ||
        !outline_range(text, c->kind == OUTLINE_DATE, &c->min, &c->max))
        split(b, &c->values, text);
    if (c->values.count == 1 && c->kind != OUTLINE_LABELS && c->kind != OUTLINE_UNKNOWN) {
        bytes_clear(&c->values.text); /* "10-5" is neither a range nor a list */
        c->values.count = 0;
        c->min = c->max = NAN;
    }
    return ERR_OK;
}

/* From the word for it, or else from what its values are. */
static enum err take_kind(struct codebook *b, struct outline_column *c)
{
    const bool checked = b->field[VALIDATION] != NULL && b->field[KIND] != NULL &&
                         strcasecmp(b->field[KIND], "text") == 0;
    const char *text = b->field[checked ? VALIDATION : KIND];
    const char *why = "", *label = b->field[LABEL] != NULL ? b->field[LABEL] : "";
    const char *values = b->field[VALUES] != NULL ? b->field[VALUES] : "";
    const bool coded = strpbrk(values, b->known[VALIDATION] ? "|" : "=") != NULL;
    char said[sizeof c->note]; /* with what codes mean */
    char word[WORD], own[16];
    snprintf(said, sizeof said, "%s%s%s", label, coded && *label != '\0' ? ": " : "",
             coded ? values : "");
    plain_word(text != NULL ? text : "", word);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (is_among(kinds[k].words, word, false)) {
            c->kind = kinds[k].kind;
            snprintf(own, sizeof own, "%s", kinds[k].values);
            why = kinds[k].note;
            if (own[0] == '\0' || (!b->known[VALIDATION] && b->field[VALUES] != NULL))
                break;
            if (!b->known[VALIDATION] && c->kind == OUTLINE_LABELS)
                snprintf(c->note, sizeof c->note,
                         "if rows have other words for yes and no, write those");
            return take_values(b, c, own);
        }
    if (b->field[VALUES] != NULL && strcmp(word, "calc") != 0)
        TRY(take_values(b, c, b->field[VALUES]));
    if (!isnan(bound(b->field[MIN], c->kind == OUTLINE_DATE)))
        c->min = bound(b->field[MIN], c->kind == OUTLINE_DATE);
    if (!isnan(bound(b->field[MAX], c->kind == OUTLINE_DATE)))
        c->max = bound(b->field[MAX], c->kind == OUTLINE_DATE);
    if (c->values.count > 0 || c->file != NULL)
        c->kind = OUTLINE_LABELS;
    else if (c->kind == OUTLINE_UNKNOWN && !isnan(c->max - c->min))
        c->kind = c->min == floor(c->min) && c->max == floor(c->max) ? OUTLINE_WHOLE
                                                                     : OUTLINE_NUMBER;
    snprintf(c->note, sizeof c->note, "%s", c->kind == OUTLINE_NONE ? why : said);
    return ERR_OK;
}

/* What a codebook says about missing values; one that says nothing means empty cells. */
static void take_missing(struct codebook *b, struct outline_column *c)
{
    const char *required = b->field[REQUIRED], *given = b->field[MISSING];
    struct outline_texts list = {{0}, 0};
    const char *at;
    if (!b->known[MISSING] && !(required != NULL && tolower((unsigned char)*required) == 'y'))
        outline_add(&c->missing, "");
    if (given == NULL || strcasecmp(given, "none") == 0)
        return;
    split(b, &list, b->field[MISSING]);
    at = (const char *)list.text.data;
    for (size_t i = 0; i < list.count; i++, at += strlen(at) + 1)
        outline_add(&c->missing, strcasecmp(at, "empty") == 0 ? "" : at);
    c->missing.text.failed |= list.text.failed;
    bytes_clear(&list.text);
}

/*
 * REDCap exports a column of 1 and 0 for each box that may be checked; of its code, letters are
 * small there and a minus is an underscore.
 */
static enum err add_boxes(struct codebook *b)
{
    struct outline_texts boxes = {{0}, 0};
    struct outline_column *c;
    char name[256];
    const char *at;
    enum err e = ERR_OK;
    split(b, &boxes, b->field[VALUES]);
    e = bytes_ok(&boxes.text);
    at = (const char *)boxes.text.data;
    for (size_t i = 0; i < boxes.count && e == ERR_OK; i++, at += strlen(at) + 1) {
        snprintf(name, sizeof name, "%s___%s", b->field[NAME], at);
        for (char *l = name; *l != '\0'; l++)
            *l = *l == '-' ? '_' : (char)tolower((unsigned char)*l);
        e = outline_next(b->outline, name, &c);
        if (e == ERR_OK)
            e = take_kind(b, c);
        if (e == ERR_OK)
            e = bytes_ok(&c->values.text);
    }
    bytes_clear(&boxes.text);
    return e;
}

static enum err add_column(struct codebook *b)
{
    const char *identifier = b->field[IDENTIFIER];
    struct outline_column *c;
    if (b->field[KIND] != NULL && strcasecmp(b->field[KIND], "checkbox") == 0 &&
        b->field[VALUES] != NULL)
        return add_boxes(b);
    TRY(outline_next(b->outline, b->field[NAME], &c));
    TRY(take_kind(b, c));
    take_missing(b, c);
    c->bins = fmax(0, isnan(bound(b->field[BINS], false)) ? 0 : bound(b->field[BINS], false));
    c->step = fmax(0, isnan(bound(b->field[STEP], false)) ? 0 : bound(b->field[STEP], false));
    if (identifier != NULL && tolower((unsigned char)*identifier) == 'y') {
        c->kind = OUTLINE_NONE;
        snprintf(c->note, sizeof c->note, "an identifier");
    }
    TRY(bytes_ok(&c->values.text));
    return bytes_ok(&c->missing.text);
}

static enum err take_row(void *codebook)
{
    struct codebook *b = codebook;
    enum err e = ERR_OK;
    if (b->header && b->field[NAME] != NULL)
        e = add_column(b);
    else if (!b->header && !b->known[NAME])
        return log_fail(b->log, ERR_DATA,
                        "%s:%zu: the first line of a codebook names, separated by commas, what it "
                        "says: name, kind, values (or range), missing",
                        b->path, b->place.line);
    b->header = true;
    forget(b);
    return e;
}

enum err outline_codebook(struct outline *o, const char *path, struct log *log)
{
    struct codebook b CLEAN(forget) = {.outline = o, .path = table_csv_name(path), .log = log};
    const struct csv_sink sink = {take_field, take_row, &b};
    for (size_t i = 0; i < FIELDS_MAX; i++)
        b.role[i] = ROLES;
    TRY(csv_split(path, ',', &sink, &b.place, log));
    if (o->count == 0)
        return log_fail(log, ERR_DATA, "%s names no column", b.path);
    outline_came(o, b.known[VALIDATION] ? "the REDCap data dictionary" : "the codebook", path);
    return ERR_OK;
}
