/* Parts of dates, as YEAR(admitted). */
#include "aim/question/parser.h"

#include <strings.h>

static const struct question_part parts[] = {{"YEAR", CALENDAR_YEAR, CALENDAR_YEAR},
                                             {"QUARTER", CALENDAR_QUARTER, CALENDAR_QUARTER},
                                             {"MONTH", CALENDAR_MONTH, CALENDAR_MONTH},
                                             {"WEEKDAY", CALENDAR_WEEK, CALENDAR_OF_DAY},
                                             {"HOUR", CALENDAR_OF_HOUR, CALENDAR_OF_HOUR}};

const struct question_part *question_part_of(const char *word)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcasecmp(word, parts[i].word) == 0)
            return &parts[i];
    return NULL;
}

static const struct question_part *find_part(const struct parser *p)
{
    struct lexer ahead = p->lexer;
    const struct question_part *part = ahead.token.kind == TOKEN_WORD
                                           ? question_part_of(ahead.token.text)
                                           : NULL;
    ahead.log = NULL;
    return part != NULL && lexer_next(&ahead) == ERR_OK && lexer_is(&ahead, "(") ? part : NULL;
}

const struct question_part *parser_part(enum calendar_part value)
{
    size_t i = 0;
    while (parts[i].value != value)
        i++;
    return &parts[i];
}

bool parser_is_part(const struct parser *p)
{
    return find_part(p) != NULL;
}

enum err parser_part_group(struct parser *p, struct question_group *g)
{
    const size_t at = p->lexer.token.at;
    const struct domain_attribute *a;
    g->part = find_part(p);
    TRY(lexer_next(&p->lexer));
    TRY(parser_pass(p, "(", "before a column of dates"));
    TRY(parser_column(p, &g->column));
    a = &p->domain->attribute[g->column];
    if (a->calendar == NULL)
        return lexer_fail(&p->lexer, at, "%s has no dates: %s is of dates alone", a->name,
                          g->part->word);
    if (g->part->value == CALENDAR_OF_HOUR && a->calendar->unit == CALENDAR_DAY)
        return lexer_fail(&p->lexer, at, "%s has days, without hours", a->name);
    return parser_pass(p, ")", "behind the column of dates");
}
