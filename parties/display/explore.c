#include "parties/display/explore.h"

#include "base/embed.h"
#include "base/memory.h"
#include "base/text.h"
#include "parties/display/html.h"

#include <sodium.h>
#include <string.h>

extern const char explore_script[], explore_worker[], explore_style[];
EMBED_TEXT(explore_script, "parties/display/explore.js");
EMBED_TEXT(explore_worker, "parties/display/explore_worker.js");
EMBED_TEXT(explore_style, "parties/display/explore.css");

/* The module of tools/small.sh, if it was there when this was built. */
#ifdef EXPLORE_READER
extern const char explore_reader[], explore_reader_end[];
__asm__(".section .rodata; explore_reader: .incbin \"" EXPLORE_READER
        "\"; explore_reader_end: .byte 0; .previous");
#else
#define explore_reader explore_style
#define explore_reader_end explore_style
#endif

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

static enum err put_head(struct bytes *out, const char *title)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const uint8_t *)explore_script, strlen(explore_script));
    text_put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "script-src 'sha256-");
    TRY(put_base64(out, hash, sizeof hash));
    text_put(out, "' 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; "
                  "connect-src 'none'; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<title>");
    html_text(out, title);
    text_put(out, "</title>\n<style>");
    bytes_put(out, explore_style, strlen(explore_style));
    text_put(out, "</style></head>\n");
    return ERR_OK;
}

static void put_body(struct bytes *out, const char *title)
{
    text_put(out, "<body><header><h1>");
    html_text(out, title);
    text_put(
        out,
        "</h1><p id=\"guarantee\"></p><p class=\"soft\">Everything on this page is computed here, "
        "from the released model: nothing is sent, and no question costs privacy. Lines on bars "
        "are "
        "intervals.</p></header>\n"
        "<main><nav id=\"columns\" aria-label=\"columns\"></nav><div>"
        "<section aria-label=\"chart\"><div class=\"row\"><label>by <select id=\"second\"></select>"
        "</label><label>of those <select id=\"filter\"></select></label>"
        "<span id=\"busy\" role=\"status\" class=\"soft\"></span></div><div id=\"filters\"></div>"
        "<div id=\"chart\"></div><p class=\"soft\"><code id=\"asked\"></code></p></section>\n"
        "<section><h2>Ask in SQL</h2><form id=\"ask\"><label for=\"sql\">Questions, with a ; "
        "between two</label><textarea id=\"sql\" spellcheck=\"false\"></textarea>"
        "<div class=\"row\"><button>Answer</button><label><input type=\"checkbox\" id=\"quick\"> "
        "without intervals</label></div></form><div id=\"answers\" aria-live=\"polite\"></div>"
        "</section>\n"
        "<section><h2>Draw rows</h2><form id=\"draw\"><div class=\"row\"><label>rows "
        "<input id=\"count\" type=\"number\" min=\"1\" max=\"1000000\" value=\"1000\"></label>"
        "<label>seed <input id=\"seed\" type=\"number\" min=\"0\" value=\"1\"></label>"
        "<button>Draw</button><span id=\"made\" aria-live=\"polite\"></span></div></form></section>"
        "</div></main>\n");
}

enum err explore_page(struct bytes *out, const char *title, const struct explore_files *files,
                      struct log *log)
{
    const size_t reader = (size_t)(explore_reader_end - explore_reader);
    if (reader == 0)
        return log_fail(log, ERR_SYSTEM,
                        "this trefoil was built without the explorer's module; run "
                        "tools/small.sh, then make");
    TRY(put_head(out, title));
    put_body(out, title);
    TRY(put_data(out, "reader", explore_reader, reader));
    TRY(put_data(out, "model", files->model.data, files->model.size));
    if (files->errors.size > 0)
        TRY(put_data(out, "errors", files->errors.data, files->errors.size));
    TRY(put_data(out, "measurements", files->measurements.data, files->measurements.size));
    text_put(out, "<script type=\"text/plain\" id=\"worker\">%s</script>\n", explore_worker);
    text_put(out, "<script>");
    bytes_put(out, explore_script, strlen(explore_script));
    text_put(out, "</script></body></html>\n");
    return bytes_ok(out);
}
