#include "bench/figures.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void say_usage(const char *program, const struct figures_option *option,
                                size_t options)
{
    fprintf(stderr, "usage: %s [--json FILE] [--smoke]", program);
    for (size_t i = 0; i < options; i++)
        fprintf(stderr, " [--%s%s]%s", option[i].name,
                option[i].flag != NULL   ? ""
                : option[i].text != NULL ? " TEXT"
                                         : " N",
                option[i].given != NULL ? "..." : "");
    fputs("\n", stderr);
    exit(2);
}

/* Whether the value is one that the option takes. */
static bool take(const struct figures_option *o, const char *value)
{
    char *end = NULL;
    double number;
    if (o->given != NULL && *o->given == o->most)
        return false;
    if (o->text != NULL) {
        o->text[o->given != NULL ? (*o->given)++ : 0] = value;
        return true;
    }
    number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= (o->count != NULL && !o->zero ? 1 : 0)) ||
        (o->count != NULL && (number > 1e9 || number != floor(number))))
        return false;
    if (o->count != NULL)
        *o->count = (unsigned)number;
    else
        *o->number = number;
    return true;
}

static const struct figures_option *find(const char *text, const struct figures_option *option,
                                         size_t options)
{
    for (size_t i = 0; i < options && strncmp(text, "--", 2) == 0; i++)
        if (strcmp(text + 2, option[i].name) == 0)
            return &option[i];
    return NULL;
}

void figures_begin(struct figures *f, int argc, char **argv, const struct figures_option *option,
                   size_t options)
{
    const struct figures_option own[] = {{.name = "json", .text = &f->path},
                                         {.name = "smoke", .flag = &f->smoke}};
    FILE *file;
    *f = (struct figures){.out = json_object()};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const struct figures_option *o = find(argv[i], option, options);
        if (o == NULL)
            o = find(argv[i], own, 2);
        if (o != NULL && o->flag != NULL)
            *o->flag = true;
        else if (o == NULL || ++i == argc || !take(o, argv[i]))
            say_usage(argv[0], option, options);
    }
    if (f->smoke)
        json_object_set_new(f->out, "smoke", json_true());
    if (f->path == NULL)
        return;
    file = fopen(f->path, "w");
    if (file == NULL || fclose(file) != 0) {
        perror(f->path);
        exit(1);
    }
}

int figures_end(struct figures *f, bool failed)
{
    if (!failed && f->path != NULL &&
        json_dump_file(f->out, f->path, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) != 0) {
        perror(f->path);
        failed = true;
    }
    json_decref(f->out);
    return failed ? 1 : 0;
}

void figures_put(json_t *o, double value, const char *key, ...)
{
    char text[128];
    va_list args;
    va_start(args, key);
    vsnprintf(text, sizeof text, key, args);
    va_end(args);
    if (isfinite(value))
        json_object_set_new(o, text, json_real(value));
}

static json_t *child(json_t *o, const char *key, json_t *(*make)(void))
{
    if (json_object_get(o, key) == NULL)
        json_object_set_new(o, key, make());
    return json_object_get(o, key);
}

json_t *figures_object(json_t *o, const char *key)
{
    return child(o, key, json_object);
}

json_t *figures_list(json_t *o, const char *key)
{
    return child(o, key, json_array);
}

json_t *figures_item(json_t *list)
{
    json_t *item = json_object();
    json_array_append_new(list, item);
    return item;
}
