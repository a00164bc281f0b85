/*
 * The share tool against real servers: receipts, what is held and what waits, replacing and
 * withdrawing, the budget book, clients that are cut or killed at each message, terms that changed,
 * and what people see of it.
 */
#include "harness/cmocka.h"

#include "harness/process.h"
#include "parties/exchange/message.h"
#include "parties/exchange/receipt.h"
#include "parties/study/study_ports.h"
#include "parties/study/study_uploads.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <stdatomic.h>

static char logged[4096];

struct share_scene {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    struct log log;
};

static void start_server(struct share_scene *c, unsigned i)
{
    c->server[i] = support_serve_ready(&c->s, i, c->s.path);
}

static struct share_scene scene_new(const struct study_options *o)
{
    struct share_scene c = {
        .log = {.buffer = logged, .buffer_size = sizeof logged, .level = LOG_ERROR}};
    logged[0] = '\0';
    c.s = support_study_of(o, &c.log);
    for (unsigned i = 0; i < c.s.owners; i++)
        OK(support_csv(file(&c, "o%u.csv", i), c.s.study->domain, 400 + 100 * i, i));
    return c;
}

static void start_servers(struct share_scene *c)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start_server(c, i);
}

static void scene_free(struct share_scene *c)
{
    assert_true(support_stop_all(c->server));
    support_study_free(&c->s);
}

/* A copy of a file with a text, which occurs once, replaced. */
static void edit(const char *from, const char *to, const char *find, const char *by)
{
    assert_true(support_edit(from, to, (const char *const[]){find, by, NULL}));
}

/* trefoil share STUDY with the given arguments; its output is in share.log. */
static int share_with(struct share_scene *c, const char *study, const char *const *words)
{
    const char *a[24] = {"share", study};
    size_t n = 2;
    while (*words != NULL && n < 23)
        a[n++] = *words++;
    unlink(file(c, "share.log"));
    return support_run(file(c, "share.log"), 90, a);
}

#define SHARE_OF(c, study, ...) share_with(c, study, (const char *const[]){__VA_ARGS__, NULL})
#define SHARE(c, ...) SHARE_OF(c, (c)->s.path, __VA_ARGS__)

static void says(struct share_scene *c, const char *text)
{
    file_says(file(c, "share.log"), text);
}

static void share_says(struct share_scene *c, int code, int expected, const char *text)
{
    assert_int_equal(code, expected);
    says(c, text);
}

/* trefoil share with these arguments ends with this code, and says this. */
#define SHARE_SAYS(code, text, c, ...) share_says(c, SHARE(c, __VA_ARGS__), code, text)

static int run_study(struct share_scene *c)
{
    return COMMAND(file(c, "run.log"), 60, "run", c->s.path, "--key", file(c, "a.key"), "--out",
                   file(c, "out"));
}

/* --- a life of uploads ------------------------------------------------------------------------ */

static int check_receipt(struct share_scene *c, const char *study, const char *receipt)
{
    return ANEW(file(c, "check.log"), 10, "check", study, "--receipt", receipt);
}

static void receipts_are_verified(struct share_scene *c)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    unsigned accepted = 0;
    const char *path = support_path(&c->s, "o0.test.receipt");
    const char *forged = support_path(&c->s, "forged.receipt");
    assert_int_equal(check_receipt(c, c->s.path, path), 0);
    EACH(file_says, file(c, "check.log"), "the upload of o0", "on their disks, whole");
    edit(path, forged, "owner o0", "owner o1");
    assert_int_equal(check_receipt(c, c->s.path, forged), 3);
    file_says(file(c, "check.log"), "server 0 (s0) has not signed this");
    edit(path, forged, "state held", "state withdrawn");
    assert_int_equal(check_receipt(c, c->s.path, forged), 3);
    edit(path, forged, "server s1", "server s2");
    assert_int_equal(check_receipt(c, c->s.path, forged), 3);
    edit(path, forged, "state held\n", "");
    assert_int_equal(check_receipt(c, c->s.path, forged), 6);
    file_says(file(c, "check.log"), "\"state ...\" should stand here");
    edit(c->s.path, file(c, "other.yaml"), "rounds: 3", "rounds: 4");
    assert_int_equal(check_receipt(c, file(c, "other.yaml"), path), 3);
    file_says(file(c, "check.log"), "with other terms");
    /* any digit of what was signed, or of the time */
    OK(file_read(path, 1 << 16, &text, NULL));
    for (size_t i = 0; i < text.size; i++) {
        uint8_t was = text.data[i];
        struct receipt r;
        if (was < '0' || was > '9')
            continue;
        text.data[i] = was == '1' ? '2' : '1';
        accepted += receipt_parse(&r, c->s.study, path, text.data, text.size, NULL) == ERR_OK &&
                    receipt_verify(c->s.study, &r, NULL) == ERR_OK;
        text.data[i] = was;
    }
    assert_int_equal(accepted, 0);
}

static void the_dry_run_says_what_the_receipt_is_of(struct share_scene *c, const char *key,
                                                    const char *csv)
{
    struct bytes receipt CLEAN(bytes_clear) = {0};
    char line[96] = "";
    assert_int_equal(SHARE(c, csv, "--key", key, "--dry-run"), 0);
    OK(file_read(file(c, "o0.test.receipt"), 1 << 16, &receipt, NULL));
    bytes_put_u8(&receipt, 0);
    const char *at = strstr((const char *)receipt.data, "\nupload ");
    assert_non_null(at);
    snprintf(line, sizeof line, "upload: %.64s", at + 8);
    says(c, line);
}

TEST(uploads_are_held_replaced_and_withdrawn)
{
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 3));
    start_servers(&c);
    const char *key = support_path(&c.s, "o0.key");
    const char *own = support_path(&c.s, "o0.csv");
    const char *other = support_path(&c.s, "o1.csv");
    SHARE_SAYS(0, "  o0                   nothing yet", &c, "--key", key, "--status");
    says(&c, "Server 0, s0: roster 1; no run has begun");
    SHARE_SAYS(0, "nothing was sent", &c, own, "--key", key, "--dry-run");
    SHARE_SAYS(0, "  o0                   nothing yet", &c, "--key", key, "--status");
    SHARE_SAYS(0, "all three servers have stored the upload", &c, own, "--key", key);
    receipts_are_verified(&c);
    the_dry_run_says_what_the_receipt_is_of(&c, key, own);
    assert_int_equal(SHARE(&c, own, "--key", key), 0); /* the same counts once */
    SHARE_SAYS(0, "  o0                   held by all three, ", &c, "--key", key, "--status");
    says(&c, "  o1                   nothing yet");
    SHARE_SAYS(5, "share --replace", &c, other, "--key", key);
    assert_int_equal(
        SHARE(&c, other, "--key", key, "--replace", "--receipt", file(&c, "second.receipt")), 0);
    assert_int_equal(check_receipt(&c, c.s.path, file(&c, "second.receipt")), 0);
    assert_int_equal(SHARE(&c, own, "--key", key, "--replace"), 0);
    assert_int_equal(SHARE(&c, "--key", key, "--withdraw"), 0);
    assert_int_equal(check_receipt(&c, c.s.path, file(&c, "o0.test.receipt")), 0);
    file_says(file(&c, "check.log"), "was withdrawn");
    SHARE_SAYS(0, "  o0                   withdrawn, ", &c, "--key", key, "--status");
    assert_int_equal(SHARE(&c, "--key", key, "--withdraw"), 0); /* again */
    ENDS(run_study(&c), 1, file(&c, "run.log"), "o0 has not uploaded");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(SHARE(&c, file(&c, "o%u.csv", i), "--key", file(&c, "o%u.key", i)), 0);
    assert_int_equal(run_study(&c), 0);
    SHARE_SAYS(0, "a run has begun: it counts this upload only if that was here before", &c, own,
               "--key", key);
    /* what was counted stays */
    SHARE_SAYS(5, "the run has begun", &c, "--key", key, "--withdraw");
    SHARE_SAYS(5, "the run has begun", &c, other, "--key", key, "--replace");
    SHARE_SAYS(0, "Server 2, s2: roster 1; the run has begun", &c, "--key", file(&c, "a.key"),
               "--status");
    says(&c, "  o0                   held by all three, ");
}

/* --- the budget book -------------------------------------------------------------------------- */

static int list_book(struct share_scene *c, const char *key)
{
    return ANEW(file(c, "share.log"), 10, "share", "--key", key, "--book");
}

/* An entry of a study with other servers. */
static void another_study(struct share_scene *c, const char *book)
{
    char line[512];
    snprintf(line, sizeof line,
             "2026-01-02T03:04:05Z sent earlier %s epsilon 2 delta 0.0009765625 rho 0.125 slack 0 "
             "0\n",
             study_fingerprint(c->s.study).text);
    OK(file_append(book, line, &c->log));
}

TEST(the_budget_book_says_what_a_key_has_sent)
{
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1));
    start_servers(&c);
    const char *key = support_path(&c.s, "o0.key");
    const char *csv = support_path(&c.s, "o0.csv");
    const char *book = support_path(&c.s, "o0.book");
    const char *altered = support_path(&c.s, "altered.yaml");
    edit(c.s.path, altered, "epsilon: 1", "epsilon: 1.5");
    assert_int_equal(list_book(&c, key), 0);
    says(&c, "o0.book: nothing was sent with this key");
    assert_int_equal(SHARE(&c, "--key", key, "--withdraw"), 0);
    SHARE_SAYS(0, "No other study was sent data with this key", &c, csv, "--key", key, "--dry-run");
    assert_int_equal(access(book, F_OK), -1);
    /* what no server accepted is reported, and does not count */
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key), 3);
    assert_int_equal(list_book(&c, key), 0);
    says(&c, "refused by the servers; does not count");
    says(&c, "0 studies count. No budget is spent.");
    SHARE_SAYS(0, "No other study was sent data with this key", &c, csv, "--key", key);
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
    assert_int_equal(list_book(&c, key), 0);
    EACH(says, &c, "Z, sent\n    epsilon 1 with delta ", "1 study counts. ");
    another_study(&c, book);
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
    EACH(says, &c, "1 other study was sent data with this key (",
         "rho 0.125 in zCDP, which is epsilon ", "and in this one too:\n  rho 0.1");
    assert_int_equal(list_book(&c, key), 0);
    EACH(says, &c, "  earlier\n", "2 studies count. ");
    assert_int_equal(SHARE(&c, "--key", key, "--withdraw"), 0);
    assert_int_equal(list_book(&c, key), 0);
    EACH(says, &c, "Z, withdrawn; does not count\n    epsilon 1 with", "1 study counts. ");
    /* a damaged book stops an upload before it begins */
    OK(file_append(book, "what is this\n", &c.log));
    assert_int_equal(SHARE(&c, csv, "--key", key), 3);
    EACH(says, &c, "o0.book:", "this is not an entry of a book of budgets");
    assert_int_equal(list_book(&c, key), 3);
    SHARE_SAYS(0, "  o0                   withdrawn, ", &c, "--key", key, "--status");
    assert_int_equal(unlink(book), 0);
    /* servers that do not answer may still have it */
    assert_true(support_stop_all(c.server));
    assert_int_equal(SHARE(&c, csv, "--key", key, "--retries", "0"), 4);
    assert_int_equal(list_book(&c, key), 0);
    says(&c, "begun; counts, since servers may hold it");
    SHARE_SAYS(2, "give it the key alone", &c, "--key", key, "--book");
}

/* --- the owner's secret ----------------------------------------------------------------------- */

/* The value of `upload` in a receipt (after "\nupload "), or in share.log ("\nupload: "). */
static void upload_named_in(struct share_scene *c, const char *path, const char *word,
                            char name[65])
{
    struct bytes text CLEAN(bytes_clear) = {0};
    OK(file_read(path, 1 << 16, &text, &c->log));
    bytes_put_u8(&text, 0);
    const char *at = strstr((const char *)text.data, word);
    assert_non_null(at);
    snprintf(name, 65, "%.64s", at + strlen(word));
    assert_int_equal(strspn(name, "0123456789abcdef"), 64);
}

/*
 * Whoever has stolen a key, and guesses the table correctly, cannot learn from servers or receipts
 * that it is the correct one.
 */
static void a_stolen_key_confirms_no_guess(struct share_scene *c, const char *csv)
{
    char uploaded[65], guessed[65];
    OK(file_folder(file(c, "thief"), &c->log));
    const char *key = support_path(&c->s, "thief/o0.key");
    upload_named_in(c, file(c, "o0.test.receipt"), "\nupload ", uploaded);
    OK(support_copy(file(c, "o0.key"), key));
    assert_int_equal(chmod(key, 0600), 0);
    SHARE_SAYS(0, "upload: its name is known after the first share", c, csv, "--key", key,
               "--dry-run");
    assert_int_equal(access(file(c, "thief/o0.test.secret"), F_OK), -1);
    SHARE_SAYS(5, "holds another upload of this owner", c, csv, "--key", key);
    upload_named_in(c, file(c, "share.log"), "\nupload: ", guessed);
    assert_string_not_equal(uploaded, guessed);
    /* with the secret they would: that is what the secret prevents */
    assert_int_equal(
        SHARE(c, csv, "--key", key, "--dry-run", "--secret", file(c, "o0.test.secret")), 0);
    upload_named_in(c, file(c, "share.log"), "\nupload: ", guessed);
    assert_string_equal(uploaded, guessed);
}

TEST(the_secret_of_a_study_is_kept_beside_the_key)
{
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2));
    struct stat st;
    start_servers(&c);
    const char *key = support_path(&c.s, "o0.key");
    const char *csv = support_path(&c.s, "o0.csv");
    const char *secret = support_path(&c.s, "o0.test.secret");
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
    assert_int_equal(stat(secret, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(SHARE(&c, csv, "--key", key), 0); /* the same upload again */
    a_stolen_key_confirms_no_guess(&c, csv);
    assert_int_equal(chmod(secret, 0640), 0);
    SHARE_SAYS(3, "may be read or written by others (mode 0640)", &c, csv, "--key", key);
    assert_int_equal(chmod(secret, 0600), 0);
    assert_int_equal(truncate(secret, st.st_size - 1), 0);
    SHARE_SAYS(3, "is cut or altered", &c, csv, "--key", key);
    /* lost: another upload, which replaces the first, and can be sent again */
    assert_int_equal(unlink(secret), 0);
    assert_int_equal(SHARE(&c, csv, "--key", key), 5);
    EACH(says, &c, "made with another secret", "share --replace");
    assert_int_equal(SHARE(&c, csv, "--key", key, "--replace"), 0);
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
}

/* An upload that only some of the servers hold waits, and is named. */
TEST(what_only_some_hold_waits)
{
    struct share_scene c CLEAN(scene_free) = scene_new(
        OPTIONS(.owners = 2, .round_s = support_slow(5)));
    start_servers(&c);
    const char *key = support_path(&c.s, "o1.key");
    assert_int_equal(SHARE(&c, file(&c, "o0.csv"), "--key", file(&c, "o0.key")), 0);
    support_kill(&c.server[2]);
    assert_int_equal(SHARE(&c, file(&c, "o1.csv"), "--key", key, "--retries", "1"), 4);
    EACH(says, &c, "trying again in", "server 2 (s2)", "run the same command again later");
    SHARE_SAYS(4, "Server 2, s2: does not answer", &c, "--key", key, "--status");
    says(&c, "  o0                   held by the servers that answer");
    says(&c, "    server 2 (s2) does not answer");
    assert_false(support_contains(file(&c, "share.log"), "should run trefoil share again"));
    start_server(&c, 2);
    assert_int_equal(SHARE(&c, "--key", key, "--status"), 0);
    EACH(says, &c, "  o1                   incomplete", "    server 1 (s1) has stored its part",
         "    server 2 (s2) has nothing");
    ENDS(run_study(&c), 1, file(&c, "run.log"), "o1 has not uploaded yet");
    assert_int_equal(SHARE(&c, file(&c, "o1.csv"), "--key", key), 0);
    assert_int_equal(run_study(&c), 0);
}

/* --- terms ------------------------------------------------------------------------------------ */

/* The study with comments and other line ends: another file with the same terms. */
static void write_otherwise(struct share_scene *c, const char *altered)
{
    struct study *study CLEAN(study_free) = NULL;
    struct bytes b CLEAN(bytes_clear) = {0}, crlf CLEAN(bytes_clear) = {0};
    edit(c->s.path, altered, "study: test\n", "# another copy\nstudy: test # as agreed\n");
    OK(file_read(altered, 1 << 20, &b, NULL));
    for (size_t i = 0; i < b.size; i++) {
        if (b.data[i] == '\n')
            bytes_put_u8(&crlf, '\r');
        bytes_put_u8(&crlf, b.data[i]);
    }
    OK(file_write(altered, 0644, crlf.data, crlf.size, NULL));
    OK(study_load(&study, altered, NULL));
    assert_memory_equal(study->terms.digest, c->s.study->terms.digest, 32);
}

TEST(terms_are_pinned_and_their_difference_named)
{
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2));
    start_servers(&c);
    const char *key = support_path(&c.s, "o0.key");
    const char *csv = support_path(&c.s, "o0.csv");
    const char *altered = support_path(&c.s, "altered.yaml");
    /* different from the servers': reported with the key that differs, and not remembered */
    edit(c.s.path, altered, "epsilon: 1", "epsilon: 1.5");
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key), 3);
    says(&c, "it has other terms than your study file, which was refused: budget, person, "
             "approvers;");
    assert_int_equal(SHARE(&c, csv, "--key", key, "--dry-run"), 0);
    assert_int_equal(access(file(&c, "o0.pins"), F_OK), -1);
    SHARE_SAYS(3, "not 00000-00000", &c, csv, "--key", key, "--fingerprint", "00000-00000");
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
    struct words_text print = study_fingerprint(c.s.study);
    file_says(file(&c, "o0.pins"), print.text);
    /* now other terms are refused before anything is read or sent, unless they are given */
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key), 3);
    says(&c, "this key knows the study test by other terms");
    struct study *study CLEAN(study_free) = MADE(study, study_load, altered, NULL);
    print = study_fingerprint(study);
    study_free(&study);
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key, "--fingerprint", print.text), 3);
    says(&c, "refused: budget, person, approvers;");
    assert_int_equal(SHARE(&c, csv, "--key", key), 0);
    /* comments and line ends are not terms */
    write_otherwise(&c, altered);
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key), 0);
    /* a form that exceeds the bounds never leaves the owner; one within the bounds is accepted */
    assert_false(c.s.study->owner[0].records);
    SHARE_SAYS(0, "sent as records", &c, csv, "--key", key, "--as", "records", "--replace");
    assert_int_equal(SHARE(&c, csv, "--key", key, "--as", "anwsers"), 2);
    edit(c.s.path, altered, "max_rows: 1000", "max_rows: 1000\n    as: records");
    OK(study_load(&study, altered, NULL));
    assert_int_equal(SHARE_OF(&c, altered, csv, "--key", key, "--as", "counts", "--fingerprint",
                              study_fingerprint(study).text),
                     5);
    says(&c, "have the study say as: counts");
}

/* --- cut and killed --------------------------------------------------------------------------- */

/*
 * A proxy between a client and a server; after so many bytes from the client it cuts the line once,
 * or holds it.
 */
struct proxy {
    int listener;
    uint16_t target;
    atomic_size_t limit; /* SIZE_MAX: none */
    atomic_bool hold, stop, reached;
    atomic_size_t passed;
    struct bytes said; /* by the client, up to RECORDED bytes of its first connection */
    atomic_bool recorded;
    pthread_t thread;
};

#define RECORDED 65536

static int loopback(uint16_t port, bool listening)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (listening)
        assert_true(bind(fd, (const struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 8) == 0);
    else if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool pass(int from, int to, size_t most, size_t *passed, struct bytes *said)
{
    char block[4096];
    ssize_t n = recv(from, block, most < sizeof block ? most : sizeof block, 0);
    if (n <= 0)
        return false;
    *passed = (size_t)n;
    if (said != NULL && said->size + (size_t)n <= RECORDED)
        bytes_put(said, block, (size_t)n);
    for (ssize_t at = 0; at < n;) {
        ssize_t k = send(to, block + at, (size_t)(n - at), MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        at += k;
    }
    return true;
}

static void carry(struct proxy *p, int client)
{
    int server = loopback(p->target, false);
    bool open = server >= 0;
    while (open && !atomic_load(&p->stop)) {
        struct pollfd both[2] = {{.fd = client, .events = POLLIN},
                                 {.fd = server, .events = POLLIN}};
        size_t limit = atomic_load(&p->limit), passed = atomic_load(&p->passed), n = 0;
        if (passed >= limit) {
            atomic_store(&p->reached, true);
            if (!atomic_load(&p->hold)) {
                atomic_store(&p->limit, SIZE_MAX);
                break;
            }
            both[0].fd = both[1].fd = -1; /* until the client is killed, or the test ends */
        }
        if (poll(both, 2, 20) < 0)
            break;
        if (both[0].revents != 0) {
            open = pass(client, server, limit - passed, &n,
                        atomic_load(&p->recorded) ? NULL : &p->said);
            atomic_fetch_add(&p->passed, n);
        }
        if (open && both[1].revents != 0)
            open = pass(server, client, SIZE_MAX, &n, NULL);
    }
    if (p->said.size > 0)
        atomic_store(&p->recorded, true);
    close(client);
    if (server >= 0)
        close(server);
}

static void *run_proxy(void *arg)
{
    struct proxy *p = arg;
    while (!atomic_load(&p->stop)) {
        struct pollfd one = {.fd = p->listener, .events = POLLIN};
        if (poll(&one, 1, 20) > 0)
            carry(p, accept(p->listener, NULL, NULL));
    }
    return NULL;
}

static void proxy_start(struct proxy *p, uint16_t port, uint16_t target)
{
    *p = (struct proxy){.listener = loopback(port, true), .target = target};
    atomic_init(&p->limit, SIZE_MAX);
    assert_int_equal(pthread_create(&p->thread, NULL, run_proxy, p), 0);
}

static void wait_until_reached(struct proxy *p)
{
    for (double end = support_deadline(10); !atomic_load(&p->reached);)
        assert_true(support_again(end));
}

static void proxy_stop(struct proxy *p)
{
    atomic_store(&p->stop, true);
    pthread_join(p->thread, NULL);
    close(p->listener);
    bytes_clear(&p->said);
}

/* From now on: cuts (or holds) after so many more bytes. */
static void proxy_set(struct proxy *p, size_t limit, bool hold)
{
    atomic_store(&p->limit, SIZE_MAX);
    atomic_store(&p->reached, false);
    atomic_store(&p->hold, hold);
    atomic_store(&p->passed, 0);
    atomic_store(&p->limit, limit);
}

/*
 * A study whose second owner sends records of some 600 kB, in three parts. Its servers are reached
 * through proxies.
 */
struct lossy {
    struct share_scene c;
    struct proxy proxy[STUDY_SERVERS_MOST];
    char study[SUPPORT_PATH], key[SUPPORT_PATH], csv[SUPPORT_PATH];
};

#define PADDED 400000

static void lossy_new(struct lossy *l)
{
    /* a cut handshake is waited for as long as a round */
    uint16_t port = support_ports(STUDY_SERVERS_MOST * STUDY_PORTS);
    char find[64], replace[64];
    l->c = scene_new(OPTIONS(.owners = 2, .round_s = support_slow(5)));
    const char *big = support_path(&l->c.s, "big.yaml");
    support_study_file(&l->c.s, "through.yaml", l->study);
    support_study_file(&l->c.s, "o1.key", l->key);
    support_study_file(&l->c.s, "o1.csv", l->csv);
    snprintf(replace, sizeof replace, "max_rows: 2000\n    as: records\n    pad_to: %d\n", PADDED);
    edit(l->c.s.path, big, "max_rows: 2000\n", replace);
    assert_int_equal(rename(big, l->c.s.path), 0);
    struct study *study = MADE(study, study_load, l->c.s.path, NULL);
    study_free(&l->c.s.study);
    l->c.s.study = study;
    assert_true(study_upload_bytes(study, 1) > 2 * MESSAGE_PART_MAX &&
                study_upload_bytes(study, 1) < 3 * MESSAGE_PART_MAX);
    start_servers(&l->c);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        uint16_t real = (uint16_t)(l->c.s.port + i * STUDY_PORTS);
        proxy_start(&l->proxy[i], (uint16_t)(port + i * STUDY_PORTS), real);
        snprintf(find, sizeof find, "127.0.0.1:%u", real);
        snprintf(replace, sizeof replace, "127.0.0.1:%u", port + i * STUDY_PORTS);
        edit(i == 0 ? l->c.s.path : l->study, l->study, find, replace);
    }
}

static void lossy_free(struct lossy *l)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        proxy_stop(&l->proxy[i]);
    scene_free(&l->c);
}

/*
 * Cuts a line after this many bytes: in the handshake, in the head of the upload, in each of its
 * parts.
 */
static const size_t cuts[] = {100, 700, 200000, 400000, 540000};

TEST(a_cut_client_goes_on_where_it_was)
{
    struct lossy l CLEAN(lossy_free);
    lossy_new(&l);
    for (unsigned server = 0; server < STUDY_SERVERS_MOST; server++)
        for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
            if (server != 1 && cuts[k] > 700)
                continue; /* only server 1 gets that much */
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
                proxy_set(&l.proxy[i], i == server ? cuts[k] : SIZE_MAX, false);
            assert_int_equal(SHARE_OF(&l.c, l.study, l.csv, "--key", l.key), 0);
            says(&l.c, "all three servers have stored the upload");
            /* not more than the upload, what was on its way, and a few handshakes */
            size_t all = atomic_load(&l.proxy[1].passed);
            assert_in_range(all, study_upload_bytes(l.c.s.study, 1),
                            study_upload_bytes(l.c.s.study, 1) + MESSAGE_PART_MAX + 8000);
            if (server == 1 && cuts[k] > 300000)
                says(&l.c, "% of it already");
            /* to start again */
            assert_int_equal(SHARE(&l.c, "--key", l.key, "--withdraw"), 0);
        }
}

TEST(a_killed_client_is_resumed_by_the_same_command)
{
    struct lossy l CLEAN(lossy_free);
    lossy_new(&l);
    for (unsigned server = 0; server < STUDY_SERVERS_MOST; server++)
        for (size_t k = 0; k < sizeof cuts / sizeof cuts[0]; k++) {
            if (server != 1 && cuts[k] > 700)
                continue;
            for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
                proxy_set(&l.proxy[i], i == server ? cuts[k] : SIZE_MAX, true);
            pid_t client = START(file(&l.c, "killed.log"), "share", l.study, l.csv, "--key", l.key);
            wait_until_reached(&l.proxy[server]);
            if (server == 1 && cuts[k] == 400000) {
                /* the first part is there, or will be: named in the status */
                const double end = support_deadline(10);
                do
                    assert_int_equal(SHARE(&l.c, "--key", l.key, "--status"), 0);
                while (!support_contains(file(&l.c, "share.log"),
                                         "server 1 (s1) has 262.1 kB of it") &&
                       support_again(end));
                says(&l.c, "server 1 (s1) has 262.1 kB of it");
                says(&l.c, "server 0 (s0) has stored its part");
                says(&l.c, "server 2 (s2) has deleted it: withdrawn"); /* the last one */
            }
            support_kill(&client);
            proxy_set(&l.proxy[server], SIZE_MAX, false);
            assert_int_equal(SHARE(&l.c, l.csv, "--key", l.key), 0);
            SHARE_SAYS(0, "  o1                   held by all three", &l.c, "--key", l.key,
                       "--status");
            assert_int_equal(SHARE(&l.c, "--key", l.key, "--withdraw"), 0);
        }
}

/*
 * A server that is told to end between two parts says goodbye; what it has stays, and the client
 * goes on.
 */
TEST(a_server_may_end_in_the_middle_of_an_upload)
{
    struct lossy l CLEAN(lossy_free);
    const char *a[7] = {"share"};
    lossy_new(&l);
    a[1] = l.study, a[2] = l.csv, a[3] = "--key", a[4] = l.key;
    proxy_set(&l.proxy[1], 400000, true);
    pid_t client = support_start(file(&l.c, "share.log"), a);
    wait_until_reached(&l.proxy[1]);
    assert_int_equal(support_stop(&l.c.server[1]), 0);
    start_server(&l.c, 1);
    proxy_set(&l.proxy[1], SIZE_MAX, false);
    assert_int_equal(support_wait(client, 60), 0);
    says(&l.c, "server 1 has 43 % of it already");
    assert_int_equal(check_receipt(&l.c, l.c.s.path, file(&l.c, "o1.test.receipt")), 0);
}

/* --- the hostile ------------------------------------------------------------------------------ */

/* Sends to a port what was sent there before; true if anything comes back except the greeting. */
static bool replay(uint16_t port, const struct bytes *said)
{
    char block[4096];
    size_t got = 0;
    ssize_t n;
    int fd = loopback(port, false);
    const struct timeval patience = {.tv_usec = 500000};
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)!send(fd, said->data, said->size, MSG_NOSIGNAL);
    while ((n = recv(fd, block, sizeof block, 0)) > 0)
        got += (size_t)n;
    close(fd);
    return got > 64 + 170; /* and WELCOME, which everybody gets */
}

/*
 * The recorded bytes of a whole upload mean nothing to a server without the keys of that
 * connection.
 */
TEST(a_replayed_upload_is_nothing)
{
    struct lossy l CLEAN(lossy_free);
    lossy_new(&l);
    const char *key = support_path(&l.c.s, "o0.key");
    assert_int_equal(SHARE_OF(&l.c, l.study, file(&l.c, "o0.csv"), "--key", key), 0);
    assert_int_equal(SHARE(&l.c, "--key", key, "--withdraw"), 0);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
            while (!atomic_load(&l.proxy[i].recorded))
                support_pause_ms(1);
            assert_true(l.proxy[i].said.size > 500);
            assert_false(replay((uint16_t)(l.c.s.port + i * STUDY_PORTS), &l.proxy[i].said));
        }
    SHARE_SAYS(0, "  o0                   withdrawn, ", &l.c, "--key", key, "--status");
    /* its owner's program may send it again, as often as it likes: it counts once */
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(SHARE(&l.c, file(&l.c, "o0.csv"), "--key", key), 0);
        SHARE_SAYS(0, "  o0                   held by all three, ", &l.c, "--key", key, "--status");
    }
}

/*
 * Servers know uploaders by their key alone: those who claim to be another are refused, and told
 * why.
 */
TEST(an_upload_under_anothers_name_is_refused)
{
    static const char *const part[] = {"    max_rows: 1000\n", "    max_rows: 1000\n"};
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2, .part = part));
    char keys[2][IDENTITY_TEXT_SIZE];
    start_servers(&c);
    for (unsigned i = 0; i < 2; i++)
        public_identity_text(&c.s.study->owner[i].key, keys[i]);
    const char *swapped = support_path(&c.s, "swapped.yaml");
    edit(c.s.path, swapped, keys[0], "HERE");
    edit(swapped, swapped, keys[1], keys[0]);
    edit(swapped, swapped, "HERE", keys[1]);
    /* o0's holder claims to be o1: the same terms, another roster */
    assert_int_not_equal(SHARE_OF(&c, swapped, file(&c, "o0.csv"), "--key", file(&c, "o0.key")), 0);
    EACH(says, &c, "server 0 (s0)", "is made for another owner; compare study files");
    assert_int_equal(access(file(&c, "o0.test.receipt"), F_OK), -1);
    SHARE_SAYS(0, "  o1                   nothing yet", &c, "--key", file(&c, "o1.key"),
               "--status");
    assert_int_equal(SHARE(&c, file(&c, "o1.csv"), "--key", file(&c, "o1.key")), 0);
    assert_int_equal(SHARE(&c, file(&c, "o0.csv"), "--key", file(&c, "o0.key")), 0);
    assert_int_equal(run_study(&c), 0);
}

/* --- what people see -------------------------------------------------------------------------- */

/* The longest line, not counting paths, which may have any length. */
static size_t widest(const char *text)
{
    size_t most = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\r\n");
        if (memchr(text, '/', n) == NULL && n > most)
            most = n;
        if (memchr(text, '/', n) == NULL && n > 80)
            print_error("%.*s\n", (int)n, text);
        text += n + (text[n] != '\0');
    }
    return most;
}

TEST(lines_fit_a_terminal_and_a_pipe_has_no_control_characters)
{
    struct lossy l CLEAN(lossy_free);
    char text[65536];
    struct bytes piped CLEAN(bytes_clear) = {0};
    int master, slave;
    support_needs(openpty(&master, &slave, NULL, NULL, NULL) == 0,
                  "no pseudo-terminals: mount /dev/pts");
    close(master);
    close(slave);
    lossy_new(&l);
    {
        const char *const a[] = {"trefoil", "share", l.c.s.path, l.csv, "--key", l.key, NULL};
        assert_int_equal(support_on_terminal(a, text, sizeof text), 0);
        EACH(support_says, text, "[########", "\033[K");
        assert_in_range(widest(text), 40, 80);
    }
    {
        const char *const a[] = {"trefoil", "share", l.c.s.path, "--key", l.key, "--status", NULL};
        assert_int_equal(support_on_terminal(a, text, sizeof text), 0);
        assert_in_range(widest(text), 20, 80);
    }
    assert_int_equal(SHARE(&l.c, l.csv, "--key", l.key), 0);
    OK(file_read(file(&l.c, "share.log"), 1 << 16, &piped, NULL));
    assert_null(memchr(piped.data, '\r', piped.size));
    assert_null(memchr(piped.data, '\033', piped.size));
    bytes_put_u8(&piped, 0);
    assert_in_range(widest((const char *)piped.data), 40, 80);
}

/* No server is there: what is refused never reaches one. */
TEST(a_batch_has_the_number_of_rows_that_was_agreed)
{
    static const char *const part[] = {
        "    max_rows: 900\n    batch: x\n    columns: [age, sex]\n    rows: 401\n",
        "    max_rows: 900\n    batch: x\n    columns: [ward, bmi, died]\n    rows: 401\n"};
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 2, .part = part));
    char csv[SUPPORT_PATH];
    const char *key = support_path(&c.s, "o0.key");
    support_study_file(&c.s, "o0.csv", csv); /* of 400 rows */
    const char *other = support_path(&c.s, "other.yaml");
    SHARE_SAYS(6, "has 400 rows, and the owners of its batch agreed on 401", &c, csv, "--key", key,
               "--retries", "0");
    assert_int_not_equal(access(file(&c, "o0.book"), F_OK), 0);
    for (unsigned i = 0; i < 2; i++) {
        const char *const edits[] = {
            "sex]\n    rows: 401\n", i == 0 ? "sex]\n    rows: 400\n" : "sex]\n",
            "died]\n    rows: 401\n", i == 0 ? "died]\n    rows: 400\n" : "died]\n", NULL};
        assert_true(support_edit(c.s.path, other, edits));
        assert_int_equal(SHARE_OF(&c, other, csv, "--key", key, "--dry-run"), 0);
        says(&c, i == 0 ? "Each of them must have 400 rows, as this table has."
                        : "must have 400 rows, as this table has: ask them.");
    }
}

TEST(mistakes_on_the_command_line)
{
    struct share_scene c CLEAN(scene_free) = scene_new(OPTIONS(.owners = 1));
    const char *key = support_path(&c.s, "o0.key");
    const char *csv = support_path(&c.s, "o0.csv");
    assert_int_equal(SHARE(&c, csv), 2);
    SHARE_SAYS(2, "needs the data", &c, "--key", key);
    assert_int_equal(SHARE(&c, csv, "--key", key, "--status"), 2);
    assert_int_equal(SHARE(&c, "--key", key, "--status", "--withdraw"), 2);
    assert_int_equal(SHARE(&c, "--key", key, "--withdraw", "--replace"), 2);
    assert_int_equal(SHARE(&c, csv, "--key", key, "--retries", "many"), 2);
}
