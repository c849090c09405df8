/*
 * Programs of others in instructions, the same here and as /init of Linux/Alpha
 * (scripts/linux-base --programs). Each line of the file /commands is a name, a space and a command
 * of words between spaces; the command runs with its standard output in /tmp/out, and counts from
 * before its fork until it has been waited for. The digest of the output shows that both kernels
 * ran the same work.
 */
#include "alone.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define WORDS 32
#define OUT   "/tmp/out"

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* FNV-1a of the output. */
static uint64_t digest(void)
{
    static unsigned char buffer[1 << 16];
    uint64_t hash = 0xcbf29ce484222325;
    int fd = open(OUT, O_RDONLY);
    ssize_t n;

    while ((n = read(fd, buffer, sizeof(buffer))) > 0)
        for (ssize_t i = 0; i < n; i++)
            hash = (hash ^ buffer[i]) * 0x100000001b3;
    close(fd);
    return hash;
}

static void execute(char *const *words)
{
    static char *const environment[] = {"PATH=/", NULL};
    int fd = open(OUT, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        _exit(126);
    close(fd);
    execve(words[0], words, environment);
    _exit(127);
}

static void measure(const char *name, char *const *words)
{
    uint64_t from = now(), instructions;
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        execute(words);
    waitpid(pid, &status, 0);
    instructions = now() - from;
    printf("{\"name\": \"%s\", \"instructions\": %lu, \"status\": %d, \"digest\": \"%016lx\"}\n",
           name, (unsigned long)instructions, status, (unsigned long)digest());
    fflush(stdout);
}

static void run_line(char *line)
{
    char *words[WORDS + 1] = {NULL}, *name = strtok(line, " \n");

    if (!name)
        return;
    for (int i = 0; i < WORDS && (words[i] = strtok(NULL, " \n")); i++)
        ;
    if (words[0])
        measure(name, words);
}

int main(int argc, char **argv)
{
    char line[1024];
    FILE *commands;

    (void)argc;
    if (!alone_begin(argv[0]) || !(commands = fopen("/commands", "r"))) {
        perror("programs");
        alone_end();
        return 1;
    }
    while (fgets(line, sizeof(line), commands))
        run_line(line);
    fclose(commands);
    alone_end();
    return 0;
}
