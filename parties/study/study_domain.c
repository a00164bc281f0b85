/* The domain of a study file: its attributes, and their names where other parts give them. */
#include "base/memory.h"
#include "base/nearest.h"
#include "parties/study/study_parse.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_SIZE 128 /* an attribute's name, with its NUL */
#define INTEGER_MAX 1000000000000000LL

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
static const char *const attribute_keys[ATTR_KEYS] = {
    [ATTR_NAME] = "name",       [ATTR_KIND] = "kind",     [ATTR_MISSING] = "missing",
    [ATTR_OUTSIDE] = "outside", [ATTR_VALUES] = "values", [ATTR_EDGES] = "edges",
    [ATTR_MIN] = "min",         [ATTR_MAX] = "max",       [ATTR_BINS] = "bins",
};

enum {
    HAS_VALUES = 1 << ATTR_VALUES,
    HAS_EDGES = 1 << ATTR_EDGES,
    HAS_MIN = 1 << ATTR_MIN,
    HAS_MAX = 1 << ATTR_MAX,
    HAS_BINS = 1 << ATTR_BINS
};

static const char *const kinds[] = {[DOMAIN_CATEGORICAL] = "categorical",
                                    [DOMAIN_INTEGER] = "integer",
                                    [DOMAIN_NUMERIC] = "numeric"};

struct attribute {
    enum domain_kind kind;
    const char *name;
    const char *missing;
    enum domain_policy policy;
    const yaml_node_t *node, *part[ATTR_KEYS];
};

/* Complains of a key that is there and refused, or that is needed and not there: bits, as above. */
static enum err check_keys(struct reading *r, const struct attribute *a, unsigned needed,
                           unsigned refused)
{
    for (unsigned k = 0; k < ATTR_KEYS; k++)
        if ((refused >> k & 1) != 0 && a->part[k] != NULL)
            return yaml_error(r->file, a->part[k],
                              "the %s attribute %.64s takes no \"%s\" here; leave it out",
                              kinds[a->kind], a->name, attribute_keys[k]);
    for (unsigned k = 0; k < ATTR_KEYS; k++)
        if ((needed >> k & 1) != 0 && a->part[k] == NULL)
            return yaml_error(r->file, a->node,
                              "the %s attribute %.64s lacks the key \"%s\"; add it", kinds[a->kind],
                              a->name, attribute_keys[k]);
    return ERR_OK;
}

static enum err add_categorical(struct reading *r, const struct attribute *a)
{
    const yaml_node_t *node = a->part[ATTR_VALUES];
    const char **labels CLEAN(memory_release) = NULL;
    size_t count;
    TRY(check_keys(r, a, HAS_VALUES, HAS_EDGES | HAS_MIN | HAS_MAX | HAS_BINS));
    TRY(yaml_list(r->file, node, "values", 1, DOMAIN_SIZE_MAX, &count));
    labels = memory_array(count, sizeof *labels);
    if (labels == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++)
        TRY(yaml_text(r->file, yaml_item(r->file, node, i), "a value", &labels[i]));
    return study_note(r,
                      domain_add_categorical(r->study->domain, a->name, labels, count, a->missing,
                                             a->policy, &r->quiet),
                      node);
}

static enum err add_integer(struct reading *r, const struct attribute *a)
{
    int64_t min, max;
    TRY(check_keys(r, a, HAS_MIN | HAS_MAX, HAS_VALUES | HAS_EDGES | HAS_BINS));
    TRY(yaml_integer(r->file, a->part[ATTR_MIN], "min", -INTEGER_MAX, INTEGER_MAX, &min));
    TRY(yaml_integer(r->file, a->part[ATTR_MAX], "max", min, INTEGER_MAX, &max));
    return study_note(
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
    TRY(check_keys(r, a, 0, HAS_VALUES));
    if (a->part[ATTR_EDGES] != NULL) {
        TRY(check_keys(r, a, 0, HAS_MIN | HAS_MAX | HAS_BINS));
        return yaml_list(r->file, a->part[ATTR_EDGES], "edges", 2, DOMAIN_SIZE_MAX, count);
    }
    if (a->part[ATTR_MIN] == NULL && a->part[ATTR_MAX] == NULL && a->part[ATTR_BINS] == NULL)
        return yaml_error(r->file, a->node,
                          "the numeric attribute %.64s needs \"edges\", or \"min\", \"max\" and "
                          "\"bins\"; add them",
                          a->name);
    TRY(check_keys(r, a, HAS_MIN | HAS_MAX | HAS_BINS, 0));
    TRY(yaml_integer(r->file, a->part[ATTR_BINS], "bins", 1, DOMAIN_SIZE_MAX - 1, &bins));
    *count = (size_t)bins + 1;
    return ERR_OK;
}

static enum err add_numeric(struct reading *r, const struct attribute *a)
{
    double *edges CLEAN(memory_release) = NULL;
    size_t count;
    TRY(count_edges(r, a, &count));
    edges = memory_array(count, sizeof *edges);
    if (edges == NULL)
        return ERR_NOMEM;
    TRY(a->part[ATTR_EDGES] != NULL ? read_edges(r, a, edges, count)
                                    : even_edges(r, a, edges, count - 1));
    return study_note(r,
                      domain_add_numeric(r->study->domain, a->name, edges, count, a->missing,
                                         a->policy, &r->quiet),
                      a->node);
}

static enum err read_missing(struct reading *r, struct attribute *a)
{
    static const char *const policies[] = {
        [DOMAIN_REJECT] = "error", [DOMAIN_CLIP] = "clip", [DOMAIN_AS_MISSING] = "missing"};
    const yaml_node_t *missing = a->part[ATTR_MISSING], *outside = a->part[ATTR_OUTSIDE];
    /* a refusal can be seen, so that what refuses nothing goes first */
    size_t policy = a->kind != DOMAIN_CATEGORICAL ? DOMAIN_CLIP
                    : missing != NULL             ? DOMAIN_AS_MISSING
                                                  : DOMAIN_REJECT;
    if (missing != NULL)
        TRY(yaml_text(r->file, missing, "missing", &a->missing));
    TRY(yaml_choice(r->file, outside, "outside", policies, 3, &policy));
    a->policy = (enum domain_policy)policy;
    if (a->policy == DOMAIN_AS_MISSING && missing == NULL)
        return yaml_error(r->file, outside,
                          "outside: missing needs \"missing\" beside it, the text of a missing "
                          "value; add it");
    if (a->policy == DOMAIN_CLIP && a->kind == DOMAIN_CATEGORICAL)
        return yaml_error(r->file, outside,
                          "texts have no order to clip to; use outside: error or missing");
    return ERR_OK;
}

/* `name` is the key of a mapping of attributes, or NULL in a list. */
static enum err read_attribute(struct reading *r, const yaml_node_t *node, const yaml_node_t *name)
{
    struct attribute a = {.node = node};
    struct yaml_key keys[ATTR_KEYS];
    size_t kind;
    for (size_t k = 0; k < ATTR_KEYS; k++)
        keys[k] = (struct yaml_key){attribute_keys[k], k == ATTR_KIND, &a.part[k]};
    TRY(yaml_mapping(r->file, node, "an attribute", keys, ATTR_KEYS));
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
    a.kind = (enum domain_kind)kind;
    TRY(read_missing(r, &a));
    switch (a.kind) {
    case DOMAIN_CATEGORICAL:
        return add_categorical(r, &a);
    case DOMAIN_INTEGER:
        return add_integer(r, &a);
    case DOMAIN_NUMERIC:
        return add_numeric(r, &a);
    }
    return ERR_STUDY;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct yaml_entry *)a)->name, ((const struct yaml_entry *)b)->name);
}

/* A mapping of attributes has no order in YAML, so that of the names is taken. */
static enum err read_domain_mapping(struct reading *r, const yaml_node_t *node)
{
    struct yaml_entry entries[DOMAIN_ATTRIBUTES_MAX];
    size_t count;
    TRY(yaml_entries(r->file, node, "domain", DOMAIN_ATTRIBUTES_MAX, &count));
    if (count == 0)
        return yaml_error(r->file, node, "the domain has no attribute; add one");
    for (size_t i = 0; i < count; i++)
        entries[i] = yaml_entry(r->file, node, i);
    qsort(entries, count, sizeof entries[0], by_name);
    for (size_t i = 0; i < count; i++)
        TRY(read_attribute(r, entries[i].value, entries[i].key));
    return ERR_OK;
}

enum err study_read_domain(struct reading *r, const yaml_node_t *node)
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

enum err study_unknown_attribute(struct reading *r, const yaml_node_t *node, const char *text)
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

enum err study_read_attributes(struct reading *r, const yaml_node_t *node, const char *what,
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
            return study_unknown_attribute(r, item, text);
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
