#include "mpc/check/check_bit_log.h"

#include "base/memory.h"
#include "mpc/move/move.h"

#include <string.h>

#define EXACT 8 /* longer sums are padded with zeros */

/* Groups in a chunk. */
static size_t capacity(unsigned products)
{
    return CHECK_CHUNK / ((4 * (size_t)products + 2) * KERNEL_GROUP * sizeof(uint64_t));
}

void check_bit_log_free(struct check_bit_log *log)
{
    check_bit_log_clear(log);
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        memory_free(&log->list[l].chunk);
}

/* The list for relations of this many products. */
static unsigned list_of(unsigned products)
{
    return products <= EXACT ? products : (products + EXACT - 1) / EXACT * EXACT;
}

static enum err add_chunk(struct check_bit_log *log, struct check_list *list)
{
    void *fresh;
    TRY(memory_room(&list->chunk, &list->room, list->chunks + 1));
    TRY(check_chunks_take(log->from, &fresh));
    list->chunk[list->chunks++] = fresh;
    return ERR_OK;
}

void check_bit_log_clear(struct check_bit_log *log)
{
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++) {
        struct check_list *list = &log->list[l];
        while (list->chunks > 0)
            check_chunks_give(log->from, list->chunk[--list->chunks]);
        list->words = 0;
    }
}

bool check_bit_log_empty(const struct check_bit_log *log)
{
    return check_bit_log_bytes(log) == 0;
}

size_t check_bit_log_bytes(const struct check_bit_log *log)
{
    size_t bytes = 0;
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        bytes += log->list[l].words * (4 * (size_t)l + 2) * sizeof(uint64_t);
    return bytes;
}

struct check_cursor check_bit_log_end(const struct check_bit_log *log)
{
    struct check_cursor end = {{0}};
    for (unsigned l = 1; l <= RECORD_PRODUCTS; l++)
        end.at[l] = log->list[l].words;
    return end;
}

unsigned check_products(const struct move_term *terms, unsigned most)
{
    unsigned l = 0;
    while (l < most && terms[l].x.a != NULL)
        l++;
    return l;
}

/* Where word `at` of a list stands: its group's products, z, and its place in each vector. */
struct log_place {
    uint64_t *products, *z;
    size_t within;
};

static struct log_place place_of(const struct check_bit_log *log, unsigned products, size_t at)
{
    const size_t groups = capacity(products), group = at / KERNEL_GROUP % groups;
    uint64_t *chunk = log->list[products].chunk[at / KERNEL_GROUP / groups];
    return (struct log_place){chunk + 4 * products * group * KERNEL_GROUP,
                              chunk + (4 * products * groups + 2 * group) * KERNEL_GROUP,
                              at % KERNEL_GROUP};
}

/* How many of the next words of a list, at most `words`, stand in one group. */
static size_t stretch_at(size_t at, size_t words)
{
    const size_t left = KERNEL_GROUP - at % KERNEL_GROUP;
    return words < left ? words : left;
}

static const uint64_t *word_at(const void *words, size_t at)
{
    return (const void *)((const uint8_t *)words + at);
}

static void put_run(const struct log_place *to, const struct kernel *k,
                    const struct move_term *terms, unsigned products, size_t at, const uint64_t *z,
                    size_t n)
{
    uint64_t *out = to->products + to->within, *za = to->z + to->within, *zb = za + KERNEL_GROUP;
    for (unsigned v = 4 * products; v < 4 * list_of(products); v++)
        memset(out + v * KERNEL_GROUP, 0, n * sizeof *out);
    for (unsigned l = 0; l < products; l++, out += 4 * KERNEL_GROUP) {
        k->stream(out, word_at(terms[l].x.a, at), n);
        k->stream(out + KERNEL_GROUP, word_at(terms[l].x.b, at), n);
        k->stream(out + 2 * KERNEL_GROUP, word_at(terms[l].y.a, at), n);
        k->stream(out + 3 * KERNEL_GROUP, word_at(terms[l].y.b, at), n);
    }
    if (terms->c.a == NULL) {
        k->stream(za, z, n);
    } else {
        k->xor_bits(za, z, word_at(terms->c.a, at), n);
        k->xor_bits(zb, zb, word_at(terms->c.b, at), n);
    }
}

enum err check_bit_log_room(struct check_bit_log *log, const struct move_term *terms,
                            unsigned products, size_t words)
{
    struct check_list *list;
    if (products == 0 || products > RECORD_PRODUCTS)
        return ERR_MISUSE;
    products = list_of(products);
    list = &log->list[products];
    for (size_t n; words > 0; words -= n) {
        struct log_place to;
        if (list->words == list->chunks * capacity(products) * KERNEL_GROUP)
            TRY(add_chunk(log, list));
        n = stretch_at(list->words, words);
        to = place_of(log, products, list->words);
        if (terms->c.a != NULL)
            memset(to.z + KERNEL_GROUP + to.within, 0, n * sizeof *to.z);
        list->words += n;
    }
    return ERR_OK;
}

void check_bit_log_put(struct check_bit_log *log, struct check_cursor *cursor,
                       const struct kernel *kernel, const struct move_term *terms,
                       unsigned products, size_t at, const uint64_t *z, size_t words)
{
    size_t *next = &cursor->at[list_of(products)];
    for (size_t n; words > 0; words -= n, z += n, at += n * sizeof *z, *next += n) {
        const struct log_place to = place_of(log, list_of(products), *next);
        n = stretch_at(*next, words);
        put_run(&to, kernel, terms, products, at, z, n);
    }
}

void check_bit_log_take(struct check_bit_log *log, struct check_cursor *cursor,
                        const struct kernel *kernel, const struct move_term *terms,
                        unsigned products, const uint64_t *z, size_t words)
{
    size_t *at = &cursor->at[list_of(products)];
    for (size_t n; words > 0; words -= n, z += n, *at += n) {
        const struct log_place to = place_of(log, list_of(products), *at);
        uint64_t *zb = to.z + KERNEL_GROUP + to.within;
        n = stretch_at(*at, words);
        if (terms->c.a == NULL)
            kernel->stream(zb, z, n);
        else
            kernel->xor_bits(zb, zb, z, n);
    }
}

size_t check_bit_log_groups(struct check_bit_log *log, unsigned products)
{
    const struct check_list *list = &log->list[products];
    const size_t used = list->words % KERNEL_GROUP, bytes = (KERNEL_GROUP - used) * 8;
    if (used > 0) {
        const struct log_place last = place_of(log, products, list->words);
        for (unsigned v = 0; v < 4 * products; v++)
            memset(last.products + v * KERNEL_GROUP + used, 0, bytes);
        for (unsigned v = 0; v < 2; v++)
            memset(last.z + v * KERNEL_GROUP + used, 0, bytes);
    }
    return list->words / KERNEL_GROUP + (used > 0);
}

struct check_part check_bit_log_part(const struct check_bit_log *log, unsigned products,
                                     size_t chunk)
{
    const struct check_list *list = &log->list[products];
    const size_t all = list->words / KERNEL_GROUP + (list->words % KERNEL_GROUP != 0);
    const size_t room = capacity(products), left = all - chunk * room;
    uint64_t *words = list->chunk[chunk];
    return (struct check_part){words, words + 4 * products * room * KERNEL_GROUP,
                               left < room ? left : room};
}
