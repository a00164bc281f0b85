/* Answers to analysts, at every server alike. */
#include "parties/server/worker_private.h"

#include <string.h>

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
    if (w->site->index == 0 || w->session == NULL) { /* CLOSE: each server's own counters */
        bytes_put(out, result, n);
    } else {
        request_digest(result, n, digest);
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

void worker_serve(struct worker *w, const struct worker_ask *ask, enum err e)
{
    struct bytes result CLEAN(bytes_clear) = {0};
    if (e == ERR_OK)
        e = worker_handle(w, ask, &result);
    worker_answer(w, ask, e, result.data, result.size);
    worker_let_late_join(w);
}
