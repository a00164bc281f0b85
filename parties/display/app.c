#include "parties/display/app.h"

#include "base/embed.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/display/html.h"

#include <sodium.h>
#include <string.h>

extern const char app_worker[], app_common[], app_style[];
EMBED_TEXT(app_worker, "parties/display/app_worker.js");
EMBED_TEXT(app_common, "parties/display/app.js");
EMBED_TEXT(app_style, "parties/display/app.css");

/* In the alphabet of data: URLs, since the page decodes it by atob(). */
static enum err put_base64(struct bytes *out, const void *p, size_t n)
{
    const size_t room = sodium_base64_encoded_len(n, sodium_base64_VARIANT_ORIGINAL);
    char *text CLEAN(memory_release) = memory_array(room, 1);
    if (text == NULL)
        return ERR_NOMEM;
    sodium_bin2base64(text, room, p, n, sodium_base64_VARIANT_ORIGINAL);
    bytes_put(out, text, room - 1);
    return ERR_OK;
}

static enum err put_data(struct bytes *out, const char *id, const void *p, size_t n)
{
    text_put(out, "<script type=\"application/octet-stream\" id=\"%s\">", id);
    TRY(put_base64(out, p, n));
    text_put(out, "</script>\n");
    return ERR_OK;
}

enum err app_policy(const struct app *app, struct bytes *out)
{
    crypto_hash_sha256_state state;
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const uint8_t *)app_common, strlen(app_common));
    crypto_hash_sha256_update(&state, (const uint8_t *)app->script, strlen(app->script));
    crypto_hash_sha256_final(&state, hash);
    text_put(out, "default-src 'none'; script-src 'sha256-");
    TRY(put_base64(out, hash, sizeof hash));
    text_put(out,
             "' 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; connect-src %s; "
             "base-uri 'none'; form-action 'none'",
             app->connect);
    return bytes_ok(out);
}

static enum err put_head(const struct app *app, struct bytes *out)
{
    text_put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"");
    TRY(app_policy(app, out));
    html_between(out,
                 "\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>",
                 app->title, "</title>\n<style>");
    bytes_put(out, app_style, strlen(app_style));
    html_between(out, "</style></head>\n<body><header><h1>", app->title, "</h1>");
    return ERR_OK;
}

enum err app_page(const struct app *app, const struct app_part *part, size_t parts,
                  struct bytes *out, struct log *log)
{
    const size_t module = (size_t)(app->module_end - app->module);
    if (module == 0)
        return log_fail(log, ERR_SYSTEM,
                        "this trefoil was built without the page's module; run make small, then "
                        "make");
    TRY(put_head(app, out));
    bytes_put(out, app->body, strlen(app->body));
    TRY(put_data(out, "module", app->module, module));
    for (size_t i = 0; i < parts; i++)
        if (part[i].size > 0)
            TRY(put_data(out, part[i].name, part[i].data, part[i].size));
    text_put(out, "<script type=\"text/plain\" id=\"worker\">");
    bytes_put(out, app_worker, strlen(app_worker));
    text_put(out, "</script>\n<script>");
    bytes_put(out, app_common, strlen(app_common));
    bytes_put(out, app->script, strlen(app->script));
    text_put(out, "</script></body></html>\n");
    return bytes_ok(out);
}
