#include "tests/support/train.h"

#include "harness/cmocka.h"

struct train_scene train_start(uint32_t classes, unsigned norm, uint32_t size)
{
    const struct features_terms terms = {.target = 1, .numbers = norm > 0, .norm = norm};
    const char *missing = norm > 0 ? NULL : "";
    struct train_scene s = {0};
    OK(domain_new(&s.domain));
    OK(domain_add_integer(s.domain, "a", 0, size - 1, missing, DOMAIN_CLIP, NULL));
    OK(domain_add_integer(s.domain, "y", 0, classes - 1, "?", DOMAIN_CLIP, NULL));
    OK(domain_add_integer(s.domain, "b", 5, 4 + size, NULL, DOMAIN_CLIP, NULL));
    OK(features_new(&s.f, s.domain, &terms, NULL));
    OK(table_new(&s.table, s.domain, 0));
    OK(memory_new(&s.weight, features_weights(s.f)));
    OK(memory_new(&s.sums, features_weights(s.f)));
    return s;
}

void train_end(struct train_scene *s)
{
    memory_free_all(&s->sums, &s->weight);
    table_free(&s->table);
    features_free(&s->f);
    domain_free(&s->domain);
}

void train_keep(struct train_scene *s, uint32_t code)
{
    unsigned norm = 0;
    struct features_terms terms = {.target = 1, .tests = true, .test = 2, .test_code = code};
    while (norm * norm < s->f->norm2)
        norm++;
    terms.norm = norm;
    terms.numbers = norm > 0;
    features_free(&s->f);
    OK(features_new(&s->f, s->domain, &terms, NULL));
}

/* Codes that no honest owner sends are put in afterwards. */
void train_row(struct train_scene *s, uint16_t a, uint16_t y, uint16_t b)
{
    const uint16_t zero[TRAIN_COLUMNS] = {0};
    const size_t row = s->table->rows;
    OK(table_append(s->table, zero));
    s->table->column[0][row] = a;
    s->table->column[1][row] = y;
    s->table->column[2][row] = b;
}
