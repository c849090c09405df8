/*
 * startup: many servers start at the same time on one memory-resident section, and end at the same
 * time: the experiment of figures 4, 8 and 9 of the VLM paper.
 *
 *     startup --name NAME --size SIZE --processes N[,N...] [--private] [--populate] [--locks]
 *
 * For each N in turn, N processes are forked and wait at a gate. When the gate opens, each executes
 * its image (a server is a program that is started, not a forked copy), creates a region, maps the
 * whole section read/write, writes its slot and a page of its own, and increments a counter in the
 * section; the process that completes the count stops the clock. This is the start-up. When a
 * second gate opens, all processes exit with the section still mapped, and the parent reaps them.
 * This is the shut-down.
 *
 * --populate: each process also reads every page of the section before it counts itself ready.
 * --private: the section is mapped in an ordinary region, with private page tables.
 * --locks: the kernel measures every lock. This makes all of it slower, so times of such a run are
 * not used. Each process deletes its mapping at a gate between the other two, so that the locks of
 * starting, deleting and exiting are reported separately.
 *
 * A gate is a pipe on which all processes wait for end of file; no process polls. A process writes
 * its measurements into its slot, and the parent reads the slots when all are ready.
 *
 * The registry decides whether the section is ALLOC or FLUID. It is created once as a permanent
 * section and deleted at the end. Prints one JSON object per line. Times are nanoseconds of virtual
 * time, which are instructions with scripts/run --icount on one CPU.
 */
#include "bench.h"

#include <condition.h>
#include <descrip.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

#define MIB           (1ul << 20)
#define PAGE          8192ul
#define PIECE         (8 * MIB) /* mapped by one level-3 page-table page */
#define PROCESSES_MAX 1000u
#define ROUNDS_MAX    16
#define BOARD_PAGES   16ul /* enough for struct board, which has 65 KB at most */

/* File descriptors of a server, numbered above those that the C library opens. */
enum { GATE_START = 20, GATE_DELETE, GATE_END, GATES_END, DONE = GATES_END };
#define GATES (GATES_END - GATE_START)

struct slot { /* the measurements of one server */
    uint64_t map_ns, populate_ns;
    uint64_t pt_pages_mapped, pt_pages_used; /* its page-table pages for the section */
    uint64_t made_valid, picked_up, global_valid, raced;
};

struct board { /* lies at the start of the section */
    uint64_t ready;
    uint64_t ready_at; /* ns, when the last server was ready */
    struct slot slots[] __attribute__((aligned(64)));
};

static struct {
    const char *name;
    uint64_t bytes;
    unsigned processes[ROUNDS_MAX], rounds;
    bool private_tables, populate, locks;
} opt;

struct mapping {
    struct _generic_64 region;
    void *va;
    uint64_t length;
};

static void status_need(int status, const char *what)
{
    if (status & 1)
        return;
    fprintf(stderr, "startup: %s: %s\n", what, mega$condition_text(status));
    exit(1);
}

static struct dsc64$descriptor_s section_name(void)
{
    struct dsc64$descriptor_s d = {1,  DSC64$K_DTYPE_T,  DSC64$K_CLASS_S,
                                   -1, strlen(opt.name), (char *)opt.name};

    return d;
}

/* Create a region for `length` bytes of the section, and map them there. length 0: all of it. */
static void map_section(struct mapping *m, uint64_t length)
{
    struct dsc64$descriptor_s name = section_name();
    uint64_t wanted = length ? length : opt.bytes, region_length;
    unsigned flags = opt.private_tables ? 0 : VA$M_SHARED_PTS;
    void *va;

    status_need(sys$create_region_64((wanted + PIECE - 1) & ~(PIECE - 1), VA$C_REGION_UCREATE_UOWN,
                                     flags, &m->region, &va, &region_length),
                "sys$create_region_64");
    status_need(sys$mgblsc_64(&name, 0, &m->region, 0, length, PSL$C_USER,
                              SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &m->va, &m->length),
                "sys$mgblsc_64");
    bench_need(m->length == wanted);
}

static void unmap_section(struct mapping *m)
{
    void *va;
    uint64_t length;

    status_need(sys$deltva_64(&m->region, m->va, m->length, PSL$C_USER, &va, &length),
                "sys$deltva_64");
    status_need(sys$delete_region_64(&m->region, PSL$C_USER, &va, &length), "sys$delete_region_64");
}

static void own_info(struct mega_process *p)
{
    status_need(mega$info(MEGA_INFO_PROCESS, -1, p, sizeof(*p)), "process information");
}

static void wait_for_gate(int gate)
{
    char c;

    bench_need(read(gate, &c, 1) == 0);
}

static void say_done(void) { bench_need(write(DONE, "", 1) == 1); }

/* ---- a server ---- */

static uint64_t read_all(const volatile char *section)
{
    uint64_t sum = 0;

    for (uint64_t at = 0; at < opt.bytes; at += PAGE)
        sum += (uint64_t)section[at];
    return sum;
}

/* The page that a server writes. These pages are spread over the section after the board. */
static volatile char *own_page(void *section, unsigned number, unsigned processes)
{
    return (char *)section +
           (BOARD_PAGES + (opt.bytes / PAGE - BOARD_PAGES) * number / processes) * PAGE;
}

/* Never returns. */
static void server(unsigned number, unsigned processes)
{
    struct mega_process before, mapped, used;
    struct mapping m;
    struct slot mine = {0};
    struct board *board;
    uint64_t t;

    own_info(&before);
    t = bench_clock();
    map_section(&m, 0);
    mine.map_ns = bench_clock() - t;
    own_info(&mapped);
    board = m.va;
    if (opt.populate) {
        t = bench_clock();
        (void)read_all(m.va);
        mine.populate_ns = bench_clock() - t;
    }
    *own_page(m.va, number, processes) = 1;
    board->slots[number] = mine;
    own_info(&used);
    mine.pt_pages_mapped = mapped.pt_pages - before.pt_pages;
    mine.pt_pages_used = used.pt_pages - before.pt_pages;
    mine.made_valid = used.section_made_valid;
    mine.picked_up = used.section_l3_pickup;
    mine.global_valid = used.section_global_valid;
    mine.raced = used.section_raced;
    board->slots[number] = mine;
    if (__atomic_add_fetch(&board->ready, 1, __ATOMIC_ACQ_REL) == processes) {
        board->ready_at = bench_clock();
        say_done();
    }
    if (opt.locks) {
        wait_for_gate(GATE_DELETE);
        unmap_section(&m);
        say_done();
    }
    wait_for_gate(GATE_END);
    _exit(0);
}

/* ---- the parent ---- */

static int gates[GATES]; /* the write ends; closing one opens its gate */
static int done;

/* Creates the pipes and moves the servers' ends to fixed numbers, which stay valid over execve. */
static void make_gates(void)
{
    int ends[2];

    for (int i = 0; i < GATES; i++) {
        bench_need(pipe(ends) == 0 && dup2(ends[0], GATE_START + i) >= 0);
        close(ends[0]);
        gates[i] = ends[1];
    }
    bench_need(pipe(ends) == 0 && dup2(ends[1], DONE) >= 0);
    close(ends[1]);
    done = ends[0];
}

/* Closes the servers' ends in the parent, so that it gets end of file if all servers have died. */
static void forget_servers_ends(void)
{
    for (int fd = GATE_START; fd <= DONE; fd++)
        close(fd);
}

static void close_gates(void)
{
    for (int i = 0; i < GATES; i++)
        if (gates[i] >= 0)
            close(gates[i]);
    close(done);
}

static void open_gate(int gate)
{
    close(gates[gate - GATE_START]);
    gates[gate - GATE_START] = -1;
}

static void wait_done(unsigned n)
{
    char c[64];

    while (n) {
        ssize_t got = read(done, c, n < sizeof(c) ? n : sizeof(c));

        bench_need(got > 0);
        n -= (unsigned)got;
    }
}

static void start_servers(unsigned n, char **argv)
{
    for (unsigned i = 0; i < n; i++) {
        char number[12], of[12];
        char *server_argv[16] = {argv[0], "--server", number, of}, *env[] = {NULL};
        pid_t pid = fork();

        bench_need(pid >= 0);
        if (pid)
            continue;
        close_gates();
        snprintf(number, sizeof(number), "%u", i);
        snprintf(of, sizeof(of), "%u", n);
        for (int a = 0; argv[a + 1]; a++)
            server_argv[4 + a] = argv[a + 1];
        say_done();
        wait_for_gate(GATE_START);
        execve(argv[0], server_argv, env);
        _exit(1);
    }
    forget_servers_ends();
    wait_done(n); /* until all are at the gate */
}

static void reap(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int status;

        bench_need(wait(&status) > 0 && status == 0);
    }
}

/* ---- locks ---- */

static void measure_locks(bool on)
{
    if (opt.locks)
        status_need(mega$control(MEGA_CTL_LOCK_STATS, on, 0, 0, 0, 0), "MEGA_CTL_LOCK_STATS");
}

static void report_locks(const char *phase, unsigned processes)
{
    static const struct {
        unsigned item;
        const char *kind;
    } kinds[] = {{MEGA_INFO_SPINLOCK, "spinlock"}, {MEGA_INFO_MUTEX, "mutex"}};
    struct mega_lock l;

    if (!opt.locks)
        return;
    for (unsigned k = 0; k < 2; k++)
        for (int i = 0; mega$info(kinds[k].item, i, &l, sizeof(l)) & 1; i++)
            if (l.acquisitions || l.shared)
                printf("{\"report\": \"lock\", \"section\": \"%s\", \"bytes\": %lu, "
                       "\"phase\": \"%s\", \"processes\": %u, "
                       "\"kind\": \"%s\", \"name\": \"%s\", \"rank\": %u, \"ipl\": %u, "
                       "\"acquisitions\": %lu, \"shared\": %lu, \"waits\": %lu, "
                       "\"held_ns\": %lu, \"longest_ns\": %lu, \"place\": \"%s\"}\n",
                       opt.name, opt.bytes, phase, processes, kinds[k].kind, l.name, l.rank, l.ipl,
                       l.acquisitions, l.shared, l.waits, l.held_ns, l.longest_ns, l.longest_place);
}

/* ---- one round ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void find_section(struct mega_section *s)
{
    for (int i = 0; mega$info(MEGA_INFO_SECTION, i, s, sizeof(*s)) & 1; i++)
        if (strcmp(s->name, opt.name) == 0)
            return;
    bench_need(!"the section is shown");
}

/* Sums over what the servers have measured, and the state of the section when all have mapped
 * it. */
struct summary {
    struct slot sum, most;
    uint64_t map_ns; /* the median */
    struct mega_section section;
};

static void gather(const struct board *b, unsigned n, struct summary *s)
{
    static uint64_t map_ns[PROCESSES_MAX];

    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < n; i++) {
        const struct slot *p = &b->slots[i];

        map_ns[i] = p->map_ns - bench_clock_cost();
        s->sum.pt_pages_used += p->pt_pages_used;
        s->sum.made_valid += p->made_valid;
        s->sum.picked_up += p->picked_up;
        s->sum.global_valid += p->global_valid;
        s->sum.raced += p->raced;
        s->sum.populate_ns += p->populate_ns;
        if (p->pt_pages_mapped > s->most.pt_pages_mapped)
            s->most.pt_pages_mapped = p->pt_pages_mapped;
        if (p->pt_pages_used > s->most.pt_pages_used)
            s->most.pt_pages_used = p->pt_pages_used;
    }
    qsort(map_ns, n, sizeof(map_ns[0]), compare);
    s->map_ns = map_ns[n / 2];
    find_section(&s->section);
}

static const char *json(bool b) { return b ? "true" : "false"; }

static void report(unsigned n, const struct summary *s, uint64_t fork_ns, uint64_t startup_ns,
                   uint64_t shutdown_ns)
{
    printf("{\"report\": \"servers\", \"section\": \"%s\", \"processes\": %u, \"bytes\": %lu, "
           "\"private\": %s, "
           "\"populated\": %s, \"measuring_locks\": %s, \"fork_ns\": %lu, \"startup_ns\": %lu, "
           "\"shutdown_ns\": %lu, ",
           opt.name, n, opt.bytes, json(opt.private_tables), json(opt.populate), json(opt.locks),
           fork_ns, startup_ns, shutdown_ns);
    printf("\"map_ns\": %lu, \"populate_ns\": %lu, \"pt_pages_mapped\": %lu, "
           "\"pt_pages_used\": %lu, \"pt_pages_all\": %lu, \"pt_pages_section\": %lu, ",
           s->map_ns, s->sum.populate_ns, s->most.pt_pages_mapped, s->most.pt_pages_used,
           s->sum.pt_pages_used, (unsigned long)s->section.pt_pages);
    printf("\"made_valid\": %lu, \"picked_up\": %lu, \"global_valid\": %lu, \"raced\": %lu}\n",
           s->sum.made_valid, s->sum.picked_up, s->sum.global_valid, s->sum.raced);
    fflush(stdout);
}

/* Open the gate, and measure the time or the locks until all servers have finished the phase. */
static uint64_t at_gate(int gate, const char *phase, unsigned n, void (*until)(unsigned),
                        unsigned until_n)
{
    uint64_t t;

    measure_locks(true);
    t = bench_clock();
    open_gate(gate);
    until(until_n);
    t = bench_clock() - t;
    measure_locks(false);
    report_locks(phase, n);
    return t;
}

static void run_round(unsigned n, char **argv)
{
    uint64_t slots = sizeof(struct board) + n * sizeof(struct slot);
    uint64_t fork_ns, startup_ns, opened;
    struct summary s;
    struct mapping m;
    struct board *board;

    make_gates();
    fork_ns = bench_clock();
    start_servers(n, argv);
    fork_ns = bench_clock() - fork_ns;
    map_section(&m, (slots + PIECE - 1) & ~(PIECE - 1));
    board = m.va;
    memset(board, 0, slots);
    opened = bench_clock();
    startup_ns = at_gate(GATE_START, "startup", n, wait_done, 1);
    bench_need(board->ready == n && board->ready_at > opened);
    if (!opt.locks) /* measured by the last server, not when the parent runs again */
        startup_ns = board->ready_at - opened;
    gather(board, n, &s);
    unmap_section(&m);
    if (opt.locks)
        at_gate(GATE_DELETE, "delete", n, wait_done, n);
    report(n, &s, fork_ns, startup_ns, at_gate(GATE_END, "shutdown", n, reap, n));
    close_gates();
}

/* Returns true if the section uses memory of the registry, so that it need not be created again for
 * each round. */
static bool create_section(void)
{
    struct dsc64$descriptor_s name = section_name();
    struct mega_section s;
    uint64_t before;

    /* Refused, so that the first one does not contain the page faults of this program's text. */
    sys$create_gdzro(&name, 0, 0, 0, PSL$C_USER, SEC$M_SYSGBL);
    bench_clock();
    before = bench_clock();
    status_need(
        sys$create_gdzro(&name, 0, 0, opt.bytes, PSL$C_USER, SEC$M_SYSGBL | SEC$M_WRT | SEC$M_PERM),
        "sys$create_gdzro");
    before = bench_clock() - before;
    find_section(&s);
    printf("{\"report\": \"section\", \"section\": \"%s\", \"bytes\": %lu, \"alloc\": %s, "
           "\"shared\": %s, "
           "\"create_ns\": %lu, \"pt_pages\": %lu}\n",
           opt.name, opt.bytes, json(s.flags & SEC$M_MRES_ALLOC), json(s.shpt_flags != 0), before,
           (unsigned long)s.pt_pages);
    bench_need(opt.private_tables || s.shpt_flags);
    return s.flags & SEC$M_MRES_ALLOC;
}

static void delete_section(void)
{
    struct dsc64$descriptor_s name = section_name();

    status_need(sys$dgblsc(SEC$M_SYSGBL, &name, 0), "sys$dgblsc");
}

/* ---- arguments ---- */

static uint64_t parse_size(const char *text)
{
    char *end;
    uint64_t n = strtoul(text, &end, 10);

    switch (*end) {
    case 'G':
        return n << 30;
    case 'M':
        return n << 20;
    default:
        return n;
    }
}

static void parse_processes(const char *text)
{
    while (*text) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);

        bench_need(end != text && (*end == 0 || *end == ','));
        bench_need(n >= 1 && n <= PROCESSES_MAX && opt.rounds < ROUNDS_MAX);
        opt.processes[opt.rounds++] = (unsigned)n;
        text = *end ? end + 1 : end;
    }
}

static void parse(char **argv)
{
    for (int i = 0; argv[i]; i++) {
        if (!strcmp(argv[i], "--private"))
            opt.private_tables = true;
        else if (!strcmp(argv[i], "--populate"))
            opt.populate = true;
        else if (!strcmp(argv[i], "--locks"))
            opt.locks = true;
        else if (!strcmp(argv[i], "--name") && argv[i + 1])
            opt.name = argv[++i];
        else if (!strcmp(argv[i], "--size") && argv[i + 1])
            opt.bytes = parse_size(argv[++i]);
        else if (!strcmp(argv[i], "--processes") && argv[i + 1])
            parse_processes(argv[++i]);
        else
            bench_need(!"the argument is known");
    }
    bench_need(opt.name && opt.bytes >= PIECE && opt.bytes % PAGE == 0 && opt.rounds);
}

int main(int argc, char **argv)
{
    bool alloc;

    if (argc > 4 && !strcmp(argv[1], "--server")) {
        parse(argv + 4);
        server((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]));
    }
    bench_need(argc < 12);
    parse(argv + 1);
    alloc = create_section();
    for (unsigned r = 0; r < opt.rounds; r++) {
        if (r && !alloc) { /* its pages are valid now; the next round shall fault again */
            delete_section();
            create_section();
        }
        run_round(opt.processes[r], argv);
    }
    delete_section();
    return 0;
}
