/* result/README.md: a data card of the table, from the study and what a run opened. */
#include "aim/table/series.h"
#include "base/file.h"
#include "parties/display/card.h"
#include "parties/display/report_private.h"
#include "parties/study/study_text.h"

#include <string.h>

#define LISTED_MOST 100

static void put_stat(const struct report *r, const char *what, const char *key)
{
    const char *text = json_string_value(json_object_get(r->stats, key));
    text_put(r->out, "- %s: ", what);
    card_text(r->out, text != NULL ? text : "unknown");
    text_put(r->out, "\n");
}

static void put_facts(const struct report *r)
{
    text_put(r->out,
             "\n## What it is\n\n"
             "`%s`: rows that a program drew from a model of noisy counts. No row is "
             "a person's. `report.html` shows what was measured, and `trefoil query` answers "
             "questions with intervals, which is better than counting synthetic rows.\n\n",
             study_tables(r->study).text);
    text_put(r->out, "- study: %s\n", r->study->name);
    put_stat(r, "terms", "terms");
    put_stat(r, "run", "run");
    put_stat(r, "finished", "finished");
    put_stat(r, "made with Trefoil", "version");
    text_put(r->out, "- real %s, by noisy counts: about %.0f\n", series_counted(r->of->domain),
             released_total(r->of));
}

static void put_measured(const struct report_pairs *p)
{
    const struct report *r = p->r;
    const size_t all = r->found.measurements;
    text_put(r->out,
             "\n## What was measured\n\n"
             "Counts by these columns, each cell with Gaussian noise of deviation sigma:\n\n");
    for (size_t i = 0; i < all && i < LISTED_MOST; i++) {
        const struct measurement *m = &r->found.measurement[i];
        text_put(r->out, "- ");
        card_text(r->out, clique_name(&m->clique, r->of->domain).text);
        text_put(r->out, ": sigma %.4g%s\n", m->sigma,
                 m->merges != NULL && merges_touch(m->merges, &m->clique)
                     ? ", rare values counted together"
                     : "");
    }
    if (all > LISTED_MOST)
        text_put(r->out, "- and %zu more, in `measurements.json`\n", all - LISTED_MOST);
    if (r->of->copula != NULL)
        text_put(r->out,
                 "- of each of %zu pairs of columns, sums of products of scores, with noise "
                 "of deviation %.4g\n",
                 p->count, report_number(report_round(r, 1), "sigma"));
    if (r->found.knowns > 0)
        text_put(r->out, "\nThe model was also given %zu published margins, which it matches.\n",
                 r->found.knowns);
}

enum err report_card(const struct report_pairs *p, const char *verdict, const char *folder)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    struct report r = *p->r;
    struct report_pairs pairs = *p;
    char path[FILE_PATH];
    r.out = &out;
    pairs.r = &r;
    card_heading(&out, r.study, "Synthetic table of study");
    for (const char *line = verdict; *line != '\0'; line += strcspn(line, "\n") + 1) {
        char room[4096];
        const size_t n = strcspn(line, "\n"), most = sizeof room - 1;
        memcpy(room, line, n < most ? n : most);
        room[n < most ? n : most] = '\0';
        text_put(&out, line == verdict ? "\n> " : ">\n> ");
        card_text(&out, room);
        text_put(&out, "\n");
    }
    put_facts(&r);
    put_measured(&pairs);
    card_study(&out, r.study);
    card_limits(&out, r.study);
    TRY(bytes_ok(&out));
    TRY(file_path(path, r.log, "%s/README.md", folder));
    TRY(file_write(path, 0644, out.data, out.size, r.log));
    return card_csvw(folder, r.study, json_string_value(json_object_get(r.stats, "finished")),
                     r.log);
}
