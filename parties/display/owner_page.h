/*
 * parties/display/owner_page.h - one file with which an owner of data who has nothing but a browser
 * makes a parcel (parties/owner/parcel.h) and sends it: the study file, and trefoil's own commands
 * as a module of WebAssembly. It follows from the study file's bytes and this program alone.
 */
#pragma once

#include "base/bytes.h"
#include "base/log.h"
#include "parties/study/study.h"

/*
 * Reads the study file at `path` for a page. ERR_STUDY, logged, if it names other files, which a
 * page does not carry.
 */
enum err owner_page_file(const char *path, struct bytes *file, struct log *log) MUST_CHECK;

/*
 * `file`: the study file. `policy` may be NULL. ERR_STUDY, logged, where a study has no sealing
 * keys; ERR_SYSTEM if this program was built without the module.
 */
enum err owner_page(const struct study *study, const struct bytes *file, struct bytes *out,
                    struct bytes *policy, struct log *log) MUST_CHECK;
/* The study file in such a page: ERR_FORMAT, not logged, if this is none. */
enum err owner_page_study(const struct bytes *page, struct bytes *file) MUST_CHECK;
