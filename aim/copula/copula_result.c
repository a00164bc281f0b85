#include "aim/copula/copula_result.h"

#include "base/memory.h"

void copula_result_free(struct copula_result **result)
{
    struct copula_result *r = *result;
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->measurements; i++)
        memory_free(&r->measurement[i].y);
    if (r->model != NULL) { /* else there are none */
        memory_free_each(&r->score, r->model->domain->attributes);
        memory_free_each(&r->group, r->model->domain->attributes);
    }
    memory_free_all(&r->measurement, &r->groups, &r->form);
    copula_free(&r->model);
    memory_free(result);
}
