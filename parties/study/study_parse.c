/* What the readers of a study's parts share: errors from aim/, names, keys, numbers. */
#include "parties/study/study_parse.h"

#include "base/memory.h"

#include <string.h>

#define MISTAKES_MOST 20

enum err study_go_on(struct study_reading *r, enum err e)
{
    if (e != ERR_STUDY)
        return e;
    if (++r->mistakes < MISTAKES_MOST)
        return ERR_OK;
    if (r->mistakes == MISTAKES_MOST)
        log_error(r->log, "%s: there may be more mistakes; correct these first", r->path);
    return ERR_STUDY;
}

bool study_sound(const struct study_reading *r)
{
    return r->mistakes == 0;
}

enum err study_note(struct study_reading *r, enum err e, const yaml_node_t *node)
{
    if (e == ERR_OK || e == ERR_NOMEM)
        return e;
    return yaml_error(r->file, node, "%s", log_first(r->note));
}

bool study_good_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n > 0 && n < STUDY_NAME_SIZE && text[n] == '\0';
}

enum err study_find_file(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char path[FILE_PATH])
{
    const char *name;
    TRY(yaml_text(r->file, node, what, &name));
    return study_beside(r, node, what, name, path);
}

/* Once each, so that a page can have them all. */
static enum err note_beside(struct study *study, const char *name)
{
    struct reader in = reader_of(study->beside.data, study->beside.size);
    char other[FILE_PATH];
    while (in.left > 0) {
        reader_string(&in, other, sizeof other);
        if (strcmp(other, name) == 0)
            return ERR_OK;
    }
    bytes_put_string(&study->beside, name);
    return bytes_ok(&study->beside);
}

enum err study_beside(struct study_reading *r, const yaml_node_t *node, const char *what,
                      const char *name, char path[FILE_PATH])
{
    const char *slash = strrchr(r->path, '/');
    if (strchr(name, '/') != NULL || name[0] == '\0' || name[0] == '.')
        return yaml_error(r->file, node,
                          "%s is \"%.200s\"; it should be the name of a file beside the study "
                          "file, without a folder",
                          what, name);
    TRY(file_path(path, r->log, "%.*s%s", slash != NULL ? (int)(slash - r->path) + 1 : 0, r->path,
                  name));
    if (!file_is_there(path))
        return yaml_error(r->file, node,
                          "there is no %.200s beside the study file; whoever has the study needs "
                          "it too",
                          name);
    return note_beside(r->study, name);
}

enum err study_read_name(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char name[STUDY_NAME_SIZE])
{
    const char *text;
    TRY(yaml_text(r->file, node, what, &text));
    if (!study_good_name(text))
        return yaml_error(r->file, node, "%s is \"%.64s\"; it should be 1 to %d of a-z 0-9 _ -",
                          what, text, STUDY_NAME_SIZE - 1);
    memcpy(name, text, strlen(text) + 1);
    return ERR_OK;
}

enum err study_read_key(struct study_reading *r, const yaml_node_t *node,
                        struct public_identity *key)
{
    const char *text;
    enum err e;
    TRY(yaml_text(r->file, node, "key", &text));
    e = public_identity_parse(key, text);
    return e == ERR_OK ? ERR_OK : yaml_error(r->file, node, "%s", identity_parse_hint(e));
}

enum err study_read_member(struct study_reading *r, const yaml_node_t *name, const yaml_node_t *key,
                           const char *called, struct public_identity *who,
                           struct study_people *people)
{
    const char *text = "KEY-OF-";
    if (r->draft && key != NULL)
        TRY(yaml_text(r->file, key, "key", &text));
    if (!r->draft || strstr(text, "KEY-OF-") == NULL) {
        TRY(study_read_key(r, key, who));
    } else {
        public_identity_none(who, called);
        r->study->keyless++;
    }
    TRY(memory_room(&people->person, &people->room, people->count + 1));
    people->person[people->count++] = (struct study_participant){
        .name = called, .key = who, .name_node = name, .key_node = key != NULL ? key : name};
    return ERR_OK;
}

enum err study_read_unsigned(struct study_reading *r, const yaml_node_t *node, const char *what,
                             unsigned least, unsigned most, unsigned *v)
{
    int64_t n = *v;
    TRY(yaml_integer(r->file, node, what, least, most, &n));
    *v = (unsigned)n;
    return ERR_OK;
}

enum err study_read_flag(struct study_reading *r, const yaml_node_t *node, const char *what,
                         bool *flag)
{
    static const char *const words[] = {"false", "true"};
    size_t word = 0;
    const enum err e = yaml_choice(r->file, node, what, COUNTED(words), &word);
    *flag = word == 1;
    return e;
}

enum err study_read_text(struct study_reading *r, const yaml_node_t *node, const char *what,
                         char **text)
{
    const char *given;
    if (node == NULL)
        return ERR_OK;
    TRY(yaml_text(r->file, node, what, &given));
    *text = memory_string(given);
    return *text != NULL ? ERR_OK : ERR_NOMEM;
}

enum err study_lacks(struct study_reading *r, const char *key)
{
    if (r->misspelt)
        return ERR_OK;
    return yaml_error(r->file, yaml_root(r->file), "the study file lacks the key \"%s\"; add it",
                      key);
}
