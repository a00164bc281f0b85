/* What a demo shows at the end: costs, and the comparison with the truth that no real study has. */
#include "aim/answer/evaluate.h"
#include "aim/model/sample.h"
#include "aim/table/csv.h"
#include "aim/workload/tabulate.h"
#include "base/memory.h"
#include "parties/command/demo.h"
#include "parties/command/methods.h"
#include "parties/display/report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static enum err error_of_csv(const struct demo *d, const char *path, double *error)
{
    struct table *table CLEAN(table_free) = NULL;
    TRY(table_read_csv(&table, d->study->domain, path, NULL, d->log));
    return evaluate_tables(d->study->workload, d->all, table, NULL, error);
}

/* Central AIM on a table at the same budget, as n synthetic rows, against all patients. */
static enum err error_of_central(const struct demo *d, const struct table *table, double *error)
{
    struct methods_made made CLEAN(methods_clear) = {0};
    struct table *rows CLEAN(table_free) = NULL;
    TRY(methods_central(&made, d->study, table, NULL, NULL, d->log));
    TRY(sample_rows(&rows, made.model->model, table->rows, 1, d->log));
    return evaluate_tables(d->study->workload, d->all, rows, NULL, error);
}

/* Errors against all patients: Trefoil's, central AIM's, each hospital's alone. */
#define TABLES (2 + DEMO_POPULATIONS)
struct demo_errors {
    char name[TABLES][64];
    double error[TABLES];
};

static unsigned tables_of(const struct demo *d)
{
    return 2 + d->scene->populations;
}

static enum err find_errors(const struct demo *d, struct demo_errors *x)
{
    char path[FILE_PATH];
    demo_path(d, path, "result/synthetic.csv");
    snprintf(x->name[0], sizeof x->name[0], "%s", d->scene->title);
    TRY(error_of_csv(d, path, &x->error[0]));
    snprintf(x->name[1], sizeof x->name[1], "central AIM: a curator sees all rows");
    TRY(error_of_central(d, d->all, &x->error[1]));
    for (unsigned i = 0; i < d->scene->populations; i++) {
        const bool last = d->scene->hospitals > d->scene->populations &&
                          i + 1 == d->scene->populations;
        const struct table *own = last ? d->joined : d->hospital[i];
        snprintf(x->name[2 + i], sizeof x->name[2 + i], "%s%s%s alone (%zu patients)",
                 demo_hospitals[i].name, last ? " and " : "",
                 last ? demo_hospitals[i + 1].name : "", own->rows);
        TRY(error_of_central(d, own, &x->error[2 + i]));
    }
    return ERR_OK;
}

static void show_errors(const struct demo *d, const struct demo_errors *x)
{
    printf("\nError against all %zu patients: mean over the %zu two-way marginals of\n"
           "sum |p - q|, from 0 (alike) to 2. Only a demo can compute this.\n\n",
           d->all->rows, d->study->workload->cliques);
    for (unsigned i = 0; i < tables_of(d); i++)
        printf("  %-46s %.3f\n", x->name[i], x->error[i]);
}

/* Writes the run's report again, now beside the truth, which no real study has. */
static enum err write_report(const struct demo *d, const struct demo_errors *x)
{
    const struct workload *w = d->study->workload;
    const char *name[TABLES];
    int64_t **one_way CLEAN(memory_release) = NULL;
    int64_t *counts CLEAN(memory_release) = NULL;
    struct report_truth truth = {
        .rows = d->all->rows, .comparisons = tables_of(d), .error = x->error};
    char folder[FILE_PATH];
    uint64_t cells = 0;
    demo_path(d, folder, "result");
    for (size_t i = 0; i < w->one_ways; i++)
        cells += w->query[i].cells;
    TRY(memory_new(&counts, cells));
    TRY(memory_new(&one_way, w->one_ways));
    cells = 0;
    for (size_t i = 0; i < w->one_ways; i++) {
        one_way[i] = counts + cells;
        tabulate_marginal(d->all, &w->query[i].clique, one_way[i]);
        cells += w->query[i].cells;
    }
    for (unsigned i = 0; i < tables_of(d); i++)
        name[i] = x->name[i];
    truth.name = name;
    truth.one_way = (const int64_t *const *)one_way;
    return report_write(folder, d->study, &truth, NULL, d->log);
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void show_rounds(const json_t *stats)
{
    size_t i;
    const json_t *round;
    const json_t *linked = json_object_get(stats, "linked");
    if (json_is_object(linked))
        printf("\nPatients of whom both the island and the harbour have a row, with noise:\n"
               "  about %.0f (+-%.0f); who they are, nobody saw\n",
               json_real_value(json_object_get(linked, "rows")),
               2 * json_real_value(json_object_get(linked, "sigma")));
    printf("\nWhat was opened, each time only with noise:\n\n");
    json_array_foreach(json_object_get(stats, "rounds"), i, round) printf(
        "  round %zu  %-32s sigma %.1f\n", i, json_string_value(json_object_get(round, "marginal")),
        json_real_value(json_object_get(round, "sigma")));
}

static void show_server_bytes(const struct demo *d, const json_t *stats)
{
    size_t i;
    const json_t *server;
    json_array_foreach(json_object_get(stats, "servers"), i, server)
    {
        json_int_t sent = 0, noise = 0;
        const char *phase = NULL;
        json_t *counters;
        json_object_foreach((json_t *)(uintptr_t)server, phase, counters)
        {
            sent += number(counters, "wire_sent");
            noise += strcmp(phase, "noise") == 0 ? number(counters, "wire_sent") : 0;
        }
        printf("  server %-12s sent %10" JSON_INTEGER_FORMAT
               " bytes to the others, %" JSON_INTEGER_FORMAT " for noise\n",
               d->scene->server[i], sent, noise);
    }
}

static enum err show_costs(const struct demo *d)
{
    json_auto_t *json = NULL;
    printf("\nBytes by role:\n\n");
    for (unsigned i = 0; i < d->scene->hospitals; i++) {
        json_auto_t *share = NULL;
        char name[64];
        snprintf(name, sizeof name, "share-%s.json", demo_hospitals[i].name);
        TRY(report_read_json(&share, d->folder, name, d->log));
        printf("  owner %-13s sent %10" JSON_INTEGER_FORMAT " bytes\n", demo_hospitals[i].name,
               number(share, "bytes_sent"));
    }
    TRY(report_read_json(&json, d->folder, "result/stats.json", d->log));
    show_server_bytes(d, json);
    printf("  analyst             sent %10" JSON_INTEGER_FORMAT
           " bytes, received %" JSON_INTEGER_FORMAT "\n",
           number(json_object_get(json, "analyst"), "bytes_sent"),
           number(json_object_get(json, "analyst"), "bytes_received"));
    printf("\nThe servers took %.1f s, the estimator %.1f s.\n",
           json_real_value(json_object_get(json, "mpc_s")),
           json_real_value(json_object_get(json, "estimate_s")));
    show_rounds(json);
    return ERR_OK;
}

static void show_guarantee(const struct demo *d)
{
    printf("\nGuarantee: the synthetic table and everything else that came out is\n"
           "differentially private with epsilon %g and delta %g, for adding or removing\n"
           "any one patient's row: what anybody concludes from it is at most e^%g = %.2f\n"
           "times as likely with that patient as without, except with probability %g.\n"
           "Each server kept the budget by itself and logged every opened value in its\n"
           "audit.log. Two servers that collude could read everything.\n",
           d->study->epsilon, d->study->delta, d->study->epsilon, exp(d->study->epsilon),
           d->study->delta);
    printf("\nEverything is in %s: the study, the hospitals' tables, the\n"
           "servers' logs and audit logs, and result/, whose report.html shows it all in a\n"
           "browser.\n",
           d->folder);
}

enum err demo_show(const struct demo *d)
{
    struct demo_errors errors;
    TRY(show_costs(d));
    TRY(find_errors(d, &errors));
    show_errors(d, &errors);
    TRY(write_report(d, &errors));
    show_guarantee(d);
    return ERR_OK;
}
