/* A study in words for people: who takes part, what is guaranteed, what is not. */
#include "parties/study/study_text.h"

#include "aim/table/series.h"
#include "base/date.h"
#include "base/words.h"
#include "parties/study/method.h"
#include "parties/study/roster.h"
#include "parties/study/study_setting.h"
#include "parties/study/study_uploads.h"

static void describe_impossible(FILE *out, const struct study *s)
{
    if (s->zeros > 0)
        fputs("\nImpossible, by public knowledge: no row of the result will have these.\n", out);
    for (size_t k = 0; k < s->zeros; k++) {
        fprintf(out, "  %s: %zu of %llu combinations\n",
                clique_name(&s->zero[k].clique, s->domain).text, s->zero[k].cells,
                (unsigned long long)clique_cells(&s->zero[k].clique, s->domain));
    }
}

/* Whose a row is, and how servers use that. */
static void describe_persons(FILE *out, const struct study *s)
{
    size_t at = 22;
    fputs("  Whose a row is, say", out);
    for (size_t k = 0; k < s->person.columns; k++)
        study_wrap(out, &at, s->person.column[k], k + 1 < s->person.columns ? "," : ";");
    if (s->link.on) {
        fputs("\n  owners of a batch send a hash of it, shared, and nobody sees it.\n", out);
        if (s->enforce_person)
            fputs("  Linked owners have one row of a person together, whatever they send.\n", out);
        fputs("  Two of n persons are taken for one with a probability below n^2 / 2^65.\n"
              "  Servers see which uploads are sorted by that hash. They name one that is not,\n"
              "  and count no row of its batch. trefoil share sorts.\n",
              out);
        return;
    }
    fprintf(out,
            "\n  owners send a hash of it, shared, and nobody sees it. The servers count no more\n"
            "  than %u %s of a person, at all owners together, whatever owners send: the\n"
            "  first ones, in the order of the owners. What costs one row rho is charged as\n"
            "  %u rho. An owner that knows of a person can so crowd out what later owners have\n"
            "  of them. Two of n persons are taken for one with a probability below n^2 / 2^65.\n"
            "  Servers see which uploads are sorted by that hash, and leave out and name those\n"
            "  that are not. trefoil share sorts.\n",
            s->rows_per_person, study_plural(s->rows_per_person, "row", "rows"),
            s->rows_per_person * s->rows_per_person);
}

/* How persons and events count. */
static void describe_events(FILE *out, const struct study *s)
{
    const struct series *e = s->domain->series;
    const unsigned owners = s->rows_per_person / e->units;
    fprintf(out,
            "\nEvents: rows are %s of persons, told apart by the column %s of two tables,\n"
            "  which is never sent. Each owner's program makes one table of both, in order: what\n"
            "  comes first, in between and last (stage), and what came before (previous).\n"
            "  A person has one unit, whether with 1 event or with 200: the events share %u\n"
            "  parts of it. %s says how many events a person has. What is missing in a\n"
            "  column of events says that there is none, unless the study gives it `missing`.\n"
            "  A result has two tables: %s.\n",
            e->name, e->by, e->units, s->domain->attribute[e->number].name, study_tables(s).text);
    for (uint16_t a = 0; a < s->domain->attributes; a++)
        for (uint16_t b = (uint16_t)(a + 1); b < s->domain->attributes; b++) {
            const struct clique c = {2, {a, b}};
            const uint64_t cells = clique_cells(&c, s->domain);
            if (cells > STUDY_EVENTS_CELLS && workload_find(s->workload, &c) == UINT32_MAX)
                fprintf(out, "  Not measured, since it has %llu cells, more than %d: %s.\n",
                        (unsigned long long)cells, STUDY_EVENTS_CELLS,
                        clique_name(&c, s->domain).text);
        }
    if (owners > 1)
        fprintf(out, "  A person may be at %u owners, each with events of its own.\n", owners);
}

static void describe_guarantee(FILE *out, const struct study *s)
{
    fprintf(out, "\nGuarantee: (%g, %g)-differential privacy for adding or removing %s.\n",
            s->epsilon, s->delta, study_of_persons(s) ? study_unit(s) : "one row");
    if (s->person.columns > 0)
        describe_persons(out, s);
    if (s->domain->series != NULL)
        fprintf(out,
                "  One event more or less of a person is protected less: what costs a person rho\n"
                "  costs it up to 4 rho, since it changes how the others share the unit. A person\n"
                "  at more than %u %s costs more, too.\n",
                s->rows_per_person / s->domain->series->units,
                study_plural(s->rows_per_person / s->domain->series->units, "owner", "owners"));
    else if (s->enforce_person)
        ;
    else if (!study_of_persons(s))
        fputs("  The protected unit is one row. A person with j rows is protected less: what\n"
              "  costs one row rho costs them j^2 rho.\n",
              out);
    else if (s->link.on)
        fprintf(out,
                "  A person has at most %u %s at all owners together, where those that are joined\n"
                "  are one. What costs one row rho is charged as %u rho. A person with j rows\n"
                "  costs j^2 rho.\n",
                s->rows_per_person, study_plural(s->rows_per_person, "row", "rows"),
                s->rows_per_person * s->rows_per_person);
    else
        fprintf(out,
                "  A person has at most %u rows at all owners together; share --person checks\n"
                "  those of one owner. What costs one row rho is charged as %u rho. A person with\n"
                "  j rows costs j^2 rho.\n",
                s->rows_per_person, s->rows_per_person * s->rows_per_person);
    fprintf(out,
            "  It is for tables that fit the study. An owner whose table is refused (because\n"
            "  it has too many or too few %s, or values that do not fit) does not upload,\n"
            "  and others see that.\n"
            "  Each server checks and debits this budget itself; an honest one does not go\n"
            "  beyond it. Budgets of other studies on the same data add up. Trefoil cannot\n"
            "  see them: count them.\n",
            series_counted(s->domain));
}

/* How the rows of a batch are linked. */
static void describe_link(FILE *out, const struct study *s, size_t batch)
{
    const size_t keep = s->link.keep;
    fputs("  Persons whose columns are at several owners: rows of one person are joined,\n"
          "  and a person's rows at one owner beyond the first are not counted.\n",
          out);
    if (keep < s->owners && s->owner[keep].batch == batch)
        fprintf(out, "  All persons of %s count; what others lack of them is missing.\n",
                s->owner[keep].name);
    else
        fputs("  Persons count whom all these owners have.\n", out);
    fputs("  Nobody learns who that is, nor how many but by noisy counts.\n", out);
}

/* Which columns an owner holds if not all, and who holds the others. */
static void describe_columns(FILE *out, const struct study *s, size_t i)
{
    const struct study_owner *o = &s->owner[i];
    size_t at = 22 + 8, others = 0;
    fprintf(out, "  %-20s columns", "");
    for (size_t c = 0; c < o->columns; c++)
        study_wrap(out, &at, s->domain->attribute[o->column[c]].name,
                   c + 1 < o->columns ? "," : ";");
    study_wrap(out, &at, "the", "");
    study_wrap(out, &at, "others", "");
    study_wrap(out, &at, "at", "");
    for (size_t k = 0; k < s->owners; k++)
        if (s->owner[k].batch == o->batch && k != i)
            study_wrap(out, &at, s->owner[k].name, "");
    fputs("\n", out);
    for (size_t k = i + 1; k < s->owners; k++)
        others += s->owner[k].batch == o->batch;
    if (others == 0 && study_linked(s, i)) {
        describe_link(out, s, o->batch);
    } else if (others == 0) { /* the last of its batch */
        fputs("  Rows whose columns are at several owners:\n"
              "  row i of one belongs to row i of the others, and counts if all have it.\n",
              out);
        if (o->rows > 0)
            fprintf(out, "  Each of them must have %u rows.\n", o->rows);
    }
}

/* Owners that are not listed, and what the issuer who admits them could do. */
static void describe_open(FILE *out, const struct study *s)
{
    const struct study_open *o = &s->open;
    fprintf(
        out,
        "  up to %zu others   %u %s each, uploads %s (as %s)\n"
        "  Whoever has a token of the issuer is one of them, and each token is good for one\n"
        "  upload. The issuer sees to it that nobody has two: whoever has j tokens has j times\n"
        "  the rows, and is protected less.\n"
        "  %-20s key %s\n",
        o->most, o->each.max_rows, study_plural(o->each.max_rows, "row", "rows at most"),
        words_bytes(study_upload_bytes(s, s->owners)).text, o->each.records ? "records" : "counts",
        "issuer of tokens", public_identity_fingerprint(&o->issuer).text);
    if (o->revoked_count > 0)
        fprintf(out, "  %zu %s revoked.\n", o->revoked_count,
                study_plural(o->revoked_count, "token is", "tokens are"));
}

static void describe_owners(FILE *out, const struct study *s)
{
    fputs("\nOwners: each sees its own rows and nothing of the others'.\n", out);
    for (size_t i = 0; i < s->owners; i++) {
        fprintf(out,
                "  %-20s %u to %u %s, uploads %s (as %s)\n"
                "  %-20s key %s\n",
                s->owner[i].name, s->owner[i].min_rows, s->owner[i].max_rows,
                series_counted(s->domain), words_bytes(study_upload_bytes(s, i)).text,
                s->owner[i].records ? "records" : "counts", "",
                public_identity_fingerprint(&s->owner[i].key).text);
        if (s->owner[i].columns < s->domain->attributes)
            describe_columns(out, s, i);
    }
    if (s->open.most > 0)
        describe_open(out, s);
    if (s->min_owners < study_owners_most(s))
        fprintf(out, "  A run needs the %s of at least %u of these %zu.\n",
                series_counted(s->domain), s->min_owners, study_owners_most(s));
    if (s->link.min_linked > 0)
        fprintf(out,
                "  A run first measures how many rows were linked, for %g of the budget, and\n"
                "  stops if they seem to be fewer than %u.\n",
                s->link.look, s->link.min_linked);
    if (s->late_join)
        fputs("  Rows that come while a run is on are counted from its next round on. They\n"
              "  pay no more than those that were there, and are seen in fewer marginals.\n",
              out);
}

static void describe_analysts(FILE *out, const struct study *s)
{
    fputs(method_of(s)->gradients
              ? "\nAnalysts: each may start the run; they see the noisy counts of classes, the\n"
                "noisy gradients, the weights and what a test says, never a share.\n"
              : "\nAnalysts: each may start the run; they see which marginals were chosen and\n"
                "their noisy counts, never a share.\n",
          out);
    for (size_t i = 0; i < s->analysts; i++)
        fprintf(out, "  %-20s key %s\n", s->analyst[i].name,
                public_identity_fingerprint(&s->analyst[i].key).text);
    if (s->approvers.at_least == 0)
        return;
    fprintf(out,
            "\nApprovers: nothing is opened without a warrant that %u of these %zu have signed\n"
            "(trefoil approve). It names the analyst, a share of the budget, which is a\n"
            "ceiling on all that is ever opened, and a last day. Each server checks it.\n",
            s->approvers.at_least, s->approvers.count);
    for (size_t i = 0; i < s->approvers.count; i++)
        fprintf(out, "  %-20s key %s\n", s->approvers.who[i].name,
                public_identity_fingerprint(&s->approvers.who[i].key).text);
}

static void describe_times(FILE *out, const struct study *s)
{
    int64_t last = study_purge_due(s, s->uploads_until);
    const struct words_text until = date_text(s->uploads_until);
    const struct words_text due = date_text(last);
    if (s->uploads_until != 0)
        fprintf(out, "Uploads are taken until %s.\n", until.text);
    if (s->retain_days != 0)
        fprintf(out,
                "Servers keep the uploads for %u %s after the last one came. Then their\n"
                "operators are due to purge them; nothing is deleted by itself.\n",
                s->retain_days, study_plural(s->retain_days, "day", "days"));
    if (s->retain_days != 0 && s->uploads_until != 0)
        fprintf(out,
                date_now() < last
                    ? "That is on %s at the latest.\n"
                    : "That time is over, on %s at the latest: a server that still holds any "
                      "should be\nstopped and run with --purge; its signed statement is for "
                      "the owners.\n",
                due.text);
}

static void describe_me(FILE *out, const struct study *s, const struct public_identity *me)
{
    struct roster_person p = {0};
    while (roster_next(s, &p) && !public_identity_equal(p.key, me))
        ;
    if (p.key == NULL)
        fputs("\nYour key has no part in this study.\n", out);
    else if (p.role == ROLE_SERVER)
        fprintf(out, "\nYou are %s %s, %s.\n", study_setting(s)->before[0],
                study_setting(s)->called[p.index], p.name);
    else if (p.role == ROLE_ANALYST)
        fprintf(out, "\nYou are the analyst %s.\n", p.name);
    else if (p.role == ROLE_APPROVER)
        fprintf(out, "\nYou are the approver %s.\n", p.name);
    else
        fprintf(out, "\nYou are the owner %s: at most %u %s, an upload of %s.\n", p.name,
                s->owner[p.index].max_rows, series_counted(s->domain),
                words_bytes(study_upload_bytes(s, p.index)).text);
}

struct words_text study_not_yet(const struct study *study)
{
    struct words_text w;
    snprintf(w.text, sizeof w.text, "not yet: %zu %s", study->keyless,
             study_plural(study->keyless, "key", "keys"));
    return w;
}

void study_describe(FILE *out, const struct study *study, const struct public_identity *me)
{
    const struct domain *d = study->domain;
    if (study->keyless > 0)
        fprintf(out,
                "Study %s\nTerms %s\n  (trefoil keygen --into puts a key in its place; until "
                "all are there, there are no\n  terms to compare)\n\n",
                study->name, study_not_yet(study).text);
    else
        fprintf(out,
                "Study %s\nTerms %s\n  (everybody must see the same; compare by telephone)\n\n",
                study->name, study_fingerprint(study).text);
    fprintf(out, "Data: %zu %s\n", d->attributes,
            study_plural(d->attributes, "attribute", "attributes"));
    study_describe_columns(out, d);
    if (study->columns_from != NULL)
        fprintf(out,
                "  They were written from: %s.\n"
                "  (Columns that are written from owners' rows tell something about them.)\n",
                study->columns_from);
    describe_impossible(out, study);
    if (d->series != NULL)
        describe_events(out, study);
    method_of(study)->describe(out, study);
    describe_guarantee(out, study);
    study_describe_servers(out, study);
    describe_owners(out, study);
    describe_analysts(out, study);
    fputs("\nPublic to all: this file, who uploaded and when, and the results.\n", out);
    describe_times(out, study);
    if (me != NULL)
        describe_me(out, study, me);
}

const char *study_unit(const struct study *study)
{
    return study->domain->series != NULL ? "one person with all events" : "all rows of one person";
}

struct words_text study_most(const struct study *study)
{
    const bool rows = study->domain->series == NULL;
    const unsigned most = study->rows_per_person / series_units(study->domain);
    struct words_text w;
    snprintf(w.text, sizeof w.text, rows ? "with at most %u %s" : "at no more than %u %s", most,
             rows ? study_plural(most, "row", "rows") : study_plural(most, "owner", "owners"));
    return w;
}

struct words_text study_tables(const struct study *study)
{
    const struct series *series = study->domain->series;
    struct words_text w = {"synthetic.csv"};
    if (series != NULL)
        snprintf(w.text, sizeof w.text, "persons.csv, %s.csv", series->name);
    return w;
}
