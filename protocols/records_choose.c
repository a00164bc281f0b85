#include "protocols/records_choose.h"

#include <string.h>

#define PRODUCT_PRICE 500            /* of a made row, in cells of matrix products */
#define STEPS_MOST ((size_t)1 << 24) /* prices looked at */

static void use(struct records_choices *s, size_t option)
{
    s->uses[s->option[option].left]++;
    s->uses[s->option[option].right]++;
}

static void drop(struct records_choices *s, size_t option)
{
    s->uses[s->option[option].left]--;
    s->uses[s->option[option].right]--;
}

/* What an option adds to what is in use. */
static uint64_t price(struct records_choices *s, size_t option)
{
    const struct records_option *o = &s->option[option];
    uint64_t made = s->uses[o->left] == 0 ? s->side[o->left].made : 0;
    made += s->uses[o->right] == 0 ? s->side[o->right].made : 0;
    s->steps++;
    return made * PRODUCT_PRICE + o->cells;
}

static uint64_t whole_price(const struct records_choices *s)
{
    uint64_t all = 0;
    for (size_t k = 0; k < s->sides; k++)
        all += s->uses[k] > 0 ? (uint64_t)s->side[k].made * PRODUCT_PRICE : 0;
    for (size_t q = 0; q < s->queries; q++)
        all += s->option[s->choice[q]].cells;
    return all;
}

/* The first of a query's cheapest options. */
static size_t cheapest(struct records_choices *s, size_t q)
{
    size_t best = s->first[q];
    uint64_t least = price(s, best);
    for (size_t k = best + 1; k < s->first[q + 1]; k++) {
        const uint64_t this = price(s, k);
        if (this < least) {
            least = this;
            best = k;
        }
    }
    return best;
}

static void choose_greedily(struct records_choices *s)
{
    for (size_t q = 0; q < s->queries; q++) {
        s->choice[q] = cheapest(s, q);
        use(s, s->choice[q]);
    }
}

/* Each query moves to its cheapest option, until none is cheaper than what it has. */
static void move_queries(struct records_choices *s)
{
    for (bool moved = true; moved && s->steps < STEPS_MOST;) {
        moved = false;
        for (size_t q = 0; q < s->queries; q++) {
            size_t best;
            drop(s, s->choice[q]);
            best = cheapest(s, q);
            if (price(s, best) < price(s, s->choice[q])) {
                s->choice[q] = best;
                moved = true;
            }
            use(s, s->choice[q]);
        }
    }
}

static void choose_again(struct records_choices *s, const size_t *choice)
{
    memset(s->uses, 0, s->sides * sizeof *s->uses);
    for (size_t q = 0; q < s->queries; q++) {
        s->choice[q] = choice[q];
        use(s, choice[q]);
    }
}

/* Every query that can use a side does. */
static void move_to(struct records_choices *s, size_t side)
{
    for (size_t q = 0; q < s->queries; q++)
        for (size_t k = s->first[q]; k < s->first[q + 1]; k++) {
            const struct records_option *o = &s->option[k];
            s->steps++;
            if (o->left != side && o->right != side)
                continue;
            drop(s, s->choice[q]);
            s->choice[q] = k;
            use(s, k);
            break;
        }
}

static void move_to_sides(struct records_choices *s)
{
    uint64_t least = whole_price(s);
    for (bool better = true; better;) {
        better = false;
        for (size_t side = 0; side < s->sides && s->steps < STEPS_MOST; side++) {
            uint64_t now;
            if (s->side[side].made == 0)
                continue;
            memcpy(s->kept, s->choice, s->queries * sizeof *s->kept);
            move_to(s, side);
            move_queries(s);
            now = whole_price(s);
            better = better || now < least;
            if (now <= least) /* an equal price may lead further */
                least = now;
            else
                choose_again(s, s->kept);
        }
    }
}

void records_choose(struct records_choices *s)
{
    choose_greedily(s);
    move_queries(s);
    move_to_sides(s);
}
