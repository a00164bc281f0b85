/* The courier of noise that owners make (parties/owner/courier.h). */
#include "base/secret.h"
#include "parties/exchange/message.h"
#include "parties/exchange/price.h"
#include "parties/owner/courier_private.h"
#include "parties/study/study_setting.h"

struct noise_block {
    enum noise_law kind;
    uint8_t name[PRICE_AHEAD_NAME];
    struct bytes share[STUDY_SERVERS_MOST];
};

static void block_clear(struct noise_block *b)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        bytes_clear(&b->share[i]);
}

static enum err send_block(struct courier *c, unsigned server, void *self)
{
    const struct noise_block *b = self;
    struct bytes message CLEAN(bytes_clear) = {0};
    struct reply reply;
    bytes_put_u8(&message, MESSAGE_NOISE);
    bytes_put(&message, c->o.study->terms.digest, 32);
    bytes_put_u8(&message, (uint8_t)b->kind);
    bytes_put(&message, b->name, sizeof b->name);
    bytes_put(&message, b->share[server].data, b->share[server].size);
    TRY(bytes_ok(&message));
    return courier_ask(c, server, &message, &reply);
}

/* The first server has it for good before another hears its name: none gets it again once used. */
static enum err deliver_block(struct courier *c, const struct split *split, enum noise_law kind,
                              size_t samples)
{
    struct noise_block b CLEAN(block_clear) = {.kind = kind};
    secret_random(b.name, sizeof b.name);
    TRY(split->noise(kind, samples, b.share));
    for (unsigned i = 0; i < split->servers; i++)
        TRY(courier_persist(c, i, send_block, &b));
    return ERR_OK;
}

enum err courier_noise(struct courier *c, const struct split *split)
{
    const struct price_ahead plan = price_ahead(c->o.study);
    progress_wait(c->o.progress, "sending shares of noise");
    for (unsigned k = 0; k < NOISE_LAWS; k++)
        for (size_t i = 0; i < plan.blocks[k]; i++)
            TRY(deliver_block(c, split, (enum noise_law)k, plan.samples[k]));
    progress_say(c->o.progress, "%s servers have their shares of fresh noise",
                 study_setting(c->o.study)->all);
    return ERR_OK;
}
