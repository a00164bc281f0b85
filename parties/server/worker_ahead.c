/*
 * When idle servers make noise for a later run (`idle` of parties/setting/setting.h): server 0
 * proposes a session of its own for that, about nobody's attempt, once it has been idle for a
 * while. A request ends it at once at the server that gets it, unless that is in a check, and so at
 * all (parties/server/bell.h).
 */
#include "base/clock.h"
#include "parties/server/worker_private.h"

#include <string.h>

/* What PROPOSE says instead of an attempt, which is random. */
static const uint8_t about_noise[REQUEST_ATTEMPT_SIZE] = "noise ahead v1";

#define PAUSE_LEAST_MS 5000
#define PAUSE_MOST_MS 600000

/* The log goes only to `words`: it is no error that this ends whenever somebody asks for more. */
bool worker_make_ahead(struct worker *w)
{
    const bool stopped = w->setting->verdict(w->part, NULL) != ERR_OK;
    bool done = false;
    enum err e;
    w->log.file = NULL;
    memset(w->run, 0, sizeof w->run);
    atomic_store(&w->site->status.session, false);
    w->play.openings.common = (struct audit_opening){
        .spent = atomic_load(&w->site->status.rho_spent)};
    w->play.openings.confirmed = false;
    e = w->setting->idle(w->part, &done);
    if (!stopped)
        worker_catch(w, 0, e);
    if (!stopped && e != ERR_OK && w->setting->verdict(w->part, NULL) == ERR_CHEAT)
        log_error(w->site->log, "noise ahead: %s", log_first(w->words));
    worker_show_guard(w);
    worker_close_session(w);
    w->log.file = w->site->log->file;
    return e == ERR_OK && done;
}

void worker_idle_from_now(struct worker *w)
{
    w->idle.due = clock_now_ms() + (int64_t)w->site->ahead_s * 1000;
    w->idle.pause = 0;
}

bool worker_is_about_noise(const uint8_t about[REQUEST_ATTEMPT_SIZE])
{
    return memcmp(about, about_noise, sizeof about_noise) == 0;
}

/* If a session made all, or found that none is to be made, the next waits for something new. */
static void wait_for_next(struct worker *w, bool never)
{
    int64_t pause = w->idle.pause > 0 ? 2 * w->idle.pause : (int64_t)w->site->ahead_s * 1000;
    pause = pause < PAUSE_LEAST_MS ? PAUSE_LEAST_MS : pause;
    w->idle.pause = pause < PAUSE_MOST_MS ? pause : PAUSE_MOST_MS;
    w->idle.due = never ? INT64_MAX : clock_now_ms() + w->idle.pause;
}

void worker_tend_ahead(struct worker *w)
{
    const unsigned standing = transport_standing(w->site->control);
    uint8_t about[REQUEST_ATTEMPT_SIZE];
    bool never = false;
    if (standing != w->idle.standing)
        worker_idle_from_now(w);
    w->idle.standing = standing;
    if (w->site->ahead_s == 0 || w->net != NULL ||
        standing + 1 != 1u << (w->site->study->servers - 1) || site_is_spent(w->site) ||
        clock_now_ms() < w->idle.due || bell_has_rung(&w->site->bell))
        return;
    memcpy(about, about_noise, sizeof about);
    w->words[0] = '\0';
    if (worker_open_session(w, NULL, about) == ERR_OK)
        never = worker_make_ahead(w);
    wait_for_next(w, never);
}
