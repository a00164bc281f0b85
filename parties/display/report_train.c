#include "parties/display/report.h"

#include "base/file.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/display/html.h"

#include <math.h>

#define WIDTH 640.0
#define HEIGHT 180.0
#define LEFT 8.0

struct train_page {
    const struct study *study;
    const struct train_result *r;
    const struct classifier *c;
    struct bytes *out;
};

static void head(const struct train_page *p)
{
    report_head(p->out, p->study);
    html_between(p->out, "<h1>Study ", p->study->name, "</h1>\n");
}

static void what_was_run(const struct train_page *p)
{
    const struct features *f = p->c->features;
    unsigned lost = 0;
    for (unsigned t = 0; t < p->r->steps; t++)
        lost += p->r->step[t].lost;
    text_put(p->out,
             "<p class=\"soft\">Terms <code>%s</code>, which everybody who took part can "
             "compare.</p>\n<p class=\"verdict\">A linear classifier of ",
             study_fingerprint(p->study).text);
    html_text(p->out, f->domain->attribute[f->target].name);
    text_put(p->out, ", from about %.0f rows in %u steps.%s%s</p>\n", p->r->rows, p->r->steps,
             p->r->nu > TRAIN_LOUD ? "\nThe noise was louder than what the rows say: expect little "
                                     "of it."
                                   : "",
             p->c->tested != NULL
                 ? ""
                 : "\nHow often it is right cannot be seen here: try it on rows of "
                   "your own with trefoil predict --check.");
    if (lost > 0)
        text_put(p->out,
                 "<p>%u of the steps were lost: they were paid for and taught nothing.</p>\n",
                 lost);
    text_put(p->out,
             "<h2>What is guaranteed</h2>\n<p>Everything that was opened is together (&epsilon; = "
             "%g, &delta; = %s)-differentially private for adding or removing %s. One row moves a "
             "gradient by at most %.4g, whatever it holds and whatever the weights are. &rho; = "
             "%.4g was spent.</p>\n",
             p->study->epsilon, words_number(p->study->delta).text,
             study_of_persons(p->study) ? "all rows of any one person" : "any one row",
             sqrt((double)f->r2 * (double)f->q2), p->r->spent);
}

/* --- classes ---------------------------------------------------------------------------------- */

/* A table of numbers begins. */
static void put_table(const struct train_page *p, const char *what, const char *number)
{
    text_put(p->out,
             "<div class=\"wide\"><table class=\"rows\"><thead><tr><th scope=\"col\">%s</th>"
             "<th scope=\"col\" class=\"n\">%s</th></tr></thead><tbody>\n",
             what, number);
}

static void classes(const struct train_page *p)
{
    const struct features *f = p->c->features;
    char room[COLUMN_TEXT];
    text_put(p->out, "<h2>Classes</h2>\n<p>Noisy counts, with a standard deviation of %.3g.</p>\n",
             p->r->sigma);
    put_table(p, "class", "rows");
    for (uint32_t k = 0; k < f->domain->attribute[f->target].size; k++) {
        text_put(p->out, "<tr><th scope=\"row\">");
        html_text(p->out, k < f->classes ? classifier_class(f, k, room) : "(missing: not used)");
        text_put(p->out, "</th><td class=\"n\">%.0f</td></tr>\n", p->r->count[k]);
    }
    text_put(p->out, "</tbody></table></div>\n");
}

/* --- the test --------------------------------------------------------------------------------- */

static void put_figure(const struct train_page *p, const char *what, struct tested_figure f)
{
    html_between(p->out, "<tr><th scope=\"row\">", what, "</th>");
    if (isnan(f.value))
        text_put(p->out, "<td class=\"n\">noise alone</td></tr>\n");
    else
        text_put(p->out, "<td class=\"n\">%.3f &plusmn; %.3f</td></tr>\n", f.value, f.error);
}

/* How often rows of each score are of the class. */
static void calibration(const struct train_page *p, uint32_t k)
{
    const struct tested *t = p->c->tested;
    char room[COLUMN_TEXT], bin[40];
    html_between(p->out, "<details><summary>",
                 classifier_class(p->c->features, features_class(p->c->features, k), room),
                 "</summary>\n");
    put_table(p, "score", "share of rows with this class");
    for (unsigned b = 0; b < FEATURES_BINS; b++) {
        const double from = (double)b / FEATURES_BINS, to = from + 1.0 / FEATURES_BINS;
        if (b == 0)
            snprintf(bin, sizeof bin, "below %.3f", to);
        else if (b + 1 < FEATURES_BINS)
            snprintf(bin, sizeof bin, "%.3f to %.3f", from, to);
        else
            snprintf(bin, sizeof bin, "%.3f and more", from);
        put_figure(p, bin, tested_share(t, k, b));
    }
    text_put(p->out, "</tbody></table></div></details>\n");
}

static void test(const struct train_page *p)
{
    const struct features *f = p->c->features;
    const struct tested *t = p->c->tested;
    char room[COLUMN_TEXT], what[COLUMN_TEXT + 32];
    text_put(p->out,
             "<h2>How good it is</h2>\n<p>On about %.0f rows that taught it nothing, those "
             "whose ",
             t->rows);
    html_text(p->out, t->column);
    text_put(p->out, " is ");
    html_text(p->out, t->value);
    text_put(
        p->out,
        ": servers counted them by score, in eighths, and class, and opened these counts with "
        "a standard deviation of %.3g. &plusmn; is one standard deviation, of the noise and of "
        "which rows these are. AUC: how often a row of the class is in a higher eighth than "
        "another row; in the same, half.</p>\n",
        t->sigma);
    put_table(p, "figure", "value");
    if (f->classes == 2)
        put_figure(p, "accuracy", t->accuracy);
    for (uint32_t k = 0; k < f->outputs; k++) {
        snprintf(what, sizeof what, "AUC of %s", classifier_class(f, features_class(f, k), room));
        put_figure(p, what, t->auc[k]);
    }
    text_put(p->out, "</tbody></table></div>\n<p>What scores mean:</p>\n");
    for (uint32_t k = 0; k < f->outputs; k++)
        calibration(p, k);
}

/* --- the learning curve ----------------------------------------------------------------------- */

static void curve(const struct train_page *p)
{
    const struct features *f = p->c->features;
    const double each = (WIDTH - 2 * LEFT) / p->r->steps;
    double most = 1;
    for (unsigned t = 0; t < p->r->steps; t++)
        most = fmax(most, fmax(train_length(p->r, t), train_noise(f, p->r->step[t].multiplier)));
    text_put(p->out,
             "<h2>How it learned</h2>\n<p>The length of each step's gradient, with its noise; the "
             "line is the length of the noise alone. A bar no higher than the line shows nothing "
             "but noise. Lost steps have no bar.</p>\n"
             "<div class=\"large\"><svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"Length of "
             "the gradient by step\">",
             WIDTH, HEIGHT + 20);
    for (unsigned t = 0; t < p->r->steps; t++) {
        const double x = LEFT + each * t, high = HEIGHT * train_length(p->r, t) / most;
        const double noise = HEIGHT * (1 - train_noise(f, p->r->step[t].multiplier) / most);
        text_put(p->out,
                 "<rect class=\"model\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>"
                 "<path class=\"noisy\" d=\"M%.2f %.2fh%.2f\"/>",
                 x + 0.1 * each, HEIGHT - high, 0.8 * each, high, x, noise, each);
    }
    text_put(p->out,
             "<text x=\"%g\" y=\"%g\" class=\"t\">step 1</text><text x=\"%g\" y=\"%g\" "
             "class=\"t end\">step %u</text></svg></div>\n",
             LEFT, HEIGHT + 15, WIDTH - LEFT, HEIGHT + 15, p->r->steps);
}

/* --- weights ---------------------------------------------------------------------------------- */

static void weight_row(const struct train_page *p, uint32_t feature, const char *name)
{
    const struct features *f = p->c->features;
    html_between(p->out, "<tr><th scope=\"row\">", name, "</th>");
    for (uint32_t k = 0; k < f->outputs; k++)
        text_put(p->out, "<td class=\"n\">%+.4f</td>", p->c->coef[(size_t)k * f->count + feature]);
    text_put(p->out, "</tr>\n");
}

static void weights_head(const struct train_page *p, const char *what)
{
    const struct features *f = p->c->features;
    char room[COLUMN_TEXT];
    html_between(p->out, "<div class=\"wide\"><table class=\"rows\"><thead><tr><th scope=\"col\">",
                 what, "</th>");
    for (uint32_t k = 0; k < f->outputs; k++) {
        html_between(p->out, "<th scope=\"col\" class=\"n\">",
                     classifier_class(f, features_class(f, k), room), "</th>");
    }
    text_put(p->out, "</tr></thead><tbody>\n");
}

static void column(const struct train_page *p, size_t i)
{
    const struct features_column *c = &p->c->features->column[i];
    const struct domain_attribute *a = &p->c->features->domain->attribute[i];
    char room[COLUMN_TEXT];
    html_between(p->out, "<details><summary>", a->name, "</summary>\n");
    weights_head(p, a->name);
    for (uint32_t code = 0; code < c->count; code++)
        weight_row(p, c->first + code,
                   code < a->values ? domain_text(a, code, 0, room) : "(missing)");
    text_put(p->out, "</tbody></table></div></details>\n");
}

static void weights(const struct train_page *p)
{
    const struct features *f = p->c->features;
    text_put(p->out,
             "<h2>Weights</h2>\n<p>What a row's score for a class gains by %s. The noise "
             "is in them, and no interval is: none is proved.</p>\n",
             f->norm2 > 0 ? "each unit of a column"
                          : "having a value; bins are named by their "
                            "least number");
    weights_head(p, f->norm2 > 0 ? "column" : "");
    for (size_t i = 0; i < f->domain->attributes; i++)
        if (f->column[i].kind == FEATURES_NUMBER)
            weight_row(p, f->column[i].first, f->domain->attribute[i].name);
    weight_row(p, f->count - 1, "(every row)");
    text_put(p->out, "</tbody></table></div>\n");
    for (size_t i = 0; i < f->domain->attributes; i++)
        if (f->column[i].kind == FEATURES_ONE_HOT)
            column(p, i);
}

enum err report_train(const char *folder, const struct study *study, const struct train_result *r,
                      const struct classifier *c, struct log *log)
{
    struct bytes out CLEAN(bytes_clear) = {0};
    const struct train_page p = {study, r, c, &out};
    char path[FILE_PATH];
    head(&p);
    what_was_run(&p);
    if (c->tested != NULL)
        test(&p);
    curve(&p);
    classes(&p);
    weights(&p);
    text_put(&out, "<h2>The files beside this page</h2>\n<ul class=\"files\"><li><a "
                   "href=\"classifier.json\">classifier.json</a>: the classifier, for "
                   "<code>trefoil predict</code>, Python and others</li><li><a "
                   "href=\"trajectory.json\">trajectory.json</a>: all that was opened</li></ul>\n"
                   "</body></html>\n");
    TRY(bytes_ok(&out));
    TRY(file_path(path, log, "%s/report.html", folder));
    return file_write(path, 0644, out.data, out.size, log);
}
