// SOURCES: kernel/lnm/lnm_order.c kernel/quota/account.c
// SOURCES: kernel/base/treap.c
// SOURCES: kernel/sys/vms/items.c kernel/sys/vms/args.c kernel/sys/quad.c kernel/sys/vms/lnm.c
// SOURCES: kernel/sys/vms/getjpi.c kernel/lnm/lnm.c kernel/lnm/lnm_name.c kernel/lnm/lnm_table.c
// SOURCES: kernel/lnm/lnm_search.c kernel/lnm/lnm_space.c kernel/base/string_extra.c
// SOURCES: sysman/params.c sysman/config.c kernel/lnm/lnm_list.c kernel/sys/vms/target.c
// SOURCES: kernel/sys/vms/getsyi.c kernel/sys/vms/getdvi.c
// TARGETS: kernel/sys/vms/items.c kernel/sys/vms/args.c kernel/sys/vms/lnm.c
// TARGETS: kernel/sys/vms/getjpi.c kernel/sys/vms/target.c
// TARGETS: kernel/sys/vms/getsyi.c kernel/sys/vms/getdvi.c
// RUNS: 1500
/*
 * Item lists, descriptors and argument blocks of a hostile program: $CRELNM, $TRNLNM, $DELLNM,
 * $CRELNT, $GETJPI, $GETSYI and $GETDVI on user memory whose contents the input defines and of
 * which a part is read-only. A call that fails must write nothing; a call that succeeds may write
 * only where its arguments say, which is computed here by a second parser of lists. Bytes may also
 * change between two reads of the service: then only accesses beyond user memory and lost pool are
 * checked.
 */
#include "kernel/base/abi/iledef.h"
#include "kernel/base/abi/jpidef.h"
#include "kernel/base/abi/lnmdef.h"
#include "kernel/base/abi/megalith/devices.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/syidef.h"
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/lnm/lnm_private.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/numbers.h"
#include "kernel/proc/process.h"
#define sigset_t kernel_sigset_t /* the host has another type of this name */
#include "kernel/proc/signal.h"
#undef sigset_t
#include "kernel/proc/terminal.h"
#include "kernel/proc/threads.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/items.h"
#include "kernel/sys/vms/lnm.h"
#include "kernel/sys/vms/priority.h"
#include "mm/space/region.h"
#include "sysman/params.h"
#include "tests/fuzz/items_devices.h"

#define BASE  0x120000000ul
#define BYTES 8192u
#define NAMES 256u /* offset of the descriptors that always exist */

static uint8_t user[BYTES], before[BYTES], allowed[BYTES];
static uint8_t read_twice[BYTES]; /* bytes that a call reads in both passes over its list */
static unsigned read_only;        /* number of read-only bytes, at the beginning */
static unsigned copies, change_at, change_where;
static uint8_t change_to;
static struct thread self;
static struct process me, other;
static struct sighand signals;
struct spinlock process_lock = SPINLOCK_INIT("process", RANK_PROC, IPL_ASTDEL);

/* ---- functions of other parts of the kernel that the services call ---- */

bool user_range_ok(vaddr_t ua, uint64_t n)
{
    return ua >= BASE && n <= BYTES && ua - BASE <= BYTES - n;
}

static bool writable(vaddr_t ua, uint64_t n)
{
    return user_range_ok(ua, n) && ua - BASE >= read_only;
}

int copyin(void *dst, vaddr_t ua, size_t n)
{
    if (++copies == change_at)
        user[change_where] = change_to;
    if (!user_range_ok(ua, n))
        return -14;
    memcpy(dst, user + (ua - BASE), n);
    return 0;
}

int copyout(vaddr_t ua, const void *src, size_t n)
{
    if (!writable(ua, n))
        return n ? -14 : 0;
    memcpy(user + (ua - BASE), src, n);
    return 0;
}

int clear_user(vaddr_t ua, size_t n)
{
    if (!writable(ua, n))
        return -14;
    memset(user + (ua - BASE), 0, n);
    return 0;
}

int copyin_u32(uint32_t *v, vaddr_t ua) { return copyin(v, ua, 4); }
int copyin_u64(uint64_t *v, vaddr_t ua) { return copyin(v, ua, 8); }
int copyout_u32(vaddr_t ua, uint32_t v) { return copyout(ua, &v, 4); }
int copyout_u64(vaddr_t ua, uint64_t v) { return copyout(ua, &v, 8); }
int probe_write(vaddr_t ua, size_t n) { return writable(ua, n) ? 0 : -14; }

/* Completion without events of processes: there is no memory for an AST. */
cond_t vms_completion_begin(struct vms_completion *c, uint64_t efn, vaddr_t iosb, vaddr_t astadr,
                            uint64_t astprm)
{
    (void)astprm;
    *c = (struct vms_completion){.efn = vms_efn(efn), .iosb = iosb};
    if (iosb && probe_write(iosb, 8) != 0)
        return SS$_ACCVIO;
    if (astadr)
        return SS$_INSFMEM;
    return c->efn > EVENT_NONE ? SS$_ILLEFC : SS$_NORMAL;
}

cond_t vms_completion_end(struct vms_completion *c, cond_t status, bool failed)
{
    if (!failed && c->iosb && copyout_u64(c->iosb, (uint64_t)cond_value(status)) != 0)
        return SS$_ACCVIO;
    return status;
}

/* Counts of events and requests, and priorities: any numbers. */
void event_counts(const struct event_owner *o, struct event_counts *c)
{
    (void)o;
    *c = (struct event_counts){0};
}

void event_limits(uint32_t asts, uint32_t timers, struct event_counts *c)
{
    *c = (struct event_counts){.ast_limit = asts, .timer_limit = timers};
}

void qio_counts(const struct qio_channels *t, const struct qio_limits *limits, struct qio_counts *c)
{
    (void)t;
    *c = (struct qio_counts){.limit = *limits, .left = *limits};
}

uint32_t vms_base_priority(const struct process *p)
{
    (void)p;
    return 4;
}

bool creds_is_system(const struct process *p) { return p->uic_group <= 010; }
struct uthread *process_first_thread_locked(const struct process *p)
{
    return p == &me ? &signals.first : NULL;
}

struct process *process_find_locked(uint32_t pid)
{
    return pid == me.pid ? &me : pid == other.pid ? &other : NULL;
}
uint32_t numbers_end = NUMBERS_LEAST;
uint32_t number_next(uint32_t n)
{
    uint32_t low = MIN(me.pid, other.pid), high = MAX(me.pid, other.pid);

    return n <= low ? low : n <= high ? high : numbers_end;
}
void process_search(uint32_t pgid, enum process_visit (*fn)(struct process *p, void *arg),
                    void *arg)
{
    (void)pgid;
    if (fn(&me, arg) != PROCESS_STOP)
        fn(&other, arg);
}
uint64_t clock_wall_ns(void) { return 1700000000000000000ul; }
size_t format(char *buf, size_t size, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(buf, size, fmt, ap);
    va_end(ap);
    return (size_t)n;
}
uint32_t terminal_device_locked(const struct process *p) { return p->pid; }
void vms_terminal_name(uint32_t device, char *name, size_t size)
{
    snprintf(name, size, "_FTA%u:", device);
}
uint32_t fdtable_count(const struct file_table *t)
{
    (void)t;
    return 3;
}
bool threads_sums_of(uint32_t pid, uint64_t start_ns, struct thread_sums *sum)
{
    *sum = (struct thread_sums){.used = {123456789, 987654321}};
    return pid == me.pid && start_ns == me.start_ns;
}
uint32_t kin_subprocess_limit(const struct process *p) { return p->pid % 3; }
unsigned hwrpb_cpu_type(void) { return 11; }
unsigned hwrpb_system_type(void) { return 34; }
void aspace_ref(struct aspace *as) { (void)as; }
void aspace_unref(struct aspace *as) { (void)as; }
int region_query(struct aspace *as, uint32_t by, uint64_t id, vaddr_t va, struct region_view *v,
                 vaddr_t *first)
{
    (void)as, (void)by, (void)id, (void)va, (void)v, (void)first;
    return SS$_NORMAL;
}

/* ---- making user memory from the input ---- */

static void put(unsigned at, const void *from, size_t n)
{
    if (at < BYTES)
        memcpy(user + at, from, n < BYTES - at ? n : BYTES - at);
}

static vaddr_t in_addr(struct fuzz_in *in)
{
    unsigned a = in_u8(in);

    if (a == 0 || a == 255)
        return a ? BASE + BYTES - in_below(in, 64) : 0;
    return BASE + a * 16 + (a >= 128 ? in_below(in, 16) : 0);
}

/* The address of a buffer of a list, mostly in writable memory. */
static vaddr_t in_buffer(struct fuzz_in *in)
{
    unsigned a = in_u8(in);

    return a < 200 ? BASE + BYTES - 4096 + 16 * a : in_addr(in);
}

/* The address of a list, mostly that at which lay_out() puts one. */
static vaddr_t in_list(struct fuzz_in *in) { return in_u8(in) < 200 ? BASE + 1024 : in_addr(in); }

static bool jpi, mixed; /* which service's items a layout has; mixed: any */

static uint16_t in_code(struct fuzz_in *in)
{
    static const uint16_t codes[] = {
        LNM$_INDEX,    LNM$_STRING,    LNM$_ATTRIBUTES, LNM$_TABLE,   LNM$_LENGTH,
        LNM$_ACMODE,   LNM$_MAX_INDEX, 0xFFFF,          JPI$_PID,     JPI$_PRCNAM,
        JPI$_IMAGNAME, JPI$_UIC,       0xFFFE,          JPI$_PPGCNT,  JPI$_P2_FIRST_FREE_VA_64,
        0xFFFF,        JPI$_USERNAME,  JPI$_CPUTIM,     JPI$_CURPRIV, JPI$_LOGINTIM,
        LNM$_STRING};
    static const uint16_t others[] = {DVI$_DEVCLASS,   DVI$_DEVNAM,    DVI$_UNIT,     DVI$_OWNUIC,
                                      DVI$_TRM,        SYI$_ARCH_NAME, SYI$_RAD_CPUS, SYI$_VERSION,
                                      SYI$_BOOTTIME,   SYI$_MEMSIZE,   SYI$_HW_NAME,  SYI$_NODENAME,
                                      SYI$_RAD_MEMSIZE};
    unsigned c = in_u8(in);

    if (jpi && c >= 192)
        return others[c % (sizeof(others) / sizeof(others[0]))];
    if (!mixed && jpi)
        return codes[8 + c % 12];
    return !mixed ? codes[c % 7] : c < 240 ? codes[c % 21] : in_u16(in);
}

static uint64_t in_length(struct fuzz_in *in)
{
    unsigned l = in_u8(in);

    return l < 4 ? 4 : l < 200 ? l : l < 230 ? in_u16(in) : l < 240 ? in_u64(in) : 4;
}

static const char *const texts[] = {
    "LNM$PROCESS", "LNM$JOB", "LNM$FILE_DEV", "LNM$PROCESS_DIRECTORY", "A", "B", "LNM$SYSTEM", "T"};

static void lay_out(struct fuzz_in *in)
{
    unsigned steps = in_below(in, 40), at = 1024, last = 0, kind = in_u8(in);

    jpi = kind & 1;
    mixed = kind & 2;
    if (!mixed)
        memset(user + 1024, 0, BYTES - 1024 - 4096);

    for (unsigned i = 0; i < 8; i++) {
        uint16_t n = (uint16_t)strlen(texts[i]);
        vaddr_t text = BASE + NAMES + 128 + 24 * i;

        put(NAMES + 16 * i, &n, 2);
        put(NAMES + 16 * i + 8, &text, 8);
        put(NAMES + 128 + 24 * i, texts[i], n);
    }
    for (unsigned i = 0; i < steps; i++)
        switch (mixed ? in_u8(in) % 9 : kind & 4 ? 3 : 0) {
        case 0:
        case 1:
        case 2: {
            ILE3 e = {.ile3$w_code = in_code(in)};

            e.ile3$w_length = (unsigned short)in_length(in);
            e.ile3$ps_bufaddr = (void *)in_buffer(in);
            e.ile3$ps_retlen_addr = (void *)in_addr(in);
            put(at, &e, sizeof(e));
            at += last = sizeof(e);
            break;
        }
        case 3:
        case 4: {
            ILEB_64 e = {.ileb_64$w_mbo = 1, .ileb_64$w_code = in_code(in), .ileb_64$l_mbmo = -1};

            e.ileb_64$q_length = in_length(in);
            e.ileb_64$pq_bufaddr = (void *)in_buffer(in);
            e.ileb_64$pq_retlen_addr = (void *)in_addr(in);
            put(at, &e, sizeof(e));
            at += last = sizeof(e);
            break;
        }
        case 5: /* the end of a list */
            put(at, &(uint32_t){0}, 4);
            at += 16;
            break;
        case 6: /* an argument block: names, attributes, lists */
            put(at, &(uint64_t){in_below(in, 10)}, 8);
            for (at += 8; in_more(in) && at % 128; at += 8)
                put(at, &(vaddr_t){in_addr(in)}, 8);
            break;
        case 7: /* the last entry several times */
            for (unsigned k = in_u8(in); k && at >= last && at + last <= BYTES; k--, at += last)
                memmove(user + at, user + at - last, last);
            break;
        default:
            at = 16 * in_u8(in);
            put(at, &(uint32_t){in_u32(in)}, 4);
        }
}

/* ---- the memory that a call may write ---- */

static void allow(vaddr_t ua, uint64_t n)
{
    for (uint64_t i = 0; i < n && i < BYTES; i++)
        if (user_range_ok(ua + i, 1))
            allowed[ua + i - BASE] = 1;
}

static bool get(void *to, vaddr_t ua, size_t n)
{
    if (!user_range_ok(ua, n))
        return false;
    memcpy(to, before + (ua - BASE), n);
    memset(read_twice + (ua - BASE), 1, n);
    return true;
}

/* Allow writes to all outputs of a list, in either form of iledef.h; *strings counts strings. */
static void allow_list(vaddr_t ua, unsigned *strings)
{
    bool wide = false, first = true;

    *strings = 0;
    for (unsigned i = 0; i < 1100; i++) {
        ILE3 e;
        ILEB_64 e64;
        uint32_t head;
        uint64_t length;
        vaddr_t buffer, back;
        uint16_t code;

        if (!get(&head, ua, 4) || head == 0)
            return;
        if (first)
            wide = get(&e64, ua, 16) && e64.ileb_64$w_mbo == 1 && e64.ileb_64$l_mbmo == -1 &&
                   e64.ileb_64$q_length <= 65535;
        first = false;
        if (wide ? !get(&e64, ua, sizeof(e64)) : !get(&e, ua, sizeof(e)))
            return;
        code = wide ? e64.ileb_64$w_code : e.ile3$w_code;
        length = wide ? e64.ileb_64$q_length : e.ile3$w_length;
        buffer = (vaddr_t)(wide ? e64.ileb_64$pq_bufaddr : e.ile3$ps_bufaddr);
        back = wide ? (vaddr_t)e64.ileb_64$pq_retlen_addr : (vaddr_t)e.ile3$ps_retlen_addr;
        if (code == 0)
            return; /* the services take this for the end of the list */
        ua += wide ? sizeof(e64) : sizeof(e);
        if (code == 0xFFFF) {
            ua = buffer;
            first = true;
            continue;
        }
        *strings += code == LNM$_STRING;
        if ((code == LNM$_INDEX || code == 0xFFFE) && user_range_ok(buffer, 4))
            memset(read_twice + (buffer - BASE), 1, 4);
        allow(buffer, length);
        if (back)
            allow(back, wide ? 8 : 2);
    }
}

static bool good(long status) { return status & 1; }

static void check_written(const char *call, long status, bool changed)
{
    fuzz_check(status > 0 && status < 0x10000, "%s returns %ld", call, status);
    /* If the outputs of the call overwrite its list, the second pass reads something else. */
    bool overwritten = false;

    for (unsigned i = 0; i < BYTES; i++)
        overwritten |= read_twice[i] && user[i] != before[i];
    for (unsigned i = 0; i < BYTES && !changed; i++)
        if (user[i] != before[i]) {
            fuzz_check(good(status) || status == SS$_BUFFEROVF || overwritten,
                       "%s is refused with %lx and has written byte %u", call, status, i);
            fuzz_check(allowed[i] || overwritten, "%s writes byte %u, which nobody named", call, i);
        }
}

/* ---- calls ---- */

static vaddr_t in_name(struct fuzz_in *in)
{
    unsigned n = in_u8(in);

    return n < 224 ? BASE + NAMES + 16 * (n % 8) : in_addr(in);
}

static int count_strings(const struct lnm_view *v, void *arg)
{
    unsigned *n = arg;

    while (lnm_translation_at(v->block, *n))
        ++*n;
    return SS$_NORMAL;
}

static void crelnm(struct fuzz_in *in, bool changed)
{
    vaddr_t attr = in_u8(in) & 7 ? 0 : in_addr(in), table = in_name(in), name = in_name(in);
    vaddr_t mode = in_u8(in) & 7 ? 0 : in_addr(in), list = in_list(in);
    unsigned strings, have = 0;
    struct lnm_who who;
    long status;

    allow_list(list, &strings);
    status = vms_crelnm(attr, table, name, mode, list);
    check_written("$CRELNM", status, changed);
    fuzz_check(changed || !good(status) || strings <= LNM_TRANSLATIONS_MAX,
               "a name with %u translations", strings);
    if (!attr && !mode && good(status) && !changed && table == BASE + NAMES &&
        name == BASE + NAMES + 64) {
        who = vms_lnm_who();
        lnm_translate(&who, LNM_STRING("LNM$PROCESS"), LNM_STRING("A"), PSL$C_USER, false,
                      count_strings, &have);
        fuzz_check(have == strings, "%u translations, %u given", have, strings);
    }
}

static void crelnt(struct fuzz_in *in, bool changed)
{
    vaddr_t block = in_addr(in), descriptor = 0, length = 0, pointer;
    uint16_t n;
    uint64_t n64;
    int mbmo;

    get(&descriptor, block + 16, 8);
    get(&length, block + 24, 8);
    if (get(&n, descriptor, 2) && get(&pointer, descriptor + 8, 8)) {
        allow(pointer, n);
        if (n == 1 && get(&mbmo, descriptor + 4, 4) && mbmo == -1 && get(&n64, descriptor + 8, 8) &&
            get(&pointer, descriptor + 16, 8))
            allow(pointer, n64);
    }
    if (length)
        allow(length, 2);
    check_written("$CRELNT", vms_crelnt(block), changed);
}

/* $GETJPI, $GETSYI or $GETDVI, whose arguments are alike. */
static void inform(struct fuzz_in *in, bool changed, unsigned service)
{
    static cond_t (*const calls[])(uint64_t block) = {vms_getjpi, vms_getsyi, vms_getdvi};
    static const char *const names[] = {"$GETJPI", "$GETSYI", "$GETDVI"};
    bool jpi_call = service == 0;
    vaddr_t block = in_addr(in), list = 0, pid = 0, status_block = 0, astadr = 0;
    uint64_t n = 0;
    unsigned strings;
    uint32_t whom = 0;
    long status;

    if (block < BASE + 2048) { /* create one */
        uint64_t made[] = {7, 0, 0, 0, BASE + 1024, in_u8(in) % 2 ? in_addr(in) : 0, 0, 0};

        block = BASE + 512;
        made[2] = in_u8(in) % 2 ? in_addr(in) : 0;
        if (service == 2) { /* a channel or a name */
            made[2] = made[2] % 3 * 8;
            made[3] = in_name(in);
        }
        put(512, made, sizeof(made));
        memcpy(before, user, BYTES);
    }
    get(&n, block, 8);
    get(&pid, block + 16, 8);
    get(&list, block + 32, 8);
    if (n >= 5)
        get(&status_block, block + 40, 8);
    if (n >= 6)
        get(&astadr, block + 48, 8);
    get(&whom, pid, 4);
    allow_list(list, &strings);
    if (pid && jpi_call)
        allow(pid, 4);
    if (status_block)
        allow(status_block, 8);
    status = calls[service](block);
    fuzz_check(channels_held == 0, "%s keeps %ld channels", names[service], channels_held);
    if (jpi_call && (whom & 0x80000000u) &&
        status == SS$_NOPRIV) /* a search continues with the next process */
        memcpy(user + (pid - BASE), before + (pid - BASE), 4);
    fuzz_check(changed || !good(status) || !astadr, "an AST that nobody can deliver");
    check_written(names[service], status, changed);
}

static void call(struct fuzz_in *in)
{
    unsigned what = in_u8(in);
    bool changed = what >= 192;
    unsigned strings;

    memcpy(before, user, BYTES);
    memset(allowed, 0, sizeof(allowed));
    memset(read_twice, 0, sizeof(read_twice));
    copies = 0;
    change_at = changed ? 1 + in_u8(in) : 0;
    change_where = changed ? in_below(in, BYTES) : 0;
    change_to = changed ? in_u8(in) : 0;
    switch (what % 6) {
    case 0:
    case 1:
        crelnm(in, changed);
        break;
    case 2: {
        vaddr_t table = in_name(in), name = in_name(in), list = in_list(in);

        allow_list(list, &strings);
        check_written("$TRNLNM", vms_trnlnm(0, table, name, 0, list), changed);
        break;
    }
    case 3: {
        vaddr_t table = in_name(in), name = in_name(in);

        check_written("$DELLNM", vms_dellnm(table, name, 0), changed);
        break;
    }
    case 4:
        crelnt(in, changed);
        break;
    default:
        inform(in, changed, what / 6 % 3);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_in in = fuzz_in(data, n);
    long booted;

    fuzz_begin();
    fuzz_pool_begin();
    sysparam_set("LNMSHASHTBL", 16, false);
    lnm_boot();
    booted = fuzz_pool_bytes;
    me = (struct process){.pid = 7, .state = PROCESS_LIVE, .uic_group = 0200, .uic_member = 1};
    me.sig = &signals;
    me.nthreads = 1;
    me.alone = true;
    other = me;
    other.pid = 9;
    other.uic_group = 0300;
    strcpy(me.name, "FUZZ");
    me.program = NULL; /* no program, so that JPI$_IMAGNAME is empty */
    me.names = lnm_space_create();
    self.process = &me;
    signals.first.thread = &self;
    list_init(&other.threads);
    list_init(&me.threads);
    list_add_tail(&me.threads, &signals.first.place.link);
    host_cpu_enter(0, &self.hw);
    read_only = in_u8(&in) & 1 ? in_below(&in, BYTES) : 0;
    while (in_more(&in)) {
        lay_out(&in);
        for (unsigned i = 1 + in_below(&in, 4); i; i--)
            call(&in);
    }
    lnm_space_free(me.names);
    /* The group's table stays once it has been created. */
    fuzz_check(fuzz_pool_bytes - booted <= 1024, "%ld bytes of pool are left",
               fuzz_pool_bytes - booted);
    return 0;
}
