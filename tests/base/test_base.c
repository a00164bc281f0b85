/* base/: readers and writers at every bound, errors, logs, files, memory. */
#include "harness/cmocka.h"
#include "harness/patience.h"

#include "base/clock.h"
#include "base/cores.h"
#include "base/date.h"
#include "base/line.h"
#include "base/rate.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST(every_error_has_words)
{
    for (int e = 0; e < ERR_COUNT; e++) {
        assert_string_not_equal(error_text((enum err)e), "unknown error");
        for (int other = 0; other < e; other++)
            assert_string_not_equal(error_text((enum err)e), error_text((enum err)other));
    }
    assert_string_equal(error_text(ERR_COUNT), "unknown error");
}

TEST(base64_is_read_to_the_letter)
{
    static const char *const bad[] = {
        "",          "key-",     "key-AP",   "key-AP_",   "kez-AP_-",  "AP_-",      "key-AP_-AA",
        "key-AP_- ", "key-AP_=", "key-AP+-", "key-AP_-=", " key-AP_-", "key-AP_\n-"};
    const uint8_t from[3] = {0x00, 0xff, 0xfe};
    uint8_t to[3];
    char text[9];
    text_put_base64(text, "key-", from, sizeof from);
    assert_string_equal(text, "key-AP_-");
    assert_true(text_base64(text, "key-", to, sizeof to));
    assert_memory_equal(to, from, sizeof from);
    assert_true(text_base64("AP_-", "", to, sizeof to));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(text_base64(bad[i], "key-", to, sizeof to));
}

TEST(bytes_round_trip)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    char text[8];
    bytes_put_u8(&b, 0xfe);
    bytes_put_u16(&b, 0xfedc);
    bytes_put_u32(&b, 0xfedcba98);
    bytes_put_u64(&b, 0xfedcba9876543210);
    bytes_put_double(&b, -0.1);
    bytes_put_string(&b, "trefoil");
    OK(bytes_ok(&b));
    assert_int_equal(b.size, 1 + 2 + 4 + 8 + 8 + 4 + 7);
    assert_int_equal(b.data[1], 0xdc); /* little-endian */
    struct reader r = reader_of(b.data, b.size);
    assert_int_equal(reader_u8(&r), 0xfe);
    assert_int_equal(reader_u16(&r), 0xfedc);
    assert_int_equal(reader_u32(&r), 0xfedcba98);
    assert_true(reader_u64(&r) == 0xfedcba9876543210);
    assert_true(reader_double(&r) == -0.1);
    reader_string(&r, text, sizeof text);
    assert_string_equal(text, "trefoil");
    OK(reader_done(&r));
}

TEST(small_numbers_take_few_bytes)
{
    for (unsigned bits = 0; bits <= 64; bits++) {
        const uint64_t v = bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
        struct bytes b CLEAN(bytes_clear) = {0};
        bytes_put_small(&b, v);
        assert_int_equal(b.size, bits == 0 ? 1 : (bits + 6) / 7);
        struct reader r = reader_of(b.data, b.size);
        assert_true(reader_small(&r) == v);
        OK(reader_done(&r));
        r = reader_of(b.data, b.size - 1);
        (void)reader_small(&r);
        assert_true(r.failed);
    }
    {
        static const uint8_t longer[] = {0x85, 0}, empty[] = {0x80, 0x80, 0},
                             large[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 2},
                             endless[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 1};
        static const struct {
            const uint8_t *p;
            size_t n;
        } bad[] = {{longer, sizeof longer},
                   {empty, sizeof empty},
                   {large, sizeof large},
                   {endless, sizeof endless}};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            struct reader r = reader_of(bad[k].p, bad[k].n);
            (void)reader_small(&r);
            assert_true(r.failed);
        }
    }
}

TEST(reader_never_passes_the_end)
{
    static const uint8_t block[] = {5, 0, 0, 0, 'a', 'b', 'c', 'd'};
    for (size_t n = 0; n <= sizeof block; n++) {
        struct reader r = reader_of(block, n);
        size_t size;
        assert_null(reader_block(&r, &size));
        assert_int_equal(reader_done(&r), ERR_FORMAT);
        assert_int_equal(reader_u64(&r), 0); /* stays failed */
    }
    {
        static const uint8_t with_nul[] = {2, 0, 0, 0, 'a', 0};
        struct reader r = reader_of(with_nul, sizeof with_nul);
        char text[8];
        reader_string(&r, text, sizeof text);
        assert_int_equal(reader_done(&r), ERR_FORMAT);
    }
    {
        static const uint8_t left_over[] = {1, 2};
        struct reader r = reader_of(left_over, sizeof left_over);
        reader_u8(&r);
        assert_int_equal(reader_done(&r), ERR_FORMAT);
    }
}

TEST(a_log_keeps_its_level_and_its_bound)
{
    char sink[32] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_WARN};
    log_info(&log, "dropped");
    assert_string_equal(sink, "");
    log_warn(&log, "%d", 7);
    assert_string_equal(sink, "warning: 7\n");
    log_error(&log, "a line far longer than the sink that holds it");
    assert_int_equal(strlen(sink), sizeof sink - 1);
    log_error(NULL, "nothing happens");
    sink[0] = '\0';
    assert_string_equal(log_first(sink), "");
    log_warn(&log, "one");
    log_error(&log, "two");
    assert_string_equal(log_first(sink), "one");
}

TEST(sizes_do_not_overflow)
{
    uint64_t *p = NULL;
    assert_null(memory_array(SIZE_MAX / 2, 3));
    assert_null(memory_words(SIZE_MAX / 2, 3));
    assert_int_equal(memory_extend(&p, SIZE_MAX / 3), ERR_NOMEM);
    assert_null(p);
}

TEST(what_grows_keeps_what_it_has)
{
    uint32_t *p CLEAN(memory_release) = NULL, *before;
    size_t room = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        OK(memory_room(&p, &room, i + (size_t)1));
        assert_true(room > i);
        p[i] = i;
    }
    before = p;
    OK(memory_room(&p, &room, room));
    assert_ptr_equal(p, before);
    assert_int_equal(memory_extend(&p, SIZE_MAX / 2), ERR_NOMEM);
    OK(memory_extend(&p, 2000));
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(p[i], i);
}

TEST(secrets_are_zeroed_and_freed)
{
    OK(secret_start());
    uint8_t *p = secret_new(33);
    assert_non_null(p);
    for (int i = 0; i < 33; i++)
        assert_int_equal(p[i], 0);
    secret_free(&p);
    assert_null(p);
}

TEST(files_are_whole_or_untouched)
{
    char folder[] = "/tmp/trefoil-test-XXXXXX";
    char path[64];
    struct bytes b CLEAN(bytes_clear) = {0};
    struct stat s;
    char sink[256] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_ERROR};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    OK(file_write(path, 0600, "first", 5, NULL));
    OK(file_write(path, 0600, "second", 6, NULL));
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    OK(file_read(path, 100, &b, NULL));
    SAME_BYTES(&b, "second", 6);
    GIVES(file_read(path, 5, &b, &log), ERR_RANGE, sink, path);
    sink[0] = '\0';
    assert_int_equal(file_write_new(path, 0600, "third", 5, &log), ERR_REFUSED);
    assert_string_equal(sink, "");
    OK(file_read(path, 100, &b, NULL));
    assert_memory_equal(b.data, "second", 6);
    unlink(path);
    OK(file_write_new(path, 0600, "third", 5, &log));
    OK(file_read(path, 100, &b, NULL));
    assert_memory_equal(b.data, "third", 5);
    unlink(path);
    /* a folder that cannot be opened to sync it */
    assert_int_equal(chmod(folder, 0333), 0);
    const bool root = geteuid() == 0;
    assert_true(!root || seteuid(65534) == 0);
    assert_int_equal(file_write_new(path, 0600, "fourth", 6, &log), ERR_SYSTEM);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(file_read(path, 5, &b, &log), ERR_SYSTEM);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    assert_int_equal(file_write(path, 0600, "x", 1, &log), ERR_SYSTEM);
    assert_int_equal(file_write_new(path, 0600, "x", 1, &log), ERR_SYSTEM);
}

/* /dev/stdout is a link to a pipe or a device, of which there is only one. */
TEST(what_is_no_file_is_written_to_and_not_replaced)
{
    char folder[] = "/tmp/trefoil-test-XXXXXX", link_to[64], path[64], sink[256] = "", got[8] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_ERROR};
    struct stat st;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    snprintf(link_to, sizeof link_to, "%s/link", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(symlink("pipe", link_to), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    OK(file_write(link_to, 0600, "first", 5, &log));
    assert_int_equal(read(fd, got, 5), 5);
    assert_string_equal(got, "first");
    assert_int_equal(file_write_new(link_to, 0600, "x", 1, &log), ERR_REFUSED);
    close(fd);
    unlink(path);
    OK(file_write(path, 0600, "a", 1, &log));
    OK(file_write(link_to, 0640, "second", 6, &log)); /* to a file */
    assert_true(lstat(link_to, &st) == 0 && S_ISLNK(st.st_mode));
    assert_true(lstat(path, &st) == 0 && st.st_size == 6);
    assert_string_equal(sink, "");
    unlink(path);
    unlink(link_to);
    assert_int_equal(rmdir(folder), 0);
}

/* Shells make pipes for <(..); one that nobody writes to is not waited for. */
TEST(pipes_are_read_as_long_as_somebody_writes)
{
    char folder[] = "/tmp/trefoil-test-XXXXXX", path[64], sink[256] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_ERROR};
    struct bytes b CLEAN(bytes_clear) = {0};
    for (unsigned waits = 0; waits < 2; waits++) {
        int ends[2], ended;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            support_pause_ms(waits ? 100 : 0);
            _exit(write(ends[1], "some rows", 9) == 9 ? 0 : 1);
        }
        close(ends[1]);
        if (!waits)
            assert_int_equal(waitpid(child, &ended, 0), child);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        OK(file_read(path, 100, &b, &log));
        SAME_BYTES(&b, "some rows", 9);
        if (waits)
            assert_int_equal(waitpid(child, &ended, 0), child);
        close(ends[0]);
    }
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    OK(file_read(path, 100, &b, &log));
    assert_int_equal(b.size, 0);
    assert_string_equal(sink, "");
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

TEST(text_is_put_whole)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    text_put(&b, "a %s %0*d;", "word", 5000, 1); /* more than any buffer holds */
    text_put_hex(&b, "\x00\xfa", 2);
    OK(bytes_ok(&b));
    assert_int_equal(b.size, 7 + 5000 + 1 + 4);
    assert_memory_equal(b.data, "a word 000", 10);
    assert_memory_equal(b.data + b.size - 7, "01;00fa", 7);
}

TEST(lines_are_taken_whole_and_named)
{
    static const char text[] = "word one\r\n\na\0b\nlast";
    char said[200] = "";
    struct log log = {.buffer = said, .buffer_size = sizeof said, .level = LOG_ERROR};
    struct line_reader r CLEAN(line_clear) = {0};
    char *line;
    OK(line_text(&r, "file", text, sizeof text - 1, &log));
    assert_string_equal(line = line_next(&r), "word one");
    assert_string_equal(line_value(line, "word"), "one");
    assert_null(line_value(line, "wor"));
    assert_null(line_value(line, "word one"));
    assert_string_equal(line_next(&r), "");
    assert_int_equal(strlen(line_next(&r)), 3); /* not "a" */
    assert_false(r.cut);
    assert_int_equal(r.next, sizeof text - 1 - strlen("last"));
    assert_string_equal(line_next(&r), "last");
    assert_true(r.cut);
    assert_int_equal(line_fail(&r, ERR_DATA, "%s", "wrong"), ERR_DATA);
    assert_string_equal(said, "error: file:4: wrong\n");
    assert_null(line_next(&r));
    OK(line_text(&r, "none", NULL, 0, &log));
    assert_null(line_next(&r));
    assert_true(line_says_nothing("") && line_says_nothing("# a comment"));
    assert_false(line_says_nothing("word") || line_says_nothing("# a \x01"));
    assert_int_equal(r.number, 1);
}

TEST(paths_are_whole_or_refused)
{
    char path[FILE_PATH], sink[256] = "";
    struct log log = {.buffer = sink, .buffer_size = sizeof sink, .level = LOG_ERROR};
    OK(file_path(path, &log, "%s/%s", "folder", "file"));
    assert_string_equal(path, "folder/file");
    OK(file_path(path, &log, "%0*d", FILE_PATH - 1, 1));
    assert_string_equal(sink, "");
    assert_int_equal(file_path(path, &log, "/long%0*d", FILE_PATH - 5, 1), ERR_SYSTEM);
    support_says(sink, "this path is too long: /long000");
}

TEST(deadlines_do_not_go_negative)
{
    const int64_t hour = 3600000, now = clock_now_ms(), left = clock_left_ms(now + hour);
    assert_false(clock_left_ms(now - hour));
    assert_true(left <= hour && left >= now + hour - clock_now_ms());
}

TEST(dates_have_one_form)
{
    static const char *const wrong[] = {"",
                                        "2026-12-01",
                                        "2026-12-01T18:00:00",
                                        "2026-12-01T18:00:00z",
                                        "2026-12-01 18:00:00Z",
                                        "2026-13-01T18:00:00Z",
                                        "2026-02-29T18:00:00Z",
                                        "2026-12-01T24:00:00Z",
                                        "2026-12-01T18:00:60Z",
                                        "1969-12-31T23:59:59Z",
                                        "2026-12-01T+8:00:00Z",
                                        "2026-12-01T18:00:00ZZ"};
    struct words_text text;
    int64_t t;
    assert_true(date_parse("1970-01-01T00:00:00Z", &t));
    assert_int_equal(t, 0);
    assert_true(date_parse("2028-02-29T12:34:56Z", &t));
    assert_int_equal(t, 1835440496);
    for (t = 0; t < INT64_C(253402300800); t += INT64_C(123456789)) {
        int64_t back;
        text = date_text(t);
        assert_true(date_parse(text.text, &back));
        assert_int_equal(back, t);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(date_parse(wrong[i], &t));
    assert_string_equal(date_text(INT64_MAX).text, "9999-12-31T23:59:59Z");
}

TEST(days_have_one_form)
{
    static const char *const wrong[] = {"", "2026-2-01", "2026-02-29", "2026-12-01 ", "2026/12/01"};
    uint32_t day;
    assert_true(date_parse_day("2028-02-29", &day));
    assert_int_equal(day, 1835440496 / 86400);
    assert_string_equal(date_day_text(day).text, "2028-02-29");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(date_parse_day(wrong[i], &day));
    assert_true(date_today() >= 20777);
}

TEST(a_rate_is_kept_in_the_long_run)
{
    struct rate r = {0};
    unsigned taken = 0;
    /* asked every millisecond for 100 s: a burst of 10, then 2 a second */
    for (int64_t ms = 1; ms <= 100000; ms++)
        taken += rate_take(&r, 2, 10, ms);
    assert_in_range(taken, 208, 211);
    /* a pause fills it again, but not beyond */
    for (unsigned i = 0; i < 10; i++)
        assert_true(rate_take(&r, 2, 10, 1000000));
    assert_false(rate_take(&r, 2, 10, 1000000));
}

/* Text from others in a line neither steers a terminal nor looks like a line of ours. */
TEST(a_log_tames_what_it_is_told)
{
    char *text = NULL, sink[256] = "";
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct log log = {.file = file,
                      .level = LOG_INFO,
                      .prefix = "north: ",
                      .buffer = sink,
                      .buffer_size = sizeof sink};
    log_warn(&log, "server 2 runs %s", "\x1b[31m0.1\r\nnorth: error: all is lost\n  \xc2\x9b\xff");
    fclose(file);
    assert_string_equal(text, "north: warning: server 2 runs ?[31m0.1?\n"
                              "  north: error: all is lost\n"
                              "  ???\n");
    assert_null(strchr(sink, '\x1b'));
    free(text);
}

/* What others say cannot leave its place in an object either. */
TEST(a_log_of_json_is_one_object_a_line)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct log log = {.file = file, .level = LOG_INFO, .json = true, .dated = true};
    log_info(&log, "no study yet");
    log.study = "a \"b\"";
    log.server = 2;
    log_error(&log, "%s from %d", "north\\\",\"text\":\"forged\n\x1b", 7);
    fclose(file);
    const char *from = strchr(text, ',');
    assert_true(from != NULL && strncmp(text, "{\"time\":\"20", 11) == 0);
    EACH(support_says, from,
         ",\"level\":\"info\",\"kind\":\"no study yet\",\"text\":\"no study yet\"}\n",
         ",\"level\":\"error\",\"study\":\"a \\\"b\\\"\",\"server\":2,\"kind\":\"%s from %d\","
         "\"text\":\"north\\\\\\\",\\\"text\\\":\\\"forged\\n? from 7\"}\n");
    free(text);
}

/* So many lines of each kind, then a count; kinds do not get in each other's way. */
TEST(a_meter_bounds_a_log)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *file = open_memstream(&text, &size);
    struct log log = {.file = file, .level = LOG_INFO, .meter = log_meter_new(50)}, copy = log;
    assert_non_null(log.meter);
    for (unsigned i = 0; i < 5000; i++) {
        log_warn(i % 2 == 0 ? &log : &copy, "turned away %u", i);
        if (i % 50 == 0)
            log_info(&log, "stored %u", i);
    }
    log_tend(&log); /* not yet */
    log_error(&log, "one more");
    log_meter_free(&log);
    assert_null(log.meter);
    fclose(file);
    for (const char *p = text; *p != '\0'; p++)
        lines += *p == '\n';
    assert_in_range(lines, 20 + 50 + 3, 20 + 50 + 5);
    EACH(support_says, text, "turned away 19\n", "stored 2450\n", "error: one more\n",
         "the last: turned away 4999\n", "50 more like this in 0 s, the last: stored 4950\n");
    free(text);
}

TEST(a_share_of_processors_is_rounded_up)
{
    static const struct {
        const char *text;
        size_t cores;
    } files[] = {{"max 100000\n", 0},   {"100000 100000\n", 1}, {"150000 100000\n", 2},
                 {"50000 100000\n", 1}, {"800000 100000\n", 8}, {"", 0},
                 {"0 100000\n", 0}};
    char path[] = "/tmp/trefoil-cores-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, files[k].text, strlen(files[k].text), 0),
                         strlen(files[k].text));
        assert_int_equal(cores_of_group(path), files[k].cores);
    }
    close(fd);
    unlink(path);
    assert_int_equal(cores_of_group(path), 0);
    assert_true(cores_count() >= 1);
}
