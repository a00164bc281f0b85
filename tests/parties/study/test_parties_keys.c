/* parties/keys: identities as text and as files, and everything that may be wrong with either. */
#include "harness/cmocka.h"

#include "parties/study/identity.h"

#include <sodium.h>
#include <sys/stat.h>

struct keys_fixture {
    char folder[64], path[96];
    char sink[2048];
    struct log log;
    struct identity *id;
};

static int setup(void **state)
{
    struct keys_fixture *f = calloc(1, sizeof *f);
    if (f == NULL || secret_start() != ERR_OK)
        return 1;
    strcpy(f->folder, "/tmp/trefoil-keys-XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return 1;
    snprintf(f->path, sizeof f->path, "%s/key", f->folder);
    f->log = (struct log){.buffer = f->sink, .buffer_size = sizeof f->sink, .level = LOG_INFO};
    *state = f;
    return identity_new(&f->id, &f->log) == ERR_OK ? 0 : 1;
}

static int teardown(void **state)
{
    struct keys_fixture *f = *state;
    identity_free(&f->id);
    unlink(f->path);
    rmdir(f->folder);
    free(f);
    return 0;
}

TEST(text_round_trip)
{
    struct keys_fixture *f = *state;
    struct public_identity back;
    char text[IDENTITY_TEXT_SIZE], again[IDENTITY_TEXT_SIZE];
    public_identity_text(&f->id->public, text);
    assert_int_equal(strlen(text), 180);
    assert_memory_equal(text, "trefoil1-", 9);
    OK(public_identity_parse(&back, text));
    assert_true(public_identity_equal(&back, &f->id->public));
    public_identity_text(&back, again);
    assert_string_equal(text, again);
}

/* A change of any of the 180 characters to another of the alphabet must be noticed. */
TEST(every_altered_character_is_noticed)
{
    struct keys_fixture *f = *state;
    struct public_identity back;
    char text[IDENTITY_TEXT_SIZE];
    public_identity_text(&f->id->public, text);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(public_identity_parse(&back, text), ERR_OK);
        text[i] = '=';
        assert_int_equal(public_identity_parse(&back, text), ERR_FORMAT);
        text[i] = was;
    }
    OK(public_identity_parse(&back, text));
}

TEST(what_is_not_a_key_is_refused)
{
    static const char *const wrong[] = {"", "trefoil1-", "trefoil1-AAAA", "ssh-ed25519 AAAA"};
    struct keys_fixture *f = *state;
    struct public_identity back;
    char text[IDENTITY_TEXT_SIZE + 8];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(public_identity_parse(&back, wrong[i]), ERR_FORMAT);
    public_identity_text(&f->id->public, text);
    strcat(text, "A");
    assert_int_equal(public_identity_parse(&back, text), ERR_FORMAT);
    text[179] = '\0';
    assert_int_equal(public_identity_parse(&back, text), ERR_FORMAT);
    assert_string_not_equal(identity_parse_hint(ERR_AUTH), identity_parse_hint(ERR_FORMAT));
}

/*
 * The text of a key that expires, on no day: its signature covers what is also signed in the key
 * that never expires.
 */
TEST(a_key_has_one_text)
{
    struct keys_fixture *f = *state;
    struct public_identity back;
    uint8_t raw[132] = {0};
    char text[IDENTITY_TEXT_SIZE] = "trefoil2-";
    memcpy(raw, f->id->public.sign, 32);
    memcpy(raw + 32, f->id->public.curve, 32);
    memcpy(raw + 64, f->id->public.signature, 64);
    sodium_bin2base64(text + 9, sizeof text - 9, raw, sizeof raw,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    assert_int_equal(public_identity_parse(&back, text), ERR_FORMAT);
}

TEST(one_identity_cannot_vouch_for_anothers_curve_key)
{
    struct keys_fixture *f = *state;
    struct public_identity mixed, back;
    char text[IDENTITY_TEXT_SIZE];
    struct identity *other = MADE(identity, identity_new, NULL);
    assert_false(public_identity_equal(&other->public, &f->id->public));
    mixed = f->id->public;
    memcpy(mixed.curve, other->public.curve, sizeof mixed.curve);
    public_identity_text(&mixed, text);
    assert_int_equal(public_identity_parse(&back, text), ERR_AUTH);
    memcpy(mixed.signature, other->public.signature, sizeof mixed.signature);
    public_identity_text(&mixed, text);
    assert_int_equal(public_identity_parse(&back, text), ERR_AUTH);
    identity_free(&other);
    assert_null(other);
}

/* The signature is over exactly "trefoil-curve-1" || curve, and the curve key is X25519. */
TEST(the_statement_is_as_documented)
{
    struct keys_fixture *f = *state;
    uint8_t message[15 + 32], curve[32];
    memcpy(message, "trefoil-curve-1", 15);
    memcpy(message + 15, f->id->public.curve, 32);
    assert_int_equal(crypto_sign_verify_detached(f->id->public.signature, message, sizeof message,
                                                 f->id->public.sign),
                     0);
    assert_int_equal(crypto_scalarmult_base(curve, f->id->curve_secret), 0);
    assert_memory_equal(curve, f->id->public.curve, 32);
}

/*
 * A renewed key: the same identity and fingerprint, other links; every character of its text
 * matters.
 */
TEST(a_key_may_be_renewed_and_expire)
{
    struct keys_fixture *f = *state;
    struct identity *renewed CLEAN(identity_free) = NULL, *back CLEAN(identity_free) = NULL;
    struct public_identity parsed;
    char text[IDENTITY_TEXT_SIZE];
    OK(identity_renew(&renewed, f->id, 20800, &f->log));
    assert_memory_equal(renewed->public.sign, f->id->public.sign, 32);
    assert_memory_equal(renewed->sign_secret, f->id->sign_secret, 64);
    assert_memory_not_equal(renewed->public.curve, f->id->public.curve, 32);
    assert_false(public_identity_equal(&renewed->public, &f->id->public));
    const struct words_text b = public_identity_fingerprint(&f->id->public);
    assert_string_equal(public_identity_fingerprint(&renewed->public).text, b.text);
    public_identity_text(&renewed->public, text);
    assert_memory_equal(text, "trefoil2-", 9);
    assert_int_equal(strlen(text), IDENTITY_TEXT_SIZE - 1);
    OK(public_identity_parse(&parsed, text));
    assert_true(public_identity_equal(&parsed, &renewed->public));
    for (size_t i = 0; text[i] != '\0'; i++) {
        char was = text[i];
        text[i] = was == 'A' ? 'B' : 'A';
        assert_int_not_equal(public_identity_parse(&parsed, text), ERR_OK);
        text[i] = was;
    }
    /* the end cannot be put off without the signing key, nor be left out */
    parsed = renewed->public;
    parsed.last_day++;
    public_identity_text(&parsed, text);
    assert_int_equal(public_identity_parse(&parsed, text), ERR_AUTH);
    parsed = renewed->public;
    parsed.last_day = 0;
    public_identity_text(&parsed, text);
    assert_int_equal(public_identity_parse(&parsed, text), ERR_AUTH);
    assert_false(public_identity_expired(&renewed->public, 20800));
    assert_true(public_identity_expired(&renewed->public, 20801));
    assert_false(public_identity_expired(&f->id->public, UINT32_MAX));
    OK(identity_save(renewed, f->path, false, &f->log));
    OK(identity_load(&back, f->path, &f->log));
    assert_memory_equal(back, renewed, sizeof *back);
}

TEST(signatures_keep_to_their_label)
{
    struct keys_fixture *f = *state;
    const struct public_identity *who = &f->id->public;
    uint8_t signature[64];
    OK(identity_sign(f->id, "receipt", "abc", 3, signature));
    OK(public_identity_verify(who, "receipt", "abc", 3, signature));
    assert_int_equal(public_identity_verify(who, "receipt", "abd", 3, signature), ERR_AUTH);
    assert_int_equal(public_identity_verify(who, "receip", "tabc", 4, signature), ERR_AUTH);
    assert_int_equal(public_identity_verify(who, "receipt", "ab", 2, signature), ERR_AUTH);
    signature[5] ^= 1;
    assert_int_equal(public_identity_verify(who, "receipt", "abc", 3, signature), ERR_AUTH);
}

TEST(file_round_trip)
{
    struct keys_fixture *f = *state;
    struct stat st;
    OK(identity_save(f->id, f->path, false, &f->log));
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    struct identity *back CLEAN(identity_free) = MADE(identity, identity_load, f->path, &f->log);
    assert_memory_equal(back, f->id, sizeof *back);
}

TEST(a_key_is_never_replaced_by_accident)
{
    struct keys_fixture *f = *state;
    struct identity *other CLEAN(identity_free) = NULL, *back CLEAN(identity_free) = NULL;
    OK(identity_new(&other, NULL));
    OK(identity_save(f->id, f->path, false, &f->log));
    GIVES(identity_save(other, f->path, false, &f->log), ERR_SYSTEM, f->sink, "left alone");
    OK(identity_load(&back, f->path, &f->log));
    assert_true(public_identity_equal(&back->public, &f->id->public));
    identity_free(&back);
    OK(identity_save(other, f->path, true, &f->log));
    OK(identity_load(&back, f->path, &f->log));
    assert_true(public_identity_equal(&back->public, &other->public));
}

TEST(a_file_that_others_may_read_is_refused)
{
    static const mode_t open_modes[] = {0640, 0604, 0620, 0602, 0610, 0601, 0644, 0666};
    struct keys_fixture *f = *state;
    struct identity *back CLEAN(identity_free) = NULL;
    OK(identity_save(f->id, f->path, false, &f->log));
    for (size_t i = 0; i < sizeof open_modes / sizeof open_modes[0]; i++) {
        f->sink[0] = '\0';
        assert_int_equal(chmod(f->path, open_modes[i]), 0);
        assert_int_equal(identity_load(&back, f->path, &f->log), ERR_STUDY);
        assert_null(back);
        support_says(f->sink, "chmod 600");
    }
    assert_int_equal(chmod(f->path, 0400), 0);
    OK(identity_load(&back, f->path, &f->log));
}

TEST(a_file_of_another_user_may_be_for_our_group)
{
    static const struct {
        mode_t mode;
        uid_t user; /* more than ours */
        gid_t group;
        bool ours;
    } files[] = {{0440, 1, 0, true},  {0640, 1, 0, true},  {0400, 1, 0, true},
                 {0440, 0, 0, false}, {0440, 1, 1, false}, {0460, 1, 0, false},
                 {0444, 1, 0, false}, {0450, 1, 0, false}, {0600, 1, 1, true}};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        const struct stat st = {.st_mode = S_IFREG | files[k].mode,
                                .st_uid = geteuid() + files[k].user,
                                .st_gid = getegid() + 12345 * files[k].group};
        assert_int_equal(identity_file_is_private(&st), files[k].ours);
    }
}

static void expect_damaged(struct keys_fixture *f, const void *p, size_t n)
{
    struct identity *back;
    OK(file_write(f->path, 0600, p, n, NULL));
    f->sink[0] = '\0';
    assert_int_equal(identity_load(&back, f->path, &f->log), ERR_STUDY);
    assert_null(back);
    support_says(f->sink, "not an intact private key");
}

TEST(a_damaged_file_is_refused)
{
    struct keys_fixture *f = *state;
    struct bytes file CLEAN(bytes_clear) = {0};
    OK(identity_save(f->id, f->path, false, &f->log));
    OK(file_read(f->path, 4096, &file, NULL));
    bytes_put_u8(&file, 0);
    const char *at = strstr((const char *)file.data, "\nsecret ");
    assert_non_null(at);
    /* every character of the two lines that matter */
    for (size_t i = (size_t)(at - (const char *)file.data) + 1; i < file.size - 2; i++) {
        uint8_t was = file.data[i];
        file.data[i] = was == 'A' ? 'B' : 'A';
        expect_damaged(f, file.data, file.size - 1);
        file.data[i] = was;
    }
    for (size_t n = 0; n < file.size - 2; n += 16)
        expect_damaged(f, file.data, n);
}

/* Secrets that are not 64 bytes of base64, under an intact public half. */
TEST(a_secret_of_another_size_is_refused)
{
    static const char *const wrong[] = {"", "!", "AAAA", "AAAA!", "A"};
    struct keys_fixture *f = *state;
    char public[IDENTITY_TEXT_SIZE], text[1024], secret[128];
    uint8_t seeds[64];
    public_identity_text(&f->id->public, public);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "secret %s\npublic %s\n", wrong[i], public);
        expect_damaged(f, text, strlen(text));
    }
    crypto_sign_ed25519_sk_to_seed(seeds, f->id->sign_secret);
    memcpy(seeds + 32, f->id->curve_secret, 32);
    sodium_bin2base64(secret, sizeof secret, seeds, sizeof seeds,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    for (size_t i = 0; i < 2; i++) { /* the correct one, and something after it */
        snprintf(text, sizeof text, "secret %s%s\npublic %s\n", secret, i == 0 ? "!" : "AAAA",
                 public);
        expect_damaged(f, text, strlen(text));
    }
}

TEST(line_ends_and_order_do_not_matter)
{
    struct keys_fixture *f = *state;
    struct identity *back CLEAN(identity_free) = NULL;
    struct bytes file CLEAN(bytes_clear) = {0};
    char text[1024], secret[128] = "", public[256] = "";
    OK(identity_save(f->id, f->path, false, &f->log));
    OK(file_read(f->path, 4096, &file, NULL));
    bytes_put_u8(&file, 0);
    const char *at = strstr((const char *)file.data, "\nsecret ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\nsecret %127s\npublic %255s", secret, public), 2);
    snprintf(text, sizeof text, "public %s\r\nsecret %s\r\n", public, secret);
    OK(file_write(f->path, 0600, text, strlen(text), NULL));
    OK(identity_load(&back, f->path, &f->log));
    assert_memory_equal(back, f->id, sizeof *back);
}

TEST(what_is_no_file_is_named)
{
    struct keys_fixture *f = *state;
    struct identity *back;
    GIVES(identity_load(&back, f->path, &f->log), ERR_SYSTEM, f->sink, f->path);
    assert_int_equal(identity_load(&back, f->folder, &f->log), ERR_STUDY);
    /* an existing file that cannot be read */
    f->sink[0] = '\0';
    assert_int_equal(identity_load(&back, "/proc/self/mem", &f->log), ERR_SYSTEM);
    support_says(f->sink, "cannot read /proc/self/mem");
    assert_null(back);
    assert_int_equal(identity_save(f->id, "/nonexistent/folder/key", false, &f->log), ERR_SYSTEM);
}

TEST(fingerprints_are_short_and_stable)
{
    struct keys_fixture *f = *state;
    uint8_t digest[32];
    const struct words_text a = public_identity_fingerprint(&f->id->public);
    assert_int_equal(strlen(a.text), 23);
    assert_int_equal(strspn(a.text, "0123456789abcdefghjkmnpqrstvwxyz-"), 23);
    struct identity *other CLEAN(identity_free) = MADE(identity, identity_new, NULL);
    assert_string_not_equal(a.text, public_identity_fingerprint(&other->public).text);
    memset(digest, 0xff, sizeof digest);
    assert_string_equal(identity_groups(digest, 6).text, "zzzzz-zzzzz-zzzzz-zzzzz-zzzzz-zzzzz");
    memset(digest, 0, sizeof digest);
    digest[0] = 0x08; /* 00001 000 ... */
    assert_string_equal(identity_groups(digest, 1).text, "10000");
}

MAIN(support_run_each(setup, teardown))
