#include "base/file.h"
#include "base/text.h"
#include "parties/command/command.h"
#include "parties/study/roster.h"
#include "parties/study/warrant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: trefoil approve STUDY --to FILE --analyst NAME --share PERCENT\n"
    "                       --until DATE --purpose TEXT --key KEY\n"
    "       trefoil approve STUDY --to FILE [--key KEY]\n"
    "\n"
    "Makes or signs a warrant: what the study's approvers permit an analyst. Where a\n"
    "study has approvers, its servers open nothing without a warrant that enough of\n"
    "them have signed. Each server checks it by itself, and its audit log keeps it.\n"
    "\n"
    "The first approver makes FILE and signs it; the others read it and add their\n"
    "signatures. It is a short text, not secret: mail it around, then to the analyst,\n"
    "for trefoil run --warrant. Without --key the command only says what FILE permits\n"
    "and who has signed.\n"
    "\n"
    "  --to FILE          the warrant\n"
    "  --analyst NAME     who may run the study with it\n"
    "  --share PERCENT    of the study's budget, such as 50%: a ceiling on all that\n"
    "                     is ever spent, by whatever runs. A run that would pass it\n"
    "                     stops before it spends more\n"
    "  --until DATE       the last day (UTC) on which anything may be spent\n"
    "  --purpose TEXT     one line, at most 200 bytes\n"
    "  --key KEY          an approver's private key\n"
    "\n"
    "example:\n"
    "  trefoil approve study.yaml --to warrant --analyst office --share 50% \\\n"
    "      --until 2027-06-30 --purpose 'Report on wards, 2026' --key board.key\n"
    "  trefoil approve study.yaml --to warrant --key privacy.key\n";

struct approve {
    const char *study_path, *path, *analyst, *share, *until, *purpose, *key;
    struct study *study;
    struct identity *me;
    struct warrant warrant;
    struct log *log;
};

static void clear(struct approve *a)
{
    identity_free(&a->me);
    study_free(&a->study);
}

static enum err read_share(struct approve *a)
{
    char *end;
    const double percent = strtod(a->share, &end);
    if (end == a->share || !(*end == '\0' || strcmp(end, "%") == 0) ||
        !(percent >= 0.0001 && percent <= 100))
        return log_fail(a->log, ERR_USAGE, "--share is a percentage above 0, such as 50%%");
    a->warrant.share = (uint32_t)floor(percent * 10000 + 1e-6);
    return ERR_OK;
}

/* A new warrant; the analyst is one whom the study lists. */
static enum err begin(struct approve *a)
{
    struct warrant *w = &a->warrant;
    size_t i = 0;
    if (a->analyst == NULL || a->share == NULL || a->until == NULL || a->purpose == NULL)
        return log_fail(a->log, ERR_USAGE,
                        "%s is not there; a new warrant needs --analyst, --share, --until and "
                        "--purpose",
                        a->path);
    while (i < a->study->analysts && strcmp(a->study->analyst[i].name, a->analyst) != 0)
        i++;
    if (i == a->study->analysts)
        return log_fail(a->log, ERR_USAGE, "the study has no analyst named %s", a->analyst);
    TRY(command_until(a->until, &w->last_day, a->log));
    if (strlen(a->purpose) >= sizeof w->purpose)
        return log_fail(a->log, ERR_USAGE, "--purpose has more than %d bytes",
                        WARRANT_PURPOSE_SIZE - 1);
    TRY(read_share(a));
    memcpy(w->terms, a->study->terms.digest, sizeof w->terms);
    memcpy(w->analyst, a->study->analyst[i].key.sign, sizeof w->analyst);
    memcpy(w->purpose, a->purpose, strlen(a->purpose) + 1);
    return warrant_sound(w, a->log);
}

static enum err load(struct approve *a)
{
    if (!file_is_there(a->path))
        return begin(a);
    if (a->analyst != NULL || a->share != NULL || a->until != NULL || a->purpose != NULL)
        return log_fail(a->log, ERR_USAGE,
                        "%s is there and says what it permits; to sign it leave out --analyst, "
                        "--share, --until and --purpose, or name another file",
                        a->path);
    TRY(warrant_load(&a->warrant, a->path, a->log));
    return memcmp(a->warrant.terms, a->study->terms.digest, sizeof a->warrant.terms) == 0
               ? ERR_OK
               : log_fail(a->log, ERR_MISMATCH,
                          "%s is for another study, or for other terms of this one", a->path);
}

static enum err sign(struct approve *a)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct roster_person self;
    TRY(identity_load(&a->me, a->key, a->log));
    TRY(roster_find(a->study, &a->me->public, ROLE_APPROVER, &self, a->log));
    TRY(warrant_sign(&a->warrant, a->study, a->me, a->log));
    TRY(warrant_write(&a->warrant, &text));
    return file_write(a->path, 0644, text.data, text.size, a->log);
}

/* What it permits: before anybody signs that. */
static enum err tell(const struct approve *a)
{
    uint8_t number[32];
    warrant_describe(stdout, &a->warrant, a->study);
    TRY(warrant_number(&a->warrant, number));
    printf("  number   %s\n", text_hash(number).text);
    fflush(stdout);
    return ERR_OK;
}

static enum err run_approve(int argc, char **argv, struct log *log)
{
    struct approve a CLEAN(clear) = {.log = log};
    const struct command_option options[] = {
        {.name = "to", .value = &a.path, .needed = "FILE"},
        {.name = "analyst", .value = &a.analyst},
        {.name = "share", .value = &a.share},
        {.name = "until", .value = &a.until},
        {.name = "purpose", .value = &a.purpose},
        {.name = "key", .value = &a.key},
    };
    TRY(command_options(argc, argv, COUNTED(options), &a.study_path, 1, 1, NULL, log));
    TRY(study_load(&a.study, a.study_path, log));
    if (a.study->approvers.at_least == 0)
        return log_fail(log, ERR_STUDY, "%s has no approvers, so no run needs a warrant",
                        a.study_path);
    TRY(roster_check(a.study, log)); /* analysts and their keys are of the roster */
    TRY(load(&a));
    if (a.key == NULL && a.warrant.signatures == 0)
        return log_fail(log, ERR_USAGE, "a new warrant needs --key of the approver who signs it");
    TRY(tell(&a));
    if (a.key != NULL)
        TRY(sign(&a));
    warrant_describe_signatures(stdout, &a.warrant, a.study);
    if (warrant_check(&a.warrant, a.study, NULL, NULL) != ERR_OK)
        puts("It is not good yet, or no longer: see above, and the study's roster.");
    return ERR_OK;
}

DEFINE_COMMAND(approve, help, "sign what a run may open");
