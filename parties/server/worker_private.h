/*
 * parties/server/worker_private.h - the worker's state, shared by the files that take requests
 * (worker.c), say whose turn it is (worker_turn.c), answer (worker_answer.c), treat an OPEN at
 * servers 1 and 2 (worker_follow.c), look after sessions (worker_session.c), and see
 * when there is time to make noise for a later run (worker_ahead.c). What a session is, the
 * setting knows (parties/setting/setting.h).
 */
#pragma once

#include "base/thread.h"
#include "parties/exchange/request.h"
#include "parties/server/play.h"
#include "parties/server/worker.h"

#define WORKER_POLL_MS 200

#define WORKER_WAITING 64 /* OPENs that wait for their session */
#define WORKER_WAITING_OF_A_KEY 4

/* An analyst's request, and where the answer goes. */
struct worker_ask {
    struct gate_client client;
    uint8_t attempt[REQUEST_ATTEMPT_SIZE];
    uint64_t seen;                       /* this server's debits that the client has seen */
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
    struct log log;  /* like the site's log, and also into `words` */
    char words[512]; /* what is logged while a request is handled; the analyst is told */
    const struct setting *setting; /* and its state */
    void *part;
    struct net *net; /* of the session, if any */
    struct play play;
    uint8_t run[REQUEST_RUN_SIZE];
    uint64_t shown_sent, shown_received; /* of this session's links, in the status */
    uint32_t user;                       /* whose run it is */
    uint32_t line;                       /* on which its program asked last: gate_number() */
    int64_t began;                       /* since when, by the wall clock */
    struct worker_turn {
        uint32_t user;         /* of the last session that was open for a run */
        bool begun;            /* its run has paid for its one-ways */
        bool wanted;           /* another analyst was turned away meanwhile */
        int64_t idle_ms;       /* that this session was idle */
        int64_t held_ms;       /* that this user's sessions lasted, since one paid */
        int64_t last_ms;       /* when one was last open, by clock_now_ms() */
        int64_t shut_until_ms; /* until when none opens, since an owner waits */
    } turn;
    struct worker_idle {
        int64_t due,
            pause;         /* when noise is made next, by clock_now_ms(); how long it waits after */
        unsigned standing; /* the neighbours' links as they were */
    } idle;
    struct worker_queue { /* at servers 1 and 2 */
        struct worker_waiting waiting[WORKER_WAITING];
        uint8_t joined[REQUEST_ATTEMPT_SIZE]; /* the attempt whose session this is */
        int64_t joined_ms;
    } queue;
};

/*
 * worker_ahead.c. Whether a session is for noise, and for nobody's run; what is done in such a
 * session, which is closed afterwards: true if there is no reason for another until something
 * changes.
 */
bool worker_is_about_noise(const uint8_t about[REQUEST_ATTEMPT_SIZE]);
bool worker_make_ahead(struct worker *w);
/* At server 0: opens such a session when the time has come; after a request it is put off. */
void worker_tend_ahead(struct worker *w);
void worker_idle_from_now(struct worker *w);

/* What servers 1 and 2 do with an OPEN: worker_follow.c. */
void worker_follow(struct worker *w, const struct worker_ask *ask);
/* At servers 1 and 2: joins a session that server 0 has proposed; tells those who wait in vain. */
enum err worker_tend(struct worker *w, struct bytes *message) MUST_CHECK;

/* worker_answer.c. Handles a request, unless `e` is an error, and answers it. */
void worker_serve(struct worker *w, const struct worker_ask *ask, enum err e);

/*
 * Opens a session instead of the one that is open, if any. propose: the message that called us,
 * NULL at server 0; attempt: that of the analyst for whom the session is.
 */
enum err worker_open_session(struct worker *w, const struct bytes *propose,
                             uint8_t attempt[REQUEST_ATTEMPT_SIZE]) MUST_CHECK;
void worker_close_session(struct worker *w);
/* Ends the session if a neighbour has left: once it is back, the next request begins another. */
void worker_heed_neighbours(struct worker *w);
/* Whether the session is a run's, and not only open. */
static inline bool worker_has_run(const struct worker *w)
{
    return w->play.engine.ops != NULL;
}
/* What it has counted. */
static inline struct engine_counted worker_counted(const struct worker *w)
{
    return w->play.engine.ops->counted(w->play.engine.self);
}
/* How long nothing has been heard of the run. */
int64_t worker_silent_ms(const struct worker *w);
/* The study's deadline for connecting. */
int64_t worker_connect_ms(const struct worker *w);

/*
 * worker_turn.c. An OPEN was served, and its run has paid for its one-ways or not; time has passed:
 * says why the session has to be closed, if it costs nothing and goes on for too long or an owner
 * waits for it, else NULL; ERR_BUSY, logged, where another run has the session; ERR_BUSY, logged,
 * where an analyst's OPEN has to wait.
 */
void worker_turn_begins(struct worker *w, bool begun);
const char *worker_turn_passes(struct worker *w, int64_t ms);
enum err worker_turn_is_taken(struct worker *w, const struct worker_ask *ask) MUST_CHECK;
enum err worker_turn_may_open(struct worker *w, uint32_t user) MUST_CHECK;

/*
 * Whether an analyst may ask this of a run. A run belongs to the analyst who asked for its last
 * bound round; before that, to the one whose session it is. Another may go on with it once that
 * key is no longer on the roster. ERR_REFUSED, logged, for everybody else. An OPEN may have to
 * wait: worker_turn_may_open().
 */
enum err worker_may_ask(struct worker *w, const struct worker_ask *ask) MUST_CHECK;
/* Shows in the status what the ledger has spent, and its limit. */
enum err worker_show_budget(struct worker *w) MUST_CHECK;
/* Shows which neighbours its control links reach. */
void worker_show_neighbours(struct worker *w);
/*
 * After something has ended with `e` (`round`: 0 if there is none): if that stops this server,
 * writes to the audit log that a check failed, or what was stated.
 */
void worker_catch(struct worker *w, uint32_t round, enum err e);
/*
 * Names owners whose uploads the session leaves out: in the log, the audit log, the status; those
 * that have been named only if `again`.
 */
enum err worker_name_left_out(struct worker *w, bool again) MUST_CHECK;
/* Shows whether this server still takes part. */
void worker_show_guard(struct worker *w);
/* Handles an analyst's request; a failure ends the session. */
enum err worker_handle(struct worker *w, const struct worker_ask *ask,
                       struct bytes *result) MUST_CHECK;
/*
 * Answers an analyst: with what this server signs of its ledger and `result` or, if `e` is not
 * ERR_OK, with the words that have been logged.
 */
void worker_answer(struct worker *w, const struct worker_ask *ask, enum err e, const void *result,
                   size_t n);
