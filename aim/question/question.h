/*
 * aim/question/question.h - questions to a model, in a subset of SQL.
 *
 *   SELECT item [AS name] [, item ..] FROM name [WHERE condition] [GROUP BY group [, group ..]]
 *     [HAVING item relation number [AND ..]] [ORDER BY item [DESC] [, ..]] [LIMIT number] [;]
 *
 *   group       column | YEAR(date) | QUARTER(date) | MONTH(date) | WEEKDAY(date) | HOUR(date)
 *   item        COUNT(*) | COUNT(y) | SUM(y) | AVG(y) | VARIANCE(y) | STDDEV(y) | MEDIAN(y)
 *               | PERCENTILE(y, p) | MODE(y) | MIN(y) | MAX(y) | RANGE(y) | SHARE(condition)
 *               | CORR(y, z)
 *               | item operator item | item operator number | number operator item
 *               | group, if it is in GROUP BY
 *   condition   column = | <> | != | < | <= | > | >= literal; column [NOT] BETWEEN literal AND
 *               literal; column [NOT] IN (literal, ..); column IS [NOT] NULL; NOT, AND, OR,
 *               parentheses. Here a column may also be YEAR(date) .. HOUR(date), or computed as
 *               such a part or a lookup
 *   literal     a number with or without a sign, a 'label', or a date '2021-05-31' or
 *               '2021-05-31 17:00', perhaps behind DATE or TIMESTAMP: all of the day or the minute
 *
 * After GROUP BY an item is one of those after SELECT, as it stands there or by its name; ORDER BY
 * takes columns of GROUP BY as well, and places after SELECT. An answer of NULL is in no HAVING,
 * and comes last.
 *
 * SHARE is the percentage of a line's rows for which a condition holds, among those for which it
 * holds or does not.
 *
 * An operator is one of + - * /, between aggregates of numbers that have no parts of their own;
 * what is divided by 0 is not known.
 *
 * Keywords and aggregates may be in any case. A column in double quotes must match exactly; without
 * them it may differ in case from the one that is meant. There is one table, whatever its name; but
 * where rows are events of persons, the name of the events means these, and any other the persons.
 *
 * As in SQL, a comparison with a missing value is neither true nor false: neither `y = 1` nor
 * `NOT y = 1` holds for a row without y.
 */
#pragma once

#include "aim/question/cases.h"

#define QUESTION_ITEMS_MAX 16
#define QUESTION_GROUPS_MAX 3
#define QUESTION_HAVING_MAX 8
#define QUESTION_ORDER_MAX (QUESTION_GROUPS_MAX + 4)
#define QUESTION_NAME 64
#define QUESTION_CONDITION 200 /* of SHARE */
#define QUESTION_TEXT_MAX ((size_t)1 << 20)

enum question_aggregate {
    AGGREGATE_COUNT,
    AGGREGATE_SUM,
    AGGREGATE_AVG,
    AGGREGATE_VARIANCE,
    AGGREGATE_STDDEV,
    AGGREGATE_MEDIAN,
    AGGREGATE_PERCENTILE,
    AGGREGATE_MODE,
    AGGREGATE_MIN,
    AGGREGATE_MAX,
    AGGREGATE_RANGE,
    AGGREGATE_SHARE,
    AGGREGATE_CORR,
    AGGREGATE_ARITHMETIC, /* no question has its word */
};
#define AGGREGATES (AGGREGATE_ARITHMETIC + 1)

const char *aggregate_name(enum question_aggregate a);
/* MIN, MAX and RANGE, which a model answers only approximately. */
bool aggregate_is_extreme(enum question_aggregate a);
/* SHARE, CORR and arithmetic, which are made of the answers to other questions. */
bool aggregate_has_parts(enum question_aggregate a);
/* MODE, whose answer is a code. */
bool aggregate_is_code(enum question_aggregate a);

struct question_item {
    enum question_aggregate aggregate;
    bool rows;                /* COUNT(*), SHARE, CORR, arithmetic: no column */
    uint16_t column;          /* y */
    double p;                 /* of PERCENTILE; 0.5 for MEDIAN */
    char name[QUESTION_NAME]; /* after AS, or "" */
    /* What SHARE and CORR have in parentheses, or all of arithmetic, as it was written; or "" */
    char condition[QUESTION_CONDITION];
    /*
     * Of SHARE: COUNT(*) of rows where it holds, and does not. Of CORR: COUNT, AVG and VARIANCE of
     * z, AVG and VARIANCE of y, by each value of y. Of arithmetic: its items; the second is NULL
     * where there is a number. Else NULL.
     */
    struct question *part[2];
    char operator; /* of arithmetic */
    bool flipped;  /* the number comes first */
    double number;
};

/* A part of dates that lines are by: its number, and the stretches that begin with another one. */
struct question_part {
    const char *word; /* "YEAR" */
    enum calendar_part value, stretch;
};

/* NULL: it is none. */
const struct question_part *question_part_of(const char *word);

struct question_group {
    uint16_t column;
    const struct question_part *part; /* or NULL: lines are by the column itself, */
    const struct derive *book;        /* unless this has what they are by, a computed lookup */
    uint32_t *first; /* with either, of each code: the first code of its group. That line has all */
    const char **label; /* with a book, of each code: what it says; NULL: nothing */
};

/* What answers are kept: number <, = .. value. */
struct question_having {
    size_t item;
    bool less, equal, more; /* which of these it may be */
    double value;
};

/* What lines are sorted by. */
struct question_order {
    bool group; /* else an item */
    size_t index;
    bool down;
};

struct question {
    const struct domain *domain; /* borrowed */
    bool events; /* asked of a domain's events (aim/table/series.h); else of rows, or persons */
    size_t items;
    struct question_item item[QUESTION_ITEMS_MAX];
    size_t groups;
    struct question_group group[QUESTION_GROUPS_MAX];
    size_t havings;
    struct question_having having[QUESTION_HAVING_MAX];
    size_t orders;
    struct question_order order[QUESTION_ORDER_MAX];
    size_t limit;            /* of lines; 0: none */
    struct cases where;      /* at most CASES_MAX */
    struct values_pool pool; /* of their values */
};

/* Questions, separated by ; */
struct question_text {
    const char *text;
    const char *file; /* that they are in, for messages; NULL: none */
    size_t at;        /* where the next one begins */
};

/*
 * The next question; moves `from` past it. *q is NULL at the end of the text. ERR_QUESTION, logged
 * with the place, for anything that is no question or asks for something that does not exist.
 */
enum err question_parse(struct question **q, const struct domain *d, struct question_text *from,
                        struct log *log) MUST_CHECK;
void question_free(struct question **q);
/* The question COUNT(*) of the rows for which a condition holds. */
enum err question_condition(struct question **q, const struct domain *d, const char *text,
                            struct log *log) MUST_CHECK;

/* The line's code for a row's code of a column. */
static inline uint32_t question_group_code(const struct question_group *g, uint32_t code)
{
    return g->first != NULL ? g->first[code] : code;
}
/* "year(admitted)"; and the number of such a group, which has a part. */
void question_group_name(const struct question *q, size_t group, char *text, size_t size);
int question_group_number(const struct question *q, size_t group, uint32_t code);
/* Whether an item's numbers are quoted, as MIN, MAX, AVG, MEDIAN and PERCENTILE of dates are. */
bool question_item_is_quoted(const struct question *q, size_t item);

/* Frees the parts of an item. */
void question_item_clear(struct question_item *item);
/* The column of an item. */
const struct domain_attribute *question_item_column(const struct question *q, size_t item);
/* What arithmetic makes of its sides, a number being the second. NAN or infinite: not known. */
double question_operate(const struct question_item *item, double a, double b);
/* "AVG(age)", or the name that the question gives it, cut to fit. */
#define QUESTION_ITEM_NAME 300
void question_item_name(const struct question *q, size_t item, char *text, size_t size);
