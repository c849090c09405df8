// TAP
// ARGS: 1 3 1500
// SECONDS: 120
/*
 * Calls whose arguments lie in memory that other processes change meanwhile: paths, vectors of
 * buffers, structures, item lists, descriptors of strings and argument blocks of services. What a
 * call reads twice may differ the second time; nothing may come of that but an error. Each caller
 * has several threads that make calls at the same time, in one address space and with one table of
 * descriptors, and start and end others. The callers, of an ordinary user, also pile things up
 * (files, names, descriptors, mappings, processes, timers, sections) until a limit refuses more,
 * and let all of it go.
 *
 * `shared_fuzz SEED CALLERS CALLS`. The self-check at the end of the run (scripts/run --validate)
 * counts what is left of every kind.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <fcntl.h>
#include <ftw.h>
#include <iledef.h>
#include <jpidef.h>
#include <lnmdef.h>
#include <megalith/services.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <secdef.h>
#include <signal.h>
#include <starlet.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE        8192ul
#define USER        1234 /* of the callers, so that their files are known by it */
#define CHANGERS    2
#define CALLERS_MAX 8
#define THREADS     3    /* of a caller, beside its first */
#define STUCK_MS    1500 /* a caller that has made no call for so long is replaced */
#define GROW_MAX    400  /* things of each kind that a caller piles up */

/* What the callers pass to the kernel, and what the changers change: every byte of it. */
static struct arena {
    char path[8][32];
    struct iovec vector[8];
    uint64_t times[8];
    struct pollfd polled[8];
    struct dsc64$descriptor_s descriptor[4];
    char string[4][32];
    ILE3 items[8];
    uint64_t block[16];
    uint64_t words[16];
    char *strings[8];
    char buffer[4 * PAGE];
} *arena;

static struct progress { /* not changed by the changers */
    uint64_t calls[CALLERS_MAX];
} *progress;

static __thread uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static uint64_t wild(void)
{
    static const uint64_t odd[] = {0,
                                   1,
                                   8,
                                   PAGE,
                                   UINT32_MAX,
                                   INT64_MAX,
                                   UINT64_MAX,
                                   1ul << 42,
                                   (1ul << 42) - 8,
                                   0xFFFFFC0000310000,
                                   0xFFFFFE0000000000};

    switch (draw(4)) {
    case 0:
        return odd[draw(sizeof(odd) / sizeof(*odd))];
    case 1:
        return draw(300);
    default:
        return (uint64_t)arena + draw(sizeof(*arena));
    }
}

/* ---- sensible contents, restored from time to time, so that most calls do something ---- */

static void set_paths(void)
{
    static const char *const paths[] = {"a", "b",    "d",     "d/c", "..", "d/../a",
                                        ".", "link", "/proc", "",    "e",  "/tmp/sf/x"};

    for (unsigned i = 0; i < 8; i++)
        strcpy(arena->path[i], paths[draw(sizeof(paths) / sizeof(*paths))]);
}

static void set_vectors(void)
{
    for (unsigned i = 0; i < 8; i++) {
        arena->vector[i] = (struct iovec){arena->buffer + draw(PAGE), draw(500)};
        arena->times[i] = draw(1000);
        arena->polled[i] = (struct pollfd){.fd = (int)draw(8), .events = POLLIN | POLLOUT};
        arena->strings[i] = i < 7 && draw(3) ? arena->path[draw(8)] : NULL;
    }
}

static void set_services(void)
{
    for (unsigned i = 0; i < 4; i++) {
        static const char *const forms[] = {"SF%u", "SF%u", "SF%u", "LNM$PROCESS", "/bin/true"};
        int n = snprintf(arena->string[i], 32, forms[draw(5)], (unsigned)draw(20));

        arena->descriptor[i] = (struct dsc64$descriptor_s){
            1, 14, 1, -1, (unsigned long)n, arena->string[i]};
    }
    arena->items[0] = (ILE3){(unsigned short)draw(200), draw(2) ? LNM$_STRING : JPI$_PRCNAM,
                             arena->buffer, NULL};
    arena->items[1] = (ILE3){4, draw(2) ? LNM$_ATTRIBUTES : JPI$_PID, arena->words, NULL};
    for (unsigned i = 2; i < 7; i++)
        arena->items[i] = (ILE3){(unsigned short)draw(300),
                                 draw(3) ? LNM$_STRING : (unsigned short)draw(20), arena->buffer,
                                 draw(2) ? (unsigned short *)&arena->words[8] : NULL};
    arena->items[2 + draw(6)] = (ILE3){0};
    arena->block[0] = 6 + draw(6);
    for (unsigned i = 1; i < 16; i++)
        arena->block[i] = draw(3)   ? (uint64_t)&arena->words[draw(16)]
                          : draw(2) ? 0
                                    : PAGE * draw(9);
    arena->block[1] = draw(2) ? (uint64_t)&arena->descriptor[draw(4)] : 0;
}

/* A process that changes the arena for ever. */
static void change(uint64_t seed)
{
    uint64_t *word = (uint64_t *)arena;
    char *byte = (char *)arena;

    state = seed * 0x9E3779B97F4A7C15 | 1;
    for (unsigned n = 0;; n++) {
        switch (draw(8)) {
        case 0:
            set_paths();
            break;
        case 1:
            set_vectors();
            break;
        case 2:
            set_services();
            break;
        case 3:
        case 4: /* not the buffer, which has no structure */
            word[draw(offsetof(struct arena, buffer) / 8)] = wild();
            break;
        default:
            byte[draw(offsetof(struct arena, buffer))] = "ab/.d"[draw(6)];
        }
        if (n % 64 == 0)
            sched_yield();
    }
}

/* ---- the calls ---- */

static long __attribute__((noinline)) call(long number, const uint64_t a[6])
{
    register uint64_t a0 __asm__("$16") = a[0], a1 __asm__("$17") = a[1], a2 __asm__("$18") = a[2];
    register uint64_t a3 __asm__("$19") = a[3], a4 __asm__("$20") = a[4], a5 __asm__("$21") = a[5];
    register long v0 __asm__("$0") = number;

    __asm__ volatile("callsys"
                     : "+r"(v0), "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25",
                       "$27", "$28", "memory");
    return a3 ? -v0 : v0;
}

/* Kinds of arguments: p path, v vector, t times, P pollfds, D descriptor, I items, W words, B
 * buffer, K block, d descriptor of a file, n small number, 0 zero, m mode, u signal; others below.
 */
static const struct shape {
    uint16_t number;
    const char *kinds;
} shapes[] = {
    {SYS_open, "pfm"},
    {SYS_open, "pfm"},
    {SYS_close, "d"},
    {SYS_readv, "dvn"},
    {SYS_writev, "dvn"},
    {SYS_vmsplice, "dvn0"},
    {SYS_writev, "dvn"},
    {SYS_stat64, "pB"},
    {SYS_lstat64, "pB"},
    {SYS_mkdir, "pm"},
    {SYS_rmdir, "p"},
    {SYS_unlink, "p"},
    {SYS_link, "pp"},
    {SYS_symlink, "pp"},
    {SYS_rename, "pp"},
    {SYS_readlink, "pBn"},
    {SYS_chmod, "pm"},
    {SYS_access, "pn"},
    {SYS_truncate, "pn"},
    {SYS_utimensat, "dpt0"},
    {SYS_poll, "Pnn"},
    {SYS_ppoll, "Pnt00"},
    {SYS_select, "nWWWt"},
    {SYS_nanosleep, "tW"},
    {SYS_setitimer, "0tW"},
    {SYS_rt_sigprocmask, "nWW8"},
    {SYS_rt_sigaction, "uWW80"},
    {SYS_rt_sigtimedwait, "WBt8"},
    {SYS_sigaltstack, "WW"},
    {SYS_futex, "Wnnt"},
    {SYS_futex, "WoneWn"},
    {SYS_set_robust_list, "Wr"},
    {SYS_get_robust_list, "0WW"},
    {SYS_tgkill, "gnu"},
    {SYS_sched_yield, ""},
    {SYS_getrusage, "0B"},
    {SYS_getdents64, "dBn"},
    {SYS_execve, "pVV"},
    {SYS_pwrite64, "dBnn"},
    {SYS_read, "dBn"},
    {SYS_write, "dBn"},
    {SYS_getcwd, "Bn"},
    {SYS_prlimit64, "0nWW"},
    {SYS_sched_setaffinity, "08W"},
    {VMS_CRELNM, "WDD0I"},
    {VMS_CRELNM, "0DD0I"},
    {VMS_TRNLNM, "0DDWI"},
    {VMS_TRNLNM, "0DD0I"},
    {VMS_DELLNM, "DD0"},
    {VMS_CRELNT, "K"},
    {VMS_GETJPI, "K"},
    {VMS_GETSYI, "K"},
    {VMS_CREATE_REGION_64, "K"},
    {VMS_GET_REGION_INFO, "K"},
    {VMS_CRMPSC_GDZRO_64, "K"},
    {VMS_CRMPSC_GPFILE_64, "K"},
    {VMS_MGBLSC_64, "K"},
    {VMS_CREATE_GPFILE, "D0nln0"},
    {VMS_CRETVA_64, "K"},
    {VMS_SETPRT_64, "K"},
    {VMS_EXPREG_64, "Wl00WW"},
    {VMS_DELTVA_64, "WWl0WW"},
    {VMS_DGBLSC, "0DD"},
    {VMS_SETPRV, "0W0W"},
    {VMS_ASSIGN, "DW00n"},
    {VMS_CREMBX, "K"},
    {VMS_QIO, "K"},
    {VMS_GETDVI, "K"},
    {VMS_CREPRC, "K"},
    {MEGA_SYS_LOGICAL, "DnnB"},
    {MEGA_SYS_INFO, "nnBn"},
};

static uint64_t of_kind(char kind)
{
    switch (kind) {
    case 'p':
        return (uint64_t)arena->path[draw(8)];
    case 'v':
        return (uint64_t)arena->vector;
    case 't':
        return (uint64_t)&arena->times[draw(6)];
    case 'P':
        return (uint64_t)arena->polled;
    case 'D':
        return (uint64_t)&arena->descriptor[draw(4)];
    case 'I':
        return (uint64_t)arena->items;
    case 'W':
        return (uint64_t)&arena->words[draw(12)];
    case 'B':
        return (uint64_t)arena->buffer + draw(PAGE);
    case 'K':
        return (uint64_t)arena->block;
    case 'V':
        return (uint64_t)arena->strings;
    case 'd':
        return draw(10);
    case 'f':
        return (uint64_t[]){0,
                            1,
                            2,
                            O_CREAT | O_RDWR,
                            O_CREAT | O_EXCL | O_WRONLY,
                            O_TRUNC | O_WRONLY,
                            O_DIRECTORY,
                            O_CREAT | O_RDWR | O_APPEND}[draw(8)];
    case 'm':
        return 0777 & ~draw(0200);
    case 'u':
        return draw(2) ? SIGUSR1 : SIGUSR2;
    case 'o': /* of futex */
        return draw(13) | draw(2) << 7;
    case 'e': /* its fourth argument: a time, or a number */
        return draw(2) ? (uint64_t)&arena->times[draw(6)] : draw(9);
    case 'r': /* the length of a robust list */
        return 24;
    case 'g':
        return (uint64_t)getpid();
    case 'l':
        return PAGE * (1 + draw(16));
    case 'n':
        return draw(9);
    case '8':
        return 8;
    default:
        return 0;
    }
}

static void on_alarm(int sig) { (void)sig; }

static void renew_alarm(void)
{
    const struct itimerval often = {{0, 10000}, {0, 10000}};
    struct sigaction sa = {.sa_handler = on_alarm};

    sigaction(SIGALRM, &sa, NULL);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

static void one_call(void)
{
    const struct shape *s = &shapes[draw(sizeof(shapes) / sizeof(*shapes))];
    uint64_t a[6] = {0};

    for (unsigned i = 0; i < 6 && s->kinds[i]; i++)
        a[i] = of_kind(s->kinds[i]);
    if (s->number == MEGA_SYS_INFO && a[0] >= MEGA_INFO_CRASH)
        return;
    call(s->number, a);
    if (s->number == SYS_rt_sigprocmask || s->number == SYS_setitimer)
        renew_alarm(); /* or the next call could wait for ever */
}

/* ---- growth ---- */

static void grow_files(void)
{
    char name[16];

    for (unsigned i = 0; i < GROW_MAX; i++) {
        int fd;

        snprintf(name, sizeof(name), "g%u", i);
        fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || write(fd, arena->path, 200) != 200 || close(fd) < 0)
            break;
    }
    for (unsigned i = 0; i < GROW_MAX; i++) {
        snprintf(name, sizeof(name), "g%u", i);
        unlink(name);
    }
}

static void grow_descriptors(void)
{
    unsigned n = 0;
    int p[2];

    while (n < GROW_MAX && pipe(p) == 0)
        n++;
    for (int fd = 10; fd < (int)(2 * GROW_MAX + 20); fd++)
        close(fd);
}

static void grow_mappings(void)
{
    char *p[GROW_MAX];
    unsigned n = 0;

    for (; n < GROW_MAX; n++) {
        p[n] = mmap(NULL, PAGE, n % 2 ? PROT_READ : PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p[n] == MAP_FAILED)
            break;
        if (n % 2 == 0 && n % 16 == 0)
            *p[n] = 1;
    }
    while (n)
        munmap(p[--n], PAGE);
}

static void grow_names(void)
{
    static char text[16], table[] = "LNM$PROCESS";
    struct dsc$descriptor_s t = {11, 14, 1, table}, l = {0, 14, 1, text};
    ILE3 items[] = {{8, LNM$_STRING, arena->path[0], NULL}, {0, 0, NULL, NULL}};

    for (unsigned i = 0; i < GROW_MAX; i++) {
        l.dsc$w_length = (unsigned short)snprintf(text, sizeof(text), "GROWN_%u", i);
        call(VMS_CRELNM, (uint64_t[6]){0, (uint64_t)&t, (uint64_t)&l, 0, (uint64_t)items, 0});
    }
    for (unsigned i = 0; i < GROW_MAX; i++) {
        l.dsc$w_length = (unsigned short)snprintf(text, sizeof(text), "GROWN_%u", i);
        call(VMS_DELLNM, (uint64_t[6]){(uint64_t)&t, (uint64_t)&l, 0, 0, 0, 0});
    }
}

static void grow_processes(void)
{
    pid_t pids[12];
    unsigned n = 0;

    for (; n < 12; n++) {
        pids[n] = (pid_t)call(SYS_fork, (uint64_t[6]){0}); /* may fail */
        if (pids[n] == 0) {
            const struct itimerval often = {{0, 500}, {0, 500}};

            signal(SIGALRM, SIG_IGN);
            setitimer(ITIMER_REAL, &often, NULL);
            for (unsigned i = 0; i < 20; i++)
                one_call();
            _exit(0);
        }
        if (pids[n] < 0)
            break;
    }
    poll(NULL, 0, 10);
    while (n) {
        kill(pids[--n], SIGKILL);
        waitpid(pids[n], NULL, 0);
    }
}

static void grow_sections(void)
{
    static char text[16];
    struct dsc$descriptor_s name = {0, 14, 1, text};

    for (unsigned i = 0; i < 20; i++) {
        uint64_t block[10] = {9,
                              (uint64_t)&name,
                              0,
                              0,
                              4 * PAGE,
                              (uint64_t)&arena->words[i % 4],
                              0,
                              3,
                              SEC$M_EXPREG | SEC$M_WRT,
                              (uint64_t)&arena->words[8]};

        name.dsc$w_length = (unsigned short)snprintf(text, sizeof(text), "GROWN_%d_%u", getpid(),
                                                     i);
        call(VMS_CRMPSC_GPFILE_64, (uint64_t[6]){(uint64_t)block});
    }
}

/* ---- callers ---- */

/* A thread that makes calls until its process ends; now and then it ends, after it has started
 * another in its place. */
static void *make_more_calls(void *arg)
{
    pthread_attr_t a;
    pthread_t t;

    state = (uint64_t)arg * 0x9E3779B97F4A7C15 | 1;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 * 1024);
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    while (draw(300) || pthread_create(&t, &a, make_more_calls, (void *)draw(UINT32_MAX)))
        one_call();
    return NULL;
}

static void make_calls(unsigned k, uint64_t seed, uint64_t calls)
{
    static void (*const growths[])(void) = {grow_files, grow_descriptors, grow_mappings,
                                            grow_names, grow_processes,   grow_sections};
    char home[32];

    state = (seed * 31 + k) * 0x9E3779B97F4A7C15 | 1;
    setsid();
    for (int fd = 0; fd < 20; fd++)
        close(fd);
    snprintf(home, sizeof(home), "/tmp/sf/%u", k);
    if (chdir(home) != 0 || setgid(USER) != 0 || setuid(USER) != 0)
        _exit(2);
    for (unsigned n = 0; n < THREADS; n++) {
        pthread_t t;

        if (pthread_create(&t, NULL, make_more_calls, (void *)(draw(UINT32_MAX))))
            break;
    }
    while (progress->calls[k] < calls) {
        if (progress->calls[k] % 8 == 0)
            renew_alarm();
        if (draw(100) == 0)
            growths[draw(sizeof(growths) / sizeof(*growths))]();
        else
            one_call();
        progress->calls[k]++;
    }
    _exit(0);
}

/* ---- the parent ---- */

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static unsigned ended, died, stuck, limited, unexplained, by_signal[65];

struct caller {
    pid_t pid;
    uint64_t seen;
    long since;
    int killed; /* by its parent, since it was stuck */
};

static void start(struct caller *c, unsigned k, uint64_t seed, uint64_t calls)
{
    c->pid = must_fork();
    if (c->pid == 0)
        make_calls(k, seed, calls);
    c->seen = progress->calls[k];
    c->since = now_ms();
    c->killed = 0;
}

/* Has process pid, which has ended and is not reaped yet, used as much CPU time as its own hard
 * limit allows? Then SIGKILL came from that limit, which any of its calls may have lowered. */
static int limit_used_up(pid_t pid)
{
    struct rusage used;
    struct rlimit limit;
    siginfo_t info;
    rlim_t us;

    if (prlimit(pid, RLIMIT_CPU, NULL, &limit) != 0 ||
        syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOWAIT, &used) != 0)
        return 0;
    us = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000u +
         (rlim_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return us >= 1000000u && us / 1000000u >= limit.rlim_max;
}

/* Look at caller k once. True: it has made all its calls. */
static int attend(struct caller *c, unsigned k, uint64_t seed, uint64_t calls)
{
    siginfo_t info = {0};
    int status;

    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid) {
        int of_limit = info.si_status == SIGKILL && limit_used_up(c->pid);

        waitpid(c->pid, &status, 0);
        if (WIFEXITED(status) && progress->calls[k] >= calls)
            return 1;
        if (WIFSIGNALED(status))
            died++, by_signal[WTERMSIG(status)]++;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
            limited += !c->killed && of_limit;
            unexplained += !c->killed && !of_limit;
        }
        progress->calls[k]++; /* not the same call again */
        start(c, k, seed + progress->calls[k], calls);
    } else if (progress->calls[k] != c->seen) {
        c->seen = progress->calls[k];
        c->since = now_ms();
    } else if (now_ms() - c->since > STUCK_MS) {
        kill(-c->pid, SIGKILL); /* it leads a session; its children too */
        c->since = now_ms();
        stuck += !c->killed; /* it may take more than one period to die */
        c->killed = 1;
    }
    return 0;
}

static int remove_theirs(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)type, (void)at;
    if (st->st_uid == USER || strncmp(path, "/tmp/sf", 7) == 0)
        remove(path);
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned callers = argc > 2 ? (unsigned)atoi(argv[2]) : 3, left;
    uint64_t calls = argc > 3 ? strtoul(argv[3], NULL, 0) : 1500;
    struct caller c[CALLERS_MAX] = {0};
    pid_t changer[CHANGERS];
    char home[32];

    callers = callers > CALLERS_MAX ? CALLERS_MAX : callers;
    arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    state = seed | 1;
    set_paths();
    set_vectors();
    set_services();
    umask(0);
    mkdir("/tmp/sf", 0755);
    for (unsigned k = 0; k < callers; k++) {
        snprintf(home, sizeof(home), "/tmp/sf/%u", k);
        mkdir(home, 0777);
    }
    for (unsigned k = 0; k < CHANGERS; k++) {
        changer[k] = must_fork();
        if (changer[k] == 0)
            change(seed + k);
    }
    for (unsigned k = 0; k < callers; k++)
        start(&c[k], k, seed, calls);
    left = callers;
    while (left) {
        for (unsigned k = 0; k < callers; k++) {
            if (c[k].pid && attend(&c[k], k, seed, calls)) {
                c[k].pid = 0;
                ended++;
                left--;
            }
        }
        poll(NULL, 0, 5);
    }
    for (unsigned k = 0; k < CHANGERS; k++) {
        kill(changer[k], SIGKILL);
        waitpid(changer[k], NULL, 0);
    }
    nftw("/tmp", remove_theirs, 20, FTW_PHYS | FTW_DEPTH);
    diag("seed %lu: %u callers of %lu calls; %u died, %u were stuck", seed, callers, calls, died,
         stuck);
    for (int sig = 1; sig <= 64; sig++) {
        if (by_signal[sig])
            diag("%u of signal %d", by_signal[sig], sig);
    }
    diag("%u had used up their CPU time", limited);
    is(ended, callers, "every caller has made all its calls");
    is(unexplained, 0, "none was killed for memory");
    return tap_done();
}
