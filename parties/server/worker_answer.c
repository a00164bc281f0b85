/* Answers to analysts, at every server alike. */
#include "base/hash.h"
#include "parties/exchange/message.h"
#include "parties/server/collect.h"
#include "parties/server/worker_private.h"

#include <string.h>

/* After some rows could not join a run, this many rounds pass until servers look for rows again. */
#define PATIENCE 10

/*
 * `out`: what this server signs of its ledger, then the result or, at servers 1 and 2, its digest.
 */
static enum err write_answer(struct worker *w, const struct worker_ask *ask, const void *result,
                             size_t n, struct bytes *out)
{
    uint8_t digest[REQUEST_DIGEST_SIZE];
    struct head head;
    TRY(site_head(w->site, ask->seen, &head));
    head_put(out, &head);
    if (w->site->index == 0 || w->net == NULL) { /* CLOSE: each server's own counters */
        bytes_put(out, result, n);
    } else {
        hash_bytes(result, n, digest);
        bytes_put(out, digest, sizeof digest);
    }
    return bytes_ok(out);
}

void worker_answer(struct worker *w, const struct worker_ask *ask, enum err status,
                   const void *result, size_t n)
{
    struct bytes payload CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    size_t length = strlen(w->words);
    enum err e;
    if (status == ERR_OK)
        status = write_answer(w, ask, result, n, &payload);
    if (status != ERR_OK)
        bytes_clear(&payload);
    if (length > 0 && w->words[length - 1] == '\n')
        w->words[length - 1] = '\0';
    e = reply_write(MESSAGE_REQUEST, status, status == ERR_OK ? "" : w->words, payload.data,
                    payload.size, &out);
    if (e == ERR_NOMEM) { /* a short answer may still fit */
        log_error(w->site->log, "not enough memory for an answer to the analyst, who is told so");
        bytes_clear(&out);
        e = reply_write(MESSAGE_REQUEST, ERR_NOMEM, "", NULL, 0, &out);
    }
    if (e == ERR_OK)
        e = gate_port_reply(w->port, &ask->client, out.data, out.size);
    if (e != ERR_OK)
        log_warn(w->site->log, "an answer to the analyst was lost: %s", error_text(e));
}

/*
 * After a round is answered, while the estimator works: counts the rows that have come, if all
 * three said in the round that they have some. A failure ends the session; the run goes on in
 * another one, with the rows of its last round.
 */
static void let_late_join(struct worker *w)
{
    size_t before;
    enum err e;
    if (!worker_has_run(w) || !w->play.late)
        return;
    w->play.late = false;
    before = worker_counted(w).owners;
    w->words[0] = '\0';
    e = collect_uploads(&w->play, w->run, true);
    if (e == ERR_OK)
        e = worker_name_left_out(w, false);
    if (e == ERR_OK && worker_counted(w).owners > before)
        log_info(w->site->log, "the rows of %zu more %s are counted from now on",
                 worker_counted(w).owners - before,
                 worker_counted(w).owners == before + 1 ? "owner" : "owners");
    if (e == ERR_OK && w->play.here > worker_counted(w).owners)
        w->play.patience = PATIENCE; /* others do not hold them, or not alike */
    worker_catch(w, (uint32_t)atomic_load(&w->site->status.round), e);
    if (e != ERR_OK) {
        log_warn(w->site->log, "rows that came during the run could not be counted: %s",
                 error_text(e));
        w->play.patience = PATIENCE;
        worker_close_session(w);
    }
    worker_show_guard(w);
}

void worker_serve(struct worker *w, const struct worker_ask *ask, enum err e)
{
    struct bytes result CLEAN(bytes_clear) = {0};
    if (e == ERR_OK)
        e = worker_handle(w, ask, &result);
    worker_answer(w, ask, e, result.data, result.size);
    let_late_join(w);
}
