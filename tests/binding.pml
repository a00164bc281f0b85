/*
 * How a round is bound (parties/server/play.c, docs/protocols.md), for spin: three servers, any of which may crash between
 * any two steps, and an analyst (or a relay) that asks different servers for different things.
 *
 * Modelled are what is on disk, what each message says, and who has heard what; not what is computed. A session is a
 * number, which also names its noise tape; one round is played over and over, by request 1 or request 2. An exchange
 * ends for a server when it has both other messages, or, at any moment after somebody crashed or gave up, with the
 * loss of the session: so a message may reach one neighbour and not the other.
 *
 * Checked, in every interleaving:
 *   - no server ever sends its part of an opening of a range for two requests
 *   - a round that is opened is debited on all three disks, once
 *   - a debit that is taken over finds its noise staged: a crash loses no round
 *   - nobody waits for ever
 */
#define SERVERS 3
#ifndef SESSIONS
#define SESSIONS 3 /* how often they meet */
#endif
#ifndef CRASHES
#define CRASHES 2
#endif

/* exchanges of a session */
#define LEDGER 0
#define AGREE 1
#define CONFIRM 2
#define OPEN 3
#define STEPS 4

typedef message {
    bool sent;
    byte verdict;  /* 1: refuses */
    byte request;
    byte range;    /* of noise: the session that made it */
    bool standing; /* bound already */
};
typedef said {
    message by[SERVERS];
};
said step[STEPS]; /* of the session in hand */

byte session = 0;
bool lost;              /* somebody has left the session */
bool joined[SERVERS];   /* waits for the next one */
byte crashes = 0;

/* on disk */
byte staged_request[SERVERS], staged_range[SERVERS];
byte bound_request[SERVERS], bound_range[SERVERS], debits[SERVERS];

byte opened_for[SESSIONS + 1]; /* of each range: for which requests a part was sent, as bits */

#define a ((i + 1) % SERVERS)
#define b ((i + 2) % SERVERS)

inline crash_here() {
    if
    :: crashes < CRASHES -> crashes++; lost = true; goto away
    :: true -> skip
    fi
}

inline give_up() {
    lost = true;
    goto away
}

/* Both other messages, or the session is lost: where both hold, either may be noticed first. */
inline exchange(k) {
    if
    :: step[k].by[a].sent && step[k].by[b].sent -> skip
    :: lost -> goto away
    fi
}

inline forget_messages() {
    byte k = 0;
    do
    :: k < STEPS ->
        step[k].by[0].sent = false; step[k].by[1].sent = false; step[k].by[2].sent = false;
        step[k].by[0].request = 0; step[k].by[1].request = 0; step[k].by[2].request = 0;
        step[k].by[0].range = 0; step[k].by[1].range = 0; step[k].by[2].range = 0;
        step[k].by[0].verdict = 0; step[k].by[1].verdict = 0; step[k].by[2].verdict = 0;
        step[k].by[0].standing = false; step[k].by[1].standing = false; step[k].by[2].standing = false;
        k++
    :: else -> break
    od;
    k = 0
}

proctype server(byte i) {
    byte mine, request, range, verdict, from;

away:
    request = 0; range = 0; verdict = 0; from = 0;
    atomic {
        joined[i] = true;
        if
        :: joined[0] && joined[1] && joined[2] ->
            session++;
            forget_messages();
            lost = false;
            joined[0] = false; joined[1] = false; joined[2] = false;
            mine = session
        :: else -> mine = session + 1
        fi
    }
    session >= mine;
    if
    :: mine > SESSIONS -> goto done
    :: else -> skip
    fi;

    /* heads of ledgers; the last entry to who lacks it */
    atomic {
        step[LEDGER].by[i].request = bound_request[i];
        step[LEDGER].by[i].range = bound_range[i];
        step[LEDGER].by[i].sent = true
    }
    exchange(LEDGER);
    crash_here();
    if
    :: bound_request[i] == 0 && step[LEDGER].by[a].request != 0 -> from = a
    :: bound_request[i] == 0 && step[LEDGER].by[a].request == 0 && step[LEDGER].by[b].request != 0 ->
        from = b
    :: else -> from = i
    fi;
    if
    :: from != i ->
        atomic { /* one transaction */
            assert(staged_request[i] == step[LEDGER].by[from].request &&
                   staged_range[i] == step[LEDGER].by[from].range);
            bound_request[i] = staged_request[i];
            bound_range[i] = staged_range[i];
            debits[i]++;
            staged_request[i] = 0;
            staged_range[i] = 0
        }
    :: else -> skip
    fi;
    crash_here();
    /* what nobody has bound is dropped */
    atomic {
        staged_request[i] = 0;
        staged_range[i] = 0
    }

    /* a request, which may be another one at every server */
    if
    :: request = 1
    :: request = 2
    fi;
    if
    :: bound_request[i] != 0 ->
        range = bound_range[i];
        verdict = (bound_request[i] != request)
    :: else ->
        range = mine;
        crash_here();
        atomic {
            staged_request[i] = request;
            staged_range[i] = range
        }
    fi;
    crash_here();
    atomic {
        step[AGREE].by[i].verdict = verdict;
        step[AGREE].by[i].request = request;
        step[AGREE].by[i].range = range;
        step[AGREE].by[i].standing = (bound_request[i] != 0);
        step[AGREE].by[i].sent = true
    }
    exchange(AGREE);
    if
    :: verdict != 0 || step[AGREE].by[a].verdict != 0 || step[AGREE].by[b].verdict != 0 -> give_up()
    :: step[AGREE].by[a].request != request || step[AGREE].by[b].request != request -> give_up()
    :: step[AGREE].by[a].range != range || step[AGREE].by[b].range != range -> give_up()
    :: step[AGREE].by[a].standing != (bound_request[i] != 0) ||
       step[AGREE].by[b].standing != (bound_request[i] != 0) -> give_up()
    :: else -> skip
    fi;
    crash_here();

    /* debit and bind: one transaction */
    if
    :: bound_request[i] == 0 ->
        atomic {
            bound_request[i] = staged_request[i];
            bound_range[i] = staged_range[i];
            debits[i]++;
            staged_request[i] = 0;
            staged_range[i] = 0
        }
    :: else -> skip
    fi;
    crash_here();
    step[CONFIRM].by[i].sent = true;
    exchange(CONFIRM);
    crash_here();

    /* the first message that depends on data */
    atomic {
        assert(debits[0] == 1 && debits[1] == 1 && debits[2] == 1);
        assert(bound_request[0] == request && bound_request[1] == request &&
               bound_request[2] == request);
        opened_for[range] = opened_for[range] | request;
        assert(opened_for[range] != 3);
        step[OPEN].by[i].sent = true
    }
    exchange(OPEN);
    lost = true; /* the session ends; the round may be asked for again */
    goto away;

done:
    skip
}

init {
    atomic {
        run server(0);
        run server(1);
        run server(2)
    }
}
