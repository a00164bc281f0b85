/*
 * No branch and no index of mpc/ depends on a secret.
 *
 * Under valgrind's memcheck, shares, PRG keys and everything that comes in are marked undefined;
 * what the party opens is defined again, and so is a sealed frame, which the network sees. Every
 * jump or address that depends on an undefined value is then an error that valgrind reports, by
 * its exit code: valgrind --error-exitcode=99 test_mpc_oblivious. The cases also check that the
 * marks reach the results, which shows that they are not lost on the way. Without valgrind they
 * run and prove nothing of this: tests/long.sh runs them there.
 */
#include "tests/support_cmocka.h"

#include "tests/test_mpc_all.h"

#include <string.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define MARKS 1
#endif
#endif

#ifndef MARKS
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MAKE_MEM_UNDEFINED(p, n) ((void)(p), (void)(n))
#define VALGRIND_MAKE_MEM_DEFINED(p, n) ((void)(p), (void)(n))
#define VALGRIND_GET_VBITS(p, bits, n) (memset(bits, 0, n), (void)(p), 0)
#endif

#define N 130

struct run {
    size_t protocol;
    bool tainted[3]; /* server i's result is undefined */
};

static void make_secret(void *self, const void *p, size_t n)
{
    (void)self;
    (void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static void make_public(void *self, const void *p, size_t n)
{
    (void)self;
    (void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

static const struct party_watch marks = {make_secret, make_public, NULL};

/* A transport whose messages are public: on top of the one that net_new() was given. */
static enum err send_public(void *self, enum net_peer to, struct transport_message *m)
{
    struct transport *inner = self;
    (void)VALGRIND_MAKE_MEM_DEFINED(m->data, m->size);
    return inner->ops->send(inner->self, to, m);
}

static enum err make_message(void *self, size_t size, struct transport_message *m)
{
    struct transport *inner = self;
    return inner->ops->make(inner->self, size, m);
}

static enum err receive_message(void *self, enum net_peer from, struct transport_message *m)
{
    struct transport *inner = self;
    return inner->ops->receive(inner->self, from, m);
}

static void drop_message(void *self, struct transport_message *m)
{
    struct transport *inner = self;
    inner->ops->drop(inner->self, m);
}

static enum err wait_for_message(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct transport *inner = self;
    return inner->ops->wait(inner->self, readable, writable, deadline);
}

static void leave_it(void *self)
{
    (void)self;
}

static const struct transport_ops public_ops = {
    .make = make_message,
    .send = send_public,
    .receive = receive_message,
    .drop = drop_message,
    .wait = wait_for_message,
    .free = leave_it,
};

static struct transport wrap(struct transport *inner)
{
    return (struct transport){.ops = &public_ops, .self = inner};
}

/* PRG streams whose keys, and so whose bytes, are secret. */
static enum err secret_streams(struct party *p)
{
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES; purpose++) {
            uint8_t key[16] = {0};
            key[0] = (uint8_t)((p->index + side) % 3);
            key[1] = (uint8_t)purpose;
            make_secret(NULL, key, sizeof key);
            prg_free(&p->prg[side][purpose]);
            TRY(prg_new(&p->prg[side][purpose], key));
        }
    return ERR_OK;
}

static void make_secrets(struct secrets *s)
{
    const size_t planes = bits_words(s->n) * ALL_BITS * 8;
    make_secret(NULL, s->x.a, 8 * s->n);
    make_secret(NULL, s->x.b, 8 * s->n);
    make_secret(NULL, s->y.a, 8 * s->n);
    make_secret(NULL, s->y.b, 8 * s->n);
    make_secret(NULL, s->x32.a, 4 * s->n);
    make_secret(NULL, s->x32.b, 4 * s->n);
    make_secret(NULL, s->y32.a, 4 * s->n);
    make_secret(NULL, s->y32.b, 4 * s->n);
    make_secret(NULL, s->x16.a, 2 * s->n);
    make_secret(NULL, s->x16.b, 2 * s->n);
    make_secret(NULL, s->y16.a, 2 * s->n);
    make_secret(NULL, s->y16.b, 2 * s->n);
    make_secret(NULL, s->wide.a, 16 * s->n);
    make_secret(NULL, s->wide.b, 16 * s->n);
    make_secret(NULL, s->bits.a, planes);
    make_secret(NULL, s->bits.b, planes);
    make_secret(NULL, s->more.a, planes);
    make_secret(NULL, s->more.b, planes);
}

static bool undefined(const void *p, size_t n)
{
    uint8_t bits[64] = {0};
    bool any = false;
    if (n > sizeof bits)
        n = sizeof bits;
    (void)VALGRIND_GET_VBITS(p, bits, n);
    for (size_t i = 0; i < n; i++)
        any = any || bits[i] != 0;
    return any;
}

static enum err job(struct party *p, void *shared)
{
    static const uint64_t values[N] = {1, 2, 3, 5, 8, 13};
    struct run *r = shared;
    struct secrets s = {0};
    uint64_t opened[N];
    enum err e = secrets_new(p, &s, values, N, 5);
    p->watch = &marks;
    if (e == ERR_OK)
        e = secret_streams(p);
    if (e == ERR_OK) {
        make_secrets(&s);
        e = all_protocols[r->protocol].run(p, &s);
    }
    if (e == ERR_OK) {
        e = ring64_multiply(p, s.out, s.y, s.y);
        r->tainted[p->index] = undefined(s.out.a, 64) && undefined(s.out.b, 64);
    }
    if (e == ERR_OK)
        e = open_ring64(p, OPEN_MASKED, s.out, opened);
    if (e == ERR_OK && undefined(opened, sizeof opened))
        e = ERR_MISUSE; /* what is opened is public, here at least */
    if (e == ERR_OK && opened[7] != (uint64_t)((1 << ALL_BITS) - 1) * ((1 << ALL_BITS) - 1))
        e = ERR_MISUSE;
    secrets_free(&s);
    return e;
}

static void one(size_t protocol)
{
    struct run r = {.protocol = protocol};
    assert_true(protocol < ALL_PROTOCOLS);
    assert_int_equal(three_run_wrapped(9, job, &r, NULL, wrap), ERR_OK);
    for (int s = 0; s < 3; s++)
        assert_true(r.tainted[s] == (RUNNING_ON_VALGRIND != 0));
}

static void every_protocol(void **state)
{
    (void)state;
    for (size_t k = 0; k < ALL_PROTOCOLS; k++)
        one(k);
}

static void marks_can_be_made(void **state)
{
    (void)state;
#ifndef MARKS
    print_message("# SKIP valgrind/memcheck.h is absent: install valgrind\n");
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_protocol),
        cmocka_unit_test(marks_can_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
