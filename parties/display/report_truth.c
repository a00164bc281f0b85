#include "parties/display/report_private.h"

#include <math.h>

/* What only a demo with invented data can know. */
void report_truth(const struct report *r)
{
    double most = 0;
    for (size_t i = 0; i < r->truth->comparisons; i++)
        most = fmax(most, r->truth->error[i]);
    text_put(
        r->out,
        "<section class=\"demo\"><h2>Demo only: compared with the truth</h2>\n<p><b>Not private, "
        "and in no real report.</b> The data are invented, so here one may look: there are %zu "
        "rows. Error of tables of synthetic rows, as the mean over the study's marginals of "
        "sum |p - q|, 0 for alike and 2 for nothing in common; the line through the bars is at "
        "Trefoil's. In the charts of attributes the marks are true counts.</p>\n<table "
        "class=\"rows\"><tbody>\n",
        r->truth->rows);
    for (size_t i = 0; i < r->truth->comparisons; i++) {
        html_between(r->out, "<tr><th scope=\"row\">", r->truth->name[i], "</th><td class=\"b\">");
        report_chart_bar(r->out, r->truth->error[i], r->truth->error[0], most);
        text_put(r->out, "</td><td class=\"n\">%.3f</td></tr>\n", r->truth->error[i]);
    }
    text_put(r->out, "</tbody></table></section>\n");
}
