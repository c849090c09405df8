/*
 * /proc/sys: the limits and names of the system, as far as there are such and programs ask for
 * them. None can be written: sethostname and setdomainname, or sysman, change what can be changed.
 */
#include "kernel/drivers/virtio/entropy.h"
#include "kernel/io/aio.h"
#include "kernel/io/file.h"
#include "kernel/io/inotify.h"
#include "kernel/io/random.h"
#include "kernel/ipc/mqueue.h"
#include "kernel/ipc/msg.h"
#include "kernel/ipc/sem.h"
#include "kernel/ipc/shm.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/numbers.h"
#include "kernel/quota/quota.h"
#include "kernel/sys/posix/misc.h"
#include "kernel/sys/procfs/procfs_private.h"
#include "mm/section/huge_pool.h"
#include "mm/space/aspace.h"
#include "mm/space/pin_set.h"

#define NOBODY 65534u /* as which a number of more than 16 bits would be shown */

static int show_number(struct proc_text *t, uint64_t n)
{
    proc_print(t, "%lu\n", n);
    return 0;
}

#define SHOW_NUMBER(what_, value_)                                                            \
    static int show_##what_(const struct proc_id *who, uint64_t *cursor, struct proc_text *t) \
    {                                                                                         \
        (void)who, (void)cursor;                                                              \
        return show_number(t, value_);                                                        \
    }

#define SHOW_NAME(what_)                                                                      \
    static int show_##what_(const struct proc_id *who, uint64_t *cursor, struct proc_text *t) \
    {                                                                                         \
        (void)who, (void)cursor;                                                              \
        proc_print(t, "%s\n", system_names[UTS_##what_]);                                     \
        return 0;                                                                             \
    }

SHOW_NAME(DOMAIN)
SHOW_NAME(NODENAME)
SHOW_NAME(RELEASE)
SHOW_NAME(SYSNAME)
SHOW_NAME(VERSION)

SHOW_NUMBER(always, 1)
SHOW_NUMBER(groups_max, IO_GROUPS_MAX)
SHOW_NUMBER(msgmax, MSG_MAX)
SHOW_NUMBER(msgmnb, MSG_QUEUE_MAX)
SHOW_NUMBER(msgmni, (uint64_t)IPC_SLOTS)
SHOW_NUMBER(nobody, NOBODY)
SHOW_NUMBER(pid_max, numbers_end)
SHOW_NUMBER(shmall, SHM_MAX >> PAGE_SHIFT)
SHOW_NUMBER(shmmax, SHM_MAX)
SHOW_NUMBER(shmmni, (uint64_t)IPC_SLOTS)
SHOW_NUMBER(threads_max, process_limit)

/* A random UUID of version 4: another one at each reading from the start. */
static int show_uuid(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    uint64_t a = random_next(), b = random_next();

    (void)who, (void)cursor;
    proc_print(t, "%08lx-%04lx-4%03lx-%04lx-%012lx\n", a >> 32, a >> 16 & 0xFFFF, a & 0xFFF,
               0x8000 | (b >> 48 & 0x3FFF), b & 0xFFFFFFFFFFFF);
    return 0;
}

static int show_sem_limits(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    (void)who, (void)cursor;
    proc_print(t, "%u\t%u\t%u\t%u\n", SEM_SET_MAX, SEM_SETS_TOTAL, SEM_OPS_MAX, IPC_SLOTS);
    return 0;
}

SHOW_NUMBER(entropy, random_entropy())
SHOW_NUMBER(random_bits, RANDOM_BITS)
SHOW_NUMBER(reseed, ENTROPY_INTERVAL_S)

static const struct proc_entry random_names[] = {
    PROC_TEXT("entropy_avail", show_entropy),
    PROC_TEXT("poolsize", show_random_bits),
    PROC_TEXT("urandom_min_reseed_secs", show_reseed),
    PROC_TEXT("uuid", show_uuid),
};

static const struct proc_entry kernel_names[] = {
    PROC_TEXT("dmesg_restrict", show_always),  PROC_TEXT("domainname", show_DOMAIN),
    PROC_TEXT("hostname", show_NODENAME),      PROC_TEXT("msgmax", show_msgmax),
    PROC_TEXT("msgmnb", show_msgmnb),          PROC_TEXT("msgmni", show_msgmni),
    PROC_TEXT("ngroups_max", show_groups_max), PROC_TEXT("osrelease", show_RELEASE),
    PROC_TEXT("ostype", show_SYSNAME),         PROC_TEXT("overflowgid", show_nobody),
    PROC_TEXT("overflowuid", show_nobody),     PROC_TEXT("pid_max", show_pid_max),
    PROC_FOLDER("random", random_names),       PROC_TEXT("sem", show_sem_limits),
    PROC_TEXT("shmall", show_shmall),          PROC_TEXT("shmmax", show_shmmax),
    PROC_TEXT("shmmni", show_shmmni),          PROC_TEXT("threads-max", show_threads_max),
    PROC_TEXT("version", show_VERSION),
};

SHOW_NUMBER(aio_max, AIO_TOTAL)
SHOW_NUMBER(aio_nr, aio_reserved())
SHOW_NUMBER(buffer_pages, pin_set_total())
SHOW_NUMBER(nr_open, FD_MAX)
SHOW_NUMBER(pipe_max_size, PIPE_BYTES)

SHOW_NUMBER(queued_events, (uint64_t)INOTIFY_QUEUE_MAX)
SHOW_NUMBER(user_instances, quota_user_limit(QUOTA_INOTIFY))
SHOW_NUMBER(user_watches, quota_user_limit(QUOTA_INOTIFY_WATCHES))

static const struct proc_entry inotify_names[] = {
    PROC_TEXT("max_queued_events", show_queued_events),
    PROC_TEXT("max_user_instances", show_user_instances),
    PROC_TEXT("max_user_watches", show_user_watches),
};

SHOW_NUMBER(mq_msg_max, (uint64_t)MQ_MSG_MAX)
SHOW_NUMBER(mq_msgsize_max, (uint64_t)MQ_MSGSIZE_MAX)
SHOW_NUMBER(mq_queues_max, (uint64_t)MQ_QUEUES_MAX)

static const struct proc_entry mqueue_names[] = {
    PROC_TEXT("msg_default", show_mq_msg_max),
    PROC_TEXT("msg_max", show_mq_msg_max),
    PROC_TEXT("msgsize_default", show_mq_msgsize_max),
    PROC_TEXT("msgsize_max", show_mq_msgsize_max),
    PROC_TEXT("queues_max", show_mq_queues_max),
};

static const struct proc_entry fs_names[] = {
    PROC_TEXT("aio-max-nr", show_aio_max),
    PROC_TEXT("aio-nr", show_aio_nr),
    PROC_TEXT("buffer-object-pages", show_buffer_pages),
    PROC_FOLDER("mqueue", mqueue_names),
    PROC_FOLDER("inotify", inotify_names),
    PROC_TEXT("nr_open", show_nr_open),
    PROC_TEXT("pipe-max-size", show_pipe_max_size),
    PROC_TEXT("protected_fifos", show_always),
    PROC_TEXT("protected_hardlinks", show_always),
    PROC_TEXT("protected_regular", show_always),
    PROC_TEXT("protected_symlinks", show_always),
};

/* Private memory is obtained page by page as it is touched: mapping it is never refused for lack of
 * memory, which is Linux's policy 1. */
SHOW_NUMBER(overcommit, 1)
/* The group that may make segments of huge pages without privilege. */
SHOW_NUMBER(huge_group, (uint64_t)SHM_HUGE_GROUP)
SHOW_NUMBER(none, 0)

static uint64_t huge_pages(void)
{
    struct huge_pool_stats s;

    huge_pool_stats(&s);
    return s.total;
}

SHOW_NUMBER(huge_pages, huge_pages())

SHOW_NUMBER(max_map_count, ASPACE_ENTRIES_MAX)

static const struct proc_entry vm_names[] = {
    PROC_TEXT("hugetlb_shm_group", show_huge_group),
    PROC_TEXT("max_map_count", show_max_map_count),
    PROC_TEXT("nr_hugepages", show_huge_pages),
    PROC_TEXT("nr_overcommit_hugepages", show_none),
    PROC_TEXT("overcommit_memory", show_overcommit),
};

const struct proc_entry proc_sys_names[PROC_SYS_NAMES] = {
    PROC_FOLDER("fs", fs_names),
    PROC_FOLDER("kernel", kernel_names),
    PROC_FOLDER("vm", vm_names),
};
