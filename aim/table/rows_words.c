/* What messages say about values and names that do not fit. */
#include "aim/table/rows.h"

#include "base/encoding.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int describe_labels(const struct domain_attribute *a, char *text, size_t size)
{
    int n = snprintf(text, size, "one of");
    if (a->values > 8)
        return snprintf(text, size, "one of %u labels: '%s', '%s', '%s', ...", a->values,
                        a->labels[0], a->labels[1], a->labels[2]);
    for (uint32_t i = 0; i < a->values && n >= 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, "%s '%s'", i > 0 ? "," : "", a->labels[i]);
    return n;
}

void rows_allowed(const struct domain_attribute *a, char *text, size_t size)
{
    char range[DOMAIN_RANGE];
    const int n = !domain_has_order(a) ? describe_labels(a, text, size)
                                       : snprintf(text, size, "a %s from %s", a->kind->noun,
                                                  domain_range(a, 6, range));
    if (a->missing != NULL && n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ", or '%s' if missing", a->missing);
}

void rows_accents(const char *text, const char *const *expected, size_t count, char hint[ROWS_HINT])
{
    char points[24];
    if (encoding_decomposed(text, points) != NULL) {
        snprintf(
            hint, ROWS_HINT,
            " (decomposed Unicode: %s for one letter. The study may have it composed: save the "
            "file in the form NFC)",
            points);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (encoding_decomposed(expected[i], points) != NULL)
            snprintf(
                hint, ROWS_HINT,
                " (the study has decomposed Unicode: %s for one letter. It and the file should "
                "both be in the form NFC)",
                points);
}

void rows_case(const char *names, const char *name, char hint[ROWS_HINT])
{
    const size_t n = strlen(name);
    for (const char *at = names; at != NULL && *at != '\0';) {
        if (strncasecmp(at, name, n) == 0 && (at[n] == '\0' || at[n] == ','))
            snprintf(hint, ROWS_HINT, " (there is %.*s: upper and lower case differ)", (int)n, at);
        at = strstr(at, ", ");
        at = at != NULL ? at + 2 : NULL;
    }
}

bool rows_personal(const char *name)
{
    static const char *const words[] = {"patient", "person",    "subject",    "participant",
                                        "mrn",     "record_id", "national_id"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = name; *at != '\0'; at++)
            if (strncasecmp(at, words[i], strlen(words[i])) == 0)
                return true;
    return false;
}

void rows_turn_decimal(char *text)
{
    for (; *text != '\0'; text++)
        if (*text == ',' || *text == '.')
            *text = *text == ',' ? '.' : ',';
}

void rows_shown(const struct domain_attribute *a, char decimal, const char *text,
                char shown[ROWS_SHOWN], char hint[ROWS_HINT])
{
    bool utf8 = encoding_printable(text, shown, ROWS_SHOWN);
    hint[0] = '\0';
    if (!utf8)
        snprintf(hint, ROWS_HINT, " (not UTF-8 but %s, it seems: save the file as UTF-8)",
                 encoding_guess(text));
    else if (!domain_has_order(a))
        rows_accents(text, (const char *const *)a->labels, a->values, hint);
    else if (!domain_has_numbers(a))
        return;
    else if (strchr(text, decimal == ',' ? '.' : ',') != NULL)
        snprintf(hint, ROWS_HINT, " (numbers have a decimal %s here)",
                 decimal == ',' ? "comma" : "point");
}
