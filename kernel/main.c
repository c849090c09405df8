/*
 * The boot sequence. It runs on the primary CPU; each step may use what the steps before it have
 * set up:
 *
 *   1. PCI, configuration (of the initrd, or polled from the system disk), wall clock;
 *   2. memory clusters and PFN database;
 *   3. system page tables, nonpaged pool, kernel stacks;
 *   4. scheduler: from here on this is a thread, which may wait;
 *   5. interrupts, interval clock;
 *   6. the other CPUs;
 *   7. reservations of the registry;
 *   8. paged pool, sections, logical names;
 *   9. disks, file systems, console, traces;
 *  10. first process.
 */
#include "kernel/main.h"

#include "arch/alpha/clipper/interval.h"
#include "arch/alpha/clipper/irq.h"
#include "arch/alpha/clipper/pci.h"
#include "arch/alpha/hw/clock.h"
#include "arch/alpha/hw/hwrpb.h"
#include "arch/alpha/hw/kseg.h"
#include "arch/alpha/hw/tb_model.h"
#include "kernel/base/bitops.h"
#include "kernel/base/cpio.h"
#include "kernel/base/error_text.h"
#include "kernel/base/format.h"
#include "kernel/base/panic.h"
#include "kernel/base/printk.h"
#include "kernel/base/string.h"
#include "kernel/base/treap.h"
#include "kernel/boot_config.h"
#include "kernel/boot_word.h"
#include "kernel/drivers/ide.h"
#include "kernel/drivers/resmem_driver.h"
#include "kernel/drivers/virtio/disk.h"
#include "kernel/event/event.h"
#include "kernel/io/aio.h"
#include "kernel/io/file.h"
#include "kernel/io/random.h"
#include "kernel/io/tree.h"
#include "kernel/ipc/msg.h"
#include "kernel/ipc/sem.h"
#include "kernel/ipc/shm.h"
#include "kernel/lnm/lnm.h"
#include "kernel/net/socket.h"
#include "kernel/proc/leaks.h"
#include "kernel/proc/page_file.h"
#include "kernel/proc/process.h"
#include "kernel/proc/validate.h"
#include "kernel/qio/mailbox.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/perturb.h"
#include "kernel/sched/sched.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/posix/ipc.h"
#include "kernel/sys/posix/process.h"
#include "kernel/sys/posix/socket.h"
#include "kernel/sys/procfs/procfs.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/system_disk.h"
#include "kernel/test/test.h"
#include "kernel/trace/trace.h"
#include "mm/check/census.h"
#include "mm/object/pager.h"
#include "mm/phys/idle_zero.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_check.h"
#include "mm/pt/kstack.h"
#include "mm/pt/pt_system.h"
#include "mm/pt/vhpt.h"
#include "mm/section/huge_cow.h"
#include "mm/section/huge_pool.h"
#include "mm/section/reserved.h"
#include "mm/section/section.h"
#include "sysman/params.h"

#define BOOT_PARAMS_PAGES 3 /* command line and initrd address lie 0x6000 bytes below the image */
#define COMMAND_FILE      "boot/cmdline"
#define SHELL             "/bin/sh"
#define INIT_MAX          256

extern char _kernel_start[], _end[];

struct boot_hole {
    uint64_t first, end; /* PFNs */
};

static const void *initrd; /* constant after boot */
static uint64_t initrd_bytes;

static struct boot_hole pages_of(const void *start, const void *end)
{
    return (struct boot_hole){kseg_paddr(start).a / PAGE_SIZE,
                              div_round_up(kseg_paddr(end).a, PAGE_SIZE)};
}

/* Give the page allocator [first, end) except the holes, which are in ascending order. */
static void add_less(uint64_t first, uint64_t end, const struct boot_hole *holes, unsigned nholes)
{
    for (unsigned i = 0; i < nholes && first < end; i++) {
        if (holes[i].end <= first || holes[i].first >= end)
            continue;
        if (holes[i].first > first)
            page_boot_add_range(pfn_of(first), holes[i].first - first);
        first = holes[i].end;
    }
    if (first < end)
        page_boot_add_range(pfn_of(first), end - first);
}

static void memory_boot(void)
{
    struct boot_hole holes[2] = {pages_of(_kernel_start, _end), {0, 0}};
    uint64_t npages = 0;

    holes[0].first -= BOOT_PARAMS_PAGES;
    /* QEMU puts the initrd at the top of memory, above the image. */
    if (initrd_bytes)
        holes[1] = pages_of(initrd, (const char *)initrd + initrd_bytes);
    for (unsigned i = 0; i < hwrpb_cluster_count(); i++) {
        struct hwrpb_cluster c = hwrpb_cluster(i);

        if (c.console)
            continue;
        npages += c.npages;
        add_less(c.first.n, c.first.n + c.npages, holes, ARRAY_SIZE(holes));
    }
    page_boot_parameters();
    process_table_boot(npages);
    page_boot_done();
    quota_boot_memory(npages);
    printk("memory: %lu MiB\n", npages >> (20 - PAGE_SHIFT));
}

/* The machine's clock counts from 0 (scripts/run runs it on virtual time), so the host passes the
 * time of day at which it started, in seconds since 1970, on the command line. */
static void wall_clock_boot(void)
{
    char text[24];
    uint64_t seconds;

    if (boot_word(boot_command_line(), "time", text, sizeof(text)) && str_to_u64(text, &seconds))
        clock_wall_boot(seconds * 1000000000);
}

/* The schedule that scripts/run --schedule has chosen (kernel/sched/perturb.h). */
static void schedule_boot(void)
{
    char text[24];
    uint64_t number, shift = 0;

    if (!boot_word(boot_command_line(), "schedule", text, sizeof(text)) ||
        !str_to_u64(text, &number))
        return;
    if (boot_word(boot_command_line(), "shift", text, sizeof(text)))
        str_to_u64(text, &shift);
    perturb_boot(number, shift);
}

/* tbmodel=N: scripts/run --tb-model runs a model of chips with address space numbers up to N. */
static void tb_model_boot(void)
{
    char text[24];
    uint64_t asn_max;

    if (boot_word(boot_command_line(), "tbmodel", text, sizeof(text)) &&
        str_to_u64(text, &asn_max) && asn_max >= 1 && asn_max <= TB_MODEL_ASN_MAX)
        tb_model_listen((unsigned)asn_max);
}

/* Choose the secret of the search trees (kernel/base/treap.h) by how long the boot has taken so
 * far, in cycles, and by random bytes: nobody can compute it afterwards, and a run that counts
 * instructions, which has no source of entropy, repeats exactly. */
static void trees_boot(void)
{
    treap_secret ^= clock_ns() ^ (uint64_t)clock_cycles() << 32 ^ random_next();
}

/* Mount the folders of the host: share0=/path is that of the device share0, and so on. */
static void shares_boot(void)
{
    char word[16], path[128];

    for (unsigned n = 0; format(word, sizeof(word), "share%u", n),
                  boot_word(boot_command_line(), word, path, sizeof(path));
         n++) {
        int err = tree_mount_share(word, path);
        const char *text = error_text(-err);

        if (err)
            printk("%s cannot be mounted: %s\n", path, text ? text : "unknown error");
    }
}

/* terminal=ROWSxCOLUMNS: the size of the terminal at which scripts/run is used; 0x0: there is none.
 * Without it the console keeps its usual size. */
static void terminal_boot(void)
{
    char text[16], *columns;
    uint64_t rows, cols;

    if (!boot_word(boot_command_line(), "terminal", text, sizeof(text)) ||
        !(columns = strchr(text, 'x')))
        return;
    *columns++ = 0;
    if (str_to_u64(text, &rows) && str_to_u64(columns, &cols) && rows <= UINT16_MAX &&
        cols <= UINT16_MAX)
        console_terminal((uint16_t)rows, (uint16_t)cols);
}

/* Start the command that was given to scripts/run, or else the shell. */
static void first_process(void)
{
    static char init[INIT_MAX] = SHELL;
    struct cpio_entry arguments;

    if (boot_word(boot_command_line(), "cmd", NULL, 0)) {
        if (!cpio_find(initrd, initrd_bytes, COMMAND_FILE, &arguments))
            panic("the command line says cmd, but the initrd has no " COMMAND_FILE);
        process_start_first((const char *)arguments.data, arguments.nbytes, true);
        return;
    }
    boot_word(boot_command_line(), "init", init, sizeof(init));
    process_start_first(init, strlen(init) + 1, false);
}

void kernel_main(const struct boot_cpus *boot)
{
    printk("Megalith on Alpha, %u CPU%s present\n", bit_count(hwrpb_cpus_present()),
           bit_count(hwrpb_cpus_present()) == 1 ? "" : "s");
    thread_self()->account = account_system;
    tb_model_boot();
    initrd = boot_initrd(&initrd_bytes);
    pci_boot();
    const struct registry *registry = boot_config(initrd, initrd_bytes, system_disk_config);

    wall_clock_boot();

    ipl_set(IPL_NONE); /* no interrupt source is on yet */
    memory_boot();
    page_zeroes_boot();
    pt_system_boot();
    pool_check_boot();
    pool_boot();
    kstack_boot();
    pager_boot();
    sched_boot();
    boot->online();
    irq_boot();
    interval_boot();

    schedule_boot();
    boot->start_others(system_root_pfn, MAX_CPUS);
    printk("CPUs: %u online\n", cpu_count);
    random_boot();
    trees_boot();
    vhpt_boot();
    reserved_boot(registry); /* late, so that all CPUs help to zero the reservations */
    huge_pool_boot();
    huge_private_boot();
    pool_boot_paged();
    section_boot();
    quota_boot_total(QUOTA_PAGED, (uint64_t)sysparam(SYSPARAM_PAGEDYN));
    quota_boot_total(QUOTA_IPC, IPC_SLOTS);
    quota_boot_total(QUOTA_AIO, AIO_TOTAL);
    quota_boot_total(QUOTA_SECTIONS, (uint64_t)sysparam(SYSPARAM_GBLSECTIONS));
    census_boot();
    idle_zero_boot();
    lnm_boot();
    event_boot();
    mailbox_boot();
    section_pagfil_boot();
    section_pfn_boot();
    resmem_census_boot();
    terminal_boot();
    virtio_disk_boot(system_disk_choice());
    ide_boot();
    page_out_boot();
    system_disk_page_file();
    io_boot(initrd, initrd_bytes);
    socket_boot();
    posix_socket_boot();
    shm_boot();
    sem_boot();
    msg_boot();
    posix_ipc_boot();
    posix_mqueue_boot();
    procfs_boot();
    vms_names_boot();
    vms_census_boot();
    shares_boot();
    system_disk_mount();
    if (boot_word(boot_command_line(), "noinput", NULL, 0))
        stream_input_ends();
    trace_boot();
    futex_boot();
    test_boot();
    if (boot_word(boot_command_line(), "validate", NULL, 0)) {
        system_validate_at_end();
        leaks_at_end();
    }
    first_process();
    thread_exit();
}
