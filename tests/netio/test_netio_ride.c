/* netio/net_ride.c: statements that ride ahead of what a round moves. */
#include "harness/cmocka.h"
#include "harness/patience.h"
#include "harness/three.h"

#define SIZE ((size_t)3 << 20) /* of a payload: several frames */

enum payload { NOTHING, BLOCKS, STREAM };

struct ride {
    enum payload payload;
    unsigned refuses; /* this server refuses when it has heard the first statement; 3: nobody */
    enum err result[3];
    uint64_t rounds[3];
};

/* One server's. */
struct rider {
    struct ride *ride;
    struct party *p;
    uint64_t own, came[2][2]; /* of two statements: [statement][peer]; own: of the last */
    unsigned heard;
    bool early; /* something of a payload was taken before a statement that comes ahead of it */
    uint8_t *in[2], *out[2];
};

/*
 * A link on which server 0 cannot send to NET_NEXT until both neighbours' statements have arrived.
 */
struct ride_narrow {
    struct transport *inner;
    bool came[2];
    unsigned tries; /* from then on; the first fails */
};
static struct ride_narrow narrow;

static enum err hear(void *self);

static void ride(struct rider *r)
{
    uint64_t *own = &r->own, *came = r->came[r->heard];
    *own = 10 * r->heard + r->p->index;
    net_ride(r->p->net,
             &(const struct net_rider){.blocks = {.send = {own, own},
                                                  .send_size = {sizeof *own, sizeof *own},
                                                  .receive = {&came[0], &came[1]},
                                                  .receive_size = {sizeof *came, sizeof *came}},
                                       .heard = hear,
                                       .self = r});
}

static enum err hear(void *self)
{
    struct rider *r = self;
    const unsigned i = r->p->index;
    for (unsigned peer = 0; peer < 2; peer++)
        if (r->came[r->heard][peer] != 10 * r->heard + net_index_of(i, (enum net_peer)peer))
            return ERR_MISMATCH;
    for (unsigned peer = 0; r->heard == 0 && peer < 2; peer++)
        r->early = r->early || (r->in[peer] != NULL && r->in[peer][0] != 0);
    if (i == 0 && narrow.inner != NULL)
        r->early = r->early || narrow.tries < 2;
    if (r->heard++ == 0) {
        ride(r);
        if (r->ride->refuses == i)
            return ERR_REFUSED;
    }
    return ERR_OK;
}

static enum err make(void *self, size_t offset, uint8_t *out, size_t n)
{
    const uint8_t *from = self;
    memcpy(out, from + offset, n);
    return ERR_OK;
}

struct taking {
    struct rider *r;
    uint8_t *to;
    const uint8_t *from;
};

static enum err take(void *self, size_t offset, const uint8_t *in, size_t n)
{
    struct taking *t = self;
    t->r->early = t->r->early || t->r->heard == 0;
    memcpy(t->to + offset, in, n);
    return ERR_OK;
}

static enum err produce(void *self, size_t offset, uint8_t *out, size_t n)
{
    const struct taking *t = self;
    return make((void *)(uintptr_t)t->from, offset, out, n);
}

static enum err move(struct rider *r)
{
    struct net *net = r->p->net;
    struct taking t[2];
    struct net_flow flow[2];
    struct net_exchange round = {0};
    for (unsigned k = 0; k < 2; k++) {
        t[k] = (struct taking){r, r->in[k], r->out[1 - k]};
        flow[k] = (struct net_flow){.to = (enum net_peer)(1 - k),
                                    .from = (enum net_peer)k,
                                    .send_size = SIZE,
                                    .receive_size = SIZE,
                                    .produce = produce,
                                    .consume = take,
                                    .self = &t[k]};
        round.send[k] = r->out[k];
        round.receive[k] = r->in[k];
        round.send_size[k] = round.receive_size[k] = SIZE;
    }
    return r->ride->payload == STREAM   ? net_stream(net, flow, 2)
           : r->ride->payload == BLOCKS ? net_exchange(net, &round)
                                        : net_settle(net);
}

/* Two statements on two rounds, or both alone; then one more round. */
static enum err ride_twice(struct party *p, void *shared)
{
    struct ride *all = shared;
    const unsigned i = p->index;
    struct rider r = {.ride = all, .p = p};
    bool right = true;
    enum err e = ERR_OK;
    for (unsigned k = 0; k < 2; k++) {
        r.in[k] = memory_array(SIZE, 1);
        r.out[k] = memory_array(SIZE, 1);
        if (r.in[k] == NULL || r.out[k] == NULL)
            return ERR_NOMEM;
        memset(r.out[k], (int)(i + 1), SIZE);
    }
    ride(&r);
    for (unsigned k = 0; e == ERR_OK && k < 3; k++)
        e = move(&r);
    for (unsigned k = 0; e == ERR_OK && all->payload != NOTHING && k < 2; k++)
        right = right && r.in[k][0] == net_index_of(i, (enum net_peer)k) + 1 &&
                r.in[k][SIZE - 1] == r.in[k][0];
    all->result[i] = e;
    all->rounds[i] = net_exchanges(p->net);
    for (unsigned k = 0; k < 2; k++)
        memory_free_all(&r.in[k], &r.out[k]);
    return right && !r.early && (e != ERR_OK || r.heard == 2) ? ERR_OK : ERR_DATA;
}

TEST(statements_cost_no_round_where_there_is_something_to_move)
{
    for (enum payload payload = NOTHING; payload <= STREAM; payload++) {
        struct ride all = {.payload = payload, .refuses = 3};
        OK(three_run(1, ride_twice, &all, NULL));
        for (unsigned i = 0; i < 3; i++) {
            OK(all.result[i]);
            assert_int_equal(all.rounds[i], payload == NOTHING ? 2 : 3);
        }
    }
}

TEST(who_refuses_what_it_hears_ends_the_session)
{
    for (enum payload payload = NOTHING; payload <= STREAM; payload++)
        for (unsigned who = 0; who < 3; who++) {
            struct ride all = {.payload = payload, .refuses = who};
            OK(three_run(1, ride_twice, &all, NULL));
            for (unsigned i = 0; i < 3; i++)
                assert_int_equal(all.result[i], i == who ? ERR_REFUSED : ERR_PEER);
        }
}

static enum err refuse(void *self)
{
    return ERR_REFUSED;
}

/* Server 0 hears 100 ms after server 1 what server 2 says. */
static enum err speak(void *self, size_t offset, uint8_t *out, size_t n)
{
    const bool *late = self;
    if (*late)
        support_pause_ms(100);
    memset(out, 0, n);
    return ERR_OK;
}

static enum err ignore(void *self, size_t offset, const uint8_t *in, size_t n)
{
    return ERR_OK;
}

static enum err refuse_both(struct party *p, void *shared)
{
    enum err *result = shared;
    bool late[2] = {false, true};
    uint8_t word[3] = {0};
    struct net_flow flow[2];
    for (unsigned k = 0; k < 2; k++)
        flow[k] = (struct net_flow){.to = (enum net_peer)k,
                                    .from = (enum net_peer)k,
                                    .send_size = 1,
                                    .receive_size = 1,
                                    .produce = speak,
                                    .consume = ignore,
                                    .self = &late[k]};
    if (p->index == 2)
        return net_stream(p->net, flow, 2);
    net_ride(p->net, &(const struct net_rider){.blocks = {.send = {word, word},
                                                          .send_size = {1, 1},
                                                          .receive = {&word[1], &word[2]},
                                                          .receive_size = {1, 1}},
                                               .heard = refuse});
    result[p->index] = net_settle(p->net);
    return ERR_OK;
}

TEST(what_a_third_server_says_is_heard_before_another_gives_up)
{
    enum err result[2];
    OK(three_run(1, refuse_both, result, NULL));
    assert_int_equal(result[0], ERR_REFUSED);
    assert_int_equal(result[1], ERR_REFUSED);
}

/* --- a link without room ---------------------------------------------------------------------- */

static enum err make_inner(void *self, size_t size, struct transport_message *m)
{
    const struct ride_narrow *w = self;
    return w->inner->ops->make(w->inner->self, size, m);
}

static enum err send_late(void *self, enum net_peer to, struct transport_message *m)
{
    struct ride_narrow *w = self;
    if (to == NET_NEXT && (!w->came[0] || !w->came[1] || w->tries++ == 0))
        return ERR_AGAIN;
    return w->inner->ops->send(w->inner->self, to, m);
}

static enum err receive_inner(void *self, enum net_peer from, struct transport_message *m)
{
    struct ride_narrow *w = self;
    const enum err e = w->inner->ops->receive(w->inner->self, from, m);
    w->came[from] = w->came[from] || e == ERR_OK;
    return e;
}

static void drop_inner(void *self, struct transport_message *m)
{
    const struct ride_narrow *w = self;
    w->inner->ops->drop(w->inner->self, m);
}

static enum err wait_inner(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    const struct ride_narrow *w = self;
    return w->inner->ops->wait(w->inner->self, readable, writable, deadline);
}

static void leave(void *self)
{
}

static struct transport wrap_first(struct transport *inner)
{
    static const struct transport_ops ops = {.make = make_inner,
                                             .send = send_late,
                                             .receive = receive_inner,
                                             .drop = drop_inner,
                                             .wait = wait_inner,
                                             .free = leave};
    if (narrow.inner != NULL)
        return *inner;
    narrow.inner = inner;
    return (struct transport){&ops, &narrow};
}

/* A server that has made a debit has told both neighbours that it would. */
TEST(a_statement_is_heard_when_the_own_one_has_left)
{
    struct ride all = {.payload = BLOCKS, .refuses = 3};
    narrow = (struct ride_narrow){0};
    OK(three_run_wrapped(1, ride_twice, &all, NULL, wrap_first));
    for (unsigned i = 0; i < 3; i++)
        OK(all.result[i]);
    assert_true(narrow.tries > 1);
}
