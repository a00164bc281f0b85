/*
 * parties/exchange/statement.h - a server's signed statement of what it has deleted.
 *
 *   trefoil-purge-1
 *   study NAME
 *   terms HEX                              digest of the terms
 *   server INDEX NAME
 *   time 2026-12-01T18:00:00Z
 *   uploads COUNT
 *   upload OWNER id HEX digest HEX         for each, in the order of owners
 *   signature trefoil-sig1-...             by the server's Ed25519 key, over all lines before,
 *                                          label "trefoil-purge-1"
 *
 * It covers only the server's own store. The operator has to delete any backups.
 */
#pragma once

#include "parties/setting/upload.h"
#include "parties/study/study.h"

struct statement {
    unsigned server;
    int64_t time;
    size_t uploads;
    struct upload_name *upload;
};

void statement_clear(struct statement *s);

/* The signed text, into `out`, which is empty. */
enum err statement_write(const struct statement *s, const struct study *study,
                         const struct identity *me, struct bytes *out) MUST_CHECK;
/*
 * Reads one and checks it against the study: ERR_FORMAT for any other text, ERR_MISMATCH for
 * another study, ERR_AUTH if the server that it names has not signed it. All logged; `path` is for
 * messages.
 */
enum err statement_read(struct statement *s, const struct study *study, const char *path,
                        const void *text, size_t n, struct log *log) MUST_CHECK;
