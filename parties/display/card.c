#include "parties/display/card.h"

#include "aim/table/series.h"
#include "base/text.h"
#include "base/words.h"
#include "parties/study/method.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_text.h"
#include "parties/study/study_uploads.h"

#include <math.h>
#include <string.h>

void card_text(struct bytes *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\`*_{}[]<>#|!&~", *text) != NULL)
            bytes_put_u8(out, '\\');
        bytes_put_u8(out, (uint8_t)*text);
    }
}

static void put_about(struct bytes *out, const struct study *s, enum study_about what,
                      const char *before)
{
    if (s->about[what] == NULL)
        return;
    text_put(out, "%s", before);
    card_text(out, s->about[what]);
    text_put(out, "\n");
}

void card_heading(struct bytes *out, const struct study *s, const char *otherwise)
{
    text_put(out, "# ");
    if (s->about[ABOUT_TITLE] != NULL)
        card_text(out, s->about[ABOUT_TITLE]);
    else
        text_put(out, "%s %s", otherwise, s->name);
    text_put(out, "\n");
    put_about(out, s, ABOUT_DESCRIPTION, "\n");
    put_about(out, s, ABOUT_PURPOSE, "\nPurpose: ");
    put_about(out, s, ABOUT_LICENCE, "\nLicence: ");
    put_about(out, s, ABOUT_CONTACT, "\nContact: ");
}

/* --- who -------------------------------------------------------------------------------------- */

static void put_people(struct bytes *out, const struct study *s)
{
    const struct study_setting *words = study_setting(s);
    text_put(out, "\n## Who takes part\n\n");
    for (size_t i = 0; i < s->owners; i++)
        text_put(out, "- Owner %s: brings at most %u %s.\n", s->owner[i].name, s->owner[i].max_rows,
                 series_counted(s->domain));
    if (s->open.most > 0)
        text_put(out, "- Up to %zu further owners: each brings at most %u %s.\n", s->open.most,
                 s->open.each.max_rows, series_counted(s->domain));
    for (unsigned i = 0; i < s->servers; i++)
        text_put(out, "- %s %s at %s: holds %s, which tell nothing by themselves.\n",
                 words->titles[i], s->server[i].name, s->server[i].host,
                 words->holdings[study_encrypts(s)][i]);
    for (size_t i = 0; i < s->analysts; i++)
        text_put(out, "- Analyst %s: asks the servers, and sees what they open.\n",
                 s->analyst[i].name);
    text_put(out,
             "\nNobody sees the rows but their owner. %s Two servers that collude could read "
             "the data; no single one can.%s\n",
             s->security == STUDY_ABORT
                 ? "The servers prove to each other what they compute (security: abort)."
                 : "Each server is trusted to follow the protocol (security: semi-honest).",
             words->warning);
    if (s->retain_days > 0)
        text_put(out, "The servers are to delete uploads %u days after the last one.\n",
                 s->retain_days);
}

static void put_guarantee(struct bytes *out, const struct study *s)
{
    text_put(out,
             "\n## What is guaranteed\n\n"
             "Differential privacy for everything that comes out of the study together.\n\n"
             "- epsilon %g, delta %s\n- unit: %s",
             s->epsilon, words_number(s->delta).text,
             study_of_persons(s) ? study_unit(s) : "one row");
    if (s->domain->series != NULL)
        text_put(out, ", %s, which the owners have to make sure of", study_most(s).text);
    else if (study_of_persons(s))
        text_put(out, ", at most %u, which %s", s->rows_per_person,
                 s->enforce_person ? "the servers enforce" : "the owners have to make sure of");
    text_put(
        out,
        "\n\nWhatever anybody concludes is at most e^%g = %.2f times as likely with that %s as "
        "without, except with probability %s. Budgets of other studies on the same data add "
        "up with this one.\n",
        s->epsilon, exp(s->epsilon), study_of_persons(s) ? "person" : "row",
        words_number(s->delta).text);
}

/* --- columns ---------------------------------------------------------------------------------- */

static void put_column(struct bytes *out, const struct domain_attribute *a)
{
    char range[DOMAIN_RANGE];
    text_put(out, "| ");
    card_text(out, a->name);
    text_put(out, " | ");
    if (domain_has_order(a))
        card_text(out, domain_range(a, 6, range));
    for (uint32_t i = 0; !domain_has_order(a) && i < a->values && i < 12; i++) {
        text_put(out, "%s", i > 0 ? ", " : "");
        card_text(out, a->labels[i]);
    }
    if (!domain_has_order(a) && a->values > 12)
        text_put(out, ", and %u more", a->values - 12);
    text_put(out, " | %u %s | ", a->values, domain_has_bins(a) ? "bins" : "values");
    if (a->missing != NULL && a->missing[0] == '\0')
        text_put(out, "an empty cell");
    else if (a->missing != NULL)
        card_text(out, a->missing);
    else
        text_put(out, "never");
    text_put(out, " |\n");
}

void card_study(struct bytes *out, const struct study *s)
{
    put_people(out, s);
    put_guarantee(out, s);
    text_put(out, "\n## Columns\n\n| column | values | how many | missing |\n|---|---|---|---|\n");
    for (size_t i = 0; i < s->domain->attributes; i++)
        put_column(out, &s->domain->attribute[i]);
    if (s->columns_from != NULL) {
        text_put(out, "\nThe columns were written from: ");
        card_text(out, s->columns_from);
        text_put(out, ".\n");
    }
}

/* --- limits ----------------------------------------------------------------------------------- */

void card_limits(struct bytes *out, const struct study *s)
{
    text_put(out, "\n## What is assumed\n\n");
    text_put(out, method_of(s)->forms
                      ? "- Two columns are linked as two normal variables would be, by one "
                        "correlation (method: copula).\n"
                      : "- Columns that were not measured together have no more to do with each "
                        "other than follows from what was measured.\n");
    text_put(out, "- Inside a bin nobody counted: numbers there are drawn from an assumed "
                  "density.\n");
    if (method_of(s)->selects)
        text_put(out, "- Values that few rows have may be counted together and shared out.\n");
    for (size_t k = 0; k < s->zeros; k++) {
        text_put(out, "- Impossible, by public knowledge: %zu combinations of ", s->zero[k].cells);
        card_text(out, clique_name(&s->zero[k].clique, s->domain).text);
        text_put(out, ".\n");
    }
    text_put(out,
             "\n## Known failures\n\n"
             "- Small groups: counts that are not well above the noise are noise.\n"
             "- Relations of three or more columns are right only where they were measured or "
             "follow from pairs.\n"
             "- Rare values, extremes and anything outside the columns' ranges are lost.\n"
             "- Tests and standard errors on the synthetic rows as if they were real are too "
             "sure: they do not know of the noise.\n"
             "- The order of %s means nothing%s, and rows cannot be linked to other tables.\n"
             "\n## Synthetic rows that equal real ones\n\n"
             "No synthetic row stands for a person: each is drawn from a model of noisy counts. "
             "Some will equal a real row, as a common combination of values does by chance. That "
             "is no leak: such a row would be in the table about as likely (by a factor of %.2f at "
             "most, except with probability %s) had the real %s not been there. To remove rows "
             "because they are real would be a leak, since it would depend on who is in the "
             "data.\n",
             series_counted(s->domain), s->domain->series != NULL ? ", that of events does" : "",
             exp(s->epsilon), words_number(s->delta).text,
             s->domain->series != NULL ? "person" : "one");
}

/* The same of a classifier, of which no rows are made. */
static void put_classifier_limits(struct bytes *out, bool tests)
{
    text_put(out,
             "\n## What is assumed\n\n"
             "- A row's class follows from a sum of weights, one for each of its values: no weight "
             "is for two columns together.\n"
             "- The rows that it will be used on are like those that it learns from.\n"
             "\n## Known failures\n\n"
             "- Values that few rows have get weights that are mostly noise, and no interval says "
             "which.\n"
             "- Scores are no probabilities.\n"
             "- A weight says what goes with a class in these rows, not what causes it. What is "
             "unfair in the rows is unfair in the classifier.\n");
    text_put(out, "%s",
             tests ? "- How often it is right is measured on rows that are kept back, with noise.\n"
                   : "- How often it is right is not part of what is opened: somebody has to try "
                     "it on rows of known class.\n");
}

enum err card_board(struct bytes *out, const struct study *s)
{
    const bool trains = method_of(s)->gradients;
    card_heading(out, s, "Study");
    text_put(out,
             "\nStudy %s, terms %s, which everybody who takes part can compare. The servers "
             "open %s, each with Gaussian noise that nobody knows. From these %s.\n",
             s->name, s->keyless > 0 ? "not final (keys are missing)" : study_fingerprint(s).text,
             trains                ? "the counts of one column and, step by step, how the weights "
                                     "of a classifier should change"
             : method_of(s)->forms ? "counts of single columns and one number for each pair"
                                   : "counts of chosen combinations of columns",
             trains ? "follow the weights of a classifier, which are public; no rows are made"
                    : "a model is fitted, and from the model a synthetic table is drawn");
    if (s->assess > 0)
        text_put(out,
                 "At the end, %g of the budget opens, with noise, how far the model is from each "
                 "pair of columns, measured or not.\n",
                 s->assess);
    card_study(out, s);
    if (trains)
        put_classifier_limits(out, s->features->tests);
    else
        card_limits(out, s);
    return bytes_ok(out);
}
