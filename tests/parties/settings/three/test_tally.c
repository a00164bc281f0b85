/* Few rows of many owners that the study does not list: they are packed together, and counted. */
#include "harness/cmocka.h"

#include "aim/workload/tabulate.h"
#include "harness/process.h"
#include "harness/three.h"
#include "parties/analyst/central.h"
#include "parties/owner/pack.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/split.h"
#include "parties/settings/three/tally.h"
#include "parties/study/study_uploads.h"

#define GUESTS 150
#define FEW 3 /* at most this many rows: they do not fill places of 64 lanes evenly */

struct tally_scene {
    struct support_study s;
    struct study *study;
    struct bounds *bounds;
    struct upload parts[GUESTS][3];
    struct table *all;
    struct three_result sums;
};

static void share(struct tally_scene *c, const struct identity *me, unsigned guest, unsigned rows)
{
    const size_t owner = c->study->owners + guest;
    const unsigned form = study_upload_form(c->study, owner);
    struct bytes packed CLEAN(bytes_clear) = {0};
    struct table *t CLEAN(table_free) = MADE(table, support_table, c->study->domain, rows, guest);
    OK(pack_table(c->study, owner, form, t, &packed));
    assert_int_equal(form, UPLOAD_RECORDS);
    OK(upload_make(c->parts[guest], &three_split, me, (uint32_t)owner,
                   (const uint8_t[UPLOAD_SECRET_SIZE]){1}, c->study, form, &packed));
    OK(central_append(c->all, t));
}

/* `more`: top-level lines of the study. */
static void scene_new(struct tally_scene *c, unsigned rows, const char *more)
{
    char open[512], key[IDENTITY_TEXT_SIZE];
    *c = (struct tally_scene){0};
    c->s = STUDY(&quiet, .owners = 1, .more = more);
    struct identity *issuer CLEAN(identity_free) = MADE(identity, identity_new, NULL);
    public_identity_text(&issuer->public, key);
    snprintf(open, sizeof open,
             "min_owners: 1\nopen_owners: {issuer: %s, max: 200, max_rows: %u}\nstudy:", key, rows);
    assert_true(support_edit(c->s.path, support_path(&c->s, "open.yaml"),
                             (const char *const[]){"study:", open, NULL}));
    OK(study_load(&c->study, support_path(&c->s, "open.yaml"), &quiet));
    OK(bounds_new(&c->bounds, c->study, &quiet));
    OK(table_new(&c->all, c->study->domain, 0));
    for (unsigned k = 0; k < GUESTS; k++)
        share(c, issuer, k, k % (rows + 1));
}

static void scene_free(struct tally_scene *c)
{
    for (unsigned k = 0; k < GUESTS; k++)
        for (unsigned i = 0; i < 3; i++)
            upload_clear(&c->parts[k][i]);
    three_result_free(&c->sums);
    table_free(&c->all);
    bounds_free(&c->bounds);
    study_free(&c->study);
    support_study_free(&c->s);
}

static enum err count(struct party *p, void *shared)
{
    struct tally_scene *c = shared;
    struct upload held[GUESTS];
    struct tally t CLEAN(tally_free) = {0};
    for (unsigned k = 0; k < GUESTS; k++)
        held[k] = c->parts[k][p->index];
    TRY(tally_new(&t, c->study, c->bounds));
    TRY(tally_add(p, &t, held, 7));
    TRY(tally_add(p, &t, held, GUESTS)); /* only the new ones */
    TRY(tally_finish(p, &t));
    if (t.owners != GUESTS)
        return ERR_DATA;
    three_put64(&c->sums, p, t.sums);
    return ERR_OK;
}

static void expect_counts(struct tally_scene *c)
{
    const struct workload *load = c->study->workload;
    size_t cells = 0, at = 0;
    for (size_t q = 0; q < load->queries; q++)
        cells += tally_counts(c->study, q) ? load->query[q].cells : 0;
    OK(three_result_new(&c->sums, cells));
    OK(three_run(5, count, c, NULL));
    for (size_t q = 0; q < load->queries; q++) {
        int64_t *true_counts CLEAN(memory_release) = NULL;
        if (!tally_counts(c->study, q))
            continue;
        true_counts = memory_array(load->query[q].cells, sizeof *true_counts);
        tabulate_marginal(c->all, &load->query[q].clique, true_counts);
        for (size_t i = 0; i < load->query[q].cells; i++)
            assert_int_equal(three_sum64(&c->sums, at++), true_counts[i]);
    }
}

TEST(few_rows_of_many_owners_are_counted)
{
    static const unsigned rows[] = {1, FEW, 63, 64}; /* the last ones are not packed */
    for (unsigned k = 0; k < 4; k++) {
        struct tally_scene c CLEAN(scene_free) = {0};
        scene_new(&c, rows[k], NULL);
        expect_counts(&c);
    }
}

int main(void)
{
    return secret_start() == ERR_OK ? support_run_tests(NULL, NULL) : 1;
}
