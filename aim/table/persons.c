#include "aim/table/persons.h"

#include "base/memory.h"
#include "base/secret.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST 16 /* two of 10^8 persons collide with a probability below 2^-74 */
#define PLACES_SHOWN 8

struct persons_row {
    uint8_t person[DIGEST];
    size_t place;
};

struct persons {
    uint8_t key[crypto_generichash_KEYBYTES];
    struct persons_row *row;
    size_t rows, capacity;
};

enum err persons_new(struct persons **p)
{
    TRY(memory_new(p, 1));
    secret_random((*p)->key, sizeof(*p)->key);
    return ERR_OK;
}

void persons_free(struct persons **p)
{
    if (*p == NULL)
        return;
    memory_wipe_free(&(*p)->row, (*p)->capacity * sizeof *(*p)->row);
    secret_wipe(*p, sizeof **p);
    memory_free(p);
}

enum err persons_add(struct persons *p, const char *text, size_t n, size_t place)
{
    struct persons_row *row;
    TRY(memory_room(&p->row, &p->capacity, p->rows + 1));
    row = &p->row[p->rows++];
    row->place = place;
    return crypto_generichash(row->person, DIGEST, (const uint8_t *)text, n, p->key,
                              sizeof p->key) == 0
               ? ERR_OK
               : ERR_CRYPTO;
}

static int by_person(const void *x, const void *y)
{
    const struct persons_row *a = x, *b = y;
    int order = memcmp(a->person, b->person, DIGEST);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

/* "lines 3, 5 and 8". */
static void put_places(const struct persons_row *row, size_t rows, const char *places, char *text,
                       size_t size)
{
    size_t shown = rows < PLACES_SHOWN ? rows : PLACES_SHOWN;
    int n = snprintf(text, size, "%s", places);
    for (size_t i = 0; i < shown && n >= 0 && (size_t)n < size; i++)
        n += snprintf(text + n, size - (size_t)n, "%s %zu",
                      i == 0          ? ""
                      : i + 1 == rows ? " and"
                                      : ",",
                      row[i].place);
    if (rows > shown && n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " and %zu more", rows - shown);
}

enum err persons_check(struct persons *p, size_t most, const char *name, const char *places,
                       struct log *log)
{
    size_t found = 0;
    if (p->rows > 0)
        qsort(p->row, p->rows, sizeof *p->row, by_person);
    for (size_t i = 0, n; i < p->rows; i += n) {
        char text[300];
        n = 1;
        while (i + n < p->rows && memcmp(p->row[i].person, p->row[i + n].person, DIGEST) == 0)
            n++;
        if (n <= most || ++found > PERSONS_SHOWN)
            continue;
        put_places(&p->row[i], n, places, text, sizeof text);
        log_error(log, "%s: one person has %zu rows: %s", name, n, text);
    }
    return persons_found(found, most, name, log);
}

enum err persons_found(size_t found, size_t most, const char *name, struct log *log)
{
    if (found == 0)
        return ERR_OK;
    return log_fail(
        log, ERR_DATA,
        "%s: %zu %s more than %zu %s, for which the study's guarantee holds; leave rows out, "
        "or agree on a study with a larger rows_per_person",
        name, found, found == 1 ? "person has" : "persons have", most, most == 1 ? "row" : "rows");
}
