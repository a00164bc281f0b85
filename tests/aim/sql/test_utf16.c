/* aim/sql/utf16: every character there and back, and what is no character. */
#include "harness/cmocka.h"

#include "aim/sql/utf16.h"

TEST(every_character_comes_back)
{
    static const char texts[] = "a\xc3\xa4\xdf\xbf\xe0\xa0\x80\xe2\x82\xac\xef\xbf\xbf"
                                "\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf";
    struct bytes wide CLEAN(bytes_clear) = {0}, back CLEAN(bytes_clear) = {0};
    utf16_put(&wide, texts);
    assert_int_equal(bytes_ok(&wide), ERR_OK);
    assert_int_equal(wide.size, 2 * (6 + 3 * 2 + 1));
    utf16_text(&back, wide.data, wide.size / 2 - 1);
    assert_int_equal(bytes_ok(&back), ERR_OK);
    SAME_BYTES(&back, texts, sizeof texts - 1);
}

TEST(half_a_pair_is_no_character)
{
    static const uint8_t halves[] = {'x', 0, 0x3d, 0xd8, 'y', 0, 0x00, 0xde, 0x3d, 0xd8};
    struct bytes back CLEAN(bytes_clear) = {0};
    utf16_text(&back, halves, sizeof halves / 2);
    bytes_put_u8(&back, 0);
    assert_int_equal(bytes_ok(&back), ERR_OK);
    assert_string_equal(back.data, "x\xef\xbf\xbdy\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(what_is_no_utf8_is_marked)
{
    struct bytes wide CLEAN(bytes_clear) = {0}, back CLEAN(bytes_clear) = {0};
    utf16_put(&wide, "x\xffy");
    utf16_text(&back, wide.data, wide.size / 2 - 1);
    bytes_put_u8(&back, 0);
    assert_int_equal(bytes_ok(&wide), ERR_OK);
    assert_int_equal(bytes_ok(&back), ERR_OK);
    assert_string_equal(back.data, "x\xef\xbf\xbdy");
}
