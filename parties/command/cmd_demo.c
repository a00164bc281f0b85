/*
 * trefoil demo: everything at once on this machine, with invented patients: keys, a study, three
 * server processes, six owner processes, an analyst process. At the end it shows what a real study
 * never could, the comparison with the truth.
 */
#include "aim/table/csv.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/secret.h"
#include "base/text.h"
#include "parties/analyst/central.h"
#include "parties/command/command.h"
#include "parties/command/demo.h"
#include "parties/command/process.h"
#include "parties/exchange/dials.h"
#include "parties/owner/pack.h"
#include "parties/study/study_ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER ".trefoil-demo"

static const char help[] =
    "usage: trefoil demo [--provider] [--folder DIR] [--seed N]\n"
    "\n"
    "Shows a whole study on this machine: six invented hospitals of different sizes\n"
    "and kinds, three server processes on loopback, one run. Two of the hospitals\n"
    "hold different columns of the same patients, whom the servers link without\n"
    "seeing who they are. Then it says how good the synthetic table is, compared with\n"
    "central AIM and with what each hospital could do alone.\n"
    "\n"
    "  --provider     show two servers in the place of three: a provider and a\n"
    "                 keeper, run by two hospitals that bring rows, as a third does\n"
    "  --folder DIR   where everything goes; replaces an earlier demo there. Default:\n"
    "                 trefoil-demo\n"
    "  --seed N       for the invented data; default 7\n"
    "\n"
    "example:\n"
    "  trefoil demo --folder trefoil-demo\n";

/* --- preparing -------------------------------------------------------------------------------- */

/* Whether it is something in the folder, not the folder itself. */
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
    demo_path(d, marker, "%s", MARKER);
    demo_path(d, inside, "."); /* where a link leads */
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
    const unsigned ports = d->scene->servers * STUDY_PORTS;
    for (unsigned attempt = 0; attempt < 200; attempt++) {
        uint16_t base;
        unsigned k = 0;
        secret_random(&base, sizeof base);
        base = (uint16_t)(20000 + base % 10000);
        while (k < ports && port_is_free((uint16_t)(base + k)))
            k++;
        if (k == ports) {
            d->port = base;
            return ERR_OK;
        }
    }
    return log_fail(d->log, ERR_SYSTEM, "no %u free ports in a row on 127.0.0.1", ports);
}

static enum err make_key(const struct demo *d, const char *name, char text[IDENTITY_TEXT_SIZE])
{
    struct identity *identity CLEAN(identity_free) = NULL;
    char path[FILE_PATH];
    demo_path(d, path, "%s.key", name);
    TRY(identity_new(&identity, d->log));
    TRY(identity_save(identity, path, false, d->log));
    public_identity_text(&identity->public, text);
    return ERR_OK;
}

static enum err put_servers(const struct demo *d, struct bytes *text)
{
    char key[IDENTITY_TEXT_SIZE];
    bytes_put_text(text, d->scene->servers_key);
    for (unsigned i = 0; i < d->scene->servers; i++) {
        TRY(make_key(d, d->scene->server[i], key));
        text_put(text, "%s name: %s\n    endpoint: tcp://127.0.0.1:%u\n    key: %s\n",
                 d->scene->server_key[i], d->scene->server[i], d->port + i * STUDY_PORTS, key);
    }
    return bytes_ok(text);
}

static enum err write_study(struct demo *d)
{
    char path[FILE_PATH], key[IDENTITY_TEXT_SIZE];
    struct bytes text CLEAN(bytes_clear) = {0};
    demo_path(d, path, "study.yaml");
    text_put(&text,
             "# made by trefoil demo\n%s%sworkload: {all: 2}\n"
             "budget: {epsilon: 1, delta: 1e-6, accounting: gaussian}\nrounds: auto\n%s",
             d->scene->head, demo_data_domain_yaml(), d->scene->more);
    TRY(put_servers(d, &text));
    text_put(&text, "owners:\n");
    for (unsigned i = 0; i < d->scene->hospitals; i++) {
        TRY(make_key(d, demo_hospitals[i].name, key));
        text_put(&text, "  - name: %s\n    max_rows: %u\n    key: %s\n", demo_hospitals[i].name,
                 demo_hospitals[i].max_rows, key);
        if (demo_hospitals[i].columns != NULL)
            text_put(&text, "    batch: island\n    columns: [%s]\n", demo_hospitals[i].columns);
    }
    TRY(make_key(d, "analyst", key));
    text_put(&text,
             "analysts:\n  - name: analyst\n    key: %s\n"
             "deadlines: {connect: 20, round: 60}\n",
             key);
    TRY(bytes_ok(&text));
    TRY(file_write(path, 0644, text.data, text.size, d->log));
    return study_load(&d->study, path, d->log);
}

/* Makes the tables of all rows, and of those that are linked. */
static enum err link_tables(struct demo *d)
{
    struct table *none[DEMO_HOSPITALS];
    struct table *empty CLEAN(table_free) = NULL;
    size_t linked, surplus;
    TRY(table_new(&empty, d->study->domain, 0));
    TRY(table_new(&d->joined, d->study->domain, 0));
    TRY(table_new(&d->all, d->study->domain, 0));
    for (unsigned i = 0; i < d->scene->hospitals; i++)
        none[i] = study_linked(d->study, i) ? d->hospital[i] : empty;
    TRY(central_link(d->joined, d->study, none, &linked, &surplus));
    return central_link(d->all, d->study, d->hospital, &linked, &surplus);
}

/* Owners were told about clipped values, in their share-*.log. */
static enum err load_tables(struct demo *d)
{
    struct log errors = *d->log;
    errors.level = LOG_ERROR;
    for (unsigned i = 0; i < d->scene->hospitals; i++) {
        char path[FILE_PATH];
        struct table_csv_options options = {.delimiter = 0};
        struct person_rule rule;
        char names[] = "patient", others[] = "number";
        demo_path(d, path, "%s.csv", demo_hospitals[i].name);
        if (study_sends_keys(d->study, i)) {
            TRY(study_person_rule(d->study, i + 1 < d->scene->hospitals ? names : others, &rule,
                                  d->log));
            options.rows.key = &rule;
        }
        TRY(pack_domain(&d->columns[i], d->study, i));
        TRY(table_read_csv(&d->hospital[i], d->columns[i], path, &options, &errors));
    }
    return link_tables(d);
}

/* --- processes -------------------------------------------------------------------------------- */

static enum err start_servers(struct demo *d)
{
    char study[FILE_PATH], key[FILE_PATH], folder[FILE_PATH], output[FILE_PATH];
    demo_path(d, study, "study.yaml");
    for (unsigned i = 0; i < d->scene->servers; i++) {
        const char *const arguments[] = {"serve", study,      "--key",     key, "--folder",
                                         folder,  "--listen", "127.0.0.1", NULL};
        demo_path(d, key, "%s.key", d->scene->server[i]);
        demo_path(d, folder, "server-%s", d->scene->server[i]);
        demo_path(d, output, "server-%s.log", d->scene->server[i]);
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
    TRY(dials_new(&dial, netio, d->study, analyst, server, NULL));
    return dials_ask(dial, &message, &reply, ms, ms);
}

/* A server is up when it answers a status question; one that has ended is not waited for. */
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
                    d->scene->server[server], d->folder, d->scene->server[server]);
}

static enum err wait_for_servers(struct demo *d)
{
    struct identity *analyst CLEAN(identity_free) = NULL;
    struct netio *netio CLEAN(netio_free) = NULL;
    char key[FILE_PATH];
    demo_path(d, key, "analyst.key");
    TRY(identity_load(&analyst, key, d->log));
    TRY(netio_new(&netio, d->log));
    for (unsigned i = 0; i < d->scene->servers; i++)
        TRY(wait_for_server(d, netio, analyst, i));
    return ERR_OK;
}

static enum err run_owners(struct demo *d)
{
    char study[FILE_PATH], data[FILE_PATH], key[FILE_PATH], stats[FILE_PATH],
        output[DEMO_HOSPITALS][FILE_PATH];
    pid_t pid[DEMO_HOSPITALS] = {0};
    enum err e = ERR_OK;
    demo_path(d, study, "study.yaml");
    for (unsigned i = 0; e == ERR_OK && i < d->scene->hospitals; i++) {
        const char *name = demo_hospitals[i].name;
        const bool other = study_linked(d->study, i) &&
                           i + 1 ==
                               d->scene->hospitals; /* its table has another name for `patient` */
        /* the tables lack much, as real ones do */
        const char *const arguments[] = {"share",
                                         study,
                                         data,
                                         "--key",
                                         key,
                                         "--stats",
                                         stats,
                                         "--accept-warnings",
                                         other ? "--person" : NULL,
                                         "number",
                                         NULL};
        demo_path(d, data, "%s.csv", name);
        demo_path(d, key, "%s.key", name);
        demo_path(d, stats, "share-%s.json", name);
        demo_path(d, output[i], "share-%s.log", name);
        e = process_start(&pid[i], arguments, output[i], d->log);
    }
    for (unsigned i = 0; i < d->scene->hospitals; i++) {
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
    pid_t pid CLEAN(process_end) = 0;
    demo_path(d, study, "study.yaml");
    demo_path(d, key, "analyst.key");
    demo_path(d, out, "result");
    demo_path(d, output, "run.log");
    TRY(process_start(&pid, arguments, output, d->log));
    return process_wait(&pid, "the run process", output, clock_now_ms() + 300000, d->log);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void step(const char *what)
{
    printf("- %s\n", what);
    fflush(stdout);
}

static enum err play_demo(struct demo *d, const char *folder, uint64_t seed)
{
    TRY(fresh_folder(d, folder));
    TRY(find_ports(d));
    step(d->scene->inventing);
    TRY(demo_data_write(d->folder, d->scene->hospitals, seed, d->log));
    step("making keys and the study file");
    TRY(write_study(d));
    TRY(load_tables(d));
    step(d->scene->starting);
    TRY(start_servers(d));
    TRY(wait_for_servers(d));
    step(d->scene->sharing);
    TRY(run_owners(d));
    step("the analyst runs the study: one-ways, then sweeps of scores and marginals");
    TRY(run_analyst(d));
    for (unsigned i = 0; i < d->scene->servers; i++)
        process_end(&d->server[i]);
    return demo_show(d);
}

static void end(struct demo *d)
{
    for (unsigned i = 0; i < d->scene->servers; i++)
        process_end(&d->server[i]);
    for (unsigned i = 0; i < d->scene->hospitals; i++) {
        table_free(&d->hospital[i]);
        domain_free(&d->columns[i]);
    }
    table_free(&d->joined);
    table_free(&d->all);
    study_free(&d->study);
}

static enum err run_demo(int argc, char **argv, struct log *log)
{
    const char *folder = "trefoil-demo", *rest[1];
    int64_t seed = DEMO_SEED;
    bool provider = false;
    struct demo d CLEAN(end) = {.log = log, .scene = &demo_of_three};
    const struct command_option options[] = {
        {.name = "provider", .flag = &provider},
        {.name = "folder", .value = &folder},
        {.name = "seed", .number = &seed, .most = INT64_MAX},
    };
    TRY(command_options(argc, argv, COUNTED(options), rest, 0, 0, NULL, log));
    if (provider)
        d.scene = &demo_of_two;
    return play_demo(&d, folder, (uint64_t)seed);
}

DEFINE_COMMAND(demo, help, "show a whole study on this machine, with invented data");
