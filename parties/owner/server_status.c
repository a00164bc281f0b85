#include "parties/owner/server_status.h"

#include "base/date.h"
#include "base/memory.h"
#include "base/words.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_uploads.h"

#include <string.h>

enum err server_status_read(const struct study *study, const struct reply *reply,
                            struct server_status *h)
{
    struct reader in = reader_of(reply->payload, reply->size);
    h->roster = reader_u32(&in);
    h->begun = reader_u8(&in) != 0;
    if (reader_u32(&in) != study->owners)
        return ERR_FORMAT;
    TRY(memory_new(&h->entry, study->owners));
    for (size_t i = 0; i < study->owners; i++)
        upload_entry_read(&in, &h->entry[i]);
    if (study->open.most > 0) {
        h->whole = reader_u64(&in);
        h->part = reader_u64(&in);
        upload_entry_read(&in, &h->own);
    }
    return reader_done(&in);
}

void server_status_clear(struct server_status *h)
{
    memory_free(&h->entry);
}

/* Says what one server has from an owner. */
static void describe_entry(FILE *out, const struct study *study, const struct split *split,
                           unsigned server, const struct server_status *h, size_t owner)
{
    const struct upload_entry *entry;
    fprintf(out, "    server %u (%s) ", server, study->server[server].name);
    if (!h->answered) {
        fputs("does not answer\n", out);
        return;
    }
    entry = &h->entry[owner];
    if (entry->state == UPLOAD_INCOMPLETE && server == split->given)
        fprintf(out, "has %s of it\n", words_bytes(entry->bytes).text);
    else if (entry->state == UPLOAD_INCOMPLETE)
        fprintf(out, "waits until server %u has passed it on\n", split->given);
    else
        fputs(entry->state == UPLOAD_COMPLETE  ? "has stored its part\n"
              : entry->state == UPLOAD_NOTHING ? "has nothing\n"
                                               : "has deleted it: withdrawn\n",
              out);
}

static bool all_alike(const struct study *study, const struct server_status status[], size_t owner)
{
    for (unsigned i = 1; i < study->servers; i++)
        if (memcmp(status[i].entry[owner].digest, status[0].entry[owner].digest, 32) != 0)
            return false;
    return true;
}

/* How many servers answer, and how many of them have an upload in each state. */
struct at_servers {
    unsigned answer, in[UPLOAD_WITHDRAWN + 1];
};
static struct at_servers count_servers(const struct study *study,
                                       const struct server_status status[], size_t owner)
{
    struct at_servers at = {0};
    for (unsigned i = 0; i < study->servers; i++)
        if (status[i].answered) {
            at.answer++;
            at.in[status[i].entry[owner].state]++;
        }
    return at;
}

/* *left_out: as it is, a run would not count it. Nobody knows what a silent server has. */
static void describe_owner(FILE *out, const struct study *study, const struct split *split,
                           const struct server_status status[], size_t owner, bool *left_out)
{
    const struct at_servers at = count_servers(study, status, owner);
    struct words_text time = {""};
    bool known = at.answer == study->servers;
    *left_out = false;
    if (status[0].answered)
        time = date_text(status[0].entry[owner].time);
    fprintf(out, "  %-20s ", study->owner[owner].name);
    if (at.answer == 0)
        fputs("not known\n", out);
    else if (at.in[UPLOAD_NOTHING] == at.answer)
        fputs(known ? "nothing yet\n" : "nothing at the servers that answer\n", out);
    else if (at.in[UPLOAD_WITHDRAWN] == study->servers)
        fprintf(out, "withdrawn, %s\n", time.text);
    else if (known && at.in[UPLOAD_COMPLETE] == at.answer && all_alike(study, status, owner))
        fprintf(out, "held by %s, %s\n", study_setting(study)->all, time.text);
    else if (known && at.in[UPLOAD_COMPLETE] == at.answer) {
        *left_out = true;
        fputs("the servers hold different uploads: run share --replace\n", out);
    } else {
        *left_out = at.in[UPLOAD_COMPLETE] < at.answer;
        fputs(*left_out ? "incomplete\n" : "held by the servers that answer\n", out);
        for (unsigned i = 0; i < study->servers; i++)
            describe_entry(out, study, split, i, &status[i], owner);
    }
}

static void describe_servers(FILE *out, const struct study *study,
                             const struct server_status status[])
{
    for (unsigned i = 0; i < study->servers; i++) {
        fprintf(out, "Server %u, %s: ", i, study->server[i].name);
        if (!status[i].answered)
            fputs("does not answer\n", out);
        else
            fprintf(out, "roster %u%s; %s\n", status[i].roster,
                    status[i].roster == study->roster_version ? "" : " (this file has another)",
                    status[i].begun ? "the run has begun" : "no run has begun");
    }
}

/* When the study's retain_days are over; 0 if it has none, or nothing is held. */
static int64_t purge_due(const struct study *study, const struct server_status status[])
{
    int64_t last = 0;
    for (unsigned i = 0; i < study->servers; i++)
        for (size_t k = 0; status[i].answered && k < study->owners; k++) {
            const struct upload_entry *entry = &status[i].entry[k];
            bool here = entry->state == UPLOAD_COMPLETE || entry->state == UPLOAD_INCOMPLETE;
            last = here && entry->time > last ? entry->time : last;
        }
    return last == 0 ? 0 : study_purge_due(study, last);
}

/* Uploads of owners that are not listed: how many, and this owner's. */
static void describe_open(FILE *out, const struct study *study, const struct server_status status[])
{
    static const char *const words[] = {[UPLOAD_NOTHING] = "",
                                        [UPLOAD_INCOMPLETE] = "; yours in part",
                                        [UPLOAD_COMPLETE] = "; yours is one of them",
                                        [UPLOAD_WITHDRAWN] = "; yours is withdrawn"};
    if (study->open.most == 0)
        return;
    fputs("Uploads of owners that the study does not list:\n", out);
    for (unsigned i = 0; i < study->servers; i++)
        if (status[i].answered)
            fprintf(out, "  server %u: %llu, and %llu in part%s\n", i,
                    (unsigned long long)status[i].whole, (unsigned long long)status[i].part,
                    words[status[i].own.state]);
}

static void describe_due(FILE *out, int64_t due)
{
    const struct words_text date = date_text(due);
    if (due != 0 && date_now() >= due)
        fprintf(out,
                "The study's retain_days were over on %s: the servers are\n"
                "due to purge the uploads, and to send each owner a signed statement of it.\n",
                date.text);
    else if (due != 0)
        fprintf(out, "The servers' operators are due to purge them from %s on.\n", date.text);
}

void server_status_describe(FILE *out, const struct study *study, const struct split *split,
                            const struct server_status status[])
{
    size_t incomplete = 0;
    describe_servers(out, study, status);
    fputs("Uploads:\n", out);
    for (size_t i = 0; i < study->owners; i++) {
        bool left_out;
        describe_owner(out, study, split, status, i, &left_out);
        incomplete += left_out;
    }
    describe_open(out, study, status);
    describe_due(out, purge_due(study, status));
    if (incomplete > 0)
        fprintf(out,
                "A run leaves out what is not alike and complete at %s servers; its owner\n"
                "should run trefoil share again.\n",
                study_setting(study)->all);
}
