#include "tests/support/hooks.h"

#include "harness/cmocka.h"
#include "mpc/move/move_private.h"

#include <pthread.h>

#define PARTIES_MOST (3 * SESSION_LANES_MAX)

struct hooked {
    const struct party *party; /* NULL: free */
    const struct hooks_watch *watch;
    const struct hooks_tamper *tamper;
};

static struct {
    pthread_mutex_t lock;
    struct hooked of[PARTIES_MOST];
} hooks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The party's place, or a free one for it. */
static struct hooked *place_of(const struct party *p)
{
    struct hooked *unused = NULL;
    for (size_t k = 0; k < PARTIES_MOST; k++)
        if (hooks.of[k].party == p)
            return &hooks.of[k];
        else if (hooks.of[k].party == NULL)
            unused = &hooks.of[k];
    assert_non_null(unused);
    return unused;
}

static struct hooked hooked(const struct party *p)
{
    pthread_mutex_lock(&hooks.lock);
    struct hooked h = *place_of(p);
    pthread_mutex_unlock(&hooks.lock);
    return h;
}

static void put(const struct party *p, struct hooked h)
{
    h.party = h.watch != NULL || h.tamper != NULL ? p : NULL;
    pthread_mutex_lock(&hooks.lock);
    *place_of(p) = h;
    pthread_mutex_unlock(&hooks.lock);
}

void hooks_watch(const struct party *p, const struct hooks_watch *watch)
{
    put(p, (struct hooked){.watch = watch, .tamper = hooked(p).tamper});
}

void hooks_tamper(const struct party *p, const struct hooks_tamper *tamper)
{
    put(p, (struct hooked){.watch = hooked(p).watch, .tamper = tamper});
}

bool hooks_watched(const struct party *p)
{
    return hooked(p).watch != NULL;
}

/* --- an exchange ------------------------------------------------------------------------------ */

/* A message on its way through here. */
struct hooks_passing {
    const struct party *party;
    struct hooked hooks;
    struct move_message message;
    enum net_peer to;
    size_t number;
};

static enum err make(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct hooks_passing *w = self;
    const struct hooks_tamper *tamper = w->hooks.tamper;
    const struct hooks_sent sent = {.exchange = net_exchanges(w->party->net),
                                    .to = w->to,
                                    .message = w->number,
                                    .offset = offset};
    TRY(w->message.make(w->message.self, offset, out, n));
    return tamper->alter(tamper->self, &sent, out, n);
}

static enum err take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    const struct hooks_passing *w = self;
    w->hooks.watch->secret(w->hooks.watch->self, in, n);
    return w->message.take(w->message.self, offset, in, n);
}

__typeof__(move_exchange) __real_move_exchange, __wrap_move_exchange;
enum err __wrap_move_exchange(struct party *p, const struct move_exchange *exchange)
{
    const struct hooked h = hooked(p);
    struct move_exchange through = *exchange;
    struct hooks_passing sent[2][MOVE_MESSAGES], came[2][MOVE_MESSAGES];
    for (unsigned peer = 0; peer < 2; peer++)
        for (size_t m = 0; m < MOVE_MESSAGES; m++) {
            struct move_message *out = &through.send[peer][m], *in = &through.receive[peer][m];
            sent[peer][m] = (struct hooks_passing){p, h, *out, (enum net_peer)peer, m};
            came[peer][m] = (struct hooks_passing){p, h, *in, (enum net_peer)peer, m};
            if (h.tamper != NULL)
                out->make = make, out->self = &sent[peer][m];
            if (h.watch != NULL)
                in->take = take, in->self = &came[peer][m];
        }
    return __real_move_exchange(p, &through);
}

__typeof__(move_input) __real_move_input, __wrap_move_input;
enum err __wrap_move_input(struct party *p, struct planes u)
{
    const struct hooks_tamper *tamper = hooked(p).tamper;
    const struct party_part own = party_parts(p, bits_words(u.n), 1).j;
    if (tamper != NULL && tamper->input != NULL)
        tamper->input(tamper->self, &u, own.begin, own.end);
    return __real_move_input(p, u);
}

__typeof__(party_opened) __real_party_opened, __wrap_party_opened;
void __wrap_party_opened(const struct party *p, const void *words, size_t bytes)
{
    const struct hooks_watch *watch = hooked(p).watch;
    if (watch != NULL)
        watch->opened(watch->self, words, bytes);
}

__typeof__(party_free) __real_party_free, __wrap_party_free;
void __wrap_party_free(struct party **party)
{
    if (*party != NULL)
        put(*party, (struct hooked){0});
    __real_party_free(party);
}
