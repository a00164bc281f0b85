/* parties/owner/announce.h - what an owner is told about an upload before it leaves. */
#pragma once

#include "parties/setting/upload.h"
#include "parties/study/study.h"

struct announce {
    const struct study *study;
    size_t owner, rows;
    const struct split *split;
    unsigned form;              /* as parties/setting/upload.h numbers it */
    const struct upload *first; /* server 0's part; NULL if it is not made */
    const char *person;         /* the column by which rows per person were checked, or NULL */
};
void announce_upload(const struct announce *a);
