/*
 * Descriptors of mailboxes, for processes of $CREPRC whose input or output is one: the C library
 * reads and writes descriptors.
 *
 * As in the C library of OpenVMS, a message is a line. A read takes one message and has a line feed
 * behind it; the next read has the rest, if the memory was too short. A write is divided at its
 * line feeds, each of which ends a message that does not contain it; what is behind the last one is
 * a message, too. A mark (IO$_WRITEOF) is the end of the file, once: later reads wait for what
 * comes after it. The last descriptor for writing leaves a mark when it is closed, as RMS does, if
 * there is room for it.
 *
 * The file owns a channel, which has no number, so its mailbox stays while the file is open. It has
 * no state of its own: all is under the mailbox's lock.
 */
#include "kernel/sys/vms/mailbox_file.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/io/open_flags.h"
#include "kernel/proc/channels.h"
#include "kernel/qio/mailbox.h"
#include "kernel/sys/vms/device.h"

#define LOOKED_AT 128u /* bytes at a time, in search of a line feed */

static uint32_t own_pid(void)
{
    const struct process *p = process_self();

    return p ? p->pid : 0;
}

static long error_of(cond_t status)
{
    if (status == SS$_MBTOOSML)
        return -EMSGSIZE;
    if (status == SS$_MBFULL)
        return -EAGAIN;
    if (status == SS$_INSFMEM)
        return -ENOMEM;
    return status == SS$_ACCVIO ? -EFAULT : -EPIPE;
}

static long mailbox_file_read(struct file *f, vaddr_t ubuf, size_t n)
{
    const struct mailbox_read r = {
        .buffer = ubuf, .length = n, .now = (f->flags & O_NONBLOCK) != 0};
    bool interrupted = false;
    uint32_t got;
    cond_t status;

    if (!n)
        return 0;
    status = mailbox_receive(f->priv, own_pid(), &r, &got, &interrupted);
    if (interrupted)
        return -ERESTARTSYS;
    if (status == SS$_ENDOFFILE) /* there is no message */
        return -EAGAIN;
    return status == SS$_NORMAL ? (long)got : error_of(status);
}

/* The length of the line at ubuf, at most n; *ended: a line feed follows. Lines longer than any
 * message are as long as is looked at. 0 or -EFAULT. */
static int line_length(vaddr_t ubuf, size_t n, size_t *length, bool *ended)
{
    char part[LOOKED_AT];

    *ended = false;
    for (*length = 0; *length < n && *length <= MAILBOX_MSG_MAX;) {
        size_t step = MIN(n - *length, sizeof(part));
        const char *feed;

        if (copyin(part, ubuf + *length, step) != 0)
            return -EFAULT;
        feed = memchr(part, '\n', step);
        *length += feed ? (size_t)(feed - part) : step;
        if (feed) {
            *ended = true;
            return 0;
        }
    }
    return 0;
}

static long mailbox_file_write(struct file *f, vaddr_t ubuf, size_t n)
{
    struct mailbox_write w = {.norswait = (f->flags & O_NONBLOCK) != 0};
    size_t done = 0, length;
    long err = 0;

    while (done < n && !err) {
        bool ended, interrupted = false;
        cond_t status;

        err = line_length(ubuf + done, n - done, &length, &ended);
        if (err)
            break;
        w.buffer = ubuf + done;
        w.length = length;
        status = mailbox_send(f->priv, own_pid(), &w, &interrupted);
        err = interrupted            ? -ERESTARTSYS
              : status != SS$_NORMAL ? error_of(status)
              : thread_killed()      ? -EINTR
                                     : 0;
        if (!interrupted && status == SS$_NORMAL)
            done += length + ended;
    }
    return done ? (long)done : err;
}

static unsigned mailbox_file_poll(struct file *f, struct poll_entry *e)
{
    return mailbox_poll(f->priv, e);
}

static void mailbox_file_close(struct file *f)
{
    const struct mailbox_write mark = {.norswait = true, .eof = true};
    struct qio_channel *c = f->priv;
    bool interrupted = false;

    if (c->writable)
        (void)mailbox_send(c, own_pid(), &mark, &interrupted);
    process_channel_drop(c);
}

static const struct file_ops mailbox_file_ops = {.name = "anon_inode:[mailbox]",
                                                 .read = mailbox_file_read,
                                                 .write = mailbox_file_write,
                                                 .poll = mailbox_file_poll,
                                                 .stat = anon_stat,
                                                 .close = mailbox_file_close};

cond_t vms_mailbox_open(uint32_t unit, bool writes, struct file **out)
{
    const struct mailbox_who who = vms_mailbox_identity();
    struct qio_channel *c;
    struct file *f;
    cond_t status = mailbox_assign(&who, unit, !writes, writes, &c);

    if (status != SS$_NORMAL)
        return status;
    f = file_alloc(&mailbox_file_ops, writes ? O_WRONLY : O_RDONLY);
    if (!f) {
        process_channel_drop(c);
        return file_why_not() == -ENFILE ? SS$_EXQUOTA : SS$_INSFMEM;
    }
    f->priv = c;
    *out = f;
    return SS$_NORMAL;
}

uint32_t vms_mailbox_file_unit(const struct file *f)
{
    return f->ops == &mailbox_file_ops ? mailbox_unit(mailbox_of(f->priv)) : 0;
}
