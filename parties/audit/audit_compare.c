#include "parties/audit/audit_compare.h"

#include "base/date.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

/* --- one log in words ------------------------------------------------------------------------- */

static void describe_opening(const struct audit_opening *o, FILE *out)
{
    static const struct {
        const char *reason, *before, *after; /* the number of values */
        bool sigma;                          /* what is opened begins with it */
    } words[] = {
        {"SELECTED_INDEX", "which of ", " marginals fits worst; with its measurement", false},
        {"NOISY_MARGINAL", "", " noisy counts", false},
        {"NOISY_FORM", "", " noisy sums of counts", false},
        {"NOISY_SCORE", "scores of ", " marginals, sigma ", true},
        {"NOISY_GRADIENT", "a noisy gradient of ", " weights, sigma ", true},
        {"SORTED", "which of ", " uploads are sorted by key", false},
        {"REJECT_BIT", "which of ", " tries for noise are kept", false},
    };
    const size_t known = sizeof words / sizeof *words;
    const char *what = o->what;
    size_t k = 0;
    while (k < known && strcmp(o->reason, words[k].reason) != 0)
        k++;
    fprintf(out, "round %-4" PRIu32 " cost %-11.5g spent %.5g\n      %s%" PRIu64 "%s%s", o->round,
            o->cost, o->spent, k < known ? words[k].before : "", o->values,
            k < known ? words[k].after : " values, ", k < known ? "" : o->reason);
    if (k < known && words[k].sigma) {
        const size_t sigma = strcspn(what, ":");
        fprintf(out, "%.*s", (int)sigma, what);
        what += sigma + (what[sigma] == ':');
    }
    fprintf(out, "%s%s\n", strcmp(what, "-") == 0 ? "" : ": ", strcmp(what, "-") == 0 ? "" : what);
}

/* How many of the first lines neighbour `server` has signed. */
static uint64_t signed_by(const struct audit_file *f, unsigned server)
{
    uint64_t most = 0;
    for (size_t k = 0; k < f->entries; k++) {
        const struct audit_entry *e = &f->entry[k];
        if (e->kind == AUDIT_SIGNED && e->server == server && e->head.entries > most)
            most = e->head.entries;
    }
    return most;
}

static bool same_opening(const struct audit_opening *a, const struct audit_opening *b)
{
    return a->round == b->round && memcmp(a->run, b->run, sizeof a->run) == 0 &&
           memcmp(a->request, b->request, sizeof a->request) == 0 &&
           strcmp(a->reason, b->reason) == 0;
}

/* Openings that a request may repeat with other numbers, at no cost. */
static bool may_differ(const struct audit_opening *o)
{
    return strcmp(o->reason, "REJECT_BIT") == 0 || strcmp(o->reason, "SORTED") == 0;
}

static bool same_story(const struct audit_opening *a, const struct audit_opening *b)
{
    return a->values == b->values && a->cost == b->cost && a->spent == b->spent &&
           strcmp(a->what, b->what) == 0;
}

/* The first entry for this opening, or NULL; `alike`: that also says the same about it. */
static const struct audit_entry *look_up(const struct audit_file *f, const struct audit_opening *o,
                                         bool alike)
{
    for (size_t k = 0; k < f->entries; k++)
        if (f->entry[k].kind == AUDIT_OPEN && same_opening(&f->entry[k].opening, o) &&
            (!alike || same_story(&f->entry[k].opening, o)))
            return &f->entry[k];
    return NULL;
}

/* Whether a log has this line about an upload left out, a round that was lost, or a warrant. */
static bool tells(const struct audit_file *f, const struct audit_entry *line)
{
    for (size_t k = 0; k < f->entries; k++)
        if (f->entry[k].kind == line->kind && f->entry[k].round == line->round &&
            f->entry[k].server == line->server &&
            memcmp(f->entry[k].run, line->run, sizeof line->run) == 0 &&
            strcmp(f->entry[k].owner, line->owner) == 0 &&
            strcmp(f->entry[k].why, line->why) == 0 &&
            (line->kind != AUDIT_WARRANT || strcmp(f->entry[k].what, line->what) == 0))
            return true;
    return false;
}

/* Whether a line says what a log (NULL: none) does not. */
static bool is_news(const struct audit_entry *e, const struct audit_file *before)
{
    if (e->kind == AUDIT_OPEN)
        return before == NULL || look_up(before, &e->opening, true) == NULL;
    if (e->kind >= AUDIT_LEFT_OUT && e->kind <= AUDIT_WARRANT)
        return before == NULL || !tells(before, e);
    return e->kind >= AUDIT_RECOVERED;
}

static void describe_head(const struct audit_file *f, FILE *out)
{
    fprintf(out, "log of server %u (%s), study %s (security: %s): %zu lines, the chain holds\n",
            f->server, f->name[f->server], f->study, study_security_words[f->security], f->entries);
    for (unsigned i = 0; i < f->servers; i++)
        if (i != f->server)
            fprintf(out, "  server %u (%s) has signed its first %" PRIu64 " lines\n", i, f->name[i],
                    signed_by(f, i));
}

struct total {
    double paid, spent;
};

static struct total total_of(const struct audit_file *f)
{
    struct total t = {0};
    for (size_t k = 0; k < f->entries; k++)
        if (f->entry[k].kind == AUDIT_OPEN) {
            t.paid += f->entry[k].opening.cost;
            t.spent = f->entry[k].opening.spent;
        }
    return t;
}

static void describe_resumption(const struct audit_checks *c, FILE *out)
{
    fprintf(out, "trefoil recover let the server take part again: of %" PRIu64 " checks", c->begun);
    if (c->failed)
        fputs(" one had failed\n", out);
    else
        fprintf(out, " %" PRIu64 " had been left\n", c->left);
}

static void describe_catch(const struct audit_entry *e, FILE *out)
{
    fprintf(out, "round %-4" PRIu32 " ", e->round);
    if (strcmp(e->phase, AUDIT_STATEMENT) == 0)
        fputs("a server stated what cannot be so: it", out);
    else
        fprintf(out, "check %" PRIu64 " failed, of phase %s: a server", e->check, e->phase);
    fputs(" departed\n      from the protocol, or its memory is faulty\n", out);
}

static void describe_warrant(const struct audit_entry *entry, FILE *out)
{
    struct warrant w;
    uint8_t number[32];
    if (audit_warrant(entry, &w) != ERR_OK || warrant_number(&w, number) != ERR_OK) {
        fputs("a warrant that cannot be read\n", out);
        return;
    }
    fprintf(out,
            "a run begins or goes on by warrant %s\n"
            "      for %u.%04u %% of the budget, until %s: %s\n      signed by",
            text_hash(number).text, w.share / 10000, w.share % 10000,
            date_day_text(w.last_day).text, w.purpose);
    for (size_t i = 0; i < w.signatures; i++)
        fprintf(out, "%s %s", i > 0 ? "," : "", w.signature[i].name);
    fputc('\n', out);
}

static void describe(const struct audit_entry *e, FILE *out)
{
    fprintf(out, "  %s  ", e->time);
    switch (e->kind) {
    case AUDIT_OPEN:
        describe_opening(&e->opening, out);
        break;
    case AUDIT_LEFT_OUT:
        fprintf(out,
                "the upload of %s was left out: it is not sorted by person, or are rows that its "
                "key does not open\n",
                e->owner);
        break;
    case AUDIT_LOST:
        fprintf(out, "round %-4" PRIu32 " is lost, paid for without an answer: server %u, %s\n",
                e->round, e->server, e->why);
        break;
    case AUDIT_WARRANT:
        describe_warrant(e, out);
        break;
    case AUDIT_RECOVERED:
        fprintf(out, "trefoil recover took over debits %" PRIu64 " to %" PRIu64 "\n", e->from,
                e->to);
        break;
    case AUDIT_CAUGHT:
        describe_catch(e, out);
        break;
    case AUDIT_RESUMED:
        describe_resumption(&e->checks, out);
        break;
    case AUDIT_DROPPED:
        fprintf(out, "trefoil recover dropped debit %" PRIu64 ", which no other server had\n",
                e->head.entries);
        break;
    case AUDIT_LOG:
    case AUDIT_SEEN:
    case AUDIT_SIGNED:
    case AUDIT_KINDS:
        break; /* no news */
    }
}

/* Lists what a log says that `before` (NULL: none) does not. */
static void list(const struct audit_file *f, const struct audit_file *before, FILE *out)
{
    for (size_t k = 0; k < f->entries; k++)
        if (is_news(&f->entry[k], before))
            describe(&f->entry[k], out);
}

static bool tells_all(const struct audit_file *f, const struct audit_file *of)
{
    for (size_t k = 0; k < of->entries; k++)
        if (is_news(&of->entry[k], f))
            return false;
    return true;
}

static void describe_total(struct total t, FILE *out)
{
    fprintf(out, "  opened for rho = %.9g; debited in all %.9g%s\n", t.paid, t.spent,
            t.spent - t.paid > 1e-9
                ? "\n  (the rest for rounds that were interrupted, or opened before a recovery)"
                : "");
}

/* Lists one log in full: the one with most in it, so that the others add little. */
void audit_describe(struct audit_file *const *files, size_t count, FILE *out)
{
    const struct audit_file *fullest = files[0];
    for (size_t i = 0; i < count; i++) {
        describe_head(files[i], out);
        if (total_of(files[i]).paid > total_of(fullest).paid)
            fullest = files[i];
    }
    if (count > 1)
        fprintf(out, "opened, by the log of server %u (%s):\n", fullest->server,
                fullest->name[fullest->server]);
    list(fullest, NULL, out);
    describe_total(total_of(fullest), out);
    for (size_t i = 0; i < count; i++) {
        const struct total t = total_of(files[i]);
        const bool same = tells_all(fullest, files[i]) && t.paid == total_of(fullest).paid &&
                          t.spent == total_of(fullest).spent;
        if (files[i] == fullest)
            continue;
        fprintf(out, "the log of server %u (%s) %s\n", files[i]->server,
                files[i]->name[files[i]->server],
                same ? "says the same" : "also says, or says differently:");
        if (!same) {
            list(files[i], fullest, out);
            describe_total(t, out);
        }
    }
}

/* --- against each other ----------------------------------------------------------------------- */

static enum err same_study(struct audit_file *const *files, size_t count, struct log *log)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            if (memcmp(files[i]->terms, files[k]->terms, sizeof files[i]->terms) != 0 ||
                memcmp(files[i]->key, files[k]->key, sizeof files[i]->key) != 0)
                return log_fail(log, ERR_DATA,
                                "logs %zu and %zu are of different studies or servers", k + 1,
                                i + 1);
            if (files[i]->server == files[k]->server)
                return log_fail(log, ERR_DATA, "logs %zu and %zu are both of server %u", k + 1,
                                i + 1, files[i]->server);
        }
    return ERR_OK;
}

/*
 * Whether a recovery explains why lines before `entries` differ: a log that began again from
 * nothing says so in its second line, one from a backup does so later.
 */
static bool was_recovered(const struct audit_file *f, uint64_t entries)
{
    for (size_t k = 0; k < f->entries && (k < entries || k == 1); k++)
        if (f->entry[k].kind == AUDIT_RECOVERED)
            return true;
    return false;
}

static bool has_line(const struct audit_file *f, const struct audit_head *head)
{
    return head->entries > 0 && head->entries <= f->entries &&
           memcmp(f->entry[head->entries - 1].hash, head->hash, sizeof head->hash) == 0;
}

enum err audit_continues(const struct audit_file *f, const struct audit_head *head, const char *day,
                         FILE *out, struct log *log)
{
    if (has_line(f, head))
        return ERR_OK;
    if (was_recovered(f, head->entries)) {
        fprintf(out,
                "note: lines of server %u's log from before %s were lost with a disk;\n"
                "  the server was recovered since\n",
                f->server, day);
        return ERR_OK;
    }
    return log_fail(log, ERR_DATA,
                    "server %u signed on %s that its log had %" PRIu64
                    " lines, and that is not how it begins now: it was cut short or written anew, "
                    "or an old copy of the server's folder was put in place, with an old ledger: "
                    "budget that is spent may be spent again",
                    f->server, day, head->entries);
}

/* Each head that `by` saw of the log `of` must be in that. `*lost`: a recovery explains a gap. */
static enum err check_seen(const struct audit_file *by, const struct audit_file *of, bool *lost,
                           struct log *log)
{
    for (size_t k = 0; k < by->entries; k++) {
        const struct audit_entry *seen = &by->entry[k];
        uint64_t n = seen->head.entries;
        if (seen->kind != AUDIT_SEEN || seen->server != of->server || has_line(of, &seen->head))
            continue;
        if (was_recovered(of, n)) {
            *lost = true;
            continue;
        }
        return log_fail(log, ERR_DATA,
                        "server %u saw server %u's log with %" PRIu64
                        " lines (line %zu of its own), and that is not how it begins now: it was "
                        "cut short or written anew",
                        by->server, of->server, n, k + 1);
    }
    return ERR_OK;
}

/* Compares every opening in `a` with the same one in `b`, if that is there. */
static enum err check_openings(const struct audit_file *a, const struct audit_file *b,
                               struct log *log)
{
    enum err e = ERR_OK;
    for (size_t k = 0; k < a->entries; k++) {
        const struct audit_opening *o = &a->entry[k].opening;
        const struct audit_entry *own, *other;
        if (a->entry[k].kind != AUDIT_OPEN || may_differ(o))
            continue;
        own = look_up(a, o, false);
        other = look_up(b, o, false);
        if (own != NULL && other != NULL &&
            (other->opening.values != o->values || strcmp(other->opening.what, o->what) != 0 ||
             other->opening.spent != own->opening.spent)) {
            log_error(log, "servers %u and %u tell different things about %s in round %" PRIu32,
                      a->server, b->server, o->reason, o->round);
            e = ERR_DATA;
        }
    }
    return e;
}

/* Notes, once for all, the openings that others began and that log `of` does not have. */
static void note_gaps(struct audit_file *const *files, size_t count, size_t of, FILE *out)
{
    uint32_t first = UINT32_MAX, last = 0;
    size_t gaps = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < files[i]->entries; k++) {
            const struct audit_entry *e = &files[i]->entry[k];
            const struct audit_opening *o = &e->opening;
            bool counted = false; /* at an earlier log */
            if (e->kind != AUDIT_OPEN || may_differ(o) || look_up(files[i], o, false) != e ||
                look_up(files[of], o, false) != NULL)
                continue;
            for (size_t j = 0; j < i; j++)
                counted |= look_up(files[j], o, false) != NULL;
            gaps += !counted;
            first = o->round < first ? o->round : first;
            last = o->round > last ? o->round : last;
        }
    if (gaps == 0)
        return;
    fprintf(out, "note: the log of server %u (%s) lacks %zu %s, of ", files[of]->server,
            files[of]->name[files[of]->server], gaps, gaps == 1 ? "opening" : "openings");
    if (first == last)
        fprintf(out, "round %" PRIu32, first);
    else
        fprintf(out, "rounds %" PRIu32 " to %" PRIu32, first, last);
    fputs(", that\n  other logs have: they were interrupted there, or are of before a recovery\n",
          out);
}

enum err audit_compare(struct audit_file *const *files, size_t count, FILE *out, struct log *log)
{
    enum err worst = ERR_OK;
    TRY(same_study(files, count, log));
    for (size_t k = 0; k < count; k++) {
        bool lost = false;
        for (size_t i = 0; i < count; i++) {
            enum err seen = i == k ? ERR_OK : check_seen(files[i], files[k], &lost, log);
            enum err opened = i == k ? ERR_OK : check_openings(files[i], files[k], log);
            worst = seen != ERR_OK ? seen : opened != ERR_OK ? opened : worst;
        }
        if (lost)
            fprintf(out,
                    "note: the log of server %u (%s) has lost lines that other servers saw, and\n"
                    "  the server was recovered since\n",
                    files[k]->server, files[k]->name[files[k]->server]);
        note_gaps(files, count, k, out);
    }
    return worst;
}
