/* The example that trefoil init writes: parties/study/example.yaml, embedded in the program. */
#include "base/embed.h"
#include "base/file.h"
#include "parties/study/study_text.h"

#include <string.h>
#include <sys/stat.h>

EMBED_TEXT(study_example, "parties/study/example.yaml");

enum err study_write_template(const char *path, bool force, struct log *log)
{
    struct stat st;
    if (!force && lstat(path, &st) == 0)
        return log_fail(log, ERR_SYSTEM,
                        "%s is there already and was left alone; choose another name (or --force)",
                        path);
    return file_write(path, 0644, study_example, strlen(study_example), log);
}
