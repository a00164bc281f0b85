#include "harness/netio.h"

void run_three(void *(*f)(void *), void *elements, size_t size)
{
    pthread_t thread[3];
    for (size_t i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, f, (char *)elements + i * size) != 0)
            abort();
    for (size_t i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

void links_free(struct transport *(*t)[3])
{
    for (unsigned i = 0; i < 3; i++)
        transport_free(&(*t)[i]);
}

void free_endpoints(char (*endpoint)[ENDPOINT_SIZE], size_t count)
{
    int fd[16];
    for (size_t i = 0; i < count; i++) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof a;
        fd[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (fd[i] < 0 || bind(fd[i], (struct sockaddr *)&a, sizeof a) != 0 ||
            getsockname(fd[i], (struct sockaddr *)&a, &n) != 0)
            abort();
        snprintf(endpoint[i], ENDPOINT_SIZE, "tcp://127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
    }
    for (size_t i = 0; i < count; i++)
        close(fd[i]);
}

struct netio_key_pair new_key_pair(void)
{
    struct netio_key_pair k;
    if (sodium_init() < 0)
        abort();
    crypto_box_keypair(k.public, k.secret);
    return k;
}

struct transport_passes passes_of(unsigned i)
{
    struct transport_passes t;
    for (unsigned p = 0; p < 2; p++) {
        unsigned other = net_index_of(i, (enum net_peer)p);
        memset(t.show[p], (int)(16 * i + other + 1), sizeof t.show[p]);
        memset(t.expect[p], (int)(16 * other + i + 1), sizeof t.expect[p]);
    }
    return t;
}

/*
 * A server's bare links once it has bound them: a neighbour that dials before the other admits it
 * is turned away.
 */
static enum err admit_bare(struct transport *t, unsigned i)
{
    const struct transport_passes passes = passes_of(i);
    return transport_zmq_admit(t, (const uint8_t(*)[TRANSPORT_PASS_SIZE])passes.expect);
}

static enum err dial_bare(struct transport *t, unsigned i)
{
    const struct transport_passes passes = passes_of(i);
    return transport_zmq_dial(t, (const uint8_t(*)[TRANSPORT_PASS_SIZE])passes.show);
}

enum err open_bare(struct transport *t, unsigned i)
{
    TRY(admit_bare(t, i));
    return dial_bare(t, i);
}

enum err three_zmq(struct transport *t[3], struct netio *netio, int depth,
                   const struct netio_key_pair *key, const struct netio_key_pair *shown,
                   struct log *log)
{
    char endpoint[6][ENDPOINT_SIZE];
    free_endpoints(endpoint, 6);
    for (unsigned i = 0; i < 3; i++) {
        unsigned prev = net_index_of(i, NET_PREV), next = net_index_of(i, NET_NEXT);
        /* endpoint[2 i + p]: where server i listens for its neighbour p */
        struct transport_zmq_options o = {
            .netio = netio,
            .servers = 3,
            .index = i,
            .listen = {endpoint[2 * i + NET_PREV], endpoint[2 * i + NET_NEXT]},
            .dial = {endpoint[2 * prev + NET_NEXT], endpoint[2 * next + NET_PREV]},
            .max_message = (size_t)2 << 20,
            .depth = depth,
            .log = log,
        };
        if (key != NULL) {
            o.curve_public = shown[i].public;
            o.curve_secret = shown[i].secret;
            o.peer_public[NET_PREV] = key[prev].public;
            o.peer_public[NET_NEXT] = key[next].public;
        }
        TRY(transport_zmq_new(&t[i], &o));
        if (key == NULL)
            TRY(admit_bare(t[i], i));
    }
    for (unsigned i = 0; key == NULL && i < 3; i++)
        TRY(dial_bare(t[i], i));
    return ERR_OK;
}

uint64_t pattern_word(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    return x ^ (x >> 27);
}

void pattern_fill(uint8_t *p, size_t n, uint64_t tag)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i % 8 == 0 ? pattern_word(&tag) : p[i - 1] * 5u + 1u);
}

bool pattern_holds(const uint8_t *p, size_t n, uint64_t tag)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (uint8_t)(i % 8 == 0 ? pattern_word(&tag) : p[i - 1] * 5u + 1u))
            return false;
    return true;
}
