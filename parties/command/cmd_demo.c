/*
 * trefoil demo: everything at once on this machine, with invented patients: keys, a study, three server
 * processes, five owner processes, an analyst process; then what a real study could never show, the
 * comparison with the truth.
 */
#include "aim/evaluate.h"
#include "aim/sample.h"
#include "aim/table/csv.h"
#include "aim/tabulate.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/analyst/central.h"
#include "parties/command/command.h"
#include "parties/command/demo_data.h"
#include "parties/command/process.h"
#include "parties/display/report.h"
#include "parties/exchange/lines.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 4
#define MARKER ".trefoil-demo"

static const char help[] =
    "usage: trefoil demo [--folder DIR] [--seed N]\n"
    "\n"
    "Shows a whole study on this machine: five invented hospitals of different size\n"
    "and kind, three server processes on loopback, one run. Then it says how good the\n"
    "synthetic table is, compared with central AIM and with what each hospital could\n"
    "do alone.\n"
    "\n"
    "  --folder DIR   where everything goes; an earlier demo there is replaced.\n"
    "                 Default: trefoil-demo\n"
    "  --seed N       for the invented data; default 7\n"
    "\n"
    "example:\n"
    "  trefoil demo --folder trefoil-demo\n";

struct demo {
    char folder[FILE_PATH - 300]; /* so that there is room for the name of a file in it */
    uint16_t port;
    pid_t server[STUDY_SERVERS];
    struct study *study;
    struct table *hospital[DEMO_HOSPITALS], *all;
    struct log *log;
};

static const char *const server_names[STUDY_SERVERS] = {"alder", "birch", "cedar"};

/* A file in the demo's folder. */
__attribute__((format(printf, 3, 4))) static void
path_of(const struct demo *d, char path[FILE_PATH], const char *format, ...)
{
    char tail[256];
    va_list args;
    va_start(args, format);
    vsnprintf(tail, sizeof tail, format, args);
    va_end(args);
    snprintf(path, FILE_PATH, "%s/%s", d->folder, tail);
}

/* --- preparing -------------------------------------------------------------------------------- */

/* What is in a folder, not the folder itself. */
static int is_entry(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)path;
    (void)s;
    (void)kind;
    return where->level > 0;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    return is_entry(path, s, kind, where) ? remove(path) : 0;
}

/* An earlier demo's folder is replaced; anything else that is there is left alone. */
static enum err fresh_folder(struct demo *d, const char *folder)
{
    char marker[FILE_PATH], inside[FILE_PATH];
    if (strlen(folder) >= sizeof d->folder || folder[0] == '\0')
        return log_fail(d->log, ERR_USAGE, "--folder: the name is empty or too long");
    snprintf(d->folder, sizeof d->folder, "%s", folder);
    path_of(d, marker, "%s", MARKER);
    path_of(d, inside, "."); /* where a link leads */
    if (access(marker, F_OK) == 0) {
        if (nftw(inside, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
            return log_fail(d->log, ERR_SYSTEM, "cannot remove the earlier demo in %s: %s", folder,
                            strerror(errno));
    } else if (nftw(inside, is_entry, 16, FTW_PHYS) > 0)
        return log_fail(d->log, ERR_SYSTEM,
                        "%s holds something that is no earlier demo; name another --folder",
                        folder);
    TRY(file_folder(folder, d->log));
    return file_write(marker, 0600, "", 0, d->log);
}

static bool port_is_free(uint16_t port)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static enum err find_ports(struct demo *d)
{
    for (unsigned attempt = 0; attempt < 200; attempt++) {
        uint16_t base;
        unsigned k = 0;
        secret_random(&base, sizeof base);
        base = (uint16_t)(20000 + base % 10000);
        while (k < STUDY_SERVERS * STUDY_PORTS && port_is_free((uint16_t)(base + k)))
            k++;
        if (k == STUDY_SERVERS * STUDY_PORTS) {
            d->port = base;
            return ERR_OK;
        }
    }
    return log_fail(d->log, ERR_SYSTEM, "no %d free ports in a row on 127.0.0.1",
                    STUDY_SERVERS * STUDY_PORTS);
}

static enum err make_key(const struct demo *d, const char *name, char text[KEYS_TEXT_SIZE])
{
    struct identity *identity = NULL;
    char path[FILE_PATH];
    enum err e = identity_new(&identity, d->log);
    path_of(d, path, "%s.key", name);
    if (e == ERR_OK)
        e = identity_save(identity, path, false, d->log);
    if (e == ERR_OK)
        public_identity_text(&identity->public, text);
    identity_free(&identity);
    return e;
}

static enum err write_study(struct demo *d)
{
    char path[FILE_PATH], key[KEYS_TEXT_SIZE], line[512];
    struct bytes text = {0};
    enum err e = ERR_OK;
#define ADD(...)                                                                                   \
    do {                                                                                           \
        snprintf(line, sizeof line, __VA_ARGS__);                                                  \
        bytes_put(&text, line, strlen(line));                                                      \
    } while (0)
    ADD("# made by trefoil demo\nstudy: five-hospitals\n");
    bytes_put(&text, demo_data_domain_yaml(), strlen(demo_data_domain_yaml()));
    ADD("workload: {all: 2}\nbudget: {epsilon: 1, delta: 1e-6}\nnoise: box-muller\nrounds: %d\n",
        ROUNDS);
    ADD("servers:\n");
    for (unsigned i = 0; e == ERR_OK && i < STUDY_SERVERS; i++) {
        e = make_key(d, server_names[i], key);
        ADD("  - name: %s\n    endpoint: tcp://127.0.0.1:%u\n    key: %s\n", server_names[i],
            d->port + i * STUDY_PORTS, key);
    }
    ADD("owners:\n");
    for (unsigned i = 0; e == ERR_OK && i < DEMO_HOSPITALS; i++) {
        e = make_key(d, demo_hospitals[i].name, key);
        ADD("  - name: %s\n    max_rows: %u\n    key: %s\n", demo_hospitals[i].name,
            demo_hospitals[i].max_rows, key);
    }
    if (e == ERR_OK)
        e = make_key(d, "analyst", key);
    ADD("analysts:\n  - name: analyst\n    key: %s\ndeadlines: {connect: 20, round: 60}\n", key);
#undef ADD
    path_of(d, path, "%s", "study.yaml");
    if (e == ERR_OK)
        e = bytes_ok(&text);
    if (e == ERR_OK)
        e = file_write(path, 0644, text.data, text.size, d->log);
    if (e == ERR_OK)
        e = study_load(&d->study, path, d->log);
    bytes_clear(&text);
    return e;
}

/* Values that are clipped are what the owners were told, in their share-*.log. */
static enum err load_tables(struct demo *d)
{
    struct log errors = *d->log;
    errors.level = LOG_ERROR;
    TRY(table_new(&d->all, d->study->domain, 0));
    for (unsigned i = 0; i < DEMO_HOSPITALS; i++) {
        char path[FILE_PATH];
        path_of(d, path, "%s.csv", demo_hospitals[i].name);
        TRY(table_read_csv(&d->hospital[i], d->study->domain, path, NULL, &errors));
        TRY(central_append(d->all, d->hospital[i]));
    }
    return ERR_OK;
}

/* --- processes -------------------------------------------------------------------------------- */

static enum err start_servers(struct demo *d)
{
    char study[FILE_PATH], key[FILE_PATH], folder[FILE_PATH], output[FILE_PATH];
    path_of(d, study, "%s", "study.yaml");
    for (unsigned i = 0; i < STUDY_SERVERS; i++) {
        const char *const arguments[] = {"serve", study,      "--key",     key, "--folder",
                                         folder,  "--listen", "127.0.0.1", NULL};
        path_of(d, key, "%s.key", server_names[i]);
        path_of(d, folder, "server-%s", server_names[i]);
        path_of(d, output, "server-%s.log", server_names[i]);
        TRY(process_start(&d->server[i], arguments, output, d->log));
    }
    return ERR_OK;
}

static enum err ask_status(const struct demo *d, struct netio *netio,
                           const struct identity *analyst, unsigned server, int64_t ms)
{
    struct dial *dial CLEAN(dial_free) = NULL;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    bytes_put_u8(&message, MESSAGE_STATUS);
    TRY(lines_dial(&dial, netio, d->study, analyst, server, NULL));
    return lines_ask(dial, &message, &reply, clock_now_ms() + ms);
}

/* A server is up when it answers a status question; that it has ended need not be waited for. */
static enum err wait_for_server(struct demo *d, struct netio *netio, const struct identity *analyst,
                                unsigned server)
{
    enum err e = ERR_TIMEOUT;
    for (int64_t ms = 1000; e == ERR_TIMEOUT && ms <= 16000; ms *= 2) {
        if (process_ended(&d->server[server]))
            break;
        e = ask_status(d, netio, analyst, server, ms);
    }
    if (e == ERR_OK)
        return ERR_OK;
    return log_fail(d->log, e, "server %s does not answer; see %s/server-%s.log",
                    server_names[server], d->folder, server_names[server]);
}

static enum err wait_for_servers(struct demo *d)
{
    struct identity *analyst CLEAN(identity_free) = NULL;
    struct netio *netio CLEAN(netio_free) = NULL;
    char key[FILE_PATH];
    path_of(d, key, "%s.key", "analyst");
    TRY(identity_load(&analyst, key, d->log));
    TRY(netio_new(&netio, d->log));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        TRY(wait_for_server(d, netio, analyst, i));
    return ERR_OK;
}

static enum err run_owners(struct demo *d)
{
    char study[FILE_PATH], data[FILE_PATH], key[FILE_PATH], stats[FILE_PATH],
        output[DEMO_HOSPITALS][FILE_PATH];
    pid_t pid[DEMO_HOSPITALS] = {0};
    enum err e = ERR_OK;
    path_of(d, study, "%s", "study.yaml");
    for (unsigned i = 0; e == ERR_OK && i < DEMO_HOSPITALS; i++) {
        const char *name = demo_hospitals[i].name;
        const char *const arguments[] = {"share", study,     data,  "--key",
                                         key,     "--stats", stats, NULL};
        path_of(d, data, "%s.csv", name);
        path_of(d, key, "%s.key", name);
        path_of(d, stats, "share-%s.json", name);
        path_of(d, output[i], "share-%s.log", name);
        e = process_start(&pid[i], arguments, output[i], d->log);
    }
    for (unsigned i = 0; i < DEMO_HOSPITALS; i++) {
        if (e == ERR_OK)
            e = process_wait(&pid[i], "a share process", output[i], clock_now_ms() + 60000, d->log);
        process_end(&pid[i]);
    }
    return e;
}

static enum err run_analyst(struct demo *d)
{
    char study[FILE_PATH], key[FILE_PATH], out[FILE_PATH], output[FILE_PATH];
    const char *const arguments[] = {"run", study, "--key", key, "--out", out, NULL};
    pid_t pid = 0;
    enum err e;
    path_of(d, study, "%s", "study.yaml");
    path_of(d, key, "%s.key", "analyst");
    path_of(d, out, "%s", "result");
    path_of(d, output, "%s", "run.log");
    e = process_start(&pid, arguments, output, d->log);
    if (e == ERR_OK)
        e = process_wait(&pid, "the run process", output, clock_now_ms() + 300000, d->log);
    process_end(&pid);
    return e;
}

/* --- what came of it -------------------------------------------------------------------------- */

static enum err error_of_csv(const struct demo *d, const char *path, double *error)
{
    struct table *table CLEAN(table_free) = NULL;
    TRY(table_read_csv(&table, d->study->domain, path, NULL, d->log));
    return evaluate_tables(d->study->workload, d->all, table, NULL, error);
}

/* Central AIM on a table at the same budget, as n synthetic rows, against all patients. */
static enum err error_of_central(const struct demo *d, const struct table *table, double *error)
{
    struct aim_result *result CLEAN(aim_result_free) = NULL;
    struct table *rows CLEAN(table_free) = NULL;
    TRY(central_run(&result, d->study, table, NULL, NULL, d->log));
    TRY(sample_rows(&rows, result->model, table->rows, 1, d->log));
    return evaluate_tables(d->study->workload, d->all, rows, NULL, error);
}

/* Errors against all patients: Trefoil's, central AIM's, each hospital's alone. */
#define TABLES (2 + DEMO_HOSPITALS)
struct errors {
    char name[TABLES][64];
    double error[TABLES];
};

static enum err find_errors(const struct demo *d, struct errors *x)
{
    char path[FILE_PATH];
    path_of(d, path, "%s", "result/synthetic.csv");
    snprintf(x->name[0], sizeof x->name[0], "Trefoil: five hospitals, nobody sees the rows");
    TRY(error_of_csv(d, path, &x->error[0]));
    snprintf(x->name[1], sizeof x->name[1], "central AIM: a curator sees all rows");
    TRY(error_of_central(d, d->all, &x->error[1]));
    for (unsigned i = 0; i < DEMO_HOSPITALS; i++) {
        snprintf(x->name[2 + i], sizeof x->name[2 + i], "%s alone (%zu patients)",
                 demo_hospitals[i].name, d->hospital[i]->rows);
        TRY(error_of_central(d, d->hospital[i], &x->error[2 + i]));
    }
    return ERR_OK;
}

static void show_errors(const struct demo *d, const struct errors *x)
{
    printf("\nError against all %zu patients: mean over the %zu two-way marginals of\n"
           "sum |p - q|, from 0 (alike) to 2. Only a demo can compute this.\n\n",
           d->all->rows, d->study->workload->cliques);
    for (unsigned i = 0; i < TABLES; i++)
        printf("  %-46s %.3f\n", x->name[i], x->error[i]);
}

/* The run's report once more, now with the truth beside, which no real study has. */
static enum err write_report(const struct demo *d, const struct errors *x)
{
    const struct workload *w = d->study->workload;
    const char *name[TABLES];
    int64_t *counts = NULL, **one_way = memory_array(w->one_ways, sizeof *one_way);
    struct report_truth truth = {.rows = d->all->rows, .comparisons = TABLES, .error = x->error};
    char folder[FILE_PATH];
    uint64_t cells = 0;
    enum err e = one_way != NULL ? ERR_OK : ERR_NOMEM;
    path_of(d, folder, "%s", "result");
    for (size_t i = 0; i < w->one_ways; i++)
        cells += w->query[i].cells;
    counts = memory_array(cells, sizeof *counts);
    if (counts == NULL)
        e = ERR_NOMEM;
    cells = 0;
    for (size_t i = 0; e == ERR_OK && i < w->one_ways; i++) {
        one_way[i] = counts + cells;
        tabulate_marginal(d->all, &w->query[i].clique, one_way[i]);
        cells += w->query[i].cells;
    }
    for (unsigned i = 0; i < TABLES; i++)
        name[i] = x->name[i];
    truth.name = name;
    truth.one_way = (const int64_t *const *)one_way;
    if (e == ERR_OK)
        e = report_write(folder, d->study, &truth, d->log);
    memory_free(&counts);
    memory_free(&one_way);
    return e;
}

static json_int_t number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void show_rounds(const json_t *stats)
{
    size_t i;
    const json_t *round;
    printf("\nMeasured marginals (chosen under MPC; each opened only with noise):\n\n");
    json_array_foreach(json_object_get(stats, "rounds"), i, round) printf(
        "  round %zu  %-32s sigma %.1f\n", i, json_string_value(json_object_get(round, "marginal")),
        json_real_value(json_object_get(round, "sigma")));
}

static void show_server_bytes(const json_t *stats)
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
               server_names[i], sent, noise);
    }
}

static enum err show_costs(const struct demo *d)
{
    json_t *json;
    printf("\nBytes by role:\n\n");
    for (unsigned i = 0; i < DEMO_HOSPITALS; i++) {
        char name[64];
        snprintf(name, sizeof name, "share-%s.json", demo_hospitals[i].name);
        TRY(report_read_json(&json, d->folder, name, d->log));
        printf("  owner %-13s sent %10" JSON_INTEGER_FORMAT " bytes\n", demo_hospitals[i].name,
               number(json, "bytes_sent"));
        json_decref(json);
    }
    TRY(report_read_json(&json, d->folder, "result/stats.json", d->log));
    show_server_bytes(json);
    printf("  analyst             sent %10" JSON_INTEGER_FORMAT
           " bytes, received %" JSON_INTEGER_FORMAT "\n",
           number(json_object_get(json, "analyst"), "bytes_sent"),
           number(json_object_get(json, "analyst"), "bytes_received"));
    printf("\nThe servers took %.1f s, the estimator %.1f s.\n",
           json_real_value(json_object_get(json, "mpc_s")),
           json_real_value(json_object_get(json, "estimate_s")));
    show_rounds(json);
    json_decref(json);
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

/* ------------------------------------------------------------------------------------------------- */

static void step(const char *what)
{
    printf("- %s\n", what);
    fflush(stdout);
}

static enum err play(struct demo *d, const char *folder, uint64_t seed)
{
    struct errors errors;
    TRY(fresh_folder(d, folder));
    TRY(find_ports(d));
    step("inventing five hospitals' patients");
    TRY(demo_data_write(d->folder, seed, d->log));
    step("making keys and the study file");
    TRY(write_study(d));
    TRY(load_tables(d));
    step("starting three servers");
    TRY(start_servers(d));
    TRY(wait_for_servers(d));
    step("five hospitals share their data");
    TRY(run_owners(d));
    step("the analyst runs the study: one-ways, then four rounds of select and measure");
    TRY(run_analyst(d));
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        process_end(&d->server[i]);
    TRY(show_costs(d));
    TRY(find_errors(d, &errors));
    show_errors(d, &errors);
    TRY(write_report(d, &errors));
    show_guarantee(d);
    return ERR_OK;
}

static int run(int argc, char **argv, struct log *log)
{
    const char *folder = "trefoil-demo", *seed = "7", *rest[1];
    int64_t seed_number = 0;
    size_t given;
    struct demo d = {.log = log};
    const struct command_option options[] = {
        {.name = "folder", .value = &folder},
        {.name = "seed", .value = &seed},
    };
    enum err e = command_options(argc, argv, options, 2, rest, 0, 0, &given, log);
    if (e == ERR_OK)
        e = command_integer("seed", seed, 0, INT64_MAX, &seed_number, log);
    if (e == ERR_OK)
        e = play(&d, folder, (uint64_t)seed_number);
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        process_end(&d.server[i]);
    for (unsigned i = 0; i < DEMO_HOSPITALS; i++)
        table_free(&d.hospital[i]);
    table_free(&d.all);
    study_free(&d.study);
    return command_end(e, log);
}

const struct command cmd_demo = {
    .name = "demo",
    .summary = "show a whole study on this machine, with invented data",
    .help = help,
    .run = run,
};
