/*
 * Any text as questions to a model: no crash, no leak, no silent failure; what is accepted is
 * within its bounds, and its sets of values are ordered.
 */
#include "aim/question/question.h"
#include "tests/fuzz/fuzz.h"

static struct domain *make_domain(void)
{
    static const char *const wards[] = {"a", "it's", "1"};
    static const double edges[] = {0, 0, 3, 10}, loads[] = {-5, 1.5, 3}, hours[] = {-24, 0, 24, 47};
    static const struct calendar calendar = {.unit = CALENDAR_HOUR};
    struct domain *d;
    never(domain_new(&d) != ERR_OK ||
          domain_add_integer(d, "age", 0, 9, NULL, DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 3, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK ||
          domain_add_numeric(d, "x", edges, 4, "", DOMAIN_REJECT, NULL) != ERR_OK ||
          domain_set_step(d, 1, true, NULL) != ERR_OK ||
          domain_add_numeric(d, "PM2.5", loads, 3, NULL, DOMAIN_REJECT, NULL) != ERR_OK ||
          domain_add_date(d, "d", &calendar, hours, 4, "", DOMAIN_CLIP, NULL) != ERR_OK);
    return d;
}

static void check_case(const struct question *q, const struct one_case *c)
{
    for (unsigned i = 0; i < c->parts; i++) {
        const struct values *v = &c->part[i].values;
        double last = -1e308;
        never(c->part[i].column >= q->domain->attributes ||
              (i > 0 && c->part[i].column <= c->part[i - 1].column) ||
              v->first + v->spans > q->pool.used || values_are_none(*v));
        for (uint32_t k = 0; k < v->spans; k++) {
            struct values_span s = q->pool.span[v->first + k];
            never(!(s.from < s.below) || s.from < last);
            last = s.below;
        }
    }
}

static void check(const struct question *q)
{
    char name[64];
    never(q->items == 0 || q->items > QUESTION_ITEMS_MAX || q->groups > QUESTION_GROUPS_MAX ||
          q->where.n > CASES_MAX);
    for (size_t i = 0; i < q->items; i++) {
        question_item_name(q, i, name, sizeof name);
        never(q->item[i].column >= q->domain->attributes ||
              !(q->item[i].p >= 0 && q->item[i].p <= 1));
    }
    never(q->havings > QUESTION_HAVING_MAX || q->orders > QUESTION_ORDER_MAX);
    for (size_t i = 0; i < q->havings; i++)
        never(q->having[i].item >= q->items);
    for (size_t i = 0; i < q->orders; i++)
        never(q->order[i].index >= (q->order[i].group ? q->groups : q->items));
    for (unsigned i = 0; i < q->where.n; i++)
        check_case(q, &q->where.one[i]);
    for (size_t i = 0; i < q->items; i++)
        for (size_t k = 0; k < 2 && q->item[i].part[k] != NULL; k++)
            check(q->item[i].part[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", *text = malloc(size + 1);
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_ERROR};
    struct domain *d CLEAN(domain_free) = make_domain();
    struct question *q = NULL;
    struct question_text from = {.text = text};
    enum err e;
    never(text == NULL);
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t before = 0;; before = from.at) {
        e = question_parse(&q, d, &from, &log);
        if (q == NULL)
            break;
        never(e != ERR_OK || from.at <= before);
        check(q);
        question_free(&q);
    }
    never(e != ERR_OK && strstr(sink, "error: ") == NULL);
    free(text);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char *const seeds[] = {
        "SELECT COUNT(*) FROM t",
        "select ward, avg(\"age\"), PERCENTILE(x, .95) from t where age >= 3 and not (ward = 'a' "
        "or x between -1 and 2.5) group by ward, age;",
        "SELECT MODE(ward), MIN(x) FROM t WHERE ward IN ('it''s', 1) OR x IS NULL OR \"PM2.5\" < 2 "
        "-- all\n; SELECT STDDEV(age) FROM t",
        "SELECT ward, COUNT(*) AS n, AVG(x) FROM t GROUP BY ward, age, x HAVING n > 3 AND "
        "AVG(x) <= -.5 ORDER BY n DESC, ward, COUNT(*) ASC LIMIT 7",
        "SELECT CORR(age, x) AS r, CORR(x,\"PM2.5\") FROM t WHERE x < 3 OR age > 2 GROUP BY ward "
        "ORDER BY CORR(x,\"PM2.5\") DESC",
        "SELECT SHARE(ward = 'a' OR x > 1), SHARE(NOT age < 3) AS s FROM t WHERE x < 3 GROUP BY "
        "age "
        "ORDER BY SHARE( NOT age < 3)",
        "SELECT SUM(x) FROM t WHERE (age <> 3 AND age NOT IN (4, 5)) OR (ward IS NOT NULL AND "
        "x != 0)",
    };
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        put(self, seeds[i], strlen(seeds[i]));
}
