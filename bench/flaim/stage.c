#include "bench/flaim/stage.h"

struct stage *stage_new(void)
{
    static const int64_t size[] = {3, 4, 2, 3};
    struct stage *s = memory_array(1, sizeof *s);
    struct random r = random_of(5);
    OK(domain_new(&s->domain));
    for (int a = 0; a < 4; a++) {
        char name[] = {(char)('a' + a), 0};
        OK(domain_add_integer(s->domain, name, 0, size[a] - 1, NULL, DOMAIN_REJECT, NULL));
    }
    OK(workload_all(&s->workload, s->domain, 3, NULL));
    assert_true(s->workload->queries <= QUERIES_MOST);
    OK(table_new(&s->table, s->domain, ROWS));
    for (uint32_t i = 0; i < ROWS; i++) {
        uint16_t c[4];
        s->assignment[i] = (uint32_t)random_below(&r, CLIENTS);
        for (int a = 0; a < 4; a++)
            c[a] = (uint16_t)(random_below(&r, 4) != 0
                                  ? random_below(&r, (uint64_t)size[a])
                                  : (s->assignment[i] + (unsigned)a) % (uint64_t)size[a]);
        OK(table_append(s->table, c));
    }
    OK(split_new(&s->split, s->table, s->assignment, CLIENTS, 3));
    return s;
}

void stage_free(struct stage **s)
{
    split_free(&(*s)->split);
    table_free(&(*s)->table);
    workload_free(&(*s)->workload);
    domain_free(&(*s)->domain);
    memory_free(s);
}
