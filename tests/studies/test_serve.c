/*
 * trefoil serve as its operator and its enemies meet it, with real processes: the status pages,
 * where it listens, until when it takes uploads.
 */
#include "harness/cmocka.h"

#include "base/date.h"
#include "harness/process.h"
#include "netio/gate.h"
#include "parties/setting/upload.h"
#include "parties/study/study_ports.h"
#include "tests/support/caller.h"
#include "tests/support/socket.h"

#include <linux/capability.h>
#include <sodium.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define OWNERS 3

struct serve_house {
    struct support_study s;
    pid_t server[STUDY_SERVERS_MOST];
    uint16_t status; /* server i shows its status on this port + i */
};

static void start_with(struct serve_house *h, unsigned i, const char *study, const char *listen)
{
    char port[16];
    snprintf(port, sizeof port, "%u", h->status + i);
    unlink(file(h, "server%u.log", i));
    h->server[i] = START(file(h, "server%u.log", i), "serve", study, "--key", file(h, "s%u.key", i),
                         "--folder", file(h, "server%u", i), "--listen", listen, "--status", port);
    assert_true(support_wait_for(file(h, "server%u.log", i), "is ready", 60));
}

static void start(struct serve_house *h, unsigned i)
{
    start_with(h, i, h->s.path, "127.0.0.1");
}

static struct serve_house house_new(const struct study_options *o)
{
    struct serve_house h = {.s = support_study_of(o, &quiet)};
    h.status = support_ports(STUDY_SERVERS_MOST * STUDY_PORTS + STUDY_SERVERS_MOST);
    h.status = (uint16_t)(h.status + STUDY_SERVERS_MOST * STUDY_PORTS);
    for (unsigned i = 0; i < h.s.owners; i++)
        OK(support_csv(file(&h, "o%u.csv", i), h.s.study->domain, 300 + 100 * i, 10 + i));
    return h;
}

static void start_all(struct serve_house *h)
{
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start(h, i);
}

static void house_free(struct serve_house *h)
{
    assert_true(support_stop_all(h->server));
    support_study_free(&h->s);
}

static int share_with(struct serve_house *h, unsigned owner, const char *study)
{
    return COMMAND(file(h, "share%u.log", owner), 90, "share", study, file(h, "o%u.csv", owner),
                   "--key", file(h, "o%u.key", owner));
}

/* It can still be waited for. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static int share(struct serve_house *h, unsigned owner)
{
    return share_with(h, owner, h->s.path);
}

static int run_into(struct serve_house *h, const char *out)
{
    return ANEW(file(h, "run.log"), 60, "run", h->s.path, "--key", file(h, "a.key"), "--out",
                file(h, "%s", out));
}

static int run_study(struct serve_house *h)
{
    return run_into(h, "out");
}

/* A copy of the study file with one text replaced. */
static const char *altered(const struct serve_house *h, const char *from, const char *to)
{
    const char *path = file(h, "altered.yaml");
    assert_true(support_edit(h->s.path, path, (const char *const[]){from, to, NULL}));
    return path;
}

/* --- a plain client --------------------------------------------------------------------------- */

/* What a server's status port answers. */
static const char *ask(const struct serve_house *h, unsigned server, const char *request,
                       struct bytes *answer)
{
    return support_ask((uint16_t)(h->status + server), request, answer);
}

static void expect(const char *answer, const char *words)
{
    if (strstr(answer, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, answer);
}

static void expect_not(const char *answer, const char *words)
{
    if (strstr(answer, words) != NULL)
        fail_msg("\"%s\" is in:\n%s", words, answer);
}

/* The value of a line of /metrics that begins with `name` and a space. */
static double metric(const struct serve_house *h, unsigned server, const char *name)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    char line[128];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(ask(h, server, "GET /metrics", &answer), line);
    if (at == NULL)
        fail_msg("/metrics of server %u has no %s:\n%s", server, name, (char *)answer.data);
    return strtod(at + strlen(line), NULL);
}

static void wait_for_metric(const struct serve_house *h, unsigned server, const char *name,
                            double v)
{
    for (double end = support_deadline(20); metric(h, server, name) != v;)
        if (!support_again(end))
            fail_msg("%s of server %u is not %g", name, server, v);
}

/* Its upload is named once it has arrived, at most a second later. */
static void wait_for_page(const struct serve_house *h, unsigned server, const char *words)
{
    struct bytes answer CLEAN(bytes_clear) = {0};
    const double end = support_deadline(20);
    while (strstr(ask(h, server, "GET /", &answer), words) == NULL)
        if (!support_again(end))
            fail_msg("\"%s\" is not in:\n%s", words, (char *)answer.data);
}

TEST(the_operator_sees_how_it_goes)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = OWNERS));
    struct bytes answer CLEAN(bytes_clear) = {0};
    start_all(&h);
    expect(ask(&h, 0, "GET /healthz", &answer), "HTTP/1.1 200");
    expect((const char *)answer.data, "\r\n\r\nok\n");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_true(metric(&h, i, "trefoil_uploads{state=\"complete\"}") == 0);
        assert_true(metric(&h, i, "trefoil_owners") == OWNERS);
        assert_true(metric(&h, i, "trefoil_budget_rho_spent") == 0);
        assert_true(metric(&h, i, "trefoil_budget_rho") > 0);
    }
    wait_for_page(&h, 1, "o0</th><td><span class=\"waiting\">&ndash; nothing yet</span>");
    for (unsigned i = 0; i < OWNERS; i++)
        assert_int_equal(share(&h, i), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        wait_for_page(&h, i, "o2</th><td><span class=\"good\">&#10003; here</span>");
        assert_true(metric(&h, i, "trefoil_uploads{state=\"complete\"}") == OWNERS);
        assert_true(metric(&h, i, "trefoil_uploads{state=\"partial\"}") == 0);
        assert_true(metric(&h, i, "trefoil_messages_total") >= OWNERS);
        assert_true(metric(&h, i, "trefoil_peer_bytes_total{direction=\"sent\"}") == 0);
    }
    assert_int_equal(run_study(&h), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        double limit = metric(&h, i, "trefoil_budget_rho");
        double spent = metric(&h, i, "trefoil_budget_rho_spent");
        assert_true(spent > 0.9 * limit && spent <= limit);
        assert_true(metric(&h, i, "trefoil_session_open") == 0);
        assert_true(metric(&h, i, "trefoil_round") == 3);
        assert_true(metric(&h, i, "trefoil_requests_failed_total") == 0);
        assert_true(metric(&h, i, "trefoil_requests_total") >= 5);
        assert_true(metric(&h, i, "trefoil_peer_bytes_total{direction=\"sent\"}") > 10000);
    }
    /* the page also says so, and needs nothing else */
    const char *text = ask(&h, 1, "GET /", &answer);
    expect(text, "Server 1, s1");
    expect(text, "3 of 3 owners");
    expect(text, "none in progress");
    expect(text, "default-src 'none'");
    expect_not(text, "<script");
    expect_not(text, "src=");
    expect_not(text, "href=");
    expect_not(text, "://");
    /* a neighbour that leaves is reported missing, and reported back when it returns */
    wait_for_page(&h, 0, "<p class=\"state good\"><b>&#10003;</b> healthy</p>");
    assert_int_equal(support_stop(&h.server[2]), 0);
    for (unsigned i = 0; i < 2; i++) {
        wait_for_metric(&h, i, "trefoil_neighbour_connected{server=\"s2\"}", 0);
        assert_true(metric(&h, i,
                           i == 0 ? "trefoil_neighbour_connected{server=\"s1\"}"
                                  : "trefoil_neighbour_connected{server=\"s0\"}") == 1);
        assert_true(metric(&h, i, "trefoil_healthy") == 1);
    }
    expect(ask(&h, 0, "GET /", &answer), "healthy, but not connected to s2: runs wait");
    start(&h, 2);
    wait_for_page(&h, 0, "<p class=\"state good\"><b>&#10003;</b> healthy</p>");
}

TEST(the_status_port_bears_what_comes)
{
    char long_line[40000];
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1));
    struct bytes answer CLEAN(bytes_clear) = {0};
    int idle[40];
    start_all(&h);
    expect(ask(&h, 0, "GET /secret", &answer), "HTTP/1.1 404");
    expect(ask(&h, 0, "POST /metrics", &answer), "HTTP/1.1 405");
    expect(ask(&h, 0, "HEAD /metrics", &answer), "HTTP/1.1 200");
    expect_not((const char *)answer.data, "trefoil_owners");
    expect(ask(&h, 0, "GET /../server0/audit.log", &answer), "HTTP/1.1 404");
    /* a line that is too long, and something that is not HTTP */
    memset(long_line, 'x', sizeof long_line);
    for (unsigned k = 0; k < 2; k++) {
        int fd = support_connect("127.0.0.1", h.status);
        assert_true(fd >= 0);
        if (k == 0)
            assert_int_equal(write(fd, "GET /", 5), 5);
        assert_true(write(fd, long_line, sizeof long_line) != 0);
        (void)support_answer(fd, &answer);
        expect_not((const char *)answer.data, "HTTP/1.1 200");
    }
    /* more silent connections than it takes: it stays up, and serves again when they are gone */
    for (unsigned k = 0; k < 40; k++)
        idle[k] = support_connect("127.0.0.1", h.status);
    assert_int_equal(share(&h, 0), 0);
    for (unsigned k = 0; k < 40; k++)
        if (idle[k] >= 0)
            close(idle[k]);
    for (double end = support_deadline(15); support_again(end);) {
        int fd = support_connect("127.0.0.1", h.status);
        assert_true(fd >= 0);
        if (write(fd, "GET /healthz HTTP/1.0\r\n\r\n", 25) == 25)
            (void)support_answer(fd, &answer);
        else
            close(fd);
        if (answer.size > 1)
            break;
    }
    expect((const char *)answer.data, "200");
    /* it is bound to one address of the loopback */
    assert_int_equal(support_connect("127.0.0.2", h.status), -1);
}

TEST(wrong_addresses_are_usage)
{
    static const char *const wrong[][2] = {
        {"--status", "nowhere"},         {"--status", "0"},           {"--status", "127.0.0.1:"},
        {"--status", "localhost:9100"},  {"--status", "1.2.3:70000"}, {"--listen", "127.0.0.1:0"},
        {"--listen", "127.0.0.1:65532"}, {"--listen", "[::1"},        {"--listen", ":7100"},
    };
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1));
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        EXPECT(2, file(&h, "server0.log"), 10, "serve", h.s.path, "--key", file(&h, "s0.key"),
               "--folder", file(&h, "server0"), wrong[k][0], wrong[k][1],
               strcmp(wrong[k][0], "--listen") == 0 ? NULL : "--listen", "127.0.0.1");
    }
}

/* Where a router passes ports on, a server listens elsewhere than others dial. */
TEST(a_server_may_listen_elsewhere)
{
    struct serve_house h CLEAN(house_free) = house_new(
        OPTIONS(.owners = 1, .round_s = support_slow(5)));
    char listen[64], from[64], to[64];
    uint16_t elsewhere = support_ports(STUDY_PORTS);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", elsewhere);
    start_with(&h, 0, h.s.path, listen);
    start(&h, 1);
    start(&h, 2);
    /* nobody listens at the endpoint; those who know the other address get in */
    assert_int_equal(support_connect("127.0.0.1", h.s.port), -1);
    snprintf(from, sizeof from, "tcp://127.0.0.1:%u\n", h.s.port);
    snprintf(to, sizeof to, "tcp://127.0.0.1:%u\n", elsewhere);
    assert_int_equal(share_with(&h, 0, altered(&h, from, to)), 0);
}

/* --- memory ----------------------------------------------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) &&                                                              \
    !defined(__SANITIZE_THREAD__) /* there mlockall() does nothing */

/* A line of /proc/PID/status, in kB. */
static unsigned long kilobytes(pid_t pid, const char *word)
{
    char path[64], line[128];
    unsigned long kb = 0;
    size_t n = strlen(word);
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, word, n) == 0 && line[n] == ':')
            kb = strtoul(line + n + 1, NULL, 10);
    fclose(f);
    return kb;
}

static bool is_warned(struct serve_house *h, unsigned i)
{
    return support_contains(file(h, "server%u.log", i),
                            "copies of its keys could be written to swap");
}

/* In a process of its own, which a low limit binds, though root may otherwise pass it. */
static pid_t start_limited(struct serve_house *h, unsigned i)
{
    const struct rlimit limit = {65536, 65536};
    const pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(1);
    start(h, i);
    _exit(support_wait(h->server[i], 60));
}

TEST(keys_are_locked_or_the_operator_is_warned)
{
    const bool may = geteuid() == 0 && prctl(PR_CAPBSET_READ, CAP_IPC_LOCK, 0, 0, 0) == 1;
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1, .round_s = 1));
    start(&h, 0);
    assert_int_equal(kilobytes(h.server[0], "VmLck") >= kilobytes(h.server[0], "VmRSS"),
                     !is_warned(&h, 0));
    assert_true(!may || !is_warned(&h, 0));
    pid_t limited = start_limited(&h, 1);
    assert_true(support_wait_for(file(&h, "server1.log"), "is ready", 60));
    assert_true(is_warned(&h, 1));
    kill(limited, SIGKILL);
    support_wait(limited, 10);
}
#endif

TEST(late_uploads_are_refused)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1));
    const char *late = altered(&h, "deadlines: {", "deadlines: {uploads: 2026-01-01T00:00:00Z, ");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        start_with(&h, i, late, "127.0.0.1");
    ENDS(share(&h, 0), 5, file(&h, "share0.log"), "taken until 2026-01-01T00:00:00Z");
    assert_true(metric(&h, 0, "trefoil_uploads{state=\"partial\"}") == 0);
    assert_true(metric(&h, 0, "trefoil_messages_refused_total") >= 1);
    /* the parts of one that began in time are also too late */
    struct support_caller c CLEAN(support_caller_free) = support_caller_new(&h.s, "o0.key", 1);
    support_caller_begin(&c, MESSAGE_PART);
    assert_int_equal(support_call(&c), ERR_REFUSED);
    expect(c.reply.text, "uploads were taken until 2026-01-01T00:00:00Z; whoever keeps");
}

/* --- messages as a program of somebody else's sends them -------------------------------------- */

static enum err ask_status(struct support_caller *c)
{
    support_caller_begin(c, MESSAGE_STATUS);
    return support_call(c);
}

/* As many at a time as a program may have under way, so that a slow machine is fast enough. */
static void ask_many(struct support_caller *c, unsigned *served, unsigned *refused)
{
    for (unsigned k = 0; k < GATE_REPLIES / 2; k++) {
        support_caller_begin(c, MESSAGE_STATUS);
        support_caller_send(c);
    }
    for (unsigned k = 0; k < GATE_REPLIES / 2; k++) {
        const enum err e = support_caller_hear(c);
        *served += e == ERR_OK;
        *refused += e == ERR_AGAIN;
        if (e == ERR_AGAIN)
            assert_string_equal(c->reply.text, "too many messages from this key");
        else
            OK(e);
    }
}

#define ALLOWED 2000

/*
 * 2000 messages at once and 100 a second after that are allowed to any program of ours; the rest is
 * refused.
 */
TEST(a_key_that_floods_is_slowed_and_others_are_served)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = OWNERS));
    unsigned served = 0, refused = 0;
    start_all(&h);
    struct support_caller c CLEAN(support_caller_free) = support_caller_new(&h.s, "o0.key", 0);
    while (refused == 0) {
        ask_many(&c, &served, &refused);
        assert_true(served < 100 * ALLOWED);
    }
    assert_true(served >= ALLOWED);
    /* meanwhile */
    pid_t other = START(file(&h, "share1.log"), "share", h.s.path, file(&h, "o1.csv"), "--key",
                        file(&h, "o1.key"));
    while (!has_ended(other))
        ask_many(&c, &served, &refused);
    assert_int_equal(support_wait(other, 10), 0);
    assert_true(metric(&h, 0, "trefoil_messages_refused_total") >= refused);
    /* it is served again after some time */
    for (double end = support_deadline(10); ask_status(&c) != ERR_OK;)
        assert_true(support_again(end));
    assert_int_equal(share(&h, 0), 0);
}

TEST(an_upload_of_another_version_is_told_which_is_taken)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1));
    start_all(&h);
    struct support_caller c CLEAN(support_caller_free) = support_caller_new(&h.s, "o0.key", 1);
    support_caller_begin(&c, MESSAGE_UPLOAD);
    bytes_put(&c.message, h.s.study->terms.digest, 32);
    bytes_put_u8(&c.message, UPLOAD_VERSION + 1);
    bytes_put(&c.message, "whatever that version has", 25);
    assert_int_equal(support_call(&c), ERR_MISMATCH);
    expect(c.reply.text, "the upload is of version 3, and this server (trefoil ");
    expect(c.reply.text, "takes version 2; share with the version that the servers run");
    expect_not(c.reply.text, "terms");
    file_says(file(&h, "server1.log"), "the upload is of version 3");
    assert_true(metric(&h, 1, "trefoil_uploads{state=\"partial\"}") == 0);
    /* an answer of another version is not accepted */
    OK(ask_status(&c));
    c.message.data[0]++;
    assert_int_equal(reply_read(&c.reply, &c.message), ERR_MISMATCH);
    expect(c.reply.text, "its answer is of version 2, and this trefoil (");
    expect(c.reply.text, "reads version 1; install the version that the servers run");
}

/* --- backup, restore, purge ------------------------------------------------------------------- */

static int two(struct serve_house *h, const char *command, const char *from, const char *to)
{
    return ANEW(file(h, "two.log"), 30, command, from, to);
}

static void flip_byte(const char *path, long at)
{
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    int c = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(c ^ 0x40, f), c ^ 0x40);
    assert_int_equal(fclose(f), 0);
}

TEST(a_backup_of_a_running_server_comes_back)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = OWNERS));
    start_all(&h);
    assert_int_equal(share(&h, 0), 0);
    assert_int_equal(share(&h, 1), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(two(&h, "backup", file(&h, "server%u", i), file(&h, "backup%u", i)), 0);
    file_says(file(&h, "two.log"), "holds 2 uploads and 0 debits");
    /* nothing is replaced, and no part of a file remains */
    assert_int_equal(two(&h, "backup", file(&h, "server0"), file(&h, "backup0")), 1);
    file_says(file(&h, "two.log"), "there already");
    assert_int_equal(access(file(&h, "backup0.partial"), F_OK), -1);
    assert_int_equal(two(&h, "backup", file(&h, "nowhere"), file(&h, "backup9")), 1);
    assert_int_equal(access(file(&h, "backup9"), F_OK), -1);
    /* the server keeps running meanwhile; later data are not in it */
    assert_int_equal(share(&h, 2), 0);
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++) {
        assert_int_equal(support_stop(&h.server[i]), 0);
        assert_int_equal(two(&h, "restore", file(&h, "backup%u", i), file(&h, "server%u", i)), 1);
        assert_int_equal(two(&h, "restore", file(&h, "backup%u", i), file(&h, "restored%u", i)), 0);
        assert_int_equal(rename(file(&h, "server%u", i), file(&h, "before%u", i)), 0);
        assert_int_equal(rename(file(&h, "restored%u", i), file(&h, "server%u", i)), 0);
        start(&h, i);
        assert_true(metric(&h, i, "trefoil_uploads{state=\"complete\"}") == 2);
    }
    assert_int_equal(share(&h, 2), 0);
    assert_int_equal(run_study(&h), 0);
    /* a damaged one is refused, and so is another file */
    assert_int_equal(two(&h, "backup", file(&h, "server0"), file(&h, "later")), 0);
    file_says(file(&h, "two.log"), "holds 3 uploads and 4 debits");
    flip_byte(file(&h, "later"), 20);
    assert_int_not_equal(two(&h, "restore", file(&h, "later"), file(&h, "again")), 0);
    assert_int_not_equal(two(&h, "restore", file(&h, "run.log"), file(&h, "again")), 0);
    assert_int_equal(access(file(&h, "again/store.sqlite"), F_OK), -1);
}

/*
 * A server whose neighbours have gone on since its backup takes no part until it has been brought
 * up to date.
 */
TEST(a_server_that_is_behind_is_refused)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 1));
    start_all(&h);
    assert_int_equal(share(&h, 0), 0);
    assert_int_equal(two(&h, "backup", file(&h, "server1"), file(&h, "backup1")), 0);
    assert_int_equal(run_study(&h), 0);
    assert_int_equal(support_stop(&h.server[1]), 0);
    assert_int_equal(rename(file(&h, "server1"), file(&h, "lost1")), 0);
    assert_int_equal(two(&h, "restore", file(&h, "backup1"), file(&h, "server1")), 0);
    start(&h, 1);
    assert_int_not_equal(run_into(&h, "out2"), 0);
    file_says(file(&h, "run.log"), "edger");
    assert_true(metric(&h, 1, "trefoil_budget_rho_spent") == 0);
    assert_int_equal(support_stop(&h.server[1]), 0);
    EXPECT(0, file(&h, "recover.log"), 60, "recover", h.s.path, "--key", file(&h, "s1.key"),
           "--folder", file(&h, "server1"));
    start(&h, 1);
    for (double end = support_deadline(10);
         metric(&h, 1, "trefoil_budget_rho_spent") != metric(&h, 0, "trefoil_budget_rho_spent");)
        assert_true(support_again(end)); /* shown once its thread has read the ledger */
    assert_int_equal(run_into(&h, "out3"), 5);
}

static int recover(struct serve_house *h, unsigned i)
{
    return ANEW(file(h, "recover.log"), 60, "recover", h->s.path, "--key", file(h, "s%u.key", i),
                "--folder", file(h, "server%u", i));
}

/*
 * Rewrites the last entry of a stopped server's ledger like somebody who knows the format: its
 * chain holds.
 */
static void forge_last_debit(const char *folder)
{
    static const char label[] = "trefoil-ledger-2";
    char path[SUPPORT_PATH + 16];
    crypto_hash_sha256_state hash;
    uint8_t entry[8192], head[32];
    sqlite3 *db;
    sqlite3_stmt *row;
    snprintf(path, sizeof path, "%s/store.sqlite", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT b.entry, a.head, b.number FROM ledger a, ledger b "
                                        "WHERE a.number + 1 = b.number ORDER BY b.number DESC",
                                        -1, &row, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    int n = sqlite3_column_bytes(row, 0);
    assert_in_range(n, 1, sizeof entry);
    memcpy(entry, sqlite3_column_blob(row, 0), (size_t)n);
    memcpy(head, sqlite3_column_blob(row, 1), sizeof head);
    int number = sqlite3_column_int(row, 2);
    sqlite3_finalize(row);
    entry[20] ^= 1; /* the digest of the request */
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, (const uint8_t *)label, sizeof label);
    crypto_hash_sha256_update(&hash, head, sizeof head);
    crypto_hash_sha256_update(&hash, entry, (unsigned long long)n);
    crypto_hash_sha256_final(&hash, head);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "UPDATE ledger SET entry = ?, head = ? WHERE number = ?",
                                        -1, &row, NULL),
                     SQLITE_OK);
    sqlite3_bind_blob(row, 1, entry, n, SQLITE_STATIC);
    sqlite3_bind_blob(row, 2, head, sizeof head, SQLITE_STATIC);
    sqlite3_bind_int(row, 3, number);
    assert_int_equal(sqlite3_step(row), SQLITE_DONE);
    sqlite3_finalize(row);
    sqlite3_close(db);
}

static void exchange_folder(struct serve_house *h, unsigned i, const char *away, const char *by)
{
    assert_int_equal(support_stop(&h->server[i]), 0);
    assert_int_equal(rename(file(h, "server%u", i), file(h, "%s", away)), 0);
    assert_int_equal(two(h, "restore", file(h, "%s", by), file(h, "server%u", i)), 0);
}

/* Only what both neighbours say is taken over; if they disagree, nothing is. */
TEST(neighbours_that_disagree_recover_nobody)
{
    struct serve_house h CLEAN(house_free) = house_new(
        OPTIONS(.owners = 1, .round_s = support_slow(10), .connect_s = support_slow(5)));
    start_all(&h);
    assert_int_equal(share(&h, 0), 0);
    for (unsigned i = 1; i < STUDY_SERVERS_MOST; i++)
        assert_int_equal(two(&h, "backup", file(&h, "server%u", i), file(&h, "old%u", i)), 0);
    assert_int_equal(run_study(&h), 0);
    assert_int_equal(two(&h, "backup", file(&h, "server2"), file(&h, "new2")), 0);
    exchange_folder(&h, 1, "lost1", "old1");
    /* the other neighbour's folder was altered */
    exchange_folder(&h, 2, "lost2", "new2");
    forge_last_debit(file(&h, "server2"));
    start(&h, 2);
    assert_int_equal(recover(&h, 1), 3);
    file_says(file(&h, "recover.log"), "servers 0 and 2 disagree on debit 4, which is not");
    /* or it is also an old one */
    exchange_folder(&h, 2, "forged2", "old2");
    start(&h, 2);
    ENDS(recover(&h, 1), 3, file(&h, "recover.log"),
         "server 0 has 4 debits and server 2 only 0: that one was restored");
    /* or does not start, since its log was altered */
    exchange_folder(&h, 2, "old2now", "new2");
    flip_byte(file(&h, "server2/audit.log"), 900);
    EXPECT(6, file(&h, "altered.log"), 30, "serve", h.s.path, "--key", file(&h, "s2.key"),
           "--folder", file(&h, "server2"));
    file_says(file(&h, "altered.log"), "audit.log:");
    ENDS(recover(&h, 1), 4, file(&h, "recover.log"), "server 2 (s2) does not give its ledger");
    /* none of this has changed anything: with two that agree all is well */
    assert_int_equal(rename(file(&h, "server2"), file(&h, "altered2")), 0);
    assert_int_equal(two(&h, "restore", file(&h, "new2"), file(&h, "server2")), 0);
    start(&h, 2);
    ENDS(recover(&h, 1), 0, file(&h, "recover.log"), "took over debits 1 to 4");
    /* without a backup, in an empty folder; a mistyped folder is not created */
    assert_int_equal(rename(file(&h, "server1"), file(&h, "recovered1")), 0);
    ENDS(recover(&h, 1), 1, file(&h, "recover.log"), "does not exist: restore it from a backup");
    assert_int_equal(mkdir(file(&h, "server1"), 0700), 0);
    ENDS(recover(&h, 1), 0, file(&h, "recover.log"), "took over debits 1 to 4");
    start(&h, 1);
    assert_int_equal(share(&h, 0), 0);
}

static int serve_purge(struct serve_house *h, unsigned i)
{
    return ANEW(file(h, "purge.log"), 30, "serve", h->s.path, "--key", file(h, "s%u.key", i),
                "--folder", file(h, "server%u", i), "--purge");
}

/* All sealed uploads, one after another. */
static void sealed_of(const char *path, struct bytes *out)
{
    sqlite3 *db;
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sealed FROM uploads", -1, &row, NULL),
                     SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW)
        bytes_put(out, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
}

static int check_statement(struct serve_house *h, const char *study, const char *statement)
{
    return ANEW(file(h, "check.log"), 30, "check", study, "--statement", statement);
}

TEST(what_is_purged_is_gone_and_signed_for)
{
    struct serve_house h CLEAN(house_free) = house_new(OPTIONS(.owners = 2));
    struct bytes before CLEAN(bytes_clear) = {0}, after CLEAN(bytes_clear) = {0};
    start_all(&h);
    assert_int_equal(share(&h, 0), 0);
    assert_int_equal(share(&h, 1), 0);
    /* not while it runs */
    assert_int_equal(serve_purge(&h, 1), 1);
    assert_int_equal(support_stop(&h.server[1]), 0);
    sealed_of(file(&h, "server1/store.sqlite"), &before);
    assert_true(before.size > 200);
    assert_int_equal(serve_purge(&h, 1), 0);
    OK(file_read(file(&h, "server1/store.sqlite"), 1 << 24, &after, &quiet));
    for (size_t at = 0; at + 32 <= before.size; at += 32)
        assert_null(memmem(after.data, after.size, before.data + at, 32));
    assert_int_equal(access(file(&h, "server1/store.sqlite-wal"), F_OK), -1);
    /* doing it again gives the same statement; the study is over here */
    assert_int_equal(rename(file(&h, "server1/purge.txt"), file(&h, "first.txt")), 0);
    assert_int_equal(serve_purge(&h, 1), 0);
    OK(file_read(file(&h, "first.txt"), 1 << 20, &before, &quiet));
    OK(file_read(file(&h, "server1/purge.txt"), 1 << 20, &after, &quiet));
    SAME_BYTES(&before, after.data, after.size);
    EXPECT(5, file(&h, "serve.log"), 30, "serve", h.s.path, "--key", file(&h, "s1.key"), "--folder",
           file(&h, "server1"));
    file_says(file(&h, "serve.log"), "have been purged");
    /* an owner checks it, and notices any change */
    assert_int_equal(check_statement(&h, h.s.path, file(&h, "first.txt")), 0);
    EACH(file_says, file(&h, "check.log"), "Server 1 (s1) states", "  o1\n");
    for (long at = 0; at < (long)before.size; at += 41) {
        flip_byte(file(&h, "first.txt"), at);
        assert_int_equal(check_statement(&h, h.s.path, file(&h, "first.txt")) != 0, 1);
        flip_byte(file(&h, "first.txt"), at);
    }
    assert_int_equal(
        check_statement(&h, altered(&h, "rounds: 3", "rounds: 4"), file(&h, "first.txt")), 3);
}

TEST(nothing_is_purged_before_its_time)
{
    struct serve_house h CLEAN(house_free) = house_new(
        OPTIONS(.owners = 1, .more = "retain_days: 30\n"));
    struct bytes page CLEAN(bytes_clear) = {0};
    const int64_t before = date_now();
    start_all(&h);
    assert_true(metric(&h, 0, "trefoil_purge_due_timestamp_seconds") == 0);
    assert_int_equal(share(&h, 0), 0);
    double due = metric(&h, 0, "trefoil_purge_due_timestamp_seconds") - 30.0 * 86400;
    assert_true(due >= (double)before && due <= (double)date_now());
    expect(ask(&h, 0, "GET /", &page), "due to be purged on 20");
    assert_int_equal(support_stop(&h.server[0]), 0);
    ENDS(serve_purge(&h, 0), 5, file(&h, "purge.log"), "cannot be purged yet");
    assert_int_equal(access(file(&h, "server0/purge.txt"), F_OK), -1);
    /* nor in a folder that is mistyped: a statement that nothing was there would mislead owners */
    EXPECT(2, file(&h, "purge.log"), 30, "serve", h.s.path, "--key", file(&h, "s0.key"), "--folder",
           file(&h, "serverO"), "--purge");
    file_says(file(&h, "purge.log"), "name the folder with which this server has run");
    assert_int_equal(access(file(&h, "serverO"), F_OK), -1);
    start(&h, 0);
    assert_true(metric(&h, 0, "trefoil_uploads{state=\"complete\"}") == 1);
}
