/*
 * Channels to devices (kernel/qio) as part of a process. They belong to the program: a child has
 * none, and exec deassigns them.
 */
#ifndef KERNEL_PROC_CHANNELS_H
#define KERNEL_PROC_CHANNELS_H

#include "kernel/proc/process.h"
#include "kernel/qio/qio.h"

/* The channels of the current process, made if it has none; NULL: no memory. IPL 0; takes the table
 * lock. */
struct qio_channels *process_channels(void);
/* exec, exit: the program ends; p is the current process, with one thread. IPL 0, no locks. */
void process_channels_end(struct process *p);
/* $DASSGN of the current process: SS$_NORMAL, or as qio_no_channel. With a mailbox that goes with
 * its last channel goes its logical name, if the process sees the table that it is in. IPL 0, no
 * locks. */
cond_t process_channel_deassign(struct qio_channels *t, uint32_t number, enum qio_cancel why);
/* The same for a channel without a number, by whoever has it; the name stays if that is no process
 * with logical names. IPL 0, no locks. */
void process_channel_drop(struct qio_channel *c);
/* The tables in which $CREMBX defines the names of mailboxes, and the translation of a name. */
#define MAILBOX_TABLE(permanent) ((permanent) ? "LNM$PERMANENT_MAILBOX" : "LNM$TEMPORARY_MAILBOX")
#define MAILBOX_DEVICE_BYTES     12u
/* Write "MBAn:"; returns its length. */
uint32_t mailbox_device(uint32_t unit, char text[MAILBOX_DEVICE_BYTES]);

#endif
