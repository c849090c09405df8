/*
 * Calls beside processes that together use more than memory: each succeeds, because it waits for
 * the pager. tests/test_paging.py makes the disks: a page file and an ext4 file system.
 *
 *   paging_calls ROUNDS
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <signal.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define PAGE      8192ul
#define FOLDER    "/tmp/disk"
#define PROGRAM   FOLDER "/paging_calls"
#define BYTES     ((size_t)256 << 10)
#define PROCESSES 3u

static size_t memory_pages(void)
{
    struct mega_memory m = {0};

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m.total;
}

static void use_for_ever(size_t npages)
{
    char *p = mmap(NULL, npages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        _exit(1);
    for (;;)
        for (size_t k = 0; k < npages; k++)
            p[k * PAGE]++;
}

static bool copy(const char *from, const char *to)
{
    static char buffer[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t n = in < 0 || out < 0 ? -1 : 1;

    while (n > 0 && (n = read(in, buffer, sizeof(buffer))) > 0)
        if (write(out, buffer, (size_t)n) != n)
            n = -1;
    close(in);
    return close(out) == 0 && n == 0;
}

static bool runs(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execl(PROGRAM, "paging_calls", NULL);
        _exit(2);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Write a file, have it written to the disk, and read it. */
static bool keeps(unsigned round)
{
    char *buffer = malloc(BYTES), *again = malloc(BYTES);
    const char *failed = NULL;
    int fd = -1;

    if (!buffer || !again)
        failed = "malloc";
    else if ((fd = open(FOLDER "/file", O_RDWR | O_CREAT | O_TRUNC, 0644)) < 0)
        failed = "open";
    else if (write(fd, memset(buffer, 1 + (int)round, BYTES), BYTES) != (ssize_t)BYTES)
        failed = "write";
    else if (fsync(fd))
        failed = "fsync";
    else if (pread(fd, again, BYTES, 0) != (ssize_t)BYTES)
        failed = "pread";
    else if (memcmp(buffer, again, BYTES))
        failed = "what is read";
    if (failed)
        diag("round %u: %s, error %d", round, failed, errno);
    close(fd);
    free(buffer);
    free(again);
    return !failed;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 0, not_run = 0, not_kept = 0;
    pid_t pid[PROCESSES];

    if (rounds == 0) /* as it starts itself */
        return 0;
    is(swapon("/dev/vda", 0), 0, "a page file");
    mkdir(FOLDER, 0755);
    is(mount("/dev/vdb", FOLDER, "ext4", 0, ""), 0, "a file system");
    ok(copy("/tests/paging_calls", PROGRAM), "a program on it");
    for (unsigned k = 0; k < PROCESSES; k++)
        if ((pid[k] = fork()) == 0)
            use_for_ever(memory_pages() * 3 / 4);
    for (unsigned round = 0; round < rounds; round++) {
        not_run += !runs();
        not_kept += !keeps(round);
    }
    is(not_run, 0, "the program runs each time");
    is(not_kept, 0, "a file is written and read each time");
    for (unsigned k = 0; k < PROCESSES; k++) {
        int status = 0;

        kill(pid[k], SIGTERM);
        waitpid(pid[k], &status, 0);
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "process %u was there", k);
    }
    is(umount(FOLDER), 0, "unmounted");
    is(mount("/dev/vdb", FOLDER, "ext4", 0, ""), 0, "and mounted again");
    is(umount(FOLDER), 0, "unmounted");
    is(swapoff("/dev/vda"), 0, "closed");
    return tap_done();
}
