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
struct roster_statement {
    uint8_t bytes[32 + 4 + 32];
};

static struct roster_statement statement_of(const struct study *study)
{
    struct roster_statement s;
    memcpy(s.bytes, study->terms.digest, 32);
    memcpy(integer_put(s.bytes + 32, study->roster_version, 4), study->roster, 32);
    return s;
}

enum roster_signature roster_signature(const struct study *study, size_t server)
{
    const struct roster_statement s = statement_of(study);
    if (!study->signature[server].given)
        return ROSTER_UNSIGNED;
    return public_identity_verify(&study->server[server].key, label, s.bytes, sizeof s.bytes,
                                  study->signature[server].bytes) == ERR_OK
               ? ROSTER_SIGNED
               : ROSTER_STALE;
}

enum err roster_check(const struct study *study, struct log *log)
{
    char missing[STUDY_SERVERS_MOST * (STUDY_NAME_SIZE + 64)] = "";
    size_t count = 0;
    if (study->roster_version == 1)
        return ERR_OK;
    for (size_t i = 0; i < study->servers; i++)
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
                          const uint8_t signature[IDENTITY_SIGNATURE_SIZE])
{
    char text[IDENTITY_SIGNATURE_TEXT_SIZE];
    identity_signature_text(signature, text);
    text_put(out, "  %s: %s\n", name, text);
}

/* The file's text with this server's signature and those of the others that are good. */
static enum err signed_text(const struct study *study, size_t server, const uint8_t signature[64],
                            const struct bytes *text, struct bytes *out)
{
    copy_unsigned(out, (const char *)text->data, text->size);
    text_put(out, "%s\n", signatures_key);
    for (size_t i = 0; i < study->servers; i++)
        if (i == server)
            put_signature(out, study->server[i].name, signature);
        else if (roster_signature(study, i) == ROSTER_SIGNED)
            put_signature(out, study->server[i].name, study->signature[i].bytes);
    return bytes_ok(out);
}

/* Whether the new text is what this server signed: the signature is over terms and roster. */
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
                          char text[IDENTITY_SIGNATURE_TEXT_SIZE], struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0};
    struct roster_statement s;
    uint8_t signature[IDENTITY_SIGNATURE_SIZE];
    size_t index = 0;
    text[0] = '\0';
    TRY(file_read(path, YAML_FILE_MAX, &file, log));
    TRY(study_parse(&study, path, file.data, file.size, log));
    /* by the signing key alone: the amendment itself may bring in a new CURVE key */
    while (index < study->servers &&
           memcmp(study->server[index].key.sign, server->public.sign, 32) != 0)
        index++;
    if (index == study->servers)
        return log_fail(log, ERR_AUTH,
                        "this key is not one of the study's servers', who alone sign");
    if (study->roster_version == 1)
        return log_fail(log, ERR_STUDY,
                        "%s has the first roster, which needs no signatures; give an amended one "
                        "the next number (roster: 2)",
                        path);
    s = statement_of(study);
    TRY(identity_sign(server, label, s.bytes, sizeof s.bytes, signature));
    identity_signature_text(signature, text);
    return write_signed(path, study, index, signature, &file, log);
}

/* --- people ----------------------------------------------------------------------------------- */

static const char *const role_words[] = {[ROLE_SERVER] = "server",
                                         [ROLE_OWNER] = "owner",
                                         [ROLE_ANALYST] = "analyst",
                                         [ROLE_APPROVER] = "approver"};

/* Fills in name and key from role and index; false if there is nobody. */
static bool fill(const struct study *study, struct roster_person *p)
{
    p->key = NULL;
    if (p->role == ROLE_SERVER && p->index < study->servers) {
        p->name = study->server[p->index].name;
        p->key = &study->server[p->index].key;
    } else if (p->role == ROLE_OWNER && p->index < study->owners) {
        p->name = study->owner[p->index].name;
        p->key = &study->owner[p->index].key;
    } else if (p->role == ROLE_ANALYST && p->index < study->analysts) {
        p->name = study->analyst[p->index].name;
        p->key = &study->analyst[p->index].key;
    } else if (p->role == ROLE_APPROVER && p->index < study->approvers.count) {
        p->name = study->approvers.who[p->index].name;
        p->key = &study->approvers.who[p->index].key;
    }
    return p->key != NULL;
}

bool roster_next(const struct study *study, struct roster_person *p)
{
    if (p->key == NULL)
        *p = (struct roster_person){.role = ROLE_SERVER};
    else
        p->index++;
    while (!fill(study, p) && p->role < ROLE_APPROVER)
        *p = (struct roster_person){.role = (enum study_role)(p->role + 1)};
    return p->key != NULL;
}

bool roster_has(const struct study *study, enum study_role role, const struct public_identity *who)
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
                                    enum study_role role)
{
    struct roster_person p = {0}, found = {0};
    while (roster_next(study, &p))
        if (memcmp(p.key->sign, who->sign, sizeof who->sign) == 0 &&
            (found.key == NULL || p.role == role))
            found = p;
    return found;
}

const char *roster_analyst(const struct study *study, const uint8_t sign[32])
{
    for (size_t i = 0; i < study->analysts; i++)
        if (memcmp(study->analyst[i].key.sign, sign, 32) == 0 &&
            !study_revoked(study, &study->analyst[i].key))
            return study->analyst[i].name;
    return NULL;
}

enum err roster_find(const struct study *study, const struct public_identity *who,
                     enum study_role role, struct roster_person *person, struct log *log)
{
    const struct roster_person p = *person = look_up(study, who, role);
    if (p.key == NULL)
        return log_fail(
            log, ERR_AUTH,
            "this key is not one of the study's %ss; use the key whose public half stands "
            "under %ss in the study file, or ask whoever keeps it to list yours",
            role_words[role], role_words[role]);
    if (p.role != role)
        return log_fail(log, ERR_AUTH,
                        "this key is that of the %s %s; the key of one of the %ss is needed here",
                        role_words[p.role], p.name, role_words[role]);
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

enum err roster_current(const struct study *study, enum study_role role, size_t index,
                        struct log *log)
{
    struct roster_person p = {.role = role, .index = index};
    return fill(study, &p) ? check_current(p.name, p.key, log) : ERR_AUTH;
}

enum err roster_servers_current(const struct study *study, struct log *log)
{
    for (size_t i = 0; i < study->servers; i++)
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
            identity_groups(study->roster, 4).text);
    if (study->roster_version == 1)
        fputs("  the first, which needs no signatures\n", out);
    for (size_t i = 0; study->roster_version > 1 && i < study->servers; i++)
        fprintf(out, "  server %zu, %s: %s\n", i, study->server[i].name,
                words[roster_signature(study, i)]);
    while (roster_next(study, &p))
        describe_key(out, study, &p);
}
