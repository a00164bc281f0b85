#include "parties/server/assembly.h"

#include "base/clock.h"
#include "base/memory.h"
#include "netio/porter.h"
#include "parties/exchange/request.h"

#include <string.h>

enum err assembly_start(struct assembly *a, const struct study *study)
{
    a->analysts = study->analysts;
    a->longest = REQUEST_HEAD_SIZE + request_longest(study->workload);
    return memory_new(&a->of, a->analysts);
}

void assembly_clear(struct assembly *a)
{
    for (uint32_t i = 0; a->of != NULL && i < a->analysts; i++)
        assembly_drop(a, i);
    memory_free(&a->of);
}

void assembly_drop(struct assembly *a, uint32_t who)
{
    bytes_clear(&a->of[who].message);
}

static bool goes_on(const struct assembly_unfinished *u, const struct gate_client *from,
                    const struct bytes *message)
{
    return u->message.size > 0 && memcmp(u->from.route, from->route, GATE_ROUTE) == 0 &&
           memcmp(u->message.data + 1, message->data + 1, REQUEST_ATTEMPT_SIZE) == 0;
}

enum err assembly_add(struct assembly *a, uint32_t who, const struct gate_client *from,
                      const struct bytes *message)
{
    struct assembly_unfinished *u = &a->of[who];
    size_t skip = REQUEST_HEAD_SIZE;
    enum err e;
    if (!goes_on(u, from, message)) {
        bytes_clear(&u->message);
        u->from = *from;
        skip = 0;
    }
    bytes_put(&u->message, message->data + skip, message->size - skip);
    e = u->message.size > a->longest ? ERR_RANGE : bytes_ok(&u->message);
    if (e != ERR_OK) {
        assembly_drop(a, who);
        return e;
    }
    u->message.data[0] = message->data[0];
    u->grown_ms = clock_now_ms();
    return ERR_OK;
}

void assembly_tend(struct assembly *a)
{
    for (uint32_t i = 0; i < a->analysts; i++)
        if (a->of[i].message.size > 0 && clock_now_ms() - a->of[i].grown_ms > PORTER_MESSAGE_MS)
            assembly_drop(a, i);
}
