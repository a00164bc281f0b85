/* Columns of the source that others follow from, and dates as a study writes them. */
#include "aim/sql/database_private.h"
#include "aim/table/derive.h"

#include <string.h>

const struct derive *database_reads(const struct database *db, const char *name)
{
    const struct derives *d = db->domain->derived;
    for (size_t k = 0; d != NULL && k < d->read.count; k++)
        if (strcmp(d->read.of[k].name, name) == 0)
            return &d->read.of[k];
    return NULL;
}

char *database_date(const struct database *db, const char *name, char *text, size_t *size,
                    char room[COLUMN_TEXT])
{
    const struct derive *e = database_reads(db, name);
    const uint32_t a = domain_find(db->domain, name);
    if (a != DOMAIN_NO_CODE)
        return key_date(db->domain->attribute[a].calendar, text, size, room);
    return key_date(e != NULL && e->type == DERIVE_DATE ? &e->calendar : NULL, text, size, room);
}
