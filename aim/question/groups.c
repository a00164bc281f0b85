/* GROUP BY. */
#include "aim/question/parser.h"

#include "aim/table/derive.h"
#include "base/memory.h"

#include <string.h>

enum err parser_group(struct parser *p, struct question_group *g)
{
    *g = (struct question_group){0};
    return parser_is_part(p) ? parser_part_group(p, g) : parser_made_group(p, g);
}

bool parser_same_group(const struct question_group *a, const struct question_group *b)
{
    return a->column == b->column && a->part == b->part && a->book == b->book;
}

/* A group's codes, none of which may lie in two of them. */
static enum err fill(struct parser *p, struct question_group *g)
{
    const struct domain_attribute *a = &p->domain->attribute[g->column];
    const enum calendar_unit unit = a->calendar->unit;
    uint32_t *first CLEAN(memory_release) = NULL;
    uint32_t seen[10000];
    memset(seen, 0xff, sizeof seen);
    TRY(memory_new(&first, a->size));
    for (uint32_t code = 0; code < a->values; code++) {
        uint64_t count;
        const int64_t begin = domain_multiples(a, code, &count), last = begin + (int64_t)count - 1;
        const int number = calendar_value(begin, unit, g->part->value);
        char from[COLUMN_TEXT], to[COLUMN_TEXT];
        if (calendar_next(begin, unit, g->part->stretch) <= last)
            return lexer_fail(&p->lexer, p->lexer.token.at,
                              "the bin of %s from %s to %s lies in more than one %s; group by the "
                              "column itself, or by longer parts",
                              a->name, domain_print(a, (double)begin, 0, from),
                              domain_print(a, (double)last, 0, to), g->part->word);
        if (seen[number] == UINT32_MAX)
            seen[number] = code;
        first[code] = seen[number];
    }
    if (a->size > a->values)
        first[a->values] = a->values;
    return memory_hand_over(&g->first, &first);
}

/* Numbers of the column itself are taken from neighbouring codes. */
static bool in_pieces(const struct question_group *g, const struct domain_attribute *a)
{
    for (uint32_t code = 1; g->first != NULL && code < a->values; code++)
        if (g->first[code] != code && g->first[code] != g->first[code - 1])
            return true;
    return false;
}

enum err parser_fill_groups(struct parser *p, struct question *q)
{
    for (size_t i = 0; i < q->groups; i++) {
        const struct domain_attribute *a = &q->domain->attribute[q->group[i].column];
        char name[QUESTION_ITEM_NAME];
        if (q->group[i].part == NULL && q->group[i].book == NULL)
            continue;
        TRY(q->group[i].book != NULL ? parser_fill_book(p, &q->group[i]) : fill(p, &q->group[i]));
        question_group_name(q, i, name, sizeof name);
        for (size_t k = 0; k < q->items; k++)
            if (!q->item[k].rows && q->item[k].column == q->group[i].column &&
                in_pieces(&q->group[i], a))
                return lexer_fail(&p->lexer, p->lexer.token.at,
                                  "a line of %s takes codes of %s that are not neighbours: within "
                                  "it nothing is said about %s",
                                  name, a->name, a->name);
    }
    return ERR_OK;
}

void question_group_name(const struct question *q, size_t group, char *text, size_t size)
{
    const struct question_group *g = &q->group[group];
    const char *name = q->domain->attribute[g->column].name;
    if (g->part != NULL)
        snprintf(text, size, "%s(%s)", g->part->word, name);
    else
        snprintf(text, size, "%s", g->book != NULL ? g->book->name : name);
}

int question_group_number(const struct question *q, size_t group, uint32_t code)
{
    const struct question_group *g = &q->group[group];
    const struct domain_attribute *a = &q->domain->attribute[g->column];
    uint64_t count;
    return calendar_value(domain_multiples(a, code, &count), a->calendar->unit, g->part->value);
}

bool question_item_is_quoted(const struct question *q, size_t item)
{
    const enum question_aggregate a = q->item[item].aggregate;
    return (a == AGGREGATE_AVG || a == AGGREGATE_MEDIAN || a == AGGREGATE_PERCENTILE ||
            a == AGGREGATE_MIN || a == AGGREGATE_MAX) &&
           domain_is_quoted(&q->domain->attribute[q->item[item].column]);
}
