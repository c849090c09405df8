/*
 * Every allocation inside every system call and system service is made to fail in turn: the first,
 * the second, ... until the call succeeds without a failure. After each failure the state must be
 * the one before the call, and the condition value or errno must be the expected one. After the
 * final success the call must have its effect, and after undo() the state must be the one before
 * prepare().
 *
 * `failure` tries all scenarios, `failure NAME...` those whose names contain one of the arguments.
 * At the end it asks the kernel for all calls: each needs a scenario.
 */
#include "failure.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <megalith/services.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>

#define TRIES_MAX 4000
#define SITES_MAX 1024
#define CALLS_MAX 0x2000
#define BAD_MAX   4 /* wrong tries of one scenario that are reported */
#define VMS_FIRST 0x1000

static struct mega_failure report;
static struct {
    char text[48];
    unsigned kind;
} sites[SITES_MAX];
static unsigned nsites, nscenarios, ninjected;
static bool tried[CALLS_MAX];

/* ---- calls ---- */

long raw(unsigned long number, ...)
{
    unsigned long a[6];
    va_list ap;

    va_start(ap, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(ap, unsigned long);
    va_end(ap);
    return raw6(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- untouched memory ---- */

void cold_map(unsigned long at, unsigned long bytes)
{
    if (mmap((void *)at, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)at)
        bail_out("no place at %#lx: %s", at, strerror(errno));
}

void cold_make(void) { cold_map(COLD, PAGE); }

bool cold_written;

/* A call that fails may have read a page before: the page of zeroes is mapped there then. */
static void cold_forget(void)
{
    if (!cold_written)
        raw(SYS_madvise, COLD, 64 * PAGE, MADV_DONTNEED);
}

void cold_drop(void)
{
    munmap((void *)COLD, 64 * PAGE);
    munmap((void *)COLD2, 64 * PAGE);
    cold_written = false;
}

/* ---- one try ---- */

static bool is_service(const struct scenario *s)
{
    return s->call >= VMS_FIRST && !(s->flags & BY_FAULT);
}

static bool succeeded(const struct scenario *s, long r)
{
    if (s->flags & SAME_VALUE && r == s->right[0].value)
        return false;
    return r == ENDED || (is_service(s) ? (r & 1) != 0 : r >= 0 || r < -4095);
}

/* Was the allocation a page of a file? */
static bool for_a_file(void)
{
    for (unsigned i = 0; i < MEGA_FAIL_SITES; i++)
        if (strncmp(report.site[i], "memfs_get", strlen("memfs_get")) == 0)
            return true;
    return false;
}

/* The expected result if the allocation that `report` describes failed. */
static long right_value(const struct scenario *s)
{
    bool service = is_service(s);

    for (unsigned i = 0; i < 4 && s->right[i].value; i++)
        if (s->right[i].kind == (int)report.kind || s->right[i].kind == ANY_KIND ||
            (s->right[i].kind == IN_FAULT && report.in_fault) ||
            (s->right[i].kind == OF_FILE && for_a_file()))
            return s->right[i].value;
    if (report.in_fault)
        return service ? SS$_ACCVIO : -EFAULT;
    switch (report.kind) {
    case MEGA_ALLOC_PROMISE:
        return service ? SS$_INSFLPGS : -ENOMEM;
    case MEGA_ALLOC_PLACE:
        return service ? SS$_VASFULL : -ENOMEM;
    case MEGA_ALLOC_PROCESS:
        return -EAGAIN;
    case MEGA_ALLOC_FD:
        return -EMFILE;
    case MEGA_ALLOC_SECTION:
        return service ? SS$_GSDFULL : -ENOMEM;
    case MEGA_ALLOC_SHARE:
        return service ? SS$_EXQUOTA : -ENOMEM;
    case MEGA_ALLOC_WINDOW:
        return SS$_INSFSPTS;
    case MEGA_ALLOC_QUOTA:
        return SS$_EXLNMQUOTA;
    default:
        return service ? SS$_INSFMEM : -ENOMEM;
    }
}

/* Is the site in an allocator, so that its caller is the more informative site? */
static bool is_allocator(const char *site)
{
    static const char *const names[] = {
        "alloc_counted",   "npp_alloc",         "pgd_alloc",        "page_alloc",
        "map_entry_alloc", "fluid_promise",     "kstack_alloc",     "window_create",
        "failure_count",   "section_try_share", "lnm_quota_allows", "aspace_find_locked",
        "node_alloc",      "object_create"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(site, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *site_of_report(void)
{
    unsigned i = 0;

    while (i + 1 < MEGA_FAIL_SITES && is_allocator(report.site[i]) && report.site[i + 1][0])
        i++;
    return report.site[i];
}

static void note_site(void)
{
    const char *site = site_of_report();

    for (unsigned i = 0; i < nsites; i++)
        if (sites[i].kind == report.kind && strcmp(sites[i].text, site) == 0)
            return;
    if (nsites == SITES_MAX)
        bail_out("more than %u sites", SITES_MAX);
    sites[nsites].kind = report.kind;
    strcpy(sites[nsites++].text, site);
}

static void say_report(const char *what, const struct scenario *s, unsigned long n, long r)
{
    diag("%s, allocation %lu (kind %u%s): %s, result %ld", s->name, n, report.kind,
         report.in_fault ? ", in a fault" : "", what, r);
    if (report.fired)
        for (unsigned i = 0; i < MEGA_FAIL_SITES && report.site[i][0]; i++)
            diag("  %s", report.site[i]);
}

static long armed(const struct scenario *s, unsigned long n)
{
    long r;

    if (mega$control(MEGA_CTL_FAIL_ARM, n, (s->flags & BY_FAULT) != 0, 0, 0, 0) != SS$_NORMAL)
        bail_out("a failure cannot be armed");
    r = s->act
            ? s->act()
            : raw6(s->call, s->args[0], s->args[1], s->args[2], s->args[3], s->args[4], s->args[5]);
    if (mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&report, 0, 0, 0, 0) != SS$_NORMAL)
        bail_out("a failure is not reported");
    return r;
}

/* A try in a vfork child, which shares the memory of this process, while this process waits. A
   child that does not return has ended as intended; its effects are included in the totals. */
static long armed_in_child(const struct scenario *s, unsigned long n)
{
    static volatile long result;
    static volatile bool back;
    struct mega_failure before, after;
    int status = 0;
    pid_t pid;

    mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&before, 0, 0, 0, 0);
    memset(&report, 0, sizeof(report));
    back = false;
    pid = vfork();
    if (pid == 0) {
        struct state was = {0}, is = {0};

        if (s->child) {
            s->child();
            state_pools(&was);
        } else {
            state_take(&was);
        }
        result = armed(s, n);
        back = true;
        if (s->child)
            state_pools(&is);
        else
            state_take(&is);
        /* The quota is charged only when the tables to which it belongs exist. */
        if (!succeeded(s, result) && report.kind != MEGA_ALLOC_QUOTA &&
            memcmp(&was, &is, sizeof(was)) != 0 &&
            (s->child || !state_same(&was, &is, s->flags, true))) {
            diag("%s: the child's own state differs", s->name);
            result = LONG_MIN + 1;
        }
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail_out("no child: %s", strerror(errno));
    if (back)
        return result;
    mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&after, 0, 0, 0, 0);
    report = (struct mega_failure){.fired = after.injected - before.injected,
                                   .passed = after.counted - before.counted};
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? ENDED : -1000 - status;
}

/* Page faults in a forked child. The child is killed, or ended by a signal, as the scenario says;
   otherwise it reports its result. */
static long armed_by_fault(const struct scenario *s, unsigned long n)
{
    struct mega_failure before, after;
    int status = 0;
    pid_t pid;

    mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&before, 0, 0, 0, 0);
    pid = fork();
    if (pid == 0) {
        long r = armed(s, n);

        _exit(succeeded(s, r) && (!s->effect || s->effect(r)) ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        bail_out("no child: %s", strerror(errno));
    warm_up(); /* breaks the copy-on-write sharing that fork left */
    settle();
    mega$control(MEGA_CTL_FAIL_REPORT, (uint64_t)&after, 0, 0, 0, 0);
    memset(&report, 0, sizeof(report));
    report.fired = after.injected - before.injected;
    report.passed = after.counted - before.counted;
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status) ? -1000 : 0;
}

static long try(const struct scenario *s, unsigned long n)
{
    return s->flags & BY_FAULT   ? armed_by_fault(s, n)
           : s->flags & IN_CHILD ? armed_in_child(s, n)
                                 : armed(s, n);
}

/* ---- one scenario ---- */

static bool result_is_right(const struct scenario *s, unsigned long n, long r)
{
    long want = right_value(s);

    if (r == want || (s->flags & BY_FAULT && s->right[0].kind == OF_FILE && r == s->right[0].value))
        return true;
    say_report("wrong result", s, n, r);
    diag("  right would be %ld%s", want, is_service(s) ? mega$condition_text((int)want) : "");
    return false;
}

static void prepare(const struct scenario *s)
{
    if (s->prepare)
        s->prepare();
}

static void undo(const struct scenario *s)
{
    if (s->undo)
        s->undo();
}

static bool has_effect(const struct scenario *s, unsigned long n, long r)
{
    if (succeeded(s, r) && (s->flags & BY_FAULT || !s->effect || s->effect(r)))
        return true;
    say_report("not the right effect", s, n, r);
    return false;
}

/* Try number n. Sets *good if everything was as expected. Returns true if the n-th allocation
   happened and failed. */
static bool one_try(const struct scenario *s, unsigned long n, const struct state *base, bool *good)
{
    struct state before, after;
    bool fired;
    long r;

    prepare(s);
    if (s->flags & (IN_CHILD | BY_FAULT))
        before = *base;
    else
        state_take(&before);
    r = try(s, n);
    fired = report.fired != 0;
    if (fired) {
        ninjected++;
        if (!(s->flags & BY_FAULT) && report.site[0][0])
            note_site();
    }
    if (fired && succeeded(s, r) && !(s->flags & ABSORBS) &&
        !strstr(report.site[1], "alloc_variable")) {
        say_report("it failed, and the call succeeded", s, n, r);
        *good = false;
    } else if (fired && !succeeded(s, r)) {
        if (report.site[0][0] && report.call != s->call && !is_service(s)) {
            diag("%s: failed in call %lu", s->name, (unsigned long)report.call);
            *good = false;
        }
        *good &= result_is_right(s, n, r);
        if (!(s->flags & (IN_CHILD | BY_FAULT))) {
            cold_forget();
            state_take(&after);
            if (!state_same(&before, &after, s->flags, true)) {
                say_report("the state has changed", s, n, r);
                *good = false;
            }
        }
    } else {
        *good &= has_effect(s, n, r);
    }
    undo(s);
    state_take(&after);
    if (!state_same(base, &after, 0, true)) {
        say_report("something is left behind", s, n, r);
        *good = false;
    }
    return fired;
}

static bool sweep(const struct scenario *s, unsigned *injected)
{
    struct state base;
    unsigned bad = 0;
    bool more = true;

    /* What the first tries allocate for good (caches, tables of system space, text) is no leak. */
    for (unsigned i = 0; i < 2; i++) {
        prepare(s);
        (void)try(s, ULONG_MAX);
        undo(s);
    }
    state_settled(&base);
    for (unsigned long n = 1; more && bad < BAD_MAX && n < TRIES_MAX; n++) {
        bool good = true;

        more = one_try(s, n, &base, &good);
        *injected += more;
        if (!good) {
            bad++;
            state_settled(&base);
        }
    }
    if (more)
        diag("%s: given up after %u allocations", s->name, *injected);
    if (!(s->flags & NOTHING) == !*injected) {
        diag("%s allocates %s, against what is said of it", s->name, *injected ? "" : "nothing");
        bad++;
    }
    return bad == 0;
}

static bool chosen(const char *name, char **words)
{
    if (!*words)
        return true;
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

static void run(const struct scenario *s, char **words)
{
    for (; s->name; s++) {
        unsigned injected = 0;
        bool good;

        if (s->call < CALLS_MAX)
            tried[s->call] = true;
        if (!chosen(s->name, words))
            continue;
        nscenarios++;
        good = sweep(s, &injected);
        ok(good, "%s: %u allocations", s->name, injected);
    }
}

/* The very first use of logical names in the system creates several tables. It happens only once,
 * so a failed try must leave nothing behind for the next. */
static void first_names(const struct scenario *s)
{
    unsigned long n = 1;
    bool good = true;
    long r;

    for (;; n++) {
        struct state was = {0}, is = {0};

        state_pools(&was);
        r = armed(s, n);
        if (!report.fired)
            break;
        ninjected++;
        note_site();
        state_pools(&is);
        good &= result_is_right(s, n, r);
        if (report.kind != MEGA_ALLOC_QUOTA && memcmp(&was, &is, sizeof(was)) != 0) {
            say_report("the pools have changed", s, n, r);
            good = false;
        }
    }
    nscenarios++;
    ok(good && n > 10 && has_effect(s, n, r), "%s: %lu allocations fail in turn", s->name, n - 1);
    undo(s);
}

/* ---- all scenarios ---- */

static unsigned arguments_of(unsigned n)
{
    struct mega_call c = {.arguments = 99};

    mega$info(MEGA_INFO_CALL, n, &c, sizeof(c));
    return c.arguments;
}

/* Which system calls and services have no scenario? */
static void completeness(void)
{
    unsigned calls = 0, missing = 0, odd = 0;
    struct mega_call c;

    for (unsigned n = 0; n < CALLS_MAX; n++) {
        if (mega$info(MEGA_INFO_CALL, n, &c, sizeof(c)) != SS$_NORMAL)
            continue;
        calls++;
        odd += c.arguments > 6;
        if (!tried[n]) {
            diag("call %u (%#x), %s, has no scenario", n, n, c.name);
            missing++;
        }
    }
    is(missing, 0, "each system call and service has a scenario");
    is(odd, 0, "no call takes more arguments than there are registers");
    ok(arguments_of(__NR_getxpid) == 0 && arguments_of(__NR_read) == 3 &&
           arguments_of(__NR_mmap) == 6 && arguments_of(VMS_MGBLSC_64) == 1,
       "the kernel's table of calls has the right numbers of arguments");
    diag("calls: %u", calls);
}

static void touch(unsigned long at, unsigned long end, bool write)
{
    for (at &= ~(PAGE - 1); at < end; at += PAGE) {
        volatile char *p = (volatile char *)at;

        if (write)
            *p = *p;
        else
            (void)*p;
    }
}

void warm_up(void)
{
    const Elf64_Phdr *ph = (const Elf64_Phdr *)getauxval(AT_PHDR);
    unsigned long n = getauxval(AT_PHNUM), fixed = 0;
    volatile char room[64 * 1024];

    for (unsigned long i = 0; i < n; i++)
        if (ph[i].p_type == PT_GNU_RELRO) /* made read-only by the C library */
            fixed = (ph[i].p_vaddr + ph[i].p_memsz + PAGE - 1) & ~(PAGE - 1);
    for (unsigned long i = 0; i < n; i++) {
        unsigned long at = ph[i].p_vaddr, end = at + ph[i].p_memsz;

        if (ph[i].p_type != PT_LOAD)
            continue;
        touch(at, end, false);
        if (ph[i].p_flags & PF_W)
            touch(at > fixed ? at : fixed, end, true);
    }
    for (unsigned i = 0; i < sizeof(room); i += PAGE)
        room[i] = 0;
}

static void nothing(void) {}

/* Make pages of paged pool present for the first names: where a page cannot be had, the pool is
   drained and asked again, and then the call succeeds. The names of directories are there, too. */
static void warm_paged_pool(void)
{
    enum { DIRECTORIES = 600, LETTERS = 200 };
    char path[8 + LETTERS];

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < DIRECTORIES; i++) {
            snprintf(path, sizeof(path), "/tmp/%0*d", LETTERS, i);
            if (round == 0 ? mkdir(path, 0700) : rmdir(path))
                bail_out("a directory in /tmp");
        }
}

int main(int argc, char **argv)
{
    static const struct scenario *const all[] = {
        plain_scenarios,   event_scenarios,     socket_scenarios,    memory_scenarios,
        file_scenarios,    storage_scenarios,   process_scenarios,   region_scenarios,
        section_scenarios, name_scenarios,      system_scenarios,    fault_scenarios,
        ipc_scenarios,     message_scenarios,   vms_event_scenarios, vms_io_scenarios,
        aio_scenarios,     vms_device_scenarios};

    if (argc > 1 && strcmp(argv[1], "--exec") == 0)
        return 0; /* started by an execve that succeeded */
    setvbuf(stdout, NULL, _IONBF, 0);
    mega$service_hook = NULL; /* it would print in the middle of a try */
    (void)sys$setef(0);       /* the events of this process are not made by a scenario */
    (void)sys$dclast(nothing, 0, 0);
    warm_up();
    if (argc == 1) {
        warm_paged_pool();
        first_names(&first_name);
    }
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        run(all[i], argv + 1);
    if (access("/dev/vda", F_OK) == 0)
        run(disk_scenarios, argv + 1);
    if (is_test_kernel())
        run(test_scenarios, argv + 1);
    if (nscenarios == 0)
        bail_out("no scenario has %s in its name", argv[1]);
    if (argc == 1) {
        struct mega_validate m;

        completeness();
        is_status(mega$info(MEGA_INFO_VALIDATE, 0, &m, sizeof(m)), SS$_NORMAL,
                  "the self-check can be run");
        if (!ok(m.errors == 0 && !m.timed_out, "every page is counted exactly once"))
            diag("%s", m.text);
    }
    for (unsigned i = 0; i < nsites; i++)
        diag("site: kind %u %s", sites[i].kind, sites[i].text);
    diag("scenarios: %u", nscenarios);
    diag("allocation failures injected: %u", ninjected);
    diag("sites reached: %u", nsites);
    return tap_done();
}
