/* method: copula over real processes: what comes out, what is logged, and a run that goes on. */
#include "tests/support/scene.h"

#include "aim/budget/forms.h"
#include "aim/copula/copula.h"
#include "aim/copula/copula_model.h"

static const char lines[] = "method: copula\n";

static struct copula *model_of(struct scene *c, const char *out, struct domain **d)
{
    struct copula *model = MADE(copula, copula_load, d, file(c, "%s/model", out), &quiet);
    return model;
}

/* Whether a code is in the group of a form; for an ordered attribute it always is. */
static bool is_in(const json_t *groups, uint16_t code, const json_t *of, size_t i)
{
    return groups == NULL || json_integer_value(json_array_get(groups, code)) ==
                                 json_integer_value(json_array_get(of, i));
}

/* Sums of the noisy scores' products over all rows, compared with what was opened. */
static void check_forms(struct scene *c, const char *path)
{
    json_auto_t *doc = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    json_t *copula = json_object_get(doc, "copula"), *form;
    const double sigma = json_number_value(json_object_get(copula, "sigma"));
    const json_t *scores = json_object_get(copula, "scores");
    const struct domain *d = c->s.study->domain;
    double squares = 0;
    const json_t *groups = json_object_get(copula, "groups");
    size_t k, n = json_array_size(json_object_get(copula, "forms"));
    assert_true(sigma > 0);
    assert_in_range(n, forms_pairs(d->attributes) + 1, copula_forms_most(d)); /* of labels */
    json_array_foreach(json_object_get(copula, "forms"), k, form)
    {
        const json_t *score[2], *group[2], *pair = json_object_get(form, "attributes");
        const json_t *of = json_object_get(form, "groups");
        const uint16_t *code[2];
        double sum = 0, z;
        for (size_t i = 0; i < 2; i++) {
            const char *name = json_string_value(json_array_get(pair, i));
            score[i] = json_object_get(scores, name);
            code[i] = c->all->column[domain_find(d, name)];
            group[i] = json_object_get(groups, name); /* or NULL: all its codes are in one */
        }
        for (size_t i = 0; i < c->all->rows; i++)
            if (is_in(group[0], code[0][i], of, 0) && is_in(group[1], code[1][i], of, 1))
                sum += json_number_value(json_array_get(score[0], code[0][i])) *
                       json_number_value(json_array_get(score[1], code[1][i]));
        z = (json_number_value(json_object_get(form, "value")) - sum) / sigma;
        assert_true(fabs(z) < 6.5);
        squares += z * z;
    }
    assert_true(fabs(squares / (double)n - 1) < 5.8 * sqrt(2 / (double)n) + 34 / (double)n);
}

/* One line for the one-ways and one for the forms, at prices that add up to what was spent. */
static void check_openings(struct scene *c)
{
    check_logs(c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct audit_file *log CLEAN(audit_file_free) = NULL;
        const struct audit_opening *line[2] = {0};
        size_t lines_read = 0;
        OK(audit_file_read(&log, file(c, "server%u/audit.log", i), &quiet));
        for (size_t k = 0; k < log->entries; k++)
            if (log->entry[k].kind == AUDIT_OPEN) {
                assert_in_range(lines_read, 0, 1);
                line[lines_read++] = &log->entry[k].opening;
            }
        assert_int_equal(lines_read, 2);
        assert_string_equal(line[0]->reason, "NOISY_MARGINAL");
        assert_string_equal(line[1]->reason, "NOISY_FORM");
        assert_string_equal(line[1]->what, "pairs:age,sex,ward,bmi,died");
        assert_in_range(line[1]->values, forms_pairs(c->s.study->domain->attributes) + 1,
                        copula_forms_most(c->s.study->domain));
        assert_true(fabs(line[0]->cost + line[1]->cost - line[1]->spent) < 1e-9);
        assert_true(line[0]->cost > 0 && line[1]->cost > 0);
    }
    file_says(file(c, "audit.txt"), " noisy sums of counts: pairs:");
}

/* The model depends on the folder alone: the answers on disk give it again, whoever is there. */
static void check_same_model(struct scene *c, const char *a, const char *b)
{
    struct domain *d[2];
    struct copula *model[2] = {model_of(c, a, &d[0]), model_of(c, b, &d[1])};
    const size_t n = model[0]->first[d[0]->attributes];
    assert_memory_equal(model[0]->correlation, model[1]->correlation, n * n * sizeof(double));
    for (unsigned i = 0; i < 2; i++) {
        copula_free(&model[i]);
        domain_free(&d[i]);
    }
}

TEST(a_copula_comes_of_three_servers)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .copula = lines, .epsilon = 5,
                .workload = "\n  - {attributes: [age, sex, ward]}\n"
                            "  - {attributes: [bmi, died]}"));
    struct bytes first CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    share_everything(&c);
    assert_int_equal(run_into(&c, "out", "--rounds", "3"), 2);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "10 pairs, in ");
    check_measurements(&c, file(&c, "out/measurements.json"), 5);
    check_forms(&c, file(&c, "out/measurements.json"));
    check_openings(&c);
    EACH(file_says, file(&c, "out/report.html"), "<b>10</b><small>pairs measured",
         "one number for each two", "Pairs, the strongest first");
    assert_false(support_contains(file(&c, "out/report.html"), "chose the marginal"));
    assert_false(support_contains(file(&c, "out/report.html"), "nan"));
    /* again without a server: rows and model come from what is there */
    OK(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &first, NULL));
    assert_true(support_stop_all(c.server));
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    OK(file_read(file(&c, "out/synthetic.csv"), 1 << 20, &again, NULL));
    SAME_BYTES(&first, again.data, again.size);
    /* and from the servers' stores, if the folder is lost */
    scene_continue_elsewhere(&c);
    check_same_model(&c, "out", "second");
    assert_int_equal(run_into(&c, "third", NULL, NULL), 5); /* the budget is spent */
}

/*
 * With records, which servers read again for the forms. Killed as soon as it asks, then when it has
 * the one-ways: it goes on, and pays nothing twice.
 */
TEST(a_copula_goes_on_after_its_analyst_was_killed)
{
    static const char *const records[] = {"    max_rows: 1000\n    as: records\n",
                                          "    max_rows: 2000\n    as: records\n",
                                          "    max_rows: 4000\n    as: records\n"};
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .copula = lines, .part = records, .more = "security: abort\n",
                .round_s = 20));
    share_everything(&c);
    scene_interrupt(&c);
    assert_int_equal(access(file(&c, "out/loop.state"), F_OK), 0);
    expect_code(run_into(&c, "out", NULL, NULL), 0, file(&c, "out.log"));
    check_forms(&c, file(&c, "out/measurements.json"));
    check_logs(&c);
    assert_int_equal(run_into(&c, "third", NULL, NULL), 5);
}
