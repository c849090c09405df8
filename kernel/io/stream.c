/*
 * Standard input, output and error of a command: frames on COM2 (arch/alpha/clipper/channel.h),
 * which scripts/run decodes. A frame is sent as a whole under send_lock. The host may not read for
 * as long as it likes, so a sender can be killed, also in the middle of its frame: what is left of
 * that is sent by the next sender before its own. A panic cannot take the mutex, so it completes a
 * frame that is partly sent with zeros.
 *
 * The reader decodes received frames, under receive_lock, in the order of arrival. If nobody reads,
 * nothing is taken from the ring: it fills, and the host is held back.
 */
#include "arch/alpha/clipper/channel.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/drivers/serial.h"
#include "kernel/io/io_private.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/poll.h"
#include "kernel/io/tty_private.h"
#include "kernel/sched/freeze.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"

#define STREAM_FRAME 512u
#define FRAME_HEAD   4u

static struct serial com2;
static struct mutex send_lock = MUTEX_INIT("stream send", MUTEX_INODE, send_lock);

static struct { /* of a frame whose sender was killed; protected by send_lock */
    uint8_t bytes[STREAM_FRAME];
    size_t n;
} rest;

static struct { /* protected by receive_lock */
    uint8_t head[FRAME_HEAD];
    uint32_t head_bytes; /* bytes of the header received so far */
    uint32_t left;       /* bytes left of the payload of the frame, input or unknown */
    bool skip;           /* the frame is of an unknown type: discard it */
    bool ended;          /* an 'X' frame, the end of input, was received */
} in;
static struct poll_source input_source;
static struct mutex receive_lock = MUTEX_INIT("stream receive", MUTEX_INODE, receive_lock);

/* Send the last n bytes, at least one, of the frame that was begun. As long as the UART accepts
 * bytes, the caller keeps the CPU; then it waits for the transmitter's interrupt, so that busy
 * threads do not delay each part of the frame by their time slices. flags: of wait_block(). If it
 * is killed, -EINTR, and what is left is the rest. send_lock is held. */
static int send_locked(const uint8_t *p, size_t n, unsigned flags)
{
    for (;;) {
        size_t sent = channel_try_write(p, n);

        p += sent;
        n -= sent;
        if (!n)
            return 0;
        if (serial_wait_sent(&com2, flags) != 0) {
            memmove(rest.bytes, p, n); /* it may be the rest itself */
            rest.n = n;
            return -EINTR;
        }
    }
}

static int send_rest_locked(unsigned flags)
{
    size_t n = rest.n;

    rest.n = 0;
    return n ? send_locked(rest.bytes, n, flags) : 0;
}

/* Send one frame of n bytes, at least one. 0; -EINTR: the thread is to end. */
static int send_frame(enum channel_type type, const uint8_t *p, size_t n)
{
    int err = mutex_lock_killable(&send_lock);

    if (err)
        return err;
    err = send_rest_locked(WAIT_KILLABLE);
    if (!err) {
        channel_begin(type, n);
        err = send_locked(p, n, WAIT_KILLABLE);
    }
    mutex_unlock(&send_lock);
    return err;
}

/* The host knows the result with its last byte. From then on no other thread may preempt the
 * caller, which might get the CPU back only after many time slices, nor send anything after the
 * result. Hence the raised IPL and the lock that is kept. */
void stream_send_result(const void *payload, size_t n)
{
    const uint8_t *p = payload;

    mutex_lock(&send_lock);
    (void)send_rest_locked(WAIT_UNINTERRUPTIBLE);
    channel_begin(CHANNEL_RESULT, n);
    for (;;) {
        ipl_t ipl = ipl_raise(IPL_ASTDEL);
        size_t sent = channel_try_write(p, n);

        p += sent;
        n -= sent;
        if (!n)
            return;
        ipl_restore(ipl);
        (void)serial_wait_sent(&com2, WAIT_UNINTERRUPTIBLE);
    }
}

static long stream_write(struct file *f, vaddr_t ubuf, size_t n)
{
    uint8_t buf[STREAM_FRAME];
    size_t done = 0;

    while (done < n) {
        size_t part = MIN(n - done, STREAM_FRAME);

        if (copyin(buf, ubuf + done, part))
            return done ? (long)done : -EFAULT;
        if (sched_loop_point())
            return done ? (long)done : -EINTR;
        if (send_frame((enum channel_type)(uintptr_t)f->priv, buf, part))
            return done ? (long)done : -EINTR;
        done += part;
    }
    return (long)done;
}

static long stream_write_kernel(struct file *f, const void *buf, size_t n)
{
    const uint8_t *p = buf;
    size_t done = 0;

    while (done < n) {
        size_t part = MIN(n - done, STREAM_FRAME);

        if (sched_loop_point() || send_frame((enum channel_type)(uintptr_t)f->priv, p + done, part))
            return done ? (long)done : -EINTR;
        done += part;
    }
    return (long)done;
}

/* Decode received bytes up to the next byte of input. True: there is one, or the input has ended.
 * receive_lock is held. */
static bool advance_locked(void)
{
    while (!in.ended && (in.left == 0 || in.skip)) {
        uint8_t c;

        if (!serial_take(&com2, &c, 1))
            return false;
        if (in.left) {
            in.left--;
            continue;
        }
        if (in.head_bytes == 0 && c != CHANNEL_MAGIC)
            continue;
        in.head[in.head_bytes++] = c;
        if (in.head_bytes < FRAME_HEAD)
            continue;
        in.head_bytes = 0;
        in.left = in.head[2] | (uint32_t)in.head[3] << 8;
        in.skip = in.head[1] != CHANNEL_INPUT;
        in.ended = in.head[1] == CHANNEL_INPUT_END;
    }
    return in.ended || serial_ready(&com2);
}

static bool input_ready(void)
{
    bool ready;

    mutex_lock(&receive_lock);
    ready = advance_locked();
    mutex_unlock(&receive_lock);
    return ready;
}

static long wait_input(struct file *f)
{
    struct waiter w;
    long err = 0;

    for (;;) {
        wait_enqueue(&com2.queue, &w);
        if (input_ready())
            break;
        err = f->flags & O_NONBLOCK ? -EAGAIN : wait_block(&w, WAIT_INTERRUPTIBLE, WAIT_FOREVER);
        if (err)
            break;
    }
    wait_finish(&w);
    return err == -EINTR ? -ERESTARTSYS : err;
}

static long stream_read(struct file *f, vaddr_t ubuf, size_t n)
{
    uint8_t buf[STREAM_FRAME];
    size_t done = 0;

    if (!n)
        return 0;
    for (;;) {
        long err = wait_input(f);

        if (err)
            return err;
        mutex_lock(&receive_lock);
        if (advance_locked() && !in.ended) {
            done = serial_take(&com2, buf, MIN(MIN(n, in.left), sizeof(buf)));
            in.left -= (uint32_t)done;
        }
        mutex_unlock(&receive_lock);
        if (done || in.ended)
            break; /* else another reader took the bytes */
    }
    if (done && copyout(ubuf, buf, done))
        return -EFAULT;
    return (long)done;
}

static unsigned stream_in_poll(struct file *f, struct poll_entry *e)
{
    (void)f;
    poll_register(&input_source, e);
    return input_ready() ? POLLIN | POLLRDNORM : 0;
}

static unsigned stream_out_poll(struct file *f, struct poll_entry *e)
{
    (void)f, (void)e;
    return POLLOUT | POLLWRNORM;
}

static int stream_stat(struct file *f, struct file_stat *st)
{
    int64_t now = (int64_t)clock_wall_ns();

    (void)f;
    *st = (struct file_stat){.ino = 2,
                             .mode = S_IFIFO | 0600,
                             .nlink = 1,
                             .blksize = STREAM_FRAME,
                             .atime_ns = now,
                             .mtime_ns = now,
                             .ctime_ns = now};
    return 0;
}

static const struct file_ops stream_in_ops = {
    .name = "stream", .read = stream_read, .stat = stream_stat, .poll = stream_in_poll};
static const struct file_ops stream_out_ops = {.name = "stream",
                                               .write = stream_write,
                                               .write_kernel = stream_write_kernel,
                                               .stat = stream_stat,
                                               .poll = stream_out_poll};

int console_open(struct file **input, struct file **output, struct file **error, bool command)
{
    *input = file_alloc(command ? &stream_in_ops : &tty_ops, command ? O_RDONLY : O_RDWR);
    *output = file_alloc(command ? &stream_out_ops : &tty_ops, command ? O_WRONLY : O_RDWR);
    *error = file_alloc(command ? &stream_out_ops : &tty_ops, command ? O_WRONLY : O_RDWR);
    if (!*input || !*output || !*error) {
        if (*input)
            file_free(*input);
        if (*output)
            file_free(*output);
        if (*error)
            file_free(*error);
        return -ENOMEM;
    }
    if (!command) { /* the console is never gone */
        tty_attach(*input, &tty_console);
        tty_attach(*output, &tty_console);
        tty_attach(*error, &tty_console);
    } else {
        (*output)->priv = (void *)(uintptr_t)CHANNEL_STDOUT;
        (*error)->priv = (void *)(uintptr_t)CHANNEL_STDERR;
    }
    return 0;
}

void stream_input_ends(void)
{
    mutex_lock(&receive_lock);
    in.ended = true;
    mutex_unlock(&receive_lock);
}

/* The ring's lock, under which input_ready() looks at it, was taken to put the bytes there. */
static void bytes_arrived(void) { poll_notify(&input_source, POLLIN | POLLRDNORM); }

void stream_boot(void)
{
    poll_source_init(&input_source);
    serial_boot(&com2, &uart_com2, "com2", bytes_arrived);
    channel_write_polled(CHANNEL_READY, NULL, 0);
}
