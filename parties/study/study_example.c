/* The example that trefoil init writes: parties/study/example.yaml, embedded in the program. */
#include "base/embed.h"
#include "base/file.h"
#include "parties/study/study_text.h"

#include <string.h>
#include <sys/stat.h>

EMBED_TEXT(study_example, "parties/study/example.yaml");

/* What the example says of its columns is between these lines. */
static const char columns_begin[] = "# The columns, and every value that";
static const char columns_end[] = "# Combinations that cannot occur";

enum err study_write_template(const char *path, const struct outline *columns, bool force,
                              struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *begin = strstr(study_example, columns_begin);
    const char *end = strstr(study_example, columns_end);
    struct stat st;
    if (!force && lstat(path, &st) == 0)
        return log_fail(log, ERR_SYSTEM,
                        "%s is there already and was left alone; choose another name (or --force)",
                        path);
    if (columns == NULL)
        return file_write(path, 0644, study_example, strlen(study_example), log);
    bytes_put(&text, study_example, (size_t)(begin - study_example));
    outline_write(columns, &text);
    bytes_put_text(&text, end);
    TRY(bytes_ok(&text));
    return file_write(path, 0644, text.data, text.size, log);
}
