/*
 * base/error.h - the closed list of ways in which Trefoil can fail.
 *
 * Every function that can fail returns `enum err` and is marked MUST_CHECK. Whatever notices a
 * failure logs the particulars (which file, line, field, peer); the code that it returns gives only
 * the kind of failure. error_text() puts the kind into words, with what to do about it.
 */
#pragma once

#define MUST_CHECK __attribute__((warn_unused_result))

enum err {
    ERR_OK = 0,
    ERR_AGAIN,    /* not now: nothing to read, no room to write, or something else comes first */
    ERR_NOMEM,    /* an allocation failed, or would exceed a stated bound */
    ERR_SYSTEM,   /* the operating system refused: file, socket, disk */
    ERR_USAGE,    /* a command line that cannot be understood */
    ERR_STUDY,    /* a study file or key file that is wrong in itself */
    ERR_MISMATCH, /* two sides that should agree do not: terms, version, index, uploads */
    ERR_DATA,     /* rows or uploads that do not fit the study */
    ERR_FORMAT,   /* bytes from outside that do not parse */
    ERR_AUTH,     /* wrong key, bad signature, frame that does not authenticate */
    ERR_PEER,     /* a peer is gone, or told us that it gave up */
    ERR_TIMEOUT,  /* a peer did not answer within its deadline */
    ERR_BUDGET,   /* the privacy budget does not allow it */
    ERR_REFUSED,  /* a request outside what the study permits */
    ERR_RANGE,    /* a public bound would be exceeded: sizes, widths, no-wrap conditions */
    ERR_MISUSE,   /* called in the wrong order, or on an object that is used up */
    ERR_CRYPTO,   /* a cryptographic library failed */
    ERR_LOST,     /* a round that was debited and can no longer be answered */
    ERR_CHEAT,    /* a server sent what cannot be right */
    ERR_QUESTION, /* a question to a model that is wrong in itself */
    ERR_BUSY,     /* another has its turn: later, or once it is over */
    ERR_COUNT
};

/* Cause and next step in one line; never NULL. */
const char *error_text(enum err e);

/*
 * Clears or frees a variable at the end of its scope, by a function that gets its address:
 *     struct bytes text CLEAN(bytes_clear) = {0};
 * It may exist for that alone, like a mark of the scratch.
 */
#define CLEAN(function) __attribute__((cleanup(function), unused))

/* Returns from the calling function on failure, where only CLEAN() has anything to undo. */
#define TRY(expression)                                                                            \
    do {                                                                                           \
        enum err try_error = (expression);                                                         \
        if (try_error != ERR_OK)                                                                   \
            return try_error;                                                                      \
    } while (0)
