/*
 * parties/study/yaml_scan.h - the events of a YAML text, before a tree is built of them.
 *
 * In the tree aliases have become further edges to one node, and could no longer be told from it.
 */
#ifndef TREFOIL_PARTIES_STUDY_YAML_SCAN_H
#define TREFOIL_PARTIES_STUDY_YAML_SCAN_H

#include "base/error.h"
#include "base/log.h"

#include <stdint.h>
#include <yaml.h>

/* Logs what is wrong at a place, and is ERR_STUDY. */
enum err yaml_error_at(const char *path, struct log *log, yaml_mark_t mark,
                       const char *text) MUST_CHECK;

/* ERR_STUDY, logged, for text that is no YAML, or more of it than parties/study/yaml.h allows. */
enum err yaml_scan(const char *path, const uint8_t *text, size_t n, struct log *log) MUST_CHECK;

#endif
