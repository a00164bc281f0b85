/*
 * parties/server/status.h and http.h: what the operator is told about a server in every state, and
 * where.
 */
#include "harness/cmocka.h"

#include "base/clock.h"
#include "base/date.h"
#include "harness/study.h"
#include "parties/server/http.h"
#include "tests/support/socket.h"

#include <sys/socket.h>

struct status_room {
    struct study study;
    struct status status;
    struct bytes text;
    struct study_owner owner[5];
    struct status_owner upload[5];
};

static void room_new(struct status_room *r)
{
    memset(r, 0, sizeof *r);
    snprintf(r->study.name, sizeof r->study.name, "cities");
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        snprintf(r->study.server[i].name, sizeof r->study.server[i].name, "%s",
                 (const char *const[]){"north", "east", "west"}[i]);
    r->study.owners = 5;
    r->study.servers = 3;
    r->study.owner = r->owner;
    for (unsigned i = 0; i < 5; i++)
        snprintf(r->owner[i].name, sizeof r->owner[i].name, "o%u", i);
    r->status.owner = r->upload;
    r->status.study = &r->study;
    r->status.index = 1;
    r->status.started_ms = clock_now_ms();
    atomic_store(&r->status.front_ms, clock_now_ms());
}

static const char *made(struct status_room *r,
                        enum err (*make)(const struct status *, struct bytes *))
{
    bytes_clear(&r->text);
    OK(make(&r->status, &r->text));
    bytes_put_u8(&r->text, 0);
    return (const char *)r->text.data;
}

static void expect(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

static void expect_ill(struct status_room *r, const char *words)
{
    char why[STATUS_WHY_SIZE];
    assert_int_equal(status_healthy(&r->status, why), words == NULL);
    expect(why, words != NULL ? words : "ok");
    expect(made(r, status_page),
           words != NULL ? words : "<p class=\"state good\"><b>&#10003;</b> healthy</p>");
    expect((char *)r->text.data, words != NULL ? "<p class=\"state bad\"><b>&#10007;</b> "
                                               : "<title>&#10003; east, cities</title>");
    expect(made(r, status_metrics), words != NULL ? "\ntrefoil_healthy 0" : "\ntrefoil_healthy 1");
}

TEST(a_server_that_is_ill_says_of_what)
{
    const int64_t long_ago = 1000000000; /* the number's first digits stay for a while */
    struct status_room r;
    room_new(&r);
    expect_ill(&r, NULL);
    atomic_store(&r.status.front_ms, clock_now_ms() - long_ago);
    expect_ill(&r, "the gate has not been served for 1000");
    atomic_store(&r.status.guard, ERR_REFUSED);
    expect_ill(&r, "too many checks were broken off: this server takes part in no run; see the "
                   "log, and trefoil recover --resume");
    atomic_store(&r.status.guard, ERR_CHEAT);
    expect_ill(&r, "a check failed: this server takes part in no run; see the log, and trefoil "
                   "recover --resume");
    expect(made(&r, status_metrics), "\ntrefoil_stopped 1\n");
    atomic_store(&r.status.store_fails, true);
    expect_ill(&r, "the store cannot be written; is the disk full?");
    atomic_store(&r.status.worker_ended, true);
    expect_ill(&r, "the thread that computes has ended; see the log");
    bytes_clear(&r.text);
}

TEST(the_page_has_what_is_going_on)
{
    struct status_room r;
    char words[64];
    room_new(&r);
    expect(made(&r, status_page), "none in progress");
    expect((char *)r.text.data, "<p>Study cities, security: semi-honest</p>");
    r.study.security = STUDY_ABORT;
    expect(made(&r, status_page), "<p>Study cities, security: abort</p>");
    expect(made(&r, status_metrics), ",security=\"abort\",version=");
    expect(made(&r, status_page), "none in progress");
    assert_null(strstr((char *)r.text.data, "taken until"));
    assert_null(strstr((char *)r.text.data, "in part"));
    atomic_store(&r.status.uploads, 3);
    atomic_store(&r.status.uploads_partial, 2);
    atomic_store(&r.status.session, true);
    atomic_store(&r.status.round, 7);
    atomic_store(&r.status.rho_spent, 9); /* more than there is: the bar still ends */
    atomic_store(&r.status.rho_limit, 3);
    r.study.uploads_until = 4102444800; /* 2100 */
    atomic_store(&r.status.purge_due, date_now() + 100);
    expect(made(&r, status_page), "3 of 5 owners, 2 in part");
    expect((char *)r.text.data, "in progress, round 7");
    expect((char *)r.text.data, "taken until 2100-01-01T00:00:00Z, for ");
    expect((char *)r.text.data, " days more</p>");
    expect((char *)r.text.data, "style=\"width:60.0%\"");
    expect((char *)r.text.data, "style=\"width:100.0%\"");
    struct words_text date = date_text(date_now() + 100);
    date.text[16] = '\0'; /* without the seconds */
    snprintf(words, sizeof words, "due to be purged on %s", date.text);
    expect((char *)r.text.data, words);
    atomic_store(&r.status.purge_due, 1700000000);
    expect(made(&r, status_page),
           "due to be purged since 2023-11-14T22:13:20Z: trefoil serve --purge");
    r.study.uploads_until = 1700000000;
    expect(made(&r, status_page), "none are taken any more: the deadline was 2023-11-14T22:13:20Z");
    bytes_clear(&r.text);
}

/* Missing owners come first; a state is a word and a sign, not only a colour. */
TEST(owners_are_named_with_what_is_here)
{
    static const struct {
        enum upload_state state;
        const char *says;
    } states[5] = {
        {UPLOAD_COMPLETE, "<span class=\"good\">&#10003; here</span><br><span class=\"when\">"
                          "2023-11-14T22:13:20Z</span>"},
        {UPLOAD_NOTHING, "<span class=\"waiting\">&ndash; nothing yet</span></td>"},
        {UPLOAD_INCOMPLETE, "<span class=\"waiting\">&hellip; in part, 45.2 kB</span>"},
        {UPLOAD_WITHDRAWN, "<span class=\"waiting\">&ndash; withdrawn</span>"},
        {UPLOAD_COMPLETE, "<span class=\"good\">&#10003; here</span>"},
    };
    struct upload_entry held[5] = {{0}};
    struct status_room r;
    room_new(&r);
    for (unsigned i = 0; i < 5; i++)
        held[i] = (struct upload_entry){
            .state = states[i].state, .time = 1700000000, .bytes = 45200};
    status_note_owners(&r.status, held);
    const char *at = made(&r, status_page);
    for (unsigned i = 0; i < 5; i++) {
        static const unsigned order[5] = {1, 2, 3, 0, 4};
        char words[256];
        snprintf(words, sizeof words, "<th scope=\"row\">o%u</th><td>%s", order[i],
                 states[order[i]].says);
        at = strstr(at, words);
        if (at == NULL)
            fail_msg("%s is not in its place in:\n%s", words, (char *)r.text.data);
    }
    /* one that is left out, until another arrives */
    atomic_store(&r.status.owner[4].left_out, true);
    for (unsigned again = 0; again < 2; again++) {
        static const char *const number[] = {"trefoil_uploads_left_out 1\n",
                                             "trefoil_uploads_left_out 0\n"};
        assert_int_equal(strstr(made(&r, status_page),
                                "<span class=\"bad\">&#10007; here, left out: it is not sorted by "
                                "person</span>") != NULL,
                         again == 0);
        support_says(made(&r, status_metrics), number[again]);
        status_note_owners(&r.status, held);
        support_says(made(&r, status_metrics), number[again]);
        held[4].time++;
        status_note_owners(&r.status, held);
    }
    bytes_clear(&r.text);
}

TEST(neighbours_are_told_and_missed)
{
    static const char whole[] = "<p class=\"state good\"><b>&#10003;</b> healthy</p>";
    struct status_room r;
    room_new(&r);
    expect(made(&r, status_page), "server 0, north: not looked at yet");
    expect((char *)r.text.data, whole);
    for (unsigned p = 0; p < 2; p++) {
        atomic_store(&r.status.neighbour[p].since, 1700000000);
        atomic_store(&r.status.neighbour[p].connected, true);
    }
    expect(made(&r, status_page), "<div class=\"good\">&#10003; server 2, west: connected</div>"
                                  "<span class=\"when\">since 2023-11-14T22:13:20Z</span>");
    expect((char *)r.text.data, whole);
    atomic_store(&r.status.neighbour[NET_PREV].connected, false);
    expect(made(&r, status_page), "<div class=\"waiting\">! server 0, north: not connected</div>");
    expect((char *)r.text.data, "<p class=\"state waiting\"><b>!</b> healthy, but not connected to "
                                "north: runs wait</p>");
    expect(made(&r, status_metrics), "\ntrefoil_neighbour_connected{server=\"north\"} 0\n"
                                     "trefoil_neighbour_connected{server=\"west\"} 1\n");
    expect((char *)r.text.data, "\ntrefoil_healthy 1");
    atomic_store(&r.status.neighbour[NET_NEXT].connected, false);
    expect(made(&r, status_page), "not connected to north and west: runs wait</p>");
    atomic_store(&r.status.store_fails, true); /* problems here come first */
    expect(made(&r, status_page), "<p class=\"state bad\">");
    bytes_clear(&r.text);
}

/* --- where ------------------------------------------------------------------------------------ */

#define LONG "1111111111111111111111111111111111111111111111111111111111111111"

static const struct {
    const char *where;
    enum err e;
    const char *says;
} places[] = {
    {"", ERR_USAGE, "--status is \"\"; write PORT, ADDRESS:PORT or [ADDRESS]:PORT, such as 9100"},
    {":9100", ERR_USAGE, "write PORT"},
    {"[]:9100", ERR_USAGE, "write PORT"},
    {"[::1:9100", ERR_USAGE, "write PORT"},
    {"[::1]", ERR_USAGE, "write PORT"},
    {"9100x", ERR_USAGE, "write PORT"},
    {"-1", ERR_USAGE, "write PORT"},
    {"0", ERR_USAGE, "write PORT"},
    {"65536", ERR_USAGE, "write PORT"},
    {"18446744073709560716", ERR_USAGE, "write PORT"},
    {LONG ":9100", ERR_USAGE, "write PORT"},
    {"here:9100", ERR_USAGE, "write PORT"},
    /* an address reserved for documentation */
    {"192.0.2.1:9100", ERR_SYSTEM, "have no password; 192.0.2.1:9100 may be reached by others"},
    {"192.0.2.1:9100", ERR_SYSTEM, "cannot show the status on 192.0.2.1:9100: is the port in use"},
    {"[2001:db8::1]:9100", ERR_SYSTEM, "have no password; [2001:db8::1]:9100 may be reached"},
};

TEST(a_place_that_is_none_is_told)
{
    struct status_room r;
    room_new(&r);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        LOG_INTO(log, words, LOG_WARN);
        struct http *http CLEAN(http_stop) = NULL;
        enum err e = http_start(&http, places[k].where, &r.status, &log);
        if (e != places[k].e || strstr(words, places[k].says) == NULL)
            fail_msg("%s: %s: %s", places[k].where, error_text(e), words);
        assert_null(http);
    }
}

TEST(the_pages_may_be_on_ipv6)
{
    struct status_room r;
    char where[32], words[512] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_WARN};
    uint16_t port = support_ports(1);
    support_needs(support_has_ipv6(), "no IPv6 on this machine's loopback");
    room_new(&r);
    snprintf(where, sizeof where, "[::1]:%u", port);
    struct http *http CLEAN(http_stop) = MADE(http, http_start, where, &r.status, &log);
    assert_string_equal(words, "");
    int fd = support_connect("::1", port);
    assert_int_equal(write(fd, "POST /healthz HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi", 47), 47);
    expect(support_answer(fd, &r.text), " 405 ");
    expect((char *)r.text.data, "only GET and HEAD");
    bytes_clear(&r.text);
}

/* --- whoever asks ----------------------------------------------------------------------------- */

/* Pages on an IPv4 address; the port. */
static uint16_t pages_start(struct http **http, struct status_room *r, const char *address)
{
    struct log log = {.level = LOG_ERROR};
    uint16_t port = support_ports(1);
    char where[32];
    room_new(r);
    snprintf(where, sizeof where, "%s:%u", address, port);
    OK(http_start(http, where, &r->status, &log));
    return port;
}

static const char *ask_for(uint16_t port, const char *host, struct bytes *answer)
{
    int fd = support_connect("127.0.0.1", port);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "GET / HTTP/1.1\r\n%s\r\n", host) > 0);
    return support_answer(fd, answer);
}

static const struct {
    const char *header;
    bool local;
} hosts[] = {
    {"Host: localhost\r\n", true},
    {"Host: LocalHost:9100\r\n", true},
    {"Host: 127.0.0.1\r\n", true},
    {"Host: 127.0.0.1:9100\r\n", true},
    {"Host: 127.0.0.2:9100\r\n", true},
    {"Host: [::1]\r\n", true},
    {"host: [::1]:9100\r\n", true},
    {"Host: evil.example\r\n", false},
    {"Host: evil.example:9100\r\n", false},
    {"Host: localhost.evil.example\r\n", false},
    {"Host: localhost:9100.evil.example\r\n", false},
    {"Host: 127.0.0.1.evil.example\r\n", false},
    {"Host: [::1].evil.example\r\n", false},
    {"Host: 192.0.2.1\r\n", false},
    {"Host: \r\n", false},
};

TEST(pages_on_this_machine_are_for_its_own_names)
{
    for (unsigned anywhere = 0; anywhere < 2; anywhere++) {
        struct status_room r;
        struct http *http CLEAN(http_stop) = NULL;
        const uint16_t port = pages_start(&http, &r, anywhere ? "0.0.0.0" : "127.0.0.1");
        for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++) {
            const char *text = ask_for(port, hosts[k].header, &r.text);
            const bool shown = strstr(text, "Server 1, east") != NULL;
            const bool refused = strstr(text, " 421 ") != NULL &&
                                 strstr(text, "ask for localhost, 127.0.0.1 or [::1]") != NULL;
            expect(text,
                   "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
                   "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n");
            if (shown != (anywhere || hosts[k].local) || refused == shown)
                fail_msg("%s%s", hosts[k].header, text);
        }
        bytes_clear(&r.text);
    }
}

/* As trefoil check --server asks. */
TEST(a_probe_says_what_the_page_says)
{
    struct status_room r;
    struct http *http = NULL;
    char where[32], words[512] = "";
    struct log log = {.buffer = words, .buffer_size = sizeof words, .level = LOG_INFO};
    snprintf(where, sizeof where, "%u", pages_start(&http, &r, "127.0.0.1"));
    OK(http_probe(where, &log));
    assert_string_equal(words, "");
    atomic_store(&r.status.worker_ended, true);
    GIVES(http_probe(where, &log), ERR_PEER, words, "error: the server at ");
    support_says(words, "the thread that computes");
    http_stop(&http);
    words[0] = '\0';
    GIVES(http_probe(where, &log), ERR_PEER, words, "no server shows its status");
}

/* Those who say nothing, or half of a request, give way in the order in which they came. */
TEST(who_dawdles_keeps_nobody_out)
{
    enum { SLOW = 40, KEPT = 12 };
    struct status_room r;
    struct http *http CLEAN(http_stop) = NULL;
    const uint16_t port = pages_start(&http, &r, "127.0.0.1");
    int slow[SLOW];
    for (unsigned i = 0; i < SLOW; i++) {
        slow[i] = support_connect("127.0.0.1", port);
        assert_true(slow[i] >= 0);
        if (i % 2 == 0)
            assert_int_equal(write(slow[i], "GET / HTTP/1.1\r\n", 16), 16);
    }
    for (unsigned again = 0; again < SLOW; again++)
        expect(support_ask(port, "GET /healthz", &r.text), " 200 OK");
    for (unsigned i = SLOW - KEPT; i < SLOW; i++) { /* the last are not cut off */
        char byte;
        assert_int_equal(recv(slow[i], &byte, 1, MSG_DONTWAIT), -1);
    }
    for (unsigned i = 0; i < SLOW; i++)
        close(slow[i]);
    bytes_clear(&r.text);
}
