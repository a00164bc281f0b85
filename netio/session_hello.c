#include "netio/session_hello.h"

#include <string.h>

void session_hello_put(struct bytes *b, unsigned index, const struct session_hello *hello,
                       const struct terms *terms)
{
    bytes_put_string(b, TREFOIL_VERSION);
    bytes_put_u8(b, (uint8_t)index);
    bytes_put(b, hello->nonce, sizeof hello->nonce);
    bytes_put(b, hello->pass, sizeof hello->pass);
    bytes_put_u8(b, hello->lanes);
    bytes_put_u16(b, hello->all);
    bytes_put(b, terms->digest, sizeof terms->digest);
    bytes_put_u8(b, (uint8_t)terms->parts);
    for (size_t i = 0; i < terms->parts; i++) {
        bytes_put_string(b, terms->part[i].name);
        bytes_put(b, terms->part[i].digest, sizeof terms->part[i].digest);
    }
}

/* --- terms ------------------------------------------------------------------------------------ */

static void read_terms(struct reader *r, struct terms *terms)
{
    memset(terms, 0, sizeof *terms);
    reader_copy(r, terms->digest, sizeof terms->digest);
    terms->parts = reader_u8(r);
    if (terms->parts > TERMS_PARTS_MAX) {
        terms->parts = 0;
        r->failed = true;
    }
    for (size_t i = 0; i < terms->parts; i++) {
        reader_string(r, terms->part[i].name, sizeof terms->part[i].name);
        reader_copy(r, terms->part[i].digest, sizeof terms->part[i].digest);
    }
}

static const uint8_t *part_of(const struct terms *terms, const char *name)
{
    for (size_t i = 0; i < terms->parts; i++)
        if (strcmp(terms->part[i].name, name) == 0)
            return terms->part[i].digest;
    return NULL;
}

static size_t name_missing(unsigned who, const struct terms *a, const struct terms *b,
                           const char *whose, struct log *log)
{
    size_t found = 0;
    for (size_t i = 0; i < a->parts; i++) {
        if (part_of(b, a->part[i].name) != NULL)
            continue;
        log_error(log, "server %u: only %s study has \"%s\"; all servers need the same study", who,
                  whose, a->part[i].name);
        found++;
    }
    return found;
}

static void name_differences(unsigned who, const struct terms *ours, const struct terms *theirs,
                             struct log *log)
{
    size_t found = 0;
    for (size_t i = 0; i < ours->parts; i++) {
        const char *name = ours->part[i].name;
        const uint8_t *digest = part_of(theirs, name);
        if (digest == NULL || memcmp(digest, ours->part[i].digest, 32) == 0)
            continue;
        log_error(log,
                  "server %u has other terms than we: \"%s\" differs; compare that part of the "
                  "study files",
                  who, name);
        found++;
    }
    found += name_missing(who, ours, theirs, "our", log);
    found += name_missing(who, theirs, ours, "its", log);
    if (found == 0)
        log_error(log,
                  "server %u has other terms than we, though no named part differs; compare the "
                  "study files",
                  who);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* The protocol, or else the version, decides which of two programs is older. */
static void name_versions(unsigned who, const char *version, uint16_t protocol, struct log *log)
{
    bool ours_is_older = protocol != SESSION_PROTOCOL ? protocol > SESSION_PROTOCOL
                                                      : strverscmp(version, TREFOIL_VERSION) > 0;
    log_error(
        log,
        "server %u runs trefoil %s (protocol %u), we run %s (protocol %u): all three need the "
        "same version; %s",
        who, version[0] != '\0' ? version : "of another time", protocol, TREFOIL_VERSION,
        SESSION_PROTOCOL,
        ours_is_older ? "ours is the older one, upgrade it"
                      : "theirs is the older one, upgrade it");
}

enum err session_hello_take(struct reader *r, uint16_t protocol, unsigned who,
                            const struct terms *ours, struct session_hello *hello, bool *mismatch,
                            struct log *log)
{
    struct terms terms;
    char version[64];
    unsigned claimed;
    reader_string(r, version, sizeof version);
    claimed = reader_u8(r);
    if (r->failed)
        version[0] = '\0';
    if (protocol != SESSION_PROTOCOL || strcmp(version, TREFOIL_VERSION) != 0) {
        name_versions(who, version, protocol, log);
        *mismatch = true;
    }
    if (protocol != SESSION_PROTOCOL)
        return ERR_OK;
    if (!r->failed && claimed != who) {
        log_error(log,
                  "the neighbour that we know as server %u says that it is server %u: compare the "
                  "order of the servers in the study, and the index that each was started with",
                  who, claimed);
        *mismatch = true;
    }
    reader_copy(r, hello->nonce, sizeof hello->nonce);
    reader_copy(r, hello->pass, sizeof hello->pass);
    hello->lanes = reader_u8(r);
    hello->all = reader_u16(r);
    read_terms(r, &terms);
    TRY(reader_done(r));
    if (hello->lanes == 0 || hello->lanes > SESSION_LANES_MAX || hello->all < hello->lanes ||
        hello->all > SESSION_ALL_MAX)
        return ERR_FORMAT;
    if (memcmp(terms.digest, ours->digest, sizeof terms.digest) != 0) {
        name_differences(who, ours, &terms, log);
        *mismatch = true;
    }
    return ERR_OK;
}
