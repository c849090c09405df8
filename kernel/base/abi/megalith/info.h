/*
 * What `show`, tests and benchmarks ask the kernel: service MEGA_SYS_INFO(item, index, buffer,
 * length). It returns a condition value; the structure is copied out whole or, with a shorter
 * buffer, cut short. SS$_NOMOREREG-like ends of lists come back as SS$_NONEXPR. Counters are the
 * kernel's own.
 */
#ifndef MEGALITH_INFO_H
#define MEGALITH_INFO_H

#include <stdint.h>

#define MEGA_SYS_INFO 0x1800

/* Service MEGA_SYS_LOGICAL(table, index, translation, buffer): table is a descriptor (0: all tables
   that the process sees), index counts its names, translation their translations from 0 on (a name
   without any has one empty one): struct mega_logical. SS$_NOLOGNAM: no more names; SS$_NONEXPR: no
   more translations. With one of the two below for an index, buffer says by its name, name_length,
   mode and table_number from where to go on (SS$_NONEXPR: that name is there no more): a list of
   all names that starts with index 0 and goes on so takes no time for those it has shown. */
#define MEGA_SYS_LOGICAL  0x1802
#define MEGA_LOGICAL_NEXT (-1) /* the name behind that one */
#define MEGA_LOGICAL_SAME (-2) /* that one: for its other translations */
struct mega_logical {
    char name[256], table[32], text[256]; /* NUL-terminated; lengths below */
    uint32_t name_length, text_length;
    uint32_t attributes, text_attributes; /* LNM$M_* */
    int32_t translation;                  /* index; -1: none */
    uint32_t mode, shareable, is_table, names;
    uint32_t table_number; /* place of its table among those listed */
    uint64_t quota, left;  /* of the table that it names; 0: out of its parent's */
};

enum mega_item {
    MEGA_INFO_MEMORY = 1,   /* struct mega_memory */
    MEGA_INFO_POOL = 2,     /* index 0 nonpaged, 1 paged: struct mega_pool */
    MEGA_INFO_RESERVED = 3, /* index-th reservation: struct mega_reserved */
    MEGA_INFO_SECTION = 4,  /* index-th section: struct mega_section */
    /* Index-th process; index -1 the caller; index -1 - pid the one behind that process, without a
       walk over those before (SS$_NOMOREPROC: it is the last, SS$_NONEXPR: it is there no more):
       struct mega_process */
    MEGA_INFO_PROCESS = 5,
    MEGA_INFO_CPU = 6,       /* index-th CPU: struct mega_cpu */
    MEGA_INFO_REGION = 7,    /* index-th region of the caller: struct mega_region */
    MEGA_INFO_TB = 8,        /* struct mega_tb */
    MEGA_INFO_PARAM = 9,     /* index-th system parameter: struct mega_param */
    MEGA_INFO_PCI = 10,      /* index-th PCI function: struct mega_pci */
    MEGA_INFO_SPINLOCK = 11, /* index-th name of spinlocks: struct mega_lock */
    MEGA_INFO_MUTEX = 12,    /* index-th name of mutexes: struct mega_lock */
    /* Stop the system and check that every page is counted once (index 0): struct mega_validate.
       Takes CMKRNL */
    MEGA_INFO_VALIDATE = 13,
    MEGA_INFO_GLOBAL = 14, /* struct mega_global */
    MEGA_INFO_RAD = 15,    /* index-th memory domain: struct mega_rad */
    MEGA_INFO_TRACE = 18,  /* index enum mega_facility: struct mega_trace. This and the next two
                              take CMKRNL (SS$_NOCMKRNL) */
    /* Index facility << 32 | CPU << 16 | slot: struct mega_caller, its count 0 where the slot is
       empty. SS$_NONEXPR: no such slot, or nothing is loaded. */
    MEGA_INFO_CALLER = 19,
    /* Index CPU << 48 | number of the sample: struct mega_pc_sample. SS$_NONEXPR: it has been
       overwritten, or there is none yet. */
    MEGA_INFO_PC_SAMPLE = 20,
    MEGA_INFO_STATES = 21,    /* struct mega_states */
    MEGA_INFO_POOL_LIST = 22, /* index pool << 32 | list: struct mega_pool_list */
    /* Index CPU << 16 | slot: struct mega_fault, its count 0 where the slot is empty; takes CMKRNL.
       SS$_NONEXPR: no such slot, or nothing is loaded */
    MEGA_INFO_FAULT = 24,
    /* Index number of a system call or service: struct mega_call of <megalith/failure.h>.
       SS$_NONEXPR: there is no such call */
    MEGA_INFO_CALL = 25,
    MEGA_INFO_CRASH = 100, /* index 0: a deliberate panic. Superuser only */
    /*
     * Only in a kernel built with TEST=1 (kernel/test); elsewhere SS$_BADPARAM, as for any number
     * that means nothing. All of them superuser only.
     */
    MEGA_INFO_SELFTEST = 101, /* run the kernel's test number index: struct mega_selftest */
    /* Kernel stack overflow (index 0), spin too long (1), stuck with interrupts off (2), kernel
       unaligned access (3), kernel null reference (4), a shift by too much, an end only under
       UBSan (5) */
    MEGA_INFO_TEST_CRASH = 102,
    /* Index-th breach of the rules of locks that the kernel can commit, by name: struct
       mega_breach. With MEGA_TEST_COMMIT in the index: commit it (only "legal" comes back) */
    MEGA_INFO_TEST_BREACH = 103,
    /* The same for leaks. The kernel goes on; with --validate the end of the first process finds
       it. SS$_ABORT: there is nothing to leak, for example no section */
    MEGA_INFO_TEST_LEAK = 104,
    /* MEGA_INFO_VALIDATE with the index-th error planted for the time of the check: struct
       mega_validate. SS$_ABORT: there is nothing to plant it in */
    MEGA_INFO_TEST_PLANT = 105,
    MEGA_INFO_LAST = MEGA_INFO_TEST_PLANT,
};

/*
 * What a privileged program changes: service MEGA_SYS_CONTROL(operation, a1..a5). It returns a
 * condition value. Each operation needs CMKRNL (SS$_NOCMKRNL) unless said otherwise; an unknown one
 * is SS$_BADPARAM.
 */
#define MEGA_SYS_CONTROL 0x1801

enum mega_control {
    MEGA_CTL_SET_PARAM = 1,     /* name, value: a dynamic system parameter */
    MEGA_CTL_FREE_RESERVED = 2, /* name, scope, address for the pages given back (0: not wanted) */
    MEGA_CTL_SET_CREDS = 3,     /* struct mega_creds of <megalith/creds.h>, for the caller */
    MEGA_CTL_SET_HOME_RAD = 4,  /* domain, of the caller: its memory, and its children's, from now
                                   on.  No privilege needed. SS$_BADRAD */
    MEGA_CTL_DRIVER = 5,        /* enum mega_driver, name of a reservation, what that says */
    MEGA_CTL_IRQ_CPU = 6,       /* interrupt number (0-15 ISA, 16 + n Cchip line n), CPU: the line
                                   interrupts that one from now on. SS$_BADPARAM: no such number,
                                   or the CPU is not online */
    MEGA_CTL_DRAIN = 17,        /* free what is kept ready: CPU page caches go to the lists, kernel
                                   stacks of ended threads to the free pages */
    MEGA_CTL_LOCK_STATS = 16,   /* 1: forget what was counted and measure every lock; 0: stop */
    /* enum mega_facility, enum mega_trace_verb, then for LOAD of PCS the pages of each CPU's ring
       (0: 128) and for its START the rate in Hz (0: at each clock tick). SS$_NORMAL;
       SS$_NOTMODIFIED: it is so already; SS$_NONEXPR: START without LOAD; SS$_INSFMEM;
       SS$_BADPARAM */
    MEGA_CTL_TRACE = 18,
    /* n, 1: page faults of user mode too: from now on the n-th allocation of the calling thread
       fails, in what it calls up to MEGA_CTL_FAIL_REPORT. SS$_BADPARAM: n is 0; SS$_INSFMEM */
    MEGA_CTL_FAIL_ARM = 24,
    /* Address for a struct mega_failure of <megalith/failure.h>, or 0: no more of that; what came
       of it. SS$_ACCVIO */
    MEGA_CTL_FAIL_REPORT = 25,
    /* Only in a kernel built with TEST=1 (kernel/test); elsewhere SS$_BADPARAM.
     *
     * Size of a block up to 64 KB, how many up to 256, address for as many struct mega_pool_cost,
     * 1: paged pool; 0: nonpaged pool at raised IPL, and up to 8 KB: allocate so many and free them
     * again, twice, and tell what each cost the second time. SS$_BADPARAM, SS$_INSFMEM: the pool is
     * short, SS$_ACCVIO */
    MEGA_CTL_POOL_COST = 27,
    /* Count up, so many times, in a word that has no lock: the planted race that the kernel with
       the detector is to report (make test-races). SS$_NORMAL */
    MEGA_CTL_RACE = 28,
    MEGA_CTL_LAST = MEGA_CTL_RACE,
};

/* A driver that takes /NOGLOBAL_SECTION reservations and maps them in system space. */
enum mega_driver {
    MEGA_DRIVER_TAKE = 1,     /* how many pages */
    MEGA_DRIVER_RELEASE = 2,  /* */
    MEGA_DRIVER_FILL = 3,     /* seed: quadword n becomes seed + n */
    MEGA_DRIVER_CHECKSUM = 4, /* address for the quadwords, each added to the sum rotated left */
    MEGA_DRIVER_EXPOSE = 5,   /* 1: page-frame sections may show its frames; 0: no more */
    MEGA_DRIVER_QUERY = 6,    /* address of a struct mega_driver_unit */
};

/* What can be traced, and how. A trace that has stopped stays until it starts again or unloads. */
enum mega_facility {
    MEGA_TRACE_SPL = 0, /* spinlocks and their callers */
    MEGA_TRACE_MTX = 1, /* mutexes and theirs */
    MEGA_TRACE_PCS = 2, /* PC samples */
    MEGA_TRACE_FLT = 3, /* alignment faults of user mode */
    MEGA_FACILITIES,
};
enum mega_trace_verb {
    MEGA_TRACE_LOAD = 1,   /* take memory for it */
    MEGA_TRACE_START = 2,  /* begin anew */
    MEGA_TRACE_STOP = 3,   /* */
    MEGA_TRACE_UNLOAD = 4, /* stop it, and give the memory back */
};
#define MEGA_TRACE_PAGES_MAX 4096 /* of a ring: 32 MB */
#define MEGA_TRACE_RATE_MAX  20000

/* Scope of a reservation: a group number, or */
#define MEGA_SCOPE_SYSGBL   0x10000
#define MEGA_SCOPE_NOGLOBAL 0x10001

struct mega_memory {
    uint64_t page_size, total, free, zeroed, never_used, cached, modified, bad, active, reserved;
    uint64_t fluid, fluid_minimum, promised_unused;
    uint64_t pt_pages, kernel_pages;
    uint64_t uptime_ns;
};
struct mega_pool {
    uint64_t size, free, in_use, largest, smallest, free_blocks, free_blocks_le64, lookaside_bytes;
    uint64_t lal_size, requests, hits;
    uint64_t pages; /* of memory that it has now: paged pool gives pages back */
};
/* Of one allocation, and of one release, in virtual time: when it began, how long it took, how long
   of that it waited for a mutex, and how many alarms of a schedule (scripts/run --schedule) came
   meanwhile, on any CPU. The n-th release is not that of the n-th block. */
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
    uint64_t l2_ptes[4]; /* level-2 PTEs that map shared tables, by hint; walked in the caller's or
                            the first mapper's tables */
    uint64_t l1_ptes;    /* level-1 PTEs of that mapper that share level-2 pages, 8 GiB each */
    uint64_t gh_errors;  /* PTEs whose hint breaks the block rules */
    uint64_t made_valid, l3_pickups, raced, global_valid; /* faults by what they did */
    uint64_t gptes;                /* entries that it counts for against GBLPAGES */
    uint64_t npp_bytes, pgd_bytes; /* pool that it takes, its mappings included */
    uint64_t delete_pending;       /* 1: nobody can map it any more */
    uint64_t rad_pages[8];         /* valid pages of a memory-resident section by domain */
};
struct mega_rad {                      /* pages with a PFN in [first_pfn, end_pfn) */
    uint64_t first_pfn, end_pfn, cpus; /* cpus: mask of those of the domain that came up */
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
    uint64_t section_made_valid, section_l3_pickup, section_raced, section_global_valid;
    uint64_t pt_pages, rss, section_pages, vsize, unaligned, switches;
    uint32_t uic_group, uic_member;
    uint64_t privileges, authorised, rights; /* PRV$M_*, MEGA_RIGHT_* */
    uint64_t locked;                         /* pages locked in memory */
    uint64_t home_rad;                       /* domain */
    uint64_t io;    /* read and write calls (each buffer of a vector counts) */
    uint32_t waits; /* enum mega_state */
    uint32_t pad;
    char mutex[24]; /* name of the mutex that it waits for */
};
struct mega_cpu {
    uint32_t id, online, idle, current_pid;
    char current_name[16];
    uint64_t idle_ns, kernel_ns, user_ns, switches, interrupts, clock_ticks, ipis, shootdowns, runq;
    uint64_t unaligned; /* user accesses fixed up */
    /* Time of the CPU since it came up, divided: user mode is counted by clock ticks, interrupts
       and spinning by the cycle counter, idle without the interrupts meanwhile, kernel is the
       rest. */
    uint64_t interrupt_ns, spin_ns, pure_kernel_ns, pure_idle_ns;
};
struct mega_region {
    uint64_t id, start, length, first_free;
    uint32_t flags, prot;
};
struct mega_tb {
    uint64_t flushes[8], ipis, skipped, full;
};
struct mega_driver_unit {
    uint64_t npages, first_pfn, va;
    uint64_t ptes[4], hint_errors; /* of its mapping in system space, by granularity hint */
};
struct mega_param {
    char name[32], older_name[32]; /* the second: empty, or a name that means the same */
    int64_t value, dflt, min, max;
    char unit[16];
    uint64_t dynamic; /* 1: MEGA_CTL_SET_PARAM changes it */
};
struct mega_pci {
    uint32_t bus, slot, func, vendor, device, class_code, irq, pad;
    uint64_t bar[6];
};
/* All locks of one name and rank, since measuring began (MEGA_CTL_LOCK_STATS). */
struct mega_lock {
    char name[32];
    uint32_t rank, ipl;            /* ipl: spinlocks only */
    uint32_t measuring, pad;       /* 0: the counts stand still */
    uint64_t acquisitions, shared; /* exclusively; by readers (mutexes) */
    uint64_t waits;                /* those that found it taken: spins or sleeps */
    uint64_t held_ns, longest_ns;  /* of exclusive acquisitions, in virtual time */
    char longest_place[64];        /* where the one that held it longest took it */
    uint64_t shared_waits, wait_ns, longest_wait_ns;
    uint64_t unlocks, shared_unlocks;
};
struct mega_trace {
    uint64_t loaded, running; /* 0 or 1 */
    uint64_t started_ns, lasted_ns;
    uint64_t bytes;                      /* of memory that it has */
    uint64_t cpus, slots;                /* locks: tables, and slots of each */
    uint64_t dropped;                    /* locks: acquisitions whose callers found no slot */
    uint64_t interval_ns;                /* PCS */
    uint64_t first[4], next[4], late[4]; /* PCS: each CPU's oldest sample that is still there, the
                                            one to come, and those the clock was too late for */
};
struct mega_caller {
    char name[32]; /* of the lock */
    uint32_t rank, shared;
    uint64_t place, count, waits, wait_ns, held_ns; /* held: of exclusive acquisitions */
    char routine[64], module[64];                   /* function+offset; source file */
};
struct mega_fault { /* one instruction of one process */
    uint64_t pc, count, first_address, last_address;
    uint32_t pid, opcode;
    char name[16], path[64]; /* of the process, and its program */
};
struct mega_pc_sample {
    uint64_t ns, pc; /* since boot */
    uint32_t pid, cpu, ipl, user;
    char name[16];                /* of the process, or of a kernel thread (pid 0) */
    char routine[64], module[64]; /* in user mode: empty, and the program's path */
};
/* States of processes, as `show system` names them. */
enum mega_state {
    MEGA_STATE_CUR,   /* on a CPU */
    MEGA_STATE_COM,   /* ready */
    MEGA_STATE_MUTEX, /* waits for a mutex */
    MEGA_STATE_LEF,   /* waits for an event that a signal too would end: pipe, terminal, child */
    MEGA_STATE_HIB,   /* sleeps until a time or a signal */
    MEGA_STATE_RWAST, /* waits for an event that no signal ends */
    MEGA_STATE_SUSP,  /* stopped by a signal */
    MEGA_STATE_ENDED, /* its parent has not asked for its status yet */
    MEGA_STATES,
};
struct mega_states {
    uint64_t count[MEGA_STATES];
    uint64_t pool_free_blocks, pool_free; /* paged pool: blocks and bytes, without a walk */
};
struct mega_pool_list {
    uint64_t size, count, requests, hits, frees; /* bytes of a packet; packets on it */
};
struct mega_validate {
    uint64_t pages[18]; /* by where they were found: enum mega_pages */
    uint64_t total, spaces, entries, objects, sections, mappings, reservations, ptes;
    uint64_t errors;    /* 0: consistent */
    uint64_t timed_out; /* 1: a thread did not stop, `text` names it, and nothing was checked */
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
    MEGA_PAGES_CHECK, /* marks of the check itself */
    MEGA_PAGES_PIPE,
    MEGA_PAGES_LINKS, /* of kernel stacks */
    MEGA_PAGES_KINDS,
};
#define MEGA_TEST_COMMIT (1L << 32)
struct mega_breach {
    char name[32];
};
struct mega_selftest {
    char name[64];
    char failure[128]; /* empty: passed */
    uint64_t value;    /* what was measured: the name says what */
};

#endif
