/* What an amendment changes (parties/study/roster.h). */
#include "parties/study/roster.h"

#include "base/date.h"

#include <string.h>

static void compare_number(FILE *out, const char *what, uint64_t before, uint64_t now)
{
    if (before != now)
        fprintf(out, "  %s: %llu -> %llu\n", what, (unsigned long long)before,
                (unsigned long long)now);
}

static void compare_relay(FILE *out, const char *before, const char *now)
{
    before = before != NULL ? before : "none";
    now = now != NULL ? now : "none";
    if (strcmp(before, now) != 0)
        fprintf(out, "  relay: %s -> %s\n", before, now);
}

static void compare_key(FILE *out, const char *role, const char *name,
                        const struct public_identity *before, const struct public_identity *now)
{
    if (public_identity_equal(before, now))
        return;
    if (memcmp(before->sign, now->sign, sizeof now->sign) == 0)
        fprintf(out, "  %s %s: a renewed key of the same identity", role, name);
    else
        fprintf(out, "  %s %s: ANOTHER IDENTITY, %s (compare it by telephone)", role, name,
                public_identity_fingerprint(now).text);
    fprintf(out, now->last_day != 0 ? ", good until %s\n" : "\n",
            date_day_text(now->last_day).text);
}

static void list_ranks(FILE *out, const struct study_server *s)
{
    for (size_t k = 0; k < s->ranks; k++)
        fprintf(out, "%s%s", k > 0 ? ", " : "", s->rank[k]);
    if (s->ranks == 0)
        fputs("none", out);
}

static void compare_ranks(FILE *out, const struct study_server *a, const struct study_server *b)
{
    if (a->ranks == b->ranks &&
        (a->ranks == 0 || memcmp(a->rank, b->rank, a->ranks * sizeof *a->rank) == 0))
        return;
    fprintf(out, "  server %s, ranks: ", b->name);
    list_ranks(out, a);
    fputs(" -> ", out);
    list_ranks(out, b);
    fputc('\n', out);
}

static void compare_servers(FILE *out, const struct study *a, const struct study *b)
{
    for (size_t i = 0; i < b->servers; i++) {
        const struct study_server *x = &a->server[i], *y = &b->server[i];
        compare_key(out, "server", y->name, &x->key, &y->key);
        if (strcmp(x->host, y->host) != 0 || x->port != y->port)
            fprintf(out, "  server %s: tcp://%s:%u -> tcp://%s:%u\n", y->name, x->host, x->port,
                    y->host, y->port);
        compare_ranks(out, x, y);
        if (memcmp(&x->sealing, &y->sealing, sizeof x->sealing) != 0)
            fprintf(out, "  server %s: %s\n", y->name,
                    !y->sealing.given  ? "no sealing key any more"
                    : x->sealing.given ? "ANOTHER SEALING KEY; parcels for the old one are void"
                                       : "a sealing key");
    }
}

/* Once for each batch, at its first owner. */
static void compare_rows(FILE *out, const struct study *a, const struct study *b)
{
    char what[STUDY_NAME_SIZE + 64];
    for (size_t i = 0; i < b->owners; i++) {
        snprintf(what, sizeof what, "expected_rows of %s (0: not said)", b->owner[i].name);
        compare_number(out, what, a->owner[i].expected_rows, b->owner[i].expected_rows);
        if (b->owner[i].batch == i) {
            snprintf(what, sizeof what, "rows of the batch of %s (0: not said)", b->owner[i].name);
            compare_number(out, what, a->owner[i].rows, b->owner[i].rows);
        }
    }
}

/* Which tokens are good. */
static void compare_open(FILE *out, const struct study *a, const struct study *b)
{
    const struct study *const by[] = {b, a};
    static const char *const words[] = {"revoked", "NO LONGER REVOKED"};
    if (b->open.most > 0)
        compare_key(out, "the issuer of", b->open.each.name, &a->open.issuer, &b->open.issuer);
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; i < by[k]->open.revoked_count; i++)
            if (!study_token_revoked(by[1 - k], by[k]->open.revoked[i]))
                fprintf(out, "  %s: token %u\n", words[k], by[k]->open.revoked[i]);
}

static size_t find_analyst(const struct study *s, const char *name)
{
    size_t i = 0;
    while (i < s->analysts && strcmp(s->analyst[i].name, name) != 0)
        i++;
    return i;
}

static void compare_analysts(FILE *out, const struct study *a, const struct study *b)
{
    for (size_t i = 0; i < b->analysts; i++) {
        const struct study_analyst *now = &b->analyst[i];
        size_t k = find_analyst(a, now->name);
        if (k == a->analysts)
            fprintf(out, "  analyst %s: new\n", now->name);
        else
            compare_key(out, "analyst", now->name, &a->analyst[k].key, &now->key);
    }
    for (size_t i = 0; i < a->analysts; i++)
        if (find_analyst(b, a->analyst[i].name) == b->analysts)
            fprintf(out, "  analyst %s: no longer\n", a->analyst[i].name);
}

static void compare_approvers(FILE *out, const struct study *a, const struct study *b)
{
    const struct study *const by[] = {b, a};
    static const char *const words[] = {"revoked", "NO LONGER REVOKED"};
    for (size_t i = 0; i < b->approvers.count; i++)
        compare_key(out, "approver", b->approvers.who[i].name, &a->approvers.who[i].key,
                    &b->approvers.who[i].key);
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; i < by[k]->approvers.revoked_count; i++)
            if (!study_revoked_warrant(by[1 - k], by[k]->approvers.revoked[i]))
                fprintf(out, "  %s: warrant %s\n", words[k],
                        identity_groups(by[k]->approvers.revoked[i], 4).text);
}

/* The keys that one study revokes but the other does not. */
static void list_revoked(FILE *out, const char *words, const struct study *by,
                         const struct study *other)
{
    for (size_t i = 0; i < by->revoked_count; i++)
        if (!study_revoked(other, &by->revoked[i]))
            fprintf(out, "  %s: a key of %s\n", words,
                    public_identity_fingerprint(&by->revoked[i]).text);
}

static void list_apart(FILE *out, const struct study *s)
{
    for (size_t i = 0; i < s->apart_columns; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", s->domain->attribute[s->apart[i]].name);
    if (s->apart_columns == 0)
        fputs("none", out);
}

static void compare_apart(FILE *out, const struct study *a, const struct study *b)
{
    if (a->apart_columns == b->apart_columns &&
        (a->apart_columns == 0 ||
         memcmp(a->apart, b->apart, a->apart_columns * sizeof *a->apart) == 0))
        return;
    fputs("  model.apart: ", out);
    list_apart(out, a);
    fputs(" -> ", out);
    list_apart(out, b);
    fputc('\n', out);
}

static void compare_settings(FILE *out, const struct study *a, const struct study *b)
{
    compare_relay(out, a->relay, b->relay);
    compare_number(out, "deadlines.connect", a->connect_s, b->connect_s);
    compare_number(out, "deadlines.round", a->round_s, b->round_s);
    if (a->uploads_until != b->uploads_until) {
        fprintf(out, "  deadlines.uploads: %s -> %s\n",
                a->uploads_until != 0 ? date_text(a->uploads_until).text : "none",
                b->uploads_until != 0 ? date_text(b->uploads_until).text : "none");
    }
    compare_number(out, "model.max_mib", a->max_mib, b->max_mib);
    compare_number(out, "model.iterations", a->iterations, b->iterations);
    compare_number(out, "model.final_iterations", a->final_iterations, b->final_iterations);
    compare_apart(out, a, b);
}

enum err roster_compare(FILE *out, const struct study *earlier, const struct study *study,
                        struct log *log)
{
    for (size_t i = 0; i < study->terms.parts; i++)
        if (memcmp(study->terms.part[i].digest, earlier->terms.part[i].digest, 32) != 0)
            return log_fail(log, ERR_MISMATCH,
                            "the two differ in their terms, which no amendment changes: %s",
                            study_part_words(study->terms.part[i].name));
    fprintf(out, "Of roster %u it changes:\n", earlier->roster_version);
    if (memcmp(earlier->roster, study->roster, 32) == 0)
        fputs("  nothing\n", out);
    else if (study->roster_version <= earlier->roster_version)
        fprintf(out, "  the number is not a later one: give it roster: %u\n",
                earlier->roster_version + 1);
    compare_servers(out, earlier, study);
    for (size_t i = 0; i < study->owners; i++)
        compare_key(out, "owner", study->owner[i].name, &earlier->owner[i].key,
                    &study->owner[i].key);
    compare_open(out, earlier, study);
    compare_rows(out, earlier, study);
    compare_analysts(out, earlier, study);
    compare_approvers(out, earlier, study);
    list_revoked(out, "revoked", study, earlier);
    list_revoked(out, "NO LONGER REVOKED", earlier, study);
    compare_settings(out, earlier, study);
    return ERR_OK;
}
