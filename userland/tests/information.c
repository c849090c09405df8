// TAP
// RUN: -m 512M --set RADS=2
/*
 * $GETJPI and $GETSYI: every item is compared with what the kernel returns elsewhere; both forms of
 * item lists; which processes a caller may ask about; and the condition values for bad lists.
 */
#define _GNU_SOURCE
#include <descrip.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <megalith/creds.h>
#include <sched.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <statedef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syidef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <vadef.h>

#define PAGE 8192UL
#define MIB  (1UL << 20)

static struct mega_process me(void)
{
    struct mega_process p;

    memset(&p, 0, sizeof(p));
    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

/* A child that waits until the write end of a pipe is closed. */
static pid_t waiting_child(const struct mega_creds *c, int *release)
{
    int ready[2], go[2];
    pid_t pid;
    char byte;

    if (pipe(ready) != 0 || pipe(go) != 0 || (pid = fork()) < 0)
        bail_out("no child");
    if (pid == 0) {
        close(ready[0]);
        close(go[1]);
        if (c && become(*c) != SS$_NORMAL)
            _exit(1);
        close(ready[1]);
        _exit(read(go[0], &byte, 1) != 0);
    }
    close(ready[1]);
    close(go[0]);
    if (read(ready[0], &byte, 1) != 0)
        bail_out("the child wrote");
    close(ready[0]);
    *release = go[1];
    return pid;
}

static int end_child(pid_t pid, int release)
{
    int status = -1;

    close(release);
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int in_child(int (*f)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(f());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- one item ---- */

static uint64_t value;
static unsigned short got;

static int jpi_of(unsigned pid, int code)
{
    ILE3 list[2] = {{sizeof(value), (unsigned short)code, &value, &got}, {0, 0, 0, 0}};

    value = ~0UL; /* the result must be extended with zeros */
    return sys$getjpiw(EFN$C_ENF, pid ? &pid : 0, 0, list, 0, 0, 0);
}

static uint64_t jpi(int code) { return jpi_of(0, code) == SS$_NORMAL ? value : ~0UL; }

static int syi_status(int code)
{
    ILE3 list[2] = {{sizeof(value), (unsigned short)code, &value, &got}, {0, 0, 0, 0}};

    value = ~0UL;
    return sys$getsyiw(EFN$C_ENF, 0, 0, list, 0, 0, 0);
}

static uint64_t syi(int code) { return syi_status(code) == SS$_NORMAL ? value : ~0UL; }

/* ---- items of $GETJPI ---- */

static void about_me(void)
{
    struct mega_process p = me();
    uint64_t before;
    char *m;

    is(jpi(JPI$_PID), getpid(), "PID");
    is(got, 4, "PID is a longword");
    is(jpi(JPI$_OWNER), 0, "process 1 has no OWNER");
    is(jpi(JPI$_UIC), 0, "UIC");
    is(jpi(JPI$_STATE), SCH$C_CUR, "STATE: the caller is running");
    is(jpi(JPI$_PRI), 4, "PRI: that of an interactive process");
    ok(jpi(JPI$_CPU_ID) < 4, "CPU_ID");
    p = me();
    is(jpi(JPI$_PAGEFLTS), p.faults, "PAGEFLTS");
    is(jpi(JPI$_PPGCNT), me().rss * 16, "PPGCNT is in pagelets");
    is(jpi(JPI$_GPGCNT), 0, "GPGCNT");
    is(jpi(JPI$_APTCNT), me().pt_pages * 16, "APTCNT");

    m = mmap(0, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    before = jpi(JPI$_PPGCNT);
    memset(m, 1, 64 * PAGE);
    is(jpi(JPI$_PPGCNT) - before, 64 * 16, "PPGCNT rises by the 64 pages that were touched");
    ok(jpi(JPI$_WSPEAK) >= before + 64 * 16, "WSPEAK includes them");
    before = jpi(JPI$_VIRTPEAK);
    ok(before * 512 >= me().vsize, "VIRTPEAK is at least the current size");
    munmap(m, 64 * PAGE);
    ok(jpi(JPI$_WSPEAK) > jpi(JPI$_PPGCNT) + 63 * 16,
       "WSPEAK does not fall when memory is unmapped");
    m = mmap(0, 2048 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(jpi(JPI$_VIRTPEAK) > before, "VIRTPEAK rises when memory is mapped");
    before = jpi(JPI$_VIRTPEAK);
    munmap(m, 2048 * PAGE);
    is(jpi(JPI$_VIRTPEAK), before, "VIRTPEAK does not fall when memory is unmapped");
    is(jpi(JPI$_PPGCNT), me().rss * 16, "PPGCNT falls when memory is unmapped");
}

/* The mask is that of the thread, or 0 if it may run everywhere. */
static void scheduling(void)
{
    int several = __builtin_popcountl(syi(SYI$_ACTIVE_CPU_MASK)) > 1;
    unsigned int policy = 77;
    cpu_set_t all, one;

    is(jpi(JPI$_SCHED_POLICY), JPI$K_DEFAULT_POLICY, "SCHED_POLICY");
    is(got, 4, "SCHED_POLICY is a longword");
    is_status(sys$setpri(0, 0, 4, 0, 0, &policy), SS$_NORMAL, "$SETPRI tells the policy");
    is(policy, JPI$K_DEFAULT_POLICY, "which is the same");
    is(jpi(JPI$_NODE_CSID), 0, "NODE_CSID");
    is(jpi(JPI$_TMBU), 0, "TMBU: nobody is told of its end");
    is(jpi(JPI$_CURRENT_AFFINITY_MASK), 0, "it may run on every CPU");
    is(got, 8, "CURRENT_AFFINITY_MASK is a quadword");
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    is(sched_setaffinity(0, sizeof(one), &one), 0, "it is confined to one");
    is(jpi(JPI$_CURRENT_AFFINITY_MASK), several, "CURRENT_AFFINITY_MASK has that one");
    is(jpi(JPI$_PERMANENT_AFFINITY_MASK), several, "PERMANENT_AFFINITY_MASK too");
    sched_setaffinity(0, sizeof(all), &all);
    is(jpi(JPI$_PERMANENT_AFFINITY_MASK), 0, "and none when it is confined no more");
}

static void free_addresses(void)
{
    GENERIC_64 id = {{VA$C_P0}};
    unsigned __int64 length;
    REGSUM sum;
    void *p0 = mmap((void *)0x10000000, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                    -1, 0);
    char *p2;
    int on_stack;

    ok(p0 == (void *)0x10000000, "a page is mapped in P0");
    is(jpi(JPI$_FREP0VA), 0x10002000, "FREP0VA is the address after it");
    is(got, 4, "FREP0VA is a longword");
    is(jpi(JPI$_P0_FIRST_FREE_VA_64), 0x10002000, "P0_FIRST_FREE_VA_64");
    is(got, 8, "P0_FIRST_FREE_VA_64 is a quadword");
    munmap(p0, PAGE);
    is(jpi(JPI$_P0_FIRST_FREE_VA_64), PAGE,
       "P0_FIRST_FREE_VA_64 is after page 0 if nothing is mapped in P0");
    ok(jpi(JPI$_FREP1VA) < (uint64_t)&on_stack && jpi(JPI$_FREP1VA) >= 0x40000000,
       "FREP1VA is below the stack");
    is(jpi(JPI$_P1_FIRST_FREE_VA_64), jpi(JPI$_FREP1VA), "P1_FIRST_FREE_VA_64 is the same address");
    p2 = mmap(0, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(jpi(JPI$_P2_FIRST_FREE_VA_64) >= (uint64_t)(p2 + 16 * PAGE), "P2_FIRST_FREE_VA_64");
    for (unsigned k = 0; k < 3; k++) {
        id.gen64$q_quadword = k;
        is_status(sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, sizeof(sum), &sum, &length),
                  SS$_NORMAL, "$GET_REGION_INFO of region %u succeeds", k);
        is(jpi(JPI$_P0_FIRST_FREE_VA_64 + (int)k), (long)sum.va$pq_first_free_va,
           "$GET_REGION_INFO returns the same address for region %u", k);
    }
    munmap(p2, 16 * PAGE);
}

static void names(void)
{
    char name[32], image[80];
    unsigned short n, m;
    ILE3 list[] = {{sizeof(name), JPI$_PRCNAM, name, &n},
                   {sizeof(image), JPI$_IMAGNAME, image, &m},
                   {0, 0, 0, 0}};
    IOSB iosb;

    memset(name, 'x', sizeof(name));
    memset(&iosb, 0xEE, sizeof(iosb));
    is_status(sys$getjpiw(0, 0, 0, list, &iosb, 0, 0), SS$_NORMAL,
              "two items can be requested at once");
    is_str(name, "information", "PRCNAM");
    is(n, 11, "the length of PRCNAM is returned");
    is(name[31], 0, "the rest of the buffer is zero");
    is_str(image, "/tests/information", "IMAGNAME");
    is(m, 18, "the length of the second item is returned");
    is(iosb.iosb$l_getxxi_status, SS$_NORMAL, "the status block contains the status");
    is(iosb.iosb$l_reserved, 0, "the rest of the status block is zero");
    list[0].ile3$w_length = 4;
    memset(name, 'x', sizeof(name));
    is_status(sys$getjpi(0, 0, 0, list, 0, 0, 0), SS$_NORMAL,
              "a buffer that is too short is accepted");
    ok(memcmp(name, "infoxxxx", 8) == 0 && n == 4, "it gets as many bytes as fit");
    list[0] = (ILE3){sizeof(name), JPI$_NODE_VERSION, name, &n};
    is_status(sys$getjpi(0, 0, 0, list, 0, 0, 0), SS$_NORMAL, "the version of the node");
    ok(n == 4 && memcmp(name, "V7.1", 5) == 0, "NODE_VERSION is what NODE_SWVERS is");
    list[0] = (ILE3){2, JPI$_PID, name, 0};
    name[2] = 'y';
    is_status(sys$getjpi(0, 0, 0, list, 0, 0, 0), SS$_NORMAL,
              "a buffer of two bytes for a longword is accepted");
    ok(name[0] == 1 && name[1] == 0 && name[2] == 'y', "it gets the low bytes");
    list[0].ile3$w_length = 0;
    list[0].ile3$ps_bufaddr = 0;
    is_status(sys$getjpi(0, 0, 0, list, 0, 0, 0), SS$_NORMAL,
              "an item without a buffer is accepted");
}

static void wide_lists(void)
{
    uint64_t pid = ~0UL, n = 0, name_length = 0;
    char name[16];
    ILEB_64 list[] = {{1, JPI$_PID, -1, 8, &pid, &n},
                      {1, JPI$_PRCNAM, -1, sizeof(name), name, &name_length},
                      {0, 0, 0, 0, 0, 0}};

    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_NORMAL, "a 64-bit item list is accepted");
    ok(pid == 1 && n == 4, "a longword is returned in a buffer of a quadword");
    ok(name_length == 11 && memcmp(name, "information", 11) == 0, "a string is returned");
    list[1].ileb_64$w_mbo = 0;
    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_BADPARAM,
              "an entry with a wrong MBO field is refused");
    list[1].ileb_64$w_mbo = 1;
    list[1].ileb_64$l_mbmo = 0;
    is_status(sys$getsyiw(0, 0, 0, list, 0, 0, 0), SS$_BADITMCOD,
              "an item of the other service is refused");
    list[0].ileb_64$w_code = SYI$_PAGE_SIZE;
    is_status(sys$getsyiw(0, 0, 0, list, 0, 0, 0), SS$_BADPARAM,
              "an entry with a wrong MBMO field is refused");
    list[1].ileb_64$l_mbmo = -1;
    list[1].ileb_64$q_length = 65536;
    is_status(sys$getsyiw(0, 0, 0, list, 0, 0, 0), SS$_BADBUFLEN, "a buffer of 64 KiB is refused");
    list[0].ileb_64$w_code = JPI$_PID;
    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_BADBUFLEN,
              "$GETJPI refuses a buffer of 64 KiB, too");
    list[1].ileb_64$q_length = 8;
    list[1].ileb_64$pq_retlen_addr = (uint64_t *)((char *)&n + 4);
    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_ACCVIO,
              "a return length that is not aligned is refused");
}

/* ---- privileges, times, counts ---- */

static uint64_t seconds_of(uint64_t vms) { return vms / 10000000 - 40587UL * 86400; }

static void burn(void)
{
    uint64_t from = me().cpu_ns;

    while (me().cpu_ns - from < 100000000)
        for (volatile int i = 0; i < 1000000; i++)
            ;
}

static int files_of_a_fork(void)
{
    uint64_t mine = 0;
    pid_t parent = getppid();

    if (jpi_of((unsigned)parent, JPI$_FILCNT) == SS$_NORMAL)
        mine = value;
    return jpi(JPI$_FILCNT) != mine;
}

/* As many as /proc/self/fd has, with numbers in the table itself, in its first chunk, in others. */
static void files(void)
{
    static const int far[] = {20, 40, 300, 513, 1000, 1023};
    uint64_t left = jpi(JPI$_FILCNT);
    struct rlimit limit;
    rlim_t soft;
    int fd;

    ok(left < jpi(JPI$_FILLM) && left + 16 > jpi(JPI$_FILLM), "FILCNT: few are in use");
    fd = open("/dev/null", O_WRONLY);
    is(jpi(JPI$_FILCNT), left - 1, "one less with a file");
    for (int i = 0; i < 6; i++)
        if (dup2(fd, far[i]) != far[i])
            bail_out("dup2");
    is(jpi(JPI$_FILCNT), left - 7, "and six with high numbers");
    dup2(fd, 1000);
    is(jpi(JPI$_FILCNT), left - 7, "a number that is used again counts once");
    is(in_child(files_of_a_fork), 0, "a forked process has as many");
    getrlimit(RLIMIT_NOFILE, &limit);
    soft = limit.rlim_cur;
    limit.rlim_cur = 5;
    setrlimit(RLIMIT_NOFILE, &limit);
    is(jpi(JPI$_FILCNT), 0, "none are left with a limit below what is open");
    limit.rlim_cur = soft;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 6; i++)
        close(far[i]);
    close(fd);
    is(jpi(JPI$_FILCNT), left, "all again");
}

static int is_terminal(int code, const char *expected)
{
    char name[16] = "";
    unsigned short n = 77;
    ILE3 list[] = {{sizeof(name) - 1, (unsigned short)code, name, &n}, {0, 0, 0, 0}};

    return sys$getjpiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == strlen(expected) &&
           memcmp(name, expected, n) == 0;
}

static int without_terminal(void)
{
    setsid();
    return !is_terminal(JPI$_TERMINAL, "") + !is_terminal(JPI$_TT_PHYDEVNAM, "");
}

static int with_another(void)
{
    char path[32], name[16], physical[16];
    int number, unlock = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY);

    if (ioctl(master, TIOCGPTN, &number) || ioctl(master, TIOCSPTLCK, &unlock) || setsid() < 0)
        return 10;
    snprintf(path, sizeof(path), "/dev/pts/%d", number);
    snprintf(physical, sizeof(physical), "_FTA%d:", number);
    snprintf(name, sizeof(name), "FTA%d:", number);
    if (open(path, O_RDWR) < 0)
        return 11;
    return !is_terminal(JPI$_TERMINAL, name) + !is_terminal(JPI$_TT_PHYDEVNAM, physical);
}

static void terminals(void)
{
    ok(is_terminal(JPI$_TERMINAL, "OPA0:"), "TERMINAL: the console");
    ok(is_terminal(JPI$_TT_PHYDEVNAM, "_OPA0:"), "TT_PHYDEVNAM");
    is(in_child(without_terminal), 0, "a session of its own has none");
    is(in_child(with_another), 0, "until it opens one");
}

static void account(void)
{
    unsigned both = 0, in_user = 0, in_kernel = 0;
    ILE3 times[] = {{4, JPI$_CPUTIM, &both, 0},
                    {4, JPI$_USERTIM, &in_user, 0},
                    {4, JPI$_KRNLTIM, &in_kernel, 0},
                    {0, 0, 0, 0}};
    uint64_t now = (uint64_t)time(0), before, io;
    unsigned short chan;
    char user[16];
    unsigned short n;
    ILE3 list[] = {{12, JPI$_USERNAME, user, &n}, {0, 0, 0, 0}};
    int fd = open("/dev/null", O_WRONLY);

    is(jpi(JPI$_CURPRIV), me().privileges, "CURPRIV");
    is(got, 8, "CURPRIV is a quadword");
    is(jpi(JPI$_AUTHPRIV), me().authorised, "AUTHPRIV");
    is(jpi(JPI$_PROCPRIV), me().privileges, "PROCPRIV is the permanent mask");
    is(jpi(JPI$_IMAGPRIV), 0, "IMAGPRIV is empty");
    is(jpi(JPI$_GRP), 0, "GRP");
    is(jpi(JPI$_MEM), 0, "MEM");
    is(jpi(JPI$_MODE), JPI$K_INTERACTIVE, "MODE: it has a terminal");
    is(jpi(JPI$_JOBTYPE), JPI$K_LOCAL, "JOBTYPE");
    is(jpi(JPI$_KT_COUNT), 1, "KT_COUNT");
    is(jpi(JPI$_INITIAL_THREAD_PID), 1, "INITIAL_THREAD_PID");
    is(jpi(JPI$_PRIB), jpi(JPI$_PRI), "PRIB");
    is(jpi(JPI$_FILLM), (uint64_t)sysconf(_SC_OPEN_MAX), "FILLM");
    is(jpi(JPI$_DIRIO), 0, "DIRIO: no disk was used");
    files();
    terminals();
    is(jpi(JPI$_ASTEN), 8, "ASTEN: of user mode");
    is(jpi(JPI$_ASTACT), 0, "ASTACT: no AST routine runs");
    sys$setef(5);
    sys$setef(40);
    is(jpi(JPI$_EFCS) & 1 << 5, 1 << 5, "EFCS");
    is(jpi(JPI$_EFCU) & 1 << 8, 1 << 8, "EFCU");
    is(jpi(JPI$_CPULIM), 0, "CPULIM: there is none");
    sys$crembx(0, &chan);
    io = jpi(JPI$_BUFIO);
    for (int i = 0; i < 20; i++)
        sys$qiow(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, 0, 0, 0, "x", 1, 0, 0, 0, 0);
    io = jpi(JPI$_BUFIO) - io;
    ok(io >= 20 && io < 25, "BUFIO counts 20 writes to a mailbox, and those of comments");
    sys$dassgn(chan);
    io = jpi(JPI$_BUFIO);
    for (int i = 0; i < 10; i++)
        if (write(fd, "x", 1) != 1)
            bail_out("/dev/null");
    is(jpi(JPI$_BUFIO) - io, 10, "BUFIO counts ten writes");
    close(fd);
    before = jpi(JPI$_CPUTIM);
    burn();
    ok(jpi(JPI$_CPUTIM) - before >= 9, "CPUTIM counts units of 10 ms");
    is(sys$getjpiw(EFN$C_ENF, 0, 0, times, 0, 0, 0), SS$_NORMAL, "three times at once");
    ok(both - in_user - in_kernel <= 1,
       "CPUTIM is the sum of USERTIM and KRNLTIM, whose rests are lost");
    is(jpi(JPI$_EXECTIM) + jpi(JPI$_SUPRTIM), 0, "no time in modes that do not exist");
    ok(seconds_of(jpi(JPI$_LOGINTIM)) + 600 > now && seconds_of(jpi(JPI$_LOGINTIM)) <= now + 1,
       "LOGINTIM is some seconds ago");
    ok(sys$getjpiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 12 &&
           memcmp(user, "SYSTEM      ", 12) == 0,
       "USERNAME of user 0 is SYSTEM, with blanks");
}

static int as_user(void)
{
    char user[12];
    ILE3 list[] = {{12, JPI$_USERNAME, user, 0}, {0, 0, 0, 0}};
    int wrong = become((struct mega_creds){0300, 0177777, PRV$M_TMPMBX,
                                           PRV$M_TMPMBX | PRV$M_SECURITY, 0}) != SS$_NORMAL;

    wrong += !status_is(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_NORMAL);
    wrong += memcmp(user, "U65535      ", 12) != 0;
    wrong += jpi(JPI$_GRP) != 0300 || jpi(JPI$_MEM) != 0177777;
    wrong += jpi(JPI$_CURPRIV) != PRV$M_TMPMBX;
    return wrong + (jpi(JPI$_AUTHPRIV) != (PRV$M_TMPMBX | PRV$M_SECURITY));
}

/* JPI$_CHAIN leads to another list; what follows it is not read. */
static void chains(void)
{
    uint64_t pid = 0, mem = 77;
    ILEB_64 wide[] = {{1, JPI$_PID, -1, 8, &pid, 0}, {0, 0, 0, 0, 0, 0}};
    ILE3 list[] = {{sizeof(value), JPI$_UIC, &value, 0},
                   {0, (unsigned short)JPI$_CHAIN, wide, 0},
                   {sizeof(mem), JPI$_MEM, &mem, 0},
                   {0, 0, 0, 0}};
    ILE3 endless[] = {{0, (unsigned short)JPI$_CHAIN, endless, 0}, {0, 0, 0, 0}};

    is(in_child(as_user), 0, "another user has its number as its name, and its own masks");
    value = 77;
    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_NORMAL, "a chained list is followed");
    is(value, 0, "the item before the chain is answered");
    is(pid, 1, "so is that of the chained list, which has the other form");
    is(mem, 77, "the item after the chain is not");
    is_status(sys$getjpiw(0, 0, 0, endless, 0, 0, 0), SS$_BADPARAM,
              "a list that leads back to itself is refused");
    list[1].ile3$ps_bufaddr = (void *)8;
    is_status(sys$getjpiw(0, 0, 0, list, 0, 0, 0), SS$_ACCVIO,
              "a chain to a list that cannot be read is refused");
    list[1].ile3$w_code = 0xFFFF;
    is_status(sys$getsyiw(0, 0, 0, list + 1, 0, 0, 0), SS$_BADITMCOD, "$GETSYI knows no chains");
}

static void processors(void)
{
    char name[16] = {0};
    unsigned short n;
    ILE3 list[] = {{15, SYI$_NODENAME, name, &n}, {0, 0, 0, 0}};
    uint64_t online = syi(SYI$_ACTIVE_CPU_MASK);
    struct mega_rad r;
    uint64_t cpus = 0;

    for (int i = 0; mega$info(MEGA_INFO_RAD, i, &r, sizeof(r)) == SS$_NORMAL; i++)
        cpus |= r.cpus;
    is(online, cpus, "ACTIVE_CPU_MASK has the CPUs of all domains");
    is(got, 8, "ACTIVE_CPU_MASK is a quadword");
    is(syi(SYI$_ACTIVECPU_CNT), __builtin_popcountl(online), "ACTIVECPU_CNT");
    is(syi(SYI$_AVAIL_CPU_MASK) & online, online, "AVAIL_CPU_MASK contains them");
    is(syi(SYI$_AVAILCPU_CNT), __builtin_popcountl(syi(SYI$_AVAIL_CPU_MASK)), "AVAILCPU_CNT");
    is(syi(SYI$_POTENTIAL_CPU_MASK), syi(SYI$_AVAIL_CPU_MASK), "POTENTIAL_CPU_MASK");
    is(syi(SYI$_POTENTIALCPU_CNT), syi(SYI$_AVAILCPU_CNT), "POTENTIALCPU_CNT");
    is(syi(SYI$_CPUCONF), syi(SYI$_AVAIL_CPU_MASK), "CPUCONF");
    ok(online >> syi(SYI$_PRIMARY_CPUID) & 1, "PRIMARY_CPUID");
    is(syi(SYI$_MAX_CPUS), 4, "MAX_CPUS");
    is(syi(SYI$_ARCH_TYPE), 2, "ARCH_TYPE");
    is(syi(SYI$_SYSTYPE), 34, "SYSTYPE: Tsunami");
    is(syi(SYI$_CPUTYPE), 11, "CPUTYPE: 21264A");
    is(syi(SYI$_MAXSYSGROUP), 8, "MAXSYSGROUP");
    is(syi(SYI$_CLUSTER_MEMBER), 0, "CLUSTER_MEMBER");
    is(got, 1, "CLUSTER_MEMBER is a byte");
    is(syi(SYI$_NODE_CSID), 0, "NODE_CSID");
    is(syi(SYI$_PAGEFILE_PAGE) + syi(SYI$_PAGEFILE_FREE) + syi(SYI$_SWAPFILE_PAGE) +
           syi(SYI$_SWAPFILE_FREE),
       0, "there are no page files");
    ok(seconds_of(syi(SYI$_BOOTTIME)) <= seconds_of(jpi(JPI$_LOGINTIM)) + 1,
       "BOOTTIME is before the first process");
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 8 &&
           memcmp(name, "MEGALITH", 9) == 0,
       "NODENAME");
    list[0].ile3$w_code = SYI$_ARCH_NAME;
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 5 && memcmp(name, "Alpha", 6) == 0,
       "ARCH_NAME");
    list[0].ile3$w_code = SYI$_HW_NAME;
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 15 &&
           memcmp(name, "Tsunami Clipper", 16) == 0,
       "HW_NAME is what /proc/cpuinfo says");
    list[0].ile3$w_code = SYI$_VERSION;
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 8 &&
           memcmp(name, "V7.1    ", 9) == 0,
       "VERSION is that of the services, in eight characters");
    list[0].ile3$w_code = SYI$_NODE_SWVERS;
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 4 && memcmp(name, "V7.1", 5) == 0,
       "NODE_SWVERS");
    list[0].ile3$w_code = SYI$_NODE_SWTYPE;
    ok(sys$getsyiw(0, 0, 0, list, 0, 0, 0) == SS$_NORMAL && n == 4 && memcmp(name, "VMS ", 5) == 0,
       "NODE_SWTYPE");
}

/* ---- other processes ---- */

/* A child that waits in each way. */
static void states(void)
{
    static const struct {
        int state;
        const char *name;
    } ways[] = {{SCH$C_HIB, "hibernates"},
                {SCH$C_CEF, "waits for a common event flag"},
                {SCH$C_LEF, "waits for a local one"},
                {SCH$C_MWAIT, "waits for room in a mailbox"},
                {SCH$C_SUSP, "is suspended"}};
    struct dsc$descriptor_s cluster = {6, DSC$K_DTYPE_T, DSC$K_CLASS_S, "STATES"};
    int status;

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        unsigned short chan;
        pid_t child;

        fflush(stdout);
        if ((child = fork()) == 0) {
            switch (ways[i].state) {
            case SCH$C_HIB:
                sys$hiber();
                break;
            case SCH$C_CEF:
                sys$ascefc(70, &cluster);
                sys$waitfr(70);
                break;
            case SCH$C_LEF:
                sys$waitfr(20);
                break;
            case SCH$C_MWAIT:
                sys$crembx(0, &chan, 100, 100);
                while (sys$qio(EFN$C_ENF, chan, IO$_WRITEVBLK | IO$M_NOW, 0, 0, 0, "x", 1, 0, 0, 0,
                               0) == SS$_NORMAL)
                    ;
                break;
            default:
                pause();
            }
            _exit(1);
        }
        if (ways[i].state == SCH$C_SUSP)
            kill(child, SIGSTOP);
        value = 0;
        for (int n = 0; n < 1000 && value != (uint64_t)ways[i].state; n++) {
            usleep(10000);
            jpi_of((unsigned)child, JPI$_STATE);
        }
        is(value, ways[i].state, "a process that %s", ways[i].name);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
}

static void others(void)
{
    struct dsc$descriptor_s name = {11, DSC$K_DTYPE_T, DSC$K_CLASS_S, "information"};
    ILE3 list[] = {{sizeof(value), JPI$_PID, &value, 0}, {0, 0, 0, 0}};
    int release, seen = 0, status;
    pid_t child = waiting_child(0, &release);
    unsigned pid = 0;

    is_status(sys$getjpiw(0, &pid, 0, list, 0, 0, 0), SS$_NORMAL, "process number 0 is the caller");
    is(pid, 1, "the caller's number is returned");
    is_status(jpi_of((unsigned)child, JPI$_OWNER), SS$_NORMAL, "a process may ask about its child");
    is(value, 1, "the owner of the child is the caller");
    is_status(jpi_of((unsigned)child, JPI$_STATE), SS$_NORMAL,
              "the state of the child is returned");
    /* The child may have closed the first pipe without waiting for the other one yet. */
    for (int i = 0; i < 1000 && value != SCH$C_LEF; i++) {
        usleep(10000);
        jpi_of((unsigned)child, JPI$_STATE);
    }
    is(value, SCH$C_LEF, "the child waits for an event");
    states();
    is_status(jpi_of((unsigned)child, JPI$_P0_FIRST_FREE_VA_64), SS$_NORMAL,
              "an item of the child's P0 is returned");
    is(value, PAGE, "P0 of the child is empty");
    pid = 0;
    is_status(sys$getjpiw(0, &pid, &name, list, 0, 0, 0), SS$_NORMAL,
              "a process can be given by its name");
    is(pid, 1, "the first process of that name in the group is found");
    name.dsc$w_length = 10;
    pid = 0;
    is_status(sys$getjpiw(0, &pid, &name, list, 0, 0, 0), SS$_NONEXPR,
              "a prefix of a name is not the name");
    is(pid, 0, "no process number is returned then");
    name.dsc$w_length = 16;
    is_status(sys$getjpiw(0, 0, &name, list, 0, 0, 0), SS$_IVLOGNAM,
              "a process name of 16 characters is refused");
    name.dsc$w_length = 0;
    is_status(sys$getjpiw(0, 0, &name, list, 0, 0, 0), SS$_IVLOGNAM,
              "an empty process name is refused");
    is_status(jpi_of(32767, JPI$_PID), SS$_NONEXPR, "an unused process number is refused");

    for (pid = -1u; (status = sys$getjpiw(0, &pid, 0, list, 0, 0, 0)) == SS$_NORMAL; seen++)
        ok(seen ? value == (uint64_t)child : value == 1, "the search finds process %lu", value);
    is_status(status, SS$_NOMOREPROC, "the search ends after the last process");
    is(seen, 2, "the search has found two processes");
    is_status(sys$getjpiw(0, &pid, 0, list, 0, 0, 0), SS$_NOMOREPROC,
              "another call returns the same");
    is(end_child(child, release), 0, "the child ends");
    is_status(jpi_of((unsigned)child, JPI$_PID), SS$_NONEXPR, "the child is not found any more");
}

static pid_t near, far;

/* With a UIC of group 300 and these privileges: are the results for a process of the group and for
 * one of another group as expected? */
static int ask_as(uint64_t prv, int of_group, int of_other)
{
    int wrong = become((struct mega_creds){0300, 1, prv, prv, 0}) != SS$_NORMAL;

    wrong += !status_is(jpi_of((unsigned)near, JPI$_PID), of_group);
    return wrong + !status_is(jpi_of((unsigned)far, JPI$_PID), of_other);
}

static int ask_without(void) { return ask_as(0, SS$_NOPRIV, SS$_NOPRIV); }
static int ask_with_group(void) { return ask_as(PRV$M_GROUP, SS$_NORMAL, SS$_NOPRIV); }
static int ask_with_world(void) { return ask_as(PRV$M_WORLD, SS$_NORMAL, SS$_NORMAL); }

/* A process of the same UIC needs no privilege. A search skips processes that the caller may not
 * ask about. */
static int ask_as_twin(void)
{
    int wrong = become((struct mega_creds){0300, 2, 0, 0, 0}) != SS$_NORMAL;
    ILE3 list[] = {{sizeof(value), JPI$_PID, &value, 0}, {0, 0, 0, 0}};
    unsigned pid = -1u, found = 0, refused = 0;
    int status;

    wrong += !status_is(jpi_of((unsigned)near, JPI$_PID), SS$_NORMAL);
    while ((status = sys$getjpiw(0, &pid, 0, list, 0, 0, 0)) != SS$_NOMOREPROC) {
        found += status == SS$_NORMAL && (value == (uint64_t)near || value == (uint64_t)getpid());
        refused += status == SS$_NOPRIV;
        if (found + refused > 100)
            return 99;
    }
    return wrong + (found != 2) + (refused != 2);
}

static void privileges(void)
{
    const struct mega_creds a = {0300, 2, 0, 0, 0}, b = {0301, 2, 0, 0, 0};
    int release_near, release_far;

    near = waiting_child(&a, &release_near);
    far = waiting_child(&b, &release_far);
    is_status(jpi_of((unsigned)far, JPI$_UIC), SS$_NORMAL, "process 1 may ask about any process");
    is(value, 0301 << 16 | 2, "UIC: group and member");
    is(in_child(ask_without), 0, "a process of another UIC needs a privilege to be asked about");
    is(in_child(ask_with_group), 0, "GROUP is sufficient for a process of the same group");
    is(in_child(ask_with_world), 0, "WORLD is sufficient for any process");
    is(in_child(ask_as_twin), 0, "a process of the same UIC needs no privilege");
    end_child(far, release_far);
    end_child(near, release_near);
}

/* ---- items of $GETSYI ---- */

static int64_t parameter(const char *name)
{
    struct mega_param p;

    for (int i = 0; mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p)) == SS$_NORMAL; i++)
        if (strcmp(p.name, name) == 0)
            return p.value;
    return INT64_MIN;
}

static void system_items(void)
{
    static const struct {
        const char *name;
        int code;
    } parameters[] = {
        {"GBLSECTIONS", SYI$_GBLSECTIONS},   {"GBLPAGES", SYI$_GBLPAGES},
        {"GBLPAGFIL", SYI$_GBLPAGFIL},       {"NPAGEDYN", SYI$_NPAGEDYN},
        {"NPAGEVIR", SYI$_NPAGEVIR},         {"PAGEDYN", SYI$_PAGEDYN},
        {"ZERO_LIST_HI", SYI$_ZERO_LIST_HI}, {"PHYSICAL_MEMORY", SYI$_PHYSICAL_MEMORY},
        {"LNMSHASHTBL", SYI$_LNMSHASHTBL},   {"LNMPHASHTBL", SYI$_LNMPHASHTBL},
        {"POOLCHECK", SYI$_POOLCHECK},       {"MAXBOBMEM", SYI$_MAXBOBMEM},
        {"FREELIM", SYI$_FREELIM},           {"FREEGOAL", SYI$_FREEGOAL},
        {"CHANNELCNT", SYI$_CHANNELCNT},     {"DEFMBXBUFQUO", SYI$_DEFMBXBUFQUO},
        {"DEFMBXMXMSG", SYI$_DEFMBXMXMSG},   {"PQL_DASTLM", SYI$_PQL_DASTLM},
        {"PQL_DBIOLM", SYI$_PQL_DBIOLM},     {"PQL_DBYTLM", SYI$_PQL_DBYTLM},
        {"PQL_DPRCLM", SYI$_PQL_DPRCLM},     {"PQL_DTQELM", SYI$_PQL_DTQELM},
        {"PQL_DJTQUOTA", SYI$_PQL_DJTQUOTA}};
    struct mega_memory m;
    char below;

    for (unsigned i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
        is((uint32_t)syi(parameters[i].code), (uint32_t)parameter(parameters[i].name), "%s",
           parameters[i].name);
    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    is(syi(SYI$_MEMSIZE), (long)m.total, "MEMSIZE");
    is(syi(SYI$_PAGE_SIZE), (long)m.page_size, "PAGE_SIZE");
    is(syi(SYI$_PTES_PER_PAGE), (long)m.page_size / 8, "PTES_PER_PAGE");
    ok(syi(SYI$_MAXPROCESSCNT) > 1000, "MAXPROCESSCNT");
    ok((uint64_t)&below < syi(SYI$_PROCESS_SPACE_LIMIT) && got == 8, "PROCESS_SPACE_LIMIT");
    ok(mmap((void *)(syi(SYI$_PROCESS_SPACE_LIMIT) - PAGE), PAGE, PROT_READ,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED,
       "the page below the highest address of a process can be mapped");
    ok(mmap((void *)syi(SYI$_PROCESS_SPACE_LIMIT), PAGE, PROT_READ,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED,
       "the page at that address cannot be mapped");
    munmap((void *)(syi(SYI$_PROCESS_SPACE_LIMIT) - PAGE), PAGE);
    is(syi(SYI$_PT_BASE), 0xFFFFFFFE00000000L, "PT_BASE is the start of page-table space");
    is(syi(SYI$_SHARED_VA_PTES), 0xFFFFFFFF80000000L, "SHARED_VA_PTES: level-1 entry 768");
}

/* This program runs with two memory domains (RADS=2), each with CPUs and pages of its own. */
static void domains(void)
{
    unsigned cpus[20] = {0}, pages[20] = {0}, online = 0, n;
    unsigned short cpus_length, pages_length;
    ILE3 list[] = {{sizeof(cpus), SYI$_RAD_CPUS, cpus, &cpus_length},
                   {sizeof(pages), SYI$_RAD_MEMSIZE, pages, &pages_length},
                   {0, 0, 0, 0}};
    struct mega_cpu cpu;
    struct mega_rad rad;

    is(syi(SYI$_RAD_MAX_RADS), parameter("RADS"), "RAD_MAX_RADS");
    is_status(sys$getsyiw(0, 0, 0, list, 0, 0, 0), SS$_NORMAL,
              "the lists of CPUs and of pages are returned");
    for (int i = 0; i < 4; i++)
        online += mega$info(MEGA_INFO_CPU, i, &cpu, sizeof(cpu)) == SS$_NORMAL && cpu.online;
    is(cpus_length, (online + 1) * 8, "RAD_CPUS has a pair for each CPU and one at the end");
    for (n = 0; n < online; n++)
        ok(mega$info(MEGA_INFO_RAD, cpus[2 * n], &rad, sizeof(rad)) == SS$_NORMAL &&
               (rad.cpus >> cpus[2 * n + 1] & 1),
           "CPU %u belongs to domain %u", cpus[2 * n + 1], cpus[2 * n]);
    ok(cpus[2 * n] == -1u && cpus[2 * n + 1] == -1u, "the last pair of RAD_CPUS is -1, -1");
    is(pages_length, 3 * 8, "RAD_MEMSIZE has pairs for two domains and one at the end");
    for (n = 0; n < 2; n++) {
        mega$info(MEGA_INFO_RAD, n, &rad, sizeof(rad));
        ok(pages[2 * n] == n && pages[2 * n + 1] > 1000 &&
               pages[2 * n + 1] <= rad.end_pfn - rad.first_pfn,
           "domain %u has %u pages", n, pages[2 * n + 1]);
    }
    is(pages[1] + pages[3], syi(SYI$_MEMSIZE), "the pages of both domains add up to MEMSIZE");
    ok(pages[4] == -1u && pages[5] == -1u, "the last pair of RAD_MEMSIZE is -1, -1");
}

static void section_items(void)
{
    uint64_t sections = syi(SYI$_USED_GBLSECTCNT), pages = syi(SYI$_USED_GBLPAGCNT);
    uint64_t free_sections = syi(SYI$_FREE_GBLSECTS), free_pages = syi(SYI$_FREE_GBLPAGES);
    $DESCRIPTOR64(name, "COUNTED");

    is(sections + free_sections, parameter("GBLSECTIONS"),
       "FREE_GBLSECTS and USED_GBLSECTCNT add up to GBLSECTIONS");
    is(pages + free_pages, parameter("GBLPAGES"),
       "FREE_GBLPAGES and USED_GBLPAGCNT add up to GBLPAGES");
    is(syi(SYI$_CONTIG_GBLPAGES), free_pages, "CONTIG_GBLPAGES");
    is_status(sys$create_gdzro(&name, 0, 0, 16 * MIB, 0, 0), SS$_CREATED_SHPT,
              "a section is created");
    is(syi(SYI$_USED_GBLSECTCNT), sections + 1, "USED_GBLSECTCNT counts it");
    is(syi(SYI$_USED_GBLPAGCNT), pages + 16 * MIB / PAGE + 2,
       "USED_GBLPAGCNT counts its pages and two more");
    is(syi(SYI$_FREE_GBLPAGES), free_pages - 16 * MIB / PAGE - 2,
       "FREE_GBLPAGES falls by the same number");
    is_status(sys$dgblsc(0, &name, 0), SS$_NORMAL, "deleted");
    is(syi(SYI$_USED_GBLSECTCNT), sections, "USED_GBLSECTCNT falls when the section is deleted");
    is(syi(SYI$_USED_GBLPAGCNT), pages, "USED_GBLPAGCNT falls when the section is deleted");
    ok(syi(SYI$_USED_GBLSECTMAX) >= sections + 1, "USED_GBLSECTMAX");
    ok(syi(SYI$_USED_GBLPAGMAX) >= pages + 16 * MIB / PAGE + 2, "USED_GBLPAGMAX");
}

static void nodes(void)
{
    ILE3 list[] = {{sizeof(value), SYI$_PAGE_SIZE, &value, 0}, {0, 0, 0, 0}};
    struct dsc$descriptor_s name = {8, DSC$K_DTYPE_T, DSC$K_CLASS_S, "MEGALITH"};
    unsigned csid = 0;
    IOSB iosb = {0};

    is_status(sys$getsyi(0, &csid, &name, list, &iosb, 0, 0), SS$_NORMAL,
              "the node can be given by its name");
    is(iosb.iosb$w_status, SS$_NORMAL, "the status block contains the status");
    name.dsc$a_pointer = "MONOLITH";
    is_status(sys$getsyiw(0, 0, &name, list, 0, 0, 0), SS$_NOSUCHNODE,
              "another node name is refused");
    csid = 1;
    is_status(sys$getsyiw(0, &csid, 0, list, 0, 0, 0), SS$_NOSUCHNODE,
              "another node number is refused");
    name.dsc$w_length = 16;
    is_status(sys$getsyiw(0, 0, &name, list, 0, 0, 0), SS$_IVLOGNAM,
              "a node name of 16 characters is refused");
}

/* ---- calls that are refused ---- */

static void refused(void)
{
    ILE3 jpi_list[] = {{8, JPI$_PID, &value, 0}, {8, JPI$_WSSIZE, &value, 0}, {0, 0, 0, 0}};
    ILE3 syi_list[] = {{8, SYI$_PAGE_SIZE, &value, 0}, {8, SYI$_CPU, &value, 0}, {0, 0, 0, 0}};
    unsigned flags = JPI$M_NO_TARGET_INSWAP | JPI$M_THREAD, pid = 1;
    ILE3 with_flags[] = {{4, (unsigned short)JPI$_GETJPI_CONTROL_FLAGS, &flags, 0},
                         {8, JPI$_PID, &value, 0},
                         {0, 0, 0, 0}};
    char *edge = mmap(0, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ILE3 *many = malloc(1026 * sizeof(*many));

    munmap(edge + PAGE, PAGE);
    value = 77;
    is_status(sys$getjpiw(0, 0, 0, jpi_list, 0, 0, 0), SS$_BADITMCOD,
              "$GETJPI refuses WSSIZE, because there are no working sets");
    is_status(sys$getsyiw(0, 0, 0, syi_list, 0, 0, 0), SS$_BADITMCOD, "$GETSYI refuses CPU");
    is(value, 77, "a refused call returns no item");
    is_status(sys$getjpiw(0, &pid, 0, (void *)8, 0, 0, 0), SS$_ACCVIO,
              "$GETJPI refuses a list that cannot be read");
    is_status(sys$getsyiw(0, 0, 0, 0, 0, 0, 0), SS$_ACCVIO, "$GETSYI refuses a null list");
    is_status(sys$getjpiw(0, (unsigned *)8, 0, jpi_list, 0, 0, 0), SS$_ACCVIO,
              "a process number that cannot be read is refused");
    is_status(sys$getjpiw(0, 0, 0, jpi_list, (IOSB *)8, 0, 0), SS$_ACCVIO,
              "a status block that cannot be written is refused");
    is_status(sys$getjpiw(0, 0, (void *)8, jpi_list, 0, 0, 0), SS$_ACCVIO,
              "a process name that cannot be read is refused");
    is_status(sys$getjpiw(64, 0, 0, jpi_list, 0, 0, 0), SS$_UNASEFC,
              "a common event flag without a cluster is refused");
    is_status(sys$getsyiw(129, 0, 0, syi_list, 0, 0, 0), SS$_ILLEFC,
              "an event flag that does not exist is refused");
    jpi_list[1] = (ILE3){8, JPI$_UIC, (void *)8, 0};
    is_status(sys$getjpiw(0, 0, 0, jpi_list, 0, 0, 0), SS$_ACCVIO,
              "a buffer that cannot be written is refused");
    jpi_list[1] = (ILE3){8, JPI$_UIC, &value, (unsigned short *)8};
    is_status(sys$getjpiw(0, 0, 0, jpi_list, 0, 0, 0), SS$_ACCVIO,
              "a return length that cannot be written is refused");
    is(value, 77, "a refused call writes nothing");

    is_status(sys$getjpiw(0, 0, 0, with_flags, 0, 0, 0), SS$_NORMAL, "control flags are accepted");
    is(value, 1, "the item after the control flags is returned");
    flags = 16;
    is_status(sys$getjpiw(0, 0, 0, with_flags, 0, 0, 0), SS$_BADPARAM,
              "an unknown control flag is refused");
    with_flags[0].ile3$w_length = 2;
    is_status(sys$getjpiw(0, 0, 0, with_flags, 0, 0, 0), SS$_BADPARAM,
              "control flags of two bytes are refused");

    /* Four bytes of 0 end a list. What follows them is not read. */
    memcpy(edge + PAGE - 28, &(ILE3){8, JPI$_PID, &value, 0}, 24);
    is_status(sys$getjpiw(0, 0, 0, edge + PAGE - 28, 0, 0, 0), SS$_NORMAL,
              "the end of a list may lie at the end of the mapped memory");
    is_status(sys$getjpiw(0, 0, 0, edge + PAGE - 24, 0, 0, 0), SS$_NORMAL,
              "a list that consists of its end may lie there, too");
    memcpy(edge + PAGE - 24, &(ILE3){8, JPI$_PID, &value, 0}, 24);
    is_status(sys$getjpiw(0, 0, 0, edge + PAGE - 24, 0, 0, 0), SS$_ACCVIO,
              "a list that extends into an unmapped page is refused");
    for (unsigned k = 0; k < 1025; k++)
        many[k] = (ILE3){8, SYI$_PAGE_SIZE, &value, 0};
    many[1024].ile3$w_length = many[1024].ile3$w_code = 0;
    is_status(sys$getsyiw(0, 0, 0, many, 0, 0, 0), SS$_NORMAL, "1,024 items are accepted");
    many[1024] = many[0];
    memset(&many[1025], 0, sizeof(many[1025]));
    is_status(sys$getsyiw(0, 0, 0, many, 0, 0, 0), SS$_BADPARAM, "1,025 items are refused");
    free(many);
}

int main(void)
{
    about_me();
    scheduling();
    free_addresses();
    names();
    wide_lists();
    account();
    chains();
    processors();
    others();
    privileges();
    system_items();
    domains();
    section_items();
    nodes();
    refused();
    return tap_done();
}
