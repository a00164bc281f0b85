/* Columns of whole numbers, each with a code. */
#include "aim/table/domain_private.h"
#include "aim/table/lists.h"
#include "aim/table/number.h"

#include <stdio.h>

static uint32_t code_of(const struct domain_attribute *a, const char *text)
{
    int64_t v;
    if (!number_integer(text, &v))
        return DOMAIN_NO_CODE;
    if (a->policy == DOMAIN_CLIP)
        v = v < a->min ? a->min : v > a->max ? a->max : v;
    if (v < a->min || v > a->max)
        return DOMAIN_NO_CODE;
    return (uint32_t)((uint64_t)v - (uint64_t)a->min);
}

static double number_of(const struct domain_attribute *a, uint32_t code)
{
    return (double)a->min + code;
}

static const char *text_of(const struct domain_attribute *a, uint32_t code, int digits,
                           char room[COLUMN_TEXT])
{
    (void)digits;
    snprintf(room, COLUMN_TEXT, "%lld", (long long)a->min + code);
    return room;
}

static void write_values(const struct domain_attribute *a, struct bytes *out)
{
    bytes_put_u64(out, (uint64_t)a->min);
    bytes_put_u64(out, (uint64_t)a->max);
}

static enum err read_values(struct domain_attribute *a, struct reader *r)
{
    a->min = (int64_t)reader_u64(r);
    a->max = (int64_t)reader_u64(r);
    return r->failed || (uint64_t)a->max - (uint64_t)a->min != (uint64_t)a->values - 1 ? ERR_FORMAT
                                                                                       : ERR_OK;
}

static enum err add_copy(struct domain *d, const struct domain_attribute *a, struct log *log)
{
    return domain_add_integer(d, a->name, a->min, a->max, a->missing, a->policy, log);
}

static void set_json(const struct domain_attribute *a, json_t **object)
{
    list_set(object, "min", json_integer(a->min));
    list_set(object, "max", json_integer(a->max));
}

const struct column_kind column_whole = {.byte = 1,
                                         .word = "integer",
                                         .noun = "whole number",
                                         .order = true,
                                         .numbers = true,
                                         .code = code_of,
                                         .parse = kind_parse_number,
                                         .print = kind_print_number,
                                         .number = number_of,
                                         .text = text_of,
                                         .write = write_values,
                                         .read = read_values,
                                         .add = add_copy,
                                         .json = set_json};

enum err domain_add_integer(struct domain *d, const char *name, int64_t min, int64_t max,
                            const char *missing, enum domain_policy policy, struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {
        .kind = &column_whole, .policy = policy, .min = min, .max = max};
    uint64_t span = (uint64_t)max - (uint64_t)min;
    TRY(domain_check_new(d, &a, name, missing, log));
    if (min > max)
        return log_fail(log, ERR_STUDY, "attribute %s: min %lld is above max %lld", name,
                        (long long)min, (long long)max);
    return domain_append(d, &a, span < DOMAIN_SIZE_MAX ? span + 1 : UINT64_C(1) + DOMAIN_SIZE_MAX,
                         name, missing, log);
}
