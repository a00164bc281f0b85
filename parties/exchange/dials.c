#include "parties/exchange/dials.h"

#include "base/clock.h"
#include "parties/study/study_ports.h"

#include <stdio.h>

enum err dials_new(struct dial **dial, struct netio *netio, const struct study *study,
                   const struct identity *me, unsigned server, struct log *log)
{
    char endpoint[STUDY_ENDPOINT_SIZE], name[STUDY_NAME_SIZE + 16];
    const struct dial_options o = {
        .netio = netio,
        .endpoint = endpoint,
        .name = name,
        .server_public = study->server[server].key.curve,
        .curve_public = me->public.curve,
        .curve_secret = me->curve_secret,
        /* noisy counts, or what a server holds from everybody (parties/server/intake.h) */
        .max_message = (size_t)study->workload->cells * 8 + study->owners * 64 + 65536,
        .impatient = true,
        .log = log,
    };
    study_endpoint(study, server, STUDY_GATE, endpoint);
    snprintf(name, sizeof name, "server %u (%s)", server, study->server[server].name);
    return dial_new(dial, &o);
}

enum err dials_token(const struct public_identity *who, const struct token *token,
                     struct bytes *message)
{
    char identity[IDENTITY_TEXT_SIZE], text[TOKEN_TEXT_SIZE];
    struct bytes both CLEAN(bytes_clear) = {0};
    public_identity_text(who, identity);
    token_text(token, text);
    bytes_put_u8(&both, MESSAGE_TOKEN);
    bytes_put_string(&both, identity);
    bytes_put_string(&both, text);
    bytes_put(&both, message->data, message->size);
    TRY(bytes_ok(&both));
    if (both.size > 1 + MESSAGE_TOKEN_MOST)
        return ERR_RANGE;
    bytes_set(message, both.data, both.size);
    return bytes_ok(message);
}

enum err dials_ask(struct dial *dial, struct bytes *message, struct reply *reply, int64_t send_ms,
                   int64_t answer_ms)
{
    TRY(bytes_ok(message));
    TRY(dial_send(dial, false, message->data, message->size, clock_now_ms() + send_ms));
    TRY(dial_receive(dial, message, clock_now_ms() + answer_ms));
    return reply_read(reply, message);
}

static void add(struct dials_traffic *sum, const struct dial *dial)
{
    if (dial != NULL)
        dial_traffic(dial, &sum->sent, &sum->received);
}

void dials_end(struct dials *l, unsigned server)
{
    add(&l->gone, l->dial[server]);
    dial_free(&l->dial[server]);
}

struct dials_traffic dials_traffic(const struct dials *l)
{
    struct dials_traffic sum = l->gone;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        add(&sum, l->dial[i]);
    return sum;
}
