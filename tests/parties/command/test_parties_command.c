/* parties/command and the commands keygen, init, check: each as a process of its own. */
#include "harness/cmocka.h"
#include "harness/patience.h"
#include "tests/support/command.h"

#include "parties/command/command.h"
#include "parties/command/help.h"
#include "parties/command/process.h"
#include "parties/study/identity.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct command_fixture {
    char folder[64];
    char was[4096];
};

static int setup(void **state)
{
    struct command_fixture *f = calloc(1, sizeof *f);
    if (f == NULL || secret_start() != ERR_OK)
        return 1;
    strcpy(f->folder, "/tmp/trefoil-command-XXXXXX");
    if (getcwd(f->was, sizeof f->was) == NULL || mkdtemp(f->folder) == NULL ||
        chdir(f->folder) != 0)
        return 1;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    static const char *const made[] = {
        "out",  "err",  "study.yaml",  "other.yaml", "my.key",  "north",
        "east", "west", "hospital-a",  "hospital-b", "office",  "renewed",
        "a",    "-b",   "unwise.yaml", "other",      "mail.txt"};
    struct command_fixture *f = *state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        unlink(made[i]);
    if (chdir(f->was) != 0 || rmdir(f->folder) != 0)
        return 1;
    free(f);
    return 0;
}

#define TREFOIL(code, outcome, ...)                                                                \
    support_ends(code, outcome, "out", "err", (const char *const[]){__VA_ARGS__, NULL})

/* --- dispatch --------------------------------------------------------------------------------- */

TEST(help_is_on_standard_output)
{
    static const char *const ways[] = {"--help", "-h", "help"};
    struct command_outcome o;
    for (size_t i = 0; i < 3; i++) {
        TREFOIL(EXIT_OK, &o, ways[i]);
        assert_string_equal(o.err, "");
        for (size_t k = 0; k < command_count; k++)
            EACH(support_says, o.out, commands[k]->name, commands[k]->summary);
    }
}

TEST(without_a_command_it_is_a_mistake)
{
    static const char *const nothing[] = {NULL};
    struct command_outcome o;
    support_command(&o, "out", "err", nothing);
    assert_int_equal(o.code, EXIT_USAGE);
    assert_string_equal(o.out, "");
    support_says(o.err, "usage: trefoil COMMAND");
}

TEST(every_command_has_help_with_an_example)
{
    struct command_outcome a, b;
    for (size_t k = 0; k < command_count; k++) {
        const struct command *c = commands[k];
        char example[64];
        assert_in_range(strlen(c->summary), 10, 66);
        assert_in_range(strlen(c->name), 2, 8);
        TREFOIL(EXIT_OK, &a, "help", c->name);
        TREFOIL(EXIT_OK, &b, c->name, "x", "--help");
        assert_string_equal(a.out, b.out);
        EACH(support_says, a.out, "usage: trefoil ", "\nexample:\n  trefoil ");
        snprintf(example, sizeof example, "\n  trefoil %s", c->name);
        support_says(a.out, example);
        assert_int_equal(a.out[strlen(a.out) - 1], '\n');
    }
}

/* The options of a command's parser, as it lists them when it is given an unknown one. */
static size_t parsed_options(const char *name, char option[HELP_OPTIONS_MAX][32])
{
    struct command_outcome o;
    size_t n = 0;
    TREFOIL(EXIT_USAGE, &o, name, "--zzzzzzzzzzzz");
    const char *at = strstr(o.err, "there is no option --zzzzzzzzzzzz; there is ");
    assert_non_null(at);
    at = strstr(at, "there is --");
    while ((at = strstr(at, "--")) != NULL && n < HELP_OPTIONS_MAX) {
        size_t length = strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-");
        snprintf(option[n], sizeof option[n], "%.*s", (int)length, at + 2);
        at += 2 + length;
        n += strcmp(option[n], "help") != 0;
    }
    return n;
}

/* Completion and manual pages are made from the help: so it lists exactly what the parser takes. */
TEST(help_lists_what_the_parser_takes)
{
    for (size_t k = 0; k < command_count; k++) {
        struct help_option told[HELP_OPTIONS_MAX];
        char taken[HELP_OPTIONS_MAX][32];
        size_t n = help_options(commands[k]->help, told);
        size_t m = parsed_options(commands[k]->name, taken);
        for (size_t i = 0; i < n; i++) {
            bool found = false;
            for (size_t j = 0; j < m; j++)
                found |= strcmp(told[i].name, taken[j]) == 0;
            if (!found)
                fail_msg("%s: the help lists --%s, the parser does not take it", commands[k]->name,
                         told[i].name);
            assert_true(told[i].words[0] != '\0');
        }
        for (size_t j = 0; j < m; j++) {
            bool found = false;
            for (size_t i = 0; i < n; i++)
                found |= strcmp(told[i].name, taken[j]) == 0;
            if (!found)
                fail_msg("%s: the parser takes --%s, the help does not list it", commands[k]->name,
                         taken[j]);
        }
    }
}

TEST(options_of_a_help_text)
{
    static const char text[] = "usage: trefoil x [--how one|other] [--out FILE]\n\nWords --not.\n\n"
                               "  --how HOW   which way\n"
                               "  --a C, --b C    both of them\n"
                               "                  and --more of it\n"
                               "  --flag      nothing; more\n"
                               "  --e, --f    two flags\n";
    struct help_option o[HELP_OPTIONS_MAX];
    char many[40 * 16] = "";
    for (unsigned i = 0; i < 40; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), "\n  --o%u  words", i);
    assert_int_equal(help_options(many, o), HELP_OPTIONS_MAX);
    assert_int_equal(help_options(text, o), 6);
    assert_string_equal(o[4].name, "e");
    assert_string_equal(o[5].name, "f");
    assert_string_equal(o[5].words, "two flags");
    assert_string_equal(o[0].name, "how");
    assert_string_equal(o[0].value, "HOW");
    assert_string_equal(o[0].choices, "one|other");
    assert_string_equal(o[0].words, "which way");
    assert_string_equal(o[1].name, "a");
    assert_string_equal(o[2].name, "b");
    assert_string_equal(o[2].value, "C");
    assert_string_equal(o[1].words, "both of them and --more of it");
    assert_string_equal(o[3].name, "flag");
    assert_string_equal(o[3].value, "");
    assert_string_equal(o[3].words, "nothing");
}

TEST(completion_names_everything)
{
    struct command_outcome o;
    for (unsigned shell = 0; shell < 2; shell++) {
        TREFOIL(EXIT_OK, &o, "complete", shell == 0 ? "bash" : "zsh");
        for (size_t k = 0; k < command_count; k++) {
            struct help_option option[HELP_OPTIONS_MAX];
            size_t n = help_options(commands[k]->help, option);
            support_says(o.out, commands[k]->name);
            for (size_t i = 0; i < n; i++)
                support_says(o.out, option[i].name);
        }
    }
    TREFOIL(EXIT_USAGE, &o, "complete", "fish");
    support_says(o.err, "bash and zsh");
}

TEST(the_version_is_told)
{
    struct command_outcome o;
    TREFOIL(EXIT_OK, &o, "--version");
    EACH(support_says, o.out, "trefoil " TREFOIL_VERSION "\n", "built with ", "libsodium ");
}

TEST(an_unknown_command_has_a_suggestion)
{
    struct command_outcome o;
    TREFOIL(EXIT_USAGE, &o, "keygne");
    support_says(o.err, "did you mean trefoil keygen?");
    TREFOIL(EXIT_USAGE, &o, "help", "chekc");
    support_says(o.err, "did you mean trefoil check?");
    TREFOIL(EXIT_USAGE, &o, "elephant");
    support_says(o.err, "trefoil --help lists them");
}

TEST(a_full_disk_is_an_error)
{
    if (access("/dev/full", W_OK) != 0)
        skip();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char name[] = "trefoil", option[] = "--help";
        char *argv[] = {name, option, NULL};
        if (freopen("/dev/full", "w", stdout) == NULL)
            _exit(99);
        exit(command_main(commands, command_count, 2, argv, NULL));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EXIT_RUNTIME);
}

/* A reader who closes the pipe has read enough, and gets no message. */
TEST(a_reader_may_have_enough)
{
    int ends[2], status;
    char said[64];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]); /* before the child can write */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char name[] = "trefoil", option[] = "--help";
        char *argv[] = {name, option, NULL};
        struct log log = {.file = stderr, .level = LOG_INFO};
        signal(SIGPIPE, SIG_IGN);
        if (dup2(ends[1], STDOUT_FILENO) < 0 || freopen("err", "w", stderr) == NULL)
            _exit(99);
        exit(command_main(commands, command_count, 2, argv, &log));
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), EXIT_RUNTIME);
    support_text("err", said, sizeof said);
    assert_string_equal(said, "");
}

TEST(every_error_has_its_exit_code)
{
    static const struct {
        enum err e;
        int code;
    } cases[] = {
        {ERR_OK, 0},       {ERR_NOMEM, 1},   {ERR_SYSTEM, 1}, {ERR_CRYPTO, 1}, {ERR_MISUSE, 1},
        {ERR_USAGE, 2},    {ERR_STUDY, 3},   {ERR_AUTH, 3},   {ERR_PEER, 4},   {ERR_TIMEOUT, 4},
        {ERR_MISMATCH, 3}, {ERR_REFUSED, 5}, {ERR_BUDGET, 5}, {ERR_DATA, 6},   {ERR_FORMAT, 6},
        {ERR_RANGE, 6},    {ERR_LOST, 5},    {ERR_CHEAT, 7},
    };
    LOG_INTO(log, sink, LOG_INFO);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(command_exit_code(cases[i].e), cases[i].code);
    assert_int_equal(command_end(ERR_OK, &log), 0);
    assert_string_equal(sink, "");
    assert_int_equal(command_end(ERR_BUDGET, &log), 5);
    support_says(sink, error_text(ERR_BUDGET));
}

/* --- options ---------------------------------------------------------------------------------- */

#define ARGS_MAX 12

struct parsed {
    const char *text, *other, *file;
    const char *needs; /* an option named --file */
    bool flag;
    const char *rest[2];
    size_t given;
    char sink[512];
    char copy[ARGS_MAX][64]; /* where the pointers above point */
};

static enum err parse(struct parsed *p, int argc, const char *const *arguments)
{
    char *argv[ARGS_MAX + 1] = {0};
    struct log log = {.buffer = p->sink, .buffer_size = sizeof p->sink, .level = LOG_INFO};
    const struct command_option options[] = {
        {.name = "text", .value = &p->text},
        {.name = "other", .value = &p->other},
        {.name = "flag", .flag = &p->flag},
        {.name = "file", .value = &p->file, .needed = p->needs},
    };
    for (int i = 0; i < argc; i++) {
        snprintf(p->copy[i], sizeof p->copy[i], "%s", arguments[i]);
        argv[i] = p->copy[i];
    }
    p->sink[0] = '\0';
    return command_options(argc, argv, options, 4, p->rest, 1, 2, &p->given, &log);
}

#define PARSE(p, ...)                                                                              \
    parse(p, (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)),             \
          (const char *const[]){__VA_ARGS__})

TEST(options_in_every_form)
{
    struct parsed p = {0};
    OK(PARSE(&p, "cmd", "--text", "a", "one", "--other=b=c", "--flag", "two"));
    assert_string_equal(p.text, "a");
    assert_string_equal(p.other, "b=c");
    assert_true(p.flag);
    assert_int_equal(p.given, 2);
    assert_string_equal(p.rest[0], "one");
    assert_string_equal(p.rest[1], "two");

    p = (struct parsed){.text = "default"};
    OK(PARSE(&p, "cmd", "--", "--flag", "-x"));
    assert_string_equal(p.text, "default");
    assert_false(p.flag);
    assert_string_equal(p.rest[0], "--flag");

    p = (struct parsed){0};
    OK(PARSE(&p, "cmd", "-", "--text="));
    assert_string_equal(p.rest[0], "-");
    assert_string_equal(p.text, "");
}

TEST(mistakes_in_options)
{
    struct parsed p = {0};
    assert_int_equal(PARSE(&p, "cmd", "--txt", "a", "one"), ERR_USAGE);
    support_says(p.sink, "there is no option --txt; did you mean --text?");
    GIVES(PARSE(&p, "cmd", "--elephant=3", "one"), ERR_USAGE, p.sink,
          "there is no option --elephant; there is --text, --other, --flag, --file and --help");
    assert_int_equal(PARSE(&p, "cmd", "--tex", "a"), ERR_USAGE); /* no abbreviations */
    GIVES(PARSE(&p, "cmd", "one", "--text"), ERR_USAGE, p.sink, "--text needs a value");
    GIVES(PARSE(&p, "cmd", "one", "--flag=yes"), ERR_USAGE, p.sink, "--flag takes no value");
    assert_int_equal(PARSE(&p, "cmd", "one", "--text", "a", "--text=b"), ERR_USAGE);
    support_says(p.sink, "--text comes twice");
    GIVES(PARSE(&p, "cmd", "-t", "one"), ERR_USAGE, p.sink, "there is no option -t");
    assert_int_equal(PARSE(&p, "cmd", "one", "two", "three"), ERR_USAGE);
    support_says(p.sink, "do not know what to do with \"three\"");
    GIVES(PARSE(&p, "cmd"), ERR_USAGE, p.sink, "an argument is missing");
    p.needs = "FILE";
    GIVES(PARSE(&p, "cmd", "one", "--text", "--file"), ERR_USAGE, p.sink, "cmd needs --file FILE");
    OK(PARSE(&p, "cmd", "one", "--file", "a"));
    assert_int_equal(command_options(0, NULL, NULL, 33, p.rest, 0, 0, &p.given, NULL), ERR_MISUSE);
}

TEST(numbers_in_options)
{
    static const char *const wrong[] = {"", "x", "3x", "0", "11", "1.5", "99999999999999999999"};
    LOG_INTO(log, sink, LOG_INFO);
    int64_t n;
    OK(command_integer("rows", "10", 1, 10, &n, &log));
    assert_int_equal(n, 10);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sink[0] = '\0';
        assert_int_equal(command_integer("rows", wrong[i], 1, 10, &n, &log), ERR_USAGE);
        support_says(sink, "it should be a whole number from 1 to 10");
    }
}

/* --- the commands ----------------------------------------------------------------------------- */

TEST(keygen_makes_a_key_and_shows_it)
{
    struct command_outcome made, shown, again;
    struct stat st;
    TREFOIL(EXIT_OK, &made, "keygen", "my.key");
    assert_memory_equal(made.out, "trefoil1-", 9);
    support_says(made.err, "keep it secret");
    assert_int_equal(stat("my.key", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    TREFOIL(EXIT_OK, &shown, "keygen", "--show", "my.key");
    assert_string_equal(shown.out, made.out);
    TREFOIL(EXIT_RUNTIME, &again, "keygen", "my.key");
    assert_string_equal(again.out, "");
    support_says(again.err, "left alone");
    TREFOIL(EXIT_OK, &again, "keygen", "my.key", "--force", "--name", "office");
    support_says(again.out, "  - name: office\n    key: trefoil1-");
}

TEST(keygen_explains_mistakes)
{
    struct command_outcome o;
    TREFOIL(EXIT_USAGE, &o, "keygen");
    TREFOIL(EXIT_USAGE, &o, "keygen", "a", "--show", "my.key");
    TREFOIL(EXIT_USAGE, &o, "keygen", "a", "--until", "2020-01-01");
    support_says(o.err, "--until 2020-01-01 is over");
    TREFOIL(EXIT_USAGE, &o, "keygen", "a", "--until", "soon");
    TREFOIL(EXIT_USAGE, &o, "keygen", "--show", "a", "--renew", "b");
    TREFOIL(EXIT_RUNTIME, &o, "keygen", "a", "--renew", "nowhere.key");
    assert_int_equal(access("a", F_OK), -1);
    TREFOIL(EXIT_RUNTIME, &o, "keygen", "--show", "nowhere.key");
    support_says(o.err, "nowhere.key");
    TREFOIL(EXIT_RUNTIME, &o, "keygen", "/nonexistent/folder/key");
    support_says(o.err, "/nonexistent/folder/key");
}

TEST(an_expired_key_is_shown_as_such)
{
    struct identity *base CLEAN(identity_free) = NULL, *made CLEAN(identity_free) = NULL;
    struct command_outcome o;
    OK(identity_new(&base, NULL));
    OK(identity_renew(&made, base, 20000, NULL));
    OK(identity_save(made, "my.key", false, NULL));
    TREFOIL(EXIT_OK, &o, "keygen", "--show", "my.key", "--name", "office");
    support_says(o.out, "# good until the end of 2024-10-04: it has expired");
}

/* --- processes -------------------------------------------------------------------------------- */

static pid_t sleeper(bool stubborn)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
        for (;;)
            pause();
    }
    return child;
}

TEST(a_process_that_does_not_end_is_ended)
{
    char said[1024] = "";
    struct log log = {.buffer = said, .buffer_size = sizeof said};
    for (unsigned stubborn = 0; stubborn < 2; stubborn++) {
        pid_t pid = sleeper(stubborn == 1), was = pid;
        assert_false(process_ended(&pid));
        GIVES(process_wait(&pid, "a sleeper", "its.log", support_moment(20), &log), ERR_TIMEOUT,
              said, "a sleeper did not end in time; see its.log");
        assert_int_equal(pid, was);
        process_end(&pid);
        assert_int_equal(pid, 0);
        assert_int_equal(kill(was, 0), -1);
        process_end(&pid);
    }
    for (unsigned killed = 0; killed < 2; killed++) {
        pid_t pid = sleeper(false);
        assert_int_equal(kill(pid, killed == 1 ? SIGKILL : SIGTERM), 0);
        GIVES(process_wait(&pid, "a victim", "its.log", support_end_ms(5), &log), ERR_SYSTEM, said,
              "a victim failed; see its.log");
        assert_int_equal(pid, 0);
    }
}

/* What check says of study.yaml with other words in the place of some of its own. */
static void check_warns(const char *words, const char *others, const char *warning)
{
    struct command_outcome o;
    struct bytes text CLEAN(bytes_clear) = {0}, changed CLEAN(bytes_clear) = {0};
    OK(file_read("study.yaml", 1 << 20, &text, NULL));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, words);
    assert_non_null(at);
    bytes_put(&changed, text.data, (size_t)(at - (const char *)text.data));
    bytes_put_text(&changed, others);
    bytes_put_text(&changed, at + strlen(words));
    OK(file_write("unwise.yaml", 0644, changed.data, changed.size, NULL));
    TREFOIL(EXIT_OK, &o, "check", "unwise.yaml");
    if (warning != NULL)
        support_says(o.err, warning);
    else
        assert_string_equal(o.err, "");
}

static void check_choices(void)
{
    check_warns("epsilon: 1\n", "epsilon: 10\n", NULL);
    check_warns(
        "epsilon: 1\n", "epsilon: 40\n",
        "warning: epsilon is 40: what is opened may change odds by a factor of 2.4e+17, so");
    check_warns("delta: 1e-6\n", "delta: 1e-4\n",
                "warning: delta is 0.0001, above one in the 12286 rows that owners may bring");
    check_warns("delta: 1e-6\n", "delta: 5e-5\n", NULL);
    check_warns("deadlines:\n", "deadlines:\n  uploads: 2020-02-03T04:05:06Z\n",
                "warning: deadlines.uploads is over since 2020-02-03T");
    check_warns("deadlines:\n", "deadlines:\n  uploads: 9999-12-31T00:00:00Z\n", NULL);
}

/* init, a key for everybody, keys put in, check: as the example tells people to do. */
TEST(from_nothing_to_a_checked_study)
{
    static const char *const names[] = {"north",      "east",       "west",
                                        "hospital-a", "hospital-b", "office"};
    struct command_outcome o;
    TREFOIL(EXIT_OK, &o, "init");
    support_says(o.err, "wrote study.yaml");
    TREFOIL(EXIT_OK, &o, "check", "study.yaml");
    support_says(o.out, "not yet: 6 keys");
    TREFOIL(EXIT_OK, &o, "plan", "study.yaml");
    support_says(o.out, "not yet: 6 keys");
    TREFOIL(EXIT_CONFIG, &o, "check", "study.yaml", "--fingerprint");
    support_says(o.err, "no terms yet to compare: not yet: 6 keys");
    TREFOIL(EXIT_CONFIG, &o, "roster", "show", "study.yaml");
    support_says(o.err, "not a public key");
    for (size_t i = 0; i < 5; i++)
        TREFOIL(EXIT_OK, &o, "keygen", names[i], "--name", names[i], "--into", "study.yaml");
    TREFOIL(EXIT_CONFIG, &o, "keygen", "other", "--name", "north", "--into", "study.yaml");
    support_says(o.err, "north has another key here already");
    TREFOIL(EXIT_USAGE, &o, "keygen", "office", "--into", "study.yaml");
    /* what somebody else's keygen printed */
    TREFOIL(EXIT_OK, &o, "keygen", "office");
    OK(file_write("mail.txt", 0644, o.out, strlen(o.out), NULL));
    TREFOIL(EXIT_CONFIG, &o, "keygen", "--show", "mail.txt", "--name", "nobody", "--into",
            "study.yaml");
    support_says(o.err, "study.yaml has nobody named nobody");
    TREFOIL(EXIT_OK, &o, "check", "study.yaml");
    support_says(o.out, "not yet: 1 key\n");
    TREFOIL(EXIT_OK, &o, "keygen", "--show", "mail.txt", "--name", "office", "--into",
            "study.yaml");
    TREFOIL(EXIT_OK, &o, "check", "study.yaml", "--key", "hospital-b");
    assert_string_equal(o.err, "");
    EACH(support_says, o.out, "differential privacy", "You are the owner hospital-b", "j^2 rho",
         "Costs: owners upload",
         "as private as one count with Gaussian noise of standard deviation\n  4.2",
         "Roster 1 of study example");
    /* a renewed key is recognised as different from the one that the study lists */
    TREFOIL(EXIT_OK, &o, "keygen", "renewed", "--renew", "hospital-b", "--until", "2199-01-01");
    assert_memory_equal(o.out, "trefoil2-", 9);
    support_says(o.out, "# good until the end of 2199-01-01");
    TREFOIL(EXIT_OK, &o, "check", "study.yaml", "--key", "renewed");
    support_says(o.err, "another key for the links of hospital-b");
    TREFOIL(EXIT_BAD_DATA, &o, "check", "study.yaml", "--receipt", "study.yaml");
    TREFOIL(EXIT_USAGE, &o, "check", "study.yaml", "--receipt", "nowhere", "--fingerprint");
    TREFOIL(EXIT_OK, &o, "roster", "show", "study.yaml", "--since", "study.yaml");
    support_says(o.out, "nothing");
    TREFOIL(EXIT_USAGE, &o, "roster", "sing", "study.yaml");
    TREFOIL(EXIT_OK, &o, "check", "--fingerprint", "study.yaml");
    assert_int_equal(strlen(o.out), 36);
    check_choices();
}

/* The same with a provider and a keeper, which are no list. */
TEST(keys_of_a_provider_and_a_keeper_are_put_in)
{
    static const char *const names[] = {"north", "east", "hospital-a", "hospital-b", "office"};
    struct command_outcome o;
    TREFOIL(EXIT_OK, &o, "init", "--provider");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TREFOIL(EXIT_OK, &o, "check", "study.yaml");
        support_says(o.out, "not yet: ");
        TREFOIL(EXIT_OK, &o, "keygen", names[i], "--name", names[i], "--into", "study.yaml");
    }
    TREFOIL(EXIT_CONFIG, &o, "keygen", "other", "--name", "east", "--into", "study.yaml");
    support_says(o.err, "east has another key here already");
    TREFOIL(EXIT_OK, &o, "check", "study.yaml", "--key", "east");
    support_says(o.out, "You are the keeper");
}

TEST(init_replaces_nothing)
{
    struct command_outcome o;
    char text[64];
    OK(file_write("other.yaml", 0644, "mine", 4, NULL));
    TREFOIL(EXIT_RUNTIME, &o, "init", "other.yaml");
    support_says(o.err, "left alone");
    support_text("other.yaml", text, sizeof text);
    assert_string_equal(text, "mine");
    TREFOIL(EXIT_OK, &o, "init", "--force", "other.yaml");
    TREFOIL(EXIT_USAGE, &o, "init", "a", "-b");
    TREFOIL(EXIT_OK, &o, "init", "--", "-b");
}

TEST(check_explains_mistakes)
{
    struct command_outcome o;
    TREFOIL(EXIT_USAGE, &o, "check");
    TREFOIL(EXIT_RUNTIME, &o, "check", "nowhere.yaml");
    support_says(o.err, "nowhere.yaml");
    OK(file_write("other.yaml", 0644, "study: x\nfoo: 1\n", 16, NULL));
    TREFOIL(EXIT_CONFIG, &o, "check", "other.yaml");
    support_says(o.err, "error: other.yaml:2:1: ");
    assert_string_equal(o.out, "");
}

MAIN(support_run_each(setup, teardown))
