// TAP
// RUN: -m 192M
/*
 * Memory and its end: what a process takes comes back, nobody gets what another wrote, and who asks
 * for more than there is gets ENOMEM or is killed, and only he.
 */
#include <errno.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define PAGE 8192ul
#define MIB  (1ul << 20)

static struct mega_memory memory(void)
{
    struct mega_memory m;

    memset(&m, 0, sizeof(m));
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m;
}

static char *map(unsigned long bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Run fn in a child; how it ended. */
static int in_child(int (*fn)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(fn());
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    return status;
}

/* Everything is written, pages that were not written are zero. */
static int fill_64(void)
{
    char *p = map(64 * MIB);

    if (!p)
        return 2;
    for (unsigned long i = 0; i < 64 * MIB; i += PAGE) {
        for (unsigned long j = 0; j < PAGE; j += 8)
            if (*(uint64_t *)(p + i + j))
                return 1;
        memset(p + i, 0xA5, PAGE);
    }
    return 0;
}

static int touch_all(void)
{
    char *p = map(1024 * MIB);

    if (!p)
        return 3;
    for (unsigned long i = 0; i < 1024 * MIB; i += PAGE)
        p[i] = 1;
    return 4;
}

/* Twenty processes with stacks and page tables of their own at once. */
static int many(void)
{
    int bad = 0, status;

    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            char *p = map(MIB);

            if (p)
                memset(p, i, MIB);
            _exit(p ? 0 : 1);
        }
        bad += pid < 0;
    }
    while (wait(&status) > 0)
        bad += status != 0;
    return bad;
}

int main(void)
{
    struct mega_memory m, before;
    int status;

    /* The first of each fills caches and pools; they are no loss. */
    in_child(fill_64);
    in_child(many);

    before = memory();
    ok(before.total > 0 && before.free < before.total, "the kernel says what memory there is");
    is(before.free + before.modified + before.bad + before.active + before.reserved, before.total,
       "its counts sum up");
    for (int i = 0; i < 4; i++)
        is(in_child(fill_64), 0, "64 MiB, round %d: zero before the first write", i);
    is(in_child(many), 0, "twenty processes at once");
    m = memory();
    ok(m.free + 400 >= before.free, "the pages came back (%lu free, %lu before)", m.free,
       before.free);
    ok(m.never_used + 4000 >= before.never_used, "used pages are used again before new ones");

    for (int i = 0; i < 3; i++) {
        status = in_child(touch_all);
        ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
           "a process that touches more than there is gets killed (status %#x)", status);
    }
    m = memory();
    ok(m.free + 400 >= before.free, "its pages came back (%lu free, %lu before)", m.free,
       before.free);
    is(in_child(fill_64), 0, "and memory is to be had, zeroed, as before");
    m = memory();
    is(m.promised_unused, before.promised_unused, "no promise is left over");
    is(m.bad, 0, "no page went bad");
    return tap_done();
}
