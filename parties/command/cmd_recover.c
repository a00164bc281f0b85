#include "base/secret.h"
#include "parties/audit/audit.h"
#include "parties/command/command.h"
#include "parties/command/settings.h"
#include "parties/server/recover.h"
#include "parties/study/roster.h"
#include "parties/study/study_setting.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: trefoil recover STUDY --key FILE --folder DIR [--resume]\n"
    "\n"
    "Brings a server's folder that was restored from an old backup up to date. Its\n"
    "privacy ledger lacks debits, and the other servers refuse it until it has them.\n"
    "Stop this server first; the two others must be running. Only what both of them\n"
    "agree on is taken over, and it is noted in audit.log. Owners have to share\n"
    "again the uploads that the backup lacks, with the same command as before. A\n"
    "round that was interrupted can no longer be answered, and stays paid for. A\n"
    "last debit that neither of them has made, and for which nothing was opened, is\n"
    "dropped. Of a provider and a keeper each takes over what the other has, and\n"
    "nothing is dropped.\n"
    "\n"
    "  --key FILE     this server's private key\n"
    "  --folder DIR   its folder, as for `trefoil serve`; an empty one if there is no\n"
    "                 backup\n"
    "  --resume       do none of the above; let a server take part again that stopped\n"
    "                 because a check of what the others sent had failed, or too many\n"
    "                 checks had been broken off before they ended (security: abort).\n"
    "                 Find out why first: whoever is behind it gets as many tries\n"
    "                 again\n"
    "\n"
    "example:\n"
    "  trefoil recover study.yaml --key north.key --folder /var/lib/trefoil/north\n";

struct recover {
    struct study *study;
    struct identity *me;
    struct store *store;
    struct audit *audit;
    struct netio *netio;
};

static void say(const struct study *study, uint64_t from, uint64_t to)
{
    if (from == to)
        printf("nothing is missing: this server has all %" PRIu64 " debits that %s %s\n", from,
               study_setting(study)->neighbours, study_setting(study)->have);
    else if (to - from == 1)
        printf("took over debit %" PRIu64, to);
    else
        printf("took over debits %" PRIu64 " to %" PRIu64, from + 1, to);
    if (from < to)
        printf("; this server can be started again. Owners whose\n"
               "uploads the backup lacks should share them again\n");
}

/*
 * Does not make a folder, since the name may be mistyped: without a backup, recover into an empty
 * one.
 */
static enum err check_folder(const char *folder, struct log *log)
{
    if (access(folder, F_OK) == 0)
        return ERR_OK;
    return log_fail(
        log, ERR_SYSTEM,
        "%s does not exist: restore it from a backup (trefoil restore); without one, make "
        "an empty folder, and all is taken from the two others",
        folder);
}

static void clear(struct recover *r)
{
    netio_free(&r->netio);
    audit_close(&r->audit);
    store_close(&r->store);
    identity_free(&r->me);
    study_free(&r->study);
}

/* The folder of one of the study's servers. */
static enum err open_folder(struct recover *r, const char *folder, unsigned index, struct log *log)
{
    TRY(check_folder(folder, log));
    TRY(store_open(&r->store, folder, r->study, settings_of(r->study)->split, r->me, index, log));
    return audit_open(&r->audit, folder, r->study, r->me, index, log);
}

static enum err take_debits(struct recover *r, unsigned index, struct log *log)
{
    struct recover_terms terms = {.study = r->study,
                                  .me = r->me,
                                  .index = index,
                                  .store = r->store,
                                  .audit = r->audit,
                                  .log = log};
    uint64_t from, to;
    enum err e;
    TRY(netio_new(&r->netio, log));
    terms.netio = r->netio;
    e = recover_ledger(&terms, &from, &to);
    if (to > from)
        TRY(audit_note(r->audit, &(const struct audit_entry){
                                     .kind = AUDIT_RECOVERED, .from = from + 1, .to = to}));
    if (e == ERR_OK)
        say(r->study, from, to);
    return e;
}

static enum err resume(struct recover *r)
{
    const struct setting *setting = settings_of(r->study);
    bool stopped = false;
    if (setting->resume != NULL)
        TRY(setting->resume(r->store, r->audit, &stopped));
    if (stopped)
        puts("this server can be started again, and takes part in the study");
    else
        puts("nothing stopped this server: no check failed, and not too many were broken off");
    return ERR_OK;
}

static enum err run_recover(int argc, char **argv, struct log *log)
{
    const char *study = NULL, *key = NULL, *folder = NULL;
    bool resumes = false;
    struct roster_person self;
    struct recover r CLEAN(clear) = {0};
    const struct command_option options[] = {
        {.name = "key", .value = &key, .needed = "FILE"},
        {.name = "folder", .value = &folder, .needed = "DIR"},
        {.name = "resume", .flag = &resumes},
    };
    TRY(command_options(argc, argv, COUNTED(options), &study, 1, 1, NULL, log));
    umask(077);
    TRY(secret_harden_process(log));
    TRY(study_load(&r.study, study, log));
    TRY(identity_load(&r.me, key, log));
    TRY(roster_find(r.study, &r.me->public, ROLE_SERVER, &self, log));
    TRY(open_folder(&r, folder, (unsigned)self.index, log));
    return resumes ? resume(&r) : take_debits(&r, (unsigned)self.index, log);
}

DEFINE_COMMAND(recover, help, "let a server that was restored, or stopped, take part again");
