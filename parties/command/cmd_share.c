#include "aim/table/series.h"
#include "base/date.h"
#include "base/secret.h"
#include "base/words.h"
#include "parties/command/command.h"
#include "parties/command/settings.h"
#include "parties/command/share.h"
#include "parties/exchange/price.h"
#include "parties/owner/columns.h"
#include "parties/owner/owner_secret.h"
#include "parties/owner/pack.h"
#include "parties/owner/pin.h"
#include "parties/study/method.h"
#include "parties/study/roster.h"
#include "parties/study/study_uploads.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

static const char help[] =
    "usage: trefoil share STUDY DATA.csv --key FILE [--as counts|records|auto]\n"
    "                     [--events FILE] [--person COLUMN] [--replace] [--dry-run]\n"
    "                     [--accept-warnings] [--fingerprint TERMS] [--token FILE]\n"
    "                     [--secret FILE] [--receipt FILE] [--retries N]\n"
    "                     [--delimiter C] [--decimal C] [--stats FILE]\n"
    "       trefoil share STUDY --sql CONNECTION (--table T | --query Q)\n"
    "                     --key FILE ..\n"
    "       trefoil share STUDY --key FILE --status\n"
    "       trefoil share STUDY --key FILE --withdraw [--receipt FILE]\n"
    "                     [--retries N]\n"
    "       trefoil share STUDY [DATA.csv] --key FILE .. --to PARCEL\n"
    "       trefoil share STUDY --key FILE --keep PARCEL [--receipt FILE]\n"
    "       trefoil share --key FILE --book\n"
    "\n"
    "Sends an owner's rows, secret-shared, to the servers: none of them learns\n"
    "anything about the data. The rows go as counts in the study's marginals or as\n"
    "padded records, whichever is smaller, unless the study or --as says otherwise.\n"
    "All servers sign that they hold the upload. Running the command again with\n"
    "the same data is safe: it sends the same upload, which counts once, and resumes\n"
    "where it was cut off. Until a run begins, an upload may be replaced or\n"
    "withdrawn.\n"
    "\n"
    "What the servers sign about their ledgers is kept beside the key, in\n"
    "NAME.STUDY.heads: a server that comes back with a shorter or a different ledger\n"
    "is refused. NAME.book, also there, lists the budgets of all studies that the key\n"
    "was used for: they add up for people whose rows are in several.\n"
    "\n"
    "  DATA.csv         a file, or - for standard input\n"
    "  --events FILE    in a study with events: these, DATA.csv being the persons.\n"
    "                   With --sql a table or a SELECT, T or Q being the persons\n"
    "  --sql CONNECTION   take the rows from a database that has an ODBC driver: the\n"
    "                   name of a data source in odbc.ini, or a file with lines such\n"
    "                   as Driver=.., Server=.., UID=.., PWD=.. that nobody else may\n"
    "                   read. For an owner of counts the database counts, and no row\n"
    "                   leaves it\n"
    "  --table T, --query Q    with --sql: all rows of a table, or those of a SELECT,\n"
    "                   which needs an ORDER BY where owners share rows\n"
    "  --key FILE       this owner's private key; its public half is in the study\n"
    "                   file\n"
    "  --as FORM        counts, records, or auto (default). An owner may choose\n"
    "                   records where they fit the study, and counts only where it\n"
    "                   says as: counts\n"
    "  --person COLUMN  the column that says which person a row is about: refuse if\n"
    "                   somebody has more rows than the study's rows_per_person. It\n"
    "                   is not sent. Rows at other owners cannot be checked. Where\n"
    "                   the study has person: your table's names for its columns, in\n"
    "                   the study's order, separated by commas\n"
    "  --replace        replace the earlier upload with these data\n"
    "  --dry-run        say what would be sent to whom, and send nothing; `upload:`\n"
    "                   is what a receipt for these data says\n"
    "  --accept-warnings   send what seems wrong, without being asked on a terminal\n"
    "  --fingerprint TERMS   refuse unless these are the study's terms. Without it\n"
    "                   the terms are remembered beside the key the first time, and\n"
    "                   must stay the same\n"
    "  --token FILE     for an owner that the study does not list: a file written by\n"
    "                   trefoil admit, in which one line is the token of this key, or\n"
    "                   an invitation\n"
    "  --secret FILE    a random secret, which the first share makes. The upload\n"
    "                   follows from it, the key and the data, so that somebody who\n"
    "                   steals the key cannot find out by trying which data were\n"
    "                   sent. Default: NAME.STUDY.secret beside the key. Keep it:\n"
    "                   without it the same data make a different upload, which needs\n"
    "                   --replace\n"
    "  --receipt FILE   where the servers' signatures go; default: NAME.STUDY.receipt\n"
    "                   beside the key. `trefoil check STUDY --receipt FILE` verifies\n"
    "                   them\n"
    "  --retries N      how often to retry when a server fails, after longer and\n"
    "                   longer pauses; default 6, which takes half a minute\n"
    "  --status         send nothing; say which uploads the servers hold, and which\n"
    "                   are incomplete (an analyst's key may ask, too)\n"
    "  --to PARCEL      send nothing: write what would be sent to this file, sealed\n"
    "                   for each server. Anybody may bring it to the servers, with\n"
    "                   trefoil send. Also for --replace and --withdraw. The study\n"
    "                   needs sealing keys (trefoil check)\n"
    "  --keep PARCEL    send nothing: verify what the servers answered to the last\n"
    "                   parcel, in PARCEL.answers, and keep it as share does\n"
    "  --withdraw       have the servers delete what this owner uploaded\n"
    "  --book           send nothing; list the studies to which this key has sent\n"
    "                   data, when and under which epsilon and delta, and their sum\n"
    "  --delimiter C, --decimal C    of the CSV file, instead of a comma and a point;\n"
    "                   a delimiter may be the word tab\n"
    "  --stats FILE     write what was sent as JSON\n"
    "\n"
    "example:\n"
    "  trefoil share study.yaml patients.csv --key hospital-a.key\n"
    "  trefoil share study.yaml --sql clinic --table visits --key hospital-a.key\n"
    "  trefoil share study.yaml --sql clinic --table patients --events visits \\\n"
    "      --key hospital-a.key\n"
    "  trefoil share study.yaml patients.csv --key hospital-a.key --to a.parcel\n";

static enum err find_listed(struct share *s)
{
    const struct public_identity *me = &s->me->public;
    const bool analyst = s->status && roster_has(s->study, ROLE_ANALYST, me);
    struct roster_person p;
    TRY(roster_find(s->study, me, analyst ? ROLE_ANALYST : ROLE_OWNER, &p, s->log));
    s->self.owner = p.index;
    snprintf(s->self.name.text, sizeof s->self.name.text, "%s", p.name);
    return ERR_OK;
}

/* ERR_AUTH, logged, if the key has no part in the study: an owner's, or to ask an analyst's. */
static enum err find_self(struct share *s)
{
    enum err e;
    s->self.admitted = s->token_path != NULL;
    if (s->token_path != NULL) {
        if (public_identity_expired(&s->me->public, date_today()))
            return log_fail(s->log, ERR_AUTH,
                            "the last day of this key, %s, is over: trefoil keygen --renew",
                            date_day_text(s->me->public.last_day).text);
        TRY(token_load(&s->self.token, s->study, s->token_path, s->me->public.sign, s->log));
        s->self.owner = s->study->owners + s->self.token.number;
        s->self.name = study_owner_name(s->study, s->self.owner);
        return ERR_OK;
    }
    e = find_listed(s);
    if (e == ERR_AUTH && s->study->open.most > 0)
        log_info(s->log, "an owner that the study does not list needs its token: --token FILE");
    return e;
}

/* It sends no data. */
static bool only_asks(const struct share *s)
{
    return s->status || s->withdraw || s->list || s->keep != NULL;
}

static enum err load(struct share *s)
{
    TRY(study_load(&s->study, s->study_path, s->log));
    s->split = settings_of(s->study)->split;
    TRY(identity_load(&s->me, s->key, s->log));
    TRY(find_self(s));
    TRY(roster_check(s->study, s->log));
    TRY(roster_servers_current(s->study, s->log));
    return only_asks(s) && s->fingerprint == NULL
               ? ERR_OK
               : pin_check(s->key, s->study, s->fingerprint, &s->known, s->log);
}

/* --- what it says of an upload before that leaves --------------------------------------------- */

/* Says what the guarantee assumes about persons, and how much of it has been checked. */
static void say_persons(const struct share *s)
{
    unsigned most = s->study->rows_per_person;
    const char *rows = most == 1 ? "row" : "rows";
    if (s->study->domain->series != NULL) {
        printf("A person has one unit here, however many events. This assumes that a person is at\n"
               "no more than %u %s, which no owner can check.\n",
               most / series_units(s->study->domain),
               most > series_units(s->study->domain) ? "owners" : "owner");
        return;
    }
    if (study_linked(s->study, s->self.owner)) {
        puts("Rows are sorted by a hash of the person they are about, which is sent too,\n"
             "secret-shared: the servers join them with the rows that the batch's other owners\n"
             "have of the same person, and nobody learns which those are. The number and order\n"
             "of rows may differ; the columns of `person` must be written alike.");
        return;
    }
    if (s->study->enforce_person) {
        printf("Rows are sorted by a hash of the person they are about, which is sent too,\n"
               "secret-shared: the servers count no more than %u %s of a person, at all owners\n"
               "together.\n",
               most, rows);
        return;
    }
    if (s->data.options.rows.person != NULL)
        printf("Nobody has more than %u %s here, by the column %s, which is not sent.\n", most,
               rows, s->data.options.rows.person);
    else
        printf("This assumes that nobody has more than %u %s here; check it with\n"
               "--person COLUMN.\n",
               most, rows);
    puts("A person's rows at other owners count too, which no owner can check.");
}

/* Says which of the batch's rows belong together, if they are joined by position. */
static void say_batch(const struct share *s)
{
    const struct study_owner *owner = study_owner(s->study, s->self.owner);
    if (study_linked(s->study, s->self.owner))
        return;
    puts("Row i belongs to row i of the batch's other owners; a row counts if all of them\n"
         "have it.");
    if (owner->rows > 0)
        printf("Each of them must have %u rows, as this table has.\n", owner->rows);
    else
        printf("Each of them must have %zu rows, as this table has: ask them. The study does\n"
               "not say how many (`rows`), so nothing checks it.\n",
               s->source.rows);
}

/* What a server gets of an owner that makes the noise. */
static struct words_text noise_bytes(const struct share *s, unsigned server)
{
    const struct price_ahead plan = price_ahead(s->study);
    uint64_t bytes = 0;
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        bytes += plan.blocks[k] * s->split->noise_bytes(server, plan.samples[k]);
    return words_bytes(bytes);
}

static void announce(const struct share *s)
{
    const struct study_owner *owner = study_owner(s->study, s->self.owner);
    uint64_t counts = study_counts_bytes(s->study, s->self.owner),
             records = study_form_bytes(s->study, s->self.owner, s->form);
    const char *noun = s->study->domain->series != NULL ? "persons"
                       : s->source.rows == 1            ? "row"
                                                        : "rows";
    char print[65] = "its name is known after the first share";
    if (s->made) {
        uint8_t digest[32];
        upload_digest(&s->parts[0], s->study->terms.digest, digest);
        sodium_bin2hex(print, sizeof print, digest, sizeof digest);
    }
    if (owner->columns < s->study->domain->attributes) {
        printf("%s: %zu %s of %zu columns, padded to %u,\nsent as records: %" PRIu64 " bytes.\n",
               owner->name, s->source.rows, noun, owner->columns, owner->pad_to, records);
        say_batch(s);
    } else if (upload_is_records(s->form)) {
        if (!method_of(s->study)->gradients)
            printf("%s: %zu %s, padded to %u,\nsent as records: %" PRIu64
                   " bytes\n(counts in %" PRIu64 " cells would take %" PRIu64 ").\n",
                   owner->name, s->source.rows, noun, owner->pad_to, records,
                   s->study->workload->maximal_cells, counts);
        else
            printf("%s: %zu %s, padded to %u,\nsent as records: %" PRIu64 " bytes.\n", owner->name,
                   s->source.rows, noun, owner->pad_to, records);
    } else
        printf("%s: %zu %s (at most %u allowed), sent as counts\nin %" PRIu64
               " cells of %u bits: %" PRIu64 " bytes.\n",
               owner->name, s->source.rows, noun, owner->max_rows,
               s->study->workload->maximal_cells, study_counts_form(s->study, s->self.owner),
               counts);
    for (unsigned i = 0; i < s->split->servers; i++)
        printf("  server %u (%s) gets %s%s\n", i, s->study->server[i].name,
               s->split->gets[upload_is_records(s->form)][i],
               i + 1 < s->split->servers ? ";" : ".");
    if (s->study->noise_by == NOISE_BY_OWNER)
        printf("Each also gets shares of fresh noise, which this program makes: %s\n"
               "and %s.\n",
               noise_bytes(s, 0).text, noise_bytes(s, 1).text);
    printf("No server can read any of it; two servers together could. The size depends on\n"
           "what the study says, not on the data.\n"
           "terms: %s\n"
           "upload: %s\n",
           study_fingerprint(s->study).text, print);
    say_persons(s);
}

/* --- the upload ------------------------------------------------------------------------------- */

/* A dry run makes no secret; without one there is no upload yet. */
static enum err make_parts(struct share *s)
{
    char path[FILE_PATH];
    uint8_t *secret CLEAN(secret_release) = NULL;
    TRY(source_pack(&s->source, s->study, s->self.owner, s->form, &s->packed));
    TRY(share_path(s, s->secret_path, "secret", path));
    TRY((s->dry_run ? owner_secret_load : owner_secret_take)(&secret, path, s->study, s->log));
    s->made = secret != NULL;
    if (!s->made)
        return ERR_OK;
    return upload_make(s->parts, s->split, s->me, (uint32_t)s->self.owner, secret, s->study,
                       s->form, &s->packed);
}

static enum err write_stats(const struct share *s)
{
    char text[256];
    int n = snprintf(text, sizeof text,
                     "{\"rows\": %zu, \"as\": \"%s\", \"bytes\": %" PRIu64
                     ", \"bytes_sent\": %" PRIu64 ", \"bytes_received\": %" PRIu64 "}\n",
                     s->source.rows, upload_is_records(s->form) ? "records" : "counts", s->bytes,
                     s->traffic.sent, s->traffic.received);
    return file_write(s->stats, 0600, text, (size_t)n, s->log);
}

static void clear(struct share *s)
{
    for (size_t i = 0; i < sizeof s->parts / sizeof *s->parts; i++)
        upload_clear(&s->parts[i]);
    book_clear(&s->book);
    bytes_clear(&s->packed);
    source_clear(&s->source);
    identity_free(&s->me);
    study_free(&s->study);
}

static enum err load_data(struct share *s)
{
    struct progress_reading reading CLEAN(progress_reading_end) = {0};
    progress_reading_begin(&reading, &s->data.options.rows, s->log);
    s->data.look = true;
    return source_load(&s->source, s->study, s->self.owner, s->form, &s->data, s->log);
}

/* What no server would take does not get into the book. */
static enum err may_come(const struct share *s)
{
    if (!token_late(&s->self.token, date_today()) || book_counts(&s->book, &s->entry))
        return ERR_OK;
    return log_fail(s->log, ERR_REFUSED,
                    "the last day of this invitation, %s, is over; ask the issuer for another",
                    date_day_text(s->self.token.by.last_day).text);
}

static enum err share_data(struct share *s)
{
    TRY(share_load_book(s));
    TRY(may_come(s));
    TRY(s->to != NULL ? share_may_seal(s) : ERR_OK);
    TRY(pack_choose_form(s->study, s->self.owner, s->as, &s->form, s->log));
    s->bytes = s->split->bytes(s->study, s->self.owner, s->form);
    TRY(load_data(s));
    TRY(source_check_impossible(&s->source, s->study, s->log));
    TRY(make_parts(s));
    announce(s);
    book_announce(stdout, &s->book, s->book_path, &s->entry);
    TRY(columns_print(stdout, &s->source, s->study->workload, s->log));
    if (s->dry_run) {
        puts("This was a dry run: nothing was sent.");
    } else {
        TRY(columns_accept(&s->source, s->accept, s->log));
        TRY(s->to != NULL ? share_to(s) : share_send(s));
    }
    return s->stats != NULL ? write_stats(s) : ERR_OK;
}

static enum err check_wish(const struct share *s)
{
    const bool asks = only_asks(s);
    const bool data = s->data.csv != NULL || s->data.sql.connection != NULL;
    if (s->status + s->withdraw + s->list + (s->keep != NULL) > 1)
        return log_fail(s->log, ERR_USAGE,
                        "--status and --withdraw are two commands, --book a "
                        "third, --keep a fourth; leave the others out");
    if (s->to != NULL && (s->status || s->list || s->keep != NULL || s->dry_run))
        return log_fail(s->log, ERR_USAGE,
                        "--to makes a parcel of an upload or of --withdraw; leave the others out");
    if (s->list && (s->study_path != NULL || data))
        return log_fail(
            s->log, ERR_USAGE,
            "--book is about all studies; give it the key alone, without study or data");
    if (s->study_path == NULL && !s->list)
        return log_fail(s->log, ERR_USAGE, "an argument is missing");
    if (asks && data)
        return log_fail(s->log, ERR_USAGE,
                        "--status and --withdraw take no data, nor does --keep; leave the CSV file "
                        "or --sql out");
    if (!asks && !data)
        return log_fail(s->log, ERR_USAGE,
                        "share needs the data: a CSV file after the study, or --sql");
    if (s->data.csv != NULL && s->data.sql.connection != NULL)
        return log_fail(s->log, ERR_USAGE,
                        "share takes a CSV file or --sql, not both; leave one out");
    if (asks && (s->dry_run || s->replace || s->as != NULL || s->stats != NULL ||
                 s->data.options.rows.person != NULL || s->secret_path != NULL))
        return log_fail(s->log, ERR_USAGE,
                        "--status, --withdraw and --book send no data; leave out "
                        "the options about data");
    return ERR_OK;
}

static enum err run_share(int argc, char **argv, struct log *log)
{
    const char *files[2] = {NULL, NULL}, *delimiter = NULL, *decimal = NULL;
    struct share s CLEAN(clear) = {.retries = 6, .log = log};
    const struct command_option options[] = {
        {.name = "key", .value = &s.key, .needed = "FILE"},
        {.name = "dry-run", .flag = &s.dry_run},
        {.name = "accept-warnings", .flag = &s.accept},
        {.name = "delimiter", .value = &delimiter},
        {.name = "decimal", .value = &decimal},
        {.name = "sql", .value = &s.data.sql.connection},
        {.name = "table", .value = &s.data.sql.table},
        {.name = "query", .value = &s.data.sql.query},
        {.name = "stats", .value = &s.stats},
        {.name = "token", .value = &s.token_path},
        {.name = "as", .value = &s.as},
        {.name = "person", .value = &s.data.options.rows.person},
        {.name = "events", .value = &s.data.events},
        {.name = "replace", .flag = &s.replace},
        {.name = "status", .flag = &s.status},
        {.name = "to", .value = &s.to},
        {.name = "keep", .value = &s.keep},
        {.name = "withdraw", .flag = &s.withdraw},
        {.name = "book", .flag = &s.list},
        {.name = "fingerprint", .value = &s.fingerprint},
        {.name = "secret", .value = &s.secret_path},
        {.name = "receipt", .value = &s.receipt_path},
        {.name = "retries", .number = &s.retries, .most = 1000},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 0, 2, NULL, log));
    s.study_path = files[0];
    s.data.csv = files[1];
    TRY(check_wish(&s));
    TRY(command_sql(&s.data.sql, log));
    TRY(command_csv(delimiter, decimal, s.data.sql.connection == NULL, &s.data.options, log));
    if (s.list)
        return share_tell_book(&s);
    TRY(load(&s));
    if (s.keep != NULL)
        return share_keep(&s);
    if (s.withdraw)
        return s.to != NULL ? share_to(&s) : share_withdraw(&s);
    return s.status ? share_tell_status(&s) : share_data(&s);
}

DEFINE_COMMAND(share, help, "send an owner's data, secret-shared, to the servers");
