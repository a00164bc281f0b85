/*
 * Owners of different columns over real processes, linked by person: also after a server was
 * killed, and where a look shows too few.
 */
#include "tests/support/scene.h"

#include "parties/exchange/client.h"
#include "parties/exchange/price.h"
#include "parties/owner/pack.h"

static const char *const part[] = {"    max_rows: 400\n    batch: city\n    columns: [age, sex]\n",
                                   "    max_rows: 450\n    batch: city\n    columns: [ward, bmi]\n",
                                   "    max_rows: 500\n    batch: city\n    columns: [died]\n"};

/* 180 persons are at all owners, whose rows come in different orders. */
static size_t person_of(unsigned owner, size_t row)
{
    return row * (owner == 2 ? 7 : 2 * owner + 1) % 400 + 110 * owner;
}

static size_t person_of_its_own(unsigned owner, size_t row)
{
    return 1000 * owner + row;
}

/* The expected counts. */
static size_t link_all(struct scene *c)
{
    struct domain *columns[OWNERS];
    struct table *own[OWNERS];
    size_t linked, surplus;
    table_free(&c->all);
    OK(table_new(&c->all, c->s.study->domain, 0));
    for (unsigned o = 0; o < OWNERS; o++) {
        const struct study_owner *owner = &c->s.study->owner[o];
        uint16_t codes[DOMAIN_ATTRIBUTES_MAX];
        struct table *t CLEAN(table_free) = MADE(table, support_table, c->s.study->domain, 400, 10);
        OK(pack_domain(&columns[o], c->s.study, o));
        OK(table_new(&own[o], columns[o], 0));
        OK(table_keep_keys(own[o]));
        for (size_t i = 0; i < t->rows; i++) {
            for (size_t k = 0; k < owner->columns; k++)
                codes[k] = t->column[owner->column[k]][i];
            OK(table_append(own[o], codes));
            own[o]->key[i] = person_of(o, i);
        }
    }
    OK(central_link(c->all, c->s.study, own, &linked, &surplus));
    for (unsigned o = 0; o < OWNERS; o++) {
        table_free(&own[o]);
        domain_free(&columns[o]);
    }
    return linked;
}

static json_t *linked_of(struct scene *c, const char *stats)
{
    json_auto_t *doc = json_load_file(stats, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(doc);
    return json_incref(json_object_get(doc, "linked"));
}

/* How often server 0 has opened a look that cost something. */
static unsigned looks(struct scene *c)
{
    struct audit_file *f CLEAN(audit_file_free) = NULL;
    unsigned found = 0;
    OK(audit_file_read(&f, file(c, "server0/audit.log"), &quiet));
    for (size_t i = 0; i < f->entries; i++)
        found += f->entry[i].kind == AUDIT_OPEN && f->entry[i].opening.cost > 0 &&
                 strcmp(f->entry[i].opening.what, "linked-rows") == 0;
    return found;
}

/* The file without its first column. */
static void unname_persons(struct scene *c, unsigned owner)
{
    struct bytes from CLEAN(bytes_clear) = {0}, to CLEAN(bytes_clear) = {0};
    OK(file_read(file(c, "o%u.csv", owner), 1 << 20, &from, NULL));
    bytes_put_u8(&from, 0);
    for (const char *line = (const char *)from.data, *end; (end = strchr(line, '\n')) != NULL;
         line = end + 1) {
        const char *rest = strchr(line, ',') + 1;
        bytes_put(&to, rest, (size_t)(end + 1 - rest));
    }
    OK(file_write(file(c, "o%u.csv", owner), 0600, to.data, to.size, NULL));
}

static int share_changed(struct scene *c)
{
    unname_persons(c, 1);
    scene_name_rows(c, 1, person_of_its_own);
    return COMMAND(file(c, "share%u.log", 1), 30, "share", c->s.path, file(c, "o1.csv"), "--key",
                   file(c, "o1.key"), "--replace");
}

static void begin(struct scene *c, size_t (*person)(unsigned owner, size_t row))
{
    for (unsigned i = 0; i < OWNERS; i++)
        scene_name_rows(c, i, person);
    share_everything(c);
}

/* Linked and looked at again in the session that goes on, for free: the same answer. */
TEST(owners_are_linked_also_after_a_server_was_killed)
{
    struct scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = OWNERS, .domain = SUPPORT_LINKED_DOMAIN, .part = part,
                .link = "{keep: o0, min_linked: 90, look: 0.05}", .rounds = 10, .epsilon = 8,
                .lanes = 2, .more = "security: abort\n"));
    json_auto_t *linked = NULL;
    begin(&c, person_of);
    size_t expected = link_all(&c);
    pid_t run = start_run(&c, "out", NULL);
    assert_true(support_wait_for(file(&c, "out.log"), "\n2/10 ", 60));
    support_kill(&c.server[1]);
    start_server(&c, 1, c.s.path);
    expect_code(support_wait(run, 120), 0, file(&c, "out.log"));
    file_says(file(&c, "out.log"), "linked: about ");
    linked = linked_of(&c, file(&c, "out/stats.json"));
    double rows = json_number_value(json_object_get(linked, "rows"));
    assert_true(fabs(rows - (double)expected) <
                6.5 * json_number_value(json_object_get(linked, "sigma")));
    EACH(file_says, file(&c, "out/report.html"), "a first look showed about",
         "servers made sure of that, whatever owners sent");
    file_says(file(&c, "out.log"), "for all rows of one person");
    check_measurements(&c, file(&c, "out/measurements.json"), c.s.study->workload->one_ways + 10);
    check_logs(&c);
    ENDS(looks(&c), 1, file(&c, "audit.txt"), "linked-rows");
}

static const struct study_options few_looks = {.owners = OWNERS,
                                               .domain = SUPPORT_LINKED_DOMAIN,
                                               .part = part,
                                               .link = "{min_linked: 90, look: 0.05}",
                                               .rounds = 2,
                                               .epsilon = 8};

/* The budget has three looks for all runs, and the programs say so before they ask for more. */
TEST(looks_run_out)
{
    static const char *const says[] = {"look 1 of 3", "look 2 of 3", "the last of 3 looks",
                                       "took all 3 looks"};
    struct scene c CLEAN(scene_free) = scene_new(&few_looks);
    begin(&c, person_of_its_own);
    for (unsigned i = 0; i < 4; i++) {
        expect_code(run_study(&c, "a.key", i), i < 3 ? 6 : 5, file(&c, "run%u.log", i));
        file_says(file(&c, "run%u.log", i), says[i]);
    }
    check_logs(&c);
    assert_int_equal(looks(&c), 3);
}

/* Its analyst lives, and pays for no more: that ends in time, whatever is asked for again. */
TEST(a_look_that_is_asked_for_again_holds_no_session)
{
    struct study_options o = few_looks;
    o.round_s = support_slow(8);
    struct scene c CLEAN(scene_free) = scene_new(&o);
    struct identity *me CLEAN(identity_free) = MADE(identity, identity_load, file(&c, "a.key"),
                                                    NULL);
    struct netio *netio CLEAN(netio_free) = MADE(netio, netio_new, &quiet);
    struct client *client CLEAN(client_free) = NULL;
    struct bytes look CLEAN(bytes_clear) = {0}, result CLEAN(bytes_clear) = {0};
    struct request r = {.run = {7}, .ask.kind = ASK_LOOK};
    struct price_first first;
    struct client_opened opened;
    begin(&c, person_of);
    OK(price_first(c.s.study, &first));
    r.ask.multiplier = first.look;
    OK(request_write(&r, &look));
    OK(client_new(&client, netio, c.s.study, me, r.run, &quiet));
    OK(client_open(client, &opened));
    const double limit = support_deadline(60);
    for (; client_result(client, &look, &result) == ERR_OK; support_pause_ms(500))
        assert_true(support_again(limit));
    assert_true(support_contains(file(&c, "server0.log"), "it was idle for deadlines.round") ||
                support_contains(file(&c, "server1.log"), "it was idle for deadlines.round") ||
                support_contains(file(&c, "server2.log"), "it was idle for deadlines.round"));
}

static void withdraw_and_share(struct scene *c, unsigned owner)
{
    EXPECT(0, file(c, "withdraw.log"), 30, "share", c->s.path, "--key", file(c, "o%u.key", owner),
           "--withdraw");
    EXPECT(0, file(c, "share.log"), 30, "share", c->s.path, file(c, "o%u.csv", owner), "--key",
           file(c, "o%u.key", owner));
}

/* No two owners write a person in the same way: the run stops, again at the same small cost. */
TEST(a_run_with_too_few_linked_rows_stops_before_it_spends)
{
    struct scene c CLEAN(scene_free) = scene_new(&few_looks);
    begin(&c, person_of_its_own);
    withdraw_and_share(&c, 0);
    file_says(file(&c, "o0.book"), "withdrawn");
    for (unsigned again = 0; again < 2; again++) {
        expect_code(run_study(&c, "a.key", 0), 6, file(&c, "run%u.log", 0));
        EACH(file_says, file(&c, "run%u.log", 0), "asks for at least 90 linked rows (min_linked)",
             "1.7 % of the budget was spent", again ? "if less than 3 runs" : "look 1 of 3");
        check_logs(&c);
        assert_int_equal(looks(&c), 1);
    }
    /* a look that was opened stays so, whoever withdraws */
    withdraw_and_share(&c, 1);
    file_says(file(&c, "withdraw.log"), "book still counts this study");
    assert_false(support_contains(file(&c, "o1.book"), "withdrawn"));
    /* once this is fixed they are linked in another run, which finds the rest of the budget */
    for (unsigned i = 0; i < OWNERS; i++) {
        unname_persons(&c, i);
        scene_name_rows(&c, i, person_of);
        EXPECT(0, file(&c, "share%u.log", i), 30, "share", c.s.path, file(&c, "o%u.csv", i),
               "--key", file(&c, "o%u.key", i), "--replace");
    }
    link_all(&c);
    expect_code(run_study(&c, "a.key", 1), 0, file(&c, "run%u.log", 1));
    check_measurements(&c, file(&c, "out1/measurements.json"), c.s.study->workload->one_ways + 2);
    assert_int_equal(looks(&c), 2);
    /* no more than that: measurements are final */
    expect_code(share_changed(&c), 5, file(&c, "share%u.log", 1));
}
