/*
 * aim/run/backend.h - where the public mathematics meets the data.
 *
 * A method (aim/run/loop.h, copula_run.h, train_run.h) never sees a record. It asks a backend,
 * which answers each request as aim/run/ask.h says. There are two: plaintext (aim/run/plaintext.h:
 * central AIM, which trusts its curator and is the reference in tests) and a study's servers
 * (parties/analyst/remote.h).
 */
#pragma once

#include "aim/run/ask.h"

struct aim_backend {
    void *self;
    /* The caller clears what is told, also after an error; before, it is all zero. */
    enum err (*ask)(void *self, const struct ask *ask, struct ask_told *told);
    bool keeps; /* a crash loses no request: a run that goes on repeats it and the one before */
    /*
     * Of one that keeps: calls `work` once, while others work on the next request; NULL undoes it.
     */
    void (*meanwhile)(void *self, enum err (*work)(void *worker), void *worker);
};
