/*
 * Any bytes as a study file: no crash, no leak, no silent failure; what is accepted can be put into
 * words and reads the same a second time. "@0" to "@5" stand for public keys, whose signatures no
 * mutation would get right.
 */
#include "aim/table/density.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "base/secret.h"
#include "parties/study/study_text.h"
#include "tests/fuzz/fuzz.h"

/* The private halves are lost. */
static const char *const keys[6] = {
    "trefoil1-P-k4LVdUp0lr2I6QFbHatL0S3MLgKO1FUSE7rQIftfJ_dSiERaJwFSzCc7XGU5N0VgZUM9dGHl9c5J_mY"
    "l29BjbcEOgTtqoDwoBqVEL-nMAA7AG0b_GPOWgXsvAcKqyoWPTZ_AwWHqLHn7M5q6GnezQr1hMP9HYvTB46-EP66QM",
    "trefoil1-8wVsNRHjXF6bsO0CwBo7tqKSJ_0HzwpB58g4fvy9ZaUVIgzS4XN54R7AlTdQQpLLea96oJ8UStCskxEkH"
    "soyfik7iiseKHFcH6pede6Sea1gLTmTHbXAYo5iKYHQDOKjZeDtlqKf3mV0wbqf41aOYb2zRU2TTT00iAzKRS22GgM",
    "trefoil1-uXmB-BI4RItM0gQrjeQK9EAo91rWyv4pFvffWtoHC-XQWgXaXPHCzakCE4WR3ZtrtAcaKC8i8bRLDZyjw"
    "YkaZ5JKg8tOmvYd8ww0hndnMs_5OKTpcAyP2woacLrWHVv1XJoxIeHvkAaXYVlKWjz7gBncdasBezn6Y8PBt4A8XA8",
    "trefoil1-abpIWQyHKlc3212nsFh9-rkc9nS7T0qZgwlJvomSgWtuNb4H7q0qQCNvdxaixggNSjLrugWrkYZfAVey-"
    "--wK5VP-4OwMY0eJo3L_MBpGtp5RH5ZJArks5OVNDE42Eol0TdmgXKtBv4uPpFMw1DsDsa7HECPTD_8wCidMK1Nywo",
    "trefoil1-bMj044PhANrBR6ynj_yDIuzlNZ00AOrxd2e3PGYLifsx0NfNefLejurf9oRMGz_zxk21nrfOiFKdBLT9q"
    "iTRIQnPB0qOKw5Am5QvF0qstiW9NOXO6xTYeCUMNrv0cHSNYG4Z7OA9Sq-J4k-3oDMRx2cTt4OosLUISf6wshskYA8",
    "trefoil1-ykrfHtyzXv9xg4MUYOdRCettG3M4DGesa6Ov9pV8shRPZQTb6WnsZYI1JovBZTzxdsMj656TkkqRH0AtK"
    "E16ClyLZZYxhPu2P4foFXHTZMNSbPhEdDyL38FTBDJRlIr7O60nA11BSc0z6AcpGz-eXYtlihclNaKFQYwrUmR9Gwg",
};

static void put_with_keys(struct bytes *b, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '@' && i + 1 < n && p[i + 1] >= '0' && p[i + 1] <= '5') {
            const char *key = keys[p[++i] - '0'];
            bytes_put(b, key, strlen(key));
        } else {
            bytes_put_u8(b, p[i]);
        }
    }
}

/* Every bin keeps its mass, and numbers drawn from a bin lie in it. */
static void draw(const struct domain_attribute *a)
{
    struct density *d CLEAN(density_free) = NULL;
    double *counts CLEAN(memory_release) = memory_array(a->values, sizeof *counts);
    never(counts == NULL);
    for (uint32_t code = 0; code < a->values; code++)
        counts[code] = (double)((code * 7919) % 1000) - 20;
    never(density_new(&d, a, counts) != ERR_OK);
    for (uint32_t code = 0; code < a->values; code++) {
        double x = density_draw(d, code, (double)(code % 10) / 10);
        never(density_whole(d, code).share != 1 || x < a->edges[code] || x > a->edges[code + 1] ||
              (a->step > 0 && domain_bin(a, x) != code));
    }
}

static void use(const struct study *s, const struct bytes *text)
{
    struct study *again CLEAN(study_free) = NULL;
    char *words = NULL;
    size_t n;
    FILE *out = open_memstream(&words, &n);
    never(out == NULL);
    study_describe(out, s, &s->owner[0].key);
    never(study_suggest(out, s) != ERR_OK);
    for (size_t i = 0; i < s->domain->attributes; i++)
        if (domain_has_bins(&s->domain->attribute[i]))
            draw(&s->domain->attribute[i]);
    never(fclose(out) != 0 || study_parse(&again, "fuzz", text->data, text->size, NULL) != ERR_OK ||
          memcmp(again->terms.digest, s->terms.digest, 32) != 0 ||
          memcmp(again->roster, s->roster, 32) != 0 || s->count_bits > STUDY_COUNT_BITS_MAX);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[2048] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct bytes text CLEAN(bytes_clear) = {0};
    struct study *s CLEAN(study_free) = NULL;
    never(secret_start() != ERR_OK);
    put_with_keys(&text, data, size);
    enum err e = study_parse(&s, "fuzz", text.data, text.size, &log);
    if (e == ERR_OK)
        use(s, &text);
    else if (e != ERR_NOMEM && strncmp(sink, "error: fuzz", 11) != 0)
        abort();
    return 0;
}

/* The corpus has them. */
void fuzz_seeds(fuzz_put put, void *self)
{
}
