/* Puts somebody's public key into a study file, in its place, and changes nothing else. */
#include "base/file.h"
#include "parties/study/roster.h"
#include "parties/study/yaml.h"

#include <string.h>
#include <sys/stat.h>

/* Somebody in the file: where the name ends, the key if there is one, and how they are written. */
struct key_place {
    const yaml_node_t *item, *name, *key;
};

/* The item of a list that has this name. */
static enum err find_item(const struct yaml_file *file, const yaml_node_t *list, const char *name,
                          struct key_place *place)
{
    size_t items, entries;
    TRY(yaml_list(file, list, "a list", 0, SIZE_MAX, &items));
    for (size_t i = 0; i < items && place->name == NULL; i++) {
        struct key_place p = {.item = yaml_item(file, list, i)};
        if (!yaml_is_mapping(p.item))
            continue;
        TRY(yaml_entries(file, p.item, "an item", YAML_KEYS_MAX, &entries));
        for (size_t k = 0; k < entries; k++) {
            const struct yaml_entry e = yaml_entry(file, p.item, k);
            const char *text;
            if (strcmp(e.name, "key") == 0)
                p.key = e.value;
            if (strcmp(e.name, "name") != 0)
                continue;
            TRY(yaml_text(file, e.value, "name", &text));
            p.name = strcmp(text, name) == 0 ? e.value : NULL;
        }
        if (p.name != NULL)
            *place = p;
    }
    return ERR_OK;
}

static enum err find(const struct yaml_file *file, const char *path, const char *name,
                     struct key_place *place, struct log *log)
{
    const yaml_node_t *people[4], *approvers = NULL;
    size_t entries, count = 0;
    TRY(yaml_entries(file, yaml_root(file), "the study file", YAML_KEYS_MAX, &entries));
    for (size_t i = 0; i < entries; i++) {
        const struct yaml_entry e = yaml_entry(file, yaml_root(file), i);
        if (strcmp(e.name, "approvers") == 0 && yaml_is_mapping(e.value))
            approvers = e.value;
        if (strcmp(e.name, "servers") == 0 || strcmp(e.name, "owners") == 0 ||
            strcmp(e.name, "analysts") == 0)
            people[count++] = e.value;
    }
    if (approvers != NULL)
        TRY(yaml_entries(file, approvers, "approvers", YAML_KEYS_MAX, &entries));
    for (size_t i = 0; approvers != NULL && i < entries; i++) {
        const struct yaml_entry e = yaml_entry(file, approvers, i);
        if (strcmp(e.name, "people") == 0)
            people[count++] = e.value;
    }
    for (size_t i = 0; i < count && place->name == NULL; i++)
        TRY(find_item(file, people[i], name, place));
    if (place->name != NULL)
        return ERR_OK;
    return log_fail(log, ERR_STUDY, "%s has nobody named %s; --name says whose the key is", path,
                    name);
}

/* libyaml counts characters. */
static size_t bytes_before(const struct bytes *text, size_t characters)
{
    size_t i = 0;
    if (text->size >= 3 && memcmp(text->data, "\xef\xbb\xbf", 3) == 0)
        i = 3;
    for (; i < text->size; i++)
        if ((text->data[i] & 0xc0) != 0x80 && characters-- == 0)
            break;
    return i;
}

/* The text with the key in the place of the old one, or behind the name. */
static enum err put(const struct bytes *text, const struct key_place *p, const char *key,
                    struct bytes *out)
{
    const yaml_node_t *old = p->key != NULL ? p->key : p->name;
    const size_t end = bytes_before(text, old->end_mark.index);
    const size_t from = p->key != NULL ? bytes_before(text, old->start_mark.index) : end;
    bytes_put(out, text->data, from);
    if (p->key == NULL && p->item->data.mapping.style == YAML_FLOW_MAPPING_STYLE)
        bytes_put_text(out, ", key: ");
    else if (p->key == NULL) {
        bytes_put_u8(out, '\n');
        for (size_t i = 0; i < p->item->start_mark.column; i++)
            bytes_put_u8(out, ' ');
        bytes_put_text(out, "key: ");
    }
    bytes_put_text(out, key);
    bytes_put(out, text->data + end, text->size - end);
    return bytes_ok(out);
}

/* Somebody's key in a study of this text, or NULL. */
static bool has_key(const struct study *study, const char *name, const struct public_identity *who)
{
    struct roster_person p = {0};
    while (roster_next(study, &p))
        if (strcmp(p.name, name) == 0)
            return public_identity_equal(p.key, who);
    return false;
}

enum err study_put_key(const char *path, const char *name, const struct public_identity *who,
                       struct log *log)
{
    struct bytes text CLEAN(bytes_clear) = {0}, out CLEAN(bytes_clear) = {0};
    struct yaml_file *file CLEAN(yaml_close) = NULL;
    struct study *study CLEAN(study_free) = NULL;
    struct public_identity old;
    struct key_place place = {0};
    char key[IDENTITY_TEXT_SIZE];
    const char *given;
    struct stat st;
    TRY(file_read(path, YAML_FILE_MAX, &text, log));
    TRY(yaml_parse(&file, path, text.data, text.size, log));
    TRY(find(file, path, name, &place, log));
    if (place.key != NULL) {
        TRY(yaml_text(file, place.key, "key", &given));
        if (public_identity_parse(&old, given) == ERR_OK && !public_identity_equal(&old, who))
            return yaml_error(file, place.key,
                              "%s has another key here already; take it out first if it is to be "
                              "replaced",
                              name);
    }
    public_identity_text(who, key);
    TRY(put(&text, &place, key, &out));
    TRY(study_parse_draft(&study, path, out.data, out.size, log));
    if (!has_key(study, name, who))
        return log_fail(log, ERR_STUDY,
                        "the key cannot be put into %s, which was left alone; put it there by hand",
                        path);
    return file_write(path, stat(path, &st) == 0 ? st.st_mode & 0777 : 0644, out.data, out.size,
                      log);
}
