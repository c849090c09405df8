// TAP
// KERNEL: test
// RUN: --smp 1
/*
 * Nothing of the kernel's memory reaches programs. Before each call its kernel stack is filled with
 * one byte (MEGA_TEST_STAIN_CALL) and so are free blocks of both pools and free pages
 * (MEGA_CTL_STAIN). Then every place that the call could have written is looked at: the registers,
 * six buffers, one for each argument, from the first byte to the last, and what is behind the
 * pointers of item lists. Each call is made twice, in two children that differ only in that byte: a
 * byte of output that has both values is of the kernel's memory, be it one byte of padding. So is
 * whatever looks like an address of the kernel.
 *
 * The calls: examples that fill each output (`shapes`), and every other call and service that the
 * kernel has, with plausible arguments drawn from a seed. Leaks planted in the kernel must be
 * found by the same search.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <errno.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <jpidef.h>
#include <lnmdef.h>
#include <megalith/failure.h>
#include <megalith/services.h>
#include <poll.h>
#include <psldef.h>
#include <signal.h>
#include <stdint.h>
#include <syidef.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>

#define PAGE       8192ul
#define BUFFERS    6
#define BUFFER     2048ul /* bytes of each */
#define UNTOUCHED  0x11
#define DRAWS      4     /* of arguments for each call that has no example */
#define EXAMPLE_MS 10000 /* time for a call that ends by itself */
#define DRAWN_MS   200   /* time for one that may wait for ever */

/* What one child leaves: written by it, compared by the parent. In shared memory. */
static struct outcome {
    uint64_t registers[32];
    uint8_t buffer[BUFFERS][BUFFER];
    uint32_t made; /* the call has returned */
} *outcome;        /* two of them */

static const uint8_t stains[2] = {0xD7, 0x2B};

/* call_with(number, a, r): the call with a0-a5 from a[6]; then $0-$8, $16-$28 go to r[0..31]. */
void call_with(uint64_t number, const uint64_t a[6], uint64_t r[32]);
__asm__(".text\n"
        ".globl call_with\n"
        ".ent call_with\n"
        ".set noat\n"
        "call_with:\n"
        ".frame $30, 48, $26\n"
        "lda $30, -48($30)\n"
        "stq $26, 0($30)\nstq $29, 8($30)\nstq $18, 16($30)\n"
        "mov $16, $0\nmov $17, $1\n"
        "ldq $16, 0($1)\nldq $17, 8($1)\nldq $18, 16($1)\nldq $19, 24($1)\n"
        "ldq $20, 32($1)\nldq $21, 40($1)\n"
        "callsys\n"
        "stq $1, 24($30)\nldq $1, 16($30)\n"
        "stq $0, 0($1)\nstq $2, 16($1)\nstq $3, 24($1)\nstq $4, 32($1)\nstq $5, 40($1)\n"
        "stq $6, 48($1)\nstq $7, 56($1)\nstq $8, 64($1)\n"
        "stq $16, 128($1)\nstq $17, 136($1)\nstq $18, 144($1)\n"
        "stq $19, 152($1)\nstq $20, 160($1)\nstq $21, 168($1)\nstq $22, 176($1)\n"
        "stq $23, 184($1)\nstq $24, 192($1)\nstq $25, 200($1)\nstq $27, 216($1)\n"
        "stq $28, 224($1)\n"
        "ldq $2, 24($30)\nstq $2, 8($1)\n"
        "ldq $26, 0($30)\nldq $29, 8($30)\n"
        "lda $30, 48($30)\n"
        "ret\n"
        ".end call_with\n");

/* ---- a call and its arguments ---- */

#define B(n) (1ul << 60 | (n)) /* the address of buffer n */
#define EFN  EFN$C_ENF

struct shape {
    const char *what;
    uint64_t number;
    uint64_t a[6];
    void (*prepare)(void);
    int block; /* the arguments are in a block, as services with many take them */
};

static uint8_t buffers[BUFFERS][BUFFER] __attribute__((aligned(2048))); /* as Fast I/O needs it */
static uint64_t block[16];
static char path[] = "/tmp/disclosure.d", name[] = "LNM$PROCESS", logical[] = "DISCLOSED";
static int file, ends[2];

#define STRING(text) {sizeof(text) - 1, 14, 1, text}
static struct dsc$descriptor_s table_d = STRING(name), logical_d = STRING(logical);

static ILE3 jpi[] = {{64, JPI$_PRCNAM, buffers[1], (unsigned short *)buffers[4]},
                     {128, JPI$_IMAGNAME, buffers[2], (unsigned short *)(buffers[4] + 8)},
                     {8, JPI$_PID, buffers[3], (unsigned short *)(buffers[4] + 16)},
                     {16, JPI$_UIC, buffers[3] + 64, NULL},
                     {0, 0, NULL, NULL}};
static ILE3 syi[] = {{64, SYI$_PAGEDYN, buffers[1], (unsigned short *)buffers[4]},
                     {64, SYI$_MEMSIZE, buffers[2], (unsigned short *)(buffers[4] + 8)},
                     {16, SYI$_PAGE_SIZE, buffers[3], NULL},
                     {0, 0, NULL, NULL}};
static ILE3 dvi[] = {{64, DVI$_DEVNAM, buffers[1], (unsigned short *)buffers[4]},
                     {16, DVI$_UNIT, buffers[2], (unsigned short *)(buffers[4] + 8)},
                     {16, DVI$_MBX, buffers[3], NULL},
                     {0, 0, NULL, NULL}};
static ILE3 trn[] = {{255, LNM$_STRING, buffers[1], (unsigned short *)buffers[4]},
                     {8, LNM$_ATTRIBUTES, buffers[2], (unsigned short *)(buffers[4] + 8)},
                     {64, LNM$_TABLE, buffers[3], (unsigned short *)(buffers[4] + 16)},
                     {8, LNM$_LENGTH, buffers[2] + 64, NULL},
                     {8, LNM$_ACMODE, buffers[2] + 128, NULL},
                     {8, LNM$_MAX_INDEX, buffers[2] + 192, NULL},
                     {0, 0, NULL, NULL}};
static ILE3 definition[] = {{5, LNM$_STRING, (void *)"value", NULL}, {0, 0, NULL, NULL}};

static unsigned short word; /* gets the number of a channel */

static void define_name(void)
{
    const uint64_t a[6] = {0, (uint64_t)&table_d, (uint64_t)&logical_d, 0, (uint64_t)definition, 0};
    uint64_t r[32];

    call_with(VMS_CRELNM, a, r);
}

/* The process's first channel. */
static void mailbox_made(void)
{
    const uint64_t a[6] = {0, (uint64_t)&word, 64, 640, 0, 0};
    uint64_t r[32];

    block[0] = 9;
    memcpy(&block[1], a, sizeof(a));
    memset(&block[7], 0, 3 * sizeof(block[0]));
    call_with(VMS_CREMBX, (uint64_t[6]){(uint64_t)block}, r);
}

static void transfer(uint64_t function, const void *text, uint64_t length)
{
    const uint64_t a[] = {12,    EFN, 16, function, (uint64_t)buffers[0], 0, 0, (uint64_t)text,
                          length};
    uint64_t r[32];

    memset(block, 0, sizeof(block));
    memcpy(block, a, sizeof(a));
    call_with(VMS_QIO, (uint64_t[6]){(uint64_t)block}, r);
}

/* A buffer object of all buffers, with its handle in the first. */
static void object_made(void)
{
    const uint64_t a[] = {7, (uint64_t)buffers,    sizeof(buffers),      0,
                          0, (uint64_t)buffers[1], (uint64_t)buffers[2], (uint64_t)buffers[0]};
    uint64_t r[32];

    memset(block, 0, sizeof(block));
    memcpy(block, a, sizeof(a));
    call_with(VMS_CREATE_BUFOBJ_64, (uint64_t[6]){(uint64_t)block}, r);
}

/* A read of a file, with its status area in buffer 4. */
static void file_read(void)
{
    uint64_t r[32], *fandle = (uint64_t *)buffers[3];

    object_made();
    call_with(MEGA_SYS_FILE_CHANNEL, (uint64_t[6]){(uint64_t)file, (uint64_t)&word}, r);
    call_with(VMS_IO_SETUP,
              (uint64_t[6]){IO$_READVBLK, (uint64_t)buffers[0], (uint64_t)buffers[0], 0, 0,
                            (uint64_t)fandle},
              r);
    call_with(VMS_IO_PERFORM,
              (uint64_t[6]){*fandle, word, (uint64_t)buffers[4], (uint64_t)buffers[5], 512, 1}, r);
}

/* A short message, for a buffer that is longer. */
static void mailbox_read(void)
{
    mailbox_made();
    transfer(IO$_WRITEVBLK | IO$M_NOW, "text", 4);
    transfer(IO$_READVBLK | IO$M_NOW, buffers[1], BUFFER);
}

static void child_ends(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(3);
    while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0)
        ;
}

static void block_usr1(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
}

static void set_usr1(void) { *(uint64_t *)buffers[5] = 1ul << (SIGUSR1 - 1); }

static void signal_pends(void)
{
    block_usr1();
    set_usr1();
}

static void short_file(void)
{
    if (ftruncate(file, 0) < 0 || pwrite(file, "some bytes", 10, 0) != 10 ||
        ftruncate(file, 1500) < 0)
        _exit(1);
    lseek(file, 0, SEEK_SET);
}

static void pipe_holds(void)
{
    if (write(ends[1], "twelve bytes", 12) != 12)
        _exit(1);
}

/* A pseudo-terminal whose master is descriptor MASTER, with a word of echo to read. */
#define MASTER 20
static void pair_made(void)
{
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

    if (dup2(fd, MASTER) != MASTER || write(MASTER, "echo", 4) != 4)
        _exit(1);
    close(fd);
}

/* adjtimex is only to tell. */
static void modes_none(void) { memset(buffers[0], 0, 4); }

/* Timer 0 of timer_create. */
static void timer_made(void)
{
    static int number = -1;

    if (number < 0 && syscall(SYS_timer_create, 0, NULL, &number) != 0)
        _exit(1);
}

static void poll_set(void)
{
    struct pollfd *p = (struct pollfd *)buffers[0];

    p[0] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    p[1] = (struct pollfd){.fd = file, .events = POLLIN};
}

static void select_set(void) { buffers[1][0] = (uint8_t)(1 << ends[1] | 1 << file); }

static void timer_set(void)
{
    const uint64_t t[4] = {0, 0, 1000, 5};

    memcpy(buffers[5], t, sizeof(t));
}

/* The frame of a handler, with siginfo and the registers, on a stack of its own in buffer 0-3. */
static volatile int handled;
static void on_usr2(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    handled = 1;
}

static void handler_of(int flags)
{
    static uint8_t on[16384] __attribute__((aligned(64)));
    const stack_t stack = {.ss_sp = on, .ss_size = sizeof(on)};
    struct sigaction sa = {.sa_sigaction = on_usr2, .sa_flags = SA_ONSTACK | flags};

    memset(on, UNTOUCHED, sizeof(on));
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &sa, NULL);
    kill(getpid(), SIGUSR2);
    /* The end of the stack has the frame; buffers 0 to 3 get what was there. */
    for (unsigned i = 0; i < 4; i++)
        memcpy(buffers[i], on + sizeof(on) - (i + 1) * BUFFER, BUFFER);
}

static void handler_info(void) { handler_of(SA_SIGINFO); }
static void handler_plain(void) { handler_of(0); }

/* Memory that the kernel gives: one byte of each 32 of fresh pages is looked at. */
static void fresh(const uint8_t *p)
{
    for (unsigned k = 0; k < BUFFERS * BUFFER; k++)
        buffers[k / BUFFER][k % BUFFER] = p[(k * 13) % (4 * PAGE)];
}

static void anonymous(void)
{
    fresh(mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
               -1, 0));
}

static void anonymous_shared(void)
{
    fresh(mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void heap(void)
{
    uint8_t *p = sbrk(4 * PAGE);

    fresh(p);
}

static void tail_of_file(void)
{
    uint8_t *p;

    short_file();
    p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, file, 0);
    for (unsigned k = 0; k < 4 * BUFFER; k++) /* the first page, past the end of the file too */
        buffers[k / BUFFER][k % BUFFER] = p[k];
}

static void hole_of_file(void)
{
    if (ftruncate(file, 0) < 0 || pwrite(file, "x", 1, 3 * PAGE) != 1)
        _exit(1);
    fresh(mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, file, 0));
}

static void grown_file(void)
{
    if (ftruncate(file, 0) < 0 || ftruncate(file, (long)(4 * PAGE)) < 0 ||
        pread(file, buffers, sizeof(buffers), 100) != (long)sizeof(buffers))
        _exit(1);
}

static void ipc_is_there(void)
{
    struct semid_ds sds;
    struct msqid_ds mds;
    int id;
    struct shmid_ds ds;

    id = msgctl(0, MSG_STAT, &mds);
    if (id < 0)
        id = msgget(IPC_PRIVATE, 0600);
    msgsnd(id, (long[3]){7, 0x1122, 0x3344}, 13, IPC_NOWAIT);
    if (semctl(0, 0, SEM_STAT, &sds) < 0)
        semget(IPC_PRIVATE, 3, 0600);
    if (shmctl(0, SHM_STAT, &ds) < 0)
        shmget(IPC_PRIVATE, PAGE, 0600);
}

#define NUL_CALL 20 /* getxpid: what matters was done by `prepare` */

static const struct shape shapes[] = {
    {"stat", SYS_stat64, {(uint64_t)path, B(1)}, NULL, 0},
    {"lstat", SYS_lstat64, {(uint64_t)path, B(1)}, NULL, 0},
    {"fstat of a file", SYS_fstat64, {3, B(1)}, NULL, 0},
    {"fstat of a pipe", SYS_fstat64, {4, B(1)}, NULL, 0},
    {"fstat of standard output", SYS_fstat64, {1, B(1)}, NULL, 0},
    {"getdents", SYS_getdents64, {6, B(1), BUFFER}, NULL, 0},
    {"getcwd", SYS_getcwd, {B(0), BUFFER}, NULL, 0},
    {"readlink", SYS_readlink, {(uint64_t)"/proc/self/exe", B(1), BUFFER}, NULL, 0},
    {"getrandom", SYS_getrandom, {B(0), BUFFERS *BUFFER, 0}, NULL, 0},
    {"uname", SYS_uname, {B(0)}, NULL, 0},
    {"utsname", 339, {B(0)}, NULL, 0},
    {"wait4", SYS_wait4, {(uint64_t)-1, B(1), 0, B(3)}, child_ends, 0},
    {"waitid", 438, {0, 0, B(2), 4, B(4)}, child_ends, 0},
    {"getrusage", SYS_getrusage, {0, B(1)}, NULL, 0},
    {"times", SYS_times, {B(0)}, NULL, 0},
    {"getitimer", SYS_getitimer, {0, B(1)}, NULL, 0},
    {"setitimer", SYS_setitimer, {0, B(5), B(2)}, timer_set, 0},
    {"clock_gettime", SYS_clock_gettime, {0, B(1)}, NULL, 0},
    {"clock_getres", SYS_clock_getres, {0, B(1)}, NULL, 0},
    {"gettimeofday", SYS_gettimeofday, {B(0), B(1)}, NULL, 0},
    {"getrlimit", SYS_getrlimit, {RLIMIT_NOFILE, B(1)}, NULL, 0},
    {"prlimit64", SYS_prlimit64, {0, RLIMIT_STACK, 0, B(3)}, NULL, 0},
    {"sched_getaffinity", SYS_sched_getaffinity, {0, 64, B(2)}, NULL, 0},
    {"getcpu", SYS_getcpu, {B(0), B(1)}, NULL, 0},
    {"getresuid", SYS_getresuid, {B(0), B(1), B(2)}, NULL, 0},
    {"getresgid", SYS_getresgid, {B(0), B(1), B(2)}, NULL, 0},
    {"rt_sigaction", SYS_rt_sigaction, {SIGUSR1, 0, B(2), 8}, NULL, 0},
    {"rt_sigprocmask", SYS_rt_sigprocmask, {1, 0, B(2), 8}, NULL, 0},
    {"rt_sigpending", SYS_rt_sigpending, {B(0), 8}, block_usr1, 0},
    {"rt_sigtimedwait", SYS_rt_sigtimedwait, {B(5), B(1), 0, 8}, signal_pends, 0},
    {"sigaltstack", SYS_sigaltstack, {0, B(1)}, NULL, 0},
    {"pipe2", SYS_pipe2, {B(0), 0}, NULL, 0},
    {"poll", SYS_poll, {B(0), 2, 0}, poll_set, 0},
    {"select", SYS_select, {16, 0, B(1), B(2), B(3)}, select_set, 0},
    {"read of a file", SYS_read, {3, B(1), BUFFER}, short_file, 0},
    {"read of a pipe", SYS_read, {4, B(1), BUFFER}, pipe_holds, 0},
    {"read of zeroes", SYS_read, {7, B(1), BUFFER}, NULL, 0},
    {"getsysinfo", SYS_osf_getsysinfo, {45, B(1), 8}, NULL, 0},
    {"ioctl FIONREAD", SYS_ioctl, {4, FIONREAD, B(2)}, pipe_holds, 0},
    {"ioctl TCGETS", SYS_ioctl, {8, 0x402C7413, B(2)}, NULL, 0},
    {"ioctl TIOCGWINSZ", SYS_ioctl, {8, TIOCGWINSZ, B(2)}, NULL, 0},
    {"ioctl TIOCGPGRP", SYS_ioctl, {8, TIOCGPGRP, B(2)}, NULL, 0},
    {"ioctl TIOCGPTN", SYS_ioctl, {MASTER, TIOCGPTN, B(2)}, pair_made, 0},
    {"ioctl TCGETS of a master", SYS_ioctl, {MASTER, 0x402C7413, B(2)}, pair_made, 0},
    {"read of a master", SYS_read, {MASTER, B(1), BUFFER}, pair_made, 0},
    {"fstat of a master", SYS_fstat64, {MASTER, B(1)}, pair_made, 0},
    {"timer_gettime", SYS_timer_gettime, {0, B(1)}, timer_made, 0},
    {"adjtimex", SYS_adjtimex, {B(0)}, modes_none, 0},
    {"clock_adjtime", SYS_clock_adjtime, {0, B(0)}, modes_none, 0},
    {"sched_getattr", SYS_sched_getattr, {0, B(1), 48, 0}, NULL, 0},
    {"sched_rr_get_interval", SYS_sched_rr_get_interval, {0, B(1)}, NULL, 0},
    {"shmctl SHM_STAT", SYS_shmctl, {0, 0x100 | SHM_STAT, B(1)}, ipc_is_there, 0},
    {"shmctl IPC_INFO", SYS_shmctl, {0, 0x100 | IPC_INFO, B(1)}, NULL, 0},
    {"shmctl SHM_INFO", SYS_shmctl, {0, 0x100 | SHM_INFO, B(1)}, NULL, 0},
    {"msgctl MSG_STAT", SYS_msgctl, {0, 0x100 | MSG_STAT, B(2)}, ipc_is_there, 0},
    {"msgctl MSG_INFO", SYS_msgctl, {0, 0x100 | MSG_INFO, B(2)}, NULL, 0},
    {"msgctl IPC_INFO", SYS_msgctl, {0, 0x100 | IPC_INFO, B(2)}, NULL, 0},
    {"semctl SEM_STAT", SYS_semctl, {0, 0, 0x100 | SEM_STAT, B(3)}, ipc_is_there, 0},
    {"semctl SEM_INFO", SYS_semctl, {0, 0, 0x100 | SEM_INFO, B(3)}, NULL, 0},
    {"semctl IPC_INFO", SYS_semctl, {0, 0, 0x100 | IPC_INFO, B(3)}, NULL, 0},
    {"a handler's frame with siginfo", NUL_CALL, {0}, handler_info, 0},
    {"a handler's frame", NUL_CALL, {0}, handler_plain, 0},
    {"fresh private memory", NUL_CALL, {0}, anonymous, 0},
    {"fresh shared memory", NUL_CALL, {0}, anonymous_shared, 0},
    {"fresh heap", NUL_CALL, {0}, heap, 0},
    {"a mapped file past its end", NUL_CALL, {0}, tail_of_file, 0},
    {"a hole of a file", NUL_CALL, {0}, hole_of_file, 0},
    {"a file made longer", NUL_CALL, {0}, grown_file, 0},
    {"$getjpi", VMS_GETJPI, {0, 0, 0, (uint64_t)jpi, B(5), 0}, NULL, 7},
    {"$getsyi", VMS_GETSYI, {0, 0, 0, (uint64_t)syi, B(5), 0}, NULL, 7},
    {"$trnlnm",
     VMS_TRNLNM,
     {0, (uint64_t)&table_d, (uint64_t)&logical_d, 0, (uint64_t)trn},
     define_name,
     0},
    {"$setprv", VMS_SETPRV, {0, 0, 0, B(3)}, NULL, 0},
    {"logical names", MEGA_SYS_LOGICAL, {(uint64_t)&table_d, 0, 0, B(3)}, define_name, 0},
    {"$crembx", VMS_CREMBX, {0, B(1), 64, 640, 0, 0}, NULL, 9},
    {"$getdvi", VMS_GETDVI, {0, 16, 0, (uint64_t)dvi, B(5), 0}, mailbox_made, 8},
    {"$qio, a sense of the mode", VMS_QIO, {EFN, 16, IO$_SENSEMODE, B(1), 0, 0}, mailbox_made, 12},
    {"$create_bufobj_64", NUL_CALL, {0}, object_made, 0},
    {"$io_setup", VMS_IO_SETUP, {IO$_READVBLK, B(0), B(0), 0, 0, B(3)}, object_made, 0},
    {"$io_perform", NUL_CALL, {0}, file_read, 0},
    {"$qio, a message", NUL_CALL, {0}, mailbox_read, 0},
    {"$create_region_64", VMS_CREATE_REGION_64, {4 * PAGE, 0, 0, B(3), B(4), B(5)}, NULL, 6},
    {"$expreg_64", VMS_EXPREG_64, {B(0), PAGE, 0, 0, B(4), B(5)}, NULL, 0},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* ---- one call in a child ---- */

static uint64_t real(uint64_t a)
{
    return a >> 60 == 1 && (a & 0xFFF) < BUFFERS ? (uint64_t)buffers[a & 0xFFF] : a;
}

static void stain_free(uint8_t byte) { mega$control(MEGA_CTL_STAIN, byte, 0, 0, 0, 0); }

/* The stain is in memory only: in a register that the compiler keeps for later it would be in the
 * frame of a handler, which is no leak. */
static volatile uint8_t stain;

static void make(const struct shape *s, struct outcome *o)
{
    const uint64_t byte[6] = {stain};
    uint64_t a[6], r[32];

    memset(buffers, UNTOUCHED, sizeof(buffers));
    stain_free(stain);
    call_with(MEGA_TEST_STAIN_CALL, byte, r);
    if (s->prepare) {
        s->prepare();
        stain_free(stain);
    }
    for (int i = 0; i < 6; i++)
        a[i] = real(s->a[i]);
    if (s->block) {
        block[0] = (uint64_t)s->block;
        memcpy(&block[1], a, sizeof(a));
        memset(&block[7], 0, sizeof(block) - 7 * sizeof(block[0]));
        a[0] = (uint64_t)block;
    }
    call_with(MEGA_TEST_STAIN_CALL, byte, r);
    call_with(s->number, a, o->registers);
    memcpy(o->buffer, buffers, sizeof(buffers));
    o->made = 1;
}

static void open_files(void)
{
    int fd[9];

    for (int i = 3; i < 9; i++)
        close(i);
    mkdir("/tmp/disclosure.d", 0755);
    file = fd[3] = open("/tmp/disclosure.d/file", O_RDWR | O_CREAT, 0644);
    if (pipe(ends) < 0)
        bail_out("pipe: %s", strerror(errno));
    fd[6] = open("/tmp/disclosure.d", O_RDONLY | O_DIRECTORY);
    fd[7] = open("/dev/zero", O_RDONLY);
    fd[8] = open("/dev/console", O_RDWR);
    if (file != 3 || ends[0] != 4 || ends[1] != 5 || fd[6] != 6 || fd[7] != 7 || fd[8] != 8)
        bail_out("the files do not have the numbers of the table");
}

/* Make the call twice, in at most ms milliseconds each. False: one of the children did not come to
 * its end. */
static int make_twice(const struct shape *s, long ms)
{
    for (int i = 0; i < 2; i++) {
        struct outcome *o = &outcome[i];
        pid_t pid;

        o->made = 0;
        pid = fork();
        if (pid == 0) {
            const struct itimerval soon = {.it_value = {ms / 1000, ms % 1000 * 1000}};

            setpgid(0, 0);
            setitimer(ITIMER_REAL, &soon, NULL); /* ends a call that waits */
            stain = stains[i];
            make(s, o);
            _exit(0);
        }
        for (long n = 0; waitpid(pid, NULL, WNOHANG) == 0; n++) {
            if (n > 2 * ms)
                kill(pid, SIGKILL);
            poll(NULL, 0, n < 3 ? 0 : 1);
        }
        if (!o->made)
            return 0;
    }
    return 1;
}

static int is_stain(uint8_t first, uint8_t second)
{
    return first == stains[0] && second == stains[1];
}

static uint8_t suspected[BUFFERS][BUFFER];

/* Is the output of s random? Then one byte of 65,536 has the value of the first stain in one child
 * and that of the second in the other by chance. */
static int is_random(const struct shape *s) { return s->number == SYS_getrandom; }

/* Note which bytes of the buffers have been like the stain, so that only they count henceforth. */
static void suspect(void)
{
    for (unsigned b = 0; b < BUFFERS; b++)
        for (unsigned k = 0; k < BUFFER; k++)
            suspected[b][k] &= is_stain(outcome[0].buffer[b][k], outcome[1].buffer[b][k]);
}

/* Does an address of the kernel begin at p, in KSEG or in system space? What a call has written on
 * its stack itself is no stain any more. */
static int is_address(const uint8_t *p)
{
    uint64_t v;

    memcpy(&v, p, sizeof(v));
    return (v >> 40 == 0xFFFFFC || v >> 40 == 0xFFFFFE) && (v & 0xFFFFFFFF) > 0xFFFF;
}

/* Count what both calls have of their bytes; say where the first one is. Addresses are looked for
 * at multiples of 4: at others, the end of one small number and the begin of a negative one look
 * like one. */
static unsigned leaked(void)
{
    unsigned n = 0;

    for (unsigned b = 0; b < BUFFERS; b++) {
        for (unsigned k = 0; k < BUFFER; k++) {
            if (!(suspected[b][k] && is_stain(outcome[0].buffer[b][k], outcome[1].buffer[b][k])) &&
                (k % 4 || k + 8 > BUFFER || !is_address(&outcome[0].buffer[b][k])))
                continue;
            if (!n++)
                diag("buffer %u, byte %u", b, k);
        }
    }
    for (unsigned r = 0; r < 29; r++) {
        if (is_address((const uint8_t *)&outcome[0].registers[r])) {
            diag("register $%u: %#lx", r, outcome[0].registers[r]);
            n++;
        }
        for (unsigned k = 0; k < 64; k += 8) {
            if (!is_stain((uint8_t)(outcome[0].registers[r] >> k),
                          (uint8_t)(outcome[1].registers[r] >> k)))
                continue;
            if (!n++)
                diag("register $%u: %#lx", r, outcome[0].registers[r]);
        }
    }
    return n;
}

/* Have the two calls of s, just made, given memory of the kernel? Random output is asked for again:
 * what is of the kernel's memory is stained at the same place each time. An interrupt may have
 * hidden it in one repetition, so that any of three will do. */
static int discloses(const struct shape *s, long ms)
{
    unsigned n;

    memset(suspected, 1, sizeof(suspected));
    n = leaked();
    if (!n || !is_random(s))
        return n != 0;
    suspect();
    n = 0;
    for (int i = 0; i < 3 && !n; i++)
        n = make_twice(s, ms) ? leaked() : 0;
    return n != 0;
}

/* Did the call write anything? Otherwise the example tests nothing. */
static int wrote(void)
{
    for (unsigned b = 0; b < BUFFERS; b++)
        for (unsigned k = 0; k < BUFFER; k++)
            if (outcome[0].buffer[b][k] != UNTOUCHED)
                return 1;
    return 0;
}

static void examples(void)
{
    for (unsigned i = 0; i < SHAPES; i++) {
        if (!make_twice(&shapes[i], EXAMPLE_MS))
            ok(0, "%s comes to its end", shapes[i].what);
        else if (!ok(wrote() && !discloses(&shapes[i], EXAMPLE_MS),
                     "%s gives its output and nothing of the kernel's memory", shapes[i].what))
            diag("result %#lx", outcome[0].registers[0]);
    }
}

/* ---- every call ---- */

static uint64_t state = 88172645463325252ul;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static uint64_t argument(unsigned i)
{
    switch (draw(7)) {
    case 0:
        return draw(10);
    case 1:
        return BUFFER;
    case 2:
        return (uint64_t)path;
    case 3:
        return (uint64_t)&table_d;
    default:
        return B(i);
    }
}

static int left_out(uint64_t number)
{
    switch (number) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_execve:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_sigreturn:
    case SYS_rt_sigreturn:
    case MEGA_SYS_CONTROL: /* below */
    case MEGA_SYS_INFO:
        return 1;
    default:
        return 0;
    }
}

static void every_call(void)
{
    unsigned calls = 0, returned = 0, bad = 0;

    for (uint64_t n = 0; n < 0x1000 + 0x900; n++) {
        struct mega_call c;

        if (left_out(n) || mega$info(MEGA_INFO_CALL, (int64_t)n, &c, sizeof(c)) != SS$_NORMAL)
            continue;
        calls++;
        for (unsigned k = 0; k < DRAWS; k++) {
            struct shape s = {.what = c.name, .number = n};
            long ms = n == MEGA_SYS_CONTROL ? EXAMPLE_MS : DRAWN_MS;

            for (unsigned i = 0; i < 6; i++)
                s.a[i] = argument(i);
            if (n >= 0x1000 && draw(2))
                s.block = 6;
            if (!make_twice(&s, ms))
                continue;
            returned++;
            if (discloses(&s, ms)) {
                bad++;
                diag("%s discloses memory of the kernel", c.name);
            }
        }
    }
    diag("%u calls, %u times", calls, returned);
    ok(calls > 130 && returned > 3 * calls, "almost every call came to its end");
    is(bad, 0, "no call gives memory of the kernel, whatever its arguments");
}

static void information(void)
{
    for (unsigned item = 1; item < MEGA_INFO_CRASH; item++) {
        struct shape s = {
            .what = "MEGA_SYS_INFO", .number = MEGA_SYS_INFO, .a = {item, 0, B(2), BUFFER}};

        if (item == MEGA_INFO_VALIDATE ||
            !make_twice(&s, s.number == MEGA_SYS_CONTROL ? EXAMPLE_MS : DRAWN_MS))
            continue;
        if ((int)outcome[0].registers[0] == SS$_NORMAL)
            ok(!discloses(&s, DRAWN_MS),
               "item %u of MEGA_SYS_INFO has nothing of the kernel's memory", item);
    }
}

/* An interrupt between the two calls of make() writes its own frame over the stain of the stack,
 * and the leak gives that instead. So a leak may be missed, but in few of the tries. */
#define PLANTED_TRIES 5
#define PLANTED_FOUND 3

static void planted(void)
{
    static const char *const kinds[MEGA_DISCLOSES] = {"the stack", "padding", "nonpaged pool",
                                                      "paged pool"};

    for (unsigned kind = 0; kind < MEGA_DISCLOSES; kind++) {
        struct shape s = {
            .what = kinds[kind], .number = MEGA_SYS_CONTROL, .a = {MEGA_CTL_DISCLOSE, kind, B(2)}};

        int found = 0;

        for (int i = 0; i < PLANTED_TRIES; i++)
            found += make_twice(&s, EXAMPLE_MS) && discloses(&s, EXAMPLE_MS);
        ok(found >= PLANTED_FOUND, "a leak planted in %s is found %d times of %d", kinds[kind],
           found, PLANTED_TRIES);
    }
}

int main(void)
{
    if (!is_test_kernel())
        bail_out(NEEDS_TEST_KERNEL);
    outcome = mmap(NULL, 2 * sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    open_files();
    planted();
    examples();
    information();
    every_call();
    unlink("/tmp/disclosure.d/file");
    rmdir("/tmp/disclosure.d");
    return tap_done();
}
