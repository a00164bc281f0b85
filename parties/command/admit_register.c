/* The register of everyone who was admitted or invited (parties/command/admit.h). */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/command/admit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define FILE_MOST ((size_t)512 << 20)

/* --- reading ---------------------------------------------------------------------------------- */

enum err admit_each_line(struct admit *a, const char *path,
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

int admit_by_key(const void *a, const void *b)
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
        qsort(a->entry, a->count, sizeof *a->entry, pass == 0 ? by_number : admit_by_key);
        for (size_t i = 1; i < a->count; i++)
            if ((pass == 0 ? by_number : admit_by_key)(&a->entry[i - 1], &a->entry[i]) == 0)
                return log_fail(a->log, ERR_DATA,
                                "%s is damaged: %s (tokens %u and %u); restore a copy", a->tokens,
                                pass == 0 ? "a number was given twice" : "a key has two tokens",
                                a->entry[i - 1].token.number, a->entry[i].token.number);
    }
    return ERR_OK;
}

enum err admit_load(struct admit *a)
{
    if (a->key == NULL || file_is_there(a->tokens))
        TRY(admit_each_line(a, a->tokens, take_token));
    a->before = a->count;
    return check_register(a);
}

uint32_t admit_next(struct admit *a)
{
    if (a->count == 0)
        return 0;
    qsort(a->entry, a->count, sizeof *a->entry, by_number);
    return a->entry[a->count - 1].token.number + 1;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_entry(struct bytes *out, const struct token *t)
{
    char text[TOKEN_TEXT_SIZE];
    if (t->invited)
        invite_text(&t->by, text);
    else
        token_text(t, text);
    text_put(out, "%s\n", text);
}

enum err admit_write(const struct admit *a)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    for (size_t i = 0; i < a->count; i++)
        put_entry(&out, &a->entry[i].token);
    TRY(bytes_ok(&out));
    return file_write(a->tokens, 0644, out.data, out.size, a->log);
}

/*
 * Also writes tokens of earlier calls: a call that was cut short may have left some out or, if the
 * issuer has changed, as the earlier one signed them.
 */
enum err admit_write_each(const struct admit *a)
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

enum err admit_lock(struct admit *a)
{
    char path[FILE_PATH];
    TRY(file_path(path, a->log, "%s.lock", a->tokens));
    a->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock >= 0 && flock(a->lock, LOCK_EX) == 0)
        return ERR_OK;
    return log_fail(a->log, ERR_SYSTEM, "cannot lock %s: %s", path, strerror(errno));
}
