#include "bench/table_study.h"

#include "base/file.h"
#include "bench/cpu.h"
#include "bench/data.h"
#include "bench/program.h"
#include "bench/study_text.h"
#include "harness/process.h"

#include <math.h>

#define OWNERS_MAX TABLE_STUDY_OWNERS_MAX
#define PATIENCE_S 600

static unsigned owners_of(const struct table_study *t)
{
    return t->owners > 0 ? t->owners : TABLE_STUDY_OWNERS;
}

struct table_study_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

static enum err make_study(struct table_study_scene *c, const struct table_study *t,
                           struct log *log)
{
    struct bench_data data CLEAN(bench_data_clear) = {0};
    struct bytes domain CLEAN(bytes_clear) = {0}, workload CLEAN(bytes_clear) = {0};
    char rows[64];
    const char *part[OWNERS_MAX];
    json_t *codes = NULL;
    struct study_options o = {.owners = owners_of(t),
                              .enforce = t->enforce,
                              .link = t->link,
                              .domain = t->domain,
                              .workload = t->workload,
                              .rounds = t->rounds,
                              .annealed = t->annealed,
                              .epsilon = t->epsilon,
                              .copula = t->copula,
                              .delta = t->delta,
                              .accounting = ACCOUNTING_GAUSSIAN,
                              .round_s = 300,
                              .part = part,
                              .more = t->more};
    snprintf(rows, sizeof rows, "    max_rows: %u\n    as: %s\n",
             t->most > 0 ? t->most : TABLE_STUDY_ROWS, t->as);
    for (unsigned i = 0; i < owners_of(t); i++)
        part[i] = t->part != NULL ? t->part[i] : rows;
    if (t->domain != NULL)
        return support_study_new(&c->s, &o, log);
    TRY(bench_data_terms(&data, t->table, log));
    if (t->copula != NULL) { /* it treats labels without an order differently */
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.codes.json", data_folder(), t->table);
        codes = file_is_there(path) ? data_json(path, log) : NULL;
    }
    study_text_domain(data.domain, codes, &domain);
    json_decref(codes);
    study_text_workload(data.workload, data.domain, &workload);
    TRY(bytes_ok(&domain));
    TRY(bytes_ok(&workload));
    o.domain = (const char *)domain.data;
    o.workload = (const char *)workload.data;
    return support_study_new(&c->s, &o, log);
}

static enum err write_each(const struct table_study_scene *c, const struct table_study *t)
{
    for (unsigned i = 0; i < owners_of(t); i++) {
        FILE *csv = fopen(support_path(&c->s, "o%u.csv", i), "w");
        enum err e = csv == NULL ? ERR_SYSTEM : t->write(t->self, i, csv);
        if (csv != NULL && fclose(csv) != 0)
            e = ERR_SYSTEM;
        TRY(e);
    }
    return ERR_OK;
}

static enum err split(const struct table_study_scene *c, const struct table_study *t,
                      struct log *log)
{
    char path[4096], line[4096];
    FILE *in, *out[OWNERS_MAX] = {NULL};
    const unsigned owners = owners_of(t);
    enum err e = ERR_OK;
    if (t->rows != NULL)
        snprintf(path, sizeof path, "%s", t->rows);
    else
        snprintf(path, sizeof path, "%s/%s.csv", data_folder(), t->table);
    in = fopen(path, "r");
    for (unsigned i = 0; i < owners; i++) {
        out[i] = fopen(support_path(&c->s, "o%u.csv", i), "w");
        if (out[i] == NULL)
            e = ERR_SYSTEM;
    }
    if (in == NULL)
        e = log_fail(log, ERR_SYSTEM, "%s cannot be read", path);
    for (unsigned row = 0; e == ERR_OK && fgets(line, sizeof line, in) != NULL; row++)
        for (unsigned i = 0; i < owners; i++)
            if (row == 0 || row % owners == i) {
                if (t->enforce > 0)
                    fprintf(out[i], row == 0 ? "who," : "p%u,", row % TABLE_STUDY_PERSONS);
                fputs(line, out[i]);
            }
    for (unsigned i = 0; i < owners; i++)
        if (out[i] != NULL && fclose(out[i]) != 0)
            e = ERR_SYSTEM;
    if (in != NULL)
        fclose(in);
    return e;
}

static enum err ran(const struct table_study_scene *c, int code, const char *what, struct log *log)
{
    if (code == 0)
        return ERR_OK;
    return log_fail(log, ERR_SYSTEM, "%s ended with code %d; its words are in %s", what, code,
                    c->s.folder);
}

/* The cost of the first owner's upload. */
static enum err read_sent(const struct table_study_scene *c, struct table_study_figures *f,
                          struct log *log)
{
    json_t *stats = data_json(support_path(&c->s, "share.json"), log);
    if (stats == NULL)
        return ERR_FORMAT;
    f->sent = json_number_value(json_object_get(stats, "bytes_sent"));
    f->packed = json_number_value(json_object_get(stats, "bytes"));
    json_decref(stats);
    return f->packed > 0 ? ERR_OK : ERR_FORMAT;
}

static enum err share_all(struct table_study_scene *c, struct table_study_figures *f,
                          struct log *log)
{
    for (unsigned i = 0; i < c->s.owners; i++) {
        const char *const a[] = {"share",
                                 c->s.path,
                                 support_path(&c->s, "o%u.csv", i),
                                 "--key",
                                 support_path(&c->s, "o%u.key", i),
                                 i == 0 ? "--stats" : NULL,
                                 support_path(&c->s, "share.json"),
                                 NULL};
        TRY(ran(c, support_run(support_path(&c->s, "share%u.log", i), PATIENCE_S, a),
                "trefoil share", log));
    }
    return read_sent(c, f, log);
}

static double cpu_of_servers(const struct table_study_scene *c)
{
    double sum = 0;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        sum += cpu_of(c->server[i]);
    return sum;
}

static enum err play(struct table_study_scene *c, const struct table_study *t,
                     struct table_study_figures *f, struct log *log)
{
    TRY(make_study(c, t, log));
    TRY(t->write != NULL ? write_each(c, t) : split(c, t, log));
    if (!support_serve_all(&c->s, c->s.path, c->server))
        return ran(c, -1, "a server", log);
    TRY(share_all(c, f, log));
    f->records = c->s.study->owner[0].records;
    f->cpu_s = -cpu_of_servers(c);
    const char *const a[] = {"run",   c->s.path,
                             "--key", support_path(&c->s, "a.key"),
                             "--out", support_path(&c->s, "result"),
                             NULL};
    TRY(ran(c, support_run(support_path(&c->s, "run.log"), PATIENCE_S, a), "trefoil run", log));
    f->cpu_s += cpu_of_servers(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        f->peak_mib = fmax(f->peak_mib, cpu_mib_of(c->server[i], "VmHWM"));
    f->stats = data_json(support_path(&c->s, "result/stats.json"), log);
    if (f->stats == NULL)
        return ERR_FORMAT;
    return t->look != NULL ? t->look(t->self, &c->s, log) : ERR_OK;
}

enum err table_study_run(const struct table_study *study, struct table_study_figures *figures,
                         struct log *log)
{
    struct table_study_scene c = {.server = {0}};
    enum err e;
    *figures = (struct table_study_figures){0};
    program_choose();
    e = play(&c, study, figures, log);
    (void)support_stop_all(c.server);
    if (e == ERR_OK) /* otherwise the folder shows what happened */
        support_study_free(&c.s);
    return e;
}
