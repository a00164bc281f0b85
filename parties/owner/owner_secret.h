/*
 * parties/owner/owner_secret.h - an owner's secret for one study, from which its uploads are made.
 *
 * The secret is a file beside the key (docs/formats.md). The first share makes it; every later one
 * uses it, so that the same table gives the same upload. Somebody who has the owner's key but not
 * the secret cannot tell which table was uploaded (parties/setting/upload.h). If the secret is
 * lost, the same table gives another upload, which can replace the first until the run begins.
 */
#pragma once

#include "parties/study/study.h"

/*
 * Reads the secret at `path`, UPLOAD_SECRET_SIZE bytes for secret_free(); NULL if there is no file.
 * ERR_STUDY, logged with what to do, if it is cut, altered, of another study, or readable by
 * others.
 */
enum err owner_secret_load(uint8_t **secret, const char *path, const struct study *study,
                           struct log *log) MUST_CHECK;
/* The same; if there is no file, makes one, which is on disk when this returns. */
enum err owner_secret_take(uint8_t **secret, const char *path, const struct study *study,
                           struct log *log) MUST_CHECK;
