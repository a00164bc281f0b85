/*
 * What servers answer to messages that no program of ours would send: each is refused in words,
 * changes nothing, and ends nothing.
 */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "parties/exchange/message.h"
#include "parties/exchange/request.h"
#include "parties/setting/upload.h"
#include "parties/settings/three/split.h"
#include "parties/study/study_uploads.h"
#include "tests/support/caller.h"
#include "tests/support/store.h"

#define OWNERS 2

struct messages_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
};

static int scene_new(void **state)
{
    static struct messages_scene c;
    c.s = STUDY(&quiet, .owners = OWNERS, .round_s = support_slow(10),
                .connect_s = support_slow(5));
    assert_true(support_serve_all(&c.s, c.s.path, c.server));
    *state = &c;
    return 0;
}

static int scene_free(void **state)
{
    struct messages_scene *c = *state;
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
    return 0;
}

/* After the kind: this digest of terms or none, and so many bytes of one value. */
enum messages_claim { NONE, OURS, OTHERS };

static const char no_right[] = "this key may not ask that of this server";
static const char no_form[] = "the upload does not have a form that the study takes";
static const char other_terms[] = "the owner's study file has other terms than this server's";

static const struct odd {
    const char *key;
    unsigned server;
    uint8_t kind;
    enum messages_claim terms;
    uint8_t value;
    size_t times;
    enum err e;
    const char *says;
} odds[] = {
    {"o0.key", 0, 77, NONE, 0, 0, ERR_REFUSED, no_right},
    {"s1.key", 0, 0, NONE, 0, 0, ERR_REFUSED, no_right},
    {"a.key", 1, MESSAGE_UPLOAD, OURS, 2, 9, ERR_REFUSED, no_right},
    {"a.key", 1, MESSAGE_WITHDRAW, OURS, 0, 0, ERR_REFUSED, no_right},
    {"a.key", 1, MESSAGE_PART, OURS, 2, 9, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_REQUEST, OURS, 0, 0, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_ALIVE, NONE, 0, 16, ERR_REFUSED, no_right},
    {"o0.key", 2, MESSAGE_PART, OURS, 2, 9, ERR_REFUSED, no_right},
    {"o0.key", 2, MESSAGE_FORWARD, OURS, 2, 9, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_LEDGER, NONE, 0, 8, ERR_REFUSED, no_right},
    {"s0.key", 2, MESSAGE_FORWARD, OURS, 2, 9, ERR_REFUSED, no_right},
    {"s2.key", 1, MESSAGE_FORWARD, OURS, 2, 9, ERR_REFUSED, no_right},
    {"s1.key", 2, MESSAGE_FORWARD, NONE, 2, 31, ERR_FORMAT, ""},
    {"s1.key", 2, MESSAGE_FORWARD, NONE, 2, 99, ERR_AGAIN, ""},
    {"s1.key", 2, MESSAGE_LEDGER, NONE, 0, 7, ERR_FORMAT, ""},
    {"s1.key", 2, MESSAGE_LEDGER, NONE, 0, 9, ERR_FORMAT, ""},
    {"s1.key", 2, MESSAGE_LEDGER, NONE, 9, 8, ERR_OK, ""}, /* it does not have so many */
    {"o0.key", 0, MESSAGE_UPLOAD, NONE, 0, 0, ERR_FORMAT, no_form},
    {"o0.key", 0, MESSAGE_UPLOAD, OURS, 0, 0, ERR_FORMAT, no_form},
    {"o0.key", 0, MESSAGE_UPLOAD, OURS, UPLOAD_VERSION, 1, ERR_FORMAT, no_form},
    {"o0.key", 0, MESSAGE_REPLACE, OURS, UPLOAD_VERSION, 500, ERR_FORMAT, no_form},
    {"o0.key", 0, MESSAGE_UPLOAD, OTHERS, UPLOAD_VERSION, 500, ERR_MISMATCH, other_terms},
    {"o0.key", 1, MESSAGE_PART, NONE, 0, 23, ERR_FORMAT, "a part is cut"},
    {"o0.key", 1, MESSAGE_PART, NONE, 0, 99, ERR_AGAIN,
     "the part does not follow what this server"},
    {"o0.key", 1, MESSAGE_WITHDRAW, OURS, 0, 1, ERR_FORMAT, "a withdrawal is cut"},
    {"o0.key", 1, MESSAGE_WITHDRAW, OTHERS, 0, 0, ERR_MISMATCH, other_terms},
    {"o0.key", 1, MESSAGE_WITHDRAW, OURS, 0, 0, ERR_OK, ""},
    {"a.key", 0, MESSAGE_REQUEST, NONE, 0, 3, ERR_FORMAT, "the request is cut"},
    {"a.key", 1, MESSAGE_REQUEST, NONE, 0, 23, ERR_FORMAT, "the request is cut"},
    {"a.key", 0, 0, NONE, 0, 48, ERR_REFUSED, no_right},
    {"a.key", 0, 5, NONE, 0, 48, ERR_REFUSED, no_right},
    {"a.key", 0, MESSAGE_KINDS, NONE, 0, 48, ERR_REFUSED, no_right},
    {"a.key", 0, UINT8_MAX, NONE, 0, 48, ERR_REFUSED, no_right},
    {"a.key", 0, MESSAGE_REPLACE, OURS, 2, 9, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_PIECE, OURS, 0, 0, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_TOKEN, NONE, 0, 9, ERR_REFUSED, no_right},
    {"s1.key", 0, MESSAGE_REQUEST, OURS, 0, 0, ERR_REFUSED, no_right},
    {"s1.key", 0, MESSAGE_UPLOAD, OURS, 2, 9, ERR_REFUSED, no_right},
    {"a.key", 0, MESSAGE_NOISE, OURS, 0, 33, ERR_REFUSED, no_right},
    {"o0.key", 0, MESSAGE_NOISE, OURS, 0, 16, ERR_FORMAT, "a block of noise is cut"},
    {"o0.key", 0, MESSAGE_NOISE, OTHERS, 0, 33, ERR_MISMATCH, other_terms},
    {"o0.key", 0, MESSAGE_NOISE, OURS, 1, 33, ERR_REFUSED, "in this study servers make the noise"},
    {"a.key", 2, MESSAGE_HEAD, NONE, 0, 3, ERR_FORMAT, ""},
    {"o0.key", 0, MESSAGE_STATUS, NONE, 0, 0, ERR_OK, ""}, /* anybody may ask */
    {"o0.key", 0, MESSAGE_PARCEL, OURS, 0, 99, ERR_REFUSED, no_right},
    {"a.key", 0, MESSAGE_REQUEST, NONE, 9, 99, ERR_FORMAT, "the request is of version 9, and this"},
    {"a.key", 0, MESSAGE_REQUEST, NONE, REQUEST_VERSION, 99, ERR_FORMAT, "the request is damaged"},
    {"a.key", 1, MESSAGE_REQUEST, NONE, REQUEST_VERSION, 99, ERR_FORMAT, "the request is damaged"},
};

TEST(every_kind_of_message_is_among_them)
{
    bool sent[UINT8_MAX + 1] = {false};
    for (size_t k = 0; k < sizeof odds / sizeof *odds; k++)
        sent[odds[k].kind] = true;
    for (size_t kind = 0; kind < MESSAGE_KINDS; kind++)
        if (!sent[kind])
            fail_msg("odds[] has no message of kind %zu", kind);
}

TEST(what_is_not_for_a_server_is_refused_in_words)
{
    struct messages_scene *c = *state;
    for (size_t k = 0; k < sizeof odds / sizeof *odds; k++) {
        const struct odd *o = &odds[k];
        static const uint8_t zeros[32];
        struct support_caller caller CLEAN(support_caller_free) = support_caller_new(&c->s, o->key,
                                                                                     o->server);
        support_caller_begin(&caller, o->kind);
        if (o->terms != NONE)
            bytes_put(&caller.message, o->terms == OURS ? c->s.study->terms.digest : zeros, 32);
        for (size_t i = 0; i < o->times; i++)
            bytes_put_u8(&caller.message, o->value);
        enum err e = support_call(&caller);
        if (e != o->e || strstr(caller.reply.text, o->says) == NULL)
            fail_msg("row %zu: %s: %s", k, error_text(e), caller.reply.text);
        assert_int_equal(caller.reply.kind, o->kind);
    }
}

TEST(merges_that_a_study_does_not_permit_are_refused_in_words)
{
    enum { BEYOND = 99 }; /* a column that no study here has */
    uint32_t group[2] = {0}, codes[BEYOND + 1] = {[BEYOND] = 2}, groups[] = {[BEYOND] = 1},
             *of[] = {[BEYOND] = group};
    struct merges merges = {
        .attributes = BEYOND + 1, .codes = codes, .groups = groups, .group = of};
    const struct request r = {.ask = {.kind = ASK_MEASURE, .merges = &merges}};
    struct messages_scene *c = *state;
    struct support_caller caller CLEAN(support_caller_free) = support_caller_new(&c->s, "a.key", 0);
    support_caller_begin(&caller, MESSAGE_REQUEST);
    for (unsigned i = 1; i < REQUEST_HEAD_SIZE; i++)
        bytes_put_u8(&caller.message, 0);
    OK(request_write(&r, &caller.message));
    assert_int_equal(support_call(&caller), ERR_REFUSED);
    support_says(caller.reply.text, "merges values that the study does not permit");
}

/* More than the worker can take: some are told so at once, and all get an answer. */
TEST(a_worker_that_is_busy_says_so)
{
    const struct request open = {.kind = REQUEST_OPEN, .run = {1}};
    struct messages_scene *c = *state;
    struct support_caller caller CLEAN(support_caller_free) = support_caller_new(&c->s, "a.key", 1);
    unsigned busy = 0, told = 0;
    for (unsigned k = 0; k < 600; k++) {
        support_caller_begin(&caller, MESSAGE_REQUEST);
        for (unsigned i = 1; i < REQUEST_HEAD_SIZE; i++)
            bytes_put_u8(&caller.message, (uint8_t)k);
        OK(request_write(&open, &caller.message));
        support_caller_send(&caller);
    }
    while (told == 0 || busy == 0) {
        enum err e = support_caller_hear(&caller);
        bool is_busy = strcmp(caller.reply.text, "this server is busy with other requests, or "
                                                 "about to end") == 0;
        assert_int_equal(e, is_busy ? ERR_AGAIN : ERR_TIMEOUT);
        busy += is_busy;
        told += strstr(caller.reply.text, "server 0 has not opened a session for the request") !=
                NULL;
    }
    assert_true(busy > 0);
}

/* --- an owner who says different things ------------------------------------------------------- */

struct owner {
    struct support_caller at[STUDY_SERVERS_MOST];
    struct upload part[3];
};

/* Its upload says that it is of the owner `of`. */
static void owner_new(struct owner *w, struct messages_scene *c, unsigned owner, unsigned of)
{
    const struct study *study = c->s.study;
    struct bytes packed CLEAN(bytes_clear) = {0};
    char key[16];
    snprintf(key, sizeof key, "o%u.key", owner);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        w->at[i] = support_caller_new(&c->s, key, i);
    memset(bytes_extend(&packed, study_upload_bytes(study, owner)), 0,
           study_upload_bytes(study, owner));
    OK(upload_make(w->part, &three_split, w->at[0].me, of, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   study, study_upload_form(study, owner), &packed));
}

static void owner_free(struct owner *w)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        support_caller_free(&w->at[i]);
        upload_clear(&w->part[i]);
    }
}

static void say_upload(struct owner *w, struct messages_scene *c, unsigned server)
{
    struct support_caller *at = &w->at[server];
    support_caller_begin(at, MESSAGE_UPLOAD);
    bytes_put(&at->message, c->s.study->terms.digest, 32);
    OK(upload_write(&w->part[server], server, false, &at->message));
    support_caller_send(at);
}

static enum err withdraw(struct owner *w, struct messages_scene *c, unsigned server)
{
    support_caller_begin(&w->at[server], MESSAGE_WITHDRAW);
    bytes_put(&w->at[server].message, c->s.study->terms.digest, 32);
    return support_call(&w->at[server]);
}

static enum err act(struct support_caller *caller, struct messages_scene *c, uint8_t kind)
{
    support_caller_begin(caller, kind);
    bytes_put(&caller->message, c->s.study->terms.digest, 32);
    for (unsigned i = 0; i < 33 && kind == MESSAGE_NOISE; i++)
        bytes_put_u8(&caller->message, 1);
    return support_call(caller);
}

/*
 * A network may hold back what an owner said until it has said it again on another connection, and
 * then something else.
 */
TEST(what_comes_late_on_an_earlier_connection_moves_nothing)
{
    static const uint8_t kinds[] = {MESSAGE_WITHDRAW, MESSAGE_NOISE, MESSAGE_PART};
    static const enum err heard[] = {ERR_OK, ERR_REFUSED, ERR_AGAIN};
    struct messages_scene *c = *state;
    struct support_caller earlier CLEAN(support_caller_free), later CLEAN(support_caller_free);
    earlier = support_caller_new(&c->s, "o0.key", 1);
    OK(act(&earlier, c, MESSAGE_STATUS));
    later = support_caller_new(&c->s, "o0.key", 1);
    OK(act(&later, c, MESSAGE_WITHDRAW));
    for (size_t k = 0; k < sizeof kinds; k++) {
        assert_int_equal(act(&earlier, c, kinds[k]), ERR_AGAIN);
        support_says(earlier.reply.text, "has acted on a later connection since");
        assert_int_equal(act(&later, c, kinds[k]), heard[k]);
        assert_null(strstr(later.reply.text, "later connection"));
    }
    OK(act(&earlier, c, MESSAGE_STATUS));
}

/*
 * What it told server 2 does not match the vector that it gave to server 1: both it and server 1
 * are told so.
 */
TEST(a_vector_that_does_not_fit_is_refused_for_good)
{
    struct messages_scene *c = *state;
    for (unsigned kind = 0; kind < 2; kind++) {
        struct owner w CLEAN(owner_free);
        owner_new(&w, c, kind, kind);
        if (kind == 0)
            w.part[2].commitment[2][5] ^= 1;
        else
            w.part[2].form = UPLOAD_RECORDS;
        say_upload(&w, c, 2); /* answered when the vector is there */
        say_upload(&w, c, 1);
        OK(support_caller_hear(&w.at[1]));
        assert_int_equal(support_caller_hear(&w.at[2]), kind == 0 ? ERR_DATA : ERR_FORMAT);
        assert_string_equal(w.at[2].reply.text,
                            "the vector from server 1 does not fit what came to this server");
        assert_true(support_wait_for(
            file(c, "server1.log"),
            kind == 0 ? "server 2 refused the vector of o0 for good: it does not fit"
                      : "server 2 refused the vector of o1 for good: it does not fit",
            10));
        for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
            OK(withdraw(&w, c, i));
    }
}

/*
 * Who learned from a server the id of another's upload cannot have it taken at the other servers
 * first, however well the rest fits: the id has its owner in it.
 */
TEST(an_id_is_taken_from_its_owner_alone)
{
    struct messages_scene *c = *state;
    struct owner w CLEAN(owner_free), thief CLEAN(owner_free);
    owner_new(&w, c, 0, 0);
    owner_new(&thief, c, 1, 0);
    for (unsigned i = STUDY_SERVERS_MOST;
         i-- > 0;) { /* server 2 knows of it when the vector comes */
        OK(upload_check(&thief.part[i], i, c->s.study->terms.digest));
        say_upload(&thief, c, i);
        assert_int_equal(support_caller_hear(&thief.at[i]), ERR_DATA);
        support_says(thief.at[i].reply.text, "or is made for another owner");
        say_upload(&w, c, i);
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        OK(support_caller_hear(&w.at[i]));
        assert_string_equal(w.at[i].reply.text, "stored");
    }
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(withdraw(&w, c, i));
}

static enum err say_part(struct owner *w, uint64_t first, const uint8_t *p, size_t n)
{
    support_caller_begin(&w->at[1], MESSAGE_PART);
    bytes_put(&w->at[1].message, w->part[1].id, UPLOAD_ID_SIZE);
    bytes_put_u64(&w->at[1].message, first);
    bytes_put(&w->at[1].message, p, n);
    return support_call(&w->at[1]);
}

/* How many bytes of the vector server 1 reports. */
static uint64_t held(const struct owner *w)
{
    struct reader in = reader_of(w->at[1].reply.payload, w->at[1].reply.size);
    (void)reader_u8(&in);
    return reader_u64(&in);
}

TEST(parts_that_do_not_fit_begin_anew)
{
    struct messages_scene *c = *state;
    struct owner w CLEAN(owner_free);
    owner_new(&w, c, 0, 0);
    const uint8_t *p = w.part[1].vector.data;
    size_t n = w.part[1].vector.size;
    w.part[1].whole = false;
    say_upload(&w, c, 1);
    OK(support_caller_hear(&w.at[1]));
    assert_true(held(&w) == 0 && w.at[1].reply.payload[0] == 0);
    OK(say_part(&w, 0, p, 5));
    assert_true(held(&w) == 5);
    assert_int_equal(say_part(&w, 0, p, 5), ERR_AGAIN);
    assert_true(held(&w) == 5);
    assert_int_equal(say_part(&w, 5, p, n), ERR_FORMAT);
    assert_string_equal(w.at[1].reply.text, "the part is empty, or longer than the upload");
    assert_int_equal(say_part(&w, 5, p, 0), ERR_FORMAT);
    assert_int_equal(say_part(&w, 5, p + 4, n - 5), ERR_DATA); /* off by one */
    assert_string_equal(
        w.at[1].reply.text,
        "the parts do not make up what the upload committed to, or are malformed; they begin anew");
    assert_true(held(&w) == 0);
    OK(say_part(&w, 0, p, n));
    assert_true(w.at[1].reply.payload[0] == 1);
    OK(withdraw(&w, c, 1));
}

/*
 * A vector that server 1 can no longer read does not hold up the others, and its owner can withdraw
 * it.
 */
TEST(a_damaged_vector_keeps_no_other_from_server_2)
{
    struct messages_scene *c = *state;
    struct owner w[OWNERS];
    char sql[96];
    for (unsigned i = 0; i < OWNERS; i++) {
        owner_new(&w[i], c, i, i);
        say_upload(&w[i], c, 1);
        OK(support_caller_hear(&w[i].at[1]));
    }
    /* in the order of ids it comes before the other */
    unsigned first = memcmp(w[0].part[1].id, w[1].part[1].id, UPLOAD_ID_SIZE) < 0 ? 0 : 1;
    snprintf(sql, sizeof sql,
             "UPDATE uploads SET sealed = zeroblob(length(sealed)) WHERE owner = %u", first);
    support_alter(&c->s, 1, sql);
    for (unsigned i = 0; i < OWNERS; i++)
        say_upload(&w[i], c, 2);
    OK(support_caller_hear(&w[1 - first].at[2]));
    assert_string_equal(w[1 - first].at[2].reply.text, "stored");
    snprintf(sql, sizeof sql, "the upload of owner %u on disk does not unseal", first);
    assert_true(support_wait_for(file(c, "server1.log"), sql, 10));
    /* the owner is told that the disk is to blame, not their words */
    say_upload(&w[first], c, 1);
    assert_int_equal(support_caller_hear(&w[first].at[1]), ERR_AUTH);
    assert_string_equal(
        w[first].at[1].reply.text,
        "the server could not store the upload; its operator should look at its log");
    assert_int_equal(say_part(&w[first], 0, w[first].part[1].vector.data, 5), ERR_AUTH);
    assert_string_equal(
        w[first].at[1].reply.text,
        "the server could not store the upload; its operator should look at its log");
    for (unsigned i = 0; i < OWNERS; i++) {
        for (unsigned k = 1; k < STUDY_SERVERS_MOST; k++)
            OK(withdraw(&w[i], c, k));
        owner_free(&w[i]);
    }
}

MAIN(support_run_tests(scene_new, scene_free))
