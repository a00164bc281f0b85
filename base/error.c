#include "base/error.h"

static const char *const texts[ERR_COUNT] = {
    [ERR_OK] = "success",
    [ERR_AGAIN] = "not ready yet; see the messages, and try again later",
    [ERR_NOMEM] =
        "out of memory; free some, or make the study smaller (trefoil check tells its size)",
    [ERR_SYSTEM] = "the system refused; see the messages for the file or address",
    [ERR_USAGE] = "wrong command line; see the usage",
    [ERR_STUDY] = "the study or key file is not valid; correct it and try again",
    [ERR_MISMATCH] = "two sides disagree; compare the study files (trefoil check) and the versions",
    [ERR_DATA] = "the data do not fit the study, or were altered",
    [ERR_FORMAT] = "not in the expected form; check that all programs are of one version",
    [ERR_AUTH] = "authentication failed; check keys against the study file",
    [ERR_PEER] = "the connection was lost; see that all servers are up, then start the run again",
    [ERR_TIMEOUT] = "no answer in time; see that all servers are up and can be reached",
    [ERR_BUDGET] = "the privacy budget does not allow this; nothing was opened",
    [ERR_REFUSED] = "the request is outside what the study permits; nothing was opened",
    [ERR_RANGE] = "a size or bound of the study is exceeded; see the messages",
    [ERR_MISUSE] = "used out of order, or after a failure; start a new session",
    [ERR_LOST] = "the round is lost: it stays debited and cannot be answered any more",
    [ERR_CHEAT] =
        ("a server departs from the protocol, or its memory is faulty; see the messages, and "
         "what to do in docs/operating.md, When a check fails"),
    [ERR_QUESTION] = "the question is not valid, or not answered here; the message above says why",
    [ERR_BUSY] = "it is not this one's turn; see the messages, and try again later",
    [ERR_CRYPTO] = "a cryptographic operation failed; check the OpenSSL and libsodium installation",
};

const char *error_text(enum err e)
{
    if ((unsigned)e >= ERR_COUNT || texts[e] == 0)
        return "unknown error";
    return texts[e];
}
