/*
 * parties/server/worker_private.h - the worker's state, shared by what takes requests
 * (worker_ask.c) and answers them (worker_answer.c), what servers 1 and 2 do with an OPEN
 * (worker_follow.c), sessions (worker_session.c), their lanes (worker_lanes.c), and noise for a run
 * to come: made (worker_ahead.c) and kept (worker_blocks.c).
 */
#ifndef TREFOIL_PARTIES_SERVER_WORKER_PRIVATE_H
#define TREFOIL_PARTIES_SERVER_WORKER_PRIVATE_H

#include "base/thread.h"
#include "mpc/crew.h"
#include "parties/exchange/request.h"
#include "parties/server/guard.h"
#include "parties/server/play.h"
#include "parties/server/round_ahead.h"
#include "parties/server/worker.h"

#define WORKER_POLL_MS 200

_Static_assert(REQUEST_ATTEMPT_SIZE == SESSION_ABOUT_SIZE, "a session is about an attempt");

#define WORKER_WAITING 64 /* OPENs that wait for their session */
#define WORKER_WAITING_OF_A_KEY 4

/* An analyst's request, and whom to answer. */
struct worker_ask {
    struct gate_client client;
    uint8_t attempt[REQUEST_ATTEMPT_SIZE];
    uint64_t seen;                       /* debits of this server */
    struct request request;              /* borrowed; an OPEN uses none of its arrays */
    uint8_t digest[REQUEST_DIGEST_SIZE]; /* of its bytes */
};

struct worker_waiting {
    struct worker_ask ask;
    int64_t since;
    bool used;
};

struct worker {
    struct site *site;
    struct gate_port *port; /* used by the thread alone while that runs */
    struct thread thread;
    enum err result;
    struct log log;  /* as the options' log, and also into `words` */
    char words[512]; /* what is logged while a request is handled: told to the analyst */
    /* the session, if any */
    struct session *session;
    struct worker_lane {
        struct net *net;
        struct log log; /* lane 0's is the worker's */
        char words[512];
    } lane[SESSION_LANES_MAX];
    unsigned lanes; /* of the session: the least that one of the three can use */
    unsigned here;  /* of these and those that do jobs alone: how many this process has */
    unsigned all;   /* of all processes */
    unsigned most;  /* that one of the three has in one process */
    struct transport_passes passes; /* that lanes show which are dialled later */
    atomic_bool ended;              /* all lanes, with the first that failed */
    struct net *net;                /* lane 0's, and its party with the others as its crew */
    struct party *party;
    struct crew *crew;
    struct engine *engine;
    struct play play;
    struct round_ahead ahead; /* as the three compared it when the session opened */
    struct guard guard;
    uint8_t run[REQUEST_RUN_SIZE];
    uint64_t shown_sent, shown_received; /* of this session's links, in the status */
    uint32_t user;                       /* whose run it is */
    int64_t began;                       /* since when, by the wall clock */
    struct {
        int64_t due,
            pause;         /* when noise is made next, by clock_now_ms(); how long it waits after */
        unsigned standing; /* the neighbours' links as they were */
        bool told;         /* why there will be none */
        bool whole;        /* nothing was missing, when this was last compared */
    } idle;
    /* at servers 1 and 2 */
    struct worker_waiting waiting[WORKER_WAITING];
    uint8_t joined[REQUEST_ATTEMPT_SIZE]; /* the attempt whose session this is */
    int64_t joined_ms;
};

/*
 * worker_lanes.c. In this order: lets neighbours in on every lane that this server can use, dials
 * the lanes that the session has, makes nets, party and crew, and sees that every link stands.
 */
enum err worker_admit_lanes(struct worker *w,
                            const uint8_t expect[2][TRANSPORT_PASS_SIZE]) MUST_CHECK;
enum err worker_dial_lanes(struct worker *w, const struct session_offer *offer) MUST_CHECK;
/* What this server offers: also lanes of other ranks, where they can do what the study asks. */
struct session_offer worker_offer(const struct worker *w);
enum err worker_open_lanes(struct worker *w) MUST_CHECK;
/* As net_listen(), of all lanes. */
enum err worker_listen(struct worker *w) MUST_CHECK;
/* Ends all of them, whatever is open. */
void worker_close_lanes(struct worker *w);

/*
 * worker_blocks.c. Lets the names of the blocks that are here ride on the session's next exchange;
 * after it, keeps for the session those that all three have named, and drops the others.
 */
enum err worker_name_ahead(struct worker *w) MUST_CHECK;
enum err worker_keep_ahead(struct worker *w) MUST_CHECK;
/* What there is, in the status; and once the budget is spent nothing any more. */
void worker_show_ahead(struct worker *w);
bool worker_is_spent(const struct worker *w);
void worker_drop_ahead(struct worker *w);
/*
 * worker_ahead.c. Whether a session is about noise, and for nobody's run; what is done in it then:
 * it is closed.
 */
bool worker_is_about_noise(const uint8_t about[REQUEST_ATTEMPT_SIZE]);
void worker_make_ahead(struct worker *w);
/* At server 0: opens such a session when the time has come; after a request it is put off. */
void worker_tend_ahead(struct worker *w);
void worker_idle_from_now(struct worker *w);

/* One message, or a while without: ERR_OK unless the worker cannot go on. */
enum err worker_once(struct worker *w, struct bytes *message) MUST_CHECK;

/* What servers 1 and 2 do with an OPEN: worker_follow.c. */
void worker_follow(struct worker *w, const struct worker_ask *ask);
/* At servers 1 and 2: joins a session if server 0 has proposed one; tells who waits in vain. */
enum err worker_tend(struct worker *w, struct bytes *message) MUST_CHECK;

/* worker_answer.c. Handles a request, unless `e` says that it is not to be, and answers. */
void worker_serve(struct worker *w, const struct worker_ask *ask, enum err e);

/*
 * In the place of the session that is open, if any. propose: the message that called us, NULL at
 * server 0; attempt: of the analyst who is to have the session.
 */
enum err worker_open_session(struct worker *w, const struct bytes *propose,
                             uint8_t attempt[REQUEST_ATTEMPT_SIZE]) MUST_CHECK;
void worker_close_session(struct worker *w);
/* Ends the session if a neighbour has left: when that is back, the next request begins another. */
void worker_heed_neighbours(struct worker *w);
/* For how long nothing was heard of the run. */
int64_t worker_silent_ms(const struct worker *w);
/* The study's deadline for connecting. */
int64_t worker_connect_ms(const struct worker *w);

/*
 * Whether an analyst may ask this of a run. A run belongs to the analyst who asked for its last
 * bound round; before that, to the one whose session it is. Another may go on with it once that
 * key is not on the roster any more. ERR_REFUSED, logged, for everybody else.
 */
enum err worker_may_ask(struct worker *w, const struct worker_ask *ask) MUST_CHECK;
/* Shows in the status what the ledger has spent, and its limit. */
enum err worker_show_budget(struct worker *w) MUST_CHECK;
/* Which neighbours its control links reach. */
void worker_show_neighbours(struct worker *w);
/* A failed check is told to whoever reads the audit log, too; `round`: 0 where there is none. */
void worker_log_caught(struct worker *w, uint32_t round);
/* And whether this server still takes part (parties/server/guard.h). */
void worker_show_guard(struct worker *w);
/* Handles an analyst's request; a failure ends the session. */
enum err worker_handle(struct worker *w, const struct worker_ask *ask,
                       struct bytes *result) MUST_CHECK;
/*
 * Answers an analyst, with what this server signs of its ledger and `result`, or in the words that
 * have been logged where `e` is not ERR_OK.
 */
void worker_answer(struct worker *w, const struct worker_ask *ask, enum err e, const void *result,
                   size_t n);
/*
 * After a round is answered, while the estimator works: counts the rows that have come, if all
 * three said in the round that they have some. A failure ends the session; the run goes on in
 * another, with the rows of its last round.
 */
void worker_let_late_join(struct worker *w);

#endif
