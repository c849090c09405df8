/*
 * share_section: many processes share one memory-resident section (the VLM paper's case).
 *
 *     share_section --name NAME [--processes N] [--size SIZE] [--fluid] [--private]
 *                   [--race PAGES] [--keep]
 *
 * The parent creates the section. Each of N processes creates a region, maps the whole section
 * read/write, writes its slot, waits for the others at a barrier that lies in the section, and
 * checks its neighbour's slot. Then all touch the same sample of pages at the same time. The
 * kernel's counters are printed and compared with their bounds; exit status 0 says that all were
 * within their bounds. Not every page is touched, because the host would have to provide the
 * memory.
 *
 * Whether the section is ALLOC or FLUID, and whether it has shared page tables, depends only on the
 * registry (an entry named NAME). A process first creates a region with shared page tables; if the
 * section has none (SS$_NOSHPTS) it maps it in an ordinary region, with private page tables.
 * --private uses the ordinary region at once; --fluid only states that NAME has no entry. --keep
 * does not delete the section, which is permanent, so that others can examine it.
 */
#include <condition.h>
#include <descrip.h>
#include <errno.h>
#include <megalith/registry.h>
#include <sched.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

#define PAGE          8192UL
#define PIECE         (8UL << 20) /* mapped by one level-3 page-table page */
#define PIECE_PAGES   (PIECE / PAGE)
#define BLOCK         (8UL << 30) /* mapped by one level-2 page-table page */
#define MAX_PROCESSES 1000
#define RACE_GROUP    8 /* adjacent race pages */
/* Number of polls at a barrier before sleeping: there are more processes than CPUs. */
#define SPINS              64
#define OWN_PT_PAGES_LIMIT 2 /* page-table pages that a process may own for a shared mapping */

struct options {
    const char *name;
    unsigned processes, race_pages;
    uint64_t size;
    bool fluid, private_tables, keep;
};

struct barrier { /* page 0 of the section */
    uint64_t arrived[3];
    uint64_t failed;
};

struct slot { /* in the middle of a process's page, apart from the counters of race pages */
    uint64_t magic, owner, pid;
};
#define SLOT_OFFSET (PAGE / 2)
#define SLOT_MAGIC  0x4D4547414C495448UL

struct result { /* sent by a child through a pipe; below PIPE_BUF, so the write is atomic */
    uint32_t number, failures, shared, pad;
    uint64_t pt_pages, pt_pages_touched, section_pages;
    uint64_t made_valid, l3_pickup, raced, global_valid;
    uint64_t va;
};

static struct options opt = {.processes = 2, .race_pages = 64};
static uint64_t npages;
static unsigned failures;

static void fail(const char *what, uint64_t got, const char *relation, uint64_t bound)
{
    fprintf(stderr, "share_section: FAILED: %s: %lu, should be %s %lu\n", what, (unsigned long)got,
            relation, (unsigned long)bound);
    failures++;
}

static void at_most(const char *what, uint64_t got, uint64_t bound)
{
    if (got > bound)
        fail(what, got, "at most", bound);
}

static void equals(const char *what, uint64_t got, uint64_t expected)
{
    if (got != expected)
        fail(what, got, "exactly", expected);
}

static void die(const char *what, int status)
{
    fprintf(stderr, "share_section: %s: %s\n", what, mega$condition_text(status));
    exit(2);
}

/* ---- layout of the section ---- */

/* Slots are spread evenly. No two processes share a page as long as there are enough pages. */
static uint64_t slot_page(unsigned process) { return 2 + process * ((npages - 2) / opt.processes); }
/* Race pages are in groups, which are spread likewise. A process that races with another CPU on any
   but the first page of a group has the level-3 page already. The last page of the section is one
   of them. */
static uint64_t race_page(unsigned i)
{
    unsigned groups = (opt.race_pages + RACE_GROUP - 1) / RACE_GROUP;

    return npages - 1 - i / RACE_GROUP * ((npages - RACE_GROUP) / (groups + 1)) - i % RACE_GROUP;
}

static int compare_pages(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Number of different values of page / unit. Sorts the array. */
static uint64_t distinct(uint64_t *pages, unsigned n, uint64_t unit)
{
    uint64_t different = 0;

    qsort(pages, n, sizeof(*pages), compare_pages);
    for (unsigned i = 0; i < n; i++)
        different += i == 0 || pages[i] / unit != pages[i - 1] / unit;
    return different;
}

/* The numbers of the pages that process p touches (all: that any process touches). */
static unsigned touched_pages(int p, uint64_t *pages)
{
    unsigned n = 0;

    pages[n++] = 0;
    for (unsigned i = 0; i < opt.race_pages; i++)
        pages[n++] = race_page(i);
    if (p >= 0) {
        pages[n++] = slot_page((unsigned)p);
        pages[n++] = slot_page(((unsigned)p + 1) % opt.processes);
    } else {
        for (unsigned i = 0; i < opt.processes; i++)
            pages[n++] = slot_page(i);
    }
    return n;
}

static uint64_t touched_count(int p, uint64_t unit)
{
    uint64_t pages[MAX_PROCESSES + 2048];
    unsigned n = touched_pages(p, pages);

    return distinct(pages, n, unit);
}

/* ---- one process ---- */

static void own_info(struct mega_process *p)
{
    int status = mega$info(MEGA_INFO_PROCESS, -1, p, sizeof(*p));

    if (status != SS$_NORMAL)
        die("process information", status);
}

static int map_in(uint32_t flags, GENERIC_64 *region, void **va, uint64_t *length)
{
    $DESCRIPTOR(name, "");
    void *region_va;
    unsigned __int64 region_length, mapped;
    int status;

    name.dsc$w_length = (unsigned short)strlen(opt.name);
    name.dsc$a_pointer = (char *)opt.name;
    status = sys$create_region_64((npages * PAGE + PIECE - 1) & ~(PIECE - 1),
                                  VA$C_REGION_UCREATE_UOWN, flags, region, &region_va,
                                  &region_length);
    if (status != SS$_NORMAL)
        die("sys$create_region_64", status);
    status = sys$mgblsc_64(&name, 0, region, 0, 0, 0, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, va,
                           &mapped);
    *length = mapped;
    return status;
}

static void barrier_wait(struct barrier *b, unsigned which)
{
    __atomic_fetch_add(&b->arrived[which], 1, __ATOMIC_ACQ_REL);
    for (unsigned n = 1; __atomic_load_n(&b->arrived[which], __ATOMIC_ACQUIRE) < opt.processes; n++)
        if (n % SPINS)
            sched_yield();
        else
            usleep(1000);
}

static void complain(struct result *r, const char *what)
{
    fprintf(stderr, "share_section: process %u: %s\n", r->number, what);
    r->failures++;
}

static void use_section(char *base, struct result *r)
{
    struct barrier *b = (struct barrier *)base;
    char *page = base + slot_page(r->number) * PAGE;
    struct slot *mine = (struct slot *)(page + SLOT_OFFSET);
    unsigned neighbour = (r->number + 1) % opt.processes;
    const struct slot *its = (struct slot *)(base + slot_page(neighbour) * PAGE + SLOT_OFFSET);
    const uint64_t *words = (const uint64_t *)page;

    barrier_wait(b, 0);
    for (unsigned i = 0; i < PAGE / sizeof(uint64_t); i++)
        if (words[i]) {
            complain(r, "a fresh page of the section is not zero");
            break;
        }
    mine->owner = r->number;
    mine->pid = (uint64_t)getpid();
    __atomic_store_n(&mine->magic, SLOT_MAGIC, __ATOMIC_RELEASE);
    barrier_wait(b, 1);
    if (__atomic_load_n(&its->magic, __ATOMIC_ACQUIRE) != SLOT_MAGIC || its->owner != neighbour)
        complain(r, "the neighbour's slot does not hold what it wrote");
    for (unsigned i = 0; i < opt.race_pages; i++)
        __atomic_fetch_add((uint64_t *)(base + race_page(i) * PAGE), 1, __ATOMIC_RELAXED);
    barrier_wait(b, 2);
    for (unsigned i = 0; i < opt.race_pages; i++)
        if (*(uint64_t *)(base + race_page(i) * PAGE) != opt.processes) {
            complain(r, "a page that all touched at once has lost a count");
            break;
        }
}

/* Never returns. Writes the result to `done`. At end of file on `go`, the process ends. */
static void child(unsigned number, int done, int go)
{
    struct result r = {.number = number, .shared = 1};
    struct mega_process before, after;
    GENERIC_64 region;
    void *va;
    uint64_t length;
    int status = SS$_NOSHPTS;
    char c;

    own_info(&before);
    if (!opt.private_tables)
        status = map_in(VA$M_SHARED_PTS, &region, &va, &length);
    if (status == SS$_NOSHPTS) {
        void *gone;
        unsigned __int64 gone_length;

        if (!opt.private_tables)
            sys$delete_region_64(&region, 0, &gone, &gone_length);
        r.shared = 0;
        status = map_in(0, &region, &va, &length);
    }
    if (status != SS$_NORMAL)
        die("sys$mgblsc_64", status);
    own_info(&after);
    r.pt_pages = after.pt_pages - before.pt_pages;
    r.va = (uint64_t)va;
    if (length != npages * PAGE)
        complain(&r, "the section is not mapped whole");
    use_section(va, &r);
    own_info(&after);
    r.pt_pages_touched = after.pt_pages - before.pt_pages;
    r.section_pages = after.section_pages;
    r.made_valid = after.section_made_valid;
    r.l3_pickup = after.section_l3_pickup;
    r.raced = after.section_raced;
    r.global_valid = after.section_global_valid;
    if (write(done, &r, sizeof(r)) != sizeof(r))
        _exit(3);
    if (read(go, &c, 1) != 0)
        _exit(4);
    status = sys$deltva_64(&region, va, length, 0, &va, &length);
    if (status != SS$_NORMAL)
        die("sys$deltva_64", status);
    status = sys$delete_region_64(&region, 0, &va, &length);
    if (status != SS$_NORMAL)
        die("sys$delete_region_64", status);
    _exit(r.failures ? 1 : 0);
}

/* ---- the parent ---- */

static bool find_reservation(struct mega_reserved *r)
{
    for (int i = 0; mega$info(MEGA_INFO_RESERVED, i, r, sizeof(*r)) == SS$_NORMAL; i++)
        if (strcmp(r->name, opt.name) == 0)
            return true;
    return false;
}

static bool find_section(struct mega_section *s)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, s, sizeof(*s)) == SS$_NORMAL; i++)
        if (strcmp(s->name, opt.name) == 0)
            return true;
    return false;
}

static unsigned cpus_online(void)
{
    struct mega_cpu c;
    unsigned n = 0;

    for (int i = 0; mega$info(MEGA_INFO_CPU, i, &c, sizeof(c)) == SS$_NORMAL; i++)
        n += c.online != 0;
    return n;
}

static void collect(int done, struct result *sum, struct result *worst)
{
    memset(sum, 0, sizeof(*sum));
    memset(worst, 0, sizeof(*worst));
    for (unsigned i = 0; i < opt.processes; i++) {
        struct result r;

        if (read(done, &r, sizeof(r)) != sizeof(r)) {
            fprintf(stderr, "share_section: FAILED: %u of %u processes reported\n", i,
                    opt.processes);
            exit(2);
        }
        failures += r.failures;
        sum->shared += r.shared;
        sum->made_valid += r.made_valid;
        sum->l3_pickup += r.l3_pickup;
        sum->raced += r.raced;
        sum->global_valid += r.global_valid;
        sum->pt_pages += r.pt_pages_touched;
        worst->pt_pages = r.pt_pages > worst->pt_pages ? r.pt_pages : worst->pt_pages;
        if (r.pt_pages_touched > worst->pt_pages_touched)
            worst->pt_pages_touched = r.pt_pages_touched;
        worst->l3_pickup = r.l3_pickup > worst->l3_pickup ? r.l3_pickup : worst->l3_pickup;
        equals("section pages mapped by a process", r.section_pages, npages);
        at_most("shared level-3 pages that a process picked up", r.l3_pickup,
                touched_count((int)r.number, PIECE_PAGES));
    }
}

static void report(const struct result *sum, const struct result *worst,
                   const struct mega_section *s, bool alloc, unsigned cpus)
{
    uint64_t pieces = (npages + PIECE_PAGES - 1) / PIECE_PAGES;
    uint64_t touched = touched_count(-1, 1);
    bool shared = sum->shared == opt.processes;

    printf("section %s: %lu MiB, %s, %s page tables, %u processes, %u CPU%s\n", opt.name,
           npages * PAGE >> 20, alloc ? "ALLOC" : "FLUID", shared ? "shared" : "private",
           opt.processes, cpus, cpus == 1 ? "" : "s");
    printf("touched: a sample of %lu of %lu pages\n", touched, npages);
    printf("page-table pages owned by a process for the section: %lu at mapping, %lu after use\n",
           worst->pt_pages, worst->pt_pages_touched);
    printf("page-table pages owned by all processes: %lu (%lu KiB), and %lu of the section's own\n",
           sum->pt_pages, sum->pt_pages * PAGE >> 10, (unsigned long)s->pt_pages);
    printf("without sharing they would own %u x %lu KiB = %lu MiB of level-3 pages\n",
           opt.processes, pieces * PAGE >> 10, opt.processes * pieces * PAGE >> 20);
    printf("faults on the section: made valid %lu, level-3 pages picked up %lu, raced %lu, "
           "global valid %lu\n",
           sum->made_valid, sum->l3_pickup, sum->raced, sum->global_valid);
    printf("level-3 PTEs by granularity hint (1, 8, 64, 512 pages): %lu %lu %lu %lu\n",
           (unsigned long)s->l3_ptes[0], (unsigned long)s->l3_ptes[1], (unsigned long)s->l3_ptes[2],
           (unsigned long)s->l3_ptes[3]);
    printf("level-2 pages shared whole by a process: %lu\n", (unsigned long)s->l1_ptes);
    printf("level-2 PTEs of shared tables by granularity hint: %lu %lu %lu %lu\n",
           (unsigned long)s->l2_ptes[0], (unsigned long)s->l2_ptes[1], (unsigned long)s->l2_ptes[2],
           (unsigned long)s->l2_ptes[3]);
}

static void check(const struct result *sum, const struct result *worst,
                  const struct mega_section *s, bool alloc, unsigned cpus)
{
    uint64_t touched = touched_count(-1, 1), touches = 0;
    bool shared = sum->shared == opt.processes;

    for (unsigned i = 0; i < opt.processes; i++)
        touches += touched_count((int)i, 1);
    if (sum->shared != 0 && !shared)
        fail("processes with shared page tables", sum->shared, "none or", opt.processes);
    equals("shares of the section", s->shares, opt.processes);
    equals("section's and processes' count of pages made valid", s->made_valid, sum->made_valid);
    equals("section's and processes' count of pick-ups", s->l3_pickups, sum->l3_pickup);
    equals("section's and processes' count of races", s->raced, sum->raced);
    equals("section's and processes' count of global valid faults", s->global_valid,
           sum->global_valid);
    equals("PTEs with a wrong granularity hint", s->gh_errors, 0);
    equals("pages made valid", sum->made_valid, alloc ? 0 : touched);
    equals("valid pages of the section", s->valid_pages, alloc ? npages : touched);
    at_most("all faults on the section",
            sum->made_valid + sum->l3_pickup + sum->raced + sum->global_valid, alloc ? 0 : touches);
    if (cpus == 1)
        equals("races with another CPU, on one CPU", sum->raced, 0);
    if (shared) {
        at_most("page-table pages owned by a process", worst->pt_pages_touched, OWN_PT_PAGES_LIMIT);
        equals("level-2 pages that a process shares whole", s->l1_ptes, npages * PAGE / BLOCK);
    } else {
        at_most("pick-ups without shared tables", sum->l3_pickup, 0);
        equals("global valid faults with private tables", sum->global_valid,
               alloc ? 0 : touches - touched);
    }
    if (alloc && npages % 512 == 0) {
        uint64_t pieces = npages / PIECE_PAGES;

        equals("level-3 PTEs with a hint of 512 pages", s->l3_ptes[3], npages);
        if (shared && pieces % 512 == 0)
            equals("level-2 PTEs with a hint of 512 pages", s->l2_ptes[3], pieces);
    }
}

static void check_end(const struct mega_memory *before, bool reserved)
{
    $DESCRIPTOR(name, "");
    struct mega_memory after;
    struct mega_section s;
    struct mega_reserved r;
    int status;

    name.dsc$w_length = (unsigned short)strlen(opt.name);
    name.dsc$a_pointer = (char *)opt.name;
    status = sys$dgblsc(SEC$M_SYSGBL, &name, 0);
    if (status != SS$_NORMAL)
        die("sys$dgblsc", status);
    if (find_section(&s))
        fail("sections of that name after their deletion", 1,
             "sections of that name after the deletion", 0);
    if (reserved && find_reservation(&r))
        equals("reserved pages in use after the deletion", r.used + r.pt_used, 0);
    mega$info(MEGA_INFO_MEMORY, 0, &after, sizeof(after));
    equals("promised and unused pages after the deletion", after.promised_unused,
           before->promised_unused);
}

static uint64_t parse_size(const char *text)
{
    char *end;
    uint64_t n = strtoul(text, &end, 0);

    switch (*end) {
    case 'G':
        return n << 30;
    case 'K':
        return n << 10;
    default: /* M, or MiB as everywhere in the registry */
        return n << 20;
    }
}

static void usage(void)
{
    fprintf(stderr, "usage: share_section --name NAME [--processes N] [--size SIZE] [--fluid] "
                    "[--private] [--race PAGES] [--keep]\n");
    exit(64);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--fluid") == 0) {
            opt.fluid = true;
            continue;
        }
        if (strcmp(argv[i], "--private") == 0) {
            opt.private_tables = true;
            continue;
        }
        if (strcmp(argv[i], "--keep") == 0) {
            opt.keep = true;
            continue;
        }
        if (!value)
            usage();
        if (strcmp(argv[i], "--name") == 0)
            opt.name = value;
        else if (strcmp(argv[i], "--processes") == 0)
            opt.processes = (unsigned)atoi(value);
        else if (strcmp(argv[i], "--race") == 0)
            opt.race_pages = (unsigned)atoi(value);
        else if (strcmp(argv[i], "--size") == 0)
            opt.size = parse_size(value);
        else
            usage();
        i++;
    }
    if (!opt.name)
        opt.name = opt.fluid ? "SHARE_SECTION_FLUID" : NULL;
    if (!opt.name || opt.processes == 0 || opt.processes > MAX_PROCESSES || opt.race_pages > 1024)
        usage();
}

int main(int argc, char **argv)
{
    $DESCRIPTOR(name, "");
    struct mega_reserved reservation = {.flags = 0};
    struct mega_memory before;
    struct mega_section s;
    struct result sum, worst;
    int done[2], go[2], status;
    bool reserved, alloc;
    unsigned cpus;

    parse(argc, argv);
    reserved = find_reservation(&reservation);
    if (opt.fluid && reserved)
        die("--fluid, but the name has an entry in the registry", 0);
    if (!opt.size)
        opt.size = reserved ? reservation.npages * PAGE : 4UL << 30;
    npages = opt.size / PAGE;
    if (npages < 4 * (opt.processes + opt.race_pages)) {
        fprintf(stderr, "share_section: %u processes and %u race pages take a section of %lu KiB\n",
                opt.processes, opt.race_pages, 4 * (opt.processes + opt.race_pages) * PAGE >> 10);
        return 64;
    }
    alloc = reserved && (reservation.flags & RMD_ALLOC);
    cpus = cpus_online();
    mega$info(MEGA_INFO_MEMORY, 0, &before, sizeof(before));

    name.dsc$w_length = (unsigned short)strlen(opt.name);
    name.dsc$a_pointer = (char *)opt.name;
    status = sys$create_gdzro(&name, 0, 0, npages * PAGE, 0, SEC$M_SYSGBL);
    if (status != SS$_CREATED && status != SS$_CREATED_SHPT)
        die("sys$create_gdzro", status);
    if (pipe(done) != 0 || pipe(go) != 0) {
        perror("share_section: pipe");
        return 2;
    }
    for (unsigned i = 0; i < opt.processes; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            close(done[0]);
            close(go[1]);
            child(i, done[1], go[0]);
        }
        if (pid < 0) {
            perror("share_section: fork");
            return 2;
        }
    }
    close(done[1]);
    close(go[0]);
    collect(done[0], &sum, &worst);
    if (!find_section(&s))
        die("the section is not listed", 0);
    report(&sum, &worst, &s, alloc, cpus);
    check(&sum, &worst, &s, alloc, cpus);
    close(go[1]);
    for (unsigned i = 0; i < opt.processes; i++) {
        int how = 0;

        if (wait(&how) < 0 || how != 0)
            fail("exit status of a process", (uint64_t)how, "exactly", 0);
    }
    if (!opt.keep)
        check_end(&before, reserved);
    printf("%s\n", failures ? "FAILED" : "all counts within their bounds");
    return failures ? 1 : 0;
}
