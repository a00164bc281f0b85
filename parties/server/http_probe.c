/* A client of the status pages: where they are, and what /healthz says. */
#include "parties/server/http.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define WAIT_S 10
#define ANSWER 4096

static enum err wrong(const char *where, const char *option, struct log *log)
{
    return log_fail(log, ERR_USAGE,
                    "--%s is \"%s\"; write PORT, ADDRESS:PORT or [ADDRESS]:PORT, such as 9100",
                    option, where);
}

enum err http_address(const char *where, const char *option, struct sockaddr_storage *address,
                      struct log *log)
{
    const char *colon = strrchr(where, ':'), *port = colon != NULL ? colon + 1 : where;
    char host[64] = "127.0.0.1";
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (colon != NULL) {
        const char *from = where;
        size_t n = (size_t)(colon - where);
        if (n >= 2 && where[0] == '[' && where[n - 1] == ']') {
            from++;
            n -= 2;
        }
        if (n == 0 || n >= sizeof host)
            return wrong(where, option, log);
        memcpy(host, from, n);
        host[n] = '\0';
    }
    if (strlen(port) > 5 || strspn(port, "0123456789") != strlen(port) || atoi(port) < 1 ||
        atoi(port) > 65535 || getaddrinfo(host, port, &hints, &found) != 0)
        return wrong(where, option, log);
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return ERR_OK;
}

static void close_socket(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

/* Sends a request, and reads until the server closes. */
static enum err talk(int fd, char answer[ANSWER + 1])
{
    static const char request[] = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
    size_t n = 0;
    ssize_t got = send(fd, request, sizeof request - 1, MSG_NOSIGNAL);
    if (got != (ssize_t)sizeof request - 1)
        return ERR_PEER;
    while (n < ANSWER && (got = recv(fd, answer + n, ANSWER - n, 0)) > 0)
        n += (size_t)got;
    answer[n] = '\0';
    return got < 0 ? ERR_PEER : ERR_OK;
}

enum err http_probe(const char *where, struct log *log)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    struct sockaddr_storage address = {0};
    char answer[ANSWER + 1];
    const char *body;
    TRY(http_address(where, "server", &address, log));
    int fd CLEAN(close_socket) = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) != 0)
        return log_fail(log, ERR_SYSTEM, "cannot make a socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        talk(fd, answer) != ERR_OK)
        return log_fail(log, ERR_PEER,
                        "no server shows its status on %s: %s; trefoil serve --status does", where,
                        strerror(errno));
    body = strstr(answer, "\r\n\r\n");
    if (body == NULL || strncmp(answer, "HTTP/1.", 7) != 0)
        return log_fail(log, ERR_PEER, "what answers on %s is no server of a study", where);
    if (strncmp(answer + 8, " 200 ", 5) == 0)
        return ERR_OK;
    return log_fail(log, ERR_PEER, "the server at %s says: %s", where, body + 4);
}
