/* The files of /proc that are about the system. */
#include "arch/alpha/hw/cpu.h"
#include "kernel/base/errno.h"
#include "kernel/base/format.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/numbers.h"
#include "kernel/sched/sched.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/misc.h"
#include "kernel/sys/procfs/procfs_private.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/section/huge_pool.h"

#define NS_PER_SECOND 1000000000ul
#define USER_HZ       1024ul /* of /proc/stat, as AT_CLKTCK says */
#define PAGE_KIB      (PAGE_SIZE / 1024)

static long readlink_self(const struct proc_inode *i, char *buf, size_t n)
{
    (void)i;
    return (long)MIN(format(buf, n, "%u", process_self()->pid), n - 1);
}

/* The process that asks: its directory is found without its name. */
static int follow_self(const struct proc_inode *i, struct inode **out)
{
    const struct process *p = process_self();
    const struct proc_id who = {.pid = p->pid, .start_ns = p->start_ns};

    return proc_inode_create(proc_inode_of(i->inode.fs->root), &proc_process_entry, &who, 0, out);
}

static int show_cpuinfo(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    (void)who, (void)cursor;
    proc_print(t,
               "cpu\t\t\t: Alpha\ncpu model\t\t: EV67\ncpu variation\t\t: 0\ncpu revision\t\t: 0\n"
               "cpu serial number\t: \nsystem type\t\t: Tsunami\nsystem variation\t: Clipper\n");
    proc_print(t,
               "cycle frequency [Hz]\t: %lu est.\ntimer frequency [Hz]\t: 1024.00\n"
               "page size [bytes]\t: %lu\nphys. address bits\t: 44\nmax. addr. space #\t: 255\n"
               "cpus detected\t\t: %u\ncpus active\t\t: %u\ncpu active mask\t\t: %016lx\n",
               NS_PER_SECOND, PAGE_SIZE, cpu_count, cpu_count, (UINT64_C(1) << cpu_count) - 1);
    return 0;
}

static int show_meminfo(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct huge_pool_stats huge;
    struct pool_stats npp, pgd;
    uint64_t slots, free;
    struct page_stats s;

    (void)who, (void)cursor;
    page_stats(&s);
    pagefile_totals(&slots, &free);
    npp_stats(&npp);
    pgd_stats(&pgd);
    huge_pool_stats(&huge);
    proc_print(t,
               "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\n"
               "Buffers:        %8lu kB\nCached:         %8lu kB\nSwapCached:     %8lu kB\n"
               "SwapTotal:      %8lu kB\nSwapFree:       %8lu kB\n",
               s.total * PAGE_KIB, s.free * PAGE_KIB, fluid_count() * PAGE_KIB, 0ul, 0ul, 0ul,
               slots * PAGE_KIB, free * PAGE_KIB);
    proc_print(t, "KernelPools:    %8lu kB\nReserved:       %8lu kB\n",
               (npp.size + pgd.in_use) / 1024, s.reserved * PAGE_KIB);
    proc_print(t,
               "HugePages_Total: %7lu\nHugePages_Free:  %7lu\nHugePages_Rsvd:  %7lu\n"
               "HugePages_Surp:  %7lu\nHugepagesize:    %7lu kB\nHugetlb:         %7lu kB\n",
               huge.total, huge.free, 0ul, 0ul, HUGE_BYTES / 1024, huge.total * HUGE_BYTES / 1024);
    return 0;
}

static uint64_t hz(uint64_t ns) { return ns / (NS_PER_SECOND / USER_HZ); }

/* Record 0: the sum over all CPUs; then one record for each CPU, then the rest. */
static int show_stat(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct sched_cpu_stats s, sum = {0};

    (void)who;
    if (*cursor == 0) {
        for (unsigned k = 0; k < cpu_count; k++) {
            sched_cpu_stats(k, &s);
            sum.user_ns += s.user_ns;
            sum.kernel_ns += s.kernel_ns + s.spin_ns;
            sum.pure_idle_ns += s.pure_idle_ns;
            sum.interrupt_ns += s.interrupt_ns;
        }
        proc_print(t, "cpu  %lu 0 %lu %lu 0 %lu 0 0 0 0\n", hz(sum.user_ns), hz(sum.kernel_ns),
                   hz(sum.pure_idle_ns), hz(sum.interrupt_ns));
    } else if (*cursor <= cpu_count) {
        sched_cpu_stats((unsigned)*cursor - 1, &s);
        proc_print(t, "cpu%u %lu 0 %lu %lu 0 %lu 0 0 0 0\n", (unsigned)*cursor - 1, hz(s.user_ns),
                   hz(s.kernel_ns + s.spin_ns), hz(s.pure_idle_ns), hz(s.interrupt_ns));
    } else {
        uint64_t switches = 0, ready = 0;

        for (unsigned k = 0; k < cpu_count; k++) {
            sched_cpu_stats(k, &s);
            switches += s.switches;
            ready += s.ready + !s.idle;
        }
        proc_print(t, "ctxt %lu\nbtime %lu\nprocs_running %lu\nprocs_blocked 0\n", switches,
                   (clock_wall_ns() - clock_ns()) / NS_PER_SECOND, ready);
        return 0;
    }
    ++*cursor;
    return 1;
}

static int show_uptime(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    uint64_t up = clock_ns() / 10000000, idle = 0; /* hundredths of a second */
    struct sched_cpu_stats s;

    (void)who, (void)cursor;
    for (unsigned k = 0; k < cpu_count; k++) {
        sched_cpu_stats(k, &s);
        idle += s.pure_idle_ns;
    }
    idle /= 10000000;
    proc_print(t, "%lu.%02lu %lu.%02lu\n", up / 100, up % 100, idle / 100, idle % 100);
    return 0;
}

static int show_version(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    (void)who, (void)cursor;
    proc_print(t, "%s version %s %s\n", system_names[UTS_SYSNAME], system_names[UTS_RELEASE],
               system_names[UTS_VERSION]);
    return 0;
}

static int show_filesystems(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    (void)who, (void)cursor;
    proc_print(t, "nodev\ttmpfs\nnodev\tproc\n\text4\n");
    return 0;
}

/* A path or a source as in /proc/mounts: what separates words and lines is written in octal. */
static void print_escaped(struct proc_text *t, const char *s)
{
    for (; *s; s++) {
        if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\\')
            proc_print(t, "\\%03o", (unsigned)*s);
        else
            proc_put(t, s, 1);
    }
}

/* One file system a record. */
int proc_show_mounts(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct tree_mount_text *m = pgd_alloc(sizeof(*m));
    int err = m ? tree_mount_describe((unsigned)*cursor, m) : -ENOMEM;

    (void)who;
    if (!err) {
        print_escaped(t, m->source[0] ? m->source : m->type);
        proc_put(t, " ", 1);
        print_escaped(t, m->path);
        proc_print(t, " %s %s 0 0\n", m->type, m->read_only ? "ro" : "rw");
        ++*cursor;
    }
    if (m)
        pgd_free(m, sizeof(*m));
    return err == -ENOENT ? 0 : err ? err : 1;
}

/* The title, then one page file a record. */
static int show_swaps(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct pagefile_stats s;

    (void)who;
    if (*cursor == 0) {
        proc_print(t, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    } else {
        char path[8 + PAGEFILE_NAME];
        unsigned file = (unsigned)*cursor - 1;

        if (file >= PAGEFILES_MAX)
            return 0;
        if (pagefile_stats(file, &s)) {
            format(path, sizeof(path), "/dev/%s", s.name);
            proc_print(t, "%-40spartition\t%lu\t%s%lu\t%s-%u\n", path, (s.slots - s.bad) * PAGE_KIB,
                       s.slots * PAGE_KIB < 10000000 ? "\t" : "", s.used * PAGE_KIB,
                       s.used * PAGE_KIB < 10000000 ? "\t" : "", file + 2);
        }
    }
    ++*cursor;
    return 1;
}

static long readlink_mounts(const struct proc_inode *i, char *buf, size_t n)
{
    (void)i;
    return (long)str_copy(buf, "self/mounts", n);
}

static struct proc_inode self; /* filled in by procfs_boot() */

static const struct proc_entry names[] = {
    /* First, because the start of every static program looks it up. */
    {.name = "self",
     .mode = S_IFLNK | 0777,
     .readlink = readlink_self,
     .follow = follow_self,
     .kept = &self},
    {.name = "cpuinfo", .mode = S_IFREG | 0444, .show = show_cpuinfo},
    {.name = "filesystems", .mode = S_IFREG | 0444, .show = show_filesystems},
    {.name = "meminfo", .mode = S_IFREG | 0444, .show = show_meminfo},
    {.name = "mounts", .mode = S_IFLNK | 0777, .readlink = readlink_mounts},
    PROC_FOLDER("net", proc_net_names),
    {.name = "stat", .mode = S_IFREG | 0444, .show = show_stat},
    {.name = "swaps", .mode = S_IFREG | 0444, .show = show_swaps},
    PROC_FOLDER("sys", proc_sys_names),
    PROC_FOLDER("sysvipc", proc_sysvipc),
    {.name = "uptime", .mode = S_IFREG | 0444, .show = show_uptime},
    {.name = "version", .mode = S_IFREG | 0444, .show = show_version},
};

const struct proc_entry proc_root_entry = {.name = "proc",
                                           .mode = S_IFDIR | 0555,
                                           .child = names,
                                           .nchild = ARRAY_SIZE(names),
                                           .find = proc_find_process,
                                           .next = proc_next_process};
