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
