/*
 * Ranks of spinlocks: a CPU takes them only in rising rank (checked in the default build).
 * The whole order of the kernel, lowest first. Mutexes stand below all spinlocks: they are taken
 * first, at IPL 0, and have an order of their own (second table).
 */
#ifndef KERNEL_SCHED_RANK_H
#define KERNEL_SCHED_RANK_H

enum spin_rank {
    RANK_PROC = 10,    /* process table, parent/child links          IPL_ASTDEL */
    RANK_THREADS = 11, /* table of threads                           IPL_ASTDEL */
    RANK_SIGNAL = 12,  /* pending signals of one process             IPL_ASTDEL */
    RANK_SECTION = 20, /* section states that a fault reads          IPL_ASTDEL */
    RANK_OBJECT = 24,  /* one mm object: its page index              IPL_ASTDEL */
    RANK_PTPAGE = 26,  /* page-table writers of one address space    IPL_ASTDEL */
    RANK_KMAP = 28,    /* system page tables: windows, kernel stacks IPL_ASTDEL */
    RANK_TTY = 30,     /* console line discipline                    IPL_DEVICE */
    RANK_DEVICE = 32,  /* UART, interrupt controller                 IPL_DEVICE */
    RANK_POOL = 40,    /* nonpaged pool variable list                IPL_CLOCK */
    RANK_PFN = 44,     /* page lists of one RAD                      IPL_CLOCK */
    RANK_WAIT = 50,    /* one wait queue                             IPL_CLOCK */
    RANK_TIMER = 54,   /* one CPU's timer queue                      IPL_CLOCK */
    RANK_SCHED = 56,   /* one CPU's run queue, never two             IPL_CLOCK */
};

enum mutex_rank {
    MUTEX_TRACE = 7,       /* traces of locks and PCs: their memory */
    MUTEX_LNM = 8,         /* logical names; user memory may be touched under it */
    MUTEX_SECTION_END = 9, /* shared: gives back what a section held; alone: creates one */
    MUTEX_GSD = 10,        /* global section directory */
    MUTEX_DRIVER = 12,     /* the reservations that drivers have taken */
    MUTEX_RMD = 14,        /* reserved memory */
    MUTEX_WINDOW = 15,     /* places in the window part of system space */
    MUTEX_TREE = 16,       /* the tree of names */
    MUTEX_INODE = 18,  /* one file or pipe; held while user memory is copied, so before the next */
    MUTEX_ASPACE = 20, /* one address space: its map (fork: parent, then child) */
    MUTEX_PGDYN = 40,  /* paged pool variable list */
};

#endif
