#include "tests/support/result.h"

#include "harness/cmocka.h"

void support_drop_result(const struct support_study *s, const char *folder)
{
    static const char *const files[] = {"model", "errors", "measurements.json", "synthetic.csv",
                                        NULL};
    file_drop_folder(support_path(s, "%s", folder), files);
}

bool support_same_files(const char *a, const char *b)
{
    struct bytes x CLEAN(bytes_clear) = {0}, y CLEAN(bytes_clear) = {0};
    OK(file_read(a, 1 << 24, &x, NULL));
    OK(file_read(b, 1 << 24, &y, NULL));
    return x.size == y.size && memcmp(x.data, y.data, x.size) == 0;
}
