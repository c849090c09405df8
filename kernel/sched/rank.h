/*
 * Ranks of locks: the complete lock order of the kernel, lowest rank first. A CPU acquires
 * spinlocks in strictly rising rank (checked in every build). Their IPL rises with the rank: an
 * interrupt may come while any lock of a lower IPL is held (tests/test_locks.py). Mutexes come
 * before all spinlocks: they are taken at IPL 0 with no spinlock held, in the order of the second
 * table.
 *
 * Page tables of system space and shootdown requests are changed without a lock. printk() has an
 * unranked lock of its own, inside all others.
 */
#ifndef KERNEL_SCHED_RANK_H
#define KERNEL_SCHED_RANK_H

enum spin_rank {
    RANK_PROC = 10,         /* process table, parent/child links          IPL_ASTDEL */
    RANK_THREADS = 11,      /* table of threads                           IPL_ASTDEL */
    RANK_QUOTA = 12,        /* table of accounts (kernel/quota)           IPL_ASTDEL */
    RANK_HOMES = 13,        /* where files have a name; pipes of FIFOs    IPL_ASTDEL */
    RANK_FILE = 14,         /* descriptor table, working directory        IPL_ASTDEL */
    RANK_SHARE = 15,        /* a shared folder's requests, an ext4 mount   IPL_ASTDEL */
    RANK_WATCH = 16,        /* who watches a file by epoll                IPL_ASTDEL */
    RANK_PTYS = 17,         /* names of pseudo-terminals                  IPL_ASTDEL */
    RANK_FUTEX = 18,        /* waiters of some futexes                    IPL_ASTDEL */
    RANK_FUTEX_OWNERS = 18, /* who owns and waits for which futexes      IPL_ASTDEL */
    RANK_NOTIFY = 19,       /* one instance of inotify                    IPL_ASTDEL */
    RANK_IPC = 19,          /* one table of System V IPC                  IPL_ASTDEL */
    RANK_CHANNELS = 19,     /* channels of one process                    IPL_ASTDEL */
    RANK_AIO_TABLE = 19,    /* contexts of io_setup of one process        IPL_ASTDEL */
    RANK_PIN_SETS = 19,     /* which sets of pinned pages there are       IPL_ASTDEL */
    RANK_SECTION = 20,      /* section state that page faults read        IPL_ASTDEL */
    RANK_OBJECT = 24,       /* pages and mappings of one mm object        IPL_ASTDEL */
    RANK_PTPAGE = 25,       /* page tables of one address space           IPL_ASTDEL */
    RANK_NAMES = 26,        /* names of sockets                           IPL_ASTDEL */
    RANK_MQUEUE = 27,       /* one message queue of POSIX                 IPL_ASTDEL */
    RANK_MAILBOX = 27,      /* one mailbox, or requests to one terminal   IPL_ASTDEL */
    RANK_SOCKET = 28,       /* one socket                                 IPL_ASTDEL */
    RANK_SOCKET_WORK = 29,  /* files of dropped messages                  IPL_ASTDEL */
    RANK_TTY = 30,          /* one terminal or pseudo-terminal            IPL_DEVICE */
    RANK_DISK = 31,         /* requests to one disk                       IPL_DEVICE */
    RANK_DEVICE = 32,       /* one serial line, random bytes             IPL_DEVICE */
    RANK_AIO = 33,          /* requests of one context of io_setup        IPL_DEVICE */
    RANK_EVENT = 34,        /* one eventfd                                IPL_DEVICE */
    RANK_FAST = 35,         /* buffer objects and fandles of one process  IPL_DEVICE */
    RANK_ROOM = 39,         /* who asks for room in one mailbox           IPL_CLOCK */
    RANK_POOL = 40,         /* nonpaged pool, variable list               IPL_CLOCK */
    RANK_PFN = 44,          /* page lists of one RAD                      IPL_CLOCK */
    RANK_TIMERFD = 45,      /* one timerfd                                IPL_CLOCK */
    RANK_SIGNAL = 46,       /* signals and alarm of one process           IPL_CLOCK */
    RANK_EVENTS = 47,       /* event flags, ASTs, timers of one process   IPL_CLOCK */
    RANK_POLL = 47,         /* those who poll one object                  IPL_CLOCK */
    RANK_EPOLL = 48,        /* what is ready in one epoll instance        IPL_CLOCK */
    RANK_RELAY = 49,        /* what the relay of poll is to report        IPL_CLOCK */
    RANK_WAIT = 50,         /* one wait queue                             IPL_CLOCK */
    RANK_TIMER = 54,        /* one CPU's timer queue                      IPL_CLOCK */
    RANK_SCHED = 56,        /* one CPU's run queue; never two at once     IPL_CLOCK */
};

enum mutex_rank {
    MUTEX_PROC_FILE = 5,   /* the position of an open file of /proc, while its text is produced;
                              who reads the kernel's messages */
    MUTEX_COLLECT = 6,     /* files of dropped messages are closed while it is held */
    MUTEX_NAMES = 6,       /* the private logical names of one process are changed or copied */
    MUTEX_TRACE = 7,       /* traces of locks and PCs: their memory */
    MUTEX_LNM = 8,         /* logical names; user memory may be accessed while it is held */
    MUTEX_CLUSTERS = 8,    /* common event flag clusters */
    MUTEX_MAILBOXES = 8,   /* which mailboxes there are, and their channels */
    MUTEX_HUGE_FILE = 8,   /* a file of huge pages: sections are made, user memory accessed */
    MUTEX_SECTION_END = 9, /* shared: release what a section held; exclusive: create a section */
    MUTEX_GSD = 10,        /* global section directory */
    MUTEX_EPOLL_NEST = 11, /* which epoll instance watches which */
    MUTEX_DRIVER = 12,     /* reservations that drivers have claimed */
    MUTEX_EPOLL = 13,      /* one epoll instance; files are polled while it is held */
    MUTEX_RMD = 14,        /* reserved memory */
    MUTEX_UNMOUNT = 14,    /* an unmount, which waits for disks */
    MUTEX_FILE_LOCKS = 14, /* locks of files (kernel/io/lock.c) */
    MUTEX_WINDOW = 15,     /* allocation of windows in system space */
    MUTEX_LOCK_WAITS = 15, /* which process waits for whose lock */
    MUTEX_MOUNTS = 15,     /* which file systems are mounted, and where */
    MUTEX_RENAME = 16,     /* parent links of directories */
    MUTEX_EXT4_SWEEP = 16, /* stores to all files of one ext4 file system are written back */
    MUTEX_DIRECTORY = 17,  /* one directory; several only with MUTEX_RENAME held exclusively */
    MUTEX_INODE = 18,      /* one file, pipe or stream; user memory is copied while it is held,
                              hence below MUTEX_ASPACE */
    MUTEX_FUTEX_PI = 18,   /* some futexes with inheritance; no page faults while it is held */
    MUTEX_EXT4_BACK = 19,  /* stores to one file of ext4 are written back */
    MUTEX_SOCKET = 19,     /* receiving from one socket, also into a pipe; as MUTEX_INODE */
    MUTEX_PROCESS = 20,    /* the break, alarm and timers of one process */
    MUTEX_DISK = 20,       /* parts of sectors of one disk; user memory is copied meanwhile */
    MUTEX_EXT4 = 20,       /* metadata of one ext4 file system; the disk is waited for meanwhile */
    MUTEX_HUGE_FAULT = 21, /* faults on private huge pages, also while user memory is copied */
    MUTEX_ASPACE = 22,     /* map of one address space (fork: the parent's, then the child's) */
    MUTEX_SHARE = 23,      /* which files of a shared folder or a disk are known; taken by faults */
    MUTEX_IPC = 23,        /* one set of semaphores, or queue of messages */
    MUTEX_EXT4_BLOCKS = 24, /* blocks of memory of libext2fs */
    MUTEX_FLIGHT = 24,      /* which files are in messages of sockets */
    MUTEX_HUGE_POOL = 25,   /* which huge pages are free */
    MUTEX_NOTIFY = 26,      /* watches of some inodes, while they report */
    MUTEX_PGDYN = 40,       /* paged pool, variable list */
};

#endif
