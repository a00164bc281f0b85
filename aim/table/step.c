#include "aim/table/step.h"

#include "aim/table/number.h"

#include <math.h>

/* Both operands are exact, so that the one division rounds as reading the text does. */
double step_value(const struct step *s, int64_t k)
{
    return (double)(k * s->digits) / number_power(s->decimals);
}

bool step_of(double step, struct step *out)
{
    if (!(step > 0 && step < STEP_REACH))
        return false;
    for (int decimals = 0; decimals <= STEP_DECIMALS; decimals++) {
        double digits = round(step * number_power(decimals));
        if (digits >= STEP_REACH)
            return false;
        *out = (struct step){(int64_t)digits, decimals};
        if (digits > 0 && step_value(out, 1) == step)
            return true;
    }
    return false;
}

bool step_reaches(const struct step *s, double x)
{
    return fabs(x) * number_power(s->decimals) + 4 * (double)s->digits < STEP_REACH;
}

int64_t step_above(const struct step *s, double x)
{
    int64_t k = (int64_t)ceil(x * number_power(s->decimals) / (double)s->digits);
    while (step_value(s, k) < x)
        k++;
    while (step_value(s, k - 1) >= x)
        k--;
    return k;
}
