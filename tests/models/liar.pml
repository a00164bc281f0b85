/*
 * A round under a check (parties/server/play.c, parties/settings/three/guard.h, docs/protocols.md), for spin: two
 * servers that follow the protocol and may crash between any two steps, and a third that does not. The third says
 * whatever it likes in every message, and different things to the two; leaves at any moment; computes correctly or
 * not; and has each of them asked what it likes. So it has no state here: what it says is chosen where it is heard.
 *
 * The model has what is on the two disks, what each message says, and who has heard what; of what is computed, only
 * whether the third lied in it: then no check of that session is accepted (docs/proofs.md says how surely). Each
 * session has noise of its own, a piece. A session goes on for a server when it has the other's message, or, at any
 * moment after somebody crashed or gave up, is lost: so a message may reach one server and not be followed by any.
 *
 * Checked, in every interleaving:
 *   - the two never have different debits, whatever the third says that it has made: it shows what either has signed
 *   - who has bound can show that the other had staged the same: so no crash leaves them apart for good
 *   - neither sends its part of an opening for two requests under one piece, nor before both have debited that request;
 *     a debit for which it has sent one stays, though the operator of either may have one dropped that the other lacks
 *   - both have one index, which is the right one, and the same values
 *   - neither sends a coin in more than TRIES sessions in which the third lies
 *   - nobody waits for ever
 */
#ifndef TRIES
#define TRIES 2
#endif
#ifndef SESSIONS
#define SESSIONS 4
#endif
#ifndef DROPS
#define DROPS 1 /* how often the operator of each may have a debit dropped */
#endif

/* standings */
#define NONE 0
#define BOUND 1
#define INDEX 2
#define OPENED 3

/* what opens if nobody lies; 2 is anything else */
#define RIGHT 1

typedef folder {
    byte staged, staged_piece; /* request, in one of two words; 0: none */
    byte request, piece;       /* what is debited, and bound */
    byte standing, index, values;
    byte tries;
    bool failed
};
folder disk[2];

/* exchanges of a session */
#define LEDGER 0
#define AGREE 1
#define CONFIRM 2
#define COIN 3
#define SELECT 4
#define MEASURE 5

typedef statement {
    byte request, piece, standing, index, values
};
typedef message {
    bool sent[2]
};
message step[6];    /* of the session in hand */
statement said[2];  /* by the two in it */
statement heard[2]; /* of the third, by each */
bool lost, joined[2];
byte session = 0;
byte lies; /* 1: the third lied in what the session in hand computed; 2: it did not */

byte opened_for[SESSIONS + 1]; /* by piece: for which words a part was sent */
#define PIECES (SESSIONS + 2)
byte vouched[2 * PIECES]; /* by server and piece: for which words it has signed that it has staged them */
bool parts[2];            /* who has sent a part of an opening */
byte drops[2];
byte falses[2];                /* sessions with a lie in which a coin was sent */

#define other (1 - i)
#define own said[i]
#define theirs said[other]
#define third heard[i]
#define bit_of(x) (1 << (x))
/* The third has its own voucher for whatever it likes. */
#define vouched_for(x) ((vouched[x.piece] & vouched[PIECES + x.piece] & bit_of(x.request)) != 0)

inline give_up() {
    lost = true;
    goto away
}

inline crash_here() {
    if
    :: true -> give_up()
    :: true -> skip
    fi
}

/* The other's message, and the third's, which may not come. */
inline exchange(k) {
    step[k].sent[i] = true;
    if
    :: step[k].sent[other] -> skip
    :: lost -> goto away
    fi;
    crash_here()
}

inline forget(x) {
    x.request = 0;
    x.piece = 0;
    x.standing = NONE;
    x.index = 0;
    x.values = 0
}

inline any(x) {
    if
    :: x = 1
    :: x = 2
    fi
}

/* One transaction. */
inline bind() {
    assert(disk[i].request == 0 && disk[i].staged != 0);
    disk[i].request = disk[i].staged;
    disk[i].piece = disk[i].staged_piece;
    disk[i].standing = BOUND;
    disk[i].staged = 0;
    disk[i].staged_piece = 0;
    assert(vouched_for(disk[i]));
    assert(disk[other].request == 0 ||
           (disk[other].request == disk[i].request && disk[other].piece == disk[i].piece))
}

/* trefoil recover: the other does not have the debit, and no part was sent here. The third says what suits it. */
inline drop() {
    if
    :: drops[i] < DROPS && disk[i].standing == BOUND && !parts[i] && disk[other].request == 0 ->
        drops[i]++;
        disk[i].request = 0;
        disk[i].piece = 0;
        disk[i].standing = NONE
    :: true -> skip
    fi
}

/* What the third says of a round that is bound. Where it says anything else is wrong, it only leaves. */
inline listen() {
    if
    :: true -> third.standing = BOUND
    :: third.standing = INDEX; any(third.index)
    :: third.standing = OPENED; any(third.index); third.values = third.index
    fi
}

#define staged_here(x) (x.request == disk[i].staged && x.piece == disk[i].staged_piece)
#define differ(x, y)                                                                               \
    ((x.standing >= INDEX && y.standing >= INDEX && x.index != y.index) ||                         \
     (x.standing == OPENED && y.standing == OPENED && x.values != y.values))
#define known ((own.standing >= INDEX) + (theirs.standing >= INDEX) + (third.standing >= INDEX))
#define opened ((own.standing == OPENED) + (theirs.standing == OPENED) + (third.standing == OPENED))

proctype server(byte i) {
    byte mine, request, taken, came;
    bool new, selects;

away:
    request = 0; new = false; selects = false; taken = 0; came = 0;
    atomic { drop() }
    atomic {
        joined[i] = true;
        mine = session + 1;
        if
        :: joined[0] && joined[1] ->
            session++;
            step[LEDGER].sent[0] = false; step[LEDGER].sent[1] = false;
            step[AGREE].sent[0] = false; step[AGREE].sent[1] = false;
            step[CONFIRM].sent[0] = false; step[CONFIRM].sent[1] = false;
            step[COIN].sent[0] = false; step[COIN].sent[1] = false;
            step[SELECT].sent[0] = false; step[SELECT].sent[1] = false;
            step[MEASURE].sent[0] = false; step[MEASURE].sent[1] = false;
            forget(said[0]); forget(said[1]); forget(heard[0]); forget(heard[1]);
            do /* what neither has staged any more is of no use to anybody */
            :: came == SESSIONS -> came = 0; break
            :: came < SESSIONS ->
                came++;
                if
                :: disk[0].staged_piece != came && disk[1].staged_piece != came ->
                    vouched[came] = 0;
                    vouched[PIECES + came] = 0
                :: else -> skip
                fi
            od;
            lies = 0;
            lost = false;
            joined[0] = false; joined[1] = false
        :: else -> skip
        fi
    }
    session >= mine;
    if
    :: mine > SESSIONS -> goto done
    :: else -> skip
    fi;
    if /* its operator has to look */
    :: disk[i].failed || disk[i].tries >= TRIES -> give_up()
    :: else -> skip
    fi;

    /* ledgers, and vouchers for the last entry; the third says that it has any, or none */
    atomic {
        own.request = disk[i].request;
        own.piece = disk[i].piece;
        if
        :: true -> skip
        :: any(third.request); third.piece = disk[i].staged_piece
        :: any(third.request); third.piece = SESSIONS + 1
        fi
    }
    exchange(LEDGER);
    if
    :: disk[i].request == 0 && theirs.request != 0 && !staged_here(theirs) -> give_up()
    :: disk[i].request == 0 && third.request != 0 && !(staged_here(third) && vouched_for(third)) -> give_up()
    :: disk[i].request != 0 && theirs.request != 0 && theirs.request != disk[i].request -> give_up()
    :: disk[i].request == 0 && (theirs.request != 0 || third.request != 0) &&
       (theirs.request == 0 || staged_here(theirs)) &&
       (third.request == 0 || (staged_here(third) && vouched_for(third))) ->
        atomic { bind() }
    :: disk[i].request == 0 && theirs.request == 0 && third.request == 0 ->
        atomic { disk[i].staged = 0; disk[i].staged_piece = 0 }
    :: disk[i].request != 0 && (theirs.request == 0 || theirs.request == disk[i].request) -> skip
    fi;
    crash_here();

    /* each is asked in one of two words */
    atomic {
        third.request = 0;
        third.piece = 0;
        any(request);
        if
        :: disk[i].request != 0 && disk[i].request != request -> give_up()
        :: disk[i].request == 0 ->
            new = true;
            disk[i].staged = request;
            disk[i].staged_piece = mine
        :: disk[i].request == request -> skip
        fi
    }
    crash_here();
    atomic {
        own.request = request;
        own.piece = (new -> mine : disk[i].piece);
        own.standing = disk[i].standing;
        own.index = disk[i].index;
        own.values = disk[i].values;
        if
        :: new -> vouched[i * PIECES + mine] = vouched[i * PIECES + mine] | bit_of(request)
        :: else -> skip
        fi;
        if
        :: new -> third.standing = NONE
        :: else -> listen()
        fi
    }
    exchange(AGREE);
    if
    :: own.request != theirs.request || own.piece != theirs.piece ||
       (own.standing == NONE) != (theirs.standing == NONE) -> give_up()
    :: differ(own, theirs) || differ(own, third) || differ(theirs, third) -> give_up()
    :: else -> skip
    fi;
    if
    :: opened == 3 -> give_up() /* answered from disk; and asked again */
    :: opened == 2 && own.standing == OPENED -> give_up() /* given to the one that lacks them */
    :: opened == 2 && own.standing != OPENED ->
        atomic {
            disk[i].index = theirs.index;
            disk[i].values = theirs.values;
            disk[i].standing = OPENED
        };
        give_up()
    :: opened < 2 ->
        selects = (known < 2);
        if
        :: own.standing >= INDEX -> taken = own.index
        :: own.standing < INDEX && theirs.standing >= INDEX -> taken = theirs.index
        :: own.standing < INDEX && theirs.standing < INDEX -> taken = third.index
        fi
    fi;
    if
    :: new -> atomic { bind() }
    :: else -> skip
    fi;
    crash_here();
    exchange(CONFIRM);
    if
    :: heard[0].standing != heard[1].standing || heard[0].index != heard[1].index ||
       heard[0].values != heard[1].values -> give_up()
    :: else -> skip
    fi;

    /* a check: that it has begun is on disk before a coin leaves */
    if
    :: disk[i].failed || disk[i].tries >= TRIES -> give_up()
    :: else -> disk[i].tries++
    fi;
    crash_here();
    atomic {
        if
        :: lies == 0 -> any(lies)
        :: else -> skip
        fi;
        falses[i] = falses[i] + (lies == 1);
        assert(falses[i] <= TRIES)
    }
    exchange(COIN);
    atomic { forget(own); forget(third) } /* nobody reads them any more */
    if
    :: lies == 1 -> disk[i].failed = true; give_up()
    :: lies == 1 -> give_up() /* a link was lost before it could be seen */
    :: lies == 2 -> disk[i].tries--
    fi;
    crash_here();

    /* from here on what is sent depends on data, and is right */
    parts[i] = true;
    assert(disk[i].request == request);
    assert((disk[other].request == request && disk[other].piece == disk[i].piece) ||
           drops[other] > 0);
    opened_for[disk[i].piece] = opened_for[disk[i].piece] | bit_of(request);
    assert((opened_for[disk[i].piece] & (opened_for[disk[i].piece] - 1)) == 0);
    if
    :: selects -> exchange(SELECT); came = RIGHT
    :: !selects -> came = taken
    fi;
    atomic {
        assert(came == RIGHT && (disk[i].index == 0 || disk[i].index == RIGHT));
        disk[i].index = came;
        if
        :: disk[i].standing == BOUND -> disk[i].standing = INDEX
        :: else -> skip
        fi
    }
    crash_here();
    exchange(MEASURE);
    atomic {
        assert(disk[i].values == 0 || disk[i].values == RIGHT);
        disk[i].values = RIGHT;
        disk[i].standing = OPENED
    }
    give_up(); /* the session ends, and the round is asked again */

done:
    skip
}

init {
    atomic {
        run server(0);
        run server(1)
    }
}
