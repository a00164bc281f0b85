/* tests/support/scene.h - a study over real processes: its folder, its programs, its tables. */
#pragma once

#include "harness/cmocka.h"
#include "harness/process.h"

#include "aim/table/csv.h"
#include "aim/workload/tabulate.h"
#include "parties/analyst/central.h"
#include "parties/audit/audit_file.h"
#include "parties/setting/upload.h"

#include <jansson.h>

#define OWNERS 3

struct scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct table *all;
};

/* Starts a server, whose earlier messages are gone, and waits until it is ready. */
void start_server(struct scene *c, unsigned i, const char *study);
/* The same once it has ended well. */
void restart_server(struct scene *c, unsigned i, const char *study);
int share(struct scene *c, unsigned owner, const char *study, const char *data);
int share_own(struct scene *c, unsigned owner);
int run_study(struct scene *c, const char *key, unsigned number);
/* The same, but does not wait for its end. */
pid_t start_study(struct scene *c, const char *key, unsigned number);
/* A run with its result in `out`, and its words in out.log: `more` is an option, or NULL. */
int run_into(struct scene *c, const char *out, const char *more, const char *value);
pid_t start_run(struct scene *c, const char *out, const char *more);
/* Kills a run into out as soon as it asks, and once more when it has what a round opened. */
void scene_interrupt(struct scene *c);
/* Starts all servers, and has the run whose result is in out come into second from their stores. */
void scene_continue_elsewhere(struct scene *c);

struct scene scene_new(const struct study_options *o);
/* The same without servers. */
struct scene scene_without_servers(const struct study_options *o);
/* Puts a column "who" first in an owner's file: whose row each is, written in more than one way. */
void scene_name_rows(struct scene *c, unsigned owner, size_t (*person)(unsigned owner, size_t row));
void scene_free(struct scene *c);
uint32_t scene_query(const struct study *study, const json_t *attributes);
void check_measurements(struct scene *c, const char *path, size_t expected);

/* Checks that the three logs hold, alone and together. */
void check_logs(struct scene *c);

/* The same, and the reasons in each, with their counts. */
void check_audit(struct scene *c, unsigned selections, unsigned measurements);

/* `all` without the rows of one owner. */
void leave_out(struct scene *c, unsigned owner);

void share_everything(struct scene *c);

/*
 * For studies that bound persons. The first gives the owners' files a column that says whose row
 * each is, 300 persons at all owners; the second returns an owner's rows with keys, as they come;
 * the third makes `all` the first rows of each person, without those of one owner.
 */
void scene_name_persons(struct scene *c);
struct table *scene_rows(const struct scene *c, unsigned owner);
void scene_bound(struct scene *c, unsigned without);

/* What the server answers to an upload; ERR_TIMEOUT if it waits for the vector. */
enum err scene_send(struct scene *c, const struct identity *me, unsigned server,
                    const struct upload *part);
