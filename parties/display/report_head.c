#include "base/embed.h"
#include "base/text.h"
#include "parties/display/html.h"
#include "parties/display/report.h"

/* One column that fits a phone; dark if the reader's screen is, light on paper. */
extern const char report_style[];
EMBED_TEXT(report_style, "parties/display/report.css");

void report_head(struct bytes *out, const struct study *study)
{
    text_put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"" HTML_POLICY "\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                  "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Study ");
    html_text(out, study->name);
    text_put(out, "</title>\n<style>");
    bytes_put_text(out, report_style);
    text_put(out, "</style></head><body>\n");
}
