/*
 * parties/display/owner_page.h - one file with which an owner of data who has nothing but a browser
 * makes a parcel (parties/owner/parcel.h) and sends it: the study file, those that it names, and
 * trefoil's own commands as a module of WebAssembly. It follows from these files' bytes and this
 * program alone.
 */
#pragma once

#include "parties/study/study.h"

/*
 * Reads the study's file, at `path`, for a page, and those that it names: of each its name, as a
 * string, and its bytes, as a block.
 */
enum err owner_page_files(const struct study *study, const char *path, struct bytes *file,
                          struct bytes *beside, struct log *log) MUST_CHECK;

/*
 * The page with these files. `policy` may be NULL. ERR_STUDY, logged, where a study has no sealing
 * keys; ERR_SYSTEM if this program was built without the module.
 */
enum err owner_page(const struct study *study, const struct bytes *file, const struct bytes *beside,
                    struct bytes *out, struct bytes *policy, struct log *log) MUST_CHECK;
/* The study file in such a page: ERR_FORMAT, not logged, if this is none. */
enum err owner_page_study(const struct bytes *page, struct bytes *file) MUST_CHECK;
