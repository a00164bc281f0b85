/*
 * What anybody sends to the relay by HTTP: no crash, no leak; what it answers is HTTP, and what it
 * takes to a server's gate is the whole body of a POST, not longer than a block may be.
 */
#include "base/secret.h"
#include "parties/exchange/dials.h"
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* In a server's place: the block comes back, after what it was sent as. */
static enum err take(const uint8_t *message, size_t size)
{
    never(size == 0 || message[0] != MESSAGE_PARCEL || size > 1 + 2 * MESSAGE_PART_MAX);
    return ERR_OK;
}

static enum err no_dial(struct dial **dial, struct netio *netio, const struct study *study,
                        const struct identity *me, unsigned server, struct log *log)
{
    never(server >= study->servers);
    *dial = NULL;
    return ERR_OK;
}

#define dials_new no_dial
#define dial_reach(dial, until) ((void)(dial), ERR_OK)
#define dial_send(dial, more, message, size, until) take(message, size)
#define dial_receive(dial, answer, until) ((void)(answer), ERR_OK)
#define dial_watch(dial) ((void)(dial), ERR_OK)
#define dial_free(dial) ((void)(dial))
#include "parties/server/relay.c" // NOLINT(bugprone-suspicious-include)

/* One for all inputs, on a port that is free. */
static struct sockaddr_in start(void)
{
    static struct study study = {.servers = 3};
    static struct bytes page;
    static struct log quiet;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct relay *relay;
    char listen[32];
    never(secret_start() != ERR_OK);
    never(fd < 0 || bind(fd, (struct sockaddr *)&at, size) != 0 ||
          getsockname(fd, (struct sockaddr *)&at, &size) != 0 || close(fd) != 0);
    snprintf(listen, sizeof listen, "127.0.0.1:%u", ntohs(at.sin_port));
    bytes_put_text(&page, "<!DOCTYPE html>");
    never(relay_start(&relay, &(const struct relay_options){.study = &study,
                                                            .listen = listen,
                                                            .page = &page,
                                                            .policy = "default-src 'none'",
                                                            .log = &quiet}) != ERR_OK);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sockaddr_in at;
    char answer[4096];
    ssize_t n, all = 0;
    if (at.sin_port == 0)
        at = start();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    never(fd < 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0) {
        for (size_t sent = 0; sent < size; sent += (size_t)n) { /* in two pieces */
            const size_t piece = sent == 0 && size > 1 ? size / 2 : size - sent;
            if ((n = send(fd, data + sent, piece, MSG_NOSIGNAL)) <= 0)
                break;
        }
        shutdown(fd, SHUT_WR);
        while ((n = recv(fd, answer, sizeof answer, 0)) > 0) {
            never(all == 0 && n >= 5 && memcmp(answer, "HTTP/", 5) != 0);
            all += n;
        }
    }
    close(fd);
    return 0;
}

void fuzz_seeds(fuzz_put put, void *self)
{
    static const char *const requests[] = {
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /healthz HTTP/1.0\r\n\r\n",
        "OPTIONS /0 HTTP/1.1\r\nHost: a\r\nOrigin: null\r\n\r\n",
        "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\na seal",
        "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na "
        "s\r\n3\r\neal\r\n0\r\n\r\n",
        "POST /0 HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
        "POST /9 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
        "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"};
    for (size_t k = 0; k < sizeof requests / sizeof *requests; k++)
        put(self, requests[k], strlen(requests[k]));
}
