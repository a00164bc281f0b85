/*
 * harness/preload_fault.h - what goes wrong in a process that preload_fault.c was loaded into,
 * for the files that replace the functions concerned.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum preload_kind {
    NONE,
    ALLOC,
    WRITE,
    SHORT,
    READ,
    SYNC,
    KILL_BEFORE,
    KILL_AFTER,
    KILL_WRITE,
    KILL_SEND,
    RENAME,
    OPEN,
    CALL,
    SQL,
    LIBRARY,
    LINK,
    SIGNAL
};

/*
 * What the program does from now on until it ends may go wrong. Coverage writes its counts after
 * that, and these calls must not fail.
 */
void preload_begin(void);
/* Whether this call, the next of its kind, goes wrong. */
bool preload_fails(enum preload_kind kind);
/* The same for a call by the program itself, not by a library, which may die of a failure. */
bool preload_fails_for(enum preload_kind kind, const void *caller);
/* Whether this is code of the program's own, not of a library's. */
bool preload_is_program(const void *code);
/* Adds to the file that an environment variable names, if it is set. */
void preload_append(const char *variable, const char *text);
/* What the program would have called: a sanitizer's function, or the C library's. */
uintptr_t preload_next(_Atomic(uintptr_t) *known, const char *name);

/* Declares `real`. */
#define NEXT(name)                                                                                 \
    static _Atomic(uintptr_t) known_;                                                              \
    __typeof__(name) *real = (__typeof__(name) *)preload_next(&known_, #name)

/* A function that fails for the program with `failure`, an expression. */
#define STAND_IN(kind, failure, type, name, parameters, arguments)                                 \
    type name parameters                                                                           \
    {                                                                                              \
        NEXT(name);                                                                                \
        return preload_fails_for(kind, __builtin_return_address(0)) ? (failure) : real arguments;  \
    }
