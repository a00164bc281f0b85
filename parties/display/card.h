/*
 * parties/display/card.h - what boards and catalogues want to know of a study, in Markdown and as
 * CSVW metadata. From the study file alone; result/README.md adds what a run opened
 * (report_card.c).
 */
#pragma once

#include "parties/study/study.h"

/* Text from a study file, which has no line ends, so that nothing in it is markup. */
void card_text(struct bytes *out, const char *text);

/* The study's title, or these words and its name, as a heading; what it is for; whom to ask. */
void card_heading(struct bytes *out, const struct study *s, const char *otherwise);
/* Sections: who takes part and runs the servers, what is guaranteed, the columns. */
void card_study(struct bytes *out, const struct study *s);
/* Sections: what is assumed, known failures, rows that equal real ones. */
void card_limits(struct bytes *out, const struct study *s);

/* A page for an ethics or data board that decides whether the study may be done. */
enum err card_board(struct bytes *out, const struct study *s) MUST_CHECK;
