/* The columns of a study in words. */
#include "aim/table/derive.h"
#include "parties/study/study_text.h"

static uint32_t spikes_of(const struct domain_attribute *a)
{
    uint32_t spikes = 0;
    for (uint32_t i = 0; i < a->values; i++)
        spikes += domain_spike(a, i);
    return spikes;
}

static void describe_values(FILE *out, size_t *at, const struct domain_attribute *a)
{
    const uint32_t bins = a->values - spikes_of(a);
    char range[DOMAIN_RANGE], text[sizeof range + 64];
    if (!domain_has_order(a))
        snprintf(text, sizeof text, "%u %s", a->values, study_plural(a->values, "value", "values"));
    else if (!domain_has_bins(a))
        snprintf(text, sizeof text, "%ss %s", a->kind->noun, domain_range(a, 6, range));
    else
        snprintf(text, sizeof text, "%s%s%s in %u %s",
                 domain_is_quoted(a) ? a->kind->noun
                 : a->whole          ? "whole number"
                                     : "",
                 domain_is_quoted(a) || a->whole ? "s " : "", domain_range(a, 6, range), bins,
                 study_plural(bins, "bin", "bins"));
    study_wrap(out, at, text, a->missing != NULL ? "," : ";");
}

static void describe_missing(FILE *out, size_t *at, const struct domain_attribute *a)
{
    const uint32_t others = a->missing_too_count;
    char text[160];
    if (a->missing == NULL)
        return;
    if (others == 0 && a->missing[0] == '\0')
        study_wrap(out, at, "or missing (an empty cell)", ";");
    else {
        snprintf(text, sizeof text, "or missing (\"%s\"", a->missing);
        study_wrap(out, at, text, others == 0 ? ");" : ";");
    }
    for (uint32_t i = 0; i < others; i++) {
        snprintf(text, sizeof text, "%s\"%s\"", i == 0 ? "also read: " : "", a->missing_too[i]);
        study_wrap(out, at, text, i + 1 < others ? "," : ");");
    }
}

/* The unit, and how texts are read. */
static void describe_calendar(FILE *out, size_t *at, const struct domain_attribute *a)
{
    const struct calendar *c = a->calendar;
    char text[128];
    if (c == NULL)
        return;
    if (c->unit != CALENDAR_DAY) {
        snprintf(text, sizeof text, "to the %s", calendar_unit_words[c->unit]);
        study_wrap(out, at, text, ";");
    }
    for (uint32_t i = 0; i < c->formats; i++) {
        snprintf(text, sizeof text, "%s\"%s\"", i == 0 ? "written " : "also read: ", c->format[i]);
        study_wrap(out, at, text, ";");
    }
}

/* What is assumed about the numbers inside bins. */
static void describe_inside(FILE *out, size_t *at, const struct domain_attribute *a)
{
    uint32_t left = spikes_of(a);
    char text[128], room[COLUMN_TEXT];
    for (uint32_t i = 0; i < a->values && left > 0; i++) {
        if (!domain_spike(a, i))
            continue;
        snprintf(text, sizeof text, "%.60s%s", domain_text(a, i, 6, room),
                 --left > 0 ? "" : " apart");
        study_wrap(out, at, text, left > 0 ? "," : ";");
    }
    describe_calendar(out, at, a);
    if (a->step > 0 && !(a->whole && a->step == 1)) {
        snprintf(text, sizeof text, "multiples of %g", a->step);
        study_wrap(out, at, text, ";");
    }
    switch (a->tail) {
    case DOMAIN_TAIL_TREND:
        break;
    case DOMAIN_TAIL_EXPONENTIAL:
        study_wrap(out, at, "an exponential tail", ";");
        break;
    case DOMAIN_TAIL_TYPICAL:
        snprintf(text, sizeof text, "%.60s on average in the last bin",
                 domain_print(a, a->typical, 6, room));
        study_wrap(out, at, text, ";");
        break;
    }
}

static void describe_attribute(FILE *out, const struct domain_attribute *a)
{
    const char *noun = domain_is_quoted(a) ? a->kind->noun : "number";
    char text[80];
    size_t at = 22;
    fprintf(out, "  %-20s", a->name);
    describe_values(out, &at, a);
    describe_missing(out, &at, a);
    if (domain_has_bins(a))
        describe_inside(out, &at, a);
    switch (a->policy) {
    case DOMAIN_REJECT:
        study_wrap(out, &at, "a table with any other value is refused", "");
        break;
    case DOMAIN_CLIP:
        snprintf(text, sizeof text, "any other %s counts as the nearest", noun);
        study_wrap(out, &at, text, ";");
        snprintf(text, sizeof text,
                 a->missing != NULL ? "what is no %s counts as missing"
                                    : "a table with what is no %s is refused",
                 noun);
        study_wrap(out, &at, text, "");
        break;
    case DOMAIN_AS_MISSING:
        study_wrap(out, &at, "any other value counts as missing", "");
        break;
    }
    fputc('\n', out);
}

static void describe_list(FILE *out, const char *what, const struct derive_list *list)
{
    if (list->count > 0)
        fputs(what, out);
    for (size_t i = 0; i < list->count; i++)
        fprintf(out, "  %-20s%s\n", list->of[i].name,
                list->of[i].text != NULL ? list->of[i].text : "");
}

void study_describe_columns(FILE *out, const struct domain *d)
{
    for (size_t i = 0; i < d->attributes; i++)
        describe_attribute(out, &d->attribute[i]);
    if (d->derived == NULL)
        return;
    describe_list(out, "\nComputed from others by each owner's program, and measured:\n",
                  &d->derived->from);
    describe_list(out, "\nRead for that alone, and never sent:\n", &d->derived->read);
    describe_list(out, "\nComputed when rows are written, and not measured:\n",
                  &d->derived->computed);
}
