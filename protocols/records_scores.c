#include "protocols/records_private.h"

/* The bits of two's complement that an attribute's scores take; 0 where all are 0. */
static unsigned score_bits(const int64_t *score, uint32_t size)
{
    uint64_t all = 0;
    for (uint32_t v = 0; v < size; v++)
        all |= (uint64_t)(score[v] < 0 ? ~score[v] : score[v]) << 1 | (score[v] != 0);
    return all == 0 ? 0 : 64 - (unsigned)__builtin_clzll(all);
}

static size_t planes_of(const int64_t *score, uint32_t size)
{
    const unsigned bits = score_bits(score, size);
    return bits < size ? bits : size;
}

static enum err check_range(const int64_t *score, uint32_t size)
{
    for (uint32_t v = 0; v < size; v++)
        if (score[v] > RECORDS_SCORE_MAX || score[v] < -RECORDS_SCORE_MAX)
            return ERR_RANGE;
    return ERR_OK;
}

/* The weights of an attribute's planes, of which the highest bit's is negative. */
static void weigh(int64_t *weight, size_t planes, const int64_t *score, uint32_t size)
{
    for (size_t k = 0; k < planes; k++)
        weight[k] = planes == size   ? score[k]
                    : k + 1 < planes ? INT64_C(1) << k
                                     : -(INT64_C(1) << k);
}

bool records_scores_have(const struct records_scores *s, const struct records_shape *shape,
                         size_t attribute, size_t plane, size_t value)
{
    if (s->row[attribute + 1] - s->row[attribute] == shape->size[attribute])
        return plane == value;
    return (uint64_t)s->score[attribute][value] >> plane & 1;
}

enum err records_scores_new(struct party *p, struct records_scores *s,
                            const struct records_shape *shape, const int64_t *const *score)
{
    const size_t d = shape->attributes;
    *s = (struct records_scores){.score = score};
    TRY(scratch_array(p->scratch, &s->row, d + 1));
    s->row[0] = 0;
    for (size_t a = 0; a < d; a++) {
        TRY(check_range(score[a], shape->size[a]));
        s->row[a + 1] = s->row[a] + planes_of(score[a], shape->size[a]);
    }
    TRY(scratch_array(p->scratch, &s->of, s->row[d]));
    TRY(scratch_array(p->scratch, &s->weight, s->row[d]));
    for (size_t a = 0; a < d; a++) {
        weigh(s->weight + s->row[a], s->row[a + 1] - s->row[a], score[a], shape->size[a]);
        for (size_t k = s->row[a]; k < s->row[a + 1]; k++)
            s->of[k] = a;
    }
    return ERR_OK;
}
