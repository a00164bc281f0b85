#include "tests/support/marks.h"
#include "tests/support/hooks.h"

#include <string.h>

#if defined(__has_include)
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define MARKS 1
#endif
#endif

#ifndef MARKS
#define MARKS 0
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MAKE_MEM_UNDEFINED(p, n) ((void)(p), (void)(n))
#define VALGRIND_MAKE_MEM_DEFINED(p, n) ((void)(p), (void)(n))
#define VALGRIND_GET_VBITS(p, bits, n) (memset(bits, 0, n), (void)(p), 0)
#endif

bool marks_possible(void)
{
    return MARKS != 0;
}

bool marks_on(void)
{
    return RUNNING_ON_VALGRIND != 0;
}

void marks_secret(void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

void marks_public(void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

bool marks_reach(const void *p, size_t n)
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

/* --- a party ---------------------------------------------------------------------------------- */

static void make_secret(void *self, const void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_UNDEFINED(p, n);
}

static void make_public(void *self, const void *p, size_t n)
{
    (void)VALGRIND_MAKE_MEM_DEFINED(p, n);
}

static const struct hooks_watch watch = {make_secret, make_public, NULL};

enum err marks_begin(struct party *p)
{
    hooks_watch(p, &watch);
    for (unsigned side = 0; side < 2; side++)
        for (unsigned purpose = 0; purpose < PRG_PURPOSES; purpose++) {
            uint8_t key[16] = {0};
            key[0] = (uint8_t)((p->index + side) % 3);
            key[1] = (uint8_t)purpose;
            marks_secret(key, sizeof key);
            prg_free(&p->prg[side][purpose]);
            TRY(prg_new(&p->prg[side][purpose], key));
        }
    return ERR_OK;
}

/* --- a transport on top of the one that net_new() was given ----------------------------------- */

static enum err send_public(void *self, enum net_peer to, struct transport_message *m)
{
    struct transport *inner = self;
    marks_public(m->data, m->size);
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
}

static const struct transport_ops public_ops = {
    .make = make_message,
    .send = send_public,
    .receive = receive_message,
    .drop = drop_message,
    .wait = wait_for_message,
    .free = leave_it,
};

struct transport marks_wrap(struct transport *inner)
{
    return (struct transport){.ops = &public_ops, .self = inner};
}
