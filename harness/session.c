#include "harness/session.h"

#include "base/bytes.h"

#include <sodium.h>

/*
 * A digest of the label, the seed and two numbers: what a test session has instead of fresh bytes.
 */
static enum err test_bytes(const char *label, uint64_t seed, unsigned a, unsigned b,
                           uint8_t out[32])
{
    struct bytes in CLEAN(bytes_clear) = {0};
    bytes_put_string(&in, label);
    bytes_put_u64(&in, seed);
    bytes_put_u32(&in, a);
    bytes_put_u32(&in, b);
    TRY(bytes_ok(&in));
    crypto_hash_sha256(out, in.data, in.size);
    return ERR_OK;
}

static enum err make(struct session **session, unsigned servers, unsigned index, uint64_t seed)
{
    uint8_t id[SESSION_ID_SIZE], terms[32], secret[2][SESSION_SECRET_SIZE];
    *session = NULL;
    if (index >= servers)
        return ERR_RANGE;
    TRY(test_bytes("trefoil-test-session", seed, 0, 0, id));
    TRY(test_bytes("trefoil-test-terms", seed, 0, 0, terms));
    for (unsigned p = 0; p + 1 < servers; p++) {
        unsigned other = net_neighbour_of(servers, index, (enum net_peer)p);
        unsigned low = index < other ? index : other;
        unsigned high = index < other ? other : index;
        TRY(test_bytes("trefoil-test-secret", seed, low, high, secret[p]));
        TRY(test_bytes("trefoil-test-secret", seed, high, low, secret[p] + 32));
    }
    return session_make(session, servers, index, id, terms,
                        (const uint8_t(*)[SESSION_SECRET_SIZE])secret);
}

enum err session_for_test(struct session **session, unsigned index, uint64_t seed)
{
    return make(session, 3, index, seed);
}

enum err session_of_two_for_test(struct session **session, unsigned index, uint64_t seed)
{
    return make(session, 2, index, seed);
}
