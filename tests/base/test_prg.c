/* The stream of a key, by every set of instructions, against AES-128-CTR of libcrypto. */
#include "harness/cmocka.h"

#include "base/prg.h"
#include "base/processor.h"

#include <openssl/evp.h>

#define LENGTH ((size_t)100000)

static const uint8_t key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                                0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
static uint8_t expected[LENGTH];

static void expect(void)
{
    static const uint8_t start[16], zeros[LENGTH];
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n;
    assert_int_equal(EVP_EncryptInit_ex(c, EVP_aes_128_ctr(), NULL, key, start), 1);
    assert_int_equal(EVP_EncryptUpdate(c, expected, &n, zeros, (int)LENGTH), 1);
    EVP_CIPHER_CTX_free(c);
}

/* Draws of many sizes, alternately written and XORed to what is there, at any alignment. */
static void draw_all(struct prg *prg)
{
    static uint8_t out[LENGTH];
    memset(out, 0x5a, LENGTH);
    for (size_t at = 0, k = 0, n; at < LENGTH; at += n, k++) {
        n = (k * k * 7 + k % 3) % (k % 8 == 7 ? 5000 : 40);
        n = n < LENGTH - at ? n : LENGTH - at;
        OK((k % 2 ? prg_xor : prg_fill)(prg, out + at, n));
        for (size_t i = at; i < at + n; i++)
            assert_int_equal(out[i], expected[i] ^ (k % 2 ? 0x5a : 0));
    }
}

/* The stream from places within a chunk and at its ends. */
static void draw_from(void)
{
    for (size_t from = 0, n = 1; from < LENGTH - 5000; from += 487, n = (n * 7 + 1) % 5000) {
        uint8_t out[5000];
        memset(out, 0x5a, sizeof out);
        OK(prg_xor_from(key, from, out, n));
        for (size_t i = 0; i < n; i++)
            assert_int_equal(out[i], expected[from + i] ^ 0x5a);
    }
}

TEST(all_instructions_give_the_stream_of_libcrypto)
{
    const char *before = getenv("TREFOIL_KERNEL");
    char *kept = before != NULL ? strdup(before) : NULL;
    expect();
    for (enum processor set = PROCESSOR_PORTABLE; set < PROCESSOR_SETS; set++) {
        if (!processor_runs(set))
            continue;
        setenv("TREFOIL_KERNEL", processor_name(set), 1);
        struct prg *prg CLEAN(prg_free) = MADE(prg, prg_new, key);
        draw_all(prg);
        draw_from();
    }
    if (kept != NULL)
        setenv("TREFOIL_KERNEL", kept, 1);
    else
        unsetenv("TREFOIL_KERNEL");
    free(kept);
}

/* This block is in FIPS 197: a key of zeros, a counter of zeros. */
TEST(the_first_block_is_aes)
{
    static const uint8_t zeros[16], block[16] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                                 0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
    uint8_t out[16];
    struct prg *prg CLEAN(prg_free) = MADE(prg, prg_new, zeros);
    OK(prg_fill(prg, out, sizeof out));
    assert_memory_equal(out, block, sizeof out);
}

/* A machine with VAES must use it, or the test above compares libcrypto with itself. */
TEST(wide_ciphers_were_tried)
{
    support_needs(processor_has_wide_ciphers() && processor_runs(PROCESSOR_AVX512),
                  "this processor lacks VAES or AVX-512");
}
