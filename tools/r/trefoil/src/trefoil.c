/*
 * libtrefoil for R. What the library makes hangs off an external pointer with a finalizer as soon
 * as it exists, so that an error of R's, which jumps, leaks nothing.
 */
#include <trefoil.h>

#define R_NO_REMAP
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* --- ownership ---------------------------------------------------------------------------------- */

#define FINALIZER(kind, free)                                                                      \
    static void finish_##kind(SEXP p)                                                              \
    {                                                                                              \
        struct kind *made = R_ExternalPtrAddr(p);                                                  \
        free(&made);                                                                               \
        R_ClearExternalPtr(p);                                                                     \
    }
FINALIZER(trefoil, trefoil_close)
FINALIZER(trefoil_answers, trefoil_answers_free)
FINALIZER(trefoil_rows, trefoil_rows_free)
FINALIZER(trefoil_counts, trefoil_counts_free)
FINALIZER(trefoil_measurements, trefoil_measurements_free)

/* An empty pointer that will own what a call makes; made first, since making it may fail. */
static SEXP owner(R_CFinalizer_t finish)
{
    SEXP p = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
    R_RegisterCFinalizerEx(p, finish, TRUE);
    UNPROTECT(1);
    return p;
}

static void check(enum trefoil_status status, const struct trefoil_error *error)
{
    if (status != TREFOIL_OK)
        Rf_error("%s", error->text);
}

static struct trefoil *model_of(SEXP handle)
{
    struct trefoil *model = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
    if (model == NULL)
        Rf_error("this is no open model; trefoil_open() gives one");
    return model;
}

/* --- values ------------------------------------------------------------------------------------- */

static SEXP text(const char *utf8)
{
    return Rf_mkCharCE(utf8, CE_UTF8);
}

static SEXP numbers(const double *from, size_t n)
{
    SEXP v = Rf_allocVector(REALSXP, (R_xlen_t)n);
    for (size_t i = 0; i < n; i++)
        REAL(v)[i] = isnan(from[i]) ? NA_REAL : from[i];
    return v;
}

/* Where `from` has a number for each of `step` items on a line: those of one item. */
static SEXP numbers_of(const double *from, size_t lines, size_t step, size_t item)
{
    SEXP v = Rf_allocVector(REALSXP, (R_xlen_t)lines);
    for (size_t i = 0; i < lines; i++)
        REAL(v)[i] = isnan(from[i * step + item]) ? NA_REAL : from[i * step + item];
    return v;
}

/* Units since 1970 as a Date, or, where a unit is less than a day, as a POSIXct in UTC. */
static SEXP as_dates(SEXP v, uint32_t unit)
{
    const int days = unit == 86400;
    SEXP kind;
    PROTECT(v);
    for (R_xlen_t i = 0; i < XLENGTH(v); i++)
        REAL(v)[i] = ISNA(REAL(v)[i]) ? NA_REAL : round(REAL(v)[i]) * (days ? 1 : unit);
    kind = PROTECT(Rf_allocVector(STRSXP, days ? 1 : 2));
    SET_STRING_ELT(kind, 0, Rf_mkChar(days ? "Date" : "POSIXct"));
    if (!days) {
        SET_STRING_ELT(kind, 1, Rf_mkChar("POSIXt"));
        Rf_setAttrib(v, Rf_install("tzone"), Rf_mkString("UTC"));
    }
    Rf_setAttrib(v, R_ClassSymbol, kind);
    UNPROTECT(2);
    return v;
}

static void edge(char *to, size_t size, const struct trefoil_column *c, uint32_t i)
{
    time_t seconds;
    struct tm tm;
    if (c->kind != TREFOIL_DATES) {
        snprintf(to, size, "%.15g", c->edges[i]);
        return;
    }
    seconds = (time_t)(c->edges[i] * c->unit);
    gmtime_r(&seconds, &tm);
    strftime(to, size, c->unit == 86400 ? "%Y-%m-%d" : "%Y-%m-%d %H:%M:%S", &tm);
}

/* The values of a column in the order of its codes: labels, numbers, or bins as cut() writes them. */
static SEXP levels(const struct trefoil_column *c)
{
    SEXP v = PROTECT(Rf_allocVector(STRSXP, c->values));
    for (uint32_t i = 0; i < c->values; i++) {
        char low[40], high[40], bin[90];
        if (c->kind == TREFOIL_LABELS) {
            SET_STRING_ELT(v, i, text(c->labels[i]));
            continue;
        }
        if (c->kind == TREFOIL_WHOLE) {
            snprintf(bin, sizeof bin, "%lld", (long long)(c->min + i));
        } else {
            edge(low, sizeof low, c, i);
            edge(high, sizeof high, c, i + 1);
            snprintf(bin, sizeof bin, "[%s,%s%c", low, high,
                     i + 1 == c->values || c->edges[i] == c->edges[i + 1] ? ']' : ')');
        }
        SET_STRING_ELT(v, i, text(bin));
    }
    UNPROTECT(1);
    return v;
}

/* Whole numbers beyond those that R has as integers; the least of these is NA. */
static SEXP coded_wide(SEXP code, const struct trefoil_column *c)
{
    SEXP v;
    PROTECT(code);
    v = PROTECT(Rf_allocVector(REALSXP, XLENGTH(code)));
    for (R_xlen_t i = 0; i < XLENGTH(v); i++)
        REAL(v)[i] = INTEGER(code)[i] > (int)c->values
                         ? NA_REAL
                         : (double)(c->min + INTEGER(code)[i] - 1);
    UNPROTECT(2);
    return v;
}

/* Codes from 1, NA for missing values: whole numbers as integers, everything else as a factor. */
static SEXP coded(SEXP v, const struct trefoil_column *c)
{
    if (c->kind == TREFOIL_WHOLE && (c->min <= INT_MIN || c->max > INT_MAX))
        return coded_wide(v, c);
    PROTECT(v);
    for (R_xlen_t i = 0; i < XLENGTH(v); i++) {
        if (INTEGER(v)[i] > (int)c->values)
            INTEGER(v)[i] = NA_INTEGER;
        else if (c->kind == TREFOIL_WHOLE)
            INTEGER(v)[i] += (int)(c->min - 1);
    }
    if (c->kind != TREFOIL_WHOLE) {
        SEXP of = PROTECT(levels(c));
        Rf_setAttrib(v, R_LevelsSymbol, of);
        Rf_setAttrib(v, R_ClassSymbol, Rf_mkString("factor"));
        UNPROTECT(1);
    }
    UNPROTECT(1);
    return v;
}

/* --- data frames -------------------------------------------------------------------------------- */

struct frame {
    SEXP list, names;
    R_xlen_t columns;
};

/* A frame with room for so many columns; protects two. */
static struct frame frame_new(R_xlen_t columns)
{
    struct frame f = {.list = PROTECT(Rf_allocVector(VECSXP, columns)),
                      .names = PROTECT(Rf_allocVector(STRSXP, columns))};
    return f;
}

static void frame_add(struct frame *f, const char *name, SEXP column)
{
    SET_VECTOR_ELT(f->list, f->columns, column);
    SET_STRING_ELT(f->names, f->columns, text(name));
    f->columns++;
}

/* Unprotects both. */
static SEXP frame_end(struct frame *f, size_t rows)
{
    SEXP row_names = PROTECT(Rf_allocVector(INTSXP, 2));
    INTEGER(row_names)[0] = NA_INTEGER;
    INTEGER(row_names)[1] = -(int)rows;
    Rf_setAttrib(f->list, R_NamesSymbol, f->names);
    Rf_setAttrib(f->list, R_RowNamesSymbol, row_names);
    Rf_setAttrib(f->list, R_ClassSymbol, Rf_mkString("data.frame"));
    UNPROTECT(3);
    return f->list;
}

/* --- calls -------------------------------------------------------------------------------------- */

static SEXP call_open(SEXP path)
{
    SEXP handle = PROTECT(owner(finish_trefoil));
    struct trefoil *model = NULL;
    struct trefoil_error error;
    check(trefoil_open(&model, Rf_translateChar(STRING_ELT(path, 0)), &error), &error);
    R_SetExternalPtrAddr(handle, model);
    UNPROTECT(1);
    return handle;
}

static SEXP call_about(SEXP handle)
{
    const struct trefoil *model = model_of(handle);
    const uint32_t n = trefoil_columns(model);
    SEXP about = PROTECT(Rf_allocVector(VECSXP, 3)), names = PROTECT(Rf_allocVector(STRSXP, n));
    for (uint32_t i = 0; i < n; i++)
        SET_STRING_ELT(names, i, text(trefoil_column(model, i)->name));
    SET_VECTOR_ELT(about, 0,
                   Rf_mkString(trefoil_kind(model) == TREFOIL_COPULA ? "copula" : "tree"));
    SET_VECTOR_ELT(about, 1, Rf_ScalarReal(trefoil_total(model)));
    SET_VECTOR_ELT(about, 2, names);
    UNPROTECT(2);
    return about;
}

static SEXP group_column(const struct trefoil *model, const struct trefoil_answer *a, uint32_t g)
{
    const int words = a->lines > 0 && a->group_label[g] != NULL;
    SEXP v = PROTECT(Rf_allocVector(words ? STRSXP : INTSXP, (R_xlen_t)a->lines));
    int part = 0;
    for (size_t i = 0; words && i < a->lines; i++) {
        const char *label = a->group_label[i * a->groups + g];
        SET_STRING_ELT(v, (R_xlen_t)i,
                       *label == '\0' ? NA_STRING : Rf_mkCharCE(label, CE_UTF8));
    }
    if (words) {
        UNPROTECT(1);
        return v;
    }
    for (size_t i = 0; i < a->lines; i++) {
        const int32_t p = a->part[i * a->groups + g];
        part |= p != TREFOIL_NO_PART;
        INTEGER(v)[i] = p != TREFOIL_NO_PART ? p : (int)a->code[i * a->groups + g] + 1;
    }
    if (part) /* of a date that is missing, too, there is no part: its code stands there */
        for (size_t i = 0; i < a->lines; i++)
            if (a->part[i * a->groups + g] == TREFOIL_NO_PART)
                INTEGER(v)[i] = NA_INTEGER;
    v = part ? v : coded(v, trefoil_column(model, a->group[g]));
    UNPROTECT(1);
    return v;
}

static SEXP item_column(const struct trefoil *model, const struct trefoil_answer *a,
                        const double *from, uint32_t item)
{
    SEXP v = PROTECT(numbers_of(from, a->lines, a->items, item));
    if (a->label_column[item] != TREFOIL_NONE) {
        const struct trefoil_column *c = trefoil_column(model, a->label_column[item]);
        SEXP labels = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)a->lines));
        for (size_t i = 0; i < a->lines; i++)
            SET_STRING_ELT(labels, (R_xlen_t)i,
                           ISNA(REAL(v)[i]) || REAL(v)[i] >= c->values
                               ? NA_STRING
                               : text(c->labels[(uint32_t)REAL(v)[i]]));
        UNPROTECT(2);
        return labels;
    }
    v = a->unit[item] != 0 ? as_dates(v, a->unit[item]) : v;
    UNPROTECT(1);
    return v;
}

static SEXP answer_frame(const struct trefoil *model, const struct trefoil_answer *a)
{
    const int intervals = a->level > 0;
    struct frame f = frame_new((R_xlen_t)a->groups + (intervals ? 3 : 1) * (R_xlen_t)a->items + 1);
    SEXP made;
    for (uint32_t g = 0; g < a->groups; g++)
        frame_add(&f, a->group_name[g], group_column(model, a, g));
    for (uint32_t i = 0; i < a->items; i++) {
        char name[1024];
        frame_add(&f, a->item[i], item_column(model, a, a->value, i));
        if (!intervals)
            continue;
        snprintf(name, sizeof name, "%s low", a->item[i]);
        frame_add(&f, name, item_column(model, a, a->low, i));
        snprintf(name, sizeof name, "%s high", a->item[i]);
        frame_add(&f, name, item_column(model, a, a->high, i));
    }
    frame_add(&f, "rows", numbers(a->count, a->lines));
    made = PROTECT(frame_end(&f, a->lines));
    Rf_setAttrib(made, Rf_install("together"), Rf_ScalarLogical(a->together != 0));
    Rf_setAttrib(made, Rf_install("left_out"), Rf_ScalarReal((double)a->left_out));
    UNPROTECT(1);
    return made;
}

static SEXP call_query(SEXP handle, SEXP sql, SEXP level)
{
    struct trefoil *model = model_of(handle);
    SEXP keep = PROTECT(owner(finish_trefoil_answers)), list;
    struct trefoil_answers *answers = NULL;
    struct trefoil_error error;
    check(trefoil_query(model, Rf_translateCharUTF8(STRING_ELT(sql, 0)), Rf_asReal(level), &answers,
                        &error),
          &error);
    R_SetExternalPtrAddr(keep, answers);
    list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)answers->count));
    for (size_t i = 0; i < answers->count; i++)
        SET_VECTOR_ELT(list, (R_xlen_t)i, answer_frame(model, answers->answer[i]));
    finish_trefoil_answers(keep);
    UNPROTECT(2);
    return list;
}

static SEXP row_column(const struct trefoil_column *c, const struct trefoil_rows *r, uint32_t i)
{
    SEXP v;
    if (c->kind == TREFOIL_DATES || c->kind == TREFOIL_BINS) {
        v = numbers(r->number[i], r->rows);
        return c->kind == TREFOIL_DATES ? as_dates(v, c->unit) : v;
    }
    v = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)r->rows));
    for (size_t row = 0; row < r->rows; row++)
        INTEGER(v)[row] = r->code[i][row] + 1;
    v = coded(v, c);
    UNPROTECT(1);
    return v;
}

static SEXP call_synth(SEXP handle, SEXP rows, SEXP seed, SEXP sampling)
{
    const struct trefoil *model = model_of(handle);
    SEXP keep = PROTECT(owner(finish_trefoil_rows)), made;
    struct trefoil_rows *drawn = NULL;
    struct trefoil_error error;
    struct frame f;
    check(trefoil_sample(model, (size_t)Rf_asReal(rows), (uint64_t)Rf_asReal(seed),
                         (enum trefoil_sampling)Rf_asInteger(sampling), &drawn, &error),
          &error);
    R_SetExternalPtrAddr(keep, drawn);
    f = frame_new(drawn->columns);
    for (uint32_t i = 0; i < drawn->columns; i++)
        frame_add(&f, trefoil_column(model, i)->name,
                  row_column(trefoil_column(model, i), drawn, i));
    made = PROTECT(frame_end(&f, drawn->rows));
    finish_trefoil_rows(keep);
    UNPROTECT(2);
    return made;
}

static SEXP call_marginal(SEXP handle, SEXP names)
{
    struct trefoil *model = model_of(handle);
    SEXP keep = PROTECT(owner(finish_trefoil_counts)), made;
    const uint32_t n = (uint32_t)XLENGTH(names);
    const char **name = (const char **)R_alloc(n + 1, sizeof *name);
    struct trefoil_counts *counts = NULL;
    struct trefoil_error error;
    struct frame f;
    size_t each = 1;
    for (uint32_t i = 0; i < n; i++)
        name[i] = Rf_translateCharUTF8(STRING_ELT(names, i));
    check(trefoil_marginal(model, name, n, &counts, &error), &error);
    R_SetExternalPtrAddr(keep, counts);
    f = frame_new((R_xlen_t)n + 1);
    for (uint32_t i = n; i-- > 0;) { /* the last runs fastest */
        SEXP v = PROTECT(Rf_allocVector(INTSXP, (R_xlen_t)counts->cells));
        for (size_t cell = 0; cell < counts->cells; cell++)
            INTEGER(v)[cell] = (int)(cell / each % counts->codes[i]) + 1;
        each *= counts->codes[i];
        SET_VECTOR_ELT(f.list, i, coded(v, trefoil_column(model, counts->column[i])));
        SET_STRING_ELT(f.names, i, text(name[i]));
        UNPROTECT(1);
    }
    f.columns = n;
    frame_add(&f, "count", numbers(counts->count, counts->cells));
    made = PROTECT(frame_end(&f, counts->cells));
    finish_trefoil_counts(keep);
    UNPROTECT(2);
    return made;
}

/* list(columns, counts, sigma): counts have the last column running fastest. */
static SEXP measurement(const struct trefoil *model, const struct trefoil_measurement *m)
{
    struct frame f = frame_new(3);
    SEXP columns = Rf_allocVector(STRSXP, m->columns), list = f.list;
    frame_add(&f, "columns", columns);
    for (uint32_t i = 0; i < m->columns; i++)
        SET_STRING_ELT(columns, i, text(trefoil_column(model, m->column[i])->name));
    frame_add(&f, "counts", numbers(m->count, m->cells));
    frame_add(&f, "sigma", Rf_ScalarReal(m->sigma));
    Rf_setAttrib(list, R_NamesSymbol, f.names);
    UNPROTECT(2);
    return list;
}

static SEXP call_measurements(SEXP handle)
{
    const struct trefoil *model = model_of(handle);
    SEXP keep = PROTECT(owner(finish_trefoil_measurements)), all, list;
    struct trefoil_measurements *m = NULL;
    struct trefoil_error error;
    struct frame f;
    check(trefoil_measurements(model, &m, &error), &error);
    R_SetExternalPtrAddr(keep, m);
    f = frame_new(5);
    all = f.list;
    frame_add(&f, "epsilon", Rf_ScalarReal(m->epsilon));
    frame_add(&f, "delta", Rf_ScalarReal(m->delta));
    frame_add(&f, "rho", Rf_ScalarReal(m->rho));
    frame_add(&f, "rows_per_person", Rf_ScalarReal(m->rows_per_person));
    list = Rf_allocVector(VECSXP, (R_xlen_t)m->count);
    frame_add(&f, "measurements", list);
    for (size_t i = 0; i < m->count; i++)
        SET_VECTOR_ELT(list, (R_xlen_t)i, measurement(model, m->measurement[i]));
    Rf_setAttrib(all, R_NamesSymbol, f.names);
    finish_trefoil_measurements(keep);
    UNPROTECT(3);
    return all;
}

void R_init_trefoil(DllInfo *info);
void R_init_trefoil(DllInfo *info)
{
    static const R_CallMethodDef calls[] = {
        {"call_open", (DL_FUNC)&call_open, 1},
        {"call_about", (DL_FUNC)&call_about, 1},
        {"call_query", (DL_FUNC)&call_query, 3},
        {"call_synth", (DL_FUNC)&call_synth, 4},
        {"call_marginal", (DL_FUNC)&call_marginal, 2},
        {"call_measurements", (DL_FUNC)&call_measurements, 1},
        {NULL, NULL, 0},
    };
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
