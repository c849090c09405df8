// TAP
/*
 * The run-time library in its own programs: random calls of the routines that need the system, in
 * children, with arguments that are usual, at limits, or those of nothing. What a routine writes to
 * ends at a page behind which nothing is. A child must neither fault nor get a condition value that
 * the routine has not; event flags, timers, exit handlers and scans are compared with a model. The
 * check for leaks is made at the end of the run. Routines without the system are in
 * tests/fuzz/fuzz_library.c and fuzz_rtl.c.
 *
 * `rtl_fuzz SEED CHILDREN CALLS` repeats a run.
 */
#define _GNU_SOURCE
#include <clidef.h>
#include <company.h>
#include <descrip.h>
#include <dvidef.h>
#include <efndef.h>
#include <fabdef.h>
#include <fcntl.h>
#include <iledef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <libdef.h>
#include <pscandef.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <str$routines.h>
#include <stsdef.h>
#include <syidef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tap.h>

#define PAGE 8192ul

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

#define ONE_OF(array) (array)[draw(sizeof(array) / sizeof((array)[0]))]

/* ---- what a child finds wrong ---- */

static int wrong;

/* Is the condition value one of these, which 0 ends? */
static void among(const char *routine, int status, const int *those)
{
    for (; *those; those++)
        if (status == *those)
            return;
    diag("%s: condition value %#x", routine, (unsigned)status);
    wrong = 1;
}
#define AMONG(routine, status, ...) among(routine, status, (const int[]){__VA_ARGS__, 0})

static void check(int right, const char *what)
{
    if (!right) {
        diag("wrong: %s", what);
        wrong = 1;
    }
}

/* ---- memory that ends where nothing is ---- */

#define EDGES 8
static char *edge[EDGES];

static void *at_edge(unsigned which, size_t bytes)
{
    return memset(edge[which] - bytes, 0xA5, bytes);
}

static void make_edges(void)
{
    for (unsigned i = 0; i < EDGES; i++) {
        char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED || munmap(p + PAGE, PAGE))
            bail_out("no memory");
        edge[i] = p + PAGE;
    }
}

/* ---- strings ---- */

static const char *const words[] = {
    "",     "NL:", "_NLA0:", "SYS$INPUT", "TT",    "MBA1:",     "VDA:", "a",    "RTL_FUZZ",
    "/tmp", ":",   "_",      "no such",   "FTA0:", "/bin/true", "*",    "%UZZ", "init"};

static struct dsc$descriptor_s text;

/* One of the words, at an edge, or nothing. */
static struct dsc$descriptor_s *a_name(void)
{
    const char *word = ONE_OF(words);
    size_t n = strlen(word);

    text = (struct dsc$descriptor_s){(unsigned short)n, DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     memcpy(at_edge(0, n), word, n)};
    return draw(3) ? &text : NULL;
}

static struct dsc$descriptor_d dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, NULL};
static struct dsc$descriptor_s fixed;

/* Where a text goes: a dynamic string, a short fixed one, or nowhere. */
static void *a_string(void)
{
    unsigned short n = (unsigned short)draw(20);

    fixed = (struct dsc$descriptor_s){n, DSC$K_DTYPE_T, DSC$K_CLASS_S, at_edge(1, n)};
    switch (draw(3)) {
    case 0:
        return NULL;
    case 1:
        return &dynamic;
    default:
        return &fixed;
    }
}

/* ---- information ---- */

/* Codes that there are, and any other. */
static int a_code(const int *codes, unsigned n)
{
    return draw(4) ? codes[draw(n)] : (int)draw(0x2200);
}
#define A_CODE(codes) a_code(codes, sizeof(codes) / sizeof((codes)[0]))

static void getjpi(void)
{
    static const int codes[] = {
        JPI$_ASTCNT, JPI$_CURPRIV,    JPI$_CPUTIM,   JPI$_IMAGNAME, JPI$_MEM,    JPI$_LOGINTIM,
        JPI$_PID,    JPI$_MASTER_PID, JPI$_MODE,     JPI$_OWNER,    JPI$_PRCNAM, JPI$_STATE,
        JPI$_UIC,    JPI$_USERNAME,   JPI$_TERMINAL, JPI$_EFCS,     JPI$_PRIB,   JPI$_NODENAME};
    static unsigned context; /* of a search over all processes, which goes on from call to call */
    int code = A_CODE(codes), status;
    unsigned pid = draw(2) ? 0 : draw(2) ? (unsigned)getppid() : (unsigned)draw(2000);
    unsigned *of = draw(4) ? (draw(4) ? &pid : NULL) : &context;
    unsigned short *length = draw(2) ? at_edge(3, sizeof(*length)) : NULL;

    status = lib$getjpi(&code, of, draw(4) ? 0 : a_name(), draw(3) ? at_edge(2, 8) : NULL,
                        a_string(), length);
    if (of == &context && !(status & 1))
        context = -1u;
    AMONG("lib$getjpi", status, SS$_NORMAL, LIB$_STRTRU, LIB$_INVARG, SS$_BADPARAM, SS$_BADITMCOD,
          SS$_NONEXPR, SS$_NOPRIV, SS$_IVLOGNAM, SS$_NOMOREPROC, SS$_SUSPENDED);
}

static void getsyi(void)
{
    static const int codes[] = {SYI$_ACTIVECPU_CNT, SYI$_ARCH_NAME,     SYI$_BOOTTIME,
                                SYI$_HW_NAME,       SYI$_MEMSIZE,       SYI$_NODENAME,
                                SYI$_PAGE_SIZE,     SYI$_VERSION,       SYI$_MAX_CPUS,
                                SYI$_NODE_SWTYPE,   SYI$_CLUSTER_MEMBER};
    int code = A_CODE(codes);
    unsigned system = 0;

    if (code == SYI$_RAD_CPUS || code == SYI$_RAD_MEMSIZE)
        return; /* lists */
    AMONG("lib$getsyi",
          lib$getsyi(&code, draw(3) ? at_edge(2, 8) : NULL, a_string(),
                     draw(2) ? at_edge(3, sizeof(short)) : NULL, draw(2) ? &system : NULL,
                     draw(4) ? 0 : a_name()),
          SS$_NORMAL, LIB$_STRTRU, LIB$_INVARG, SS$_BADPARAM, SS$_BADITMCOD, SS$_NOSUCHNODE,
          SS$_IVLOGNAM);
}

static void getdvi(void)
{
    static const int codes[] = {DVI$_DEVCLASS, DVI$_DEVNAM, DVI$_FULLDEVNAM, DVI$_UNIT,
                                DVI$_OWNUIC,   DVI$_VPROT,  DVI$_AVL,        DVI$_DEVCHAR,
                                DVI$_PID,      DVI$_REFCNT, DVI$_TRM};
    static $DESCRIPTOR(null_device, "NL:");
    unsigned short chan = (unsigned short)(draw(2) ? 0 : 16 * draw(300));
    int code = A_CODE(codes);

    if (draw(4) == 0)
        sys$assign(&null_device, &chan, 0, 0, 0);
    AMONG("lib$getdvi",
          lib$getdvi(&code, draw(2) ? &chan : NULL, a_name(), draw(3) ? at_edge(2, 8) : NULL,
                     a_string(), draw(2) ? at_edge(3, sizeof(short)) : NULL),
          SS$_NORMAL, LIB$_STRTRU, LIB$_INVARG, SS$_BADPARAM, SS$_BADITMCOD, SS$_IVCHAN, SS$_NOPRIV,
          SS$_ACCVIO, SS$_IVDEVNAM, SS$_IVLOGNAM, SS$_NOSUCHDEV);
    sys$dassgn(chan);
}

/* ---- event flags and timers ---- */

static uint64_t flags_free = 0xFFFFFFFF00000000;

static void event_flags(void)
{
    int n = draw(8) ? (int)draw(70) : (int)draw(UINT32_MAX), status;
    bool ours = (n >= 1 && n <= 23) || (n >= 32 && n <= 63);
    bool was_free = ours && flags_free >> n & 1;

    switch (draw(3)) {
    case 0:
        status = lib$get_ef(&n);
        check(flags_free ? status == SS$_NORMAL && n >= 0 && n < 64 && flags_free >> n & 1
                         : status == LIB$_INSEF && n == -1,
              "lib$get_ef");
        if (status == SS$_NORMAL)
            flags_free &= ~(1ul << (n & 63));
        break;
    case 1:
        status = lib$free_ef(&n);
        check(status == (!ours      ? LIB$_EF_RESSYS
                         : was_free ? LIB$_EF_ALRFRE
                                    : SS$_NORMAL),
              "lib$free_ef");
        flags_free |= ours ? 1ul << n : 0;
        break;
    default:
        status = lib$reserve_ef(&n);
        check(status == (!ours      ? LIB$_EF_RESSYS
                         : was_free ? SS$_NORMAL
                                    : LIB$_EF_ALRRES),
              "lib$reserve_ef");
        flags_free &= ours ? ~(1ul << n) : -1ul;
        break;
    }
}

static unsigned timer[3];
static bool timed[3];

static int shown(const struct dsc$descriptor_s *line, unsigned long argument)
{
    check(line->dsc$w_length > 0 && argument == 5, "the line of a timer");
    return SS$_NORMAL;
}

static void timers(void)
{
    unsigned i = (unsigned)draw(3), unknown = 1000 + (unsigned)draw(UINT32_MAX - 1000);
    int code = (int)draw(8) - 1, status;

    switch (draw(5)) {
    case 0:
        if (!timed[i])
            timer[i] = 0;
        AMONG("lib$init_timer", lib$init_timer(&timer[i]), SS$_NORMAL);
        timed[i] = true;
        break;
    case 1:
        AMONG("lib$stat_timer",
              lib$stat_timer(&code, at_edge(2, 8), timed[i] ? &timer[i] : &unknown), SS$_NORMAL,
              LIB$_INVARG);
        break;
    case 2:
        status = lib$show_timer(timed[i] ? &timer[i] : &unknown, draw(4) ? &code : NULL, shown,
                                5ul);
        AMONG("lib$show_timer", status, SS$_NORMAL, LIB$_INVARG);
        check(timed[i] || status == LIB$_INVARG, "a timer that there is not");
        break;
    case 3:
        status = lib$free_timer(timed[i] ? &timer[i] : &unknown);
        check(status == (timed[i] ? SS$_NORMAL : LIB$_INVARG), "lib$free_timer");
        timed[i] = false;
        break;
    default: {
        float seconds = (float)draw(3) / 1000 - (draw(8) == 0);
        unsigned how = draw(4) ? 0 : (unsigned)draw(4);

        AMONG("lib$wait", lib$wait(&seconds, &how), SS$_NORMAL, LIB$_INVARG);
        AMONG("$GETTIM", sys$gettim(at_edge(2, 8)), SS$_NORMAL);
    }
    }
}

/* ---- conditions ---- */

static void match_cond(void)
{
    int c[4];
    int got, mask = STS$M_COND_ID;

    for (unsigned i = 0; i < 4; i++)
        c[i] = draw(2) ? (int)(SS$_ACCVIO ^ draw(16)) : (int)draw(UINT32_MAX);
    if (!(c[0] & STS$M_FAC_SP)) /* of all facilities */
        mask &= ~STS$M_FAC_NO;
    got = lib$match_cond(&c[0], &c[1], &c[2], &c[3]);
    for (int i = 1; i < 4; i++)
        if (((c[i] ^ c[0]) & mask) == 0) {
            check(got == i, "lib$match_cond");
            return;
        }
    check(got == 0, "lib$match_cond of nothing");
}

/* ---- lines and files ---- */

#define SAID    20 /* descriptors: the standard output of this program, and the null device */
#define NOWHERE 21

static void lines(void)
{
    struct dsc$descriptor_s *line = a_name();
    void *to = a_string();

    dup2(NOWHERE, 1); /* not among what the test says */
    AMONG("lib$put_output", lib$put_output(line ? line : &text), SS$_NORMAL);
    fflush(stdout);
    dup2(SAID, 1);
    if (to)
        AMONG("lib$get_input",
              lib$get_input(to, a_name(), draw(2) ? at_edge(3, sizeof(short)) : NULL), SS$_NORMAL,
              LIB$_INPSTRTRU, RMS$_EOF);
    if (feof(stdin))
        rewind(stdin);
}

/* Standard input: lines of any length, without an end of the last one. */
static void make_input(void)
{
    int fd = memfd_create("input", 0);

    for (unsigned i = 0; i < 50; i++)
        if (write(fd, "abcdefghijklmnopqrstuvwxyz\n" + draw(27), 1) != 1)
            bail_out("no input");
    lseek(fd, 0, SEEK_SET);
    dup2(fd, 0);
    dup2(1, SAID);
    dup2(open("/dev/null", O_WRONLY), NOWHERE);
}

static void open_file(void)
{
    struct dsc$descriptor_s *name = a_name();
    struct FAB *fab = at_edge(4, sizeof(*fab));
    int status;

    *fab = cc$rms_fab;
    fab->fab$l_fop = draw(8) ? FAB$M_UFO : 0;
    fab->fab$b_fac = (unsigned char)draw(256);
    fab->fab$l_fna = name ? name->dsc$a_pointer : NULL;
    fab->fab$b_fns = (unsigned char)text.dsc$w_length;
    status = sys$open(fab);
    AMONG("$OPEN", status, RMS$_NORMAL, RMS$_FNF, SS$_BADPARAM, SS$_UNSUPPORTED, SS$_NOPRIV,
          SS$_NOTFILEDEV, SS$_IVDEVNAM, SS$_NOSUCHDEV);
    check((int)fab->fab$l_sts == status, "the status in the FAB");
    if (status == RMS$_NORMAL)
        AMONG("$DASSGN", sys$dassgn((unsigned short)fab->fab$l_stv), SS$_NORMAL);
}

/* ---- processes ---- */

static void scan(void)
{
    static const unsigned short codes[] = {PSCAN$_PRCNAM, PSCAN$_OWNER,   PSCAN$_UIC,
                                           PSCAN$_STATE,  PSCAN$_PRIB,    PSCAN$_GRP,
                                           PSCAN$_MODE,   PSCAN$_USERNAME};
    unsigned context = 0, n = (unsigned)draw(5), seen = 0, *pid = at_edge(2, sizeof(*pid));
    ILE3 *list = at_edge(4, (n + 1) * sizeof(*list));
    ILE3 wanted[] = {{sizeof(*pid), JPI$_PID, pid, 0}, {0, 0, 0, 0}};
    int status;

    for (unsigned i = 0; i < n; i++) {
        const char *word = ONE_OF(words);
        bool is_text = draw(2);

        list[i] = (ILE3){(unsigned short)(is_text ? strlen(word) : 0),
                         draw(8) ? ONE_OF(codes) : (unsigned short)draw(30),
                         is_text ? (void *)(uintptr_t)word : (void *)draw(100),
                         (unsigned short *)(draw(2) ? 0 : 1ul << draw(12))};
    }
    list[n] = (ILE3){0};
    status = sys$process_scan(&context, list);
    AMONG("$PROCESS_SCAN", status, SS$_NORMAL, SS$_BADPARAM, SS$_BADITMCOD, SS$_IVBUFLEN,
          SS$_IVSSRQ, SS$_ACCVIO, SS$_IVLOGNAM);
    while (status == SS$_NORMAL && seen++ < 100)
        status = sys$getjpiw(EFN$C_ENF, &context, 0, wanted, 0, 0, 0);
    if (seen) {
        AMONG("$GETJPI of a scan", status, SS$_NOMOREPROC, SS$_NORMAL, SS$_NOPRIV, SS$_NONEXPR,
              SS$_SUSPENDED);
        if (draw(2))
            AMONG("its end", sys$process_scan(&context), SS$_NORMAL);
    }
}

static unsigned char spawned; /* event flag of the last command, 0: none */

static void spawn(void)
{
    static const char *const commands[] = {"true", "false", "nosuchcommand x", "exit 3", ""};
    static const unsigned char flag = 40;
    static int final;
    const char *command = ONE_OF(commands);
    struct dsc$descriptor_s c = {(unsigned short)strlen(command), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)(uintptr_t)command},
                            null_device = {3, DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)"NL:"};
    unsigned flags = (unsigned)draw(2) * CLI$M_NOWAIT, *pid = at_edge(5, sizeof(*pid));
    int status;

    if (draw(20))
        return; /* takes as long as many other calls */
    if (spawned)
        sys$waitfr(spawned);
    spawned = 0;
    status = lib$spawn(&c, &null_device, &null_device, &flags, 0, draw(2) ? pid : NULL, &final,
                       &flag);
    AMONG("lib$spawn", status, SS$_NORMAL, SS$_EXQUOTA, LIB$_INVARG, LIB$_INVSTRDES);
    if (status == SS$_NORMAL && flags)
        spawned = flag;
}

/* ---- buffer objects ---- */

static void bufobj(void)
{
    char *start = edge[draw(EDGES)] - draw(PAGE + 100);
    uint64_t n = draw(4) ? draw(PAGE) : draw(UINT64_MAX), handle = 0;
    struct {
        void *first, *last;
    } range = {start, start + n}, got;
    int status = sys$create_bufobj(&range, &got, 0, 0, &handle);

    AMONG("$CREATE_BUFOBJ", status, SS$_NORMAL, SS$_ACCVIO, SS$_BADPARAM, SS$_INSFMEM,
          SS$_PAGOWNVIO, SS$_PAGTYPVIO, SS$_VA_IN_USE, SS$_EXBUFOBJLM, SS$_VA_NOTPAGALGN,
          SS$_LEN_NOTPAGMULT, SS$_PAGNOTINREG);
    if (status == SS$_NORMAL)
        AMONG("$DELETE_BUFOBJ", sys$delete_bufobj(&handle), SS$_NORMAL);
}

/* ---- exit handlers ---- */

#define HANDLERS 6

struct handler {
    struct handler *next;
    void (*routine)();
    uint64_t arguments;
    int *reason;
    struct handler *self;
};

static struct handler handler[HANDLERS + 1];
static bool declared[HANDLERS + 1], called[HANDLERS + 1];
static int reason;

static void note_end(const int *why, struct handler *self)
{
    (void)why;
    called[self - handler] = true;
}

/* Declared first, and so called last. */
static void last_of_all(void)
{
    for (unsigned i = 0; i < HANDLERS; i++)
        check(called[i] == declared[i], "an exit handler");
    _exit(wrong);
}

static void handlers(void)
{
    struct handler *h = &handler[draw(HANDLERS)];
    unsigned i = (unsigned)(h - handler);

    if (draw(2) && !declared[i]) {
        *h = (struct handler){.routine = note_end, .arguments = 2, .reason = &reason, .self = h};
        AMONG("$DCLEXH", sys$dclexh(h), SS$_NORMAL);
        declared[i] = true;
    } else {
        check(sys$canexh(h) == (declared[i] ? SS$_NORMAL : SS$_NOHANDLER), "$CANEXH");
        declared[i] = false;
    }
}

/* ---- children ---- */

static int child(unsigned k, uint64_t seed, unsigned calls)
{
    static void (*const routines[])(void) = {getjpi,     getsyi, getdvi, event_flags,
                                             timers,     lines,  scan,   open_file,
                                             match_cond, spawn,  bufobj, handlers};
    static $DESCRIPTOR(own_name, "RTL_FUZZ");
    struct handler *last = &handler[HANDLERS];

    state = (seed * 1000003 + k) * 0x9E3779B97F4A7C15 | 1;
    alarm(100);
    mega$service_hook = NULL;
    setvbuf(stdout, NULL, _IONBF, 0); /* a subprocess of lib$spawn must not write it again */
    sys$setprn(&own_name);
    make_input();
    make_edges();
    *last = (struct handler){.routine = last_of_all, .arguments = 1, .reason = &reason};
    sys$dclexh(last);
    for (unsigned i = 0; i < calls && !wrong; i++)
        routines[draw(sizeof(routines) / sizeof(routines[0]))]();
    if (spawned)
        sys$waitfr(spawned);
    str$free1_dx(&dynamic);
    sys$exit(SS$_NORMAL);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned children = argc > 2 ? (unsigned)atoi(argv[2]) : 6;
    unsigned calls = argc > 3 ? (unsigned)atoi(argv[3]) : 600;

    diag("seed %lu, %u children of %u calls", (unsigned long)seed, children, calls);
    for (unsigned k = 0; k < children; k++) {
        int status = -1;
        pid_t pid = must_fork();

        if (pid == 0)
            child(k, seed, calls);
        waitpid(pid, &status, 0);
        is(status, 0, "child %u makes its calls", k);
    }
    return tap_done();
}
