/*
 * Parcels at real servers, with sealing keys: what owners seal and anybody carries counts as if the
 * owner had sent it, in the owner's order, and nothing else does.
 */
#include "tests/support/caller.h"
#include "tests/support/scene.h"

#include "base/date.h"
#include "parties/owner/pack.h"
#include "parties/owner/parcel.h"
#include "parties/owner/serial.h"
#include "parties/settings/three/split.h"

#define BIG 1 /* the owner whose vector comes in three parts */
static const char *const sizes[] = {"    max_rows: 2000\n",
                                    "    max_rows: 2000\n    as: records\n    pad_to: 400000\n",
                                    "    max_rows: 2000\n"};
#define SEALED(...)                                                                                \
    OPTIONS(.owners = 3, .rounds = 1, .epsilon = 40, .seals = true, .part = sizes, __VA_ARGS__)

/* `share` for an owner, with options at the end. */
#define SHARE(c, code, owner, ...)                                                                 \
    EXPECT(code, file(c, "share.log"), 60, "share", (c)->s.path, "--key",                          \
           file(c, "o%u.key", owner), __VA_ARGS__)
#define SEND(c, code, parcel)                                                                      \
    EXPECT(code, file(c, "send.log"), 60, "send", (c)->s.path, parcel, "--retries", "0")

/* What a file says after a word, until the eighth call from here. */
static const char *value_of(const char *path, const char *word)
{
    static char lines[8][512];
    static unsigned next;
    struct bytes text CLEAN(bytes_clear) = {0};
    char *line = lines[next++ % 8], *value;
    OK(file_read(path, 1 << 20, &text, &quiet));
    bytes_put_u8(&text, 0);
    value = text_value((char *)text.data, word);
    assert_non_null(value);
    snprintf(line, sizeof lines[0], "%.*s", (int)strcspn(value, "\n"), value);
    return line;
}

static void load_parcel(struct scene *c, const char *path, struct parcel *p)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    OK(file_read(path, PARCEL_MAX, &b, &quiet));
    OK(parcel_parse(p, c->s.study, path, &b, &quiet));
}

/* --- as people do it -------------------------------------------------------------------------- */

/* The receipt names the commitments to all bytes, so the two uploads have the same. */
TEST(a_carried_upload_is_the_one_that_share_sends)
{
    struct scene c CLEAN(scene_free) = scene_new(SEALED(.lanes = 1));
    const char *parcel = file(&c, "a.parcel"), *carried = file(&c, "carried"),
               *sent = file(&c, "sent");
    SHARE(&c, 0, BIG, file(&c, "o1.csv"), "--to", parcel);
    file_says(file(&c, "o1.book"), "begun");
    assert_int_equal(support_stop(&c.server[2]), 0);
    SEND(&c, 4, parcel); /* servers 0 and 1 have all of it now */
    file_says(file(&c, "send.log"), "server 1 (s1) has taken it");
    SHARE(&c, 4, BIG, "--keep", parcel);
    file_says(file(&c, "share.log"), "server 2 (s2) has not taken the parcel yet");
    restart_server(&c, 2, c.s.path);
    SEND(&c, 0, parcel);
    file_says(file(&c, "send.log"), "server 1 (s1) had taken it before");
    SHARE(&c, 0, BIG, "--keep", parcel, "--receipt", carried);
    file_says(file(&c, "o1.book"), "sent");
    SHARE(&c, 0, BIG, file(&c, "o1.csv"), "--receipt", sent); /* the servers hold it already */
    assert_string_equal(value_of(carried, "upload"), value_of(sent, "upload"));
    EXPECT(0, file(&c, "check.log"), 10, "check", c.s.path, "--receipt", carried);
    assert_int_equal(share_own(&c, 0), 0);
    assert_int_equal(share_own(&c, 2), 0);
    expect_code(run_study(&c, "a.key", 0), 0, file(&c, "run0.log"));
    check_measurements(&c, file(&c, "out0/measurements.json"), 6);
}

TEST(send_goes_on_where_it_was_cut)
{
    struct scene c CLEAN(scene_free) = scene_new(SEALED(.lanes = 1));
    const char *parcel = file(&c, "a.parcel"), *answers = file(&c, "a.parcel.answers"),
               *copy = file(&c, "copy");
    struct parcel p CLEAN(parcel_clear) = {0};
    struct bytes whole CLEAN(bytes_clear) = {0};
    SHARE(&c, 0, BIG, file(&c, "o1.csv"), "--to", parcel);
    load_parcel(&c, parcel, &p);
    assert_int_equal(p.blocks[1], PARCEL_PARTS + 3);
    struct support_caller x CLEAN(support_caller_free) = support_caller_new(
        &c.s, "a.key", 1); /* anybody; here, the analyst */
    for (size_t k = 0; k <= PARCEL_PARTS; k++) {
        size_t n;
        const uint8_t *block = parcel_block(&p, 1, k, &n);
        support_caller_begin(&x, MESSAGE_PARCEL);
        bytes_put(&x.message, block, n);
        OK(support_call(&x));
    }
    SEND(&c, 0, parcel);
    OK(file_read(answers, PARCEL_MAX, &whole, &quiet));
    for (size_t n = 1; n < whole.size; n += whole.size / 4) {
        assert_int_equal(truncate(answers, (off_t)n), 0);
        SEND(&c, 0, parcel);
        file_says(file(&c, "send.log"), "is damaged, or of another parcel");
    }
    SHARE(&c, 0, BIG, "--keep", parcel);
    OK(support_copy(parcel, copy));
    assert_int_equal(truncate(copy, (off_t)p.file.size - 1), 0);
    SEND(&c, 6, copy);
    file_says(file(&c, "send.log"), "is no parcel, or it is cut");
}

/* The clock was a half day fast when the parcel was made, and is right again. */
TEST(a_fast_clock_does_not_undo_a_withdrawal)
{
    struct scene c CLEAN(scene_free) = scene_new(SEALED(.lanes = 1));
    const char *parcel = file(&c, "a.parcel"), *path = file(&c, "o0.test.serial");
    struct serial fast = {.last = 1000 * (uint64_t)(date_now() + 43200)};
    OK(serial_save(&fast, path, &quiet));
    SHARE(&c, 0, 0, file(&c, "o0.csv"), "--to", parcel);
    SHARE(&c, 0, 0, "--withdraw");
    SEND(&c, 5, parcel);
    file_says(file(&c, "send.log"), "has taken a later upload or withdrawal of this owner");
    SHARE(&c, 3, 0, "--keep", parcel);
    file_says(file(&c, "share.log"), "is not the last that this key has sealed");
    SHARE(&c, 0, 0, file(&c, "o0.csv"), "--to", parcel);
    SEND(&c, 0, parcel);
    SHARE(&c, 0, 0, "--keep", parcel);
    SHARE(&c, 0, 0, "--withdraw", "--to", file(&c, "b.parcel"));
    SEND(&c, 0, file(&c, "b.parcel"));
    SHARE(&c, 0, 0, "--keep", file(&c, "b.parcel"));
    file_says(file(&c, "o0.book"), "withdrawn");
    file_says(file(&c, "o0.test.receipt"), "state withdrawn");
    SEND(&c, 0, parcel); /* by its answers it was taken .. */
    assert_int_equal(unlink(file(&c, "a.parcel.answers")), 0);
    SEND(&c, 5, parcel); /* .. but is not taken again */
}

#define OPEN_OWNERS_SIZE (IDENTITY_TEXT_SIZE + 80)

/* An issuer of tokens and somebody for one; `more`: what a study says that takes them. */
static void new_guest(struct identity **issuer, struct identity **guest,
                      char more[OPEN_OWNERS_SIZE])
{
    char key[IDENTITY_TEXT_SIZE];
    OK(secret_start());
    OK(identity_new(issuer, &quiet));
    OK(identity_new(guest, &quiet));
    public_identity_text(&(*issuer)->public, key);
    snprintf(more, OPEN_OWNERS_SIZE,
             "min_owners: 1\nopen_owners: {issuer: %s, max: 9, max_rows: 40}\n", key);
}

/* An owner whom a token admits has its token in each block, also where it sends them itself. */
TEST(owners_by_token_may_have_parcels)
{
    struct identity *issuer CLEAN(identity_free) = NULL, *guest CLEAN(identity_free) = NULL;
    char more[OPEN_OWNERS_SIZE], text[TOKEN_TEXT_SIZE];
    struct token t;
    new_guest(&issuer, &guest, more);
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1, .seals = true, .more = more));
    OK(identity_save(guest, file(&c, "g.key"), false, &quiet));
    OK(token_make(&t, c.s.study, issuer, 4, guest->public.sign));
    token_text(&t, text);
    OK(file_write(file(&c, "tokens"), 0600, text, strlen(text), &quiet));
    const char *parcel = file(&c, "g.parcel");
    const char *data = file(&c, "g.csv");
    OK(support_csv(data, c.s.study->domain, 30, 5));
    for (unsigned direct = 0; direct < 2; direct++) {
        EXPECT(0, file(&c, "share.log"), 60, "share", c.s.path, data, "--key", file(&c, "g.key"),
               "--token", file(&c, "tokens"), direct == 0 ? "--to" : NULL, parcel);
        if (direct == 0)
            SEND(&c, 0, parcel);
    }
    file_says(file(&c, "token.4.test.receipt"), "state held");
    EXPECT(0, file(&c, "share.log"), 60, "share", c.s.path, "--key", file(&c, "g.key"), "--token",
           file(&c, "tokens"), "--withdraw");
    file_says(file(&c, "token.4.test.receipt"), "state withdrawn");
}

/* A provider and a keeper; and the operator's part. */
TEST(two_servers_take_parcels_and_delete_their_keys)
{
    struct scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1, .seals = true, .two = true));
    const char *parcel = file(&c, "a.parcel"), *key = file(&c, "s0.key"),
               *folder = file(&c, "server0"), *seal = file(&c, "s0.seal");
    SHARE(&c, 0, 0, file(&c, "o0.csv"), "--to", parcel);
    SEND(&c, 0, parcel);
    SHARE(&c, 0, 0, "--keep", parcel);
    file_says(file(&c, "o0.test.receipt"), "state held");
    assert_int_equal(support_stop(&c.server[0]), 0);
    EXPECT(2, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder);
    EXPECT(2, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder,
           "--purge");
    file_says(file(&c, "serve.log"),
              "name the file of this server's with --sealing, to be deleted");
    EXPECT(3, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder,
           "--sealing", key, "--purge");
    assert_true(file_is_there(key)); /* it is no sealing key, so it was left alone */
    EXPECT(2, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder",
           file(&c, "another"), "--sealing", seal, "--purge");
    file_says(file(&c, "serve.log"), "name the folder with which this server has run");
    assert_true(file_is_there(seal)); /* the uploads were not there */
    EXPECT(0, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder,
           "--sealing", file(&c, "another"), "--purge");
    file_says(file(&c, "serve.log"), "there is no sealing key");
    for (unsigned again = 0; again < 3; again++) {
        if (again == 2) /* as a crash leaves it that came between its two steps */
            OK(file_write(seal, 0600, (const char[396]){0}, 396, &quiet));
        EXPECT(0, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder,
               "--sealing", seal, "--purge");
        assert_false(file_is_there(seal));
        assert_true(file_is_there(file(&c, "server0/purge.txt")));
    }
    EXPECT(0, file(&c, "keygen.log"), 10, "keygen", seal, "--sealing", key, c.s.path);
    file_says(file(&c, "keygen.log"), "    sealing: trefoil-sealing1-");
    EXPECT(3, file(&c, "serve.log"), 10, "serve", c.s.path, "--key", key, "--folder", folder,
           "--sealing", seal);
    file_says(file(&c, "serve.log"), "is not the sealing key that the study lists for s0");
}

/* --- block by block --------------------------------------------------------------------------- */

struct blocks {
    struct scene c;
    struct identity *me, *other;
    struct upload parts[3], changed[3]; /* of owner 0 */
    struct support_caller to;           /* a stranger, at server 0 */
    uint64_t now;
};

static void make_upload(struct blocks *b, uint64_t seed, struct upload parts[3])
{
    const struct study *study = b->c.s.study;
    const unsigned form = study_upload_form(study, 0);
    struct table *t CLEAN(table_free) = NULL;
    struct bytes packed CLEAN(bytes_clear) = {0};
    OK(support_table(&t, study->domain, 100, seed));
    OK(pack_table(study, 0, form, t, &packed));
    OK(upload_make(parts, &three_split, b->me, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1}, study,
                   form, &packed));
}

static void blocks_free(struct blocks *b)
{
    for (unsigned i = 0; i < 3; i++) {
        upload_clear(&b->parts[i]);
        upload_clear(&b->changed[i]);
    }
    identity_free(&b->me);
    identity_free(&b->other);
    support_caller_free(&b->to);
    scene_free(&b->c);
}

static struct blocks blocks_new(const char *more)
{
    struct blocks b = {.c = scene_without_servers(SEALED(.more = more)),
                       .now = 1000 * (uint64_t)date_now()};
    start_server(&b.c, 0, b.c.s.path);
    OK(identity_load(&b.me, file(&b.c, "o0.key"), &quiet));
    OK(identity_load(&b.other, file(&b.c, "o2.key"), &quiet));
    struct identity *stranger CLEAN(identity_free) = MADE(identity, identity_new, &quiet);
    OK(identity_save(stranger, file(&b.c, "x.key"), true, &quiet));
    b.to = support_caller_new(&b.c.s, "x.key", 0);
    OK(dial_watch(b.to.dial));
    make_upload(&b, 1, b.parts);
    make_upload(&b, 2, b.changed);
    return b;
}

/* What the server answers, which it has signed; ERR_PEER: it has cut the connection. */
static enum err bring(struct blocks *b, const struct bytes *block)
{
    const int64_t ms = support_patience_ms(10);
    struct support_caller *x = &b->to;
    uint8_t digest[32];
    sealed_digest(block->data, block->size, digest);
    support_caller_begin(x, MESSAGE_PARCEL);
    bytes_put(&x->message, block->data, block->size);
    enum err e = dials_ask(x->dial, &x->message, &x->reply, ms, ms);
    if (e != ERR_OK) { /* as a courier does */
        dial_free(&x->dial);
        OK(dials_new(&x->dial, x->netio, b->c.s.study, x->me, 0, &quiet));
        OK(dial_watch(x->dial));
        return e;
    }
    assert_non_null(x->reply.signature);
    OK(sealed_check_answer(b->c.s.study, 0, digest, &x->message, &x->reply));
    assert_int_not_equal(x->reply.size == 0, x->reply.status == ERR_OK);
    return x->reply.status;
}

/* The same for a message that owner `me` seals. */
static enum err seal_and_bring(struct blocks *b, const struct identity *me, uint64_t serial,
                               const struct bytes *message)
{
    const struct sealed_from from = {.study = b->c.s.study, .me = me, .serial = serial};
    struct bytes block CLEAN(bytes_clear) = {0};
    OK(sealed_make(&from, 0, message, &block));
    return bring(b, &block);
}

static enum err upload(struct blocks *b, const struct identity *me, uint64_t serial,
                       const struct upload parts[3], bool replace)
{
    struct bytes m CLEAN(bytes_clear) = {0};
    OK(parcel_put_upload(b->c.s.study, &parts[0], 0, replace, &m));
    return seal_and_bring(b, me, serial, &m);
}

static enum err withdraw(struct blocks *b, uint64_t serial)
{
    struct bytes m CLEAN(bytes_clear) = {0};
    OK(parcel_put_withdraw(b->c.s.study, &m));
    return seal_and_bring(b, b->me, serial, &m);
}

TEST(acts_count_in_their_order)
{
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    const uint64_t day = 86400 * 1000;
    assert_int_equal(upload(&b, b.me, b.now + 2 * day, b.parts, false), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, UINT64_C(1) << 63, b.parts, false), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, b.now - 31 * day, b.parts, false), ERR_REFUSED);
    OK(upload(&b, b.me, b.now, b.parts, false));
    OK(upload(&b, b.me, b.now, b.parts, false)); /* the same again */
    assert_int_equal(upload(&b, b.me, b.now, b.parts, true), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, b.now, b.changed, false), ERR_REFUSED);
    assert_int_equal(withdraw(&b, b.now), ERR_REFUSED);
    /* what is refused moves nothing */
    assert_int_equal(upload(&b, b.me, b.now + 9, b.changed, false), ERR_REFUSED);
    OK(upload(&b, b.me, b.now + 2, b.changed, true));
    assert_int_equal(upload(&b, b.me, b.now + 2, b.parts, true), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, b.now, b.parts, true), ERR_REFUSED);
    OK(withdraw(&b, b.now + 4));
    assert_int_equal(upload(&b, b.me, b.now, b.parts, false), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, b.now + 2, b.changed, true), ERR_REFUSED);
    restart_server(&b.c, 0, b.c.s.path); /* it is on disk */
    assert_int_equal(upload(&b, b.me, b.now + 3, b.parts, false), ERR_REFUSED);
    OK(upload(&b, b.me, b.now + 5, b.parts, false));
}

/* Whoever carries or issues tokens has those of others. */
TEST(a_token_is_good_for_blocks_of_its_key_alone)
{
    struct identity *issuer CLEAN(identity_free) = NULL, *guest CLEAN(identity_free) = NULL;
    char more[OPEN_OWNERS_SIZE];
    struct bytes m CLEAN(bytes_clear) = {0}, block CLEAN(bytes_clear) = {0};
    struct token t;
    new_guest(&issuer, &guest, more);
    struct blocks b CLEAN(blocks_free) = blocks_new(more);
    OK(token_make(&t, b.c.s.study, issuer, 4, guest->public.sign));
    OK(parcel_put_withdraw(b.c.s.study, &m));
    for (unsigned own = 0; own < 2; own++) {
        const struct sealed_from from = {
            .study = b.c.s.study, .me = own == 0 ? issuer : guest, .token = &t, .serial = b.now};
        block.size = 0;
        OK(sealed_make(&from, 0, &m, &block));
        assert_int_equal(bring(&b, &block), own == 0 ? ERR_PEER : ERR_OK);
    }
}

/* Whose rows they are is in the seal: nobody sends another's as its own, or for another server. */
TEST(what_its_owner_did_not_seal_for_this_server_is_cut)
{
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    struct bytes m CLEAN(bytes_clear) = {0}, block CLEAN(bytes_clear) = {0};
    struct token t = {.number = 0};
    struct identity *nobody CLEAN(identity_free) = NULL, *analyst CLEAN(identity_free) = NULL;
    OK(identity_new(&nobody, &quiet));
    struct study other = *b.c.s.study;
    other.terms.digest[0] ^= 1;
    struct sealed_from from = {.study = &other, .me = b.me, .serial = b.now};
    OK(parcel_put_upload(&other, &b.parts[0], 0, false, &m));
    OK(sealed_make(&from, 0, &m, &block));
    assert_int_equal(bring(&b, &block), ERR_PEER); /* of another study */
    other.terms.digest[0] ^= 1;
    block.size = m.size = 0;
    OK(parcel_put_upload(&other, &b.parts[0], 0, false, &m));
    memcpy(other.server[1].sealing.key, other.server[0].sealing.key, 32);
    OK(sealed_make(&from, 1, &m, &block));
    assert_int_equal(bring(&b, &block), ERR_PEER); /* to another server, and sealed to this one */
    assert_int_equal(seal_and_bring(&b, nobody, b.now, &m), ERR_PEER);
    memcpy(nobody->public.sign, b.me->public.sign, 32);
    assert_int_equal(seal_and_bring(&b, nobody, b.now, &m), ERR_PEER); /* signed by another */
    memcpy(nobody->public.sign, nobody->sign_secret + 32, 32);
    OK(identity_load(&analyst, file(&b.c, "a.key"), &quiet));
    assert_int_equal(seal_and_bring(&b, analyst, b.now, &m), ERR_PEER); /* no owner at all */
    bytes_set(&block, (const uint8_t[]){MESSAGE_NOISE}, 1);
    assert_int_equal(seal_and_bring(&b, b.me, b.now, &block), ERR_PEER); /* nobody carries that */
    memcpy(t.sign, nobody->public.sign, 32);
    from = (struct sealed_from){.study = &other, .me = nobody, .token = &t, .serial = b.now};
    block.size = 0;
    OK(sealed_make(&from, 0, &m, &block));
    assert_int_equal(bring(&b, &block), ERR_PEER); /* by a token that nobody has issued */
    for (unsigned k = 0; k < 5; k++) {
        from = (struct sealed_from){.study = &other, .me = b.me, .serial = b.now};
        block.size = 0;
        OK(sealed_make(&from, 0, &m, &block));
        block.data[k * (block.size - 1) / 4] ^= 0x40;
        assert_int_equal(bring(&b, &block), ERR_PEER);
    }
    /* signed by another owner as its own: the id says whose it is */
    assert_int_equal(upload(&b, b.other, b.now, b.parts, false), ERR_DATA);
    OK(upload(&b, b.me, b.now, b.parts, false));
    file_says(file(&b.c, "server0.log"), "no owner has sealed what it sent");
}

TEST(bare_messages_change_nothing)
{
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    struct support_caller own CLEAN(support_caller_free) = support_caller_new(&b.c.s, "o0.key", 0);
    struct bytes m CLEAN(bytes_clear) = {0};
    OK(upload(&b, b.me, b.now, b.parts, false));
    for (unsigned k = 0; k < 3; k++) {
        m.size = 0;
        OK(k == 0 ? parcel_put_withdraw(b.c.s.study, &m)
                  : parcel_put_upload(b.c.s.study, &b.changed[0], 0, k == 2, &m));
        bytes_set(&own.message, m.data, m.size);
        GIVES(support_call(&own), ERR_REFUSED, own.reply.text, "come sealed");
    }
    OK(withdraw(&b, b.now + 1));
    assert_int_equal(b.to.reply.payload[0], 1); /* it was there */
}

/* Server 0 with the next roster, signed, which lists its sealing key or does not. */
static void start_amended(struct blocks *b, unsigned version, bool seals)
{
    const char *const amended = file(&b->c, "amended.yaml");
    struct study_sealing *key = &b->c.s.study->server[0].sealing;
    char number[40], line[SEALING_TEXT_SIZE + 16];
    uint8_t raw[sizeof key->key + sizeof key->signature];
    memcpy(raw, key->key, sizeof key->key);
    memcpy(raw + sizeof key->key, key->signature, sizeof key->signature);
    text_put_base64(line, "sealing: trefoil-sealing1-", raw, sizeof raw);
    snprintf(number, sizeof number, "roster: %u\nstudy:", version);
    assert_true(
        support_edit(b->c.s.path, amended,
                     (const char *const[]){"study:", number, seals ? NULL : line, "", NULL}));
    for (unsigned i = 0; i < 3; i++)
        EXPECT(0, file(&b->c, "sign.log"), 10, "roster", "sign", amended, "--key",
               file(&b->c, "s%u.key", i));
    key->given = seals;
    restart_server(&b->c, 0, amended);
}

TEST(a_bare_withdrawal_is_not_undone_once_there_are_sealing_keys_again)
{
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    struct bytes m CLEAN(bytes_clear) = {0};
    OK(upload(&b, b.me, b.now, b.parts, false));
    start_amended(&b, 2, false);
    struct support_caller own CLEAN(support_caller_free) = support_caller_new(&b.c.s, "o0.key", 0);
    OK(parcel_put_withdraw(b.c.s.study, &m));
    bytes_set(&own.message, m.data, m.size);
    OK(support_call(&own));
    start_amended(&b, 3, true);
    support_caller_free(&b.to); /* strangers were not admitted */
    b.to = support_caller_new(&b.c.s, "x.key", 0);
    OK(dial_watch(b.to.dial));
    assert_int_equal(upload(&b, b.me, b.now, b.parts, false), ERR_REFUSED);
    assert_int_equal(upload(&b, b.me, b.now + 2, b.parts, false), ERR_REFUSED); /* held back */
    OK(upload(&b, b.me, 1000 * (uint64_t)date_now() + 1000, b.parts, false));
}

/* A thief of the old key file has the signing key, which a renewed identity keeps. */
TEST(a_renewed_identity_whose_key_is_revoked_seals_nothing)
{
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    char text[IDENTITY_TEXT_SIZE], more[IDENTITY_TEXT_SIZE + 32];
    struct identity *old CLEAN(identity_free) = MADE(identity, identity_renew, b.me, 0, &quiet);
    public_identity_text(&old->public, text);
    snprintf(more, sizeof more, "revoked: [%s]\nstudy:", text);
    const char *amended = file(&b.c, "amended.yaml");
    assert_true(support_edit(b.c.s.path, amended, (const char *const[]){"study:", more, NULL}));
    OK(upload(&b, b.me, b.now, b.parts, false));
    assert_int_equal(rename(file(&b.c, "server0"), file(&b.c, "before")), 0);
    restart_server(&b.c, 0, amended);
    GIVES(withdraw(&b, b.now + 1), ERR_REFUSED, b.to.reply.text, "revokes a key of this identity");
}

/* --- parts ------------------------------------------------------------------------------------ */

TEST(a_part_counts_only_for_its_upload)
{
    struct scene c CLEAN(scene_free) = scene_without_servers(SEALED(.lanes = 1));
    const char *path[] = {file(&c, "a.parcel"), file(&c, "b.parcel")};
    struct parcel p[2];
    const struct {
        unsigned parcel, block;
        enum err answer;
    } step[] = {{0, 2, ERR_REFUSED}, {0, 1, ERR_OK},      {0, 2, ERR_OK}, {1, 1, ERR_OK},
                {0, 3, ERR_REFUSED}, {0, 1, ERR_REFUSED}, {1, 2, ERR_OK}, {1, 4, ERR_AGAIN}};
    start_server(&c, 1, c.s.path);
    SHARE(&c, 0, BIG, file(&c, "o1.csv"), "--to", path[0]);
    SHARE(&c, 0, BIG, file(&c, "o0.csv"), "--replace", "--to", path[1]);
    for (unsigned k = 0; k < 2; k++)
        load_parcel(&c, path[k], &p[k]);
    struct support_caller x CLEAN(support_caller_free) = support_caller_new(&c.s, "a.key", 1);
    for (unsigned k = 0; k < sizeof step / sizeof *step; k++) {
        size_t n;
        const uint8_t *block = parcel_block(&p[step[k].parcel], 1, step[k].block, &n);
        support_caller_begin(&x, MESSAGE_PARCEL);
        bytes_put(&x.message, block, n);
        assert_int_equal(support_call(&x), step[k].answer);
    }
    for (unsigned k = 0; k < 2; k++)
        parcel_clear(&p[k]);
}

/* --- crowds ----------------------------------------------------------------------------------- */

static void carry(struct support_caller *x, const struct bytes *block)
{
    support_caller_begin(x, MESSAGE_PARCEL);
    bytes_put(&x->message, block->data, block->size);
    support_caller_send(x);
}

/* Each is cut, and owners are served all the time: their own messages, and others' parcels. */
TEST(keys_that_send_junk_keep_nobody_out)
{
    enum { KEYS = 64 };
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    struct support_caller own CLEAN(support_caller_free) = support_caller_new(&b.c.s, "o1.key", 0);
    for (unsigned k = 0; k < KEYS; k++) {
        struct support_caller junk CLEAN(support_caller_free);
        struct identity *id CLEAN(identity_free) = MADE(identity, identity_new, &quiet);
        OK(identity_save(id, file(&b.c, "junk.key"), true, &quiet));
        junk = support_caller_new(&b.c.s, "junk.key", 0);
        for (unsigned i = 0; i < 4; i++) {
            support_caller_begin(&junk, MESSAGE_PARCEL);
            (void)bytes_extend(&junk.message, MESSAGE_PART_MAX);
            support_caller_send(&junk);
        }
        support_caller_begin(&own, MESSAGE_STATUS);
        OK(support_call(&own));
    }
    OK(upload(&b, b.me, b.now, b.parts, false));
}

/*
 * More blocks that owner 2 has sealed than a server answers: owner 1 is heard all the time, and
 * what strangers carry for owner 0 comes late, but is taken.
 */
TEST(ten_thousand_blocks_at_once_keep_nobody_out)
{
    enum { CARRIERS = 50, EACH_BRINGS = 200, LATE = 500 };
    struct blocks b CLEAN(blocks_free) = blocks_new(NULL);
    struct support_caller own CLEAN(support_caller_free), carrier[CARRIERS];
    struct bytes block[2] = {{0}, {0}};
    for (unsigned k = 0; k < 2; k++) {
        const struct sealed_from from = {
            .study = b.c.s.study, .me = k == 0 ? b.other : b.me, .serial = b.now};
        struct bytes message CLEAN(bytes_clear) = {0};
        OK(parcel_put_upload(from.study, &b.parts[0], 0, false, &message));
        OK(sealed_make(&from, 0, &message, &block[k]));
    }
    own = support_caller_new(&b.c.s, "o1.key", 0);
    for (unsigned k = 0; k < CARRIERS; k++) {
        struct identity *id CLEAN(identity_free) = MADE(identity, identity_new, &quiet);
        OK(identity_save(id, file(&b.c, "carrier.key"), true, &quiet));
        carrier[k] = support_caller_new(&b.c.s, "carrier.key", 0);
    }
    for (unsigned i = 0; i < CARRIERS * EACH_BRINGS; i++) {
        carry(&carrier[i % CARRIERS], &block[0]);
        if (i % LATE == LATE - 1) {
            support_caller_begin(&own, MESSAGE_STATUS);
            OK(support_call(&own));
        }
    }
    for (const double end = support_deadline(60);;) {
        carry(&b.to, &block[1]);
        if (support_caller_hear(&b.to) != ERR_AGAIN)
            break;
        assert_true(support_again(end));
    }
    OK(b.to.reply.status);
    for (unsigned k = 0; k < CARRIERS; k++)
        support_caller_free(&carrier[k]);
    for (unsigned k = 0; k < 2; k++)
        bytes_clear(&block[k]);
}
