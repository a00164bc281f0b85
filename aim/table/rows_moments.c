/* What is told of the numbers of a column: their moments, and some dates. */
#include "aim/table/rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void rows_extend(struct rows_moments *m, double number)
{
    m->least = m->numbers ? fmin(m->least, number) : number;
    m->largest = m->numbers ? fmax(m->largest, number) : number;
    m->numbers = true;
}

/* Welford's way. */
void rows_add(struct rows_moments *m, const struct domain_attribute *a, uint32_t code, double x)
{
    double from;
    rows_extend(m, x);
    if (code == a->values)
        return;
    m->count++;
    from = x - m->mean;
    m->mean += from / (double)m->count;
    m->squares += from * (x - m->mean);
}

void rows_sample(struct rows_moments *m, const char *text, double x)
{
    for (size_t i = 0; i < m->samples; i++)
        if (strcmp(m->sample[i].text, text) == 0)
            return;
    if (m->samples == ROWS_SAMPLES || strlen(text) >= CALENDAR_FORMAT)
        return;
    snprintf(m->sample[m->samples].text, CALENDAR_FORMAT, "%s", text);
    m->sample[m->samples++].number = x;
}
