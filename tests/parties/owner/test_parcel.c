/*
 * Sealing keys and parcels, without servers: their files, what is refused of them, and why; and
 * what a carrier does whose answers are cut.
 */
#include "harness/cmocka.h"
#include "harness/process.h"

#include "parties/owner/courier.h"
#include "parties/owner/parcel.h"
#include "parties/owner/serial.h"
#include "parties/server/parcels.h"
#include "parties/settings/three/split.h"
#include "parties/study/roster.h"
#include "tests/support/gates.h"

#include <stdatomic.h>

static char logged[2048];

struct parcel_scene {
    struct support_study s;
    struct identity *me, *server[STUDY_SERVERS_MOST];
    struct identity *secret[STUDY_SERVERS_MOST];
    struct upload parts[3];
    struct log log;
};

static struct parcel_scene scene_new(void)
{
    struct bytes packed CLEAN(bytes_clear) = {0};
    struct parcel_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_WARN}};
    logged[0] = '\0';
    c.s = STUDY(&quiet, .owners = 2, .seals = true);
    OK(identity_load(&c.me, file(&c, "o0.key"), &quiet));
    for (unsigned i = 0; i < 3; i++) {
        OK(identity_load(&c.server[i], file(&c, "s%u.key", i), &quiet));
        OK(sealing_load(&c.secret[i], c.s.study, i, file(&c, "s%u.seal", i), &quiet));
    }
    assert_non_null(bytes_extend(&packed, MESSAGE_PART_MAX + 9));
    OK(upload_make(c.parts, &three_split, c.me, 0, (const uint8_t[UPLOAD_SECRET_SIZE]){1},
                   c.s.study, UPLOAD_RECORDS, &packed));
    return c;
}

static void scene_free(struct parcel_scene *c)
{
    for (unsigned i = 0; i < 3; i++) {
        upload_clear(&c->parts[i]);
        identity_free(&c->secret[i]);
        identity_free(&c->server[i]);
    }
    identity_free(&c->me);
    support_study_free(&c->s);
}

/* What was logged since the last time. */
static void says(struct parcel_scene *c, const char *words)
{
    support_says(logged, words);
    logged[0] = '\0';
}

static void make(struct parcel_scene *c, uint64_t serial, struct bytes *file)
{
    const struct sealed_from from = {.study = c->s.study, .me = c->me, .serial = serial};
    const uint64_t debits[STUDY_SERVERS_MOST] = {1, 2, 3};
    OK(parcel_make(&from, c->parts, false, debits, file));
}

static enum err parse(struct parcel_scene *c, struct parcel *p, const struct bytes *file, size_t n)
{
    struct bytes copy CLEAN(bytes_clear) = {0};
    bytes_set(&copy, file->data, n);
    return parcel_parse(p, c->s.study, "a.parcel", &copy, &c->log);
}

TEST(a_parcel_has_the_messages_that_share_sends)
{
    struct parcel_scene c CLEAN(scene_free) = scene_new();
    struct bytes file CLEAN(bytes_clear) = {0}, all CLEAN(bytes_clear) = {0};
    struct parcel p CLEAN(parcel_clear) = {0};
    make(&c, 77, &file);
    OK(parse(&c, &p, &file, file.size));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(p.blocks[i], i == three_split.given ? 4 : 2);
        for (size_t k = 0; k < p.blocks[i]; k++) {
            struct bytes plain CLEAN(bytes_clear) = {0}, message CLEAN(bytes_clear) = {0};
            struct sealed_found found;
            size_t n;
            const uint8_t *block = parcel_block(&p, i, k, &n);
            OK(sealed_open(c.s.study, i, c.secret[i]->curve_secret, block, n, &plain, &found));
            if (k == PARCEL_HEAD)
                OK(parcel_put_head(c.s.study, i + 1, &message));
            else if (k == PARCEL_ACT)
                OK(parcel_put_upload(c.s.study, &c.parts[i], i, false, &message));
            else
                OK(parcel_put_part(&c.parts[i], (k - 2) * MESSAGE_PART_MAX, &message));
            assert_int_equal(found.size, message.size);
            assert_memory_equal(found.message, message.data, message.size);
            assert_memory_equal(found.sign, c.me->public.sign, 32);
            assert_int_equal(found.serial, k == PARCEL_HEAD ? 0 : 77);
            if (k >= PARCEL_PARTS)
                bytes_put(&all, found.message + 25, found.size - 25);
        }
    }
    SAME_BYTES(&all, c.parts[1].vector.data, c.parts[1].vector.size);
}

TEST(what_is_no_parcel_of_this_study_is_refused)
{
    struct parcel_scene c CLEAN(scene_free) = scene_new();
    struct bytes file CLEAN(bytes_clear) = {0};
    make(&c, 1, &file);
    for (size_t n = 0; n <= file.size + 1; n += n < 400 || n + 9 > file.size ? 1 : 1009) {
        struct parcel p CLEAN(parcel_clear) = {0};
        bytes_put_u8(&file, 0); /* one more at the end */
        file.size--;
        assert_int_equal(parse(&c, &p, &file, n), n == file.size ? ERR_OK : ERR_FORMAT);
    }
    says(&c, "is no parcel, or it is cut");
    for (unsigned k = 0; k < 3; k++) {
        static const size_t at[] = {16, 17, 49}; /* of the word, the terms, the first key */
        static const char *const words[] = {"is no parcel", "for another study", "to other keys"};
        struct parcel p CLEAN(parcel_clear) = {0};
        file.data[at[k]] ^= 1;
        assert_int_not_equal(parse(&c, &p, &file, file.size), ERR_OK);
        says(&c, words[k]);
        file.data[at[k]] ^= 1;
    }
}

/* Good answers of all servers to the blocks of a parcel; by server 0 a failure, if `fails`. */
static void answer(struct parcel_scene *c, const struct parcel *p, bool fails,
                   struct parcel_answers *a)
{
    for (unsigned i = 0; i < 3; i++) {
        struct bytes *const to[] = {&a->of[i].head, &a->of[i].act};
        a->of[i].block = (uint32_t)p->blocks[i] - 1;
        for (unsigned k = 0; k < 2; k++) {
            const enum err e = fails && i == 0 && k == 1 ? ERR_REFUSED : ERR_OK;
            uint8_t digest[32];
            size_t n;
            const uint8_t *block = parcel_block(p, i, k == 0 ? PARCEL_HEAD : a->of[i].block, &n);
            sealed_digest(block, n, digest);
            OK(reply_write(MESSAGE_PARCEL, e, "stored", "held", 4, to[k]));
            OK(sealed_answer(c->server[i], digest, to[k]));
        }
    }
}

/* The reply's signature is over the block, so a parcel made anew needs answers of its own. */
TEST(an_old_answer_is_none_to_a_new_block)
{
    struct parcel_scene c CLEAN(scene_free) = scene_new();
    struct bytes file[2] = {{0}}, kept CLEAN(bytes_clear) = {0};
    struct parcel p[2];
    for (unsigned k = 0; k < 2; k++) { /* the second with the same serial, even */
        make(&c, 1, &file[k]);
        OK(parse(&c, &p[k], &file[k], file[k].size));
    }
    for (unsigned fails = 0; fails < 2; fails++) {
        struct parcel_answers a CLEAN(parcel_answers_clear) = {0};
        answer(&c, &p[0], fails == 1, &a);
        for (unsigned k = 0; k < 2; k++) {
            struct parcel_answers again CLEAN(parcel_answers_clear);
            kept.size = 0;
            OK(parcel_answers_write(&p[k], &a, &kept));
            assert_int_equal(parcel_answers_read(&p[k], &again, kept.data, kept.size),
                             fails == 1 && k == 0 ? ERR_FORMAT
                             : k == 1             ? ERR_AUTH
                                                  : ERR_OK);
        }
        kept.size = 0;
        OK(parcel_answers_write(&p[0], &a, &kept));
        for (size_t n = 0; n < kept.size; n++) {
            struct parcel_answers cut CLEAN(parcel_answers_clear), bad CLEAN(parcel_answers_clear);
            assert_int_equal(parcel_answers_read(&p[0], &cut, kept.data, n), ERR_FORMAT);
            kept.data[n] ^= 1;
            assert_int_not_equal(parcel_answers_read(&p[0], &bad, kept.data, kept.size), ERR_OK);
            kept.data[n] ^= 1;
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        parcel_clear(&p[k]);
        bytes_clear(&file[k]);
    }
}

/* --- carrying --------------------------------------------------------------------------------- */

#define GIVEN 1 /* the server that gets the vector, in two parts */

struct cut_answers {
    struct parcel_scene c;
    struct parcel p;
    /* of threads that take turns: that answer of GIVEN has only `size` bytes of `whole`; the parts
     * that it has, and that were brought to it */
    atomic_size_t block, size, whole, held, parts;
};

/* The servers' gates; a test waits for each answer. */
static void answer_block(void *self, unsigned i, const struct bytes *message, struct bytes *out)
{
    struct cut_answers *a = self;
    struct bytes payload CLEAN(bytes_clear) = {0};
    uint8_t digest[32];
    size_t k = 0, n;
    const uint8_t *block = parcel_block(&a->p, i, k, &n);
    while (n != message->size - 1 || memcmp(block, message->data + 1, n) != 0)
        block = parcel_block(&a->p, i, ++k, &n);
    a->parts += k >= PARCEL_PARTS;
    a->held += k == PARCEL_PARTS + a->held && a->block < SIZE_MAX;
    bytes_put_u8(&payload, i != GIVEN || a->held == 2);
    bytes_put_u64(&payload, a->held * MESSAGE_PART_MAX);
    sealed_digest(block, n, digest);
    OK(reply_write(MESSAGE_PARCEL, ERR_OK, "stored", payload.data, payload.size, out));
    OK(sealed_answer(a->c.server[i], digest, out));
    if (i == GIVEN && k == a->block) {
        a->whole = out->size;
        out->size = a->size < a->whole ? a->size : a->whole;
    }
}

/* Brings GIVEN its blocks; the answer to block k is cut to `size` bytes. */
static enum err carry_cut(struct cut_answers *a, struct courier *courier, size_t k, size_t size,
                          struct parcel_answers *answers)
{
    a->block = k;
    a->size = size;
    return courier_carry(courier, &a->p, GIVEN, answers);
}

/* Whichever byte an answer ends at, a carrier says so, and goes on from what the server has. */
TEST(an_answer_that_is_cut_loses_nothing)
{
    struct cut_answers a = {.c = scene_new(), .size = SIZE_MAX};
    struct identity *stranger CLEAN(identity_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0};
    struct courier *courier CLEAN(courier_free) = NULL;
    struct progress progress = {0};
    struct gates *gates;
    make(&a.c, 1, &file);
    OK(parse(&a.c, &a.p, &file, file.size));
    OK(identity_new(&stranger, &quiet));
    gates_new(&gates, &a.c.s, &stranger->public, answer_block, &a);
    OK(courier_new(&courier, &(struct courier_options){.study = a.c.s.study,
                                                       .me = stranger,
                                                       .progress = &progress,
                                                       .log = &a.c.log}));
    for (size_t k = 0; k < a.p.blocks[GIVEN]; k++)
        for (size_t n = 1; n == 1 || n < a.whole; n++) {
            struct parcel_answers answers CLEAN(parcel_answers_clear) = {0},
                                          again CLEAN(parcel_answers_clear) = {0};
            struct bytes kept CLEAN(bytes_clear) = {0};
            a.held = a.parts = 0;
            assert_int_not_equal(carry_cut(&a, courier, k, n, &answers), ERR_OK);
            says(&a.c, n + SEALED_SIGNATURE == a.whole
                           ? "server 1 (s1): its answer lacks its signature"
                           : "server 1 (s1): not in the expected form; check that all programs");
            assert_int_equal(answers.of[GIVEN].head.size + answers.of[GIVEN].act.size, 0);
            OK(carry_cut(&a, courier, k, SIZE_MAX, &answers));
            assert_int_equal(a.parts, 2); /* none of them twice */
            OK(parcel_answers_write(&a.p, &answers, &kept));
            OK(parcel_answers_read(&a.p, &again, kept.data, kept.size));
            assert_true(again.of[GIVEN].act.size > 0);
        }
    a.held = 0; /* and it has no more than before */
    assert_int_equal(carry_cut(&a, courier, SIZE_MAX, SIZE_MAX, &(struct parcel_answers){0}),
                     ERR_FORMAT);
    courier_free(&courier);
    gates_free(&gates);
    parcel_clear(&a.p);
    scene_free(&a.c);
}

/* --- keys and serials ------------------------------------------------------------------------- */

TEST(a_sealing_key_is_for_one_server_and_study)
{
    struct parcel_scene c CLEAN(scene_free) = scene_new();
    struct study *study CLEAN(study_free) = NULL;
    struct bytes text CLEAN(bytes_clear) = {0};
    char line[SEALING_TEXT_SIZE], *first, *second;
    struct identity *secret = NULL;
    assert_int_equal(sealing_new(c.s.study, c.me, file(&c, "x.seal"), line, &c.log), ERR_AUTH);
    says(&c, "not one of the study's servers'");
    assert_int_equal(sealing_new(c.s.study, c.server[0], file(&c, "s0.seal"), line, &c.log),
                     ERR_SYSTEM);
    says(&c, "was left alone");
    assert_int_equal(sealing_load(&secret, c.s.study, 0, file(&c, "s1.seal"), &c.log), ERR_STUDY);
    says(&c, "not the sealing key that the study lists for s0");
    assert_int_equal(sealing_load(&secret, c.s.study, 0, file(&c, "s0.key"), &c.log), ERR_STUDY);
    says(&c, "not the sealing key that the study lists for s0");
    assert_int_equal(chmod(file(&c, "s0.seal"), 0644), 0);
    assert_int_equal(sealing_load(&secret, c.s.study, 0, file(&c, "s0.seal"), &c.log), ERR_STUDY);
    says(&c, "may be read or written by others (mode 0644)");
    OK(sealing_destroy(file(&c, "s0.seal"), &c.log));
    assert_false(file_is_there(file(&c, "s0.seal")));
    OK(sealing_destroy(file(&c, "s0.seal"), &c.log)); /* again */
    /* in the study file: another server's, and damaged */
    OK(file_read(c.s.path, 1 << 20, &text, &quiet));
    bytes_put_u8(&text, 0);
    first = strstr((char *)text.data, "trefoil-sealing1-");
    second = strstr(first + 1, "trefoil-sealing1-");
    memcpy(line, first, SEALING_TEXT_SIZE - 1);
    memcpy(first, second, SEALING_TEXT_SIZE - 1);
    assert_int_equal(study_parse(&study, "s", text.data, text.size - 1, &c.log), ERR_STUDY);
    says(&c, "server s0 has not signed this sealing key for a study of these terms");
    memcpy(first, line, SEALING_TEXT_SIZE - 1);
    first[20] = '!';
    assert_int_equal(study_parse(&study, "s", text.data, text.size - 1, &c.log), ERR_STUDY);
    says(&c, "this is not a sealing key");
}

TEST(serials_grow_whatever_the_clock_says)
{
    struct parcel_scene c CLEAN(scene_free) = scene_new();
    struct serial s, later = {.last = UINT64_MAX / 4, .upload = {1}};
    const char *path = file(&c, "o0.test.serial");
    OK(serial_load(&s, path, &c.log));
    assert_int_equal(s.last, 0);
    assert_true(serial_next(&s) > UINT64_C(1700000000000));
    assert_int_equal(serial_next(&later), later.last + 1);
    OK(serial_save(&later, path, &c.log));
    OK(serial_load(&s, path, &c.log));
    assert_int_equal(s.last, later.last);
    assert_memory_equal(s.upload, later.upload, 32);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(serial_load(&s, path, &c.log), ERR_STUDY);
    says(&c, "is damaged");
}

/* --- at a server ------------------------------------------------------------------------------ */

TEST(strangers_and_carriers_have_bounds_of_their_own)
{
    struct study study = {.owners = 2};
    const struct site site = {.study = &study};
    struct parcels *p CLEAN(parcels_free) = MADE(parcels, parcels_new, &site, NULL);
    assert_true(parcels_may(p));
    parcels_spent(p, 0.1);
    assert_true(parcels_may(p));
    parcels_spent(p, 1000); /* which takes twice as long to be forgotten */
    assert_false(parcels_may(p));
    for (unsigned k = 0; k < 4; k++)
        assert_int_equal(parcels_rate(p, 0, 0, 3), k < 3);
    assert_true(parcels_rate(p, 1, 0, 3));
}
