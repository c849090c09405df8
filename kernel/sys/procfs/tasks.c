/*
 * /proc/PID/task: the threads of a process. Their directories show what `stat`, `status` and `comm`
 * show of a process, for one thread, and its descriptors.
 */
#include "kernel/base/errno.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/threads.h"
#include "kernel/sys/procfs/procfs_private.h"

static const struct proc_entry task_names[] = {
    {.name = "comm", .mode = S_IFREG | 0444, .show = proc_show_comm},
    {.name = "fd", .mode = S_IFDIR | 0500, .find = proc_find_fd, .next = proc_next_fd},
    {.name = "fdinfo", .mode = S_IFDIR | 0555, .find = proc_find_fdinfo, .next = proc_next_fdinfo},
    {.name = "stat", .mode = S_IFREG | 0444, .show = proc_show_stat},
    {.name = "status", .mode = S_IFREG | 0444, .show = proc_show_status},
};

static const struct proc_entry task_entry = {
    .name = "", .mode = S_IFDIR | 0555, .child = task_names, .nchild = ARRAY_SIZE(task_names)};

/* Is tid a thread of the process? */
static bool is_thread(const struct proc_id *who, uint32_t tid)
{
    ipl_t ipl = spin_lock(&process_lock);
    const struct process *p = proc_find_locked(who);
    const struct uthread *u = p ? thread_find_locked(tid) : NULL;
    bool is = u && u->process == p;

    spin_unlock(&process_lock, ipl);
    return is;
}

int proc_find_task(const struct proc_inode *dir, const struct fs_name *name, struct inode **out)
{
    struct proc_id who = dir->who;

    if (!proc_name_number(name, &who.tid) || !who.tid || !is_thread(&dir->who, who.tid))
        return -ENOENT;
    return proc_inode_create(dir, &task_entry, &who, who.tid, out);
}

/* In steps, as the list of processes. */
int proc_next_task(const struct proc_inode *dir, uint64_t from, uint64_t *number,
                   const struct proc_entry **entry)
{
    for (uint64_t n = from; n < numbers_end; n++) {
        ipl_t ipl = spin_lock(&process_lock);

        n = number_next((uint32_t)n);
        spin_unlock(&process_lock, ipl);
        if (n && n < numbers_end && is_thread(&dir->who, (uint32_t)n)) {
            *number = n;
            *entry = &task_entry;
            return 0;
        }
    }
    return -ENOENT;
}
