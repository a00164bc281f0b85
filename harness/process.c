#include "harness/process.h"

#include "harness/cmocka.h"
#include "parties/study/sealing.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

pid_t support_start(const char *output, const char *const *arguments)
{
    const char *program = getenv("TREFOIL");
    char *argv[32] = {NULL}, name[] = "trefoil";
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int fd = open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
    argv[0] = name;
    for (size_t i = 0; i < 30 && arguments[i] != NULL; i++)
        memcpy(&argv[i + 1], &arguments[i], sizeof argv[i]);
    if (program == NULL || fd < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        _exit(126);
    execv(program, argv);
    _exit(127);
}

pid_t support_serve(const struct support_study *s, unsigned i, const char *study)
{
    char lanes[16], ahead[16] = "off";
    const char *more[5] = {NULL};
    unsigned n = 0;
    if (s->lanes[i] > 0) {
        more[n++] = "--lanes";
        more[n++] = lanes;
    }
    if (study_seals(s->study)) {
        more[n++] = "--sealing";
        more[n++] = support_path(s, "s%u.seal", i);
    }
    if (s->ahead[i] > 0)
        snprintf(ahead, sizeof ahead, "%u", s->ahead[i]);
    snprintf(lanes, sizeof lanes, "%u", s->lanes[i]);
    return START(support_path(s, "server%u.log", i), "serve", study, "--key",
                 support_path(s, "s%u.key", i), "--folder", support_path(s, "server%u", i),
                 "--listen", s->host, "--noise-ahead", ahead, more[0], more[1], more[2], more[3]);
}

int support_wait_peak(pid_t pid, double seconds, size_t *peak_bytes)
{
    double end = support_deadline(seconds);
    struct rusage usage;
    int status;
    while (wait4(pid, &status, WNOHANG, &usage) != pid) {
        if (!support_again(end)) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -2;
        }
    }
    *peak_bytes = (size_t)usage.ru_maxrss << 10;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int support_wait(pid_t pid, double seconds)
{
    size_t ignored;
    return support_wait_peak(pid, seconds, &ignored);
}

int support_run(const char *output, double seconds, const char *const *arguments)
{
    return support_wait(support_start(output, arguments), seconds);
}

int support_stop(pid_t *pid)
{
    int code = 0;
    if (*pid > 0) {
        kill(*pid, SIGTERM);
        code = support_wait(*pid, 10);
    }
    *pid = 0;
    return code;
}

pid_t support_serve_ready(const struct support_study *s, unsigned i, const char *study)
{
    const char *const said = support_path(s, "server%u.log", i);
    unlink(said);
    pid_t server = support_serve(s, i, study);
    assert_true(support_wait_for(said, "is ready", 60));
    return server;
}

bool support_serve_all(const struct support_study *s, const char *study,
                       pid_t server[STUDY_SERVERS_MOST])
{
    bool ready = true;
    for (unsigned i = 0; i < s->study->servers; i++) {
        unlink(support_path(s, "server%u.log", i));
        server[i] = support_serve(s, i, study);
    }
    for (unsigned i = 0; i < s->study->servers; i++)
        ready = ready && support_wait_for(support_path(s, "server%u.log", i), "is ready", 60);
    return ready;
}

bool support_stop_all(pid_t server[STUDY_SERVERS_MOST])
{
    bool well = true;
    for (unsigned i = 0; i < STUDY_SERVERS_MOST; i++)
        well = support_stop(&server[i]) == 0 && well;
    return well;
}

void support_kill(pid_t *pid)
{
    if (*pid > 0) {
        kill(*pid, SIGKILL);
        support_wait(*pid, 5);
    }
    *pid = 0;
}

int support_on_terminal(const char *const *arguments, char *out, size_t size)
{
    struct winsize window = {.ws_row = 24, .ws_col = 80};
    const char *program = getenv("TREFOIL");
    size_t n = 0;
    int fd, status;
    pid_t pid = forkpty(&fd, NULL, NULL, &window);
    if (pid < 0)
        return -2;
    if (pid == 0) {
        char *argv[24] = {NULL};
        for (size_t i = 0; i < 23 && arguments[i] != NULL; i++)
            memcpy(&argv[i], &arguments[i], sizeof argv[i]);
        setenv("TERM", "xterm", 1);
        execv(program, argv);
        _exit(127);
    }
    for (;;) {
        ssize_t k = read(fd, out + n, size - 1 - n);
        if (k <= 0)
            break;
        n += (size_t)k;
    }
    out[n] = '\0';
    close(fd);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void expect_code(int code, int expected, const char *output)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    if (code != expected && file_read(output, 1 << 20, &b, NULL) == ERR_OK)
        fprintf(stderr, "exit code %d instead of %d; %s:\n%.*s\n", code, expected, output,
                (int)b.size, (const char *)b.data); /* cmocka's own output would cut it off */
    assert_int_equal(code, expected);
}

void support_preload(void)
{
    const char *out = getenv("TREFOIL_OUT");
    char shim[SUPPORT_PATH];
    snprintf(shim, sizeof shim, "%s/harness/preload_fault.so", out != NULL ? out : "build/gcc");
    setenv("LD_PRELOAD", shim, 1);
    /* a sanitizer wants to be first, but need not be */
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
}

void support_unload(void)
{
    unsetenv("LD_PRELOAD");
    unsetenv("ASAN_OPTIONS");
}

/* `text`, NUL-terminated, with one text replaced; false unless it occurs exactly once. */
static bool replace(struct bytes *text, const char *find, const char *by)
{
    struct bytes out = {0};
    const char *begin = (const char *)text->data, *at = strstr(begin, find);
    if (at == NULL || strstr(at + 1, find) != NULL)
        return false;
    bytes_put(&out, begin, (size_t)(at - begin));
    bytes_put(&out, by, strlen(by));
    at += strlen(find);
    bytes_put(&out, at, strlen(at) + 1);
    bytes_clear(text);
    *text = out;
    return bytes_ok(text) == ERR_OK;
}

bool support_edit(const char *from, const char *to, const char *const *pairs)
{
    struct bytes text CLEAN(bytes_clear) = {0};
    bool fine = file_read(from, (size_t)1 << 20, &text, NULL) == ERR_OK;
    bytes_put_u8(&text, 0);
    for (; fine && *pairs != NULL; pairs += 2)
        fine = replace(&text, pairs[0], pairs[1]);
    return fine && file_write(to, 0644, text.data, text.size - 1, NULL) == ERR_OK;
}

bool support_contains(const char *path, const char *text)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    bool found = false;
    if (file_read(path, (size_t)64 << 20, &b, NULL) == ERR_OK) {
        bytes_put_u8(&b, 0);
        found = bytes_ok(&b) == ERR_OK && strstr((const char *)b.data, text) != NULL;
    }
    return found;
}

static void show_end(const char *path, const char *missing)
{
    struct bytes b CLEAN(bytes_clear) = {0};
    size_t n = 0;
    if (file_read(path, (size_t)64 << 20, &b, NULL) == ERR_OK)
        n = b.size < 2000 ? b.size : 2000;
    fprintf(stderr, "\"%s\" does not come in %s:\n%.*s\n", missing, path, (int)n,
            n > 0 ? (const char *)b.data + b.size - n : "");
}

void file_says(const char *path, const char *text)
{
    if (!support_contains(path, text)) {
        show_end(path, text);
        fail();
    }
}

bool support_wait_for(const char *path, const char *text, double seconds)
{
    double end = support_deadline(seconds);
    while (!support_contains(path, text)) {
        if (!support_again(end)) {
            show_end(path, text);
            return false;
        }
    }
    return true;
}
