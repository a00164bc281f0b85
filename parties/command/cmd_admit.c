#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/command/admit.h"
#include "parties/command/command.h"
#include "parties/study/roster.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void clear(struct admit *a)
{
    if (a->lock >= 0)
        close(a->lock);
    memory_free_all(&a->entry, &a->asker);
    identity_free(&a->issuer);
    study_free(&a->study);
    study_free(&a->earlier);
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
    TRY(admit_each_line(a, a->keys, take_key));
    if (a->askers == 0)
        return ERR_OK;
    qsort(a->asker, a->askers, sizeof *a->asker, by_key);
    TRY(check_roles(a));
    for (size_t i = 0; i < a->askers; i++) {
        struct admit_entry wanted = {0}, *found = NULL;
        memcpy(wanted.token.sign, a->asker[i].sign, sizeof wanted.token.sign);
        if (a->count > 0)
            found = bsearch(&wanted, a->entry, a->count, sizeof wanted, admit_by_key);
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
    uint32_t next = admit_next(a);
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

/* admit_check_invites() has looked that the file is not there. */
static enum err keep_links(const struct admit *a, const struct bytes *links)
{
    const struct admit_entry *last = &a->entry[a->count - 1];
    const enum err e = file_write_new(a->links, 0600, links->data, links->size, a->log);
    if (e != ERR_OK)
        log_error(
            a->log,
            "%s has invitations %u to %u, whose links are lost: nobody can use these numbers. "
            "Invite again, which takes others",
            a->tokens, last[1 - a->invites].token.number, last->token.number);
    return e;
}

/* The register first: a number that is in use is never given again. */
static enum err keep(const struct admit *a, const struct bytes *links)
{
    if (a->count > a->before || a->renewed > 0)
        TRY(admit_write(a));
    TRY(admit_write_each(a));
    return a->invites > 0 ? keep_links(a, links) : ERR_OK;
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
    TRY(admit_lock(a));
    TRY(admit_load(a));
    TRY(a->keys != NULL ? load_keys(a) : ERR_OK);
    TRY(make_tokens(a));
    TRY(admit_make_invites(a, admit_next(a), &links));
    TRY(keep(a, &links));
    report(a);
    return ERR_OK;
}

static enum err count(struct admit *a)
{
    size_t revoked = 0, invites = 0;
    TRY(admit_load(a));
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
    TRY(admit_check_invites(a));
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

DEFINE_COMMAND(admit, help, "make tokens for owners that the study does not list");
