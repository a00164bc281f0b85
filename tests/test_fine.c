/* parties/study/fine: which columns and marginals are finer than noise lets anybody see. */
#include "tests/support_cmocka.h"

#include "parties/study/fine.h"
#include "tests/support_study.h"

#include <stdlib.h>
#include <string.h>

static const char domain[] = "domain:\n"
                             "  - {name: age, kind: integer, min: 0, max: 99}\n"
                             "  - {name: pay, kind: numeric, min: 0, max: 1, bins: 62}\n"
                             "  - {name: size, kind: numeric, min: 0, max: 1, bins: 63}\n"
                             "  - {name: sex, kind: categorical, values: [f, m]}\n";

/* What it says of a study with that domain and all its pairs. */
static char *said(double rows, double sigma)
{
    const struct support_options o = {.domain = domain, .rounds = 1, .epsilon = 4};
    struct support_study s;
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    assert_int_equal(support_study_new(&s, &o, NULL), ERR_OK);
    fine_print(out, s.study, rows, sigma);
    assert_int_equal(fclose(out), 0);
    support_study_free(&s);
    return text;
}

static void expect(const char *text, const char *words, bool there)
{
    if ((strstr(text, words) != NULL) != there)
        fail_msg("\"%s\" is %sin:\n%s", words, there ? "not " : "", text);
}

/* Two deviations of noise are at most half of a bin's rows; with one bin more they are not. */
TEST(so_many_bins_have_enough_rows)
{
    for (double rows = 100; rows < 1e6; rows *= 3)
        for (double sigma = 1; sigma < 200; sigma *= 2) {
            const uint32_t most = fine_values_most(rows, sigma);
            assert_true(most == 2 || 2 * sigma <= rows / most / 2 * (1 + 1e-9));
            assert_true(most == DOMAIN_SIZE_MAX || 2 * sigma > rows / (most + 1) / 2);
        }
    assert_int_equal(fine_values_most(5000, 20), 62);
    assert_int_equal(fine_values_most(10, 1000), 2);
}

TEST(columns_that_are_too_fine_are_named)
{
    char *text = said(5000, 20);
    expect(text,
           "  age: 100 values of about 50 rows, each with noise of +-40:\n"
           "    80 % of them; with 62 bins it would be 50 %\n",
           true);
    expect(text, "  size: 63 bins of about 79.4 rows", true);
    expect(text, "  pay: ", false);
    expect(text, "  sex: ", false); /* labels are no bins */
    expect(text, "room for 62 bins", true);
    /* 0.8 * 20 * 63 * 100 is more than 5000, and 0.8 * 20 * 200 is less */
    expect(text,
           "  3 of 6 marginals of the workload have an error of 1 or more of noise alone;\n"
           "    the finest, age x size, has 6300 cells for 5000 rows\n",
           true);
    free(text);
    text = said(2000, 20);
    expect(text,
           "age: 100 values of about 20 rows, each with noise of +-40:\n    more than is there; "
           "with 25 bins it would be 50 %\n",
           true);
    free(text);
    text = said(100, 20);
    expect(text, "more than is there, and too few rows for bins at this budget\n", true);
    free(text);
    text = said(1e6, 1);
    expect(text, "+-", false);
    expect(text, " marginals of the workload", false);
    free(text);
}
