#include "tests/support/socket.h"
#include "harness/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int support_connect(const char *address, uint16_t port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_four = inet_pton(AF_INET, address, &four.sin_addr) == 1;
    bool is_six = !is_four && inet_pton(AF_INET6, address, &six.sin6_addr) == 1;
    int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = -1;
    if (is_four)
        result = connect(fd, (struct sockaddr *)&four, sizeof four);
    else if (is_six)
        result = connect(fd, (struct sockaddr *)&six, sizeof six);
    if (result == 0)
        return fd;
    close(fd);
    return -1;
}

bool support_is_cut(int fd)
{
    uint8_t b[256];
    ssize_t n;
    while ((n = recv(fd, b, sizeof b, MSG_DONTWAIT)) > 0)
        ;
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

const char *support_answer(int fd, struct bytes *answer)
{
    struct pollfd w = {.fd = fd, .events = POLLIN};
    char buffer[4096];
    ssize_t n;
    answer->size = 0;
    while (poll(&w, 1, (int)support_patience_ms(3)) == 1 &&
           (n = read(fd, buffer, sizeof buffer)) > 0)
        bytes_put(answer, buffer, (size_t)n);
    bytes_put_u8(answer, 0);
    close(fd);
    return (const char *)answer->data;
}

const char *support_ask(uint16_t port, const char *request, struct bytes *answer)
{
    int fd = support_connect("127.0.0.1", port);
    if (fd < 0)
        return "";
    (void)dprintf(fd, "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", request);
    return support_answer(fd, answer);
}

bool support_has_ipv6(void)
{
    const struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return bound;
}
