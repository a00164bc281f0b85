/*
 * bench/figures.h - what all programs of bench/ share: options, and figures as a file of JSON.
 *
 * Each takes --json FILE, and --smoke: small sizes, for `make test`; the JSON says that too.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* An option of one program: where its value goes; one of these kinds. */
struct figures_option {
    const char *name; /* without its dashes */
    bool *flag;       /* set; it has no value */
    const char **text;
    unsigned *count;
    bool zero; /* which may be 0 */
    double *number;
    /* may come up to `most` times, each with a text: how many came; the texts go to text[..] */
    size_t *given, most;
};

struct figures {
    const char *path; /* of the JSON, or NULL */
    bool smoke;
    json_t *out;
};

/*
 * First of a program: takes its options. If they are wrong, or FILE cannot be written, says so and
 * ends the program. What the program prints appears line by line.
 */
void figures_begin(struct figures *f, int argc, char **argv, const struct figures_option *option,
                   size_t options);
/* Last: writes the file, unless something failed. Returns the exit code. */
int figures_end(struct figures *f, bool failed);

/* A figure under a key, made as by printf(). NAN is no JSON: it is left out. */
void figures_put(json_t *o, double value, const char *key, ...)
    __attribute__((format(printf, 3, 4)));
/* The object, or the list, under a key, made if it is not there. */
json_t *figures_object(json_t *o, const char *key);
json_t *figures_list(json_t *o, const char *key);
/* A new object at the end of a list. */
json_t *figures_item(json_t *list);
