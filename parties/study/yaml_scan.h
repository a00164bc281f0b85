/*
 * parties/study/yaml_scan.h - checks the events of a YAML text before a tree is built from them.
 *
 * In the tree, aliases are only further edges to the same node and can no longer be recognised.
 */
#pragma once

#include "base/log.h"

#include <stdint.h>
#include <yaml.h>

/* Logs what is wrong at a place, and returns ERR_STUDY. */
enum err yaml_error_at(const char *path, struct log *log, yaml_mark_t mark,
                       const char *text) MUST_CHECK;

/* ERR_STUDY, logged, if it is not YAML, or uses more of YAML than parties/study/yaml.h allows. */
enum err yaml_scan(const char *path, const uint8_t *text, size_t n, struct log *log) MUST_CHECK;
