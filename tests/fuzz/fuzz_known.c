/*
 * Any bytes as a file of known totals: no crash, no leak, no silent failure; what is accepted has
 * counts from 0 on for every cell, and can be compared with a measurement.
 */
#include "parties/analyst/known.h"
#include "tests/fuzz/fuzz.h"

static struct domain *make_domain(void)
{
    static const char *const wards[] = {"a", "b, c"};
    static const double edges[] = {0, 0, 1.5, 3};
    struct domain *d;
    never(domain_new(&d) != ERR_OK ||
          domain_add_integer(d, "age", 0, 2, NULL, DOMAIN_CLIP, NULL) != ERR_OK ||
          domain_add_categorical(d, "ward", wards, 2, "?", DOMAIN_AS_MISSING, NULL) != ERR_OK ||
          domain_add_numeric(d, "bmi", edges, 4, "", DOMAIN_REJECT, NULL) != ERR_OK);
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sink[4096] = "", path[64];
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_INFO};
    struct domain *d CLEAN(domain_free) = make_domain();
    double y[] = {10, 20, 30};
    const struct measurement noisy = {.clique = {1, {0}}, .sigma = 5, .y = y};
    struct known k = {0};
    int fd = fuzz_file(data, size, path);
    enum err e = known_read(&k, d, path, &log);
    for (size_t i = 0; e == ERR_OK && i < k.count; i++)
        for (uint64_t c = 0; c < clique_cells(&k.margin[i].clique, d); c++)
            never(!(k.margin[i].y[c] >= 0));
    if (e == ERR_OK)
        e = known_check(&k, d, path, &noisy, 1, &log);
    never(e != ERR_OK && strstr(sink, "error: ") == NULL);
    known_clear(&k);
    close(fd);
    return 0;
}

static void put_text(fuzz_put put, void *self, const char *text)
{
    put(self, text, strlen(text));
}

void fuzz_seeds(fuzz_put put, void *self)
{
    put_text(put, self, "age,count\n0,10\n1,20\n2,30\n");
    put_text(put, self,
             "ward,age,Count\na,0,5\n\"b, c\",0,3\n?,0,2\na,1,9\n\"b, c\",1,9\n?,1,2\n"
             "a,2,30\n\"b, c\",2,0\n?,2,0\nage,count\n0,10\n1,20\n2,30\n");
    put_text(put, self, "bmi,count\n0,10.5\n1,20\n1.2,1\n3,30\n\"\",0\n");
}
