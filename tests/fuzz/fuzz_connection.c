/*
 * A file that says how to reach a database: no crash; what is accepted is a text that reads the
 * same again, with the same answer to whether it holds a secret.
 */
#include "aim/sql/connection.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[1024] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct bytes once CLEAN(bytes_clear) = {0}, again CLEAN(bytes_clear) = {0};
    bool secret, still;
    enum err e = connection_parse("f", data, size, &once, &secret, &log);
    if (e == ERR_OK) {
        never(memchr(once.data, 0, once.size) != once.data + once.size - 1 ||
              connection_parse("f", once.data, once.size - 1, &again, &still, &log) != ERR_OK ||
              still != secret || again.size != once.size ||
              memcmp(again.data, once.data, once.size) != 0);
    } else if (strstr(sink, "error: f") == NULL) {
        abort();
    }
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char file[] = "# the clinic\nDriver=PostgreSQL Unicode\nServer = db.example\n"
                               "UID=u;PWD={a;}}b}\n\nDatabase=visits\n";
    put(self, file, strlen(file));
    put(self, "DSN=clinic", 10);
}
