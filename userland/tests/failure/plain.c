/* System calls that allocate nothing except by accesses to the caller's memory. Each is tried with
 * memory that is present, and with an untouched page for what it reads or writes. */
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAKE 1 /* futex */

static unsigned long room[64], mask, word;
static struct timespec at_once;
static unsigned long limit[2];
static struct pollfd ready = {1, POLLOUT, 0};
static unsigned long fd_set_1[16] = {2};
static unsigned long usr1_mask = 1ul << (SIGUSR1 - 1);
static volatile int handled;

#define ROOM ((unsigned long)room)
static const int zeroes[4];
static const unsigned cap_header[2] = {0x19980330}, all_caps[3] = {~0u, ~0u};

/* A call that writes to, or reads from, an untouched page. */
#define COLD_OUT(name_, call_, ...) \
    {.name = name_, .call = (call_), .args = {__VA_ARGS__}, .prepare = cold_make, .undo = cold_drop}
#define PLAIN(name_, call_, ...) \
    {.name = name_, .call = (call_), .args = {__VA_ARGS__}, .flags = NOTHING}

/* ---- signals ---- */

static void handler(int sig)
{
    (void)sig;
    handled++;
}

static void catch_signal(void)
{
    signal(SIGUSR1, handler);
    handled = 0;
}

static void info_handler(int sig, siginfo_t *info, void *context)
{
    (void)context;
    handled += info->si_signo == sig;
}

static void catch_with_info(void)
{
    struct sigaction sa = {.sa_flags = SA_SIGINFO};

    sa.sa_sigaction = info_handler;
    sigaction(SIGUSR1, &sa, NULL);
    handled = 0;
}

static void catch_no_signal(void) { signal(SIGUSR1, SIG_DFL); }
static bool was_handled(long r) { return r == 0 && handled == 1; }

/* Delivery of a signal and return from the handler: SYS_sigreturn, or with SA_SIGINFO
   SYS_rt_sigreturn. */
static long signal_self(void)
{
    return raw6(SYS_kill, (unsigned long)getpid(), SIGUSR1, 0, 0, 0, 0);
}

static void block(void)
{
    mask = 1ul << (SIGUSR2 - 1);
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, (unsigned long)&mask, 0, 8, 0, 0);
    kill(getpid(), SIGUSR2);
    cold_make();
}

/* Accept a signal that is still pending. */
static void unblock(void)
{
    raw6(SYS_rt_sigtimedwait, (unsigned long)&mask, 0, (unsigned long)&at_once, 8, 0, 0);
    raw6(SYS_rt_sigprocmask, SIG_UNBLOCK, (unsigned long)&mask, 0, 8, 0, 0);
    cold_drop();
}

static bool is_usr2(long r) { return r == SIGUSR2 && *(int *)COLD == SIGUSR2; }

/* A real-time signal that is pending already, and has a queue. */
#define QUEUED 40
static siginfo_t queue_info = {.si_code = SI_QUEUE};
static const unsigned long queued_mask = 1ul << (QUEUED - 1);

static bool take_queued(void)
{
    return raw6(SYS_rt_sigtimedwait, (unsigned long)&queued_mask, 0, (unsigned long)&at_once, 8, 0,
                0) == QUEUED;
}

static void queue_one(void)
{
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, (unsigned long)&queued_mask, 0, 8, 0, 0);
    kill(getpid(), QUEUED);
    kill(getpid(), QUEUED);
    take_queued();
}

static void queue_empty(void)
{
    while (take_queued())
        ;
    raw6(SYS_rt_sigprocmask, SIG_UNBLOCK, (unsigned long)&queued_mask, 0, 8, 0, 0);
}

static long queue_process(void)
{
    return raw6(SYS_rt_sigqueueinfo, (unsigned long)getpid(), QUEUED, (unsigned long)&queue_info, 0,
                0, 0);
}

static bool is_twice_there(long r) { return r == 0 && take_queued() && take_queued(); }

static void wait_for_usr1(void)
{
    catch_signal();
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, (unsigned long)&usr1_mask, 0, 8, 0, 0);
    signal_self();
}

static long wait_interrupted(void)
{
    unsigned long none = 0;
    long r = raw6(SYS_rt_sigsuspend, (unsigned long)&none, 8, 0, 0, 0, 0);

    return r == -EINTR ? 0 : r;
}

static void alarm_off(void)
{
    unsigned long none[4] = {0};

    raw6(SYS_setitimer, 0, (unsigned long)none, 0, 0, 0, 0);
    cold_drop();
}

static unsigned long hour[4] = {0, 0, 3600, 0}, on_stack[3];
static bool alarm_is_set(long r)
{
    unsigned long now[4];

    return r == 0 && raw6(SYS_getitimer, 0, (unsigned long)now, 0, 0, 0, 0) == 0 && now[2];
}

/* The current value, to be set again. */
static void limit_as_is(void)
{
    raw6(SYS_getrlimit, 7, (unsigned long)limit, 0, 0, 0, 0);
    cold_make();
}

/* A futex whose word is read: nothing wakes the caller. */
static long futex_wait(void)
{
    long r = raw6(SYS_futex, COLD, 0, 0, (unsigned long)&at_once, 0, 0);

    return r == -ETIMEDOUT ? 0 : r;
}

#define LOCK_PI   6
#define UNLOCK_PI 7

/* A lock of another process, of which a wait is over at once. */
static pid_t owner;
static void cold_owned(void)
{
    owner = fork();
    if (owner == 0)
        for (;;)
            pause();
    cold_make();
    *(uint32_t *)COLD = (uint32_t)owner;
    cold_written = true;
    warm_up();
    settle();
}
static void cold_disowned(void)
{
    cold_drop();
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
}
static long futex_lock_pi(void)
{
    long r = raw6(SYS_futex, COLD, LOCK_PI, 0, (unsigned long)&at_once, 0, 0);

    return r == -ETIMEDOUT ? 0 : r;
}
static long futex_own_pi(void)
{
    long r = raw6(SYS_futex, COLD, LOCK_PI, 0, 0, 0, 0);

    return r ? r : raw6(SYS_futex, COLD, UNLOCK_PI, 0, 0, 0, 0);
}

/* A waiter of another process that is moved to a lock of this one. */
#define WAIT_REQUEUE_PI 11
#define CMP_REQUEUE_PI  12

static uint32_t *condition;
static pid_t moved;
static void to_be_moved(void)
{
    condition = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    condition[1] = (uint32_t)getpid();
    moved = fork();
    if (moved == 0)
        for (;;)
            syscall(SYS_futex, condition, WAIT_REQUEUE_PI, 0, NULL, condition + 1, 0);
    while (syscall(SYS_futex, condition, WAKE, 1, 0, 0, 0) == 0) /* EINVAL: it is there */
        usleep(1000);
    warm_up();
    settle();
}
static void drop_moved(void)
{
    kill(moved, SIGKILL);
    waitpid(moved, NULL, 0);
    munmap(condition, 8192);
}
static long requeue_pi(void)
{
    long r = raw6(SYS_futex, (unsigned long)condition, CMP_REQUEUE_PI, 1, 0,
                  (unsigned long)(condition + 1), 0);

    return r == 1 ? 0 : r ? r : -1;
}

/* An empty CPU mask, which is refused after it has been read. */
static long no_affinity(void)
{
    long r = raw6(SYS_sched_setaffinity, 0, 8, COLD, 0, 0, 0);

    return r == -EINVAL ? 0 : r;
}

static void altstack_off(void)
{
    raw6(SYS_sigaltstack, (unsigned long)(unsigned long[3]){0, 2, 0}, 0, 0, 0, 0, 0);
    cold_drop();
}

static void altstack_prepare(void)
{
    on_stack[0] = (unsigned long)room;
    on_stack[1] = 0;
    on_stack[2] = 1 << 14;
    cold_make();
}

/* The kernel's struct sigaction: handler, flags, mask. */
static unsigned long ignore[4] = {1, 0, 0, 0};
static void action_back(void)
{
    signal(SIGUSR2, SIG_DFL);
    cold_drop();
}

static void mask_back(void)
{
    raw6(SYS_rt_sigprocmask, SIG_UNBLOCK, (unsigned long)&usr1_mask, 0, 8, 0, 0);
    cold_drop();
}

static void suspend_undo(void)
{
    mask_back();
    catch_no_signal();
}

const struct scenario plain_scenarios[] = {
    PLAIN("getxpid", SYS_getxpid),
    PLAIN("getppid", 532),
    PLAIN("getxuid", SYS_getxuid),
    PLAIN("getxgid", SYS_getxgid),
    PLAIN("geteuid", 531),
    PLAIN("getegid", 530),
    PLAIN("getpgid", SYS_getpgid),
    PLAIN("getsid", SYS_getsid),
    PLAIN("getpgrp", SYS_getpgrp),
    PLAIN("gettid", SYS_gettid),
    PLAIN("set_tid_address", SYS_set_tid_address, ROOM),
    PLAIN("set_robust_list", SYS_set_robust_list, 0, 24),
    PLAIN("get_robust_list", SYS_get_robust_list, 0, ROOM, ROOM + 8),
    PLAIN("umask", SYS_umask, 022),
    PLAIN("getpagesize", SYS_getpagesize),
    PLAIN("getdtablesize", SYS_getdtablesize),
    PLAIN("getgroups", SYS_getgroups, 0, ROOM),
    PLAIN("setgroups", SYS_setgroups, 0, 0),
    PLAIN("setpriority", SYS_setpriority),
    PLAIN("getpriority", SYS_getpriority),
    PLAIN("membarrier", SYS_membarrier, 0, 0, 0),
    PLAIN("sched_yield", SYS_sched_yield),
    PLAIN("kill with no signal", SYS_kill, 1),
    PLAIN("tkill with no signal", SYS_tkill, 1),
    {.name = "rt_sigqueueinfo of a pending signal",
     .call = SYS_rt_sigqueueinfo,
     .prepare = queue_one,
     .act = queue_process,
     .effect = is_twice_there,
     .undo = queue_empty,
     .flags = SAME_VALUE,
     .right = {{ANY_KIND, -EAGAIN}}},
    PLAIN("rt_tgsigqueueinfo with no signal", SYS_rt_tgsigqueueinfo, 1, 1, 0,
          (unsigned long)&queue_info),
    PLAIN("tgkill with no signal", SYS_tgkill, 1, 1),
    PLAIN("setuid", SYS_setuid),
    PLAIN("setgid", SYS_setgid),
    PLAIN("setresuid", SYS_setresuid, 0, 0, 0),
    PLAIN("setreuid", SYS_setreuid, 0, 0),
    PLAIN("setregid", SYS_setregid, 0, 0),
    PLAIN("setfsuid", SYS_setfsuid),
    PLAIN("personality", SYS_personality, 0xFFFFFFFFu),
    PLAIN("prctl", SYS_prctl, 16, ROOM),
    PLAIN("capget", SYS_capget, (unsigned long)cap_header, ROOM),
    PLAIN("capset", SYS_capset, (unsigned long)cap_header, (unsigned long)all_caps),
    PLAIN("sched_getscheduler", SYS_sched_getscheduler),
    PLAIN("sched_getparam", SYS_sched_getparam, 0, ROOM),
    PLAIN("sched_setscheduler", SYS_sched_setscheduler, 0, 0, (unsigned long)zeroes),
    PLAIN("sched_setparam", SYS_sched_setparam, 0, (unsigned long)zeroes),
    PLAIN("sched_get_priority_max", SYS_sched_get_priority_max),
    PLAIN("sched_get_priority_min", SYS_sched_get_priority_min),
    PLAIN("gethostname", SYS_gethostname, ROOM, 65),
    PLAIN("sethostname", SYS_sethostname, (unsigned long)"megalith", 8),
    PLAIN("getdomainname", 165, ROOM, 65),
    PLAIN("setdomainname", SYS_setdomainname, (unsigned long)"(none)", 6),
    PLAIN("setfsgid", SYS_setfsgid),
    PLAIN("setresgid", SYS_setresgid, 0, 0, 0),
    PLAIN("sched_rr_get_interval", SYS_sched_rr_get_interval, 0, ROOM),
    PLAIN("sched_getattr", SYS_sched_getattr, 0, ROOM, 48, 0),
    PLAIN("membarrier", SYS_membarrier, 0, 0),
    {.name = "setpgrp", .call = SYS_setpgrp, .flags = NOTHING | IN_CHILD},
    {.name = "setpgid", .call = SYS_setpgid, .flags = NOTHING | IN_CHILD},
    PLAIN("getrlimit", SYS_getrlimit, 7, ROOM),
    {.name = "setrlimit",
     .call = SYS_setrlimit,
     .args = {7, (unsigned long)limit},
     .prepare = limit_as_is,
     .undo = cold_drop,
     .flags = NOTHING},
    PLAIN("sysinfo", SYS_sysinfo, ROOM),
    PLAIN("times", SYS_times, ROOM),
    PLAIN("uname", SYS_uname, ROOM),
    PLAIN("getcpu", SYS_getcpu, ROOM),
    PLAIN("nanosleep", SYS_nanosleep, (unsigned long)&at_once),
    PLAIN("clock_nanosleep", SYS_clock_nanosleep, 0, 0, (unsigned long)&at_once),
    PLAIN("clock_gettime", SYS_clock_gettime, 0, ROOM),
    PLAIN("clock_getres", SYS_clock_getres, 0, ROOM),
    PLAIN("gettimeofday", SYS_gettimeofday, ROOM),
    PLAIN("getrusage", SYS_getrusage, 0, ROOM),
    PLAIN("sched_getaffinity", SYS_sched_getaffinity, 0, 8, ROOM),
    PLAIN("futex, wake", SYS_futex, (unsigned long)&word, WAKE, 1),
    PLAIN("getrandom", SYS_getrandom, ROOM, 32),
    PLAIN("poll", SYS_poll, (unsigned long)&ready, 1, 0),
    PLAIN("ppoll", SYS_ppoll, (unsigned long)&ready, 1, (unsigned long)&at_once),
    PLAIN("select", SYS_select, 2, 0, (unsigned long)fd_set_1, 0, (unsigned long)&at_once),
    PLAIN("pselect6", SYS_pselect6, 2, 0, (unsigned long)fd_set_1, 0, (unsigned long)&at_once),
    PLAIN("rt_sigpending", SYS_rt_sigpending, ROOM, 8),
    PLAIN("osf_getsysinfo", SYS_osf_getsysinfo, 45, ROOM, 8),
    PLAIN("osf_setsysinfo", SYS_osf_setsysinfo, 14, ROOM, 8),

    COLD_OUT("getresuid, untouched page", SYS_getresuid, COLD, COLD + 4, COLD + 8),
    COLD_OUT("getresgid, untouched page", SYS_getresgid, COLD, COLD + 4, COLD + 8),
    COLD_OUT("getrlimit, untouched page", SYS_getrlimit, 7, COLD),
    COLD_OUT("prlimit64, untouched page", SYS_prlimit64, 0, 7, 0, COLD),
    COLD_OUT("sysinfo, untouched page", SYS_sysinfo, COLD),
    COLD_OUT("times, untouched page", SYS_times, COLD),
    COLD_OUT("uname, untouched page", SYS_uname, COLD),
    COLD_OUT("getcpu, untouched page", SYS_getcpu, COLD),
    COLD_OUT("clock_gettime, untouched page", SYS_clock_gettime, 0, COLD),
    COLD_OUT("clock_getres, untouched page", SYS_clock_getres, 0, COLD),
    COLD_OUT("nanosleep, untouched page", SYS_nanosleep, COLD),
    COLD_OUT("clock_nanosleep, untouched page", SYS_clock_nanosleep, 0, 0, COLD),
    COLD_OUT("gettimeofday, untouched page", SYS_gettimeofday, COLD),
    COLD_OUT("getrusage, untouched page", SYS_getrusage, 0, COLD),
    COLD_OUT("sched_getaffinity, untouched page", SYS_sched_getaffinity, 0, 8, COLD),
    COLD_OUT("getdomainname, untouched page", 165, COLD, 65),
    COLD_OUT("get_robust_list, untouched page", SYS_get_robust_list, 0, COLD, COLD + 8),
    COLD_OUT("prctl, untouched page", SYS_prctl, 16, COLD),
    COLD_OUT("capget, header in an untouched page", SYS_capget, COLD, 0),
    COLD_OUT("capget, untouched page", SYS_capget, (unsigned long)cap_header, COLD),
    COLD_OUT("sched_getparam, untouched page", SYS_sched_getparam, 0, COLD),
    COLD_OUT("sched_setparam, untouched page", SYS_sched_setparam, 0, COLD),
    COLD_OUT("sched_setscheduler, untouched page", SYS_sched_setscheduler, 0, 0, COLD),
    COLD_OUT("getrandom, untouched page", SYS_getrandom, COLD, 32),
    COLD_OUT("rt_sigpending, untouched page", SYS_rt_sigpending, COLD, 8),
    COLD_OUT("poll, untouched page", SYS_poll, COLD, 1, 0),
    COLD_OUT("ppoll, untouched page", SYS_ppoll, COLD, 1, (unsigned long)&at_once),
    COLD_OUT("select, untouched page", SYS_select, 2, 0, COLD, 0, (unsigned long)&at_once),
    COLD_OUT("pselect6, untouched page", SYS_pselect6, 2, 0, 0, COLD, (unsigned long)&at_once),
    {.name = "futex, untouched page",
     .call = SYS_futex,
     .act = futex_wait,
     .prepare = cold_make,
     .undo = cold_drop},
    {.name = "futex, locked by another, with inheritance",
     .call = SYS_futex,
     .act = futex_lock_pi,
     .prepare = cold_owned,
     .undo = cold_disowned},
    {.name = "futex, locked and unlocked with inheritance",
     .call = SYS_futex,
     .act = futex_own_pi,
     .prepare = cold_make,
     .undo = cold_drop},
    {.name = "futex, requeued to a lock with inheritance",
     .call = SYS_futex,
     .act = requeue_pi,
     .prepare = to_be_moved,
     .undo = drop_moved},
    COLD_OUT("osf_getsysinfo, untouched page", SYS_osf_getsysinfo, 45, COLD, 8),
    COLD_OUT("getitimer, untouched page", SYS_getitimer, 0, COLD),
    {.name = "sched_setaffinity, untouched page",
     .call = SYS_sched_setaffinity,
     .act = no_affinity,
     .prepare = cold_make,
     .undo = cold_drop},

    /* Calls that change something, and write its previous value to an untouched page. */
    {.name = "setitimer, untouched page",
     .call = SYS_setitimer,
     .args = {0, (unsigned long)hour, COLD},
     .prepare = cold_make,
     .effect = alarm_is_set,
     .undo = alarm_off},
    {.name = "sigaltstack, untouched page",
     .call = SYS_sigaltstack,
     .args = {(unsigned long)on_stack, COLD},
     .prepare = altstack_prepare,
     .undo = altstack_off},
    {.name = "rt_sigaction, untouched page",
     .call = SYS_rt_sigaction,
     .args = {SIGUSR2, (unsigned long)ignore, COLD, 8},
     .prepare = cold_make,
     .undo = action_back},
    {.name = "rt_sigprocmask, untouched page",
     .call = SYS_rt_sigprocmask,
     .args = {SIG_BLOCK, (unsigned long)&usr1_mask, COLD, 8},
     .prepare = cold_make,
     .undo = mask_back},
    {.name = "prlimit64, both",
     .call = SYS_prlimit64,
     .args = {0, 7, (unsigned long)limit, COLD},
     .prepare = limit_as_is,
     .undo = cold_drop},
    {.name = "rt_sigtimedwait, untouched page",
     .call = SYS_rt_sigtimedwait,
     .args = {(unsigned long)&mask, COLD, (unsigned long)&at_once, 8},
     .prepare = block,
     .effect = is_usr2,
     .undo = unblock},

    {.name = "rt_sigsuspend",
     .call = SYS_rt_sigsuspend,
     .prepare = wait_for_usr1,
     .act = wait_interrupted,
     .effect = was_handled,
     .undo = suspend_undo,
     .flags = NOTHING},
    {.name = "kill and sigreturn",
     .call = SYS_sigreturn,
     .prepare = catch_signal,
     .act = signal_self,
     .effect = was_handled,
     .undo = catch_no_signal,
     .flags = NOTHING},
    {.name = "rt_sigreturn",
     .call = SYS_rt_sigreturn,
     .prepare = catch_with_info,
     .act = signal_self,
     .effect = was_handled,
     .undo = catch_no_signal,
     .flags = NOTHING},
    {0},
};
