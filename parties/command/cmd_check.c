#include "aim/run/loop.h"
#include "aim/table/series.h"
#include "base/date.h"
#include "base/file.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/command/command.h"
#include "parties/display/card.h"
#include "parties/display/owner_page.h"
#include "parties/exchange/bounds.h"
#include "parties/exchange/price.h"
#include "parties/exchange/receipt.h"
#include "parties/exchange/statement.h"
#include "parties/server/http.h"
#include "parties/study/expect.h"
#include "parties/study/method.h"
#include "parties/study/roster.h"
#include "parties/study/sealing.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"
#include "parties/study/token.h"

#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <string.h>

#define STATEMENT_MAX ((size_t)256 << 20)
#define PAGE_MAX ((size_t)64 << 20)
#define UNWISE_EPSILON 10

static const char help[] =
    "usage: trefoil check STUDY [--key FILE] [--fingerprint]\n"
    "       trefoil check STUDY --board\n"
    "       trefoil check STUDY --receipt FILE\n"
    "       trefoil check STUDY --statement FILE\n"
    "       trefoil check STUDY --page FILE\n"
    "       trefoil check STUDY --token FILE\n"
    "       trefoil check --server PORT\n"
    "\n"
    "Explains a study file in words: who takes part and who sees what, what is\n"
    "guaranteed and what is not, what it costs, which of its questions it will answer\n"
    "well, and where its bins could be better. It warns of an epsilon above 10, a\n"
    "delta above one in the number of rows, and a deadline that is over. Everybody\n"
    "should run it before sending anything, and compare the fingerprint of the terms.\n"
    "\n"
    "Keys may be absent, or REPLACE-WITH-KEY-OF- and a name: it says how many are not\n"
    "there yet. All mistakes of a file are shown at once.\n"
    "\n"
    "  --key FILE      also say what part the holder of this private key plays\n"
    "  --fingerprint   print only the fingerprint of the terms\n"
    "  --board         print only a page for an ethics or data board, in Markdown:\n"
    "                  who takes part, what is guaranteed and what is not, columns\n"
    "  --receipt FILE  only verify what the servers signed for an owner\n"
    "                  (trefoil share)\n"
    "  --statement FILE   only verify what a server signed when it purged the study\n"
    "  --page FILE     only compare an owner's page (trefoil page) with this study\n"
    "                  and this trefoil, byte for byte\n"
    "  --token FILE    only say what tokens and invitations in a file are good for\n"
    "                  (trefoil admit)\n"
    "  --server PORT   only ask a running server, at its --status (PORT, or\n"
    "                  ADDRESS:PORT), whether all is well; prints nothing if it is\n"
    "\n"
    "example:\n"
    "  trefoil check study.yaml --key hospital-a.key\n";

/* Checks what only arithmetic can tell: that counts and noise fit, and the budget as rho. */
static enum err check_arithmetic(const struct study *study, double *rho, struct log *log)
{
    struct bounds *bounds CLEAN(bounds_free) = NULL;
    struct ledger_limits limits;
    TRY(method_works(study, log));
    TRY(bounds_new(&bounds, study, log));
    TRY(price_check_noise(study, log));
    TRY(price_limits(study, &limits, log));
    *rho = limits.rho;
    return ERR_OK;
}

struct check_wish {
    const char *file, *key, *receipt, *statement, *page, *token, *server;
    bool fingerprint, board;
};

static void print_costs(const struct study *study, double rho)
{
    printf("\nCosts: owners upload %s%s in all, each once; of the budget, which\n",
           study->open.most > 0 ? "at most " : "", words_bytes(study_uploads_bytes(study)).text);
    if (study->accounting == ACCOUNTING_GAUSSIAN)
        printf("  each server enforces as rho = %.9g, a run takes all: what it opens is\n"
               "  together as private as one count with Gaussian noise of standard deviation\n"
               "  %.3g, and nothing else. Its time and traffic: trefoil plan.\n",
               rho, ledger_deviation(1, rho));
    else
        printf("  each server enforces as rho = %.9g of zero-concentrated differential\n"
               "  privacy, a run takes all. Its time and traffic: trefoil plan.\n",
               rho);
}

/* Whether owners may have their uploads carried by others. */
static void print_parcels(const struct study *study)
{
    if (study_seals(study)) {
        puts("\nParcels: each server has a sealing key, so others may carry what owners seal\n"
             "  (trefoil share --to, send). They can neither read nor alter it.");
        return;
    }
    puts("\nParcels, which others carry (trefoil share --to): no. These servers have no\n"
         "  sealing key:");
    for (unsigned i = 0; i < study->servers; i++)
        if (!study->server[i].sealing.given)
            printf("  %s\n", study->server[i].name);
}

/* Says why a key cannot do what the study has its holder do, if it cannot. */
static void warn_of_key(const struct study *study, const struct public_identity *me,
                        struct log *log)
{
    struct roster_person p = {0}, found;
    while (roster_next(study, &p))
        if (memcmp(p.key->sign, me->sign, sizeof me->sign) == 0 &&
            roster_find(study, me, p.role, &found, log) != ERR_OK)
            return;
}

/*
 * What a study may say, and should not. Whoever held even odds that a row is there may be sure to e
 * to the epsilon to one: beyond 10, that is 22,000 to one, and protects hardly anybody. A program
 * that published each row with a probability of delta would keep the promise, too.
 */
static void warn_of_choices(const struct study *study, struct log *log)
{
    const uint64_t rows = study_rows(study, false) / series_units(study->domain);
    if (study->epsilon > UNWISE_EPSILON)
        log_warn(
            log,
            "epsilon is %g: what is opened may change odds by a factor of %.2g, so it protects "
            "hardly anybody; %d is much already",
            study->epsilon, exp(study->epsilon), UNWISE_EPSILON);
    if (study->delta * (double)rows > 1)
        log_warn(log,
                 "delta is %g, above one in the %" PRIu64 " rows that owners may bring: it would "
                 "allow that some row is published as it is; choose %.1g or less",
                 study->delta, rows, 0.1 / (double)rows);
    if (study->uploads_until != 0 && date_now() > study->uploads_until)
        log_warn(log,
                 "deadlines.uploads is over since %s: servers take no uploads any more; whoever "
                 "keeps the study file may set another",
                 date_text(study->uploads_until).text);
}

/* Prints how well the study will answer the questions that it is made for. */
static enum err print_questions(const struct study *study, struct log *log)
{
    struct expect *list CLEAN(memory_release) = NULL;
    struct aim_options options = method_aim(study);
    uint64_t multiplier;
    size_t count;
    if (study->questions == NULL || !method_of(study)->selects)
        return ERR_OK;
    TRY(price_limits(study, &options.limits, log));
    TRY(price_look(study, &options.limits, &options.look, log));
    (void)price_reserve(study, &options.limits);
    TRY(measure_multiplier(aim_sigma_later(&options), &multiplier, log));
    TRY(expect_questions(&list, &count, study, measure_sigma(multiplier, study->noise_by), log));
    expect_summary(stdout, study, list, count);
    return ERR_OK;
}

static enum err explain(const struct study *study, const char *key, struct log *log)
{
    struct identity *me CLEAN(identity_free) = NULL;
    double rho = 0;
    TRY(check_arithmetic(study, &rho, log));
    if (key != NULL)
        TRY(identity_load(&me, key, log));
    study_describe(stdout, study, me != NULL ? &me->public : NULL);
    TRY(print_questions(study, log));
    TRY(study_suggest(stdout, study));
    print_costs(study, rho);
    print_parcels(study);
    putchar('\n');
    roster_describe(stdout, study);
    if (me != NULL)
        warn_of_key(study, &me->public, log);
    warn_of_choices(study, log);
    return roster_servers_current(study, log);
}

static enum err check_receipt(const struct study *study, const char *path, struct log *log)
{
    struct receipt receipt;
    TRY(receipt_load(&receipt, study, path, log));
    TRY(receipt_verify(study, &receipt, log));
    receipt_describe(stdout, study, &receipt);
    return ERR_OK;
}

static enum err check_statement(const struct study *study, const char *path, struct log *log)
{
    struct statement s CLEAN(statement_clear) = {0};
    struct bytes text CLEAN(bytes_clear) = {0};
    TRY(file_read(path, STATEMENT_MAX, &text, log));
    TRY(statement_read(&s, study, path, text.data, text.size, log));
    printf("Server %u (%s) states, signed with its key, that on %s\n"
           "it deleted for good from its store what %zu %s had uploaded for study\n"
           "%s. Backups are not covered.\n",
           s.server, study->server[s.server].name, date_text(s.time).text, s.uploads,
           s.uploads == 1 ? "owner" : "owners", study->name);
    for (size_t i = 0; i < s.uploads; i++)
        printf("  %s\n", study_owner_name(study, s.upload[i].owner).text);
    return ERR_OK;
}

/* Other bytes of the file than ours may still be this study: comments, the order of keys. */
static enum err check_page(const struct study *study, const struct check_wish *w, struct log *log)
{
    struct bytes page CLEAN(bytes_clear) = {0}, ours CLEAN(bytes_clear) = {0};
    struct bytes own CLEAN(bytes_clear) = {0}, file CLEAN(bytes_clear) = {0};
    struct bytes beside CLEAN(bytes_clear) = {0};
    struct study *theirs CLEAN(study_free) = NULL;
    const char *path = w->page;
    TRY(owner_page_files(study, w->file, &own, &beside, log));
    TRY(file_read(path, PAGE_MAX, &page, log));
    if (owner_page_study(&page, &file) != ERR_OK)
        return log_fail(log, ERR_FORMAT, "%s is no owner's page", path);
    TRY(study_parse(&theirs, w->file, file.data, file.size, log));
    if (memcmp(theirs->terms.digest, study->terms.digest, sizeof study->terms.digest) != 0)
        return log_fail(log, ERR_MISMATCH, "%s is a page of other terms: %s", path,
                        study_fingerprint(theirs).text);
    if (memcmp(theirs->roster, study->roster, sizeof study->roster) != 0)
        return log_fail(log, ERR_MISMATCH, "%s is a page of another roster (version %u)", path,
                        theirs->roster_version);
    TRY(owner_page(theirs, &file, &beside, &ours, NULL, log));
    if (page.size != ours.size || memcmp(page.data, ours.data, ours.size) != 0)
        return log_fail(log, ERR_MISMATCH,
                        "%s is not the page that trefoil %s makes of its study: do not use it, "
                        "unless another version made it",
                        path, TREFOIL_VERSION);
    printf("%s is the page of this study, as trefoil %s makes it.\n", path, TREFOIL_VERSION);
    return ERR_OK;
}

/* Whether a token's, or an invitation's, number can still be taken: its name, and until when. */
static enum err tell_token(const struct study *study, const struct line_reader *in,
                           const char *line)
{
    struct token t;
    uint8_t seed[INVITE_SEED_SIZE];
    enum err e = token_parse(&t, line);
    if (e == ERR_FORMAT) {
        t = (struct token){.invited = true};
        e = invite_parse_link(&t.by, seed, line);
        sodium_memzero(seed, sizeof seed);
        if (e == ERR_FORMAT)
            e = invite_parse(&t.by, line);
        if (e == ERR_OK)
            e = invite_check(&t.by, study);
        t.number = t.by.number;
    } else if (e == ERR_OK)
        e = token_check(&t, study);
    if (e != ERR_OK)
        return line_fail(in, e, "%s", token_hint(e));
    if (token_late(&t, date_today()))
        return line_fail(in, ERR_REFUSED,
                         "the last day of this invitation, %s, is over: only a key that has taken "
                         "it up before can go on; ask the issuer for another",
                         date_day_text(t.by.last_day).text);
    printf("%s of study %s, signed by its issuer",
           study_owner_name(study, study->owners + t.number).text, study->name);
    if (t.invited)
        printf(": for the first who takes it up,\nuntil the end of %s",
               date_day_text(t.by.last_day).text);
    puts("");
    return ERR_OK;
}

static enum err check_tokens(const struct study *study, const char *path, struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    TRY(line_file(&in, path, TOKEN_FILE_MOST, log));
    for (const char *line; (line = line_next(&in)) != NULL;)
        if (!line_says_nothing(line))
            TRY(tell_token(study, &in, line));
    return ERR_OK;
}

static enum err print_board(const struct study *study)
{
    struct bytes page CLEAN(bytes_clear) = {0};
    TRY(card_board(&page, study));
    return fwrite(page.data, 1, page.size, stdout) == page.size ? ERR_OK : ERR_SYSTEM;
}

static enum err check_study(const struct check_wish *w, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    double rho;
    TRY(study_load_draft(&study, w->file, log));
    if (w->receipt != NULL)
        return check_receipt(study, w->receipt, log);
    if (w->statement != NULL)
        return check_statement(study, w->statement, log);
    if (w->page != NULL)
        return check_page(study, w, log);
    if (w->token != NULL)
        return check_tokens(study, w->token, log);
    if (!w->fingerprint && !w->board)
        return explain(study, w->key, log);
    TRY(check_arithmetic(study, &rho, log));
    if (w->board)
        return print_board(study);
    if (study->keyless > 0)
        return log_fail(log, ERR_STUDY, "%s has no terms yet to compare: %s", w->file,
                        study_not_yet(study).text);
    puts(study_fingerprint(study).text);
    return ERR_OK;
}

/* Each of these does one thing: an option that is left aside would seem to have been checked. */
static enum err check_alone(const struct check_wish *w, struct log *log)
{
    const int checks = (w->receipt != NULL) + (w->statement != NULL) + (w->page != NULL) +
                       (w->token != NULL) + w->board;
    if (checks + (w->key != NULL || w->fingerprint) <= 1 || checks == 0)
        return ERR_OK;
    return log_fail(log, ERR_USAGE,
                    "--receipt and --statement stand alone, and so do --page, --token and --board; "
                    "leave the other options out");
}

static enum err run_check(int argc, char **argv, struct log *log)
{
    struct check_wish w = {0};
    const struct command_option options[] = {
        {.name = "key", .value = &w.key},
        {.name = "receipt", .value = &w.receipt},
        {.name = "statement", .value = &w.statement},
        {.name = "page", .value = &w.page},
        {.name = "token", .value = &w.token},
        {.name = "server", .value = &w.server},
        {.name = "fingerprint", .flag = &w.fingerprint},
        {.name = "board", .flag = &w.board},
    };
    TRY(command_options(argc, argv, COUNTED(options), &w.file, 0, 1, NULL, log));
    if ((w.server != NULL) != (w.file == NULL) || (w.server != NULL && argc > 3))
        return log_fail(log, ERR_USAGE, "name a study file, or --server and nothing else");
    if (w.server != NULL)
        return http_probe(w.server, log);
    TRY(check_alone(&w, log));
    return check_study(&w, log);
}

DEFINE_COMMAND(check, help, "explain a study file in words");
