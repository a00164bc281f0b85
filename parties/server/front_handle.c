#include "parties/server/front_private.h"

#include "base/clock.h"
#include "parties/exchange/request.h"
#include "parties/exchange/sealed.h"
#include "parties/server/recover.h"

enum err front_tell(struct front *f, const struct intake_message *m, enum err status,
                    const char *text)
{
    return outbox_put(&f->outbox, m->from, m->kind, intake_sealed(m), status, text, NULL);
}

/* Answers a neighbour that brings its ledger up to date. */
static enum err tell_debit(struct front *f, const struct intake_message *m)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    enum err e = recover_answer(f->site->store, m->p, m->n, &answer);
    return outbox_put(&f->outbox, m->from, m->kind, NULL, e, "", e == ERR_OK ? &answer : NULL);
}

/*
 * The program of a run lives. While uploads are added up it is told how far that is. Another
 * analyst's program, or that of a run that is not in progress, is ignored.
 */
static enum err take_alive(struct front *f, const struct intake_message *m)
{
    struct status *status = &f->site->status;
    const uint32_t adding = atomic_load(&status->adding);
    struct bytes out CLEAN(bytes_clear) = {0};
    if (m->n != REQUEST_RUN_SIZE || status_run_word(m->p) != atomic_load(&status->run) ||
        m->from->user != atomic_load(&status->user))
        return ERR_OK;
    atomic_store(&status->heard_ms, clock_now_ms());
    if (adding == 0 || f->site->index != 0)
        return ERR_OK;
    bytes_put_u32(&out, adding - 1);
    TRY(bytes_ok(&out));
    return outbox_put(&f->outbox, m->from, m->kind, NULL, ERR_OK, "", &out);
}

/* Passes a request to the worker once it is whole. */
static enum err take_request(struct front *f, const struct intake_message *m)
{
    const struct bytes *whole;
    enum err e;
    if (m->whole->size < REQUEST_HEAD_SIZE)
        return front_tell(f, m, ERR_FORMAT, "the request is cut");
    e = assembly_add(f->assembly, m->who, m->from, m->whole);
    if (e == ERR_RANGE)
        return front_tell(f, m, ERR_FORMAT, "the request is longer than any of this study");
    if (e != ERR_OK || m->kind == MESSAGE_PIECE)
        return e;
    whole = assembly_whole(f->assembly, m->who);
    e = gate_pass(f->site->gate, m->from, whole->data, whole->size);
    assembly_drop(f->assembly, m->who);
    bell_ring(&f->site->bell);
    /* it is not the sender's fault, and the sender tries again */
    return e != ERR_AGAIN
               ? e
               : front_tell(f, m, e, "this server is busy with other requests, or about to end");
}

enum {
    FROM_SERVERS = 1 << ROLE_SERVER,
    FROM_OWNERS = 1 << ROLE_OWNER,
    FROM_ANALYSTS = 1 << ROLE_ANALYST,
    FROM_ALL = FROM_SERVERS | FROM_OWNERS | FROM_ANALYSTS
};

/* Which vectors a server takes that gets a message: from owners; from the server that sends it. */
enum { GIVEN = 1, PASSED = 2 };

/* For each kind, from whom it is taken, by which server, and what is done with it, and where. */
static const struct {
    uint8_t from, ways;
    enum err (*front)(struct front *f, const struct intake_message *m);
    enum err (*intake)(struct intake *in, const struct intake_message *m);
} handlers[] = {
    [MESSAGE_UPLOAD] = {FROM_OWNERS, .intake = intake_upload},
    [MESSAGE_FORWARD] = {FROM_SERVERS, PASSED, .intake = intake_vector},
    [MESSAGE_STATUS] = {FROM_ALL, .intake = intake_status},
    [MESSAGE_REQUEST] = {FROM_ANALYSTS, .front = take_request},
    [MESSAGE_REPLACE] = {FROM_OWNERS, .intake = intake_upload},
    [MESSAGE_PART] = {FROM_OWNERS, GIVEN, .intake = intake_part},
    [MESSAGE_WITHDRAW] = {FROM_OWNERS, .intake = intake_withdraw},
    [MESSAGE_LEDGER] = {FROM_SERVERS, .front = tell_debit},
    [MESSAGE_ALIVE] = {FROM_ANALYSTS, .front = take_alive},
    [MESSAGE_HEAD] = {FROM_ALL, .intake = intake_head},
    [MESSAGE_PIECE] = {FROM_ANALYSTS, .front = take_request},
    [MESSAGE_NOISE] = {FROM_OWNERS, .intake = intake_noise},
};
_Static_assert(sizeof handlers / sizeof *handlers == MESSAGE_KINDS, "the last kind has a line");

/* A token has no line: it only makes its sender an owner. Nor has a block: what is in it does. */
static bool is_taken(uint8_t kind, enum study_role role, unsigned ways)
{
    return kind < MESSAGE_KINDS && (handlers[kind].from >> role & 1) != 0 &&
           (handlers[kind].ways & ~ways) == 0 &&
           (handlers[kind].front != NULL || handlers[kind].intake != NULL);
}

enum err front_handle(struct front *f, const struct intake_message *m, enum study_role role)
{
    const struct split *split = f->site->split;
    const bool giver = role == ROLE_SERVER && m->who == split->given;
    const unsigned ways = (f->site->index == split->given ? GIVEN : 0) |
                          (giver && f->site->index == split->passed ? PASSED : 0);
    if (!is_taken(m->kind, role, ways)) {
        log_warn(f->site->log, "a message of kind %u from user %u:%u is not for this server",
                 m->kind, (unsigned)role, m->who);
        return front_tell(f, m, ERR_REFUSED, "this key may not ask that of this server");
    }
    if (f->parcels != NULL && m->seal == NULL && sealed_has_serial(m->kind))
        return front_tell(f, m, ERR_REFUSED,
                          "this study has sealing keys: uploads and withdrawals come sealed");
    return handlers[m->kind].front != NULL ? handlers[m->kind].front(f, m)
                                           : handlers[m->kind].intake(&f->intake, m);
}
