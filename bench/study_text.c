#include "bench/study_text.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static void put(struct bytes *text, const char *words)
{
    bytes_put(text, words, strlen(words));
}

static bool has_labels(const json_t *codes, const char *name)
{
    const char *kind = json_string_value(json_object_get(json_object_get(codes, name), "kind"));
    return kind != NULL && strcmp(kind, "categorical") == 0;
}

void study_text_domain(const struct domain *d, const json_t *codes, struct bytes *text)
{
    put(text, "domain:\n");
    for (size_t a = 0; a < d->attributes; a++) {
        const struct domain_attribute *c = &d->attribute[a];
        text_put(text, "  - {name: \"%s\", kind: ", c->name);
        if (!has_labels(codes, c->name))
            text_put(text, "integer, min: 0, max: %u}\n", c->size - 1);
        for (uint32_t k = 0; has_labels(codes, c->name) && k < c->size; k++)
            text_put(text, "%s\"%u\"%s", k == 0 ? "categorical, values: [" : ", ", k,
                     k + 1 == c->size ? "]}\n" : "");
    }
    bytes_put_u8(text, 0);
}

/* A list as it appears in the file: YAML's flow style takes JSON. */
static void put_json(struct bytes *text, const char *key, const json_t *value)
{
    char *list = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    text_put(text, ", %s: %s", key, list != NULL ? list : "null");
    free(list);
}

void study_text_codes(const json_t *codes, bool steps, struct bytes *text)
{
    const char *name;
    json_t *c;
    put(text, "domain:\n");
    json_object_foreach((json_t *)(uintptr_t)codes, name, c)
    {
        const char *kind = json_string_value(json_object_get(c, "kind"));
        bool labels = kind != NULL && strcmp(kind, "categorical") == 0;
        bool integer = kind != NULL && strcmp(kind, "integer") == 0;
        text_put(text, "  - {name: \"%s\", kind: %s", name,
                 labels    ? kind
                 : integer ? kind
                           : "numeric");
        if (labels) {
            put_json(text, "values", json_object_get(c, "values"));
        } else if (integer) {
            put_json(text, "min", json_object_get(c, "min"));
            put_json(text, "max", json_object_get(c, "max"));
        } else {
            put_json(text, "edges", json_object_get(c, "edges"));
            if (steps)
                text_put(text, ", step: %s", strcmp(name, "TEMP") == 0 ? "0.1" : "1");
        }
        if (json_object_get(c, "outside") != NULL)
            text_put(text, ", outside: %s", json_string_value(json_object_get(c, "outside")));
        put(text, "}\n");
    }
    bytes_put_u8(text, 0);
}

void study_text_workload(const struct workload *w, const struct domain *d, struct bytes *text)
{
    for (size_t i = 0; i < w->cliques; i++) {
        const struct clique *c = &w->clique[i];
        for (unsigned k = 0; k < c->n; k++) {
            put(text, k == 0 ? "\n  - attributes: [\"" : "\", \"");
            put(text, d->attribute[c->attribute[k]].name);
        }
        put(text, "\"]");
    }
    bytes_put_u8(text, 0);
}
