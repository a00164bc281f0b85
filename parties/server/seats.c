#include "parties/server/seats.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/memory.h"
#include "base/rate.h"
#include "parties/study/roster.h"

#include <sodium.h>
#include <string.h>

/* More seats than the gate has connections. A key has its place in one set of WAYS. */
#define SEATS 8192
#define WAYS 8
/* For keys without a seat: several may share a rate, so few that honest keys hardly meet others. */
#define RATES 65536

struct seats_seat {
    uint8_t key[32]; /* CURVE */
    uint32_t owner;
    uint32_t last_day; /* of the key (struct public_identity) */
    bool taken;
    uint64_t used;
    struct rate rate;
};

struct seats {
    const struct study *study;
    struct store *store;
    struct seats_seat seat[SEATS];
    struct rate rate[RATES];
    uint64_t uses;
    uint8_t secret[crypto_shorthash_KEYBYTES]; /* so that nobody can choose keys of one set */
};

enum err seats_new(struct seats **seats, const struct study *study, struct store *store)
{
    TRY(memory_new(seats, 1));
    (*seats)->study = study;
    (*seats)->store = store;
    crypto_shorthash_keygen((*seats)->secret);
    return ERR_OK;
}

void seats_free(struct seats **seats)
{
    memory_free(seats);
}

static uint32_t hash_of(const struct seats *s, const uint8_t key[32])
{
    uint8_t hash[crypto_shorthash_BYTES];
    crypto_shorthash(hash, key, 32, s->secret);
    return (uint32_t)integer_get(hash, 4);
}

static struct seats_seat *set_of(struct seats *s, const uint8_t key[32])
{
    return &s->seat[hash_of(s, key) % (SEATS / WAYS) * WAYS];
}

static struct seats_seat *find(struct seats *s, const uint8_t key[32])
{
    struct seats_seat *set = set_of(s, key);
    for (unsigned i = 0; i < WAYS; i++)
        if (set[i].taken && memcmp(set[i].key, key, sizeof set[i].key) == 0) {
            set[i].used = ++s->uses;
            return &set[i];
        }
    return NULL;
}

/* Seats a key in the place of the one that was silent longest. */
static void sit(struct seats *s, const uint8_t key[32], uint32_t owner, uint32_t last_day)
{
    struct seats_seat *seat = find(s, key), *set = set_of(s, key);
    if (seat == NULL) {
        seat = set;
        for (unsigned i = 1; i < WAYS; i++)
            if (set[i].used < seat->used)
                seat = &set[i];
        *seat = (struct seats_seat){.taken = true, .used = ++s->uses};
        memcpy(seat->key, key, sizeof seat->key);
    }
    seat->owner = owner;
    seat->last_day = last_day;
}

void seats_forget(struct seats *s)
{
    memset(s->seat, 0, sizeof s->seat);
}

bool seats_find(struct seats *s, const struct gate_client *guest, uint32_t *owner)
{
    const struct seats_seat *seat = find(s, guest->key);
    if (seat == NULL || (seat->last_day != 0 && date_today() > seat->last_day))
        return false;
    *owner = seat->owner;
    return true;
}

bool seats_hear(struct seats *s, const struct gate_client *guest)
{
    return rate_take(&s->rate[hash_of(s, guest->key) % RATES], SEATS_PER_SECOND, SEATS_AT_ONCE,
                     clock_now_ms());
}

bool seats_rate(struct seats *s, const struct gate_client *guest, unsigned per_second,
                unsigned at_once)
{
    struct seats_seat *seat = find(s, guest->key);
    return seat == NULL || rate_take(&seat->rate, per_second, at_once, clock_now_ms());
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* The people on the study's list have the part that it gives them. */
static bool is_listed(const struct study *study, const struct token *t)
{
    struct roster_person p = {0};
    while (roster_next(study, &p))
        if (memcmp(p.key->sign, t->sign, sizeof t->sign) == 0)
            return true;
    return false;
}

static enum err refuse(enum err e, const char *says, const char **words)
{
    *words = says;
    return e;
}

/*
 * The identity has to be that of the connection and of the token. Nobody lists its links' key, so
 * whoever holds a revoked one could have renewed it: no key of that identity is good.
 */
static enum err check_token(const struct seats *s, const uint8_t key[32], struct reader *message,
                            struct token *t, uint32_t *last_day, const char **words)
{
    char identity[IDENTITY_TEXT_SIZE], text[TOKEN_TEXT_SIZE];
    struct public_identity who;
    enum err e;
    reader_string(message, identity, sizeof identity);
    reader_string(message, text, sizeof text);
    if (message->failed)
        return refuse(ERR_FORMAT, "a token is cut", words);
    e = token_parse(t, text);
    if (e == ERR_OK) /* what costs least comes first */
        e = token_check(t, s->study);
    if (e != ERR_OK)
        return refuse(e == ERR_RANGE ? ERR_REFUSED : e, token_hint(e), words);
    e = public_identity_parse(&who, identity);
    if (e != ERR_OK)
        return refuse(e, identity_parse_hint(e), words);
    if (memcmp(who.sign, t->sign, sizeof t->sign) != 0 || memcmp(who.curve, key, 32) != 0)
        return refuse(ERR_AUTH, "the token is another key's; show the one that names yours", words);
    if (public_identity_expired(&who, date_today()))
        return refuse(ERR_AUTH, "this key has expired; renew it (trefoil keygen --renew)", words);
    if (study_revoked_signer(s->study, who.sign) || is_listed(s->study, t))
        return refuse(ERR_REFUSED, "the study's roster revokes a key of this identity, or lists it",
                      words);
    *last_day = who.last_day;
    return ERR_OK;
}

static enum err take_number(struct seats *s, const struct token *t, uint32_t *owner,
                            const char **words)
{
    const bool late = token_late(t, date_today());
    const enum err e = store_seat(s->store, t->number, t->sign, !late);
    *owner = (uint32_t)(s->study->owners + t->number);
    return e != ERR_REFUSED ? e
                            : refuse(e,
                                     late ? "the invitation's last day is over, and this key has "
                                            "not taken it up before; ask the issuer for another"
                                          : "another key has shown a token of this number, or "
                                            "taken up the invitation; ask the issuer",
                                     words);
}

enum err seats_take(struct seats *s, const struct gate_client *guest, struct reader *message,
                    uint32_t *owner, const char **words)
{
    struct token t;
    uint32_t last_day;
    *words = "";
    TRY(check_token(s, guest->key, message, &t, &last_day, words));
    TRY(take_number(s, &t, owner, words));
    sit(s, guest->key, *owner, last_day);
    return ERR_OK;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/*
 * Whoever has stolen a key file has both keys in it. A renewed identity has another CURVE key, but
 * signs with the same one, so once any of its keys is revoked it is no longer good for blocks.
 */
enum err seats_own(struct seats *s, const uint8_t sign[32], const struct token *token,
                   uint32_t *owner, const char **words)
{
    struct roster_person p = {0};
    enum err e;
    *words = "";
    if (study_revoked_signer(s->study, sign))
        return refuse(ERR_REFUSED,
                      "the study's roster revokes a key of this identity; its owner needs another "
                      "identity, and an amended roster",
                      words);
    while (roster_next(s->study, &p))
        if (memcmp(p.key->sign, sign, 32) == 0) {
            *owner = (uint32_t)p.index;
            return p.role == ROLE_OWNER ? ERR_OK : ERR_AUTH;
        }
    if (token == NULL || memcmp(token->sign, sign, 32) != 0)
        return ERR_AUTH;
    e = token_check(token, s->study);
    if (e != ERR_OK)
        return e == ERR_REFUSED ? refuse(e, token_hint(e), words) : ERR_AUTH;
    return take_number(s, token, owner, words);
}
