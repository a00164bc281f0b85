/* library/trefoil_private.h - an open model, as the files of the library share it. */
#pragma once

#include "aim/answer/released.h"
#include "base/file.h"
#include "library/keep.h"

/* What a column is to those outside, by what it has. */
enum trefoil_values model_values(const struct domain_attribute *a);

struct trefoil {
    struct released released;
    char path[FILE_PATH]; /* of the file model */
    struct trefoil_column *column;
};
