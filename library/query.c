/* Questions and their answers. */
#include "aim/answer/answer.h"
#include "aim/question/questions.h"
#include "base/memory.h"
#include "library/trefoil_private.h"

#include <math.h>
#include <string.h>

struct library_asked {
    struct question *question;
    struct answer *answer;
    struct trefoil_answer *made; /* part of the result */
};

/* What the caller gets, and the memory for all of it; `given` comes first. */
struct result {
    struct trefoil_answers given;
    struct keep keep;
    const struct trefoil_answer **list;
};

struct library_asking {
    struct trefoil *model;
    double level; /* 0: no intervals */
    size_t count, room;
    uint64_t values; /* of all answers */
    struct library_asked *one;
    struct result *result;
    struct log *log;
};

void trefoil_answers_free(struct trefoil_answers **answers)
{
    struct result *r = (struct result *)*answers;
    if (r == NULL)
        return;
    keep_clear(&r->keep);
    memory_free(&r->list);
    memory_free(answers);
}

static void asking_clear(struct library_asking *k)
{
    struct trefoil_answers *unfinished = (struct trefoil_answers *)k->result;
    for (size_t i = 0; i < k->count; i++) {
        answer_free(&k->one[i].answer);
        question_free(&k->one[i].question);
    }
    memory_free(&k->one);
    trefoil_answers_free(&unfinished);
}

/* --- one answer ------------------------------------------------------------------------------- */

/* An unfinished answer: writes the fields that the caller sees as constant. */
struct draft {
    const struct answer *from;
    struct trefoil_answer *to;
    const size_t *shown; /* lines of `from` */
    uint32_t *code;
    int32_t *part;
    const char **label;
    double *count, *value, *low, *high, *agreed, *rows;
};

/* MODE of numbers is a number; of labels it stays a code. */
static double number_of(const struct question *q, size_t item, double v)
{
    const struct domain_attribute *a = question_item_column(q, item);
    return aggregate_is_code(q->item[item].aggregate) ? domain_number(a, (uint32_t)v) : v;
}

static void put_value(struct draft *d, size_t at, size_t item, const struct answer_value *v)
{
    const struct question *q = d->from->question;
    const bool bounded = v->known && v->bounded;
    const bool mode = aggregate_is_code(q->item[item].aggregate);
    d->value[at] = v->known ? number_of(q, item, v->number) : NAN;
    d->low[at] = bounded ? number_of(q, item, v->low) : NAN;
    d->high[at] = bounded ? number_of(q, item, v->high) : NAN;
    d->agreed[at] = mode && v->known && d->to->level > 0 ? v->agreed : NAN;
    d->rows[at] = v->rows;
}

static void put_group(struct draft *d, size_t at, size_t group, uint32_t code)
{
    const struct question *q = d->from->question;
    const struct question_group *g = &q->group[group];
    d->code[at] = code;
    d->part[at] = g->part != NULL && code < q->domain->attribute[g->column].values
                      ? question_group_number(q, group, code)
                      : TREFOIL_NO_PART;
    if (g->label != NULL)
        d->label[at] = g->label[code] != NULL ? g->label[code] : "";
}

static void put_lines(struct draft *d)
{
    const struct answer *a = d->from;
    const size_t items = a->question->items, groups = a->question->groups;
    for (size_t to = 0; to < d->to->lines; to++) {
        const size_t line = d->shown[to];
        for (size_t g = 0; g < groups; g++)
            put_group(d, to * groups + g, g, answer_code(a, line, g));
        for (size_t i = 0; i < items; i++)
            put_value(d, to * items + i, i, answer_value_at(a, line, i));
        d->count[to] = a->rows[line];
    }
}

static enum err make_lines(struct keep *k, struct draft *d)
{
    struct trefoil_answer *to = d->to;
    const size_t values = to->lines * to->items;
    double **const each[] = {&d->value, &d->low, &d->high, &d->agreed, &d->rows};
    TRY(keep_new(k, &d->code, to->lines * to->groups));
    TRY(keep_new(k, &d->part, to->lines * to->groups));
    TRY(keep_new(k, &d->label, to->lines * to->groups));
    TRY(keep_new(k, &d->count, to->lines));
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        TRY(keep_new(k, each[i], values));
    put_lines(d);
    for (size_t i = 0; i < to->lines * to->groups; i++)
        if (d->label[i] != NULL)
            TRY(keep_string(k, &d->label[i], d->label[i], strlen(d->label[i])));
    to->code = d->code;
    to->part = d->part;
    to->group_label = d->label;
    to->count = d->count;
    to->value = d->value;
    to->low = d->low;
    to->high = d->high;
    to->agreed = d->agreed;
    to->rows = d->rows;
    return ERR_OK;
}

static enum err make_groups(struct keep *k, const struct question *q, struct trefoil_answer *to)
{
    char name[QUESTION_ITEM_NAME];
    const char **names;
    uint32_t *group;
    TRY(keep_new(k, &group, q->groups));
    TRY(keep_new(k, &names, q->groups));
    for (size_t i = 0; i < q->groups; i++) {
        group[i] = q->group[i].column;
        question_group_name(q, i, name, sizeof name);
        TRY(keep_string(k, &names[i], name, strlen(name)));
    }
    to->group = group;
    to->group_name = names;
    return ERR_OK;
}

/* Seconds in a unit, if an item's numbers are dates. */
static uint32_t unit_of(const struct question *q, size_t item)
{
    const struct calendar *c = question_item_column(q, item)->calendar;
    const bool dated = aggregate_is_code(q->item[item].aggregate) ||
                       question_item_is_quoted(q, item);
    return c != NULL && dated ? (uint32_t)calendar_unit_seconds(c->unit) : 0;
}

static enum err make_items(struct keep *k, const struct released *r, const struct question *q,
                           struct trefoil_answer *to)
{
    char name[QUESTION_ITEM_NAME];
    uint32_t *unit, *label_column;
    uint8_t *approximate, *apart;
    const char **item;
    TRY(make_groups(k, q, to));
    TRY(keep_new(k, &unit, q->items));
    TRY(keep_new(k, &item, q->items));
    TRY(keep_new(k, &label_column, q->items));
    TRY(keep_new(k, &approximate, q->items));
    TRY(keep_new(k, &apart, q->items));
    to->together = true;
    for (size_t i = 0; i < q->items; i++) {
        const enum question_aggregate a = q->item[i].aggregate;
        const bool labels = aggregate_is_code(a) && !domain_has_order(question_item_column(q, i));
        label_column[i] = labels ? q->item[i].column : TREFOIL_NONE;
        unit[i] = unit_of(q, i);
        approximate[i] = aggregate_is_extreme(a);
        apart[i] = !released_item_together(r, q, i);
        to->together &= !apart[i];
        question_item_name(q, i, name, sizeof name);
        TRY(keep_string(k, &item[i], name, strlen(name)));
    }
    to->unit = unit;
    to->item = item;
    to->label_column = label_column;
    to->approximate = approximate;
    to->apart = apart;
    return ERR_OK;
}

static enum err make_answer(struct library_asking *k, size_t i)
{
    const struct answer *a = k->one[i].answer;
    struct trefoil_answer *to = k->one[i].made;
    struct draft d = {.from = a, .to = to};
    size_t *shown CLEAN(memory_release) = NULL;
    to->level = k->model->released.errors != NULL ? k->level : 0;
    to->groups = (uint32_t)a->question->groups;
    to->items = (uint32_t)a->question->items;
    to->left_out = answer_left_out(a, &to->left_out_rows);
    TRY(answer_shown(a, &shown, &to->lines));
    d.shown = shown;
    TRY(make_items(&k->result->keep, &k->model->released, a->question, to));
    return make_lines(&k->result->keep, &d);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Takes over the question. */
static enum err take_one(struct library_asking *k, struct questions_next *next)
{
    struct library_asked *one;
    TRY(memory_room(&k->one, &k->room, k->count + 1));
    one = &k->one[k->count++];
    *one = (struct library_asked){.question = next->question};
    next->question = NULL;
    TRY(memory_extend(&k->result->list, k->count));
    TRY(keep_new(&k->result->keep, &one->made, 1));
    k->result->list[k->count - 1] = one->made;
    TRY(keep_string(&k->result->keep, &one->made->question, next->text, next->size));
    k->values += (uint64_t)answer_lines(one->question) * one->question->items;
    if (k->values <= TREFOIL_VALUES_MAX)
        return ERR_OK;
    return log_fail(k->log, ERR_RANGE,
                    "the answers to these questions have more than %llu values; ask in parts, "
                    "group by columns of fewer values, or ask for fewer items",
                    (unsigned long long)TREFOIL_VALUES_MAX);
}

/* All are read before any is answered: what is too much is refused at once. */
static enum err answer_all(struct library_asking *k, const char *sql)
{
    struct released *r = &k->model->released;
    struct questions q CLEAN(questions_clear) = {.domain = k->model->released.domain,
                                                 .log = k->log};
    if (strlen(sql) > TREFOIL_QUESTIONS_MAX)
        return log_fail(k->log, ERR_RANGE, "more than %zu bytes of questions; ask in parts",
                        TREFOIL_QUESTIONS_MAX);
    TRY(questions_text(&q, sql));
    for (;;) {
        struct questions_next next CLEAN(questions_next_clear) = {0};
        TRY(questions_next(&q, &next));
        if (next.question == NULL)
            break;
        TRY(take_one(k, &next));
    }
    if (k->count == 0)
        return log_fail(k->log, ERR_QUESTION, "there is no question");
    for (size_t i = 0; i < k->count; i++)
        TRY(answer_new(&k->one[i].answer, r->sums, &r->inside, k->one[i].question, k->log));
    return ERR_OK;
}

static enum err find_intervals(struct library_asking *k)
{
    struct released *r = &k->model->released;
    char path[FILE_PATH];
    struct answer **list CLEAN(memory_release) = NULL;
    struct answer_terms terms = {
        .model = r->sums, .inside = &r->inside, .level = k->level, .log = k->log};
    if (k->level == 0)
        return ERR_OK;
    TRY(released_errors(r, k->model->path, path, k->log));
    terms.errors = r->errors;
    if (terms.errors == NULL)
        return ERR_OK;
    TRY(memory_new(&list, k->count));
    for (size_t i = 0; i < k->count; i++)
        list[i] = k->one[i].answer;
    return answer_intervals(list, k->count, &terms);
}

static enum err query(struct trefoil *model, const char *sql, double level,
                      struct trefoil_answers **answers, struct log *log)
{
    struct library_asking k CLEAN(asking_clear) = {.model = model, .level = level, .log = log};
    if (level != 0 && !(level >= 0.5 && level <= 0.9999))
        return log_fail(log, ERR_USAGE,
                        "a level is a number from 0.5 to 0.9999, or 0 for no intervals; not %.10g",
                        level);
    TRY(memory_new(&k.result, 1));
    TRY(released_sums(&model->released, log));
    TRY(answer_all(&k, sql));
    TRY(find_intervals(&k));
    for (size_t i = 0; i < k.count; i++)
        TRY(make_answer(&k, i));
    k.result->given = (struct trefoil_answers){.count = k.count, .answer = k.result->list};
    *answers = &k.result->given;
    k.result = NULL;
    return ERR_OK;
}

enum trefoil_status trefoil_query(struct trefoil *model, const char *sql, double level,
                                  struct trefoil_answers **answers, struct trefoil_error *error)
{
    struct log log = failure_log(error);
    *answers = NULL;
    return failure_status(error, query(model, sql, level, answers, &log));
}
