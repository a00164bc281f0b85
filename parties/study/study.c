/* The study file as a whole: its short parts, and loading it. */
#include "parties/study/study.h"

#include "aim/budget/schedule.h"
#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_terms.h"

#include <string.h>

/* --- budget, noise, deadlines, model ---------------------------------------------------------- */

static enum err read_budget(struct reading *r, const yaml_node_t *node, const yaml_node_t *person,
                            const yaml_node_t *link)
{
    struct study *s = r->study;
    const yaml_node_t *epsilon, *delta, *rows, *enforce;
    const struct yaml_key keys[] = {{"epsilon", true, &epsilon},
                                    {"delta", true, &delta},
                                    {"rows_per_person", false, &rows},
                                    {"enforce_person", false, &enforce}};
    TRY(yaml_mapping(r->file, node, "budget", keys, 4));
    TRY(study_read_person(r, person, enforce, link));
    TRY(yaml_number(r->file, epsilon, "epsilon", 1e-4, STUDY_EPSILON_MAX, &s->epsilon));
    TRY(yaml_number(r->file, delta, "delta", 1e-15, 0.01, &s->delta));
    return study_read_unsigned(r, rows, "rows_per_person", 1, 10000, &s->rows_per_person);
}

/* The parameters of a copula. */
static enum err read_copula(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    const yaml_node_t *clip, *share;
    const struct yaml_key keys[] = {{"clip", false, &clip}, {"share", false, &share}};
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "copula", keys, 2));
    if (clip != NULL)
        TRY(yaml_number(r->file, clip, "clip", 0.5, 8, &s->copula_clip));
    if (share != NULL)
        TRY(yaml_number(r->file, share, "share", 0.01, 0.99, &s->copula_share));
    return ERR_OK;
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

static enum err lacks(struct reading *r, const char *key)
{
    return yaml_error(r->file, yaml_root(r->file), "the study file lacks the key \"%s\"; add it",
                      key);
}

/* What a run makes, and the marginals that matter. A copula uses all pairs, whatever these are. */
static enum err read_method(struct reading *r, const yaml_node_t *method,
                            const yaml_node_t *workload)
{
    const char *const words[] = {study_method_word(STUDY_AIM), study_method_word(STUDY_COPULA)};
    size_t kind = STUDY_AIM;
    TRY(yaml_choice(r->file, method, "method", words, 2, &kind));
    r->study->method = (enum study_method)kind;
    if (kind == STUDY_COPULA && r->study->domain->attributes < 2)
        return yaml_error(r->file, method, "method: copula needs two attributes at least");
    if (workload != NULL)
        TRY(study_read_workload(r, workload));
    else
        TRY(kind == STUDY_COPULA ? study_pair_workload(r, method) : lacks(r, "workload"));
    r->study->asked = r->study->workload;
    return kind == STUDY_COPULA && workload != NULL ? study_pair_workload(r, method) : ERR_OK;
}

/* AIM has rounds, a copula has none. */
static enum err read_course(struct reading *r, const yaml_node_t *rounds, const yaml_node_t *copula,
                            const yaml_node_t *score, const yaml_node_t *late,
                            const yaml_node_t *impossible)
{
    switch (r->study->method) {
    case STUDY_AIM:
        if (copula != NULL)
            return yaml_error(r->file, copula,
                              "this is for method: copula alone; take it out, or add that");
        return rounds != NULL ? read_rounds(r, rounds) : lacks(r, "rounds");
    case STUDY_COPULA:
        break;
    }
    if (rounds != NULL)
        return yaml_error(r->file, rounds, "method: copula has no rounds; take this key out");
    if (score != NULL)
        return yaml_error(r->file, score,
                          "method: copula selects nothing, so nothing has a score; take this key "
                          "out");
    if (impossible != NULL)
        return yaml_error(r->file, impossible,
                          "method: copula cannot leave out what is impossible; take this key out");
    if (r->study->late_join)
        return yaml_error(r->file, late,
                          "method: copula cannot take rows that come during a run; write wait");
    return read_copula(r, copula);
}

/* Keys whose value is one of a few words; the first of each is the default. */
static enum err read_kinds(struct reading *r, const yaml_node_t *noise, const yaml_node_t *score,
                           const yaml_node_t *security, const yaml_node_t *late_uploads)
{
    const char *const noises[NOISE_KINDS] = {study_noise_word(NOISE_BOX_MULLER),
                                             study_noise_word(NOISE_DISCRETE)};
    const char *const scores[] = {study_score_word(AIM_L1), study_score_word(AIM_L2)};
    const char *const securities[] = {study_security_word(STUDY_SEMI_HONEST),
                                      study_security_word(STUDY_ABORT)};
    static const char *const late[] = {"wait", "join"};
    size_t kind[4] = {NOISE_BOX_MULLER, AIM_L1, STUDY_SEMI_HONEST, 0};
    TRY(yaml_choice(r->file, noise, "noise", noises, NOISE_KINDS, &kind[0]));
    TRY(yaml_choice(r->file, score, "score", scores, 2, &kind[1]));
    TRY(yaml_choice(r->file, security, "security", securities, 2, &kind[2]));
    TRY(yaml_choice(r->file, late_uploads, "late_uploads", late, 2, &kind[3]));
    r->study->noise = (enum noise_kind)kind[0];
    r->study->score = (enum aim_score)kind[1];
    r->study->security = (enum study_security)kind[2];
    r->study->late_join = kind[3] == 1;
    return ERR_OK;
}

size_t study_candidates_most(const struct study *study)
{
    switch (study->security) {
    case STUDY_SEMI_HONEST:
        return SELECT_MOST;
    case STUDY_ABORT:
        break;
    }
    return SELECT_MOST_PROVED;
}

/*
 * Every marginal of the closure may be a candidate, and what a selection costs is paid before it.
 */
static enum err check_candidates(struct reading *r, const yaml_node_t *workload)
{
    const struct study *s = r->study;
    const size_t most = study_candidates_most(s);
    if (s->method != STUDY_AIM || s->workload->queries <= most)
        return ERR_OK;
    return yaml_error(
        r->file, workload,
        "the workload has %zu marginals with the smaller ones they contain; with "
        "security: %s a round selects from at most %zu. List fewer marginals, or ones "
        "of fewer attributes",
        s->workload->queries, study_security_word(s->security), most);
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
    struct study *s = r->study;
    const yaml_node_t *connect, *round, *uploads;
    const struct yaml_key keys[] = {
        {"connect", false, &connect}, {"round", false, &round}, {"uploads", false, &uploads}};
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "deadlines", keys, 3));
    TRY(study_read_unsigned(r, connect, "connect", 1, 3600, &s->connect_s));
    TRY(study_read_unsigned(r, round, "round", 1, 86400, &s->round_s));
    return read_date(r, uploads, "uploads", &s->uploads_until);
}

static enum err read_model(struct reading *r, const yaml_node_t *node)
{
    struct study *s = r->study;
    const yaml_node_t *mib, *iterations, *final, *apart;
    const struct yaml_key keys[] = {{"max_mib", false, &mib},
                                    {"iterations", false, &iterations},
                                    {"final_iterations", false, &final},
                                    {"apart", false, &apart}};
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_mapping(r->file, node, "model", keys, 4));
    TRY(study_read_unsigned(r, mib, "max_mib", 1, 65536, &s->max_mib));
    TRY(study_read_unsigned(r, iterations, "iterations", 1, 1000000, &s->iterations));
    TRY(study_read_unsigned(r, final, "final_iterations", 1, 1000000, &s->final_iterations));
    if (apart == NULL)
        return ERR_OK;
    TRY(memory_new(&s->apart, s->domain->attributes));
    return study_read_attributes(r, apart, "apart", s->domain->attributes, s->apart, &s->aparts);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* By default all listed owners; nobody knows how many owners with tokens will come. */
static enum err read_least(struct reading *r, const yaml_node_t *least, const yaml_node_t *open)
{
    struct study *s = r->study;
    if (open != NULL && least == NULL)
        return yaml_error(r->file, open,
                          "open_owners needs the key min_owners: how many owners, listed or not, "
                          "must have uploaded before a run begins");
    s->min_owners = (unsigned)s->owners;
    return study_read_unsigned(r, least, "min_owners", 1, (unsigned)study_owners_most(s),
                               &s->min_owners);
}

static enum err read_study(struct reading *r)
{
    struct study *s = r->study;
    const yaml_node_t *root = yaml_root(r->file), *name, *domain, *impossible, *workload, *budget,
                      *noise, *score, *method, *copula, *rounds, *security, *servers, *owners,
                      *least, *late, *analysts, *retain, *deadlines, *model, *version, *revoked,
                      *signatures, *person, *link, *open;
    const struct yaml_key keys[] = {
        {"study", true, &name},
        {"domain", true, &domain},
        {"impossible", false, &impossible},
        {"workload", false, &workload},
        {"budget", true, &budget},
        {"person", false, &person},
        {"link", false, &link},
        {"noise", false, &noise},
        {"score", false, &score},
        {"method", false, &method},
        {"copula", false, &copula},
        {"rounds", false, &rounds},
        {"security", false, &security},
        {"servers", true, &servers},
        {"owners", false, &owners},
        {"open_owners", false, &open},
        {"min_owners", false, &least},
        {"late_uploads", false, &late},
        {"analysts", true, &analysts},
        {"retain_days", false, &retain},
        {"deadlines", false, &deadlines},
        {"model", false, &model},
        {"roster", false, &version},
        {"revoked", false, &revoked},
        {"signatures", false, &signatures},
    };
    if (!yaml_is_mapping(root))
        return yaml_error(r->file, root,
                          "this is no study file; trefoil init writes an example of one");
    TRY(yaml_mapping(r->file, root, "the study file", keys, sizeof keys / sizeof *keys));
    TRY(study_read_name(r, name, "study", s->name));
    TRY(study_read_domain(r, domain));
    TRY(study_read_impossible(r, impossible));
    TRY(read_method(r, method, workload));
    TRY(read_kinds(r, noise, score, security, late));
    TRY(check_candidates(r, workload));
    TRY(study_read_link(r, link, late));
    TRY(read_budget(r, budget, person, link));
    TRY(read_course(r, rounds, copula, score, late, impossible));
    if (s->enforce_person && s->late_join)
        return yaml_error(r->file, late,
                          "which of a person's rows count must not change during a run, as it may "
                          "where rows come late; with enforce_person write wait");
    TRY(owners == NULL && open == NULL ? lacks(r, "owners") : ERR_OK);
    TRY(study_read_people(r, &(const struct people_nodes){servers, owners, open, link, analysts}));
    TRY(study_read_unsigned(r, retain, "retain_days", 1, 3650, &s->retain_days));
    TRY(read_least(r, least, open));
    TRY(read_deadlines(r, deadlines));
    TRY(read_model(r, model));
    TRY(study_read_roster(r, version, revoked, signatures));
    return study_digest(s);
}

enum err study_parse(struct study **study, const char *path, const void *text, size_t n,
                     struct log *log)
{
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    struct study *s CLEAN(study_free) = NULL;
    struct reading r;
    enum err e;
    *study = NULL;
    TRY(yaml_parse(&file, path, text, n, log));
    TRY(memory_new(&s, 1));
    *s = (struct study){
        .rows_per_person = 1,
        .noise = NOISE_BOX_MULLER,
        .connect_s = 30,
        .round_s = 120,
        .max_mib = 80,
        .copula_clip = 2.5,
        .copula_share = 0.5,
        .iterations = 100,
        .final_iterations = 1000,
        .roster_version = 1,
    };
    r = (struct reading){.file = file, .path = path, .log = log, .study = s};
    r.quiet = (struct log){.buffer = r.note, .buffer_size = sizeof r.note, .level = LOG_ERROR};
    e = read_study(&r);
    if (e == ERR_NOMEM)
        log_error(log, "not enough memory for the study: %s", error_text(e));
    TRY(e);
    return memory_hand_over(study, &s);
}

enum err study_load(struct study **study, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    *study = NULL;
    TRY(file_read(path, YAML_FILE_MAX, &text, log));
    return study_parse(study, path, text.data, text.size, log);
}

void study_free(struct study **study)
{
    struct study *s = *study;
    if (s == NULL)
        return;
    for (size_t i = 0; s->owner != NULL && i < s->owners; i++)
        memory_free(&s->owner[i].column);
    for (size_t k = 0; k < s->zeros; k++)
        memory_free(&s->zero[k].cell);
    for (size_t i = 0; i < STUDY_SERVERS_MOST; i++)
        memory_free(&s->server[i].rank);
    memory_free(&s->zero);
    memory_free(&s->questions);
    if (s->asked != s->workload)
        workload_free(&s->asked);
    workload_free(&s->workload);
    domain_free(&s->domain);
    memory_free(&s->owner);
    memory_free(&s->open.each.column);
    memory_free(&s->open.revoked);
    memory_free(&s->analyst);
    memory_free(&s->apart);
    memory_free(&s->revoked);
    memory_free(study);
}
