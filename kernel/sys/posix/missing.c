/*
 * System calls of Linux/Alpha that are not there: they return ENOSYS, and each is reported once on
 * the console with its name (asm/unistd.h), since a program seldom says what it lacked.
 */
#include "arch/alpha/hw/trapframe.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/proc/process.h"
#include "kernel/sys/syscall.h"

/* Those that a program of Linux may try, by number; the calls of OSF/1 have no name here. */
static const struct {
    uint16_t number;
    char name[26];
} names[] = {
    {51, "acct"},
    {300, "bdflush"},
    {301, "sethae"},
    {303, "old_adjtimex"},
    {306, "create_module"},
    {307, "init_module"},
    {308, "delete_module"},
    {309, "get_kernel_syms"},
    {311, "reboot"},
    {313, "uselib"},
    {319, "_sysctl"},
    {338, "afs_syscall"},
    {342, "nfsservctl"},
    {345, "pciconfig_read"},
    {346, "pciconfig_write"},
    {347, "query_module"},
    {373, "dipc"},
    {374, "pivot_root"},
    {376, "pciconfig_iobase"},
    {397, "tuxcall"},
    {406, "lookup_dcookie"},
    {410, "remap_file_pages"},
    {412, "restart_syscall"},
    {428, "vserver"},
    {429, "mbind"},
    {430, "get_mempolicy"},
    {431, "set_mempolicy"},
    {439, "add_key"},
    {440, "request_key"},
    {441, "keyctl"},
    {442, "ioprio_set"},
    {443, "ioprio_get"},
    {448, "kexec_load"},
    {449, "migrate_pages"},
    {465, "unshare"},
    {472, "move_pages"},
    {477, "timerfd"},
    {493, "perf_event_open"},
    {494, "fanotify_init"},
    {495, "fanotify_mark"},
    {497, "name_to_handle_at"},
    {498, "open_by_handle_at"},
    {501, "setns"},
    {506, "kcmp"},
    {507, "finit_module"},
    {514, "seccomp"},
    {515, "bpf"},
    {516, "userfaultfd"},
    {524, "pkey_mprotect"},
    {525, "pkey_alloc"},
    {526, "pkey_free"},
    {535, "io_uring_setup"},
    {536, "io_uring_enter"},
    {537, "io_uring_register"},
    {538, "open_tree"},
    {539, "move_mount"},
    {540, "fsopen"},
    {541, "fsconfig"},
    {542, "fsmount"},
    {543, "fspick"},
    {545, "clone3"},
    {550, "process_madvise"},
    {552, "mount_setattr"},
    {553, "quotactl_fd"},
    {554, "landlock_create_ruleset"},
    {555, "landlock_add_rule"},
    {556, "landlock_restrict_self"},
    {558, "process_mrelease"},
    {559, "futex_waitv"},
    {560, "set_mempolicy_home_node"},
    {561, "cachestat"},
    {563, "map_shadow_stack"},
    {564, "futex_wake"},
    {565, "futex_wait"},
    {566, "futex_requeue"},
    {567, "statmount"},
    {568, "listmount"},
    {569, "lsm_get_self_attr"},
    {570, "lsm_set_self_attr"},
    {571, "lsm_list_modules"},
    {572, "mseal"},
};

static const char *name_of(uint64_t number)
{
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

static void report(uint64_t number)
{
    const char *name = name_of(number);
    char text[PROCESS_NAME_BYTES];

    process_name_text(process_self(), text);
    if (name)
        printk("%s: system call %lu, %s, is not there\n", text, (unsigned long)number, name);
    else
        printk("%s: system call %lu is not there\n", text, (unsigned long)number);
}

/* Calls that the C library tries at every program start and does not need. They are not reported,
   since that would be of no use. */
#define RSEQ 527

long syscall_missing(void)
{
    uint64_t number = user_frame_of(current_hw)->orig_v0;
    /* Atomic: a bit for each number, and one for all above. */
    static uint64_t named[POSIX_CALLS / 64 + 1];
    uint64_t k = number < POSIX_CALLS ? number : POSIX_CALLS, bit = UINT64_C(1) << k % 64;

    if (number == RSEQ || number == ~UINT64_C(0)) /* the latter: a tracer has it left out */
        return -ENOSYS;
    if (!(__atomic_fetch_or(&named[k / 64], bit, __ATOMIC_RELAXED) & bit))
        report(number);
    return -ENOSYS;
}
