/* The study file as a whole: its short parts, loading it, and who and where somebody of it is. */
#include "parties/study/study.h"

#include "aim/schedule.h"
#include "base/date.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_terms.h"

#include <string.h>

/* --- budget, noise, deadlines, model ---------------------------------------------------------- */

static enum err read_budget(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"epsilon", true}, {"delta", true}, {"rows_per_person", false}};
    const yaml_node_t *part[3];
    TRY(yaml_mapping(r->file, node, "budget", keys, 3, part));
    TRY(yaml_number(r->file, part[0], "epsilon", 1e-4, STUDY_EPSILON_MAX, &r->study->epsilon));
    TRY(yaml_number(r->file, part[1], "delta", 1e-15, 0.01, &r->study->delta));
    return study_read_unsigned(r, part[2], "rows_per_person", 1, 10000, &r->study->rows_per_person);
}

/* A number of rounds, or "annealed": as many as the budget allows, at most 16 for each column. */
static enum err read_rounds(struct reading *r, const yaml_node_t *node)
{
    const char *text;
    TRY(yaml_text(r->file, node, "rounds", &text));
    if (strcmp(text, "annealed") != 0)
        return study_read_unsigned(r, node, "rounds", 1, STUDY_ROUNDS_MAX, &r->study->rounds);
    r->study->annealed = true;
    r->study->rounds = schedule_rounds_most(r->study->workload->one_ways, 0, true);
    return ERR_OK;
}

static enum err read_noise(struct reading *r, const yaml_node_t *node)
{
    const char *const kinds[] = {study_noise_word(STUDY_BOX_MULLER),
                                 study_noise_word(STUDY_DISCRETE)};
    size_t kind = STUDY_BOX_MULLER;
    TRY(yaml_choice(r->file, node, "noise", kinds, 2, &kind));
    r->study->noise = (enum study_noise)kind;
    return ERR_OK;
}

static enum err read_score(struct reading *r, const yaml_node_t *node)
{
    const char *const kinds[] = {study_score_word(AIM_L1), study_score_word(AIM_L2)};
    size_t kind = AIM_L1;
    TRY(yaml_choice(r->file, node, "score", kinds, 2, &kind));
    r->study->score = (enum aim_score)kind;
    return ERR_OK;
}

static enum err read_security(struct reading *r, const yaml_node_t *node)
{
    const char *const kinds[] = {study_security_word(STUDY_SEMI_HONEST),
                                 study_security_word(STUDY_ABORT)};
    size_t kind = STUDY_SEMI_HONEST;
    TRY(yaml_choice(r->file, node, "security", kinds, 2, &kind));
    r->study->security = (enum study_security)kind;
    return ERR_OK;
}

static enum err read_late_uploads(struct reading *r, const yaml_node_t *node)
{
    static const char *const words[] = {"wait", "join"};
    size_t join = 0;
    TRY(yaml_choice(r->file, node, "late_uploads", words, 2, &join));
    r->study->late_join = join == 1;
    return ERR_OK;
}

static enum err read_date(struct reading *r, const yaml_node_t *node, const char *what,
                          int64_t *seconds)
{
    const char *text;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(r->file, node, what, &text));
    if (!date_parse(text, seconds))
        return yaml_error(r->file, node,
                          "%s is \"%s\"; write a time in UTC as 2026-12-01T18:00:00Z", what, text);
    return ERR_OK;
}

static enum err read_deadlines(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"connect", false}, {"round", false}, {"uploads", false}};
    const yaml_node_t *part[3];
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "deadlines", keys, 3, part));
    TRY(study_read_unsigned(r, part[0], "connect", 1, 3600, &r->study->connect_s));
    TRY(study_read_unsigned(r, part[1], "round", 1, 86400, &r->study->round_s));
    return read_date(r, part[2], "uploads", &r->study->uploads_until);
}

static enum err read_model(struct reading *r, const yaml_node_t *node)
{
    static const struct yaml_key keys[] = {
        {"max_mib", false}, {"iterations", false}, {"final_iterations", false}};
    const yaml_node_t *part[3];
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "model", keys, 3, part));
    TRY(study_read_unsigned(r, part[0], "max_mib", 1, 65536, &r->study->max_mib));
    TRY(study_read_unsigned(r, part[1], "iterations", 1, 1000000, &r->study->iterations));
    return study_read_unsigned(r, part[2], "final_iterations", 1, 1000000,
                               &r->study->final_iterations);
}

/* --- the whole -------------------------------------------------------------------------------- */

enum {
    TOP_STUDY,
    TOP_DOMAIN,
    TOP_IMPOSSIBLE,
    TOP_WORKLOAD,
    TOP_BUDGET,
    TOP_NOISE,
    TOP_SCORE,
    TOP_ROUNDS,
    TOP_SECURITY,
    TOP_SERVERS,
    TOP_OWNERS,
    TOP_MIN_OWNERS,
    TOP_LATE_UPLOADS,
    TOP_ANALYSTS,
    TOP_RETAIN_DAYS,
    TOP_DEADLINES,
    TOP_MODEL,
    TOP_ROSTER,
    TOP_REVOKED,
    TOP_SIGNATURES,
    TOP_KEYS
};
static const struct yaml_key top_keys[TOP_KEYS] = {
    [TOP_STUDY] = {"study", true},
    [TOP_DOMAIN] = {"domain", true},
    [TOP_IMPOSSIBLE] = {"impossible", false},
    [TOP_WORKLOAD] = {"workload", true},
    [TOP_BUDGET] = {"budget", true},
    [TOP_NOISE] = {"noise", false},
    [TOP_SCORE] = {"score", false},
    [TOP_ROUNDS] = {"rounds", true},
    [TOP_SECURITY] = {"security", false},
    [TOP_SERVERS] = {"servers", true},
    [TOP_OWNERS] = {"owners", true},
    [TOP_ANALYSTS] = {"analysts", true},
    [TOP_RETAIN_DAYS] = {"retain_days", false},
    [TOP_DEADLINES] = {"deadlines", false},
    [TOP_MODEL] = {"model", false},
    [TOP_ROSTER] = {"roster", false},
    [TOP_REVOKED] = {"revoked", false},
    [TOP_SIGNATURES] = {"signatures", false},
    [TOP_MIN_OWNERS] = {"min_owners", false},
    [TOP_LATE_UPLOADS] = {"late_uploads", false},
};

static enum err read_study(struct reading *r)
{
    const yaml_node_t *part[TOP_KEYS];
    if (!yaml_is_mapping(yaml_root(r->file)))
        return yaml_error(r->file, yaml_root(r->file),
                          "this is no study file; trefoil init writes an example of one");
    TRY(yaml_mapping(r->file, yaml_root(r->file), "the study file", top_keys, TOP_KEYS, part));
    TRY(study_read_name(r, part[TOP_STUDY], "study", r->study->name));
    TRY(study_read_domain(r, part[TOP_DOMAIN]));
    TRY(study_read_impossible(r, part[TOP_IMPOSSIBLE]));
    TRY(study_read_workload(r, part[TOP_WORKLOAD]));
    TRY(read_budget(r, part[TOP_BUDGET]));
    TRY(read_noise(r, part[TOP_NOISE]));
    TRY(read_score(r, part[TOP_SCORE]));
    TRY(read_rounds(r, part[TOP_ROUNDS]));
    TRY(read_security(r, part[TOP_SECURITY]));
    TRY(study_read_people(r, part[TOP_SERVERS], part[TOP_OWNERS], part[TOP_ANALYSTS]));
    TRY(study_read_unsigned(r, part[TOP_RETAIN_DAYS], "retain_days", 1, 3650,
                            &r->study->retain_days));
    r->study->min_owners = (unsigned)r->study->owners;
    TRY(study_read_unsigned(r, part[TOP_MIN_OWNERS], "min_owners", 1, r->study->min_owners,
                            &r->study->min_owners));
    TRY(read_late_uploads(r, part[TOP_LATE_UPLOADS]));
    TRY(read_deadlines(r, part[TOP_DEADLINES]));
    TRY(read_model(r, part[TOP_MODEL]));
    TRY(study_read_roster(r, part[TOP_ROSTER], part[TOP_REVOKED], part[TOP_SIGNATURES]));
    return study_digest(r->study);
}

static enum err study_read(struct study **study, struct yaml_file *file, struct log *log)
{
    struct reading r = {.file = file};
    enum err e;
    r.study = memory_array(1, sizeof *r.study);
    if (r.study == NULL)
        return ERR_NOMEM;
    *r.study = (struct study){
        .rows_per_person = 1,
        .noise = STUDY_BOX_MULLER,
        .connect_s = 30,
        .round_s = 120,
        .max_mib = 80,
        .iterations = 100,
        .final_iterations = 1000,
        .roster_version = 1,
    };
    e = read_study(&r);
    if (e == ERR_NOMEM)
        log_error(log, "not enough memory for the study: %s", error_text(e));
    if (e == ERR_OK)
        *study = r.study;
    else
        study_free(&r.study);
    return e;
}

enum err study_parse(struct study **study, const char *path, const void *text, size_t n,
                     struct log *log)
{
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    *study = NULL;
    TRY(yaml_parse(&file, path, text, n, log));
    return study_read(study, file, log);
}

enum err study_load(struct study **study, const char *path, struct log *log)
{
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    *study = NULL;
    TRY(yaml_open(&file, path, log));
    return study_read(study, file, log);
}

void study_free(struct study **study)
{
    struct study *s = *study;
    if (s == NULL)
        return;
    for (size_t i = 0; s->owner != NULL && i < s->owners; i++)
        memory_free(&s->owner[i].column);
    for (size_t k = 0; k < s->zeros; k++) {
        uint32_t *cell = (uint32_t *)(uintptr_t)s->zero[k].cell;
        memory_free(&cell);
    }
    memory_free(&s->zero);
    workload_free(&s->workload);
    domain_free(&s->domain);
    memory_free(&s->owner);
    memory_free(&s->analyst);
    memory_free(&s->revoked);
    memory_free(study);
}

/* --- questions -------------------------------------------------------------------------------- */

bool study_revoked(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->revoked_count; i++)
        if (public_identity_equal(&study->revoked[i], who))
            return true;
    return false;
}

size_t study_find_server(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < STUDY_SERVERS; i++)
        if (public_identity_equal(&study->server[i].key, who))
            return i;
    return SIZE_MAX;
}

size_t study_find_owner(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->owners; i++)
        if (public_identity_equal(&study->owner[i].key, who))
            return i;
    return SIZE_MAX;
}

size_t study_find_analyst(const struct study *study, const struct public_identity *who)
{
    for (size_t i = 0; i < study->analysts; i++)
        if (public_identity_equal(&study->analyst[i].key, who))
            return i;
    return SIZE_MAX;
}

void study_endpoint(const struct study *study, size_t server, unsigned port,
                    char text[STUDY_ENDPOINT_SIZE])
{
    study_listen(study, server, port, study->server[server].host, 0, text);
}

/* Lanes for which ports from `base` on have room before `end`. */
static unsigned room(unsigned base, unsigned end)
{
    const unsigned all = study_bulk(STUDY_BULK_PREV, STUDY_LANES_MAX);
    return end - base < all ? (end - base - STUDY_BULK_PREV) / 2 : STUDY_LANES_MAX;
}

unsigned study_lanes_most(const struct study *study, uint16_t first)
{
    const struct study_server *s = study->server;
    unsigned most = first != 0 ? room(first, 65536) : STUDY_LANES_MAX;
    for (size_t i = 0; i < STUDY_SERVERS; i++) {
        unsigned end = 65536, lanes;
        for (size_t k = 0; k < STUDY_SERVERS; k++)
            if (strcmp(s[i].host, s[k].host) == 0 && s[k].port > s[i].port && s[k].port < end)
                end = s[k].port;
        lanes = room(s[i].port, end);
        most = lanes < most ? lanes : most;
    }
    return most;
}

void study_listen(const struct study *study, size_t server, unsigned port, const char *host,
                  uint16_t first, char text[STUDY_ENDPOINT_SIZE])
{
    unsigned base = first != 0 ? first : study->server[server].port;
    snprintf(text, STUDY_ENDPOINT_SIZE, "tcp://%.253s:%u", host != NULL ? host : "0.0.0.0",
             base + port);
}
