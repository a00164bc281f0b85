#include "parties/server/status.h"

#include "base/clock.h"
#include "base/date.h"
#include "base/embed.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/display/html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The front waits for the store, which the worker holds while it reads all uploads: for a while. */
#define FRONT_SILENT_MS 60000

uint64_t status_run_word(const uint8_t *run)
{
    uint64_t word;
    memcpy(&word, run, sizeof word);
    return word;
}

bool status_healthy(const struct status *s, char why[STATUS_WHY_SIZE])
{
    const int64_t silent = clock_now_ms() - atomic_load(&s->front_ms);
    const enum err guard = (enum err)atomic_load(&s->guard);
    if (atomic_load(&s->worker_ended))
        snprintf(why, STATUS_WHY_SIZE, "the thread that computes has ended; see the log");
    else if (atomic_load(&s->store_fails))
        snprintf(why, STATUS_WHY_SIZE, "the store cannot be written; is the disk full?");
    else if (guard == ERR_CHEAT)
        snprintf(why, STATUS_WHY_SIZE,
                 "a check failed: this server takes part in no run; see the log, and trefoil "
                 "recover --resume");
    else if (guard != ERR_OK)
        snprintf(why, STATUS_WHY_SIZE,
                 "too many checks were left: this server takes part in no run; see the log, and "
                 "trefoil recover --resume");
    else if (silent > FRONT_SILENT_MS)
        snprintf(why, STATUS_WHY_SIZE, "the gate has not been looked after for %d s",
                 (int)(silent / 1000));
    else {
        snprintf(why, STATUS_WHY_SIZE, "ok");
        return true;
    }
    return false;
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f != NULL)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* --- for Prometheus --------------------------------------------------------------------------- */

static void head(struct bytes *out, const char *name, const char *kind, const char *help)
{
    text_put(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind);
}

static void count(struct bytes *out, const char *name, const char *kind, const char *help,
                  uint64_t v)
{
    head(out, name, kind, help);
    text_put(out, "%s %" PRIu64 "\n", name, v);
}

static void number(struct bytes *out, const char *name, const char *help, double v)
{
    head(out, name, "gauge", help);
    text_put(out, "%s %.12g\n", name, v);
}

static void of_front(const struct status *s, struct bytes *out)
{
    count(out, "trefoil_owners", "gauge", "Owners in the study file.", s->study->owners);
    head(out, "trefoil_uploads", "gauge", "Uploads on disk, whole or in part.");
    text_put(out, "trefoil_uploads{state=\"complete\"} %" PRIuFAST64 "\n",
             atomic_load(&s->uploads));
    text_put(out, "trefoil_uploads{state=\"partial\"} %" PRIuFAST64 "\n",
             atomic_load(&s->uploads_partial));
    count(out, "trefoil_purge_due_timestamp_seconds", "gauge",
          "When the uploads are to be purged, as the study says; 0 if it does not.",
          (uint64_t)atomic_load(&s->purge_due));
    count(out, "trefoil_messages_total", "counter", "Messages from admitted keys.",
          atomic_load(&s->messages));
    count(out, "trefoil_message_bytes_total", "counter", "Bytes of those messages.",
          atomic_load(&s->message_bytes));
    count(out, "trefoil_messages_refused_total", "counter", "Messages answered with an error.",
          atomic_load(&s->refused));
    count(out, "trefoil_store_failing", "gauge", "1 while the store cannot be written.",
          atomic_load(&s->store_fails));
}

static void of_worker(const struct status *s, struct bytes *out)
{
    count(out, "trefoil_session_open", "gauge", "1 while an analyst's run is in progress.",
          atomic_load(&s->session));
    count(out, "trefoil_round", "gauge", "The last round that an analyst asked for.",
          atomic_load(&s->round));
    count(out, "trefoil_requests_total", "counter", "Requests of analysts.",
          atomic_load(&s->requests));
    count(out, "trefoil_requests_failed_total", "counter", "Requests that ended with an error.",
          atomic_load(&s->requests_failed));
    count(out, "trefoil_stopped", "gauge",
          "1 once a check has failed or too many were left: the server takes part in no run.",
          atomic_load(&s->guard) != ERR_OK);
    number(out, "trefoil_budget_rho", "The study's privacy budget, in zCDP.",
           atomic_load(&s->rho_limit));
    number(out, "trefoil_budget_rho_spent", "What of it this server has debited.",
           atomic_load(&s->rho_spent));
    head(out, "trefoil_peer_bytes_total", "counter", "Bytes on the links between servers.");
    text_put(out, "trefoil_peer_bytes_total{direction=\"sent\"} %" PRIuFAST64 "\n",
             atomic_load(&s->peer_sent));
    text_put(out, "trefoil_peer_bytes_total{direction=\"received\"} %" PRIuFAST64 "\n",
             atomic_load(&s->peer_received));
}

enum err status_metrics(const struct status *s, struct bytes *out)
{
    char why[STATUS_WHY_SIZE];
    head(out, "trefoil_info", "gauge", "Always 1.");
    text_put(out,
             "trefoil_info{study=\"%s\",server=\"%s\",index=\"%u\",security=\"%s\",version=\"%s\"} "
             "1\n",
             s->study->name, s->study->server[s->index].name, s->index,
             study_security_word(s->study->security), TREFOIL_VERSION);
    count(out, "trefoil_healthy", "gauge", "1 if /healthz says ok.", status_healthy(s, why));
    number(out, "trefoil_uptime_seconds", "Since the server began.",
           (double)(clock_now_ms() - s->started_ms) / 1000);
    count(out, "process_resident_memory_bytes", "gauge", "Memory of the process.",
          resident_bytes());
    of_front(s, out);
    of_worker(s, out);
    return bytes_ok(out);
}

/* --- for people ------------------------------------------------------------------------------- */

extern const char status_style[];
EMBED_TEXT(status_style, "parties/server/status.css");

static void bar(struct bytes *out, double part, double whole)
{
    double share = whole > 0 ? part / whole : 0;
    share = share > 1 ? 1 : share;
    text_put(out, "<div class=\"bar\"><div style=\"width:%.1f%%\"></div></div>", 100 * share);
}

static void put_due(int64_t due, struct bytes *out)
{
    const struct phrase date = date_text(due);
    if (due != 0 && date_now() >= due)
        text_put(out, "<p class=\"bad\">due to be purged since %s: trefoil serve --purge</p>",
                 date.text);
    else if (due != 0)
        text_put(out, "<p class=\"soft\">due to be purged on %s</p>", date.text);
}

static void uploads_row(const struct status *s, struct bytes *out)
{
    uint64_t whole = atomic_load(&s->uploads), partial = atomic_load(&s->uploads_partial);
    text_put(out, "<tr><th>Uploads</th><td>%" PRIu64 " of %zu owners", whole, s->study->owners);
    if (partial > 0)
        text_put(out, ", %" PRIu64 " in part", partial);
    bar(out, (double)whole, (double)s->study->owners);
    const struct phrase until = date_text(s->study->uploads_until);
    if (s->study->uploads_until != 0)
        text_put(out, "<span class=\"soft\">taken until %s</span>", until.text);
    put_due(atomic_load(&s->purge_due), out);
    text_put(out, "</td></tr>");
}

static void run_row(const struct status *s, struct bytes *out)
{
    text_put(out, "<tr><th>Run</th><td>");
    if (atomic_load(&s->session))
        text_put(out, "in progress, round %u", atomic_load(&s->round));
    else
        text_put(out, "none in progress");
    text_put(out,
             "<br><span class=\"soft\">%" PRIuFAST64 " requests so far, %" PRIuFAST64
             " failed</span></td></tr>",
             atomic_load(&s->requests), atomic_load(&s->requests_failed));
}

static void budget_row(const struct status *s, struct bytes *out)
{
    double spent = atomic_load(&s->rho_spent), limit = atomic_load(&s->rho_limit);
    text_put(out, "<tr><th>Privacy budget</th><td>rho %.6g of %.6g spent", spent, limit);
    bar(out, spent, limit);
    text_put(out,
             "<span class=\"soft\">for (epsilon %g, delta %g), as this server's ledger has "
             "it</span></td></tr>",
             s->study->epsilon, s->study->delta);
}

static void bytes_row(const struct status *s, struct bytes *out)
{
    text_put(out,
             "<tr><th>Traffic</th><td>%s from owners and analysts, in %" PRIuFAST64
             " messages (%" PRIuFAST64 " refused)<br>%s to the other servers, %s from "
             "them</td></tr>",
             words_bytes(atomic_load(&s->message_bytes)).text, atomic_load(&s->messages),
             atomic_load(&s->refused), words_bytes(atomic_load(&s->peer_sent)).text,
             words_bytes(atomic_load(&s->peer_received)).text);
}

enum err status_page(const struct status *s, struct bytes *out)
{
    const char *name = s->study->server[s->index].name;
    char why[STATUS_WHY_SIZE];
    bool healthy = status_healthy(s, why);
    const struct phrase now = date_text(date_now());
    text_put(out,
             "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
             "<meta name=\"viewport\" content=\"width=device-width\">"
             "<meta http-equiv=\"refresh\" content=\"10\"><title>%s, %s</title><style>",
             name, s->study->name);
    bytes_put_text(out, status_style);
    text_put(out,
             "</style></head><body><h1>Server %u, %s</h1><p>Study %s, security: %s</p>"
             "<p class=\"%s\">",
             s->index, name, s->study->name, study_security_word(s->study->security),
             healthy ? "soft" : "bad");
    html_text(out, healthy ? "healthy" : why);
    text_put(out, "</p><table>");
    uploads_row(s, out);
    run_row(s, out);
    budget_row(s, out);
    bytes_row(s, out);
    text_put(out,
             "<tr><th>Process</th><td>up for %s, %s of memory, version %s</td></tr></table>"
             "<p class=\"soft\">%s. Public values alone; "
             "/metrics has them for Prometheus, /healthz for a watchdog.</p></body></html>\n",
             words_time((double)(clock_now_ms() - s->started_ms) / 1000).text,
             words_bytes(resident_bytes()).text, TREFOIL_VERSION, now.text);
    return bytes_ok(out);
}
