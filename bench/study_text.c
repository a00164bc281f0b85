#include "bench/study_text.h"

#include <stdio.h>
#include <string.h>

static void put(struct bytes *text, const char *words)
{
    bytes_put(text, words, strlen(words));
}

void study_text_domain(const struct domain *d, struct bytes *text)
{
    put(text, "domain:\n");
    for (size_t a = 0; a < d->attributes; a++) {
        char rest[64];
        snprintf(rest, sizeof rest, "\", kind: integer, min: 0, max: %u}\n",
                 d->attribute[a].size - 1);
        put(text, "  - {name: \"");
        put(text, d->attribute[a].name);
        put(text, rest);
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
