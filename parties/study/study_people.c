/* Who takes part in a study, with each name and key only once; and the roster's own parts. */
#include "base/memory.h"
#include "base/text.h"
#include "parties/study/sealing.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_ports.h"

#include <stdlib.h>
#include <string.h>

static bool good_host(const char *host)
{
    size_t n = strlen(host);
    if (host[0] == '[')
        return n > 3 && host[n - 1] == ']' && strspn(host + 1, "0123456789abcdefABCDEF:.") == n - 2;
    return n > 0 && host[0] != '-' && host[0] != '.' &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == n;
}

static bool parse_endpoint(const char *text, struct study_server *server)
{
    const char *host = text + 6, *colon = strrchr(text, ':');
    const char *digits;
    size_t n, m;
    unsigned long port;
    if (strncmp(text, "tcp://", 6) != 0 || colon < host)
        return false;
    n = (size_t)(colon - host);
    digits = colon + 1;
    m = strspn(digits, "0123456789");
    if (n >= STUDY_HOST_SIZE || m == 0 || m > 5 || digits[m] != '\0' || digits[0] == '0')
        return false;
    memcpy(server->host, host, n);
    server->host[n] = '\0';
    port = strtoul(digits, NULL, 10);
    server->port = (uint16_t)port;
    return good_host(server->host) && port <= 65535 - (STUDY_PORTS - 1);
}

static enum err read_endpoint(struct study_reading *r, const yaml_node_t *node, size_t index)
{
    struct study_server *server = r->study->server;
    const char *text;
    TRY(yaml_text(r->file, node, "endpoint", &text));
    if (!parse_endpoint(text, &server[index]))
        return yaml_error(r->file, node,
                          "endpoint is \"%.64s\"; it should be tcp://host:port with a port from 1 "
                          "to %d",
                          text, 65535 - (STUDY_PORTS - 1));
    for (size_t i = 0; i < index; i++)
        if (strcmp(server[i].host, server[index].host) == 0 &&
            abs((int)server[i].port - (int)server[index].port) < STUDY_PORTS)
            return yaml_error(r->file, node,
                              "ports %d to %d overlap those of server %s; each server uses %d "
                              "ports from its own on",
                              server[index].port, server[index].port + STUDY_PORTS - 1,
                              server[i].name, STUDY_PORTS);
    return ERR_OK;
}

/* Hosts of a server's other machines. */
static enum err read_ranks(struct study_reading *r, const yaml_node_t *node,
                           struct study_server *server)
{
    size_t count;
    TRY(yaml_list(r->file, node, "ranks", 1, STUDY_RANKS_MAX, &count));
    TRY(memory_new(&server->rank, count));
    for (; server->ranks < count; server->ranks++) {
        const yaml_node_t *item = yaml_item(r->file, node, server->ranks);
        const char *text;
        TRY(yaml_text(r->file, item, "ranks", &text));
        if (!good_host(text) || strlen(text) >= STUDY_HOST_SIZE)
            return yaml_error(r->file, item,
                              "ranks has \"%.64s\"; it should be a host, without tcp:// and port",
                              text);
        memcpy(server->rank[server->ranks], text, strlen(text) + 1);
    }
    return ERR_OK;
}

static enum err read_sealing(struct study_reading *r, const yaml_node_t *node, size_t index)
{
    const char *text;
    r->sealing[index] = node;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(r->file, node, "sealing", &text));
    return sealing_parse(&r->study->server[index].sealing, text) == ERR_OK
               ? ERR_OK
               : yaml_error(
                     r->file, node,
                     "this is not a sealing key, or one of a later trefoil than " TREFOIL_VERSION
                     "; paste the line trefoil-sealing1-... that keygen --sealing printed");
}

/* The terms, which servers sign with their sealing keys, are known last. */
enum err study_check_sealing(struct study_reading *r)
{
    struct study *s = r->study;
    for (unsigned i = 0; s->keyless == 0 && i < s->servers; i++)
        if (s->server[i].sealing.given && sealing_check(s, i) != ERR_OK)
            return yaml_error(r->file, r->sealing[i],
                              "server %s has not signed this sealing key for a study of these "
                              "terms; its operator should make one: trefoil keygen --sealing",
                              s->server[i].name);
    return ERR_OK;
}

static enum err read_server(struct study_reading *r, const yaml_node_t *node, size_t index,
                            struct study_people *people)
{
    struct study_server *s = &r->study->server[index];
    const yaml_node_t *name, *endpoint, *key, *ranks, *sealing;
    const struct yaml_key keys[] = {{"name", true, &name},
                                    {"endpoint", true, &endpoint},
                                    {"key", !r->draft, &key},
                                    {"sealing", false, &sealing},
                                    {"ranks", false, &ranks}};
    TRY(yaml_mapping(r->file, node, "a server", COUNTED(keys)));
    TRY(study_read_name(r, name, "name", s->name));
    TRY(study_go_on(r, read_endpoint(r, endpoint, index)));
    TRY(study_go_on(r, read_ranks(r, ranks, s)));
    TRY(study_go_on(r, read_sealing(r, sealing, index)));
    return study_read_member(r, name, key, s->name, &s->key, people);
}

/* A server alone, where the file gives it a key of its own. */
static enum err read_alone(struct study_reading *r, const yaml_node_t *node, size_t index,
                           struct study_people *people)
{
    return node != NULL ? study_go_on(r, read_server(r, node, index, people)) : ERR_OK;
}

static enum err read_servers(struct study_reading *r, const yaml_node_t *node,
                             struct study_people *people)
{
    size_t count;
    TRY(yaml_list(r->file, node, "servers", r->study->servers, r->study->servers, &count));
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(r, read_server(r, yaml_item(r->file, node, i), i, people)));
    return ERR_OK;
}

static enum err read_analyst(struct study_reading *r, const yaml_node_t *node, const char *what,
                             struct study_analyst *a, struct study_people *people)
{
    const yaml_node_t *name, *key;
    const struct yaml_key keys[] = {{"name", true, &name}, {"key", !r->draft, &key}};
    TRY(yaml_mapping(r->file, node, what, COUNTED(keys)));
    TRY(study_read_name(r, name, "name", a->name));
    return study_read_member(r, name, key, a->name, &a->key, people);
}

static enum err read_analysts(struct study_reading *r, const yaml_node_t *node,
                              struct study_people *people)
{
    struct study *s = r->study;
    size_t count;
    TRY(yaml_list(r->file, node, "analysts", 1, STUDY_ANALYSTS_MAX, &count));
    TRY(memory_new(&s->analyst, count));
    s->analysts = count;
    for (size_t i = 0; i < count; i++)
        TRY(study_go_on(
            r, read_analyst(r, yaml_item(r->file, node, i), "an analyst", &s->analyst[i], people)));
    return ERR_OK;
}

/* Warrants that are good no longer, by their numbers. */
static enum err read_void(struct study_reading *r, const yaml_node_t *node)
{
    struct study_approvers *a = &r->study->approvers;
    const char *text;
    TRY(yaml_list(r->file, node, "revoked", 0, STUDY_REVOKED_MAX, &a->revoked_count));
    TRY(memory_new(&a->revoked, a->revoked_count));
    for (size_t i = 0; i < a->revoked_count; i++) {
        const yaml_node_t *item = yaml_item(r->file, node, i);
        TRY(yaml_text(r->file, item, "a warrant's number", &text));
        if (!text_hex(text, a->revoked[i], sizeof a->revoked[i]))
            return yaml_error(r->file, item,
                              "a revoked warrant stands here by its number, the 64 digits and "
                              "letters a to f that trefoil approve and audit print");
    }
    return ERR_OK;
}

static enum err read_approvers(struct study_reading *r, const yaml_node_t *node,
                               struct study_people *people)
{
    struct study_approvers *a = &r->study->approvers;
    const yaml_node_t *least, *list, *revoked;
    const struct yaml_key keys[] = {
        {"at_least", true, &least}, {"people", true, &list}, {"revoked", false, &revoked}};
    TRY(yaml_mapping(r->file, node, "approvers", COUNTED(keys)));
    TRY(yaml_list(r->file, list, "people", 1, STUDY_APPROVERS_MAX, &a->count));
    TRY(memory_new(&a->who, a->count));
    TRY(study_go_on(
        r, study_read_unsigned(r, least, "at_least", 1, (unsigned)a->count, &a->at_least)));
    for (size_t i = 0; i < a->count; i++)
        TRY(study_go_on(
            r, read_analyst(r, yaml_item(r->file, list, i), "an approver", &a->who[i], people)));
    return read_void(r, revoked);
}

/* All that must not occur twice has 32 bytes: a name with its zeros, or one of the two keys. */
_Static_assert(STUDY_NAME_SIZE == 32, "names are compared as keys are");

/* Equal ones are in the order of the file. */
static int by_bytes(const void *x, const void *y)
{
    const struct study_participant *a = x, *b = y;
    size_t i = a->name_node->start_mark.index, k = b->name_node->start_mark.index;
    int order = memcmp(a->once, b->once, 32);
    return order != 0 ? order : (i > k) - (i < k);
}

static enum err check_unique(struct study_reading *r, struct study_people *people)
{
    struct study_participant *p = people->person;
    for (unsigned pass = 0; pass < 3 && people->count > 0; pass++) {
        for (size_t i = 0; i < people->count; i++)
            p[i].once = pass == 0 ? p[i].name
                                  : (const void *)(pass == 1 ? p[i].key->sign : p[i].key->curve);
        qsort(p, people->count, sizeof *p, by_bytes);
        for (size_t i = 1; i < people->count; i++) {
            if (memcmp(p[i].once, p[i - 1].once, 32) != 0)
                continue;
            if (pass == 0)
                return yaml_error(r->file, p[i].name_node,
                                  "the name %s is taken (line %zu); names occur once", p[i].name,
                                  p[i - 1].name_node->start_mark.line + 1);
            return yaml_error(r->file, p[i].key_node,
                              "%s has the key of %s (line %zu); a key has one role, so make "
                              "another with trefoil keygen",
                              p[i].name, p[i - 1].name, p[i - 1].key_node->start_mark.line + 1);
        }
    }
    return ERR_OK;
}

static enum err read_everybody(struct study_reading *r, struct study_people *people)
{
    TRY(read_alone(r, r->at.provider, 0, people));
    TRY(read_alone(r, r->at.keeper, 1, people));
    if (r->at.servers != NULL && r->study->servers == 3)
        TRY(study_go_on(r, read_servers(r, r->at.servers, people)));
    if (r->at.owners != NULL)
        TRY(study_go_on(r, study_read_owners(r, people)));
    if (r->at.open_owners != NULL && r->study->workload != NULL)
        TRY(study_go_on(r, study_read_open(r, people)));
    if (r->at.analysts != NULL)
        TRY(study_go_on(r, read_analysts(r, r->at.analysts, people)));
    if (r->at.approvers != NULL)
        TRY(study_go_on(r, read_approvers(r, r->at.approvers, people)));
    return check_unique(r, people);
}

enum err study_read_people(struct study_reading *r)
{
    struct study_people people = {0};
    enum err e = read_everybody(r, &people);
    memory_free(&people.person);
    TRY(e);
    if (!study_sound(r))
        return ERR_OK;
    TRY(study_check_link(r));
    TRY(study_choose_forms(r));
    return study_find_count_bits(r);
}

/* --- the roster's own parts ------------------------------------------------------------------- */

static enum err read_revoked(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    size_t count;
    TRY(yaml_list(r->file, node, "revoked", 0, STUDY_REVOKED_MAX, &count));
    TRY(memory_new(&s->revoked, count));
    for (; s->revoked_count < count; s->revoked_count++)
        TRY(study_read_key(r, yaml_item(r->file, node, s->revoked_count),
                           &s->revoked[s->revoked_count]));
    for (size_t i = 0; i < s->servers; i++)
        if (study_revoked(s, &s->server[i].key))
            return yaml_error(r->file, node,
                              "the key of server %s is revoked; put a renewed one (trefoil keygen "
                              "--renew) in its place",
                              s->server[i].name);
    if (s->open.most > 0 && study_revoked_signer(s, s->open.issuer.sign))
        return yaml_error(r->file, node,
                          "a key of the issuer of open_owners is revoked; name another issuer");
    return ERR_OK;
}

static enum err read_signatures(struct study_reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    struct yaml_key keys[STUDY_SERVERS_MOST];
    const yaml_node_t *part[STUDY_SERVERS_MOST];
    for (size_t i = 0; i < s->servers; i++)
        keys[i] = (struct yaml_key){s->server[i].name, false, &part[i]};
    TRY(yaml_mapping(r->file, node, "signatures", keys, s->servers));
    for (size_t i = 0; i < s->servers; i++) {
        const char *text;
        enum err e;
        if (part[i] == NULL)
            continue;
        TRY(yaml_text(r->file, part[i], "a signature", &text));
        e = identity_signature_parse(s->signature[i].bytes, text);
        if (e == ERR_MISMATCH)
            return yaml_error(r->file, part[i],
                              "the signature of %s is of a later trefoil; this one, %s, reads "
                              "those that begin with trefoil-sig1-: use the trefoil that made it",
                              s->server[i].name, TREFOIL_VERSION);
        if (e != ERR_OK)
            return yaml_error(r->file, part[i],
                              "this is not a signature of %s, or it was cut short; paste the line "
                              "trefoil-sig1-... that trefoil roster sign printed",
                              s->server[i].name);
        s->signature[i].given = true;
    }
    return ERR_OK;
}

/*
 * https://HOST[:PORT], in letters that cannot leave a page's policy; or this machine, for trials.
 */
static bool is_relay(const char *text)
{
    static const char https[] = "https://", here[] = "http://127.0.0.1";
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    const char *host = text + sizeof https - 1;
    size_t n = 0;
    if (strncmp(text, here, sizeof here - 1) == 0)
        host = text + sizeof here - 1;
    else if (strncmp(text, https, sizeof https - 1) != 0 || (n = strspn(host, letters)) == 0)
        return false;
    if (n > 253 || host[n] == '\0')
        return n <= 253;
    return host[n] == ':' && strlen(host + n + 1) <= 5 && atoi(host + n + 1) > 0 &&
           atoi(host + n + 1) <= UINT16_MAX &&
           strspn(host + n + 1, "0123456789") == strlen(host + n + 1);
}

static enum err read_relay(struct study_reading *r, const yaml_node_t *node)
{
    if (node == NULL)
        return ERR_OK;
    TRY(study_read_text(r, node, "relay", &r->study->relay));
    return is_relay(r->study->relay)
               ? ERR_OK
               : yaml_error(r->file, node,
                            "relay is where the owner's page brings parcels: https://HOST or "
                            "https://HOST:PORT, of letters, digits, dots and hyphens");
}

enum err study_read_roster(struct study_reading *r)
{
    TRY(study_read_unsigned(r, r->at.roster, "roster", 1, 1000000, &r->study->roster_version));
    TRY(study_go_on(r, read_relay(r, r->at.relay)));
    TRY(read_revoked(r, r->at.revoked));
    return read_signatures(r, r->at.signatures);
}

bool study_revoked(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->revoked_count; i++)
        if (public_identity_equal(&study->revoked[i], who))
            return true;
    return false;
}

bool study_revoked_signer(const struct study *study, const uint8_t sign[32])
{
    for (size_t i = 0; i < study->revoked_count; i++)
        if (memcmp(study->revoked[i].sign, sign, 32) == 0)
            return true;
    return false;
}

bool study_revoked_warrant(const struct study *study, const uint8_t number[32])
{
    for (size_t i = 0; i < study->approvers.revoked_count; i++)
        if (memcmp(study->approvers.revoked[i], number, 32) == 0)
            return true;
    return false;
}
