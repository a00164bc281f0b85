/* The page for people: first whether all is well, then what is missing, then what is there. */
#include "base/clock.h"
#include "base/date.h"
#include "base/embed.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/display/html.h"
#include "parties/server/status.h"
#include "parties/study/study_setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define OWNERS_MOST 200 /* lines of the list of owners */

extern const char status_style[];
EMBED_TEXT(status_style, "parties/server/status.css");

/* A mark beside the colour, since not everybody sees colours. */
enum mood { GOOD, WAITING, BAD };
static const struct {
    const char *class, *sign;
} moods[] = {
    [GOOD] = {"good", "&#10003;"}, [WAITING] = {"waiting", "!"}, [BAD] = {"bad", "&#10007;"}};

static void bar(struct bytes *out, double part, double whole)
{
    double share = whole > 0 ? part / whole : 0;
    share = share > 1 ? 1 : share;
    text_put(out, "<div class=\"bar\"><div style=\"width:%.1f%%\"></div></div>", 100 * share);
}

static void begin_row(struct bytes *out, const char *what)
{
    text_put(out, "<tr><th scope=\"row\">%s</th><td>", what);
}

/* "3 h 05 min", or days if there are more than two. */
static struct words_text span(int64_t seconds)
{
    struct words_text p = words_time((double)seconds);
    if (seconds >= 2 * 86400)
        snprintf(p.text, sizeof p.text, "%" PRId64 " days", seconds / 86400);
    return p;
}

/* --- whether all is well ---------------------------------------------------------------------- */

static bool looked_at(const struct status_neighbour *n)
{
    return atomic_load(&n->since) != 0;
}

/* The neighbours that are not connected: returns how many, and lists them in `names`. */
static unsigned find_absent(const struct status *s, char names[2 * STUDY_NAME_SIZE + 8])
{
    unsigned absent = 0;
    names[0] = '\0';
    for (unsigned p = 0; p + 1 < s->study->servers; p++)
        if (looked_at(&s->neighbour[p]) && !atomic_load(&s->neighbour[p].connected)) {
            if (absent++ > 0)
                strcat(names, " and ");
            strcat(names, status_neighbour_name(s, p));
        }
    return absent;
}

static enum mood find_mood(const struct status *s, char why[STATUS_WHY_SIZE])
{
    char names[2 * STUDY_NAME_SIZE + 8];
    if (!status_healthy(s, why))
        return BAD;
    if (find_absent(s, names) == 0) {
        snprintf(why, STATUS_WHY_SIZE, "healthy");
        return GOOD;
    }
    snprintf(why, STATUS_WHY_SIZE, "healthy, but not connected to %s: runs wait", names);
    return WAITING;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_due(int64_t due, struct bytes *out)
{
    const struct words_text date = date_text(due);
    if (due != 0 && date_now() >= due)
        text_put(out, "<p class=\"bad\">due to be purged since %s: trefoil serve --purge</p>",
                 date.text);
    else if (due != 0)
        text_put(out, "<p class=\"soft\">due to be purged on %s</p>", date.text);
}

static void put_deadline(const struct status *s, struct bytes *out)
{
    const int64_t until = s->study->uploads_until, left = until - date_now();
    const struct words_text date = date_text(until), wait = span(left);
    if (until != 0 && left > 0)
        text_put(out, "<p class=\"soft\">taken until %s, for %s more</p>", date.text, wait.text);
    else if (until != 0)
        text_put(out, "<p class=\"waiting\">! none are taken any more: the deadline was %s</p>",
                 date.text);
}

static void uploads_row(const struct status *s, struct bytes *out)
{
    uint64_t whole = atomic_load(&s->uploads), partial = atomic_load(&s->uploads_partial);
    begin_row(out, "Uploads");
    text_put(out, "%" PRIu64 " of %zu owners", whole, study_owners_most(s->study));
    if (partial > 0)
        text_put(out, ", %" PRIu64 " in part", partial);
    bar(out, (double)whole, (double)study_owners_most(s->study));
    if (s->study->min_owners > 0)
        text_put(out, "<p class=\"soft\">a run needs %u</p>", s->study->min_owners);
    put_deadline(s, out);
    put_due(atomic_load(&s->purge_due), out);
    text_put(out, "</td></tr>");
}

static void run_row(const struct status *s, struct bytes *out)
{
    begin_row(out, "Run");
    if (atomic_load(&s->session))
        text_put(out, "in progress, round %u", atomic_load(&s->round));
    else
        text_put(out, "none in progress");
    text_put(out,
             "<br><span class=\"soft\">%" PRIuFAST64 " requests so far, %" PRIuFAST64
             " failed</span></td></tr>",
             atomic_load(&s->requests), atomic_load(&s->requests_failed));
}

static void ahead_row(const struct status *s, struct bytes *out)
{
    const uint64_t here = atomic_load(&s->ahead[0]) + atomic_load(&s->ahead[1]),
                   most = atomic_load(&s->ahead_most[0]) + atomic_load(&s->ahead_most[1]);
    begin_row(out, "Noise ahead");
    text_put(out, "%" PRIu64 " of %" PRIu64 " samples", here, most);
    bar(out, (double)here, (double)most);
    text_put(out, "<span class=\"soft\">made while the servers are idle, for a run to "
                  "come</span></td></tr>");
}

static void neighbours_row(const struct status *s, struct bytes *out)
{
    begin_row(out, "Other servers");
    for (unsigned p = 0; p + 1 < s->study->servers; p++) {
        const struct status_neighbour *n = &s->neighbour[p];
        const bool up = atomic_load(&n->connected);
        const enum mood mood = up ? GOOD : WAITING;
        const struct words_text since = date_text(atomic_load(&n->since));
        text_put(out, "<div class=\"%s\">%s server %u, ", moods[mood].class, moods[mood].sign,
                 net_neighbour_of(s->study->servers, s->index, (enum net_peer)p));
        html_text(out, status_neighbour_name(s, p));
        if (!looked_at(n))
            text_put(out, ": not looked at yet</div>");
        else
            text_put(out, ": %sconnected</div><span class=\"when\">since %s</span>",
                     up ? "" : "not ", since.text);
    }
    text_put(out, "</td></tr>");
}

static void budget_row(const struct status *s, struct bytes *out)
{
    double spent = atomic_load(&s->rho_spent), limit = atomic_load(&s->rho_limit);
    begin_row(out, "Privacy budget");
    text_put(out, "rho %.6g of %.6g spent", spent, limit);
    bar(out, spent, limit);
    text_put(out, "<span class=\"soft\">for (epsilon %g, delta %g), as this server's ledger has it",
             s->study->epsilon, s->study->delta);
    if (s->study->accounting == ACCOUNTING_GAUSSIAN)
        text_put(out, "; all of it is as private as one count with Gaussian noise of %.3g",
                 ledger_deviation(1, limit));
    text_put(out, "</span></td></tr>");
}

static void bytes_row(const struct status *s, struct bytes *out)
{
    begin_row(out, "Traffic");
    text_put(out,
             "%s from owners and analysts, in %" PRIuFAST64 " messages (%" PRIuFAST64
             " refused)<br>%s to the other servers, %s from them</td></tr>",
             words_bytes(atomic_load(&s->message_bytes)).text, atomic_load(&s->messages),
             atomic_load(&s->refused), words_bytes(atomic_load(&s->peer_sent)).text,
             words_bytes(atomic_load(&s->peer_received)).text);
}

/* --- owners ----------------------------------------------------------------------------------- */

static void owner_row(const struct status *s, size_t i, struct bytes *out)
{
    const enum upload_state state = (enum upload_state)atomic_load(&s->owner[i].state);
    const struct words_text time = date_text(atomic_load(&s->owner[i].time));
    const bool left_out = atomic_load(&s->owner[i].left_out);
    const enum mood mood = left_out ? BAD : state == UPLOAD_COMPLETE ? GOOD : WAITING;
    html_between(out, "<tr><th scope=\"row\">", s->study->owner[i].name, "</th>");
    text_put(out, "<td><span class=\"%s\">", moods[mood].class);
    switch (state) {
    case UPLOAD_NOTHING:
        text_put(out, "&ndash; nothing yet");
        break;
    case UPLOAD_INCOMPLETE:
        text_put(out, "&hellip; in part, %s", words_bytes(atomic_load(&s->owner[i].bytes)).text);
        break;
    case UPLOAD_COMPLETE:
        text_put(out, "%s here%s%s", moods[mood].sign, left_out ? ", left out: it " : "",
                 left_out ? study_setting(s->study)->left_out : "");
        break;
    case UPLOAD_WITHDRAWN:
        text_put(out, "&ndash; withdrawn");
        break;
    }
    text_put(out, "</span>");
    if (state != UPLOAD_NOTHING)
        text_put(out, "<br><span class=\"when\">%s</span>", time.text);
    text_put(out, "</td></tr>\n");
}

/* Missing owners come first, so that they are named before any are left out. */
static void owners(const struct status *s, struct bytes *out)
{
    size_t shown = 0;
    if (s->owner == NULL)
        return;
    text_put(out, "<h2>Owners</h2><table class=\"owners\"><thead><tr><th scope=\"col\">owner</th>"
                  "<th scope=\"col\">upload</th></tr></thead><tbody>\n");
    for (unsigned here = 0; here < 2; here++)
        for (size_t i = 0; i < s->study->owners && shown < OWNERS_MOST; i++)
            if ((atomic_load(&s->owner[i].state) == UPLOAD_COMPLETE) == (here == 1)) {
                owner_row(s, i, out);
                shown++;
            }
    text_put(out, "</tbody></table>");
    if (shown < s->study->owners)
        text_put(out,
                 "<p class=\"soft\">and %zu more; trefoil share --status lists all of them</p>",
                 s->study->owners - shown);
    if (s->study->open.most > 0)
        text_put(out, "<p class=\"soft\">and up to %zu that the study does not list</p>",
                 s->study->open.most);
}

enum err status_page(const struct status *s, struct bytes *out)
{
    const char *name = s->study->server[s->index].name;
    char why[STATUS_WHY_SIZE];
    const enum mood mood = find_mood(s, why);
    const struct words_text now = date_text(date_now());
    text_put(out,
             "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width\">"
             "<meta name=\"color-scheme\" content=\"light dark\">"
             "<meta http-equiv=\"refresh\" content=\"10\"><title>%s %s, %s</title><style>",
             moods[mood].sign, name, s->study->name);
    bytes_put_text(out, status_style);
    text_put(out,
             "</style></head><body><h1>%s %s, %s</h1><p>Study %s, security: %s</p>"
             "<p class=\"state %s\"><b>%s</b> ",
             study_setting(s->study)->before[1], study_setting(s->study)->called[s->index], name,
             s->study->name, study_security_words[s->study->security], moods[mood].class,
             moods[mood].sign);
    html_text(out, why);
    text_put(out, "</p><table>");
    uploads_row(s, out);
    run_row(s, out);
    if (s->study->servers == 3) /* two make theirs when a session begins */
        ahead_row(s, out);
    neighbours_row(s, out);
    budget_row(s, out);
    bytes_row(s, out);
    begin_row(out, "Process");
    text_put(out, "up for %s, %s of memory, version %s</td></tr></table>",
             words_time((double)(clock_now_ms() - s->started_ms) / 1000).text,
             words_bytes(status_memory()).text, TREFOIL_VERSION);
    owners(s, out);
    text_put(out,
             "<p class=\"soft\">%s. Public values alone; "
             "/metrics has them for Prometheus, /healthz for a watchdog.</p></body></html>\n",
             now.text);
    return bytes_ok(out);
}
