/* The study file as a whole: its short parts, and loading it. */
#include "parties/study/study.h"

#include "aim/run/loop.h"
#include "aim/run/train_run.h"
#include "base/date.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/study/method.h"
#include "parties/study/study_parse.h"

/* --- budget, noise, deadlines, model ---------------------------------------------------------- */

static enum err read_budget(struct study_reading *r)
{
    struct study *s = r->study;
    size_t kind = ACCOUNTING_ZCDP;
    const yaml_node_t *epsilon, *delta, *rows, *enforce, *accounting;
    const struct yaml_key keys[] = {{"epsilon", true, &epsilon},
                                    {"delta", true, &delta},
                                    {"rows_per_person", false, &rows},
                                    {"enforce_person", false, &enforce},
                                    {"accounting", false, &accounting}};
    TRY(yaml_mapping(r->file, r->at.budget, "budget", COUNTED(keys)));
    TRY(study_go_on(r, study_read_person(r, enforce)));
    if (s->enforce_person && s->late_join)
        TRY(study_go_on(r, yaml_error(r->file, r->at.late_uploads,
                                      "which of a person's rows count must not change during a "
                                      "run, as it may where rows come late; with enforce_person "
                                      "write wait")));
    TRY(study_go_on(
        r, yaml_number(r->file, epsilon, "epsilon", 1e-4, STUDY_EPSILON_MAX, &s->epsilon)));
    TRY(study_go_on(r, yaml_number(r->file, delta, "delta", 1e-15, 0.01, &s->delta)));
    TRY(study_go_on(
        r, yaml_choice(r->file, accounting, "accounting", COUNTED(study_accounting_words), &kind)));
    s->accounting = (enum ledger_accounting)kind;
    return study_read_unsigned(r, rows, "rows_per_person", 1, 10000, &s->rows_per_person);
}

/*
 * What a run makes, and the marginals that matter. Forms are of all pairs, whatever these are; a
 * classifier counts columns alone, and refuses a workload.
 */
static enum err read_method(struct study_reading *r)
{
    const bool pairs = method_of(r->study)->forms, columns = method_of(r->study)->gradients;
    if ((pairs || columns) && r->study->domain->attributes < 2)
        return yaml_error(r->file, r->at.method, "method: %s needs two attributes at least",
                          method_of(r->study)->word);
    if (r->at.workload != NULL && !columns)
        TRY(study_read_workload(r));
    else if (pairs || columns)
        TRY(study_own_workload(r, pairs ? 2 : 1));
    else
        TRY(study_lacks(r, "workload"));
    r->study->asked = r->study->workload;
    return pairs && r->at.workload != NULL ? study_own_workload(r, 2) : ERR_OK;
}

/* A key whose value is one of a few words; after a mistake it keeps its default. */
static enum err choose(struct study_reading *r, const yaml_node_t *node, const char *what,
                       const char *const *words, size_t count, size_t *kind)
{
    size_t chosen = *kind;
    const enum err e = yaml_choice(r->file, node, what, words, count, &chosen);
    *kind = e == ERR_OK ? chosen : *kind;
    return study_go_on(r, e);
}

/* The first of the words is the default. */
static enum err read_kinds(struct study_reading *r)
{
    static const char *const late[] = {"wait", "join"};
    const char *methods[STUDY_METHODS];
    size_t kind[5] = {r->study->noise, AIM_L1, STUDY_SEMI_HONEST, 0, STUDY_AIM};
    unsigned before;
    TRY(choose(r, r->at.noise, "noise", COUNTED(noise_words), &kind[0]));
    TRY(choose(r, r->at.score, "score", COUNTED(study_score_words), &kind[1]));
    TRY(choose(r, r->at.security, "security", COUNTED(study_security_words), &kind[2]));
    TRY(choose(r, r->at.late_uploads, "late_uploads", COUNTED(late), &kind[3]));
    before = r->mistakes;
    for (size_t k = 0; k < STUDY_METHODS; k++)
        methods[k] = method_row((enum study_method)k)->word;
    TRY(choose(r, r->at.method, "method", COUNTED(methods), &kind[4]));
    r->method_known = r->mistakes == before;
    r->study->method = (enum study_method)kind[4];
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
static enum err check_candidates(struct study_reading *r)
{
    const struct study *s = r->study;
    const size_t most = study_candidates_most(s);
    if (!method_of(s)->selects || s->workload->queries <= most)
        return ERR_OK;
    return yaml_error(
        r->file, r->at.workload,
        "the workload has %zu marginals with the smaller ones they contain; with "
        "security: %s a round selects from at most %zu. List fewer marginals, or ones "
        "of fewer attributes",
        s->workload->queries, study_security_words[s->security], most);
}

static enum err read_date(struct study_reading *r, const yaml_node_t *node, const char *what,
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

static enum err read_deadlines(struct study_reading *r)
{
    struct study *s = r->study;
    const yaml_node_t *connect, *round, *uploads;
    const struct yaml_key keys[] = {
        {"connect", false, &connect}, {"round", false, &round}, {"uploads", false, &uploads}};
    TRY(yaml_mapping(r->file, r->at.deadlines, "deadlines", COUNTED(keys)));
    TRY(study_go_on(r, study_read_unsigned(r, connect, "connect", 1, 3600, &s->connect_s)));
    TRY(study_go_on(r, study_read_unsigned(r, round, "round", 1, 86400, &s->round_s)));
    return read_date(r, uploads, "uploads", &s->uploads_until);
}

static enum err read_model(struct study_reading *r)
{
    struct study *s = r->study;
    const yaml_node_t *mib, *iterations, *final, *apart;
    const struct yaml_key keys[] = {{"max_mib", false, &mib},
                                    {"iterations", false, &iterations},
                                    {"final_iterations", false, &final},
                                    {"apart", false, &apart}};
    TRY(yaml_mapping(r->file, r->at.model, "model", COUNTED(keys)));
    TRY(study_go_on(r, study_read_unsigned(r, mib, "max_mib", 1, 65536, &s->max_mib)));
    TRY(study_go_on(r,
                    study_read_unsigned(r, iterations, "iterations", 1, 1000000, &s->iterations)));
    TRY(study_go_on(
        r, study_read_unsigned(r, final, "final_iterations", 1, 1000000, &s->final_iterations)));
    if (apart == NULL || s->workload == NULL)
        return ERR_OK; /* without a sound domain no column is known */
    TRY(memory_new(&s->apart, s->domain->attributes));
    return study_read_attributes(r, apart, "apart", s->domain->attributes, s->apart,
                                 &s->apart_columns);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* By default all listed owners; nobody knows how many owners with tokens will come. */
static enum err read_least(struct study_reading *r)
{
    struct study *s = r->study;
    if (r->at.open_owners != NULL && r->at.min_owners == NULL)
        return yaml_error(r->file, r->at.open_owners,
                          "open_owners needs the key min_owners: how many owners, listed or not, "
                          "must have uploaded before a run begins");
    s->min_owners = (unsigned)s->owners;
    return study_read_unsigned(r, r->at.min_owners, "min_owners", 1, (unsigned)study_owners_most(s),
                               &s->min_owners);
}

#define KEY(name, needed) ((struct yaml_key){#name, needed, &r->at.name})

static enum err read_keys(struct study_reading *r)
{
    const yaml_node_t *root = yaml_root(r->file);
    const bool two = yaml_is_mapping(root) &&
                     (yaml_has(r->file, root, "provider") || yaml_has(r->file, root, "keeper"));
    const struct yaml_key keys[] = {
        KEY(study, true),         KEY(columns_from, false), KEY(domain, true),
        KEY(impossible, false),   KEY(workload, false),     KEY(budget, true),
        KEY(person, false),       KEY(link, false),         KEY(noise, false),
        KEY(score, false),        KEY(method, false),       KEY(copula, false),
        KEY(rounds, false),       KEY(security, false),     KEY(servers, !two),
        KEY(owners, false),       KEY(open_owners, false),  KEY(min_owners, false),
        KEY(late_uploads, false), KEY(analysts, true),      KEY(retain_days, false),
        KEY(deadlines, false),    KEY(model, false),        KEY(roster, false),
        KEY(revoked, false),      KEY(signatures, false),   KEY(title, false),
        KEY(description, false),  KEY(purpose, false),      KEY(licence, false),
        KEY(read, false),         KEY(computed, false),     KEY(contact, false),
        KEY(provider, two),       KEY(keeper, two),         KEY(noise_by, false),
        KEY(train, false),        KEY(assess, false),       KEY(relay, false),
        KEY(events, false),       KEY(approvers, false)};
    r->misspelt = true;
    if (!yaml_is_mapping(root))
        return yaml_error(r->file, root,
                          "this is no study file; trefoil init writes an example of one");
    TRY(yaml_mapping(r->file, root, "the study file", COUNTED(keys)));
    r->misspelt = false;
    return r->at.owners == NULL && r->at.open_owners == NULL ? study_lacks(r, "owners") : ERR_OK;
}

static enum err read_about(struct study_reading *r)
{
    const yaml_node_t *about[] = {r->at.title, r->at.description, r->at.purpose, r->at.licence,
                                  r->at.contact};
    for (size_t i = 0; i < STUDY_ABOUT; i++)
        TRY(study_read_text(r, about[i], study_about_words[i], &r->study->about[i]));
    return ERR_OK;
}

/* The columns, and what refers to them: that waits until they are sound. */
static enum err read_columns(struct study_reading *r)
{
    const unsigned before = r->mistakes;
    if (r->at.domain == NULL)
        return read_kinds(r);
    TRY(study_go_on(r, study_read_domain(r)));
    if (r->mistakes > before)
        return read_kinds(r);
    TRY(study_go_on(r, study_read_derived(r)));
    TRY(study_go_on(r, study_read_events(r)));
    if (r->mistakes > before)
        return read_kinds(r);
    TRY(study_go_on(r, study_read_impossible(r)));
    TRY(read_kinds(r));
    TRY(study_go_on(r, study_check_ties(r)));
    if (r->method_known)
        TRY(study_go_on(r, read_method(r)));
    return r->study->workload != NULL ? study_go_on(r, check_candidates(r)) : ERR_OK;
}

/* A part with a mistake leaves the others to be read, so that people see all mistakes at once. */
static enum err read_study(struct study_reading *r)
{
    struct study *s = r->study;
    TRY(study_go_on(r, read_keys(r)));
    TRY(study_go_on(r, study_read_pair(r)));
    if (r->at.study != NULL)
        TRY(study_go_on(r, study_read_name(r, r->at.study, "study", s->name)));
    TRY(study_go_on(r, study_read_text(r, r->at.columns_from, "columns_from", &s->columns_from)));
    TRY(study_go_on(r, read_about(r)));
    TRY(read_columns(r));
    TRY(study_go_on(r, study_read_link(r)));
    if (r->at.budget != NULL)
        TRY(study_go_on(r, read_budget(r)));
    TRY(study_go_on(r, study_check_events(r)));
    if (r->method_known)
        TRY(study_go_on(r, method_of(s)->read(r)));
    TRY(study_go_on(r, study_read_people(r)));
    if (study_sound(r))
        method_settle(s);
    TRY(study_go_on(
        r, study_read_unsigned(r, r->at.retain_days, "retain_days", 1, 3650, &s->retain_days)));
    TRY(study_go_on(r, read_deadlines(r)));
    if (s->domain != NULL && s->domain->series != NULL) {
        s->iterations = AIM_SERIES_FIT;
        s->final_iterations = AIM_SERIES_FIT_FINAL;
    }
    TRY(study_go_on(r, read_model(r)));
    if (study_sound(r))
        TRY(study_go_on(r, read_least(r)));
    TRY(study_go_on(r, study_check_pair(r)));
    TRY(study_go_on(r, study_read_roster(r)));
    if (!study_sound(r))
        return ERR_STUDY;
    TRY(study_digest(s));
    return study_check_sealing(r);
}

static enum err parse(struct study **study, const char *path, const void *text, size_t n,
                      bool draft, struct log *log)
{
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    struct study *s CLEAN(study_free) = NULL;
    struct study_reading r;
    enum err e;
    *study = NULL;
    TRY(yaml_parse(&file, path, text, n, log));
    TRY(memory_new(&s, 1));
    *s = (struct study){
        .rows_per_person = 1,
        .noise = NOISE_BOX_MULLER,
        .connect_s = 30,
        .round_s = 120,
        .servers = 3, /* unless it has a provider and a keeper */
        .max_mib = 80,
        .copula_clip = 2.5,
        .copula_share = 0.5,
        .train_steps = TRAIN_STEPS,
        .iterations = 100,
        .final_iterations = 1000,
        .roster_version = 1,
    };
    r = (struct study_reading){.file = file, .path = path, .log = log, .study = s, .draft = draft};
    r.quiet = (struct log){.buffer = r.note, .buffer_size = sizeof r.note, .level = LOG_ERROR};
    e = read_study(&r);
    if (e == ERR_NOMEM)
        log_error(log, "not enough memory for the study: %s", error_text(e));
    TRY(e);
    TRY(draft ? ERR_OK : method_served(s, log));
    return memory_hand_over(study, &s);
}

enum err study_parse(struct study **study, const char *path, const void *text, size_t n,
                     struct log *log)
{
    return parse(study, path, text, n, false, log);
}

enum err study_parse_draft(struct study **study, const char *path, const void *text, size_t n,
                           struct log *log)
{
    return parse(study, path, text, n, true, log);
}

enum err study_load(struct study **study, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    *study = NULL;
    TRY(file_read(path, YAML_FILE_MAX, &text, log));
    return study_parse(study, path, text.data, text.size, log);
}

enum err study_load_draft(struct study **study, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    *study = NULL;
    TRY(file_read(path, YAML_FILE_MAX, &text, log));
    return study_parse_draft(study, path, text.data, text.size, log);
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
    memory_free_all(&s->zero, &s->questions, &s->columns_from, &s->relay);
    bytes_clear(&s->beside);
    for (size_t i = 0; i < STUDY_ABOUT; i++)
        memory_free(&s->about[i]);
    if (s->asked != s->workload)
        workload_free(&s->asked);
    workload_free(&s->workload);
    features_free(&s->features);
    domain_free(&s->domain);
    memory_free_all(&s->owner, &s->open.each.column, &s->open.revoked, &s->analyst,
                    &s->approvers.who, &s->approvers.revoked, &s->apart, &s->revoked);
    memory_free(study);
}
