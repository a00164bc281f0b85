/*
 * An owner's budget book, as it is beside the key: no crash, every refusal names the line, and
 * what is accepted reads the same after it is written.
 */
#include "base/text.h"
#include "parties/owner/book.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[1024] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct book b CLEAN(book_clear) = {0}, again CLEAN(book_clear) = {0};
    struct bytes text CLEAN(bytes_clear) = {0};
    enum err e = book_parse(&b, "fuzz", data, size, &log);
    if (e != ERR_OK) {
        never((e != ERR_STUDY && e != ERR_FORMAT) || strncmp(sink, "error: fuzz", 11) != 0 ||
              b.entries != 0);
        return 0;
    }
    struct book_sum sum = book_add_up(&b, NULL, NULL);
    never(!(sum.epsilon >= 0) || sum.studies > b.entries);
    text_put(&text, "format trefoil-book-1\n");
    for (size_t i = 0; i < b.entries; i++) {
        book_put(&text, &b.entry[i]);
        text_put(&text, "\n");
    }
    never(book_parse(&again, "fuzz", text.data, text.size, &log) != ERR_OK ||
          again.entries != b.entries);
    for (size_t i = 0; i < b.entries; i++)
        never(memcmp(&b.entry[i].rho, &again.entry[i].rho, sizeof(double)) != 0 ||
              b.entry[i].state != again.entry[i].state);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char text[] =
        "# a book\n"
        "format trefoil-book-1\n"
        "2026-11-22T10:00:00Z begun one AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA epsilon 1 delta "
        "1.0000000000000001e-05 rho 0.03125 slack 0.0009765625 0\n"
        "2026-11-22T10:00:05Z sent one AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA epsilon 1 delta "
        "1.0000000000000001e-05 rho 0.03125 slack 0.0009765625 0\n"
        "2026-11-23T10:00:05Z withdrawn two BAAAA-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA epsilon 2 delta "
        "0.5 rho 0.25 slack 0 0.125\n";
    put(self, text, sizeof text - 1);
}
