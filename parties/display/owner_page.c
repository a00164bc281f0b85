#include "parties/display/owner_page.h"

#include "base/embed.h"
#include "base/file.h"
#include "parties/display/app.h"
#include "parties/study/sealing.h"
#include "parties/study/yaml.h"

#include <sodium.h>
#include <string.h>

extern const char owner_script[], owner_body[];
EMBED_TEXT(owner_script, "parties/display/owner_page.js");
EMBED_TEXT(owner_body, "parties/display/owner_page.html");

/* The module of tools/small.sh, if it was there when this was built. */
#ifdef OWNER_MODULE
extern const char owner_module[], owner_module_end[];
EMBED_BYTES(owner_module, owner_module_end, OWNER_MODULE);
#else
#define owner_module owner_body
#define owner_module_end owner_body
#endif

/* Other names that files have in a page. */
static bool is_taken(const char *name)
{
    return strncmp(name, "owner.", 6) == 0 || strncmp(name, "a.parcel", 8) == 0 ||
           strcmp(name, "table.csv") == 0 || strcmp(name, "study.yaml") == 0;
}

enum err owner_page_files(const struct study *study, const char *path, struct bytes *file,
                          struct bytes *beside, struct log *log)
{
    struct reader in = reader_of(study->beside.data, study->beside.size);
    const char *slash = strrchr(path, '/');
    char name[FILE_PATH], other[FILE_PATH];
    TRY(file_read(path, YAML_FILE_MAX, file, log));
    while (in.left > 0) {
        struct bytes text CLEAN(bytes_clear) = {0};
        reader_string(&in, name, sizeof name);
        if (is_taken(name))
            return log_fail(log, ERR_STUDY,
                            "%s names the file %s, which has another meaning in a page; rename it",
                            path, name);
        TRY(file_path(other, log, "%.*s%s", slash != NULL ? (int)(slash - path) + 1 : 0, path,
                      name));
        TRY(file_read(other, YAML_FILE_MAX, &text, log));
        bytes_put_string(beside, name);
        bytes_put_block(beside, text.data, text.size);
    }
    return bytes_ok(beside);
}

enum err owner_page(const struct study *study, const struct bytes *file, const struct bytes *beside,
                    struct bytes *out, struct bytes *policy, struct log *log)
{
    const char *relay = study->relay != NULL ? study->relay : "";
    const struct app app = {.title = study->name,
                            .script = owner_script,
                            .body = owner_body,
                            .connect = study->relay != NULL ? study->relay : "'none'",
                            .module = owner_module,
                            .module_end = owner_module_end};
    const struct app_part part[] = {{"study", file->data, file->size},
                                    {"beside", beside->data, beside->size},
                                    {"relay", relay, strlen(relay)}};
    if (study->domain->series != NULL)
        return log_fail(log, ERR_STUDY,
                        "a page takes one table, and owners of this study have two: use trefoil "
                        "share --events");
    if (!study_seals(study))
        return log_fail(log, ERR_STUDY,
                        "the study has no sealing keys, so nothing can be sealed for its servers: "
                        "each operator makes one with trefoil keygen --sealing");
    if (policy != NULL)
        TRY(app_policy(&app, policy));
    return app_page(&app, part, sizeof part / sizeof *part, out, log);
}

enum err owner_page_study(const struct bytes *page, struct bytes *file)
{
    static const char begin[] = "id=\"study\">";
    const char *at = memmem(page->data, page->size, begin, sizeof begin - 1);
    const char *end;
    size_t n;
    if (at == NULL)
        return ERR_FORMAT;
    at += sizeof begin - 1;
    end = memchr(at, '<', page->size - (size_t)(at - (const char *)page->data));
    if (end == NULL || bytes_extend(file, (size_t)(end - at)) == NULL)
        return ERR_FORMAT;
    if (sodium_base642bin(file->data, file->size, at, (size_t)(end - at), NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return ERR_FORMAT;
    file->size = n;
    return ERR_OK;
}
