#include "parties/study/roster.h"

#include "base/bytes.h"
#include "base/date.h"
#include "base/file.h"
#include "base/text.h"
#include "parties/study/yaml.h"

#include <string.h>
#include <sys/stat.h>

static const char label[] = "trefoil-amendment-1";
static const char signatures_key[] = "signatures:";

/* --- signatures ------------------------------------------------------------------------------- */

/* What the servers sign. */
struct statement {
    uint8_t bytes[32 + 4 + 32];
};

static struct statement statement_of(const struct study *study)
{
    struct statement s;
    memcpy(s.bytes, study->terms.digest, 32);
    memcpy(integer_put(s.bytes + 32, study->roster_version, 4), study->roster, 32);
    return s;
}

enum roster_signature roster_signature(const struct study *study, size_t server)
{
    const struct statement s = statement_of(study);
    if (!study->signature[server].given)
        return ROSTER_UNSIGNED;
    return public_identity_verify(&study->server[server].key, label, s.bytes, sizeof s.bytes,
                                  study->signature[server].bytes) == ERR_OK
               ? ROSTER_SIGNED
               : ROSTER_STALE;
}

enum err roster_check(const struct study *study, struct log *log)
{
    char missing[STUDY_SERVERS * (STUDY_NAME_SIZE + 64)] = "";
    size_t count = 0;
    if (study->roster_version == 1)
        return ERR_OK;
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        if (roster_signature(study, i) != ROSTER_SIGNED) {
            size_t n = strlen(missing);
            snprintf(missing + n, sizeof missing - n, "%sserver %s%s", count++ > 0 ? " and " : "",
                     study->server[i].name,
                     study->signature[i].given ? " (whose signature is of another roster)" : "");
        }
    if (count == 0)
        return ERR_OK;
    return log_fail(log, ERR_AUTH,
                    "roster %u of study %s is not signed by %s; %s should run trefoil roster sign",
                    study->roster_version, study->name, missing,
                    count == 1 ? "its operator" : "their operators");
}

/* --- signing a file --------------------------------------------------------------------------- */

/* The text without its top-level block `signatures`. */
static void copy_unsigned(struct bytes *out, const char *text, size_t n)
{
    bool within = false;
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t line = end != NULL ? (size_t)(end - text) + 1 : n;
        if (line >= sizeof signatures_key - 1 &&
            memcmp(text, signatures_key, sizeof signatures_key - 1) == 0)
            within = true;
        else if (within && strchr(" \t\r\n#}", text[0]) == NULL)
            within = false;
        if (!within)
            bytes_put(out, text, line);
        text += line;
        n -= line;
    }
    if (out->size > 0 && out->data[out->size - 1] != '\n')
        bytes_put_u8(out, '\n');
}

static void put_signature(struct bytes *out, const char *name,
                          const uint8_t signature[KEYS_SIGNATURE_SIZE])
{
    char text[KEYS_SIGNATURE_TEXT_SIZE];
    keys_signature_text(signature, text);
    text_put(out, "  %s: %s\n", name, text);
}

/* The file's text with this server's signature and those of the others that are good. */
static enum err signed_text(const struct study *study, size_t server, const uint8_t signature[64],
                            const struct bytes *text, struct bytes *out)
{
    copy_unsigned(out, (const char *)text->data, text->size);
    text_put(out, "%s\n", signatures_key);
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        if (i == server)
            put_signature(out, study->server[i].name, signature);
        else if (roster_signature(study, i) == ROSTER_SIGNED)
            put_signature(out, study->server[i].name, study->signature[i].bytes);
    return bytes_ok(out);
}

/* Whether the new text is what this server has signed: the signature is over terms and roster. */
static bool is_signed(const char *path, const struct bytes *text, size_t server)
{
    struct study *again = NULL;
    bool good = study_parse(&again, path, text->data, text->size, NULL) == ERR_OK &&
                roster_signature(again, server) == ROSTER_SIGNED;
    study_free(&again);
    return good;
}

static enum err write_signed(const char *path, const struct study *study, size_t server,
                             const uint8_t signature[64], const struct bytes *text, struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    struct stat st;
    TRY(signed_text(study, server, signature, text, &out));
    if (!is_signed(path, &out, server))
        return log_fail(log, ERR_STUDY,
                        "the signature cannot be added to %s, which was left alone; put the "
                        "printed line under `signatures:` at the end of the file",
                        path);
    return file_write(path, stat(path, &st) == 0 ? st.st_mode & 0777 : 0644, out.data, out.size,
                      log);
}

enum err roster_sign_file(const char *path, const struct identity *server,
                          char text[KEYS_SIGNATURE_TEXT_SIZE], struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0};
    struct statement s;
    uint8_t signature[KEYS_SIGNATURE_SIZE];
    size_t index = 0;
    text[0] = '\0';
    TRY(file_read(path, YAML_FILE_MAX, &file, log));
    TRY(study_parse(&study, path, file.data, file.size, log));
    /* by the signing key alone: an amendment may be what brings in a new CURVE key */
    while (index < STUDY_SERVERS &&
           memcmp(study->server[index].key.sign, server->public.sign, 32) != 0)
        index++;
    if (index == STUDY_SERVERS)
        return log_fail(log, ERR_AUTH,
                        "this key is not one of the study's three servers', who alone sign");
    if (study->roster_version == 1)
        return log_fail(log, ERR_STUDY,
                        "%s has the first roster, which needs no signatures; give an amended one "
                        "the next number (roster: 2)",
                        path);
    s = statement_of(study);
    TRY(identity_sign(server, label, s.bytes, sizeof s.bytes, signature));
    keys_signature_text(signature, text);
    return write_signed(path, study, index, signature, &file, log);
}

/* --- people ----------------------------------------------------------------------------------- */

static const char *role_name(enum role role)
{
    switch (role) {
    case ROLE_SERVER:
        return "server";
    case ROLE_OWNER:
        return "owner";
    case ROLE_ANALYST:
        return "analyst";
    }
    return "nobody";
}

/* Fills in name and key by role and index; false where there is nobody. */
static bool fill(const struct study *study, struct roster_person *p)
{
    p->key = NULL;
    if (p->role == ROLE_SERVER && p->index < STUDY_SERVERS) {
        p->name = study->server[p->index].name;
        p->key = &study->server[p->index].key;
    } else if (p->role == ROLE_OWNER && p->index < study->owners) {
        p->name = study->owner[p->index].name;
        p->key = &study->owner[p->index].key;
    } else if (p->role == ROLE_ANALYST && p->index < study->analysts) {
        p->name = study->analyst[p->index].name;
        p->key = &study->analyst[p->index].key;
    }
    return p->key != NULL;
}

bool roster_next(const struct study *study, struct roster_person *p)
{
    if (p->key == NULL)
        *p = (struct roster_person){.role = ROLE_SERVER};
    else
        p->index++;
    while (!fill(study, p) && p->role < ROLE_ANALYST)
        *p = (struct roster_person){.role = (enum role)(p->role + 1)};
    return p->key != NULL;
}

bool roster_has(const struct study *study, enum role role, const struct public_identity *who)
{
    struct roster_person p = {0};
    while (roster_next(study, &p))
        if (p.role == role && public_identity_equal(p.key, who))
            return true;
    return false;
}

/* Logs that a key has expired, if it has. */
static enum err check_current(const char *name, const struct public_identity *who, struct log *log)
{
    if (!public_identity_expired(who, date_today()))
        return ERR_OK;
    return log_fail(
        log, ERR_AUTH,
        "the key of %s was good until %s; renew it (trefoil keygen --renew) and amend the "
        "study's roster",
        name, date_day_text(who->last_day).text);
}

/* Somebody with this signing key, in this role if possible. */
static struct roster_person look_up(const struct study *study, const struct public_identity *who,
                                    enum role role)
{
    struct roster_person p = {0}, found = {0};
    while (roster_next(study, &p))
        if (memcmp(p.key->sign, who->sign, sizeof who->sign) == 0 &&
            (found.key == NULL || p.role == role))
            found = p;
    return found;
}

enum err roster_find(const struct study *study, const struct public_identity *who, enum role role,
                     struct roster_person *person, struct log *log)
{
    const struct roster_person p = *person = look_up(study, who, role);
    if (p.key == NULL)
        return log_fail(
            log, ERR_AUTH,
            "this key is not one of the study's %ss; use the key whose public half stands "
            "under %ss in the study file, or ask whoever keeps it to list yours",
            role_name(role), role_name(role));
    if (p.role != role)
        return log_fail(log, ERR_AUTH,
                        "this key is that of the %s %s; the key of one of the %ss is needed here",
                        role_name(p.role), p.name, role_name(role));
    if (!public_identity_equal(p.key, who))
        return log_fail(
            log, ERR_AUTH,
            "the study lists another key for the links of %s than this file holds (one of "
            "them was renewed); use the key file that the study lists, or an amended study "
            "file",
            p.name);
    if (study_revoked(study, who))
        return log_fail(log, ERR_AUTH, "the key of %s is revoked in roster %u of this study",
                        p.name, study->roster_version);
    return check_current(p.name, who, log);
}

enum err roster_current(const struct study *study, enum role role, size_t index, struct log *log)
{
    struct roster_person p = {.role = role, .index = index};
    return fill(study, &p) ? check_current(p.name, p.key, log) : ERR_AUTH;
}

enum err roster_servers_current(const struct study *study, struct log *log)
{
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        TRY(roster_current(study, ROLE_SERVER, i, log));
    return ERR_OK;
}

/* --- in words --------------------------------------------------------------------------------- */

static void describe_key(FILE *out, const struct study *study, const struct roster_person *p)
{
    if (study_revoked(study, p->key))
        fprintf(out, "  the key of %s is revoked\n", p->name);
    else if (p->key->last_day != 0)
        fprintf(out, "  the key of %s %s good until %s\n", p->name,
                public_identity_expired(p->key, date_today()) ? "was" : "is",
                date_day_text(p->key->last_day).text);
}

void roster_warn(const struct study *study, struct log *log)
{
    struct roster_person p = {0};
    while (roster_next(study, &p)) {
        if (study_revoked(study, p.key) || p.key->last_day == 0 ||
            p.key->last_day >= date_today() + ROSTER_WARN_DAYS)
            continue;
        log_warn(log,
                 "the key of %s is good until %s: it should be renewed, and the roster amended",
                 p.name, date_day_text(p.key->last_day).text);
    }
}

void roster_describe(FILE *out, const struct study *study)
{
    static const char *const words[] = {"has not signed", "signed another text, not this one",
                                        "signed"};
    struct roster_person p = {0};
    fprintf(out, "Roster %u of study %s, %s\n", study->roster_version, study->name,
            keys_groups(study->roster, 4).text);
    if (study->roster_version == 1)
        fputs("  the first, which needs no signatures\n", out);
    for (size_t i = 0; study->roster_version > 1 && i < STUDY_SERVERS; i++)
        fprintf(out, "  server %zu, %s: %s\n", i, study->server[i].name,
                words[roster_signature(study, i)]);
    while (roster_next(study, &p))
        describe_key(out, study, &p);
}

static void compare_number(FILE *out, const char *what, uint64_t before, uint64_t now)
{
    if (before != now)
        fprintf(out, "  %s: %llu -> %llu\n", what, (unsigned long long)before,
                (unsigned long long)now);
}

static void compare_key(FILE *out, const char *role, const char *name,
                        const struct public_identity *before, const struct public_identity *now)
{
    if (public_identity_equal(before, now))
        return;
    if (memcmp(before->sign, now->sign, sizeof now->sign) == 0)
        fprintf(out, "  %s %s: a renewed key of the same identity", role, name);
    else
        fprintf(out, "  %s %s: ANOTHER IDENTITY, %s (ask %s by telephone)", role, name,
                public_identity_fingerprint(now).text, name);
    fprintf(out, now->last_day != 0 ? ", good until %s\n" : "\n",
            date_day_text(now->last_day).text);
}

static void compare_servers(FILE *out, const struct study *a, const struct study *b)
{
    for (size_t i = 0; i < STUDY_SERVERS; i++) {
        const struct study_server *x = &a->server[i], *y = &b->server[i];
        compare_key(out, "server", y->name, &x->key, &y->key);
        if (strcmp(x->host, y->host) != 0 || x->port != y->port)
            fprintf(out, "  server %s: tcp://%s:%u -> tcp://%s:%u\n", y->name, x->host, x->port,
                    y->host, y->port);
    }
}

/* Of a batch once, by its first owner. */
static void compare_rows(FILE *out, const struct study *a, const struct study *b)
{
    for (size_t i = 0; i < b->owners; i++)
        if (b->owner[i].batch == i) {
            char what[STUDY_NAME_SIZE + 64];
            snprintf(what, sizeof what, "rows of the batch of %s (0: not said)", b->owner[i].name);
            compare_number(out, what, a->owner[i].rows, b->owner[i].rows);
        }
}

/* Whose tokens are good. */
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

/* The keys that one study revokes and another does not. */
static void list_revoked(FILE *out, const char *words, const struct study *by,
                         const struct study *other)
{
    for (size_t i = 0; i < by->revoked_count; i++)
        if (!study_revoked(other, &by->revoked[i]))
            fprintf(out, "  %s: a key of %s\n", words,
                    public_identity_fingerprint(&by->revoked[i]).text);
}

static void compare_settings(FILE *out, const struct study *a, const struct study *b)
{
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
    list_revoked(out, "revoked", study, earlier);
    list_revoked(out, "NO LONGER REVOKED", earlier, study);
    compare_settings(out, earlier, study);
    return ERR_OK;
}
