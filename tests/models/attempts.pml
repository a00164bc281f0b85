/*
 * How often a bound round is opened (parties/server/play.c, docs/protocols.md, "Asked again" and "Attempts"), for spin:
 * two servers that follow the protocol and may crash between any two steps, and a third that does not. The third says
 * whatever it likes in every message, and different things to the two; leaves at any moment; decides what a selection
 * and a measurement give, separately for each of the two; and has the same request asked again, for ever. So it has no
 * state here: what it says is chosen where it is heard.
 *
 * The model has what is on the two disks, what each message says, and who has heard what. A session goes on for a
 * server when it has the other's message, or, at any moment after somebody crashed or gave up, is lost: so a message
 * may reach one server and not be followed by any.
 *
 * Checked, in every interleaving:
 *   - once both have the index, neither sends its part of a selection again; once both have the values, neither sends
 *     its part of anything
 *   - neither sends its part of a measurement for two different indices
 *   - neither sends its part of an opening in more than ATTEMPTS sessions
 *   - nobody waits for ever
 */
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif

/* standings */
#define BOUND 0
#define INDEX 1
#define OPENED 2

/* what a round can have opened: none, or one of two indices; the same for values */
typedef folder {
    byte standing, index, values, attempts
};
folder disk[2];

/* exchanges of a session */
#define AGREE 0
#define CONFIRM 1
#define SELECT 2
#define MEASURE 3

typedef statement {
    byte standing, index, values;
    bool tried
};
typedef message {
    bool sent[2]
};
message step[4];      /* of the session in hand */
statement said[2];    /* by the two in it */
statement heard[2];   /* of the third, by each */
bool lost, joined[2], epoch;

byte measured[2]; /* for which indices a part was sent, as bits */
byte tries[2];    /* sessions in which a part of an opening was sent */

#define other (1 - i)
#define own said[i]
#define theirs said[other]
#define third heard[i]
#define bit_of(x) (1 << (x))

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

inline forget(k) {
    step[k].sent[0] = false;
    step[k].sent[1] = false
}

inline forget_statement(x) {
    x.standing = BOUND;
    x.index = 0;
    x.values = 0;
    x.tried = false
}

inline any_index(x) {
    if
    :: x = 1
    :: x = 2
    fi
}

/* What the third says here. If it said that it has tried too often, it would only leave. */
inline listen() {
    if
    :: true -> skip
    :: third.standing = INDEX; any_index(third.index)
    :: third.standing = OPENED; any_index(third.index); any_index(third.values)
    fi
}

#define differ(x, y)                                                                               \
    ((x.standing >= INDEX && y.standing >= INDEX && x.index != y.index) ||                         \
     (x.standing == OPENED && y.standing == OPENED && x.values != y.values))
#define known ((own.standing >= INDEX) + (theirs.standing >= INDEX) + (third.standing >= INDEX))
#define opened ((own.standing == OPENED) + (theirs.standing == OPENED) + (third.standing == OPENED))

proctype server(byte i) {
    bool mine;
    byte came;

away:
    came = 0;
    atomic {
        joined[i] = true;
        mine = epoch;
        if
        :: joined[0] && joined[1] ->
            forget(AGREE);
            forget(CONFIRM);
            forget(SELECT);
            forget(MEASURE);
            forget_statement(said[0]);
            forget_statement(said[1]);
            forget_statement(heard[0]);
            forget_statement(heard[1]);
            lost = false;
            joined[0] = false;
            joined[1] = false;
            epoch = !epoch
        :: else -> skip
        fi
    }
    epoch != mine;

    atomic {
        own.standing = disk[i].standing;
        own.index = disk[i].index;
        own.values = disk[i].values;
        own.tried = disk[i].attempts >= ATTEMPTS;
        listen()
    }
    exchange(AGREE);
    if
    :: differ(own, theirs) || differ(own, third) || differ(theirs, third) -> give_up()
    :: else -> skip
    fi;
    if
    :: opened == 3 -> give_up() /* answered from disk; and asked again */
    :: opened == 2 && own.standing == OPENED -> give_up() /* given to the one that lacks them */
    :: opened == 2 && own.standing != OPENED ->
        disk[i].index = theirs.index;
        crash_here();
        atomic {
            disk[i].values = theirs.values;
            disk[i].standing = OPENED
        };
        give_up()
    :: opened < 2 -> skip
    fi;
    if
    :: own.tried || theirs.tried -> give_up()
    :: else -> skip
    fi;

    exchange(CONFIRM);
    if
    :: heard[0].standing != heard[1].standing || heard[0].index != heard[1].index ||
       heard[0].values != heard[1].values -> give_up()
    :: else -> skip
    fi;
    disk[i].attempts++;
    crash_here();

    /* from here on what is sent depends on data */
    tries[i]++;
    assert(tries[i] <= ATTEMPTS);
    if
    :: known < 2 ->
        atomic {
            assert(disk[0].standing < INDEX || disk[1].standing < INDEX);
            step[SELECT].sent[i] = true
        }
        exchange(SELECT);
        any_index(came); /* or several, which means to give up */
        if
        :: disk[i].index != 0 && disk[i].index != came -> give_up()
        :: else -> skip
        fi
    :: known >= 2 && own.standing >= INDEX -> came = disk[i].index
    :: known >= 2 && own.standing < INDEX -> came = theirs.index
    fi;
    atomic {
        disk[i].index = came;
        if
        :: disk[i].standing == BOUND -> disk[i].standing = INDEX
        :: else -> skip
        fi
    }
    crash_here();

    atomic {
        assert(disk[0].standing < OPENED || disk[1].standing < OPENED);
        measured[i] = measured[i] | bit_of(came);
        assert((measured[i] & (measured[i] - 1)) == 0);
        step[MEASURE].sent[i] = true
    }
    exchange(MEASURE);
    any_index(came);
    if
    :: disk[i].values != 0 && disk[i].values != came -> give_up()
    :: else -> skip
    fi;
    atomic {
        disk[i].values = came;
        disk[i].standing = OPENED
    }
    give_up() /* the session ends, and the round is asked again */
}

init {
    atomic {
        run server(0);
        run server(1)
    }
}
