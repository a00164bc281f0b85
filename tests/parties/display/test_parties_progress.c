/* parties/display/progress: what a run shows, line by line, on a terminal and off one. */
#include "harness/cmocka.h"

#include "base/words.h"
#include "parties/display/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>

struct screen {
    char *text;
    size_t size;
    struct workload workload;
    struct study study;
    struct progress progress;
};

static void screen_new(struct screen *s, unsigned rounds)
{
    memset(s, 0, sizeof *s);
    s->workload.one_ways = 4;
    s->study.workload = &s->workload;
    s->study.rounds = rounds;
    s->study.annealed = rounds == 0;
    s->progress = progress_start(open_memstream(&s->text, &s->size), &s->study, 0.5);
    assert_non_null(s->progress.out);
    assert_int_equal(s->progress.columns, 0);
}

static void screen_free(struct screen *s)
{
    fclose(s->progress.out);
    free(s->text);
}

static void play(struct screen *s, unsigned round, const char *name)
{
    struct aim_round r = {.round = round,
                          .query = round == 0 ? AIM_NO_QUERY : 5,
                          .name = name,
                          .total = 1000,
                          .before = 500,
                          .after = 40,
                          .noise = 80,
                          .spent = 0.125 * (round + 1)};
    progress_round(&s->progress, &r);
}

static void expect(const struct screen *s, const char *text)
{
    if (strstr(s->text, text) == NULL)
        fail_msg("\"%s\" is not in:\n%s", text, s->text);
}

static void every_line_fits_80_columns(const char *text)
{
    size_t columns = 0;
    for (; *text != '\0'; text++) {
        columns = *text == '\n' ? 0 : columns + (((unsigned char)*text & 0xC0) != 0x80);
        assert_true(columns <= 80);
    }
}

TEST(a_line_a_round_where_there_is_no_terminal)
{
    struct screen s CLEAN(screen_free);
    screen_new(&s, 3);
    progress_wait(&s.progress, "nobody sees this");
    play(&s, 0, "all one-ways");
    play(&s, 1, "age x sex");
    play(&s, 3, "a name that is longer than its column has room for");
    /* errors are shares of the rows; that of round 0 is a mean over the four one-ways */
    expect(&s, "\n0/3     all one-ways                     -  0.010  0.020       75.0 %\n");
    expect(&s,
           "\n1/3     age x sex                    0.500  0.040  0.080       50.0 %      0.0 s\n");
    expect(&s, "\n3/3     a name that is longer tha..  0.500  0.040  0.080        0.0 %\n");
    assert_null(strchr(s.text, '\033'));
    assert_null(strchr(s.text, '\r'));
    assert_null(strstr(s.text, "nobody sees this"));
    assert_null(strstr(s.text, " \n"));
    every_line_fits_80_columns(s.text);
}

TEST(names_are_cut_between_characters)
{
    struct screen s CLEAN(screen_free);
    screen_new(&s, 0);
    play(&s, 1, "größe x länge");
    play(&s, 2, "ääääääääääääääääääääääääääääääääää");
    expect(&s, "\n1       größe x länge                0.500");
    expect(&s, "\n2       äääääääääääääääääääääääää..  0.500");
    every_line_fits_80_columns(s.text);
}

/* The line that is drawn over disappears before anything that stays, including a log message. */
TEST(on_a_terminal_one_line_is_drawn_over)
{
    struct screen s CLEAN(screen_free);
    screen_new(&s, 3);
    s.progress.columns = 40;
    progress_wait(&s.progress, "the servers are asked something that takes more columns than 40");
    expect(&s, "the servers are asked something that ta");
    assert_int_equal(s.size, 39);
    progress_wait(&s.progress, "fitting");
    expect(&s, "that ta\r\033[Kfitting");
    {
        struct log log = {.file = s.progress.out, .level = LOG_INFO};
        progress_attach(&s.progress, &log);
        log_error(&log, "no");
        log_error(&log, "no");
        progress_detach(&s.progress, &log);
        assert_null(log.before);
    }
    expect(&s, "fitting\r\033[Kerror: no\nerror: no\n");
    progress_wait(&s.progress, "more");
    progress_say(&s.progress, "this stays");
    progress_end(&s.progress);
    expect(&s, "more\r\033[Kthis stays\n");
    assert_memory_equal(s.text + s.size - 6, "stays\n", 6);
}

/* A terminal is asked for its width; a dumb one cannot draw over a line. */
TEST(terminals_are_recognized)
{
    static const struct {
        const char *term;
        unsigned short columns;
        unsigned expect;
    } cases[] = {{"xterm", 100, 100}, {"xterm", 300, 300}, {"xterm", 0, 80}, {"dumb", 100, 0}};
    struct workload workload = {.one_ways = 1};
    struct study study = {.workload = &workload};
    int pty = posix_openpt(O_RDWR | O_NOCTTY);
    support_needs(pty >= 0 && grantpt(pty) == 0 && unlockpt(pty) == 0,
                  "there are no pseudo-terminals here");
    FILE *out = fopen(ptsname(pty), "w");
    assert_non_null(out);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct winsize size = {.ws_row = 25, .ws_col = cases[i].columns};
        assert_int_equal(ioctl(pty, TIOCSWINSZ, &size), 0);
        setenv("TERM", cases[i].term, 1);
        assert_int_equal(progress_start(out, &study, 1).columns, cases[i].expect);
    }
    unsetenv("TERM");
    assert_int_equal(progress_start(out, &study, 1).columns, 100);
    fclose(out);
    close(pty);
}

TEST(times_as_people_say_them)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {0, "0.0 s"},     {-1, "0.0 s"},    {0.26, "0.3 s"},        {5971, "1 h 40 min"},
        {9.96, "10 s"},   {99.4, "99 s"},   {99.6, "2 min"},        {2e9, "277777 h 47 min"},
        {3600, "60 min"}, {5969, "99 min"}, {36000, "10 h 00 min"}, {7199.6, "2 h 00 min"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(words_time(cases[i].seconds).text, cases[i].text);
}

TEST(sizes_as_people_say_them)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},
        {9999, "9999 bytes"},
        {10000, "10.0 kB"},
        {999940, "999.9 kB"},
        {999960, "1.0 MB"},
        {UINT64_C(4100000000), "4.1 GB"},
        {UINT64_MAX, "18446744.1 TB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(words_bytes(cases[i].bytes).text, cases[i].text);
    assert_string_equal(words_number(1e-6).text, "1e-6");
    assert_string_equal(words_number(1e-12).text, "1e-12");
    assert_string_equal(words_number(2.5e20).text, "2.5e+20");
    assert_string_equal(words_number(0.25).text, "0.25");
}
