/* POSIX message queues, inotify, tracing and the memory of other processes. */
#define _GNU_SOURCE
#include "failure.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <tap.h>
#include <unistd.h>

#define A(p) ((unsigned long)(p))

static const char name[] = "failing";
static char text[8192] = "text";
static int queue = -1, watcher = -1, watch = -1;
static struct sigevent silent = {.sigev_notify = SIGEV_NONE};
static struct iovec here = {text, 8}, cold = {(void *)COLD, 8};
static uint32_t policy[12] = {sizeof(policy)}; /* struct sched_attr: the ordinary policy */

static long open_queue(void)
{
    return raw6(SYS_mq_open, A(name), O_CREAT | O_RDWR | O_NONBLOCK, 0600, 0, 0, 0);
}

static long send_text(void) { return raw6(SYS_mq_timedsend, A(queue), A(text), 4, 0, 0, 0); }

static long receive(unsigned long to)
{
    return raw6(SYS_mq_timedreceive, A(queue), to, sizeof(text), 0, 0, 0);
}

static void make_queue(void)
{
    queue = (int)open_queue();
    if (queue < 0)
        bail_out("no queue: %s", strerror(-queue));
    cold_make();
}

static void make_message(void)
{
    make_queue();
    if (send_text() != 0)
        bail_out("no message");
}

static void make_watcher(void)
{
    watcher = (int)raw6(SYS_inotify_init1, IN_NONBLOCK, 0, 0, 0, 0, 0);
    if (watcher < 0)
        bail_out("no instance of inotify");
}

static long add_watch(void)
{
    return raw6(SYS_inotify_add_watch, A(watcher), A(TMP), IN_CREATE, 0, 0, 0);
}

static void make_watch(void)
{
    make_watcher();
    watch = (int)add_watch();
    if (watch < 0)
        bail_out("no watch");
}

static void drop(void)
{
    raw6(SYS_mq_unlink, A(name), 0, 0, 0, 0, 0);
    cold_drop();
    raw6(SYS_close_range, 3, 255, 0, 0, 0, 0);
}

static bool opened(long r) { return r >= 3 && close((int)r) == 0; }
static bool is_done(long r) { return r == 0; }
static bool is_gone(long r) { return r == 0 && raw6(SYS_mq_unlink, A(name), 0, 0, 0, 0, 0) < 0; }
static bool is_sent(long r) { return r == 0 && receive(A(text)) == 4; }
static bool is_text(long r) { return r == 4 && memcmp(text, "text", 4) == 0; }
static bool is_watch(long r) { return r > 0 && inotify_rm_watch(watcher, (int)r) == 0; }
static bool is_copied(long r) { return r == 8 && memcmp((void *)COLD, text, 8) == 0; }

static long do_unlink(void) { return raw6(SYS_mq_unlink, A(name), 0, 0, 0, 0, 0); }
static long do_receive(void) { return receive(A(text)); }
static long do_notify(void) { return raw6(SYS_mq_notify, A(queue), A(&silent), 0, 0, 0, 0); }
static long do_attributes(void) { return raw6(SYS_mq_getsetattr, A(queue), 0, COLD, 0, 0, 0); }
static long do_init(void) { return raw6(SYS_inotify_init, 0, 0, 0, 0, 0, 0); }
static long do_init1(void) { return raw6(SYS_inotify_init1, 0, 0, 0, 0, 0, 0); }
static long do_rm(void) { return raw6(SYS_inotify_rm_watch, A(watcher), A(watch), 0, 0, 0, 0); }
static long do_policy(void) { return raw6(SYS_sched_setattr, 0, A(policy), 0, 0, 0, 0); }
static long do_log(void) { return raw6(SYS_syslog, 10, 0, 0, 0, 0, 0) > 0 ? 0 : -1; }

/* The structures for tracing are made before the thread is looked for. There is none. */
static long do_seize(void)
{
    long r = raw6(SYS_ptrace, PTRACE_SEIZE, 999999, 0, 0, 0, 0);

    return r == -ESRCH ? 0 : r;
}

/* A child that is traced, and has stopped. */
static long tracee;
static unsigned long no_signals;

static void make_child(void)
{
    tracee = raw6(SYS_fork, 0, 0, 0, 0, 0, 0);
    if (tracee == 0)
        for (;;)
            raw6(SYS_rt_sigsuspend, A(&no_signals), 8, 0, 0, 0, 0);
    if (tracee < 0)
        bail_out("no child");
    text[0] = 't'; /* its page is this process's own again */
    warm_up();
    settle();
}

static void make_tracee(void)
{
    make_child();
    if (raw6(SYS_ptrace, PTRACE_SEIZE, A(tracee), 0, PTRACE_O_TRACESYSGOOD, 0, 0) != 0 ||
        raw6(SYS_ptrace, PTRACE_INTERRUPT, A(tracee), 0, 0, 0, 0) != 0 ||
        raw6(SYS_wait4, A(tracee), 0, __WALL, 0, 0, 0) != tracee)
        bail_out("no tracee");
    settle();
}

static void drop_tracee(void)
{
    raw6(SYS_kill, A(tracee), SIGKILL, 0, 0, 0, 0);
    while (raw6(SYS_wait4, A(tracee), 0, __WALL, 0, 0, 0) == tracee)
        ;
    settle();
}

static long request(unsigned long what, unsigned long addr, unsigned long data)
{
    return raw6(SYS_ptrace, what, A(tracee), addr, data, 0, 0);
}

static bool is_traced(long r) { return r == 0 && request(PTRACE_INTERRUPT, 0, 0) == 0; }
static bool is_word(long r)
{
    return r == 0 && request(PTRACE_PEEKTEXT, A(make_child), 0) == 0x123456789;
}

static long do_attach(void) { return request(PTRACE_SEIZE, 0, 0); }
static long do_peek(void)
{
    long r = request(PTRACE_PEEKTEXT, A(make_child), 0);

    return r == *(const long *)A(make_child) ? 0 : r < 0 ? r : -1;
}
static long do_poke(void) { return request(PTRACE_POKETEXT, A(make_child), 0x123456789); }
static long do_step(void) { return request(PTRACE_SINGLESTEP, 0, 0); }
static long do_options(void) { return request(PTRACE_SETOPTIONS, 0, PTRACE_O_TRACEFORK); }
static long do_mask(void) { return request(PTRACE_GETSIGMASK, 8, A(text)); }
static long do_detach(void) { return request(PTRACE_DETACH, 0, 0); }

static long do_read(void)
{
    return raw6(SYS_process_vm_readv, A(getpid()), A(&cold), 1, A(&here), 1, 0);
}
static long do_write(void)
{
    return raw6(SYS_process_vm_writev, A(getpid()), A(&here), 1, A(&cold), 1, 0);
}

const struct scenario message_scenarios[] = {
    WITH("mq_open", SYS_mq_open, NULL, open_queue, opened, 0),
    WITH("mq_unlink", SYS_mq_unlink, make_queue, do_unlink, is_gone, NOTHING),
    WITH("mq_send", SYS_mq_timedsend, make_queue, send_text, is_sent, 0),
    WITH("mq_receive", SYS_mq_timedreceive, make_message, do_receive, is_text, NOTHING),
    WITH("mq_notify", SYS_mq_notify, make_queue, do_notify, is_done, NOTHING),
    WITH("mq_getattr", SYS_mq_getsetattr, make_queue, do_attributes, is_done, 0),
    WITH("inotify_init", SYS_inotify_init, NULL, do_init, opened, 0),
    WITH("inotify_init1", SYS_inotify_init1, NULL, do_init1, opened, 0),
    WITH("inotify_add_watch", SYS_inotify_add_watch, make_watcher, add_watch, is_watch, 0),
    /* The report of the removal may be lost, as when the queue is full. */
    WITH("inotify_rm_watch", SYS_inotify_rm_watch, make_watch, do_rm, is_done, ABSORBS),
    WITH("ptrace: seize", SYS_ptrace, NULL, do_seize, is_done, 0),
    BY("ptrace: attach", SYS_ptrace, make_child, do_attach, is_traced, drop_tracee, 0),
    BY("ptrace: peek", SYS_ptrace, make_tracee, do_peek, is_done, drop_tracee, NOTHING),
    BY("ptrace: poke", SYS_ptrace, make_tracee, do_poke, is_word, drop_tracee, 0, {ANY_KIND, -EIO}),
    BY("ptrace: step", SYS_ptrace, make_tracee, do_step, is_done, drop_tracee, NOTHING),
    BY("ptrace: options", SYS_ptrace, make_tracee, do_options, is_done, drop_tracee, NOTHING),
    BY("ptrace: mask", SYS_ptrace, make_tracee, do_mask, is_done, drop_tracee, NOTHING),
    BY("ptrace: detach", SYS_ptrace, make_tracee, do_detach, is_done, drop_tracee, NOTHING),
    WITH("process_vm_readv", SYS_process_vm_readv, cold_make, do_read, is_copied, 0),
    WITH("process_vm_writev", SYS_process_vm_writev, cold_make, do_write, is_copied,
         SAME_VALUE | WARM, {ANY_KIND, -EFAULT}),
    WITH("sched_setattr", SYS_sched_setattr, NULL, do_policy, is_done, NOTHING),
    WITH("syslog: size", SYS_syslog, NULL, do_log, is_done, NOTHING),
    {0},
};
