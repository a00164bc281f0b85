/* Combinations of values that cannot occur, as cells of their columns' marginals. */
#include "aim/table/step.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/study/study_column.h"

#include <stdlib.h>
#include <string.h>

#define IMPOSSIBLE_CELLS_MAX 1000000

/* Which codes of a column one line names. */
struct codes {
    uint16_t attribute;
    size_t count;
    uint32_t *code; /* ascending */
};

/* As the study may write it. */
static const char *edge_text(const struct domain_attribute *a, uint32_t code,
                             char room[COLUMN_TEXT])
{
    return domain_is_quoted(a) ? a->kind->spell(a, domain_number(a, code), room)
                               : domain_text(a, code, 6, room);
}

static enum err read_value(struct study_reading *r, const yaml_node_t *node, uint16_t attribute,
                           bool *marked)
{
    struct domain_attribute strict = r->study->domain->attribute[attribute];
    const char *text;
    char from[COLUMN_TEXT], to[COLUMN_TEXT];
    uint32_t code;
    strict.policy = DOMAIN_REJECT; /* a value that is clipped elsewhere is an error here */
    TRY(yaml_text(r->file, node, strict.name, &text));
    code = domain_code(&strict, text);
    if (code == DOMAIN_NO_CODE)
        return yaml_error(r->file, node, "%.64s has no value \"%.64s\"", strict.name, text);
    if (domain_has_bins(&strict) && code < strict.values && !domain_spike(&strict, code))
        return yaml_error(
            r->file, node,
            "%.64s is cut into bins; name whole bins by their edges: {from: %s, to: %s}",
            strict.name, edge_text(&strict, code, from), edge_text(&strict, code + 1, to));
    marked[code] = true;
    return ERR_OK;
}

/* Whether v begins a bin: it is the bin's edge, or the first multiple of the step in it. */
static bool begins(const struct domain_attribute *a, uint32_t code, double v)
{
    struct step s;
    uint64_t count;
    return a->edges[code] == v || (a->step > 0 && step_of(a->step, &s) &&
                                   step_value(&s, domain_multiples(a, code, &count)) == v);
}

static enum err read_edge(struct study_reading *r, const yaml_node_t *node,
                          const struct domain_attribute *a, bool last, uint32_t *edge)
{
    const char *text;
    double v, end;
    char room[COLUMN_TEXT];
    if (domain_is_quoted(a)) {
        TRY(yaml_text(r->file, node, a->name, &text));
        if (!a->kind->spelt(a, text, &v, &end))
            return yaml_error(
                r->file, node,
                "%.64s is \"%.64s\"; write a %s such as %s, no finer than it has them", a->name,
                text, a->kind->noun, edge_text(a, 0, room));
    } else {
        TRY(yaml_number(r->file, node, a->name, -1e300, 1e300, &v));
        end = v;
    }
    *edge = a->values;
    if (last && end == a->edges[a->values])
        return ERR_OK;
    for (*edge = 0; *edge < a->values; ++*edge)
        if (begins(a, *edge, v))
            return ERR_OK;
    if (v == a->edges[a->values])
        return ERR_OK;
    return yaml_error(r->file, node,
                      "%s is not an edge of %.64s; only whole bins can be impossible",
                      domain_print(a, v, 6, room), a->name);
}

/* {from: x, to: y}: whole numbers, both included, or the bins between two edges. */
static enum err read_range(struct study_reading *r, const yaml_node_t *node, uint16_t attribute,
                           bool *marked)
{
    const yaml_node_t *first_node, *last_node;
    const struct yaml_key keys[] = {{"from", true, &first_node}, {"to", true, &last_node}};
    const struct domain_attribute *a = &r->study->domain->attribute[attribute];
    uint32_t first, end;
    TRY(yaml_mapping(r->file, node, a->name, COUNTED(keys)));
    if (!domain_has_bins(a) && !domain_has_numbers(a))
        return yaml_error(r->file, node, "%.64s has texts, which have no range; list them",
                          a->name);
    if (!domain_has_bins(a)) {
        int64_t from, to;
        TRY(yaml_integer(r->file, first_node, "from", a->min, a->max, &from));
        TRY(yaml_integer(r->file, last_node, "to", from, a->max, &to));
        first = (uint32_t)(from - a->min);
        end = (uint32_t)(to - a->min) + 1;
    } else {
        TRY(read_edge(r, first_node, a, false, &first));
        TRY(read_edge(r, last_node, a, true, &end));
        if (first >= end)
            return yaml_error(r->file, last_node, "the range ends where it begins, or before");
    }
    for (uint32_t code = first; code < end; code++)
        marked[code] = true;
    return ERR_OK;
}

static enum err mark_codes(struct study_reading *r, const yaml_node_t *node, uint16_t attribute,
                           bool *marked)
{
    const struct domain_attribute *a = &r->study->domain->attribute[attribute];
    size_t count;
    if (yaml_is_mapping(node))
        return read_range(r, node, attribute, marked);
    if (!yaml_is_list(node))
        return read_value(r, node, attribute, marked);
    TRY(yaml_list(r->file, node, a->name, 1, a->size, &count));
    for (size_t i = 0; i < count; i++)
        TRY(read_value(r, yaml_item(r->file, node, i), attribute, marked));
    return ERR_OK;
}

static enum err read_codes(struct study_reading *r, const yaml_node_t *node, struct codes *codes)
{
    uint32_t size = r->study->domain->attribute[codes->attribute].size;
    bool *marked CLEAN(memory_release) = NULL;
    TRY(memory_new(&codes->code, size));
    TRY(memory_new(&marked, size));
    TRY(mark_codes(r, node, codes->attribute, marked));
    for (uint32_t c = 0; c < size; c++)
        if (marked[c])
            codes->code[codes->count++] = c;
    return ERR_OK;
}

static int by_attribute(const void *x, const void *y)
{
    const struct codes *a = x, *b = y;
    return (a->attribute > b->attribute) - (a->attribute < b->attribute);
}

/* The study's entry for this line's columns; a new one if there is none. */
static enum err zeros_of(struct study *s, const struct clique *clique, struct workload_zeros **zero)
{
    for (size_t k = 0; k < s->zeros; k++)
        if (clique_equal(&s->zero[k].clique, clique)) {
            *zero = &s->zero[k];
            return ERR_OK;
        }
    TRY(memory_extend(&s->zero, s->zeros + 1));
    *zero = &s->zero[s->zeros++];
    **zero = (struct workload_zeros){.clique = *clique};
    return ERR_OK;
}

/* Every combination of the codes, as cells of the columns' marginal. */
static enum err add_cells(struct study_reading *r, const yaml_node_t *node,
                          const struct codes *codes, size_t columns)
{
    const struct domain *d = r->study->domain;
    struct clique clique = {.n = (uint16_t)columns};
    uint64_t more = 1;
    struct workload_zeros *zero;
    uint32_t *grown;
    for (size_t k = 0; k < columns; k++) {
        clique.attribute[k] = codes[k].attribute;
        more = more > IMPOSSIBLE_CELLS_MAX ? more : more * codes[k].count;
    }
    TRY(zeros_of(r->study, &clique, &zero));
    if (more + zero->cells > IMPOSSIBLE_CELLS_MAX)
        return yaml_error(r->file, node, "more than %d cells are impossible; coarsen the columns",
                          IMPOSSIBLE_CELLS_MAX);
    if (clique_cells(&clique, d) > UINT32_MAX)
        return yaml_error(r->file, node,
                          "these columns have more than %u cells together; name fewer of them, or "
                          "coarsen them",
                          UINT32_MAX);
    grown = (uint32_t *)(uintptr_t)zero->cell;
    TRY(memory_extend(&grown, zero->cells + more));
    zero->cell = grown;
    for (uint64_t i = 0; i < more; i++) {
        uint64_t rest = i, cell = 0, left = more;
        for (size_t k = 0; k < columns; k++) {
            left /= codes[k].count;
            cell = cell * d->attribute[codes[k].attribute].size + codes[k].code[rest / left];
            rest %= left;
        }
        grown[zero->cells++] = (uint32_t)cell;
    }
    return ERR_OK;
}

static enum err read_columns(struct study_reading *r, const yaml_node_t *node, struct codes *codes,
                             size_t columns)
{
    if (columns == 0)
        return yaml_error(r->file, node, "a combination names no column; name two or more");
    for (size_t k = 0; k < columns; k++) {
        struct yaml_entry entry = yaml_entry(r->file, node, k);
        uint32_t index = domain_find(r->study->domain, entry.name);
        if (index == DOMAIN_NO_CODE)
            return study_unknown_attribute(r, entry.key, entry.name);
        codes[k].attribute = (uint16_t)index;
        TRY(read_codes(r, entry.value, &codes[k]));
    }
    qsort(codes, columns, sizeof codes[0], by_attribute);
    return add_cells(r, node, codes, columns);
}

/* A line {column: values, column: values}: no row has them together. */
static enum err read_combination(struct study_reading *r, const yaml_node_t *node)
{
    struct codes codes[CLIQUE_MAX] = {{0}};
    size_t columns;
    enum err e;
    TRY(yaml_entries(r->file, node, "a combination", CLIQUE_MAX, &columns));
    e = read_columns(r, node, codes, columns);
    for (size_t k = 0; k < CLIQUE_MAX; k++)
        memory_free(&codes[k].code);
    return e;
}

static int by_cell(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Ascending, each once: lines that mean the same give the same cells. */
static void tidy(struct workload_zeros *zero)
{
    uint32_t *cell = (uint32_t *)(uintptr_t)zero->cell;
    size_t kept = 0;
    if (zero->cells == 0) /* nor is there a place for any */
        return;
    qsort(cell, zero->cells, sizeof *cell, by_cell);
    for (size_t i = 0; i < zero->cells; i++)
        if (kept == 0 || cell[kept - 1] != cell[i])
            cell[kept++] = cell[i];
    zero->cells = kept;
}

enum err study_add_cells(struct study *s, const struct clique *clique, const uint32_t *cell,
                         size_t cells)
{
    struct workload_zeros *zero;
    uint32_t *grown;
    TRY(zeros_of(s, clique, &zero));
    if (cells == 0)
        return ERR_OK;
    grown = (uint32_t *)(uintptr_t)zero->cell;
    TRY(memory_extend(&grown, zero->cells + cells));
    zero->cell = grown;
    memcpy(grown + zero->cells, cell, cells * sizeof *cell);
    zero->cells += cells;
    tidy(zero);
    return ERR_OK;
}

enum err study_read_impossible(struct study_reading *r)
{
    const yaml_node_t *node = r->at.impossible;
    size_t count;
    TRY(yaml_list(r->file, node, "impossible", 1, 10000, &count));
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(r, read_combination(r, yaml_item(r->file, node, i))));
    for (size_t k = 0; k < r->study->zeros; k++)
        tidy(&r->study->zero[k]);
    return ERR_OK;
}

enum err study_add_impossible(struct study *study, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    struct study_reading r = {.study = study};
    const struct yaml_key keys[] = {{"impossible", true, &r.at.impossible}};
    TRY(file_read(path, YAML_FILE_MAX, &text, log));
    TRY(yaml_parse(&file, path, text.data, text.size, log));
    TRY(yaml_mapping(file, yaml_root(file), "the file of what is impossible", COUNTED(keys)));
    r.file = file;
    r.path = path;
    r.log = log;
    TRY(study_read_impossible(&r));
    return study_sound(&r) ? ERR_OK : ERR_STUDY;
}
