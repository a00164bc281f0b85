/*
 * mpc/move/crew.h - the lanes of a server: one computation on several threads.
 *
 * A lane is a party of its own: links, PRG streams (their keys depend on its number), scratch
 * memory, and a thread while there is work. Lane k of a server talks to lane k of the two others
 * and to nothing else. Lane 0 is the caller's party; the others serve it.
 *
 * Work is cut into tiles. With L lanes, tile i belongs to lane i mod L, and each lane takes its
 * tiles in order: so the three servers deal them out alike. Lanes share no queue and no lock. So a
 * lane that is slow at one server holds up only the same lane of the others, and lanes cannot
 * deadlock: a deadlock would be among the exchanges of a single lane, which run as they do without
 * others.
 *
 * Only lane 0 opens values: in the order of its calls, however many lanes there are. LEAKS: what
 * the work does; the number of tiles is public.
 */
#pragma once

#include "mpc/party/party.h"

struct crew;

struct crew_task {
    unsigned job;
    enum net_phase phase;
    const struct bytes *arguments;
};

/*
 * Lanes beyond `first` that other processes of this server have (parties/settings/three/ranks.h).
 * They share no memory with the caller, so they run jobs, not closures: see crew_jobs().
 */
struct crew_far {
    enum err (*topic)(void *self, const uint8_t topic[SESSION_ID_SIZE]) MUST_CHECK;
    /* Gives each far lane, in order, its part of a job: number, phase, arguments. */
    enum err (*give)(void *self, const struct crew_task *task) MUST_CHECK;
    /* Waits for the results, or calls the job off; gives what the lanes have counted in all. */
    enum err (*end)(void *self, bool call_off, struct bytes *results,
                    struct net_counters *counted) MUST_CHECK;
    /* Adds what far lanes have counted since the last time. */
    enum err (*sum)(void *self, struct share64 sums) MUST_CHECK;
    void *self;
};

/*
 * Gives `first` (lane 0) the lanes 1 .. lanes - 1, where nets[k] is lane k's: made with its number
 * over a transport that nothing else uses, and with the same `ended` as all others. Borrows the
 * nets. The lanes share the memory that scratch may keep.
 */
enum err crew_new(struct crew **crew, struct party *first, struct net *const *nets, size_t lanes,
                  const struct session *session) MUST_CHECK;
void crew_free(struct crew **crew);
/* Told to all lanes but the first, including those of other processes: they open nothing. */
void crew_never_opens(struct party *lane);

/*
 * For a session of `all` lanes that its servers spread over processes in different ways: all but
 * the first `near` do only jobs. No process has more than `most` of them. `far` is borrowed; NULL
 * where this process has all. Call it before any work.
 */
void crew_extend(struct crew *crew, size_t near, size_t all, size_t most,
                 const struct crew_far *far);

/* party_topic() of a party and of all its lanes. */
enum err crew_topic(struct party *p, const struct session *session,
                    const uint8_t topic[SESSION_ID_SIZE]) MUST_CHECK;

/* 1 where a party has no crew, or is running something on it. */
size_t crew_lanes(const struct party *p);

/* Lanes of this process, including those that do only jobs; the most that any process has. */
size_t crew_here(const struct party *p);
size_t crew_most(const struct party *p);

/* Lane k of those. */
const struct party *crew_lane(const struct party *p, size_t k);

/* Calls work(self, lane, k) once for each lane k, side by side. */
enum err crew_each(struct party *p, enum err (*work)(void *self, struct party *lane, size_t k),
                   void *self) MUST_CHECK;

/* crew_run() on the first `crew` lanes, which compare nothing beforehand. */
enum err crew_tiles(struct party *p, size_t crew, size_t tiles,
                    enum err (*work)(void *self, struct party *lane, size_t tile),
                    void *self) MUST_CHECK;

/*
 * Calls work(self, lane, tile) for each tile, and waits for all. A lane writes only to its tiles'
 * own places; what is in its scratch ends with the tile. Without a crew, or for one tile,
 * everything runs on `p` itself.
 *
 * Under a check, lanes first compare what they have heard (record_agree()), since a lane may use
 * what another one made. Once a lane fails, every lane of the three servers ends at its next
 * exchange. The error is that of the lane that failed by itself, not of one that was ended.
 */
enum err crew_run(struct party *p, size_t tiles,
                  enum err (*work)(void *self, struct party *lane, size_t tile),
                  void *self) MUST_CHECK;

/* --- jobs ------------------------------------------------------------------------------------- */

/* Lanes of all processes; crew_lanes() where there are no others. */
size_t crew_all(const struct party *p);
/* Whether some lanes do only jobs: then whatever is worth it is done as a job. */
bool crew_deals(const struct party *p);
/* The lanes in other processes, or NULL. */
const struct crew_far *crew_far(const struct party *p);

/*
 * Work that every lane of the session does once, wherever it is: it reads bytes, and writes bytes.
 * `number` names `work` to processes that share no memory
 * (parties/settings/three/rank_lanes_mpi.c), where `self` is another object. So servers need the
 * same number of lanes in all, not of processes.
 */
enum crew_job_number { CREW_GREET, CREW_COUNT, CREW_NOISE };
struct crew_job {
    enum crew_job_number number;
    enum err (*put)(void *self, size_t lane, struct bytes *arguments);
    enum err (*work)(void *self, struct party *lane, struct reader *arguments,
                     struct bytes *result);
    enum err (*take)(void *self, size_t lane, struct reader *result); /* or NULL */
    void *self;
};

/*
 * Under a check each lane proves all that it noted before its result is taken: so the result of a
 * job is proved, wherever it was done (mpc/check/check_lanes.c).
 */
enum err crew_jobs(struct party *p, const struct crew_job *job) MUST_CHECK;

/*
 * The worse of two lanes' errors. A lane that was ended has ERR_PEER; the one that ended it often
 * knows better. A failed check is reported whatever else went wrong.
 */
enum err crew_worse(enum err e, enum err other);

/* Like crew_each(), for all lanes of this process, including those that do only jobs. */
enum err crew_each_here(struct party *p, enum err (*work)(void *self, struct party *lane, size_t k),
                        void *self) MUST_CHECK;

/*
 * How long tiles of n elements should be: `most` where there is one lane. More lanes get shorter
 * ones, so that the memory of all is bounded as that of one is, and each has as many; `most`
 * elements take one tile on each, as they take one where there is one lane. Multiples of `least`.
 */
size_t crew_tile(const struct party *p, size_t n, size_t most, size_t least);
/*
 * The same for jobs. They take crew_processes() times as much at once: that is at most the number
 * of processes of any server, so that the memory of each is bounded.
 */
size_t crew_deal_tile(const struct party *p, size_t n, size_t most, size_t least);
size_t crew_processes(const struct party *p);
