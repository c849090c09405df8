// TAP
/*
 * The kernel's messages, as dmesg and klogd read them: those since the last clearing, those not yet
 * read, a reader that waits, users who may not.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

enum { READ = 2, READ_ALL, READ_CLEAR, CLEAR, LEVEL = 8, UNREAD, SIZE };

static char text[40000];

/* Calls of OSF/1 that are not there, and have no name in kernel/sys/posix/missing.c: each number is
   reported once on the console. */
static const unsigned unknown[] = {85, 158, 169, 199, 213, 215};
static unsigned next;

static void make_message(char *message, size_t n)
{
    unsigned number = unknown[next++];

    syscall((long)number, 0);
    snprintf(message, n, "system call %u is not there\n", number);
}

static bool has(int action, size_t n, const char *message)
{
    int r = klogctl(action, text, (int)n);

    text[r > 0 ? r : 0] = '\0';
    return strstr(text, message) != NULL;
}

static int reap(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void waiting(void)
{
    char message[64];
    pid_t pid;

    while (klogctl(UNREAD, NULL, 0) > 0)
        klogctl(READ, text, 5000);
    pid = fork();
    if (pid == 0)
        _exit(!has(READ, 5000, "is not there"));
    poll(NULL, 0, 50);
    make_message(message, sizeof(message));
    is(reap(pid), 0, "a reader that waits gets the next message");
    pid = fork();
    if (pid == 0)
        _exit(klogctl(READ, text, 5000) < 0);
    poll(NULL, 0, 50);
    kill(pid, SIGKILL);
    is(reap(pid), 1000 + SIGKILL, "and can be killed");
}

int main(void)
{
    char first[64], second[64];
    pid_t pid;

    make_message(first, sizeof(first));
    ok(has(READ_ALL, 32768, first), "a message is there");
    ok(has(READ_ALL, 32768, "Megalith on Alpha"), "and the first one of the boot");
    ok(!strchr(text, '\r'), "without carriage returns");
    ok(has(READ_ALL, strlen(first) + 1, first), "the last one fits into little room");
    is(klogctl(CLEAR, NULL, 0), 0, "clear");
    is(klogctl(READ_ALL, text, 32768), 0, "nothing is left");
    make_message(second, sizeof(second));
    ok(has(READ_CLEAR, 32768, second), "but what came since");
    is(klogctl(READ_ALL, text, 32768), 0, "and that is cleared, too");
    ok(klogctl(UNREAD, NULL, 0) > (int)(strlen(first) + strlen(second)), "nothing was read yet");
    ok(has(READ, 32768, first), "what was cleared can be read");
    is(klogctl(UNREAD, NULL, 0), 0, "once");
    waiting();
    is(klogctl(LEVEL, NULL, 9), -1, "there are eight levels");
    is(klogctl(99, NULL, 0), -1, "there is no such action");
    is(klogctl(SIZE, NULL, 0), 32768, "so many bytes are kept");
    pid = fork();
    if (pid == 0)
        _exit(setuid(1000) || klogctl(READ_ALL, text, 1000) != -1 || errno != EPERM);
    is(reap(pid), 0, "other users may not read");
    return tap_done();
}
