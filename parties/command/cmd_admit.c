#include "base/date.h"
#include "base/file.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/command/command.h"
#include "parties/study/roster.h"
#include "parties/study/token.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_MOST ((size_t)512 << 20)
#define PAGE_MOST 200

static const char help[] =
    "usage: trefoil admit STUDY KEYS --key FILE --tokens FILE [--folder FOLDER]\n"
    "                     [--earlier STUDY]\n"
    "       trefoil admit STUDY --invite N --until DATE --links FILE --key FILE\n"
    "                     --tokens FILE [--page URL]\n"
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
    "--invite makes links for people who have no key yet. Whoever has a link may come\n"
    "once, up to that day: the first key that shows it has its number for good. So a\n"
    "link is secret, and goes to one person. Nobody can make it again: if it is lost,\n"
    "or two people have it, revoke its number and make another. An owner gives it to\n"
    "trefoil share --token FILE, or opens it: the page makes the key.\n"
    "\n"
    "Without KEYS or --invite, the register is checked and counted.\n"
    "\n"
    "  --key FILE       the private key of the issuer that the study names\n"
    "  --tokens FILE    the register; it is created if it does not exist\n"
    "  --folder FOLDER  also write the token of each key in KEYS to a file of its own\n"
    "                   in FOLDER, named after its number\n"
    "  --earlier STUDY  the study file from before its issuer changed, whose tokens\n"
    "                   are in the register: they are checked and signed anew. Keys\n"
    "                   keep their numbers, and new ones follow. --folder then gets\n"
    "                   all of them. Owners who were invited need theirs beside the\n"
    "                   link, since that has the earlier signature\n"
    "  --invite N       how many invitations to make\n"
    "  --until DATE     the last day (UTC) on which they can be taken up\n"
    "  --links FILE     a new file for the links, one a line, which only you can read\n"
    "  --page URL       where the owner's page is (trefoil page); goes into the links\n"
    "\n"
    "example:\n"
    "  trefoil admit study.yaml phones.txt --key issuer.key --tokens admitted.txt\n"
    "  trefoil admit study.yaml --invite 200 --until 2027-06-30 --links links.txt\n"
    "      --key issuer.key --tokens admitted.txt --page https://share.example.org/\n";

/* A key that asks, and its line in the file. */
struct admit_asker {
    uint8_t sign[32];
    size_t line;
    bool known; /* it has a token, or comes twice */
};

/* A line of the register, or a new one: a token, or an invitation, which has its key in `token`. */
struct admit_entry {
    struct token token; /* first: entries are ordered as tokens */
    bool asked;         /* gets a file of its own */
};

/* One `trefoil admit`. */
struct admit {
    const char *study_path, *keys, *key, *tokens, *folder, *earlier_path, *until, *links, *page;
    int64_t invites; /* how many to make */
    uint32_t last_day;
    struct study *study, *earlier; /* earlier: may be NULL */
    struct identity *issuer;
    struct admit_entry *entry; /* those of the register, then the new ones */
    size_t count, room, before;
    size_t renewed; /* that an earlier issuer had signed */
    struct admit_asker *asker;
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

/* --- the register of everyone who was admitted or invited ------------------------------------- */

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

/* Whether the study's issuer has signed what an entry says. */
static enum err check_own(const struct token *t, const struct study *study)
{
    return t->invited ? invite_check(&t->by, study) : token_check(t, study);
}

/* The same entry, signed by this issuer now. */
static enum err sign(const struct admit *a, const struct token *t, struct token *own)
{
    if (!t->invited)
        return token_make(own, a->study, a->issuer, t->number, t->sign);
    *own = *t;
    return invite_sign(&own->by, a->study, a->issuer);
}

/*
 * With the issuer's key it signs again, which gives the same signature, and faster than checking.
 * What an earlier issuer had signed is signed anew.
 */
static enum err check_entry(const struct admit *a, struct token *t, bool *renewed)
{
    struct token own;
    enum err e;
    *renewed = false;
    if (a->issuer == NULL || t->number >= a->study->open.most)
        return check_own(t, a->study);
    TRY(sign(a, t, &own));
    if (memcmp(own.signature, t->signature, sizeof t->signature) == 0 &&
        memcmp(own.by.signature, t->by.signature, sizeof t->by.signature) == 0)
        return ERR_OK;
    e = a->earlier != NULL ? check_own(t, a->earlier) : ERR_AUTH;
    *renewed = e == ERR_OK || e == ERR_REFUSED;
    if (*renewed)
        *t = own;
    return *renewed ? ERR_OK : e;
}

/* A token that an owner has made of an invitation is none of ours. */
static enum err parse_entry(struct token *t, const char *line)
{
    const enum err e = token_parse(t, line);
    if (e != ERR_FORMAT && (e != ERR_OK || !t->invited))
        return e;
    *t = (struct token){.invited = true};
    TRY(invite_parse(&t->by, line));
    t->number = t->by.number;
    memcpy(t->sign, t->by.key, sizeof t->sign);
    return ERR_OK;
}

static enum err take_token(struct admit *a, const struct line_reader *in, const char *line)
{
    struct token t;
    bool renewed = false;
    enum err e = parse_entry(&t, line);
    if (e == ERR_OK)
        e = check_entry(a, &t, &renewed);
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

static int entry_by_key(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    return memcmp(x->sign, y->sign, sizeof x->sign);
}

static int by_number(const void *a, const void *b)
{
    const struct token *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Two keys with one number would be one owner; one key with two numbers, two. */
static enum err check_register(struct admit *a)
{
    for (unsigned pass = 0; pass < 2 && a->count > 0; pass++) {
        qsort(a->entry, a->count, sizeof *a->entry, pass == 0 ? by_number : entry_by_key);
        for (size_t i = 1; i < a->count; i++)
            if ((pass == 0 ? by_number : entry_by_key)(&a->entry[i - 1], &a->entry[i]) == 0)
                return log_fail(a->log, ERR_DATA,
                                "%s is damaged: %s (tokens %u and %u); restore a copy", a->tokens,
                                pass == 0 ? "a number was given twice" : "a key has two tokens",
                                a->entry[i - 1].token.number, a->entry[i].token.number);
    }
    return ERR_OK;
}

/* Reads and checks it; entries are in the order of their keys. */
static enum err load_register(struct admit *a)
{
    if (a->key == NULL || file_is_there(a->tokens))
        TRY(each_line(a, a->tokens, take_token));
    a->before = a->count;
    return check_register(a);
}

/* The number after the last that was given; entries are in the order of numbers then. */
static uint32_t next_number(struct admit *a)
{
    if (a->count == 0)
        return 0;
    qsort(a->entry, a->count, sizeof *a->entry, by_number);
    return a->entry[a->count - 1].token.number + 1;
}

static void put_entry(struct bytes *out, const struct token *t)
{
    char text[TOKEN_TEXT_SIZE];
    if (t->invited)
        invite_text(&t->by, text);
    else
        token_text(t, text);
    text_put(out, "%s\n", text);
}

static enum err write_register(const struct admit *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    for (size_t i = 0; i < a->count; i++)
        put_entry(&out, &a->entry[i].token);
    TRY(bytes_ok(&out));
    return file_write(a->tokens, 0644, out.data, out.size, a->log);
}

/*
 * The files of --folder, also of earlier calls: one that was cut short may have left some out or,
 * if the issuer has changed, as the earlier one signed them.
 */
static enum err write_each(const struct admit *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    char path[FILE_PATH];
    if (a->folder == NULL)
        return ERR_OK;
    TRY(file_folder(a->folder, a->log));
    for (size_t i = 0; i < a->count; i++) {
        if (!a->entry[i].asked && a->earlier == NULL)
            continue;
        out.size = 0;
        put_entry(&out, &a->entry[i].token);
        TRY(bytes_ok(&out));
        TRY(file_path(path, a->log, "%s/%u.token", a->folder, a->entry[i].token.number));
        TRY(file_write(path, 0644, out.data, out.size, a->log));
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

/* --- invitations, for whoever has their links ------------------------------------------------- */

/* An address goes before a '#' in one line of mail: nothing in it may end it, or be markup. */
static bool is_address(const char *text)
{
    static const char more[] = "-._~:/?@!$&()*+,;=%[]";
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!(text[i] >= '0' && text[i] <= '9') &&
            !((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z') && strchr(more, text[i]) == NULL)
            return false;
    return n <= PAGE_MOST &&
           (strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0);
}

/* Whether the options of --invite are there, and can be used. */
static enum err check_invites(struct admit *a)
{
    if ((a->invites > 0) != (a->until != NULL) || (a->invites > 0) != (a->links != NULL) ||
        (a->invites == 0 && a->page != NULL))
        return log_fail(a->log, ERR_USAGE,
                        "invitations need --invite N, --until DATE and --links FILE, and may have "
                        "--page; leave out all or none");
    if (a->until != NULL && !date_parse_day(a->until, &a->last_day))
        return log_fail(a->log, ERR_USAGE, "--until %s: the last day should look like 2027-06-30",
                        a->until);
    if (a->until != NULL && a->last_day < date_today())
        return log_fail(a->log, ERR_USAGE, "--until %s is over; give a later day", a->until);
    if (a->page != NULL && !is_address(a->page))
        return log_fail(a->log, ERR_USAGE,
                        "--page is an address such as https://share.example.org/, without '#' and "
                        "of at most %d characters",
                        PAGE_MOST);
    if (a->links != NULL && file_is_there(a->links))
        return log_fail(a->log, ERR_USAGE,
                        "%s is there already, and may have links that nobody can make again; name "
                        "a new file",
                        a->links);
    return ERR_OK;
}

static void put_link(const struct admit *a, const struct invite *i, const uint8_t *seed,
                     struct bytes *links)
{
    char text[INVITE_TEXT_SIZE];
    invite_link(i, seed, text);
    text_put(links, "%s%s%s\n", a->page != NULL ? a->page : "", a->page != NULL ? "#" : "", text);
    sodium_memzero(text, sizeof text);
}

/* Makes invitations with the numbers from `next` on; `links` gets the text of their file. */
static enum err make_invites(struct admit *a, uint32_t next, struct bytes *links)
{
    uint8_t seed[INVITE_SEED_SIZE];
    if ((uint64_t)a->invites + next > a->study->open.most)
        return log_fail(a->log, ERR_RANGE,
                        "the study admits %zu owners that it does not list (open_owners.max), and "
                        "the register has %u; nothing was written",
                        a->study->open.most, next);
    for (int64_t k = 0; k < a->invites; k++) {
        struct admit_entry *entry;
        TRY(memory_room(&a->entry, &a->room, a->count + 1));
        entry = &a->entry[a->count++];
        *entry = (struct admit_entry){.token = {.number = next++, .invited = true}};
        TRY(invite_make(&entry->token.by, seed, a->study, a->issuer, entry->token.number,
                        a->last_day));
        memcpy(entry->token.sign, entry->token.by.key, sizeof entry->token.sign);
        put_link(a, &entry->token.by, seed, links);
    }
    sodium_memzero(seed, sizeof seed);
    return bytes_ok(links);
}

/* --- who is new ------------------------------------------------------------------------------- */

static enum err take_key(struct admit *a, const struct line_reader *in, const char *line)
{
    struct public_identity who;
    struct admit_asker *asker;
    const enum err e = public_identity_parse(&who, line);
    if (e != ERR_OK)
        return line_fail(in, e, "%s", identity_parse_hint(e));
    TRY(memory_room(&a->asker, &a->asker_room, a->askers + 1));
    asker = &a->asker[a->askers++];
    *asker = (struct admit_asker){.line = in->number};
    memcpy(asker->sign, who.sign, sizeof who.sign);
    return ERR_OK;
}

static int by_line(const void *a, const void *b)
{
    const struct admit_asker *x = a, *y = b;
    return (x->line > y->line) - (x->line < y->line);
}

static int by_sign(const void *a, const void *b)
{
    const struct admit_asker *x = a, *y = b;
    return memcmp(x->sign, y->sign, sizeof x->sign);
}

/* If two lines have the same key, the earlier comes first. */
static int by_key(const void *a, const void *b)
{
    const int order = by_sign(a, b);
    return order != 0 ? order : by_line(a, b);
}

static enum err check_asks_not(const struct admit *a, const struct public_identity *key,
                               const char *name)
{
    struct admit_asker wanted = {0}, *found;
    memcpy(wanted.sign, key->sign, sizeof wanted.sign);
    found = bsearch(&wanted, a->asker, a->askers, sizeof wanted, by_sign);
    return found == NULL ? ERR_OK
                         : log_fail(a->log, ERR_DATA,
                                    "%s:%zu: the key of %s, whom the study lists; leave it out",
                                    a->keys, found->line, name);
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
            found = bsearch(&wanted, a->entry, a->count, sizeof wanted, entry_by_key);
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
    uint32_t next = next_number(a);
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

/* The register first: a number that is in use is never given again. */
static enum err keep(const struct admit *a, const struct bytes *links)
{
    if (a->count > a->before || a->renewed > 0)
        TRY(write_register(a));
    TRY(write_each(a));
    return a->invites == 0 ? ERR_OK /* check_invites() has looked that it is not there */
                           : file_write_new(a->links, 0600, links->data, links->size, a->log);
}

static void report(const struct admit *a)
{
    const size_t made = a->count - a->before - (size_t)a->invites;
    if (a->keys != NULL)
        printf("%zu new tokens, %zu in %s; %zu lines had a key that already has a token\n", made,
               a->count, a->tokens, a->askers - made);
    if (a->invites > 0)
        printf("%zu invitations are in %s, good until the end of %s: send each to one person\n",
               (size_t)a->invites, a->links, date_day_text(a->last_day).text);
    if (a->earlier != NULL)
        printf("%zu of them had the earlier issuer's signature\n", a->renewed);
}

static enum err admit(struct admit *a)
{
    struct bytes links CLEAN(bytes_clear) = {0};
    TRY(identity_load(&a->issuer, a->key, a->log));
    if (memcmp(a->issuer->public.sign, a->study->open.issuer.sign, 32) != 0)
        return log_fail(a->log, ERR_AUTH,
                        "this is not the key of the study's issuer (open_owners.issuer)");
    TRY(load_earlier(a));
    TRY(lock_register(a));
    TRY(load_register(a));
    TRY(a->keys != NULL ? load_keys(a) : ERR_OK);
    TRY(make_tokens(a));
    TRY(make_invites(a, next_number(a), &links));
    TRY(keep(a, &links));
    report(a);
    return ERR_OK;
}

static enum err count(struct admit *a)
{
    size_t revoked = 0, invites = 0;
    TRY(load_register(a));
    for (size_t i = 0; i < a->count; i++) {
        revoked += study_token_revoked(a->study, a->entry[i].token.number);
        invites += a->entry[i].token.invited;
    }
    printf("%zu tokens of study %s, signed by its issuer; %zu of them revoked\n", a->count,
           a->study->name, revoked);
    if (invites > 0)
        printf("%zu of them are invitations\n", invites);
    return ERR_OK;
}

static enum err check_wish(struct admit *a)
{
    const bool admits = a->keys != NULL || a->invites > 0;
    TRY(check_invites(a));
    if (admits != (a->key != NULL) || (!admits && (a->folder != NULL || a->earlier_path != NULL)))
        return log_fail(a->log, ERR_USAGE,
                        "to admit owners give both the file of their keys, or --invite, and --key; "
                        "to check tokens neither, nor --folder or --earlier");
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
        {.name = "invite", .number = &a.invites, .least = 1, .most = STUDY_OPEN_MAX},
        {.name = "until", .value = &a.until},
        {.name = "links", .value = &a.links},
        {.name = "page", .value = &a.page},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 1, 2, NULL, log));
    a.study_path = files[0];
    a.keys = files[1];
    TRY(check_wish(&a));
    TRY(study_load(&a.study, a.study_path, log));
    if (a.study->open.most == 0)
        return log_fail(log, ERR_STUDY,
                        "study %s admits only the owners that it lists; its key open_owners would "
                        "say how many others it admits, and who issues their tokens",
                        a.study->name);
    return a.key != NULL ? admit(&a) : count(&a);
}

const struct command cmd_admit = {.name = "admit",
                                  .summary = "make tokens for owners that the study does not list",
                                  .help = help,
                                  .run = run_admit};
