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

/* What the example says differently of two servers: from each begin to its end. */
static const struct example_part {
    const char *begin, *end, *text;
} of_two[] = {
    {"noise: box-muller\n", "# How AIM chooses", ""},
    {"# Three parties that", "# Who brings rows,",
     "# Two parties that do not collude: together they could read the data. The provider computes "
     "on\n"
     "# masked counts, and the keeper holds the masks; an owner may run one of them. Each uses "
     "five ports\n"
     "# from the one given on (here 7100 to 7104). Both are trusted to follow the protocol.\n"
     "provider:\n"
     "  name: north\n"
     "  endpoint: tcp://north.example.org:7100\n"
     "  key: REPLACE-WITH-KEY-OF-north\n"
     "keeper:\n"
     "  name: east\n"
     "  endpoint: tcp://east.example.org:7100\n"
     "  key: REPLACE-WITH-KEY-OF-east\n"
     "noise_by: joint            # neither knows most of it: 1.02 times what is needed\n"
     "\n"},
    {"; it sets the size of the upload", ")", ". An upload takes 8 bytes a cell (whatever it is"},
    {"    # as: counts", "# A run needs the uploads", "\n"},
    {"all three servers", ": trefoil help roster", "both servers"},
};

static enum err put_of_two(struct bytes *text, const char *rest)
{
    for (size_t k = 0; k < sizeof of_two / sizeof *of_two; k++) {
        const char *begin = strstr(rest, of_two[k].begin);
        const char *end = begin != NULL ? strstr(begin, of_two[k].end) : NULL;
        if (end == NULL)
            return ERR_MISUSE; /* the example has changed, and this table has not */
        bytes_put(text, rest, (size_t)(begin - rest));
        bytes_put_text(text, of_two[k].text);
        rest = end;
    }
    bytes_put_text(text, rest);
    return bytes_ok(text);
}

enum err study_write_template(const char *path, const struct outline *columns, bool provider,
                              bool force, struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    const char *begin = strstr(study_example, columns_begin);
    const char *end = strstr(study_example, columns_end);
    struct stat st;
    if (!force && lstat(path, &st) == 0)
        return log_fail(log, ERR_SYSTEM,
                        "%s is there already and was left alone; choose another name (or --force)",
                        path);
    bytes_put(&text, study_example, (size_t)((columns != NULL ? begin : end) - study_example));
    if (columns != NULL)
        outline_write(columns, &text);
    if (provider)
        TRY(put_of_two(&text, end));
    else
        bytes_put_text(&text, end);
    TRY(bytes_ok(&text));
    return file_write(path, 0644, text.data, text.size, log);
}
