/*
 * parties/study/yaml.h - reading YAML written by people, with errors that say where.
 *
 * A thin layer over libyaml's document tree. Every error is logged as "path:line:column: what is
 * wrong; what to do" and returned as ERR_STUDY (except ERR_NOMEM and ERR_SYSTEM). It refuses what a
 * study does not need, so that a file has one meaning and stays small in memory: aliases, anchors,
 * tags, several documents, depth above YAML_DEPTH_MAX, files above YAML_FILE_MAX. Unknown and
 * repeated keys are errors.
 *
 * `what` in the calls below is the name of the thing for messages, such as "budget.epsilon".
 * The call decides what a scalar is: read as text, `no` is the text "no". A node that is NULL was
 * optional and is absent: it has no keys, entries or items, and a number or choice stays as it is.
 * Only yaml_text() needs one.
 */
#pragma once

#include "base/array.h"
#include "base/log.h"

#include <stdint.h>
#include <yaml.h>

#define YAML_FILE_MAX ((size_t)4 << 20) /* a study of 10 000 owners is 2.4 MB */
#define YAML_DEPTH_MAX 16

struct yaml_file;

/* `path` is for messages. */
enum err yaml_parse(struct yaml_file **file, const char *path, const void *text, size_t n,
                    struct log *log) MUST_CHECK;
void yaml_close(struct yaml_file **file);

const yaml_node_t *yaml_root(const struct yaml_file *file);

/* Logs a message at a node's place and returns ERR_STUDY. */
enum err yaml_error(const struct yaml_file *file, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct yaml_key {
    const char *name;
    bool required;
    const yaml_node_t **node; /* where its value goes; becomes NULL if an optional one is absent */
};

/*
 * Takes a mapping apart, of at most YAML_KEYS_MAX keys. Logs every key that does not belong there,
 * or else every one that lacks; nodes of the others are set even then.
 */
#define YAML_KEYS_MAX 48
enum err yaml_mapping(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      const struct yaml_key *key, size_t keys) MUST_CHECK;

/* Whether a mapping has this key: what others are required may depend on it. */
bool yaml_has(const struct yaml_file *file, const yaml_node_t *node, const char *key);

/* A mapping whose keys the file chooses: at most `most`, none repeated. Then its entries. */
enum err yaml_entries(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      size_t most, size_t *count) MUST_CHECK;
struct yaml_entry {
    const char *name;
    const yaml_node_t *key, *value;
};
struct yaml_entry yaml_entry(const struct yaml_file *file, const yaml_node_t *node, size_t index);

/* A list of at least `least` and at most `most` items. */
enum err yaml_list(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                   size_t least, size_t most, size_t *count) MUST_CHECK;
const yaml_node_t *yaml_item(const struct yaml_file *file, const yaml_node_t *node, size_t index);

bool yaml_is_list(const yaml_node_t *node);
bool yaml_is_mapping(const yaml_node_t *node);

/*
 * A scalar as text, owned by the file. An empty one must be written as "". Control characters are
 * refused: people see the text, and it must not control their terminal.
 */
enum err yaml_text(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                   const char **text) MUST_CHECK;
/* Decimal, unquoted, no leading zero. */
enum err yaml_integer(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                      int64_t least, int64_t most, int64_t *v) MUST_CHECK;
/* Decimal such as 2, 0.5 or 1e-6, unquoted, finite. */
enum err yaml_number(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                     double least, double most, double *v) MUST_CHECK;
/* The index of one of some words. An error suggests the nearest. */
enum err yaml_choice(const struct yaml_file *file, const yaml_node_t *node, const char *what,
                     const char *const *words, size_t count, size_t *index) MUST_CHECK;
