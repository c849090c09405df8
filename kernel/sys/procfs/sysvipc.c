/* /proc/sysvipc: the objects of System V IPC. */
#include "kernel/ipc/msg.h"
#include "kernel/ipc/sem.h"
#include "kernel/ipc/shm.h"
#include "kernel/sys/procfs/procfs_private.h"

#define NS_PER_SECOND 1000000000

/* The first record is the heading; the cursor is then the number of a slot, and 1. */
static int show_shm(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct ipc_caller c;
    struct shm_status s;
    uint32_t n;

    (void)who;
    if (*cursor == 0) {
        proc_print(t, "       key      shmid perms                  size  cpid  lpid nattch   uid"
                      "   gid  cuid  cgid      atime      dtime      ctime                   rss"
                      "                  swap\n");
    } else {
        ipc_who(&c);
        n = shm_next((uint32_t)*cursor - 1);
        if (n == IPC_SLOTS)
            return 0;
        *cursor = n + 1;
        if (shm_stat_slot(&c, n, true, &s) == 0)
            proc_print(t,
                       "%10d %10d  %4o %21lu %5u %5u  %5lu %5u %5u %5u %5u %10lu %10lu %10lu %21lu "
                       "%21lu\n",
                       s.ipc.key, ipc_id(&s.ipc), s.ipc.mode, s.nbytes, s.cpid, s.lpid, s.nattch,
                       s.ipc.uid, s.ipc.gid, s.ipc.cuid, s.ipc.cgid, s.atime_ns / NS_PER_SECOND,
                       s.dtime_ns / NS_PER_SECOND, s.ipc.ctime_ns / NS_PER_SECOND,
                       s.resident << PAGE_SHIFT, 0ul);
    }
    ++*cursor;
    return 1;
}

static int show_sem(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct ipc_caller c;
    struct sem_status s;
    uint32_t n;

    (void)who;
    if (*cursor == 0) {
        proc_print(t, "       key      semid perms      nsems   uid   gid  cuid  cgid      otime"
                      "      ctime\n");
    } else {
        ipc_who(&c);
        n = sem_next((uint32_t)*cursor - 1);
        if (n == IPC_SLOTS)
            return 0;
        *cursor = n + 1;
        if (sem_stat_slot(&c, n, true, &s) == 0)
            proc_print(t, "%10d %10d  %4o %10u %5u %5u %5u %5u %10lu %10lu\n", s.ipc.key,
                       ipc_id(&s.ipc), s.ipc.mode, s.nsems, s.ipc.uid, s.ipc.gid, s.ipc.cuid,
                       s.ipc.cgid, s.otime_ns / NS_PER_SECOND, s.ipc.ctime_ns / NS_PER_SECOND);
    }
    ++*cursor;
    return 1;
}

static int show_msg(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct ipc_caller c;
    struct msg_status s;
    uint32_t n;

    (void)who;
    if (*cursor == 0) {
        proc_print(t, "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid"
                      "  cuid  cgid      stime      rtime      ctime\n");
    } else {
        ipc_who(&c);
        n = msg_next((uint32_t)*cursor - 1);
        if (n == IPC_SLOTS)
            return 0;
        *cursor = n + 1;
        if (msg_stat_slot(&c, n, true, &s) == 0)
            proc_print(t, "%10d %10d  %4o  %10lu %10lu %5u %5u %5u %5u %5u %5u %10lu %10lu %10lu\n",
                       s.ipc.key, ipc_id(&s.ipc), s.ipc.mode, s.nbytes, s.count, s.lspid, s.lrpid,
                       s.ipc.uid, s.ipc.gid, s.ipc.cuid, s.ipc.cgid, s.stime_ns / NS_PER_SECOND,
                       s.rtime_ns / NS_PER_SECOND, s.ipc.ctime_ns / NS_PER_SECOND);
    }
    ++*cursor;
    return 1;
}

const struct proc_entry proc_sysvipc[PROC_SYSVIPC] = {
    PROC_TEXT("msg", show_msg),
    PROC_TEXT("sem", show_sem),
    PROC_TEXT("shm", show_shm),
};
