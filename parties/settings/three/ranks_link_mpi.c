/*
 * Messages between ranks, in pieces. Each piece is sealed like frames between servers
 * (netio/seal.h), with one key for each direction; keys come from X25519 (crypto_kx) when the job
 * starts. That keeps out an eavesdropper on the network. MPI's own launcher has to keep out an
 * attacker who can pose as a rank.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/prg.h"
#include "base/secret.h"
#include "parties/settings/three/ranks_mpi.h"

#include <mpi.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY ((size_t)crypto_kx_SESSIONKEYBYTES)
#define PIECE (RANKS_PIECE - SEAL_TAG) /* bytes of a message that are sealed together */
#define LIFE_MS 1000
#define AT_ONCE ((size_t)1 << 18) /* words that are reduced */

enum tags { MESSAGE = 1, CALL_OFF = 2, ALIVE = 3 };

void ranks_nap(unsigned *turn)
{
    const long us = *turn < 20 ? 20 : *turn < 60 ? 100 : 1000;
    const struct timespec t = {.tv_nsec = us * 1000};
    ++*turn;
    nanosleep(&t, NULL);
}

/* --- who is silent ---------------------------------------------------------------------------- */

/* Rank 0 waits for a limited time; the others are idle as long as it has nothing for them. */
static void heed(const struct ranks *r, const struct ranks_end *end, int64_t since)
{
    char whose[RANKS_NAME + 60] = "another rank";
    if (r->rank > 0 || clock_now_ms() - since < r->patience_ms)
        return;
    if (end != NULL)
        snprintf(whose, sizeof whose, "rank %d on %s, process %ld,", end->rank, end->name,
                 end->pid);
    log_error(r->log,
              "nothing was heard from %s for %ld seconds: it hangs, or its machine does not "
              "answer. All ranks of this server end",
              whose, (long)(r->patience_ms / 1000));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void ranks_show_life(struct ranks *r)
{
    MPI_Request request;
    const int64_t now = clock_now_ms();
    if (now - r->shown < LIFE_MS)
        return;
    r->shown = now;
    MPI_Isend(NULL, 0, MPI_BYTE, 0, ALIVE, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

/* Takes a message without bytes, if one has come; returns whether it has. */
static bool took(int rank, enum tags tag)
{
    int there = 0;
    MPI_Iprobe(rank, (int)tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there)
        MPI_Recv(NULL, 0, MPI_BYTE, rank, (int)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return there;
}

static void wait_for(const struct ranks *r, const struct ranks_end *end, MPI_Request *request)
{
    const int64_t since = clock_now_ms();
    int done = 0;
    unsigned turn = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    while (!done) {
        ranks_nap(&turn);
        heed(r, end, since);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
    }
}

/* --- messages --------------------------------------------------------------------------------- */

static enum err send_piece(struct ranks *r, struct ranks_end *to, const uint8_t *p, size_t n)
{
    MPI_Request request;
    TRY(seal_frame(to->seals, to->sent++, NULL, 0, p, n, r->piece));
    MPI_Isend(r->piece, (int)(n + SEAL_TAG), MPI_BYTE, to->rank, MESSAGE, MPI_COMM_WORLD, &request);
    wait_for(r, to, &request);
    return ERR_OK;
}

static enum err receive_piece(struct ranks *r, struct ranks_end *from, uint8_t *p, size_t n)
{
    MPI_Request request;
    enum err e;
    MPI_Irecv(r->piece, (int)(n + SEAL_TAG), MPI_BYTE, from->rank, MESSAGE, MPI_COMM_WORLD,
              &request);
    wait_for(r, from, &request);
    e = seal_open(from->opens, from->got++, NULL, 0, r->piece, n, p);
    if (e == ERR_AUTH)
        log_error(r->log, "a message from rank %d was altered on its way", from->rank);
    return e;
}

/* Sends its length, then its pieces: so no message is too long for MPI, whose counts are ints. */
enum err ranks_send(struct ranks *r, struct ranks_end *to, const struct bytes *message)
{
    uint8_t size[8];
    TRY(bytes_ok(message));
    integer_put(size, message->size, sizeof size);
    TRY(send_piece(r, to, size, sizeof size));
    for (size_t at = 0; at < message->size; at += PIECE)
        TRY(send_piece(r, to, message->data + at,
                       message->size - at < PIECE ? message->size - at : PIECE));
    return ERR_OK;
}

/* A rank that works shows that it lives, however long that takes. */
static void wait_for_message(const struct ranks *r, const struct ranks_end *from)
{
    int64_t heard = clock_now_ms();
    unsigned turn = 0;
    int there = 0;
    MPI_Iprobe(from->rank, MESSAGE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    while (!there) {
        if (took(from->rank, ALIVE))
            heard = clock_now_ms();
        heed(r, from, heard);
        ranks_nap(&turn);
        MPI_Iprobe(from->rank, MESSAGE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    while (took(from->rank, ALIVE)) /* those sent before it, which would pile up */
        continue;
}

enum err ranks_receive(struct ranks *r, struct ranks_end *from, struct bytes *message)
{
    uint8_t size[8];
    uint64_t n;
    wait_for_message(r, from);
    TRY(receive_piece(r, from, size, sizeof size));
    n = integer_get(size, sizeof size);
    bytes_clear(message);
    bytes_extend(message, n);
    TRY(bytes_ok(message));
    for (size_t at = 0; at < n; at += PIECE)
        TRY(receive_piece(r, from, message->data + at, n - at < PIECE ? n - at : PIECE));
    return ERR_OK;
}

void ranks_call_off(struct ranks *r, struct ranks_end *to)
{
    MPI_Request request;
    MPI_Isend(NULL, 0, MPI_BYTE, to->rank, CALL_OFF, MPI_COMM_WORLD, &request);
    wait_for(r, to, &request);
}

bool ranks_called_off(void)
{
    return took(0, CALL_OFF);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* The key for the masks of one reduction; both ends count alike. */
static void mask_key(struct ranks_end *end, uint8_t key[16])
{
    uint8_t number[8];
    integer_put(number, end->masked++, sizeof number);
    crypto_generichash(key, 16, number, sizeof number, end->masks, KEY);
}

/* words +- the next masks */
static enum err mask(struct prg *prg, uint64_t *words, size_t n, bool add)
{
    uint64_t masks[512];
    for (size_t at = 0; at < n; at += 512) {
        const size_t k = n - at < 512 ? n - at : 512;
        TRY(prg_fill(prg, masks, k * sizeof *masks));
        for (size_t i = 0; i < k; i++)
            words[at + i] += add ? masks[i] : 0 - masks[i];
    }
    secret_wipe(masks, sizeof masks);
    return ERR_OK;
}

static enum err reduce(struct ranks *r, struct prg **prg, uint64_t *words, size_t n)
{
    MPI_Request request;
    if (r->rank > 0)
        TRY(mask(prg[0], words, n, true));
    MPI_Ireduce(r->rank == 0 ? MPI_IN_PLACE : words, r->rank == 0 ? words : NULL, (int)n,
                MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    wait_for(r, NULL, &request);
    for (int k = 0; r->rank == 0 && k < r->size - 1; k++)
        TRY(mask(prg[k], words, n, false));
    return ERR_OK;
}

enum err ranks_reduce(struct ranks *r, struct share64 sums)
{
    const size_t ends = r->rank == 0 ? (size_t)r->size - 1 : 1;
    struct prg **prg CLEAN(memory_release) = NULL;
    uint8_t key[16];
    enum err e = memory_new_array(&prg, ends, sizeof *prg);
    for (size_t k = 0; k < ends && e == ERR_OK; k++) {
        mask_key(&r->end[k], key);
        e = prg_new(&prg[k], key);
    }
    for (unsigned side = 0; side < 2; side++)
        for (size_t at = 0; at < sums.n && e == ERR_OK; at += AT_ONCE)
            e = reduce(r, prg, (side == 0 ? sums.a : sums.b) + at,
                       sums.n - at < AT_ONCE ? sums.n - at : AT_ONCE);
    for (size_t k = 0; k < ends && prg != NULL; k++)
        prg_free(&prg[k]);
    secret_wipe(key, sizeof key);
    return e;
}

/* --- the beginning ---------------------------------------------------------------------------- */

/* What a rank says about itself. */
struct ranks_card {
    char version[16];
    uint8_t public[crypto_kx_PUBLICKEYBYTES];
    char name[RANKS_NAME], host[STUDY_HOST_SIZE];
    uint16_t port;
    uint32_t lanes, pid;
};

/* Derives a key for one use from an agreed key. */
static void derive(uint8_t *key, size_t size, const uint8_t from[KEY], const char *use)
{
    crypto_generichash(key, size, from, KEY, (const uint8_t *)use, strlen(use));
}

static enum err key_ends(struct ranks_end *end, const uint8_t sent[KEY], const uint8_t got[KEY])
{
    uint8_t key[SEAL_KEY];
    enum err e;
    derive(key, sizeof key, sent, "trefoil-ranks-seal-1");
    e = seal_new(&end->seals, SEAL_SENDER, key, 0);
    derive(key, sizeof key, got, "trefoil-ranks-seal-1");
    if (e == ERR_OK)
        e = seal_new(&end->opens, SEAL_RECEIVER, key, 0);
    secret_wipe(key, sizeof key);
    return e;
}

static enum err agree(const struct ranks *r, struct ranks_end *end, const struct ranks_card *own,
                      const uint8_t *secret, const struct ranks_card *theirs)
{
    uint8_t *sent CLEAN(secret_release) = secret_new(2 * KEY);
    uint8_t *got;
    int failed;
    end->masks = secret_new(KEY);
    if (end->masks == NULL || sent == NULL)
        return ERR_NOMEM;
    got = sent + KEY;
    failed = r->rank == 0
                 ? crypto_kx_server_session_keys(got, sent, own->public, secret, theirs->public)
                 : crypto_kx_client_session_keys(got, sent, own->public, secret, theirs->public);
    if (failed != 0)
        return ERR_CRYPTO;
    TRY(key_ends(end, sent, got));
    derive(end->masks, KEY, r->rank == 0 ? got : sent, "trefoil-ranks-masks-1"); /* what goes up */
    memcpy(end->name, theirs->name, sizeof end->name);
    end->name[RANKS_NAME - 1] = '\0';
    end->lanes = theirs->lanes;
    end->pid = theirs->pid;
    return ERR_OK;
}

enum err ranks_meet(struct ranks *r)
{
    struct ranks_card own = {.version = TREFOIL_VERSION,
                             .lanes = (uint32_t)r->own,
                             .port = r->own_place.port[0],
                             .pid = (uint32_t)getpid()};
    struct ranks_card *card CLEAN(memory_release) = NULL;
    uint8_t *secret CLEAN(secret_release) = secret_new(crypto_kx_SECRETKEYBYTES);
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int n;
    enum err e = secret != NULL ? ERR_OK : ERR_NOMEM;
    TRY(e);
    TRY(memory_new(&card, (size_t)r->size));
    crypto_kx_keypair(own.public, secret);
    MPI_Get_processor_name(name, &n);
    snprintf(own.name, sizeof own.name, "%.*s", RANKS_NAME - 1, name);
    memcpy(own.host, r->own_place.host, sizeof own.host);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, card, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    for (int k = 0; k < r->size; k++)
        if (memcmp(card[k].version, own.version, sizeof own.version) != 0)
            return log_fail(r->log, ERR_USAGE,
                            "rank %d on %.*s has another trefoil: install %s on all machines", k,
                            RANKS_NAME, card[k].name, TREFOIL_VERSION);
    TRY(memory_new(&r->end, (size_t)r->size));
    for (int k = 0; k < (r->rank == 0 ? r->size - 1 : 1); k++) {
        r->end[k].rank = r->rank == 0 ? k + 1 : 0;
        TRY(agree(r, &r->end[k], &own, secret, &card[r->end[k].rank]));
    }
    for (int k = 1; k < r->size; k++)
        r->all += card[k].lanes;
    TRY(memory_new(&r->place, r->all));
    for (int k = 1, at = 0; k < r->size; k++)
        for (uint32_t i = 0; i < card[k].lanes; i++, at++) {
            memcpy(r->place[at].host, card[k].host, sizeof card[k].host);
            r->place[at].port[0] = (uint16_t)(card[k].port + 2 * i);
            r->place[at].port[1] = (uint16_t)(card[k].port + 2 * i + 1);
        }
    return ERR_OK;
}
