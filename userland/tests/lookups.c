// TAP
/*
 * Look-ups that may not leave a directory, while others move directories and change roots: nothing
 * outside is ever reached (openat2 with RESOLVE_BENEATH and RESOLVE_IN_ROOT, chroot).
 */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define HOME   "/tmp/lookups"
#define ROUNDS 4000
#define STAY   100

static bool stop; /* atomic */

static void make(const char *path, char c)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0666);

    if (fd < 0 || write(fd, &c, 1) != 1)
        bail_out("cannot make %s", path);
    close(fd);
}

/* The byte in the file that was opened; 0: it was not. */
static char byte_of(int fd)
{
    char c = 0;

    if (fd >= 0) {
        if (read(fd, &c, 1) != 1)
            c = '?';
        close(fd);
    }
    return c;
}

static int look(int dir, const char *path, uint64_t resolve)
{
    struct open_how h = {.flags = O_RDONLY, .resolve = resolve};

    return (int)syscall(SYS_openat2, dir, path, &h, sizeof(h));
}

/* in: s is the file inside, at every depth; out: the same names outside are o. */
static void ground(void)
{
    mkdir(HOME, 0777);
    if (chdir(HOME) != 0)
        bail_out("no " HOME);
    mkdir("in", 0777);
    mkdir("in/a", 0777);
    mkdir("in/a/b", 0777);
    mkdir("in/a/b/c", 0777);
    mkdir("out", 0777);
    make("f", 'o');
    make("out/f", 'o');
    make("in/f", 's');
    make("in/a/f", 's');
    make("in/a/b/f", 's');
}

/* Move a directory out of the one that must not be left, and back. */
static void *mover(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        rename(HOME "/in/a/b", HOME "/out/b");
        rename(HOME "/out/b", HOME "/in/a/b");
    }
    return arg;
}

static void test_moved(uint64_t resolve, const char *name)
{
    static const char *const ends[] = {"../f", "../../f", "../../../f", "../b/../../f", "f"};
    char path[STAY * 5 + 64];
    int dir = open("in", O_RDONLY | O_DIRECTORY), outside = 0, odd = 0, inside = 0, refused = 0;
    char staying[STAY * 5 + 5] = "a/b/"; /* long enough to be moved meanwhile */
    pthread_t t;

    for (int k = 0; k < STAY; k++)
        strcat(staying, "c/../");
    stop = false;
    pthread_create(&t, NULL, mover, NULL);
    for (int k = 0; k < ROUNDS; k++) {
        int fd = look(dir, strcat(strcpy(path, staying), ends[k % 5]), resolve);
        int err = errno;
        char c = byte_of(fd);

        outside += c == 'o';
        inside += c == 's';
        refused += !c && (err == EAGAIN || err == EXDEV || err == ENOENT);
        odd += c ? c != 'o' && c != 's' : err != EAGAIN && err != EXDEV && err != ENOENT;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(t, NULL);
    rename(HOME "/out/b", HOME "/in/a/b");
    is(outside, 0, "%s: nothing outside is opened while directories move", name);
    is(odd, 0, "%s: nor does anything else happen (%d inside, %d refused)", name, inside, refused);
    is(byte_of(look(dir, "a/b/../../f", resolve)), 's', "%s: afterwards all is as before", name);
    close(dir);
}

/* One thread changes the root of all, others look: each finds the file of one of the roots, and a
 * root that is left goes with its last user. */
static void *changer(void *arg)
{
    int all = *(int *)arg;

    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        for (int k = 0; k < 2; k++) {
            if (fchdir(all) != 0 || chroot(k ? "in" : "in/a") != 0)
                return "chroot failed";
        }
    return NULL;
}

static void roots(void)
{
    int all = open(HOME, O_RDONLY | O_DIRECTORY), wrong = 0;
    pthread_t t;
    void *said;

    if (chroot("in") != 0)
        _exit(2);
    stop = false;
    pthread_create(&t, NULL, changer, &all);
    for (int k = 0; k < ROUNDS; k++) {
        struct stat st;
        pid_t pid;

        wrong += byte_of(open("/f", O_RDONLY)) != 's';
        wrong += byte_of(open("/../../../f", O_RDONLY)) != 's';
        if (k % 64 == 0 && (pid = must_fork()) == 0)
            _exit(byte_of(open("/f", O_RDONLY)) != 's');
        else if (k % 64 == 0)
            wrong += waitpid(pid, &(int){0}, 0) != pid;
        if (k % 256 == 0)
            wrong += stat("/out", &st) == 0;
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(t, &said);
    _exit(said != NULL || wrong != 0);
}

static int status_of(void (*fn)(void))
{
    int status = -1;
    pid_t pid = must_fork();

    if (pid == 0)
        fn();
    waitpid(pid, &status, 0);
    return status;
}

/* A root that has lost its name stays as long as somebody has it. */
static void removed_root(void)
{
    int fd;

    mkdir(HOME "/gone", 0777);
    if (chroot(HOME "/gone") != 0 || chdir("/") != 0)
        _exit(2);
    if (must_fork() == 0) {
        usleep(100000);
        _exit(open("/x", O_CREAT | O_WRONLY, 0666) >= 0 || errno != ENOENT ||
              access("/", F_OK) != 0);
    }
    fd = open("..", O_RDONLY | O_DIRECTORY); /* still the root */
    if (fd < 0 || unlinkat(fd, "../gone", AT_REMOVEDIR) == 0)
        _exit(3);
    _exit(0);
}

static void remover(void) { _exit(rmdir(HOME "/gone") != 0); }

/* An ordinary user gains nothing by a root: he gets none. */
static void ordinary(void)
{
    if (setresuid(1000, 1000, 1000) != 0)
        _exit(2);
    _exit(chroot(HOME) == 0 || errno != EPERM);
}

/* Rounds of ".." and links without an end can be killed. */
static void endless(void)
{
    char path[4000];
    struct open_how h = {.flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT};

    for (size_t k = 0; k + 3 < sizeof(path); k += 3)
        memcpy(path + k, "../", 4);
    for (;;)
        syscall(SYS_openat2, AT_FDCWD, path, &h, sizeof(h));
}

static void test_killed(void)
{
    pid_t pid = must_fork();
    int status;

    if (pid == 0)
        endless();
    usleep(50000);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    is(WTERMSIG(status), SIGKILL, "a look-up in a loop is killed");
}

int main(void)
{
    ground();
    test_moved(RESOLVE_BENEATH, "beneath");
    test_moved(RESOLVE_IN_ROOT, "in root");
    is(status_of(roots), 0, "threads look while their root changes");
    is(status_of(removed_root), 0, "a root cannot be removed from within");
    is(status_of(remover), 0, "but from outside");
    is(status_of(ordinary), 0, "an ordinary user changes no root");
    test_killed();
    return tap_done();
}
