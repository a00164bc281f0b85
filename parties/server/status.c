#include "parties/server/status.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The front waits for the store, which the worker holds for a while, when it reads all uploads. */
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
                 "too many checks were broken off: this server takes part in no run; see the log, "
                 "and trefoil recover --resume");
    else if (silent > FRONT_SILENT_MS)
        snprintf(why, STATUS_WHY_SIZE, "the gate has not been served for %d s",
                 (int)(silent / 1000));
    else {
        snprintf(why, STATUS_WHY_SIZE, "ok");
        return true;
    }
    return false;
}

void status_note_owners(struct status *s, const struct upload_entry *entry)
{
    for (size_t i = 0; i < s->study->owners; i++) {
        atomic_store(&s->owner[i].state, (int)entry[i].state);
        if (atomic_exchange(&s->owner[i].time, entry[i].time) != entry[i].time)
            atomic_store(&s->owner[i].left_out, false); /* it is another upload */
        atomic_store(&s->owner[i].bytes, entry[i].bytes);
    }
}

const char *status_neighbour_name(const struct status *s, unsigned peer)
{
    return s->study->server[net_neighbour_of(s->study->servers, s->index, (enum net_peer)peer)]
        .name;
}

uint64_t status_memory(void)
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

static uint64_t left_out(const struct status *s)
{
    uint64_t n = 0;
    for (size_t i = 0; s->owner != NULL && i < s->study->owners; i++)
        n += atomic_load(&s->owner[i].left_out);
    return n;
}

static void of_front(const struct status *s, struct bytes *out)
{
    count(out, "trefoil_owners", "gauge", "Owners that there may be.", study_owners_most(s->study));
    head(out, "trefoil_uploads", "gauge", "Uploads on disk, whole or in part.");
    text_put(out, "trefoil_uploads{state=\"complete\"} %" PRIuFAST64 "\n",
             atomic_load(&s->uploads));
    text_put(out, "trefoil_uploads{state=\"partial\"} %" PRIuFAST64 "\n",
             atomic_load(&s->uploads_partial));
    count(out, "trefoil_uploads_left_out", "gauge",
          "Uploads that the last session left out, not being as trefoil share makes them.",
          left_out(s));
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
    head(out, "trefoil_noise_ahead_samples", "gauge",
         "Samples of noise on disk that servers made before a run.");
    for (unsigned k = 0; k < 2; k++)
        text_put(out, "trefoil_noise_ahead_samples{kind=\"%s\"} %" PRIuFAST64 "\n",
                 k == 0 ? "gauss" : "gumbel", atomic_load(&s->ahead[k]));
    head(out, "trefoil_neighbour_connected", "gauge",
         "1 while the link to another server stands. In a long round it is not looked at.");
    for (unsigned p = 0; p + 1 < s->study->servers; p++)
        text_put(out, "trefoil_neighbour_connected{server=\"%s\"} %d\n",
                 status_neighbour_name(s, p), (int)atomic_load(&s->neighbour[p].connected));
    count(out, "trefoil_stopped", "gauge",
          "1 once a check has failed or too many were broken off: the server takes part in no run.",
          atomic_load(&s->guard) != ERR_OK);
    number(out, "trefoil_budget_rho", "The study's privacy budget, rho.",
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
             study_security_words[s->study->security], TREFOIL_VERSION);
    count(out, "trefoil_healthy", "gauge", "1 if /healthz says ok.", status_healthy(s, why));
    number(out, "trefoil_uptime_seconds", "Since the server began.",
           (double)(clock_now_ms() - s->started_ms) / 1000);
    count(out, "process_resident_memory_bytes", "gauge", "Memory of the process.", status_memory());
    of_front(s, out);
    of_worker(s, out);
    return bytes_ok(out);
}
