/* CSVW metadata: https://www.w3.org/TR/tabular-metadata/, with terms of Dublin Core and DCAT. */
#include "aim/table/derive.h"
#include "aim/table/series.h"
#include "base/file.h"
#include "base/memory.h"
#include "parties/display/card.h"

#include <jansson.h>
#include <string.h>

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
    if (a->calendar != NULL) /* in whatever format: readers of CSVW know others than strptime()'s */
        return json_pack("{s:s}", "base",
                         a->calendar->formats > 0 || a->calendar->unit != CALENDAR_DAY ? "string"
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

enum err card_csvw(const char *folder, const struct study *s, const char *finished, struct log *log)
{
    char path[FILE_PATH];
    json_auto_t *o = s->domain->series == NULL ? document(s, finished) : NULL;
    char *text CLEAN(memory_release) = o != NULL ? json_dumps(o, JSON_INDENT(2)) : NULL;
    if (s->domain->series != NULL)
        return ERR_OK; /* it has two tables */
    TRY(file_path(path, log, "%s/synthetic.csv-metadata.json", folder));
    return text != NULL ? file_write(path, 0644, text, strlen(text), log) : ERR_NOMEM;
}
