/*
 * Invitations (parties/study/invite.h): what a link makes of a key, and what it does not; and how
 * an issuer makes them (trefoil admit --invite).
 */
#include "tests/support/command.h"
#include "tests/support/parse.h"

#include "base/date.h"
#include "harness/study.h"
#include "parties/study/token.h"

#include <sys/stat.h>

#define OPEN "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 5, max_rows: 2}"
#define LATER "2999-12-31"

static struct study *open_study(struct parse_fixture *f, const char *text)
{
    struct study *s = MADE_LAST(study, parse_edit, f, "rounds: 4", text);
    return s;
}

/* Any other text is no invitation, or the issuer has not signed it. */
static void expect_no_other(const char *text, const struct study *s, bool link)
{
    char altered[INVITE_TEXT_SIZE];
    for (size_t i = 0; i < strlen(text); i++) {
        struct invite found;
        uint8_t seed[INVITE_SEED_SIZE];
        strcpy(altered, text);
        altered[i] = altered[i] == 'A' ? 'Q' : 'A';
        if ((link ? invite_parse_link(&found, seed, altered) : invite_parse(&found, altered)) ==
            ERR_OK)
            assert_int_not_equal(invite_check(&found, s), ERR_OK);
    }
}

TEST(an_invitation_is_of_one_study_number_and_day)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(f, OPEN);
    struct study *other CLEAN(study_free) = open_study(f, OPEN "\nretain_days: 9");
    struct study *revoked CLEAN(study_free) = open_study(
        f,
        "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 5, max_rows: 2, revoked: [4]}");
    struct invite i, again = {0};
    uint8_t seed[INVITE_SEED_SIZE], found[INVITE_SEED_SIZE];
    char text[INVITE_TEXT_SIZE], address[INVITE_TEXT_SIZE + 40];
    OK(invite_make(&i, seed, s, f->identity[7], 4, 20000));
    OK(invite_check(&i, s));
    assert_int_equal(invite_check(&i, other), ERR_AUTH);
    assert_int_equal(invite_check(&i, revoked), ERR_REFUSED);
    invite_text(&i, text);
    assert_int_equal(strlen(text), INVITE_TEXT_SIZE - 1);
    OK(invite_parse(&again, text));
    assert_memory_equal(&again, &i, sizeof i);
    expect_no_other(text, s, false);
    invite_link(&i, seed, text);
    snprintf(address, sizeof address, "https://x.example/a#b#%s", text);
    again = (struct invite){0};
    OK(invite_parse_link(&again, found, address));
    assert_memory_equal(&again, &i, sizeof i);
    assert_memory_equal(found, seed, sizeof seed);
    expect_no_other(text, s, true);
    assert_int_equal(invite_parse(&again, text), ERR_FORMAT); /* each for its purpose */
    text[sizeof "trefoil-link" - 1] = '2';
    assert_int_equal(invite_parse_link(&again, found, text), ERR_MISMATCH);
    OK(invite_make(&i, seed, s, f->identity[7], 5, 20000));
    assert_int_equal(invite_check(&i, s), ERR_RANGE);
    OK(invite_make(&i, seed, s, f->identity[8], 4, 20000));
    assert_int_equal(invite_check(&i, s), ERR_AUTH);
}

TEST(a_link_makes_a_token_of_one_key)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(f, OPEN);
    struct study *revoked CLEAN(study_free) = open_study(
        f,
        "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 5, max_rows: 2, revoked: [4]}");
    const uint8_t *const key = f->identity[8]->public.sign;
    struct invite i;
    struct token t, again;
    uint8_t seed[INVITE_SEED_SIZE];
    char text[TOKEN_TEXT_SIZE];
    OK(invite_make(&i, seed, s, f->identity[7], 4, 20000));
    OK(token_accept(&t, s, &i, seed, key));
    OK(token_check(&t, s));
    assert_int_equal(token_check(&t, revoked), ERR_REFUSED);
    assert_false(token_late(&t, 20000)); /* the last day belongs to it */
    assert_true(token_late(&t, 20001));
    token_text(&t, text);
    assert_int_equal(strlen(text), TOKEN_TEXT_SIZE - 1);
    OK(token_parse(&again, text));
    assert_memory_equal(&again, &t, sizeof t);
    for (size_t k = 0; k < sizeof text - 1; k++) {
        const char was = text[k];
        text[k] = was == 'A' ? 'Q' : 'A';
        assert_true(token_parse(&again, text) != ERR_OK || token_check(&again, s) != ERR_OK);
        text[k] = was;
    }
    again = t; /* a later day, another key, another's seed, no invitation */
    again.by.last_day++;
    assert_int_equal(token_check(&again, s), ERR_AUTH);
    again = t;
    memcpy(again.sign, f->identity[9]->public.sign, 32);
    assert_int_equal(token_check(&again, s), ERR_AUTH);
    seed[0] ^= 1;
    OK(token_accept(&again, s, &i, seed, key));
    assert_int_equal(token_check(&again, s), ERR_AUTH);
    again = t;
    again.invited = false;
    assert_int_equal(token_check(&again, s), ERR_AUTH);
    seed[0] ^= 1;
    OK(token_accept(&again, s, &i, seed, f->identity[7]->public.sign));
    assert_int_equal(token_check(&again, s), ERR_DATA); /* the issuer's own key */
}

/* --- the register ----------------------------------------------------------------------------- */

enum { STUDY, TOKENS, KEYS_FILE, ISSUER, OUT, ERRORS, LOCK, LINKS, GUEST, ROWS, BOOK, FILES };

struct invite_office {
    struct parse_fixture *f;
    char folder[64], path[FILES][96];
    struct command_outcome o;
};

static void write_text(const char *path, const char *text)
{
    OK(file_write(path, 0600, text, strlen(text), &quiet));
}

static struct invite_office invite_office_new(struct parse_fixture *f)
{
    static const char *const names[] = {"study.yaml", "tokens",   "keys",        "issuer.key",
                                        "out",        "err",      "tokens.lock", "links",
                                        "guest.key",  "rows.csv", "guest.book"};
    struct bytes text CLEAN(bytes_clear) = edited(base_text, "rounds: 4", OPEN);
    struct bytes full CLEAN(bytes_clear) = with_keys(f, (const char *)text.data);
    struct invite_office w = {.f = f, .folder = "/tmp/trefoil-invite-XXXXXX"};
    assert_non_null(mkdtemp(w.folder));
    for (unsigned i = 0; i < FILES; i++)
        snprintf(w.path[i], sizeof w.path[i], "%s/%s", w.folder, names[i]);
    OK(file_write(w.path[STUDY], 0600, full.data, full.size, &quiet));
    write_text(w.path[KEYS_FILE], f->key[9]);
    write_text(w.path[ROWS], "age,ward,bmi,dose\n3,a,1,12\n");
    OK(identity_save(f->identity[7], w.path[ISSUER], false, &quiet));
    OK(identity_save(f->identity[8], w.path[GUEST], false, &quiet));
    return w;
}

static void invite_office_free(struct invite_office *w)
{
    for (unsigned i = 0; i < FILES; i++)
        unlink(w->path[i]);
    assert_int_equal(rmdir(w->folder), 0); /* nothing else was written */
}

static int call(struct invite_office *w, const char *const *arguments)
{
    support_command(&w->o, w->path[OUT], w->path[ERRORS], arguments);
    return w->o.code;
}
#define CALL(w, ...) call(w, (const char *const[]){__VA_ARGS__, NULL})
#define INVITE(w, n, until, ...)                                                                   \
    CALL(w, "admit", (w)->path[STUDY], "--key", (w)->path[ISSUER], "--tokens", (w)->path[TOKENS],  \
         "--invite", n, "--until", until, "--links", (w)->path[LINKS], __VA_ARGS__)

/* Line `number` of a file, without its end. */
static void line_of(const char *path, unsigned number, char line[512])
{
    char text[4096], *at = text;
    support_text(path, text, sizeof text);
    for (; number > 0; number--)
        at = strchr(at, '\n') + 1;
    snprintf(line, 512, "%.*s", (int)strcspn(at, "\n"), at);
}

TEST(numbers_are_given_once_to_keys_and_links)
{
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(*state);
    char line[512], first[4096], then[4096];
    struct invite i;
    struct token t;
    uint8_t seed[INVITE_SEED_SIZE];
    struct stat st;
    assert_int_equal(INVITE(&w, "2", LATER, "--page", "https://x.example/p"), 0);
    support_says(w.o.out, "2 invitations are in ");
    assert_int_equal(stat(w.path[LINKS], &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    line_of(w.path[LINKS], 1, line);
    assert_int_equal(strncmp(line, "https://x.example/p#trefoil-link1-", 34), 0);
    OK(invite_parse_link(&i, seed, line));
    assert_int_equal(i.number, 1);
    support_text(w.path[TOKENS], first, sizeof first);
    assert_null(strstr(first, "link1")); /* the register has no secret */
    assert_int_equal(INVITE(&w, "1", LATER, "--page", "https://x.example/p"), 2);
    support_says(w.o.err, "may have links that nobody can make again");
    assert_int_equal(unlink(w.path[LINKS]), 0);
    assert_int_equal(CALL(&w, "admit", w.path[STUDY], w.path[KEYS_FILE], "--key", w.path[ISSUER],
                          "--tokens", w.path[TOKENS]),
                     0);
    assert_int_equal(INVITE(&w, "1", LATER, "--retries", "1"), 2); /* no such option: nothing */
    GIVES(INVITE(&w, "3", LATER, "--page", "http://x"), 6, w.o.err, "the study admits 5 owners");
    assert_false(file_is_there(w.path[LINKS]));
    assert_int_equal(INVITE(&w, "2", LATER, "--page", "http://x"), 0);
    line_of(w.path[LINKS], 0, line);
    OK(invite_parse_link(&i, seed, line));
    assert_int_equal(i.number, 3);
    line_of(w.path[TOKENS], 2, line);
    OK(token_parse(&t, line));
    assert_int_equal(t.number, 2);
    support_text(w.path[TOKENS], then, sizeof then);
    assert_memory_equal(then, first, strlen(first));
    assert_int_equal(CALL(&w, "admit", w.path[STUDY], "--tokens", w.path[TOKENS]), 0);
    support_says(w.o.out, "5 tokens of study test, signed by its issuer; 0 of them revoked\n"
                          "4 of them are invitations");
    OK(token_accept(&t, w.f->base, &i, seed, t.sign));
    token_text(&t, line);
    write_text(w.path[TOKENS], line); /* what an owner has made of a link is none of the issuer's */
    assert_int_not_equal(CALL(&w, "admit", w.path[STUDY], "--tokens", w.path[TOKENS]), 0);
    support_says(w.o.err, "tokens:1: this is no token and no invitation");
    then[30] = then[30] == 'A' ? 'B' : 'A';
    write_text(w.path[TOKENS], then);
    assert_int_not_equal(CALL(&w, "admit", w.path[STUDY], "--tokens", w.path[TOKENS]), 0);
    support_says(w.o.err, "tokens:1: ");
}

/* An address is part of a line that people get by mail, and of a policy's page. */
TEST(an_address_cannot_break_out_of_its_link)
{
    static const char *const bad[] = {"ftp://x",     "javascript:alert(1)", "https://x#y",
                                      "https://x y", "https://x\ny",        "https://x\"><script>",
                                      "https://x'",  "https://\xc3\xa9",    ""};
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(*state);
    for (unsigned k = 0; k < sizeof bad / sizeof *bad; k++) {
        GIVES(INVITE(&w, "1", LATER, "--page", bad[k]), 2, w.o.err, "--page is an address such as");
    }
    assert_int_equal(INVITE(&w, "1", "2020-01-31", "--page", "https://x"), 2);
    support_says(w.o.err, "--until 2020-01-31 is over");
    assert_int_equal(INVITE(&w, "1", "tomorrow", "--page", "https://x"), 2);
    assert_int_equal(CALL(&w, "admit", w.path[STUDY], "--key", w.path[ISSUER], "--tokens",
                          w.path[TOKENS], "--invite", "1"),
                     2);
    assert_false(file_is_there(w.path[TOKENS]));
    assert_false(file_is_there(w.path[LINKS]));
}

/* The links that people have got bear the earlier signature; the register's line mends that. */
TEST(another_issuer_keeps_invitations)
{
    struct parse_fixture *f = *state;
    char earlier[128], text[8192], both[1024];
    struct bytes study CLEAN(bytes_clear) = {0};
    struct study *now CLEAN(study_free) = NULL;
    struct token t;
    const uint8_t *const key = f->identity[8]->public.sign;
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(f);
    snprintf(earlier, sizeof earlier, "%s/earlier.yaml", w.folder);
    assert_int_equal(INVITE(&w, "1", LATER, "--page", "https://x"), 0);
    support_text(w.path[STUDY], text, sizeof text);
    write_text(earlier, text);
    study = edited(text, f->key[7], f->key[6]);
    write_text(w.path[STUDY], (const char *)study.data);
    OK(identity_save(f->identity[6], w.path[ISSUER], true, &quiet));
    OK(study_load(&now, w.path[STUDY], &quiet));
    GIVES(CALL(&w, "admit", w.path[STUDY], w.path[KEYS_FILE], "--key", w.path[ISSUER], "--tokens",
               w.path[TOKENS], "--earlier", earlier),
          0, w.o.out, "1 of them had the earlier issuer's signature");
    assert_int_equal(token_load(&t, now, w.path[LINKS], key, &quiet), ERR_AUTH);
    line_of(w.path[LINKS], 0, both);
    strcat(both, "\n");
    line_of(w.path[TOKENS], 0, both + strlen(both));
    write_text(w.path[LINKS], both);
    OK(token_load(&t, now, w.path[LINKS], key, &quiet));
    assert_int_equal(t.number, 0);
    assert_int_equal(unlink(earlier), 0);
}

/* The register has them then: their numbers are not given again. */
TEST(links_that_cannot_be_written_are_told)
{
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(*state);
    char line[512];
    struct invite i;
    GIVES(CALL(&w, "admit", w.path[STUDY], "--key", w.path[ISSUER], "--tokens", w.path[TOKENS],
               "--invite", "2", "--until", LATER, "--links", "/nowhere/links.txt"),
          1, w.o.err, "has invitations 0 to 1, whose links are lost");
    assert_int_equal(INVITE(&w, "1", LATER, "--page", "https://x"), 0);
    line_of(w.path[TOKENS], 2, line);
    OK(invite_parse(&i, line));
    assert_int_equal(i.number, 2);
}

/* Which of them a person has taken up is not for the order of lines to say. */
TEST(several_links_are_nobodys)
{
    struct parse_fixture *f = *state;
    char text[512], twice[1200];
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(f);
    assert_int_equal(INVITE(&w, "2", LATER, "--page", "https://x"), 0);
    GIVES(CALL(&w, "share", w.path[STUDY], w.path[ROWS], "--key", w.path[GUEST], "--token",
               w.path[LINKS], "--dry-run"),
          2, w.o.err, "has several invitations, and no token of this key");
    line_of(w.path[LINKS], 1, text);
    snprintf(twice, sizeof twice, "%s\n%s\n", text, text); /* one, pasted twice */
    write_text(w.path[LINKS], twice);
    assert_int_equal(CALL(&w, "share", w.path[STUDY], w.path[ROWS], "--key", w.path[GUEST],
                          "--token", w.path[LINKS], "--dry-run"),
                     0);
}

/* Before the budget book, the secret, the servers. */
TEST(an_invitation_that_is_over_is_refused_before_anything_is_noted)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = NULL;
    uint8_t seed[INVITE_SEED_SIZE];
    char text[INVITE_TEXT_SIZE];
    struct invite i;
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(f);
    OK(study_load(&s, w.path[STUDY], &quiet));
    OK(invite_make(&i, seed, s, f->identity[7], 0, date_today() - 1));
    invite_link(&i, seed, text);
    write_text(w.path[LINKS], text);
    GIVES(CALL(&w, "share", w.path[STUDY], w.path[ROWS], "--key", w.path[GUEST], "--token",
               w.path[LINKS], "--retries", "0"),
          5, w.o.err, "the last day of this invitation, ");
    assert_int_equal(CALL(&w, "check", w.path[STUDY], "--token", w.path[LINKS]), 5);
    support_says(w.o.err, "links:1: the last day of this invitation, ");
    OK(invite_make(&i, seed, s, f->identity[7], 0, date_today() + 1));
    invite_link(&i, seed, text);
    write_text(w.path[LINKS], text);
    assert_int_equal(CALL(&w, "check", w.path[STUDY], "--token", w.path[LINKS]), 0);
    support_says(w.o.out, "token.0 of study test, signed by its issuer: for the first who takes");
    assert_int_equal(CALL(&w, "share", w.path[STUDY], w.path[ROWS], "--key", w.path[GUEST],
                          "--token", w.path[LINKS], "--dry-run"),
                     0);
}

/* The servers of a study that seals know no last day of a guest's key: its owner's program does. */
TEST(an_expired_key_does_not_come_by_a_token)
{
    struct parse_fixture *f = *state;
    struct identity *old CLEAN(identity_free) = NULL;
    struct invite_office w CLEAN(invite_office_free) = invite_office_new(f);
    assert_int_equal(INVITE(&w, "1", LATER, "--page", "https://x"), 0);
    OK(identity_renew(&old, f->identity[8], date_today() - 1, &quiet));
    OK(identity_save(old, w.path[GUEST], true, &quiet));
    GIVES(CALL(&w, "share", w.path[STUDY], w.path[ROWS], "--key", w.path[GUEST], "--token",
               w.path[LINKS], "--dry-run"),
          3, w.o.err, "the last day of this key, ");
}

MAIN(support_run_tests(setup, teardown))
