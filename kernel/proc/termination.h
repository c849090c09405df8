/*
 * The message that tells the mailbox of $CREPRC (mbxunt) of the end of a process: the layout of
 * <accdef.h>, all longwords but where it says otherwise.
 */
#ifndef KERNEL_PROC_TERMINATION_H
#define KERNEL_PROC_TERMINATION_H

#include "kernel/base/types.h"

struct accounting_record;
struct process;

struct termination {
    uint16_t type, size; /* MSG$_DELPROC, bytes of the message */
    uint32_t final_status;
    uint32_t pid, job;
    uint32_t time[2];   /* of the end, in units of 100 ns since 17 November 1858 */
    char account[8];    /* blanks: there are none */
    char user[12];      /* blank filled */
    uint32_t cpu_ticks; /* of 10 ms */
    uint32_t faults;
    uint32_t peak_page_file, peak_working_set; /* pagelets */
    uint32_t buffered_io, direct_io, volumes;
    uint32_t login[2]; /* when it began, as `time` */
    uint32_t owner;    /* 0: none */
};
_Static_assert(sizeof(struct termination) == 84, "ACC$K_TERMLEN");

/* The message that tells of this record. Any IPL. */
void termination_fill(struct termination *m, const struct accounting_record *r);

/* p, whose last thread calls this, ends with this status as wait4 returns it: send the message, if
 * the mailbox has room for it. p has left its address space (accounting.h). Before that it gives up
 * its name, so who reads the message can make a process of that name. IPL 0, no locks. */
void termination_send(struct process *p, uint32_t status);

#endif
