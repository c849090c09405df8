/*
 * One user, or several, besiege the system: a crowd of unprivileged processes does everything at
 * once that may use up or block something, while root's shell, which was open before, must answer
 * each command in time. Then the users' processes are killed and their files removed, and
 * everything must be as it was before: memory, pools, processes, names and sections, to the page
 * and to the byte.
 *
 * `siege SECONDS PROCESSES SEED USERS`. The shell is connected by pipes; an answer is the echo of a
 * number behind the command's output, and its time is the guest's. The processes of a user are
 * started and replaced by a leader, which is one of its attackers' targets and is replaced itself.
 */
#define _GNU_SOURCE
#include "siege.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <megalith/creds.h>
#include <megalith/info.h>
#include <poll.h>
#include <prvdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define USER             1000 /* the first one */
#define USERS_MAX        4u
#define TICKS_PER_SECOND 1024
#define ANSWER_MS        2000
#define PATIENCE_MS      120000 /* for an answer that is late; only its lateness is a failure */
#define SETTLE_MS        60000
#define LOOK_MS          1000
#define ROUNDS_KILL      100000

static double clock_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The time that the CPUs have run: their clock ticks, on the average. A CPU takes one tick in each
 * interval in which the host runs it at all, but the clock goes on while a busy host does not. */
static double now_ms(void)
{
    struct mega_cpu c;
    uint64_t ticks = 0;
    int64_t i = 0;

    while (mega$info(MEGA_INFO_CPU, i, &c, sizeof(c)) == SS$_NORMAL) {
        ticks += c.clock_ticks;
        i++;
    }
    return (double)ticks / (double)i * 1000 / TICKS_PER_SECOND;
}

/* Say how long the phase that ends here has taken: by ticks, and by the clock, which goes on while
 * a busy host does not run the CPUs. With more CPUs than the host has, ticks are the slower. */
static void phase(const char *what)
{
    static double ticks, clock;
    double t = now_ms(), c = clock_ms();

    diag("%s: %.1f s by ticks, %.1f by the clock", what, (t - ticks) / 1e3, (c - clock) / 1e3);
    ticks = t;
    clock = c;
}

/* ---- what must be as before ---- */

struct inventory {
    long pages, nonpaged, paged, processes, sections, global_pages, page_file, promised, names;
};

static const char *const inventory_names[] = {
    "pages",         "bytes of nonpaged pool", "bytes of paged pool", "processes",
    "sections",      "entries of GBLPAGES",    "pages of GBLPAGFIL",  "promised pages",
    "logical names",
};

/* Names in all tables that root sees, which are all but those of other processes. */
static long count_names(void)
{
    struct mega_logical m;
    unsigned status = mega$logical(NULL, 0, 0, &m);
    long n = 0;

    for (; status == SS$_NORMAL; n++)
        status = mega$logical(NULL, MEGA_LOGICAL_NEXT, 0, &m);
    return status == SS$_NOLOGNAM ? n : -1; /* -1: one went meanwhile */
}

static void inventory(struct inventory *v)
{
    struct mega_memory m;
    struct mega_pool npp, pgd;
    struct mega_global g;
    struct mega_states st;

    if (mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 0, &npp, sizeof(npp)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 1, &pgd, sizeof(pgd)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_GLOBAL, 0, &g, sizeof(g)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_STATES, 0, &st, sizeof(st)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) != SS$_NORMAL)
        bail_out("the kernel does not tell its figures");
    v->pages = (long)(m.fluid + m.promised_unused + npp.pages + pgd.pages + m.system_pages);
    v->nonpaged = (long)npp.in_use;
    v->paged = (long)pgd.in_use;
    v->sections = (long)g.sections.use;
    v->global_pages = (long)g.gptes.use;
    v->page_file = (long)g.pagfil_pages.use;
    v->promised = (long)m.promised_unused;
    v->names = count_names();
    v->processes = 0;
    for (unsigned i = 0; i < MEGA_STATES; i++)
        v->processes += (long)st.count[i];
}

/* What each process has, all of which are root's before and after the siege. Its pages include
 * those of programs, so what it has made of zeroes is told too. */
static void show_holders(const char *when)
{
    struct mega_process p;
    long at = 0;

    while (mega$info(MEGA_INFO_PROCESS, at, &p, sizeof(p)) == SS$_NORMAL) {
        diag("%s: %s (%u) has %lu pages, %lu of zeroes, and %lu page-table pages", when, p.name,
             p.pid, p.rss, p.demand_zero + p.stack_grow, p.pt_pages);
        at = -1 - (long)p.pid;
    }
}

/* Wait until the inventory is `want`, or, with NULL, until it does not change any more. */
static void settle(struct inventory *v, const struct inventory *want)
{
    double end = now_ms() + SETTLE_MS;
    int same = 0;

    inventory(v);
    while (now_ms() < end && same < 10 && (!want || memcmp(v, want, sizeof(*v)) != 0)) {
        struct inventory before = *v;

        siege_nap_ms(20);
        inventory(v);
        same = !want && memcmp(&before, v, sizeof(*v)) == 0 ? same + 1 : 0;
    }
}

static void compare(const struct inventory *before, const struct inventory *after)
{
    const long *a = (const long *)before, *b = (const long *)after;

    for (unsigned i = 0; i < sizeof(*before) / sizeof(long); i++)
        is(b[i], a[i], "%s as before: %ld", inventory_names[i], a[i]);
}

/* Read a file to its end, so that all its pages are in memory from now on. */
static int read_whole(const char *path, const struct stat *st, int type, struct FTW *f)
{
    static char buffer[65536];
    int fd;

    (void)st, (void)f;
    if (type != FTW_F || !S_ISREG(st->st_mode) || strncmp(path, "/proc", 5) == 0)
        return 0;
    fd = open(path, O_RDONLY);
    while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
        ;
    close(fd);
    return 0;
}

/* ---- root's shell ---- */

static int shell_in, shell_out;
static pid_t shell;

static void shell_open(void)
{
    int in[2], out[2];

    if (pipe(in) || pipe(out) || (shell = fork()) < 0)
        bail_out("no shell");
    if (shell == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(out[1], 2);
        for (int fd = 3; fd < 16; fd++)
            close(fd);
        execl("/bin/sh", "sh", NULL);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    shell_in = in[1];
    shell_out = out[0];
}

/* Say what root's processes are waiting for, for a report of a late answer. */
static void show_root(void)
{
    struct mega_process p;
    long at = 0;

    while (mega$info(MEGA_INFO_PROCESS, at, &p, sizeof(p)) == SS$_NORMAL) {
        if (p.uid == 0 && p.pid != (uint32_t)getpid())
            diag("late: %s (%u), state %u, mutex \"%s\", CPU %u, used %lu us", p.name, p.pid,
                 p.waits, p.mutex, p.cpu, p.cpu_ns / 1000);
        at = -1 - (long)p.pid;
    }
}

/* Its output. In memory before the siege, so that the length of that output makes no difference. */
static char seen[1 << 16];

/* Let the shell execute a command. Milliseconds until its answer, or -1 if there was none; *status
 * is that of the command. */
static double shell_command(const char *command, int *status)
{
    static unsigned number;
    char line[256], mark[32], *at;
    size_t n = 0;
    double begin = now_ms();
    unsigned shown = 0;

    snprintf(mark, sizeof(mark), "answer-%u-", ++number);
    snprintf(line, sizeof(line), "%s\necho %s$?\n", command, mark);
    if (write(shell_in, line, strlen(line)) != (ssize_t)strlen(line)) {
        if (waitpid(shell, status, WNOHANG) == shell)
            diag("the shell has ended with status %#x before \"%s\"", *status, command);
        return -1;
    }
    for (;;) {
        struct pollfd p = {shell_out, POLLIN, 0};
        int wait_ms = (int)(begin + PATIENCE_MS - now_ms());
        ssize_t got;

        if (wait_ms <= 0 || (got = poll(&p, 1, LOOK_MS)) < 0)
            return -1;
        if (got == 0) {
            if (now_ms() - begin > ANSWER_MS && !shown++)
                show_root();
            continue;
        }
        if (n > sizeof(seen) / 2) { /* long output: keep the end of it */
            memmove(seen, seen + n - 100, 100);
            n = 100;
        }
        got = read(shell_out, seen + n, sizeof(seen) - n - 1);
        if (got <= 0)
            return -1;
        n += (size_t)got;
        seen[n] = 0;
        at = memmem(seen, n, mark, strlen(mark));
        if (at && memchr(at, '\n', n - (size_t)(at - seen))) {
            *status = atoi(at + strlen(mark));
            return now_ms() - begin;
        }
    }
}

static const char *const commands[] = {
    "echo hello",
    "ls /tmp > /dev/null",
    "show system > /dev/null",
    "show memory",
    "kill -0 1",
    "mkdir /root_was_here",
    "echo text > /root_was_here/file",
    "cat /root_was_here/file",
    "rm /root_was_here/file",
    "rm /root_was_here",
    "true",
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
/* Before the siege: the shell's heap takes its last page between the 30th command and the 220th. */
#define WARM_ROUNDS 20

/* ---- the users ---- */

static unsigned users = 1;
static pid_t leader[USERS_MAX];
static unsigned leaders; /* so far */

static bool is_hostile(uint32_t uid) { return uid >= USER && uid < USER + users; }

static pid_t attacker(unsigned number, uint64_t seed)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int fd = 0; fd < 16; fd++)
        close(fd);
    signal(SIGCHLD, SIG_DFL);
    siege_seed(seed * 1000003 + number);
    siege_roles[number % siege_role_count].run();
    _exit(0);
}

/* The leader keeps `count` attackers alive. */
static void lead(uint32_t uid, unsigned count, uint64_t seed)
{
    const struct mega_creds user = {.uic_group = uid,
                                    .uic_member = uid,
                                    .privileges = PRV$M_TMPMBX,
                                    .authorised = PRV$M_TMPMBX};
    unsigned number = 0, alive = 0;

    setsid();
    if (mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&user, 0, 0, 0, 0) != SS$_NORMAL)
        _exit(1);
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            alive -= alive > 0;
        if (alive < count && attacker(number, seed) > 0) {
            alive++;
            number++;
        } else {
            siege_nap_ms(20);
        }
    }
}

/* Start the leader of each user who has none. */
static void start_leaders(unsigned count, uint64_t seed)
{
    for (unsigned i = 0; i < users; i++) {
        if (leader[i] > 0 && waitpid(leader[i], NULL, WNOHANG) != leader[i])
            continue;
        leaders++;
        leader[i] = fork();
        if (leader[i] == 0) {
            close(shell_in);
            close(shell_out);
            lead(USER + i, count / users, seed + leaders);
        }
    }
}

/* Kill every process of the users once. Their number. */
static unsigned kill_users(void)
{
    struct mega_process p;
    unsigned found = 0;
    long at = 0;

    while (mega$info(MEGA_INFO_PROCESS, at, &p, sizeof(p)) == SS$_NORMAL) {
        if (is_hostile(p.uid) && p.state != MEGA_STATE_ENDED) {
            kill((pid_t)p.pid, SIGKILL);
            found++;
        }
        at = -1 - (long)p.pid;
    }
    return found;
}

static void count_processes(unsigned *most)
{
    struct mega_process p;
    unsigned found = 0;
    long at = 0;

    while (mega$info(MEGA_INFO_PROCESS, at, &p, sizeof(p)) == SS$_NORMAL) {
        found += is_hostile(p.uid);
        at = -1 - (long)p.pid;
    }
    *most = found > *most ? found : *most;
}

/* Leaders that were killed, too, are there until they were waited for. */
static bool end_users(void)
{
    for (unsigned round = 0; round < ROUNDS_KILL; round++) {
        unsigned left = kill_users();

        for (unsigned i = 0; i < users; i++) {
            if (leader[i] > 0 && waitpid(leader[i], NULL, WNOHANG) == leader[i])
                leader[i] = 0;
            left += leader[i] > 0;
        }
        if (left == 0)
            return true;
        siege_nap_ms(5);
    }
    return false;
}

static int remove_file(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st, (void)type;
    return f->level == 0 ? 0 : remove(path);
}

/* Remove everything below /tmp, in a process of its own: that of the test is not to grow. */
static bool remove_files(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(nftw("/tmp", remove_file, 16, FTW_DEPTH | FTW_PHYS) != 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Remove the users' objects of System V IPC, which outlive the processes that made them. */
static void remove_ipc(void)
{
    struct shm_info totals;
    struct shmid_ds shm;
    struct semid_ds sem;
    struct msqid_ds msg;
    struct seminfo info;
    int highest = shmctl(0, SHM_INFO, (struct shmid_ds *)&totals);

    for (int n = 0; n <= highest; n++)
        shmctl(shmctl(n, SHM_STAT, &shm), IPC_RMID, NULL);
    highest = semctl(0, 0, SEM_INFO, &info);
    for (int n = 0; n <= highest; n++)
        semctl(semctl(n, 0, SEM_STAT, &sem), 0, IPC_RMID);
    highest = msgctl(0, MSG_INFO, (struct msqid_ds *)&info);
    for (int n = 0; n <= highest; n++)
        msgctl(msgctl(n, MSG_STAT, &msg), IPC_RMID, NULL);
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 200;
    uint64_t seed = argc > 3 ? (uint64_t)atol(argv[3]) : 1;
    unsigned asked = 0, late = 0, wrong = 0, silent = 0, most = 0;
    double longest[COMMANDS] = {0}, took, end;
    struct inventory before, after;
    int status;

    users = argc > 4 && atoi(argv[4]) > 0 ? (unsigned)atoi(argv[4]) : 1;
    users = users < USERS_MAX ? users : USERS_MAX;
    signal(SIGPIPE, SIG_IGN); /* for what is written to a shell that has ended */
    siege_seed(seed);
    nftw("/", read_whole, 16, FTW_PHYS);
    memset(seen, 1, sizeof(seen));
    shell_open();
    /* The same commands as later: what they cache is there from now on. */
    for (unsigned i = 0; i < WARM_ROUNDS * COMMANDS; i++)
        wrong += shell_command(commands[i % COMMANDS], &status) < 0 || status != 0;
    is(wrong, 0, "each command succeeds before the siege");
    wrong = 0;
    /* What this process does later, so that its own memory does not grow any more. */
    remove_files();
    remove_ipc();
    kill_users();
    show_holders("before");
    settle(&before, NULL);
    settle(&before, NULL);
    phase("the beginning");
    end = now_ms() + seconds * 1e3;
    start_leaders(count, seed);
    /* Whole rounds, so that the last one has removed what it made. */
    while ((now_ms() < end || asked % COMMANDS != 0) && silent == 0) {
        unsigned which = asked++ % COMMANDS;
        double began = clock_ms();

        took = shell_command(commands[which], &status);
        silent += took < 0;
        wrong += took >= 0 && status != 0;
        late += took > ANSWER_MS;
        if (took > ANSWER_MS || took < 0 || status != 0)
            diag("\"%s\": status %d after %.0f ms, by the clock %.0f", commands[which], status,
                 took, clock_ms() - began);
        longest[which] = took > longest[which] ? took : longest[which];
        count_processes(&most);
        start_leaders(count, seed);
        siege_nap_ms(200);
    }
    phase("the siege");
    diag("%u commands; at most %u processes of %u users, %u leaders", asked, most, users, leaders);
    for (unsigned i = 0; i < COMMANDS; i++)
        diag("longest answer: %6.0f ms  %s", longest[i], commands[i]);
    ok(most > count / 2, "the users had %u processes", most);
    is(silent, 0, "root's shell answers");
    is(late, 0, "each answer comes within %d ms", ANSWER_MS);
    is(wrong, 0, "each command succeeds");

    ok(end_users(), "the users' processes can be killed");
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    phase("killing all");
    ok(remove_files(), "root removes the users' files");
    remove_ipc();
    settle(&after, &before);
    phase("removing all and settling");
    compare(&before, &after);
    show_holders("after");
    close(shell_in);
    waitpid(shell, NULL, 0);
    return tap_done();
}
