/*
 * $QIO. $QIOW is $QIO and $SYNCH, in the user library. A write to a full mailbox waits here, as the
 * process does on OpenVMS in its resource wait; interrupted by a signal or an AST, the service is
 * repeated.
 */
#include "kernel/sys/vms/qio.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/iosbdef.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/prcdef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/statedef.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/channels.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/disk.h"
#include "kernel/sys/vms/wait.h"

/* ---- mailboxes ---- */

static cond_t read_mailbox(struct qio_channel *c, const struct vms_qio *q)
{
    const struct mailbox_read r = {.buffer = q->p[0],
                                   .length = (uint32_t)q->p[1],
                                   .now = q->modifiers & IO$M_NOW,
                                   .stream = q->modifiers & IO$M_STREAM,
                                   .check = q->modifiers & IO$M_WRITERCHECK};

    if (q->modifiers & ~(uint32_t)(IO$M_NOW | IO$M_STREAM | IO$M_WRITERCHECK))
        return SS$_ILLIOFUNC;
    return c->readable ? mailbox_read(c, &q->who, &q->done, &r) : SS$_NOPRIV;
}

/* The flag of $CREPRC. */
static bool without_waits(void) { return (process_self()->kin.flags & PRC$M_SSRWAIT) != 0; }

static cond_t write_mailbox(struct qio_channel *c, const struct vms_qio *q, bool eof,
                            bool *interrupted)
{
    const struct mailbox_write w = {.buffer = q->p[0],
                                    .length = (uint32_t)q->p[1],
                                    .now = q->modifiers & IO$M_NOW,
                                    .norswait = (q->modifiers & IO$M_NORSWAIT) || without_waits(),
                                    .check = q->modifiers & IO$M_READERCHECK,
                                    .eof = eof};
    cond_t status;

    if (q->modifiers & ~(uint32_t)(IO$M_NOW | IO$M_NORSWAIT | IO$M_READERCHECK))
        return SS$_ILLIOFUNC;
    if (!c->writable)
        return SS$_NOPRIV;
    vms_waits_as(SCH$C_MWAIT); /* if the mailbox is full */
    status = mailbox_write(c, &q->who, &q->done, &w, interrupted);
    vms_waits_as(0);
    return status;
}

/* P1 is the AST routine, P2 its parameter. Whoever is told when messages and reads come must be
 * allowed to read; room concerns those who write, and is told to every channel, since trying to
 * write tells the same. */
static cond_t ask_mailbox(struct qio_channel *c, const struct vms_qio *q, enum mailbox_news of)
{
    cond_t status = vms_ast_check(q->p[0]);

    if (status == SS$_NORMAL && of != MAILBOX_ROOM && !c->readable)
        status = SS$_NOPRIV;
    return status == SS$_NORMAL ? mailbox_attention(c, &q->who, &q->done, of, q->p[0], q->p[1])
                                : status;
}

/* Attention; protection, which is P2; waits for the other side. */
static cond_t set_mailbox(struct qio_channel *c, const struct vms_qio *q)
{
    switch (q->modifiers) {
    case IO$M_READATTN:
        return ask_mailbox(c, q, MAILBOX_READS);
    case IO$M_WRTATTN:
        return ask_mailbox(c, q, MAILBOX_WRITES);
    case IO$M_MB_ROOM_NOTIFY:
        return ask_mailbox(c, q, MAILBOX_ROOM);
    case IO$M_SETPROT:
        return mailbox_protect(c, &q->who, &q->done, q->p[1] & 0xFFFF);
    case IO$M_READERWAIT:
    case IO$M_WRITERWAIT:
        return mailbox_wait(c, &q->who, &q->done, q->modifiers == IO$M_WRITERWAIT);
    default:
        return SS$_ILLIOFUNC;
    }
}

static cond_t sense_mailbox(struct qio_channel *c, const struct vms_qio *q)
{
    if (q->modifiers & ~(uint32_t)(IO$M_READERCHECK | IO$M_WRITERCHECK))
        return SS$_ILLIOFUNC;
    return mailbox_sense(c, &q->who, &q->done, q->modifiers & IO$M_READERCHECK,
                         q->modifiers & IO$M_WRITERCHECK);
}

cond_t vms_qio_mailbox(struct qio_channel *c, const struct vms_qio *q, bool *interrupted)
{
    switch (q->function) {
    case IO$_READVBLK:
    case IO$_READLBLK:
    case IO$_READPBLK:
        return read_mailbox(c, q);
    case IO$_WRITEVBLK:
    case IO$_WRITELBLK:
    case IO$_WRITEPBLK:
        return write_mailbox(c, q, false, interrupted);
    case IO$_WRITEOF:
        return write_mailbox(c, q, true, interrupted);
    case IO$_SETMODE:
        return set_mailbox(c, q);
    case IO$_SENSEMODE:
        return sense_mailbox(c, q);
    default:
        return SS$_ILLIOFUNC;
    }
}

/* ---- the service ---- */

enum { EFN, CHAN, FUNC, IOSB_OUT, ASTADR, ASTPRM, P1, COUNT = P1 + 6 };

static cond_t decode(const uint64_t *a, struct vms_qio *q)
{
    cond_t status = vms_ast_check(a[ASTADR]);

    *q = (struct vms_qio){.function = a[FUNC] & IO$M_FCODE,
                          .modifiers = (uint32_t)a[FUNC] & ~(uint32_t)IO$M_FCODE,
                          .done = {.owner = process_events(),
                                   .efn = vms_efn(a[EFN]),
                                   .iosb = a[IOSB_OUT],
                                   .astadr = a[ASTADR],
                                   .astprm = a[ASTPRM]}};
    for (unsigned i = 0; i < 6; i++)
        q->p[i] = a[P1 + i];
    /* It is 0 until the request is complete: $SYNCH waits for that. */
    if (status == SS$_NORMAL && a[IOSB_OUT] && clear_user(a[IOSB_OUT], sizeof(IOSB)) != 0)
        status = SS$_ACCVIO;
    if (status == SS$_NORMAL && !q->done.owner)
        status = SS$_INSFMEM;
    return status == SS$_NORMAL ? vms_mailbox_who(&q->who) : status;
}

static cond_t begin_on(uint32_t chan, const struct vms_qio *q, bool *interrupted)
{
    struct qio_channel *c = qio_channel_get(q->who.channels, chan);
    cond_t status;

    if (!c)
        return qio_no_channel(chan);
    status = mailbox_of(c)    ? vms_qio_mailbox(c, q, interrupted)
             : vms_disk_of(c) ? vms_qio_disk(c, q)
                              : vms_qio_terminal(c, q, interrupted);
    if (status == SS$_NORMAL && !*interrupted && !vms_disk_of(c))
        process_count_io(process_self()); /* requests to disks are counted where they are made */
    qio_channel_unref(c);
    return status;
}

static cond_t begin(uint64_t block, bool *interrupted)
{
    uint64_t a[VMS_ARGS_MAX];
    struct vms_qio q;
    cond_t status = vms_args(block, FUNC + 1, COUNT, a);

    if (status != SS$_NORMAL)
        return status;
    status = decode(a, &q);
    if (status == SS$_NORMAL)
        status = begin_on(a[CHAN] & 0xFFFF, &q, interrupted);
    /* The flag is set if there is no request that would set it: a program that does not look at the
     * status, and waits for the flag, goes on. */
    if (!cond_ok(status) && !*interrupted && q.done.owner && q.done.efn != EVENT_NONE)
        (void)event_flag_set(q.done.owner, q.done.efn);
    return status;
}

/*
 * $QIO(efn, chan, func, iosb, astadr, astprm, p1, p2, p3, p4, p5, p6). If it returns an error, the
 * flag is set.
 *
 *   SS$_NORMAL                    the request was queued: the status block tells its end
 *   SS$_IVCHAN                    no channel can have that number
 *   SS$_ILLIOFUNC                 the device has no such function, or not this modifier
 *   SS$_NOPRIV                    the channel is not assigned, or not for this direction
 *                                 (attention: does not read); not the owner (SETPROT)
 *   SS$_MBTOOSML, SS$_MBFULL      the message is longer than any may be; there is no room
 *   SS$_EXQUOTA                   the process has as many requests outstanding as it may have, or
 *                                 its user timers for terminals, or the mailbox as many requests
 *                                 for attention or with checks
 *   SS$_EXASTLM, SS$_ILLEFC, SS$_UNASEFC, SS$_BADPARAM (no return address of ASTs is known),
 *   SS$_INSFMEM, SS$_INSFARG, SS$_TOO_MANY_ARGS, SS$_ACCVIO
 */
cond_t vms_qio(uint64_t block)
{
    bool interrupted = false;
    cond_t status = begin(block, &interrupted);

    return vms_wait_result(status, interrupted);
}
