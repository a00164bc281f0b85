/*
 * Digests, all SHA-256 over blocks with their lengths before them:
 *
 *   part    H("trefoil-terms-1", name of the part, canonical bytes of the part)
 *   terms   H("trefoil-terms-1", name, digest, name, digest, ...) in the order of the table below
 *   roster  H("trefoil-roster-1", canonical bytes)
 *
 * A list's order counts (server 0 is the first; owners are numbered); a mapping's does not.
 */
#include "base/bytes.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

#include <sodium.h>
#include <string.h>

static const char terms_label[] = "trefoil-terms-1";
static const char roster_label[] = "trefoil-roster-1";

static void put_study(const struct study *s, struct bytes *b)
{
    bytes_put_string(b, s->name);
    bytes_put_u32(b, s->retain_days);
    for (size_t i = 0; i < STUDY_ABOUT; i++)
        if (s->about[i] != NULL) { /* studies without these keys keep their terms */
            bytes_put_string(b, study_about_words[i]);
            bytes_put_string(b, s->about[i]);
        }
}

static void put_domain(const struct study *s, struct bytes *b)
{
    domain_write(s->domain, b);
    bytes_put_u64(b, s->zeros);
    for (size_t k = 0; k < s->zeros; k++) {
        clique_write(&s->zero[k].clique, b);
        bytes_put_u64(b, s->zero[k].cells);
        for (size_t i = 0; i < s->zero[k].cells; i++)
            bytes_put_u32(b, s->zero[k].cell[i]);
    }
    if (s->columns_from != NULL) /* studies from before the key keep their terms */
        bytes_put_string(b, s->columns_from);
}

static void put_workload(const struct study *s, struct bytes *b)
{
    workload_write(s->asked, b);
}

static void put_budget(const struct study *s, struct bytes *b)
{
    bytes_put_double(b, s->epsilon);
    bytes_put_double(b, s->delta);
    bytes_put_u32(b, s->rows_per_person);
    if (s->person.columns > 0) { /* studies from before this key, or the next, keep their terms */
        bytes_put_u64(b, s->person.columns);
        for (size_t k = 0; k < s->person.columns; k++)
            bytes_put_string(b, s->person.column[k]);
        bytes_put_u8(b, s->person.form.composed);
        bytes_put_u8(b, s->person.form.caseless);
        bytes_put_u8(b, s->person.form.spaceless);
        bytes_put_u8(b, s->enforce_person);
    }
    if (s->accounting != ACCOUNTING_ZCDP)
        bytes_put_string(b, study_accounting_words[s->accounting]);
    if (s->approvers.at_least == 0)
        return;
    bytes_put_string(b, "approvers");
    bytes_put_u32(b, s->approvers.at_least);
    bytes_put_u64(b, s->approvers.count);
    for (size_t i = 0; i < s->approvers.count; i++) {
        bytes_put_string(b, s->approvers.who[i].name);
        bytes_put(b, s->approvers.who[i].key.sign, 32);
    }
}

const char *const study_about_words[STUDY_ABOUT] = {
    [ABOUT_TITLE] = "title",     [ABOUT_DESCRIPTION] = "description", [ABOUT_PURPOSE] = "purpose",
    [ABOUT_LICENCE] = "licence", [ABOUT_CONTACT] = "contact",
};
const char *const study_score_words[] = {[AIM_L1] = "l1", [AIM_L2] = "l2"};
const char *const study_accounting_words[] = {
    [ACCOUNTING_ZCDP] = "zcdp", [ACCOUNTING_GAUSSIAN] = "gaussian"};
const char *const study_security_words[] = {
    [STUDY_SEMI_HONEST] = "semi-honest", [STUDY_ABORT] = "abort"};

static void put_noise(const struct study *s, struct bytes *b)
{
    bytes_put_string(b, noise_words[s->noise]);
    if (s->noise_by != NOISE_BY_ALL) /* studies with three servers keep their terms */
        bytes_put_string(b, study_noise_by_words[s->noise_by - NOISE_BY_BOTH]);
}

static void put_rounds(const struct study *s, struct bytes *b)
{
    bytes_put_u32(b, s->rounds);
    bytes_put_u8(b, s->annealed);
    bytes_put_string(b, study_score_words[s->score]);
    if (s->sweeps > 0) /* studies from before these keep their terms, and likewise below */
        bytes_put_u32(b, s->sweeps);
    if (s->assess > 0) {
        bytes_put_string(b, "assess");
        bytes_put_double(b, s->assess);
    }
    if (method_of(s)->put == NULL)
        return;
    bytes_put_string(b, method_of(s)->word);
    method_of(s)->put(s, b);
}

static void put_bounds(const struct study *s, struct bytes *b)
{
    bytes_put_u64(b, s->owners);
    for (size_t i = 0; i < s->owners; i++) {
        bytes_put_string(b, s->owner[i].name);
        bytes_put_u64(b, s->owner[i].min_rows);
        bytes_put_u64(b, s->owner[i].max_rows);
        bytes_put_u64(b, s->owner[i].pad_to);
        bytes_put_u8(b, s->owner[i].records); /* which form `as` chose */
        bytes_put_u64(b, s->owner[i].batch);
        bytes_put_u64(b, s->owner[i].columns);
        for (size_t k = 0; k < s->owner[i].columns; k++)
            bytes_put_u16(b, s->owner[i].column[k]);
    }
    bytes_put_u32(b, s->min_owners);
    bytes_put_u8(b, s->late_join);
    if (s->link.on) { /* studies from before this key, or the next, keep their terms */
        bytes_put_u64(b, s->link.keep);
        bytes_put_u32(b, s->link.min_linked);
        bytes_put_double(b, s->link.look);
    }
    if (s->open.most > 0) {
        bytes_put_string(b, s->open.each.name);
        bytes_put_u64(b, s->open.most);
        bytes_put_u64(b, s->open.each.max_rows);
        bytes_put_u8(b, s->open.each.records);
    }
}

static void put_servers(const struct study *s, struct bytes *b)
{
    for (size_t i = 0; i < s->servers; i++) {
        bytes_put_string(b, s->server[i].name);
        bytes_put(b, s->server[i].key.sign, 32);
    }
    if (s->security != STUDY_SEMI_HONEST) /* studies from before the key keep their terms */
        bytes_put_string(b, study_security_words[s->security]);
}

static const struct terms_part {
    const char *name;
    void (*put)(const struct study *s, struct bytes *b);
    const char *words; /* if the name is not a key of the file */
} parts[] = {
    {"study", put_study, "study, retain_days, title, description, purpose, licence, contact"},
    {"domain", put_domain, NULL},
    {"workload", put_workload, NULL},
    {"budget", put_budget, "budget, person, approvers"},
    {"noise", put_noise, "noise, noise_by"},
    {"rounds", put_rounds, "rounds, score, method, copula, train, assess"},
    {"bounds", put_bounds,
     "owners (names, min_rows, max_rows, pad_to, as, batches, columns), open_owners (max, "
     "max_rows), "
     "link, min_owners, late_uploads"},
    {"servers", put_servers, "servers, or provider and keeper (names, signing keys), security"},
};
#define PARTS (sizeof parts / sizeof parts[0])

_Static_assert(PARTS <= TERMS_PARTS_MAX, "a session carries every part");

static enum err hash(const struct bytes *b, uint8_t digest[32])
{
    TRY(bytes_ok(b));
    crypto_hash_sha256(digest, b->data, b->size);
    return ERR_OK;
}

static enum err digest_part(const struct study *s, const struct terms_part *part,
                            uint8_t digest[32])
{
    struct bytes content CLEAN(bytes_clear) = {0}, b CLEAN(bytes_clear) = {0};
    part->put(s, &content);
    TRY(bytes_ok(&content));
    bytes_put_string(&b, terms_label);
    bytes_put_string(&b, part->name);
    bytes_put_block(&b, content.data, content.size);
    return hash(&b, digest);
}

static void put_identity(const struct public_identity *who, struct bytes *b)
{
    bytes_put(b, who->sign, sizeof who->sign);
    bytes_put(b, who->curve, sizeof who->curve);
    bytes_put(b, who->signature, sizeof who->signature);
    bytes_put_u32(b, who->last_day);
}

static void put_sealing(const struct study *s, struct bytes *b)
{
    for (size_t i = 0; i < s->servers; i++)
        if (s->server[i].sealing.given) {
            bytes_put_string(b, "sealing");
            bytes_put_u64(b, i);
            bytes_put(b, s->server[i].sealing.key, sizeof s->server[i].sealing.key);
        }
}

static void put_approvers(const struct study *s, struct bytes *b)
{
    if (s->approvers.at_least == 0)
        return;
    bytes_put_string(b, "approvers");
    for (size_t i = 0; i < s->approvers.count; i++)
        put_identity(&s->approvers.who[i].key, b);
    bytes_put_u64(b, s->approvers.revoked_count);
    for (size_t i = 0; i < s->approvers.revoked_count; i++)
        bytes_put(b, s->approvers.revoked[i], sizeof s->approvers.revoked[i]);
}

static void put_roster(const struct study *s, struct bytes *b)
{
    bytes_put_string(b, roster_label);
    bytes_put_u32(b, s->roster_version);
    for (size_t i = 0; i < s->servers; i++) {
        /* the signing key is in the terms; what may change while it stays is here */
        bytes_put(b, s->server[i].key.curve, sizeof s->server[i].key.curve);
        bytes_put_u32(b, s->server[i].key.last_day);
        bytes_put_string(b, s->server[i].host);
        bytes_put_u16(b, s->server[i].port);
    }
    bytes_put_u64(b, s->owners);
    for (size_t i = 0; i < s->owners; i++)
        put_identity(&s->owner[i].key, b); /* in the order of the names, which are in the terms */
    bytes_put_u64(b, s->analysts);
    for (size_t i = 0; i < s->analysts; i++) {
        bytes_put_string(b, s->analyst[i].name);
        put_identity(&s->analyst[i].key, b);
    }
    bytes_put_u64(b, s->revoked_count);
    for (size_t i = 0; i < s->revoked_count; i++)
        put_identity(&s->revoked[i], b);
    bytes_put_u32(b, s->connect_s);
    bytes_put_u32(b, s->round_s);
    bytes_put_u64(b, (uint64_t)s->uploads_until);
    bytes_put_u32(b, s->max_mib);
    bytes_put_u32(b, s->iterations);
    bytes_put_u32(b, s->final_iterations);
    for (size_t i = 0; i < s->owners; i++)
        if (s->owner[i].rows > 0) { /* rosters from before the key keep their digest */
            bytes_put_u64(b, i);
            bytes_put_u32(b, s->owner[i].rows);
        }
    for (size_t i = 0; i < s->servers; i++)
        for (size_t k = 0; k < s->server[i].ranks; k++) {
            bytes_put_string(b, "rank");
            bytes_put_u64(b, i);
            bytes_put_string(b, s->server[i].rank[k]);
        }
    put_sealing(s, b);
    if (s->relay != NULL) {
        bytes_put_string(b, "relay");
        bytes_put_string(b, s->relay);
    }
    for (size_t i = 0; i < s->owners; i++)
        if (s->owner[i].expected_rows > 0) {
            bytes_put_string(b, "expected_rows");
            bytes_put_u64(b, i);
            bytes_put_u32(b, s->owner[i].expected_rows);
        }
    if (s->apart_columns > 0)
        bytes_put_string(b, "apart");
    for (size_t i = 0; i < s->apart_columns; i++)
        bytes_put_string(b, s->domain->attribute[s->apart[i]].name);
    put_approvers(s, b);
    if (s->open.most == 0)
        return;
    bytes_put_string(b, s->open.each.name);
    put_identity(&s->open.issuer, b);
    bytes_put_u64(b, s->open.revoked_count);
    for (size_t i = 0; i < s->open.revoked_count; i++)
        bytes_put_u32(b, s->open.revoked[i]);
}

enum err study_digest(struct study *s)
{
    struct bytes all CLEAN(bytes_clear) = {0}, roster CLEAN(bytes_clear) = {0};
    s->terms.parts = PARTS;
    bytes_put_string(&all, terms_label);
    for (size_t i = 0; i < PARTS; i++) {
        TRY(digest_part(s, &parts[i], s->terms.part[i].digest));
        snprintf(s->terms.part[i].name, sizeof s->terms.part[i].name, "%s", parts[i].name);
        bytes_put_string(&all, parts[i].name);
        bytes_put_block(&all, s->terms.part[i].digest, 32);
    }
    TRY(hash(&all, s->terms.digest));
    put_roster(s, &roster);
    return hash(&roster, s->roster);
}

const char *study_part_words(const char *part)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strcmp(parts[i].name, part) == 0 && parts[i].words != NULL)
            return parts[i].words;
    return part;
}

struct words_text study_fingerprint(const struct study *study)
{
    return identity_groups(study->terms.digest, 6);
}
