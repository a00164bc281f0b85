/*
 * parties/settings/three/trio.h - the setting of three servers (parties/setting/setting.h), and the
 * state that its files share: those that look after sessions (trio.c), their lanes (trio_lanes.c),
 * and noise for a later run (trio_idle.c).
 */
#pragma once

#include "mpc/move/crew.h"
#include "parties/exchange/request.h"
#include "parties/server/openings.h"
#include "parties/server/site.h"
#include "parties/setting/setting.h"
#include "parties/settings/three/engine.h"
#include "parties/settings/three/guard.h"

extern const struct setting trio_setting;

_Static_assert(REQUEST_ATTEMPT_SIZE == SESSION_ABOUT_SIZE, "a session is about an attempt");

struct trio {
    struct site *site;         /* borrowed */
    struct log *log;           /* borrowed: lane 0's */
    struct openings *openings; /* borrowed */
    struct guard guard;
    /* the session, if any */
    struct session *session;
    struct trio_lane {
        struct net *net;
        struct log log;
        char words[512]; /* lane 0's are those of `log` */
    } lane[SESSION_LANES_MAX];
    unsigned lanes; /* of the session: the least that any of the three can use */
    unsigned here;  /* how many this process has of these and of those that only do jobs */
    unsigned all;   /* lanes of all processes */
    unsigned most;  /* the most lanes that any of the three has in one process */
    struct transport_passes passes; /* shown by lanes that are dialled later */
    atomic_bool ended;              /* all lanes end with the first that fails */
    struct net *net;                /* lane 0's, and its party with the others as its crew */
    struct party *party;
    struct crew *crew;
    struct three *engine;    /* once a run has begun */
    struct ahead_talk ahead; /* as compared when the session opened */
    /* of noise for a later run */
    bool told;  /* the log says why none is made */
    bool whole; /* nothing was missing when this was last compared */
};

/*
 * trio_lanes.c. In this order: lets neighbours in on every lane that this server can use, dials the
 * lanes that the session has, makes nets, party and crew, and sees that every link stands.
 */
enum err trio_admit_lanes(struct trio *t, const uint8_t expect[2][TRANSPORT_PASS_SIZE]) MUST_CHECK;
enum err trio_dial_lanes(struct trio *t, const struct session_offer *offer) MUST_CHECK;
/* What this server offers, lanes of other ranks included. */
struct session_offer trio_offer(const struct trio *t);
enum err trio_open_lanes(struct trio *t) MUST_CHECK;
enum err trio_listen(void *self) MUST_CHECK;
/* Ends all lanes, whatever is open. */
void trio_close_lanes(struct trio *t);

/*
 * trio_idle.c. trio_greet() lets the names of the blocks that are here ride on the session's next
 * exchange; the engine that begins then may take those that all three have named.
 */
enum err trio_greet(void *self) MUST_CHECK;
void trio_show(void *self);
void trio_drop(void *self);
enum err trio_idle(void *self, bool *done) MUST_CHECK;

/* trio_lanes.c. */
struct setting_failure trio_failed(void *self, enum err e);
