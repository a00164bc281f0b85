#include "parties/owner/book.h"

#include "aim/budget/budget.h"
#include "base/date.h"
#include "base/file.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/version.h"
#include "parties/exchange/price.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_LIMIT ((size_t)4 << 20)
#define FINGERPRINT 35
#define STEPS 64 /* from below, to an epsilon that gives no more than itself */

static const char head[] =
    "# What this key has sent to Trefoil studies (trefoil share --book): their budgets add up for\n"
    "# people whose rows are in several. Keep it as long as the data, and copy it to a new key.\n";
static const char label[] = "trefoil-book-1";
static const struct {
    const char *word, *sentence;
    bool counts;
} states[] = {
    [BOOK_BEGUN] = {"begun", "begun; counts, since servers may hold it", true},
    [BOOK_SENT] = {"sent", "sent", true},
    [BOOK_REFUSED] = {"refused", "refused by the servers; does not count", false},
    [BOOK_WITHDRAWN] = {"withdrawn", "withdrawn; does not count", false},
};
#define STATES (sizeof states / sizeof *states)

/* --- lines ------------------------------------------------------------------------------------ */

void book_put(struct bytes *text, const struct book_entry *e)
{
    text_put(text, "%s %s %s %s epsilon %.17g delta %.17g rho %.17g slack %.17g %.17g",
             date_text(e->time).text, states[e->state].word, e->study, e->terms.text, e->epsilon,
             e->delta, e->rho, e->epsilon_slack, e->delta_slack);
}

static bool sensible(const struct book_entry *e)
{
    const char *c = e->terms.text;
    while ((*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
           *c == '-')
        c++;
    return study_good_name(e->study) && *c == '\0' && c - e->terms.text == FINGERPRINT &&
           isfinite(e->epsilon) && e->epsilon > 0 && e->delta > 0 && e->delta < 1 &&
           isfinite(e->rho) && e->rho > 0 && isfinite(e->epsilon_slack) && e->epsilon_slack >= 0 &&
           e->delta_slack >= 0 && e->delta_slack < e->delta;
}

/* ERR_DATA, not logged, for a line that book_put() would not write. */
static enum err read_entry(struct book_entry *e, const char *line)
{
    char time[DATE_SIZE], state[10];
    struct bytes again CLEAN(bytes_clear) = {0};
    size_t k = 0;
    *e = (struct book_entry){.state = BOOK_BEGUN};
    if (sscanf(line, "%20s %9s %31s %35s epsilon %lf delta %lf rho %lf slack %lf %lf", time, state,
               e->study, e->terms.text, &e->epsilon, &e->delta, &e->rho, &e->epsilon_slack,
               &e->delta_slack) != 9)
        return ERR_DATA;
    while (k < STATES && strcmp(states[k].word, state) != 0)
        k++;
    if (k == STATES || !date_parse(time, &e->time) || !sensible(e))
        return ERR_DATA;
    e->state = (enum book_state)k;
    book_put(&again, e);
    bytes_put_u8(&again, 0);
    TRY(bytes_ok(&again));
    return strcmp((const char *)again.data, line) == 0 ? ERR_OK : ERR_DATA;
}

/* The entry of the same study, or NULL. */
static struct book_entry *find(const struct book *b, const struct book_entry *of)
{
    for (size_t i = 0; i < b->entries; i++)
        if (strcmp(b->entry[i].study, of->study) == 0 &&
            strcmp(b->entry[i].terms.text, of->terms.text) == 0)
            return &b->entry[i];
    return NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* ERR_DATA, not logged, for an invalid line; *known: the line that names the format has come. */
static enum err take_line(struct book *b, const struct line_reader *in, char *line, bool *known)
{
    struct book_entry entry, *earlier;
    const char *format = line_value(line, "format");
    if (in->cut)
        return ERR_DATA;
    if (line[0] != '\0' && line_says_nothing(line))
        return ERR_OK;
    if (format != NULL) {
        TRY(version_check(in->path, format, strlen(format), label, 1, in->log));
        if (strcmp(format, label) != 0)
            return ERR_DATA;
        *known = true;
        return ERR_OK;
    }
    if (!*known)
        return ERR_DATA;
    TRY(read_entry(&entry, line));
    earlier = find(b, &entry);
    if (earlier == NULL) {
        TRY(memory_extend(&b->entry, b->entries + 1));
        earlier = &b->entry[b->entries++];
    }
    *earlier = entry;
    return ERR_OK;
}

enum err book_parse(struct book *b, const char *path, const void *text, size_t n, struct log *log)
{
    struct line_reader in CLEAN(line_clear) = {0};
    bool known = false;
    enum err e = ERR_OK;
    *b = (struct book){0};
    TRY(line_text(&in, path, text, n, log));
    for (char *line; e == ERR_OK && (line = line_next(&in)) != NULL;)
        e = take_line(b, &in, line, &known);
    if (e != ERR_OK)
        book_clear(b);
    if (e != ERR_DATA)
        return e;
    if (!known)
        return line_fail(&in, ERR_STUDY,
                         "\"format %s\" should stand before this line: the book of budgets was cut "
                         "or altered; put a copy of it in its place",
                         label);
    return line_fail(&in, ERR_STUDY,
                     "this is not an entry of a book of budgets: it was cut or altered; put a copy "
                     "of the file in its place, or see which study the line is of, delete the "
                     "line, and share with that study again, which writes it anew");
}

enum err book_load(struct book *b, const char *path, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    *b = (struct book){0};
    if (!file_is_there(path))
        return ERR_OK;
    TRY(file_read(path, FILE_LIMIT, &text, log));
    return book_parse(b, path, text.data, text.size, log);
}

void book_clear(struct book *b)
{
    memory_free(&b->entry);
    b->entries = 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

struct book_entry book_entry_of(const struct study *study, const struct ledger_limits *limits,
                                enum book_state state)
{
    struct book_entry e = {
        .terms = study_fingerprint(study),
        .state = state,
        .time = date_now(),
        .epsilon = study->epsilon,
        .delta = study->delta,
        .rho = limits->rho,
        .epsilon_slack = limits->epsilon_slack,
        .delta_slack = limits->delta_slack + price_rows_slack(study),
    };
    memcpy(e.study, study->name, sizeof e.study);
    return e;
}

enum err book_add(const char *path, const struct book_entry *entry, struct log *log)
{
    struct bytes lines CLEAN(bytes_clear) = {0};
    struct stat st;
    if (stat(path, &st) != 0 || st.st_size == 0)
        text_put(&lines, "%sformat %s\n", head, label);
    book_put(&lines, entry);
    text_put(&lines, "\n");
    bytes_put_u8(&lines, 0);
    TRY(bytes_ok(&lines));
    return file_append(path, (const char *)lines.data, log);
}

/* --- sums ------------------------------------------------------------------------------------- */

bool book_counts(const struct book *b, const struct book_entry *entry)
{
    const struct book_entry *e = find(b, entry);
    return e != NULL && states[e->state].counts;
}

struct totals {
    struct book_sum sum;
    double epsilon_slack, delta_slack;
    double at_zero; /* the same for an epsilon of 0 in the place of each study's own */
};

static void add(struct totals *t, const struct book_entry *e)
{
    t->sum.studies++;
    t->sum.rho += e->rho;
    t->sum.epsilon += e->epsilon;
    t->sum.delta += e->delta;
    t->epsilon_slack += e->epsilon_slack;
    t->delta_slack += e->delta_slack;
    t->at_zero += e->delta_slack * exp(-e->epsilon);
}

/*
 * What the sum of rho gives if no more than this epsilon comes out. Slack is set aside as in
 * budget_plan(). It is at most 1 + e^epsilon times a distance, and the epsilon is that of all
 * together (docs/proofs.md, "The ledger").
 */
static double bound_at(const struct totals *t, double epsilon)
{
    const double slack = t->delta_slack + t->at_zero * exp(epsilon);
    /* 2^-40 is far more than the rounding of these sums */
    const double delta = (t->sum.delta - slack) * exp(-t->epsilon_slack / 2) * (1 - 0x1p-40);
    return t->epsilon_slack + budget_epsilon(t->sum.rho * (1 + 0x1p-40), delta);
}

/* The sum of the epsilons is a bound by itself. */
struct book_sum book_add_up(const struct book *b, const struct book_entry *but,
                            const struct book_entry *also)
{
    const struct book_entry *left_out = but == NULL ? NULL : find(b, but);
    struct totals t = {.sum = {0}};
    double epsilon = 0;
    for (size_t i = 0; i < b->entries; i++)
        if (states[b->entry[i].state].counts && &b->entry[i] != left_out)
            add(&t, &b->entry[i]);
    if (also != NULL)
        add(&t, also);
    for (unsigned k = 0; k < STEPS; k++)
        epsilon = bound_at(&t, epsilon);
    epsilon *= 1 + 0x1p-30;
    if (epsilon < t.sum.epsilon && bound_at(&t, epsilon) <= epsilon)
        t.sum.epsilon = epsilon;
    return t.sum;
}

/* --- in words --------------------------------------------------------------------------------- */

static void describe_sum(FILE *out, const struct book_sum *sum)
{
    fprintf(out, "rho %s in zCDP, which is epsilon %s with delta %s", words_number(sum->rho).text,
            words_number(sum->epsilon).text, words_number(sum->delta).text);
}

void book_describe(FILE *out, const struct book *b, const char *path)
{
    const struct book_sum sum = book_add_up(b, NULL, NULL);
    if (b->entries == 0) {
        fprintf(out, "%s: nothing was sent with this key\n", path);
        return;
    }
    fprintf(out, "%s: what was sent with this key\n", path);
    for (size_t i = 0; i < b->entries; i++) {
        const struct book_entry *e = &b->entry[i];
        fprintf(
            out, "  %s\n    terms %s\n    %s, %s\n    epsilon %s with delta %s: rho %s in zCDP\n",
            e->study, e->terms.text, date_text(e->time).text, states[e->state].sentence,
            words_number(e->epsilon).text, words_number(e->delta).text, words_number(e->rho).text);
    }
    fprintf(out, "%zu %s. ", sum.studies, sum.studies == 1 ? "study counts" : "studies count");
    if (sum.studies == 0) {
        fputs("No budget is spent.\n", out);
        return;
    }
    fputs("Of people whose rows are in all of them they may spend\n", out);
    describe_sum(out, &sum);
    fputs(".\n", out);
}

void book_announce(FILE *out, const struct book *b, const char *path,
                   const struct book_entry *entry)
{
    const struct book_sum others = book_add_up(b, entry, NULL);
    const struct book_sum all = book_add_up(b, entry, entry);
    if (others.studies == 0) {
        fprintf(out, "No other study was sent data with this key (%s).\n", path);
        return;
    }
    fprintf(out, "%zu other %s sent data with this key (%s). Of people whose rows are\nin %s:\n  ",
            others.studies, others.studies == 1 ? "study was" : "studies were", path,
            others.studies == 1 ? "it" : "all of them");
    describe_sum(out, &others);
    fputs(";\nand in this one too:\n  ", out);
    describe_sum(out, &all);
    fputs(".\n", out);
}
