/* result/README.md: a data card of the table, from the study and what a run opened. */
#include "aim/table/derive.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/display/card.h"
#include "parties/display/report_private.h"
#include "parties/study/study_text.h"

#include <jansson.h>
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

/* A regular expression of all labels. */
static json_t *labels_of(const struct domain_attribute *a)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    for (uint32_t i = 0; i < a->values; i++) {
        bytes_put_u8(&text, i > 0 ? '|' : '(');
        for (const char *c = a->labels[i]; *c != '\0'; c++) {
            if (strchr("\\.[]{}()*+?|^$-", *c) != NULL)
                bytes_put_u8(&text, '\\');
            bytes_put_u8(&text, (uint8_t)*c);
        }
    }
    bytes_put_u8(&text, ')');
    return bytes_ok(&text) == ERR_OK ? json_stringn((char *)text.data, text.size) : NULL;
}

/* What a synthetic value of the column is. */
static json_t *datatype(const struct domain_attribute *a)
{
    const struct calendar *c = a->calendar;
    if (domain_is_quoted(a)) /* in whatever format: readers of CSVW know others than strptime()'s */
        return json_pack("{s:s}", "base",
                         c == NULL || c->formats > 0 || c->unit != CALENDAR_DAY ? "string"
                                                                                : "date");
    if (!domain_has_numbers(a))
        return json_pack("{s:s, s:o}", "base", "string", "format", labels_of(a));
    return json_pack("{s:s, s:f, s:f}", "base",
                     !domain_has_bins(a) || a->whole ? "integer" : "number", "minimum",
                     domain_number(a, 0), "maximum", domain_last(a));
}

static json_t *column(const struct domain_attribute *a)
{
    json_t *o = json_pack("{s:s, s:o, s:b}", "titles", a->name, "datatype", datatype(a), "required",
                          a->missing == NULL);
    if (a->missing != NULL)
        json_object_set_new(o, "null", json_string(a->missing));
    return o;
}

static json_t *document(const struct study *s, const char *finished)
{
    static const char *const terms[STUDY_ABOUT] = {
        [ABOUT_TITLE] = "dc:title",
        [ABOUT_DESCRIPTION] = "dc:description",
        [ABOUT_PURPOSE] = "https://w3id.org/dpv#hasPurpose",
        [ABOUT_LICENCE] = "dc:rights",
        [ABOUT_CONTACT] = "dcat:contactPoint",
    };
    json_t *columns = json_array(), *o;
    for (size_t i = 0; i < s->domain->attributes; i++)
        json_array_append_new(columns, column(&s->domain->attribute[i]));
    for (size_t i = 0; s->domain->derived != NULL && i < s->domain->derived->computed.count; i++)
        json_array_append_new(columns, json_pack("{s:s, s:s, s:s}", "titles",
                                                 s->domain->derived->computed.of[i].name,
                                                 "datatype", "string", "dc:description",
                                                 s->domain->derived->computed.of[i].text));
    o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:{s:s, s:b, s:s}, s:{s:o}}", "@context",
                  "http://www.w3.org/ns/csvw", "url", "synthetic.csv", "dc:title", s->name,
                  "dc:issued", finished, "rdfs:comment",
                  "Synthetic rows: drawn from a model of noisy counts. No row is a person's. "
                  "README.md says what the table is good for.",
                  "dialect", "encoding", "utf-8", "header", 1, "delimiter", ",", "tableSchema",
                  "columns", columns);
    for (size_t i = 0; i < STUDY_ABOUT && o != NULL; i++) {
        const bool link = i == ABOUT_LICENCE && s->about[i] != NULL &&
                          strncmp(s->about[i], "http", 4) == 0;
        if (s->about[i] != NULL)
            json_object_set_new(o, link ? "dc:license" : terms[i],
                                link ? json_pack("{s:s}", "@id", s->about[i])
                                     : json_string(s->about[i]));
    }
    return o;
}

/*
 * synthetic.csv-metadata.json beside synthetic.csv: CSVW, with the study's words as terms of DCAT.
 * `finished` is when the run was.
 */
static enum err write_csvw(const char *folder, const struct study *s, const char *finished,
                           struct log *log)
{
    char path[FILE_PATH];
    json_auto_t *o = s->domain->series == NULL ? document(s, finished) : NULL;
    char *text CLEAN(memory_release) = o != NULL ? json_dumps(o, JSON_INDENT(2)) : NULL;
    if (s->domain->series != NULL)
        return ERR_OK; /* it has two tables */
    TRY(file_path(path, log, "%s/synthetic.csv-metadata.json", folder));
    return text != NULL ? file_write(path, 0644, text, strlen(text), log) : ERR_NOMEM;
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
    return write_csvw(folder, r.study, json_string_value(json_object_get(r.stats, "finished")),
                      r.log);
}
