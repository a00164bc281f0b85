/*
 * The owner's end: servers that cheat or are confused (parties/owner/courier.c), which the test
 * plays itself; what they hold, in words (server_status.c); the terms that a key remembers
 * (pin.c); the secret beside it (owner_secret.c); and the book of budgets (book.c).
 */
#include "harness/cmocka.h"

#include "aim/budget/budget.h"
#include "harness/process.h"
#include "parties/exchange/price.h"
#include "parties/owner/book.h"
#include "parties/owner/courier.h"
#include "parties/owner/owner_secret.h"
#include "parties/owner/pack.h"
#include "parties/owner/pin.h"
#include "parties/settings/three/split.h"
#include "tests/support/command.h"
#include "tests/support/gates.h"

#include <stdatomic.h>

#define VECTOR (2 * MESSAGE_PART_MAX + 1000) /* goes in three parts */

enum owner_cheat {
    NONE,
    SHORT,         /* an answer too short */
    LONG,          /* too long */
    NO_ANSWER,     /* bytes that are not an answer */
    FORGED,        /* a signature of something else */
    MUTE,          /* a refusal without a message */
    OTHER_TERMS,   /* a list of parts that is cut */
    NOT_COMPLETE,  /* everything has arrived, and it refuses */
    HELD_TOO_MUCH, /* more of the vector than there is */
    STANDS_STILL,  /* it takes a part, and has no more than before */
    MISSES_ONCE,   /* a part that does not follow; then it goes on */
    MISSES_ALWAYS,
    FORGETS,      /* it says this about a part: a key has to show its token again */
    OTHER_UPLOAD, /* withdrawn was another one */
    NOTHING,      /* and that there was none */
    OTHER_OWNERS, /* a study of more owners */
    /* of the ledger, whose head was last seen at 5 debits */
    GROWN,       /* continues it: not a cheat */
    PUT_BACK,    /* is shorter */
    REWRITTEN,   /* is longer, and was another */
    OTHER_END,   /* is as long, and ends otherwise */
    HEAD_FORGED, /* is not signed */
    HEAD_CUT,
    OTHER_QUESTION /* is about a different length than was asked for */
};

struct owner_scene {
    struct support_study s;
    struct identity *me, *server[STUDY_SERVERS_MOST];
    struct gates *gates;
    struct upload parts[STUDY_SERVERS_MOST];
    uint8_t digest[32];
    atomic_uint cheat, who; /* and which of the three cheats */
    atomic_uint misses;
    atomic_ullong held;
    FILE *out;
    struct progress progress;
    struct courier *courier;
    struct witness witness;
    char words[4096];
    struct log log;
};

/* --- three servers ---------------------------------------------------------------------------- */

static void put_statement(struct owner_scene *c, unsigned i, enum receipt_state state, bool forged,
                          struct bytes *out)
{
    struct receipt r = {.state = state};
    memcpy(r.digest, c->digest, sizeof r.digest);
    r.digest[0] ^= forged;
    OK(receipt_sign(c->s.study, c->server[i], &r, &r.part[i]));
    receipt_part_write(&r.part[i], out);
}

/* For an upload, and for its parts at server 1. */
static enum err take(struct owner_scene *c, unsigned i, enum owner_cheat cheat,
                     const struct bytes *message, struct bytes *payload)
{
    bool part = message->data[0] == MESSAGE_PART, complete;
    enum err e = ERR_OK;
    if (part && cheat == MISSES_ALWAYS)
        e = ERR_AGAIN;
    else if (part && cheat == MISSES_ONCE && atomic_fetch_add(&c->misses, 1) == 0)
        e = ERR_AGAIN;
    else if (part && cheat != STANDS_STILL)
        atomic_fetch_add(&c->held, message->size - 1 - UPLOAD_ID_SIZE - 8);
    complete = (i != 1 || atomic_load(&c->held) == VECTOR) && cheat != NOT_COMPLETE;
    bytes_put_u8(payload, complete);
    bytes_put_u64(payload, cheat == HELD_TOO_MUCH ? VECTOR : atomic_load(&c->held));
    if (complete)
        put_statement(c, i, RECEIPT_HELD, cheat == FORGED, payload);
    return e;
}

static void withdrawn(struct owner_scene *c, unsigned i, enum owner_cheat cheat,
                      struct bytes *payload)
{
    uint8_t digest[32];
    memcpy(digest, c->digest, sizeof digest);
    digest[0] ^= cheat == OTHER_UPLOAD;
    bytes_put_u8(payload, cheat != NOTHING);
    bytes_put(payload, digest, sizeof digest);
    put_statement(c, i, RECEIPT_WITHDRAWN, cheat == OTHER_UPLOAD || cheat == FORGED, payload);
}

static void status(const struct owner_scene *c, enum owner_cheat cheat, struct bytes *payload)
{
    const struct upload_entry nothing = {.state = UPLOAD_NOTHING};
    bytes_put_u32(payload, 1);
    bytes_put_u8(payload, 0);
    bytes_put_u32(payload, (uint32_t)c->s.study->owners + (cheat == OTHER_OWNERS));
    for (size_t k = 0; k < c->s.study->owners; k++)
        upload_entry_put(payload, &nothing);
}

/* A ledger whose head after n debits is n everywhere; another one with `fork`. */
static struct head_at ledger_at(uint64_t n, uint8_t fork)
{
    struct head_at at = {.length = n};
    if (n > 0)
        memset(at.hash, (int)(n + fork), sizeof at.hash);
    return at;
}

static void head(const struct owner_scene *c, unsigned i, enum owner_cheat cheat,
                 const struct bytes *message, struct bytes *out)
{
    struct reader in = reader_of(message->data + 1, message->size - 1);
    const uint8_t *terms = reader_bytes(&in, 32);
    uint64_t seen = reader_u64(&in);
    struct head h = {.ledger = ledger_at(5, 0), .past = ledger_at(seen, 0)};
    struct bytes payload CLEAN(bytes_clear) = {0};
    if (cheat == GROWN)
        h.ledger = ledger_at(7, 0);
    if (cheat == PUT_BACK) {
        h.ledger = ledger_at(3, 0);
        h.past = (struct head_at){.length = seen};
    }
    if (cheat == REWRITTEN) {
        h.ledger = ledger_at(9, 100);
        h.past = ledger_at(seen, 100);
    }
    if (cheat == OTHER_END)
        h.ledger = ledger_at(5, 100);
    OK(reader_done(&in));
    assert_memory_equal(terms, c->s.study->terms.digest, 32);
    h.past.length += cheat == OTHER_QUESTION;
    OK(head_sign(c->s.study, c->server[i], i, &h));
    h.log.length += cheat == HEAD_FORGED;
    head_put(&payload, &h);
    payload.size -= cheat == HEAD_CUT;
    OK(reply_write(MESSAGE_HEAD, ERR_OK, "", payload.data, payload.size, out));
}

static void answer(void *self, unsigned i, const struct bytes *message, struct bytes *out)
{
    struct owner_scene *c = self;
    enum owner_cheat cheat = atomic_load(&c->who) == i ? (enum owner_cheat)atomic_load(&c->cheat)
                                                       : NONE;
    struct bytes payload CLEAN(bytes_clear) = {0};
    enum err e = ERR_OK;
    uint8_t kind = message->data[0];
    if (kind == MESSAGE_HEAD) {
        head(c, i, cheat, message, out);
        return;
    }
    if (cheat == NO_ANSWER) {
        bytes_put_u8(out, 77);
        return;
    }
    if (kind == MESSAGE_WITHDRAW)
        withdrawn(c, i, cheat, &payload);
    else if (kind == MESSAGE_STATUS)
        status(c, cheat, &payload);
    else
        e = take(c, i, cheat, message, &payload);
    payload.size -= cheat == SHORT;
    if (cheat == FORGETS && kind == MESSAGE_PART) {
        e = ERR_AGAIN;
        payload.size = 0;
    }
    if (cheat == LONG)
        bytes_put_u8(&payload, 0);
    if (cheat == MUTE)
        e = ERR_DATA;
    if (cheat == OTHER_TERMS) {
        e = ERR_MISMATCH;
        payload.size = 0;
        bytes_put_string(&payload, "study");
        bytes_put(&payload, c->digest, 32);
        bytes_put_string(&payload, "domain"); /* and no digest */
    }
    OK(reply_write(kind, e, e == ERR_DATA ? "" : "no", payload.data, payload.size, out));
}

/* --- the owner -------------------------------------------------------------------------------- */

/* What is known of ledgers is what this file says. */
static void witness_anew(struct owner_scene *c, const char *heads)
{
    c->witness = (struct witness){.study = c->s.study, .log = &c->log};
    OK(witness_add(&c->witness, file(c, "%s", heads)));
}

static void scene_new(struct owner_scene *c)
{
    struct bytes packed CLEAN(bytes_clear) = {0};
    uint8_t *p = bytes_extend(&packed, VECTOR);
    memset(c, 0, sizeof *c);
    c->log = (struct log){.buffer = c->words, .buffer_size = sizeof c->words, .level = LOG_WARN};
    c->s = STUDY(&c->log, .owners = 2, .connect_s = support_slow(5), .round_s = support_slow(5));
    OK(identity_load(&c->me, file(c, "o0.key"), &c->log));
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        OK(identity_load(&c->server[i], file(c, "s%u.key", i), &c->log));
    assert_non_null(p);
    OK(upload_make(c->parts, &three_split, c->me, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   c->s.study, UPLOAD_RECORDS, &packed));
    upload_digest(&c->parts[0], c->s.study->terms.digest, c->digest);
    gates_new(&c->gates, &c->s, &c->me->public, answer, c);
    witness_anew(c, "heads");
    c->out = fopen(file(c, "said"), "w");
    assert_non_null(c->out);
    c->progress = progress_start(c->out, c->s.study, 0);
}

static void scene_free(struct owner_scene *c)
{
    gates_free(&c->gates);
    fclose(c->out);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        upload_clear(&c->parts[i]);
        identity_free(&c->server[i]);
    }
    identity_free(&c->me);
    support_study_free(&c->s);
}

static void meet(struct owner_scene *c, unsigned who, enum owner_cheat cheat)
{
    const struct courier_options o = {.study = c->s.study,
                                      .me = c->me,
                                      .witness = &c->witness,
                                      .progress = &c->progress,
                                      .log = &c->log};
    atomic_store(&c->who, who);
    atomic_store(&c->cheat, cheat);
    atomic_store(&c->held, 0);
    atomic_store(&c->misses, 0);
    c->words[0] = '\0';
    OK(courier_new(&c->courier, &o));
}

TEST(an_upload_to_servers_that_cheat)
{
    static const struct {
        unsigned who;
        enum owner_cheat cheat;
        enum err expected;
        const char *words;
    } cases[] = {
        {0, NONE, ERR_OK, ""},
        {0, SHORT, ERR_FORMAT,
         "server 0 (s0): its answer does not fit; check that it has this study"},
        {1, LONG, ERR_FORMAT, "server 1 (s1): its answer does not fit"},
        {0, NO_ANSWER, ERR_MISMATCH, "server 0 (s0): "},
        {0, FORGED, ERR_AUTH, "server 0 (s0) has not signed this"},
        {2, FORGED, ERR_AUTH, "server 2 (s2) has not signed this"},
        {0, MUTE, ERR_DATA, "server 0 (s0): "},
        {1, OTHER_TERMS, ERR_MISMATCH,
         "server 1 (s1): it has other terms than your study file, which was refused: study, "
         "retain_days, title, description, purpose, licence, contact; ask whoever keeps the file "
         "which is right"},
        {2, NOT_COMPLETE, ERR_AGAIN,
         "server 2 (s2): no; what it already has is kept: run the same command"},
        {1, HELD_TOO_MUCH, ERR_FORMAT, "server 1 (s1): its answer does not fit"},
        {1, STANDS_STILL, ERR_FORMAT, "server 1 (s1): its answer does not fit"},
        {1, MISSES_ONCE, ERR_OK, ""},
        {1, MISSES_ALWAYS, ERR_AGAIN, "server 1 (s1): no; what it already has is kept"},
        {1, FORGETS, ERR_AGAIN, "server 1 (s1): no; what it already has is kept"},
    };
    struct owner_scene c CLEAN(scene_free);
    scene_new(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct receipt receipt;
        meet(&c, cases[i].who, cases[i].cheat);
        assert_int_equal(courier_upload(c.courier, c.parts, false, &receipt), cases[i].expected);
        support_says(c.words, cases[i].words);
        assert_ptr_equal(strchr(c.words, '\n'), strrchr(c.words, '\n')); /* one line */
        if (cases[i].expected == ERR_OK)
            OK(receipt_verify(c.s.study, &receipt, &c.log));
        courier_free(&c.courier);
    }
}

TEST(a_withdrawal_from_servers_that_cheat)
{
    static const struct {
        unsigned who;
        enum owner_cheat cheat;
        enum err expected;
        bool whole;
        const char *words;
    } cases[] = {
        {0, NONE, ERR_OK, true, ""},
        {1, OTHER_UPLOAD, ERR_OK, false, ""},
        {2, OTHER_UPLOAD, ERR_OK, false, ""},
        {1, NOTHING, ERR_OK, false, ""},
        {1, FORGED, ERR_AUTH, false, "server 1 (s1) has not signed this"},
        {2, SHORT, ERR_FORMAT, false, "server 2 (s2): its answer does not fit"},
        {0, LONG, ERR_FORMAT, false, "server 0 (s0): its answer does not fit"},
    };
    struct owner_scene c CLEAN(scene_free);
    scene_new(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct receipt receipt;
        bool whole = false;
        meet(&c, cases[i].who, cases[i].cheat);
        assert_int_equal(courier_withdraw(c.courier, &receipt, &whole), cases[i].expected);
        assert_int_equal(whole, cases[i].whole);
        support_says(c.words, cases[i].words);
        courier_free(&c.courier);
    }
}

TEST(the_status_of_servers_that_cheat)
{
    static const struct {
        enum owner_cheat cheat;
        const char *words;
    } cases[] = {
        {NONE, ""},
        {SHORT, "server 1 (s1): its answer does not fit"},
        {LONG, "server 1 (s1): its answer does not fit"},
        {OTHER_OWNERS, "server 1 (s1): its answer does not fit"},
        {MUTE, "server 1 (s1): "},
    };
    struct owner_scene c CLEAN(scene_free);
    scene_new(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server_status status[STUDY_SERVERS_MOST];
        meet(&c, 1, cases[i].cheat);
        OK(courier_status(c.courier, status));
        for (unsigned k = 0; k < STUDY_SERVERS_MOST; k++) {
            assert_int_equal(status[k].answered, k != 1 || cases[i].cheat == NONE);
            server_status_clear(&status[k]);
        }
        support_says(c.words, cases[i].words);
        courier_free(&c.courier);
    }
}

/* --- their ledgers ---------------------------------------------------------------------------- */

/* All of them were last seen at 5 debits; then server 1 has another ledger. */
TEST(a_ledger_that_was_put_back_is_refused)
{
    static const struct {
        enum owner_cheat cheat;
        enum err expected;
        const char *words;
    } cases[] = {
        {NONE, ERR_OK, ""},
        {PUT_BACK, ERR_MISMATCH,
         " that its privacy ledger had 5 debits; now it signs that it has 3;"},
        {REWRITTEN, ERR_MISMATCH, " had 5 debits; now it signs another ledger, of 9; an old copy"},
        {OTHER_END, ERR_MISMATCH, " had 5 debits; now it signs another ledger, of 5; an old copy"},
        {HEAD_FORGED, ERR_AUTH, "server 1 (s1): it did not sign what it says about its ledger"},
        {HEAD_CUT, ERR_FORMAT, "server 1 (s1): its answer does not fit"},
        {OTHER_QUESTION, ERR_FORMAT, "server 1 (s1): its answer does not fit"},
        {GROWN, ERR_OK, ""},
        {NONE, ERR_MISMATCH, " had 7 debits; now it signs that it has 5;"},
    };
    struct owner_scene c CLEAN(scene_free);
    struct bytes text CLEAN(bytes_clear) = {0};
    unsigned kept = 0;
    scene_new(&c);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct server_status status[STUDY_SERVERS_MOST];
        struct receipt receipt;
        meet(&c, 1, cases[i].cheat);
        assert_int_equal(courier_upload(c.courier, c.parts, false, &receipt), cases[i].expected);
        support_says(c.words, cases[i].words);
        enum err e = courier_status(c.courier, status);
        assert_int_equal(e, cases[i].expected == ERR_MISMATCH ? ERR_MISMATCH : ERR_OK);
        for (unsigned k = 0; k < STUDY_SERVERS_MOST; k++)
            server_status_clear(&status[k]);
        courier_free(&c.courier);
        /* and the next time, from the file */
        c.words[0] = '\0';
        witness_anew(&c, "heads");
        assert_string_equal(c.words, "");
    }
    /* an owner who has withdrawn from such servers needs that all the more */
    meet(&c, 1, PUT_BACK);
    bool whole;
    struct receipt receipt;
    OK(courier_withdraw(c.courier, &receipt, &whole));
    courier_free(&c.courier);
    /* both signatures are kept */
    OK(file_read(file(&c, "heads"), 1 << 20, &text, &c.log));
    bytes_put_u8(&text, 0);
    for (char *line = strtok((char *)text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct head h;
        unsigned server;
        const char *told = strncmp(line, "against ", 8) == 0 ? line + 8 : NULL;
        if (told != NULL)
            OK(head_parse(c.s.study, told, &server, &h));
        kept += told != NULL && server == 1 && h.ledger.length != 7;
    }
    assert_int_equal(kept, 8);
}

/*
 * Lines that were cut or altered count for nothing, are reported, and do not get in the way of
 * later ones.
 */
TEST(what_was_kept_of_ledgers_is_read_with_care)
{
    struct owner_scene c CLEAN(scene_free);
    struct bytes text CLEAN(bytes_clear) = {0};
    struct head h = {.ledger = ledger_at(6, 0), .past = ledger_at(5, 0)};
    scene_new(&c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        struct head first = {.ledger = ledger_at(5, 0)};
        OK(head_sign(c.s.study, c.server[i], i, &first));
        OK(witness_take(&c.witness, i, &first, &c.log));
        assert_int_equal(witness_debits(&c.witness, i), 5);
    }
    OK(file_read(file(&c, "heads"), 1 << 20, &text, &c.log));
    size_t end = text.size;
    for (size_t k = 0; k < end; k++) {
        struct witness w = {.study = c.s.study, .log = &c.log};
        unsigned known = 0;
        c.words[0] = '\0';
        text.data[k] ^= 1;
        OK(file_write(file(&c, "altered"), 0600, text.data, end, &c.log));
        OK(witness_add(&w, file(&c, "altered")));
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
            known += witness_debits(&w, i) == 5;
        assert_true(known >= 1);
        /* a comment; of another study; or no longer a statement */
        assert_true(known > 1 || strstr(c.words, "this is not what a server has signed") != NULL);
        text.data[k] ^= 1;
    }
    /* cut in its last line; the next one begins on a new line */
    OK(file_write(file(&c, "heads"), 0600, text.data, end - 20, &c.log));
    c.words[0] = '\0';
    witness_anew(&c, "heads");
    support_says(c.words, "heads:5: this is not what a server has signed: it was cut or altered");
    assert_int_equal(witness_debits(&c.witness, 1), 5);
    assert_int_equal(witness_debits(&c.witness, 2), 0);
    OK(head_sign(c.s.study, c.server[1], 1, &h));
    OK(witness_take(&c.witness, 1, &h, &c.log));
    witness_anew(&c, "heads");
    assert_int_equal(witness_debits(&c.witness, 1), 6);
    /* what cannot be stored is reported, and ends nothing; what cannot be read does */
    witness_anew(&c, "no/heads");
    h.past = ledger_at(0, 0);
    OK(head_sign(c.s.study, c.server[1], 1, &h));
    OK(witness_take(&c.witness, 1, &h, &c.log));
    support_says(c.words, "a ledger that is put back may go unnoticed");
    assert_int_equal(witness_add(&c.witness, file(&c, ".")), ERR_SYSTEM);
}

/* --- what they hold, in words ----------------------------------------------------------------- */

TEST(what_is_held_is_told_in_words)
{
    struct upload_entry entry[STUDY_SERVERS_MOST][3] = {{{0}}};
    struct server_status status[STUDY_SERVERS_MOST];
    char words[4096] = "";
    FILE *out = fmemopen(words, sizeof words, "w");
    assert_non_null(out);
    struct support_study s CLEAN(support_study_free) = STUDY(&quiet, .owners = 3,
                                                             .more = "retain_days: 30\n");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        status[i] = (struct server_status){.answered = true, .roster = 1 + i, .entry = entry[i]};
        entry[i][0] = (struct upload_entry){.state = UPLOAD_COMPLETE,
                                            .digest = {(uint8_t)(i == 2)}};
        entry[i][1] = (struct upload_entry){.state = i == 0 ? UPLOAD_WITHDRAWN : UPLOAD_INCOMPLETE,
                                            .time = 1000000000,
                                            .bytes = 5000};
    }
    server_status_describe(out, s.study, &three_split, status);
    fclose(out);
    EACH(support_says, words, "Server 0, s0: roster 1; no run has begun",
         "Server 1, s1: roster 2 (this file has another); no run has begun",
         "o0                   the servers hold different uploads: run share --replace",
         "o1                   incomplete\n", "    server 0 (s0) has deleted it: withdrawn\n",
         "    server 1 (s1) has 5000 bytes of it\n",
         "    server 2 (s2) waits until server 1 has passed it on\n",
         "o2                   nothing yet\n", "retain_days were over on 2001-10-09",
         "A run leaves out what is not alike and complete");
    for (const char *line = words; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
}

/* More rows than an owner may have are packed in neither form, and nothing of them remains. */
TEST(more_rows_than_agreed_are_not_packed)
{
    struct domain *columns CLEAN(domain_free) = NULL;
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed = {0};
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 1);
    OK(pack_domain(&columns, s.study, 0));
    OK(support_table(&t, columns, s.study->owner[0].max_rows + 1, 1));
    assert_int_equal(pack_table(s.study, 0, UPLOAD_RECORDS, t, &packed), ERR_DATA);
    assert_int_equal(pack_table(s.study, 0, s.study->owner[0].bits, t, &packed), ERR_DATA);
    assert_int_equal(packed.size, 0);
}

/* --- what a key remembers --------------------------------------------------------------------- */

static bool is_pinned(const char *key, const struct study *study, const char *print)
{
    bool known;
    OK(pin_check(key, study, print, &known, NULL));
    return known;
}

/* A study under the same name with other terms, and one under another name. */
TEST(pins_are_replaced_and_kept)
{
    static const char other_name[] = "study: other\n";
    struct study *changed CLEAN(study_free) = NULL, *other CLEAN(study_free) = NULL;
    char said[2048] = "", expected[1024];
    struct words_text print[3];
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    struct bytes text CLEAN(bytes_clear) = {0};
    bool known = true;
    struct support_study s CLEAN(support_study_free) = STUDY(&log, .owners = 1);
    const char *key = support_path(&s, "o0.key");
    const char *pins = support_path(&s, "o0.pins");
    assert_true(support_edit(s.path, support_path(&s, "changed.yaml"),
                             (const char *const[]){"rounds: 3", "rounds: 4", NULL}));
    assert_true(support_edit(s.path, support_path(&s, "other.yaml"),
                             (const char *const[]){"study: test\n", other_name, NULL}));
    OK(study_load(&changed, support_path(&s, "changed.yaml"), &log));
    OK(study_load(&other, support_path(&s, "other.yaml"), &log));
    print[0] = study_fingerprint(s.study);
    print[1] = study_fingerprint(changed);
    print[2] = study_fingerprint(other);
    assert_false(is_pinned(key, s.study, NULL));
    OK(pin_set(key, s.study, &log));
    OK(pin_set(key, other, &log));
    assert_true(is_pinned(key, s.study, NULL));
    assert_int_equal(pin_check(key, changed, NULL, &known, &log), ERR_MISMATCH);
    support_says(said, "this key knows the study test by other terms");
    assert_false(is_pinned(key, changed, print[1].text));
    OK(pin_set(key, changed, &log)); /* replaces the first */
    OK(file_read(pins, 4096, &text, &log));
    bytes_put_u8(&text, 0);
    snprintf(expected, sizeof expected, "(trefoil share).\nother %s\ntest %s\n", print[2].text,
             print[1].text);
    support_says((const char *)text.data, expected);
    /* a last line that an editor left without a line end */
    OK(file_write(pins, 0600, text.data, text.size - 2, &log));
    assert_true(is_pinned(key, changed, NULL));
    OK(pin_set(key, other, &log));
    assert_true(is_pinned(key, changed, NULL));
    assert_true(is_pinned(key, other, NULL));
}

TEST(pins_that_cannot_be_read_or_written_are_told)
{
    char said[2048] = "", key[SUPPORT_PATH], path[FILE_PATH], longer[FILE_PATH + 8];
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    bool known;
    struct support_study s CLEAN(support_study_free) = STUDY(&log, .owners = 1);
    OK(pin_beside("here/key", ".pins", path, &log));
    assert_string_equal(path, "here/key.pins");
    OK(pin_beside("here/a.key", ".pins", path, &log));
    assert_string_equal(path, "here/a.pins");
    OK(pin_beside(".key", ".pins", path, &log));
    assert_string_equal(path, ".key.pins");
    memset(longer, 'x', sizeof longer);
    longer[FILE_PATH - 5] = '\0';
    assert_int_equal(pin_check(longer, s.study, NULL, &known, &log), ERR_SYSTEM);
    support_says(said, "this path is too long");
    support_study_file(&s, "o0.key", key);
    assert_int_equal(mkdir(support_path(&s, "o0.pins"), 0700), 0);
    said[0] = '\0';
    GIVES(pin_check(key, s.study, NULL, &known, &log), ERR_SYSTEM, said, "o0.pins: Is a directory");
    assert_int_equal(pin_set(key, s.study, &log), ERR_SYSTEM);
    support_says(said, "the terms cannot be remembered beside the key; give them each time");
    assert_int_equal(rmdir(support_path(&s, "o0.pins")), 0);
}

/* --- the book of budgets ---------------------------------------------------------------------- */

/* For a study of that name, all under the same terms. */
static struct book_entry entry(const char *study, enum book_state state, double epsilon)
{
    struct book_entry e = {.state = state,
                           .time = 1800000000,
                           .epsilon = epsilon,
                           .delta = 1e-6,
                           .epsilon_slack = 1e-3,
                           .delta_slack = 1e-9};
    snprintf(e.study, sizeof e.study, "%s", study);
    snprintf(e.terms.text, sizeof e.terms.text, "ABCDE-ABCDE-ABCDE-ABCDE-ABCDE-ABCDE");
    e.rho = budget_rho(ACCOUNTING_ZCDP, epsilon - e.epsilon_slack, 0.998e-6);
    return e;
}

static void in_book(const char *path, const char *study, enum book_state state, double epsilon)
{
    const struct book_entry e = entry(study, state, epsilon);
    OK(book_add(path, &e, NULL));
}

static struct book_sum sum_of(const char *path, const struct book_entry *but,
                              const struct book_entry *also)
{
    struct book b CLEAN(book_clear) = {0};
    OK(book_load(&b, path, NULL));
    return book_add_up(&b, but, also);
}

TEST(a_book_counts_each_study_once)
{
    const struct book_entry one = entry("one", BOOK_SENT, 1), other = entry("other", BOOK_SENT, 1);
    struct book_entry changed = one;
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 1);
    const char *path = support_path(&s, "o0.book");
    assert_int_equal(sum_of(path, NULL, NULL).studies, 0);
    assert_true(sum_of(path, NULL, NULL).epsilon <= 0);
    /* begun, sent and replaced: one study, with its own promise */
    in_book(path, "one", BOOK_BEGUN, 1);
    assert_int_equal(sum_of(path, NULL, NULL).studies, 1);
    in_book(path, "one", BOOK_SENT, 1);
    in_book(path, "one", BOOK_SENT, 1);
    struct book_sum sum = sum_of(path, NULL, NULL);
    assert_int_equal(sum.studies, 1);
    assert_true(sum.rho == one.rho && sum.delta == 1e-6);
    assert_true(sum.epsilon <= 1 && sum.epsilon > 0.999);
    assert_int_equal(sum_of(path, &one, NULL).studies, 0);
    assert_int_equal(sum_of(path, &one, &one).studies, 1);
    /* other terms are another study, and so is another name */
    changed.terms.text[0] = 'B';
    OK(book_add(path, &changed, NULL));
    assert_int_equal(sum_of(path, NULL, NULL).studies, 2);
    assert_int_equal(sum_of(path, &one, &other).studies, 2);
    changed.state = BOOK_WITHDRAWN;
    OK(book_add(path, &changed, NULL));
    in_book(path, "third", BOOK_REFUSED, 5);
    assert_int_equal(sum_of(path, NULL, NULL).studies, 1);
    /*
     * four studies of epsilon 1 add up to less than 4, because what is left of delta is converted
     */
    for (unsigned i = 0; i < 3; i++)
        in_book(path, ((const char *const[]){"x", "y", "z"})[i], BOOK_SENT, 1);
    sum = sum_of(path, NULL, NULL);
    assert_int_equal(sum.studies, 4);
    assert_true(sum.delta > 3.99e-6 && sum.delta < 4.01e-6);
    assert_true(sum.epsilon > 1.8 && sum.epsilon < 2.2);
    assert_true(budget_rho(ACCOUNTING_ZCDP, sum.epsilon - 4e-3, (4e-6 - 4e-9) * exp(-2e-3)) >=
                4 * one.rho);
    /* withdrawn and sent again, it counts again */
    in_book(path, "x", BOOK_WITHDRAWN, 1);
    assert_int_equal(sum_of(path, NULL, NULL).studies, 3);
    in_book(path, "x", BOOK_SENT, 1);
    assert_int_equal(sum_of(path, NULL, NULL).studies, 4);
}

/* What noise misses costs 1 + e^epsilon times as much, with the epsilon of all studies together. */
TEST(slack_grows_with_the_sum)
{
    const struct book_entry one = entry("one", BOOK_SENT, 3);
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 1);
    const char *path = support_path(&s, "o0.book");
    for (unsigned i = 0; i < 8; i++)
        in_book(path, (const char[]){(char)('a' + i), '\0'}, BOOK_SENT, 3);
    const struct book_sum sum = sum_of(path, NULL, NULL);
    const double slack = 8e-9 * (1 + exp(sum.epsilon)) / (1 + exp(3));
    assert_true(sum.studies == 8 && sum.epsilon < 10);
    assert_true(budget_rho(ACCOUNTING_ZCDP, sum.epsilon - 8e-3, (8e-6 - slack) * exp(-4e-3)) >=
                8 * one.rho);
}

/* Also where a keeper decrypts rows, for which a delta is set aside that no request spends. */
TEST(a_books_line_gives_what_its_study_promises)
{
    static const char *const part[] = {"    max_rows: 3000\n    as: records\n"};
    struct ledger_limits limits;
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 1, .two = true,
                                                             .epsilon = 3, .part = part);
    OK(price_limits(s.study, &limits, NULL));
    const struct book_entry e = book_entry_of(s.study, &limits, BOOK_SENT);
    const double rho = budget_rho(s.study->accounting, e.epsilon - e.epsilon_slack,
                                  (e.delta - e.delta_slack) * exp(-e.epsilon_slack / 2));
    assert_true(rho >= e.rho && rho < e.rho + 0x1p-36);
}

/* Replaces `find`, and returns the result of reading that. */
static enum err book_edited(const struct support_study *s, const char *find, const char *by,
                            char said[2048])
{
    struct log log = {.buffer = said, .buffer_size = 2048, .level = LOG_ERROR};
    struct book b CLEAN(book_clear) = {0};
    said[0] = '\0';
    assert_true(support_edit(support_path(s, "book"), support_path(s, "edited"),
                             (const char *const[]){find, by, NULL}));
    enum err e = book_load(&b, support_path(s, "edited"), &log);
    assert_true(e == ERR_OK || b.entries == 0);
    return e;
}

TEST(a_book_that_is_damaged_is_refused_by_its_line)
{
    static const char *const damage[][2] = {
        {"Z sent two ", "Z spent two "},
        {" two ", " TWO "},
        {"2027-01-15T08:00:00Z sent two", "2027-01-15 08:00:00Z sent two"},
        {"ABCDE epsilon 2", "ABCD epsilon 2"},
        {"epsilon 2 ", "epsilon 2.0 "},
        {"epsilon 2 ", "epsilon -2 "},
        {"epsilon 2 ", "epsilon nan "},
        {"epsilon 2 ", ""},
        {"epsilon 2 ", "epsilon 2  "},
        {"epsilon 2 ", "\n"},
    };
    struct bytes text CLEAN(bytes_clear) = {0};
    struct book b CLEAN(book_clear) = {0};
    LOG_INTO(log, said, LOG_ERROR);
    unsigned taken = 0;
    struct support_study s CLEAN(support_study_free) = STUDY(NULL, .owners = 1);
    const char *path = support_path(&s, "book");
    in_book(path, "one", BOOK_SENT, 1);
    in_book(path, "two", BOOK_SENT, 2);
    OK(book_edited(&s, " two ", " three ", said));
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        assert_int_equal(book_edited(&s, damage[i][0], damage[i][1], said), ERR_STUDY);
        support_says(said, "edited:5: this is not an entry of a book of budgets");
        support_says(said, "share with that study again");
    }
    assert_int_equal(book_edited(&s, "trefoil-book-1", "trefoil-book-2", said), ERR_FORMAT);
    support_says(said, "edited is of a later trefoil: its format is trefoil-book-2");
    assert_int_equal(book_edited(&s, "trefoil-book-1", "trefoil-boot-1", said), ERR_STUDY);
    support_says(said, "edited:3: \"format trefoil-book-1\" should stand before this line");
    /* cut anywhere except after a line, it is refused */
    OK(file_read(path, 4096, &text, NULL));
    for (size_t n = 0; n < text.size; n++) {
        const bool whole = n == 0 || text.data[n - 1] == '\n';
        const enum err e = book_parse(&b, "cut", text.data, n, NULL);
        assert_int_equal(e, whole ? ERR_OK : ERR_STUDY);
        taken += e == ERR_OK;
        book_clear(&b);
    }
    assert_int_equal(taken, 5);
    /*
     * a line that a crash has cut stays an error when more is written, and never takes another with
     * it
     */
    OK(file_write(path, 0600, text.data, text.size - 9, NULL));
    in_book(path, "three", BOOK_SENT, 1);
    GIVES(book_load(&b, path, &log), ERR_STUDY, said, "book:5: this is not an entry");
    file_says(path, "\n2027-01-15T08:00:00Z sent three ");
}

/* --- the secret beside a key ------------------------------------------------------------------ */

static enum err load_edited(const struct support_study *s, const char *find, const char *by,
                            struct log *log)
{
    uint8_t *secret = NULL;
    assert_true(support_edit(support_path(s, "secret"), support_path(s, "edited"),
                             (const char *const[]){find, by, NULL}));
    assert_int_equal(chmod(support_path(s, "edited"), 0600), 0);
    enum err e = owner_secret_load(&secret, support_path(s, "edited"), s->study, log);
    assert_null(secret);
    return e;
}

TEST(a_secret_is_made_once_and_only_a_whole_one_is_taken)
{
    LOG_INTO(log, said, LOG_ERROR);
    uint8_t *again = NULL, *first CLEAN(secret_release) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    struct support_study s CLEAN(support_study_free) = STUDY(&log, .owners = 1);
    const char *path = support_path(&s, "secret");
    OK(owner_secret_load(&first, path, s.study, &log));
    assert_null(first);
    OK(owner_secret_take(&first, path, s.study, &log));
    OK(owner_secret_take(&again, path, s.study, &log));
    assert_memory_equal(first, again, UPLOAD_SECRET_SIZE);
    secret_free(&again);
    OK(owner_secret_load(&again, path, s.study, &log));
    assert_memory_equal(first, again, UPLOAD_SECRET_SIZE);
    secret_free(&again);
    OK(owner_secret_take(&again, support_path(&s, "other"), s.study, &log));
    assert_memory_not_equal(first, again, UPLOAD_SECRET_SIZE);
    secret_free(&again);
    assert_string_equal(said, "");
    assert_int_equal(load_edited(&s, "study test\n", "study toast\n", &log), ERR_STUDY);
    support_says(said, "or is not the secret of the study test; put a copy of it in its place");
    assert_int_equal(load_edited(&s, "secret-1", "secret-2", &log), ERR_FORMAT);
    assert_int_equal(load_edited(&s, "\nsecret ", "\nsecret  ", &log), ERR_STUDY);
    assert_int_equal(load_edited(&s, "\nsecret ", "\nsecret", &log), ERR_STUDY);
    OK(file_read(path, 4096, &text, &log));
    for (size_t n = 0; n < text.size; n++) {
        OK(file_write(path, 0600, text.data, n, &log));
        assert_int_equal(owner_secret_take(&again, path, s.study, &log), ERR_STUDY);
        assert_null(again);
    }
    text.data[text.size - 5] = '+'; /* not in base64url */
    OK(file_write(path, 0600, text.data, text.size, &log));
    assert_int_equal(owner_secret_take(&again, path, s.study, &log), ERR_STUDY);
    assert_int_equal(owner_secret_take(&again, support_path(&s, "no/secret"), s.study, &log),
                     ERR_SYSTEM);
}
