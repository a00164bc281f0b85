#include "parties/display/progress.h"

#include "aim/train/tested.h"
#include "base/clock.h"
#include "base/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NAME_TEXT (PROGRESS_NAME * 4 + 8) /* UTF-8 */
#define TELL_S 0.25
#define PARAGRAPH 79 /* columns */

static unsigned terminal_columns(FILE *out)
{
    struct winsize size;
    const char *term = getenv("TERM");
    int fd = fileno(out);
    if (fd < 0 || isatty(fd) == 0 || (term != NULL && strcmp(term, "dumb") == 0))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

struct progress progress_start(FILE *out, const struct study *study, double rho)
{
    struct progress p = {
        .out = out, .rho = rho, .columns = terminal_columns(out), .told = clock_now_s()};
    if (study == NULL)
        return p;
    p.one_ways = study->workload->one_ways;
    p.rounds = study->sweeps > 0 ? 2 * study->sweeps : study->annealed ? 0 : study->rounds;
    return p;
}

/* --- lines ------------------------------------------------------------------------------------ */

void progress_end(struct progress *p)
{
    if (!p->drawn)
        return;
    fputs("\r\033[K", p->out);
    fflush(p->out);
    p->drawn = false;
}

static void before_a_line(void *self)
{
    progress_end(self);
}

void progress_attach(struct progress *p, struct log *log)
{
    log->before = before_a_line;
    log->self = p;
}

void progress_detach(struct progress *p, struct log *log)
{
    progress_end(p);
    if (log->self == p)
        log->before = NULL;
}

void progress_wait(struct progress *p, const char *what)
{
    if (p->columns < 20)
        return;
    progress_end(p);
    fprintf(p->out, "%.*s", (int)p->columns - 1, what);
    p->drawn = true;
    fflush(p->out);
}

static void wait_of(struct progress *p, const char *what, size_t fits, size_t of)
{
    char text[60];
    snprintf(text, sizeof text, "%s: %zu of %zu fits are done", what, fits, of);
    progress_wait(p, text);
}

void progress_fits(void *self, size_t fits, size_t of)
{
    wait_of(self, "fitting the model", fits, of);
}

void progress_refits(void *self, size_t fits, size_t of)
{
    wait_of(self, "finding error bars", fits, of);
}

void progress_intervals(void *self, size_t fits, size_t of)
{
    wait_of(self, "finding intervals", fits, of);
}

/* Whether it is time to draw a count. */
static bool is_due(struct progress *p)
{
    double now = clock_now_s();
    if (now - p->told < TELL_S)
        return false;
    p->told = now;
    return true;
}

void progress_answered(struct progress *p, size_t questions)
{
    char text[60];
    if (!is_due(p))
        return;
    snprintf(text, sizeof text, "%zu questions are answered", questions);
    progress_wait(p, text);
}

void progress_say(struct progress *p, const char *format, ...)
{
    va_list args;
    progress_end(p);
    va_start(args, format);
    vfprintf(p->out, format, args);
    va_end(args);
    fputc('\n', p->out);
    fflush(p->out);
}

void progress_linked(FILE *out, double rows, double sigma)
{
    fprintf(out, "linked: about %.0f rows are at all owners of their batch (+-%.0f)\n",
            fmax(0, rows), ceil(2 * sigma));
    fflush(out);
}

/* Rounds take longer as the model grows, so this guess is low. */
static void time_left(const struct progress *p, const struct aim_round *r, char text[40])
{
    double each;
    text[0] = '\0';
    if (p->done == 0 || p->rounds <= r->round)
        return;
    each = (clock_now_s() - p->first) / p->done;
    snprintf(text, 40, "  %9s", words_time(each * (p->rounds - r->round)).text);
}

static void heading(struct progress *p)
{
    progress_say(p,
                 "The model's error against what was measured, before a round (was) and after it\n"
                 "(now), and the error to expect of noise alone: 0 alike, 2 nothing in common.");
    progress_say(p, "round   %-*s    was    now  noise  budget left  time left", PROGRESS_NAME,
                 "marginal");
}

/* Pieces with a comma between two, each on a line of its own. */
static void say_each(struct progress *p, const char *pieces)
{
    while (*pieces != '\0') {
        const char *end = strstr(pieces, "), ");
        const int n = end != NULL ? (int)(end + 1 - pieces) : (int)strlen(pieces);
        progress_say(p, "          %.*s", n, pieces);
        pieces += n + (end != NULL ? 2 : 0);
    }
}

/* What a sweep saw, and what it made of that. */
static void say_why(struct progress *p, const struct aim_round *r)
{
    if (r->asked == ASK_SCORES)
        progress_say(p, "        how far the model is from each, with noise of %.0f rows",
                     r->sigma);
    else if (r->marginals == 0)
        progress_say(p, "        none is farther from the model than the noise it would have");
    else {
        progress_say(p, "        whose scores are above the noise they add%s:",
                     r->marginals > 3 && strchr(r->why, '(') != NULL ? ", such as" : "");
        say_each(p, r->why);
    }
}

void progress_round(void *self, const struct aim_round *r)
{
    struct progress *p = self;
    const bool swept = r->round > 0 && r->query == AIM_NO_QUERY;
    const double marginals = swept ? (double)r->marginals : r->round == 0 ? (double)p->one_ways : 1;
    const double rows = fmax(1, r->total) * fmax(1, marginals);
    char name[NAME_TEXT], left[40], number[24], was[16] = "-", now[16] = "-", noise[16] = "-";
    if (p->first <= 0) {
        heading(p);
        p->first = clock_now_s();
    } else {
        p->done++;
    }
    words_fit(name, sizeof name, r->name, PROGRESS_NAME);
    time_left(p, r, left);
    if (p->rounds > 0)
        snprintf(number, sizeof number, "%u/%u", r->round, p->rounds);
    else
        snprintf(number, sizeof number, "%u", r->round);
    if (r->round > 0 && marginals > 0)
        snprintf(was, sizeof was, "%.3f", r->before / rows);
    if (marginals > 0) {
        snprintf(now, sizeof now, "%.3f", r->after / rows);
        snprintf(noise, sizeof noise, "%.3f", r->noise / rows);
    }
    progress_say(p, "%-7s %s  %5s  %5s  %5s  %9.1f %%%s", number, name, was, now, noise,
                 fmax(0, 100 * (1 - r->spent / p->rho)), left);
    if (swept)
        say_why(p, r);
}

void progress_assess(struct progress *p, const struct aim_result *r)
{
    if (r->assess != NULL)
        progress_say(
            p,
            "assessed: the distance of the model, and of independent columns, from %zu\n"
            "          pairs of columns, with noise of %.3g rows; budget left %.1f %%",
            r->assess->pairs, r->assess->sigma,
            fmax(0, 100 * (1 - (r->round[r->rounds - 1].spent + r->assess->cost) / p->rho)));
}

/* How good the classifier is. */
static void say_test(struct progress *p, const struct train_result *r)
{
    struct tested *t CLEAN(tested_free) = NULL;
    double auc = 0;
    if (tested_new(&t, r->features, r->test.multiplier, r->test.value) != ERR_OK)
        return;
    for (uint32_t k = 0; k < t->outputs; k++)
        auc += t->auc[k].value / t->outputs;
    if (t->outputs == 1)
        progress_say(p, "test: about %.0f rows; accuracy %.3f +- %.3f, AUC %.3f +- %.3f", t->rows,
                     t->accuracy.value, t->accuracy.error, auc, t->auc[0].error);
    else
        progress_say(p, "test: about %.0f rows; the mean AUC of a class against the others is %.3f",
                     t->rows, auc);
}

void progress_step(void *self, const struct train_result *r, unsigned t)
{
    struct progress *p = self;
    const struct train_step *s = t < r->steps ? &r->step[t] : &r->test;
    const double noise = sqrt(r->weights) * measure_sigma(s->multiplier, NOISE_BY_ALL);
    if (t == 0) {
        progress_say(p, "about %.0f rows have a class; the noise is %s (%.3f), so the rate is %g",
                     r->rows, r->nu <= TRAIN_LOUD ? "bearable" : "louder than rows", r->nu,
                     r->rate);
        progress_say(p, "The length of a gradient with its noise, and that of noise alone:");
        progress_say(p, "step    gradient       noise  budget left");
    }
    if (t == r->steps)
        say_test(p, r);
    else if (s->lost)
        progress_say(p, "%4u        lost  %10.4g  %10.2f %%", t + 1, noise,
                     100 * fmax(0, 1 - s->spent / p->rho));
    else
        progress_say(p, "%4u  %10.4g  %10.4g  %10.2f %%", t + 1, train_length(r, t), noise,
                     100 * fmax(0, 1 - s->spent / p->rho));
}

void progress_copula(struct progress *p, const struct copula_result *c)
{
    progress_say(p,
                 "measured: %zu single attributes, with noise of %.4g rows a cell; %zu pairs, in "
                 "%zu\n          numbers with noise of %.4g",
                 c->measurements, c->measurement[0].sigma,
                 c->measurements * (c->measurements - 1) / 2, c->forms, c->sigma);
}

void progress_paragraphs(FILE *out, const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        const size_t bytes = strcspn(text, " \n");
        const size_t columns = words_length(text) - words_length(text + bytes);
        const bool breaks = column > 0 && column + 1 + columns > PARAGRAPH;
        fputs(column == 0 ? "" : breaks ? "\n  " : " ", out);
        column = breaks ? 2 + columns : column + (column > 0) + columns;
        fwrite(text, 1, bytes, out);
        text += bytes;
        if (*text == '\n') {
            fputc('\n', out);
            column = 0;
        }
        text += *text != '\0';
    }
}

/* --- reading a table -------------------------------------------------------------------------- */

void progress_reading_begin(struct progress_reading *r, struct rows_options *rows, struct log *log)
{
    *r = (struct progress_reading){.progress = progress_start(stderr, NULL, 0), .log = log};
    if (r->progress.columns == 0)
        return;
    rows->tell = progress_rows;
    rows->self = r;
    progress_attach(&r->progress, log);
}

void progress_rows(void *self, const char *source, size_t rows, double part)
{
    struct progress_reading *r = self;
    char what[256];
    if (!is_due(&r->progress))
        return;
    if (isnan(part))
        snprintf(what, sizeof what, "%zu rows are read of %s", rows, source);
    else
        snprintf(what, sizeof what, "%zu rows, %.0f %%, are read of %s", rows, floor(100 * part),
                 source);
    progress_wait(&r->progress, what);
}

void progress_reading_end(struct progress_reading *r)
{
    if (r->log != NULL)
        progress_detach(&r->progress, r->log);
    r->log = NULL;
}
