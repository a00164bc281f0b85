/* The end of a study: uploads and noise are deleted; a signed statement and the ledger stay. */
#include "base/date.h"
#include "parties/exchange/statement.h"
#include "parties/store/store_private.h"
#include "parties/study/study_uploads.h"

static const char purged[] = "purged"; /* the note that holds the statement */

enum err store_due(struct store *store, int64_t *due)
{
    uint64_t last = 0; /* if there are none, the NULL is read as 0 */
    enum err e = store_number(store, "SELECT MAX(at) FROM uploads", &last);
    *due = last == 0 ? 0 : study_purge_due(store->study, (int64_t)last);
    return e;
}

/* Not before the study's retain_days are over. */
static enum err is_due(struct store *s, int64_t now)
{
    int64_t due;
    TRY(store_due(s, &due));
    if (now >= due)
        return ERR_OK;
    return log_fail(s->log, ERR_REFUSED,
                    "the uploads cannot be purged yet: the study's retain_days (%u, from the last "
                    "upload on) end on %s",
                    s->study->retain_days, date_text(due).text);
}

static enum err delete_all(struct store *s, const struct bytes *statement)
{
    enum err e;
    TRY(store_batch(s));
    e = store_execute(s, "DELETE FROM uploads; DELETE FROM parts; DELETE FROM noise;"
                         " DELETE FROM ahead; DELETE FROM seats; DELETE FROM sorted;"
                         " DELETE FROM serials");
    if (e == ERR_OK)
        e = store_set_note(s, purged, statement->data, statement->size);
    return store_end(s, e);
}

/* Freed pages are overwritten (secure_delete); then the log is emptied and the space freed. */
static enum err overwrite(struct store *s)
{
    TRY(store_empty_log(s));
    TRY(store_execute(s, "VACUUM"));
    TRY(store_empty_log(s));
    return !s->erased ? ERR_OK
                      : log_fail(s->log, ERR_BUSY,
                                 "another program reads the store, such as trefoil backup: what "
                                 "was deleted is still in the files. Run this again once it ends");
}

enum err store_purge(struct store *s, const struct identity *me, struct bytes *statement)
{
    struct statement list CLEAN(statement_clear) = {.server = s->index, .time = date_now()};
    TRY(store_note(s, purged, statement));
    if (statement->size > 0)
        return overwrite(s);
    TRY(is_due(s, list.time));
    TRY(store_list(s, "SELECT owner, id, digest FROM uploads ORDER BY owner", &list.upload,
                   &list.uploads));
    TRY(statement_write(&list, s->study, me, statement));
    TRY(delete_all(s, statement));
    return overwrite(s);
}

enum err store_is_purged(struct store *s, bool *is)
{
    struct bytes statement CLEAN(bytes_clear) = {0};
    enum err e = store_note(s, purged, &statement);
    *is = statement.size > 0;
    return e;
}

enum err store_check_purged(struct store *store)
{
    bool is;
    TRY(store_is_purged(store, &is));
    if (!is)
        return ERR_OK;
    return log_fail(store->log, ERR_REFUSED,
                    "this server's uploads have been purged: the study is over here. A new study "
                    "needs a folder of its own");
}
