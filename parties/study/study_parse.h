/*
 * parties/study/study_parse.h - a study file while it is read, shared by study.c and the files for
 * its parts. The reader of a part finds the nodes of its keys in `at`, does nothing if an optional
 * one is not there, and reports errors with their place.
 */
#pragma once

#include "aim/table/derive.h"
#include "base/file.h"
#include "parties/study/study.h"
#include "parties/study/yaml.h"

/* The nodes of the file's keys, by their names; NULL: not given. */
struct study_keys {
    const yaml_node_t *study, *title, *description, *purpose, *licence, *contact;
    const yaml_node_t *columns_from, *domain, *read, *computed, *events, *impossible, *workload;
    const yaml_node_t *budget, *person, *link, *noise, *noise_by, *score, *security;
    const yaml_node_t *method, *rounds, *assess, *copula, *train, *model;
    const yaml_node_t *servers, *provider, *keeper, *owners, *open_owners, *min_owners;
    const yaml_node_t *late_uploads, *analysts, *approvers, *retain_days, *deadlines;
    const yaml_node_t *roster, *revoked, *signatures, *relay;
};

/* What every reader works on. */
struct study_reading {
    struct yaml_file *file;
    const char *path; /* of the study file; other files are next to it */
    struct log *log;
    struct study *study;
    struct study_keys at;
    const yaml_node_t *keep;                        /* in `link`, until the owners are known */
    const yaml_node_t *sealing[STUDY_SERVERS_MOST]; /* until the terms are */
    bool draft;                                     /* people may have no keys yet */
    bool misspelt;     /* a key of the file is none, and may be one that seems to lack */
    bool method_known; /* given or by default */
    const yaml_node_t *derives[DOMAIN_ATTRIBUTES_MAX]; /* of each column: its `from`, or NULL */
    unsigned mistakes;                                 /* so far */
    char note[768]; /* what aim/ logged about a part, to be logged with its place */
    struct log quiet;
};

/* --- small parts, study_parse.c --------------------------------------------------------------- */

/*
 * Goes on after a mistake in one part, so that a file's mistakes are all logged at once: ERR_OK,
 * unless there are too many, or it is another error. study_sound(): there was none so far.
 */
enum err study_go_on(struct study_reading *r, enum err e) MUST_CHECK;
bool study_sound(const struct study_reading *r);

/* The error that a key of the file is not there, unless it may be misspelt. */
enum err study_lacks(struct study_reading *r, const char *key) MUST_CHECK;

/* Logs with its place an error from aim/ that `quiet` caught (except lack of memory). */
enum err study_note(struct study_reading *r, enum err e, const yaml_node_t *node) MUST_CHECK;

/* The path of a file that is beside the study file, and is named without a folder. */
enum err study_find_file(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char path[FILE_PATH]) MUST_CHECK;
enum err study_beside(struct study_reading *r, const yaml_node_t *node, const char *what,
                      const char *name, char path[FILE_PATH]) MUST_CHECK;
enum err study_read_name(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char name[STUDY_NAME_SIZE]) MUST_CHECK;
enum err study_read_key(struct study_reading *r, const yaml_node_t *node,
                        struct public_identity *key) MUST_CHECK;
/* Optional: a copy of the text, or NULL. */
enum err study_read_text(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char **text) MUST_CHECK;
/* Optional: true or false, false if it is not there. */
enum err study_read_flag(struct study_reading *r, const yaml_node_t *node, const char *what,
                         bool *flag) MUST_CHECK;
/* Optional: if it is not there, `v` keeps its default. */
enum err study_read_unsigned(struct study_reading *r, const yaml_node_t *node, const char *what,
                             unsigned least, unsigned most, unsigned *v) MUST_CHECK;

/* --- the domain and what refers to it: study_domain.c, study_impossible.c, study_workload.c --- */

enum err study_read_domain(struct study_reading *r) MUST_CHECK;
/* The unit and the formats of a column of dates (study_date.c). */
enum err study_read_calendar(struct study_reading *r, const char *name, const yaml_node_t *units,
                             const yaml_node_t *formats, struct calendar *calendar) MUST_CHECK;
/* What follows from what: `from` of columns, `read` and `computed` (study_derive.c). */
enum err study_read_derived(struct study_reading *r) MUST_CHECK;
/*
 * The key `events`, after the domain, to which it adds columns, and what cannot occur. Later:
 * whether the rest of the study suits it; counts then are in units (study_events.c).
 */
enum err study_read_events(struct study_reading *r) MUST_CHECK;
/* Leaves marginals above STUDY_EVENTS_CELLS out of a workload that is a rule. */
enum err study_leave_large(struct study_reading *r, const yaml_node_t *node) MUST_CHECK;
enum err study_check_events(struct study_reading *r) MUST_CHECK;
/* Columns that follow from each other need a model that has zeros; once the method is known. */
enum err study_check_ties(struct study_reading *r) MUST_CHECK;
/*
 * The first column of a CSV file beside the study file, and another one by its name; or the first
 * again, for NULL: as keys and values (study_book.c). `keys`: those must differ.
 */
enum err study_read_book(struct study_reading *r, const yaml_node_t *node, const char *file,
                         const char *value, bool keys, struct derive *book) MUST_CHECK;
/* Adds impossible cells of a clique; they are sorted once all are there (study_impossible.c). */
enum err study_add_cells(struct study *s, const struct clique *clique, const uint32_t *cell,
                         size_t cells) MUST_CHECK;
/* The index of the attribute that a text names. */
enum err study_read_attribute(struct study_reading *r, const yaml_node_t *node, const char *what,
                              uint16_t *attribute) MUST_CHECK;
/* Names of different attributes, given in any order, become ascending indices. */
enum err study_read_attributes(struct study_reading *r, const yaml_node_t *node, const char *what,
                               size_t most, uint16_t *attribute, size_t *count) MUST_CHECK;
/* The error that no attribute has this name. */
enum err study_unknown_attribute(struct study_reading *r, const yaml_node_t *node,
                                 const char *text) MUST_CHECK;
enum err study_read_impossible(struct study_reading *r) MUST_CHECK;
enum err study_read_workload(struct study_reading *r) MUST_CHECK;
/* All marginals of so many attributes, in a study that needs no workload. */
enum err study_own_workload(struct study_reading *r, unsigned attributes) MUST_CHECK;

/* --- whose rows are whose: study_person.c, study_link.c --------------------------------------- */

/* The keys `person`, and `enforce_person` of the budget; after `link`. */
enum err study_read_person(struct study_reading *r, const yaml_node_t *enforce) MUST_CHECK;
/* The key `link`, after late_uploads; then the parts that need the owners (study_link.c). */
enum err study_read_link(struct study_reading *r) MUST_CHECK;
enum err study_check_link(struct study_reading *r) MUST_CHECK;

/* --- two servers: study_pair.c ---------------------------------------------------------------- */

/* How many servers there are, and their noise: before any other part. */
enum err study_read_pair(struct study_reading *r) MUST_CHECK;
/* After all other parts: whether the study asks for something that needs three servers. */
enum err study_check_pair(struct study_reading *r) MUST_CHECK;

/* --- who takes part, after the workload: study_people.c --------------------------------------- */

/* Everybody, for the search for repeated names and keys. */
struct study_participant {
    const char *name;
    const struct public_identity *key;
    const yaml_node_t *name_node, *key_node;
    const void *once; /* what is being compared */
};

struct study_people {
    struct study_participant *person;
    size_t count, room;
};

/* The key of somebody, `called` so, and into `people`; in a draft the key may not be there yet. */
enum err study_read_member(struct study_reading *r, const yaml_node_t *name, const yaml_node_t *key,
                           const char *called, struct public_identity *who,
                           struct study_people *people) MUST_CHECK;
enum err study_read_people(struct study_reading *r) MUST_CHECK;
/* The key `open_owners`, whose issuer is added to `people` (study_open.c). */
enum err study_read_open(struct study_reading *r, struct study_people *people) MUST_CHECK;
/* The study's `owners`, added to `people` (study_owners.c). */
enum err study_read_owners(struct study_reading *r, struct study_people *people) MUST_CHECK;
/* By which form each owner is bounded, counts or records: from public values (study_uploads.c). */
enum err study_choose_forms(struct study_reading *r) MUST_CHECK;
/* How long an owner's encrypted rows are (study_encrypted.c). */
enum err study_plan_encrypted(struct study_reading *r, const yaml_node_t *node,
                              size_t owner) MUST_CHECK;
/* The least l with all owners' largest counts together below 2^l: no count wraps in l bits. */
enum err study_find_count_bits(struct study_reading *r) MUST_CHECK;
/* The key `train` (study_train.c); and that one owner holds the numbers of a row. */
enum err study_read_train(struct study_reading *r) MUST_CHECK;
enum err study_check_numbers(struct study_reading *r) MUST_CHECK;
enum err study_read_roster(struct study_reading *r) MUST_CHECK;

/* That servers have signed their sealing keys, once the terms are known. */
enum err study_check_sealing(struct study_reading *r) MUST_CHECK;

/* Fills in `terms` and `roster` (study_terms.c). */
enum err study_digest(struct study *study) MUST_CHECK;
