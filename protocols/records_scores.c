#include "protocols/records_scores.h"

/* The bits of two's complement that an attribute's scores take; 0 where all are 0. */
static unsigned score_bits(const int64_t *score, uint32_t size)
{
    uint64_t all = 0;
    for (uint32_t v = 0; v < size; v++)
        all |= (uint64_t)(score[v] < 0 ? ~score[v] : score[v]) << 1 | (score[v] != 0);
    return all == 0 ? 0 : 64 - (unsigned)__builtin_clzll(all);
}

static int64_t group_of(const struct records_scores *s, size_t a, uint32_t value)
{
    return s->group != NULL ? s->group[a][value] : 0;
}

static enum err check_range(const struct records_scores *s, size_t a, uint32_t size)
{
    for (uint32_t v = 0; v < size; v++)
        if (s->score[a][v] > RECORDS_SCORE_MAX || s->score[a][v] < -RECORDS_SCORE_MAX ||
            group_of(s, a, v) < 0 || group_of(s, a, v) >= size)
            return ERR_RANGE;
    return ERR_OK;
}

static size_t groups_of(const struct records_scores *s, size_t a, uint32_t size)
{
    int64_t largest = 0;
    for (uint32_t v = 0; v < size; v++)
        largest = group_of(s, a, v) > largest ? group_of(s, a, v) : largest;
    return (size_t)largest + 1;
}

/* The score of a group's values: that of the first one, 0 where the group has no value. */
static int64_t score_of_group(const struct records_scores *s, size_t a, uint32_t size, size_t group)
{
    for (uint32_t v = 0; v < size; v++)
        if ((size_t)group_of(s, a, v) == group)
            return s->score[a][v];
    return 0;
}

static bool by_group(const struct records_scores *s, size_t a, uint32_t size)
{
    for (uint32_t v = 0; s->groups[a] > 1 && v < size; v++)
        if (s->score[a][v] != score_of_group(s, a, size, (size_t)group_of(s, a, v)))
            return false;
    return s->groups[a] > 1 && s->groups[a] < size;
}

/* What an attribute's planes are of, and how many there are: none where all scores are 0. */
static enum records_planes kind_of(const struct records_scores *s, size_t a, uint32_t size,
                                   size_t *planes)
{
    const unsigned bits = score_bits(s->score[a], size);
    if (by_group(s, a, size)) {
        *planes = s->groups[a];
        return RECORDS_OF_GROUPS;
    }
    if (s->groups[a] == 1 && bits < size) {
        *planes = bits;
        return RECORDS_OF_BITS;
    }
    *planes = bits == 0 ? 0 : size;
    return RECORDS_OF_VALUES;
}

/* The weights of an attribute's planes; for bits, that of the highest is negative. */
static void weigh(struct records_scores *s, size_t a, uint32_t size)
{
    const size_t first = s->row[a], planes = s->row[a + 1] - first;
    for (size_t k = 0; k < planes; k++) {
        size_t *in = &s->in[first + k];
        int64_t *weight = &s->weight[first + k];
        s->of[first + k] = a;
        switch (s->kind[a]) {
        case RECORDS_OF_VALUES:
            *in = (size_t)group_of(s, a, (uint32_t)k);
            *weight = s->score[a][k];
            break;
        case RECORDS_OF_GROUPS:
            *in = k;
            *weight = score_of_group(s, a, size, k);
            break;
        case RECORDS_OF_BITS:
            *in = 0;
            *weight = k + 1 < planes ? INT64_C(1) << k : -(INT64_C(1) << k);
            break;
        }
    }
}

bool records_scores_have(const struct records_scores *s, size_t attribute, size_t plane,
                         size_t value)
{
    switch (s->kind[attribute]) {
    case RECORDS_OF_VALUES:
        return plane == value;
    case RECORDS_OF_GROUPS:
        return (size_t)group_of(s, attribute, (uint32_t)value) == plane;
    case RECORDS_OF_BITS:
        break;
    }
    return (uint64_t)s->score[attribute][value] >> plane & 1;
}

enum err records_scores_new(struct party *p, struct records_scores *s,
                            const struct records_shape *shape, const int64_t *const *score,
                            const int64_t *const *group)
{
    const size_t d = shape->attributes;
    size_t planes;
    *s = (struct records_scores){.score = score, .group = group};
    TRY(scratch_array(p->scratch, &s->row, d + 1));
    TRY(scratch_array(p->scratch, &s->groups, d));
    TRY(scratch_array(p->scratch, &s->kind, d));
    s->row[0] = 0;
    for (size_t a = 0; a < d; a++) {
        TRY(check_range(s, a, shape->size[a]));
        s->groups[a] = groups_of(s, a, shape->size[a]);
        s->kind[a] = kind_of(s, a, shape->size[a], &planes);
        s->row[a + 1] = s->row[a] + planes;
    }
    TRY(scratch_array(p->scratch, &s->of, s->row[d]));
    TRY(scratch_array(p->scratch, &s->in, s->row[d]));
    TRY(scratch_array(p->scratch, &s->weight, s->row[d]));
    for (size_t a = 0; a < d; a++)
        weigh(s, a, shape->size[a]);
    return ERR_OK;
}
