#include "library/keep.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum err keep_array(struct keep *k, void *address_of_pointer, size_t count, size_t size)
{
    void *made CLEAN(memory_release) = NULL;
    TRY(memory_new_array(&made, count, size));
    memcpy(address_of_pointer, &made, sizeof made);
    return keep_adopt(k, &made);
}

enum err keep_adopt(struct keep *k, void *address_of_pointer)
{
    TRY(memory_room(&k->block, &k->room, k->blocks + 1));
    return memory_move(&k->block[k->blocks++], address_of_pointer);
}

enum err keep_string(struct keep *k, const char **to, const char *text, size_t size)
{
    char *copy;
    TRY(keep_new(k, &copy, size + 1));
    memcpy(copy, text, size);
    *to = copy;
    return ERR_OK;
}

void keep_clear(struct keep *k)
{
    memory_free_each(&k->block, k->blocks);
}

struct log failure_log(struct trefoil_error *error)
{
    if (error == NULL)
        return (struct log){.level = LOG_ERROR};
    *error = (struct trefoil_error){0};
    return (struct log){
        .level = LOG_ERROR, .buffer = error->text, .buffer_size = sizeof error->text};
}

static enum trefoil_status status_of(enum err e)
{
    switch (e) {
    case ERR_OK:
        return TREFOIL_OK;
    case ERR_NOMEM:
        return TREFOIL_MEMORY;
    case ERR_FORMAT:
    case ERR_STUDY:
    case ERR_DATA:
    case ERR_MISMATCH:
        return TREFOIL_FORMAT;
    case ERR_QUESTION:
        return TREFOIL_QUESTION;
    case ERR_RANGE:
        return TREFOIL_RANGE;
    case ERR_USAGE:
        return TREFOIL_USAGE;
    default:
        return TREFOIL_SYSTEM;
    }
}

/* Several messages stay as lines of one text, without their level, which tells nothing new. */
static void without_levels(char *text)
{
    static const char level[] = "error: ";
    const size_t n = sizeof level - 1;
    char *line = text;
    while (line != NULL) {
        if (strncmp(line, level, n) == 0)
            memmove(line, line + n, strlen(line + n) + 1);
        line = strchr(line, '\n');
        line += line != NULL;
    }
    if (*text != '\0' && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
}

enum trefoil_status failure_status(struct trefoil_error *error, enum err e)
{
    const enum trefoil_status status = status_of(e);
    if (error == NULL)
        return status;
    error->status = (int32_t)status;
    if (e == ERR_OK)
        error->text[0] = '\0';
    else if (error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "%s",
                 e == ERR_NOMEM ? "out of memory; ask for less at once" : error_text(e));
    without_levels(error->text);
    return status;
}
