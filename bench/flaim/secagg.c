#include "bench/flaim/secagg.h"

#include "base/memory.h"
#include "base/secret.h"
#include "bench/flaim/shamir.h"

#include <sodium.h>
#include <string.h>

#define KEY 32
#define SHARES (2 * SHAMIR_BYTES) /* of the mask seed and of the masking key */
#define SEALED (SHARES + crypto_aead_chacha20poly1305_IETF_ABYTES)

enum secagg_kind { KEYS = 1, ROSTER, SHARED, INPUT, MASKED, SURVIVORS, REVEAL };

/* What a client knows. */
struct secagg_party {
    uint8_t number;
    uint8_t seal_secret[KEY], seal_public[KEY], mask_secret[KEY], mask_public[KEY], seed[KEY];
    uint8_t (*peer_seal)[KEY], (*peer_mask)[KEY]; /* public keys of all */
    uint8_t (*share)[SHARES];                     /* of everybody's two secrets, for this client */
    bool *shared;                                 /* who sent shares */
};

/* What the server knows. */
struct secagg_relay {
    bool *keyed, *shared, *arrived, *revealed;
    uint8_t (*seal_public)[KEY], (*mask_public)[KEY];
    uint8_t (*sealed)[SEALED];       /* [from * clients + to] */
    uint8_t (*reveal)[SHAMIR_BYTES]; /* [of * clients + by] */
};

struct secagg_session {
    const struct secagg_job *job;
    struct secagg_party *party;
    struct secagg_relay relay;
    struct log *log;
};

/* --- keys and masks -------------------------------------------------------------------------- */

static enum err agree(uint8_t shared[KEY], const uint8_t secret[KEY], const uint8_t public[KEY])
{
    return crypto_scalarmult(shared, secret, public) == 0 ? ERR_OK : ERR_CRYPTO;
}

static void derive(uint8_t key[KEY], const uint8_t from[KEY], const char *purpose, uint32_t a,
                   uint32_t b, uint32_t c)
{
    uint8_t text[64] = {0};
    size_t n = strlen(purpose);
    memcpy(text, purpose, n);
    memcpy(text + n, (const uint32_t[]){a, b, c}, 12);
    crypto_generichash(key, KEY, text, n + 12, from, KEY);
}

/* to +- a stream of the key, word by word */
static enum err apply(uint32_t *to, size_t words, const uint8_t key[KEY], bool add)
{
    static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES];
    uint32_t *stream = memory_array(words, sizeof *stream);
    if (stream == NULL)
        return ERR_NOMEM;
    crypto_stream_chacha20((uint8_t *)stream, words * sizeof *stream, nonce, key);
    for (size_t i = 0; i < words; i++)
        to[i] += add ? stream[i] : 0 - stream[i];
    memory_free(&stream);
    return ERR_OK;
}

static enum err self_mask(uint32_t *to, size_t words, const uint8_t seed[KEY], uint32_t segment,
                          bool add)
{
    uint8_t key[KEY];
    derive(key, seed, "trefoil-secagg-self", segment, 0, 0);
    return apply(to, words, key, add);
}

/* The mask of `me` against `other`: the earlier client adds what the later one takes off. */
static enum err pair_mask(uint32_t *to, size_t words, const uint8_t secret[KEY],
                          const uint8_t public[KEY], uint8_t me, uint8_t other, uint32_t segment)
{
    uint8_t shared[KEY], key[KEY];
    uint8_t low = me < other ? me : other, high = me < other ? other : me;
    TRY(agree(shared, secret, public));
    derive(key, shared, "trefoil-secagg-mask", low, high, segment);
    return apply(to, words, key, me < other);
}

/* --- the client ------------------------------------------------------------------------------ */

static enum err party_new(struct secagg_party *p, size_t number, size_t clients)
{
    p->number = (uint8_t)number;
    p->peer_seal = memory_array(clients, sizeof *p->peer_seal);
    p->peer_mask = memory_array(clients, sizeof *p->peer_mask);
    p->share = memory_array(clients, sizeof *p->share);
    p->shared = memory_array(clients, sizeof *p->shared);
    return p->peer_seal != NULL && p->peer_mask != NULL && p->share != NULL && p->shared != NULL
               ? ERR_OK
               : ERR_NOMEM;
}

static void party_clear(struct secagg_party *p)
{
    memory_free_all(&p->peer_seal, &p->peer_mask, &p->share, &p->shared);
    secret_wipe(p, sizeof *p);
}

static void client_keys(struct secagg_party *p, struct bytes *out)
{
    crypto_box_keypair(p->seal_public, p->seal_secret);
    crypto_box_keypair(p->mask_public, p->mask_secret);
    secret_random(p->seed, sizeof p->seed);
    bytes_put_u8(out, KEYS);
    bytes_put(out, p->seal_public, KEY);
    bytes_put(out, p->mask_public, KEY);
}

static enum err seal(const struct secagg_party *p, uint8_t to, const uint8_t shares[SHARES],
                     struct bytes *out)
{
    static const uint8_t nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
    uint8_t shared[KEY], key[KEY], sealed[SEALED];
    TRY(agree(shared, p->seal_secret, p->peer_seal[to]));
    derive(key, shared, "trefoil-secagg-share", p->number, to, 0); /* used once */
    crypto_aead_chacha20poly1305_ietf_encrypt(sealed, NULL, shares, SHARES, NULL, 0, NULL, nonce,
                                              key);
    bytes_put_u8(out, to);
    bytes_put(out, sealed, sizeof sealed);
    return ERR_OK;
}

static enum err unseal(struct secagg_party *p, uint8_t from, const uint8_t sealed[SEALED])
{
    static const uint8_t nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
    uint8_t shared[KEY], key[KEY];
    TRY(agree(shared, p->seal_secret, p->peer_seal[from]));
    derive(key, shared, "trefoil-secagg-share", from, p->number, 0);
    return crypto_aead_chacha20poly1305_ietf_decrypt(p->share[from], NULL, NULL, sealed, SEALED,
                                                     NULL, 0, nonce, key) == 0
               ? ERR_OK
               : ERR_AUTH;
}

/* Splits both secrets among everybody on the roster and seals each client's shares. */
static enum err client_shares(struct secagg_party *p, const struct secagg_job *job,
                              const struct bytes *in, struct bytes *out)
{
    uint8_t seed[SECAGG_CLIENTS_MAX][SHAMIR_BYTES], key[SECAGG_CLIENTS_MAX][SHAMIR_BYTES];
    bool listed[SECAGG_CLIENTS_MAX] = {false};
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r), count = reader_u8(&r);
    for (unsigned i = 0; i < count; i++) {
        uint8_t who = reader_u8(&r);
        if (who >= job->clients)
            return ERR_FORMAT;
        listed[who] = true;
        reader_copy(&r, p->peer_seal[who], KEY);
        reader_copy(&r, p->peer_mask[who], KEY);
    }
    TRY(reader_done(&r));
    if (kind != ROSTER || count < job->threshold)
        return ERR_FORMAT;
    shamir_split(p->seed, job->threshold, job->clients, seed);
    shamir_split(p->mask_secret, job->threshold, job->clients, key);
    bytes_put_u8(out, SHARED);
    bytes_put_u8(out, (uint8_t)(count - 1));
    for (unsigned who = 0; who < job->clients; who++) {
        uint8_t both[SHARES];
        memcpy(both, seed[who], SHAMIR_BYTES);
        memcpy(both + SHAMIR_BYTES, key[who], SHAMIR_BYTES);
        if (who == p->number)
            memcpy(p->share[who], both, SHARES);
        else if (listed[who])
            TRY(seal(p, (uint8_t)who, both, out));
    }
    p->shared[p->number] = true;
    return ERR_OK;
}

/* One segment of INPUT: masked words of x are appended to `out`. */
static enum err mask_segment(const struct secagg_party *p, const struct secagg_job *job,
                             struct reader *r, const uint32_t **x, struct bytes *out)
{
    uint32_t segment = reader_u32(r), words = reader_u32(r);
    const uint8_t *members = reader_bytes(r, (job->clients + 7) / 8);
    uint32_t *masked;
    enum err e;
    if (members == NULL || segment >= job->segments || words != job->segment[segment].words)
        return ERR_FORMAT;
    masked = memory_array(words, sizeof *masked);
    if (masked == NULL)
        return ERR_NOMEM;
    memcpy(masked, *x, words * sizeof *masked);
    *x += words;
    e = self_mask(masked, words, p->seed, segment, true);
    for (unsigned who = 0; e == ERR_OK && who < job->clients; who++)
        if (who != p->number && p->shared[who] && (members[who / 8] >> who % 8 & 1) != 0)
            e = pair_mask(masked, words, p->mask_secret, p->peer_mask[who], p->number, (uint8_t)who,
                          segment);
    for (uint32_t i = 0; e == ERR_OK && i < words; i++)
        bytes_put_u32(out, masked[i]);
    memory_free(&masked);
    return e;
}

static enum err client_masked(struct secagg_party *p, const struct secagg_job *job,
                              const struct bytes *in, struct bytes *out)
{
    struct reader r = reader_of(in->data, in->size);
    const uint32_t *x = job->input[p->number];
    unsigned kind = reader_u8(&r), count = reader_u8(&r), segments;
    for (unsigned i = 0; i < count; i++) {
        uint8_t from = reader_u8(&r);
        const uint8_t *sealed = reader_bytes(&r, SEALED);
        if (from >= job->clients || sealed == NULL)
            return ERR_FORMAT;
        TRY(unseal(p, from, sealed));
        p->shared[from] = true;
    }
    bytes_put_u8(out, MASKED);
    segments = reader_u16(&r);
    for (unsigned i = 0; i < segments; i++)
        TRY(mask_segment(p, job, &r, &x, out));
    TRY(reader_done(&r));
    return kind == INPUT ? ERR_OK : ERR_FORMAT;
}

/* One share or the other of each other client, never both. */
static enum err client_reveal(const struct secagg_party *p, const struct secagg_job *job,
                              const struct bytes *in, struct bytes *out)
{
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r);
    const uint8_t *survivors = reader_bytes(&r, (job->clients + 7) / 8);
    TRY(reader_done(&r));
    if (kind != SURVIVORS)
        return ERR_FORMAT;
    bytes_put_u8(out, REVEAL);
    for (unsigned who = 0; who < job->clients; who++)
        if (p->shared[who])
            bytes_put(out,
                      p->share[who] + ((survivors[who / 8] >> who % 8 & 1) != 0 ? 0 : SHAMIR_BYTES),
                      SHAMIR_BYTES);
    return ERR_OK;
}

/* --- the server ------------------------------------------------------------------------------ */

static enum err relay_new(struct secagg_relay *s, size_t n)
{
    s->keyed = memory_array(n, sizeof *s->keyed);
    s->shared = memory_array(n, sizeof *s->shared);
    s->arrived = memory_array(n, sizeof *s->arrived);
    s->revealed = memory_array(n, sizeof *s->revealed);
    s->seal_public = memory_array(n, sizeof *s->seal_public);
    s->mask_public = memory_array(n, sizeof *s->mask_public);
    s->sealed = memory_array(n * n, sizeof *s->sealed);
    s->reveal = memory_array(n * n, sizeof *s->reveal);
    return s->keyed != NULL && s->shared != NULL && s->arrived != NULL && s->revealed != NULL &&
                   s->seal_public != NULL && s->mask_public != NULL && s->sealed != NULL &&
                   s->reveal != NULL
               ? ERR_OK
               : ERR_NOMEM;
}

static void relay_clear(struct secagg_relay *s)
{
    memory_free_all(&s->keyed, &s->shared, &s->arrived, &s->revealed, &s->seal_public,
                    &s->mask_public, &s->sealed, &s->reveal);
}

static uint8_t count_of(const bool *who, size_t n)
{
    uint8_t count = 0;
    for (size_t i = 0; i < n; i++)
        count = (uint8_t)(count + who[i]);
    return count;
}

static void put_bits(struct bytes *out, const bool *a, const uint8_t *b, size_t n)
{
    for (size_t at = 0; at < n; at += 8) {
        unsigned byte = 0;
        for (size_t i = at; i < n && i < at + 8; i++)
            byte |= (unsigned)(a[i] && (b == NULL || b[i] != 0)) << (i - at);
        bytes_put_u8(out, (uint8_t)byte);
    }
}

static enum err take_keys(struct secagg_relay *s, size_t from, const struct bytes *in)
{
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r);
    reader_copy(&r, s->seal_public[from], KEY);
    reader_copy(&r, s->mask_public[from], KEY);
    s->keyed[from] = true;
    TRY(reader_done(&r));
    return kind == KEYS ? ERR_OK : ERR_FORMAT;
}

static void make_roster(const struct secagg_relay *s, size_t n, struct bytes *out)
{
    bytes_put_u8(out, ROSTER);
    bytes_put_u8(out, count_of(s->keyed, n));
    for (size_t i = 0; i < n; i++) {
        if (!s->keyed[i])
            continue;
        bytes_put_u8(out, (uint8_t)i);
        bytes_put(out, s->seal_public[i], KEY);
        bytes_put(out, s->mask_public[i], KEY);
    }
}

static enum err take_shares(struct secagg_relay *s, size_t n, size_t from, const struct bytes *in)
{
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r), count = reader_u8(&r);
    for (unsigned i = 0; i < count; i++) {
        uint8_t to = reader_u8(&r);
        if (to >= n)
            return ERR_FORMAT;
        reader_copy(&r, s->sealed[from * n + to], SEALED);
    }
    s->shared[from] = true;
    TRY(reader_done(&r));
    return kind == SHARED ? ERR_OK : ERR_FORMAT;
}

/* Other clients' shares for this one, and the segments that it adds to. */
static void make_input(const struct secagg_session *s, size_t to, struct bytes *out)
{
    const struct secagg_job *job = s->job;
    const struct secagg_relay *relay = &s->relay;
    uint16_t segments = 0;
    bytes_put_u8(out, INPUT);
    bytes_put_u8(out, (uint8_t)(count_of(relay->shared, job->clients) - 1));
    for (size_t i = 0; i < job->clients; i++) {
        if (i == to || !relay->shared[i])
            continue;
        bytes_put_u8(out, (uint8_t)i);
        bytes_put(out, relay->sealed[i * job->clients + to], SEALED);
    }
    for (size_t k = 0; k < job->segments; k++)
        segments = (uint16_t)(segments + job->segment[k].member[to]);
    bytes_put_u16(out, segments);
    for (size_t k = 0; k < job->segments; k++) {
        if (job->segment[k].member[to] == 0)
            continue;
        bytes_put_u32(out, (uint32_t)k);
        bytes_put_u32(out, (uint32_t)job->segment[k].words);
        put_bits(out, relay->shared, job->segment[k].member, job->clients);
    }
}

static enum err take_masked(struct secagg_session *s, size_t from, const struct bytes *in)
{
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r);
    uint32_t *sum = s->job->sum;
    for (size_t k = 0; k < s->job->segments; sum += s->job->segment[k++].words)
        for (size_t i = 0; s->job->segment[k].member[from] != 0 && i < s->job->segment[k].words;
             i++)
            sum[i] += reader_u32(&r);
    s->relay.arrived[from] = true;
    TRY(reader_done(&r));
    return kind == MASKED ? ERR_OK : ERR_FORMAT;
}

static enum err take_reveal(struct secagg_relay *s, size_t n, size_t by, const struct bytes *in)
{
    struct reader r = reader_of(in->data, in->size);
    unsigned kind = reader_u8(&r);
    for (size_t of = 0; of < n; of++)
        if (s->shared[of])
            reader_copy(&r, s->reveal[of * n + by], SHAMIR_BYTES);
    s->revealed[by] = true;
    TRY(reader_done(&r));
    return kind == REVEAL ? ERR_OK : ERR_FORMAT;
}

static void join(const struct secagg_session *s, size_t of, uint8_t secret[KEY])
{
    uint8_t x[SECAGG_CLIENTS_MAX], share[SECAGG_CLIENTS_MAX][SHAMIR_BYTES];
    unsigned count = 0;
    for (size_t by = 0; by < s->job->clients && count < s->job->threshold; by++) {
        if (!s->relay.revealed[by])
            continue;
        x[count] = (uint8_t)(by + 1);
        memcpy(share[count++], s->relay.reveal[of * s->job->clients + by], SHAMIR_BYTES);
    }
    shamir_join(x, (const uint8_t(*)[SHAMIR_BYTES])share, count, secret);
}

/* What a client that vanished leaves behind: its pairwise masks in the others' inputs. */
static enum err unmask_pairs(const struct secagg_session *s, size_t gone, const uint8_t secret[KEY],
                             size_t segment, uint32_t *sum)
{
    const struct secagg_segment *g = &s->job->segment[segment];
    for (size_t who = 0; who < s->job->clients; who++)
        if (g->member[who] != 0 && s->relay.arrived[who])
            TRY(pair_mask(sum, g->words, secret, s->relay.mask_public[who], (uint8_t)gone,
                          (uint8_t)who, (uint32_t)segment));
    return ERR_OK;
}

/* Takes off the mask of a client's input, or the masks that others have against it. */
static enum err unmask(const struct secagg_session *s, size_t of)
{
    const struct secagg_job *job = s->job;
    uint8_t secret[KEY], public[KEY];
    uint32_t *sum = job->sum;
    enum err e = ERR_OK;
    join(s, of, secret);
    if (!s->relay.arrived[of] && (crypto_scalarmult_base(public, secret) != 0 ||
                                  memcmp(public, s->relay.mask_public[of], KEY) != 0))
        e = ERR_CRYPTO;
    for (size_t k = 0; e == ERR_OK && k < job->segments; sum += job->segment[k++].words) {
        if (job->segment[k].member[of] == 0)
            continue;
        e = s->relay.arrived[of] ? self_mask(sum, job->segment[k].words, secret, (uint32_t)k, false)
                                 : unmask_pairs(s, of, secret, k, sum);
    }
    secret_wipe(secret, sizeof secret);
    return e;
}

static enum err finish(struct secagg_session *s)
{
    unsigned revealed = count_of(s->relay.revealed, s->job->clients);
    if (revealed < s->job->threshold) {
        log_error(s->log,
                  "secure aggregation: %u of %zu clients are left at the end, and %u are needed to "
                  "take off the masks; nothing was learned, begin again with new clients",
                  revealed, s->job->clients, s->job->threshold);
        return ERR_PEER;
    }
    for (size_t of = 0; of < s->job->clients; of++)
        if (s->relay.shared[of])
            TRY(unmask(s, of));
    return ERR_OK;
}

/* --- the messages' way ----------------------------------------------------------------------- */

static bool stays(const struct secagg_session *s, size_t client, enum secagg_drop before)
{
    enum secagg_drop drop = s->job->drop != NULL ? s->job->drop[client] : SECAGG_STAYS;
    return drop == SECAGG_STAYS || drop > before;
}

static enum err carry(const struct secagg_session *s, size_t client, bool from_client,
                      const struct bytes *message)
{
    TRY(bytes_ok(message));
    (from_client ? s->job->sent : s->job->received)[client] += message->size;
    if (s->job->tap != NULL)
        s->job->tap(s->job->self, client, from_client, message);
    return ERR_OK;
}

enum secagg_step { STEP_KEYS, STEP_SHARES, STEP_INPUT, STEP_REVEAL, STEPS };

static enum err ask(struct secagg_session *s, enum secagg_step step, size_t client,
                    struct bytes *out)
{
    if (step == STEP_SHARES)
        make_roster(&s->relay, s->job->clients, out);
    else if (step == STEP_INPUT)
        make_input(s, client, out);
    else if (step == STEP_REVEAL) {
        bytes_put_u8(out, SURVIVORS);
        put_bits(out, s->relay.arrived, NULL, s->job->clients);
    }
    return out->size > 0 ? carry(s, client, false, out) : ERR_OK;
}

static enum err reply(struct secagg_session *s, enum secagg_step step, size_t client,
                      const struct bytes *in, struct bytes *out)
{
    struct secagg_party *p = &s->party[client];
    if (step == STEP_KEYS)
        client_keys(p, out);
    else if (step == STEP_SHARES)
        TRY(client_shares(p, s->job, in, out));
    else if (step == STEP_INPUT)
        TRY(client_masked(p, s->job, in, out));
    else
        TRY(client_reveal(p, s->job, in, out));
    return carry(s, client, true, out);
}

static enum err take(struct secagg_session *s, enum secagg_step step, size_t client,
                     const struct bytes *in)
{
    if (step == STEP_KEYS)
        return take_keys(&s->relay, client, in);
    if (step == STEP_SHARES)
        return take_shares(&s->relay, s->job->clients, client, in);
    if (step == STEP_INPUT)
        return take_masked(s, client, in);
    return take_reveal(&s->relay, s->job->clients, client, in);
}

/* The server asks everybody who is left, and only then reads the answers. */
static enum err run_step(struct secagg_session *s, enum secagg_step step, struct bytes *answer)
{
    for (size_t k = 0; k < s->job->clients; k++) {
        struct bytes question = {0};
        enum err e = ERR_OK;
        if (stays(s, k, (enum secagg_drop)step)) {
            e = ask(s, step, k, &question);
            if (e == ERR_OK)
                e = reply(s, step, k, &question, &answer[k]);
        }
        bytes_clear(&question);
        TRY(e);
    }
    for (size_t k = 0; k < s->job->clients; k++) {
        if (answer[k].size > 0)
            TRY(take(s, step, k, &answer[k]));
        bytes_clear(&answer[k]);
    }
    return ERR_OK;
}

static enum err run(struct secagg_session *s)
{
    struct bytes *answer = memory_array(s->job->clients, sizeof *answer);
    enum err e = answer != NULL ? ERR_OK : ERR_NOMEM;
    for (size_t k = 0; e == ERR_OK && k < s->job->clients; k++)
        e = party_new(&s->party[k], k, s->job->clients);
    for (enum secagg_step step = STEP_KEYS; e == ERR_OK && step < STEPS; step++)
        e = run_step(s, step, answer);
    for (size_t k = 0; answer != NULL && k < s->job->clients; k++)
        bytes_clear(&answer[k]);
    memory_free(&answer);
    return e == ERR_OK ? finish(s) : e;
}

unsigned secagg_threshold(size_t clients)
{
    return (unsigned)(clients / 2 + 1);
}

static size_t words_of(const struct secagg_job *job)
{
    size_t words = 0;
    for (size_t k = 0; k < job->segments; k++)
        words += job->segment[k].words;
    return words;
}

enum err secagg_run(const struct secagg_job *job, struct log *log)
{
    struct secagg_session s = {.job = job, .log = log};
    enum err e;
    if (job->clients < 1 || job->clients > SECAGG_CLIENTS_MAX || job->segments > UINT16_MAX ||
        job->threshold > job->clients || job->threshold <= job->clients / 2)
        return ERR_RANGE;
    TRY(secret_start());
    memset(job->sum, 0, words_of(job) * sizeof *job->sum);
    s.party = memory_array(job->clients, sizeof *s.party);
    e = s.party != NULL ? relay_new(&s.relay, job->clients) : ERR_NOMEM;
    if (e == ERR_OK)
        e = run(&s);
    for (size_t k = 0; s.party != NULL && k < job->clients; k++)
        party_clear(&s.party[k]);
    memory_free(&s.party);
    relay_clear(&s.relay);
    return e;
}

void secagg_count(const struct secagg_job *job)
{
    uint64_t n = job->clients, bits = (n + 7) / 8;
    for (size_t who = 0; who < n; who++) {
        uint64_t shares = 2 + (n - 1) * (1 + SEALED), words = 0, segments = 0;
        for (size_t k = 0; k < job->segments; k++) {
            words += job->segment[k].member[who] != 0 ? job->segment[k].words : 0;
            segments += job->segment[k].member[who];
        }
        job->sent[who] += 1 + 2 * KEY + shares + 1 + 4 * words + 1 + n * SHAMIR_BYTES;
        job->received[who] += 2 + n * (1 + 2 * KEY) + shares + 2 + segments * (8 + bits) + 1 + bits;
    }
}
