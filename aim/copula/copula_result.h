/*
 * aim/copula/copula_result.h - what a copula's two requests gave: noisy counts, forms, and the
 * model.
 */
#pragma once

#include "aim/copula/copula_model.h"

/* A form, in rows: sum of t_i t_j over rows, t the scores as they were rounded. */
struct copula_form {
    uint16_t first, second;       /* attributes, first < second */
    uint16_t of_first, of_second; /* the group of each that the rows are in */
    double value;
};

/* A request that was made, as in struct aim_round. */
struct copula_round {
    double cost, spent; /* of rho, k^2 included: of this request, of all so far */
    uint64_t population;
};

struct copula_result {
    size_t measurements; /* the one-ways, in the order of the domain */
    struct measurement *measurement;
    double clip;      /* of scores, before they were centred */
    double **score;   /* score[attribute][code], as they were used */
    size_t *groups;   /* of each attribute; 1: its codes were not told apart */
    uint16_t **group; /* group[attribute][code] */
    size_t forms;     /* as aim/budget/forms.h has them */
    struct copula_form *form;
    double sigma; /* of each form's value */
    struct copula_round round[2];
    struct copula *model;
};

void copula_result_free(struct copula_result **result);
