/*
 * Fast I/O and channels of sys$open (buffer_objects.c has what needs no disk). tests/test_disks.py
 * attaches the disks:
 *
 *   fast_io         /dev/vda1 of 4 MiB: all services, hostile arguments, rights, limits
 *   fast_io slow    vda takes a second or so for each request: what happens meanwhile
 *   fast_io silent  vda answers one read, then nothing: processes end all the same
 *   fast_io idle    vda, at the IDE controller, takes seconds for a read: the processor is idle
 *   fast_io cost    time outside the idle loop for each request: with scripts/run --icount and
 *                   one CPU, instructions
 */
#include <bufobjdef.h>
#include <descrip.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <iosadef.h>
#include <iosbdef.h>
#include <prvdef.h>
#include <pthread.h>
#include <rms.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

static uint8_t data[DEPTH * PAGE] __attribute__((aligned(8192)));
static uint8_t model[DEPTH * PAGE] __attribute__((aligned(8192)));
static IOSA iosa[PAGE / sizeof(IOSA)] __attribute__((aligned(8192)));
static GENERIC_64 data_object, iosa_object;
static FANDLE reads, writes, told; /* told: reads with an AST */
static unsigned short chan;
static volatile unsigned asts;
static volatile uint64_t seen; /* whose AST was delivered, by bits */

static void on_ast(IOSA *a)
{
    asts++;
    sys$wake(0, 0);
    if (a >= iosa && a < iosa + 64)
        seen |= UINT64_C(1) << (a - iosa);
}

static int make_object(void *p, size_t n, GENERIC_64 *handle)
{
    unsigned __int64 length = 0;
    void *va = NULL;

    return sys$create_bufobj_64(p, n, 0, 0, &va, &length, handle);
}

static int setup(unsigned func, void *ast, FANDLE *f)
{
    return sys$io_setup(func, &data_object, &iosa_object, ast, 0, f);
}

/* One request, waited for: the service's status, or that of the status area. */
static int wait_for(FANDLE f, void *p, uint64_t n, uint64_t block)
{
    int status = sys$io_performw(f, chan, &iosa[0], p, n, block);

    return status & 1 ? (int)iosa[0].iosa$l_status : status;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t k = 0; k < n; k++) {
        seed = seed * 1103515245u + 12345u;
        p[k] = (uint8_t)(seed >> 16);
    }
}

static bool all_are(const uint8_t *p, size_t n, uint8_t value)
{
    for (size_t k = 0; k < n; k++)
        if (p[k] != value)
            return false;
    return true;
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

static int assign(const char *name, unsigned short *c, unsigned flags)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return sys$assign(&d, c, 0, 0, flags);
}

static uint8_t *map(unsigned pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- buffer objects ---- */

static uint64_t object_pages(void)
{
    FILE *f = fopen("/proc/sys/fs/buffer-object-pages", "r");
    unsigned long n = UINT64_MAX;

    if (f && fscanf(f, "%lu", &n) != 1)
        n = UINT64_MAX;
    if (f)
        fclose(f);
    return n;
}

/* ---- fandles ---- */

static void test_fandles(void)
{
    FANDLE f, many[300];
    GENERIC_64 none = {0};
    unsigned n = 0, wrong = 0;

    is(setup(IO$_READVBLK, NULL, &f), SS$_NORMAL, "a fandle");
    is(sys$io_cleanup(f), SS$_NORMAL, "is given up");
    is(sys$io_cleanup(f), SS$_BADFANDLE, "once");
    is(sys$io_perform(f, chan, iosa, data, PAGE, 0), SS$_BADFANDLE, "and used no more");
    is(setup(IO$_READPBLK, NULL, &f), SS$_ILLIOFUNC, "physical blocks");
    is(setup(IO$_SETMODE, NULL, &f), SS$_ILLIOFUNC, "another function");
    is(sys$io_setup(IO$_READVBLK, &none, &iosa_object, 0, 0, &f), SS$_ILLBUFOBJ, "no buffers");
    is(sys$io_setup(IO$_READVBLK, &data_object, &none, 0, 0, &f), SS$_ILLBUFOBJ, "no areas");
    is(sys$io_setup(IO$_READVBLK, (void *)8, &none, 0, 0, &f), SS$_ACCVIO, "handles, ");
    is(sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, 0, 0, (void *)8), SS$_ACCVIO,
       "and where the fandle goes");
    is(sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, 0, 4, &f), SS$_BADPARAM, "a flag");
    is(sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, 0, FIO$M_EXPEDITE | FIO$M_AST_NOFLOAT,
                    &f),
       SS$_NORMAL, "those that there are");
    sys$io_cleanup(f);
    while (n < 300 && setup(IO$_READVBLK, NULL, &many[n]) == SS$_NORMAL)
        n++;
    is(n, 256, "a process has 256");
    for (unsigned k = 0; k < n; k++)
        wrong += sys$io_cleanup(many[k]) != SS$_NORMAL;
    is(wrong, 0, "all are given up");
    is(setup(IO$_READVBLK, NULL, &reads), SS$_NORMAL, "one to read");
    is(setup(IO$_WRITELBLK, NULL, &writes), SS$_NORMAL, "one to write");
    is(setup(IO$_READLBLK, on_ast, &told), SS$_NORMAL, "one with an AST");
}

static void test_arguments(void)
{
    unsigned short box, ro;
    FANDLE f;

    is(sys$io_perform(reads, 3, iosa, data, PAGE, 0), SS$_IVCHAN, "a number of no channel");
    is(sys$io_perform(reads, 160, iosa, data, PAGE, 0), SS$_NOPRIV, "no channel");
    sys$crembx(0, &box, 0, 0, 0, 0, 0, 0, 0);
    is(sys$io_perform(reads, box, iosa, data, PAGE, 0), SS$_ILLIOFUNC, "a mailbox");
    sys$dassgn(box);
    assign("VDA1", &ro, 1);
    is(sys$io_perform(writes, ro, iosa, data, PAGE, 0), SS$_NOWRTACC, "a channel for reading");
    sys$dassgn(ro);
    assign("VDA1", &ro, 2);
    is(sys$io_perform(reads, ro, iosa, data, PAGE, 0), SS$_NORDACC, "or for writing");
    sys$dassgn(ro);
    setup(IO$_READVBLK | 0x4000, NULL, &f);
    is(sys$io_perform(f, chan, iosa, data, PAGE, 0), SS$_ILLMODIFIER, "a modifier");
    sys$io_cleanup(f);
    setup(IO$_READVBLK | IO$M_NOVCACHE, NULL, &f);
    is(wait_for(f, data, SECTOR, 0), SS$_NORMAL, "one that is known");
    sys$io_cleanup(f);
    is(wait_for(reads, data + 8, PAGE, 0), SS$_UNALIGNED, "a buffer within a sector");
    is(sys$io_perform(reads, chan, (IOSA *)((char *)iosa + 4), data, PAGE, 0), SS$_UNALIGNED,
       "an area within a quadword");
    is(sys$io_perform(reads, chan, (IOSA *)data, data, PAGE, 0), SS$_BADIOSADR, "another area");
    is(sys$io_perform(reads, chan, (IOSA *)((char *)(iosa + PAGE / sizeof(IOSA)) - 24), data, PAGE,
                      0),
       SS$_BADIOSADR, "or one that is half outside");
    is(sys$io_perform(reads, chan, (IOSA *)-32l, data, PAGE, 0), SS$_BADIOSADR, "or far away");
    is(wait_for(reads, data, 100, 0), SS$_IVBUFLEN, "a part of a sector");
    is(wait_for(reads, data, 1ul << 40, 0), SS$_IVBUFLEN, "a length that is too great");
    is(wait_for(reads, model, PAGE, 0), SS$_ILLBUFOBJ, "another buffer");
    is(wait_for(reads, data + 63 * PAGE, 2 * PAGE, 0), SS$_ILLBUFOBJ, "or one half outside");
    is(wait_for(reads, data, PAGE, BLOCKS), SS$_ILLBLKNUM, "blocks behind the end");
    is(wait_for(reads, data, PAGE, UINT64_MAX), SS$_ILLBLKNUM, "or far behind it");
    is(wait_for(reads, data, 0, 0), SS$_NORMAL, "nothing is read");
    is(iosa[0].iosa$ih_count, 0, "of no bytes");
    is(sys$io_perform(0, chan, iosa, data, PAGE, 0), SS$_BADFANDLE, "fandle 0");
    is(sys$io_perform(UINT64_MAX, chan, iosa, data, PAGE, 0), SS$_BADFANDLE, "or any other");
}

/* ---- transfers ---- */

static void test_transfers(void)
{
    unsigned left = 0, wrong = 0;
    FANDLE f;

    fill(model, sizeof(model), 3);
    memcpy(data, model, sizeof(data));
    iosa[0].iosa$ih_context = 77;
    is(wait_for(writes, data, sizeof(data), 0), SS$_NORMAL, "a long write");
    ok(iosa[0].iosa$ih_count == sizeof(data) && iosa[0].iosa$ih_context == 77,
       "tells its bytes, and leaves the context");
    memset(data, 0, sizeof(data));
    is(wait_for(reads, data + SECTOR, 40 * PAGE, 1), SS$_NORMAL, "a long read");
    ok(!memcmp(data + SECTOR, model + SECTOR, 40 * PAGE) && all_are(data, SECTOR, 0) &&
           all_are(data + SECTOR + 40 * PAGE, PAGE, 0),
       "reads what was asked for");
    memset(data, 0, sizeof(data));
    asts = 0;
    seen = 0;
    for (unsigned k = 0; k < DEPTH; k++)
        if (!(sys$io_perform(told, chan, &iosa[k], data + k * PAGE, PAGE, k * 16) & 1))
            wrong++;
    is(wrong, 0, "64 reads are under way");
    while (asts < DEPTH)
        sys$hiber();
    for (unsigned k = 0; k < DEPTH; k++)
        wrong += iosa[k].iosa$l_status != SS$_NORMAL || iosa[k].iosa$ih_count != PAGE;
    ok(!wrong && asts == DEPTH && seen == UINT64_MAX, "each ends, with an AST of its own");
    ok(!memcmp(data, model, sizeof(data)), "and is right");
    memset(data, 0, sizeof(data));
    for (unsigned k = 0; k < DEPTH; k++)
        wrong += !(sys$io_perform(reads, chan, &iosa[k], data + k * PAGE, PAGE, k * 16) & 1);
    do {
        left = 0;
        for (unsigned k = 0; k < DEPTH; k++)
            left += __atomic_load_n(&iosa[k].iosa$l_status, __ATOMIC_ACQUIRE) == 0;
    } while (left);
    ok(!wrong && !memcmp(data, model, sizeof(data)), "or is asked for by its status area");
    wrong = !(sys$io_perform(reads, chan, &iosa[0], data, PAGE, 0) & 1) ||
            sys$synch(EFN$C_ENF, (struct _iosb *)&iosa[0]) != SS$_NORMAL ||
            iosa[0].iosa$l_status != SS$_NORMAL;
    is(wrong, 0, "or waited for by $SYNCH without a flag");
    setup(IO$_READVBLK, NULL, &f);
    is(sys$delete_bufobj(&data_object), SS$_NORMAL, "the buffer object is deleted");
    is(object_pages(), DEPTH + 1, "but its pages are there");
    memset(data, 0, PAGE);
    is(wait_for(f, data, PAGE, 0), SS$_NORMAL, "for its fandles");
    ok(!memcmp(data, model, PAGE), "as before");
    is(setup(IO$_READVBLK, NULL, &f), SS$_ILLBUFOBJ, "it gets no others");
    is(make_object(data, sizeof(data), &data_object), SS$_NORMAL, "another one of the same pages");
}

static void done_and_wake(IOSA *a)
{
    (void)a;
    asts++;
    sys$wake(0, 0);
}

static void test_allocations(void)
{
    struct mega_failure m = {.fired = 1};
    bool right = true;
    unsigned n;
    FANDLE f;

    setup(IO$_READVBLK, done_and_wake, &f);
    for (n = 1; m.fired && n < 60 && right; n++) {
        int status;

        if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
            break;
        asts = 0;
        status = sys$io_perform(f, chan, &iosa[5], data + SECTOR, 40 * PAGE, 0);
        mega$control(MEGA_CTL_FAIL_REPORT, (unsigned __int64)&m, 0, 0, 0, 0);
        right = status == SS$_NORMAL || (m.fired && status == SS$_INSFMEM);
        while (status == SS$_NORMAL && !asts)
            sys$hiber();
    }
    ok(right && n > 3 && n < 60, "each allocation fails in turn: %u", n);
    is(sys$io_cleanup(f), SS$_NORMAL, "the fandle is not busy afterwards");
}

/* ---- channels of sys$open ---- */

static int open_name(const char *name, unsigned fac, struct FAB *fab)
{
    *fab = cc$rms_fab;
    fab->fab$l_fna = (char *)name;
    fab->fab$b_fns = (unsigned char)strlen(name);
    fab->fab$l_fop = FAB$M_UFO;
    fab->fab$b_fac = (unsigned char)fac;
    return sys$open(fab);
}

static void test_open(void)
{
    unsigned short disk = chan;
    struct FAB fab;
    IOSB b;
    FILE *f = fopen("/tmp/fast", "w");
    FANDLE w;

    fill(model, 3 * SECTOR, 9);
    fwrite(model, 1, 2 * SECTOR + 100, f);
    fclose(f);
    is(open_name("/tmp/none", 0, &fab), RMS$_FNF, "a file that is not there");
    is(open_name("/tmp", FAB$M_GET, &fab), SS$_NOTFILEDEV, "a directory");
    is(open_name("/dev/null", FAB$M_GET, &fab), SS$_NOTFILEDEV, "another device");
    fab = cc$rms_fab;
    fab.fab$l_dna = "/tmp/fast";
    fab.fab$b_dns = 9;
    is(sys$open(&fab), SS$_UNSUPPORTED, "records");
    fab.fab$l_fop = FAB$M_UFO;
    is(sys$open(&fab), RMS$_NORMAL, "a file");
    is(fab.fab$l_alq, 3, "of three blocks");
    chan = (unsigned short)fab.fab$l_stv;
    memset(data, 0, PAGE);
    is(wait_for(reads, data, 2 * SECTOR, 1), SS$_NORMAL, "virtual blocks are read");
    ok(!memcmp(data, model, 2 * SECTOR), "from 1 on");
    is(wait_for(reads, data, SECTOR, 3), SS$_ENDOFFILE, "up to the end");
    is(iosa[0].iosa$ih_count, 100, "of the file");
    is(wait_for(reads, data, SECTOR, 0), SS$_ILLBLKNUM, "there is no block 0");
    is(wait_for(told, data, SECTOR, 1), SS$_ILLIOFUNC, "and there are no logical ones");
    is(sys$qiow(EFN$C_ENF, chan, IO$_READVBLK, &b, 0, 0, model + PAGE, 100, 2), SS$_NORMAL, "$QIO");
    ok(b.iosb$w_status == SS$_NORMAL && b.iosb$w_bcnt == 100 &&
           !memcmp(model + PAGE, model + SECTOR, 100),
       "reads it, too");
    setup(IO$_WRITEVBLK, NULL, &w);
    is(wait_for(w, data, SECTOR, 1), SS$_NOWRTACC, "it is not written");
    is(sys$dassgn(chan), SS$_NORMAL, "it is closed");
    is(open_name("/tmp/fast", FAB$M_PUT | FAB$M_GET, &fab), RMS$_NORMAL, "opened for writing");
    chan = (unsigned short)fab.fab$l_stv;
    memset(data, 0x77, PAGE);
    is(wait_for(w, data, SECTOR, 5), SS$_NORMAL, "it is");
    sys$io_cleanup(w);
    sys$dassgn(chan);
    f = fopen("/tmp/fast", "r");
    fseek(f, 4 * SECTOR, SEEK_SET);
    ok(fread(model, 1, PAGE, f) == SECTOR && all_are(model, SECTOR, 0x77), "and grows");
    fclose(f);
    unlink("/tmp/fast");
    is(open_name("VDA1:", FAB$M_GET, &fab), RMS$_NORMAL, "a disk by its name");
    chan = (unsigned short)fab.fab$l_stv;
    is(wait_for(reads, data, PAGE, 0), SS$_NORMAL, "is read");
    sys$dassgn(chan);
    is(open_name("/dev/vda1", FAB$M_GET, &fab), RMS$_NORMAL, "or by its path");
    chan = (unsigned short)fab.fab$l_stv;
    is(wait_for(reads, data, PAGE, 0), SS$_NORMAL, "likewise");
    sys$dassgn(chan);
    chan = disk;
}

/* ---- meanwhile ---- */

/* A read to p is under way; the disk has just carried one out, so it takes its time. */
static void begin_read(FANDLE f, uint8_t *p, uint64_t n)
{
    wait_for(reads, data, SECTOR, 0);
    is(sys$io_perform(f, chan, &iosa[1], p, n, 0), SS$_NORMAL, "a read is under way");
}

static void test_meanwhile(void)
{
    uint8_t *p = map(2), *q;
    GENERIC_64 o;
    FANDLE f;
    int status = -1;
    pid_t pid;

    memset(p, 1, 2 * PAGE);
    make_object(p, 2 * PAGE, &o);
    sys$io_setup(IO$_READLBLK, &o, &iosa_object, on_ast, 0, &f);
    begin_read(f, p, 2 * PAGE);
    is(sys$io_cleanup(f), SS$_FANDLEBUSY, "its fandle is busy");
    is(sys$delete_bufobj(&o), SS$_NORMAL, "its buffer object can be deleted");
    pid = fork();
    if (pid == 0) {
        bool right = all_are(p, 2 * PAGE, 1);

        pause_ms(2500);
        _exit(!right || !all_are(p, 2 * PAGE, 1) || iosa[1].iosa$l_status);
    }
    waitpid(pid, &status, 0);
    is(status, 0, "a child has the memory as it was");
    sys$synch(EFN$C_ENF, (struct _iosb *)&iosa[1]);
    ok(all_are(p, 2 * PAGE, 0xA5) && iosa[1].iosa$ih_count == 2 * PAGE, "and the parent the data");
    sys$setast(0);
    begin_read(f, p, PAGE);
    sys$synch(EFN$C_ENF, (struct _iosb *)&iosa[1]);
    is(sys$io_cleanup(f), SS$_FANDLEBUSY, "busy until the AST is delivered");
    asts = 0;
    sys$setast(1);
    while (!asts)
        sys$hiber();
    begin_read(f, p, 2 * PAGE);
    munmap(p, 2 * PAGE);
    q = mmap(p, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(q, 2, 2 * PAGE);
    sys$synch(EFN$C_ENF, (struct _iosb *)&iosa[1]);
    ok(iosa[1].iosa$l_status == SS$_NORMAL && all_are(q, 2 * PAGE, 2),
       "what was mapped there since is left alone");
    while (asts < 2)
        sys$hiber();
    is(sys$io_cleanup(f), SS$_NORMAL, "the fandle is given up");
    is(object_pages(), DEPTH + 1, "and the pages with it");
    munmap(q, 2 * PAGE);
}

static void test_cancel(void)
{
    unsigned cancelled = 0, ended = 0, left;

    wait_for(reads, data, SECTOR, 0);
    for (unsigned k = 0; k < DEPTH; k++)
        sys$io_perform(reads, chan, &iosa[k], data, PAGE, k);
    for (unsigned k = 0; k < 16; k++) /* more than the device has at a time */
        sys$io_perform(reads, chan, &iosa[DEPTH + k], data, PAGE, k);
    is(sys$cancel(chan), SS$_NORMAL, "requests are cancelled");
    for (unsigned k = 0; k < DEPTH + 16; k++)
        cancelled += iosa[k].iosa$l_status == SS$_CANCEL;
    ok(cancelled >= 15, "those that the disk has not got (%u)", cancelled);
    is(sys$dassgn(chan), SS$_NORMAL, "the channel is closed");
    for (unsigned k = left = 0; k < DEPTH + 16; k++) {
        left += iosa[k].iosa$l_status == 0;
        ended += iosa[k].iosa$l_status == SS$_NORMAL;
    }
    ok(!left && ended + cancelled == DEPTH + 16, "when all have ended");
    assign("VDA", &chan, 0);
}

/* The process ends, or begins another program, with requests under way: it waits for none. */
static void test_ends(bool fast)
{
    static const char *const names[] = {"exit", "SIGKILL", "exec"};

    for (int how = 0; how < 3; how++) {
        struct timespec a, b;
        int status = -1;
        pid_t pid = fork();

        if (pid == 0) {
            unsigned short c;
            IOSB s[4];
            FANDLE f;

            assign("VDA", &c, 0);
            make_object(data, sizeof(data), &data_object);
            make_object(iosa, sizeof(iosa), &iosa_object);
            setup(IO$_READLBLK, how == 2 ? on_ast : NULL, &f);
            for (unsigned k = 0; k < 4; k++)
                if (fast)
                    sys$io_perform(f, c, &iosa[k], data + k * PAGE, PAGE, k);
                else
                    sys$qio(EFN$C_ENF, c, IO$_READLBLK, &s[k], 0, 0, data + k * PAGE, PAGE, k);
            if (how == 1)
                kill(getpid(), SIGKILL);
            if (how == 2)
                execl("/bin/true", "true", NULL);
            _exit(0);
        }
        clock_gettime(CLOCK_MONOTONIC, &a);
        waitpid(pid, &status, 0);
        clock_gettime(CLOCK_MONOTONIC, &b);
        is(status, how == 1 ? SIGKILL : 0, "%s with requests under way", names[how]);
        ok(b.tv_sec - a.tv_sec < 3, "does not wait for them");
    }
}

static void prepare(const char *device)
{
    assign(device, &chan, 0);
    make_object(data, sizeof(data), &data_object);
    make_object(iosa, sizeof(iosa), &iosa_object);
    setup(IO$_READLBLK, NULL, &reads);
}

static int test_slow(void)
{
    prepare("VDA");
    test_meanwhile();
    test_ends(true);
    test_ends(false);
    test_cancel();
    return tap_done();
}

static int test_silent(void)
{
    prepare("VDA");
    is(wait_for(reads, data, 12 * PAGE, 0), SS$_NORMAL, "one read is all it answers");
    test_ends(true);
    test_ends(false);
    is(wait_for(reads, data, PAGE, 0), SS$_PARITY, "who waits is told after a while");
    is(sys$io_cleanup(reads), SS$_NORMAL, "and can clean up");
    return tap_done();
}

/* ---- costs ---- */

#define REQUESTS 6400u
#define UNDER    32u

static uint64_t busy_ns(void)
{
    struct mega_cpu c = {0};
    struct timespec t;

    mega$info(MEGA_INFO_CPU, 0, &c, sizeof(c));
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec - c.pure_idle_ns;
}

static volatile unsigned issued;
static FANDLE costly;

static void again(IOSA *a)
{
    asts++;
    if (issued < REQUESTS) {
        issued++;
        sys$io_perform(costly, chan, a, data + (a - iosa) * PAGE, PAGE, (a - iosa) * 16);
    } else if (asts == REQUESTS) {
        sys$wake(0, 0);
    }
}

static void cost(const char *name, bool with_ast)
{
    unsigned done = 0;
    uint64_t begin;

    setup(IO$_READLBLK, with_ast ? again : NULL, &costly);
    asts = 0;
    begin = busy_ns();
    for (issued = 0; issued < UNDER; issued++)
        sys$io_perform(costly, chan, &iosa[issued], data + issued * PAGE, PAGE, issued * 16);
    while (with_ast && asts < REQUESTS)
        sys$hiber();
    /* The oldest is waited for; it and those after it that have ended are begun again. */
    for (unsigned k = 0; !with_ast && done < REQUESTS; k = (k + 1) % UNDER, done++) {
        if (!__atomic_load_n(&iosa[k].iosa$l_status, __ATOMIC_ACQUIRE))
            sys$synch(EFN$C_ENF, (struct _iosb *)&iosa[k]);
        if (issued < REQUESTS) {
            issued++;
            sys$io_perform(costly, chan, &iosa[k], data + k * PAGE, PAGE, k * 16);
        }
    }
    diag("%-40s %6lu", name, (unsigned long)((busy_ns() - begin) / REQUESTS));
    sys$io_cleanup(costly);
    memset(iosa, 0, sizeof(iosa));
}

static int test_cost(void)
{
    prepare("VDA");
    mega$service_hook = NULL; /* tap.h notes what services return */
    memset(data, 1, sizeof(data));
    cost("read 8 KiB, 32 under way, status areas", false);
    cost("read 8 KiB, 32 under way, ASTs", true);
    return 0;
}

/* While a slow disk is waited for, nothing runs. */
static int test_idle(void)
{
    struct timespec a, b;
    uint64_t busy, all;

    prepare("VDA");
    wait_for(reads, data, PAGE, 0);
    clock_gettime(CLOCK_MONOTONIC, &a);
    busy = busy_ns();
    is(wait_for(reads, data, PAGE, 0), SS$_NORMAL, "a read ends");
    busy = busy_ns() - busy;
    clock_gettime(CLOCK_MONOTONIC, &b);
    all = (uint64_t)(b.tv_sec - a.tv_sec) * 1000000000 + (uint64_t)b.tv_nsec - (uint64_t)a.tv_nsec;
    ok(all > 2000000000, "after more than two seconds (%lu ms)", (unsigned long)(all / 1000000));
    ok(busy < all / 4, "most of them idle (not %lu ms)", (unsigned long)(busy / 1000000));
    return tap_done();
}

/* ---- requests, and threads that look at their status ---- */

static bool ended(const IOSA *a) { return __atomic_load_n(&a->iosa$l_status, __ATOMIC_ACQUIRE); }

/* Who sees the status can give the fandle up at once. */
static void test_polled(void)
{
    unsigned wrong = 0;
    FANDLE f;

    for (unsigned k = 0; k < 200; k++) {
        setup(IO$_READVBLK, NULL, &f);
        wrong += sys$io_perform(f, chan, &iosa[0], data, SECTOR, 0) != SS$_NORMAL;
        while (!ended(&iosa[0]))
            ;
        wrong += sys$io_cleanup(f) != SS$_NORMAL;
    }
    is(wrong, 0, "a fandle whose request has its status is not busy");
}

/* Why a file has moved less than it was asked for. */
static void test_short(void)
{
    uint8_t *p = map(3);
    int fd = open("/tmp/short", O_RDWR | O_CREAT | O_TRUNC, 0600);
    struct FAB fab;
    IOSB b;

    ok(fd >= 0 && write(fd, data, 2 * PAGE + 100) == 2 * PAGE + 100, "a file");
    close(fd);
    munmap(p + PAGE, PAGE);
    open_name("/tmp/short", FAB$M_PUT | FAB$M_GET, &fab);
    is(sys$qiow(EFN$C_ENF, fab.fab$l_stv, IO$_READVBLK, &b, 0, 0, p, 2 * PAGE, 1), SS$_ACCVIO,
       "a buffer with a hole is not the end of the file");
    is(sys$qiow(EFN$C_ENF, fab.fab$l_stv, IO$_WRITEVBLK, &b, 0, 0, p, 2 * PAGE, 1), SS$_ACCVIO,
       "nor a device's error");
    is(sys$qiow(EFN$C_ENF, fab.fab$l_stv, IO$_READVBLK, &b, 0, 0, p, PAGE, 33), SS$_NORMAL,
       "a read");
    ok(b.iosb$w_status == SS$_ENDOFFILE && b.iosb$w_bcnt == 100, "to the end");
    sys$dassgn((unsigned short)fab.fab$l_stv);
    unlink("/tmp/short");
    mkfifo("/tmp/short", 0600);
    is(open_name("/tmp/short", FAB$M_GET, &fab), SS$_NOTFILEDEV, "a FIFO");
    is(open_name("/dev/ptmx", FAB$M_GET, &fab), SS$_NOTFILEDEV, "a terminal");
    is(open_name("/tmp", FAB$M_PUT, &fab), SS$_NOTFILEDEV, "a directory to write");
    unlink("/tmp/short");
    munmap(p, PAGE);
    munmap(p + 2 * PAGE, PAGE);
}

static volatile FANDLE shared_fandle;
static volatile unsigned short shared_chan;
static unsigned refused; /* services of the other thread with a result of no race */
static unsigned spoiled; /* status areas that a refused service has changed */
static bool over;        /* atomic */

static void *perform_all(void *arg)
{
    (void)arg;
    for (unsigned k = 0; !__atomic_load_n(&over, __ATOMIC_ACQUIRE); k++) {
        struct _iosa *area = &iosa[k % 32];
        bool rests = ended(area);
        int s = sys$io_perform(shared_fandle, shared_chan, area, data, SECTOR, 0);

        spoiled += rests && s != SS$_NORMAL && !ended(area);
        refused += s != SS$_NORMAL && s != SS$_BADFANDLE && s != SS$_IVCHAN && s != SS$_NOPRIV &&
                   s != SS$_EXQUOTA;
    }
    return NULL;
}

/* One thread begins requests while another takes away what they need. */
static void test_race(void)
{
    unsigned wrong = 0;
    pthread_t t;
    FANDLE f;

    for (unsigned k = 0; k < 32; k++)
        iosa[k].iosa$l_status = 1;
    setup(IO$_READVBLK, NULL, &f);
    shared_fandle = f;
    pthread_create(&t, NULL, perform_all, NULL);
    for (unsigned k = 0; k < 60; k++) {
        unsigned short c;
        int s;

        wrong += assign("VDA1", &c, 0) != SS$_NORMAL;
        shared_chan = c;
        usleep(1000);
        wrong += sys$cancel(c) != SS$_NORMAL;
        s = sys$io_cleanup(f);
        wrong += s != SS$_NORMAL && s != SS$_FANDLEBUSY;
        if (s == SS$_NORMAL) {
            setup(IO$_READVBLK, NULL, &f);
            shared_fandle = f;
        }
        wrong += sys$dassgn(c) != SS$_NORMAL;
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    ok(!wrong && !refused, "channels and fandles go away in the middle: %u, %u", wrong, refused);
    is(spoiled, 0, "a request that is refused leaves its status area as it was");
    /* What the disk had begun when it was cancelled ends in its own time. */
    for (unsigned k = 0; k < 32; k++)
        for (unsigned n = 0; n < 10000 && !ended(&iosa[k]); n++)
            usleep(1000);
    for (unsigned k = 0; k < 32; k++)
        wrong += !ended(&iosa[k]);
    is(wrong, 0, "all that has begun ends");
    is(sys$io_cleanup(f), SS$_NORMAL, "and nothing is busy");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "idle"))
        return test_idle();
    if (!strcmp(how, "slow"))
        return test_slow();
    if (!strcmp(how, "silent"))
        return test_silent();
    if (!strcmp(how, "cost"))
        return test_cost();
    assign("VDA1", &chan, 0);
    is(make_object(data, sizeof(data), &data_object), SS$_NORMAL, "an object of buffers");
    is(make_object(iosa, sizeof(iosa), &iosa_object), SS$_NORMAL, "and one of status areas");
    test_fandles();
    test_arguments();
    test_transfers();
    test_allocations();
    test_open();
    test_polled();
    test_short();
    test_race();
    is(sys$dassgn(chan), SS$_NORMAL, "the channel is given back");
    return tap_done();
}
