#include "parties/study/study_column.h"

const char *const study_column_keys[COLUMN_KEYS] = {
    [COLUMN_NAME] = "name",   [COLUMN_KIND] = "kind",       [COLUMN_MISSING] = "missing",
    [COLUMN_WRITE] = "write", [COLUMN_OUTSIDE] = "outside", [COLUMN_VALUES] = "values",
    [COLUMN_EDGES] = "edges", [COLUMN_MIN] = "min",         [COLUMN_MAX] = "max",
    [COLUMN_BINS] = "bins",   [COLUMN_STEP] = "step",       [COLUMN_SPIKES] = "spikes",
    [COLUMN_TAIL] = "tail",   [COLUMN_FROM] = "from",       [COLUMN_TO] = "to",
    [COLUMN_UNIT] = "unit",   [COLUMN_FORMAT] = "format",   [COLUMN_REPEAT] = "repeat",
};

enum err study_check_keys(struct study_reading *r, const struct column *c, unsigned needed,
                          unsigned refused)
{
    for (unsigned k = 0; k < COLUMN_KEYS; k++)
        if ((refused >> k & 1) != 0 && c->part[k] != NULL)
            return yaml_error(r->file, c->part[k],
                              "the %s attribute %.64s takes no \"%s\" here; leave it out",
                              c->kind->word, c->name, study_column_keys[k]);
    for (unsigned k = 0; k < COLUMN_KEYS; k++)
        if ((needed >> k & 1) != 0 && c->part[k] == NULL)
            return yaml_error(r->file, c->node,
                              "the %s attribute %.64s lacks the key \"%s\"; add it", c->kind->word,
                              c->name, study_column_keys[k]);
    return ERR_OK;
}

enum err study_add_missing(struct study_reading *r, const struct column *c)
{
    return study_note(
        r, domain_set_missing(r->study->domain, c->missing_too, c->missing_too_count, &r->quiet),
        c->part[COLUMN_MISSING]);
}

enum err study_read_date(struct study_reading *r, const yaml_node_t *node, const char *what,
                         enum calendar_unit unit, bool last, double *x)
{
    const char *text;
    int64_t low, high;
    TRY(yaml_text(r->file, node, what, &text));
    if (!calendar_read(text, unit, true, &low, &high))
        return yaml_error(
            r->file, node, "%s is \"%.64s\"; write a date such as 2021-03-04%s", what, text,
            unit == CALENDAR_DAY ? ", without a time, or give a finer \"unit\""
                                 : ", or \"2021-03-04 17:00\", no finer than the column's unit");
    *x = (double)(last ? high : low);
    return ERR_OK;
}
