#include "parties/server/parcels.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/rate.h"
#include "parties/exchange/sealed.h"

#define RATES 65536     /* owners that tokens admit may share one */
#define STRANGERS 0.5   /* of the front's time .. */
#define STRANGERS_S 0.5 /* .. and what they may have at once */

struct parcels {
    const struct site *site;
    struct seats *seats;
    size_t rates;
    struct rate *rate;
    double used_s; /* of the strangers' time .. */
    double at_s;   /* .. at this time */
};

enum err parcels_new(struct parcels **parcels, const struct site *site, struct seats *seats)
{
    const size_t owners = study_owners_most(site->study);
    struct parcels *p;
    TRY(memory_new(parcels, 1));
    p = *parcels;
    *p = (struct parcels){.site = site, .seats = seats, .rates = owners < RATES ? owners : RATES};
    return memory_new(&p->rate, p->rates);
}

void parcels_free(struct parcels **parcels)
{
    if (*parcels != NULL)
        memory_free(&(*parcels)->rate);
    memory_free(parcels);
}

enum err parcels_open(struct parcels *p, struct intake_message *m, struct bytes *plain,
                      struct intake_seal *seal, const char **words)
{
    struct sealed_found open;
    sealed_digest(m->p, m->n, seal->digest);
    *words = "";
    TRY(sealed_open(p->site->study, p->site->index, p->site->sealing, m->p, m->n, plain, &open));
    seal->serial = open.serial;
    m->seal = seal;
    TRY(seats_own(p->seats, open.sign, open.has_token ? &open.token : NULL, &m->who, words));
    m->kind = open.message[0];
    if (!sealed_has_serial(m->kind) && m->kind != MESSAGE_HEAD && m->kind != MESSAGE_STATUS)
        return ERR_FORMAT;
    m->p = open.message + 1;
    m->n = open.size - 1;
    return ERR_OK;
}

static double used_now(const struct parcels *p)
{
    const double used = p->used_s - STRANGERS * (clock_now_s() - p->at_s);
    return used > 0 ? used : 0;
}

bool parcels_may(const struct parcels *p)
{
    return used_now(p) < STRANGERS_S;
}

void parcels_spent(struct parcels *p, double seconds)
{
    p->used_s = used_now(p) + seconds;
    p->at_s = clock_now_s();
}

bool parcels_rate(struct parcels *p, uint32_t owner, double per_second, double at_once)
{
    return rate_take(&p->rate[owner % p->rates], per_second, at_once, clock_now_ms());
}
