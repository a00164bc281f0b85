#include "aim/table.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/client.h"
#include "parties/command.h"
#include "parties/pack.h"
#include "parties/roster.h"
#include "parties/upload.h"
#include "protocols/records.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: trefoil share STUDY DATA.csv --key FILE [--as FORM] [--dry-run] [--delimiter C]\n"
    "                     [--decimal C] [--person COLUMN] [--stats FILE]\n"
    "\n"
    "Sends an owner's rows, secret-shared, to the three servers: none of them learns anything of "
    "the\n"
    "data. They go as counts in the study's marginals or as padded records, whichever is smaller,\n"
    "unless the study or --as says otherwise.\n"
    "Running it again with the same data is safe: it sends the same upload, which counts once, so "
    "a\n"
    "cut upload is resumed by repeating the command.\n"
    "\n"
    "  --key FILE       this owner's private key; its public half stands in the study\n"
    "  --as FORM        answers (counts), records, or auto, which is the default; records may "
    "always\n"
    "                   take the place of answers, answers only where the study says as: answers\n"
    "  --dry-run        say what would be sent to whom, and send nothing\n"
    "  --delimiter C, --decimal C    of the CSV file, instead of a comma and a point\n"
    "  --person COLUMN  says whose a row is: refuse if somebody has more rows than the study's\n"
    "                   rows_per_person. The column stays here; a person's rows at other owners\n"
    "                   count too, and cannot be seen\n"
    "  --stats FILE     write what was sent as JSON\n"
    "\n"
    "example:\n"
    "  trefoil share study.yaml patients.csv --key hospital-a.key\n";

struct share {
    struct study *study;
    struct identity *me;
    size_t owner;
    unsigned form; /* as parties/upload.h numbers it */
    uint64_t bytes;
    struct domain *columns; /* that this owner holds */
    struct table *table;
    struct bytes packed; /* counts or records */
    struct upload parts[STUDY_SERVERS];
    uint64_t sent, received;
    struct log *log;
};

static enum err load(struct share *s, const char *study, const char *data, const char *key,
                     struct table_csv_options options)
{
    TRY(study_load(&s->study, study, s->log));
    TRY(identity_load(&s->me, key, s->log));
    TRY(roster_find(s->study, &s->me->public, ROLE_OWNER, &s->owner, s->log));
    TRY(roster_check(s->study, s->log));
    TRY(roster_servers_current(s->study, s->log));
    options.max_rows = s->study->owner[s->owner].max_rows;
    options.person_rows = s->study->rows_per_person;
    TRY(pack_domain(&s->columns, s->study, s->owner));
    return table_read_csv(&s->table, s->columns, data, &options, s->log);
}

/* auto: what the study bounds this owner by. */
static enum err choose_form(struct share *s, const char *as)
{
    const struct study_owner *owner = &s->study->owner[s->owner];
    s->form = study_upload_form(s->study, s->owner);
    if (as != NULL && strcmp(as, "records") == 0)
        s->form = UPLOAD_RECORDS;
    else if (as != NULL && strcmp(as, "answers") == 0)
        s->form = owner->bits;
    else if (as != NULL && strcmp(as, "auto") != 0) {
        log_error(s->log, "--as is \"%s\"; it should be answers, records or auto", as);
        return ERR_USAGE;
    }
    s->bytes = study_form_bytes(s->study, s->owner, s->form);
    if (s->bytes != 0)
        return ERR_OK;
    if (s->form != UPLOAD_RECORDS)
        log_error(s->log,
                  "the study bounds %s as an owner of records, and counts could exceed that; leave "
                  "--as out, or have the study say as: answers for this owner",
                  owner->name);
    else
        log_error(s->log,
                  "the study cannot take records of %s: a marginal has more than %d attributes, or "
                  "pad_to is beyond what its counts may be; leave --as out",
                  owner->name, RECORDS_ORDER_MAX);
    return ERR_REFUSED;
}

static enum err make_parts(struct share *s)
{
    TRY(pack_table(s->study, s->owner, s->form, s->table, &s->packed));
    return upload_make(s->parts, s->me, s->study->terms.digest, s->form, &s->packed);
}

/* Says if rows hold what the study calls impossible: the study or the table is wrong. */
static enum err look_for_the_impossible(const struct share *s)
{
    const struct study *study = s->study;
    for (size_t k = 0; k < study->zeros && s->columns->attributes == study->domain->attributes;
         k++) {
        const struct zeros *zero = &study->zero[k];
        uint64_t cells = clique_cells(&zero->clique, study->domain);
        int64_t *counts = memory_array(cells, sizeof *counts), rows = 0;
        char name[128];
        if (counts == NULL)
            return ERR_NOMEM;
        table_marginal(s->table, &zero->clique, counts);
        for (size_t i = 0; i < zero->cells; i++)
            rows += counts[zero->cell[i]];
        memory_wipe_free(&counts, cells * sizeof *counts);
        clique_name(&zero->clique, study->domain, name, sizeof name);
        if (rows > 0)
            log_warn(s->log,
                     "%" PRId64
                     " rows hold %s that the study calls impossible: they are sent as they "
                     "are, but the result will have none; is the table right, and the study?",
                     rows, name);
    }
    return ERR_OK;
}

/* What the guarantee takes for granted about persons, and what of it has been checked. */
static void say_persons(const struct share *s, const char *person)
{
    unsigned most = s->study->rows_per_person;
    const char *rows = most == 1 ? "row" : "rows";
    if (person != NULL)
        printf("Nobody has more than %u %s here, by the column %s, which is not sent.\n", most,
               rows, person);
    else
        printf(
            "It is taken for granted that nobody has more than %u %s; --person COLUMN checks it.\n",
            most, rows);
    puts("Rows that a person has at other owners count too, and no owner can see those.");
}

static void say(const struct share *s, const char *person)
{
    const struct study_owner *owner = &s->study->owner[s->owner];
    const struct study_server *server = s->study->server;
    uint64_t answers = study_answers_bytes(s->study, s->owner),
             records = study_records_bytes(s->study, s->owner);
    char terms[STUDY_FINGERPRINT_SIZE];
    study_fingerprint(s->study, terms);
    if (owner->columns < s->study->domain->attributes)
        printf(
            "%s: %zu rows of %zu columns, padded to %u, are sent as records: %" PRIu64 " bytes.\n"
            "Row i belongs to row i of the batch's other owners; a row counts if all of them have "
            "it.\n",
            owner->name, s->table->rows, owner->columns, owner->pad_to, records);
    else if (s->form == UPLOAD_RECORDS)
        printf("%s: %zu rows, padded to %u, are sent as records: %" PRIu64
               " bytes (counts in %" PRIu64 " cells would take %" PRIu64 ").\n",
               owner->name, s->table->rows, owner->pad_to, records,
               s->study->workload->maximal_cells, answers);
    else
        printf("%s: %zu rows (at most %u are allowed) are sent as counts in %" PRIu64
               " cells of %u bits: %" PRIu64 " bytes.\n",
               owner->name, s->table->rows, owner->max_rows, s->study->workload->maximal_cells,
               owner->bits, answers);
    printf("server 0 (%s) gets two random seeds, server 1 (%s) a seed and the masked bytes,\n"
           "server 2 (%s) a seed, and the masked bytes from server 1. No server can read any of\n"
           "it; two servers together could. The size depends on max_rows, not on the data.\n"
           "terms: %s\n",
           server[0].name, server[1].name, server[2].name, terms);
    say_persons(s, person);
}

static enum err message_for(const struct share *s, unsigned server, struct bytes *message)
{
    bytes_put_u8(message, MESSAGE_UPLOAD);
    bytes_put(message, s->study->terms.digest, 32);
    return upload_write(&s->parts[server], server, false, message);
}

static enum err send_to(struct share *s, struct netio *netio, unsigned server)
{
    int64_t deadline = clock_now_ms() +
                       1000 * ((int64_t)s->study->connect_s + (int64_t)s->study->round_s);
    struct dial *dial = NULL;
    struct bytes message = {0};
    struct reply reply = {0};
    enum err e = client_dial(&dial, netio, s->study, s->me, server, s->log);
    if (e == ERR_OK)
        e = message_for(s, server, &message);
    if (e == ERR_OK)
        e = client_ask(dial, &message, &reply, deadline);
    if (e == ERR_OK)
        e = reply.status;
    if (e != ERR_OK)
        log_error(s->log,
                  "server %u (%s): %s; what has been stored so far stays: run the command again",
                  server, s->study->server[server].name,
                  reply.text[0] != '\0' ? reply.text : error_text(e));
    if (dial != NULL) {
        s->sent += dial_sent(dial);
        s->received += dial_received(dial);
    }
    dial_free(&dial);
    bytes_clear(&message);
    return e;
}

/* Server 2 answers when server 1's forwarder has reached it, so server 1 comes before it. */
static enum err send_all(struct share *s)
{
    struct netio *netio = NULL;
    enum err e = netio_new(&netio, s->log);
    for (unsigned i = 0; e == ERR_OK && i < STUDY_SERVERS; i++)
        e = send_to(s, netio, i);
    netio_free(&netio);
    if (e == ERR_OK)
        printf("all three servers have stored the upload: %" PRIu64 " bytes sent, %" PRIu64
               " received\n",
               s->sent, s->received);
    return e;
}

static enum err write_stats(const struct share *s, const char *path)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"rows\": %zu, \"as\": \"%s\", \"bytes\": %" PRIu64
                     ", \"bytes_sent\": %" PRIu64 ", \"bytes_received\": %" PRIu64 "}\n",
                     s->table->rows, s->form == UPLOAD_RECORDS ? "records" : "answers", s->bytes,
                     s->sent, s->received);
    return file_write(path, 0600, text, (size_t)n, s->log);
}

static void clear(struct share *s)
{
    for (unsigned i = 0; i < STUDY_SERVERS; i++)
        upload_clear(&s->parts[i]);
    bytes_clear(&s->packed);
    table_free(&s->table);
    domain_free(&s->columns);
    identity_free(&s->me);
    study_free(&s->study);
}

static int run(int argc, char **argv, struct log *log)
{
    const char *files[2] = {NULL, NULL}, *key = NULL, *delimiter = ",", *decimal = ".",
               *stats = NULL, *as = NULL;
    struct table_csv_options csv = {0};
    bool dry_run = false;
    size_t given;
    struct share s = {.log = log};
    const struct command_option options[] = {
        {.name = "key", .value = &key},
        {.name = "dry-run", .flag = &dry_run},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "stats", .value = &stats},
        {.name = "as", .value = &as},
        {.name = "person", .value = &csv.person},
    };
    enum err e = command_options(argc, argv, options, 7, files, 2, 2, &given, log);
    if (e == ERR_OK && key == NULL) {
        log_error(log, "share needs --key FILE");
        e = ERR_USAGE;
    }
    if (e == ERR_OK)
        e = command_csv(delimiter, decimal, &csv, log);
    if (e == ERR_OK)
        e = load(&s, files[0], files[1], key, csv);
    if (e == ERR_OK)
        e = choose_form(&s, as);
    if (e == ERR_OK)
        e = look_for_the_impossible(&s);
    if (e == ERR_OK)
        e = make_parts(&s);
    if (e == ERR_OK)
        say(&s, csv.person);
    if (e == ERR_OK && !dry_run)
        e = send_all(&s);
    if (e == ERR_OK && stats != NULL)
        e = write_stats(&s, stats);
    clear(&s);
    return command_end(e, log);
}

const struct command cmd_share = {
    .name = "share",
    .summary = "send an owner's data, secret-shared, to the servers",
    .help = help,
    .run = run,
};
