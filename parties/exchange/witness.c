#include "parties/exchange/witness.h"

#include "base/date.h"
#include "base/line.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_LIMIT ((size_t)64 << 20)

static const char first_lines[] =
    "# What servers of a Trefoil study have signed of their privacy ledgers: who comes back with "
    "a\n"
    "# shorter one is refused. Keep this file as long as the study lasts.\n";
static const char against[] = "against ";

/* --- reading ---------------------------------------------------------------------------------- */

static enum err take_line(struct witness *w, const struct line_reader *in, const char *line)
{
    const char *signature = strstr(line, "trefoil-sig");
    struct head head;
    unsigned server;
    enum err e;
    if (line_says_nothing(line) || strncmp(line, against, sizeof against - 1) == 0)
        return ERR_OK;
    if (signature != NULL) /* a later version is an error, or what was spent would be forgotten */
        TRY(version_check(in->path, signature, strlen(signature), "trefoil-sig1-", 1, w->log));
    e = head_parse(w->study, line, &server, &head);
    if (e == ERR_OK && head.ledger.length > w->seen[server].ledger.length)
        w->seen[server] = head;
    else if (e != ERR_OK && e != ERR_MISMATCH)
        log_warn(w->log,
                 "%s:%zu: this is not what a server has signed: it was cut or altered, and is left "
                 "out",
                 in->path, in->number);
    return ERR_OK;
}

enum err witness_add(struct witness *w, const char *path)
{
    struct line_reader in CLEAN(line_clear) = {0};
    TRY(file_path(w->path[w->files], w->log, "%s", path));
    if (file_is_there(path)) {
        TRY(line_file(&in, path, FILE_LIMIT, w->log));
        for (const char *line; (line = line_next(&in)) != NULL;)
            TRY(take_line(w, &in, line));
    }
    w->files++;
    return ERR_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void keep(const struct witness *w, const char *prefix, unsigned server,
                 const struct head *head)
{
    char line[HEAD_LINE_SIZE], text[sizeof first_lines + sizeof against + HEAD_LINE_SIZE];
    head_line(w->study, server, head, line);
    for (size_t k = 0; k < w->files; k++) {
        const char *path = w->path[k];
        snprintf(text, sizeof text, "%s%s%s\n", access(path, F_OK) == 0 ? "" : first_lines, prefix,
                 line);
        if (file_append(path, text, w->log) != ERR_OK)
            log_warn(w->log,
                     "what server %u (%s) signed of its ledger is not kept in %s; a ledger that is "
                     "put back may go unnoticed",
                     server, w->study->server[server].name, path);
    }
}

/* --- taking ----------------------------------------------------------------------------------- */

uint64_t witness_debits(const struct witness *w, unsigned server)
{
    return w->seen[server].ledger.length;
}

static enum err refuse(struct witness *w, unsigned server, const struct head *head, struct log *log)
{
    const struct head *seen = &w->seen[server];
    keep(w, against, server, head);
    log_error(log,
              "server %u (%s) signed on %s that its privacy ledger had %" PRIu64
              " debits; now it signs %s %" PRIu64 "; an old copy of its folder was put in place",
              server, w->study->server[server].name, date_text(seen->time).text,
              seen->ledger.length,
              head->ledger.length < seen->ledger.length ? "that it has" : "another ledger, of",
              head->ledger.length);
    w->refused = true;
    return ERR_MISMATCH;
}

static bool continues(const struct head *seen, const struct head *head)
{
    return head->ledger.length >= seen->ledger.length &&
           memcmp(head->past.hash, seen->ledger.hash, sizeof head->past.hash) == 0 &&
           (head->ledger.length > seen->ledger.length ||
            memcmp(head->ledger.hash, seen->ledger.hash, sizeof head->ledger.hash) == 0);
}

enum err witness_take(struct witness *w, unsigned server, const struct head *head, struct log *log)
{
    struct head *seen = &w->seen[server];
    if (head->past.length != seen->ledger.length)
        return ERR_FORMAT;
    TRY(head_verify(w->study, server, head));
    if (!continues(seen, head))
        return refuse(w, server, head, log);
    if (head->ledger.length > seen->ledger.length) {
        keep(w, "", server, head);
        *seen = *head;
    }
    return ERR_OK;
}

void witness_advise(const struct witness *w)
{
    if (w->refused)
        log_error(w->log,
                  "budget that was spent would be spent again: the servers that are named should "
                  "have the newest copies of their folders put in place, or run trefoil recover. "
                  "Both signatures of each are in %s",
                  w->path[w->files - 1]);
}
