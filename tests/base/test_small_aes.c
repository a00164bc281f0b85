/* The cipher of modules (tools/small/small_aes.c) gives the streams of base/prg.h. */
#include "harness/cmocka.h"

#include "base/prg.h"

/* This program has libcrypto, too. */
#define EVP_CIPHER_CTX_new small_new
#define EVP_CIPHER_CTX_free small_free
#define EVP_aes_128_ctr small_type
#define EVP_EncryptInit_ex small_init
#define EVP_EncryptUpdate small_update
#include "tools/small/small_aes.c" // NOLINT(bugprone-suspicious-include)

TEST(the_cipher_of_modules_is_aes)
{
    enum { LENGTH = 20 * 512 };
    static uint8_t expected[LENGTH], got[LENGTH];
    for (unsigned k = 0; k < 300; k++) {
        uint8_t key[16], counter[16] = {0};
        const size_t chunk = k % 7, n = (1 + k % 13) * 512;
        EVP_CIPHER_CTX *c = small_new();
        int written = 0;
        for (unsigned i = 0; i < 16; i++)
            key[i] = (uint8_t)(k * 151 + i * i * 17 + (k >> 3));
        memset(got, 0x5a, n);
        memset(expected, 0x5a, n);
        OK(prg_xor_from(key, chunk * 512, expected, n));
        counter[15] = (uint8_t)(chunk * 32);
        assert_int_equal(small_init(c, small_type(), NULL, key, NULL), 1);
        assert_int_equal(small_init(c, NULL, NULL, NULL, counter), 1);
        assert_int_equal(small_update(c, got, &written, got, (int)n), 1);
        assert_true(written == (int)n && memcmp(expected, got, n) == 0);
        small_free(c);
    }
}

/* Counters carry from lane 31 to 32, and through all bytes. */
TEST(counters_carry)
{
    static const uint64_t from[] = {0, 32, 0xffffffe0, 0xffffffffffffffc0};
    uint64_t p[16][8];
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        count(p, from[k]);
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned b = 0; b < 64; b++)
                assert_int_equal(p[15 - b / 8][b % 8] >> lane & 1, (from[k] + lane) >> b & 1);
    }
}
