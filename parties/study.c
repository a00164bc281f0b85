#include "parties/study.h"

#include "aim/schedule.h"
#include "base/date.h"
#include "base/memory.h"
#include "parties/nearest.h"
#include "parties/study_terms.h"
#include "parties/yaml.h"
#include "protocols/records.h"

#include <stdlib.h>
#include <string.h>

#define CLIQUES_MAX 100000
#define LABEL_SIZE 128 /* an attribute's name, with its NUL */
#define INTEGER_MAX 1000000000000000LL

/* What every parser below works on. */
struct reading {
    struct yaml_file *file;
    struct study *study;
    char note[768]; /* what aim/ said about a part, to be told again with its place */
    struct log quiet;
};

static void begin_note(struct reading *r)
{
    r->note[0] = '\0';
    r->quiet = (struct log){.buffer = r->note, .buffer_size = sizeof r->note, .level = LOG_ERROR};
}

/* Tells an error of aim/ again, at its place in the file. */
static enum err end_note(struct reading *r, enum err e, const yaml_node_t *node)
{
    const char *text = r->note;
    if (e == ERR_OK || e == ERR_NOMEM)
        return e;
    if (strncmp(text, "error: ", 7) == 0)
        text += 7;
    r->note[strcspn(r->note, "\n")] = '\0';
    return yaml_error(r->file, node, "%s", *text != '\0' ? text : error_text(e));
}

/* --- small parts -------------------------------------------------------------------------------
 */

bool study_good_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n > 0 && n < STUDY_NAME_SIZE && text[n] == '\0';
}

static enum err read_name(struct reading *r, const yaml_node_t *node, const char *what,
                          char name[STUDY_NAME_SIZE])
{
    const char *text;
    TRY(yaml_text(r->file, node, what, &text));
    if (!study_good_name(text))
        return yaml_error(r->file, node, "%s is \"%.64s\"; it should be 1 to %d of a-z 0-9 _ -",
                          what, text, STUDY_NAME_SIZE - 1);
    memcpy(name, text, strlen(text) + 1);
    return ERR_OK;
}

static enum err read_key(struct reading *r, const yaml_node_t *node, struct public_identity *key)
{
    const char *text;
    enum err e;
    TRY(yaml_text(r->file, node, "key", &text));
    e = public_identity_parse(key, text);
    return e == ERR_OK ? ERR_OK : yaml_error(r->file, node, "%s", keys_parse_hint(e));
}

static enum err read_unsigned(struct reading *r, const yaml_node_t *node, const char *what,
                              unsigned least, unsigned most, unsigned *v)
{
    int64_t n;
    if (node == NULL)
        return ERR_OK; /* optional: the default stays */
    TRY(yaml_integer(r->file, node, what, least, most, &n));
    *v = (unsigned)n;
    return ERR_OK;
}

/* --- domain ------------------------------------------------------------------------------------
 */

enum {
    ATTR_NAME,
    ATTR_KIND,
    ATTR_MISSING,
    ATTR_OUTSIDE,
    ATTR_VALUES,
    ATTR_EDGES,
    ATTR_MIN,
    ATTR_MAX,
    ATTR_BINS,
    ATTR_KEYS
};
static const struct yaml_key attribute_keys[ATTR_KEYS] = {
    [ATTR_NAME] = {"name", false},       [ATTR_KIND] = {"kind", true},
    [ATTR_MISSING] = {"missing", false}, [ATTR_OUTSIDE] = {"outside", false},
    [ATTR_VALUES] = {"values", false},   [ATTR_EDGES] = {"edges", false},
    [ATTR_MIN] = {"min", false},         [ATTR_MAX] = {"max", false},
    [ATTR_BINS] = {"bins", false},
};

struct attribute {
    const char *name;
    const char *missing;
    enum domain_policy policy;
    const yaml_node_t *node, *part[ATTR_KEYS];
};

static enum err need(struct reading *r, const struct attribute *a, int part, const char *kind)
{
    if (a->part[part] != NULL)
        return ERR_OK;
    return yaml_error(r->file, a->node, "%s attribute %.64s lacks the key \"%s\"; add it", kind,
                      a->name, attribute_keys[part].name);
}

static enum err refuse(struct reading *r, const struct attribute *a, int part, const char *kind)
{
    if (a->part[part] == NULL)
        return ERR_OK;
    return yaml_error(r->file, a->part[part],
                      "%s attribute %.64s takes no \"%s\" here; leave it out", kind, a->name,
                      attribute_keys[part].name);
}

static enum err add_categorical(struct reading *r, const struct attribute *a)
{
    static const int others[] = {ATTR_EDGES, ATTR_MIN, ATTR_MAX, ATTR_BINS};
    const yaml_node_t *node = a->part[ATTR_VALUES];
    const char **labels;
    size_t count;
    enum err e = ERR_OK;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        TRY(refuse(r, a, others[i], "the categorical"));
    TRY(need(r, a, ATTR_VALUES, "the categorical"));
    TRY(yaml_list(r->file, node, "values", 1, DOMAIN_SIZE_MAX, &count));
    labels = memory_array(count, sizeof *labels);
    if (labels == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = yaml_text(r->file, yaml_item(r->file, node, i), "a value", &labels[i]);
    if (e == ERR_OK) {
        begin_note(r);
        e = domain_add_categorical(r->study->domain, a->name, labels, count, a->missing, a->policy,
                                   &r->quiet);
        e = end_note(r, e, node);
    }
    memory_free(&labels);
    return e;
}

static enum err add_integer(struct reading *r, const struct attribute *a)
{
    static const int others[] = {ATTR_VALUES, ATTR_EDGES, ATTR_BINS};
    int64_t min, max;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        TRY(refuse(r, a, others[i], "the integer"));
    TRY(need(r, a, ATTR_MIN, "the integer"));
    TRY(need(r, a, ATTR_MAX, "the integer"));
    TRY(yaml_integer(r->file, a->part[ATTR_MIN], "min", -INTEGER_MAX, INTEGER_MAX, &min));
    TRY(yaml_integer(r->file, a->part[ATTR_MAX], "max", min, INTEGER_MAX, &max));
    begin_note(r);
    return end_note(
        r,
        domain_add_integer(r->study->domain, a->name, min, max, a->missing, a->policy, &r->quiet),
        a->node);
}

static enum err read_edges(struct reading *r, const struct attribute *a, double *edges,
                           size_t count)
{
    const yaml_node_t *node = a->part[ATTR_EDGES];
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *item = yaml_item(r->file, node, i);
        TRY(yaml_number(r->file, item, "an edge", -1e300, 1e300, &edges[i]));
        if (i > 0 && !(edges[i] > edges[i - 1]))
            return yaml_error(r->file, item,
                              "the edge %g does not exceed the one before, %g; "
                              "edges ascend",
                              edges[i], edges[i - 1]);
    }
    return ERR_OK;
}

static enum err even_edges(struct reading *r, const struct attribute *a, double *edges, size_t bins)
{
    double min, max;
    TRY(yaml_number(r->file, a->part[ATTR_MIN], "min", -1e300, 1e300, &min));
    TRY(yaml_number(r->file, a->part[ATTR_MAX], "max", -1e300, 1e300, &max));
    if (!(max > min))
        return yaml_error(r->file, a->part[ATTR_MAX], "max is %g; it should exceed min, %g", max,
                          min);
    for (size_t i = 0; i < bins; i++)
        edges[i] = min + (max - min) * ((double)i / (double)bins);
    edges[bins] = max;
    return ERR_OK;
}

/* How many edges; checks which keys are there. */
static enum err count_edges(struct reading *r, const struct attribute *a, size_t *count)
{
    int64_t bins;
    TRY(refuse(r, a, ATTR_VALUES, "the numeric"));
    if (a->part[ATTR_EDGES] != NULL) {
        TRY(refuse(r, a, ATTR_MIN, "the numeric"));
        TRY(refuse(r, a, ATTR_MAX, "the numeric"));
        TRY(refuse(r, a, ATTR_BINS, "the numeric"));
        return yaml_list(r->file, a->part[ATTR_EDGES], "edges", 2, DOMAIN_SIZE_MAX, count);
    }
    if (a->part[ATTR_MIN] == NULL && a->part[ATTR_MAX] == NULL && a->part[ATTR_BINS] == NULL)
        return yaml_error(r->file, a->node,
                          "the numeric attribute %.64s needs \"edges\", or \"min\", \"max\" and "
                          "\"bins\"; add them",
                          a->name);
    TRY(need(r, a, ATTR_MIN, "the numeric"));
    TRY(need(r, a, ATTR_MAX, "the numeric"));
    TRY(need(r, a, ATTR_BINS, "the numeric"));
    TRY(yaml_integer(r->file, a->part[ATTR_BINS], "bins", 1, DOMAIN_SIZE_MAX - 1, &bins));
    *count = (size_t)bins + 1;
    return ERR_OK;
}

static enum err add_numeric(struct reading *r, const struct attribute *a)
{
    double *edges;
    size_t count;
    enum err e;
    TRY(count_edges(r, a, &count));
    edges = memory_array(count, sizeof *edges);
    if (edges == NULL)
        return ERR_NOMEM;
    e = a->part[ATTR_EDGES] != NULL ? read_edges(r, a, edges, count)
                                    : even_edges(r, a, edges, count - 1);
    if (e == ERR_OK) {
        begin_note(r);
        e = domain_add_numeric(r->study->domain, a->name, edges, count, a->missing, a->policy,
                               &r->quiet);
        e = end_note(r, e, a->node);
    }
    memory_free(&edges);
    return e;
}

static enum err read_missing(struct reading *r, struct attribute *a, size_t kind)
{
    static const char *const policies[] = {"error", "clip", "missing"};
    const yaml_node_t *missing = a->part[ATTR_MISSING], *outside = a->part[ATTR_OUTSIDE];
    size_t policy = 0;
    if (missing != NULL)
        TRY(yaml_text(r->file, missing, "missing", &a->missing));
    if (outside != NULL)
        TRY(yaml_choice(r->file, outside, "outside", policies, 3, &policy));
    a->policy = policy == 1 ? DOMAIN_CLIP : policy == 2 ? DOMAIN_AS_MISSING : DOMAIN_REJECT;
    if (a->policy == DOMAIN_AS_MISSING && missing == NULL)
        return yaml_error(r->file, outside,
                          "outside: missing needs \"missing\" beside it, the text of a missing "
                          "value; add it");
    if (a->policy == DOMAIN_CLIP && kind == 0)
        return yaml_error(r->file, outside,
                          "texts have no order to clip to; use outside: error or missing");
    return ERR_OK;
}

/* `name` is the key of a mapping of attributes, or NULL in a list. */
static enum err read_attribute(struct reading *r, const yaml_node_t *node, const yaml_node_t *name)
{
    static const char *const kinds[] = {"categorical", "integer", "numeric"};
    struct attribute a = {.node = node};
    size_t kind;
    TRY(yaml_mapping(r->file, node, "an attribute", attribute_keys, ATTR_KEYS, a.part));
    if (name != NULL && a.part[ATTR_NAME] != NULL)
        return yaml_error(r->file, a.part[ATTR_NAME],
                          "the attribute has its name already, as key; leave this one out");
    if (name == NULL)
        name = a.part[ATTR_NAME];
    if (name == NULL)
        return yaml_error(r->file, node, "an attribute lacks the key \"name\"; add it");
    TRY(yaml_text(r->file, name, "name", &a.name));
    if (*a.name == '\0' || strlen(a.name) >= LABEL_SIZE)
        return yaml_error(r->file, name, "an attribute's name has 1 to %d bytes; shorten it",
                          LABEL_SIZE - 1);
    if (domain_find(r->study->domain, a.name) != DOMAIN_NO_CODE)
        return yaml_error(r->file, name, "there is an attribute %s already; rename one", a.name);
    TRY(yaml_choice(r->file, a.part[ATTR_KIND], "kind", kinds, 3, &kind));
    TRY(read_missing(r, &a, kind));
    return kind == 0 ? add_categorical(r, &a) : kind == 1 ? add_integer(r, &a) : add_numeric(r, &a);
}

struct entry {
    const char *text;
    const yaml_node_t *key, *value;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->text, ((const struct entry *)b)->text);
}

/* A mapping of attributes has no order in YAML, so that of the names is taken. */
static enum err read_domain_mapping(struct reading *r, const yaml_node_t *node)
{
    struct entry entries[DOMAIN_ATTRIBUTES_MAX];
    size_t count;
    TRY(yaml_entries(r->file, node, "domain", DOMAIN_ATTRIBUTES_MAX, &count));
    if (count == 0)
        return yaml_error(r->file, node, "the domain has no attribute; add one");
    for (size_t i = 0; i < count; i++) {
        yaml_entry(r->file, node, i, &entries[i].key, &entries[i].value);
        TRY(yaml_text(r->file, entries[i].key, "name", &entries[i].text));
    }
    qsort(entries, count, sizeof entries[0], by_text);
    for (size_t i = 0; i < count; i++)
        TRY(read_attribute(r, entries[i].value, entries[i].key));
    return ERR_OK;
}

static enum err read_domain(struct reading *r, const yaml_node_t *node)
{
    size_t count;
    TRY(domain_new(&r->study->domain));
    if (yaml_is_mapping(node))
        return read_domain_mapping(r, node);
    TRY(yaml_list(r->file, node, "domain", 1, DOMAIN_ATTRIBUTES_MAX, &count));
    for (size_t i = 0; i < count; i++)
        TRY(read_attribute(r, yaml_item(r->file, node, i), NULL));
    return ERR_OK;
}

static enum err unknown_attribute(struct reading *r, const yaml_node_t *node, const char *text)
{
    const struct domain *d = r->study->domain;
    const char *names[DOMAIN_ATTRIBUTES_MAX] = {0};
    size_t hit;
    for (size_t i = 0; i < d->attributes; i++)
        names[i] = d->attribute[i].name;
    hit = nearest(text, names, d->attributes);
    if (hit < d->attributes)
        return yaml_error(r->file, node,
                          "the domain has no attribute \"%.64s\"; did you mean \"%.64s\"?", text,
                          names[hit]);
    return yaml_error(r->file, node,
                      "the domain has no attribute \"%.64s\"; name one of its attributes", text);
}

/* --- what is impossible ------------------------------------------------------------------------
 */

#define IMPOSSIBLE_CELLS_MAX 1000000

/* What one line says of one column: which of its codes. */
struct codes {
    uint16_t attribute;
    size_t count;
    uint32_t *code; /* ascending */
};

static enum err read_value(struct reading *r, const yaml_node_t *node, uint16_t attribute,
                           bool *marked)
{
    struct domain_attribute strict = r->study->domain->attribute[attribute];
    const char *text;
    uint32_t code;
    strict.policy = DOMAIN_REJECT; /* a value that is clipped elsewhere is none here */
    TRY(yaml_text(r->file, node, strict.name, &text));
    code = domain_code(&strict, text);
    if (code == DOMAIN_NO_CODE)
        return yaml_error(r->file, node, "%.64s has no value \"%.64s\"", strict.name, text);
    if (strict.kind == DOMAIN_NUMERIC && code < strict.values)
        return yaml_error(
            r->file, node,
            "%.64s is cut into bins; name whole bins by their edges: {from: %g, to: %g}",
            strict.name, strict.edges[code], strict.edges[code + 1]);
    marked[code] = true;
    return ERR_OK;
}

static enum err read_edge(struct reading *r, const yaml_node_t *node,
                          const struct domain_attribute *a, uint32_t *edge)
{
    double v;
    TRY(yaml_number(r->file, node, a->name, -1e300, 1e300, &v));
    for (*edge = 0; *edge <= a->values; ++*edge)
        if (a->edges[*edge] == v)
            return ERR_OK;
    return yaml_error(r->file, node, "%g is not an edge of %.64s; bins are impossible as a whole",
                      v, a->name);
}

/* {from: x, to: y}: whole numbers, both included, or the bins between two edges. */
static enum err read_range(struct reading *r, const yaml_node_t *node, uint16_t attribute,
                           bool *marked)
{
    static const struct yaml_key keys[] = {{"from", true}, {"to", true}};
    const struct domain_attribute *a = &r->study->domain->attribute[attribute];
    const yaml_node_t *part[2];
    uint32_t first, end;
    TRY(yaml_mapping(r->file, node, a->name, keys, 2, part));
    if (a->kind == DOMAIN_CATEGORICAL)
        return yaml_error(r->file, node, "%.64s has texts, which have no range; list them",
                          a->name);
    if (a->kind == DOMAIN_INTEGER) {
        int64_t from, to;
        TRY(yaml_integer(r->file, part[0], "from", a->min, a->max, &from));
        TRY(yaml_integer(r->file, part[1], "to", from, a->max, &to));
        first = (uint32_t)(from - a->min);
        end = (uint32_t)(to - a->min) + 1;
    } else {
        TRY(read_edge(r, part[0], a, &first));
        TRY(read_edge(r, part[1], a, &end));
        if (first >= end)
            return yaml_error(r->file, part[1], "the range ends where it begins, or before");
    }
    for (uint32_t code = first; code < end; code++)
        marked[code] = true;
    return ERR_OK;
}

static enum err mark_codes(struct reading *r, const yaml_node_t *node, uint16_t attribute,
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

static enum err read_codes(struct reading *r, const yaml_node_t *node, struct codes *codes)
{
    uint32_t size = r->study->domain->attribute[codes->attribute].size;
    bool *marked = memory_array(size, sizeof *marked);
    enum err e;
    codes->code = memory_array(size, sizeof *codes->code);
    e = marked == NULL || codes->code == NULL ? ERR_NOMEM
                                              : mark_codes(r, node, codes->attribute, marked);
    for (uint32_t c = 0; e == ERR_OK && c < size; c++)
        if (marked[c])
            codes->code[codes->count++] = c;
    memory_free(&marked);
    return e;
}

static int by_attribute(const void *x, const void *y)
{
    const struct codes *a = x, *b = y;
    return (a->attribute > b->attribute) - (a->attribute < b->attribute);
}

/* The entry of the study that has this line's columns; a new one if there is none. */
static enum err zeros_of(struct study *s, const struct clique *clique, struct zeros **zero)
{
    struct zeros *grown;
    for (size_t k = 0; k < s->zeros; k++)
        if (clique_equal(&s->zero[k].clique, clique)) {
            *zero = &s->zero[k];
            return ERR_OK;
        }
    grown = memory_grow(s->zero, s->zeros + 1, sizeof *grown);
    if (grown == NULL)
        return ERR_NOMEM;
    s->zero = grown;
    *zero = &grown[s->zeros++];
    **zero = (struct zeros){.clique = *clique};
    return ERR_OK;
}

/* Every combination of the codes, as cells of the columns' marginal. */
static enum err add_cells(struct reading *r, const yaml_node_t *node, const struct codes *codes,
                          size_t columns)
{
    const struct domain *d = r->study->domain;
    struct clique clique = {.n = (uint16_t)columns};
    uint64_t more = 1;
    struct zeros *zero;
    uint32_t *grown;
    for (size_t k = 0; k < columns; k++) {
        clique.attribute[k] = codes[k].attribute;
        more = more > IMPOSSIBLE_CELLS_MAX ? more : more * codes[k].count;
    }
    TRY(zeros_of(r->study, &clique, &zero));
    if (more + zero->cells > IMPOSSIBLE_CELLS_MAX || clique_cells(&clique, d) > UINT32_MAX)
        return yaml_error(r->file, node, "more than %d cells are impossible; coarsen the columns",
                          IMPOSSIBLE_CELLS_MAX);
    grown = memory_grow((uint32_t *)(uintptr_t)zero->cell, zero->cells + more, sizeof *grown);
    if (grown == NULL)
        return ERR_NOMEM;
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

/* A line {column: values, column: values}: no row has them together. */
static enum err read_combination(struct reading *r, const yaml_node_t *node)
{
    struct codes codes[CLIQUE_MAX] = {{0}};
    size_t columns;
    enum err e;
    TRY(yaml_entries(r->file, node, "a combination", CLIQUE_MAX, &columns));
    e = columns > 0 ? ERR_OK
                    : yaml_error(r->file, node, "a combination names no column; name two or more");
    for (size_t k = 0; e == ERR_OK && k < columns; k++) {
        const yaml_node_t *key, *value;
        const char *name;
        uint32_t index;
        yaml_entry(r->file, node, k, &key, &value);
        e = yaml_text(r->file, key, "a column", &name);
        if (e != ERR_OK)
            break;
        index = domain_find(r->study->domain, name);
        if (index == DOMAIN_NO_CODE) {
            e = unknown_attribute(r, key, name);
            break;
        }
        codes[k].attribute = (uint16_t)index;
        e = read_codes(r, value, &codes[k]);
    }
    if (e == ERR_OK) {
        qsort(codes, columns, sizeof codes[0], by_attribute);
        e = add_cells(r, node, codes, columns);
    }
    for (size_t k = 0; k < CLIQUE_MAX; k++)
        memory_free(&codes[k].code);
    return e;
}

static int by_cell(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Ascending, each once: lines that say the same in another way mean the same. */
static void tidy(struct zeros *zero)
{
    uint32_t *cell = (uint32_t *)(uintptr_t)zero->cell;
    size_t kept = 0;
    qsort(cell, zero->cells, sizeof *cell, by_cell);
    for (size_t i = 0; i < zero->cells; i++)
        if (kept == 0 || cell[kept - 1] != cell[i])
            cell[kept++] = cell[i];
    zero->cells = kept;
}

static enum err read_impossible(struct reading *r, const yaml_node_t *node)
{
    size_t count;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_list(r->file, node, "impossible", 1, 10000, &count));
    for (size_t i = 0; i < count; i++)
        TRY(read_combination(r, yaml_item(r->file, node, i)));
    for (size_t k = 0; k < r->study->zeros; k++)
        tidy(&r->study->zero[k]);
    return ERR_OK;
}

/* --- workload ----------------------------------------------------------------------------------
 */

/* n over k, or `most` + 1 if it is more. */
static uint64_t choose(uint64_t n, uint64_t k, uint64_t most)
{
    uint64_t c = 1;
    for (uint64_t i = 1; i <= k && c <= most; i++)
        c = c * (n - k + i) / i;
    return c <= most ? c : most + 1;
}

/* The k of {all: k} or {random: k, ...}, of which there must not be too many. */
static enum err read_ways(struct reading *r, const yaml_node_t *node, const char *name, unsigned *k)
{
    const struct domain *d = r->study->domain;
    size_t most = d->attributes < CLIQUE_MAX ? d->attributes : CLIQUE_MAX;
    int64_t ways;
    TRY(yaml_integer(r->file, node, name, 1, (int64_t)most, &ways));
    *k = (unsigned)ways;
    return ERR_OK;
}

static enum err read_workload_all(struct reading *r, const yaml_node_t *all)
{
    const struct domain *d = r->study->domain;
    unsigned k;
    TRY(read_ways(r, all, "all", &k));
    if (choose(d->attributes, k, CLIQUES_MAX) > CLIQUES_MAX)
        return yaml_error(r->file, all,
                          "all marginals of %u among %zu attributes are more than %d; lower it, or "
                          "list those that matter",
                          k, d->attributes, CLIQUES_MAX);
    begin_note(r);
    return end_note(r, workload_all(&r->study->workload, d, k, &r->quiet), all);
}

static enum err read_workload_random(struct reading *r, const yaml_node_t *node,
                                     const yaml_node_t *part[3])
{
    int64_t count, seed;
    unsigned k;
    if (part[1] == NULL || part[2] == NULL)
        return yaml_error(r->file, node,
                          "a random workload needs a count and a seed: {random: 3, count: 64, "
                          "seed: 1}");
    TRY(read_ways(r, part[0], "random", &k));
    TRY(yaml_integer(r->file, part[1], "count", 1, CLIQUES_MAX, &count));
    TRY(yaml_integer(r->file, part[2], "seed", 0, INT64_MAX, &seed));
    begin_note(r);
    return end_note(r,
                    workload_random(&r->study->workload, r->study->domain, k, (size_t)count,
                                    (uint64_t)seed, &r->quiet),
                    node);
}

/* {all: k}, or {random: k, count: n, seed: s}. */
static enum err read_workload_rule(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"all", false}, {"random", false}, {"count", false}, {"seed", false}};
    const yaml_node_t *part[4];
    TRY(yaml_mapping(r->file, node, "workload", keys, 4, part));
    if ((part[0] != NULL) == (part[1] != NULL) ||
        (part[0] != NULL && (part[2] != NULL || part[3] != NULL)))
        return yaml_error(r->file, node,
                          "should be {all: k}, {random: k, count: n, seed: s}, or a list");
    return part[0] != NULL ? read_workload_all(r, part[0])
                           : read_workload_random(r, node, &part[1]);
}

/* Names of different attributes, given in any order, as ascending indices. */
static enum err read_attributes(struct reading *r, const yaml_node_t *node, const char *what,
                                size_t most, uint16_t *attribute, size_t *count)
{
    TRY(yaml_list(r->file, node, what, 1, most, count));
    for (size_t i = 0; i < *count; i++) {
        const yaml_node_t *item = yaml_item(r->file, node, i);
        const char *text;
        uint32_t index;
        size_t at = i;
        TRY(yaml_text(r->file, item, "an attribute", &text));
        index = domain_find(r->study->domain, text);
        if (index == DOMAIN_NO_CODE)
            return unknown_attribute(r, item, text);
        for (; at > 0 && attribute[at - 1] >= index; at--) {
            if (attribute[at - 1] == index)
                return yaml_error(r->file, item, "the attribute %.64s comes twice; leave one out",
                                  text);
            attribute[at] = attribute[at - 1];
        }
        attribute[at] = (uint16_t)index;
    }
    return ERR_OK;
}

static enum err read_clique(struct reading *r, const yaml_node_t *node, struct clique *clique)
{
    size_t count;
    *clique = (struct clique){0};
    TRY(read_attributes(r, node, "attributes", CLIQUE_MAX, clique->attribute, &count));
    clique->n = (uint16_t)count;
    return ERR_OK;
}

static enum err read_cliques(struct reading *r, const yaml_node_t *node, struct clique *cliques,
                             double *weights, size_t count)
{
    static const struct yaml_key keys[] = {{"attributes", true}, {"weight", false}};
    for (size_t i = 0; i < count; i++) {
        const yaml_node_t *part[2];
        const yaml_node_t *item = yaml_item(r->file, node, i);
        TRY(yaml_mapping(r->file, item, "a marginal of the workload", keys, 2, part));
        TRY(read_clique(r, part[0], &cliques[i]));
        weights[i] = 1;
        if (part[1] != NULL)
            TRY(yaml_number(r->file, part[1], "weight", 1e-6, 1e6, &weights[i]));
    }
    begin_note(r);
    return end_note(
        r, workload_new(&r->study->workload, r->study->domain, cliques, weights, count, &r->quiet),
        node);
}

static enum err read_workload(struct reading *r, const yaml_node_t *node)
{
    struct clique *cliques;
    double *weights;
    size_t count;
    enum err e;
    if (yaml_is_mapping(node))
        return read_workload_rule(r, node);
    TRY(yaml_list(r->file, node, "workload", 1, CLIQUES_MAX, &count));
    cliques = memory_array(count, sizeof *cliques);
    weights = memory_array(count, sizeof *weights);
    e = cliques == NULL || weights == NULL ? ERR_NOMEM
                                           : read_cliques(r, node, cliques, weights, count);
    memory_free(&cliques);
    memory_free(&weights);
    return e;
}

/* --- budget, noise, deadlines, model -----------------------------------------------------------
 */

static enum err read_budget(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"epsilon", true}, {"delta", true}, {"rows_per_person", false}};
    const yaml_node_t *part[3];
    TRY(yaml_mapping(r->file, node, "budget", keys, 3, part));
    TRY(yaml_number(r->file, part[0], "epsilon", 1e-4, 100, &r->study->epsilon));
    TRY(yaml_number(r->file, part[1], "delta", 1e-15, 0.01, &r->study->delta));
    return read_unsigned(r, part[2], "rows_per_person", 1, 10000, &r->study->rows_per_person);
}

/* A number of rounds, or "annealed": as many as the budget allows, at most 16 for each column. */
static enum err read_rounds(struct reading *r, const yaml_node_t *node)
{
    const char *text;
    TRY(yaml_text(r->file, node, "rounds", &text));
    if (strcmp(text, "annealed") != 0)
        return read_unsigned(r, node, "rounds", 1, STUDY_ROUNDS_MAX, &r->study->rounds);
    r->study->annealed = true;
    r->study->rounds = schedule_rounds_most(r->study->workload->one_ways, 0, true);
    return ERR_OK;
}

static enum err read_noise(struct reading *r, const yaml_node_t *node)
{
    static const char *const kinds[] = {"box-muller", "discrete"};
    size_t kind = 0;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_choice(r->file, node, "noise", kinds, 2, &kind));
    r->study->noise = kind == 1 ? STUDY_DISCRETE : STUDY_BOX_MULLER;
    return ERR_OK;
}

static enum err read_score(struct reading *r, const yaml_node_t *node)
{
    static const char *const kinds[] = {"l1", "l2"};
    size_t kind = 0;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_choice(r->file, node, "score", kinds, 2, &kind));
    r->study->score = kind == 1 ? AIM_L2 : AIM_L1;
    return ERR_OK;
}

static enum err read_late_uploads(struct reading *r, const yaml_node_t *node)
{
    static const char *const words[] = {"wait", "join"};
    size_t join = 0;
    if (node != NULL)
        TRY(yaml_choice(r->file, node, "late_uploads", words, 2, &join));
    r->study->late_join = join == 1;
    return ERR_OK;
}

static enum err read_date(struct reading *r, const yaml_node_t *node, const char *what,
                          int64_t *seconds)
{
    const char *text;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(r->file, node, what, &text));
    if (!date_parse(text, seconds))
        return yaml_error(r->file, node,
                          "%s is \"%s\"; write a time in UTC as 2026-12-01T18:00:00Z", what, text);
    return ERR_OK;
}

static enum err read_deadlines(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"connect", false}, {"round", false}, {"uploads", false}};
    const yaml_node_t *part[3];
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "deadlines", keys, 3, part));
    TRY(read_unsigned(r, part[0], "connect", 1, 3600, &r->study->connect_s));
    TRY(read_unsigned(r, part[1], "round", 1, 86400, &r->study->round_s));
    return read_date(r, part[2], "uploads", &r->study->uploads_until);
}

static enum err read_model(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"max_mib", false}, {"iterations", false}, {"final_iterations", false}};
    const yaml_node_t *part[3];
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "model", keys, 3, part));
    TRY(read_unsigned(r, part[0], "max_mib", 1, 65536, &r->study->max_mib));
    TRY(read_unsigned(r, part[1], "iterations", 1, 1000000, &r->study->iterations));
    return read_unsigned(r, part[2], "final_iterations", 1, 1000000, &r->study->final_iterations);
}

/* --- who takes part ----------------------------------------------------------------------------
 */

static bool good_host(const char *host)
{
    size_t n = strlen(host);
    if (host[0] == '[')
        return n > 3 && host[n - 1] == ']' && strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2;
    return n > 0 && host[0] != '-' && host[0] != '.' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == n;
}

static bool parse_endpoint(const char *text, struct study_server *server)
{
    const char *host = text + 6, *colon = strrchr(text, ':');
    const char *digits;
    size_t n, m;
    unsigned long port;
    if (strncmp(text, "tcp://", 6) != 0 || colon < host)
        return false;
    n = (size_t)(colon - host);
    digits = colon + 1;
    m = strspn(digits, "0123456789");
    if (n >= STUDY_HOST_SIZE || m == 0 || m > 5 || digits[m] != '\0' || digits[0] == '0')
        return false;
    memcpy(server->host, host, n);
    server->host[n] = '\0';
    port = strtoul(digits, NULL, 10);
    server->port = (uint16_t)port;
    return good_host(server->host) && port <= 65535 - (STUDY_PORTS - 1);
}

static enum err read_endpoint(struct reading *r, const yaml_node_t *node, size_t index)
{
    struct study_server *server = r->study->server;
    const char *text;
    TRY(yaml_text(r->file, node, "endpoint", &text));
    if (!parse_endpoint(text, &server[index]))
        return yaml_error(r->file, node,
                          "endpoint is \"%.64s\"; it should be tcp://host:port with a port from 1 "
                          "to %d",
                          text, 65535 - (STUDY_PORTS - 1));
    for (size_t i = 0; i < index; i++)
        if (strcmp(server[i].host, server[index].host) == 0 &&
            abs((int)server[i].port - (int)server[index].port) < STUDY_PORTS)
            return yaml_error(r->file, node,
                              "ports %d to %d overlap those of server %s; each server uses %d "
                              "ports from its own on",
                              server[index].port, server[index].port + STUDY_PORTS - 1,
                              server[i].name, STUDY_PORTS);
    return ERR_OK;
}

/* Everybody, for the search for repeated names and keys. */
struct person {
    const char *name;
    const struct public_identity *key;
    const yaml_node_t *name_node, *key_node;
};

struct people {
    struct person *person;
    size_t count;
};

static enum err read_servers(struct reading *r, const yaml_node_t *node, struct people *people)
{
    static const struct yaml_key keys[] = {{"name", true}, {"endpoint", true}, {"key", true}};
    size_t count;
    TRY(yaml_list(r->file, node, "servers", STUDY_SERVERS, STUDY_SERVERS, &count));
    for (size_t i = 0; i < count; i++) {
        struct study_server *s = &r->study->server[i];
        const yaml_node_t *part[3];
        TRY(yaml_mapping(r->file, yaml_item(r->file, node, i), "a server", keys, 3, part));
        TRY(read_name(r, part[0], "name", s->name));
        TRY(read_endpoint(r, part[1], i));
        TRY(read_key(r, part[2], &s->key));
        people->person[people->count++] = (struct person){s->name, &s->key, part[0], part[2]};
    }
    return ERR_OK;
}

enum { OWNER_MAX_ROWS, OWNER_MIN_ROWS, OWNER_PAD_TO, OWNER_AS, OWNER_BOUNDS };

/* How many rows, how many records, and in what form. */
static enum err read_bounds(struct reading *r, const yaml_node_t *part[OWNER_BOUNDS],
                            struct study_owner *o)
{
    static const char *const forms[] = {"auto", "answers", "records"};
    int64_t rows, padded;
    size_t form = STUDY_AUTO;
    TRY(yaml_integer(r->file, part[OWNER_MAX_ROWS], "max_rows", 1, INT32_MAX, &rows));
    padded = rows;
    TRY(read_unsigned(r, part[OWNER_MIN_ROWS], "min_rows", 0, (unsigned)rows, &o->min_rows));
    if (part[OWNER_PAD_TO] != NULL)
        TRY(yaml_integer(r->file, part[OWNER_PAD_TO], "pad_to", rows, INT32_MAX, &padded));
    if (part[OWNER_AS] != NULL)
        TRY(yaml_choice(r->file, part[OWNER_AS], "as", forms, 3, &form));
    o->max_rows = (uint32_t)rows;
    o->pad_to = (uint32_t)padded;
    o->as = (enum study_form)form;
    while ((o->max_rows >> o->bits) != 0)
        o->bits++;
    return ERR_OK;
}

/* --- batches: owners that hold different columns of the same rows ---------------------------------
 */

/* An owner's `batch` and `columns` as they stand in the file; NULL in both: all columns, for itself. */
struct holding {
    const yaml_node_t *node, *batch, *columns;
    const char *name; /* of the batch */
};

static enum err read_columns(struct reading *r, struct study_owner *o, struct holding *part)
{
    const struct domain *d = r->study->domain;
    o->columns = d->attributes;
    o->column = memory_array(d->attributes, sizeof *o->column);
    if (o->column == NULL)
        return ERR_NOMEM;
    for (size_t a = 0; a < d->attributes; a++)
        o->column[a] = (uint16_t)a;
    if (part->batch == NULL && part->columns == NULL)
        return ERR_OK;
    if (part->batch == NULL || part->columns == NULL)
        return yaml_error(
            r->file, part->node,
            "%s has a key \"%s\" without \"%s\"; an owner of some columns needs both, "
            "one of whole rows neither",
            o->name, part->batch != NULL ? "batch" : "columns",
            part->batch != NULL ? "columns" : "batch");
    TRY(yaml_text(r->file, part->batch, "batch", &part->name));
    if (!study_good_name(part->name))
        return yaml_error(r->file, part->batch,
                          "batch is \"%.64s\"; it should be 1 to %d of a-z 0-9 _ -", part->name,
                          STUDY_NAME_SIZE - 1);
    return read_attributes(r, part->columns, "columns", d->attributes, o->column, &o->columns);
}

/* The first owner of the batch; two of a batch hold the same number of rows. */
static enum err find_batch(struct reading *r, const struct holding *parts, size_t i)
{
    struct study_owner *owner = r->study->owner;
    owner[i].batch = i;
    for (size_t k = 0; parts[i].name != NULL && k < i; k++) {
        if (parts[k].name == NULL || strcmp(parts[k].name, parts[i].name) != 0)
            continue;
        owner[i].batch = owner[k].batch;
        if (owner[k].max_rows != owner[i].max_rows || owner[k].pad_to != owner[i].pad_to)
            return yaml_error(
                r->file, parts[i].node,
                "%s and %s hold columns of the same rows (batch %s) but have max_rows "
                "%u and %u, pad_to %u and %u; make them equal",
                owner[k].name, owner[i].name, parts[i].name, owner[k].max_rows, owner[i].max_rows,
                owner[k].pad_to, owner[i].pad_to);
        break;
    }
    return ERR_OK;
}

/* Each column of the domain at exactly one of the batch's owners; `i` is the first of them. */
static enum err check_batch(struct reading *r, const struct holding *parts, size_t i)
{
    const struct study *s = r->study;
    const struct study_owner *holder[DOMAIN_ATTRIBUTES_MAX] = {NULL};
    for (size_t k = i; k < s->owners; k++)
        for (size_t c = 0; s->owner[k].batch == i && c < s->owner[k].columns; c++) {
            uint16_t a = s->owner[k].column[c];
            if (holder[a] != NULL)
                return yaml_error(r->file, parts[k].columns,
                                  "%s and %s both hold the column %.64s of batch %s; leave it out "
                                  "at one of them",
                                  holder[a]->name, s->owner[k].name, s->domain->attribute[a].name,
                                  parts[k].name);
            holder[a] = &s->owner[k];
        }
    for (size_t a = 0; a < s->domain->attributes; a++)
        if (holder[a] == NULL)
            return yaml_error(r->file, parts[i].batch,
                              "no owner of batch %s holds the column %.64s; add it to the columns "
                              "of one of them",
                              parts[i].name, s->domain->attribute[a].name);
    return ERR_OK;
}

static enum err read_batches(struct reading *r, struct holding *parts)
{
    const struct study *s = r->study;
    unsigned most = 0; /* columns of a marginal */
    for (size_t q = 0; q < s->workload->queries; q++)
        most = s->workload->query[q].clique.n > most ? s->workload->query[q].clique.n : most;
    for (size_t i = 0; i < s->owners; i++)
        TRY(read_columns(r, &s->owner[i], &parts[i]));
    for (size_t i = 0; i < s->owners; i++)
        TRY(find_batch(r, parts, i));
    for (size_t i = 0; i < s->owners; i++)
        if (parts[i].name != NULL && s->owner[i].batch == i)
            TRY(check_batch(r, parts, i));
    for (size_t i = 0; i < s->owners; i++)
        if (parts[i].name != NULL && most > RECORDS_ORDER_MAX)
            return yaml_error(r->file, parts[i].batch,
                              "rows whose columns are at several owners are counted by the "
                              "servers, in marginals of at most %d columns; the workload has "
                              "larger ones: leave those out",
                              RECORDS_ORDER_MAX);
    return ERR_OK;
}

static enum err read_owner(struct reading *r, const yaml_node_t *node, struct study_owner *o,
                           struct holding *part, struct people *people)
{
    static const struct yaml_key keys[] = {
        {"name", true},    {"key", true}, {"max_rows", true}, {"min_rows", false},
        {"pad_to", false}, {"as", false}, {"batch", false},   {"columns", false}};
    const yaml_node_t *p[8];
    TRY(yaml_mapping(r->file, node, "an owner", keys, 8, p));
    TRY(read_name(r, p[0], "name", o->name));
    TRY(read_key(r, p[1], &o->key));
    TRY(read_bounds(r, &p[2], o)); /* in the order of the enumeration */
    *part = (struct holding){.node = node, .batch = p[6], .columns = p[7]};
    people->person[people->count++] = (struct person){o->name, &o->key, p[0], p[1]};
    return ERR_OK;
}

static enum err read_owners(struct reading *r, const yaml_node_t *node, struct people *people)
{
    struct study *s = r->study;
    struct holding *parts = memory_array(s->owners, sizeof *parts);
    enum err e = parts == NULL ? ERR_NOMEM : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < s->owners; i++)
        e = read_owner(r, yaml_item(r->file, node, i), &s->owner[i], &parts[i], people);
    if (e == ERR_OK)
        e = read_batches(r, parts);
    memory_free(&parts);
    return e;
}

static enum err read_analysts(struct reading *r, const yaml_node_t *node, struct people *people)
{
    static const struct yaml_key keys[] = {{"name", true}, {"key", true}};
    for (size_t i = 0; i < r->study->analysts; i++) {
        struct study_analyst *a = &r->study->analyst[i];
        const yaml_node_t *part[2];
        TRY(yaml_mapping(r->file, yaml_item(r->file, node, i), "an analyst", keys, 2, part));
        TRY(read_name(r, part[0], "name", a->name));
        TRY(read_key(r, part[1], &a->key));
        people->person[people->count++] = (struct person){a->name, &a->key, part[0], part[1]};
    }
    return ERR_OK;
}

static int later(const struct person *a, const struct person *b)
{
    size_t x = a->name_node->start_mark.index, y = b->name_node->start_mark.index;
    return (x > y) - (x < y);
}

static int by_name(const void *x, const void *y)
{
    const struct person *a = x, *b = y;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : later(a, b);
}

static int by_sign(const void *x, const void *y)
{
    const struct person *a = x, *b = y;
    int order = memcmp(a->key->sign, b->key->sign, sizeof a->key->sign);
    return order != 0 ? order : later(a, b);
}

static int by_curve(const void *x, const void *y)
{
    const struct person *a = x, *b = y;
    int order = memcmp(a->key->curve, b->key->curve, sizeof a->key->curve);
    return order != 0 ? order : later(a, b);
}

static enum err check_unique(struct reading *r, struct people *people)
{
    struct person *p = people->person;
    qsort(p, people->count, sizeof *p, by_name);
    for (size_t i = 1; i < people->count; i++)
        if (strcmp(p[i].name, p[i - 1].name) == 0)
            return yaml_error(r->file, p[i].name_node,
                              "the name %s is taken (line %zu); names occur once", p[i].name,
                              p[i - 1].name_node->start_mark.line + 1);
    for (int curve = 0; curve < 2; curve++) {
        qsort(p, people->count, sizeof *p, curve ? by_curve : by_sign);
        for (size_t i = 1; i < people->count; i++) {
            const struct public_identity *a = p[i].key, *b = p[i - 1].key;
            if (memcmp(curve ? a->curve : a->sign, curve ? b->curve : b->sign, 32) == 0)
                return yaml_error(r->file, p[i].key_node,
                                  "%s has the key of %s (line %zu); a key has one role, so make "
                                  "another with trefoil keygen",
                                  p[i].name, p[i - 1].name, p[i - 1].key_node->start_mark.line + 1);
        }
    }
    return ERR_OK;
}

/* Answers or records: what the owner is bounded by. Public values alone decide. */
static enum err choose_forms(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    for (size_t i = 0; i < s->owners; i++) {
        struct study_owner *o = &s->owner[i];
        uint64_t records = study_records_bytes(s, i);
        if (o->as == STUDY_RECORDS && records == UINT64_MAX)
            return yaml_error(r->file, yaml_item(r->file, node, i),
                              "%s cannot send records, since a marginal has more than %d "
                              "attributes; use as: answers",
                              o->name, RECORDS_ORDER_MAX);
        if (o->as == STUDY_ANSWERS && o->columns < s->domain->attributes)
            return yaml_error(r->file, yaml_item(r->file, node, i),
                              "%s holds some of the columns, and so cannot count marginals; leave "
                              "out as: answers",
                              o->name);
        o->records = o->as == STUDY_RECORDS || o->columns < s->domain->attributes ||
                     (o->as == STUDY_AUTO && records < study_answers_bytes(s, i));
    }
    return ERR_OK;
}

/* What one owner can add to a cell, whichever form it sends. */
static uint64_t largest_count(const struct study_owner *o)
{
    uint64_t answers = ((uint64_t)1 << o->bits) - 1;
    return o->records && o->pad_to > answers ? o->pad_to : answers;
}

/* The least l with the sum over owners of their largest counts below 2^l: no count wraps in l bits. */
static enum err find_count_bits(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    uint64_t sum = 0;
    for (size_t i = 0; i < s->owners; i++)
        sum += s->owner[i].batch == i ? largest_count(&s->owner[i]) : 0;
    while ((sum >> s->count_bits) != 0)
        s->count_bits++;
    if (s->count_bits > STUDY_COUNT_BITS_MAX)
        return yaml_error(r->file, node,
                          "all owners' bounds together need %u bits; at most %d are allowed: lower "
                          "some max_rows (each counts as the next power of two)",
                          s->count_bits, STUDY_COUNT_BITS_MAX);
    return ERR_OK;
}

static enum err read_people(struct reading *r, const yaml_node_t *servers,
                            const yaml_node_t *owners, const yaml_node_t *analysts)
{
    struct study *s = r->study;
    struct people people = {0};
    size_t n_owners, n_analysts;
    enum err e;
    TRY(yaml_list(r->file, owners, "owners", 1, STUDY_OWNERS_MAX, &n_owners));
    TRY(yaml_list(r->file, analysts, "analysts", 1, STUDY_ANALYSTS_MAX, &n_analysts));
    s->owner = memory_array(n_owners, sizeof *s->owner);
    s->analyst = memory_array(n_analysts, sizeof *s->analyst);
    people.person = memory_array(STUDY_SERVERS + n_owners + n_analysts, sizeof *people.person);
    if (s->owner == NULL || s->analyst == NULL || people.person == NULL) {
        memory_free(&people.person);
        return ERR_NOMEM;
    }
    s->owners = n_owners;
    s->analysts = n_analysts;
    e = read_servers(r, servers, &people);
    if (e == ERR_OK)
        e = read_owners(r, owners, &people);
    if (e == ERR_OK)
        e = read_analysts(r, analysts, &people);
    if (e == ERR_OK)
        e = check_unique(r, &people);
    memory_free(&people.person);
    if (e == ERR_OK)
        e = choose_forms(r, owners);
    return e == ERR_OK ? find_count_bits(r, owners) : e;
}

/* --- the roster's own parts --------------------------------------------------------------------
 */

static enum err read_revoked(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    size_t count;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_list(r->file, node, "revoked", 0, STUDY_REVOKED_MAX, &count));
    s->revoked = memory_array(count, sizeof *s->revoked);
    if (s->revoked == NULL)
        return ERR_NOMEM;
    for (; s->revoked_count < count; s->revoked_count++)
        TRY(read_key(r, yaml_item(r->file, node, s->revoked_count), &s->revoked[s->revoked_count]));
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        if (study_revoked(s, &s->server[i].key))
            return yaml_error(r->file, node,
                              "the key of server %s is revoked; put a renewed one (trefoil keygen "
                              "--renew) in its place",
                              s->server[i].name);
    return ERR_OK;
}

static enum err read_signatures(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    struct yaml_key keys[STUDY_SERVERS];
    const yaml_node_t *part[STUDY_SERVERS];
    if (node == NULL)
        return ERR_OK;
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        keys[i] = (struct yaml_key){s->server[i].name, false};
    TRY(yaml_mapping(r->file, node, "signatures", keys, STUDY_SERVERS, part));
    for (size_t i = 0; i < STUDY_SERVERS; i++) {
        const char *text;
        if (part[i] == NULL)
            continue;
        TRY(yaml_text(r->file, part[i], "a signature", &text));
        if (keys_signature_parse(s->signature[i].bytes, text) != ERR_OK)
            return yaml_error(r->file, part[i],
                              "this is not a signature; paste the line trefoil-sig1-... that "
                              "trefoil roster sign printed");
        s->signature[i].given = true;
    }
    return ERR_OK;
}

static enum err read_roster(struct reading *r, const yaml_node_t *version,
                            const yaml_node_t *revoked, const yaml_node_t *signatures)
{
    TRY(read_unsigned(r, version, "roster", 1, 1000000, &r->study->roster_version));
    TRY(read_revoked(r, revoked));
    return read_signatures(r, signatures);
}

/* --- the whole ---------------------------------------------------------------------------------
 */

enum {
    TOP_STUDY,
    TOP_DOMAIN,
    TOP_IMPOSSIBLE,
    TOP_WORKLOAD,
    TOP_BUDGET,
    TOP_NOISE,
    TOP_SCORE,
    TOP_ROUNDS,
    TOP_SERVERS,
    TOP_OWNERS,
    TOP_MIN_OWNERS,
    TOP_LATE_UPLOADS,
    TOP_ANALYSTS,
    TOP_RETAIN_DAYS,
    TOP_DEADLINES,
    TOP_MODEL,
    TOP_ROSTER,
    TOP_REVOKED,
    TOP_SIGNATURES,
    TOP_KEYS
};
static const struct yaml_key top_keys[TOP_KEYS] = {
    [TOP_STUDY] = {"study", true},
    [TOP_DOMAIN] = {"domain", true},
    [TOP_IMPOSSIBLE] = {"impossible", false},
    [TOP_WORKLOAD] = {"workload", true},
    [TOP_BUDGET] = {"budget", true},
    [TOP_NOISE] = {"noise", false},
    [TOP_SCORE] = {"score", false},
    [TOP_ROUNDS] = {"rounds", true},
    [TOP_SERVERS] = {"servers", true},
    [TOP_OWNERS] = {"owners", true},
    [TOP_ANALYSTS] = {"analysts", true},
    [TOP_RETAIN_DAYS] = {"retain_days", false},
    [TOP_DEADLINES] = {"deadlines", false},
    [TOP_MODEL] = {"model", false},
    [TOP_ROSTER] = {"roster", false},
    [TOP_REVOKED] = {"revoked", false},
    [TOP_SIGNATURES] = {"signatures", false},
    [TOP_MIN_OWNERS] = {"min_owners", false},
    [TOP_LATE_UPLOADS] = {"late_uploads", false},
};

static enum err read_study(struct reading *r)
{
    const yaml_node_t *part[TOP_KEYS];
    if (!yaml_is_mapping(yaml_root(r->file)))
        return yaml_error(r->file, yaml_root(r->file),
                          "this is no study file; trefoil init writes an example of one");
    TRY(yaml_mapping(r->file, yaml_root(r->file), "the study file", top_keys, TOP_KEYS, part));
    TRY(read_name(r, part[TOP_STUDY], "study", r->study->name));
    TRY(read_domain(r, part[TOP_DOMAIN]));
    TRY(read_impossible(r, part[TOP_IMPOSSIBLE]));
    TRY(read_workload(r, part[TOP_WORKLOAD]));
    TRY(read_budget(r, part[TOP_BUDGET]));
    TRY(read_noise(r, part[TOP_NOISE]));
    TRY(read_score(r, part[TOP_SCORE]));
    TRY(read_rounds(r, part[TOP_ROUNDS]));
    TRY(read_people(r, part[TOP_SERVERS], part[TOP_OWNERS], part[TOP_ANALYSTS]));
    TRY(read_unsigned(r, part[TOP_RETAIN_DAYS], "retain_days", 1, 3650, &r->study->retain_days));
    r->study->min_owners = (unsigned)r->study->owners;
    TRY(read_unsigned(r, part[TOP_MIN_OWNERS], "min_owners", 1, r->study->min_owners,
                      &r->study->min_owners));
    TRY(read_late_uploads(r, part[TOP_LATE_UPLOADS]));
    TRY(read_deadlines(r, part[TOP_DEADLINES]));
    TRY(read_model(r, part[TOP_MODEL]));
    TRY(read_roster(r, part[TOP_ROSTER], part[TOP_REVOKED], part[TOP_SIGNATURES]));
    return study_digest(r->study);
}

static enum err study_read(struct study **study, struct yaml_file *file, struct log *log)
{
    struct reading r = {.file = file};
    enum err e;
    r.study = memory_array(1, sizeof *r.study);
    if (r.study == NULL)
        return ERR_NOMEM;
    *r.study = (struct study){
        .rows_per_person = 1,
        .noise = STUDY_BOX_MULLER,
        .connect_s = 30,
        .round_s = 120,
        .max_mib = 80,
        .iterations = 100,
        .final_iterations = 1000,
        .roster_version = 1,
    };
    e = read_study(&r);
    if (e == ERR_NOMEM)
        log_error(log, "not enough memory for the study: %s", error_text(e));
    if (e == ERR_OK)
        *study = r.study;
    else
        study_free(&r.study);
    return e;
}

enum err study_parse(struct study **study, const char *path, const void *text, size_t n,
                     struct log *log)
{
    struct yaml_file *file;
    enum err e;
    *study = NULL;
    TRY(yaml_parse(&file, path, text, n, log));
    e = study_read(study, file, log);
    yaml_close(&file);
    return e;
}

enum err study_load(struct study **study, const char *path, struct log *log)
{
    struct yaml_file *file;
    enum err e;
    *study = NULL;
    TRY(yaml_open(&file, path, log));
    e = study_read(study, file, log);
    yaml_close(&file);
    return e;
}

void study_free(struct study **study)
{
    struct study *s = *study;
    if (s == NULL)
        return;
    for (size_t i = 0; s->owner != NULL && i < s->owners; i++)
        memory_free(&s->owner[i].column);
    for (size_t k = 0; k < s->zeros; k++) {
        uint32_t *cell = (uint32_t *)(uintptr_t)s->zero[k].cell;
        memory_free(&cell);
    }
    memory_free(&s->zero);
    workload_free(&s->workload);
    domain_free(&s->domain);
    memory_free(&s->owner);
    memory_free(&s->analyst);
    memory_free(&s->revoked);
    memory_free(study);
}

/* --- questions ---------------------------------------------------------------------------------
 */

bool study_revoked(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->revoked_count; i++)
        if (public_identity_equal(&study->revoked[i], who))
            return true;
    return false;
}

size_t study_find_server(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        if (public_identity_equal(&study->server[i].key, who))
            return i;
    return SIZE_MAX;
}

size_t study_find_owner(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->owners; i++)
        if (public_identity_equal(&study->owner[i].key, who))
            return i;
    return SIZE_MAX;
}

size_t study_find_analyst(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->analysts; i++)
        if (public_identity_equal(&study->analyst[i].key, who))
            return i;
    return SIZE_MAX;
}

void study_endpoint(const struct study *study, size_t server, enum study_port port,
                    char text[STUDY_ENDPOINT_SIZE])
{
    study_listen(study, server, port, study->server[server].host, 0, text);
}

void study_listen(const struct study *study, size_t server, enum study_port port, const char *host,
                  uint16_t first, char text[STUDY_ENDPOINT_SIZE])
{
    unsigned base = first != 0 ? first : study->server[server].port;
    snprintf(text, STUDY_ENDPOINT_SIZE, "tcp://%.253s:%u", host != NULL ? host : "0.0.0.0",
             base + (unsigned)port);
}

uint64_t study_answers_bytes(const struct study *study, size_t owner)
{
    return (study->workload->maximal_cells * study->owner[owner].bits + 7) / 8;
}

unsigned study_record_bits(const struct study *study, size_t owner)
{
    const struct study_owner *o = &study->owner[owner];
    unsigned bits = 1; /* validity */
    for (size_t c = 0; c < o->columns; c++)
        for (uint32_t k = 1; k < study->domain->attribute[o->column[c]].size; k *= 2)
            bits++;
    return bits;
}

uint64_t study_records_bytes(const struct study *study, size_t owner)
{
    const struct workload *w = study->workload;
    for (size_t q = 0; q < w->queries; q++)
        if (w->query[q].clique.n > RECORDS_ORDER_MAX)
            return UINT64_MAX;
    return study_record_bits(study, owner) * (((uint64_t)study->owner[owner].pad_to + 7) / 8);
}

uint64_t study_upload_bytes(const struct study *study, size_t owner)
{
    return study->owner[owner].records ? study_records_bytes(study, owner)
                                       : study_answers_bytes(study, owner);
}

size_t study_taking_part(const struct study *study, bool *has)
{
    size_t left = 0;
    for (size_t i = 0; i < study->owners; i++) /* the first of a batch has it if all have */
        if (!has[i])
            has[study->owner[i].batch] = false;
    for (size_t i = 0; i < study->owners; i++) {
        has[i] = has[study->owner[i].batch];
        left += has[i];
    }
    return left;
}

unsigned study_upload_form(const struct study *study, size_t owner)
{
    return study->owner[owner].records ? 0 : study->owner[owner].bits;
}

uint64_t study_form_bytes(const struct study *study, size_t owner, unsigned form)
{
    const struct study_owner *o = &study->owner[owner];
    if (form == study_upload_form(study, owner))
        return study_upload_bytes(study, owner);
    if (form != 0 || o->pad_to >> o->bits != 0)
        return 0;
    return study_records_bytes(study, owner) == UINT64_MAX ? 0 : study_records_bytes(study, owner);
}
