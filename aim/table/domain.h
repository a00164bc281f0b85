/*
 * aim/table/domain.h - what values each attribute may take, and their codes 0 .. size-1.
 *
 * A domain is public and written by people; it is never derived from data. Codes:
 *   categorical  the index in the list of labels
 *   integer      value - min, for min <= value <= max
 *   numeric      i, for e_i <= x < e_(i+1), of edges e_0 <= e_1 <= ... <= e_k; x = e_k is in k-1
 *   date         the same of whole numbers, the units since 1970 (aim/table/calendar.h)
 *
 * An edge that is listed twice is a *spike*: a bin of that one number, which the next bin then
 * leaves out. So codes always ascend with the numbers.
 *
 * An attribute that may be missing has one more code, the last one.
 */
#pragma once

#include "aim/table/calendar.h"
#include "aim/table/kind.h"

#define DOMAIN_ATTRIBUTES_MAX 256
#define DOMAIN_SIZE_MAX 65535
#define DOMAIN_NO_CODE UINT32_MAX

/*
 * What to do with a value outside an attribute's range or list: refuse the table; take the nearest
 * number, or treat text that is no number as missing if the attribute may be missing; treat it as
 * missing.
 */
enum domain_policy { DOMAIN_REJECT, DOMAIN_CLIP, DOMAIN_AS_MISSING };

/* What is assumed inside the last bin: the trend of those before, an open end, a declared mean. */
enum domain_tail { DOMAIN_TAIL_TREND, DOMAIN_TAIL_EXPONENTIAL, DOMAIN_TAIL_TYPICAL };

struct domain_attribute {
    char *name;
    const struct column_kind *kind;
    enum domain_policy policy; /* clip: integer and numeric only; as missing: `missing` only */
    uint32_t size;             /* number of codes, including the missing one */
    char **labels;             /* categorical: the labels of codes 0 .. (without the missing one) */
    uint32_t *order;           /* categorical: codes in strcmp() order of their labels */
    int64_t min, max;          /* integer */
    struct calendar *calendar; /* date: its unit and formats; what else is numeric is its, too */
    double *edges;             /* numeric: bins + 1 of them, ascending; none more than twice */
    double step;               /* numeric: synthetic values are multiples of it; 0: any number */
    bool whole;                /* numeric: only whole numbers fit */
    enum domain_tail tail;     /* numeric: what is assumed of the last bin that is no spike */
    double typical;            /* its mean, where the study declares one */
    uint32_t values;           /* size without the missing code: labels, integers or bins */
    char *missing;             /* the text of a missing value ("" is an empty cell), or NULL */
    char **missing_too;        /* other texts that are read as missing */
    uint32_t missing_too_count;
    double *missing_number; /* integer and numeric: those of these texts that are numbers */
    uint32_t missing_numbers;
};

struct derives;
struct series;
struct domain {
    size_t attributes;
    struct domain_attribute *attribute;
    struct derives *derived; /* NULL, or what follows from what (aim/table/derive.h) */
    struct series *series;   /* NULL, or how rows are events of persons (aim/table/series.h) */
};

enum err domain_new(struct domain **domain) MUST_CHECK;
void domain_free(struct domain **domain);
void domain_attribute_clear(struct domain_attribute *a);

/*
 * Adds one attribute; everything is copied; `missing` may be NULL. ERR_STUDY, logged, for an empty
 * or repeated name or label, spaces around one, a value that is also the missing one, min > max,
 * edges not ascending or not finite, more than DOMAIN_SIZE_MAX codes, no code at all, or a policy
 * that does not suit the kind.
 */
enum err domain_add_categorical(struct domain *d, const char *name, const char *const *labels,
                                size_t count, const char *missing, enum domain_policy policy,
                                struct log *log) MUST_CHECK;
enum err domain_add_integer(struct domain *d, const char *name, int64_t min, int64_t max,
                            const char *missing, enum domain_policy policy,
                            struct log *log) MUST_CHECK;
enum err domain_add_numeric(struct domain *d, const char *name, const double *edges, size_t count,
                            const char *missing, enum domain_policy policy,
                            struct log *log) MUST_CHECK;
/* Edges are whole numbers of the calendar's units. */
enum err domain_add_date(struct domain *d, const char *name, const struct calendar *calendar,
                         const double *edges, size_t count, const char *missing,
                         enum domain_policy policy, struct log *log) MUST_CHECK;

/*
 * More texts that stand for a missing value of the attribute added last, which must be one that may
 * be missing (domain_missing.c). ERR_STUDY, logged, for one that is a value, is listed twice or has
 * spaces around it. In a column of numbers or dates, a text that is one stands for it however it
 * is written. It may lie within a bin, unless it is a multiple of the step with others of the
 * bin on either side.
 */
enum err domain_set_missing(struct domain *d, const char *const *texts, size_t count,
                            struct log *log) MUST_CHECK;
/* The same for any attribute, which could not be missing so far. */
enum err domain_let_miss(struct domain_attribute *a, const char *text, struct log *log) MUST_CHECK;
/* Whether a text, or a number, stands for a missing value. */
bool domain_missing_text(const struct domain_attribute *a, const char *text);
bool domain_missing_number(const struct domain_attribute *a, double x);

/*
 * More about the attribute that was added last, a numeric one (domain_bins.c). ERR_STUDY, logged:
 * step     above 0, with at most 12 digits after the point; every bin must hold a multiple of it.
 *          `whole`: the step is a whole number, and only whole numbers fit
 * tail     `typical`, if that is declared, must be between two numbers of the bin
 */
enum err domain_set_step(struct domain *d, double step, bool whole, struct log *log) MUST_CHECK;
enum err domain_set_tail(struct domain *d, enum domain_tail tail, double typical,
                         struct log *log) MUST_CHECK;

/* --- what differs by kind (aim/table/kind.h) -------------------------------------------------- */

/* Whether codes ascend with numbers that they stand for; else they are labels. */
static inline bool domain_has_order(const struct domain_attribute *a)
{
    return a->kind->order;
}

/* Whether codes are bins, ranges of numbers; else each stands for one value. */
static inline bool domain_has_bins(const struct domain_attribute *a)
{
    return a->kind->bins;
}

/* Whether values are written as decimal numbers. */
static inline bool domain_has_numbers(const struct domain_attribute *a)
{
    return a->kind->numbers;
}

/* Whether it has an order and no decimal numbers: studies and questions quote them, as dates. */
static inline bool domain_is_quoted(const struct domain_attribute *a)
{
    return a->kind->order && !a->kind->numbers;
}

/* The number that a text says; false if it says none. */
static inline bool domain_parse(const struct domain_attribute *a, const char *text, double *number)
{
    return a->kind->parse != NULL && a->kind->parse(a, text, number);
}

/* A number as a text of the column; only with an order. */
static inline const char *domain_print(const struct domain_attribute *a, double number, int digits,
                                       char room[COLUMN_TEXT])
{
    return a->kind->print(a, number, digits, room);
}

/* The number of a code, the least one of a bin; a code without order is its own number. */
static inline double domain_number(const struct domain_attribute *a, uint32_t code)
{
    return a->kind->number(a, code);
}

/* The largest number. */
static inline double domain_last(const struct domain_attribute *a)
{
    return domain_number(a, a->values - !domain_has_bins(a));
}

/* A code as text, of a bin its least number, with so many digits; 0: as many as matter. */
static inline const char *domain_text(const struct domain_attribute *a, uint32_t code, int digits,
                                      char room[COLUMN_TEXT])
{
    return a->kind->text(a, code, digits, room);
}

/* The least number and the largest: "0 to 9". Only with an order. */
#define DOMAIN_RANGE (2 * COLUMN_TEXT + 4)
const char *domain_range(const struct domain_attribute *a, int digits, char room[DOMAIN_RANGE]);

/* --- bins ------------------------------------------------------------------------------------- */

/* Whether a code is a spike. */
bool domain_spike(const struct domain_attribute *a, uint32_t code);
/*
 * The numbers of a bin that are multiples of the step: how many, and the first as a multiple
 * (aim/table/step.h). Numbers that stand for a missing value are not among them.
 */
int64_t domain_multiples(const struct domain_attribute *a, uint32_t code, uint64_t *count);
/* The bin of the tail: the last one with more than one number; DOMAIN_NO_CODE if none. */
uint32_t domain_tail_bin(const struct domain_attribute *a);

/* Adds a copy of an attribute, as a rule of another domain's. */
enum err domain_add_copy(struct domain *d, const struct domain_attribute *a,
                         struct log *log) MUST_CHECK;

/* A domain of some attributes of another, in the order given. Without events. */
enum err domain_pick(struct domain **out, const struct domain *d, const uint16_t *attribute,
                     size_t count) MUST_CHECK;

/* The attribute of this name, or DOMAIN_NO_CODE. */
uint32_t domain_find(const struct domain *d, const char *name);
/* The name that a text may be meant for (base/nearest.h); NULL: none. */
const char *domain_nearest(const struct domain *d, const char *text);
/* Inserts one into n ascending attributes, which have room for it; false if it is there already. */
bool domain_insert(uint16_t *attribute, size_t n, uint16_t another);

/* The code of a text without spaces around it, by the policy; or DOMAIN_NO_CODE. */
uint32_t domain_code(const struct domain_attribute *a, const char *text);
/* The bin of a number within the edges of a numeric attribute; else DOMAIN_NO_CODE. */
uint32_t domain_bin(const struct domain_attribute *a, double x);
/* Whether a text has a code without the policy. */
bool domain_fits(const struct domain_attribute *a, const char *text);

/* Canonical bytes: equal exactly when two domains mean the same. For digests and files. */
void domain_write(const struct domain *d, struct bytes *out);
/* Whether a domain has what programs before 0.3 did not know: files that have it say so. */
bool domain_needs_version_3(const struct domain *d);
/* Whether two domains mean the same. */
enum err domain_compare(const struct domain *a, const struct domain *b, bool *same) MUST_CHECK;
/* The domain that domain_write() wrote. ERR_FORMAT, or ERR_STUDY, logged, for anything else. */
enum err domain_read(struct domain **domain, struct reader *r, struct log *log) MUST_CHECK;
