/*
 * Terminals by $QIO: channels, writing, carriage control. Reading is in terminal_read.c.
 *
 * A channel has an open file: that of a descriptor of the process, for SYS$INPUT and its relatives,
 * or one that was opened for it. So the line discipline, job control and redirection hold as for
 * everybody. A write is done when the service returns.
 */
#include "kernel/sys/vms/terminal.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/fs/inode.h"
#include "kernel/io/open_flags.h"
#include "kernel/io/pty.h"
#include "kernel/io/termios.h"
#include "kernel/io/tty.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/device.h"
#include "mm/pool/pool_charged.h"

#define LENGTH_MAX 65535u
#define CONSOLE    0u     /* number of a terminal (kernel/io/tty.h) */
#define RDEV_NULL  0x103u /* device 1, 3 */

/* ---- channels ---- */

static void channel_free(struct qio_channel *q)
{
    struct terminal_channel *c = container_of(q, struct terminal_channel, qio);

    file_unref(c->file);
    npp_free_charged(c, sizeof(*c), q->account);
}

static void deassign(struct qio_channel *q) { (void)q; }

static const struct qio_device terminal_device = {
    .cancel = terminal_cancel, .deassign = deassign, .free = channel_free};

/* The file with a reference. 0 or a negative errno. */
static int open_device(const struct vms_device *d, struct file **f)
{
    struct io_cred cred = process_cred(process_self());
    struct fd_use use;
    bool created;

    if (d->kind == VMS_DEVICE_PATH)
        return file_open_at(&cred, NULL, d->path, O_RDWR | O_NOCTTY, 0, f, &created);
    use = fd_get(process_self()->files, d->unit);
    *f = use.file;
    if (*f)
        file_ref(*f);
    fd_put(use);
    return *f ? 0 : -ENOENT;
}

cond_t vms_terminal_assign(const struct vms_device *d, struct qio_channel **out)
{
    uint16_t account = pool_account();
    struct terminal_channel *c;
    struct file *f = NULL;
    int err = open_device(d, &f);

    if (err)
        return err == -EACCES || err == -EPERM    ? SS$_NOPRIV
               : err == -ENOMEM || err == -ENFILE ? SS$_INSFMEM
                                                  : SS$_NOSUCHDEV;
    c = npp_alloc_charged(sizeof(*c), account);
    if (!c) {
        file_unref(f);
        return SS$_INSFMEM;
    }
    memset(c, 0, sizeof(*c));
    c->qio = (struct qio_channel){.device = &terminal_device,
                                  .refs = 1,
                                  .readable = f->ops->read && (f->flags & O_ACCMODE) != O_WRONLY,
                                  .writable = f->ops->write && (f->flags & O_ACCMODE) != O_RDONLY,
                                  .account = account};
    c->file = f;
    list_init(&c->reads);
    *out = &c->qio;
    return SS$_NORMAL;
}

void vms_terminal_name(uint32_t device, char *name, size_t size)
{
    if (device == tty_device(CONSOLE))
        str_copy(name, "_OPA0:", size);
    else
        (void)format(name, size, "_FTA%u:", device - tty_device(CONSOLE + 1));
}

void vms_terminal_facts(const struct file *f, struct terminal_facts *t)
{
    const struct tty *tty = tty_of_file(f);
    unsigned n = tty ? tty_number(tty) : 0;

    *t = (struct terminal_facts){.terminal = tty != NULL,
                                 .null = f->inode && f->inode->rdev == RDEV_NULL};
    if (n) {
        t->unit = n - 1;
        vms_terminal_name(tty_device(n), t->name, sizeof(t->name));
    } else if (tty) {
        vms_terminal_name(tty_device(CONSOLE), t->name, sizeof(t->name));
    } else {
        str_copy(t->name, t->null ? "_NLA0:" : "_NOA0:", sizeof(t->name));
    }
}

/* ---- requests ---- */

void terminal_request_unref(struct terminal_request *r)
{
    if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    qio_release_request(r->charged);
    qio_channels_unref(r->charged);
    npp_free_counted(r, sizeof(*r), QUOTA_TIMERS, r->account);
}

static void release(struct event_request *e)
{
    terminal_request_unref(container_of(e, struct terminal_request, event));
}

void terminal_request_drop(struct terminal_request *r)
{
    event_request_cancel(&r->event);
    terminal_request_unref(r);
}

cond_t terminal_request_make(const struct vms_qio *q, struct terminal_request **out)
{
    uint16_t account = pool_account();
    struct terminal_request *r;
    cond_t status;
    bool full;

    if (!qio_charge_request(q->who.channels))
        return SS$_EXQUOTA;
    r = npp_alloc_counted(sizeof(*r), QUOTA_TIMERS, account, &full);
    if (!r) {
        qio_release_request(q->who.channels);
        return full ? SS$_EXQUOTA : SS$_INSFMEM;
    }
    memset(r, 0, sizeof(*r));
    r->refs = 1;
    r->account = account;
    list_init(&r->link);
    qio_channels_ref(q->who.channels);
    r->charged = q->who.channels;
    r->event.release = release;
    status = event_request_begin(&r->event, q->done.owner, q->done.efn, q->done.iosb,
                                 q->done.astadr, q->done.astprm);
    if (status == SS$_NORMAL)
        *out = r;
    else
        terminal_request_unref(r);
    return status;
}

/* ---- writing ---- */

struct carriage {       /* what comes before and after the text */
    char text[2 * 128]; /* the longest: 127 new lines */
    uint32_t length;
};

static void add(struct carriage *c, const char *s)
{
    while (*s)
        c->text[c->length++] = *s++;
}

/* P4 with a character of FORTRAN in its low byte. */
static void of_fortran(uint8_t code, struct carriage *before, struct carriage *after)
{
    switch (code) {
    case '0':
        add(before, "\n\n");
        break;
    case '1':
        add(before, "\f");
        break;
    case '+':
        break;
    default:
        add(before, "\n");
        break;
    }
    if (code != '$')
        add(after, "\r");
}

/* A byte of P4: so many new lines, or a control character of the sets C0 and C1. */
static void of_byte(uint8_t code, struct carriage *c)
{
    char control[2] = {(char)((code & 0x1F) | (code & 0x40 ? 0x80 : 0)), '\0'};

    if (code & 0x80) {
        c->text[c->length++] = control[0];
        return;
    }
    for (unsigned i = 0; i < code; i++)
        add(c, "\r\n");
}

/* P4 of a write: 0 for nothing; else its low byte, or bytes 2 and 3. */
static void decode(uint32_t p4, struct carriage *before, struct carriage *after)
{
    before->length = after->length = 0;
    if (p4 & 0xFF) {
        of_fortran((uint8_t)p4, before, after);
    } else {
        of_byte((uint8_t)(p4 >> 16), before);
        of_byte((uint8_t)(p4 >> 24), after);
    }
}

static cond_t condition_of(long err)
{
    return err == -EFAULT ? SS$_ACCVIO : err == -EIO || err == -EPIPE ? SS$_HANGUP : SS$_ABORT;
}

/* Write n bytes of user memory (ua) or of the kernel's. *done: how many were written. */
static long write_all(struct file *f, vaddr_t ua, const char *text, uint32_t n, uint32_t *done)
{
    for (*done = 0; *done < n;) {
        long r = text ? f->ops->write_kernel(f, text + *done, n - *done)
                      : f->ops->write(f, ua + *done, n - *done);

        if (r <= 0)
            return r ? r : -EIO;
        *done += (uint32_t)r;
    }
    return 0;
}

struct output {
    struct carriage before, after;
    vaddr_t text;
    uint32_t length, done;
};

/* An error, and *any: something was written. */
static long write_parts(struct file *f, struct output *o, bool *any)
{
    uint32_t n;
    long err = write_all(f, 0, o->before.text, o->before.length, &n);

    *any = n != 0;
    if (!err) {
        err = write_all(f, o->text, NULL, o->length, &o->done);
        *any = *any || o->done;
    }
    return err ? err : write_all(f, 0, o->after.text, o->after.length, &n);
}

/* Can n bytes be read? A byte of each page tells. */
static bool is_readable(vaddr_t ua, uint32_t n)
{
    char c;

    for (uint32_t at = 0; at < n; at = (uint32_t)(((ua + at) | (PAGE_SIZE - 1)) + 1 - ua))
        if (copyin(&c, ua + at, 1) != 0)
            return false;
    return !n || copyin(&c, ua + n - 1, 1) == 0;
}

/* Check and write the text. SS$_NORMAL, with *answer; *interrupted. */
static cond_t write_text(struct terminal_channel *c, struct output *o, uint64_t *answer,
                         bool *interrupted)
{
    bool any;
    long err;

    if ((o->before.length || o->after.length) && !c->file->ops->write_kernel)
        return SS$_ILLIOFUNC;
    if (!is_readable(o->text, o->length))
        return SS$_ACCVIO;
    err = write_parts(c->file, o, &any);
    if (!any && (err == -ERESTARTSYS || err == -EINTR))
        *interrupted = true;
    *answer = qio_status(err ? condition_of(err) : SS$_NORMAL, o->done, 0);
    return SS$_NORMAL;
}

static cond_t write_terminal(struct terminal_channel *c, const struct vms_qio *q, bool *interrupted)
{
    struct terminal_request *r;
    struct output o = {.text = q->p[0], .length = (uint32_t)q->p[1]};
    uint64_t answer = 0;
    cond_t status;

    if (q->modifiers & ~(uint32_t)(IO$M_CANCTRLO | IO$M_NOFORMAT | IO$M_BREAKTHRU))
        return SS$_ILLIOFUNC;
    if (!c->qio.writable)
        return SS$_NOPRIV;
    if (o.length > LENGTH_MAX)
        return SS$_BADPARAM;
    if (!(q->modifiers & IO$M_NOFORMAT))
        decode((uint32_t)q->p[3], &o.before, &o.after);
    status = terminal_request_make(q, &r);
    if (status != SS$_NORMAL)
        return status;
    status = write_text(c, &o, &answer, interrupted);
    if (status != SS$_NORMAL || *interrupted)
        terminal_request_drop(r);
    else
        event_post_self(&r->event, answer);
    return status;
}

/* ---- reading ---- */

/* Discard what was typed ahead. */
static void purge(struct file *f)
{
    if (f->ops->ioctl)
        (void)f->ops->ioctl(f, TCFLSH, TCIFLUSH);
}

/* P1, P2: the buffer; P3: seconds, with IO$M_TIMED; P4: which characters end the read; P5, P6: the
 * prompt. The line discipline gives whole lines, so other ends of a read cannot be had (P4). */
static cond_t read_terminal(struct terminal_channel *c, const struct vms_qio *q, bool prompts,
                            bool *interrupted)
{
    struct output prompt = {.text = prompts ? q->p[4] : 0,
                            .length = prompts ? (uint32_t)q->p[5] : 0};
    uint32_t length = (uint32_t)q->p[1];
    struct terminal_request *r;
    uint64_t answer;
    cond_t status;

    if (q->modifiers & ~(uint32_t)(IO$M_TIMED | IO$M_PURGE))
        return SS$_ILLIOFUNC;
    if (!c->qio.readable || (prompt.length && !c->qio.writable))
        return SS$_NOPRIV;
    if (q->p[3] || length > LENGTH_MAX || prompt.length > LENGTH_MAX)
        return SS$_BADPARAM;
    if (length && probe_write(q->p[0], length) != 0)
        return SS$_ACCVIO;
    status = terminal_request_make(q, &r);
    if (status != SS$_NORMAL)
        return status;
    if (q->modifiers & IO$M_PURGE)
        purge(c->file);
    status = write_text(c, &prompt, &answer, interrupted);
    if (status != SS$_NORMAL || *interrupted) {
        terminal_request_drop(r);
        return status;
    }
    r->buffer = q->p[0];
    r->length = length;
    r->timed = (q->modifiers & IO$M_TIMED) != 0;
    return terminal_read(c, r, (uint32_t)q->p[2]);
}

cond_t vms_qio_terminal(struct qio_channel *q, const struct vms_qio *a, bool *interrupted)
{
    struct terminal_channel *c = container_of(q, struct terminal_channel, qio);

    switch (a->function) {
    case IO$_READVBLK:
    case IO$_READLBLK:
    case IO$_READPROMPT:
        return read_terminal(c, a, a->function == IO$_READPROMPT, interrupted);
    case IO$_WRITEVBLK:
    case IO$_WRITELBLK:
        return write_terminal(c, a, interrupted);
    default:
        return SS$_ILLIOFUNC;
    }
}
