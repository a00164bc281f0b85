/*
 * Two neighbours that say anything at all during the handshake: no crash, no leak, and no session
 * without a HELLO and a SECRET from both. Input: a byte for the server's index, then messages:
 *
 *   u8     whose (bit 0); bit 1: the attempt is put right, bit 2: the session id is, which no
 *          mutation would find
 *   block  the message
 */
#include "netio/session.h"

#include "base/memory.h"
#include "base/secret.h"
#include "tests/fuzz/fuzz.h"

#define ATTEMPT_AT 7 /* after magic, type, protocol */
#define ATTEMPT_SIZE 16
#define ID_AT (ATTEMPT_AT + ATTEMPT_SIZE)

struct wire {
    struct reader left;
    struct bytes next[2]; /* messages waiting to be received */
    uint8_t attempt[ATTEMPT_SIZE], id[SESSION_ID_SIZE];
    struct bytes *keep; /* where its own messages go, or NULL */
};

static enum err wire_make(void *self, size_t size, struct transport_message *m)
{
    m->data = memory_array(size, 1);
    m->size = size;
    m->held = m->data != NULL;
    return m->held ? ERR_OK : ERR_NOMEM;
}

static void wire_drop(void *self, struct transport_message *m)
{
    memory_free(&m->data);
    *m = (struct transport_message){0};
}

/* Learns the attempt and the session id from the server's own messages. */
static enum err wire_send(void *self, enum net_peer to, struct transport_message *m)
{
    struct wire *w = self;
    if (m->size >= ID_AT)
        memcpy(w->attempt, m->data + ATTEMPT_AT, ATTEMPT_SIZE);
    if (m->size == ID_AT + SESSION_ID_SIZE + SESSION_SECRET_SIZE / 2)
        memcpy(w->id, m->data + ID_AT, SESSION_ID_SIZE);
    if (w->keep != NULL && to == NET_NEXT) {
        bytes_put_u8(w->keep, 2);
        bytes_put_block(w->keep, m->data, m->size);
    }
    wire_drop(self, m);
    return ERR_OK;
}

static enum err wire_receive(void *self, enum net_peer from, struct transport_message *m)
{
    struct wire *w = self;
    struct bytes *b = &w->next[from];
    if (b->size == 0)
        return ERR_AGAIN;
    TRY(wire_make(self, b->size, m));
    memcpy(m->data, b->data, b->size);
    b->size = 0;
    return ERR_OK;
}

/* The next message of the input; when there is none, time is up. */
static enum err wire_wait(void *self, unsigned readable, unsigned writable, int64_t deadline)
{
    struct wire *w = self;
    uint8_t how = reader_u8(&w->left);
    size_t n = 0;
    const uint8_t *p = reader_block(&w->left, &n);
    struct bytes *b = &w->next[how & 1];
    if (p == NULL || n == 0)
        return ERR_TIMEOUT;
    b->size = 0;
    bytes_put(b, p, n);
    if ((how & 2) != 0 && n >= ID_AT)
        memcpy(b->data + ATTEMPT_AT, w->attempt, ATTEMPT_SIZE);
    if ((how & 4) != 0 && n >= ID_AT + SESSION_ID_SIZE)
        memcpy(b->data + ID_AT, w->id, SESSION_ID_SIZE);
    return ERR_OK;
}

static void wire_free(void *self)
{
}

static const struct transport_ops ops = {.make = wire_make,
                                         .send = wire_send,
                                         .receive = wire_receive,
                                         .drop = wire_drop,
                                         .wait = wire_wait,
                                         .free = wire_free};

static const struct terms terms = {
    .digest = {1}, .parts = 2, .part = {{"study", {2}}, {"domain", {3}}}};

static enum err open_with(struct wire *w, unsigned index)
{
    struct transport t = {&ops, w};
    struct session *s = NULL;
    struct bytes propose CLEAN(bytes_clear) = {0};
    struct session_offer offer = {.lanes = 2};
    struct reader r = w->left;
    size_t n = 0;
    never(secret_start() != ERR_OK);
    (void)reader_u8(&r);
    const uint8_t *p = reader_block(
        &r, &n); /* the first message is also the one that called servers 1 and 2 */
    if (p != NULL)
        bytes_put(&propose, p, n);
    (void)session_is_propose(&propose);
    enum err e = session_open(&s, &t, 3, index, &terms, index == 0 ? NULL : &propose, &offer, 60000,
                              NULL);
    never((e == ERR_OK) != (s != NULL));
    session_free(&s);
    for (unsigned k = 0; k < 2; k++)
        bytes_clear(&w->next[k]);
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire w = {.left = {data + 1, size - 1, false}};
    if (size > 0)
        (void)!open_with(&w, data[0] % 3);
    return 0;
}

#define INDEX_AT (ID_AT + 4 + sizeof TREFOIL_VERSION - 1) /* in a HELLO, after its version */

/* To server `index`: server 0's message as if from each neighbour, and a SECRET from each. */
static void put_handshake(fuzz_put put, void *self, uint8_t index, const struct bytes *said)
{
    struct bytes input CLEAN(bytes_clear) = {0};
    struct reader r = reader_of(said->data, said->size);
    uint8_t secret[ID_AT + SESSION_ID_SIZE + SESSION_SECRET_SIZE / 2] = {0};
    bytes_put_u8(&input, index);
    while (r.left > 0) {
        size_t n;
        uint8_t how = reader_u8(&r);
        const uint8_t *p = reader_block(&r, &n);
        for (uint8_t from = 0; from < 2; from++) {
            bytes_put_u8(&input, (uint8_t)(how | from));
            bytes_put_block(&input, p, n);
            if (n > INDEX_AT)
                input.data[input.size - n + INDEX_AT] = (uint8_t)net_index_of(index,
                                                                              (enum net_peer)from);
        }
    }
    memcpy(secret, said->data + 5, ID_AT);
    secret[4] = 3; /* SECRET */
    for (uint8_t from = 0; from < 2; from++) {
        bytes_put_u8(&input, (uint8_t)(6 | from));
        bytes_put_block(&input, secret, sizeof secret);
    }
    put(self, input.data, input.size);
}

void fuzz_seeds(fuzz_put put, void *self)
{
    struct bytes said CLEAN(bytes_clear) = {0};
    struct wire w = {.left = {(const uint8_t *)"", 0, false}, .keep = &said};
    (void)!open_with(&w, 0); /* PROPOSE and HELLO of server 0 */
    for (uint8_t index = 0; index < 3; index++)
        put_handshake(put, self, index, &said);
}
