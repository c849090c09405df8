/*
 * Information about the kernel for `show`, tests and benchmarks: the service MEGA_SYS_INFO(item,
 * index, buffer, length) returns a condition value and copies the item's structure to the buffer,
 * or as much of it as fits. An index beyond the last one is SS$_NONEXPR.
 */
#ifndef MEGALITH_INFO_H
#define MEGALITH_INFO_H

#include <stdint.h>

#define MEGA_SYS_INFO 0x1800

/*
 * Service MEGA_SYS_LOGICAL(table, index, translation, buffer): lists logical names into a struct
 * mega_logical. table is a descriptor of the table's name, or 0 for all tables that the process can
 * see; index counts the names of the table, translation the translations of a name, both from 0. A
 * name without translations has one empty translation. Returns SS$_NOLOGNAM when there are no more
 * names, SS$_NONEXPR when there are no more translations.
 *
 * With MEGA_LOGICAL_NEXT or MEGA_LOGICAL_SAME as the index, the name, name_length, mode and
 * table_number in the buffer identify a name that was returned before (SS$_NONEXPR: that name no
 * longer exists). A program that lists all names in this way does not cause a search from the first
 * name at each call.
 */
#define MEGA_SYS_LOGICAL  0x1802
#define MEGA_LOGICAL_NEXT (-1) /* the name after the one in the buffer */
#define MEGA_LOGICAL_SAME (-2) /* the name in the buffer, for its other translations */
struct mega_logical {
    char name[256], table[32], text[256]; /* NUL-terminated; lengths below */
    uint32_t name_length, text_length;
    uint32_t attributes, text_attributes; /* LNM$M_* */
    int32_t translation;                  /* index of the translation; -1: none */
    uint32_t mode, shareable, is_table, names;
    uint32_t table_number; /* of its table; ascends from table to table */
    uint64_t quota, left;  /* of the table that it names; 0: the table uses its parent's quota */
};

enum mega_item {
    MEGA_INFO_MEMORY = 1,   /* struct mega_memory */
    MEGA_INFO_POOL = 2,     /* index 0 nonpaged, 1 paged: struct mega_pool */
    MEGA_INFO_RESERVED = 3, /* index-th reservation: struct mega_reserved */
    MEGA_INFO_SECTION = 4,  /* index-th section: struct mega_section */
    /* Index-th process: struct mega_process. Index -1 is the caller; index -1 - pid is the process
       after that one, found without a search from the first (SS$_NOMOREPROC: pid is the last one;
       SS$_NONEXPR: pid no longer exists) */
    MEGA_INFO_PROCESS = 5,
    MEGA_INFO_CPU = 6, /* index-th CPU: struct mega_cpu */
    /*
     * Index: 0, or the id of a region; the first created one, or the one after that, in the order
     * of addresses: struct mega_region. MEGA_REGION_DEFAULT | n: default region n. With pid <<
     * MEGA_REGION_PID in the index: a region of that process, which the caller must be allowed to
     * look into (SS$_NOPRIV); else one of its own. SS$_NONEXPR: no such region, or no such process
     */
    MEGA_INFO_REGION = 7,
    MEGA_INFO_TB = 8,        /* struct mega_tb */
    MEGA_INFO_PARAM = 9,     /* index-th system parameter: struct mega_param */
    MEGA_INFO_PCI = 10,      /* index-th PCI function: struct mega_pci */
    MEGA_INFO_SPINLOCK = 11, /* spinlocks of the index-th name: struct mega_lock */
    MEGA_INFO_MUTEX = 12,    /* mutexes of the index-th name: struct mega_lock */
    MEGA_INFO_IPL = 26,      /* index: an IPL, 1 to 7: struct mega_ipl */
    MEGA_INFO_HOLD = 27,     /* index-th place of a spinlock or raised IPL: struct mega_held */
    /* Stop the system and check that every page is counted once (index 0): struct mega_validate.
       Requires CMKRNL */
    MEGA_INFO_VALIDATE = 13,
    MEGA_INFO_GLOBAL = 14, /* struct mega_global */
    MEGA_INFO_RAD = 15,    /* index-th memory domain: struct mega_rad */
    MEGA_INFO_TRACE = 18,  /* index: enum mega_facility; struct mega_trace. This item and the next
                              two require CMKRNL (SS$_NOCMKRNL) */
    /* Index: facility << 32 | CPU << 16 | slot; struct mega_caller, whose count is 0 if the slot is
       empty. SS$_NONEXPR: no such slot, or the facility is not loaded */
    MEGA_INFO_CALLER = 19,
    /* Index: CPU << 48 | number of the sample; struct mega_pc_sample. SS$_NONEXPR: the sample has
       been overwritten or does not exist yet */
    MEGA_INFO_PC_SAMPLE = 20,
    MEGA_INFO_STATES = 21,    /* struct mega_states */
    MEGA_INFO_POOL_LIST = 22, /* index: pool << 32 | list; struct mega_pool_list */
    /* Index: CPU << 16 | slot; struct mega_fault, whose count is 0 if the slot is empty. Requires
       CMKRNL. SS$_NONEXPR: no such slot, or the facility is not loaded */
    MEGA_INFO_FAULT = 24,
    /* Index: number of a system call or service; struct mega_call of <megalith/failure.h>.
       SS$_NONEXPR: there is no such call */
    MEGA_INFO_CALL = 25,
    /* Index-th account, which may hold nothing: struct mega_account */
    MEGA_INFO_ACCOUNT = 40,
    MEGA_INFO_DISK = 41,   /* index-th disk or partition: struct mega_disk */
    MEGA_INFO_EVENTS = 42, /* index: a CPU; struct mega_events. Requires CMKRNL (SS$_NOCMKRNL) */
    /* Index-th common event flag cluster, by group and name: struct mega_cluster. Requires CMKRNL
       (SS$_NOCMKRNL) */
    MEGA_INFO_CLUSTER = 43,
    /* Index: the least number of a record, from 1 on; struct mega_accounting: the next record of a
       process that has ended, of those about which the caller could have asked $GETJPI */
    MEGA_INFO_ACCOUNTING = 44,
    MEGA_INFO_PAGE_FILE = 45, /* index-th page file: struct mega_page_file */
    MEGA_INFO_CRASH = 100,    /* index 0: a deliberate panic. Superuser only */
    /*
     * The following items exist only in a kernel built with TEST=1 (kernel/test); other kernels
     * return SS$_BADPARAM, as for any unknown item. All of them require the superuser.
     */
    MEGA_INFO_SELFTEST = 101, /* run the index-th self-test: struct mega_selftest */
    /* Crash the kernel: by a stack overflow (index 0), by spinning too long for a lock (1), by a
       CPU stuck with interrupts disabled (2), by an unaligned access (3), by a null reference (4),
       by a shift that is too wide, which is fatal only with UBSan (5) */
    MEGA_INFO_TEST_CRASH = 102,
    /* The name of the index-th violation of a locking rule that the kernel can commit: struct
       mega_breach. With MEGA_TEST_COMMIT in the index: commit it (only "legal" returns) */
    MEGA_INFO_TEST_BREACH = 103,
    /* The same for leaks. The kernel continues; with --validate, the check at the end of the first
       process finds the leak. SS$_ABORT: there is nothing to leak, for example no section */
    MEGA_INFO_TEST_LEAK = 104,
    /* MEGA_INFO_VALIDATE while the index-th error is planted: struct mega_validate. SS$_ABORT:
       there is nothing to plant it in */
    MEGA_INFO_TEST_PLANT = 105,
    MEGA_INFO_LAST = MEGA_INFO_TEST_PLANT,
};

/*
 * Operations for privileged programs: the service MEGA_SYS_CONTROL(operation, a1..a5). It returns a
 * condition value. Each operation requires CMKRNL (SS$_NOCMKRNL) unless stated otherwise; an
 * unknown operation is SS$_BADPARAM. The comments give the arguments in their order.
 */
#define MEGA_SYS_CONTROL 0x1801

enum mega_control {
    MEGA_CTL_SET_PARAM = 1,     /* name, value: set a dynamic system parameter */
    MEGA_CTL_FREE_RESERVED = 2, /* name, scope, address for the number of freed pages (0: not
                                   wanted): free what is unused of a reservation */
    MEGA_CTL_SET_CREDS = 3,     /* address of a struct mega_creds of <megalith/creds.h>: set the
                                   identity of the calling process */
    MEGA_CTL_SET_HOME_RAD = 4,  /* domain: from now on the caller and its children get their memory
                                   there. Requires no privilege. SS$_BADRAD */
    MEGA_CTL_DRIVER = 5,        /* enum mega_driver, name of a reservation, argument of the driver's
                                   operation */
    MEGA_CTL_IRQ_CPU = 6,       /* interrupt number (0-15 ISA, 16 + n Cchip line n), CPU: route the
                                   interrupt to that CPU. SS$_BADPARAM: no such number, or the CPU
                                   is not online */
    MEGA_CTL_DRAIN = 17,        /* empty the caches: move the pages in the per-CPU caches to the
                                   lists, and free the kernel stacks that ended threads left, and
                                   the files of dropped messages */
    MEGA_CTL_LOCK_STATS = 16,   /* 1: reset the statistics and measure every lock; 0: stop */
    /* enum mega_facility, enum mega_trace_verb; then, for LOAD of PCS, the pages of each CPU's ring
       (0: 128), and for START of PCS the rate in Hz (0: at each clock tick). SS$_NOTMODIFIED: the
       facility is in that state already; SS$_NONEXPR: START without LOAD; SS$_INSFMEM;
       SS$_BADPARAM */
    MEGA_CTL_TRACE = 18,
    /* n, flag (1: page faults of user mode count too): make the n-th allocation of the calling
       thread fail, counted from now until MEGA_CTL_FAIL_REPORT. SS$_BADPARAM: n is 0;
       SS$_INSFMEM */
    MEGA_CTL_FAIL_ARM = 24,
    /* Address for a struct mega_failure of <megalith/failure.h>, or 0: end the failure injection
       and report its outcome. SS$_ACCVIO */
    MEGA_CTL_FAIL_REPORT = 25,
    /*
     * The following operations exist only in a kernel built with TEST=1 (kernel/test); other
     * kernels return SS$_BADPARAM.
     *
     * Size of a block in bytes (up to 64 KB), number n of blocks (up to 256), address for n struct
     * mega_pool_cost, pool (1: paged; 0: nonpaged, at raised IPL, with blocks up to 8 KB): allocate
     * n blocks and free them, twice, and return what each operation took the second time.
     * SS$_BADPARAM; SS$_INSFMEM: the pool has too little free; SS$_ACCVIO
     */
    MEGA_CTL_POOL_COST = 27,
    /* n: increment a shared word n times without a lock. This is the planted data race that the
       race detector must report (make test-races) */
    MEGA_CTL_RACE = 28,
    /* enum mega_hold, n, address for a quadword: hold a spinlock or raise the IPL for long, which
       the meter of both must find (show spinlock, show ipl). The quadword is the time in ns.
       SS$_BADPARAM: n is above MEGA_HOLD_MAX, or there is no such kind; SS$_ACCVIO */
    MEGA_CTL_HOLD = 29,
    /* byte: fill free blocks of both pools and free pages with it. MEGA_TEST_STAIN_CALL, a system
       call of its own, does the same with the caller's kernel stack */
    MEGA_CTL_STAIN = 30,
    /* enum mega_disclose, address for 64 bytes: copy out what was not written: a planted leak.
       SS$_BADPARAM; SS$_INSFMEM; SS$_ACCVIO */
    MEGA_CTL_DISCLOSE = 31,
    MEGA_CTL_LAST = MEGA_CTL_DISCLOSE,
};

#define MEGA_TEST_STAIN_CALL 598 /* number of a POSIX call that exists only with TEST=1: byte */
enum mega_disclose {
    MEGA_DISCLOSE_STACK,
    MEGA_DISCLOSE_PADDING,
    MEGA_DISCLOSE_NONPAGED,
    MEGA_DISCLOSE_PAGED,
    MEGA_DISCLOSES,
};

/* What MEGA_CTL_HOLD does n times: count to n in a loop, or take and release another lock or
   raise and restore the IPL further. The spinlocks are called "planted" and "planted inner" (IPL 2
   and 5); the IPLs are 4 and 5. */
enum mega_hold {
    MEGA_HOLD_SPIN,
    MEGA_HOLD_IPL,
    MEGA_HOLD_SPIN_NESTED,
    MEGA_HOLD_IPL_NESTED,
    MEGA_HOLDS,
};
#define MEGA_HOLD_MAX 10000000u

/* What one user holds, and may hold (kernel/quota). Index 0: user 0 and the kernel. */
#define MEGA_UNLIMITED INT64_MAX
enum mega_quota { /* index of the arrays: the kinds of <megalith/quota.def> */
                  MEGA_QUOTA_PAGES,
                  MEGA_QUOTA_FILE_PAGES,
                  MEGA_QUOTA_PROCESSES,
                  MEGA_QUOTA_FILES,
                  MEGA_QUOTA_INODES,
                  MEGA_QUOTA_NONPAGED,
                  MEGA_QUOTA_PAGED,
                  MEGA_QUOTA_SECTIONS,
                  MEGA_QUOTA_TIMERS,
                  MEGA_QUOTA_WATCHES,
                  MEGA_QUOTA_INOTIFY,
                  MEGA_QUOTA_INOTIFY_WATCHES,
                  MEGA_QUOTA_FLIGHTS,
                  MEGA_QUOTA_LOCKS,
                  MEGA_QUOTA_IPC,
                  MEGA_QUOTA_MESSAGE_BYTES,
                  MEGA_QUOTA_SHARED,
                  MEGA_QUOTA_REGIONS,
                  MEGA_QUOTA_SECTION_MAPS,
                  MEGA_QUOTA_PTYS,
                  MEGA_QUOTA_HUGE_PAGES,
                  MEGA_QUOTA_AIO,
                  MEGA_QUOTA_PAGE_FILE,
                  MEGA_QUOTA_KINDS
};
/* What a process had used when it ended. `message` is what its termination mailbox would be told
   (struct accdef of <accdef.h>), with times and counts in longwords and in units of OpenVMS. */
struct mega_accounting {
    uint32_t message[21];
    uint32_t exit_status; /* as wait4 returns it */
    uint64_t number;      /* of the record; they rise with the order in which processes end */
    uint32_t uid, uic_group, uic_member, pad;
    char name[16];
    uint64_t elapsed_ns, cpu_ns, user_ns; /* user_ns: of cpu_ns, the part in user mode */
    uint64_t faults, peak_bytes, peak_pages;
    uint64_t buffered_io; /* read and write calls */
    uint64_t direct_io;   /* requests to disks that its threads made */
};
struct mega_account {
    uint32_t uid, spare;
    uint64_t used[MEGA_QUOTA_KINDS], limit[MEGA_QUOTA_KINDS];
};

/* Operations of the driver that allocates /NOGLOBAL_SECTION reservations and maps them in system
   space. The comments give the argument. */
enum mega_driver {
    MEGA_DRIVER_TAKE = 1,     /* number of pages: allocate and map them */
    MEGA_DRIVER_RELEASE = 2,  /* unmap and free the pages */
    MEGA_DRIVER_FILL = 3,     /* seed: store seed + n in quadword n */
    MEGA_DRIVER_CHECKSUM = 4, /* address for the sum of the quadwords; before each addition the sum
                                 is rotated left by one bit */
    MEGA_DRIVER_EXPOSE = 5,   /* 1: page-frame sections may map its frames; 0: they may not */
    MEGA_DRIVER_QUERY = 6,    /* address for a struct mega_driver_unit */
};

/* The tracing facilities, and operations on them. The data of a stopped trace is kept until the
   facility is started again or unloaded. */
enum mega_facility {
    MEGA_TRACE_SPL = 0, /* spinlocks and their callers */
    MEGA_TRACE_MTX = 1, /* mutexes and their callers */
    MEGA_TRACE_PCS = 2, /* PC samples */
    MEGA_TRACE_FLT = 3, /* alignment faults of user mode */
    MEGA_TRACE_PRF = 4, /* events of translation buffers that a model counts; LOAD without one is
                           SS$_UNSUPPORTED */
    MEGA_FACILITIES,
};
enum mega_trace_verb {
    MEGA_TRACE_LOAD = 1,   /* allocate its memory */
    MEGA_TRACE_START = 2,  /* clear its data and start */
    MEGA_TRACE_STOP = 3,   /* stop, and keep the data */
    MEGA_TRACE_UNLOAD = 4, /* stop, and free its memory */
};
#define MEGA_TRACE_PAGES_MAX 4096 /* pages of a ring: 32 MB */
#define MEGA_TRACE_RATE_MAX  20000

/* Scope of a reservation: a group number, or */
#define MEGA_SCOPE_SYSGBL   0x10000
#define MEGA_SCOPE_NOGLOBAL 0x10001

struct mega_memory {
    uint64_t page_size, total, free, zeroed, never_used, cached, modified, bad, active, reserved;
    uint64_t fluid, fluid_minimum, promised_unused;
    uint64_t pt_pages, kernel_pages;
    uint64_t uptime_ns;
    /* Page tables of system space and links of kernel stacks: made as they are needed, and kept for
       the next time */
    uint64_t system_pages;
    uint64_t vhpt_pages; /* of kernel_pages: hashed page tables (VHPT_SIZE) */
};
struct mega_pool {
    uint64_t size, free, in_use, largest, smallest, free_blocks, free_blocks_le64, lookaside_bytes;
    uint64_t lal_size, requests, hits; /* requests, hits: of the lookaside lists */
    uint64_t direct; /* requests of sizes that have no lookaside list: while they are off, all */
    uint64_t pages;  /* pages of memory that it has now: paged pool frees unused pages */
};
/* The cost of one allocation and of one release, in virtual time: when it began, how long it took,
   how much of that it waited for a mutex, and how many alarms of a schedule (scripts/run
   --schedule) occurred meanwhile on all CPUs. The n-th release is not that of the n-th block. */
struct mega_pool_cost {
    uint64_t alloc_at, free_at;
    uint32_t alloc_ns, free_ns, alloc_wait_ns, free_wait_ns, alloc_alarms, free_alarms;
};
struct mega_reserved {
    char name[44];
    uint32_t flags, group; /* flags: RMD_* of <megalith/registry.h> */
    uint64_t npages, npt_pages, used, pt_used, first_pfn, pt_first_pfn;
};
struct mega_section {
    char name[44];
    uint32_t flags, group; /* SEC$M_* */
    uint64_t npages, valid_pages, shares, refs;
    uint64_t pt_pages;   /* shared page-table pages */
    uint64_t l3_ptes[4]; /* valid level-3 PTEs by granularity hint, from a walk */
    uint64_t l2_ptes[4]; /* level-2 PTEs that map shared tables, by hint, from a walk of the
                            caller's or the first mapper's tables */
    uint64_t l1_ptes;    /* level-1 PTEs of that mapper that share level-2 pages, 8 GiB each */
    uint64_t gh_errors;  /* PTEs whose granularity hint is wrong for their block */
    uint64_t made_valid, l3_pickups, raced, global_valid; /* page faults by their outcome */
    uint64_t gptes;                                       /* entries that it uses of GBLPAGES */
    uint64_t npp_bytes, pgd_bytes; /* nonpaged and paged pool that it and its mappings use */
    uint64_t delete_pending;       /* 1: it can no longer be mapped */
    uint64_t rad_pages[8];         /* valid pages of a memory-resident section by domain */
    /* The section of its shared page tables, which has no name: SEC$M_*; 0: there is none */
    uint32_t shpt_flags, spare;
};
struct mega_rad {                      /* pages with a PFN in [first_pfn, end_pfn) */
    uint64_t first_pfn, end_pfn, cpus; /* cpus: mask of the domain's online CPUs */
    uint64_t total, free, zeroed, never_used, cached, modified, bad, active, reserved;
};
struct mega_use {
    uint64_t limit, use, peak;
};
struct mega_global { /* global sections: GBLSECTIONS, GBLPAGES, GBLPAGFIL */
    struct mega_use sections, gptes, pagfil_pages;
};
struct mega_process {
    uint32_t pid, ppid, uid, state, prio, cpu;
    char name[16];
    uint64_t cpu_ns, faults, demand_zero, cow, object_valid, file, stack_grow;
    uint64_t aged, page_file; /* taken away to see if it is used; read from a page file */
    uint64_t section_made_valid, section_l3_pickup, section_raced, section_global_valid;
    uint64_t pt_pages, rss, section_pages, vsize, unaligned, switches;
    uint32_t uic_group, uic_member;
    uint64_t privileges, authorised, rights; /* PRV$M_*, MEGA_RIGHT_* */
    uint64_t locked;                         /* pages locked in memory */
    uint64_t home_rad;                       /* domain */
    uint64_t io;    /* read and write calls; each buffer of a vector counts as one */
    uint32_t waits; /* enum mega_state */
    uint32_t pad;
    char mutex[24];   /* name of the mutex that it waits for */
    uint64_t user_ns; /* of cpu_ns, the part in user mode */
    int64_t nice;     /* -20 to 19 */
    /* Of the oldest thread, in the fair rule: its weight, and by how much its virtual time is above
       the least of the threads with which it competes on its CPU; negative: it has credit. In time
       at weight 1,024 */
    uint64_t weight;
    int64_t lead_ns;
};
struct mega_cpu {
    uint32_t id, online, idle, current_pid;
    char current_name[16];
    uint64_t idle_ns, kernel_ns, user_ns, switches, interrupts, clock_ticks, ipis, shootdowns, runq;
    uint64_t unaligned; /* unaligned user accesses that were emulated */
    /* The time since the CPU came online, by use. User mode is counted by clock ticks; interrupts
       and spinning are measured by the cycle counter; idle time does not include interrupts; kernel
       time is the rest. */
    uint64_t interrupt_ns, spin_ns, pure_kernel_ns, pure_idle_ns;
};
#define MEGA_REGION_DEFAULT 0x80000000u
#define MEGA_REGION_PID     32
struct mega_region {
    uint64_t id, start, length, first_free;
    uint32_t flags, prot;
};
struct mega_tb {
    uint64_t flushes[8], ipis, skipped, full;
};
struct mega_driver_unit {
    uint64_t npages, first_pfn, va;
    uint64_t ptes[4], hint_errors; /* PTEs in system space by granularity hint; wrong hints */
};
struct mega_param {
    char name[32], older_name[32]; /* older_name: empty, or an alias */
    int64_t value, dflt, min, max;
    char unit[16];
    uint64_t dynamic; /* 1: MEGA_CTL_SET_PARAM changes it */
};
struct mega_pci {
    uint32_t bus, slot, func, vendor, device, class_code, irq, pad;
    uint64_t bar[6];
};
/* A disk with its partitions after it. Those have no counts: they are of the whole disk. */
enum { MEGA_DISK_READ, MEGA_DISK_WRITE, MEGA_DISK_FLUSH, MEGA_DISK_KINDS };
#define MEGA_DISK_PARTITION 0x1u
#define MEGA_DISK_READ_ONLY 0x2u
#define MEGA_DISK_CACHE     0x4u /* what was written is safe only after a flush */
#define MEGA_DISK_FAILED    0x8u /* it did not answer in time, and is used no more */
/* Partitions of the system disk: the configuration, the file system and the page file that are put
   to use at boot. */
#define MEGA_DISK_CONFIG 0x10u
#define MEGA_DISK_FILES  0x20u
#define MEGA_DISK_PAGING 0x40u
struct mega_disk {
    char name[16];
    uint64_t first, sectors; /* on the disk */
    uint32_t sector_bytes, flags;
    uint32_t with_device, device_number;                        /* requests that the device has */
    uint64_t requests[MEGA_DISK_KINDS], bytes[MEGA_DISK_KINDS]; /* ended; of those without error */
    uint64_t errors[MEGA_DISK_KINDS];                           /* told to who made the request */
    uint64_t retries, late; /* requests tried again; given up when the device failed */
};
/* A page file; its slots have a page each. */
struct mega_page_file {
    char name[16];
    uint64_t slots, used, bad;      /* bad: those that cannot be used; slots includes them */
    uint64_t reads, writes, errors; /* pages read and written; transfers that failed */
    uint64_t closing;               /* 1: what is in it is being brought back */
};
/* All locks of one name and rank, since measurement started (MEGA_CTL_LOCK_STATS). */
struct mega_lock {
    char name[32];
    uint32_t rank, ipl;            /* ipl: spinlocks only */
    uint32_t measuring, pad;       /* measuring 0: the counts do not change */
    uint64_t acquisitions, shared; /* exclusive; by readers (mutexes only) */
    uint64_t waits;                /* acquisitions that had to spin or sleep, shared ones too */
    uint64_t held_ns, longest_ns;  /* time held exclusively: in all, and longest; virtual time */
    char longest_place[64];        /* where the lock was taken that was held longest */
    uint64_t shared_waits, wait_ns, longest_wait_ns;
    uint64_t unlocks, shared_unlocks;
};
/* The longest time at an IPL or above, since measurement started, interrupts met meanwhile not
   included. A time is counted for the highest IPL during all of it. */
struct mega_ipl {
    uint32_t ipl, measuring;
    uint64_t longest_ns;    /* virtual time; 0: there was none */
    char longest_place[64]; /* where the IPL was raised */
};
/* The longest hold of a spinlock, or time at a raised IPL, that began at one place on one CPU,
   since measurement started. All 0: none at this index; there may be some at higher ones. */
struct mega_held {
    char name[32]; /* of the spinlock; empty: the IPL was raised */
    uint32_t ipl, pad;
    uint64_t longest_ns;
    char place[64]; /* where the lock was taken or the IPL raised */
};
struct mega_trace {
    uint64_t loaded, running; /* 0 or 1 */
    uint64_t started_ns, lasted_ns;
    uint64_t bytes;                      /* memory that it uses */
    uint64_t cpus, slots;                /* SPL, MTX: number of tables, and of slots in each */
    uint64_t dropped;                    /* SPL, MTX: acquisitions whose caller got no slot */
    uint64_t interval_ns;                /* PCS: time between samples */
    uint64_t first[4], next[4], late[4]; /* PCS, by CPU: number of the oldest sample in the ring;
                                            of the next one; samples missed by a late clock */
};
struct mega_caller {
    char name[32]; /* name of the lock */
    uint32_t rank, shared;
    uint64_t place, count, waits, wait_ns, held_ns; /* held_ns: exclusive acquisitions only */
    char routine[64], module[64];                   /* function+offset; source file */
};
struct mega_events {                 /* of a CPU, from START to STOP or now */
    uint64_t vhpt_kib, vhpt_address; /* its hashed page table; 0: it has none */
    uint64_t data_misses, fetch_misses, walks, data_hits, fetch_hits, replaced;
};
struct mega_cluster { /* named event flags */
    char name[16];    /* `length` bytes, then nulls */
    uint32_t length;
    uint32_t uic_group, uic_member; /* of who has made it */
    uint32_t permanent, owner_only; /* 0 or 1 */
    uint32_t associations;          /* of processes */
};
struct mega_fault { /* alignment faults of one instruction of one process */
    uint64_t pc, count, first_address, last_address;
    uint32_t pid, opcode;
    char name[16], path[64]; /* name of the process; path of its program */
};
struct mega_pc_sample {
    uint64_t ns, pc; /* ns: virtual time since boot */
    uint32_t pid, cpu, ipl, user;
    char name[16];                /* name of the process, or of a kernel thread (pid 0) */
    char routine[64], module[64]; /* in user mode: empty, and the path of the program */
};
/* States of processes, as `show system` names them. */
enum mega_state {
    MEGA_STATE_CUR,   /* runs on a CPU */
    MEGA_STATE_COM,   /* ready to run */
    MEGA_STATE_MUTEX, /* waits for a mutex */
    MEGA_STATE_LEF,   /* interruptible wait for an event: pipe, terminal, child */
    MEGA_STATE_HIB,   /* sleeps until a time or a signal */
    MEGA_STATE_RWAST, /* uninterruptible wait for an event */
    MEGA_STATE_SUSP,  /* stopped by a signal */
    MEGA_STATE_ENDED, /* has ended, and its parent has not yet read its status */
    MEGA_STATES,
};
struct mega_states {
    uint64_t count[MEGA_STATES];
    uint64_t pool_free_blocks, pool_free; /* paged pool: blocks and bytes, without a walk */
    /* Of all processes since boot, those that have ended too: page faults of user addresses, read
       and write calls (mega_process.io) */
    uint64_t faults, io;
};
struct mega_pool_list {
    uint64_t size, count, requests, hits, frees; /* size: bytes of a packet; count: packets */
};
struct mega_validate {
    uint64_t pages[18]; /* by where they were found: enum mega_pages */
    uint64_t total, spaces, entries, objects, sections, mappings, reservations, ptes;
    uint64_t errors;    /* 0: consistent */
    uint64_t timed_out; /* 1: a thread did not stop; `text` names it; nothing was checked */
    char text[448];     /* the first errors, a line each */
};
enum mega_pages {
    MEGA_PAGES_FREE,
    MEGA_PAGES_ZEROED,
    MEGA_PAGES_MODIFIED,
    MEGA_PAGES_BAD,
    MEGA_PAGES_CACHED,
    MEGA_PAGES_NEVER_USED,
    MEGA_PAGES_RESERVED,
    MEGA_PAGES_PRIVATE,
    MEGA_PAGES_OBJECT,
    MEGA_PAGES_SECTION,
    MEGA_PAGES_TABLE,
    MEGA_PAGES_SHARED_TABLE,
    MEGA_PAGES_PAGED_POOL,
    MEGA_PAGES_KSTACK,
    MEGA_PAGES_NONPAGED_POOL,
    MEGA_PAGES_CHECK, /* working storage of the check itself */
    MEGA_PAGES_PIPE,
    MEGA_PAGES_LINKS, /* links of kernel stacks, the page of zeroes, tables of page files */
    MEGA_PAGES_KINDS,
};
#define MEGA_TEST_COMMIT (1L << 32)
struct mega_breach {
    char name[32];
};
struct mega_selftest {
    char name[64];
    char failure[128]; /* empty: passed */
    uint64_t value;    /* the measured value; the test's name says of what */
};

#endif
