/*
 * Disks by the services of OpenVMS. tests/test_disks.py attaches them:
 *
 *   disk_qio          /dev/vda1 of 4 MiB, /dev/vdb read-only: channels, reads and writes, hostile
 *                     arguments, rights
 *   disk_qio slow     vda takes a second or so for each request: $CANCEL, $DASSGN, SIGKILL
 *   disk_qio error    every read of vda fails
 *   disk_qio half     a read of sector 300 of vda fails
 */
#include <dcdef.h>
#include <descrip.h>
#include <devdef.h>
#include <dvidef.h>
#include <efndef.h>
#include <iledef.h>
#include <iodef.h>
#include <jpidef.h>
#include <lnmdef.h>
#include <prvdef.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#include <megalith/failure.h>
#include <megalith/info.h>

#define SECTOR 512u
#define PAGE   8192u
#define DEPTH  64u
#define BLOCKS (4u << 20 >> 9) /* of vda1 */

static const char text[SECTOR + 1] = "It begins with its second letter.";
static uint8_t buffer[DEPTH * PAGE] __attribute__((aligned(8192)));
static uint8_t model[DEPTH * PAGE] __attribute__((aligned(8192)));
static struct _iosb iosb[DEPTH];
static volatile unsigned asts, seen; /* seen: whose AST was delivered, by bits */

static void on_ast(unsigned __int64 parameter)
{
    for (unsigned k = 0; k < 8; k++)
        seen |= (parameter == (unsigned __int64)&iosb[k]) << k;
    asts++;
}

static int assign(const char *name, unsigned short *chan, unsigned flags)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return sys$assign(&d, chan, 0, 0, flags);
}

/* One request, waited for: the service's status, or that of the block. */
static int wait_for(unsigned short chan, unsigned func, void *p, unsigned n, unsigned block)
{
    int status = sys$qiow(EFN$C_ENF, chan, func, &iosb[0], 0, 0, p, n, block, 0, 0, 0);

    return status & 1 ? iosb[0].iosb$w_status : status;
}

static unsigned count_of(const struct _iosb *b)
{
    uint32_t n;

    memcpy(&n, (const char *)b + 2, sizeof(n));
    return n;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1103515245u + 12345u;
        p[k] = (uint8_t)(seed >> 16);
    }
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* ---- channels ---- */

static void test_channels(void)
{
    unsigned class = 0, chars = 0;
    unsigned short chan, other;
    char name[32] = "";
    ILE3 items[] = {{sizeof(class), DVI$_DEVCLASS, &class, 0},
                    {sizeof(chars), DVI$_DEVCHAR, &chars, 0},
                    {sizeof(name), DVI$_DEVNAM, name, 0},
                    {0, 0, 0, 0}};
    $DESCRIPTOR(table, "LNM$PROCESS");
    $DESCRIPTOR(logical, "WORK");
    ILE3 to[] = {{6, LNM$_STRING, "_VDA1:", 0}, {0, 0, 0, 0}};

    is(assign("VDA2:", &chan, 0), SS$_NOSUCHDEV, "a disk that is not there");
    is(assign("vda1", &chan, 0), SS$_NORMAL, "a channel to a partition");
    is(sys$getdviw(EFN$C_ENF, chan, 0, items, 0, 0, 0, 0), SS$_NORMAL, "which can be asked");
    ok(class == DC$_DISK && (chars & (DEV$M_IDV | DEV$M_ODV | DEV$M_RND)) &&
           !strcmp(name, "_VDA1:"),
       "is a disk (%s)", name);
    is(sys$crelnm(0, &table, &logical, 0, to), SS$_NORMAL, "a logical name");
    is(assign("WORK:", &other, 0), SS$_NORMAL, "leads to it");
    is(sys$dassgn(other), SS$_NORMAL, "the channel is deassigned");
    is(wait_for(other, IO$_READLBLK, buffer, SECTOR, 0), SS$_NOPRIV, "and used no more");
    is(sys$cancel(chan), SS$_NORMAL, "nothing is cancelled");
    sys$dassgn(chan);
}

/* DIRIO of the caller. */
static unsigned direct_io(void)
{
    unsigned n = 0;
    ILE3 items[] = {{sizeof(n), JPI$_DIRIO, &n, 0}, {0, 0, 0, 0}};

    return sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0) == SS$_NORMAL ? n : ~0u;
}

/* One request for each transfer that memory is used for as it is. */
static void test_counts(unsigned short chan)
{
    unsigned before = direct_io(), good = 0;

    for (unsigned k = 0; k < 10; k++)
        good += wait_for(chan, IO$_READLBLK, buffer, PAGE, 0) == SS$_NORMAL;
    is(good, 10, "ten reads");
    is(direct_io() - before, 10, "are ten of DIRIO");
    is(wait_for(chan, IO$_READLBLK, buffer, PAGE, BLOCKS), SS$_ILLBLKNUM, "a read behind the end");
    is(direct_io() - before, 10, "is none");
}

static void test_transfers(unsigned short chan)
{
    uint8_t *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned good = 0;

    fill(model, sizeof(model), 1);
    for (unsigned k = 0; k < DEPTH; k++)
        good += sys$qio(EFN$C_ENF, chan, IO$_WRITELBLK, &iosb[k], 0, 0, model + k * PAGE, PAGE,
                        k * (PAGE / SECTOR), 0, 0, 0) == SS$_NORMAL;
    is(good, DEPTH, "64 writes are under way");
    for (unsigned k = good = 0; k < DEPTH; k++) {
        sys$synch(EFN$C_ENF, &iosb[k]);
        good += iosb[k].iosb$w_status == SS$_NORMAL && count_of(&iosb[k]) == PAGE;
    }
    is(good, DEPTH, "and end");
    is(wait_for(chan, IO$_READLBLK, buffer, sizeof(buffer), 0), SS$_NORMAL, "a long read");
    is(count_of(&iosb[0]), sizeof(buffer), "of more bytes than 16 bits tell");
    ok(memcmp(buffer, model, sizeof(model)) == 0, "finds what was written");
    memset(buffer, 0, sizeof(buffer));
    is(wait_for(chan, IO$_READVBLK, buffer + 3, 20 * PAGE, 16), SS$_NORMAL,
       "a read to any address");
    ok(memcmp(buffer + 3, model + 16 * SECTOR, 20 * PAGE) == 0 && !buffer[2] &&
           !buffer[3 + 20 * PAGE],
       "is right");
    is(wait_for(chan, IO$_READPBLK, shared, PAGE, 0), SS$_NORMAL, "shared memory is read into");
    ok(memcmp(shared, model, PAGE) == 0, "through pages of the kernel");
    is(wait_for(chan, IO$_READLBLK, shared + 3, SECTOR, 16), SS$_NORMAL, "at any address, too");
    ok(memcmp(shared + 3, model + 16 * SECTOR, SECTOR) == 0, "it is right");
    is(wait_for(chan, IO$_WRITELBLK, (void *)(text + 1), SECTOR, 16), SS$_NORMAL,
       "a constant is written");
    ok(wait_for(chan, IO$_READLBLK, buffer, SECTOR, 16) == SS$_NORMAL &&
           memcmp(buffer, text + 1, SECTOR) == 0,
       "and read");
    asts = seen = 0;
    for (unsigned k = 0; k < 8; k++)
        sys$qio(1 + k, chan, IO$_READLBLK, &iosb[k], on_ast, (unsigned __int64)&iosb[k],
                buffer + k * PAGE, PAGE, k * (PAGE / SECTOR), 0, 0, 0);
    is(sys$wfland(1, 0x1FE), SS$_NORMAL, "event flags tell of the end");
    for (unsigned k = 0; k < 8; k++)
        sys$synch(1 + k, &iosb[k]);
    pause_ms(10);
    is(asts, 8, "and ASTs");
    is(seen, 0xFF, "one for each");
    is(wait_for(chan, IO$_READLBLK, buffer, 0, 0), SS$_NORMAL, "nothing is read");
    munmap(shared, PAGE);
}

static void test_arguments(unsigned short chan)
{
    unsigned short locked, half;

    is(wait_for(chan, IO$_READLBLK, buffer, 100, 0), SS$_IVBUFLEN, "a part of a block");
    is(wait_for(chan, IO$_READLBLK, buffer, SECTOR, BLOCKS), SS$_ILLBLKNUM, "behind the end");
    is(wait_for(chan, IO$_WRITELBLK, buffer, 2 * SECTOR, BLOCKS - 1), SS$_ILLBLKNUM, "across it");
    is(wait_for(chan, IO$_READLBLK, buffer, SECTOR, -1u), SS$_ILLBLKNUM, "far behind it");
    is(wait_for(chan, IO$_READLBLK, (void *)8, SECTOR, 0), SS$_ACCVIO, "memory that is not there");
    is(wait_for(chan, IO$_READLBLK, (void *)-8192l, SECTOR, 0), SS$_ACCVIO, "the kernel's");
    is(wait_for(chan, IO$_SENSEMODE, 0, 0, 0), SS$_ILLIOFUNC, "another function");
    is(wait_for(chan, IO$_READLBLK | IO$M_NOW, buffer, SECTOR, 0), SS$_ILLIOFUNC, "a modifier");
    is(assign("_VDB:", &locked, 0), SS$_NORMAL, "a disk that is locked");
    is(wait_for(locked, IO$_WRITELBLK, buffer, SECTOR, 0), SS$_WRITLCK, "is not written");
    is(wait_for(locked, IO$_READLBLK, buffer, SECTOR, 0), SS$_NORMAL, "but read");
    is(assign("VDA1", &half, 1), SS$_NORMAL, "a channel for reading");
    is(wait_for(half, IO$_WRITELBLK, buffer, SECTOR, 0), SS$_NOPRIV, "does not write");
    sys$dassgn(locked);
    sys$dassgn(half);
}

static void test_rights(unsigned short chan)
{
    unsigned __int64 all = PRV$M_LOG_IO | PRV$M_PHY_IO, one = PRV$M_PHY_IO;

    sys$setprv(0, &one, 0, 0);
    is(wait_for(chan, IO$_READLBLK, buffer, SECTOR, 0), SS$_NORMAL, "logical I/O takes LOG_IO");
    is(wait_for(chan, IO$_READPBLK, buffer, SECTOR, 0), SS$_NOPRIV, "physical I/O PHY_IO");
    sys$setprv(0, &all, 0, 0);
    is(wait_for(chan, IO$_READLBLK, buffer, SECTOR, 0), SS$_NOPRIV, "without it nothing is read");
    is(wait_for(chan, IO$_WRITEVBLK, buffer, SECTOR, 0), SS$_NOPRIV, "or written");
    sys$setprv(1, &all, 0, 0);
}

static void test_allocations(void)
{
    struct mega_failure f = {.fired = 1};
    bool right = true;

    for (unsigned long n = 1; f.fired && n < 60 && right; n++) {
        unsigned short chan = 0;
        int status;

        mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0);
        status = assign("VDA1", &chan, 0);
        if (status & 1)
            status = wait_for(chan, IO$_READLBLK, buffer, 20 * PAGE, 0);
        mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&f, 0, 0, 0, 0);
        right = status == (f.fired ? SS$_INSFMEM : SS$_NORMAL);
        if (!right)
            diag("failure %lu: %d", n, status);
        if (chan)
            sys$dassgn(chan);
    }
    ok(right && !f.fired, "each allocation fails in turn");
}

/* ---- what takes its time ---- */

/* More requests than the disk takes at a time; the last ones are cancelled. The status of the last
 * goes to the pipe. */
static void cancelled(int to)
{
    static struct _iosb block[DEPTH + 8];
    unsigned short chan, last = 0;

    assign("VDA", &chan, 0);
    for (unsigned k = 0; k < DEPTH + 8; k++)
        if (sys$qio(EFN$C_ENF, chan, IO$_READLBLK, &block[k], 0, 0, buffer + k % DEPTH * PAGE, PAGE,
                    0, 0, 0, 0) != SS$_NORMAL)
            _exit(1);
    if (sys$cancel(chan) == SS$_NORMAL) {
        sys$synch(EFN$C_ENF, &block[DEPTH + 7]);
        last = block[DEPTH + 7].iosb$w_status;
    }
    (void)!write(to, &last, sizeof(last));
    for (;;)
        pause();
}

/* exec waits for requests that move data from or to the memory of the old program. All pages are
   accounted for meanwhile. */
static void test_exec(void)
{
    struct mega_validate m;
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        unsigned short chan;

        assign("VDA", &chan, 0);
        for (unsigned k = 0; k < 3; k++)
            sys$qio(EFN$C_ENF, chan, IO$_READLBLK, &iosb[k], 0, 0, buffer + k * PAGE, PAGE, 0, 0, 0,
                    0);
        execl("/bin/true", "true", NULL);
        _exit(9);
    }
    pause_ms(500);
    is(waitpid(pid, &status, WNOHANG), pid, "exec does not wait for requests");
    is(status, 0, "the new program begins");
    is(mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m)), SS$_NORMAL, "memory is checked meanwhile");
    if (!ok(m.errors == 0 && !m.timed_out, "and is consistent"))
        diag("%s", m.text);
}

static int test_slow(void)
{
    unsigned short chan, last = 0;
    int status = -1, ends[2];
    struct timespec a, b;
    pid_t pid;

    if (pipe(ends))
        return 1;
    pid = fork();
    if (pid == 0)
        cancelled(ends[1]);
    (void)!read(ends[0], &last, sizeof(last));
    is(last, SS$_CANCEL, "what waits for the disk is cancelled at once");
    clock_gettime(CLOCK_MONOTONIC, &a);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    is(status, SIGKILL, "a process with 64 requests under way is killed");
    ok(b.tv_sec - a.tv_sec < 10, "and does not wait for them");
    assign("VDA", &chan, 0);
    sys$qio(EFN$C_ENF, chan, IO$_READLBLK, &iosb[0], 0, 0, buffer, 20 * PAGE, 0, 0, 0, 0);
    is(sys$dassgn(chan), SS$_NORMAL, "a channel is given back");
    is(iosb[0].iosb$w_status, SS$_NORMAL, "when its request has ended");
    test_exec();
    return tap_done();
}

static int test_error(void)
{
    uint8_t *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned short chan;

    assign("VDA", &chan, 0);
    is(wait_for(chan, IO$_READLBLK, buffer, PAGE, 0), SS$_PARITY, "a read fails");
    is(wait_for(chan, IO$_READLBLK, shared, PAGE, 0), SS$_PARITY, "to shared memory, too");
    is(wait_for(chan, IO$_WRITELBLK, buffer, PAGE, 0), SS$_NORMAL, "a write does not");
    return tap_done();
}

static int test_half(void)
{
    uint32_t n = 2 * (128u << 10);
    uint8_t *shared = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned short chan;

    assign("VDA", &chan, 0);
    is(wait_for(chan, IO$_READLBLK, shared, n, 0), SS$_PARITY, "a read fails half-way");
    is(count_of(&iosb[0]), n / 2, "and tells how far it came");
    return tap_done();
}

int main(int argc, char **argv)
{
    unsigned short chan;

    if (argc > 1 && !strcmp(argv[1], "slow"))
        return test_slow();
    if (argc > 1 && !strcmp(argv[1], "error"))
        return test_error();
    if (argc > 1 && !strcmp(argv[1], "half"))
        return test_half();
    test_channels();
    assign("VDA1", &chan, 0);
    test_counts(chan);
    test_transfers(chan);
    test_arguments(chan);
    test_rights(chan);
    test_allocations();
    is(sys$dassgn(chan), SS$_NORMAL, "the channel is given back");
    return tap_done();
}
