#include "aim/table/kind.h"

const struct column_kind *const column_kinds[COLUMN_KINDS] = {&column_labels, &column_whole,
                                                              &column_bins, &column_date};
