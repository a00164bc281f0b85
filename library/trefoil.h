/*
 * libtrefoil - query released models of Trefoil and draw rows from them
 *
 * A model is what a study releases: a differentially private distribution over all columns of a
 * table. The library opens its file, answers questions in SQL, draws synthetic rows, and gives
 * marginals and the measurements that the model was fitted to. It reads only released files:
 * whatever is asked, however often, costs no privacy.
 *
 * Link with pkg-config --cflags --libs trefoil.
 */
#ifndef TREFOIL_LIBRARY_TREFOIL_H
#define TREFOIL_LIBRARY_TREFOIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/*
 * # FAILURES
 *
 * A function that can fail returns a status; TREFOIL_OK is 0. The error, which may be NULL, then
 * gets the same status and says what is wrong and what to do, in UTF-8. For a question it has
 * further lines: the text, and a ^ below the place. If a function fails, its result is NULL. The
 * error is the only argument that may be NULL; a pointer that is freed may already be NULL.
 */
enum trefoil_status {
    TREFOIL_OK = 0,
    TREFOIL_SYSTEM = 1,   /* a file that does not exist or cannot be read; no more threads */
    TREFOIL_MEMORY = 2,   /* no memory */
    TREFOIL_FORMAT = 3,   /* a file that is cut, altered, of another kind or a later version */
    TREFOIL_QUESTION = 4, /* a question, or the name of a column, that is wrong in itself */
    TREFOIL_RANGE = 5,    /* the answer would be too large */
    TREFOIL_USAGE = 6     /* any other invalid argument */
};

#define TREFOIL_TEXT 1020
struct trefoil_error {
    int32_t status; /* enum trefoil_status */
    char text[TREFOIL_TEXT];
};

/*
 * # MODELS
 *
 * trefoil_open() takes the folder of a result or its file model. The model is a tree of marginals
 * or a copula. trefoil_close() frees it and sets the pointer to NULL, as all functions that free
 * do; results stay valid. trefoil_total() is the noisy number of rows that the model stands for.
 */
struct trefoil;

enum trefoil_kind { TREFOIL_TREE = 0, TREFOIL_COPULA = 1 };

enum trefoil_status trefoil_open(struct trefoil **model, const char *path,
                                 struct trefoil_error *error);
void trefoil_close(struct trefoil **model);
enum trefoil_kind trefoil_kind(const struct trefoil *model);
double trefoil_total(const struct trefoil *model);

/* The version of the library, such as "1.2.0". */
const char *trefoil_version(void);

/*
 * # COLUMNS
 *
 * Columns are numbered from 0 in the study's order. The values of a column have codes: labels and
 * whole numbers are numbered in their order, and numbers in bins have the codes of their bins. If
 * a value may be missing, the last code stands for that. trefoil_column() returns NULL for a
 * number that is too large; what it points to lives as long as the model. trefoil_find() returns
 * the number of a column, or TREFOIL_NONE.
 */
#define TREFOIL_NONE UINT32_MAX

enum trefoil_values {
    TREFOIL_LABELS = 0,
    TREFOIL_WHOLE = 1,
    TREFOIL_BINS = 2,
    TREFOIL_DATES = 3 /* like TREFOIL_BINS, of whole numbers of units since 1970-01-01 */
};

struct trefoil_column {
    const char *name;
    int32_t kind;              /* enum trefoil_values */
    uint32_t codes;            /* how many, including that of missing values */
    uint32_t values;           /* without it */
    const char *const *labels; /* TREFOIL_LABELS: one for each value; else NULL */
    int64_t min, max;          /* TREFOIL_WHOLE: code 0 stands for min */
    const double *edges;       /* TREFOIL_BINS: values + 1; one that occurs twice is itself a bin */
    double step;               /* TREFOIL_BINS: numbers are multiples of it; 0: any numbers */
    const char *missing;       /* how a missing value is written; NULL: none is missing */
    uint32_t unit;             /* TREFOIL_DATES: seconds in a unit, 86400 to 1; else 0 */
};

uint32_t trefoil_columns(const struct trefoil *model);
const struct trefoil_column *trefoil_column(const struct trefoil *model, uint32_t column);
uint32_t trefoil_find(const struct trefoil *model, const char *name);

/*
 * # QUESTIONS
 *
 * trefoil_query() answers the questions that trefoil-query(1) takes, with a ; between two:
 *
 *     SELECT AVG(age), COUNT(*) FROM t WHERE sex = 'f' GROUP BY ward
 *
 * Answers are the model's own: no rows are drawn, except from a copula. An interval holds the
 * truth as often as level says, from 0.5 to 0.9999; 0 asks for none. Intervals need the file
 * errors beside the model, which a copula does not have. They take thirty times as long as
 * answers, but only once for all questions that are asked together. NAN stands for what is not
 * known: a value of no rows, or an interval that does not exist.
 *
 * Each answer has one line for each group, or a single line. Groups with less than half a row are
 * left out. A line has a value for each item. Arrays of lines and items have the items of a line
 * side by side: value[line * items + item].
 */
struct trefoil_answer {
    const char *question;
    double level;            /* of the intervals; 0: there are none */
    int32_t together;        /* 0: some item's columns are in no measured marginal together */
    uint32_t groups;         /* columns in GROUP BY */
    const uint32_t *group;   /* their numbers */
    uint32_t items;          /* what was asked for, without those of GROUP BY */
    const char *const *item; /* such as "AVG(age)" */
    /* the number of the column whose labels an item's values are codes of, or TREFOIL_NONE */
    const uint32_t *label_column;
    const uint8_t *approximate; /* 1: as MIN, MAX and RANGE are */
    const uint8_t *apart;       /* 1: no measured marginal holds its columns together */
    size_t lines;
    const uint32_t *code;     /* for each line and group */
    const double *count;      /* for each line: its rows */
    const double *value;      /* for each line and item */
    const double *low, *high; /* its interval */
    const double *agreed;     /* for MODE: the share of refits that have the same one */
    const double *rows;       /* rows that it is based on: those that have the column */
    size_t left_out;          /* groups */
    double left_out_rows;
    const char *const *group_name; /* "admitted", or "YEAR(admitted)" for a part of its dates */
    const int32_t *part; /* for each line and group: that year; TREFOIL_NO_PART: a code says all */
    const uint32_t
        *unit; /* for each item: seconds in a unit, if values are dates; 0: they are not */
    /* for each line and group by a computed lookup: what it says, "" if nothing; NULL: by others */
    const char *const *group_label;
};
#define TREFOIL_NO_PART INT32_MIN

struct trefoil_answers {
    size_t count;
    const struct trefoil_answer *const *answer;
};

enum trefoil_status trefoil_query(struct trefoil *model, const char *sql, double level,
                                  struct trefoil_answers **answers, struct trefoil_error *error);
void trefoil_answers_free(struct trefoil_answers **answers);

/*
 * # ROWS
 *
 * trefoil_sample() draws synthetic rows; 0 asks for as many as the model stands for. The same seed
 * gives the same rows, also from trefoil-synth(1). Rounded: marginals are as near to the model's
 * as that number of rows allows. Independent: each row is drawn by itself, as if from a
 * population. Rows of a copula are independent; those of a tree are rounded unless you say
 * otherwise.
 *
 * trefoil_sample_where() draws rows for which a condition holds, as after WHERE in a question, and
 * trefoil_complete() what rows lack of a tree's columns: text[column] is NULL if they lack it, or
 * has a text for each row, as in a CSV file, of a date also as in a question; NULL: it is to be
 * drawn. These rows are independent.
 * Where the model has less than half a row like that, or none like a row that is to be completed,
 * this is TREFOIL_QUESTION.
 */
enum trefoil_sampling { TREFOIL_USUAL = 0, TREFOIL_ROUNDED = 1, TREFOIL_INDEPENDENT = 2 };

struct trefoil_rows {
    size_t rows;
    uint32_t columns;
    const uint16_t *const *code; /* for each column, one for each row */
    const double *const *number; /* the same as numbers, NAN if missing; NULL for labels */
    uint32_t computed;           /* columns that follow from others and are not in the model */
    const char *const *computed_name;
    const double *const *computed_number;    /* NAN if missing; NULL for a column of texts */
    const char *const *const *computed_text; /* "" if missing; NULL for a column of numbers */
    const uint32_t *computed_unit; /* seconds in a unit, if numbers are dates; 0: they are not */
};

enum trefoil_status trefoil_sample(const struct trefoil *model, size_t rows, uint64_t seed,
                                   enum trefoil_sampling sampling, struct trefoil_rows **drawn,
                                   struct trefoil_error *error);
enum trefoil_status trefoil_sample_where(const struct trefoil *model, const char *condition,
                                         size_t rows, uint64_t seed, struct trefoil_rows **drawn,
                                         struct trefoil_error *error);
enum trefoil_status trefoil_complete(const struct trefoil *model, const char *const *const *text,
                                     size_t rows, uint64_t seed, struct trefoil_rows **drawn,
                                     struct trefoil_error *error);
void trefoil_rows_free(struct trefoil_rows **drawn);

/*
 * # ARROW
 *
 * trefoil_rows_arrow() and trefoil_answer_arrow() give rows, or an answer, as a struct array of the
 * Arrow C data interface, which other libraries take over. Labels are dictionaries, and so are the
 * bins of groups, by their least values; whole numbers are int64, other numbers float64, dates
 * date32 or timestamps without a zone; missing values are null. An answer has its groups, each item
 * with its low and high if there are intervals, and rows. What is given stays valid without model
 * and rows: release both structs, or hand them on. If a function fails, their release is NULL.
 */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

enum trefoil_status trefoil_rows_arrow(const struct trefoil *model, const struct trefoil_rows *rows,
                                       struct ArrowSchema *schema, struct ArrowArray *array,
                                       struct trefoil_error *error);
enum trefoil_status trefoil_answer_arrow(const struct trefoil *model,
                                         const struct trefoil_answer *answer,
                                         struct ArrowSchema *schema, struct ArrowArray *array,
                                         struct trefoil_error *error);

/*
 * # MARGINALS
 *
 * trefoil_marginal() counts the rows with each combination of values of up to eight columns, in
 * the order in which you name them; the last one runs fastest. Counts need not be whole, and add
 * up to the total. For a copula, counts of more than two columns, or of two where either has
 * labels without an order, are those of drawn rows.
 */
struct trefoil_counts {
    uint32_t columns;
    const uint32_t *column; /* their numbers */
    const uint32_t *codes;  /* how many codes each has */
    size_t cells;
    const double *count;
};

enum trefoil_status trefoil_marginal(struct trefoil *model, const char *const *names, uint32_t n,
                                     struct trefoil_counts **counts, struct trefoil_error *error);
void trefoil_counts_free(struct trefoil_counts **counts);

/*
 * # MEASUREMENTS
 *
 * trefoil_measurements() reads measurements.json beside the model: what was released, and under
 * which guarantee. Counts are noisy, each with independent Gaussian noise of deviation sigma.
 */
struct trefoil_measurement {
    uint32_t columns;
    const uint32_t *column; /* ascending; the last one runs fastest */
    size_t cells;
    const double *count;
    double sigma; /* 0: published totals that trefoil-refit(1) was given, in `known` */
    double total; /* 0; or the noisy number of rows then, if others have joined the run since */
    /* NULL, or for each column: NULL, or for each code the group that was measured instead */
    const uint32_t *const *group;
};

struct trefoil_measurements {
    double epsilon, delta, rho;
    uint32_t rows_per_person; /* with `events`, in parts of a person's unit: 60 or 12 an owner */
    size_t count;
    const struct trefoil_measurement *const *measurement;
    size_t knowns;
    const struct trefoil_measurement *const *known;
};

enum trefoil_status trefoil_measurements(const struct trefoil *model,
                                         struct trefoil_measurements **measurements,
                                         struct trefoil_error *error);
void trefoil_measurements_free(struct trefoil_measurements **measurements);

/*
 * # HOW MUCH AT ONCE
 *
 * What one call may ask is bounded, so that a slip ends in TREFOIL_RANGE and not in a machine
 * without memory: rows times columns that are drawn by TREFOIL_DRAWN_MAX, the cells of a
 * trefoil_marginal() by TREFOIL_CELLS_MAX; of a trefoil_query() the text by TREFOIL_QUESTIONS_MAX
 * bytes, and the lines times items of all answers, with lines that are left out, by
 * TREFOIL_VALUES_MAX. Each takes up to some GB. Below these, memory may still run out:
 * TREFOIL_MEMORY.
 */
#define TREFOIL_DRAWN_MAX (UINT64_C(1) << 28)
#define TREFOIL_CELLS_MAX (UINT64_C(1) << 26)
#define TREFOIL_VALUES_MAX (UINT64_C(1) << 23)
#define TREFOIL_QUESTIONS_MAX ((size_t)1 << 20)

/*
 * # THREADS
 *
 * The library has no state of its own, prints nothing and never ends the program. Threads may use
 * different models at the same time, but one model only one after another. Intervals are computed
 * by a few threads, which have ended when trefoil_query() returns.
 *
 * # COMPATIBILITY
 *
 * As long as the library is called libtrefoil.so.0, no function changes or disappears. New
 * functions get symbol versions of their own, and structures that the library makes may get
 * further members at their ends: a program that was linked with an older library runs with a newer
 * one. So do not make such structures yourself or copy them by value. struct trefoil_error, which
 * you make, stays as it is.
 */
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
