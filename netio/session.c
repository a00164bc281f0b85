#include "netio/session.h"

#include "base/memory.h"
#include "base/secret.h"
#include "netio/hkdf.h"

#include <string.h>

enum err session_make(struct session **session, unsigned servers, unsigned index,
                      const uint8_t id[SESSION_ID_SIZE], const uint8_t terms[32],
                      const uint8_t secret[][SESSION_SECRET_SIZE])
{
    struct session *s CLEAN(session_free) = NULL;
    *session = NULL;
    TRY(memory_new(&s, 1));
    s->servers = servers;
    s->index = index;
    memcpy(s->id, id, SESSION_ID_SIZE);
    memcpy(s->terms, terms, sizeof s->terms);
    for (unsigned p = 0; p + 1 < servers; p++) {
        s->pair_secret[p] = secret_new(SESSION_SECRET_SIZE);
        if (s->pair_secret[p] == NULL)
            return ERR_NOMEM;
        memcpy(s->pair_secret[p], secret[p], SESSION_SECRET_SIZE);
    }
    return memory_hand_over(session, &s);
}

void session_free(struct session **session)
{
    if (*session == NULL)
        return;
    secret_free(&(*session)->pair_secret[NET_PREV]);
    secret_free(&(*session)->pair_secret[NET_NEXT]);
    memory_free(session);
}

/* Label, terms and session id stand first in the info of every key. */
static void begin_info(const struct session *s, const char *label, struct bytes *info)
{
    bytes_put_string(info, label);
    bytes_put_block(info, s->terms, sizeof s->terms);
    bytes_put_block(info, s->id, sizeof s->id);
}

enum err session_bulk_key(const struct session *s, enum net_peer peer, bool sending, uint32_t lane,
                          uint8_t key[16])
{
    unsigned other = net_neighbour_of(s->servers, s->index, peer);
    struct bytes info CLEAN(bytes_clear) = {0};
    begin_info(s, "trefoil-bulk-1", &info);
    hkdf_put_u32(&info, sending ? s->index : other);
    hkdf_put_u32(&info, sending ? other : s->index);
    hkdf_put_u32(&info, lane);
    return hkdf_sha256(s->pair_secret[peer], SESSION_SECRET_SIZE, &info, key, 16);
}

enum err session_prg_key(const struct session *s, unsigned key_index, uint32_t lane,
                         const char *purpose, uint8_t key[16])
{
    struct bytes info CLEAN(bytes_clear) = {0};
    enum net_peer peer = NET_PREV; /* two servers share both keys */
    if (s->servers > 2 && key_index == net_neighbour_of(s->servers, s->index, NET_NEXT))
        peer = NET_NEXT;
    else if (key_index != s->index && (s->servers > 2 || key_index > 1))
        return ERR_MISUSE;
    begin_info(s, "trefoil-prg-1", &info);
    hkdf_put_u32(&info, key_index);
    hkdf_put_u32(&info, lane);
    bytes_put_string(&info, purpose);
    return hkdf_sha256(s->pair_secret[peer], SESSION_SECRET_SIZE, &info, key, 16);
}
