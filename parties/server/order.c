#include "parties/server/order.h"

#include "base/date.h"

#include <string.h>

#define DAY_MS ((int64_t)86400 * 1000)

/* Why a sealed message is refused after the owner's last act; NULL if it is not. */
static const char *words_of(const struct intake_message *m, const struct store_serial *last,
                            const uint8_t digest[32])
{
    const uint64_t serial = m->seal->serial;
    const int64_t ahead_ms = serial > INT64_MAX ? INT64_MAX : (int64_t)serial - 1000 * date_now();
    if (m->kind == MESSAGE_PART)
        return serial == last->serial && last->kind != MESSAGE_WITHDRAW
                   ? NULL
                   : "this is a part of an upload that is not the owner's last here";
    if (ahead_ms > DAY_MS)
        return "by its owner's clock it was made more than a day from now: the owner should set "
               "the clock right, and remove the .serial file beside the key if that is ahead, too";
    if (ahead_ms < -30 * DAY_MS)
        return "by its owner's clock it was made more than 30 days ago: the owner should make it "
               "anew";
    if (serial > last->serial ||
        (serial == last->serial && m->kind == last->kind && memcmp(digest, last->digest, 32) == 0))
        return NULL;
    return "this server has taken a later upload or withdrawal of this owner; if this is to count, "
           "its owner should make it anew";
}

/* Whether no later connection of the owner has acted; from now on this one has. */
static bool is_latest(const struct intake *in, const struct intake_message *m)
{
    uint64_t *last = &in->line[m->who];
    if (*last != 0 && gate_is_earlier(m->from, (uint32_t)*last))
        return false;
    *last = (UINT64_C(1) << 32) + gate_number(m->from);
    return true;
}

enum err order_check(const struct intake *in, const struct intake_message *m,
                     const uint8_t digest[32], bool *good)
{
    struct store_serial last;
    const char *words;
    enum err e;
    *good = m->seal == NULL && is_latest(in, m);
    if (*good)
        return ERR_OK;
    if (m->seal == NULL)
        return outbox_put(in->outbox, m->from, m->kind, NULL, ERR_AGAIN,
                          "this owner has acted on a later connection since", NULL);
    e = store_serial(in->site->store, m->who, &last);
    words = e == ERR_OK ? words_of(m, &last, digest) : INTAKE_NOT_KNOWN;
    *good = words == NULL;
    if (*good)
        return ERR_OK;
    log_warn(in->site->log, "refused a sealed message of %s: %s",
             study_owner_name(in->site->study, m->who).text, words);
    return outbox_put(in->outbox, m->from, m->kind, m->seal->digest, e == ERR_OK ? ERR_REFUSED : e,
                      words, NULL);
}

enum err order_note(const struct intake *in, const struct intake_message *m,
                    const uint8_t digest[32])
{
    const uint64_t now = 1000 * (uint64_t)date_now() + 999; /* the end of this second */
    struct store_serial last;
    if (m->seal == NULL) {
        TRY(store_serial(in->site->store, m->who, &last));
        if (last.serial == 0 && in->site->study->roster_version == 1)
            return ERR_OK; /* nobody has sealed anything */
        last.serial = last.serial < now ? now : last.serial + 1;
    } else
        last.serial = m->seal->serial;
    last.kind = m->kind;
    memcpy(last.digest, digest, sizeof last.digest);
    return store_set_serial(in->site->store, m->who, &last);
}
