/* Columns that follow from others: `from`, `read` and `computed`; cells that ties exclude. */
#include "aim/question/lexer.h"
#include "aim/question/question.h"
#include "aim/table/derive.h"
#include "aim/table/number.h"
#include "base/memory.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CELLS_MOST (UINT64_C(1) << 20)
#define CONSTANT_MOST (INT64_C(1) << 50)

/* --- expressions ------------------------------------------------------------------------------ */

/* An expression while it is read, `e`, and where it stands. */
struct expression {
    struct study_reading *r;
    const yaml_node_t *node;
    struct lexer lexer;
    struct derive *e;
};

static enum err fail(struct expression *x, const char *what)
{
    return yaml_error(x->r->file, x->node, "%s is \"%.100s\": %s", x->e->name, x->e->text, what);
}

static enum err next(struct expression *x)
{
    return lexer_next(&x->lexer) == ERR_OK ? ERR_OK : fail(x, "this cannot be read");
}

static enum err pass(struct expression *x, const char *symbol)
{
    char what[64];
    snprintf(what, sizeof what, "%s should stand before or after its columns", symbol);
    return lexer_is(&x->lexer, symbol) ? next(x) : fail(x, what);
}

static enum err add_column(struct expression *x, int sign)
{
    const struct lexer_token *t = &x->lexer.token;
    struct derive *e = x->e;
    if (t->kind != TOKEN_WORD && t->kind != TOKEN_NAME)
        return fail(x, "it should name a column here");
    if (e->columns == DERIVE_COLUMNS)
        return fail(x, "it names more than 4 columns");
    e->sign[e->columns] = (int8_t)sign;
    e->column[e->columns] = memory_string(t->text);
    if (e->column[e->columns++] == NULL)
        return ERR_NOMEM;
    return next(x);
}

static enum err read_term(struct expression *x, int sign)
{
    int64_t number;
    if (x->lexer.token.kind != TOKEN_NUMBER)
        return add_column(x, sign);
    if (!number_integer(x->lexer.token.text, &number) || number > CONSTANT_MOST)
        return fail(x, "its numbers should be whole ones");
    x->e->constant += sign * number;
    if (llabs(x->e->constant) > CONSTANT_MOST)
        return fail(x, "its numbers add up to more than 2^50");
    return next(x);
}

static enum err read_sum(struct expression *x)
{
    int sign = lexer_is(&x->lexer, "-") ? -1 : 1;
    x->e->op = DERIVE_SUM;
    if (sign < 0)
        TRY(next(x));
    for (;;) {
        TRY(read_term(x, sign));
        if (!lexer_is(&x->lexer, "+") && !lexer_is(&x->lexer, "-"))
            return ERR_OK;
        sign = lexer_is(&x->lexer, "-") ? -1 : 1;
        TRY(next(x));
    }
}

/* lookup(city, "places.csv", region): what the file has in `region` beside its first column. */
static enum err read_lookup(struct expression *x)
{
    const struct lexer_token *t = &x->lexer.token;
    char file[TOKEN_TEXT];
    TRY(add_column(x, 1));
    TRY(pass(x, ","));
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_LABEL)
        return fail(x, "a file's name in quotes should come after the column");
    snprintf(file, sizeof file, "%s", t->text);
    TRY(next(x));
    TRY(pass(x, ","));
    if (t->kind != TOKEN_WORD && t->kind != TOKEN_NAME)
        return fail(x, "the name of the file's column should come last");
    TRY(study_read_book(x->r, x->node, file, t->text, true, x->e));
    return next(x);
}

static enum err read_call(struct expression *x, const char *word)
{
    const struct question_part *part = question_part_of(word);
    x->e->op = part != NULL                      ? DERIVE_PART
               : strcasecmp(word, "lookup") == 0 ? DERIVE_LOOKUP
               : strcasecmp(word, "age") == 0    ? DERIVE_AGE
                                                 : DERIVE_READ;
    if (part != NULL)
        x->e->part = part->value;
    if (x->e->op == DERIVE_READ)
        return fail(x, "there are year, quarter, month, weekday, hour, age and lookup");
    if (x->e->op == DERIVE_LOOKUP)
        return read_lookup(x);
    TRY(add_column(x, 1));
    if (x->e->op != DERIVE_AGE)
        return ERR_OK;
    TRY(pass(x, ","));
    return add_column(x, 1);
}

static enum err read_expression(struct study_reading *r, const yaml_node_t *node, struct derive *e)
{
    struct expression x = {.r = r, .node = node, .lexer = {.text = e->text}, .e = e};
    struct lexer before;
    TRY(next(&x));
    before = x.lexer;
    if (x.lexer.token.kind == TOKEN_WORD)
        TRY(next(&x));
    if (before.token.kind == TOKEN_WORD && lexer_is(&x.lexer, "(")) {
        TRY(next(&x));
        TRY(read_call(&x, before.token.text));
        TRY(pass(&x, ")"));
    } else {
        x.lexer = before;
        TRY(read_sum(&x));
    }
    return x.lexer.token.kind == TOKEN_END ? ERR_OK : fail(&x, "it should end before that");
}

/* --- lists ------------------------------------------------------------------------------------ */

static enum err add(struct derive_list *list, const char *name, struct derive **e)
{
    TRY(memory_extend(&list->of, list->count + 1));
    *e = &list->of[list->count++];
    **e = (struct derive){.name = memory_string(name)};
    return (*e)->name != NULL ? ERR_OK : ERR_NOMEM;
}

static enum err add_expression(struct study_reading *r, struct derive_list *list, const char *name,
                               const yaml_node_t *node)
{
    struct derive *e;
    const char *text;
    TRY(yaml_text(r->file, node, "what it follows from", &text));
    TRY(add(list, name, &e));
    e->text = memory_string(text);
    if (e->text == NULL)
        return ERR_NOMEM;
    return read_expression(r, node, e);
}

static enum err read_read(struct study_reading *r, const yaml_node_t *node)
{
    static const char *const kinds[] = {"integer", "numeric", "date", "categorical"};
    static const enum derive_type types[] = {DERIVE_NUMBER, DERIVE_NUMBER, DERIVE_DATE,
                                             DERIVE_TEXT};
    const yaml_node_t *name, *kind, *unit, *format;
    const struct yaml_key keys[] = {{"name", true, &name},
                                    {"kind", true, &kind},
                                    {"unit", false, &unit},
                                    {"format", false, &format}};
    size_t word = 0;
    const char *text;
    struct derive *e;
    TRY(yaml_mapping(r->file, node, "a column to read", COUNTED(keys)));
    TRY(yaml_text(r->file, name, "name", &text));
    TRY(yaml_choice(r->file, kind, "kind", COUNTED(kinds), &word));
    if (domain_find(r->study->domain, text) != DOMAIN_NO_CODE)
        return yaml_error(r->file, name, "%.64s is in the domain, and read anyway; leave it out",
                          text);
    if (types[word] != DERIVE_DATE && (unit != NULL || format != NULL))
        return yaml_error(r->file, unit != NULL ? unit : format,
                          "this is for dates alone; leave it out");
    TRY(add(&r->study->domain->derived->read, text, &e));
    e->type = types[word];
    return e->type == DERIVE_DATE ? study_read_calendar(r, text, unit, format, &e->calendar)
                                  : ERR_OK;
}

static enum err read_computed(struct study_reading *r, const yaml_node_t *node)
{
    const yaml_node_t *name, *as;
    const struct yaml_key keys[] = {{"name", true, &name}, {"as", true, &as}};
    const char *text;
    TRY(yaml_mapping(r->file, node, "a computed column", COUNTED(keys)));
    TRY(yaml_text(r->file, name, "name", &text));
    return add_expression(r, &r->study->domain->derived->computed, text, as);
}

static enum err read_list(struct study_reading *r, const yaml_node_t *node, const char *what,
                          enum err (*one)(struct study_reading *r, const yaml_node_t *node))
{
    size_t count;
    TRY(yaml_list(r->file, node, what, 1, DOMAIN_ATTRIBUTES_MAX, &count));
    for (size_t i = 0; i < count; i++)
        TRY(one(r, yaml_item(r->file, node, i)));
    return ERR_OK;
}

/* What `from` reads and only `computed` describes is read as it is computed. */
static enum err add_reads(struct domain *d)
{
    const struct derive_list *from = &d->derived->from, *computed = &d->derived->computed;
    for (size_t i = 0; i < from->count; i++)
        for (uint32_t k = 0; k < from->of[i].columns; k++)
            for (size_t c = 0; c < computed->count; c++) {
                const char *name = computed->of[c].name;
                struct derive *e;
                bool known = strcmp(name, from->of[i].column[k]) != 0;
                for (size_t j = 0; j < d->derived->read.count; j++)
                    known |= strcmp(d->derived->read.of[j].name, name) == 0;
                if (known)
                    continue;
                TRY(add(&d->derived->read, name, &e));
                e->type = computed->of[c].type;
                e->calendar = computed->of[c].calendar;
            }
    return ERR_OK;
}

/* --- ties ------------------------------------------------------------------------------------- */

/* Which cells of a clique have values. */
struct cells {
    const struct domain *domain;
    struct clique clique;
    bool *seen;
};

static void mark(void *to, const uint32_t *code)
{
    struct cells *c = to;
    size_t cell = 0;
    for (unsigned i = 0; i < c->clique.n; i++)
        cell = cell * c->domain->attribute[c->clique.attribute[i]].size + code[i];
    c->seen[cell] = true;
}

static enum err exclude(struct study_reading *r, struct derive_plan *p, size_t tie)
{
    const struct derive_tie *t = derive_tie(p, tie);
    struct cells c = {.domain = r->study->domain, .clique = {.n = t->columns}};
    bool *seen CLEAN(memory_release) = NULL;
    uint32_t *zero CLEAN(memory_release) = NULL;
    uint64_t cells, zeros = 0;
    memcpy(c.clique.attribute, t->column, t->columns * sizeof *t->column);
    cells = clique_cells(&c.clique, c.domain);
    if (cells > CELLS_MOST)
        return log_fail(&r->quiet, ERR_STUDY,
                        "%s: these follow from each other and have more than %llu cells; take "
                        "wider bins, or do not measure one of them",
                        clique_name(&c.clique, c.domain).text, (unsigned long long)CELLS_MOST);
    TRY(memory_new(&seen, cells));
    TRY(memory_new(&zero, cells));
    c.seen = seen;
    TRY(derive_cells(p, tie, mark, &c, &r->quiet));
    for (uint64_t i = 0; i < cells; i++)
        if (!seen[i])
            zero[zeros++] = (uint32_t)i;
    return zeros > 0 ? study_add_cells(r->study, &c.clique, zero, zeros) : ERR_OK;
}

static enum err find_ties(struct study_reading *r)
{
    struct derive_plan *p CLEAN(derive_free) = NULL;
    enum err e = derive_new(&p, r->study->domain);
    if (e == ERR_STUDY)
        return log_fail(&r->quiet, e,
                        "more than %d columns follow from each other; do not measure "
                        "all of them",
                        DERIVE_TIE);
    TRY(e);
    for (size_t i = 0; i < derive_ties(p); i++)
        TRY(exclude(r, p, i));
    return ERR_OK;
}

/* --- the whole -------------------------------------------------------------------------------- */

static enum err read_all(struct study_reading *r)
{
    struct domain *d = r->study->domain;
    TRY(memory_new(&d->derived, 1));
    TRY(read_list(r, r->at.read, "read", read_read));
    for (size_t a = 0; a < d->attributes; a++)
        if (r->derives[a] != NULL)
            TRY(add_expression(r, &d->derived->from, d->attribute[a].name, r->derives[a]));
    return read_list(r, r->at.computed, "computed", read_computed);
}

/* Where the expression of a column stands. */
static const yaml_node_t *place_of(const struct study_reading *r, const struct derive *bad)
{
    const uint32_t a = bad != NULL ? domain_find(r->study->domain, bad->name) : DOMAIN_NO_CODE;
    return a != DOMAIN_NO_CODE && r->derives[a] != NULL ? r->derives[a] : r->at.computed;
}

enum err study_read_derived(struct study_reading *r)
{
    struct domain *d = r->study->domain;
    const struct derive *bad = NULL;
    const yaml_node_t *first = r->at.computed != NULL ? r->at.computed : r->at.read;
    enum err e;
    for (size_t a = d->attributes; a-- > 0;)
        first = r->derives[a] != NULL ? r->derives[a] : first;
    if (first == NULL)
        return ERR_OK;
    TRY(read_all(r));
    e = derive_check_computed(d, &bad, &r->quiet); /* their types, for what `from` reads of them */
    TRY(study_note(r, e, place_of(r, bad)));
    TRY(add_reads(d));
    e = derive_check(d, &bad, &r->quiet);
    TRY(study_note(r, e, place_of(r, bad)));
    return study_note(r, find_ties(r), first);
}

enum err study_check_ties(struct study_reading *r)
{
    const struct study *s = r->study;
    if (method_of(s)->zeros || s->zeros == 0)
        return ERR_OK;
    for (size_t a = 0; a < s->domain->attributes; a++)
        if (r->derives[a] != NULL)
            return yaml_error(r->file, r->derives[a],
                              "method: %s cannot keep columns of which one follows from the other; "
                              "compute %.64s when rows are written (`computed`), or take method: "
                              "aim",
                              method_of(s)->word, s->domain->attribute[a].name);
    return ERR_OK;
}
