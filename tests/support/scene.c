#include "tests/support/scene.h"

#include "parties/exchange/dials.h"

void start_server(struct scene *c, unsigned i, const char *study)
{
    c->server[i] = support_serve_ready(&c->s, i, study);
}

void restart_server(struct scene *c, unsigned i, const char *study)
{
    assert_int_equal(support_stop(&c->server[i]), 0);
    start_server(c, i, study);
}

int share(struct scene *c, unsigned owner, const char *study, const char *data)
{
    return COMMAND(file(c, "share%u.log", owner), 30, "share", study, data, "--key",
                   file(c, "o%u.key", owner));
}

int share_own(struct scene *c, unsigned owner)
{
    return share(c, owner, c->s.path, file(c, "o%u.csv", owner));
}

pid_t start_study(struct scene *c, const char *key, unsigned number)
{
    return START(file(c, "run%u.log", number), "run", c->s.path, "--key", file(c, "%s", key),
                 "--out", file(c, "out%u", number));
}

int run_study(struct scene *c, const char *key, unsigned number)
{
    return support_wait(start_study(c, key, number), 60);
}

int run_into(struct scene *c, const char *out, const char *more, const char *value)
{
    return COMMAND(file(c, "%s.log", out), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                   file(c, "%s", out), more, value);
}

pid_t start_run(struct scene *c, const char *out, const char *more)
{
    return START(file(c, "%s.log", out), "run", c->s.path, "--key", file(c, "a.key"), "--out",
                 file(c, "%s", out), more);
}

void scene_interrupt(struct scene *c)
{
    static const char *const until[] = {"run.state", "loop.state"};
    for (unsigned k = 0; k < 2; k++) {
        const double end = support_deadline(60);
        pid_t run = start_run(c, "out", NULL);
        while (access(file(c, "out/%s", until[k]), F_OK) != 0)
            assert_true(support_again(end));
        support_kill(&run);
    }
}

void scene_continue_elsewhere(struct scene *c)
{
    json_auto_t *stats = json_load_file(file(c, "out/stats.json"), 0, NULL);
    for (unsigned i = 0; i < c->s.study->servers; i++)
        start_server(c, i, c->s.path);
    const char *number = json_string_value(json_object_get(stats, "run"));
    assert_non_null(number);
    expect_code(run_into(c, "second", "--continue", number), 0, file(c, "second.log"));
}

struct scene scene_without_servers(const struct study_options *o)
{
    struct scene c = {.s = support_study_of(o, &quiet)};
    OK(table_new(&c.all, c.s.study->domain, 0));
    for (unsigned i = 0; i < c.s.owners; i++) {
        size_t batch = c.s.study->owner[i].batch; /* its owners have the same rows */
        struct table *t CLEAN(table_free) = NULL;
        OK(support_table(&t, c.s.study->domain, 400 + 500 * batch, 10 + batch));
        OK(table_write_csv(file(&c, "o%u.csv", i), t, NULL, 1, NULL, &quiet));
        if (batch == i)
            OK(central_append(c.all, t));
    }
    return c;
}

struct scene scene_new(const struct study_options *o)
{
    struct scene c = scene_without_servers(o);
    for (unsigned i = 0; i < c.s.study->servers; i++)
        start_server(&c, i, c.s.path);
    return c;
}

void scene_free(struct scene *c)
{
    assert_true(support_stop_all(c->server));
    table_free(&c->all);
    support_study_free(&c->s);
}

uint32_t scene_query(const struct study *study, const json_t *attributes)
{
    struct clique clique = {.n = (uint16_t)json_array_size(attributes)};
    for (size_t i = 0; i < clique.n; i++)
        clique.attribute[i] = (uint16_t)domain_find(
            study->domain, json_string_value(json_array_get(attributes, i)));
    return workload_find(study->workload, &clique);
}

/* What a run has merged: the group of each code of each attribute. */
static void read_merges(struct merges *m, const struct domain *d, json_t *merged)
{
    const char *name;
    json_t *list, *group;
    size_t k;
    OK(merges_none(m, d));
    json_object_foreach(merged, name, list)
    {
        const uint32_t a = domain_find(d, name), size = d->attribute[a].size;
        OK(memory_new(&m->group[a], size));
        assert_int_equal(json_array_size(list), size);
        m->groups[a] = 0;
        json_array_foreach(list, k, group)
        {
            m->group[a][k] = (uint32_t)json_integer_value(group);
            m->groups[a] += m->group[a][k] == m->groups[a];
        }
    }
}

/* Replaces counts of codes with the counts that a measurement is of; `merges` NULL: none merged. */
static uint64_t merge_counts(int64_t *counts, const struct merges *merges,
                             const struct workload_query *q)
{
    int64_t *merged CLEAN(memory_release) = memory_array(q->cells, sizeof *merged);
    uint32_t *index CLEAN(memory_release) = memory_array(q->cells, sizeof *index);
    if (merges == NULL)
        return q->cells;
    merges_index(merges, &q->clique, index);
    for (uint64_t i = 0; i < q->cells; i++)
        merged[index[i]] += counts[i];
    memcpy(counts, merged, q->cells * sizeof *merged);
    return merges_cells(merges, &q->clique);
}

void check_measurements(struct scene *c, const char *path, size_t expected)
{
    const struct workload *w = c->s.study->workload;
    int64_t *counts CLEAN(memory_release) = memory_array(w->cells, sizeof *counts);
    int64_t *all CLEAN(memory_release) = memory_array(w->cells, sizeof *all);
    struct merges merges CLEAN(merges_clear);
    json_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL), *m;
    double n = 0, sum = 0, squares = 0;
    size_t k, j;
    assert_non_null(doc);
    read_merges(&merges, c->s.study->domain, json_object_get(doc, "merged"));
    OK(tabulate_closure(c->all, w, all));
    assert_int_equal(json_array_size(json_object_get(doc, "measurements")), expected);
    json_array_foreach(json_object_get(doc, "measurements"), k, m)
    {
        uint32_t q = scene_query(c->s.study, json_object_get(m, "attributes"));
        double sigma = json_number_value(json_object_get(m, "sigma"));
        const bool merged = json_is_true(json_object_get(m, "merged"));
        json_t *value;
        assert_true(q < w->queries);
        memcpy(counts, all + w->query[q].offset, w->query[q].cells * sizeof *counts);
        assert_int_equal(json_array_size(json_object_get(m, "values")),
                         merge_counts(counts, merged ? &merges : NULL, &w->query[q]));
        json_array_foreach(json_object_get(m, "values"), j, value)
        {
            double z = (json_number_value(value) - (double)counts[j]) / sigma;
            assert_true(fabs(z) < 6.5);
            n++;
            sum += z;
            squares += z * z;
        }
    }
    /* fresh noise in each run: bounds that a correct program misses once in 10^8 runs */
    assert_true(fabs(sum / n) < 5.8 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 5.8 * sqrt(2 / n) + 34 / n);
    json_decref(doc);
}

void check_logs(struct scene *c)
{
    const bool two = c->s.study->servers == 2;
    EXPECT(0, file(c, "audit.txt"), 10, "audit", "--study", c->s.path,
           file(c, "server%u/audit.log", 0), file(c, "server%u/audit.log", 1),
           two ? NULL : file(c, "server%u/audit.log", 2));
    file_says(file(c, "audit.txt"),
              two ? "the two logs fit together" : "the three logs fit together");
}

void check_audit(struct scene *c, unsigned selections, unsigned measurements)
{
    check_logs(c);
    for (unsigned i = 0; i < c->s.study->servers; i++) {
        struct audit_file *log CLEAN(audit_file_free) = NULL;
        unsigned count[2] = {0, 0};
        double paid = 0;
        OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
        for (size_t k = 0; k < log->entries; k++) {
            const struct audit_opening *o = &log->entry[k].opening;
            if (log->entry[k].kind != AUDIT_OPEN)
                continue;
            paid += o->cost;
            assert_true(fabs(paid - o->spent) < 1e-9 ||
                        strcmp(o->reason, "SELECTED_INDEX") == 0); /* paid for with its marginal */
            if (strcmp(o->reason, "SELECTED_INDEX") == 0)
                count[0]++;
            else {
                assert_string_equal(o->reason, "NOISY_MARGINAL");
                assert_string_not_equal(o->what, "-");
                count[1]++;
            }
        }
        assert_int_equal(count[0], selections);
        assert_int_equal(count[1], measurements);
    }
}

void leave_out(struct scene *c, unsigned owner)
{
    table_free(&c->all);
    OK(table_new(&c->all, c->s.study->domain, 0));
    for (unsigned i = 0; i < OWNERS; i++) {
        struct table *t CLEAN(table_free) = NULL;
        OK(support_table(&t, c->s.study->domain, 400 + 500 * i, 10 + i));
        if (i != owner)
            OK(central_append(c->all, t));
    }
}

void share_everything(struct scene *c)
{
    for (unsigned i = 0; i < c->s.owners; i++)
        expect_code(share_own(c, i), 0, file(c, "share%u.log", i));
}

enum err scene_send(struct scene *c, const struct identity *me, unsigned server,
                    const struct upload *part)
{
    struct netio *netio CLEAN(netio_free) = NULL;
    struct dial *dial CLEAN(dial_free) = NULL;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply = {0};
    const int64_t wait_ms = server == 2 ? 500 : 10000;
    OK(netio_new(&netio, &quiet));
    OK(dials_new(&dial, netio, c->s.study, me, server, &quiet));
    bytes_put_u8(&message, MESSAGE_UPLOAD);
    bytes_put(&message, c->s.study->terms.digest, 32);
    OK(upload_write(part, server, false, &message));
    TRY(dials_ask(dial, &message, &reply, wait_ms, wait_ms));
    return reply.status;
}

/* --- persons ---------------------------------------------------------------------------------- */

#define PERSONS 300

/* Row i of an owner belongs to this person, whom its table calls "P 0017" or the like. */
static size_t person_of(unsigned owner, size_t row)
{
    return row * (2 * owner + 1) % PERSONS;
}

struct table *scene_rows(const struct scene *c, unsigned owner)
{
    struct table *t = MADE(table, support_table, c->s.study->domain, 400 + 500 * owner, 10 + owner);
    OK(table_keep_keys(t));
    for (size_t i = 0; i < t->rows; i++)
        t->key[i] = person_of(owner, i);
    return t;
}

void scene_name_rows(struct scene *c, unsigned owner, size_t (*person)(unsigned owner, size_t row))
{
    struct bytes from CLEAN(bytes_clear) = {0}, to CLEAN(bytes_clear) = {0};
    size_t i = 0;
    OK(file_read(file(c, "o%u.csv", owner), 1 << 20, &from, NULL));
    bytes_put_u8(&from, 0);
    const char *line = (const char *)from.data;
    for (const char *end; (end = strchr(line, '\n')) != NULL; line = end + 1, i++) {
        char name[40] = "who,";
        if (i > 0)
            snprintf(name, sizeof name, "%s%04zu,", i % 2 ? "P " : "p", person(owner, i - 1));
        bytes_put_text(&to, name);
        bytes_put(&to, line, (size_t)(end + 1 - line));
    }
    OK(file_write(file(c, "o%u.csv", owner), 0600, to.data, to.size, NULL));
}

void scene_bound(struct scene *c, unsigned without)
{
    size_t surplus;
    table_free(&c->all);
    OK(table_new(&c->all, c->s.study->domain, 0));
    OK(table_keep_keys(c->all));
    for (unsigned o = 0; o < OWNERS; o++) {
        struct table *t CLEAN(table_free) = scene_rows(c, o);
        if (o != without)
            OK(central_append(c->all, t));
    }
    OK(table_bound(c->all, c->s.study->rows_per_person, &surplus));
    assert_true(surplus > 0);
}

void scene_name_persons(struct scene *c)
{
    for (unsigned i = 0; i < c->s.owners; i++)
        scene_name_rows(c, i, person_of);
}
