#include "aim/copula/copula_result.h"

#include "base/memory.h"

void copula_result_free(struct copula_result **result)
{
    struct copula_result *r = *result;
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    for (size_t i = 0; r->score != NULL && i < r->model->domain->attributes; i++)
        memory_free(&r->score[i]);
    for (size_t i = 0; r->group != NULL && i < r->model->domain->attributes; i++)
        memory_free(&r->group[i]);
    memory_free_all(&r->measurement, &r->score, &r->group, &r->groups, &r->form);
    copula_free(&r->model);
    memory_free(result);
}
