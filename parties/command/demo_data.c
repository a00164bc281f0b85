#include "parties/command/demo_data.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINKED 380 /* patients of the last two hospitals of whom both have a row */

const struct demo_hospital demo_hospitals[DEMO_HOSPITALS] = {
    {"university", "a large hospital of a city, all ages and everything", NULL, 5200, 8191},
    {"rural", "a general hospital in the country, older patients", NULL, 3100, 4095},
    {"heart-clinic", "hearts only, mostly men above sixty", NULL, 2000, 2047},
    {"childrens", "a children's hospital", NULL, 1100, 2047},
    {"island", "a practice on an island, many injuries", "age, sex, smoker, bmi, blood_pressure",
     400, 511},
    {"harbour", "where the island's patients are treated", "diagnosis, insurance, outcome", 395,
     511},
};

const char *demo_data_domain_yaml(void)
{
    return "domain:\n"
           "  - {name: age, kind: integer, min: 0, max: 99, outside: clip}\n"
           "  - {name: sex, kind: categorical, values: [female, male]}\n"
           "  - {name: smoker, kind: categorical, values: [never, former, current], missing: "
           "\"?\"}\n"
           "  - name: bmi\n"
           "    kind: numeric\n"
           "    edges: [10, 15, 18.5, 22, 25, 28, 32, 40, 60]\n"
           "    missing: \"\"\n"
           "    outside: missing\n"
           "  - {name: blood_pressure, kind: numeric, min: 80, max: 200, bins: 12, missing: \"\",\n"
           "     outside: clip}\n"
           "  - name: diagnosis\n"
           "    kind: categorical\n"
           "    values: [heart, lung, cancer, injury, infection, other]\n"
           "  - {name: insurance, kind: categorical, values: [public, private, none]}\n"
           "  - {name: outcome, kind: categorical, values: [home, transfer, readmitted, died]}\n";
}

enum { NEVER, FORMER, CURRENT };
enum { HEART, LUNG, CANCER, INJURY, INFECTION, OTHER, DIAGNOSES };
enum { OUTCOMES = 4, INSURANCES = 3 };

/* How the patients of a hospital differ; in the order of demo_hospitals[], the last two as one. */
struct skew {
    double age, age_spread, women, smoking, weight;
    double diagnosis[DIAGNOSES]; /* factors on the odds */
    double insurance[INSURANCES];
    double no_smoker, no_bmi, no_pressure; /* shares of missing values */
    const char *line_end;                  /* as the hospital's program exports it */
};

static const struct skew skews[DEMO_POPULATIONS] = {
    {46, 20, 0.52, 0.8, 0.0, {1, 1, 1.6, 1, 1, 1}, {6, 3, 1}, 0.04, 0.05, 0.03, "\n"},
    {61, 17, 0.51, 1.3, 1.6, {1.2, 1.3, 0.6, 1, 1, 1}, {8, 1, 1}, 0.08, 0.10, 0.05, "\r\n"},
    {68, 10, 0.36, 1.1, 1.0, {14, 0.6, 0.2, 0.1, 0.3, 0.4}, {5, 5, 0}, 0.01, 0.02, 0.01, "\n"},
    {7, 5, 0.48, 0.1, 0.3, {0.7, 1.2, 0.7, 1.5, 2.5, 1}, {7, 2, 1}, 0.15, 0.06, 0.20, "\n"},
    {52, 22, 0.47, 1.2, 0.8, {0.8, 0.8, 0.2, 4, 1, 1}, {6, 1, 3}, 0.06, 0.25, 0.08, "\n"},
};

struct patient {
    int age, woman, smoker, diagnosis, insurance, outcome;
    double bmi, pressure;
};

static double normal(struct random *r)
{
    return (double)random_gauss(r) / 1048576.0;
}

static bool chance(struct random *r, double p)
{
    return random_double(r) < p;
}

static double within(double x, double least, double most)
{
    return x < least ? least : x > most ? most : x;
}

/* An index with probability proportional to its weight. */
static int pick(struct random *r, const double *weight, int n)
{
    double sum = 0, at;
    for (int i = 0; i < n; i++)
        sum += weight[i];
    at = random_double(r) * sum;
    for (int i = 0; i < n - 1; i++) {
        if (at < weight[i])
            return i;
        at -= weight[i];
    }
    return n - 1;
}

static int draw_age(struct random *r, const struct skew *k)
{
    double age = k->age + k->age_spread * normal(r);
    /* reflected, so that no pile of newborns stands at 0 */
    return (int)within(age < 0 ? -age : age, 0, 104);
}

static int draw_smoker(struct random *r, const struct skew *k, int age)
{
    double current = age < 15 ? 0 : k->smoking * (age < 65 ? 0.27 : 0.14);
    double former = age < 20 ? 0 : 0.004 * age;
    double weight[3];
    weight[CURRENT] = within(current, 0, 0.9);
    weight[FORMER] = within(former, 0, 1 - weight[CURRENT]);
    weight[NEVER] = 1 - weight[CURRENT] - weight[FORMER];
    return pick(r, weight, 3);
}

static double draw_bmi(struct random *r, const struct skew *k, const struct patient *p)
{
    double middle = p->age < 18 ? 15.5 + 0.35 * p->age : 24.5 + 0.05 * (p->age < 65 ? p->age : 65);
    double spread = p->age < 18 ? 2.2 : 4.6;
    return within(middle + k->weight - (p->smoker == CURRENT) + spread * normal(r), 10.5, 59);
}

static double draw_pressure(struct random *r, const struct patient *p)
{
    return within(88 + 0.5 * p->age + 1.2 * (p->bmi - 22) + 5 * (p->smoker == CURRENT) -
                      3 * p->woman + 10 * normal(r),
                  70, 215);
}

static int draw_diagnosis(struct random *r, const struct skew *k, const struct patient *p)
{
    double old = p->age / 100.0;
    double weight[DIAGNOSES];
    weight[HEART] = 0.05 + 2.2 * old * old * (p->pressure > 140 ? 2.2 : 1) *
                               (p->bmi > 30 ? 1.5 : 1) * (p->woman ? 0.7 : 1);
    weight[LUNG] = 0.15 + 0.5 * old * (p->smoker == CURRENT ? 5 : p->smoker == FORMER ? 2.5 : 0.6);
    weight[CANCER] = 0.03 + 0.8 * old * old * (p->smoker == NEVER ? 1 : 1.6);
    weight[INJURY] = p->age < 30 ? (p->woman ? 0.5 : 0.9) : 0.25 + (p->age > 80 ? 0.4 : 0);
    weight[INFECTION] = p->age < 10 ? 0.9 : 0.3;
    weight[OTHER] = 0.5 + (p->woman && p->age > 18 && p->age < 42 ? 0.8 : 0);
    for (int i = 0; i < DIAGNOSES; i++)
        weight[i] *= k->diagnosis[i];
    return pick(r, weight, DIAGNOSES);
}

static int draw_insurance(struct random *r, const struct skew *k, int age)
{
    double weight[INSURANCES];
    memcpy(weight, k->insurance, sizeof weight);
    if (age > 65 || age < 18) {
        weight[0] *= 2;
        weight[2] *= 0.2;
    }
    return pick(r, weight, INSURANCES);
}

static int draw_outcome(struct random *r, const struct patient *p)
{
    /* home, transfer, readmitted, died */
    static const double base[DIAGNOSES][OUTCOMES] = {
        [HEART] = {66, 14, 14, 6}, [LUNG] = {68, 8, 18, 6},     [CANCER] = {52, 12, 22, 14},
        [INJURY] = {82, 11, 5, 2}, [INFECTION] = {84, 5, 8, 3}, [OTHER] = {90, 4, 5, 1},
    };
    double weight[OUTCOMES];
    double frail = p->age < 50 ? 0.35 : p->age < 75 ? 1 : 2.2;
    memcpy(weight, base[p->diagnosis], sizeof weight);
    weight[3] *= frail;
    weight[1] *= p->age > 80 ? 2 : 1;
    weight[2] *= p->insurance == 2 ? 1.7 : 1;
    return pick(r, weight, OUTCOMES);
}

static struct patient draw_patient(struct random *r, const struct skew *k)
{
    struct patient p = {0};
    p.age = draw_age(r, k);
    p.woman = chance(r, k->women);
    p.smoker = draw_smoker(r, k, p.age);
    p.bmi = draw_bmi(r, k, &p);
    p.pressure = draw_pressure(r, &p);
    p.diagnosis = draw_diagnosis(r, k, &p);
    p.insurance = draw_insurance(r, k, p.age);
    p.outcome = draw_outcome(r, &p);
    return p;
}

/* A row, in the two parts that two hospitals may have. */
struct demo_row {
    char person[80], stay[80];
};

/* Also draws whether values are missing, so that each row uses the stream in the same order. */
static struct demo_row draw_row(struct random *r, const struct skew *k)
{
    static const char *const smokers[] = {"never", "former", "current"};
    static const char *const diagnoses[] = {"heart",  "lung",      "cancer",
                                            "injury", "infection", "other"};
    static const char *const insurances[] = {"public", "private", "none"};
    static const char *const outcomes[] = {"home", "transfer", "readmitted", "died"};
    const struct patient p = draw_patient(r, k);
    const bool no_smoker = chance(r, k->no_smoker);
    char bmi[16] = "", pressure[16] = "";
    struct demo_row row;
    /* the injured are weighed less often: values are not missing at random */
    if (!chance(r, k->no_bmi * (p.diagnosis == INJURY ? 2 : 1)))
        snprintf(bmi, sizeof bmi, "%.1f", p.bmi);
    if (!chance(r, k->no_pressure))
        snprintf(pressure, sizeof pressure, "%.0f", p.pressure);
    snprintf(row.person, sizeof row.person, "%d,%s,%s,%s,%s", p.age, p.woman ? "female" : "male",
             no_smoker ? "?" : smokers[p.smoker], bmi, pressure);
    snprintf(row.stay, sizeof row.stay, "%s,%s,%s", diagnoses[p.diagnosis], insurances[p.insurance],
             outcomes[p.outcome]);
    return row;
}

static const char person_columns[] = "age,sex,smoker,bmi,blood_pressure";
static const char stay_columns[] = "diagnosis,insurance,outcome";

static enum err write_file(const char *folder, const char *name, const struct bytes *b,
                           struct log *log)
{
    char path[FILE_PATH];
    TRY(bytes_ok(b));
    TRY(file_path(path, log, "%s/%s.csv", folder, name));
    return file_write(path, 0600, b->data, b->size, log);
}

static enum err write_hospital(const char *folder, size_t index, struct random *r, struct log *log)
{
    const struct demo_hospital *h = &demo_hospitals[index];
    const struct skew *k = &skews[index];
    struct bytes b CLEAN(bytes_clear) = {0};
    text_put(&b, "%s,%s%s", person_columns, stay_columns, k->line_end);
    for (uint32_t i = 0; i < h->rows; i++) {
        const struct demo_row row = draw_row(r, k);
        text_put(&b, "%s,%s%s", row.person, row.stay, k->line_end);
    }
    return write_file(folder, h->name, &b, log);
}

/* The last two: the second lacks some of the first one's patients, and has others before them. */
static enum err write_linked(const char *folder, struct random *r, struct log *log)
{
    const struct demo_hospital *h = &demo_hospitals[DEMO_HOSPITALS - 2];
    const struct skew *k = &skews[DEMO_POPULATIONS - 1];
    struct bytes first CLEAN(bytes_clear) = {0}, second CLEAN(bytes_clear) = {0};
    text_put(&first, "patient,%s%s", person_columns, k->line_end);
    text_put(&second, "number,%s%s", stay_columns, k->line_end);
    for (uint32_t i = 0; i < h[1].rows - LINKED; i++)
        text_put(&second, "h%04u,%s%s", 7000 + i, draw_row(r, k).stay, k->line_end);
    for (uint32_t i = 0; i < h[0].rows; i++) {
        const struct demo_row row = draw_row(r, k);
        text_put(&first, "P %04u,%s%s", 3 * i + 1, row.person, k->line_end);
        if (i < LINKED)
            text_put(&second, "p%04u,%s%s", 3 * i + 1, row.stay, k->line_end);
    }
    TRY(write_file(folder, h[0].name, &first, log));
    return write_file(folder, h[1].name, &second, log);
}

enum err demo_data_write(const char *folder, unsigned hospitals, uint64_t seed, struct log *log)
{
    struct random r;
    TRY(file_folder(folder, log));
    r = random_of(seed);
    for (size_t i = 0; i < hospitals && i < DEMO_POPULATIONS - 1; i++)
        TRY(write_hospital(folder, i, &r, log));
    return hospitals == DEMO_HOSPITALS ? write_linked(folder, &r, log) : ERR_OK;
}
