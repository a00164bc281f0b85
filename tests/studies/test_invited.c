/*
 * Invited owners at real servers, with sealing keys and without: the first key that shows a link
 * has its number, another has nothing, and two that race have nothing together.
 */
#include "tests/support/caller.h"
#include "tests/support/scene.h"

#include "base/date.h"
#include "parties/owner/parcel.h"
#include "parties/study/token.h"

#define GUESTS 3

struct invited {
    struct scene c;
    struct identity *issuer;
};

static void invited_free(struct invited *p)
{
    identity_free(&p->issuer);
    scene_free(&p->c);
}

/* The link of an invitation, in a file. */
static void invite(struct invited *p, const char *path, uint32_t number, uint32_t last_day)
{
    struct invite i;
    uint8_t seed[INVITE_SEED_SIZE];
    char text[INVITE_TEXT_SIZE];
    OK(invite_make(&i, seed, p->c.s.study, p->issuer, number, last_day));
    invite_link(&i, seed, text);
    OK(file_write(path, 0600, text, strlen(text), &quiet));
}

static void invited_new(struct invited *p, bool seals)
{
    char key[IDENTITY_TEXT_SIZE], more[IDENTITY_TEXT_SIZE + 80];
    *p = (struct invited){0};
    OK(identity_new(&p->issuer, &quiet));
    public_identity_text(&p->issuer->public, key);
    snprintf(more, sizeof more, "min_owners: 1\nopen_owners: {issuer: %s, max: 9, max_rows: 40}\n",
             key);
    p->c = scene_new(OPTIONS(.owners = 1, .seals = seals, .more = more));
    for (unsigned k = 0; k < GUESTS; k++) {
        struct identity *guest CLEAN(identity_free) = MADE(identity, identity_new, &quiet);
        OK(identity_save(guest, file(&p->c, "g%u.key", k), false, &quiet));
        OK(support_csv(file(&p->c, "g%u.csv", k), p->c.s.study->domain, 30, 5 + k));
    }
    invite(p, file(&p->c, "link"), 4, date_today() + 9);
}

#define SHARE(p, code, guest, link, ...)                                                           \
    EXPECT(code, file(&(p)->c, "share.log"), 60, "share", (p)->c.s.path, "--key",                  \
           file(&(p)->c, "g%u.key", guest), "--token", file(&(p)->c, link), "--retries", "0",      \
           __VA_ARGS__)

static void expect_one_key(bool seals)
{
    struct invited p CLEAN(invited_free);
    invited_new(&p, seals);
    const char *mine = file(&p.c, "g0.csv");
    const char *theirs = file(&p.c, "g1.csv");
    SHARE(&p, 0, 0, "link", mine);
    file_says(file(&p.c, "token.4.test.receipt"), "state held");
    SHARE(&p, 5, 1, "link", theirs);
    file_says(file(&p.c, "share.log"), "or taken up the invitation; ask the issuer");
    file_says(file(&p.c, "g1.book"), "refused"); /* it costs the second nothing */
    SHARE(&p, 0, 0, "link", mine, "--replace");
    invite(&p, file(&p.c, "late"), 4, date_today() - 1); /* the number is the first's for good */
    SHARE(&p, 5, 2, "late", file(&p.c, "g2.csv"));
    assert_false(file_is_there(file(&p.c, "g2.book")));
    SHARE(&p, 0, 0, "late", "--withdraw");
    file_says(file(&p.c, "token.4.test.receipt"), "state withdrawn");
    SHARE(&p, 5, 1, "link", theirs); /* and stays it */
    invite(&p, file(&p.c, "late"), 5, date_today() - 1);
    SHARE(&p, 5, 2, "late", "--withdraw"); /* the program asks; the servers refuse */
    file_says(file(&p.c, "share.log"), "last day is over, and this key has not taken it up before");
    invite(&p, file(&p.c, "five"), 5, date_today());
    SHARE(&p, 0, 2, "five", file(&p.c, "g2.csv")); /* nobody has got the number by that */
}

TEST(a_link_is_for_the_first_key_that_shows_it)
{
    expect_one_key(false);
}

TEST(sealed_uploads_obey_links_too)
{
    expect_one_key(true);
}

/* What a server answers to the first two blocks of a parcel. */
static enum err bring(struct invited *p, const char *path, unsigned server)
{
    struct support_caller x CLEAN(support_caller_free) = support_caller_new(&p->c.s, "a.key",
                                                                            server);
    struct parcel parcel CLEAN(parcel_clear) = {0};
    struct bytes b CLEAN(bytes_clear) = {0};
    OK(file_read(path, PARCEL_MAX, &b, &quiet));
    OK(parcel_parse(&parcel, p->c.s.study, path, &b, &quiet));
    for (size_t k = PARCEL_HEAD; k <= PARCEL_ACT; k++) {
        size_t n;
        const uint8_t *block = parcel_block(&parcel, server, k, &n);
        support_caller_begin(&x, MESSAGE_PARCEL);
        bytes_put(&x.message, block, n);
        TRY(support_call(&x));
    }
    return ERR_OK;
}

/* A link was passed on: one parcel came first at one server, the other at the others. */
TEST(two_who_race_with_one_link_have_nothing_together)
{
    struct invited p CLEAN(invited_free);
    const char *parcel[2];
    invited_new(&p, true);
    for (unsigned k = 0; k < 2; k++) {
        parcel[k] = file(&p.c, "g%u.parcel", k);
        SHARE(&p, 0, k, "link", file(&p.c, "g%u.csv", k), "--to", parcel[k]);
    }
    OK(bring(&p, parcel[0], 0));
    OK(bring(&p, parcel[1], 1));
    OK(bring(&p, parcel[1], 2));
    assert_int_equal(bring(&p, parcel[0], 1), ERR_REFUSED);
    assert_int_equal(bring(&p, parcel[1], 0), ERR_REFUSED);
    assert_int_equal(share_own(&p.c, 0), 0);
    expect_code(run_study(&p.c, "a.key", 0), 0, file(&p.c, "run0.log"));
    file_says(file(&p.c, "run0.log"), "the rows of 1 of 10 are counted");
}

int main(void)
{
    return secret_start() == ERR_OK ? support_run_tests(NULL, NULL) : 1;
}
