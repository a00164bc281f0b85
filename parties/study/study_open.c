/* Owners that the study does not list: those whom an issuer admits, one by one, up to a number. */
#include "aim/table/series.h"
#include "base/memory.h"
#include "parties/study/study_parse.h"
#include "parties/study/study_uploads.h"

#include <stdlib.h>
#include <string.h>

unsigned study_bits(const struct study *study, uint32_t rows)
{
    unsigned bits = 0;
    while (((uint64_t)rows * series_units(study->domain) >> bits) != 0)
        bits++;
    return bits;
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

bool study_token_revoked(const struct study *study, uint32_t number)
{
    const struct study_open *o = &study->open;
    return o->revoked_count > 0 &&
           bsearch(&number, o->revoked, o->revoked_count, sizeof number, compare_numbers) != NULL;
}

const struct study_owner *study_owner(const struct study *study, size_t owner)
{
    return owner < study->owners ? &study->owner[owner] : &study->open.each;
}

size_t study_batch(const struct study *study, size_t owner)
{
    return owner < study->owners ? study->owner[owner].batch : owner;
}

struct words_text study_owner_name(const struct study *study, size_t owner)
{
    struct words_text name;
    if (owner < study->owners)
        snprintf(name.text, sizeof name.text, "%s", study->owner[owner].name);
    else
        snprintf(name.text, sizeof name.text, "token.%zu", owner - study->owners);
    return name;
}

size_t study_find_owner(const struct study *study, const char *name)
{
    unsigned number;
    for (size_t i = 0; i < study->owners; i++)
        if (strcmp(study->owner[i].name, name) == 0)
            return i;
    if (sscanf(name, "token.%9u", &number) != 1 || number >= study->open.most ||
        strcmp(study_owner_name(study, study->owners + number).text, name) != 0)
        return study_owners_most(study);
    return study->owners + number;
}

size_t study_owners_most(const struct study *study)
{
    return study->owners + study->open.most;
}

static enum err read_revoked(struct study_reading *r, const yaml_node_t *node)
{
    struct study_open *o = &r->study->open;
    TRY(yaml_list(r->file, node, "revoked", 0, STUDY_REVOKED_MAX, &o->revoked_count));
    TRY(memory_new(&o->revoked, o->revoked_count));
    for (size_t i = 0; i < o->revoked_count; i++)
        TRY(study_read_unsigned(r, yaml_item(r->file, node, i), "a revoked token's number", 0,
                                (unsigned)o->most - 1, &o->revoked[i]));
    qsort(o->revoked, o->revoked_count, sizeof *o->revoked, compare_numbers);
    return ERR_OK;
}

/* An owner of one row need not say whose it is: the issuer ensures that a person has only one. */
static enum err check_persons(struct study_reading *r)
{
    const struct study *s = r->study;
    if (s->person.columns == 0)
        return ERR_OK;
    return yaml_error(r->file, r->at.open_owners,
                      "owners that the study does not list send no keys of persons; leave out "
                      "person, and have the issuer admit each person once");
}

enum err study_read_open(struct study_reading *r, struct study_people *people)
{
    const yaml_node_t *node = r->at.open_owners;
    struct study_open *o = &r->study->open;
    struct study_owner *each = &o->each;
    const yaml_node_t *issuer, *most, *rows, *revoked;
    const struct yaml_key keys[] = {{"issuer", !r->draft, &issuer},
                                    {"max", true, &most},
                                    {"max_rows", false, &rows},
                                    {"revoked", false, &revoked}};
    unsigned number = 0;
    TRY(yaml_mapping(r->file, node, "open_owners", COUNTED(keys)));
    TRY(check_persons(r));
    TRY(study_read_unsigned(r, most, "max", 1, STUDY_OPEN_MAX, &number));
    o->most = number;
    *each = (struct study_owner){.name = "open_owners", .max_rows = 1, .batch = SIZE_MAX};
    TRY(study_read_unsigned(r, rows, "max_rows", 1, INT32_MAX, &each->max_rows));
    each->pad_to = each->max_rows;
    each->bits = study_bits(r->study, each->max_rows);
    each->columns = r->study->domain->attributes;
    TRY(memory_new(&each->column, each->columns));
    for (size_t a = 0; a < each->columns; a++)
        each->column[a] = (uint16_t)a;
    TRY(study_read_member(r, node, issuer, each->name, &o->issuer, people));
    return read_revoked(r, revoked);
}
