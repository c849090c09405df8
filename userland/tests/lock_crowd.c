// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 2 -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * Many wait for a part of a file that is locked. When the lock goes all get theirs, and no hold of
 * the mutex, which other files have too, lasts as long as it takes to wake them all.
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>

#define CROWD   600u
#define LONGEST 150000ul /* ns in one hold, in which some whom it wakes run, too; all: 1,460,000 */

static uint32_t *ready; /* shared */

/* Does an instruction take a nanosecond? */
static bool counted(void)
{
    struct mega_cpu c;

    return !(mega$info(MEGA_INFO_CPU, 1, &c, sizeof(c)) & 1);
}

static void measure(uint64_t on)
{
    if (!(mega$control(MEGA_CTL_LOCK_STATS, on, 0, 0, 0, 0) & 1))
        bail_out("locks cannot be measured");
}

static uint64_t longest_hold(void)
{
    struct mega_lock m;

    for (int64_t i = 0; mega$info(MEGA_INFO_MUTEX, i, &m, sizeof(m)) == SS$_NORMAL; i++)
        if (strcmp(m.name, "file locks") == 0)
            return m.longest_ns;
    return 0;
}

/* A lock of one byte, or of the whole file (len 0). */
static int set_lock(int fd, short kind, off_t start, off_t len)
{
    struct flock l = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return fcntl(fd, F_SETLKW, &l);
}

static void one_of_many(unsigned k)
{
    int fd = open("/tmp/lock_crowd", O_RDWR);

    __atomic_fetch_add(ready, 1, __ATOMIC_RELEASE);
    _exit(fd < 0 || set_lock(fd, F_WRLCK, (off_t)k, 1) != 0);
}

int main(void)
{
    unsigned got = 0;
    uint64_t longest;
    int fd = open("/tmp/lock_crowd", O_RDWR | O_CREAT, 0600), status;

    ready = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fd < 0 || set_lock(fd, F_WRLCK, 0, 0) != 0)
        bail_out("no lock: %s", strerror(errno));
    for (unsigned k = 0; k < CROWD; k++)
        if (must_fork() == 0)
            one_of_many(k);
    while (__atomic_load_n(ready, __ATOMIC_ACQUIRE) < CROWD)
        usleep(1000);
    usleep(100000); /* they wait now, or soon */
    measure(1);
    set_lock(fd, F_UNLCK, 0, 0);
    for (unsigned k = 0; k < CROWD; k++)
        got += wait(&status) > 0 && status == 0;
    measure(0);
    longest = longest_hold();
    is(got, CROWD, "all get their locks");
    diag("the longest hold: %lu ns", (unsigned long)longest);
    ok(!counted() || (longest && longest < LONGEST), "and no hold is long");
    unlink("/tmp/lock_crowd");
    return tap_done();
}
