#include "parties/settings/three/ranks_mpi.h"

#include "base/cores.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/study/study_ports.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work does not make a rank silent; even a busy machine runs each rank once in this time. */
#define PATIENCE_LEAST_MS 10000

/* --- life ------------------------------------------------------------------------------------- */

/* Finds this rank's HOST:PORT among those of all ranks except the first. */
static enum err find_place(struct ranks *r, const struct ranks_options *o)
{
    const char *at = o->places;
    int count = 0;
    while (at != NULL && *at != '\0') {
        const char *end = strchrnul(at, ','), *colon = memrchr(at, ':', (size_t)(end - at));
        const long port = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;
        const size_t n = colon != NULL ? (size_t)(colon - at) : 0;
        if (n == 0 || n >= STUDY_HOST_SIZE || port < 1 || port + 2 * SESSION_LANES_MAX > 65536)
            return log_fail(o->log, ERR_USAGE,
                            "--ranks has \"%.*s\"; write HOST:PORT,HOST:PORT,.. with ports below "
                            "%d",
                            (int)(end - at), at, 65536 - 2 * SESSION_LANES_MAX);
        if (++count == r->rank) {
            memcpy(r->own_place.host, at, n);
            r->own_place.port[0] = (uint16_t)port;
        }
        at = *end == ',' ? end + 1 : end;
    }
    if (count == r->size - 1)
        return ERR_OK;
    return log_fail(o->log, ERR_USAGE,
                    "mpirun started %d processes, and --ranks has %d places: name one for each "
                    "but the first, where the two other servers reach it",
                    r->size, count);
}

static size_t processors(void)
{
    const size_t n = cores_count();
    return n < SESSION_LANES_MAX ? n : SESSION_LANES_MAX;
}

static enum err begin_job(struct ranks **ranks, const struct ranks_options *o, struct ranks *r)
{
    TRY(find_place(r, o));
    if (r->rank > 0)
        r->own = o->lanes > 0 ? o->lanes : processors();
    TRY(ranks_meet(r));
    for (int k = 0; r->rank == 0 && k < r->size - 1; k++)
        log_info(o->log, "rank %d is on %s, process %ld, with %zu %s", k + 1, r->end[k].name,
                 r->end[k].pid, r->end[k].lanes, r->end[k].lanes == 1 ? "lane" : "lanes");
    *ranks = r;
    return ERR_OK;
}

enum err ranks_start(struct ranks **ranks, const struct ranks_options *o)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    struct ranks *r;
    int level, started = 0;
    enum err e;
    *ranks = NULL;
    /* mpirun does not pass signals on to a process that has initialised MPI and finalised it */
    if (size == NULL || strcmp(size, "1") == 0)
        return o->places == NULL ? ERR_OK
                                 : log_fail(o->log, ERR_USAGE,
                                            "--ranks is for servers that mpirun starts: mpirun -n "
                                            "2 trefoil serve ..");
    MPI_Initialized(&started);
    if (!started) {
        /* single copy reads other processes' memory, which secret_harden_process() prevents */
        setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
        setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
        if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
            level < MPI_THREAD_SERIALIZED)
            return log_fail(
                o->log, ERR_SYSTEM,
                "this MPI has no support for threads: start the server with one that has");
    }
    TRY(memory_new(&r, 1));
    r->log = o->log;
    r->patience_ms = PATIENCE_LEAST_MS;
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->size);
    e = begin_job(ranks, o, r);
    if (e != ERR_OK) {
        memory_free(&r);
        MPI_Finalize();
    }
    return e;
}

void ranks_abort(const struct ranks *r, enum err e)
{
    log_error(r->log, "rank %d ends, and its server with it: %s", r->rank, error_text(e));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

bool ranks_is_first(const struct ranks *r)
{
    return r == NULL || r->rank == 0;
}

size_t ranks_lanes(const struct ranks *r)
{
    return r != NULL ? r->all : 0;
}

const struct ranks_place *ranks_place(const struct ranks *r, size_t j)
{
    return &r->place[j];
}

/* --- a session -------------------------------------------------------------------------------- */

/* Sends a message that will be answered. */
static enum err ask(struct ranks *r, struct ranks_end *end)
{
    TRY(ranks_send(r, end, &r->message));
    end->owes = true;
    return ERR_OK;
}

/* Takes a rank's answer: how it went, and more after that in `r->message`. */
static enum err take_answer(struct ranks *r, struct ranks_end *end, struct reader *reader)
{
    char words[512];
    unsigned code;
    TRY(ranks_receive(r, end, &r->message));
    end->owes = false;
    *reader = reader_of(r->message.data, r->message.size);
    code = reader_u8(reader);
    reader_string(reader, words, sizeof words);
    if (reader->failed)
        return log_fail(r->log, ERR_FORMAT, "rank %d sent what is no answer", end->rank);
    if (code == ERR_OK)
        return ERR_OK;
    return log_fail(r->log, (enum err)code, "rank %d on %s: %s", end->rank, end->name,
                    words[0] != '\0' ? words : error_text((enum err)code));
}

/* Takes all answers, whatever the first one says. */
static enum err take_answers(struct ranks *r)
{
    enum err e = ERR_OK;
    for (int k = 0; k < r->size - 1; k++) {
        struct reader reader;
        e = crew_worse(e, take_answer(r, &r->end[k], &reader));
    }
    return e;
}

/* Asks all ranks the same. */
static enum err ask_all(struct ranks *r)
{
    for (int k = 0; k < r->size - 1; k++)
        TRY(ask(r, &r->end[k]));
    return take_answers(r);
}

enum err ranks_admit(struct ranks *r, unsigned index, const uint8_t expect[2][TRANSPORT_PASS_SIZE],
                     int64_t patience_ms)
{
    if (r == NULL)
        return ERR_OK;
    r->patience_ms = patience_ms < PATIENCE_LEAST_MS ? PATIENCE_LEAST_MS : patience_ms;
    bytes_clear(&r->message);
    bytes_put_u8(&r->message, RANKS_ADMIT);
    bytes_put_u8(&r->message, (uint8_t)index);
    bytes_put(&r->message, expect, 2 * sizeof *expect);
    return ask_all(r);
}

/* How many lanes of a rank the session has, if the ranks before it have `at` of its lanes. */
static size_t lanes_of(const struct ranks *r, const struct ranks_end *end, size_t at)
{
    const size_t left = r->lanes > at ? r->lanes - at : 0;
    return left < end->lanes ? left : end->lanes;
}

static void put_open(struct ranks *r, const struct ranks_session *s, size_t at, size_t lanes)
{
    struct bytes *b = &r->message;
    bytes_clear(b);
    bytes_put_u8(b, RANKS_OPEN);
    bytes_put_u8(b, (uint8_t)s->session->index);
    bytes_put(b, s->session->id, sizeof s->session->id);
    bytes_put(b, s->session->terms, sizeof s->session->terms);
    for (unsigned p = 0; p < 2; p++)
        bytes_put(b, s->session->pair_secret[p], SESSION_SECRET_SIZE);
    bytes_put(b, s->show, 2 * sizeof *s->show);
    bytes_put_u64(b, (uint64_t)s->deadline_ms);
    bytes_put_u64(b, s->log);
    bytes_put_u32(b, (uint32_t)(s->first + at));
    bytes_put_u32(b, (uint32_t)lanes);
    for (size_t i = 0; i < lanes; i++)
        for (unsigned p = 0; p < 2; p++) {
            /* to the previous server we are its next one, and the other way round */
            const struct ranks_place *place = &s->dial[p][at + i];
            char text[STUDY_ENDPOINT_SIZE];
            snprintf(text, sizeof text, "tcp://%s:%u", place->host, place->port[1 - p]);
            bytes_put_string(b, text);
        }
}

static enum err far_topic(void *self, const uint8_t topic[SESSION_ID_SIZE])
{
    struct ranks *r = self;
    bytes_clear(&r->message);
    bytes_put_u8(&r->message, RANKS_TOPIC);
    bytes_put(&r->message, topic, SESSION_ID_SIZE);
    for (int k = 0; k < r->size - 1; k++)
        TRY(ranks_send(r, &r->end[k], &r->message));
    return ERR_OK;
}

/* The rank that has lane `given` of these, and how many lanes the ranks before it have. */
static struct ranks_end *next_end(struct ranks *r, size_t *before)
{
    int k = 0;
    for (*before = 0; r->given >= *before + r->end[k].lanes; k++)
        *before += r->end[k].lanes;
    return &r->end[k];
}

static enum err far_give(void *self, const struct crew_task *task)
{
    struct ranks *r = self;
    struct bytes *b = &r->message;
    size_t before, lanes;
    struct ranks_end *end = next_end(r, &before);
    lanes = lanes_of(r, end, before);
    if (r->given == before) {
        bytes_clear(b);
        bytes_put_u8(b, RANKS_JOB);
        bytes_put_u8(b, (uint8_t)task->job);
        bytes_put_u8(b, (uint8_t)task->phase);
    }
    bytes_put_u64(b, task->arguments->size);
    bytes_put(b, task->arguments->data, task->arguments->size);
    r->given = (r->given + 1) % r->lanes;
    return r->given == (before + lanes) % r->lanes ? ask(r, end) : ERR_OK;
}

static enum err take_results(struct reader *reader, struct bytes *results, size_t lanes,
                             struct net_counters *counted)
{
    struct net_counters own = {0};
    reader_copy(reader, &own, sizeof own);
    net_counters_add(counted, &own);
    for (size_t i = 0; i < lanes; i++) {
        const uint64_t n = reader_u64(reader);
        const uint8_t *result = reader_bytes(reader, n);
        if (result == NULL)
            return ERR_FORMAT;
        bytes_put(&results[i], result, n);
        TRY(bytes_ok(&results[i]));
    }
    return reader_done(reader);
}

static enum err far_end(void *self, bool call_off, struct bytes *results,
                        struct net_counters *counted)
{
    struct ranks *r = self;
    enum err e = ERR_OK;
    size_t at = 0;
    for (int k = 0; call_off && k < r->size - 1; k++)
        if (r->end[k].owes)
            ranks_call_off(r, &r->end[k]);
    for (int k = 0; k < r->size - 1; k++) {
        const size_t lanes = lanes_of(r, &r->end[k], at);
        struct reader reader;
        enum err one;
        if (!r->end[k].owes)
            continue;
        one = take_answer(r, &r->end[k], &reader);
        if (one == ERR_OK)
            one = take_results(&reader, results + at, lanes, counted);
        e = crew_worse(e, one);
        at += lanes;
    }
    return e;
}

static enum err sum(struct ranks *r, struct share64 sums)
{
    bytes_clear(&r->message);
    bytes_put_u8(&r->message, RANKS_SUM);
    bytes_put_u64(&r->message, sums.n);
    TRY(ask_all(r));
    return ranks_reduce(r, sums);
}

/* If only some ranks have begun to add up, all must end: the next sums would mix with these. */
static enum err far_sum(void *self, struct share64 sums)
{
    const enum err e = sum(self, sums);
    if (e != ERR_OK)
        ranks_abort(self, e);
    return e;
}

enum err ranks_open(struct ranks *r, const struct ranks_session *s)
{
    size_t at = 0;
    r->lanes = s->lanes;
    r->given = 0;
    r->far = (struct crew_far){
        .topic = far_topic, .give = far_give, .end = far_end, .sum = far_sum, .self = r};
    for (int k = 0; k < r->size - 1; k++) {
        const size_t lanes = lanes_of(r, &r->end[k], at);
        put_open(r, s, at, lanes);
        TRY(ask(r, &r->end[k]));
        at += lanes;
    }
    return take_answers(r);
}

void ranks_close(struct ranks *r)
{
    if (r == NULL)
        return;
    for (int k = 0; k < r->size - 1; k++) {
        struct reader reader;
        /* an answer still owed must be taken: it would be mistaken for one to the next message */
        if (r->end[k].owes) {
            ranks_call_off(r, &r->end[k]);
            (void)take_answer(r, &r->end[k], &reader);
        }
        bytes_set(&r->message, &(const uint8_t){RANKS_CLOSE}, 1);
        if (ranks_send(r, &r->end[k], &r->message) != ERR_OK)
            log_warn(r->log, "rank %d does not hear that a session is closed", k + 1);
    }
    bytes_clear(&r->message); /* it held results before CLOSE, noise among them */
    r->lanes = 0;
}

const struct crew_far *ranks_far(struct ranks *r)
{
    return r != NULL && r->lanes > 0 ? &r->far : NULL;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Answered by all: MPI waits for each of them, however long that takes. */
static enum err quit(struct ranks *r)
{
    bytes_set(&r->message, &(const uint8_t){RANKS_QUIT}, 1);
    return ask_all(r);
}

void ranks_stop(struct ranks **ranks)
{
    struct ranks *r = *ranks;
    if (r == NULL)
        return;
    if (r->rank == 0 && quit(r) != ERR_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    for (int k = 0; k < (r->rank == 0 ? r->size - 1 : 1); k++) {
        seal_free(&r->end[k].seals);
        seal_free(&r->end[k].opens);
        secret_free(&r->end[k].masks);
    }
    bytes_clear(&r->message);
    memory_free_all(&r->end, &r->place);
    memory_free(ranks);
}
