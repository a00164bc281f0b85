/*
 * tests/support/caller.h - one key that speaks to one server's gate, message by message, as no
 * program of ours would.
 */
#pragma once

#include "harness/study.h"
#include "parties/exchange/dials.h"

struct support_caller {
    struct identity *me;
    struct netio *netio;
    struct dial *dial;
    struct bytes message; /* what is said; then what was answered */
    struct reply reply;   /* the answer's meaning */
};

/* `key` is a file of the study's folder. */
struct support_caller support_caller_new(const struct support_study *s, const char *key,
                                         unsigned server);
void support_caller_free(struct support_caller *c);

/* Begins a message: its kind. */
void support_caller_begin(struct support_caller *c, uint8_t kind);
void support_caller_send(struct support_caller *c);
/* The answer, within ten seconds. */
enum err support_caller_hear(struct support_caller *c);
/* Both. */
enum err support_call(struct support_caller *c);
