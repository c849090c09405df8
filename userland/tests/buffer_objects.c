// TAP
// RUN: --smp 2
/*
 * Buffer objects, fandles, and Fast I/O with a file: what needs no disk (fast_io.c has the rest).
 * All condition values of these services, limits, rights, hostile arguments.
 */
#include <bufobjdef.h>
#include <cbodef.h>
#include <efndef.h>
#include <fcntl.h>
#include <iledef.h>
#include <iodef.h>
#include <iosadef.h>
#include <iosbdef.h>
#include <megalith/creds.h>
#include <megalith/failure.h>
#include <megalith/info.h>
#include <megalith/services.h>
#include <prvdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syidef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>
#include <va_rangedef.h>

#define SECTOR 512u
#define PAGE   8192u

static uint8_t data[2 * PAGE] __attribute__((aligned(8192)));
static IOSA iosa[PAGE / sizeof(IOSA)] __attribute__((aligned(8192)));
static GENERIC_64 data_object, iosa_object;
static unsigned short chan;
static volatile unsigned asts;

static void on_ast(IOSA *a)
{
    (void)a;
    asts++;
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

static int perform(FANDLE f) { return sys$io_perform(f, chan, iosa, data, SECTOR, 1); }

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

static void test_objects(void)
{
    uint8_t *p = map(8), *ro = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    GENERIC_64 h, many[300];
    VA_RANGE in = {p + 2 * PAGE + 5, p + 5}, out = {0};
    unsigned __int64 length = 0;
    void *va = NULL;
    unsigned n = 0, wrong = 0;

    is_status(sys$create_bufobj_64(p + 100, PAGE, 3, 0, &va, &length, &h), SS$_NORMAL,
              "a buffer object");
    ok(va == p && length == 2 * PAGE, "of whole pages");
    is(object_pages(), 2, "which are counted");
    is_status(sys$delete_bufobj(&h), SS$_NORMAL, "is deleted");
    is_status(sys$delete_bufobj(&h), SS$_ILLBUFOBJ, "once");
    is(object_pages(), 0, "and is nothing");
    is_status(sys$create_bufobj(&in, &out, 0, 0, &h), SS$_NORMAL, "a pair of addresses");
    ok(out.va_range$ps_start_va == p && out.va_range$ps_end_va == p + 3 * PAGE - 1, "likewise");
    is(object_pages(), 3, "has three pages");
    sys$delete_bufobj(&h);
    is_status(make_object(p, 0, &h), SS$_BADPARAM, "no length");
    is_status(make_object((void *)-8192l, PAGE, &h), SS$_ACCVIO, "an address of the kernel");
    is_status(make_object(p, UINT64_MAX, &h), SS$_ACCVIO, "a length that wraps");
    is_status(make_object(p, 1ul << 40, &h), SS$_EXBUFOBJLM, "one that is too large");
    munmap(p + 7 * PAGE, PAGE);
    is_status(make_object(p, 8 * PAGE, &h), SS$_ACCVIO, "pages that are not there");
    is_status(make_object(ro, PAGE, &h), SS$_PAGTYPVIO, "pages that cannot be written");
    is_status(make_object(shared, PAGE, &h), SS$_PAGTYPVIO, "shared ones");
    is_status(sys$create_bufobj_64(p, PAGE, 4, 0, &va, &length, &h), SS$_IVACMODE,
              "an access mode");
    is_status(sys$create_bufobj_64(p, PAGE, 0, CBO$M_RETSVA, &va, &length, &h), SS$_NOPRIV,
              "addresses of system space");
    is_status(sys$create_bufobj_64(p, PAGE, 0, 0x80, &va, &length, &h), SS$_BADPARAM,
              "an unknown flag");
    is_status(sys$create_bufobj_64(p, PAGE, 0, 0, (void **)8, &length, &h), SS$_ACCVIO,
              "outputs, ");
    is_status(sys$create_bufobj_64(p, PAGE, 0, 0, &va, (void *)8, &h), SS$_ACCVIO, "each ");
    is_status(sys$create_bufobj_64(p, PAGE, 0, 0, &va, &length, (void *)8), SS$_ACCVIO, "of them");
    is_status(sys$delete_bufobj((void *)8), SS$_ACCVIO, "or an input");
    is(object_pages(), 0, "nothing is left of these");
    while (n < 300 && make_object(p, PAGE, &many[n]) == SS$_NORMAL)
        n++;
    is(n, 256, "a process has 256");
    is(object_pages(), 256, "a page in each counts each time");
    for (unsigned k = 0; k < n; k++)
        wrong += sys$delete_bufobj(&many[k]) != SS$_NORMAL;
    h.gen64$q_quadword = (__int64)1 << 40 | 0xFFFF;
    ok(!wrong && sys$delete_bufobj(&h) == SS$_ILLBUFOBJ, "all are deleted, and no others");
    munmap(p, 7 * PAGE);
    munmap(ro, PAGE);
    munmap(shared, PAGE);
}

static long set_parameter(const char *name, int64_t value)
{
    return mega$control(MEGA_CTL_SET_PARAM, (unsigned __int64)name, (unsigned __int64)value, 0, 0,
                        0);
}

/* MAXBOBMEM, and who holds no identifier. */
static void test_limits(void)
{
    uint8_t *p = map(4);
    unsigned value = 0;
    ILE3 list[] = {{4, SYI$_MAXBOBMEM, &value, 0}, {0, 0, 0, 0}};
    GENERIC_64 h, g;
    int status = -1;
    pid_t pid;

    is_status((int)set_parameter("MAXBOBMEM", 3 * 16), SS$_NORMAL,
              "MAXBOBMEM is set to three pages");
    is_status(sys$getsyiw(0, 0, 0, list, 0, 0, 0), SS$_NORMAL, "$GETSYI");
    is(value, 48, "knows it");
    is_status(make_object(p, 4 * PAGE, &h), SS$_EXBUFOBJLM, "no more can be had");
    is_status(make_object(p, 2 * PAGE, &h), SS$_NORMAL, "two can");
    is_status(make_object(p, 2 * PAGE, &g), SS$_EXBUFOBJLM, "but not four");
    pid = fork();
    if (pid == 0)
        _exit(make_object(p, 2 * PAGE, &g) != SS$_EXBUFOBJLM || sys$delete_bufobj(&h) & 1);
    waitpid(pid, &status, 0);
    is(status, 0, "a child has none of them, and the same limit");
    set_parameter("MAXBOBMEM", -1);
    sys$delete_bufobj(&h);
    pid = fork();
    if (pid == 0) {
        const struct mega_creds c = {0200, 1, 0, 0, MEGA_RIGHT_MEM_RESIDENT_USER};

        if (mega$control(MEGA_CTL_SET_CREDS, (unsigned __int64)&c, 0, 0, 0, 0) != SS$_NORMAL)
            _exit(2);
        _exit(!status_is(make_object(p, PAGE, &h), SS$_NOBUFOBJID));
    }
    waitpid(pid, &status, 0);
    is(status, 0, "who does not hold VMS$BUFFER_OBJECT_USER makes none");
    munmap(p, 4 * PAGE);
}

/* ---- allocations that fail ---- */

static void arm(unsigned n)
{
    if (mega$control(MEGA_CTL_FAIL_ARM, n, 0, 0, 0, 0) != SS$_NORMAL)
        bail_out("a failure cannot be armed");
}

static void disarm(void)
{
    struct mega_failure m;

    mega$control(MEGA_CTL_FAIL_REPORT, (unsigned __int64)&m, 0, 0, 0, 0);
}

static void test_memory(void)
{
    GENERIC_64 h;
    FANDLE f;

    arm(1);
    is_status(make_object(data, PAGE, &h), SS$_INSFMEM, "no memory for a buffer object");
    disarm();
    arm(1);
    is_status(setup(IO$_READVBLK, NULL, &f), SS$_INSFMEM, "nor for a fandle");
    disarm();
    setup(IO$_READVBLK, NULL, &f);
    arm(1);
    is_status(perform(f), SS$_INSFMEM, "nor for a request");
    disarm();
    is_status(perform(f), SS$_NORMAL, "which can be made later");
    is_status(sys$io_cleanup(f), SS$_NORMAL, "the fandle is not busy");
}

/* ---- fandles ---- */

static void test_fandles(void)
{
    const union prvdef needed = {.prv$q_quadword = PRV$M_ALTPRI | PRV$M_PHY_IO};
    GENERIC_64 none = {0};
    FANDLE f, many[300];
    unsigned n = 0, wrong = 0;

    is_status(setup(IO$_READVBLK, NULL, &f), SS$_NORMAL, "a fandle");
    is_status(sys$io_cleanup(f), SS$_NORMAL, "is given up");
    is_status(sys$io_cleanup(f), SS$_BADFANDLE, "once");
    is_status(perform(f), SS$_BADFANDLE, "and used no more");
    is_status(setup(IO$_SETMODE, NULL, &f), SS$_ILLIOFUNC, "another function");
    is_status(sys$io_setup(IO$_READVBLK, &none, &iosa_object, 0, 0, &f), SS$_ILLBUFOBJ,
              "no buffer object");
    is_status(sys$io_setup(IO$_READVBLK, (void *)8, &none, 0, 0, &f), SS$_ACCVIO,
              "a handle that cannot be read");
    is_status(sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, 0, 4, &f), SS$_BADPARAM,
              "an unknown flag");
    sys$setprv(0, (void *)&needed, 0, 0);
    is_status(sys$io_setup(IO$_READVBLK, &data_object, &iosa_object, 0, FIO$M_EXPEDITE, &f),
              SS$_NOPRIV, "FIO$M_EXPEDITE without ALTPRI and PHY_IO");
    sys$setprv(1, (void *)&needed, 0, 0);
    while (n < 300 && setup(IO$_READVBLK, NULL, &many[n]) == SS$_NORMAL)
        n++;
    is(n, 256, "a process has 256");
    is_status(setup(IO$_READVBLK, NULL, &f), SS$_EXQUOTA, "and no more");
    for (unsigned k = 0; k < n; k++)
        wrong += sys$io_cleanup(many[k]) != SS$_NORMAL;
    is(wrong, 0, "all are given up");
}

/* ---- requests to a file ---- */

static unsigned short channel_of(int flags)
{
    int fd = open("/tmp/objects", flags, 0600);
    unsigned short c = 0;

    if (fd < 0 || syscall(MEGA_SYS_FILE_CHANNEL, fd, &c) != SS$_NORMAL)
        bail_out("no channel to a file");
    close(fd);
    return c;
}

static void test_arguments(void)
{
    uint8_t *p = map(1);
    unsigned short disk = chan;
    GENERIC_64 o;
    FANDLE f, g;

    setup(IO$_READVBLK, NULL, &f);
    is_status(perform(f), SS$_NORMAL, "a read");
    is(iosa[0].iosa$l_status, SS$_NORMAL, "has ended");
    is_status(sys$io_perform(f, 3, iosa, data, SECTOR, 1), SS$_IVCHAN, "a number of no channel");
    is_status(sys$io_perform(f, 4000, iosa, data, SECTOR, 1), SS$_NOPRIV, "no channel");
    is_status(sys$io_perform(f, chan, iosa, data + 8, SECTOR, 1), SS$_UNALIGNED, "a buffer");
    is_status(sys$io_perform(f, chan, (IOSA *)data, data, SECTOR, 1), SS$_BADIOSADR, "an area");
    is_status(sys$io_perform(f, chan, iosa, data, 100, 1), SS$_IVBUFLEN, "a length");
    is_status(sys$io_perform(f, chan, iosa, data + PAGE, 2 * PAGE, 1), SS$_ILLBUFOBJ,
              "a buffer that is half outside");
    sys$io_cleanup(f);
    setup(IO$_READLBLK, NULL, &f);
    is_status(perform(f), SS$_ILLIOFUNC, "logical blocks of a file");
    sys$io_cleanup(f);
    setup(IO$_READVBLK | 0x4000, NULL, &f);
    is_status(perform(f), SS$_ILLMODIFIER, "a modifier");
    sys$io_cleanup(f);
    setup(IO$_WRITEVBLK, NULL, &f);
    is_status(perform(f), SS$_NOWRTACC, "a channel for reading");
    sys$io_cleanup(f);
    chan = channel_of(O_WRONLY);
    setup(IO$_READVBLK, NULL, &f);
    is_status(perform(f), SS$_NORDACC, "one for writing");
    sys$dassgn(chan);
    chan = disk;
    make_object(p, PAGE, &o);
    sys$io_setup(IO$_READVBLK, &o, &iosa_object, 0, 0, &g);
    munmap(p, PAGE);
    is_status(sys$io_perform(g, chan, iosa, p, SECTOR, 1), SS$_ACCVIO,
              "a file is read to memory that is there");
    is_status(sys$io_cleanup(g), SS$_NORMAL, "the fandle is not busy");
    sys$io_cleanup(f);
    sys$delete_bufobj(&o);
}

static void test_asts(void)
{
    static IOSB blocks[300];
    unsigned short box;
    unsigned n = 0;
    FANDLE f, g;

    setup(IO$_READVBLK, on_ast, &f);
    sys$setast(0);
    is_status(perform(f), SS$_NORMAL, "a read with an AST");
    is_status(sys$io_cleanup(f), SS$_FANDLEBUSY, "its fandle is busy until that is delivered");
    sys$setast(1);
    is(asts, 1, "it is");
    sys$setast(0);
    while (sys$dclast((void (*)())on_ast, 0, 0) == SS$_NORMAL)
        n++;
    is_status(perform(f), SS$_EXASTLM, "more than ASTLM (%u) has no AST", n);
    sys$setast(1);
    is_status(sys$io_cleanup(f), SS$_NORMAL, "and the fandle is not busy");
    setup(IO$_READVBLK, NULL, &g);
    sys$crembx(0, &box, 64, 640, 0, 0, 0, 0, 0);
    is_status(sys$io_perform(g, box, iosa, data, SECTOR, 1), SS$_ILLIOFUNC, "a mailbox");
    n = 0;
    while (n < 300 &&
           sys$qio(EFN$C_ENF, box, IO$_READVBLK, &blocks[n], 0, 0, data, 1) == SS$_NORMAL)
        n++;
    is_status(perform(g), SS$_EXQUOTA, "more than BIOLM (%u)", n);
    sys$dassgn(box);
    is_status(perform(g), SS$_NORMAL, "is possible when others have ended");
    sys$io_cleanup(g);
}

int main(void)
{
    unsigned short c = channel_of(O_RDWR | O_CREAT);

    sys$dassgn(c);
    if (truncate("/tmp/objects", 4 * PAGE))
        bail_out("no file");
    test_objects();
    test_limits();
    chan = channel_of(O_RDONLY);
    make_object(data, sizeof(data), &data_object);
    make_object(iosa, sizeof(iosa), &iosa_object);
    test_memory();
    test_fandles();
    test_arguments();
    test_asts();
    return tap_done();
}
