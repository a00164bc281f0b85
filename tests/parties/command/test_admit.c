/*
 * Owners that the study does not list: tokens (parties/study/token.h), and the issuer's register of
 * them (trefoil admit).
 */
#include "tests/support/command.h"
#include "tests/support/parse.h"

#include "harness/patience.h"
#include "harness/study.h"
#include "parties/study/study_uploads.h"
#include "parties/study/token.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#define TOKEN_LINE 150 /* with the line's end, in a register */
#define OPEN "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 5, max_rows: 2}"

static struct study *open_study(struct parse_fixture *f, const char *text)
{
    struct study *s = MADE_LAST(study, parse_edit, f, "rounds: 4", text);
    return s;
}

TEST(a_token_is_of_one_study_key_and_number)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(f, OPEN);
    struct study *other CLEAN(study_free) = NULL;
    struct token t, again;
    char text[TOKEN_TEXT_SIZE];
    OK(token_make(&t, s, f->identity[7], 4, f->identity[8]->public.sign));
    OK(token_check(&t, s));
    token_text(&t, text);
    assert_int_equal(strlen(text), TOKEN_LINE - 1);
    OK(token_parse(&again, text));
    assert_memory_equal(&again, &t, sizeof t);
    for (size_t i = 0; i < TOKEN_LINE - 1; i++) { /* any other text is no token, or bad */
        const char was = text[i];
        text[i] = was == 'A' ? 'Q' : 'A';
        assert_true(token_parse(&again, text) == ERR_FORMAT || token_check(&again, s) != ERR_OK);
        text[i] = was;
    }
    text[TOKEN_LINE - 1] = 'A';
    text[TOKEN_LINE] = '\0';
    assert_int_equal(token_parse(&again, text), ERR_FORMAT);
    text[sizeof "trefoil-token" - 1] = '9';
    assert_int_equal(token_parse(&again, text), ERR_MISMATCH);
    assert_non_null(
        strstr(token_hint(ERR_MISMATCH), "of a later trefoil; this one, " TREFOIL_VERSION));
    OK(parse_edit(f, "rounds: 4", OPEN "\nretain_days: 9", &other));
    assert_int_equal(token_check(&t, other), ERR_AUTH);
    again = t;
    again.number = 5;
    assert_int_equal(token_check(&again, s), ERR_RANGE);
    OK(token_make(&again, s, f->identity[8], 4, t.sign));
    assert_int_equal(token_check(&again, s), ERR_AUTH);
}

/* Nor does a server take such a token, which an issuer can sign by other means. */
TEST(an_issuer_admits_not_itself)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(f, OPEN);
    struct study *other CLEAN(study_free) = open_study(
        f, "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @8, max: 5, max_rows: 2}");
    struct token t;
    assert_int_equal(token_make(&t, s, f->identity[7], 4, f->identity[7]->public.sign), ERR_DATA);
    /* the issuer is no term: what is signed is the same */
    OK(token_make(&t, other, f->identity[7], 4, f->identity[7]->public.sign));
    assert_int_equal(token_check(&t, s), ERR_DATA);
    assert_string_equal(token_hint(ERR_DATA),
                        "the token is for the issuer's own key; an owner needs another key");
    OK(token_make(&t, other, f->identity[7], 4, f->identity[6]->public.sign));
    OK(token_check(&t, s));
}

TEST(a_roster_revokes_tokens)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(
        f, "rounds: 4\nmin_owners: 1\n"
           "open_owners: {issuer: @7, max: 9, revoked: [7, 2, 5]}");
    for (uint32_t i = 0; i < 9; i++) {
        struct token t;
        OK(token_make(&t, s, f->identity[7], i, f->identity[8]->public.sign));
        assert_int_equal(token_check(&t, s), i == 2 || i == 5 || i == 7 ? ERR_REFUSED : ERR_OK);
        OK(token_make(&t, s, f->identity[6], i, t.sign));
        assert_int_equal(token_check(&t, s), ERR_AUTH); /* and is not reported as the issuer's */
    }
}

/* What an open owner brings, and counts in the bounds, is the same as for a listed one. */
TEST(open_owners_are_owners)
{
    struct parse_fixture *f = *state;
    struct study *s CLEAN(study_free) = open_study(
        f, "rounds: 4\nmin_owners: 1\nopen_owners: {issuer: @7, max: 2, max_rows: 2}");
    struct study *listed CLEAN(study_free) = NULL;
    OK(parse_edit(f, "analysts:",
                  "  - {name: p0, max_rows: 2, as: auto, key: @6}\n"
                  "  - {name: p1, max_rows: 2, as: auto, key: @8}\nanalysts:",
                  &listed));
    assert_int_equal(study_owners_most(s), listed->owners);
    for (unsigned form = 0; form < 4; form++)
        assert_int_equal(study_form_bytes(s, 3, form), study_form_bytes(listed, 3, form));
    assert_int_equal(s->open.each.records, listed->owner[3].records);
    assert_int_equal(s->count_bits, listed->count_bits);
}

/* --- the register ----------------------------------------------------------------------------- */

struct office {
    struct parse_fixture *f;
    char folder[64], path[7][96];
    struct command_outcome o;
};

enum { STUDY, TOKENS, KEYS_FILE, ISSUER, OUT, ERRORS, LOCK };

static struct office office_new(struct parse_fixture *f)
{
    struct office w = {0};
    static const char *const names[] = {"study.yaml", "tokens", "keys",       "issuer.key",
                                        "out",        "err",    "tokens.lock"};
    struct bytes text CLEAN(bytes_clear) = edited(base_text, "rounds: 4", OPEN);
    struct bytes full CLEAN(bytes_clear) = {0};
    for (const char *p = (const char *)text.data; *p != '\0'; p++)
        if (*p == '@')
            bytes_put_text(&full, f->key[*++p - '0']);
        else
            bytes_put_u8(&full, (uint8_t)*p);
    w.f = f;
    strcpy(w.folder, "/tmp/trefoil-admit-XXXXXX");
    assert_non_null(mkdtemp(w.folder));
    for (unsigned i = 0; i < 7; i++)
        snprintf(w.path[i], sizeof w.path[i], "%s/%s", w.folder, names[i]);
    OK(bytes_ok(&full));
    OK(file_write(w.path[STUDY], 0600, full.data, full.size, &quiet));
    OK(identity_save(f->identity[7], w.path[ISSUER], false, &quiet));
    return w;
}

static void office_free(struct office *w)
{
    for (unsigned i = 0; i < 7; i++)
        unlink(w->path[i]);
    rmdir(w->folder);
}

/* Admits keys of the fixture by their numbers; with two more options, or NULL. */
static int admit_more(struct office *w, const char *who, const char *const more[4])
{
    struct bytes keys CLEAN(bytes_clear) = {0};
    const char *const all[] = {"admit",         w->path[STUDY],  w->path[KEYS_FILE],
                               "--key",         w->path[ISSUER], "--tokens",
                               w->path[TOKENS], more[0],         more[1],
                               more[2],         more[3],         NULL};
    bytes_put_text(&keys, "# who asked\n\n");
    for (; *who != '\0'; who++) {
        bytes_put_text(&keys, w->f->key[*who - '0']);
        bytes_put_text(&keys, "\r\n");
    }
    OK(file_write(w->path[KEYS_FILE], 0600, keys.data, keys.size, &quiet));
    support_command(&w->o, w->path[OUT], w->path[ERRORS], all);
    return w->o.code;
}

static int admit_with(struct office *w, const char *who, const char *option, const char *value)
{
    return admit_more(w, who, (const char *const[4]){option, value});
}

static int admit(struct office *w, const char *who)
{
    return admit_with(w, who, NULL, NULL);
}

static void path_in(char path[128], const struct office *w, const char *name)
{
    snprintf(path, 128, "%s/%s", w->folder, name);
}

/* The content of the folder's file of a number, without its line end; deletes the file. */
static void take_file(const struct office *w, const char *name, char text[256])
{
    char path[128];
    path_in(path, w, name);
    support_text(path, text, 256);
    assert_int_equal(strlen(text), TOKEN_LINE);
    text[TOKEN_LINE - 1] = '\0';
    assert_int_equal(unlink(path), 0);
}

/* As after a crash between the register and the folder. */
TEST(the_folder_is_filled_again)
{
    struct office w CLEAN(office_free) = office_new(*state);
    char folder[128], text[256], again[256];
    path_in(folder, &w, "each");
    assert_int_equal(admit(&w, "89"), 0);
    GIVES(admit_with(&w, "968", "--folder", folder), 0, w.o.out, "1 new tokens, 3 in ");
    take_file(&w, "each/0.token", text);
    take_file(&w, "each/1.token", text);
    take_file(&w, "each/2.token", text);
    assert_int_equal(admit_with(&w, "6", "--folder", folder), 0); /* only for those who ask */
    take_file(&w, "each/2.token", again);
    assert_string_equal(again, text);
    assert_int_equal(rmdir(folder), 0);
}

/* Keys keep their numbers, which servers know; new ones come after them. */
TEST(another_issuer_goes_on_where_the_first_ended)
{
    char earlier[128], folder[128], first[4096], then[8192], text[256];
    struct bytes study CLEAN(bytes_clear) = {0};
    struct study *now CLEAN(study_free) = NULL;
    struct parse_fixture *f = *state;
    struct office w CLEAN(office_free) = office_new(f);
    path_in(earlier, &w, "earlier.yaml");
    path_in(folder, &w, "each");
    assert_int_equal(admit(&w, "89"), 0);
    support_text(w.path[TOKENS], first, sizeof first);
    support_text(w.path[STUDY], then, sizeof then);
    OK(file_write(earlier, 0600, then, strlen(then), &quiet));
    study = edited(then, f->key[7], f->key[6]);
    OK(file_write(w.path[STUDY], 0600, study.data, strlen((const char *)study.data), &quiet));
    OK(identity_save(f->identity[6], w.path[ISSUER], true, &quiet));
    assert_int_not_equal(admit(&w, "9"), 0);
    support_says(w.o.err, "tokens:1: a token of another study, other terms or another issuer");
    assert_int_not_equal(admit_with(&w, "9", "--earlier", w.path[STUDY]), 0);
    support_text(w.path[TOKENS], then, sizeof then);
    assert_string_equal(then, first);
    assert_int_equal(admit_with(&w, "9", "--earlier", earlier), 0);
    support_says(w.o.out, "2 of them had the earlier issuer's signature");
    OK(study_load(&now, w.path[STUDY], &quiet));
    support_text(w.path[TOKENS], then, sizeof then);
    for (unsigned i = 0; i < 2; i++) {
        struct token t;
        then[(i + 1) * TOKEN_LINE - 1] = '\0';
        OK(token_parse(&t, then + i * TOKEN_LINE));
        assert_int_equal(t.number, i);
        assert_memory_equal(t.sign, f->identity[8 + i]->public.sign, 32);
        OK(token_check(&t, now));
    }
    assert_int_equal(admit_with(&w, "8", "--earlier", earlier), 0); /* again is fine */
    support_says(w.o.out, "0 of them had");
    /* as after a crash between the register and the folder: others have new ones too */
    assert_int_equal(
        admit_more(&w, "8", (const char *const[4]){"--folder", folder, "--earlier", earlier}), 0);
    take_file(&w, "each/0.token", text);
    assert_string_equal(text, then);
    take_file(&w, "each/1.token", text);
    assert_string_equal(text, then + TOKEN_LINE);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unlink(earlier), 0);
}

TEST(the_register_gives_each_key_one_number)
{
    struct office w CLEAN(office_free) = office_new(*state);
    char first[4096], then[4096];
    GIVES(admit(&w, "898"), 0, w.o.out, "2 new tokens, 2 in ");
    support_text(w.path[TOKENS], first, sizeof first);
    GIVES(admit(&w, "96"), 0, w.o.out, "1 new tokens, 3 in ");
    support_text(w.path[TOKENS], then, sizeof then);
    assert_memory_equal(then, first, strlen(first)); /* whoever has a token keeps it */
    assert_int_equal(strlen(then), 3 * TOKEN_LINE);
    assert_int_not_equal(admit(&w, "4"), 0);
    support_says(w.o.err, "keys:3: the key of o1, whom the study lists");
    assert_int_equal(admit(&w, "87"), 6);
    support_says(w.o.err, "keys:4: the key of the issuer, whom the study lists; leave it out");
    support_text(w.path[TOKENS], first, sizeof first);
    assert_string_equal(first, then);
    for (unsigned i = 0; i < 3; i++) { /* in order, of these keys */
        static const unsigned who[] = {8, 9, 6};
        struct token t;
        then[(i + 1) * TOKEN_LINE - 1] = '\0';
        OK(token_parse(&t, then + i * TOKEN_LINE));
        assert_int_equal(t.number, i);
        assert_memory_equal(t.sign, w.f->identity[who[i]]->public.sign, 32);
    }
}

TEST(the_register_is_checked)
{
    struct office w CLEAN(office_free) = office_new(*state);
    const char *const count[] = {"admit", NULL, "--tokens", NULL, NULL};
    const char *all[5];
    char text[4096];
    memcpy(all, count, sizeof all);
    all[1] = w.path[STUDY];
    all[3] = w.path[TOKENS];
    assert_int_equal(admit(&w, "89"), 0);
    support_command(&w.o, w.path[OUT], w.path[ERRORS], all);
    support_says(w.o.out, "2 tokens of study test, signed by its issuer; 0 of them revoked");
    support_text(w.path[TOKENS], text, sizeof text);
    memcpy(text + TOKEN_LINE, text, TOKEN_LINE);
    OK(file_write(w.path[TOKENS], 0600, text, strlen(text), &quiet));
    assert_int_not_equal(admit(&w, "6"), 0);
    support_says(w.o.err, "a number was given twice");
    support_text(w.path[TOKENS], text, sizeof text);
    text[TOKEN_LINE + 130] ^= 'A' ^ 'B'; /* in some signature, no matter whose */
    OK(file_write(w.path[TOKENS], 0600, text, strlen(text), &quiet));
    assert_int_not_equal(admit(&w, "6"), 0);
    support_says(w.o.err, "tokens:2: ");
    text[TOKEN_LINE + 40] = '?';
    OK(file_write(w.path[TOKENS], 0600, text, strlen(text), &quiet));
    assert_int_not_equal(admit(&w, "6"), 0);
    support_says(w.o.err, "tokens:2: this is no token");
}

/* What comes after a byte that is not text would be forgotten, and its numbers given out again. */
TEST(a_register_with_a_hole_is_refused)
{
    struct office w CLEAN(office_free) = office_new(*state);
    char text[4096];
    assert_int_equal(admit(&w, "89"), 0);
    support_text(w.path[TOKENS], text, sizeof text);
    text[TOKEN_LINE] = '\0';
    OK(file_write(w.path[TOKENS], 0600, text, 2 * (size_t)TOKEN_LINE, &quiet));
    assert_int_not_equal(admit(&w, "6"), 0);
    support_says(w.o.err, "tokens:2: this is no token");
}

/* Admits like another program that is already at work, and takes its time. */
static _Noreturn void admit_slowly(const struct office *w, const char *text, int begun)
{
    const int lock = open(w->path[LOCK], O_RDWR | O_CREAT, 0600);
    const bool mine = lock >= 0 && flock(lock, LOCK_EX) == 0 && write(begun, "", 1) == 1;
    support_pause_ms(100);
    _exit(mine && file_write(w->path[TOKENS], 0600, text, strlen(text), &quiet) == ERR_OK ? 0 : 1);
}

TEST(two_at_a_time_give_two_numbers)
{
    struct office w CLEAN(office_free) = office_new(*state);
    char text[4096], byte;
    int begun[2], status;
    assert_int_equal(admit(&w, "8"), 0);
    support_text(w.path[TOKENS], text, sizeof text);
    assert_int_equal(unlink(w.path[TOKENS]), 0);
    assert_int_equal(pipe(begun), 0);
    pid_t other = fork();
    assert_true(other >= 0);
    if (other == 0)
        admit_slowly(&w, text, begun[1]);
    assert_int_equal(read(begun[0], &byte, 1), 1);
    GIVES(admit(&w, "9"), 0, w.o.out, "1 new tokens, 2 in ");
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    close(begun[0]);
    close(begun[1]);
}

MAIN(support_run_tests(setup, teardown))
