/* Columns of labels, which have no order. */
#include "aim/table/domain_private.h"
#include "aim/table/lists.h"
#include "base/memory.h"
#include "base/text.h"

#include <string.h>

static uint32_t code_of(const struct domain_attribute *a, const char *text)
{
    return text_find(a->labels, a->values, a->order, text);
}

static double number_of(const struct domain_attribute *a, uint32_t code)
{
    (void)a;
    return code;
}

static const char *text_of(const struct domain_attribute *a, uint32_t code, int digits,
                           char room[COLUMN_TEXT])
{
    (void)digits;
    (void)room;
    return a->labels[code];
}

static void write_values(const struct domain_attribute *a, struct bytes *out)
{
    for (uint32_t i = 0; i < a->values; i++)
        bytes_put_string(out, a->labels[i]);
}

static enum err read_values(struct domain_attribute *a, struct reader *r)
{
    TRY(memory_new(&a->labels, a->values));
    for (uint32_t i = 0; i < a->values; i++)
        TRY(domain_read_text(r, &a->labels[i]));
    return ERR_OK;
}

static enum err add_copy(struct domain *d, const struct domain_attribute *a, struct log *log)
{
    return domain_add_categorical(d, a->name, (const char *const *)a->labels, a->values, a->missing,
                                  a->policy, log);
}

static void set_json(const struct domain_attribute *a, json_t **object)
{
    list_set(object, "labels", list_texts(a->labels, a->values));
}

const struct column_kind column_labels = {.byte = 0,
                                          .word = "categorical",
                                          .noun = "label",
                                          .code = code_of,
                                          .number = number_of,
                                          .text = text_of,
                                          .write = write_values,
                                          .read = read_values,
                                          .add = add_copy,
                                          .json = set_json};

/* --- adding one ------------------------------------------------------------------------------- */

static enum err copy_labels(struct domain_attribute *a, const char *const *labels, size_t count)
{
    TRY(memory_new(&a->labels, count));
    TRY(memory_new(&a->order, count));
    for (size_t i = 0; i < count; i++) {
        a->values = (uint32_t)(i + 1);
        a->labels[i] = memory_string(labels[i]);
        if (a->labels[i] == NULL)
            return ERR_NOMEM;
    }
    text_order(a->labels, a->values, a->order);
    return ERR_OK;
}

static enum err check_labels(const struct domain_attribute *a, const char *name, struct log *log)
{
    for (uint32_t i = 0; i < a->values; i++) {
        const char *label = a->labels[a->order[i]];
        if (*label == '\0')
            return log_fail(
                log, ERR_STUDY,
                "attribute %s: label %u is empty; an empty cell is written as 'missing'", name,
                a->order[i] + 1);
        if (domain_spaced(label))
            return log_fail(
                log, ERR_STUDY,
                "attribute %s: label '%s' has spaces around it, which are taken off when files "
                "are read; remove them",
                name, label);
        if (i > 0 && strcmp(label, a->labels[a->order[i - 1]]) == 0)
            return log_fail(log, ERR_STUDY, "attribute %s: label '%s' is listed twice", name,
                            label);
    }
    return ERR_OK;
}

enum err domain_add_categorical(struct domain *d, const char *name, const char *const *labels,
                                size_t count, const char *missing, enum domain_policy policy,
                                struct log *log)
{
    struct domain_attribute a CLEAN(domain_attribute_clear) = {.kind = &column_labels,
                                                               .policy = policy};
    TRY(domain_check_new(d, &a, name, missing, log));
    if (count > 0 && count <= DOMAIN_SIZE_MAX) {
        TRY(copy_labels(&a, labels, count));
        TRY(check_labels(&a, name, log));
    }
    return domain_append(d, &a, count, name, missing, log);
}
