/*
 * parties/command/share.h - `trefoil share`, in its files: cmd_share.c reads data, makes the upload
 * and says what it is, share_servers.c sends it, share_parcel.c has it carried.
 */
#pragma once

#include "parties/display/progress.h"
#include "parties/exchange/dials.h"
#include "parties/exchange/receipt.h"
#include "parties/exchange/witness.h"
#include "parties/owner/book.h"
#include "parties/owner/source.h"
#include "parties/setting/upload.h"
#include "parties/study/token.h"

/* Which owner has the key: a listed one, or one by a token. */
struct share_self {
    struct words_text name;
    size_t owner;  /* as study.h numbers them; any, for an analyst, who may only ask */
    bool admitted; /* by this token: */
    struct token token;
};

/* One `trefoil share`. */
struct share {
    /* what was asked for */
    const char *study_path, *key, *token_path, *as, *fingerprint, *secret_path, *receipt_path,
        *stats, *to, *keep;
    bool dry_run, accept, replace, status, withdraw, list;
    int64_t retries;
    struct source_options data;

    struct study *study;
    struct identity *me;
    struct share_self self;
    unsigned form; /* as parties/setting/upload.h numbers it */
    uint64_t bytes;
    struct source source;
    struct bytes packed; /* counts or records */
    bool made;           /* `parts` are made */
    bool known;          /* the key has been used with these terms */
    const struct split *split;
    struct upload parts[STUDY_SERVERS_MOST];
    struct progress progress;
    struct witness witness; /* of the servers' ledgers */
    uint64_t serial;        /* of what is sealed, in a study with sealing keys */
    char book_path[FILE_PATH];
    struct book book;
    struct book_entry entry; /* of this study */
    struct dials_traffic traffic;
    struct log *log;
};

struct serial;

/* --- share_servers.c -------------------------------------------------------------------------- */

/* The path of a file for this study: the one that was asked for, or else one beside the key. */
enum err share_path(const struct share *s, const char *asked, const char *end,
                    char path[FILE_PATH]) MUST_CHECK;
/* The last act; `path` is its file. */
enum err share_load_serial(const struct share *s, char path[FILE_PATH],
                           struct serial *serial) MUST_CHECK;
/* Makes this act the last; `parcel`: the file in which it goes, or NULL. */
enum err share_save_serial(const struct share *s, const char *path,
                           const struct bytes *parcel) MUST_CHECK;

/* The budget book, with the entry of this study as it will be; and a line in it. */
enum err share_load_book(struct share *s) MUST_CHECK;
enum err share_note(const struct share *s, enum book_state state) MUST_CHECK;
enum err share_tell_book(struct share *s) MUST_CHECK;
/* What was seen of the servers' ledgers. */
enum err share_load_witness(struct share *s) MUST_CHECK;
/* Unless the key knows them already, or what leaves is a withdrawal. */
enum err share_remember_terms(const struct share *s) MUST_CHECK;
enum err share_keep_receipt(const struct share *s, const struct receipt *receipt) MUST_CHECK;
/* Keeps the end of a withdrawal; `whole`: all servers had the upload that the receipt names. */
enum err share_note_withdrawal(struct share *s, const struct receipt *receipt,
                               bool whole) MUST_CHECK;

enum err share_send(struct share *s) MUST_CHECK;
enum err share_withdraw(struct share *s) MUST_CHECK;
/* ERR_PEER if a server does not answer, ERR_MISMATCH if a ledger was put back. */
enum err share_tell_status(struct share *s) MUST_CHECK;

/* --- share_parcel.c --------------------------------------------------------------------------- */

/* ERR_STUDY, logged, unless all servers have sealing keys. */
enum err share_may_seal(const struct share *s) MUST_CHECK;
/* Writes a parcel with the upload, or a withdrawal. */
enum err share_to(struct share *s) MUST_CHECK;
/* Keeps what the servers answered to the last parcel, once somebody has carried it. */
enum err share_keep(struct share *s) MUST_CHECK;
