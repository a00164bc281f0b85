/* netio/: key derivation, sealing and the frame header. */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "harness/session.h"
#include "netio/frame.h"
#include "netio/hkdf.h"
#include "netio/seal.h"

#include <limits.h>

/* RFC 5869, test case 3: empty salt, empty info. */
TEST(hkdf_known_answer)
{
    static const uint8_t expected[42] = {
        0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80, 0x2a, 0x06, 0x3c,
        0x5a, 0x31, 0xb8, 0xa1, 0x1f, 0x5c, 0x5e, 0xe1, 0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f,
        0x3c, 0x73, 0x8d, 0x2d, 0x9d, 0x20, 0x13, 0x95, 0xfa, 0xa4, 0xb6, 0x1a, 0x96, 0xc8};
    uint8_t secret[22], out[42];
    struct bytes info CLEAN(bytes_clear) = {0};
    memset(secret, 0x0b, sizeof secret);
    OK(hkdf_sha256(secret, sizeof secret, &info, out, sizeof out));
    assert_memory_equal(out, expected, sizeof out);
    /* more than HKDF can give, and an info for which there was no memory */
    uint8_t long_one[255 * 32 + 1];
    assert_int_equal(hkdf_sha256(secret, sizeof secret, &info, long_one, sizeof long_one),
                     ERR_CRYPTO);
    assert_null(bytes_extend(&info, SIZE_MAX));
    assert_int_equal(hkdf_sha256(secret, sizeof secret, &info, out, sizeof out), ERR_NOMEM);
}

/* The GCM specification, test case 2: key, nonce and plain text of zeros. */
TEST(seal_known_answer)
{
    static const uint8_t expected[32] = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92,
                                         0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78,
                                         0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd,
                                         0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf};
    static const uint8_t zero[16];
    uint8_t out[32];
    struct seal *s CLEAN(seal_free) = MADE(seal, seal_new, SEAL_SENDER, zero, 0);
    OK(seal_frame(s, 0, NULL, 0, zero, sizeof zero, out));
    assert_memory_equal(out, expected, sizeof out);
}

static const uint8_t first_key[SEAL_KEY] = "a key of a test";

static void pair_of_seals(struct seal **out, struct seal **in, uint64_t blocks)
{
    OK(seal_new(out, SEAL_SENDER, first_key, blocks));
    OK(seal_new(in, SEAL_RECEIVER, first_key, blocks));
}

TEST(every_altered_byte_is_noticed)
{
    uint8_t ad[20] = "associated", plain[37] = "plain", sealed[37 + SEAL_TAG];
    uint8_t zero[37] = {0};
    for (size_t at = 0; at < sizeof ad + sizeof sealed; at++) {
        uint8_t *byte = at < sizeof ad ? &ad[at] : &sealed[at - sizeof ad];
        uint8_t back[37];
        struct seal *out CLEAN(seal_free) = NULL, *in CLEAN(seal_free) = NULL;
        pair_of_seals(&out, &in, 0);
        OK(seal_frame(out, 5, ad, sizeof ad, plain, sizeof plain, sealed));
        *byte ^= (uint8_t)(1u << at % 8);
        assert_int_equal(seal_open(in, 5, ad, sizeof ad, sealed, sizeof plain, back), ERR_AUTH);
        assert_memory_equal(back, zero, sizeof back);
        *byte ^= (uint8_t)(1u << at % 8);
    }
}

TEST(a_sequence_number_serves_once)
{
    uint8_t b[16 + SEAL_TAG] = {0}, c[16 + SEAL_TAG];
    struct seal *out CLEAN(seal_free) = NULL, *in CLEAN(seal_free) = NULL;
    pair_of_seals(&out, &in, 0);
    OK(seal_frame(out, 3, NULL, 0, b, 16, c));
    assert_int_equal(seal_frame(out, 3, NULL, 0, b, 16, c), ERR_MISUSE);
    assert_int_equal(seal_frame(out, 2, NULL, 0, b, 16, c), ERR_MISUSE);
    assert_int_equal(seal_open(out, 4, NULL, 0, c, 16, b), ERR_MISUSE);
    assert_int_equal(seal_frame(in, 4, NULL, 0, b, 16, c), ERR_MISUSE);
    assert_int_equal(seal_open(in, 2, NULL, 0, c, 16, b), ERR_AUTH); /* another nonce */
    OK(seal_open(in, 3, NULL, 0, c, 16, b));
    assert_int_equal(seal_open(in, 3, NULL, 0, c, 16, b), ERR_MISUSE); /* a replay */
    /* the last number has no successor, and OpenSSL counts in ints */
    assert_int_equal(seal_frame(out, UINT64_MAX, NULL, 0, b, 16, c), ERR_MISUSE);
    assert_int_equal(seal_frame(out, 5, NULL, 0, b, (size_t)INT_MAX + 1, c), ERR_RANGE);
    assert_int_equal(seal_frame(out, 5, b, (size_t)INT_MAX + 1, b, 16, c), ERR_RANGE);
    assert_int_equal(seal_open(in, 5, NULL, 0, c, (size_t)INT_MAX + 1, b), ERR_RANGE);
    OK(seal_frame(out, 5, NULL, 0, b, 16, c)); /* and nothing is used up */
}

/* A frame under the key after this many replacements: each is made from the one before. */
static void seal_alone(uint64_t replaced, uint64_t sequence, const uint8_t plain[64],
                       uint8_t out[64 + SEAL_TAG])
{
    uint8_t key[SEAL_KEY];
    struct seal *seal CLEAN(seal_free) = NULL;
    memcpy(key, first_key, sizeof key);
    for (uint64_t i = 1; i <= replaced; i++) {
        struct bytes info CLEAN(bytes_clear) = {0};
        bytes_put_string(&info, "trefoil-rekey-1");
        bytes_put_u32(&info, 8);
        bytes_put_u64(&info, i);
        OK(hkdf_sha256(key, sizeof key, &info, key, sizeof key));
    }
    OK(seal_new(&seal, SEAL_SENDER, key, 0));
    OK(seal_frame(seal, sequence, NULL, 0, plain, 64, out));
}

/* 4 blocks of body and one for the tag: two frames fit into 10 blocks, the third needs a new key.
 */
TEST(keys_are_replaced_at_the_bound)
{
    uint8_t plain[64], sealed[64 + SEAL_TAG], expected[64 + SEAL_TAG];
    struct seal *out CLEAN(seal_free) = NULL, *in CLEAN(seal_free) = NULL;
    memset(plain, 7, sizeof plain);
    pair_of_seals(&out, &in, 10);
    for (uint64_t i = 0; i < 9; i++) {
        OK(seal_frame(out, i, NULL, 0, plain, 64, sealed));
        seal_alone(i / 2, i, plain, expected);
        assert_memory_equal(sealed, expected, sizeof sealed);
        /* in place */
        OK(seal_open(in, i, NULL, 0, sealed, 64, sealed));
        assert_memory_equal(sealed, plain, 64);
    }
    /* one frame longer than the bound is still sent, with its own key */
    {
        uint8_t *big = calloc(1, 1000 + SEAL_TAG);
        assert_non_null(big);
        OK(seal_frame(out, 9, NULL, 0, big, 1000, big));
        OK(seal_open(in, 9, NULL, 0, big, 1000, big));
        free(big);
    }
    OK(seal_frame(out, 10, NULL, 0, plain, 64, sealed));
    seal_alone(6, 10, plain, expected);
    assert_memory_equal(sealed, expected, sizeof sealed);
}

/* --- what seals ------------------------------------------------------------------------------ */

static struct gcm *gcm_by(const char *kernel, bool seals)
{
    setenv("TREFOIL_KERNEL", kernel, 1);
    struct gcm *g = MADE(gcm, gcm_new, seals, first_key);
    return g;
}

/*
 * Both give the same bytes at all lengths, open in place what the other sealed, and refuse all
 * else.
 */
TEST(both_libraries_seal_alike)
{
    static const char *const kernel[] = {"portable", "avx512"};
    uint8_t text[600], ad[40] = "associated", sealed[2][600 + GCM_TAG], nonce[GCM_NONCE] = {1, 2};
    struct gcm *out[2], *in[2];
    char kept[32];
    snprintf(kept, sizeof kept, "%s", getenv("TREFOIL_KERNEL") ? getenv("TREFOIL_KERNEL") : "");
    for (unsigned k = 0; k < 2; k++)
        out[k] = gcm_by(kernel[k], true), in[k] = gcm_by(kernel[k], false);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)(i * i + 3 * i);
    for (size_t n = 0; n < sizeof text; n += 1 + n / 50) {
        for (unsigned k = 0; k < 2; k++)
            OK(gcm_seal(out[k], nonce, ad, n % 40, text, n, sealed[k]));
        assert_memory_equal(sealed[0], sealed[1], n + GCM_TAG);
        for (unsigned k = 0; k < 2; k++) {
            uint8_t altered[600 + GCM_TAG];
            memcpy(altered, sealed[k], n + GCM_TAG);
            altered[n * 7 % (n + GCM_TAG)] ^= 1;
            assert_int_equal(gcm_open(in[k], nonce, ad, n % 40, altered, n, altered), ERR_AUTH);
            OK(gcm_open(in[k], nonce, ad, n % 40, sealed[!k], n, sealed[!k]));
            assert_memory_equal(sealed[!k], text, n);
            memcpy(sealed[!k], sealed[k], n + GCM_TAG);
        }
    }
    for (unsigned k = 0; k < 2; k++) {
        gcm_free(&out[k]);
        gcm_free(&in[k]);
    }
    setenv("TREFOIL_KERNEL", kept, 1);
}

/* --- where the libraries fail ----------------------------------------------------------------- */

/* In its own program: the error of the first call that fails; 0 if none does. */
static int replace_keys(void)
{
    static const uint8_t key[SEAL_KEY] = "a key of a test";
    uint8_t plain[64] = {0}, sealed[64 + SEAL_TAG];
    struct seal *out CLEAN(seal_free) = NULL;
    enum err e = seal_new(&out, SEAL_SENDER, key, 10);
    for (uint64_t i = 0; e == ERR_OK && i < 9; i++)
        e = seal_frame(out, i, NULL, 0, plain, 64, sealed);
    return (int)e;
}

static int run_again(const char *program, const char *fault)
{
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        setenv("FAULT", fault, 1);
        setenv("TREFOIL_KERNEL", "portable", 1); /* libcrypto has more calls that fail */
        execl(program, program, "replace keys", (char *)NULL);
        _exit(126);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Each call of OpenSSL in turn, those for a new key among them. */
TEST(a_key_that_cannot_be_replaced_is_an_error)
{
    const char *out = getenv("TREFOIL_OUT");
    char program[512], fault[32];
    unsigned failed = 0;
    int code = -1;
#if defined(__SANITIZE_THREAD__)
    printf("# SKIP a sanitizer has allocation for itself\n");
    skip();
#endif
    snprintf(program, sizeof program, "%s/tests/test_netio_seal", out != NULL ? out : "build/gcc");
    support_preload();
    for (unsigned n = 1; code != 0; n++) {
        snprintf(fault, sizeof fault, "library:%u", n);
        code = run_again(program, fault);
        assert_true(code == 0 || code == ERR_CRYPTO || code == ERR_NOMEM);
        failed += code != 0;
    }
    support_unload();
    assert_true(failed > 40); /* nine frames have four calls each, four new keys have more */
}

static struct frame_header some_header(void)
{
    struct frame_header h = {.kind = FRAME_DATA,
                             .sender = 1,
                             .receiver = 2,
                             .lane = 3,
                             .sequence = 0x0102030405060708,
                             .exchange = 0x1112131415161718,
                             .total = 0x2122232425262728,
                             .length = 5};
    memset(h.session, 0xab, sizeof h.session);
    return h;
}

TEST(headers_round_trip)
{
    struct frame_header h = some_header(), back;
    uint8_t message[FRAME_HEADER + 5 + SEAL_TAG] = {0};
    frame_encode(&h, message);
    OK(frame_parse(&back, message, sizeof message));
    assert_int_equal(back.kind, h.kind);
    assert_memory_equal(back.session, h.session, sizeof h.session);
    assert_int_equal(back.sender, 1);
    assert_int_equal(back.receiver, 2);
    assert_int_equal(back.lane, 3);
    assert_true(back.sequence == h.sequence && back.exchange == h.exchange &&
                back.total == h.total);
    assert_int_equal(back.length, 5);
    assert_false(frame_is_foreign(message, sizeof message, h.session));
    message[20] ^= 1;
    assert_true(frame_is_foreign(message, sizeof message, h.session));
    assert_false(frame_is_foreign(message, 39, h.session));
}

TEST(malformed_headers_are_refused)
{
    /* magic, version, kind, length, zero: the fields whose value the parser itself checks */
    static const size_t fixed[] = {0, 1, 2, 3, 4, 5, 6, 7, 72, 73, 74, 75, 76, 77, 78, 79};
    struct frame_header h = some_header(), back;
    uint8_t message[FRAME_HEADER + 6 + SEAL_TAG] = {0};
    const size_t n = FRAME_HEADER + 5 + SEAL_TAG;
    frame_encode(&h, message);
    for (size_t size = 0; size <= sizeof message; size++)
        assert_int_equal(frame_parse(&back, message, size), size == n ? ERR_OK : ERR_FORMAT);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        message[fixed[i]] ^= 0x80;
        assert_int_equal(frame_parse(&back, message, n), ERR_FORMAT);
        message[fixed[i]] ^= 0x80;
    }
}

/* --- session keys ----------------------------------------------------------------------------- */

TEST(bulk_keys_agree_and_differ)
{
    struct session *s[3];
    uint8_t seen[12][16];
    size_t count = 0;
    for (unsigned i = 0; i < 3; i++)
        OK(session_for_test(&s[i], i, 1));
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned p = 0; p < 2; p++) {
            unsigned j = net_index_of(i, (enum net_peer)p);
            for (uint32_t lane = 0; lane < 2; lane++) {
                uint8_t there[16];
                OK(session_bulk_key(s[i], (enum net_peer)p, true, lane, seen[count++]));
                OK(session_bulk_key(s[j], p == NET_PREV ? NET_NEXT : NET_PREV, false, lane, there));
                assert_memory_equal(seen[count - 1], there, 16);
            }
        }
    }
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++)
            assert_memory_not_equal(seen[a], seen[b], 16);
    for (unsigned i = 0; i < 3; i++)
        session_free(&s[i]);
}

TEST(prg_keys_belong_to_pairs)
{
    struct session *s[3];
    uint8_t a[16], b[16];
    for (unsigned i = 0; i < 3; i++)
        OK(session_for_test(&s[i], i, 1));
    for (unsigned key = 0; key < 3; key++) {
        unsigned before = net_index_of(key, NET_PREV), after = net_index_of(key, NET_NEXT);
        OK(session_prg_key(s[key], key, 0, "mask", a));
        OK(session_prg_key(s[before], key, 0, "mask", b));
        assert_memory_equal(a, b, 16);
        assert_int_equal(session_prg_key(s[after], key, 0, "mask", b), ERR_MISUSE);
    }
    assert_int_equal(session_prg_key(s[0], 3, 0, "mask", b), ERR_MISUSE);
    for (unsigned i = 0; i < 3; i++)
        session_free(&s[i]);
}

/* Changes one thing at a time; each change must give another key. */
TEST(every_field_matters)
{
    struct session *s, *other;
    uint8_t base[16], bulk[16], key[16];
    OK(session_for_test(&s, 0, 1));
    OK(session_prg_key(s, 0, 0, "mask", base));
    OK(session_bulk_key(s, NET_PREV, true, 0, bulk));
    assert_memory_not_equal(base, bulk, 16);
    OK(session_prg_key(s, 0, 1, "mask", key));
    assert_memory_not_equal(base, key, 16);
    OK(session_prg_key(s, 1, 0, "mask", key));
    assert_memory_not_equal(base, key, 16);
    OK(session_prg_key(s, 0, 0, "mas", key));
    assert_memory_not_equal(base, key, 16);
    for (int field = 0; field < 3; field++) {
        uint8_t *at = field == 0 ? s->id : field == 1 ? s->terms : s->pair_secret[NET_PREV];
        size_t n = field == 2 ? SESSION_SECRET_SIZE : 32;
        for (size_t i = 0; i < n; i++) {
            at[i] ^= 1;
            OK(session_prg_key(s, 0, 0, "mask", key));
            assert_memory_not_equal(base, key, 16);
            OK(session_bulk_key(s, NET_PREV, true, 0, key));
            assert_memory_not_equal(bulk, key, 16);
            at[i] ^= 1;
        }
    }
    OK(session_for_test(&other, 0, 2));
    OK(session_prg_key(other, 0, 0, "mask", key));
    assert_memory_not_equal(base, key, 16);
    OK(session_prg_key(s, 0, 0, "mask", key));
    assert_memory_equal(base, key, 16); /* and everything is as before */
    session_free(&other);
    session_free(&s);
    assert_int_equal(session_for_test(&s, 3, 1), ERR_RANGE);
}

int main(int argc, char **argv)
{
    return argc > 1 ? replace_keys() : support_run_tests(NULL, NULL);
}
