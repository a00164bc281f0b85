/*
 * parties/settings/two/engine.h - the engine of a provider and a keeper (parties/setting/engine.h):
 * a server's shares within a session, and what it does with a request.
 *
 *   measure   each -> other   m p + z_P, m k + z_K: 8 bytes a value, 1 exchange; z are own words
 *   forms     the same of the forms' sums
 *   scores    the same of distances (score.h)
 *   select    score_largest() of m_q (D - penalty_q) + 2^(f-24) (g_P + g_K): the provider takes the
 *             penalty off, and each adds a Gumbel of its own
 *
 * With noise_by: owner the words of both are shares of the owner's noise, and add up to that.
 * Each adds what came to what it sent, and so both have m x + z_P + z_K. Less its own z, a server
 * sees m x plus noise that it does not know, of parameter 2^20: what the request pays for. So does
 * everybody else, who sees less. Likewise of a selection: given its own Gumbels, the winner is that
 * of an exponential mechanism whose noise the server does not know.
 */
#pragma once

#include "parties/exchange/bounds.h"
#include "parties/setting/engine.h"
#include "parties/settings/two/owner_noise.h"
#include "parties/settings/two/score.h"

struct two {
    const struct study *study; /* borrowed, as is all but sums, rows, tape, pair */
    const struct bounds *bounds;
    struct net *net;
    /* asked before each opening; an error stops it: parties/server/openings.h */
    enum err (*audit)(void *self, enum engine_opening opening, const char *reason, size_t values);
    void *audit_self;
    struct log *log;
    struct store *store;    /* keeps what was counted of rows; the owner's noise is there, and .. */
    struct ahead ahead;     /* .. these are the blocks of it that both servers have */
    struct ask_slack slack; /* of the study's noise */
    struct sums sums;
    struct two_rows rows;
    struct own_tape tape;
    uint8_t session[PAIR_ID_SIZE];
    struct pair *pair; /* NULL until it is needed */
};

/* `from` has what is borrowed, and the session's id. */
enum err two_new(struct two **engine, const struct two *from) MUST_CHECK;
void two_free(struct two **engine);
/* The same as a table; borrowed. */
struct engine two_table(struct two *engine);
