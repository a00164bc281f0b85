/*
 * Owners that the study does not list, at real servers: what the gate lets a stranger say, what
 * tokens are good for, and that what they send is counted.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/process.h"
#include "parties/exchange/dials.h"
#include "parties/study/token.h"

#include <jansson.h>

#define GUESTS 4
#define ROWS 40 /* of each guest; the listed owner has ten times as many */

struct open_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct identity *issuer, *revoked, *guest[GUESTS];
    struct study *study; /* with open_owners */
};

static void scene_free(struct open_scene *c)
{
    assert_true(support_stop_all(c->server));
    for (unsigned k = 0; k < GUESTS; k++)
        identity_free(&c->guest[k]);
    identity_free(&c->issuer);
    identity_free(&c->revoked);
    study_free(&c->study);
    support_study_free(&c->s);
}

/* Each guest has a key, and all but the last have rows and a token in the file `tokens`. */
static void make_guests(struct open_scene *c)
{
    struct bytes tokens CLEAN(bytes_clear) = {0};
    for (unsigned k = 0; k < GUESTS; k++) {
        struct token t;
        char text[TOKEN_TEXT_SIZE];
        OK(identity_new(&c->guest[k], NULL));
        if (k == GUESTS - 1)
            break;
        OK(identity_save(c->guest[k], file(c, "p%u.key", k), false, NULL));
        OK(support_csv(file(c, "p%u.csv", k), c->study->domain, ROWS, 70 + k));
        OK(token_make(&t, c->study, c->issuer, k, c->guest[k]->public.sign));
        token_text(&t, text);
        bytes_put_text(&tokens, text);
        bytes_put_text(&tokens, "\n");
    }
    OK(file_write(file(c, "tokens"), 0600, tokens.data, tokens.size, NULL));
}

static void scene_new(struct open_scene *c, bool two)
{
    char open[1024], key[2][IDENTITY_TEXT_SIZE];
    *c = (struct open_scene){0};
    c->s = STUDY(&quiet, .owners = 1, .rounds = 1, .epsilon = 40, .two = two);
    OK(identity_new(&c->issuer, NULL));
    OK(identity_new(&c->revoked, NULL));
    public_identity_text(&c->issuer->public, key[0]);
    public_identity_text(&c->revoked->public, key[1]);
    snprintf(open, sizeof open,
             "min_owners: 3\nopen_owners: {issuer: %s, max: 1000, max_rows: %d, revoked: [9]}\n"
             "revoked: [%s]\nstudy:",
             key[0], ROWS, key[1]);
    assert_true(
        support_edit(c->s.path, file(c, "open.yaml"), (const char *const[]){"study:", open, NULL}));
    OK(study_load(&c->study, file(c, "open.yaml"), &quiet));
    make_guests(c);
    assert_true(support_serve_all(&c->s, file(c, "open.yaml"), c->server));
}

/* --- at the gate ------------------------------------------------------------------------------ */

struct stranger {
    struct netio *netio;
    struct dial *dial;
    const struct open_scene *c;
};

static void stranger_free(struct stranger *x)
{
    dial_free(&x->dial);
    netio_free(&x->netio);
}

static void stranger_new(struct stranger *x, const struct open_scene *c, const struct identity *me)
{
    x->c = c;
    OK(netio_new(&x->netio, &quiet));
    OK(dials_new(&x->dial, x->netio, c->study, me, 0, &quiet));
    OK(dial_watch(x->dial));
}

static enum err ask(struct stranger *x, struct bytes *message)
{
    struct reply reply;
    const int64_t ms = support_patience_ms(10);
    OK(dials_ask(x->dial, message, &reply, ms, ms));
    bytes_clear(message);
    return reply.status;
}

static enum err ask_status(struct stranger *x)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    bytes_put_u8(&message, MESSAGE_STATUS);
    return ask(x, &message);
}

/* Claims to be `who`, shows a token of `number` by `issuer` for the key of `whose`; then asks. */
static enum err show_and_ask(struct stranger *x, const struct identity *who,
                             const struct identity *issuer, uint8_t kind, uint8_t *answered)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct token t;
    struct reply reply;
    const int64_t ms = support_patience_ms(10);
    OK(token_make(&t, x->c->study, issuer, 5, who->public.sign));
    bytes_put_u8(&message, kind);
    OK(dials_token(&who->public, &t, &message));
    OK(dials_ask(x->dial, &message, &reply, ms, ms));
    *answered = reply.kind;
    return reply.status;
}

/* The same, without asking. */
static enum err show(struct stranger *x, const struct identity *who, const struct identity *whose,
                     const struct identity *issuer, uint32_t number)
{
    struct bytes message CLEAN(bytes_clear) = {0};
    struct token t;
    OK(token_make(&t, x->c->study, issuer, number, whose->public.sign));
    OK(dials_token(&who->public, &t, &message));
    return ask(x, &message);
}

/* Whatever token it has. */
static void is_no_owner(const struct open_scene *c, const struct identity *who, enum err e)
{
    struct stranger x CLEAN(stranger_free) = {0};
    stranger_new(&x, c, who);
    assert_int_equal(show(&x, who, who, c->issuer, 6), e);
    assert_int_equal(ask_status(&x), ERR_AGAIN);
}

/* Keys that a roster revokes, whose last day is over, and of an identity that the study lists. */
static void bad_keys_are_no_owners(const struct open_scene *c)
{
    struct identity *listed CLEAN(identity_free) = NULL, *expired CLEAN(identity_free) = NULL,
                            *renewed CLEAN(identity_free) = NULL,
                            *thief CLEAN(identity_free) = NULL;
    OK(identity_load(&listed, file(c, "o0.key"), &quiet));
    OK(identity_renew(&renewed, listed, 0, &quiet));
    OK(identity_renew(&thief, c->revoked, 0, &quiet));
    OK(identity_renew(&expired, c->guest[GUESTS - 1], date_today() - 1, &quiet));
    is_no_owner(c, c->revoked, ERR_REFUSED);
    is_no_owner(c, thief, ERR_REFUSED);
    is_no_owner(c, expired, ERR_AUTH);
    is_no_owner(c, renewed, ERR_REFUSED);
}

static void expect_turned_away(const struct open_scene *c)
{
    struct stranger x CLEAN(stranger_free) = {0};
    struct bytes message CLEAN(bytes_clear) = {0};
    const struct identity *me = c->guest[GUESTS - 1], *other = c->guest[0];
    uint8_t kind;
    bad_keys_are_no_owners(c);
    stranger_new(&x, c, me);
    assert_int_equal(ask_status(&x), ERR_AGAIN);
    bytes_put_u8(&message, MESSAGE_TOKEN);
    assert_non_null(bytes_extend(&message, 100000));
    assert_int_equal(ask(&x, &message), ERR_FORMAT);
    assert_int_equal(show(&x, other, other, c->issuer, 0), ERR_AUTH); /* stolen */
    assert_int_equal(show(&x, me, other, c->issuer, 0), ERR_AUTH);
    assert_int_equal(show(&x, me, me, me, 5), ERR_AUTH);              /* self-made */
    assert_int_equal(show(&x, me, me, c->issuer, 9), ERR_REFUSED);    /* revoked */
    assert_int_equal(show(&x, me, me, c->issuer, 1000), ERR_REFUSED); /* beyond max */
    assert_int_equal(ask_status(&x), ERR_AGAIN);
    assert_int_equal(show(&x, me, me, c->issuer, 0), ERR_REFUSED); /* it belongs to another key */
    assert_int_equal(ask_status(&x), ERR_AGAIN);
    assert_int_equal(show_and_ask(&x, me, me, MESSAGE_STATUS, &kind), ERR_AUTH);
    assert_int_equal(kind, MESSAGE_TOKEN);
    OK(show_and_ask(&x, me, c->issuer, MESSAGE_STATUS, &kind));
    assert_int_equal(kind, MESSAGE_STATUS);
    OK(ask_status(&x));
    /* a token inside is none, and what only others may say stays theirs */
    assert_int_equal(show_and_ask(&x, me, c->issuer, MESSAGE_TOKEN, &kind), ERR_REFUSED);
    assert_int_equal(show_and_ask(&x, me, c->issuer, MESSAGE_REQUEST, &kind), ERR_REFUSED);
    OK(show(&x, me, me, c->issuer, 5));
}

TEST(a_long_message_does_not_go_with_a_token)
{
    struct identity *me CLEAN(identity_free) = NULL;
    const struct token t = {.number = 1};
    struct bytes message CLEAN(bytes_clear) = {0};
    OK(identity_new(&me, NULL));
    assert_non_null(bytes_extend(&message, 1000));
    OK(dials_token(&me->public, &t, &message));
    assert_in_range(message.size, 1001, MESSAGE_TOKEN_MOST);
    message.size = 0;
    assert_non_null(bytes_extend(&message, MESSAGE_TOKEN_MOST));
    assert_int_equal(dials_token(&me->public, &t, &message), ERR_RANGE);
    assert_int_equal(message.size, MESSAGE_TOKEN_MOST);
}

/* A client that keeps talking without a token is cut off; others are still heard. */
static void expect_chatter_cut(const struct open_scene *c)
{
    struct stranger x CLEAN(stranger_free) = {0}, y CLEAN(stranger_free) = {0};
    struct identity *noisy CLEAN(identity_free) = NULL;
    struct bytes message CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    OK(identity_new(&noisy, NULL));
    stranger_new(&x, c, noisy);
    for (unsigned k = 0; k < 200 && e == ERR_OK; k++) { /* bad tokens: each costs a signature */
        struct token t;
        OK(token_make(&t, c->study, noisy, k, noisy->public.sign));
        message.size = 0;
        OK(dials_token(&noisy->public, &t, &message));
        e = dial_send(x.dial, false, message.data, message.size, support_end_ms(10));
        if (e == ERR_OK)
            e = dial_receive(x.dial, &message, support_end_ms(10));
    }
    assert_int_equal(e, ERR_PEER);
    stranger_new(&y, c, c->guest[1]);
    OK(show(&y, c->guest[1], c->guest[1], c->issuer, 1));
    OK(ask_status(&y));
}

/* --- uploads ---------------------------------------------------------------------------------- */

static int share(struct open_scene *c, unsigned k, const char *csv, const char *more)
{
    return COMMAND(file(c, "p%u.log", k), 60, "share", file(c, "open.yaml"), file(c, "%s", csv),
                   "--key", file(c, "p%u.key", k), "--token", file(c, "tokens"), "--retries", "2",
                   more);
}

static double total_of(const char *path)
{
    json_auto_t *all = json_load_file(path, 0, NULL);
    const double total = json_number_value(json_object_get(all, "total"));
    return total;
}

static void strangers_are_counted(bool two)
{
    struct open_scene c CLEAN(scene_free);
    scene_new(&c, two);
    OK(support_csv(file(&c, "o0.csv"), c.study->domain, 10 * ROWS, 7));
    EXPECT(0, file(&c, "o0.log"), 60, "share", file(&c, "open.yaml"), file(&c, "o0.csv"), "--key",
           file(&c, "o0.key"));
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(share(&c, k, k == 0 ? "p0.csv" : k == 1 ? "p1.csv" : "p2.csv", NULL), 0);
    assert_int_equal(share(&c, 0, "p0.csv", NULL), 0); /* the same again */
    assert_int_not_equal(share(&c, 0, "p1.csv", NULL), 0);
    file_says(file(&c, "p0.log"), "another upload of this owner");
    expect_turned_away(&c);
    expect_chatter_cut(&c);
    EXPECT(0, file(&c, "check.log"), 60, "check", file(&c, "open.yaml"), "--receipt",
           file(&c, "token.0.%s.receipt", c.study->name));
    file_says(file(&c, "check.log"), "the upload of token.0");
    EXPECT(0, file(&c, "p2.log"), 60, "share", file(&c, "open.yaml"), "--key", file(&c, "p2.key"),
           "--token", file(&c, "tokens"), "--withdraw");
    /* what servers know is on disk */
    assert_int_equal(support_stop(&c.server[0]), 0);
    c.server[0] = support_serve(&c.s, 0, file(&c, "open.yaml"));
    assert_int_equal(share(&c, 1, "p1.csv", NULL), 0);
    EXPECT(0, file(&c, "run.log"), 120, "run", file(&c, "open.yaml"), "--key", file(&c, "a.key"),
           "--out", file(&c, "out"));
    file_says(file(&c, "run.log"), "the rows of 3 of 1001 are counted");
    assert_true(fabs(total_of(file(&c, "out/measurements.json")) - 12 * ROWS) < ROWS / 2);
}

TEST(strangers_with_tokens_are_counted)
{
    strangers_are_counted(false);
}

TEST(a_provider_and_a_keeper_count_them_too)
{
    strangers_are_counted(true);
}

int main(void)
{
    return secret_start() == ERR_OK ? support_run_tests(NULL, NULL) : 1;
}
