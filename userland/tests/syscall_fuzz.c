// TAP
// RUN: --set NR_HUGEPAGES=6
// SECONDS: 150
/*
 * Random system calls from several processes at once, every third of which has several threads:
 * every POSIX call and every service, half of them with plausible arguments, the rest with hostile
 * ones. Processes that die are replaced; those
 * that wait too long are killed meanwhile. At the end nothing has leaked: pages, page tables,
 * pools, sections and processes are as before, and the system works.
 *
 * `syscall_fuzz SEED PROCESSES CALLS AT_ONCE` repeats a run; with `disk` behind it, the disk vda is
 * used, too, and overwritten. The calls of process k depend only on SEED and k.
 */
#define _GNU_SOURCE
#include <company.h>
#include <descrip.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <iledef.h>
#include <iodef.h>
#include <lnmdef.h>
#include <megalith/services.h>
#include <pthread.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>

#define PAGE        8192ul
#define OPENAT2     547
#define HOME        "/tmp/fuzz"
#define PROGRAM     HOME "/program" /* a copy, because root may truncate it */
#define ARENA_PAGES 64ul            /* 16 writable, 16 read-only, 16 not accessible, 16 shared */
#define AT_ONCE_MAX 16
#define PATIENCE_MS 700 /* a process that takes longer is killed */
#define USER_END    (1ul << 42)
#define MUCH        (32ul << 20)
#define HOLE_PFN    ((1ul << 30) + 0x70000000ul / PAGE)

static __thread uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

/* ---- arguments ---- */

static char *arena;
static struct dsc$descriptor_s short_name;
static struct dsc64$descriptor_s long_name;
static char section_name[16];
static uint64_t region_id, service_block[20], open_how[3];

static const char *const own_paths[] = {"a", "b", "d", "d/c", ".", "..", "../s", "../t/u", ""};
static const char *const other_paths[] = {
    "/dev/null", "/dev/zero", "/bin",       "/tmp",       "/",        PROGRAM,      "/dev/tty",
    "/nowhere",  "/dev/ptmx", "/dev/pts/0", "/dev/pts/1", "/dev/pts", "/dev/random"};

static const uint32_t requests[] = {
    FIONREAD,   TCGETS,     TCSETS,      TCSETSF,   TCFLSH,    TCXONC,   TCSBRK,   TIOCGWINSZ,
    TIOCSWINSZ, TIOCGPGRP,  TIOCSPGRP,   TIOCSCTTY, TIOCNOTTY, TIOCGSID, TIOCOUTQ, TIOCGPTN,
    TIOCSPTLCK, TIOCGPTLCK, TIOCGPTPEER, TIOCPKT,   TIOCGPKT,  TIOCSIG};

static const uint64_t hostile[] = {
    0,
    1,
    7,
    PAGE - 1,
    PAGE,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x100000000,
    USER_END - PAGE,
    USER_END - 8,
    USER_END - 1,
    USER_END,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
    -PAGE,
    (uint64_t)-8,
    (uint64_t)-1,
    0xFFFFFC0000000000, /* KSEG */
    0xFFFFFC0000310000, /* the kernel */
    0xFFFFFD01FC0003F8, /* a device */
    0xFFFFFE0000000000, /* page tables */
    0xFFFFFFFE00000000,
};

static uint64_t wild(void)
{
    switch (draw(6)) {
    case 0:
        return draw(UINT64_MAX);
    case 1:
        return (uint64_t)arena + ARENA_PAGES * PAGE - draw(64); /* extends past the last page */
    case 2:
        return (uint64_t)arena + 16 * PAGE * (1 + draw(3)) -
               draw(64); /* near a change of protection */
    case 3:
        return (uint64_t)(&wild) + draw(64); /* in a page that is not writable */
    default:
        return hostile[draw(sizeof(hostile) / sizeof(hostile[0]))];
    }
}

static uint64_t section_flags(void)
{
    static const uint64_t usual[] = {SEC$M_EXPREG | SEC$M_WRT, SEC$M_EXPREG, SEC$M_WRT,
                                     SEC$M_SYSGBL, SEC$M_PERM};

    return draw(4) ? usual[draw(5)] | usual[draw(5)] : 1ul << draw(32);
}

#define TABLE(name) {sizeof(name) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)(name)}
static struct dsc$descriptor_s table_names[] = {TABLE("LNM$PROCESS"), TABLE("LNM$JOB"),
                                                TABLE("LNM$FILE_DEV"), TABLE("FUZZ1")};
static ILE3 items[3];

static const uint64_t io_functions[] = {IO$_READVBLK,  IO$_WRITEVBLK,  IO$_WRITEOF,  IO$_SETMODE,
                                        IO$_SENSEMODE, IO$_READPROMPT, IO$_READVBLK, IO$_WRITEVBLK,
                                        IO$_READLBLK,  IO$_WRITELBLK,  IO$_READPBLK, IO$_WRITEPBLK};
static char device_name[12];
static struct dsc$descriptor_s device = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, device_name};
/* Those that this process has itself, and those that it may share with programs of others. */
static const char *const own_devices[] = {
    "NL:", "SYS$INPUT", "SYS$OUTPUT:", "SYS$ERROR", "TT:", "SYS$COMMAND"};
static const char *const other_devices[] = {"OPA0:", "FTA0:", "FTA1:", "_FTA2:", "FTA99999:"};
static const char *const disks[] = {"VDA:", "VDA1:"};
static bool may_use_disks; /* they were made for this test */

#define NAMES 4u

static void name_section(unsigned number)
{
    uint16_t n = (uint16_t)snprintf(section_name, sizeof(section_name), "FUZZ%u", number);

    short_name = (struct dsc$descriptor_s){n, DSC$K_DTYPE_T, DSC$K_CLASS_S, section_name};
    long_name = (struct dsc64$descriptor_s){1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1,
                                            n, section_name};
}
static void make_name(void) { name_section((unsigned)draw(NAMES)); }

/* One of the process's ids is root's. Then the effects of its calls stay below HOME, whatever its
 * effective id is just now: another thread may change that, and the id for files is another one. */
static bool may_be_root;

#define ONE_OF(array) (array)[draw(sizeof(array) / sizeof((array)[0]))]

static void name_device(void)
{
    char name[sizeof(device_name)];

    snprintf(name, sizeof(name), "MBA%u:", 1 + (unsigned)draw(30));
    if (draw(2))
        strcpy(name, may_use_disks && draw(2)   ? ONE_OF(disks)
                     : !may_be_root && !draw(3) ? ONE_OF(other_devices)
                                                : ONE_OF(own_devices));
    strcpy(device_name, name);
    device.dsc$w_length = (uint16_t)strlen(name);
}

/* A plausible argument of this kind. */
static uint64_t of_kind(char kind)
{
    switch (kind) {
    case 'd': /* descriptor */
        return draw(12);
    case 'p': /* path */
        return (uint64_t)(!may_be_root && draw(3) == 0 ? other_paths[draw(8)] : own_paths[draw(9)]);
    case 'b': /* buffer */
        return (uint64_t)arena + draw(8 * PAGE);
    case 'l': /* length */
        return draw(2) ? draw(100) : draw(8 * PAGE);
    case 'L': /* length of memory */
        return draw(8) ? PAGE * (1 + draw(16)) : PAGE * draw(500);
    case 'a': /* place in the arena */
        return (uint64_t)arena + PAGE * draw(ARENA_PAGES);
    case 'A': /* place in the arena, or anywhere */
        return draw(2) ? 0 : (uint64_t)arena + PAGE * draw(ARENA_PAGES);
    case 'P': /* protection */
        return draw(8);
    case 'F': /* kind of mapping: shared, private, fixed, anonymous, populated, of huge pages */
        return (1 + draw(2)) | (draw(4) ? 0 : 0x100) | (draw(4) ? 0x10 : 0) |
               (draw(4) ? 0 : 0x20000) | (draw(6) ? 0 : 0x100000);
    case 'H': /* address of a huge page, where one may be */
        return 0x20000000000ul + (draw(8) << 22);
    case 'm': /* bits of memfd_create: usually of huge pages */
        return draw(4) ? 4 | draw(4) : draw(16);
    case 'o': /* operation of a futex with inheritance */
        return (draw(4) ? 6 + draw(3) : draw(3) ? draw(14) : 11 + draw(2)) | (draw(2) ? 0x80 : 0);
    case 'k': /* command of shmctl and its relatives */
        return 0x100 | draw(21);
    case 'n': /* small number */
        return draw(12);
    case 'f': /* bits */
        return 1ul << draw(32) | 1ul << draw(8);
    case 'Q': /* request of ioctl */
        return requests[draw(sizeof(requests) / sizeof(requests[0]))];
    case 'C': /* bits of clone for a thread, perhaps with others */
        return 0x10900ul | (draw(2) ? 0x600 : 1ul << draw(32));
    case 'h': /* how openat2 is to open: usually as it can be done */
        open_how[0] = draw(3) | (draw(2) ? O_CREAT : 0) | (draw(4) ? 0 : 1ul << draw(32));
        open_how[1] = open_how[0] & O_CREAT ? 0644 : draw(8) == 0;
        open_how[2] = draw(4) ? 1ul << draw(6) : draw(130);
        return (uint64_t)open_how;
    case 'r': /* length of a robust list, and of that */
        return 24;
    case 's': /* signal */
        return 1 + draw(40);
    case 'i': /* process: itself, or one that does not exist, beside whichever others */
        return draw(2) ? 0 : (1u << 30) + draw(100);
    case '0':
        return 0;
    case '1':
        return 1;
    case 'N': /* name of a section */
        make_name();
        return draw(2) ? (uint64_t)&short_name : (uint64_t)&long_name;
    case 'c': /* channel */
        return 16 * (1 + draw(8));
    case 'w': /* function of $QIO */
        return ONE_OF(io_functions) | (draw(3) ? 1ul << (6 + draw(6)) : 0) |
               (draw(3) ? 0 : 1ul << (6 + draw(10)));
    case 'D': /* name of a device */
        name_device();
        return (uint64_t)&device;
    case 'T': /* name of a table */
        return (uint64_t)&table_names[draw(4)];
    case 'I': /* item list with a string and another item */
        items[0] = (ILE3){(unsigned short)draw(300), LNM$_STRING, arena + draw(8 * PAGE), NULL};
        items[1] = (ILE3){(unsigned short)draw(8), (unsigned short)draw(12), arena + draw(8 * PAGE),
                          (void *)(arena + draw(8 * PAGE))};
        return (uint64_t)items;
    case 'S': /* flags of a section */
        return section_flags();
    case 'M': /* length of a section, or of a mapping */
        return draw(3) ? PAGE * draw(64) : (8ul << 20) * draw(4);
    case 'q': /* frame: PCI memory without a device, because a device would react */
        return draw(3) ? HOLE_PFN + draw(100) : draw(1ul << 18);
    case 'R':                                         /* region */
        region_id = draw(2) ? draw(3) : 16 + draw(4); /* ids of created regions start at 16 */
        return (uint64_t)&region_id;
    default:
        return wild();
    }
}

struct shape {
    uint16_t number;
    const char *kinds;
};

/* Calls that have an effect if their arguments are plausible, with the kinds of their arguments. */
static const struct shape shapes[] = {
    {SYS_read, "dbl"},
    {SYS_write, "dbl"},
    {SYS_close, "d"},
    {SYS_link, "pp"},
    {SYS_unlink, "p"},
    {SYS_chdir, "p"},
    {SYS_fchdir, "d"},
    {SYS_brk, "b"},
    {SYS_lseek, "dln"},
    {SYS_dup, "d"},
    {SYS_pipe, ""},
    {SYS_pipe2, "b0"},
    {SYS_open, "pfn"},
    {SYS_open, "pnl"},
    {SYS_ioctl, "d?b"},
    {SYS_ioctl, "dQb"},
    {SYS_ioctl, "dQn"},
    {SYS_symlink, "pp"},
    {SYS_readlink, "pbl"},
    {SYS_fork, ""},
    {SYS_vfork, ""},
    {SYS_clone, "f0bb0"},
    {SYS_clone, "Cbbb0"},
    {SYS_clone, "?????"},
    {SYS_mmap, "ALPFd0"},
    {SYS_mmap, "aLPFdL"},
    {SYS_mmap, "HLPFd0"},
    {SYS_memfd_create, "pm"},
    {SYS_munmap, "aL"},
    {SYS_munmap, "HL"},
    {SYS_mprotect, "HLP"},
    {SYS_madvise, "HLn"},
    {SYS_mremap, "HLLn0"},
    {SYS_mprotect, "aLP"},
    {SYS_madvise, "aLn"},
    {SYS_msync, "aLn"},
    {SYS_dup2, "dd"},
    {SYS_dup3, "dd0"},
    {SYS_fcntl, "dnn"},
    {SYS_poll, "bnn"},
    {SYS_readv, "dbn"},
    {SYS_writev, "dbn"},
    {SYS_rename, "pp"},
    {SYS_truncate, "pl"},
    {SYS_ftruncate, "dl"},
    {SYS_mkdir, "pl"},
    {SYS_rmdir, "p"},
    {SYS_sigaltstack, "bb"},
    {SYS_nanosleep, "bb"},
    {SYS_pread64, "dbll"},
    {SYS_pwrite64, "dbll"},
    {SYS_rt_sigaction, "sbbn0"},
    {SYS_rt_sigprocmask, "nbb"},
    {SYS_select, "nbbbb"},
    {SYS_setitimer, "nbb"},
    {SYS_wait4, "inbb"},
    {SYS_getdents64, "dbl"},
    {SYS_futex, "bnn0bn"},
    {SYS_futex, "bnnnbn"},
    {SYS_futex, "bo0bnn"},
    {SYS_futex, "bonnbn"},
    {SYS_membarrier, "n00"},
    {SYS_set_robust_list, "br"},
    {SYS_get_robust_list, "ibb"},
    {SYS_sched_setaffinity, "inb"},
    {SYS_stat64, "pb"},
    {SYS_fstat64, "db"},
    {SYS_ppoll, "bnb00"},
    {SYS_epoll_create1, "0"},
    {SYS_socket, "1n0"},
    {SYS_socketpair, "110b"},
    {SYS_socketpair, "1n0b"},
    {SYS_bind, "dbn"},
    {SYS_listen, "dn"},
    {SYS_connect, "dbn"},
    {SYS_accept4, "dbbf"},
    {SYS_send, "dblf"},
    {SYS_recv, "dblf"},
    {SYS_sendto, "dblfbn"},
    {SYS_sendmsg, "dbf"},
    {SYS_recvmsg, "dbf"},
    {SYS_shutdown, "dn"},
    {SYS_setsockopt, "d?nbn"},
    {SYS_epoll_ctl, "dndb"},
    {SYS_epoll_ctl, "d1db"},
    {SYS_epoll_wait, "dbn0"},
    {SYS_epoll_pwait, "dbnn00"},
    {SYS_eventfd2, "nn"},
    {SYS_inotify_init1, "0"},
    {SYS_inotify_add_watch, "dpf"},
    {SYS_inotify_add_watch, "dp?"},
    {SYS_inotify_rm_watch, "dn"},
    {SYS_io_setup, "nb"},
    {SYS_io_destroy, "b"},
    {SYS_io_submit, "bnb"},
    {SYS_io_cancel, "bbb"},
    {SYS_io_getevents, "bnnb0"},
    {SYS_splice, "d0d0ln"},
    {SYS_splice, "dbd0Ln"},
    {SYS_splice, "d0dbLf"},
    {SYS_tee, "ddln"},
    {SYS_vmsplice, "dbnn"},
    {OPENAT2, "dphr"},
    {OPENAT2, "dpbn"},
    {SYS_chroot, "p"},
    {SYS_mount, "pppfb"},
    {SYS_umount2, "pn"},
    {SYS_sched_getattr, "ibln"},
    {SYS_pidfd_open, "i0"},
    {SYS_pidfd_getfd, "dn0"},
    {SYS_process_vm_readv, "ibnbn0"},
    {SYS_process_vm_writev, "ibnbn0"},
    {SYS_pidfd_send_signal, "ds00"},
    {SYS_pidfd_send_signal, "dsb0"},
    {SYS_waitid, "ndbn0"},
    {SYS_timer_create, "n0b"},
    {SYS_timer_create, "nbb"},
    {SYS_timer_settime, "nnbb"},
    {SYS_timer_gettime, "nb"},
    {SYS_timer_getoverrun, "n"},
    {SYS_timer_delete, "n"},
    {SYS_clock_adjtime, "nb"},
    {SYS_timerfd_create, "n0"},
    {SYS_timerfd_settime, "dnbb"},
    {SYS_timerfd_gettime, "db"},
    {SYS_shmget, "nLf"},
    {SYS_shmget, "n?f"},
    {SYS_shmat, "nAf"},
    {SYS_shmat, "nA0"},
    {SYS_shmdt, "A"},
    {SYS_shmctl, "n?b"},
    {SYS_shmctl, "nkb"},
    {SYS_msgget, "nf"},
    {SYS_msgsnd, "nblf"},
    {SYS_msgrcv, "nblnf"},
    {SYS_msgctl, "nkb"},
    {SYS_mq_open, "pf?b"},
    {SYS_mq_open, "pnn0"},
    {SYS_mq_unlink, "p"},
    {SYS_mq_timedsend, "dbnn0"},
    {SYS_mq_timedsend, "dbnnb"},
    {SYS_mq_timedreceive, "dblb0"},
    {SYS_mq_timedreceive, "dblbb"},
    {SYS_mq_notify, "db"},
    {SYS_mq_getsetattr, "dbb"},
    {SYS_semget, "nnf"},
    {SYS_semop, "nbn"},
    {SYS_semtimedop, "nbnb"},
    {SYS_semctl, "nnkb"},
    {SYS_semctl, "nnkn"},
    {SYS_setresuid, "nnn"},
    {SYS_setreuid, "nn"},
    {SYS_prctl, "nb000"},
    {SYS_capget, "bb"},
    {SYS_sched_setscheduler, "inb"},
    {SYS_sched_setattr, "ib0"},
    {SYS_syslog, "nbl"},
    {SYS_close_range, "ddn"},
    {SYS_gethostname, "bl"},
    {SYS_setgroups, "nb"},
    {SYS_getgroups, "nb"},
    {SYS_setpgid, "ii"},
    {SYS_execve, "pbb"},
    {VMS_CREATE_REGION_64, "MnSbbb?"},
    {VMS_CREATE_REGION_64, "Mn0bbb"},
    {VMS_DELETE_REGION_64, "Rnbb"},
    {VMS_GET_REGION_INFO, "nRa0lbb"},
    {VMS_CREATE_GDZRO, "N0nMnS"},
    {VMS_CREATE_GDZRO, "N00M0S"},
    {VMS_CRMPSC_GDZRO_64, "N00MR00Sbb"},
    {VMS_CRMPSC_GDZRO_64, "N00MRM0SbbaM"},
    {VMS_MGBLSC_64, "N0R0M0Sbb"},
    {VMS_MGBLSC_64, "N0RMM0Sbba"},
    {VMS_DELTVA_64, "RaLnbb"},
    {VMS_DGBLSC, "SN0"},
    {VMS_CRETVA_64, "RaLnnbb"},
    {VMS_CRETVA_64, "RaL00bb"},
    {VMS_EXPREG_64, "RLn0bb"},
    {VMS_SETPRT_64, "aLnnbbb"},
    {VMS_SETPRT_64, "al0nbbb"},
    {VMS_LCKPAG_64, "aLnbb"},
    {VMS_ULKPAG_64, "aLnbb"},
    {SYS_mlock, "aL"},
    {SYS_mlock2, "aLn"},
    {SYS_mlockall, "f"},
    {SYS_munlockall, ""},
    {SYS_mincore, "aLb"},
    {SYS_mremap, "aLLna"},
    {SYS_munlock, "aL"},
    {VMS_CREATE_GPFN, "N0nqnnS"},
    {VMS_CREATE_GPFN, "N00qn0S"},
    {VMS_CRMPSC_GPFN_64, "N00qnR00Sbb"},
    {VMS_CRMPSC_GPFN_64, "N00qnRn0Sbban"},
    {VMS_MGBLSC_GPFN_64, "N0R000Sbb"},
    {VMS_MGBLSC_GPFN_64, "N0Rnn0Sbba"},
    {VMS_CREATE_GPFILE, "N0nLnS"},
    {VMS_CREATE_GPFILE, "N00L0S"},
    {VMS_CRMPSC_GPFILE_64, "N00LR00Sbb"},
    {VMS_CRMPSC_GPFILE_64, "N00LRL0SbbaL"},
    {VMS_CRELNM, "bTNbb"},
    {VMS_CRELNM, "0TN0I"},
    {VMS_TRNLNM, "bTNbb"},
    {VMS_TRNLNM, "0TN0I"},
    {VMS_DELLNM, "TNb"},
    {VMS_DELLNM, "TN0"},
    {VMS_CRELNT, "bbblbNTb"},
    {VMS_CRELNT, "0bb00NT0n"},
    {VMS_SETEF, "n"},
    {VMS_CLREF, "n"},
    {VMS_READEF, "nb"},
    {VMS_WAITFR, "n"},
    {VMS_WFLOR, "nf"}, /* for any of no flags it would wait for ever */
    {VMS_WFLAND, "nn"},
    {VMS_SYNCH, "n0"}, /* nobody would write the block */
    {VMS_ASCEFC, "qNnn"},
    {VMS_DACEFC, "q"},
    {VMS_DLCEFC, "N"},
    {VMS_DCLAST, "ann"},
    {VMS_SETAST, "n"},
    {VMS_CLRAST, ""},
    {VMS_SETIMR, "nb0n0"},
    {VMS_SETIMR, "nban0"},
    {VMS_CANTIM, "nn"},
    {VMS_SCHDWK, "00bb"},
    {VMS_SCHDWK, "bNb0"},
    {VMS_CANWAK, "b0"},
    {VMS_HIBER, ""},
    {VMS_WAKE, "00"},
    {VMS_WAKE, "bN"},
    {VMS_SETPRN, "N"},
    {VMS_SETPRI, "bNnb"},
    {VMS_SETPRI, "00n0"},
    {VMS_CREPRC, "bNNNNbb0nn0n"},
    {VMS_CREPRC, "bN00000Nn0nn"},
    {VMS_CREPRC, "0NNNN0000000000b"},
    {MEGA_SYS_FINAL_STATUS, "n"},
    {VMS_RESUME, "b0"},
    {VMS_DELPRC, "bN"},
    {VMS_FORCEX, "bNn"},
    {VMS_SUSPND, "bN"},
    {VMS_ASSIGN, "Db000"},
    {VMS_ASSIGN, "Db00n"},
    {VMS_ASSIGN, "Nbn0n"},
    {VMS_DASSGN, "c"},
    {VMS_CANCEL, "c"},
    {VMS_CREMBX, "0bll0000"}, /* permanent ones would stay */
    {VMS_CREMBX, "0blln0Nn0"},
    {VMS_DELMBX, "c"},
    {VMS_QIO, "ncwb0nblnnbl"},
    {VMS_QIO, "ncwban"},
    {VMS_QIO, "ncw00nbl"},
    {VMS_QIO, "ncw000blnn"},
    {VMS_QIO, "ncwb00bl00bn"},
    {VMS_GETDVI, "00DIb00"},
    {MEGA_SYS_FILE_CHANNEL, "db"},
    {VMS_CREATE_BUFOBJ_64, "bLn0bbb"},
    {VMS_CREATE_BUFOBJ_64, "aLnnbbb"},
    {VMS_DELETE_BUFOBJ, "b"},
    {VMS_IO_SETUP, "wbbnnb"},
    {VMS_IO_SETUP, "wbb00b"},
    {VMS_IO_PERFORM, "ncbbln"},
    {VMS_IO_PERFORM, "bcbbln"},
    {VMS_IO_CLEANUP, "n"},
    {VMS_GETJPI, "nb0Ib00"},
    {VMS_GETJPI, "n0NI000"},
    {VMS_GETSYI, "n00Ib00"},
    {VMS_SETPRV, "nbnb"},
    {VMS_GETDVI, "nc0Ib00"},
    {VMS_GETDVI, "n0DI0"},
    {MEGA_SYS_LOGICAL, "Tnnb"},
    {MEGA_SYS_INFO, "nnbl"},
    {MEGA_SYS_CONTROL, "nbnb0n"},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int takes_block(long number)
{
    return number == VMS_CREATE_REGION_64 || number == VMS_GET_REGION_INFO ||
           number == VMS_CREATE_GDZRO || number == VMS_CRMPSC_GDZRO_64 || number == VMS_MGBLSC_64 ||
           number == VMS_CREATE_GPFN || number == VMS_CRMPSC_GPFN_64 ||
           number == VMS_MGBLSC_GPFN_64 || number == VMS_CRMPSC_GPFILE_64 ||
           number == VMS_CRETVA_64 || number == VMS_SETPRT_64 || number == VMS_CRELNT ||
           number == VMS_CREPRC;
}

/* The same, with other addresses among the first four arguments. */
static int takes_io_block(long number)
{
    return number == VMS_CREMBX || number == VMS_QIO || number == VMS_GETDVI ||
           number == VMS_GETJPI || number == VMS_GETSYI || number == VMS_CREATE_BUFOBJ_64;
}

/* Calls that would end the system, or end this process too often. */
static int left_out(long number, uint64_t first)
{
    switch (number) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_ptrace: /* ptrace.c has random requests */
        return 1;
    case SYS_process_vm_writev:
        return (uint32_t)first != (uint32_t)getpid();
    case SYS_chdir:
    case SYS_fchdir:
        return may_be_root;
    case SYS_prlimit64: /* root's could end this program itself, or keep it from its files */
        return geteuid() == 0 && (uint32_t)first != 0;
    case SYS_sigreturn: /* hardly any process survives these */
    case SYS_rt_sigreturn:
    case MEGA_SYS_AST_EXIT:
    case MEGA_SYS_AST_RETURN: /* without it, no AST may be asked for */
        return draw(30) != 0;
    case MEGA_SYS_INFO:
        return (uint32_t)first >= MEGA_INFO_CRASH;
    default:
        return 0;
    }
}

/* callsys without the C library. A call that returns twice (fork and others) does so inside this
 * function, and the child exits at once. */
static long __attribute__((noinline)) call(long number, const uint64_t a[6])
{
    register uint64_t a0 __asm__("$16") = a[0], a1 __asm__("$17") = a[1], a2 __asm__("$18") = a[2];
    register uint64_t a3 __asm__("$19") = a[3], a4 __asm__("$20") = a[4], a5 __asm__("$21") = a[5];
    register long v0 __asm__("$0") = number;
    register uint64_t forks __asm__("$9") = number == SYS_fork || number == SYS_vfork ||
                                            number == SYS_clone;

    __asm__ volatile("callsys\n\t"
                     "beq $9, 1f\n\t"  /* not a call that creates a process */
                     "bne $19, 1f\n\t" /* an error */
                     "bne $0, 1f\n\t"  /* the parent */
                     "lda $16, 0\n\t"
                     "lda $0, 1\n\t" /* exit */
                     "callsys\n"
                     "1:"
                     : "+r"(v0), "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5)
                     : "r"(forks)
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25",
                       "$27", "$28", "memory");
    return v0;
}

#include "syscall_fuzz_victims.h"

static void one_call(void)
{
    const struct shape *s = &shapes[draw(SHAPES)];
    long number = s->number;
    uint64_t arg[14], a[6] = {0};
    const char *kind = s->kinds;
    int named = 1; /* the kinds of arguments are those of this call */

    if (draw(3) == 0) {
        number = (long)(draw(2) ? draw(600) : 0x1000 + draw(0x801));
        kind = "";
        named = 0;
    }
    for (unsigned i = 0; i < 14; i++) {
        arg[i] = draw(8) == 0 || !*kind ? wild() : of_kind(*kind);
        if (*kind)
            kind++;
        else if (*s->kinds && draw(2))
            arg[i] = 0;
    }
    memcpy(a, arg, sizeof(a));
    /* Other processes would die for lack of memory that this one uses, so it is limited. */
    if (number == SYS_mmap && a[1] > MUCH)
        a[3] &= ~0x20000ul;
    if (takes_block(number) && arg[3] > MUCH && arg[3] < (1ul << 40))
        arg[3] %= MUCH;
    if ((takes_block(number) || takes_io_block(number)) && draw(10)) {
        service_block[0] = named && draw(20) ? strlen(s->kinds) : draw(20);
        memcpy(&service_block[1], arg, sizeof(arg));
        a[0] = (uint64_t)service_block;
    }
    if (number == SYS_mq_open) /* there is no list of queues, so their names are to be known */
        a[0] = (uint64_t)own_paths[draw(9)];
    if (controls_others(number))
        control(number, a);
    else if (!left_out(number, a[0]))
        call(number, a);
}

/* ---- a process ---- */

/* Services that wait for flags, hibernate, or write to a full mailbox go on after a handler: it
 * ends what they wait for. */
static void on_alarm(int sig)
{
    (void)sig;
    for (long efn = 0; efn < 128; efn++)
        call(VMS_SETEF, (const uint64_t[6]){(uint64_t)efn});
    call(VMS_WAKE, (const uint64_t[6]){0});
    for (uint64_t n = 1; n <= 8; n++)
        call(VMS_DASSGN, (const uint64_t[6]){16 * n});
}

/* Sets up the signals that interrupt waiting calls; again and again, because any call may have
 * changed them. */
static void renew_alarm(void)
{
    const struct itimerval often = {{0, 20000}, {0, 20000}};
    struct sigaction sa = {.sa_handler = on_alarm};

    sigaction(SIGALRM, &sa, NULL);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN); /* the other end of the terminal is closed, too */
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

#define THREADS 2 /* beside the first */

/* A thread that makes calls until its process ends. */
static void *fuzz_too(void *arg)
{
    state = (uint64_t)arg * 0x9E3779B97F4A7C15 | 1;
    for (;;) {
        one_call();
        renew_alarm(); /* the first thread's, too */
    }
    return NULL;
}

/* A terminal of its own as the first three descriptors, whose other end is the fourth one. */
static void open_terminal(void)
{
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), zero = 0;

    if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) != 0)
        return;
    dup2(master, 3);
    close(master);
    for (int fd = 0; fd < 3; fd++) /* the first one becomes the controlling terminal */
        ioctl(3, TIOCGPTPEER, O_RDWR);
}

static void fuzz(unsigned k, uint64_t seed, unsigned calls)
{
    pthread_t t;
    char home[32];

    state = (seed * 1000003 + k) * 0x9E3779B97F4A7C15 | 1;
    setsid(); /* a job of its own, whose logical names are deleted with it */
    for (int fd = 0; fd < 20; fd++)
        close(fd);
    mkdir(HOME, 0777);
    snprintf(home, sizeof(home), HOME "/%u", k % 8);
    mkdir(home, 0777);
    if (chdir(home) != 0)
        _exit(1);
    if (k % 16 == 5 || k % 16 == 10) /* reads and writes of it wait until the alarm */
        open_terminal();
    arena = mmap(NULL, ARENA_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                 0);
    mmap(arena + 48 * PAGE, 16 * PAGE, PROT_READ | PROT_WRITE,
         MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (unsigned i = 0; i < 4 * PAGE; i++)
        arena[i] = (char)draw(draw(2) ? 4 : 256); /* small values are useful as arguments */
    mprotect(arena + 16 * PAGE, 16 * PAGE, PROT_READ);
    mprotect(arena + 32 * PAGE, 16 * PAGE, PROT_NONE);
    victims_begin();
    if (victims_ready == MAP_FAILED || (k % 2 && setuid(1000) != 0))
        _exit(1);
    may_be_root = k % 2 == 0;
    for (unsigned i = 0; k % 3 == 0 && i < THREADS; i++)
        if (pthread_create(&t, NULL, fuzz_too, (void *)draw(UINT32_MAX)))
            _exit(1);
    for (unsigned i = 0; i < calls; i++) {
        if (i % 8 == 0)
            renew_alarm();
        one_call();
    }
    _exit(0);
}

/* ---- the parent ---- */

struct runner {
    pid_t pid;
    long deadline;
};

static long now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000L + ts.tv_nsec / 1000000;
}

static void nap_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

static unsigned killed, died, ended, by_signal[65];

/* Copy /bin/true to PROGRAM. False: there is no room for it now. */
static bool copy_program(void)
{
    static char buffer[65536];
    int from = open("/bin/true", O_RDONLY);
    int to = open(PROGRAM, O_CREAT | O_WRONLY | O_TRUNC, 0755);
    bool room = to >= 0;
    ssize_t n = 0;

    while (room && (n = read(from, buffer, sizeof(buffer))) > 0)
        room = write(to, buffer, (size_t)n) == n;
    close(to);
    if (n < 0 || close(from))
        bail_out("no program");
    return room;
}

/* Beside other programs that fill the memory (soak), room may be long in coming. Calls of another
 * run may have made PROGRAM a directory with names in it. */
static void make_program(void)
{
    unsigned tries = 0;

    mkdir(HOME, 0777);
    while (!copy_program()) {
        if (unlink(PROGRAM) && rmdir(PROGRAM)) {
            char aside[64];

            snprintf(aside, sizeof(aside), HOME "/was.%d.%u", getpid(), tries);
            rename(PROGRAM, aside);
        }
        if (++tries == 1000)
            bail_out("no room for a program: %s", strerror(errno));
        nap_ms(10);
    }
}

static void run(unsigned from, unsigned processes, uint64_t seed, unsigned calls, unsigned at_once)
{
    struct runner r[AT_ONCE_MAX] = {0};
    unsigned started = 0, alive = 0;

    make_program();
    while (started < processes || alive) {
        for (unsigned i = 0; i < at_once; i++) {
            int status;

            if (r[i].pid && waitpid(r[i].pid, &status, WNOHANG) == r[i].pid) {
                r[i].pid = 0;
                alive--;
                if (WIFEXITED(status))
                    ended++;
                else if (WTERMSIG(status) != SIGKILL)
                    died++, by_signal[WTERMSIG(status)]++;
            } else if (r[i].pid && now_ms() > r[i].deadline) {
                kill(r[i].pid, SIGKILL);
                r[i].deadline += 100000;
                killed++;
            }
            if (!r[i].pid && started < processes) {
                pid_t pid = must_fork();

                if (pid == 0)
                    fuzz(from + started, seed, calls);
                r[i] = (struct runner){pid, now_ms() + PATIENCE_MS};
                started++;
                alive++;
            }
        }
        nap_ms(3);
    }
}

/* ---- the file system before the test ---- */

static char **known;
static unsigned known_count;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int note_known(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    known = realloc(known, (known_count + 1) * sizeof(*known));
    if (!known || !(known[known_count++] = strdup(path)))
        bail_out("no memory for the names of files");
    return 0;
}

static int remove_unknown(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type;
    (void)at;
    if (bsearch(&path, known, known_count, sizeof(*known), by_name))
        return 0;
    if (strncmp(path, "/tmp/", 5) != 0)
        diag("left outside: %s", path);
    if (remove(path) != 0)
        diag("%s stays: %s", path, strerror(errno));
    return 0;
}

/* Read a file to its end: what was read from the archive stays in memory, so all of it is to be
 * there before the first count. */
static int read_whole(const char *path, const struct stat *st, int type, struct FTW *at)
{
    static char buffer[65536];
    int fd;

    (void)at;
    if (type != FTW_F || !S_ISREG(st->st_mode))
        return 0;
    fd = open(path, O_RDONLY);
    while (fd >= 0 && read(fd, buffer, sizeof(buffer)) > 0)
        ;
    close(fd);
    return 0;
}

/* Make and remove once what calls may make outside of HOME: the table of a directory's names grows
 * with them, and does not shrink again when they are gone. */
static void widen(const char *directory)
{
    static const char *const names[] = {"a", "b", "d", "s", "t", "u", "nowhere"};
    char path[40];

    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
            if (round == 0 ? mkdir(path, 0700) : rmdir(path))
                bail_out("%s: %s", path, strerror(errno));
        }
}

/* All files but those of /proc, where processes come and go. */
static void each_file(int (*fn)(const char *path, const struct stat *st, int type, struct FTW *at),
                      int flags)
{
    struct dirent **names;
    int n = scandir("/", &names, NULL, alphasort);

    if (n < 0)
        bail_out("/: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char path[300];

        snprintf(path, sizeof(path), "/%s", name);
        if (strcmp(name, ".") && strcmp(name, "..") && strcmp(name, "proc") &&
            nftw(path, fn, 20, FTW_PHYS | flags) != 0)
            bail_out("%s: %s", path, strerror(errno));
        free(names[i]);
    }
    free(names);
}

static void remember_files(void)
{
    each_file(note_known, 0);
    qsort(known, known_count, sizeof(*known), by_name);
}

/* How many of the files before the test have gone. */
static unsigned missing_files(void)
{
    unsigned missing = 0;
    struct stat st;

    for (unsigned i = 0; i < known_count; i++)
        if (lstat(known[i], &st) != 0) {
            diag("gone: %s", known[i]);
            missing++;
        }
    return missing;
}

/* Searches everywhere, because a symbolic link to /nowhere or to .. is enough to create a file
 * outside HOME. */
static void remove_files(void) { each_file(remove_unknown, FTW_DEPTH); }

/* Names in the shared directory. Among them are tables of groups, each of which stays once a
   process of its group has used names. */
#define GROUP_TABLE 208u /* bytes bytes of paged pool for the table and its name */
static uint64_t shared_tables(void)
{
    struct dsc$descriptor_s directory = {20, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LNM$SYSTEM_DIRECTORY"};
    struct mega_logical l = {0};

    mega$logical(&directory, 0, 0, &l);
    return l.names;
}

/* `pages`: all that are free, or lie in the pools or in what system space keeps. */
struct totals {
    uint64_t pages, pt_pages, promised, nonpaged, paged, sections, processes;
};

static struct totals totals(void)
{
    struct totals t = {0};
    struct mega_memory m = {0};
    struct mega_pool pool;
    struct mega_section s;
    struct mega_process p;

    mega$info(MEGA_INFO_POOL, 0, &pool, sizeof(pool));
    t.nonpaged = pool.in_use;
    t.pages = pool.pages;
    mega$info(MEGA_INFO_POOL, 1, &pool, sizeof(pool));
    t.paged = pool.in_use - GROUP_TABLE * shared_tables();
    t.pages += pool.pages;
    while (mega$info(MEGA_INFO_SECTION, (int64_t)t.sections, &s, sizeof(s)) == SS$_NORMAL)
        t.sections++;
    while (mega$info(MEGA_INFO_PROCESS, (int64_t)t.processes, &p, sizeof(p)) == SS$_NORMAL)
        t.processes++;
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    t.pages += m.fluid + m.promised_unused + m.system_pages;
    /* This program may touch a page of its own for the first time. */
    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    t.pages += p.rss;
    t.pt_pages = m.pt_pages;
    t.promised = m.promised_unused;
    return t;
}

/* Deletes all sections, of any group. */
static void delete_sections(void)
{
    struct mega_section s;

    /* From the last to the first, because later sections move up when one is deleted. */
    for (int64_t i = (int64_t)totals().sections - 1; i >= 0; i--) {
        if (mega$info(MEGA_INFO_SECTION, i, &s, sizeof(s)) != SS$_NORMAL)
            continue;

        struct dsc$descriptor_s name = {(unsigned short)strlen(s.name), DSC$K_DTYPE_T,
                                        DSC$K_CLASS_S, s.name};
        pid_t pid = must_fork();
        int status;

        if (pid == 0) {
            if (setgid(s.group) == 0)
                sys$dgblsc(s.flags & SEC$M_SYSGBL, &name, 0);
            _exit(0);
        }
        waitpid(pid, &status, 0);
    }
}

/* Deletes all common clusters of event flags, of any group. */
static void delete_clusters(void)
{
    struct mega_cluster c;
    int64_t n = 0;

    while (mega$info(MEGA_INFO_CLUSTER, n, &c, sizeof(c)) == SS$_NORMAL)
        n++;
    /* From the last to the first, as sections. */
    while (n-- > 0) {
        if (mega$info(MEGA_INFO_CLUSTER, n, &c, sizeof(c)) != SS$_NORMAL)
            continue;

        struct dsc$descriptor_s name = {(unsigned short)c.length, DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                        c.name};
        pid_t pid = must_fork();
        int status;

        if (pid == 0) {
            if (setgid(c.uic_group) == 0)
                sys$dlcefc(&name);
            _exit(0);
        }
        waitpid(pid, &status, 0);
    }
}

static void remove_ipc(void)
{
    struct shm_info totals;
    struct semid_ds sds;
    struct msqid_ds mds;
    struct seminfo info;
    struct shmid_ds ds;
    int highest = shmctl(0, SHM_INFO, (struct shmid_ds *)&totals);

    for (int n = 0; n <= highest; n++)
        shmctl(shmctl(n, SHM_STAT, &ds), IPC_RMID, NULL);
    highest = semctl(0, 0, SEM_INFO, &info);
    for (int n = 0; n <= highest; n++)
        semctl(semctl(n, 0, SEM_STAT, &sds), 0, IPC_RMID);
    highest = msgctl(0, MSG_INFO, &mds);
    for (int n = 0; n <= highest; n++)
        msgctl(msgctl(n, MSG_STAT, &mds), IPC_RMID, NULL);
    for (unsigned n = 0; n < sizeof(own_paths) / sizeof(own_paths[0]); n++)
        syscall(SYS_mq_unlink, own_paths[n]);
}

static struct totals settled(unsigned processes)
{
    /* Children of processes that were killed end by themselves. */
    for (unsigned i = 0; i < 200 && totals().processes > processes; i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) /* by CLONE_PARENT they may be ours */
            ;
        nap_ms(20);
    }
    remove_files();
    delete_sections();
    delete_clusters();
    remove_ipc();
    nap_ms(100); /* stacks of ended threads are freed */
    mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0);
    return totals();
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned processes = argc > 2 ? (unsigned)atoi(argv[2]) : 60;
    unsigned calls = argc > 3 ? (unsigned)atoi(argv[3]) : 1500;
    unsigned at_once = argc > 4 ? (unsigned)atoi(argv[4]) : 6;
    struct totals before, after;
    int status = -1, p[2];
    pid_t pid;

    if (at_once > AT_ONCE_MAX)
        at_once = AT_ONCE_MAX;
    may_use_disks = argc > 5 && strcmp(argv[5], "disk") == 0 && !in_company();
    diag("seed %lu, %u processes of %u calls, %u at once", (unsigned long)seed, processes, calls,
         at_once);
    umask(0);
    if (!in_company()) {
        each_file(read_whole, 0);
        widen("");
        widen("/bin");
        widen("/dev");
        widen("/tmp");
    }
    remember_files();
    run(1u << 20, 20, seed, calls, at_once); /* allocates what is allocated only once */
    before = in_company() ? (struct totals){0} : settled(1);
    killed = died = ended = 0;
    run(0, processes, seed, calls, at_once);
    after = in_company() ? before : settled(1);
    diag("%u came to the end, %u died, %u were killed", ended, died, killed);
    for (int sig = 1; sig <= 64; sig++) {
        if (by_signal[sig])
            diag("%u of signal %d", by_signal[sig], sig);
    }
    for (unsigned n = 0; after.processes != before.processes && n < after.processes; n++) {
        struct mega_process m = {0};

        mega$info(MEGA_INFO_PROCESS, (int64_t)n, &m, sizeof(m));
        diag("there is process %u, %s, in state %u", m.pid, m.name, m.waits);
    }
    ok(ended > 0 || in_company(), "some processes have made all their calls");
    is(in_company() ? 0 : missing_files(), 0, "no file of the system has gone");
    is(after.processes, before.processes, "as many processes exist as before");
    is(after.sections, before.sections, "as many sections exist as before");
    is(after.pt_pages, before.pt_pages, "as many page-table pages are in use as before");
    is(after.promised, before.promised, "as many pages are promised as before");
    is(after.nonpaged, before.nonpaged, "as many bytes of nonpaged pool are in use as before");
    is(after.paged, before.paged, "as many bytes of paged pool are in use as before");
    is(after.pages, before.pages, "as many pages are free or kept as before");
    pid = must_fork();
    if (pid == 0)
        _exit(pipe(p) == 0 && write(p[1], "x", 1) == 1 ? 42 : 1);
    waitpid(pid, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "the system can start a process");
    return tap_done();
}
