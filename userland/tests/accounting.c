// TAP
// RUN: --smp 1 -m 128M
// RUN: --smp 2 -m 256M
// RUN: --smp 4 -m 256M
/*
 * Accounting: what a process had used is in its record when it has ended, over all programs that it
 * ran; who may see whose; the number of records is bounded, and no user pushes out root's.
 */
#include <accdef.h>
#include <descrip.h>
#include <fcntl.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <megalith/info.h>
#include <prcdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE    8192ul
#define PAGES   300ul
#define CALLS   25
#define RINGS   8  /* kernel/proc/accounting.c */
#define RECORDS 64 /* of a ring */

static const char *program;
static struct mega_accounting last; /* what find() found */

/* The record of the process, by its number. */
static bool find(pid_t pid)
{
    uint64_t next = 1;

    while (mega$info(MEGA_INFO_ACCOUNTING, (int64_t)next, &last, sizeof(last)) == SS$_NORMAL) {
        struct accdef a;

        memcpy(&a, last.message, ACC$K_TERMLEN);
        if (a.acc$l_pid == (unsigned)pid)
            return true;
        next = last.number + 1;
    }
    return false;
}

/* How many records there are; of this user only, unless uid is -1. */
static unsigned count(int uid)
{
    struct mega_accounting m;
    unsigned n = 0;

    for (uint64_t next = 1;
         mega$info(MEGA_INFO_ACCOUNTING, (int64_t)next, &m, sizeof(m)) == SS$_NORMAL;
         next = m.number + 1)
        n += uid == -1 || m.uid == (unsigned)uid;
    return n;
}

static int ended(pid_t pid)
{
    int status = -1;

    waitpid(pid, &status, 0);
    return status;
}

static void touch(unsigned long pages)
{
    char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        _exit(9);
    for (unsigned long i = 0; i < pages; i++)
        p[i * PAGE] = 1;
    munmap(p, pages * PAGE);
}

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ul + (uint64_t)t.tv_nsec;
}

static void use_something(void)
{
    struct timespec pause = {0, 50000000};
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    char byte;

    touch(PAGES);
    for (int i = 0; i < CALLS; i++)
        (void)!(read(zero, &byte, 1) == 1 && write(null, &byte, 1));
    nanosleep(&pause, NULL);
    _exit(3);
}

static void what_is_used(void)
{
    uint64_t begin = now(), most;
    struct accdef a;
    pid_t pid = fork();

    if (pid == 0)
        use_something();
    is(ended(pid), 3 << 8, "a child ends");
    most = now() - begin;
    ok(find(pid), "it has a record");
    memcpy(&a, last.message, ACC$K_TERMLEN);
    ok(a.acc$w_msgsiz == ACC$K_TERMLEN && a.acc$l_owner == (unsigned)getpid(),
       "which is laid out as the message to a termination mailbox");
    is(last.exit_status, 3 << 8, "its status");
    is(last.uid, 0, "its user");
    ok(memcmp(a.acc$t_username, "SYSTEM      ", 12) == 0, "by name");
    is(last.buffered_io, 2 * CALLS, "its reads and writes, exactly");
    is(a.acc$l_biocnt, 2 * CALLS, "also in the message");
    is(last.direct_io, 0, "no request to a disk");
    ok(last.faults >= PAGES && last.faults < PAGES + 100, "its faults: %lu",
       (unsigned long)last.faults);
    ok(last.peak_pages >= PAGES && last.peak_pages < PAGES + 300, "the most pages that it had: %lu",
       (unsigned long)last.peak_pages);
    ok(last.peak_bytes >= PAGES * PAGE, "its virtual size at most");
    is(a.acc$l_wspeak, last.peak_pages * (PAGE / 512), "in pagelets");
    ok(last.elapsed_ns >= 50000000 && last.elapsed_ns <= most, "how long it lived");
    ok(last.user_ns <= last.cpu_ns && last.cpu_ns <= last.elapsed_ns, "its CPU time");
}

/* The value of a longword that $GETJPI gives of this process. */
static unsigned int own(int item)
{
    unsigned int value = 0;

    return lib$getjpi(&item, 0, 0, &value) & 1 ? value : 0;
}

/* As a program that another one has started, which had touched PAGES pages. */
static int after_exec(void)
{
    return own(JPI$_PAGEFLTS) >= PAGES && own(JPI$_WSPEAK) >= PAGES * (PAGE / 512) &&
                   own(JPI$_VIRTPEAK) >= PAGES * (PAGE / 512)
               ? 0
               : 1;
}

/* The record has what it used before and after an exec. */
static void over_programs(void)
{
    pid_t pid = fork();
    uint64_t faults;

    if (pid == 0) {
        touch(PAGES);
        execl("/bin/true", "true", (char *)0);
        _exit(9);
    }
    is(ended(pid), 0, "a program that ran another one");
    ok(find(pid) && strcmp(last.name, "true") == 0, "its record has the last one's name");
    ok(last.peak_pages >= PAGES && last.faults >= PAGES, "and what the first one used");
    faults = last.faults;
    pid = fork();
    if (pid == 0) {
        touch(PAGES);
        execl(program, program, "after", (char *)0);
        _exit(9);
    }
    is(ended(pid), 0, "$GETJPI tells the second one of both");
    pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)0);
        _exit(9);
    }
    is(ended(pid), 0, "one that began in its parent's memory");
    ok(find(pid) && last.peak_pages < PAGES && last.faults + PAGES <= faults,
       "has nothing of the parent's");
}

static void killed(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        touch(PAGES);
        pause();
    }
    kill(pid, SIGKILL);
    is(ended(pid), SIGKILL, "a process is killed");
    ok(find(pid) && last.exit_status == SIGKILL, "its record says so");
}

/* A child of that user, which ends at once. */
static pid_t one_of(int uid)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(uid && (setgid((gid_t)uid) != 0 || setuid((uid_t)uid) != 0));
    ended(pid);
    return pid;
}

static void who_sees_whose(void)
{
    pid_t ours = one_of(0), theirs = one_of(1001), pid;

    ok(find(ours) && find(theirs), "root sees everybody's");
    pid = fork();
    if (pid == 0) {
        if (setgid(1001) != 0 || setuid(1001) != 0)
            _exit(9);
        _exit(find(theirs) && !find(ours) && count(-1) == count(1001) ? 0 : 1);
    }
    is(ended(pid), 0, "a user sees his own, and no others");
}

static void bounded(void)
{
    pid_t ours = one_of(0);

    for (int i = 0; i < 3 * RECORDS; i++)
        one_of(1002);
    is(count(1002), RECORDS, "of a user there are as many as a ring has");
    ok(find(ours), "and root's are still there");
    for (int i = 0; i < RECORDS; i++)
        one_of(0);
    ok(!find(ours), "until newer ones of root's take their places");
    ok(count(-1) <= RINGS * RECORDS, "there are never more than fit");
}

static void unaccounted(void)
{
    static char image[] = "/bin/true";
    struct dsc$descriptor_s d = {sizeof(image) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, image};
    unsigned int pid;

    is(sys$creprc(&pid, &d, 0, 0, 0, 0, 0, 0, 4, 0, 0, PRC$M_NOACNT), SS$_NORMAL,
       "a process that is not to be accounted for");
    while (kill((pid_t)pid, 0) == 0)
        usleep(10000);
    ok(!find((pid_t)pid), "leaves no record");
}

static void mistakes(void)
{
    is(mega$info(MEGA_INFO_ACCOUNTING, INT64_MAX, &last, sizeof(last)), SS$_NONEXPR,
       "after the last one there is none");
    is(mega$info(MEGA_INFO_ACCOUNTING, -1, &last, sizeof(last)), SS$_NORMAL,
       "below the first one is the first");
    is(mega$info(MEGA_INFO_ACCOUNTING, 1, (void *)8, sizeof(last)), SS$_ACCVIO,
       "a buffer that is not there");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1)
        return after_exec();
    what_is_used();
    over_programs();
    killed();
    who_sees_whose();
    bounded();
    unaccounted();
    mistakes();
    return tap_done();
}
