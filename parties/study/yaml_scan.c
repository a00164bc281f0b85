#include "parties/study/yaml_scan.h"

#include "parties/study/yaml.h"

enum err yaml_error_at(const char *path, struct log *log, yaml_mark_t mark, const char *text)
{
    return log_fail(log, ERR_STUDY, "%s:%zu:%zu: %s", path, mark.line + 1, mark.column + 1, text);
}

/* Where byte `offset` of the text is; libyaml gives no mark for bytes that are not characters. */
static yaml_mark_t mark_of(const uint8_t *text, size_t n, size_t offset)
{
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < n && i < offset; i++) {
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if ((text[i] & 0xc0) != 0x80) {
            mark.column++;
        }
    }
    return mark;
}

static enum err parser_error(const char *path, const yaml_parser_t *parser, const uint8_t *text,
                             size_t n, struct log *log)
{
    char line[512];
    if (parser->error == YAML_MEMORY_ERROR)
        return ERR_NOMEM;
    if (parser->error == YAML_READER_ERROR) {
        snprintf(line, sizeof line, "%s; save the file as UTF-8 text", parser->problem);
        return yaml_error_at(path, log, mark_of(text, n, parser->problem_offset), line);
    }
    if (parser->context != NULL)
        snprintf(line, sizeof line, "%s (%s that began on line %zu); check indentation and quotes",
                 parser->problem, parser->context, parser->context_mark.line + 1);
    else
        snprintf(line, sizeof line, "%s; check indentation and quotes", parser->problem);
    return yaml_error_at(path, log, parser->problem_mark, line);
}

/* A complaint about what an event must not have; NULL if there is none. */
static const char *refused(const yaml_event_t *event)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (event->type == YAML_ALIAS_EVENT || anchor != NULL)
        return "anchors and aliases (& and *) are not used here; write the text out, or quote it";
    if (tag != NULL)
        return "tags (!) are not used here; leave it out, or quote the text";
    return NULL;
}

struct scan {
    unsigned depth, documents;
    bool end;
};

static enum err scan_event(struct scan *s, const yaml_event_t *event, const char *path,
                           struct log *log)
{
    const char *complaint = refused(event);
    if (complaint != NULL)
        return yaml_error_at(path, log, event->start_mark, complaint);
    if (event->type == YAML_DOCUMENT_START_EVENT && ++s->documents > 1)
        return yaml_error_at(path, log, event->start_mark,
                             "a second document begins here; one file holds one");
    if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT) {
        if (++s->depth > YAML_DEPTH_MAX)
            return yaml_error_at(path, log, event->start_mark, "nested too deeply");
    } else if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT) {
        s->depth--;
    }
    s->end = event->type == YAML_STREAM_END_EVENT;
    return ERR_OK;
}

enum err yaml_scan(const char *path, const uint8_t *text, size_t n, struct log *log)
{
    yaml_parser_t parser;
    struct scan s = {0};
    enum err e = ERR_OK;
    if (!yaml_parser_initialize(&parser))
        return ERR_NOMEM;
    yaml_parser_set_input_string(&parser, text, n);
    while (e == ERR_OK && !s.end) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            e = parser_error(path, &parser, text, n, log);
        } else {
            e = scan_event(&s, &event, path, log);
            yaml_event_delete(&event);
        }
    }
    if (e == ERR_OK && s.documents == 0)
        e = yaml_error_at(path, log, (yaml_mark_t){0},
                          "the file is empty; trefoil init writes an example");
    yaml_parser_delete(&parser);
    return e;
}
