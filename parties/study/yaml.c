#include "parties/study/yaml.h"

#include "base/encoding.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "parties/study/yaml_scan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct yaml_file {
    char *path;
    struct log *log;
    yaml_document_t document;
    bool loaded;
};

/* --- errors ----------------------------------------------------------------------------------- */

enum err yaml_error(const struct yaml_file *file, const yaml_node_t *node, const char *format, ...)
{
    char text[768];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return yaml_error_at(file->path, file->log, node->start_mark, text);
}

/* --- the tree --------------------------------------------------------------------------------- */

/* The tree of a text that has been scanned, so that only lack of memory can make it fail. */
static enum err load_text(struct yaml_file *f, const uint8_t *text, size_t n)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return ERR_NOMEM;
    yaml_parser_set_input_string(&parser, text, n);
    f->loaded = yaml_parser_load(&parser, &f->document);
    yaml_parser_delete(&parser);
    return f->loaded ? ERR_OK : ERR_NOMEM;
}

enum err yaml_parse(struct yaml_file **file, const char *path, const void *text, size_t n,
                    struct log *log)
{
    struct yaml_file *f CLEAN(yaml_close) = NULL;
    *file = NULL;
    if (n > YAML_FILE_MAX)
        return log_fail(log, ERR_STUDY, "%s is larger than the %zu bytes allowed here", path,
                        YAML_FILE_MAX);
    if (n == 0)
        text = ""; /* libyaml asserts that there is a pointer */
    TRY(yaml_scan(path, text, n, log));
    TRY(memory_new(&f, 1));
    f->log = log;
    f->path = memory_string(path);
    TRY(f->path == NULL ? ERR_NOMEM : load_text(f, text, n));
    return memory_hand_over(file, &f);
}

void yaml_close(struct yaml_file **file)
{
    struct yaml_file *f = *file;
    if (f == NULL)
        return;
    if (f->loaded)
        yaml_document_delete(&f->document);
    memory_free(&f->path);
    memory_free(file);
}

/* Like yaml_document_get_node(), which demands a document that is not const. */
static const yaml_node_t *node_at(const struct yaml_file *f, int index)
{
    return f->document.nodes.start + (index - 1);
}

const yaml_node_t *yaml_root(const struct yaml_file *file)
{
    return node_at(file, 1);
}

/* --- mappings and lists ----------------------------------------------------------------------- */

bool yaml_is_list(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE;
}

bool yaml_is_mapping(const yaml_node_t *node)
{
    return node->type == YAML_MAPPING_NODE;
}

static enum err check_kind(const struct yaml_file *file, const yaml_node_t *node, bool fits,
                           const char *what, const char *should)
{
    if (fits)
        return ERR_OK;
    return yaml_error(file, node, "%s is %s; it should be %s", what,
                      yaml_is_list(node)      ? "a list"
                      : yaml_is_mapping(node) ? "a mapping"
                                              : "a single value",
                      should);
}

static size_t pairs(const yaml_node_t *node)
{
    return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
}

struct yaml_entry yaml_entry(const struct yaml_file *file, const yaml_node_t *node, size_t index)
{
    const yaml_node_pair_t *pair = node->data.mapping.pairs.start + index;
    const yaml_node_t *key = node_at(file, pair->key);
    return (struct yaml_entry){(const char *)key->data.scalar.value, key,
                               node_at(file, pair->value)};
}

/* As many words as fit, with commas between them. */
static void list_words(const char *const *words, size_t count, char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i > 0 ? ", " : "", words[i]);
}

static enum err unknown_key(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                            const char *text, const struct yaml_key *key, size_t keys)
{
    const char *names[YAML_KEYS_MAX] = {0};
    char list[384];
    size_t hit;
    for (size_t i = 0; i < keys; i++)
        names[i] = key[i].name;
    list_words(names, keys, list, sizeof list);
    hit = nearest(text, names, keys);
    if (hit < keys)
        return yaml_error(file, node, "%s has no key \"%.40s\"; did you mean \"%s\"? Its keys: %s",
                          what, text, names[hit], list);
    return yaml_error(file, node, "%s has no key \"%.40s\"; its keys: %s", what, text, list);
}

static enum err take_pair(const struct yaml_file *file, const yaml_node_t *name,
                          const yaml_node_t *content, const char *what, const struct yaml_key *key,
                          size_t keys)
{
    const char *text;
    TRY(yaml_text(file, name, "a key", &text));
    for (size_t i = 0; i < keys; i++) {
        if (strcmp(text, key[i].name) != 0)
            continue;
        if (*key[i].node != NULL)
            return yaml_error(file, name, "the key \"%s\" comes twice; keep one of them", text);
        *key[i].node = content;
        return ERR_OK;
    }
    return unknown_key(file, name, what, text, key, keys);
}

enum err yaml_mapping(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      const struct yaml_key *key, size_t keys)
{
    size_t lacking = 0;
    enum err e = ERR_OK;
    if (keys > YAML_KEYS_MAX)
        return ERR_MISUSE;
    for (size_t i = 0; i < keys; i++)
        *key[i].node = NULL;
    if (node == NULL)
        return ERR_OK;
    TRY(check_kind(file, node, yaml_is_mapping(node), what, "a mapping (key: value)"));
    for (size_t i = 0; i < pairs(node); i++) {
        struct yaml_entry entry = yaml_entry(file, node, i);
        if (take_pair(file, entry.key, entry.value, what, key, keys) != ERR_OK)
            e = ERR_STUDY; /* it may be a misspelt one of those that lack */
    }
    for (size_t i = 0; i < keys && e == ERR_OK; i++)
        lacking += key[i].required && *key[i].node == NULL;
    for (size_t i = 0; i < keys && lacking > 0; i++)
        if (key[i].required && *key[i].node == NULL)
            e = yaml_error(file, node, "%s lacks the key \"%s\"; add it", what, key[i].name);
    return e;
}

bool yaml_has(const struct yaml_file *file, const yaml_node_t *node, const char *key)
{
    for (size_t i = 0; i < pairs(node); i++) {
        const struct yaml_entry entry = yaml_entry(file, node, i);
        if (entry.key->type == YAML_SCALAR_NODE && strcmp(entry.name, key) == 0)
            return true;
    }
    return false;
}

enum err yaml_entries(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      size_t most, size_t *count)
{
    *count = 0;
    if (node == NULL)
        return ERR_OK;
    TRY(check_kind(file, node, yaml_is_mapping(node), what, "a mapping (key: value)"));
    *count = pairs(node);
    if (*count > most)
        return yaml_error(file, node, "%s has %zu entries; at most %zu are allowed", what, *count,
                          most);
    for (size_t i = 0; i < *count; i++) {
        const yaml_node_t *key = yaml_entry(file, node, i).key;
        const char *text;
        TRY(yaml_text(file, key, "a key", &text));
        for (size_t j = 0; j < i; j++)
            if (strcmp(text, yaml_entry(file, node, j).name) == 0)
                return yaml_error(file, key, "the key \"%.64s\" comes twice; keep one of them",
                                  text);
    }
    return ERR_OK;
}

enum err yaml_list(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                   size_t least, size_t most, size_t *count)
{
    *count = 0;
    if (node == NULL)
        return ERR_OK;
    TRY(check_kind(file, node, yaml_is_list(node), what, "a list (- item, or [a, b])"));
    *count = (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    if (*count >= least && *count <= most)
        return ERR_OK;
    if (least == most)
        return yaml_error(file, node, "%s has %zu items; it needs exactly %zu", what, *count, most);
    return yaml_error(file, node, "%s has %zu items; it needs at least %zu and at most %zu", what,
                      *count, least, most);
}

const yaml_node_t *yaml_item(const struct yaml_file *file, const yaml_node_t *node, size_t index)
{
    return node_at(file, node->data.sequence.items.start[index]);
}

/* --- scalars ---------------------------------------------------------------------------------- */

static bool plain(const yaml_node_t *node)
{
    return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

enum err yaml_text(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                   const char **text)
{
    TRY(check_kind(file, node, node->type == YAML_SCALAR_NODE, what, "a single value"));
    *text = (const char *)node->data.scalar.value;
    if (strlen(*text) != node->data.scalar.length || encoding_steers(*text))
        return yaml_error(file, node, "%s holds a control character; take it out", what);
    if (**text == '\0' && plain(node))
        return yaml_error(file, node, "%s has no value; write one (an empty text is \"\")", what);
    return ERR_OK;
}

static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

static const char *skip_sign(const char *s)
{
    return s + (*s == '-' || *s == '+');
}

static bool looks_like_integer(const char *s)
{
    const char *digits = skip_sign(s);
    const char *end = skip_digits(digits);
    return end > digits && *end == '\0' && !(digits[0] == '0' && digits[1] != '\0');
}

/* Stricter than strtod(), which takes hexadecimal, "inf" and leading spaces. */
static bool looks_like_number(const char *s)
{
    const char *at = skip_sign(s);
    const char *end = skip_digits(at);
    size_t digits = (size_t)(end - at);
    if (*end == '.') {
        at = end + 1;
        end = skip_digits(at);
        digits += (size_t)(end - at);
    }
    if (digits > 0 && (*end == 'e' || *end == 'E')) {
        at = skip_sign(end + 1);
        end = skip_digits(at);
        if (end == at)
            return false;
    }
    return digits > 0 && *end == '\0';
}

enum err yaml_integer(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      int64_t least, int64_t most, int64_t *v)
{
    const char *text;
    long long n;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(file, node, what, &text));
    if (!plain(node) || !looks_like_integer(text))
        return yaml_error(file, node,
                          "%s is \"%.40s\"; it should be a whole number without quotes, points or "
                          "leading zeros",
                          what, text);
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (errno != 0 || n < least || n > most)
        return yaml_error(file, node, "%s is %.40s; it should be from %lld to %lld", what, text,
                          (long long)least, (long long)most);
    *v = n;
    return ERR_OK;
}

enum err yaml_number(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                     double least, double most, double *v)
{
    const char *text;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(file, node, what, &text));
    if (!plain(node) || !looks_like_number(text))
        return yaml_error(file, node,
                          "%s is \"%.40s\"; it should be a number such as 2, 0.5 or 1e-6", what,
                          text);
    *v = strtod(text, NULL);
    if (!(*v >= least && *v <= most))
        return yaml_error(file, node, "%s is %.40s; it should be from %g to %g", what, text, least,
                          most);
    if (*v == 0)
        *v = 0; /* -0 means the same and must give the same digest */
    return ERR_OK;
}

enum err yaml_choice(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                     const char *const *words, size_t count, size_t *index)
{
    const char *text;
    char list[256];
    size_t hit;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(file, node, what, &text));
    for (*index = 0; *index < count; ++*index)
        if (strcmp(text, words[*index]) == 0)
            return ERR_OK;
    list_words(words, count, list, sizeof list);
    hit = nearest(text, words, count);
    if (hit < count)
        return yaml_error(file, node, "%s is \"%.40s\"; did you mean \"%s\"? It may be: %s", what,
                          text, words[hit], list);
    return yaml_error(file, node, "%s is \"%.40s\"; it may be: %s", what, text, list);
}
