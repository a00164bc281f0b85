#include "tests/support/caller.h"
#include "harness/patience.h"

#include "harness/cmocka.h"

struct support_caller support_caller_new(const struct support_study *s, const char *key,
                                         unsigned server)
{
    struct support_caller c = {.me = NULL};
    OK(identity_load(&c.me, support_path(s, "%s", key), NULL));
    OK(netio_new(&c.netio, NULL));
    OK(dials_new(&c.dial, c.netio, s->study, c.me, server, NULL));
    return c;
}

void support_caller_free(struct support_caller *c)
{
    dial_free(&c->dial);
    netio_free(&c->netio);
    identity_free(&c->me);
    bytes_clear(&c->message);
}

void support_caller_begin(struct support_caller *c, uint8_t kind)
{
    bytes_clear(&c->message);
    bytes_put_u8(&c->message, kind);
}

void support_caller_send(struct support_caller *c)
{
    OK(dial_send(c->dial, false, c->message.data, c->message.size, support_end_ms(10)));
}

enum err support_caller_hear(struct support_caller *c)
{
    OK(dial_receive(c->dial, &c->message, support_end_ms(10)));
    OK(reply_read(&c->reply, &c->message));
    return c->reply.status;
}

enum err support_call(struct support_caller *c)
{
    support_caller_send(c);
    return support_caller_hear(c);
}
