/*
 * syslog (klogctl): the messages of the kernel, which kernel/base/printk.c keeps. They name
 * addresses and other users' programs, so all of it is for user 0 only, as on Linux where
 * kernel.dmesg_restrict is 1. There are no levels: all messages go to the console, whatever is
 * asked for.
 *
 * Two positions are remembered, of the readers that take messages one after the other, and of the
 * last that were cleared; a mutex protects them. Nothing can be told of a new message where it is
 * printed, which may be in any context, so who waits for one looks again and again.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/process.h"
#include "kernel/sched/mutex.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/misc.h"

#define ACTION_CLOSE         0
#define ACTION_OPEN          1
#define ACTION_READ          2
#define ACTION_READ_ALL      3
#define ACTION_READ_CLEAR    4
#define ACTION_CLEAR         5
#define ACTION_CONSOLE_OFF   6
#define ACTION_CONSOLE_ON    7
#define ACTION_CONSOLE_LEVEL 8
#define ACTION_SIZE_UNREAD   9
#define ACTION_SIZE_BUFFER   10

#define LEVEL_MOST 8
#define LOOK_NS    50000000u /* between two looks for new messages */

static struct mutex log_mutex = MUTEX_INIT("kernel messages", MUTEX_PROC_FILE, log_mutex);
static uint64_t read_at, cleared_at; /* log_mutex */

/* Copy messages from *from up to `end` to user memory, at most n bytes; each line ends without the
 * carriage return that the console gets. Moves *from. */
static long copy_messages(uint64_t *from, uint64_t end, vaddr_t to, size_t n)
{
    char text[PRINTK_KEPT_STEP];
    size_t done = 0;

    while (*from < end && done < n) {
        uint64_t at = *from;
        size_t k = printk_kept(&at, text, MIN(n - done, (size_t)(end - *from))), kept = 0;

        for (size_t i = 0; i < k; i++)
            if (text[i] != '\r')
                text[kept++] = text[i];
        if (copyout(to + done, text, kept))
            return done ? (long)done : -EFAULT;
        done += kept;
        *from = at;
        if (!k)
            break;
    }
    return (long)done;
}

/* The messages since the last clearing, or the last n bytes of them. */
static long read_all(vaddr_t to, size_t n, bool clear)
{
    uint64_t end, from;
    long r;

    mutex_lock(&log_mutex);
    end = printk_kept_end();
    from = MAX(cleared_at, end > PRINTK_KEPT ? end - PRINTK_KEPT : 0);
    if (end - from > n)
        from = end - n;
    r = copy_messages(&from, end, to, n);
    if (r >= 0 && clear)
        cleared_at = end;
    mutex_unlock(&log_mutex);
    return r;
}

/* What was not read yet; waits until there is something. */
static long read_next(vaddr_t to, size_t n)
{
    for (;;) {
        long r;

        mutex_lock(&log_mutex);
        r = copy_messages(&read_at, printk_kept_end(), to, n);
        mutex_unlock(&log_mutex);
        if (r)
            return r;
        if (thread_sleep_until(clock_ns() + LOOK_NS, WAIT_INTERRUPTIBLE))
            return -ERESTARTSYS;
    }
}

static long size_unread(void)
{
    uint64_t end = printk_kept_end(), from;

    mutex_lock(&log_mutex);
    from = MAX(read_at, end > PRINTK_KEPT ? end - PRINTK_KEPT : 0);
    mutex_unlock(&log_mutex);
    return end > from ? (long)(end - from) : 0;
}

static long clear(void)
{
    mutex_lock(&log_mutex);
    cleared_at = printk_kept_end();
    mutex_unlock(&log_mutex);
    return 0;
}

static long read_call(int32_t action, vaddr_t to, int32_t n)
{
    if (!to || n < 0)
        return -EINVAL;
    if (!n)
        return 0;
    if (!user_range_ok(to, (uint64_t)n))
        return -EFAULT;
    return action == ACTION_READ ? read_next(to, (size_t)n)
                                 : read_all(to, (size_t)n, action == ACTION_READ_CLEAR);
}

long sys_syslog(uint64_t action, uint64_t to, uint64_t n)
{
    if (process_euid(process_self()) != 0)
        return -EPERM;
    switch ((int32_t)action) {
    case ACTION_CLOSE:
    case ACTION_OPEN:
    case ACTION_CONSOLE_OFF:
    case ACTION_CONSOLE_ON:
        return 0;
    case ACTION_READ:
    case ACTION_READ_ALL:
    case ACTION_READ_CLEAR:
        return read_call((int32_t)action, to, (int32_t)n);
    case ACTION_CLEAR:
        return clear();
    case ACTION_CONSOLE_LEVEL:
        return (int32_t)n >= 1 && (int32_t)n <= LEVEL_MOST ? 0 : -EINVAL;
    case ACTION_SIZE_UNREAD:
        return size_unread();
    case ACTION_SIZE_BUFFER:
        return PRINTK_KEPT;
    default:
        return -EINVAL;
    }
}
