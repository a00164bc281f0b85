#include "bench/queries.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "bench/data.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- files ------------------------------------------------------------------------------------ */

static enum err read_floor(struct queries *q, const char *path, struct log *log)
{
    FILE *f = fopen(path, "r");
    char line[1 << 16];
    if (f == NULL)
        return ERR_OK;
    q->floor = json_object();
    while (fgets(line, sizeof line, f) != NULL) {
        json_t *o = json_loads(line, 0, NULL);
        char id[32];
        snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(o, "id")));
        json_object_set(q->floor, id, json_object_get(o, "answer"));
        json_decref(o);
    }
    fclose(f);
    return json_object_size(q->floor) > 0 ? ERR_OK
                                          : log_fail(log, ERR_FORMAT, "%s has no answers", path);
}

enum err queries_read(struct queries *q, const char *folder, const char *table, struct log *log)
{
    char path[FILE_PATH];
    *q = (struct queries){0};
    TRY(file_path(path, log, "%s/%s.queries.json", folder, table));
    q->list = data_json(path, log);
    if (q->list == NULL)
        return ERR_FORMAT;
    TRY(file_path(path, log, "%s/%s.binned.jsonl", folder, table));
    return read_floor(q, path, log);
}

void queries_clear(struct queries *q)
{
    json_decref(q->list);
    json_decref(q->floor);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text != NULL ? text : "";
}

void queries_text(const struct queries *q, struct bytes *out)
{
    size_t i;
    json_t *one;
    json_array_foreach(q->list, i, one) text_put(out, "%s;\n", text_of(one, "sql"));
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Whether a value is the one that a key names, as text or as a number. */
static bool is_named(const json_t *value, const char *key)
{
    char *end;
    double number = strtod(key, &end);
    if (json_is_string(value))
        return strcmp(json_string_value(value), key) == 0;
    return json_is_number(value) && end != key && *end == '\0' &&
           json_number_value(value) == number;
}

/* 1 - the rows with the value that MODE answers, over those with the most frequent value. */
static double regret(const json_t *counts, const json_t *answer)
{
    double most = 0, got = 0;
    const char *key;
    json_t *n;
    size_t i;
    if (json_is_object(counts))
        json_object_foreach((json_t *)(uintptr_t)counts, key, n)
        {
            most = fmax(most, json_number_value(n));
            got = is_named(answer, key) ? json_number_value(n) : got;
        }
    else
        json_array_foreach(counts, i, n)
        {
            double x = json_number_value(answer), rows = json_number_value(json_array_get(n, 2));
            most = fmax(most, rows);
            if (x >= json_number_value(json_array_get(n, 0)) &&
                x < json_number_value(json_array_get(n, 1)))
                got = rows;
        }
    return 1 - got / most;
}

static double error_of(const json_t *query, const char *group, const json_t *truth,
                       const json_t *answer)
{
    const json_t *counts = json_object_get(query, "counts");
    if (answer == NULL || json_is_null(answer))
        return 1;
    if (strcmp(text_of(query, "aggregate"), "MODE") == 0)
        return regret(group != NULL ? json_object_get(counts, group) : counts, answer);
    return fabs(json_number_value(answer) - json_number_value(truth)) /
           fabs(json_number_value(truth));
}

/* The answer for a group, or for all rows: {"answer": .., "low": .., "high": ..}, or NULL. */
static const json_t *answer_of(const json_t *answers, const char *group)
{
    const json_t *lines = json_object_get(answers, "lines");
    json_t *line;
    size_t i;
    json_array_foreach(lines, i, line)
    {
        const json_t *by = json_object_get(line, "group");
        const json_t *key = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)by));
        if (group == NULL || is_named(key, group))
            return json_array_get(json_object_get(line, "answers"), 0);
    }
    return NULL;
}

static const json_t *floor_of(const struct queries *q, const json_t *query, const char *group)
{
    char id[32];
    const json_t *floor;
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(query, "id")));
    floor = json_object_get(q->floor, id);
    return group != NULL ? json_object_get(floor, group) : floor;
}

struct queries_tally {
    double *error;
    double *width; /* of the intervals */
    double *over_error;
    size_t room, wide, over;
    struct queries_score *score;
};

static enum err count(struct queries_tally *t, const json_t *query, const char *group,
                      const json_t *truth, const json_t *answer)
{
    const json_t *low = json_object_get(answer, "low"), *high = json_object_get(answer, "high");
    const json_t *value = json_object_get(answer, "answer");
    double x = json_number_value(truth);
    TRY(memory_room(&t->error, &t->room, t->score->items + 1));
    TRY(memory_room(&t->width, &t->wide, t->score->intervals + 1));
    TRY(memory_room(&t->over_error, &t->over, t->score->intervals + 1));
    t->error[t->score->items++] = error_of(query, group, truth, value);
    t->score->missing += value == NULL || json_is_null(value);
    if (json_is_number(low) && json_is_number(high) && json_is_number(truth) &&
        strcmp(text_of(query, "aggregate"), "MODE") != 0) {
        double half = (json_number_value(high) - json_number_value(low)) / 2;
        const double error = fabs(json_number_value(value) - x);
        t->width[t->score->intervals] = half / fmax(fabs(x), DBL_MIN); /* a number: it is sorted */
        t->over_error[t->score->intervals++] = half / fmax(error, DBL_MIN);
        t->score->held += x >= json_number_value(low) && x <= json_number_value(high);
    }
    return ERR_OK;
}

static bool is_grouped(const json_t *query)
{
    return json_is_string(json_object_get(query, "group_by"));
}

static enum err score_one(struct queries_tally *t, const struct queries *q, const json_t *query,
                          const json_t *answers, double within)
{
    json_t *truth = json_object_get(query, "answer"), *of;
    const char *group;
    if (!is_grouped(query)) {
        bool fair = q->floor == NULL ||
                    error_of(query, NULL, truth, floor_of(q, query, NULL)) <= within;
        return fair ? count(t, query, NULL, truth, answer_of(answers, NULL)) : ERR_OK;
    }
    json_object_foreach(truth, group, of)
    {
        bool fair = q->floor == NULL ||
                    error_of(query, group, of, floor_of(q, query, group)) <= within;
        if (fair)
            TRY(count(t, query, group, of, answer_of(answers, group)));
    }
    return ERR_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *v, size_t n, double p)
{
    double place = (double)(n - 1) * p;
    size_t low = (size_t)place, high = low + (place > (double)low);
    return v[low] + (v[high] - v[low]) * (place - (double)low);
}

static bool is_chosen(const struct queries_choice *choice, const json_t *query,
                      const json_t *answers)
{
    int columns = (int)json_integer_value(json_object_get(query, "columns_in_predicates"));
    return (choice->shape == QUERIES_ANY ||
            is_grouped(query) == (choice->shape == QUERIES_BY_GROUP)) &&
           (choice->aggregate == NULL ||
            strcmp(text_of(query, "aggregate"), choice->aggregate) == 0) &&
           (choice->columns == 0 || choice->columns == columns) &&
           (!choice->together || json_is_true(json_object_get(answers, "together")));
}

enum err queries_score(struct queries_score *s, const struct queries *q, const json_t *answers,
                       const struct queries_choice *choice, double within)
{
    struct queries_tally t = {.score = s};
    enum err e = ERR_OK;
    json_t *query;
    size_t i;
    *s = (struct queries_score){0};
    json_array_foreach(q->list, i, query)
    {
        const json_t *answer = json_array_get(answers, i);
        if (e == ERR_OK && is_chosen(choice, query, answer))
            e = score_one(&t, q, query, answer, within);
    }
    if (s->items > 0) {
        qsort(t.error, s->items, sizeof *t.error, ascending);
        s->median = quantile(t.error, s->items, 0.5);
        s->p95 = quantile(t.error, s->items, 0.95);
    }
    if (s->intervals > 0) {
        qsort(t.width, s->intervals, sizeof *t.width, ascending);
        s->width = quantile(t.width, s->intervals, 0.5);
        qsort(t.over_error, s->intervals, sizeof *t.over_error, ascending);
        s->over_error = quantile(t.over_error, s->intervals, 0.5);
    }
    memory_free_all(&t.error, &t.width, &t.over_error);
    return e;
}
