#include "base/file.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/command/command.h"
#include "parties/study/roster.h"
#include "parties/study/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_MOST ((size_t)512 << 20)

static const char help[] =
    "usage: trefoil admit STUDY KEYS --key FILE --tokens FILE [--folder FOLDER]\n"
    "                     [--earlier STUDY]\n"
    "       trefoil admit STUDY --tokens FILE\n"
    "\n"
    "Admits owners that the study does not list (its key open_owners). KEYS has their\n"
    "public keys, one per line, as trefoil keygen prints them. Each gets a token,\n"
    "which allows one upload to this study and works with no other key. It is not\n"
    "secret. Nothing is sent anywhere: this needs no server.\n"
    "\n"
    "Tokens are added to the file of --tokens, the register of everyone who was\n"
    "admitted: keep it, and use it again. A key that is in it keeps its token, and no\n"
    "number is given twice: a second trefoil admit waits until the first has finished\n"
    "with it. Whoever has two keys admitted has two uploads: make sure that nobody\n"
    "does. To revoke a token, list its number in the study file, under\n"
    "open_owners.revoked, as an amendment of its roster.\n"
    "\n"
    "Without KEYS, the tokens in the register are checked and counted.\n"
    "\n"
    "  --key FILE       the private key of the issuer that the study names\n"
    "  --tokens FILE    the register; it is created if it does not exist\n"
    "  --folder FOLDER  also write the token of each key in KEYS to a file of its own\n"
    "                   in FOLDER, named after its number\n"
    "  --earlier STUDY  the study file from before its issuer changed, whose tokens\n"
    "                   are in the register: they are checked and signed anew. Keys\n"
    "                   keep their numbers, and new ones follow. --folder then gets\n"
    "                   all of them\n"
    "\n"
    "example:\n"
    "  trefoil admit study.yaml phones.txt --key issuer.key --tokens admitted.txt\n";

/* A key that asks, and its line in the file. */
struct asker {
    uint8_t sign[32];
    size_t line;
    bool known; /* it has a token, or comes twice */
};

/* A token from the register, or a new one. */
struct admit_entry {
    struct token token; /* first: entries are ordered as tokens */
    bool asked;         /* gets a file of its own */
};

struct admit {
    const char *study_path, *keys, *key, *tokens, *folder, *earlier_path;
    struct study *study, *earlier; /* earlier: may be NULL */
    struct identity *issuer;
    struct admit_entry *entry; /* those of the register, then the new ones */
    size_t count, room, before;
    size_t renewed; /* tokens that an earlier issuer had signed */
    struct asker *asker;
    size_t askers, asker_room;
    int lock; /* of the register; -1: there is none */
    struct log *log;
};

static void clear(struct admit *a)
{
    if (a->lock >= 0)
        close(a->lock);
    memory_free_all(&a->entry, &a->asker);
    identity_free(&a->issuer);
    study_free(&a->study);
    study_free(&a->earlier);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Calls `take` with each line of a file that is neither empty nor a comment. */
static enum err each_line(struct admit *a, const char *path,
                          enum err (*take)(struct admit *a, const struct line_reader *in,
                                           const char *line))
{
    struct line_reader in CLEAN(line_clear) = {0};
    TRY(line_file(&in, path, FILE_MOST, a->log));
    for (const char *line; (line = line_next(&in)) != NULL;)
        if (!line_says_nothing(line))
            TRY(take(a, &in, line));
    return ERR_OK;
}

/*
 * With the issuer's key it signs again, which gives the same signature, and faster than checking.
 * Tokens of the earlier issuer are signed anew.
 */
static enum err check_token(struct admit *a, struct token *t, bool *renewed)
{
    struct token own;
    enum err e;
    *renewed = false;
    if (a->issuer == NULL || t->number >= a->study->open.most)
        return token_check(t, a->study);
    TRY(token_make(&own, a->study, a->issuer, t->number, t->sign));
    if (memcmp(own.signature, t->signature, sizeof t->signature) == 0)
        return ERR_OK;
    e = a->earlier != NULL ? token_check(t, a->earlier) : ERR_AUTH;
    *renewed = e == ERR_OK || e == ERR_REFUSED;
    if (*renewed)
        *t = own;
    return *renewed ? ERR_OK : e;
}

static enum err take_token(struct admit *a, const struct line_reader *in, const char *line)
{
    struct token t;
    bool renewed = false;
    enum err e = token_parse(&t, line);
    if (e == ERR_OK)
        e = check_token(a, &t, &renewed);
    if (e == ERR_AUTH && a->issuer != NULL)
        return line_fail(
            in, e,
            "a token of another study, other terms or another issuer; name another file, or, if "
            "the issuer has changed, give the earlier study file with --earlier");
    if (e == ERR_REFUSED) {
        log_warn(a->log, "%s:%zu: token %u is revoked", in->path, in->number, t.number);
        e = ERR_OK;
    }
    if (e != ERR_OK)
        return line_fail(in, e, "%s", token_hint(e));
    TRY(memory_room(&a->entry, &a->room, a->count + 1));
    a->entry[a->count++] = (struct admit_entry){.token = t};
    a->renewed += renewed;
    return ERR_OK;
}

static enum err take_key(struct admit *a, const struct line_reader *in, const char *line)
{
    struct public_identity who;
    struct asker *asker;
    const enum err e = public_identity_parse(&who, line);
    if (e != ERR_OK)
        return line_fail(in, e, "%s", identity_parse_hint(e));
    TRY(memory_room(&a->asker, &a->asker_room, a->askers + 1));
    asker = &a->asker[a->askers++];
    *asker = (struct asker){.line = in->number};
    memcpy(asker->sign, who.sign, sizeof who.sign);
    return ERR_OK;
}

/* --- who is new ------------------------------------------------------------------------------- */

static int by_token_key(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    return memcmp(x->sign, y->sign, sizeof x->sign);
}

static int by_number(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* If two lines have the same key, the earlier comes first. */
static int by_key(const void *a, const void *b)
{
    const struct asker *x = a, *y = b;
    const int order = memcmp(x->sign, y->sign, sizeof x->sign);
    return order != 0 ? order : (x->line > y->line) - (x->line < y->line);
}

static int by_line(const void *a, const void *b)
{
    const struct asker *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

/* Two keys with one number would be one owner; one key with two numbers, two. */
static enum err check_register(struct admit *a)
{
    for (unsigned pass = 0; pass < 2 && a->count > 0; pass++) {
        qsort(a->entry, a->count, sizeof *a->entry, pass == 0 ? by_number : by_token_key);
        for (size_t i = 1; i < a->count; i++)
            if ((pass == 0 ? by_number : by_token_key)(&a->entry[i - 1], &a->entry[i]) == 0)
                return log_fail(a->log, ERR_DATA,
                                "%s is damaged: %s (tokens %u and %u); restore a copy", a->tokens,
                                pass == 0 ? "a number was given twice" : "a key has two tokens",
                                a->entry[i - 1].token.number, a->entry[i].token.number);
    }
    return ERR_OK;
}

static enum err load_register(struct admit *a)
{
    if (a->keys == NULL || file_is_there(a->tokens))
        TRY(each_line(a, a->tokens, take_token));
    a->before = a->count;
    return check_register(a);
}

static enum err check_asks_not(const struct admit *a, const struct public_identity *key,
                               const char *name)
{
    for (size_t low = 0, high = a->askers; low < high;) {
        const size_t middle = low + (high - low) / 2;
        const int order = memcmp(key->sign, a->asker[middle].sign, sizeof key->sign);
        if (order == 0)
            return log_fail(a->log, ERR_DATA,
                            "%s:%zu: the key of %s, whom the study lists; leave it out", a->keys,
                            a->asker[middle].line, name);
        high = order < 0 ? middle : high;
        low = order > 0 ? middle + 1 : low;
    }
    return ERR_OK;
}

/* A key has one role. */
static enum err check_roles(const struct admit *a)
{
    struct roster_person p = {0};
    while (roster_next(a->study, &p))
        TRY(check_asks_not(a, p.key, p.name));
    return check_asks_not(a, &a->study->open.issuer, "the issuer");
}

static enum err load_keys(struct admit *a)
{
    TRY(each_line(a, a->keys, take_key));
    if (a->askers == 0)
        return ERR_OK;
    qsort(a->asker, a->askers, sizeof *a->asker, by_key);
    TRY(check_roles(a));
    for (size_t i = 0; i < a->askers; i++) {
        struct admit_entry wanted = {0}, *found = NULL;
        memcpy(wanted.token.sign, a->asker[i].sign, sizeof wanted.token.sign);
        if (a->count > 0)
            found = bsearch(&wanted, a->entry, a->count, sizeof wanted, by_token_key);
        if (found != NULL)
            found->asked = true;
        a->asker[i].known = found != NULL ||
                            (i > 0 && memcmp(a->asker[i].sign, a->asker[i - 1].sign,
                                             sizeof a->asker->sign) == 0);
    }
    qsort(a->asker, a->askers, sizeof *a->asker, by_line);
    return ERR_OK;
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* Numbers go on after the last one that was given. */
static enum err make_tokens(struct admit *a)
{
    uint32_t next = 0;
    if (a->count > 0) {
        qsort(a->entry, a->count, sizeof *a->entry, by_number);
        next = a->entry[a->count - 1].token.number + 1;
    }
    for (size_t i = 0; i < a->askers; i++) {
        if (a->asker[i].known)
            continue;
        if (next == a->study->open.most)
            return log_fail(a->log, ERR_RANGE,
                            "%s:%zu: the study admits %zu owners that it does not list "
                            "(open_owners.max), and that many have tokens; nothing was written",
                            a->keys, a->asker[i].line, a->study->open.most);
        TRY(memory_room(&a->entry, &a->room, a->count + 1));
        a->entry[a->count].asked = true;
        TRY(token_make(&a->entry[a->count++].token, a->study, a->issuer, next++, a->asker[i].sign));
    }
    return ERR_OK;
}

static enum err write_register(const struct admit *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    char text[TOKEN_TEXT_SIZE];
    for (size_t i = 0; i < a->count; i++) {
        token_text(&a->entry[i].token, text);
        text_put(&out, "%s\n", text);
    }
    TRY(bytes_ok(&out));
    return file_write(a->tokens, 0644, out.data, out.size, a->log);
}

/*
 * Also writes tokens of earlier calls: a call that was cut short may have left some out or, if the
 * issuer has changed, as the earlier one signed them.
 */
static enum err write_each(const struct admit *a)
{
    char path[FILE_PATH], text[TOKEN_TEXT_SIZE + 1];
    if (a->folder == NULL)
        return ERR_OK;
    TRY(file_folder(a->folder, a->log));
    for (size_t i = 0; i < a->count; i++) {
        if (!a->entry[i].asked && a->earlier == NULL)
            continue;
        token_text(&a->entry[i].token, text);
        text[TOKEN_TEXT_SIZE - 1] = '\n';
        TRY(file_path(path, a->log, "%s/%u.token", a->folder, a->entry[i].token.number));
        TRY(file_write(path, 0644, text, TOKEN_TEXT_SIZE, a->log));
    }
    return ERR_OK;
}

/* One program at a time, while others wait: two would give one number to two keys. */
static enum err lock_register(struct admit *a)
{
    char path[FILE_PATH];
    TRY(file_path(path, a->log, "%s.lock", a->tokens));
    a->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock >= 0 && flock(a->lock, LOCK_EX) == 0)
        return ERR_OK;
    return log_fail(a->log, ERR_SYSTEM, "cannot lock %s: %s", path, strerror(errno));
}

/* Only the roster may have changed, since tokens are of the study's terms. */
static enum err load_earlier(struct admit *a)
{
    if (a->earlier_path == NULL)
        return ERR_OK;
    TRY(study_load(&a->earlier, a->earlier_path, a->log));
    if (memcmp(a->earlier->terms.digest, a->study->terms.digest, sizeof a->study->terms.digest) ==
        0)
        return ERR_OK;
    return log_fail(a->log, ERR_MISMATCH,
                    "%s has other terms than %s: an amendment that names another issuer leaves "
                    "them as they are",
                    a->earlier_path, a->study_path);
}

static enum err admit(struct admit *a)
{
    TRY(identity_load(&a->issuer, a->key, a->log));
    if (memcmp(a->issuer->public.sign, a->study->open.issuer.sign, 32) != 0)
        return log_fail(a->log, ERR_AUTH,
                        "this is not the key of the study's issuer (open_owners.issuer)");
    TRY(load_earlier(a));
    TRY(lock_register(a));
    TRY(load_register(a));
    TRY(load_keys(a));
    TRY(make_tokens(a));
    if (a->count > a->before || a->renewed > 0)
        TRY(write_register(a)); /* first: a number that is in use is never given again */
    TRY(write_each(a));
    printf("%zu new tokens, %zu in %s; %zu lines had a key that already has a token\n",
           a->count - a->before, a->count, a->tokens, a->askers - (a->count - a->before));
    if (a->earlier != NULL)
        printf("%zu of them had the earlier issuer's signature\n", a->renewed);
    return ERR_OK;
}

static enum err count(struct admit *a)
{
    size_t revoked = 0;
    TRY(load_register(a));
    for (size_t i = 0; i < a->count; i++)
        revoked += study_token_revoked(a->study, a->entry[i].token.number);
    printf("%zu tokens of study %s, signed by its issuer; %zu of them revoked\n", a->count,
           a->study->name, revoked);
    return ERR_OK;
}

static enum err run_admit(int argc, char **argv, struct log *log)
{
    const char *files[2] = {NULL, NULL};
    struct admit a CLEAN(clear) = {.lock = -1, .log = log};
    const struct command_option options[] = {
        {.name = "key", .value = &a.key},
        {.name = "tokens", .value = &a.tokens, .needed = "FILE"},
        {.name = "folder", .value = &a.folder},
        {.name = "earlier", .value = &a.earlier_path},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 1, 2, NULL, log));
    a.study_path = files[0];
    a.keys = files[1];
    if ((a.keys == NULL) != (a.key == NULL) ||
        (a.keys == NULL && (a.folder != NULL || a.earlier_path != NULL)))
        return log_fail(log, ERR_USAGE,
                        "to admit owners give both the file of their keys and --key; to check "
                        "tokens neither, nor --folder or --earlier");
    TRY(study_load(&a.study, a.study_path, log));
    if (a.study->open.most == 0)
        return log_fail(log, ERR_STUDY,
                        "study %s admits only the owners that it lists; its key open_owners would "
                        "say how many others it admits, and who issues their tokens",
                        a.study->name);
    return a.keys != NULL ? admit(&a) : count(&a);
}

const struct command cmd_admit = {.name = "admit",
                                  .summary = "make tokens for owners that the study does not list",
                                  .help = help,
                                  .run = run_admit};
