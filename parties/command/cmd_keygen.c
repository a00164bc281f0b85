#include "base/date.h"
#include "base/file.h"
#include "base/text.h"
#include "parties/command/command.h"
#include "parties/study/roster.h"
#include "parties/study/sealing.h"
#include "parties/study/yaml.h"

#include <string.h>
#include <sys/stat.h>

#define PUBLIC_FILE_MAX 65536

static const char help[] =
    "usage: trefoil keygen FILE [--until DATE] [--name NAME [--into STUDY]] [--force]\n"
    "       trefoil keygen FILE --renew OLD [--until DATE] [--name NAME] [--force]\n"
    "       trefoil keygen --show FILE [--name NAME [--into STUDY]]\n"
    "       trefoil keygen FILE --sealing KEY STUDY\n"
    "\n"
    "Makes a private key in FILE (only you can read it) and prints its public half,\n"
    "which goes into the study file. Read the fingerprint aloud over the telephone to\n"
    "check that a public key that you were sent is the right one.\n"
    "\n"
    "A key has two parts: one signs and is your identity, the other is for the links.\n"
    "--renew makes a new second part: the fingerprint stays the same, and everything\n"
    "that you have uploaded or store stays valid. The new public half replaces the\n"
    "old one in an amended study file. Keep using OLD until the servers run with it.\n"
    "\n"
    "  --until DATE  the last day (UTC) on which the key is good, such as 2027-06-30\n"
    "  --renew OLD   keep the identity of this private key, make a new key for its\n"
    "                links\n"
    "  --name NAME   print lines ready to paste into the study file\n"
    "  --show FILE   make nothing; print the public half of an existing key. FILE may\n"
    "                also hold what keygen printed for somebody else\n"
    "  --into STUDY  put the public half into this study file, where NAME has no key\n"
    "                yet\n"
    "  --sealing KEY   make the sealing key of the server that has this private key,\n"
    "                for one study, and print its line for the study file. If all\n"
    "                servers have one, owners may have parcels carried (share --to).\n"
    "                Name FILE to serve --sealing, and never back it up\n"
    "  --force       overwrite FILE; the key in it is lost\n"
    "\n"
    "example:\n"
    "  trefoil keygen hospital-a.key --name hospital-a\n"
    "  trefoil keygen --show from-b.txt --name hospital-b --into study.yaml\n"
    "  trefoil keygen north.seal --sealing north.key study.yaml\n"
    "  trefoil keygen hospital-a-2027.key --renew hospital-a.key --until 2027-12-31\n";

struct keygen_wish {
    const char *file, *show, *renew, *until, *name, *into, *sealing, *study;
    bool force;
};

/* --- a key's place in a study file ------------------------------------------------------------ */

/* Somebody in the file: where the name ends, the key if there is one, and how they are written. */
struct key_place {
    const yaml_node_t *item, *name, *key;
};

/* Somebody of this name: the node, or one in a list. */
static enum err find_item(const struct yaml_file *file, const yaml_node_t *people, const char *name,
                          struct key_place *place)
{
    const bool alone = yaml_is_mapping(people);
    size_t items = 1, entries;
    if (!alone)
        TRY(yaml_list(file, people, "a list", 0, SIZE_MAX, &items));
    for (size_t i = 0; i < items && place->name == NULL; i++) {
        struct key_place p = {.item = alone ? people : yaml_item(file, people, i)};
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

/* The keys of a study file that have people. */
static const char *const parts[] = {"servers", "provider", "keeper", "owners", "analysts"};
#define PARTS (sizeof parts / sizeof *parts)

static bool is_part(const char *key)
{
    size_t i = 0;
    while (i < PARTS && strcmp(parts[i], key) != 0)
        i++;
    return i < PARTS;
}

static enum err find(const struct yaml_file *file, const char *path, const char *name,
                     struct key_place *place, struct log *log)
{
    const yaml_node_t *people[PARTS + 1], *approvers = NULL;
    size_t entries, count = 0;
    TRY(yaml_entries(file, yaml_root(file), "the study file", YAML_KEYS_MAX, &entries));
    for (size_t i = 0; i < entries; i++) {
        const struct yaml_entry e = yaml_entry(file, yaml_root(file), i);
        if (strcmp(e.name, "approvers") == 0 && yaml_is_mapping(e.value))
            approvers = e.value;
        if (is_part(e.name))
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

/*
 * Puts the key of somebody whom the study file names into it, and changes nothing else. ERR_STUDY,
 * logged, if it has another key for them, or if the result would be no study.
 */
static enum err put_key(const char *path, const char *name, const struct public_identity *who,
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

/* --- the command ------------------------------------------------------------------------------ */

static enum err print(const struct public_identity *who, const struct keygen_wish *w,
                      struct log *log)
{
    const char *name = w->name;
    char text[IDENTITY_TEXT_SIZE];
    public_identity_text(who, text);
    const struct words_text fingerprint = public_identity_fingerprint(who);
    if (name != NULL)
        printf("  - name: %s\n    key: %s\n# fingerprint %s\n", name, text, fingerprint.text);
    else
        printf("%s\n# fingerprint %s\n", text, fingerprint.text);
    if (who->last_day != 0)
        printf("# good until the end of %s%s\n", date_day_text(who->last_day).text,
               public_identity_expired(who, date_today()) ? ": it has expired" : "");
    if (w->into == NULL)
        return ERR_OK;
    TRY(put_key(w->into, name, who, log));
    log_info(log, "it is in %s now", w->into);
    return ERR_OK;
}

static enum err check_wish(const struct keygen_wish *w, uint32_t *last_day, struct log *log)
{
    if ((w->show == NULL) == (w->file == NULL))
        return log_fail(log, ERR_USAGE,
                        "name one file: the key to make, or --show and the key to read");
    if (w->show != NULL && (w->renew != NULL || w->until != NULL))
        return log_fail(log, ERR_USAGE, "--show makes nothing; leave --renew and --until out");
    if ((w->sealing == NULL) != (w->study == NULL))
        return log_fail(log, ERR_USAGE,
                        "--sealing takes a server's private key, and after the file to make the "
                        "study: trefoil keygen north.seal --sealing north.key study.yaml");
    if (w->sealing != NULL && (w->show != NULL || w->renew != NULL || w->until != NULL ||
                               w->name != NULL || w->into != NULL || w->force))
        return log_fail(log, ERR_USAGE, "--sealing stands alone; leave the other options out");
    if (w->name != NULL && !study_good_name(w->name))
        return log_fail(log, ERR_USAGE, "--name is \"%s\"; a study takes 1 to %d of a-z 0-9 _ -",
                        w->name, STUDY_NAME_SIZE - 1);
    if (w->into != NULL && (w->name == NULL || w->renew != NULL))
        return log_fail(log, ERR_USAGE,
                        w->name == NULL
                            ? "--into needs --name, which says whose the key is in the study file"
                            : "a renewed key replaces one in an amended study file, by hand; "
                              "leave --into out");
    return w->until != NULL ? command_until(w->until, last_day, log) : ERR_OK;
}

/* Whether a file is not a private key, but has the line that was printed for a public one. */
static bool read_public(const char *path, struct public_identity *who)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    char *at, *end;
    if (file_read(path, PUBLIC_FILE_MAX, &text, NULL) != ERR_OK)
        return false;
    bytes_put_u8(&text, 0);
    if (bytes_ok(&text) != ERR_OK || text_value((char *)text.data, "secret") != NULL)
        return false;
    at = strstr((char *)text.data, "trefoil");
    for (; at != NULL; at = strstr(end, "trefoil")) {
        end = at + strcspn(at, " \t\r\n");
        if (*end != '\0')
            *end++ = '\0';
        if (public_identity_parse(who, at) == ERR_OK)
            return true;
    }
    return false;
}

static enum err show(const struct keygen_wish *w, struct log *log)
{
    struct identity *identity CLEAN(identity_free) = NULL;
    struct public_identity who;
    if (read_public(w->show, &who))
        return print(&who, w, log);
    TRY(identity_load(&identity, w->show, log));
    return print(&identity->public, w, log);
}

static enum err make(const struct keygen_wish *w, uint32_t last_day, struct log *log)
{
    struct identity *base CLEAN(identity_free) = NULL;
    struct identity *made CLEAN(identity_free) = NULL;
    if (w->renew != NULL)
        TRY(identity_load(&base, w->renew, log));
    TRY(identity_renew(&made, base, last_day, log));
    TRY(identity_save(made, w->file, w->force, log));
    log_info(log, "%s is your private key: keep it secret, and a copy in a safe place", w->file);
    if (w->renew != NULL)
        log_info(log,
                 "Send the public key to whoever keeps the study file; use %s\n"
                 "until the servers run with the amended one.",
                 w->renew);
    return print(&made->public, w, log);
}

static enum err make_sealing(const struct keygen_wish *w, struct log *log)
{
    struct study *study CLEAN(study_free) = NULL;
    struct identity *server CLEAN(identity_free) = NULL;
    char text[SEALING_TEXT_SIZE];
    TRY(study_load(&study, w->study, log));
    TRY(identity_load(&server, w->sealing, log));
    TRY(sealing_new(study, server, w->file, text, log));
    printf("    sealing: %s\n", text);
    log_info(log,
             "Send this line to whoever keeps the study file: it goes below the server's key.\n"
             "%s is good for this study alone: name it to serve --sealing, and never back it up",
             w->file);
    return ERR_OK;
}

static enum err run_keygen(int argc, char **argv, struct log *log)
{
    struct keygen_wish w = {0};
    const char *files[2] = {NULL, NULL};
    uint32_t last_day = 0;
    const struct command_option options[] = {
        {.name = "show", .value = &w.show},       {.name = "name", .value = &w.name},
        {.name = "renew", .value = &w.renew},     {.name = "until", .value = &w.until},
        {.name = "into", .value = &w.into},       {.name = "force", .flag = &w.force},
        {.name = "sealing", .value = &w.sealing},
    };
    TRY(command_options(argc, argv, COUNTED(options), files, 0, 2, NULL, log));
    w.file = files[0];
    w.study = files[1];
    TRY(check_wish(&w, &last_day, log));
    if (w.sealing != NULL)
        return make_sealing(&w, log);
    return w.show != NULL ? show(&w, log) : make(&w, last_day, log);
}

DEFINE_COMMAND(keygen, help, "make or renew a key; its public half goes into the study file");
