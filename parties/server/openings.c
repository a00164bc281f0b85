#include "parties/server/openings.h"

#include <stdio.h>
#include <string.h>

enum err openings_audit(void *self, enum engine_opening opening, const char *reason, size_t values)
{
    const struct openings *o = self;
    struct audit_entry entry = {.kind = AUDIT_OPEN, .opening = o->common};
    struct audit_opening *line = &entry.opening;
    if (!o->confirmed && opening != ENGINE_OPENS_NOTHING)
        return ERR_MISUSE;
    snprintf(line->reason, sizeof line->reason, "%s", reason);
    line->values = values;
    line->what = "-";
    if (opening == ENGINE_OPENS_INDEX)
        line->cost = o->select_cost;
    if (opening == ENGINE_OPENS_VALUES) {
        line->cost = o->measure_cost;
        line->what = (const char *)o->what.data;
    }
    return audit_note(o->audit, &entry);
}

enum err openings_may(const struct openings *o,
                      const enum round_obstacle obstacle[STUDY_SERVERS_MOST])
{
    static const struct {
        const char *word, *text;
    } why[] = {
        [ROUND_TRIED] = {"tried",
                         "has tried it as often as it may, and it was interrupted each time"},
        [ROUND_NO_NOISE] = {"no-noise",
                            "no longer has its noise: the run has gone on without the round, or "
                            "that server was restored from a backup, or its store was altered"},
        [ROUND_OTHER_UPLOADS] = {"other-uploads",
                                 "holds other uploads now than those it was bound with"},
        [ROUND_OTHER_NOISE] = {"other-noise",
                               "and a neighbour do not hold the same share of its noise"},
    };
    enum err e = ERR_OK;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        if (obstacle[i] != ROUND_READY) {
            struct audit_entry line = {.kind = AUDIT_LOST, .round = o->common.round, .server = i};
            log_error(o->log, "round %u stays without an answer, and its debit stays: server %u %s",
                      o->common.round, i, why[obstacle[i]].text);
            memcpy(line.run, o->common.run, sizeof line.run);
            snprintf(line.why, sizeof line.why, "%s", why[obstacle[i]].word);
            TRY(audit_note(o->audit, &line));
            e = ERR_LOST;
        }
    return e;
}

void openings_price(struct openings *o, double k, const struct engine_step *step)
{
    mpq_t selecting;
    mpq_init(selecting);
    mpq_sub(selecting, step->price.cost, step->price.measuring);
    o->select_cost = k * k * mpq_get_d(selecting);
    o->measure_cost = k * k * mpq_get_d(step->price.measuring);
    mpq_clear(selecting);
}

/* Letters, digits and a few signs stay; other bytes become %XX, so that each name is clear. */
static void put_name(struct bytes *out, const char *name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (; *name != '\0'; name++) {
        uint8_t c = (uint8_t)*name;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '_' || c == '-' || c == '.' || c >= 0x80;
        bytes_put_u8(out, plain ? c : '%');
        if (!plain) {
            bytes_put_u8(out, (uint8_t)digits[c >> 4]);
            bytes_put_u8(out, (uint8_t)digits[c & 15]);
        }
    }
}

/* If an attribute's codes are merged, adds the number of groups to its name: "age/12". */
static void put_marginal(struct bytes *out, const struct study *study, const struct merges *m,
                         uint32_t query)
{
    const struct clique *c = &study->workload->query[query].clique;
    char groups[16];
    for (unsigned a = 0; a < c->n; a++) {
        if (a > 0)
            bytes_put_u8(out, '*');
        put_name(out, study->domain->attribute[c->attribute[a]].name);
        if (m == NULL || m->group[c->attribute[a]] == NULL)
            continue;
        snprintf(groups, sizeof groups, "/%u", m->groups[c->attribute[a]]);
        bytes_put_text(out, groups);
    }
}

static void put_sigma(struct bytes *out, uint64_t multiplier, enum noise_by by)
{
    char sigma[40];
    snprintf(sigma, sizeof sigma, "%.6g:", measure_sigma(multiplier, by));
    bytes_put_text(out, sigma);
}

enum err openings_name(struct openings *o, const struct study *study,
                       const struct engine_step *step, size_t selected)
{
    const struct ask *a = step->ask;
    const struct merges *m = step->merges;
    const bool pairs = a->kind == ASK_FORMS;
    const size_t count = pairs ? study->workload->one_ways : a->queries;
    bytes_clear(&o->what);
    if (a->kind == ASK_SELECT)
        put_marginal(&o->what, study, m, a->query[selected]);
    else if (pairs)
        bytes_put_text(&o->what, "pairs:");
    else if (a->kind == ASK_LOOK)
        bytes_put_text(&o->what, "linked-rows");
    else if (a->kind == ASK_SCORES || a->kind == ASK_GRADIENT)
        put_sigma(&o->what, a->multiplier, study->noise_by);
    else if (a->kind == ASK_TEST)
        bytes_put_text(&o->what, "score*");
    if (ask_trains(a))
        put_name(&o->what, study->domain->attribute[study->features->target].name);
    for (size_t k = 0; a->kind != ASK_SELECT && k < count; k++) {
        if (k > 0)
            bytes_put_u8(&o->what, ',');
        put_marginal(&o->what, study, m, pairs ? (uint32_t)k : a->query[k]);
    }
    bytes_put_u8(&o->what, 0);
    return bytes_ok(&o->what);
}

/* Otherwise a server could have others sign, and note for good, a length that its log never has. */
static enum err check_growth(struct openings *o, const struct net *net,
                             const struct audit_head *ours, const struct audit_head theirs[2])
{
    for (unsigned p = 0; p + 1 < net_servers(net); p++) {
        const uint64_t ahead = theirs[p].entries - ours->entries; /* modulo 2^64 */
        if (o->heads && ahead != o->ahead[p])
            return log_fail(o->log, ERR_MISMATCH,
                            "server %u says that its audit log has %llu lines, which does not fit "
                            "what the servers have opened in this session: it is not signed",
                            net_neighbour(net, (enum net_peer)p),
                            (unsigned long long)theirs[p].entries);
        o->ahead[p] = ahead;
    }
    o->heads = true;
    return ERR_OK;
}

enum err openings_sign(struct openings *o, const struct net *net, const struct audit_head *ours,
                       const struct audit_head theirs[2], uint8_t signature[2][64])
{
    TRY(check_growth(o, net, ours, theirs));
    for (unsigned p = 0; p + 1 < net_servers(net); p++)
        TRY(audit_see(o->audit, net_neighbour(net, (enum net_peer)p), &theirs[p], signature[p]));
    return ERR_OK;
}

enum err openings_keep(struct openings *o, const struct net *net, const struct audit_head *ours,
                       const uint8_t signature[2][64])
{
    for (unsigned p = 0; p + 1 < net_servers(net); p++) {
        const enum err e = audit_keep(o->audit, net_neighbour(net, (enum net_peer)p), ours,
                                      signature[p]);
        if (e != ERR_OK)
            return e == ERR_AUTH ? ERR_CHEAT /* it had to sign just what this server stated */ : e;
    }
    return ERR_OK;
}

enum err openings_sign_logs(struct openings *o, struct net *net)
{
    struct audit_head ours, theirs[2];
    uint8_t signature[2][64] = {{0}};
    TRY(audit_head(o->audit, &ours));
    TRY(round_heads(net, &ours, theirs));
    TRY(openings_sign(o, net, &ours, theirs, signature));
    TRY(round_signatures(net, signature));
    return openings_keep(o, net, &ours, signature);
}
