// TAP
// RUN: --smp 1 --icount -m 1G
// RUN: --smp 4 -m 1G
// SECONDS: 120
/*
 * Many wait for a part of a file that is locked. When the lock goes all get theirs, and no hold of
 * the mutex, which other files have too, lasts as long as it takes to wake them all. Nor does one
 * in which a process gives up, or locks over, many ranges of its own. A process that unlocks what
 * another waits for may wait for that one at once.
 */
#define _GNU_SOURCE
#include <company.h>
#include <elapsed.h>
#include <errno.h>
#include <fcntl.h>
#include <megalith/info.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>

#define CROWD   (counted() ? 600u : 200u) /* for the length of a hold that is measured */
#define LONGEST 150000ul /* ns in one hold, in which some whom it wakes run, too; all: 1,460,000 */

#define RANGES 8000u
#define ROUNDS 4 /* of a process that unlocks and waits */

static uint32_t *ready; /* shared */

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

/* A lock of some bytes, or of all from start on (len 0). */
static int set_lock(int fd, short kind, off_t start, off_t len)
{
    struct flock l = {.l_type = kind, .l_whence = SEEK_SET, .l_start = start, .l_len = len};

    return fcntl(fd, F_SETLKW, &l);
}

static int open_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    if (fd < 0)
        bail_out("%s: %s", path, strerror(errno));
    return fd;
}

static void check_holds(const char *what)
{
    uint64_t longest = longest_hold();

    diag("the longest hold: %lu ns", (unsigned long)longest);
    ok(!counted() || (longest && longest < LONGEST), "%s", what);
}

/* ---- a crowd that waits ---- */

/* Each of the crowd waits for a byte of what fd has locked. */
static void gather(unsigned crowd)
{
    __atomic_store_n(&ready[0], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&ready[1], 0, __ATOMIC_RELAXED);
    for (unsigned k = 0; k < crowd; k++)
        if (must_fork() == 0) {
            int fd = open_file("/tmp/lock_crowd");

            __atomic_fetch_add(&ready[0], 1, __ATOMIC_RELEASE);
            if (set_lock(fd, F_WRLCK, (off_t)k, 1))
                _exit(1);
            __atomic_store_n(&ready[1], 1, __ATOMIC_RELEASE);
            _exit(0);
        }
    while (__atomic_load_n(&ready[0], __ATOMIC_ACQUIRE) < crowd)
        usleep(1000);
    usleep(100000); /* they wait now, or soon */
}

static unsigned dismiss(unsigned crowd)
{
    unsigned got = 0;
    int status;

    for (unsigned k = 0; k < crowd; k++)
        got += wait(&status) > 0 && status == 0;
    return got;
}

static void crowd(void)
{
    int fd = open_file("/tmp/lock_crowd");
    unsigned got;

    if (set_lock(fd, F_WRLCK, 0, 0) != 0)
        bail_out("no lock: %s", strerror(errno));
    gather(CROWD);
    measure(1);
    set_lock(fd, F_UNLCK, 0, 0);
    got = dismiss(CROWD);
    measure(0);
    is(got, CROWD, "all get their locks");
    check_holds("and no hold is long");
    close(fd);
}

/* ---- many who wake others at once ---- */

#define WAKERS_MAX  500u
#define WAKERS      (counted() ? WAKERS_MAX : 100u)
#define LONGEST_ONE 12000ul /* ns in one hold, in which nobody is woken; all: 400,000 */

/* Each of the wakers has a byte that nobody waits for, and gives it up: so it passes all the
 * crowd, and while it lets go of the mutex the others do. They compute until it begins and sleep
 * afterwards, as others whom somebody wakes would run in the holds that are measured. */
static void waker(unsigned k, int end)
{
    int fd = open_file("/tmp/lock_crowd");
    off_t byte = 100000 + 2 * (off_t)k;

    if (set_lock(fd, F_WRLCK, byte, 1))
        _exit(1);
    __atomic_fetch_add(&ready[2], 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&ready[3], __ATOMIC_ACQUIRE))
        sched_yield();
    if (set_lock(fd, F_UNLCK, byte, 1))
        _exit(1);
    if (__atomic_add_fetch(&ready[4], 1, __ATOMIC_ACQ_REL) == WAKERS)
        (void)!write(end, "", 1);
    pause();
    _exit(1);
}

/* The number of wakers that have passed the crowd. */
static unsigned wake_in_company(void)
{
    pid_t wakers[WAKERS_MAX];
    int end[2];

    if (pipe(end) != 0)
        bail_out("no pipe: %s", strerror(errno));
    for (unsigned k = 0; k < WAKERS; k++) {
        wakers[k] = must_fork();
        if (wakers[k] == 0)
            waker(k, end[1]);
    }
    while (__atomic_load_n(&ready[2], __ATOMIC_ACQUIRE) < WAKERS)
        usleep(1000);
    measure(1);
    __atomic_store_n(&ready[3], 1, __ATOMIC_RELEASE);
    (void)!read(end[0], &(char){0}, 1);
    measure(0);
    for (unsigned k = 0; k < WAKERS; k++) {
        kill(wakers[k], SIGKILL);
        waitpid(wakers[k], NULL, 0);
    }
    close(end[0]);
    close(end[1]);
    return ready[4];
}

static void many_wakers(void)
{
    int fd = open_file("/tmp/lock_crowd");

    if (set_lock(fd, F_WRLCK, 0, CROWD) != 0)
        bail_out("no lock: %s", strerror(errno));
    gather(CROWD);
    is(wake_in_company(), WAKERS, "many unlock at once what nobody waits for");
    diag("the longest hold: %lu ns", (unsigned long)longest_hold());
    ok(!counted() || (longest_hold() && longest_hold() < LONGEST_ONE),
       "and pass those who wait for something else in short holds");
    set_lock(fd, F_UNLCK, 0, 0);
    is(dismiss(CROWD), CROWD, "who get their locks");
    close(fd);
}

/* ---- many ranges of one owner ---- */

static void lock_many(int fd)
{
    unsigned failed = 0;

    for (unsigned k = 0; k < RANGES; k++)
        failed += set_lock(fd, F_RDLCK, 2 * (off_t)k, 1) != 0;
    if (failed)
        bail_out("%u locks fail: %s", failed, strerror(errno));
}

static void many_ranges(void)
{
    int fd = open_file("/tmp/lock_crowd");
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    lock_many(fd);
    measure(1);
    is(set_lock(fd, F_WRLCK, 0, 0), 0, "many ranges are locked over");
    measure(0);
    check_holds("in short holds");
    if (must_fork() == 0)
        _exit(fcntl(open_file("/tmp/lock_crowd"), F_GETLK, &l) || l.l_start || l.l_len);
    is(dismiss(1), 1, "by one range");
    set_lock(fd, F_UNLCK, 0, 0);
    lock_many(fd);
    measure(1);
    is(set_lock(fd, F_UNLCK, 1, 0), 0, "many are given up");
    measure(0);
    check_holds("in short holds");
    lock_many(fd);
    measure(1);
    close(fd);
    measure(0);
    check_holds("as are those of a file that is closed");
}

/* ---- who unlocks, and waits for who is about to be woken ---- */

static int other_fd;

/* When the first of the crowd has its byte, ask for what the last of it has. */
static void *ask_for_other(void *arg)
{
    while (!__atomic_load_n(&ready[1], __ATOMIC_ACQUIRE))
        ;
    return set_lock(other_fd, F_WRLCK, 0, 1) ? arg : NULL;
}

static void last_of_crowd(void)
{
    int other = open_file("/tmp/lock_other"), fd = open_file("/tmp/lock_crowd");

    if (set_lock(other, F_WRLCK, 0, 1))
        _exit(1);
    __atomic_fetch_add(&ready[0], 1, __ATOMIC_RELEASE);
    _exit(set_lock(fd, F_WRLCK, CROWD, 1) != 0);
}

/* One round: unlock what the crowd waits for, but if `cycle` what the last of it waits for only
 * afterwards; meanwhile another thread asks for what that one has. Was nobody refused or, in a
 * cycle, one of the two? */
static bool wait_for_last(int fd, bool cycle, unsigned *refused)
{
    unsigned got, crowd = CROWD / 4;
    pthread_t asking;
    void *failed;

    if (set_lock(fd, F_WRLCK, 0, 0) != 0)
        bail_out("no lock: %s", strerror(errno));
    gather(crowd);
    if (must_fork() == 0)
        last_of_crowd();
    while (__atomic_load_n(&ready[0], __ATOMIC_ACQUIRE) <= crowd)
        usleep(1000);
    usleep(20000);
    pthread_create(&asking, NULL, ask_for_other, &other_fd);
    set_lock(fd, F_UNLCK, 0, cycle ? CROWD : 0);
    pthread_join(asking, &failed);
    set_lock(fd, F_UNLCK, 0, 0);
    set_lock(other_fd, F_UNLCK, 0, 1);
    got = dismiss(crowd + 1);
    *refused += failed != NULL;
    return failed ? got == crowd + 1 : got == crowd + !cycle;
}

static void unlock_and_wait(void)
{
    int fd = open_file("/tmp/lock_crowd");
    unsigned refused = 0, right = 0;

    other_fd = open_file("/tmp/lock_other");
    for (unsigned r = 0; r < ROUNDS; r++)
        right += wait_for_last(fd, false, &refused);
    is(refused, 0, "who unlocks may wait for those that it has yet to wake");
    is(right, ROUNDS, "who all get what they wait for");
    right = 0;
    for (unsigned r = 0; r < ROUNDS; r++)
        right += wait_for_last(fd, true, &refused);
    diag("of %u the one who asked last was refused %u times", ROUNDS, refused);
    is(right, ROUNDS, "in a cycle with them one of the two is refused");
    close(other_fd);
    close(fd);
    unlink("/tmp/lock_other");
}

int main(void)
{
    ready = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd();
    many_wakers();
    many_ranges();
    unlock_and_wait();
    unlink("/tmp/lock_crowd");
    return tap_done();
}
