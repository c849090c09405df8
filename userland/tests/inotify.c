// TAP
/*
 * inotify among several processes and users: quotas, queues that overflow, waits that end, watches
 * that come and go while others change the files, nothing left over.
 * userland/conformance/inotify.c has the results of single calls.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <settled.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>

#define UID       1000
#define HOME      "/tmp/inotify"
#define QUEUE_MAX 16384
#define LIMIT     5

static int reap(pid_t pid)
{
    int status;

    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int as_user(int (*fn)(void))
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(setgid(UID) != 0 || setuid(UID) != 0 ? 97 : fn());
    return reap(pid);
}

static void set_limit(const char *parameter, long value)
{
    if (mega$control(MEGA_CTL_SET_PARAM, (uint64_t)parameter, (uint64_t)value, 0, 0, 0) !=
        SS$_NORMAL)
        bail_out("%s cannot be set", parameter);
}

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0666);

    if (fd < 0)
        diag("%s: %s", path, strerror(errno));
    close(fd);
}

/* ---- quotas ---- */

static int many_instances(void)
{
    int n = 0;

    while (inotify_init1(0) >= 0)
        n++;
    return n == LIMIT && errno == EMFILE ? 0 : 1;
}

static int many_watches(void)
{
    int in = inotify_init1(0), n = 0, first = 0, wd;
    char path[40];

    for (;; n++) {
        snprintf(path, sizeof(path), HOME "/user/%d", n);
        touch(path);
        wd = inotify_add_watch(in, path, IN_OPEN);
        if (wd < 0)
            break;
        first = first ? first : wd;
    }
    if (n != LIMIT || errno != ENOSPC)
        return 1;
    if (inotify_rm_watch(in, first) || inotify_add_watch(in, path, IN_OPEN) < 0)
        return 2;
    close(in);
    in = inotify_init1(0);
    return inotify_add_watch(in, path, IN_OPEN) > 0 ? 0 : 3; /* the others were given back */
}

static long proc_number(const char *path)
{
    char text[32] = "";
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);

    close(fd);
    return n > 0 ? atol(text) : -1;
}

static void quotas(void)
{
    is(proc_number("/proc/sys/fs/inotify/max_user_instances"), 128, "instances, as /proc says");
    is(proc_number("/proc/sys/fs/inotify/max_queued_events"), QUEUE_MAX, "events in a queue");
    ok(proc_number("/proc/sys/fs/inotify/max_user_watches") > 1000, "and watches");
    set_limit("USER_INOTIFY", LIMIT);
    is(proc_number("/proc/sys/fs/inotify/max_user_instances"), LIMIT, "/proc has the new limit");
    is(as_user(many_instances), 0, "a user has as many instances as the quota says");
    set_limit("USER_INOTIFY", 128);
    set_limit("USER_INOTIFY_WATCHES", LIMIT);
    is(as_user(many_watches), 0, "and as many watches, and gets back those that end");
    set_limit("USER_INOTIFY_WATCHES", -1);
}

/* ---- queues that overflow ---- */

/* Read all events: how many, and whether the last one tells that some were lost. */
static int drain(int in, bool *lost)
{
    char buf[8192] __attribute__((aligned(8)));
    ssize_t n;
    int count = 0;

    *lost = false;
    while ((n = read(in, buf, sizeof(buf))) > 0)
        for (ssize_t at = 0; at < n; count++) {
            const struct inotify_event *e = (const struct inotify_event *)(buf + at);

            *lost = e->mask == IN_Q_OVERFLOW && e->wd == -1 && e->len == 0;
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    return count;
}

/* So many events, no two neighbours equal. */
static void make_events(int n)
{
    int a = open(HOME "/a", O_RDWR | O_CREAT, 0666);
    char c = 0;

    for (int k = 0; k < n; k += 2)
        if (pwrite(a, "x", 1, 0) != 1 || pread(a, &c, 1, 0) != 1)
            bail_out("no events: %s", strerror(errno));
    close(a);
}

static void overflow(void)
{
    int in = inotify_init1(IN_NONBLOCK), bytes = 0;
    bool lost;

    touch(HOME "/a");
    inotify_add_watch(in, HOME "/a", IN_MODIFY | IN_ACCESS);
    make_events(QUEUE_MAX + 100);
    ioctl(in, FIONREAD, &bytes);
    is(bytes, (QUEUE_MAX + 1) * 16, "a queue holds so many events, and one that says so");
    is(drain(in, &lost), QUEUE_MAX + 1, "all of them can be read");
    ok(lost, "the last one tells that others were lost");
    make_events(10);
    is(drain(in, &lost), 10, "then it fills again");
    ok(!lost, "and none is lost");
    close(in);
}

static int own_queue_overflows(void)
{
    int in = inotify_init1(IN_NONBLOCK), n;
    bool lost;

    inotify_add_watch(in, HOME "/a", IN_MODIFY | IN_ACCESS);
    make_events(QUEUE_MAX);
    n = drain(in, &lost);
    return n > 100 && n < QUEUE_MAX && lost ? 0 : 1;
}

static void charged(void)
{
    chmod(HOME "/a", 0666);
    set_limit("USER_NONPAGED", 200000);
    is(as_user(own_queue_overflows), 0, "events are charged to their user, whose queue overflows");
    set_limit("USER_NONPAGED", -1);
}

/* ---- which file reports to which directory ---- */

/* Does the next event have this name and these bits? */
static bool next_is(int in, uint32_t mask, const char *name)
{
    char buf[512] __attribute__((aligned(8)));
    const struct inotify_event *e = (const struct inotify_event *)buf;
    ssize_t n = read(in, buf, sizeof(*e) + 256);

    return n > 0 && e->mask == mask && strcmp(e->len ? e->name : "", name) == 0;
}

static void directories(void)
{
    int in = inotify_init1(IN_NONBLOCK), fd;

    mkdir(HOME "/d", 0777);
    mkdir(HOME "/e", 0777);
    touch(HOME "/d/f");
    fd = open(HOME "/d/f", O_RDWR);
    inotify_add_watch(in, HOME "/d", IN_MODIFY);
    ok(write(fd, "x", 1) == 1 && next_is(in, IN_MODIFY, "f"), "a file that was open before");
    rename(HOME "/d/f", HOME "/e/f");
    ok(write(fd, "x", 1) == 1 && !next_is(in, IN_MODIFY, "f"), "not one that has moved away");
    rename(HOME "/e/f", HOME "/d/g");
    ok(write(fd, "x", 1) == 1 && next_is(in, IN_MODIFY, "g"), "one that has moved in");
    link(HOME "/d/g", HOME "/e/h");
    unlink(HOME "/e/h");
    ok(write(fd, "x", 1) == 1 && next_is(in, IN_MODIFY, "g"), "one that had another name");
    link(HOME "/d/g", HOME "/d/h");
    unlink(HOME "/d/g");
    ok(write(fd, "x", 1) == 1 && next_is(in, IN_MODIFY, "h"), "one whose first name is gone");
    unlink(HOME "/d/h");
    ok(write(fd, "x", 1) == 1 && !next_is(in, IN_MODIFY, "h"), "none that has no name");
    close(fd);
    close(in);
    rmdir(HOME "/d");
    rmdir(HOME "/e");
}

/* ---- waits ---- */

static void waits(void)
{
    int in = inotify_init1(0);
    char buf[64];
    pid_t pid;

    inotify_add_watch(in, HOME, IN_CREATE);
    pid = fork();
    if (pid == 0)
        _exit(read(in, buf, sizeof(buf)) == 32 ? 0 : 1);
    poll(NULL, 0, 20);
    mkdir(HOME "/made", 0777);
    is(reap(pid), 0, "a reader that waits gets the event");
    pid = fork();
    if (pid == 0)
        _exit(read(in, buf, sizeof(buf)) < 0);
    poll(NULL, 0, 20);
    kill(pid, SIGKILL);
    is(reap(pid), 1000 + SIGKILL, "and can be killed");
    rmdir(HOME "/made");
    close(in);
}

/* ---- races ---- */

static unsigned rounds = 400;

static volatile bool stop;

/* Names come, move and go, and files with them. */
static void *change(void *arg)
{
    unsigned k = (unsigned)(uintptr_t)arg;
    char a[48], b[48];

    for (unsigned n = 0; !stop; n++) {
        snprintf(a, sizeof(a), HOME "/race/%u", (k + n) % 3);
        snprintf(b, sizeof(b), HOME "/race%u/%u", n % 2, (k + n) % 5);
        touch(a);
        chmod(a, 0600);
        rename(a, b);
        link(b, a);
        truncate(b, 3);
        unlink(a);
        unlink(b);
    }
    return NULL;
}

/* Two threads share an instance; watches and instances come and go. */
static int shared_in;

static void *watch(void *arg)
{
    static const char *const paths[] = {HOME "/race",   HOME "/race0",   HOME "/race1",
                                        HOME "/race/0", HOME "/race0/1", HOME "/race1/2"};
    unsigned k = (unsigned)(uintptr_t)arg;
    char buf[4096];

    for (unsigned n = 0; n < rounds; n++) {
        int in = n % 3 ? shared_in : inotify_init1(IN_NONBLOCK);
        int wd = inotify_add_watch(in, paths[(n + k) % 6],
                                   n % 7 ? IN_ALL_EVENTS : IN_ALL_EVENTS | IN_ONESHOT);

        sched_yield();
        if (n % 2 && wd >= 0)
            inotify_rm_watch(in, wd - (int)(n % 4 == 3));
        if (read(in, buf, sizeof(buf)) < 0 && errno != EAGAIN)
            diag("read: %s", strerror(errno));
        if (in != shared_in)
            close(in);
    }
    return NULL;
}

static int race(void)
{
    pthread_t changers[2], watchers[3];

    shared_in = inotify_init1(IN_NONBLOCK);
    for (uintptr_t k = 0; k < 2; k++)
        pthread_create(&changers[k], NULL, change, (void *)k);
    for (uintptr_t k = 0; k < 3; k++)
        pthread_create(&watchers[k], NULL, watch, (void *)k);
    for (unsigned k = 0; k < 3; k++)
        pthread_join(watchers[k], NULL);
    stop = true;
    for (unsigned k = 0; k < 2; k++)
        pthread_join(changers[k], NULL);
    return 0;
}

/* Run in a child, which ends with watches that are still there; once more, to see what is left. */
static void races(void)
{
    long before = 0, after;

    mkdir(HOME "/race", 0777);
    mkdir(HOME "/race0", 0777);
    mkdir(HOME "/race1", 0777);
    for (int round = 0; round < 2; round++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(race());
        is(reap(pid), 0, "watches come and go beside the files");
        if (round == 0)
            before = settled_pages();
    }
    after = settled_pages();
    is(after, before, "and leave no page behind");
    rmdir(HOME "/race");
    rmdir(HOME "/race0");
    rmdir(HOME "/race1");
}

/* An instance is closed while the file with its only watch is removed. */
static int closing[2]; /* a pipe: a byte for each instance to close */

static void *close_it(void *arg)
{
    char c;

    for (unsigned n = 1; read(closing[0], &c, 1) == 1; n++) {
        for (volatile unsigned k = n % 61; k; k--)
            ;
        close(shared_in);
    }
    return arg;
}

static void ends_meet(void)
{
    pthread_t closer;
    int left = 0;

    if (pipe(closing))
        bail_out("no pipe");
    pthread_create(&closer, NULL, close_it, NULL);
    for (unsigned n = 1; n <= rounds; n++) {
        touch(HOME "/short");
        shared_in = inotify_init1(0);
        left += inotify_add_watch(shared_in, HOME "/short", IN_DELETE_SELF) < 0;
        left += write(closing[1], "", 1) != 1;
        unlink(HOME "/short");
        while (fcntl(shared_in, F_GETFD) != -1)
            sched_yield();
    }
    close(closing[1]);
    pthread_join(closer, NULL);
    is(left, 0, "instances end while what they watch is removed");
}

/* What a process has watched ends with it, however it ends. */
static int watches_of_a_user(void)
{
    int in = inotify_init1(0);

    for (int k = 0; k < 4; k++)
        if (inotify_add_watch(in, (const char *const[]){"/", "/tmp", "/bin", "/proc/self"}[k],
                              IN_ALL_EVENTS) < 0)
            return 1;
    kill(getpid(), SIGKILL);
    return 2;
}

static void death(void)
{
    set_limit("USER_INOTIFY_WATCHES", 4);
    for (int k = 0; k < 3; k++)
        is(as_user(watches_of_a_user), 1000 + SIGKILL, "a process that is killed gives all back");
    set_limit("USER_INOTIFY_WATCHES", -1);
}

int main(int argc, char **argv)
{
    umask(0);
    mkdir(HOME, 0777);
    if (argc > 1) { /* `inotify ROUNDS`: only the races, for tests/test_schedules.py */
        rounds = (unsigned)atoi(argv[1]);
        ends_meet();
        races();
        return tap_done();
    }
    mkdir(HOME "/user", 0777);
    quotas();
    overflow();
    charged();
    directories();
    waits();
    races();
    ends_meet();
    death();
    return tap_done();
}
