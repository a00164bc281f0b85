/*
 * How rounds are bound (parties/server/play.c, docs/protocols.md), for spin: three servers, or with
 * SERVERS=2 a provider and a keeper, any of which may crash between any two steps, and an analyst
 * (or a relay) that asks different servers for different things.
 *
 * The model has what is on disk, what each message says, and who has heard what; not what is
 * computed, though a new round's computing begins before it is bound. A session makes a noise tape
 * of its own and plays up to PLAYS requests: for round 0, or round 1 once that is bound, each in
 * one of two words. A round's range is two pieces of noise. In word 1 it takes only the first, and
 * the other goes back to the tape, to be the first piece of the next new round; in word 2 it takes
 * both. An exchange ends for a server when it has both other messages, or, at any moment after
 * somebody crashed or gave up, with the loss of the session: so a message may reach one neighbour
 * and not the other. Here all three follow the protocol; tests/models/attempts.pml has one that does not,
 * and the index.
 *
 * With AHEAD there are also pieces that were made before. A session takes those that all three say
 * they have, each deleted first; and a server that crashes may come back with all of them, from a
 * backup.
 *
 * Checked, in every interleaving:
 *   - no server ever sends its part of an opening of a piece of noise for two requests
 *   - a round that is opened is debited on all disks, once
 *   - a debit that is taken over is the one that was staged, with its noise: no crash is refused, or
 *     loses a round
 *   - nobody waits for ever
 */
#ifndef SERVERS
#define SERVERS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef SESSIONS
#define SESSIONS 2 /* how often they meet */
#endif
#ifndef PLAYS
#define PLAYS 2 /* in a session */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef AHEAD
#define AHEAD 0 /* pieces that were made before */
#endif
#define ALL_AHEAD ((1 << AHEAD) - 1)
#ifndef LIES
#define LIES 1 /* how often a server is asked for something other than the others are */
#endif

/* exchanges of a session: heads of ledgers, then of each play */
#define LEDGER 0
#define AGREE (1 + 3 * play)
#define CONFIRM (2 + 3 * play)
#define OPEN (3 + 3 * play)
#define STEPS (1 + 3 * PLAYS)

/* A request is 1 + 2 * round + (word - 1), so 1 .. 4; 0 is none. A piece is 4 * (session - 1) + 1 .. 4. */
#define round_of(q) (((q) - 1) / 2)
#define takes_both(q) ((q) % 2 == 0)
#define bit_of(q) (1 << (q))

typedef message {
    bool sent;
    bool data;     /* of a new round: what is computed with it has been sent as well */
    bool verdict; /* refuses */
    byte request; /* LEDGER: of the last debit, as the head tells it */
    byte first, second;
    byte debits;
    byte ahead;    /* LEDGER: pieces that are here, as bits */
    bool standing; /* bound already */
    bool opened;   /* its values are on disk */
    bool noise     /* is at hand */
};
typedef said {
    message by[SERVERS]
};
said step[STEPS]; /* of the session in hand */

byte session = 0;
bool lost;            /* somebody has left the session */
bool joined[SERVERS]; /* waits for the next one */
byte crashes = 0, lies = 0;
byte asked[PLAYS]; /* in the session in hand */

/* on disk: what is staged; for each round, what is bound */
typedef folder {
    byte staged, staged_first, staged_second;
    byte request[ROUNDS];
    byte first[ROUNDS], second[ROUNDS];
    bool opened[ROUNDS];
    bool wiped[ROUNDS];
    byte debits;
    byte ahead /* pieces that were made before and are not taken, as bits */
};
folder disk[SERVERS];

byte opened_for[4 * SESSIONS + 1 + AHEAD]; /* by piece: for which requests a part was sent, as bits */

#define a ((i + 1) % SERVERS)
#define b ((i + 2) % SERVERS) /* of two servers i itself: what needs both others needs the other */
#define mine_of(k) step[k].by[i]

/*
 * The first to crash is server 0: servers differ only in their number, and what one does to the next is the same all
 * round, so that every other case is a rotation of one of these.
 */
inline crash_here() {
    if
    :: crashes < CRASHES && (crashes > 0 || i == 0) -> crashes++; lost = true; goto away
    :: AHEAD > 0 && crashes < CRASHES && (crashes > 0 || i == 0) -> /* and is restored */
        crashes++; disk[i].ahead = ALL_AHEAD; lost = true; goto away
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

/*
 * From here on a new round computes: this rides with a statement, opens nothing and touches no disk.
 * The first is sent whatever the others were asked; from the second on all have agreed.
 */
inline compute(k) {
    mine_of(k).data = new
}

inline computed(k) {
    if
    :: !new -> skip
    :: new && step[k].by[a].data && step[k].by[b].data -> skip
    :: new && lost -> goto away
    fi
}

inline forget_one(k, s) {
    step[k].by[s].sent = false;
    step[k].by[s].data = false;
    step[k].by[s].verdict = false;
    step[k].by[s].request = 0;
    step[k].by[s].first = 0;
    step[k].by[s].second = 0;
    step[k].by[s].debits = 0;
    step[k].by[s].ahead = 0;
    step[k].by[s].standing = false;
    step[k].by[s].opened = false;
    step[k].by[s].noise = false
}

inline forget_messages() {
    byte k = 0;
    do
    :: k < STEPS ->
        forget_one(k, 0);
        forget_one(k, 1);
#if SERVERS == 3
        forget_one(k, 2);
#endif
        k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < PLAYS -> asked[k] = 0; k++
    :: else -> break
    od;
    k = 0
}

/* One transaction: the debit and the range are stored, and the noise of the round before is deleted. */
inline bind(q, u, v) {
    disk[i].request[round_of(q)] = q;
    disk[i].first[round_of(q)] = u;
    disk[i].second[round_of(q)] = v;
    disk[i].debits++;
    assert(disk[i].debits == round_of(q) + 1);
    if
    :: round_of(q) > 0 -> disk[i].wiped[round_of(q) - 1] = true
    :: else -> skip
    fi;
    disk[i].staged = 0;
    disk[i].staged_first = 0;
    disk[i].staged_second = 0
}

inline drop_staged() {
    disk[i].staged = 0;
    disk[i].staged_first = 0;
    disk[i].staged_second = 0
}

/* The next piece of a session: one that was made before, as long as there are some. */
inline next_piece(piece) {
    if
    :: ahead == 0 -> piece = fresh; fresh++
    :: ahead != 0 ->
        piece = 0;
        do
        :: (ahead & (1 << piece)) == 0 -> piece++
        :: else -> break
        od;
        ahead = ahead & ~(1 << piece);
        disk[i].ahead = disk[i].ahead & ~(1 << piece);
        piece = 4 * SESSIONS + 1 + piece
    fi
}

inline send_part(piece, q) {
    opened_for[piece] = opened_for[piece] | bit_of(q);
    assert((opened_for[piece] & (opened_for[piece] - 1)) == 0)
}

#define differs(field)                                                                             \
    (step[AGREE].by[a].field != mine_of(AGREE).field || step[AGREE].by[b].field != mine_of(AGREE).field)

proctype server(byte i) {
    byte mine, play, request, first, second, from;
    byte left;  /* a piece that a round has given back; 0: none */
    byte fresh; /* the next piece that has not been used yet */
    byte ahead; /* pieces that all three had, as bits, when the session began */
    bool new;

away:
    request = 0; first = 0; second = 0; from = 0; play = 0; left = 0; fresh = 0; ahead = 0;
    new = false;
    atomic {
        joined[i] = true;
        if
        :: joined[0] && joined[1] && joined[SERVERS - 1] ->
            session++;
            forget_messages();
            lost = false;
            joined[0] = false; joined[1] = false; joined[SERVERS - 1] = false;
            mine = session
        :: else -> mine = session + 1
        fi
    }
    session >= mine;
    if
    :: mine > SESSIONS -> goto done
    :: else -> fresh = 4 * (mine - 1) + 1
    fi;

    /* heads of ledgers, which stand for the last entry; whoever has bound has heard what both others have staged */
    atomic {
        mine_of(LEDGER).debits = disk[i].debits;
        mine_of(LEDGER).ahead = disk[i].ahead;
        if
        :: disk[i].debits > 0 ->
            mine_of(LEDGER).request = disk[i].request[disk[i].debits - 1];
            mine_of(LEDGER).first = disk[i].first[disk[i].debits - 1];
            mine_of(LEDGER).second = disk[i].second[disk[i].debits - 1]
        :: else -> skip
        fi;
        mine_of(LEDGER).sent = true
    }
    exchange(LEDGER);
    crash_here();
    atomic {
        if
        :: step[LEDGER].by[a].debits > disk[i].debits -> from = a
        :: step[LEDGER].by[a].debits <= disk[i].debits && step[LEDGER].by[b].debits > disk[i].debits ->
            from = b
        :: else -> from = i
        fi;
        if
        :: from != i -> /* one transaction */
            assert(step[LEDGER].by[from].debits == disk[i].debits + 1);
            assert(disk[i].staged == step[LEDGER].by[from].request &&
                   disk[i].staged_first == step[LEDGER].by[from].first &&
                   disk[i].staged_second == step[LEDGER].by[from].second);
            bind(step[LEDGER].by[from].request, disk[i].staged_first, disk[i].staged_second)
        :: else -> skip
        fi;
        drop_staged(); /* what nobody has bound */
        ahead = disk[i].ahead & step[LEDGER].by[a].ahead & step[LEDGER].by[b].ahead;
        disk[i].ahead = ahead
    }
    crash_here();

next:
    /* a request for a round that is bound, or the next one */
    atomic {
        if
        :: asked[play] != 0 -> request = asked[play]
        :: asked[play] == 0 || lies < LIES ->
            lies = lies + (asked[play] != 0);
            if
            :: request = 1
            :: request = 2
            :: ROUNDS > 1 && disk[i].debits > 0 -> request = 3
            :: ROUNDS > 1 && disk[i].debits > 0 -> request = 4
            fi;
            if
            :: asked[play] == 0 -> asked[play] = request
            :: else -> skip
            fi
        fi;
        new = (disk[i].request[round_of(request)] == 0);
        if
        :: new -> /* takes what was given back first */
            if
            :: left != 0 -> first = left; left = 0
            :: else -> next_piece(first)
            fi;
            next_piece(second)
        :: else -> skip
        fi
#if AHEAD > 0
    }
    crash_here(); /* what was taken is gone, and not staged */
    atomic {
#endif
        if
        :: new ->
            disk[i].staged = request;
            disk[i].staged_first = first;
            disk[i].staged_second = second
        :: else ->
            first = disk[i].first[round_of(request)];
            second = disk[i].second[round_of(request)]
        fi
    }
    crash_here();
    atomic {
        mine_of(AGREE).verdict = (!new && disk[i].request[round_of(request)] != request);
        mine_of(AGREE).request = request;
        mine_of(AGREE).first = first;
        mine_of(AGREE).second = second;
        mine_of(AGREE).standing = !new;
        mine_of(AGREE).opened = disk[i].opened[round_of(request)];
        mine_of(AGREE).noise = !disk[i].wiped[round_of(request)];
        mine_of(AGREE).sent = true
    }
    if
    :: new -> crash_here(); compute(AGREE)
    :: else -> skip
    fi;
    exchange(AGREE);
    if
    :: mine_of(AGREE).verdict || step[AGREE].by[a].verdict || step[AGREE].by[b].verdict -> give_up()
    :: differs(request) || differs(first) || differs(second) || differs(standing) -> give_up()
    :: else -> skip
    fi;
    if
    :: step[AGREE].by[a].opened && (SERVERS == 2 || step[AGREE].by[b].opened) -> /* and the last */
        if
        :: mine_of(AGREE).opened || !lost -> skip
        :: lost -> goto away
        fi;
        disk[i].opened[round_of(request)] = true;
        goto played
    :: mine_of(AGREE).opened && (step[AGREE].by[a].opened || step[AGREE].by[b].opened) ->
        goto played
    :: else -> skip
    fi;
    if
    :: !mine_of(AGREE).noise || !step[AGREE].by[a].noise || !step[AGREE].by[b].noise -> give_up()
    :: else -> skip
    fi;
    crash_here();

    /* debit and bind */
    if
    :: new -> atomic { bind(disk[i].staged, disk[i].staged_first, disk[i].staged_second) }
    :: else -> skip
    fi;
    computed(AGREE);
    crash_here();
    atomic {
        assert(step[AGREE].by[a].request == request && step[AGREE].by[b].request == request);
        mine_of(CONFIRM).sent = true;
        compute(CONFIRM)
    }
    exchange(CONFIRM);
    computed(CONFIRM);
    crash_here();

    /* the messages that depend on data */
    atomic {
        assert(disk[0].request[round_of(request)] == request &&
               disk[1].request[round_of(request)] == request &&
               disk[SERVERS - 1].request[round_of(request)] == request);
        send_part(first, request);
        if
        :: takes_both(request) -> send_part(second, request)
        :: else -> skip
        fi;
        mine_of(OPEN).sent = true
    }
    exchange(OPEN);
    crash_here();
    disk[i].opened[round_of(request)] = true;
    /* what a new round has not used goes back */
    if
    :: new && !takes_both(request) -> left = second
    :: else -> skip
    fi;

played:
    play++;
    first = 0;
    second = 0;
    if
    :: play < PLAYS -> goto next
    :: else -> give_up() /* the session ends; a round may be asked for again */
    fi;

done:
    skip
}

init {
    atomic {
        disk[0].ahead = ALL_AHEAD;
        disk[1].ahead = ALL_AHEAD;
        disk[SERVERS - 1].ahead = ALL_AHEAD;
#if SERVERS == 3
        run server(2);
#endif
        run server(0);
        run server(1)
    }
}
