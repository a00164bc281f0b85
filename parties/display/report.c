/* The sections of a report, in order: each is a function. */
#include "parties/display/report.h"

#include "aim/budget/forms.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/words.h"
#include "parties/display/report_private.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_text.h"

#include <math.h>

static void names_in_words(struct bytes *out, size_t i, size_t count, const char *name)
{
    text_put(out, "%s", i == 0 ? "" : i + 1 == count ? " and " : ", ");
    html_text(out, name);
}

/* Standard error of the model's total, which weighs sums of measurements by inverse variance. */
static double total_error(const struct report *r)
{
    double weight = 0;
    for (size_t i = 0; i < r->found.measurements; i++) {
        const struct measurement *m = &r->found.measurement[i];
        if (m->total > 0) /* of fewer rows, before an owner joined: not part of the total */
            continue;
        weight += 1 / (m->sigma * m->sigma * (double)measurement_cells(m, r->of->domain));
    }
    return sqrt(1 / weight);
}

/* Different marginals among the measured ones: a run may measure one again. */
static size_t different_marginals(const struct report *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->found.measurements; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = clique_equal(&r->found.measurement[i].clique, &r->found.measurement[k].clique);
        n += !seen;
    }
    return n;
}

static double sum_of_servers(const struct report *r, const char *key)
{
    double sum = 0;
    for (unsigned i = 0; i < r->study->servers; i++)
        for (size_t k = 0; k < REPORT_PHASES; k++)
            sum += report_number(report_phase(r, i, k), key);
    return sum;
}

/* --- what was run ----------------------------------------------------------------------------- */

static void card(struct bytes *out, const char *value, const char *what)
{
    text_put(out, "<div><b>%s</b><small>%s</small></div>", value, what);
}

static void cards(const struct report *r)
{
    char value[80], what[40];
    text_put(r->out, "<div class=\"cards\">");
    snprintf(value, sizeof value, "&epsilon; %g, &delta; %s", r->study->epsilon,
             words_number(r->study->delta).text);
    card(r->out, value, "differential privacy");
    snprintf(value, sizeof value, "%.0f &plusmn; %.0f", released_total(r->of), 2 * total_error(r));
    snprintf(what, sizeof what, "%s, from noisy counts (95 %%)", series_counted(r->of->domain));
    card(r->out, value, what);
    if (r->of->copula != NULL) {
        snprintf(value, sizeof value, "%zu", (size_t)forms_pairs(r->of->domain->attributes));
        card(r->out, value,
             "pairs measured, in a number each, or one for each two groups of labels");
    } else {
        snprintf(value, sizeof value, "%zu of %zu", different_marginals(r),
                 r->study->workload->queries);
        card(r->out, value, "marginals measured");
    }
    card(r->out, words_time(report_number(r->stats, "total_s")).text, "at work");
    if (sum_of_servers(r, "wire_sent") > 0) /* servers tell when a run ends, unless that fails */
        card(r->out, words_bytes((uint64_t)sum_of_servers(r, "wire_sent")).text,
             "between the servers");
    text_put(r->out, "</div>\n");
}

static void put_owners(const struct report *r)
{
    const size_t all = study_owners_most(r->study);
    size_t shown = r->study->owners > 8 ? 7 : r->study->owners;
    for (size_t i = 0; i < shown; i++)
        names_in_words(r->out, i, shown == all ? shown : shown + 1, r->study->owner[i].name);
    if (shown < all)
        text_put(r->out, "%s%zu others", shown > 0 ? " and " : "", all - shown);
}

static size_t counted_owners(const struct report *r, size_t round)
{
    return (size_t)report_number(report_round(r, round), "owners");
}

/* Owners may be missing (min_owners) and may join during a run (late_uploads). */
static void whose_rows(const struct report *r)
{
    size_t rounds = json_array_size(json_object_get(r->stats, "rounds")),
           all = study_owners_most(r->study);
    size_t counted = counted_owners(r, 0);
    text_put(r->out, "%zu %s %s: ", all, all == 1 ? "owner" : "owners",
             counted == all ? "brought records" : "could bring records");
    put_owners(r);
    if (counted == all)
        return;
    text_put(r->out, ". The rows of %zu of them were counted", counted);
    for (size_t i = 1; i < rounds; i++) {
        if (counted_owners(r, i) == counted)
            continue;
        counted = counted_owners(r, i);
        text_put(r->out, ", from round %zu on those of %zu", i, counted);
    }
    if (counted != counted_owners(r, 0))
        text_put(r->out,
                 "; what was measured before an owner joined is scaled to the final number of %s",
                 series_counted(r->of->domain));
}

/* How the rows of a batch came together, and how many did. */
static void what_was_linked(const struct report *r)
{
    const json_t *linked = json_object_get(r->stats, "linked");
    if (!r->study->link.on)
        return;
    text_put(r->out, ". Rows of one person at several owners were joined, and nobody saw which");
    if (json_is_object(linked))
        text_put(r->out,
                 ": a first look showed about %.0f whom all owners of their batch have (&plusmn; "
                 "%.0f), of the %.0f that the study asks for",
                 fmax(0, report_number(linked, "rows")), ceil(2 * report_number(linked, "sigma")),
                 report_number(linked, "min_linked"));
}

static void what_was_run(const struct report *r, const char *verdict)
{
    const size_t rounds = r->found.measurements - r->of->domain->attributes;
    char later[160] = " one number for each two (method: copula)";
    if (r->study->sweeps > 0)
        snprintf(
            later, sizeof later,
            ", %u %s, opened how far the model was from every marginal and measured a set of them",
            r->study->sweeps, r->study->sweeps == 1 ? "time" : "times");
    else if (r->of->copula == NULL)
        snprintf(later, sizeof later,
                 ", %zu %s, chose the marginal that the model so far fitted worst and measured it",
                 rounds, rounds == 1 ? "time" : "times");
    html_between(r->out, "<h1>Study ", r->study->name, "</h1>\n<p class=\"soft\">Finished ");
    html_text(r->out, json_string_value(json_object_get(r->stats, "finished")));
    text_put(r->out, ". Terms <code>%s</code>, which everybody who took part can compare.</p>\n",
             study_fingerprint(r->study).text);
    html_between(r->out, "<p class=\"verdict\">", verdict, "</p>\n");
    cards(r);
    text_put(r->out, "<p>");
    whose_rows(r);
    what_was_linked(r);
    text_put(r->out, ". %s, ", study_setting(r->study)->together);
    for (unsigned i = 0; i < r->study->servers; i++)
        names_in_words(r->out, i, r->study->servers, r->study->server[i].name);
    text_put(r->out,
             ", held them as secret shares, none of which tells anything by itself. Together they "
             "measured each of %zu attributes once and then%s. What they opened is %s, each with "
             "Gaussian noise %s. From that, and from nothing else, come the model, the "
             "synthetic table and this page.</p>\n",
             r->of->domain->attributes, later,
             r->of->copula != NULL  ? "the counts of the attributes, and these numbers"
             : r->study->sweeps > 0 ? "these distances and the counts"
                                    : "the choices and the counts",
             r->study->noise_by == NOISE_BY_BOTH    ? "of each, which the other does not know"
             : r->study->noise_by == NOISE_BY_OWNER ? "of the owner, which no server knows"
                                                    : "that nobody knows");
}

static const char *whether_servers_prove(enum study_security security)
{
    switch (security) {
    case STUDY_SEMI_HONEST:
        return "Each server was trusted to follow the protocol (security: semi-honest).";
    case STUDY_ABORT:
        return "The servers proved to each other what they computed (security: abort); had one "
               "departed from the protocol, the run would have stopped.";
    }
    return "";
}

static void what_is_guaranteed(const struct report *r)
{
    const struct study *s = r->study;
    const size_t rounds = json_array_size(json_object_get(r->stats, "rounds"));
    const struct words_text delta = words_number(s->delta);
    const bool row = !study_of_persons(s);
    const double spent = report_number(report_round(r, rounds - 1), "spent") +
                         (r->found.assess != NULL ? r->found.assess->cost : 0);
    text_put(r->out,
             "<h2>What is guaranteed</h2>\n<p>Everything that came out of this study together is "
             "(&epsilon; = %g, &delta; = %s)-differentially private for adding or removing %s. "
             "Whatever anybody concludes from it is at most e<sup>%g</sup> = %.2f times as likely "
             "with %s as without, except with probability %s. The bound covers the noise as it was "
             "computed, %s.</p>\n",
             s->epsilon, delta.text,
             row                         ? "any one row"
             : s->domain->series != NULL ? study_unit(s)
                                         : "all rows of any one person",
             s->epsilon, exp(s->epsilon), row ? "that row" : "that person", delta.text,
             noise_made[s->noise]);
    if (s->enforce_person)
        text_put(
            r->out,
            "<p>However many rows a person has at all owners, no more than %u counted: the servers "
            "made sure of that, whatever owners sent, without learning whose rows they are.</p>\n",
            s->rows_per_person);
    else if (!row)
        text_put(r->out,
                 "<p>It holds for people %s%s. The owners have to make sure that nobody has "
                 "more.</p>\n",
                 study_most(s).text, s->link.on ? ", where those that were joined are one" : "");
    text_put(r->out,
             "<p>Each server kept the budget by itself: &rho; = %.4g (%s), of which %.4g is spent",
             report_number(r->stats, "rho"), study_accounting_words[s->accounting], spent);
    if (s->accounting == ACCOUNTING_GAUSSIAN)
        text_put(r->out, ", as private as one count with Gaussian noise of standard deviation %.3g",
                 ledger_deviation(1, spent));
    text_put(r->out,
             ". Budgets of other studies on the same data add up with this one. Two servers that "
             "collude could read the data; no single one can. %s</p>\n",
             whether_servers_prove(s->security));
}

/* --- budget, costs ---------------------------------------------------------------------------- */

static void key(struct bytes *out, const char *class, const char *what)
{
    text_put(out,
             "<li><svg viewBox=\"0 0 14 10\"><rect class=\"%s\" width=\"14\" height=\"10\"/></svg>"
             "%s</li>",
             class, what);
}

static void budget(const struct report *r)
{
    text_put(
        r->out,
        "<section><h2>Where the budget went</h2>\n<p>Round 0 measures all attributes; %s"
        ".</p>\n<ul class=\"key\">",
        r->of->copula != NULL ? "round 1 one number for each two"
        : r->study->sweeps > 0
            ? "odd rounds open how far the model is from each marginal, even ones measure a set"
            : "each later round spends a little on the choice and most on the "
              "measurement");
    key(r->out, "model", "measuring");
    if (r->of->copula == NULL)
        key(r->out, "select", r->study->sweeps > 0 ? "scores" : "choosing");
    text_put(r->out, "</ul>\n<div class=\"figure\">");
    report_chart_budget(r);
    text_put(r->out, "</div></section>\n");
}

static void cost_row(const struct report *r, size_t phase)
{
    text_put(r->out, "<tr><th scope=\"row\">%s</th><td class=\"n hide\">%.0f</td>",
             report_phases[phase].name, report_number(report_phase(r, 0, phase), "rounds"));
    for (unsigned i = 0; i < r->study->servers; i++) {
        const json_t *o = report_phase(r, i, phase);
        text_put(r->out, "<td class=\"n\">%s<br>%s</td>",
                 words_time(report_number(o, "seconds")).text,
                 words_bytes((uint64_t)report_number(o, "wire_sent")).text);
    }
    text_put(r->out, "</tr>\n");
}

static void costs(const struct report *r)
{
    const json_t *analyst = json_object_get(r->stats, "analyst");
    if (sum_of_servers(r, "wire_sent") == 0)
        return;
    text_put(r->out, "<h2>Time, bytes and rounds</h2>\n<ul class=\"key\">");
    for (size_t k = 0; k < REPORT_PHASES; k++) {
        char class[8];
        snprintf(class, sizeof class, "p%zu", k);
        key(r->out, class, report_phases[k].name);
    }
    text_put(r->out, "</ul>\n<div class=\"figure\">");
    report_chart_phases(r);
    text_put(r->out,
             "</div>\n<div class=\"wide\"><table class=\"costs\"><thead><tr><th scope=\"col\">"
             "phase</th><th scope=\"col\" class=\"n hide\">rounds</th>");
    for (unsigned i = 0; i < r->study->servers; i++) {
        html_between(r->out, "<th scope=\"col\" class=\"n\">", r->study->server[i].name, "</th>");
    }
    text_put(r->out, "</tr></thead><tbody>\n");
    for (size_t k = 0; k < REPORT_PHASES; k++)
        cost_row(r, k);
    text_put(r->out,
             "</tbody></table></div>\n<p>Bytes are what a server sent to the others. The "
             "analyst's program sent %s and received %s; it waited %s for the servers, and its "
             "estimator took %s.</p>\n",
             words_bytes((uint64_t)report_number(analyst, "bytes_sent")).text,
             words_bytes((uint64_t)report_number(analyst, "bytes_received")).text,
             words_time(report_number(r->stats, "mpc_s")).text,
             words_time(report_number(r->stats, "estimate_s")).text);
}

/* --- attributes ------------------------------------------------------------------------------- */

static enum err attributes(const struct report *r)
{
    text_put(
        r->out,
        "<h2>Attribute by attribute</h2>\n<p>Rows by value, according to the model. Beside them "
        "are the noisy counts that were opened in round 0, with a band of twice the standard "
        "deviation of their noise: about 95 of 100 true counts lie inside it. Bins are drawn to "
        "their width, and their area is their rows; nobody counted how rows lie inside a bin, so "
        "the slope that is drawn there is an assumption.%s</p>\n<ul class=\"key\">",
        r->found.measurement[0].total > 0
            ? " The noisy counts are of the owners who were there then, scaled to the final number "
              "of rows; the band does not cover how the others' rows differ."
            : "");
    key(r->out, "model", "model");
    key(r->out, "band", "noisy count &plusmn; 2&sigma;");
    if (r->truth != NULL)
        text_put(r->out, "<li><svg viewBox=\"0 0 14 10\"><path class=\"truth\" d=\"M7 0l5 5-5 "
                         "5-5-5z\"/></svg>the truth (this is a demo)</li>");
    text_put(r->out, "</ul>\n<div class=\"grid\">\n");
    for (size_t a = 0; a < r->of->domain->attributes; a++)
        TRY(report_chart_attribute(r, (uint16_t)a));
    text_put(r->out, "</div>\n");
    return ERR_OK;
}

/* A copula's measurements are not tables, except those of one attribute. */
static const char into_private_pgm[] =
    "<p>Into Python's private-pgm:</p>\n"
    "<pre>import json\n"
    "import numpy as np\n"
    "from mbi import Domain, LinearMeasurement, estimation\n"
    "\n"
    "doc = json.load(open(\"measurements.json\"))\n"
    "groups = doc.get(\"merged\", {})\n"
    "sizes = {name: max(groups.get(name, range(size))) + 1 for name, size in "
    "doc[\"domain\"].items()}\n"
    "domain = Domain.fromdict(sizes)  # of groups, where values are merged\n"
    "measurements = []\n"
    "for m in doc[\"measurements\"]:\n"
    "    scale = doc[\"total\"] / m.get(\"total\", doc[\"total\"])  # others' rows came later\n"
    "    values, sigma = np.array(m[\"values\"]), m[\"sigma\"]\n"
    "    group = groups.get(m[\"attributes\"][0])\n"
    "    if group and \"merged\" not in m:  # measured alone: add up each group\n"
    "        sigma *= (len(values) / (max(group) + 1)) ** 0.5\n"
    "        values = np.bincount(group, values)\n"
    "    names = tuple(m[\"attributes\"])\n"
    "    measurements.append(LinearMeasurement(scale * values, names, scale * sigma))\n"
    "model = estimation.mirror_descent(domain, measurements, known_total=doc[\"total\"])\n"
    "rows = model.synthetic_data()</pre>\n";

static void files(const struct report *r)
{
    text_put(
        r->out,
        "<h2>The files beside this page</h2>\n"
        "<ul class=\"files\"><li><a href=\"README.md\">README.md</a>: a data card, for boards and "
        "catalogues</li>"
        "<li>%s</li>"
        "<li><a href=\"model\">model</a>: the model itself, from which <code>trefoil synth</code> "
        "draws more rows and <code>trefoil query</code> answers questions, at no cost in "
        "privacy</li>%s"
        "<li><a href=\"measurements.json\">measurements.json</a>: all noisy counts, for other "
        "programs</li>"
        "<li><a href=\"stats.json\">stats.json</a>: what the run took</li></ul>\n",
        r->of->domain->series != NULL
            ? "persons and their events, each a CSV file: drawn from the model, in the study's own "
              "labels, numbers and dates"
            : "<a href=\"synthetic.csv\">synthetic.csv</a>: rows drawn from the "
              "model, in the study's own labels and numbers; "
              "<a href=\"synthetic.csv-metadata.json\">its columns</a> for programs (CSVW)",
        r->of->copula != NULL ? ""
                              : "<li><a href=\"errors\">errors</a>: how far off answers may be, "
                                "unless this was left out (<code>--quick</code>)</li>");
    if (r->of->copula == NULL)
        text_put(r->out, "%s", into_private_pgm);
    text_put(r->out,
             "<p class=\"soft\"><small>Written by Trefoil %s from <code>study.yaml</code>, "
             "<code>measurements.json</code>, <code>model</code> and <code>stats.json</code> "
             "alone%s.</small></p>\n",
             TREFOIL_VERSION, r->truth != NULL ? ", and the truth where it is marked" : "");
}

static enum err page(const struct report_pairs *pairs, const char *verdict)
{
    const struct report *r = pairs->r;
    report_head(r->out, r->study);
    what_was_run(r, verdict);
    TRY(report_pairs(pairs));
    what_is_guaranteed(r);
    if (r->truth != NULL)
        report_truth(r);
    TRY(report_fit(r));
    TRY(attributes(r));
    budget(r);
    costs(r);
    files(r);
    text_put(r->out, "</body></html>\n");
    return bytes_ok(r->out);
}

enum err report_write(const char *folder, const struct study *study,
                      const struct report_truth *truth, struct bytes *verdict, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    struct bytes out CLEAN(bytes_clear) = {0};
    struct released of CLEAN(released_clear) = {0};
    struct report r CLEAN(report_unload) = {
        .of = &of, .study = study, .truth = truth, .out = &out, .log = log};
    struct report_pairs pairs CLEAN(report_pairs_clear) = {0};
    char path[FILE_PATH];
    verdict = verdict != NULL ? verdict : &text;
    TRY(report_load(&r, folder));
    TRY(report_pairs_find(&pairs, &r));
    TRY(report_verdict(&pairs, verdict));
    TRY(page(&pairs, (const char *)verdict->data));
    TRY(file_path(path, log, "%s/report.html", folder));
    TRY(file_write(path, 0644, out.data, out.size, log));
    return report_card(&pairs, (const char *)verdict->data, folder);
}
