#include "parties/command/adviser.h"

#include "base/file.h"

#include <string.h>
#include <unistd.h>

/* Writes a word as a shell reads it. */
static void put_word(struct bytes *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,@%+";
    bytes_put_u8(out, ' ');
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        bytes_put(out, word, strlen(word));
        return;
    }
    bytes_put_u8(out, '\'');
    for (; *word != '\0'; word++)
        if (*word == '\'')
            bytes_put(out, "'\\''", 4);
        else
            bytes_put_u8(out, (uint8_t)*word);
    bytes_put_u8(out, '\'');
}

static void *wait_for_signal(void *arg)
{
    struct adviser *a = arg;
    if (sigwait(&a->signals, &a->number) != 0)
        return NULL;
    (void)!file_write_all(STDERR_FILENO, a->text.data, a->text.size);
    (void)signal(a->number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &a->signals, NULL);
    (void)kill(getpid(), a->number);
    return NULL;
}

void adviser_stop(struct adviser *a)
{
    if (a->thread.started) {
        (void)pthread_cancel(a->thread.id);
        thread_join(&a->thread);
        (void)pthread_sigmask(SIG_SETMASK, &a->before, NULL);
    }
    bytes_clear(&a->text);
}

enum err adviser_start(struct adviser *a, int argc, char **argv, struct log *log)
{
    static const char before[] = "\nInterrupted. The run can be continued, and nothing that it "
                                 "spent is lost:\n  trefoil run";
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    enum err e;
    bytes_put(&a->text, before, sizeof before - 1);
    for (int i = 1; i < argc; i++)
        put_word(&a->text, argv[i]);
    bytes_put_u8(&a->text, '\n');
    TRY(bytes_ok(&a->text));
    sigemptyset(&a->signals);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction now;
        /* a signal that is ignored, say under nohup, stays ignored */
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&a->signals, ends[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &a->signals, &a->before);
    e = thread_start(&a->thread, wait_for_signal, a, log);
    if (e != ERR_OK)
        (void)pthread_sigmask(SIG_SETMASK, &a->before, NULL);
    return e;
}
