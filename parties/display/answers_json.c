#include "parties/display/answers.h"

#include "aim/table/lists.h"
#include "base/memory.h"

static json_t *code_json(const struct domain_attribute *a, uint32_t code)
{
    char room[COLUMN_TEXT];
    if (code >= a->values)
        return json_null();
    if (!domain_has_numbers(a))
        return json_string(domain_text(a, code, 0, room));
    return domain_has_bins(a) ? json_real(domain_number(a, code))
                              : json_integer((json_int_t)domain_number(a, code));
}

static json_t *group_json(const struct question *q, size_t i, uint32_t code)
{
    const struct domain_attribute *a = &q->domain->attribute[q->group[i].column];
    if (q->group[i].label != NULL)
        return q->group[i].label[code] != NULL ? json_string(q->group[i].label[code]) : json_null();
    return q->group[i].part != NULL && code < a->values
               ? json_integer(question_group_number(q, i, code))
               : code_json(a, code);
}

static json_t *quoted_json(const struct question *q, size_t item, double number)
{
    char room[COLUMN_TEXT];
    return json_string(domain_print(question_item_column(q, item), number, 0, room));
}

static json_t *number_json(const struct question *q, size_t item, bool known, double number)
{
    return !known ? json_null()
           : aggregate_is_code(q->item[item].aggregate)
               ? code_json(question_item_column(q, item), (uint32_t)number)
           : question_item_is_quoted(q, item) ? quoted_json(q, item, number)
                                              : json_real(number);
}

static json_t *value_json(const struct answers_entry *e, size_t item, const struct answer_value *v)
{
    const struct question *q = e->answer->question;
    const bool bounded = v->known && v->bounded;
    char name[QUESTION_ITEM_NAME];
    json_t *o = json_object();
    question_item_name(q, item, name, sizeof name);
    list_set(&o, "item", json_string(name));
    list_set(&o, "answer", number_json(q, item, v->known, v->number));
    if (e->level > 0) {
        list_set(&o, "low", number_json(q, item, bounded, v->low));
        list_set(&o, "high", number_json(q, item, bounded, v->high));
    }
    if (e->level > 0 && aggregate_is_code(q->item[item].aggregate))
        list_set(&o, "agreed", json_real(v->agreed));
    list_set(&o, "rows", json_real(v->rows));
    if (aggregate_is_extreme(q->item[item].aggregate))
        list_set(&o, "approximate", json_true());
    if (!e->item[item])
        list_set(&o, "together", json_false());
    return o;
}

static json_t *line_json(const struct answers_entry *e, size_t line)
{
    const struct answer *a = e->answer;
    const struct question *q = a->question;
    json_t *o = json_object(), *group = q->groups > 0 ? json_object() : NULL;
    json_t *answers = json_array();
    for (size_t i = 0; i < q->groups; i++) {
        char name[QUESTION_ITEM_NAME];
        question_group_name(q, i, name, sizeof name);
        list_set(&group, name, group_json(q, i, answer_code(a, line, i)));
    }
    for (size_t i = 0; i < q->items; i++)
        list_append(&answers, value_json(e, i, answer_value_at(a, line, i)));
    if (q->groups > 0)
        list_set(&o, "group", group);
    list_set(&o, "rows", json_real(a->rows[line]));
    list_set(&o, "answers", answers);
    return o;
}

enum err answers_json(json_t *list, const struct answers_entry *e)
{
    double rows;
    const size_t left_out = answer_left_out(e->answer, &rows);
    size_t *shown CLEAN(memory_release) = NULL, count = 0;
    const bool able = answer_shown(e->answer, &shown, &count) == ERR_OK;
    json_t *o = json_object(), *lines = json_array();
    list_set(&o, "question", json_stringn(e->text, e->size));
    for (size_t i = 0; i < count; i++)
        list_append(&lines, line_json(e, shown[i]));
    if (e->level > 0)
        list_set(&o, "level", json_real(e->level));
    if (e->answer->question->groups > 0)
        list_set(&o, "left_out",
                 json_pack("{s:I, s:f}", "groups", (json_int_t)left_out, "rows", rows));
    list_set(&o, "lines", lines);
    list_set(&o, "together", json_boolean(e->together));
    return json_array_append_new(list, o) == 0 && able ? ERR_OK : ERR_NOMEM;
}
