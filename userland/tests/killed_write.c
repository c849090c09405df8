// TAP
// RUN: --smp 1 --icount -m 2G
// RUN: --smp 4 -m 2G
// SECONDS: 120
/*
 * A write that is killed takes back its growth of the file, and does not walk all mappings of the
 * file for that: only where pages were added behind the new end. What a mapping had there is gone.
 *
 * On one CPU with --icount the time from the signal to the end of wait() is counted in
 * instructions.
 */
#define _GNU_SOURCE
#include <company.h>
#include <elapsed.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>

#define PAGE     8192ul
#define BYTES    (512ul << 20) /* that are to be written */
#define MAPPINGS 3000u
#define ELAPSED  8000000ul
#define AWAY     (BYTES - 5 * PAGE) /* a place that the write does not reach */

static int fd;
static volatile uint32_t *shared; /* 1: the victim writes; 2: it has written */

static char *map(int prot, int flags, int file)
{
    char *p = mmap(NULL, BYTES, prot, flags | MAP_NORESERVE, file, 0);

    if (p == MAP_FAILED)
        bail_out("no mapping: %s", strerror(errno));
    return p;
}

static pid_t victim(const char *from)
{
    pid_t pid;

    shared[0] = 0;
    pid = must_fork();
    if (pid == 0) {
        shared[0] = 1;
        if (pwrite(fd, from, BYTES, 0) > 0)
            shared[0] = 2;
        pause();
    }
    return pid;
}

static uint64_t size_of_file(void)
{
    struct stat st;

    fstat(fd, &st);
    return (uint64_t)st.st_size;
}

/* Kill it when the file has grown. Returns what it still took, in ns; *amid: within the write. */
static uint64_t end_of(pid_t pid, bool *amid)
{
    uint64_t from = now_ns();
    int status;

    *amid = shared[0] == 1;
    kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid)
        bail_out("no victim");
    return now_ns() - from;
}

/* A page of a mapping is read in a child: 256 if that ends it (SIGBUS). */
static int byte_at(const volatile char *p)
{
    int status;
    pid_t pid = must_fork();

    if (pid == 0)
        _exit(*p);
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 256 : WEXITSTATUS(status);
}

int main(void)
{
    char *from, *common;
    uint64_t ns, size;
    bool amid;
    pid_t pid;

    fd = open("/tmp/killed_write", O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink("/tmp/killed_write");
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    from = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    common = map(PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    for (unsigned k = 0; k < MAPPINGS; k++)
        (void)map(PROT_READ, k % 2 ? MAP_SHARED : MAP_PRIVATE, fd);

    pid = victim(from);
    usleep(20000);
    ns = end_of(pid, &amid);
    size = size_of_file();
    diag("killed after %lu bytes, in %lu ns", (unsigned long)size, (unsigned long)ns);
    ok(!counted() || (amid && size > 0 && size < BYTES && ns < ELAPSED), "a write is killed");
    ok(size % PAGE == 0, "the file has what was written");

    /* A page behind that is made through a mapping. */
    ftruncate(fd, 0);
    pid = victim(from);
    usleep(20000);
    amid = shared[0] == 1;
    if (amid)
        common[AWAY] = 2;
    ns = end_of(pid, &amid);
    size = size_of_file();
    diag("killed after %lu bytes, in %lu ns", (unsigned long)size, (unsigned long)ns);
    ok(!counted() || (amid && size < AWAY && ns < ELAPSED), "beside a mapping that is used, too");
    is(byte_at(common + AWAY), size < AWAY ? 256 : 2, "what that had behind the end is gone");
    ftruncate(fd, 0);
    ftruncate(fd, (off_t)BYTES);
    is(byte_at(common + AWAY), 0, "the file grows: zeroes");
    ftruncate(fd, 0);
    return tap_done();
}
