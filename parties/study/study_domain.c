/* The domain of a study file: its attributes, and names of attributes in other parts. */
#include "aim/table/rows.h"
#include "base/encoding.h"
#include "base/line.h"
#include "base/memory.h"
#include "parties/study/study_column.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_SIZE 128 /* an attribute's name, with its NUL */

static enum err add_labels(struct study_reading *r, const struct column *c,
                           const char *const *labels, size_t count)
{
    TRY(study_note(r,
                   domain_add_categorical(r->study->domain, c->name, labels, count, c->missing,
                                          c->policy, &r->quiet),
                   c->part[COLUMN_VALUES]));
    return study_add_missing(r, c);
}

/* A column of a CSV file beside the study file, as if it were listed. */
static enum err add_book(struct study_reading *r, const struct column *c, const yaml_node_t *node,
                         const yaml_node_t *column)
{
    struct derive book CLEAN(derive_clear) = {0};
    const char *file, *name;
    TRY(yaml_text(r->file, node, "file", &file));
    TRY(yaml_text(r->file, column, "column", &name));
    TRY(study_read_book(r, node, file, name, false, &book));
    return add_labels(r, c, (const char *const *)book.value, book.keys);
}

/* The lines of a file beside the study file, as if they were listed. */
static enum err add_file(struct study_reading *r, const struct column *c)
{
    const yaml_node_t *node, *column;
    const struct yaml_key keys[] = {{"file", true, &node}, {"column", false, &column}};
    struct line_reader lines CLEAN(line_clear) = {0};
    const char **labels CLEAN(memory_release) = NULL;
    char path[FILE_PATH], *line;
    size_t count = 0, room = 0;
    TRY(yaml_mapping(r->file, c->part[COLUMN_VALUES], "values", COUNTED(keys)));
    if (column != NULL)
        return add_book(r, c, node, column);
    TRY(study_find_file(r, node, "file", path));
    TRY(line_file(&lines, path, YAML_FILE_MAX, r->log));
    while ((line = line_next(&lines)) != NULL) {
        size_t length = strlen(line);
        line = rows_trim(line, &length);
        if (length == 0)
            continue;
        if (encoding_steers(line))
            return yaml_error(r->file, node,
                              "line %zu of %.200s is not UTF-8, or holds a control character",
                              lines.number, path);
        if (count == DOMAIN_SIZE_MAX)
            return yaml_error(r->file, node, "%.200s has more than %d values", path,
                              DOMAIN_SIZE_MAX);
        TRY(memory_room(&labels, &room, count + 1));
        labels[count++] = line;
    }
    if (count == 0)
        return yaml_error(r->file, node, "%.200s has no value; write one a line", path);
    return add_labels(r, c, labels, count);
}

static enum err add_categorical(struct study_reading *r, const struct column *c)
{
    const yaml_node_t *node = c->part[COLUMN_VALUES];
    const char **labels CLEAN(memory_release) = NULL;
    size_t count;
    TRY(study_check_keys(r, c, HAS_VALUES,
                         HAS_EDGES | HAS_MIN | HAS_MAX | HAS_BINS | HAS_INSIDE | HAS_DATES));
    if (yaml_is_mapping(node))
        return add_file(r, c);
    TRY(yaml_list(r->file, node, "values", 1, DOMAIN_SIZE_MAX, &count));
    TRY(memory_new(&labels, count));
    for (size_t i = 0; i < count; i++)
        TRY(yaml_text(r->file, yaml_item(r->file, node, i), "a value", &labels[i]));
    return add_labels(r, c, labels, count);
}

static enum err add_integer(struct study_reading *r, const struct column *c)
{
    int64_t min, max;
    if (c->part[COLUMN_EDGES] != NULL || c->part[COLUMN_BINS] != NULL)
        return study_add_bins(r, c);
    TRY(study_check_keys(r, c, HAS_MIN | HAS_MAX, HAS_VALUES | HAS_INSIDE | HAS_DATES));
    TRY(yaml_integer(r->file, c->part[COLUMN_MIN], "min", -COLUMN_WHOLE_MAX, COLUMN_WHOLE_MAX,
                     &min));
    TRY(yaml_integer(r->file, c->part[COLUMN_MAX], "max", min, COLUMN_WHOLE_MAX, &max));
    TRY(study_note(
        r,
        domain_add_integer(r->study->domain, c->name, min, max, c->missing, c->policy, &r->quiet),
        c->node));
    return study_add_missing(r, c);
}

static enum err read_kind(struct study_reading *r, struct column *c)
{
    const char *words[COLUMN_KINDS];
    size_t kind = 0;
    for (size_t k = 0; k < COLUMN_KINDS; k++)
        words[k] = column_kinds[k]->word;
    TRY(yaml_choice(r->file, c->part[COLUMN_KIND], "kind", words, COLUMN_KINDS, &kind));
    c->kind = column_kinds[kind];
    return ERR_OK;
}

/* A text or a list of them; the first is what is written for a missing value, unless `write` is. */
static enum err read_missing(struct study_reading *r, struct column *c)
{
    const yaml_node_t *node = c->part[COLUMN_MISSING], *write = c->part[COLUMN_WRITE];
    bool found = false;
    size_t count = 1;
    if (node == NULL && write != NULL)
        return yaml_error(r->file, write,
                          "write says how a missing value is written; add \"missing\" beside it, "
                          "which says how it is read");
    if (node == NULL)
        return ERR_OK;
    if (yaml_is_list(node))
        TRY(yaml_list(r->file, node, "missing", 1, COLUMN_MISSING_MAX, &count));
    for (size_t i = 0; i < count; i++)
        TRY(yaml_text(r->file, yaml_is_list(node) ? yaml_item(r->file, node, i) : node, "missing",
                      &c->missing_too[i]));
    c->missing = c->missing_too[0];
    if (write != NULL)
        TRY(yaml_text(r->file, write, "write", &c->missing));
    for (size_t i = 0; i < count; i++)
        if (found || strcmp(c->missing_too[i], c->missing) != 0)
            c->missing_too[c->missing_too_count++] = c->missing_too[i];
        else
            found = true; /* if it comes again, that is a mistake */
    return ERR_OK;
}

/* Whether it follows from others; where a date is from is another matter. */
static bool derives(const struct column *c)
{
    return c->kind != &column_date && c->part[COLUMN_FROM] != NULL;
}

static enum err read_policy(struct study_reading *r, struct column *c)
{
    static const char *const policies[] = {
        [DOMAIN_REJECT] = "error", [DOMAIN_CLIP] = "clip", [DOMAIN_AS_MISSING] = "missing"};
    const yaml_node_t *outside = c->part[COLUMN_OUTSIDE];
    /* servers can see a refusal, so the default is a policy that refuses nothing */
    size_t policy = derives(c)           ? DOMAIN_AS_MISSING
                    : c->kind->order     ? DOMAIN_CLIP
                    : c->missing != NULL ? DOMAIN_AS_MISSING
                                         : DOMAIN_REJECT;
    TRY(yaml_choice(r->file, outside, "outside", COUNTED(policies), &policy));
    c->policy = (enum domain_policy)policy;
    if (c->policy == DOMAIN_AS_MISSING && c->missing == NULL)
        return yaml_error(r->file, outside,
                          "outside: missing needs \"missing\" beside it, the text of a missing "
                          "value; add it");
    if (c->policy == DOMAIN_CLIP && !c->kind->order)
        return yaml_error(r->file, outside,
                          "texts have no order to clip to; use outside: error or missing");
    return ERR_OK;
}

/* By the byte of a kind. */
static enum err (*const add_values[])(struct study_reading *r, const struct column *c) = {
    add_categorical, add_integer, study_add_bins, study_add_date};
_Static_assert(sizeof add_values / sizeof *add_values == COLUMN_KINDS, "a study may have any kind");

static enum err add_one(struct study_reading *r, const struct column *c, const yaml_node_t *name)
{
    if (domain_find(r->study->domain, c->name) != DOMAIN_NO_CODE)
        return yaml_error(r->file, name, "there is an attribute %s already; rename one", c->name);
    TRY(add_values[c->kind->byte](r, c));
    if (derives(c))
        r->derives[r->study->domain->attributes - 1] = c->part[COLUMN_FROM];
    return ERR_OK;
}

/* repeat: 3 of a column x means columns x1, x2 and x3. */
static enum err add_repeated(struct study_reading *r, struct column *c, const yaml_node_t *name)
{
    char numbered[LABEL_SIZE + 12];
    const char *base = c->name;
    unsigned times = 1;
    TRY(study_read_unsigned(r, c->part[COLUMN_REPEAT], "repeat", 1, DOMAIN_ATTRIBUTES_MAX, &times));
    for (unsigned i = 1; i <= times; i++) {
        snprintf(numbered, sizeof numbered, "%s%u", base, i);
        c->name = numbered;
        TRY(add_one(r, c, name));
    }
    return ERR_OK;
}

/* `name` is the key of a mapping of attributes, or NULL in a list. */
static enum err read_attribute(struct study_reading *r, const yaml_node_t *node,
                               const yaml_node_t *name)
{
    struct column c = {.node = node};
    struct yaml_key keys[COLUMN_KEYS];
    for (size_t k = 0; k < COLUMN_KEYS; k++)
        keys[k] = (struct yaml_key){study_column_keys[k], k == COLUMN_KIND, &c.part[k]};
    TRY(yaml_mapping(r->file, node, "an attribute", keys, COLUMN_KEYS));
    if (name != NULL && c.part[COLUMN_NAME] != NULL)
        return yaml_error(r->file, c.part[COLUMN_NAME],
                          "the attribute has its name already, as key; leave this one out");
    if (name == NULL)
        name = c.part[COLUMN_NAME];
    if (name == NULL)
        return yaml_error(r->file, node, "an attribute lacks the key \"name\"; add it");
    TRY(yaml_text(r->file, name, "name", &c.name));
    if (*c.name == '\0' || strlen(c.name) >= LABEL_SIZE)
        return yaml_error(r->file, name, "an attribute's name has 1 to %d bytes; shorten it",
                          LABEL_SIZE - 1);
    TRY(read_kind(r, &c));
    TRY(read_missing(r, &c));
    if (derives(&c) && c.missing == NULL)
        return yaml_error(r->file, c.part[COLUMN_FROM],
                          "%.64s follows from others, and may be missing where one of them is: add "
                          "\"missing\"",
                          c.name);
    TRY(read_policy(r, &c));
    return c.part[COLUMN_REPEAT] != NULL ? add_repeated(r, &c, name) : add_one(r, &c, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct yaml_entry *)a)->name, ((const struct yaml_entry *)b)->name);
}

/* A mapping of attributes has no order in YAML, so they are ordered by name. */
static enum err read_domain_mapping(struct study_reading *r, const yaml_node_t *node)
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
        TRY(study_go_on(r, read_attribute(r, entries[i].value, entries[i].key)));
    return ERR_OK;
}

enum err study_read_domain(struct study_reading *r)
{
    const yaml_node_t *node = r->at.domain;
    size_t count;
    TRY(domain_new(&r->study->domain));
    if (yaml_is_mapping(node))
        return read_domain_mapping(r, node);
    TRY(yaml_list(r->file, node, "domain", 1, DOMAIN_ATTRIBUTES_MAX, &count));
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(r, read_attribute(r, yaml_item(r->file, node, i), NULL)));
    return ERR_OK;
}

enum err study_unknown_attribute(struct study_reading *r, const yaml_node_t *node, const char *text)
{
    const char *near = domain_nearest(r->study->domain, text);
    if (near != NULL)
        return yaml_error(r->file, node,
                          "the domain has no attribute \"%.64s\"; did you mean \"%.64s\"?", text,
                          near);
    return yaml_error(r->file, node,
                      "the domain has no attribute \"%.64s\"; name one of its attributes", text);
}

enum err study_read_attribute(struct study_reading *r, const yaml_node_t *node, const char *what,
                              uint16_t *attribute)
{
    const char *text;
    uint32_t found;
    TRY(yaml_text(r->file, node, what, &text));
    found = domain_find(r->study->domain, text);
    *attribute = (uint16_t)found;
    return found == DOMAIN_NO_CODE ? study_unknown_attribute(r, node, text) : ERR_OK;
}

enum err study_read_attributes(struct study_reading *r, const yaml_node_t *node, const char *what,
                               size_t most, uint16_t *attribute, size_t *count)
{
    TRY(yaml_list(r->file, node, what, 1, most, count));
    for (size_t i = 0; i < *count; i++) {
        const yaml_node_t *item = yaml_item(r->file, node, i);
        uint16_t index;
        TRY(study_read_attribute(r, item, "an attribute", &index));
        if (!domain_insert(attribute, i, index))
            return yaml_error(r->file, item, "the attribute %.64s comes twice; leave one out",
                              r->study->domain->attribute[index].name);
    }
    return ERR_OK;
}
