#include "parties/study/warrant.h"

#include "base/date.h"
#include "base/encoding.h"
#include "base/file.h"
#include "base/line.h"
#include "base/text.h"
#include "base/version.h"

#include <sodium.h>
#include <string.h>

static const char label[] = "trefoil-warrant-1";

/* --- its text --------------------------------------------------------------------------------- */

static enum err write_words(const struct warrant *w, struct bytes *out)
{
    text_put(out, "%s\nterms ", label);
    text_put_hex(out, w->terms, sizeof w->terms);
    bytes_put_text(out, "\nanalyst ");
    text_put_hex(out, w->analyst, sizeof w->analyst);
    text_put(out, "\nshare %u.%04u %%\nuntil %s\npurpose %s\n", w->share / 10000, w->share % 10000,
             date_day_text(w->last_day).text, w->purpose);
    return bytes_ok(out);
}

enum err warrant_write(const struct warrant *w, struct bytes *out)
{
    char text[IDENTITY_SIGNATURE_TEXT_SIZE];
    TRY(write_words(w, out));
    for (size_t i = 0; i < w->signatures; i++) {
        identity_signature_text(w->signature[i].bytes, text);
        text_put(out, "signed %s %s\n", w->signature[i].name, text);
    }
    return bytes_ok(out);
}

/* The audit log has it in one line, with | for line ends. */
static bool good_purpose(const char *text)
{
    return text[0] != '\0' && strchr(text, '|') == NULL && !encoding_steers(text) &&
           !encoding_reorders(text);
}

enum err warrant_sound(const struct warrant *w, struct log *log)
{
    if (w->share == 0 || w->share > WARRANT_ALL)
        return log_fail(log, ERR_DATA, "a warrant's share is above 0 and at most 100 %%");
    if (!good_purpose(w->purpose))
        return log_fail(log, ERR_DATA,
                        "a warrant's purpose is a text of one line, without | and without "
                        "marks that turn the direction of text");
    return ERR_OK;
}

/* The value in the next line; empty, which is no value, unless it begins with this word. */
static const char *value(struct line_reader *in, const char *word)
{
    char *line = line_next(in), *text = line != NULL ? line_value(line, word) : NULL;
    return text != NULL ? text : "";
}

static enum err parse_signatures(struct warrant *w, struct line_reader *in)
{
    for (char *line; (line = line_next(in)) != NULL; w->signatures++) {
        struct warrant_signature *s = &w->signature[w->signatures];
        char *name = line_value(line, "signed"), *text = name != NULL ? strchr(name, ' ') : NULL;
        if (text == NULL || w->signatures == STUDY_APPROVERS_MAX)
            return ERR_FORMAT;
        *text = '\0';
        if (!study_good_name(name) || identity_signature_parse(s->bytes, text + 1) != ERR_OK)
            return ERR_FORMAT;
        for (size_t i = 0; i < w->signatures; i++)
            if (strcmp(w->signature[i].name, name) == 0)
                return ERR_FORMAT;
        memcpy(s->name, name, strlen(name) + 1);
    }
    return ERR_OK;
}

static enum err parse_lines(struct warrant *w, struct line_reader *in)
{
    const char *first = line_next(in), *purpose;
    unsigned whole = 0, part = 0;
    if (first == NULL || strcmp(first, label) != 0 ||
        !text_hex(value(in, "terms"), w->terms, sizeof w->terms) ||
        !text_hex(value(in, "analyst"), w->analyst, sizeof w->analyst) ||
        sscanf(value(in, "share"), "%3u.%4u", &whole, &part) != 2 ||
        !date_parse_day(value(in, "until"), &w->last_day))
        return ERR_FORMAT;
    w->share = 10000 * whole + part;
    purpose = value(in, "purpose");
    if (strlen(purpose) >= sizeof w->purpose)
        return ERR_FORMAT;
    memcpy(w->purpose, purpose, strlen(purpose) + 1);
    return parse_signatures(w, in);
}

enum err warrant_parse(struct warrant *w, const void *text, size_t n)
{
    struct line_reader in CLEAN(line_clear) = {0};
    struct bytes again CLEAN(bytes_clear) = {0};
    *w = (struct warrant){0};
    if (n > WARRANT_TEXT_MOST || memchr(text, 0, n) != NULL)
        return ERR_FORMAT;
    if (version_of(text, n, label) > 1)
        return ERR_MISMATCH;
    TRY(line_text(&in, "", text, n, NULL));
    TRY(parse_lines(w, &in));
    TRY(warrant_write(w, &again)); /* one text each */
    return warrant_sound(w, NULL) == ERR_OK && again.size == n && memcmp(again.data, text, n) == 0
               ? ERR_OK
               : ERR_FORMAT;
}

enum err warrant_load(struct warrant *w, const char *path, struct log *log)
{
    struct bytes file CLEAN(bytes_clear) = {0};
    enum err e;
    TRY(file_read(path, WARRANT_TEXT_MOST, &file, log));
    e = warrant_parse(w, file.data, file.size);
    if (e == ERR_MISMATCH)
        return log_fail(log, ERR_DATA,
                        "%s is a warrant of a later trefoil; this one, %s, reads those that begin "
                        "with %s: use the trefoil that made it",
                        path, TREFOIL_VERSION, label);
    return e != ERR_FORMAT
               ? e
               : log_fail(log, ERR_DATA,
                          "%s is no warrant, or was altered; trefoil approve makes one, and adds "
                          "signatures to it",
                          path);
}

enum err warrant_number(const struct warrant *w, uint8_t number[32])
{
    struct bytes words CLEAN(bytes_clear) = {0};
    TRY(write_words(w, &words));
    crypto_hash_sha256(number, words.data, words.size);
    return ERR_OK;
}

/* --- signatures ------------------------------------------------------------------------------- */

enum err warrant_sign(struct warrant *w, const struct study *study, const struct identity *me,
                      struct log *log)
{
    const struct study_approvers *a = &study->approvers;
    struct bytes words CLEAN(bytes_clear) = {0};
    size_t i = 0, k = 0;
    while (i < a->count && memcmp(a->who[i].key.sign, me->public.sign, 32) != 0)
        i++;
    if (i == a->count)
        return log_fail(log, ERR_AUTH, "this key is not one of the study's approvers'");
    while (k < w->signatures && strcmp(w->signature[k].name, a->who[i].name) != 0)
        k++;
    if (k == STUDY_APPROVERS_MAX)
        return log_fail(log, ERR_DATA, "the warrant has no room for another signature");
    TRY(write_words(w, &words));
    memcpy(w->signature[k].name, a->who[i].name, sizeof w->signature[k].name);
    w->signatures += k == w->signatures;
    return identity_sign(me, label, words.data, words.size, w->signature[k].bytes);
}

/* Whoever is named has signed it: what counts for nothing would still be read as a signature. */
static bool is_genuine(const struct warrant_signature *s, const struct bytes *words,
                       const struct study *study)
{
    for (size_t i = 0; i < study->approvers.count; i++)
        if (strcmp(s->name, study->approvers.who[i].name) == 0)
            return public_identity_verify(&study->approvers.who[i].key, label, words->data,
                                          words->size, s->bytes) == ERR_OK;
    return false;
}

/* Whether approver i has signed it, with a key that is not revoked. */
static bool has_signed(const struct warrant *w, const struct bytes *words,
                       const struct study *study, size_t i)
{
    const struct study_analyst *who = &study->approvers.who[i];
    for (size_t k = 0; k < w->signatures; k++)
        if (strcmp(w->signature[k].name, who->name) == 0)
            return !study_revoked_signer(study, who->key.sign) &&
                   is_genuine(&w->signature[k], words, study);
    return false;
}

static enum err check_signatures(const struct warrant *w, const struct study *study,
                                 struct log *log)
{
    struct bytes words CLEAN(bytes_clear) = {0};
    char missing[STUDY_APPROVERS_MAX * (STUDY_NAME_SIZE + 2) + 1] = "";
    unsigned count = 0;
    TRY(write_words(w, &words));
    for (size_t k = 0; k < w->signatures; k++)
        if (!is_genuine(&w->signature[k], &words, study))
            return log_fail(log, ERR_REFUSED,
                            "the warrant's signature of %s is not that of an approver of this "
                            "study; take its line out",
                            w->signature[k].name);
    for (size_t i = 0; i < study->approvers.count; i++) {
        const size_t n = strlen(missing);
        if (has_signed(w, &words, study, i))
            count++;
        else
            snprintf(missing + n, sizeof missing - n, "%s%s", n > 0 ? ", " : "",
                     study->approvers.who[i].name);
    }
    if (count >= study->approvers.at_least)
        return ERR_OK;
    return log_fail(log, ERR_REFUSED,
                    "the warrant has %u of the %u signatures that the study asks for; not by %s. "
                    "Ask one of them: trefoil approve",
                    count, study->approvers.at_least, missing);
}

enum err warrant_check(const struct warrant *w, const struct study *study,
                       const uint8_t analyst[32], struct log *log)
{
    uint8_t number[32];
    if (study->approvers.at_least == 0)
        return ERR_OK;
    if (w->share == 0)
        return log_fail(log, ERR_REFUSED,
                        "the study has approvers, and nothing is opened without their warrant: "
                        "trefoil run --warrant FILE, which trefoil approve makes");
    if (memcmp(w->terms, study->terms.digest, 32) != 0)
        return log_fail(log, ERR_REFUSED,
                        "the warrant is for another study, or for other terms of this one");
    if (analyst != NULL && memcmp(w->analyst, analyst, 32) != 0)
        return log_fail(log, ERR_REFUSED, "the warrant is for another analyst's key");
    TRY(warrant_number(w, number));
    if (study_revoked_warrant(study, number))
        return log_fail(log, ERR_REFUSED, "the study's roster revokes this warrant");
    return check_signatures(w, study, log);
}

enum err warrant_allows(const struct warrant *w, double spent, double rho, uint32_t today,
                        struct log *log)
{
    if (today > w->last_day)
        return log_fail(log, ERR_REFUSED,
                        "the warrant was good until %s; nothing more was spent. What was opened "
                        "stays: ask the approvers for another, or end the run with --rounds",
                        date_day_text(w->last_day).text);
    if (w->share < WARRANT_ALL && !(spent <= rho * w->share / WARRANT_ALL))
        return log_fail(log, ERR_BUDGET,
                        "the warrant permits %u.%04u %% of the study's budget for all runs "
                        "together, and this would pass it; it was not spent. The approvers may "
                        "permit a larger share",
                        w->share / 10000, w->share % 10000);
    return ERR_OK;
}

/* --- in words --------------------------------------------------------------------------------- */

void warrant_describe(FILE *out, const struct warrant *w, const struct study *study)
{
    char analyst[STUDY_NAME_SIZE + 64] = "a key that this study does not list";
    for (size_t i = 0; i < study->analysts; i++)
        if (memcmp(study->analyst[i].key.sign, w->analyst, 32) == 0)
            snprintf(analyst, sizeof analyst, "%s, %s", study->analyst[i].name,
                     public_identity_fingerprint(&study->analyst[i].key).text);
    fprintf(out,
            "Warrant for study %s\n"
            "  analyst  %s\n"
            "  share    %u.%04u %% of the budget, for all that is ever opened\n"
            "  until    %s\n"
            "  purpose  %s\n",
            study->name, analyst, w->share / 10000, w->share % 10000,
            date_day_text(w->last_day).text, w->purpose);
}

void warrant_describe_signatures(FILE *out, const struct warrant *w, const struct study *study)
{
    struct bytes words CLEAN(bytes_clear) = {0};
    if (write_words(w, &words) != ERR_OK)
        return;
    for (size_t i = 0; i < study->approvers.count; i++)
        fprintf(out, "  %-8s %s\n", has_signed(w, &words, study, i) ? "signed" : "lacks",
                study->approvers.who[i].name);
}
