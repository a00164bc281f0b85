#include "bench/data.h"

#include "aim/table/csv.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_BYTES (1u << 30)

/* Labels that are numbers, without an order. */
static enum err add_labels(struct domain *d, const char *name, size_t size, struct log *log)
{
    char(*text)[24] CLEAN(memory_release) = NULL;
    const char **label CLEAN(memory_release) = NULL;
    TRY(memory_new(&text, size));
    TRY(memory_new(&label, size));
    for (size_t i = 0; i < size; i++) {
        snprintf(text[i], sizeof text[i], "%zu", i);
        label[i] = text[i];
    }
    return domain_add_categorical(d, name, label, size, NULL, DOMAIN_REJECT, log);
}

enum err data_domain(struct domain **d, const json_t *sizes, const json_t *codes, struct log *log)
{
    const char *name;
    json_t *size;
    TRY(domain_new(d));
    json_object_foreach((json_t *)(uintptr_t)sizes, name, size)
    {
        const json_int_t n = json_integer_value(size);
        const char *kind = json_string_value(json_object_get(json_object_get(codes, name), "kind"));
        TRY(kind != NULL && strcmp(kind, "categorical") == 0 && n > 0
                ? add_labels(*d, name, (size_t)n, log)
                : domain_add_integer(*d, name, 0, n - 1, NULL, DOMAIN_REJECT, log));
    }
    return (*d)->attributes > 0 ? ERR_OK : ERR_FORMAT;
}

enum err data_clique(const struct domain *d, const char *const *names, size_t count,
                     struct clique *c, size_t *place, struct log *log)
{
    *c = (struct clique){0};
    for (uint16_t a = 0; a < d->attributes; a++)
        for (size_t k = 0; k < count && c->n < CLIQUE_MAX; k++)
            if (strcmp(names[k], d->attribute[a].name) == 0) {
                place[c->n] = k;
                c->attribute[c->n++] = a;
            }
    if (c->n == count && count > 0)
        return ERR_OK;
    log_error(log, "a clique of %zu names has an unknown, repeated or ninth one (%s, ...)", count,
              count > 0 ? names[0] : "none");
    return ERR_FORMAT;
}

json_t *data_json(const char *path, struct log *log)
{
    struct bytes text = {0};
    json_error_t error;
    json_t *root = NULL;
    if (file_read(path, FILE_BYTES, &text, log) == ERR_OK) {
        root = json_loadb((const char *)text.data, text.size, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL)
            log_error(log, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    }
    bytes_clear(&text);
    return root;
}

const char *data_folder(void)
{
    const char *folder = getenv("TREFOIL_DATA");
    return folder != NULL ? folder : "../shared/data";
}

bool data_present(const char *name)
{
    char path[4096];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s.csv", data_folder(), name);
    return stat(path, &s) == 0;
}

bool data_absent(const char *name)
{
    if (data_present(name))
        return false;
    printf("%s/%s.csv is absent: what needs it is left out (set TREFOIL_DATA)\n", data_folder(),
           name);
    return true;
}

enum err data_hold_out(const char *rows, const char *train, const char *test, struct log *log)
{
    char command[4 * FILE_PATH];
    int n = snprintf(command, sizeof command,
                     "awk 'NR == 1 { print >train; print >test; next } "
                     "{ print >(NR %% 5 == 1 ? test : train) }' train='%s' test='%s' '%s'",
                     train, test, rows);
    if (n < 0 || (size_t)n >= sizeof command || system(command) != 0)
        return log_fail(log, ERR_SYSTEM, "the rows of %s cannot be split", rows);
    return ERR_OK;
}

void bench_data_clear(struct bench_data *c)
{
    table_free(&c->table);
    workload_free(&c->workload);
    domain_free(&c->domain);
}

static enum err workload_read(struct bench_data *c, const char *path, struct log *log)
{
    json_t *root = data_json(path, log), *list = json_object_get(root, "cliques"), *entry;
    struct clique *cliques;
    size_t i, n;
    enum err e = ERR_FORMAT;
    n = json_array_size(list);
    cliques = memory_array(n, sizeof *cliques);
    json_array_foreach(list, i, entry)
    {
        const char *names[CLIQUE_MAX + 1] = {NULL};
        size_t place[CLIQUE_MAX], k = json_array_size(entry);
        for (size_t j = 0; j < k && j < CLIQUE_MAX; j++)
            names[j] = json_string_value(json_array_get(entry, j));
        e = data_clique(c->domain, names, k, &cliques[i], place, log);
        if (e != ERR_OK)
            break;
    }
    if (e == ERR_OK)
        e = workload_new(&c->workload, c->domain, cliques, NULL, n, log);
    memory_free(&cliques);
    json_decref(root);
    return e;
}

enum err bench_data_terms(struct bench_data *c, const char *name, struct log *log)
{
    char path[4096];
    json_t *sizes, *codes;
    enum err e;
    *c = (struct bench_data){0};
    snprintf(path, sizeof path, "%s/%s.codes.json", data_folder(), name);
    codes = data_json(path, NULL);
    snprintf(path, sizeof path, "%s/%s.domain.json", data_folder(), name);
    sizes = data_json(path, log);
    e = sizes != NULL ? data_domain(&c->domain, sizes, codes, log) : ERR_SYSTEM;
    json_decref(sizes);
    json_decref(codes);
    snprintf(path, sizeof path, "%s/%s.workload.json", data_folder(), name);
    if (e == ERR_OK)
        e = workload_read(c, path, log);
    if (e != ERR_OK)
        bench_data_clear(c);
    return e;
}

enum err bench_data_read(struct bench_data *c, const char *name, struct log *log)
{
    char path[4096];
    enum err e;
    TRY(bench_data_terms(c, name, log));
    snprintf(path, sizeof path, "%s/%s.csv", data_folder(), name);
    e = table_read_csv(&c->table, c->domain, path, NULL, log);
    if (e != ERR_OK)
        bench_data_clear(c);
    return e;
}
