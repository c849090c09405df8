// SOURCES: userland/bin/show/accounting.c userland/bin/show/device.c userland/bin/show/lock.c
// SOURCES: userland/bin/show/logical.c userland/bin/show/memory.c userland/bin/show/process.c
// SOURCES: userland/bin/show/region.c userland/bin/show/section.c userland/bin/show/system.c
// SOURCES: userland/bin/show/users.c userland/bin/show/validate.c userland/lib/filled.c
// SOURCES: userland/lib/privileges.c userland/bin/monitor/processes.c
// SOURCES: userland/bin/monitor/classes.c
/* Every display of show and monitor fits a terminal of 80 columns, whatever a large machine has to
 * tell: the kernel is replaced by one whose numbers and names are as long as they become. */
#define main show_main
#include "userland/bin/show/main.c"
#undef main
#undef COLUMNS
#define main monitor_main
#include "userland/bin/monitor/main.c"
#undef main

static int size_of_terminal(int fd, unsigned long request, struct winsize *size_of);
#define ioctl size_of_terminal
#include "userland/bin/monitor/screen.c"
#undef ioctl

#include "userland/lib/include/tap.h"
#include <accdef.h>
#include <lnmdef.h>

#define PAGES  13107200u                /* of 100 GiB */
#define TIME   (1234u * 3600000000000u) /* ns: 1,234 hours */
#define COUNT  9876543210u
#define NAME43 "A_RESERVATION_OR_SECTION_WITH_A_LONGNAME_43"
#define PLACE  "aspace_unmap_of_a_routine_with_a_long_name+0x1234"
#define ROWS   3 /* of each table */

_Static_assert(sizeof(NAME43) == 44, "as long as the names are");

static void fill(uint64_t *values, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++)
        values[i] = value;
}

static void fill_process(struct mega_process *p, unsigned pid)
{
    *p = (struct mega_process){.pid = pid,
                               .ppid = 32767,
                               .uid = 65534,
                               .state = 4,
                               .prio = 63,
                               .cpu = 3,
                               .cpu_ns = TIME,
                               .user_ns = TIME / 2,
                               .faults = COUNT,
                               .demand_zero = COUNT,
                               .cow = COUNT,
                               .object_valid = COUNT,
                               .file = COUNT,
                               .stack_grow = COUNT,
                               .section_made_valid = COUNT,
                               .section_l3_pickup = COUNT,
                               .section_raced = COUNT,
                               .section_global_valid = COUNT,
                               .pt_pages = PAGES / 1024,
                               .rss = PAGES / 2,
                               .section_pages = PAGES / 2,
                               .vsize = PAGES * 8192ul,
                               .unaligned = COUNT,
                               .switches = COUNT,
                               .uic_group = 037776,
                               .uic_member = 0177776,
                               .privileges = 0xFFFFFFF,
                               .authorised = 0xFFFFFFF,
                               .rights = 3,
                               .locked = PAGES,
                               .home_rad = 7,
                               .io = COUNT,
                               .waits = MEGA_STATE_MUTEX,
                               .nice = -20,
                               .weight = 88761,
                               .lead_ns = -123456789012};
    strcpy(p->name, "share_section_2");
}

/* What the kernel answers; index 0 and ROWS - 1 more. */
int mega$info(unsigned item, __int64 index, void *buffer, unsigned __int64 length)
{
    union {
        struct mega_memory memory;
        struct mega_pool pool;
        struct mega_reserved reserved;
        struct mega_section section;
        struct mega_process process;
        struct mega_cpu cpu;
        struct mega_region region;
        struct mega_tb tb;
        struct mega_param param;
        struct mega_pci pci;
        struct mega_lock lock;
        struct mega_ipl ipl;
        struct mega_held held;
        struct mega_validate validate;
        struct mega_global global;
        struct mega_rad rad;
        struct mega_states states;
        struct mega_pool_list list;
        struct mega_account account;
        struct mega_disk disk;
        struct mega_accounting accounting;
        struct mega_page_file file;
        uint64_t words[1];
    } a;

    memset(&a, 0, sizeof(a));
    if (item == MEGA_INFO_PROCESS) {
        int64_t pid = index >= 0 ? 32765 + index : -index;

        if (pid > 32767)
            return SS$_NOMOREPROC;
        fill_process(&a.process, (unsigned)pid);
        memcpy(buffer, &a, length);
        return SS$_NORMAL;
    }
    if (item != MEGA_INFO_REGION && (index & UINT32_MAX) > ROWS)
        return SS$_NONEXPR;
    switch (item) {
    case MEGA_INFO_MEMORY:
        fill(a.words, sizeof(a.memory) / 8, PAGES);
        a.memory.page_size = 8192;
        a.memory.free = PAGES / 2;
        a.memory.modified = 0;
        a.memory.uptime_ns = TIME;
        break;
    case MEGA_INFO_POOL:
        if (index > 1)
            return SS$_NONEXPR;
        fill(a.words, sizeof(a.pool) / 8, 4294967296);
        break;
    case MEGA_INFO_RESERVED:
        a.reserved = (struct mega_reserved){
            .npages = PAGES, .npt_pages = PAGES / 1024, .used = PAGES, .pt_used = PAGES / 1024};
        strcpy(a.reserved.name, index ? NAME43 : "DB");
        break;
    case MEGA_INFO_SECTION:
        fill(a.words, sizeof(a.section) / 8, PAGES);
        a.section.flags = a.section.shpt_flags = ~(uint32_t)(index == 1 ? SEC$M_SYSGBL : 0);
        a.section.group = 037776;
        a.section.pt_pages = PAGES / 1024;
        a.section.shares = 32767;
        strcpy(a.section.name, index ? NAME43 : "DB");
        break;
    case MEGA_INFO_CPU:
        fill(a.words, sizeof(a.cpu) / 8, COUNT);
        a.cpu = (struct mega_cpu){.id = (uint32_t)index,
                                  .online = 1,
                                  .current_pid = 32767,
                                  .idle_ns = TIME,
                                  .kernel_ns = TIME,
                                  .user_ns = TIME,
                                  .switches = COUNT,
                                  .interrupts = COUNT,
                                  .clock_ticks = COUNT,
                                  .ipis = COUNT,
                                  .shootdowns = COUNT,
                                  .runq = 32767,
                                  .unaligned = COUNT,
                                  .interrupt_ns = TIME,
                                  .spin_ns = TIME,
                                  .pure_kernel_ns = TIME,
                                  .pure_idle_ns = TIME};
        strcpy(a.cpu.current_name, "share_section_2");
        break;
    case MEGA_INFO_REGION: {
        uint64_t id = (uint64_t)index & UINT32_MAX;

        if (!(id & MEGA_REGION_DEFAULT) && id > 99000)
            return SS$_NONEXPR;
        a.region = (struct mega_region){.id = id & MEGA_REGION_DEFAULT ? id & 3 : id + 99000,
                                        .start = 0x3FFFFFFE000,
                                        .length = 0x3FFFFFFE000,
                                        .first_free = 0x3FFFFFFE000,
                                        .flags = UINT32_MAX};
        break;
    }
    case MEGA_INFO_TB:
        fill(a.words, sizeof(a.tb) / 8, COUNT);
        break;
    case MEGA_INFO_PARAM:
        a.param = (struct mega_param){.name = "USER_INOTIFY_WATCHES",
                                      .value = 4294967296,
                                      .dflt = 4294967296,
                                      .min = 1048576,
                                      .max = 4294967296,
                                      .unit = "descriptors"};
        break;
    case MEGA_INFO_PCI:
        a.pci = (struct mega_pci){255, 31, 7, 0xFFFF, 0xFFFF, 0xFFFFFF, 255, 0, {0}};
        break;
    case MEGA_INFO_SPINLOCK:
    case MEGA_INFO_MUTEX:
        a.lock = (struct mega_lock){.rank = 99,
                                    .ipl = 31,
                                    .measuring = 1,
                                    .acquisitions = COUNT,
                                    .shared = COUNT,
                                    .waits = 98765432,
                                    .held_ns = COUNT * 1234567,
                                    .longest_ns = COUNT};
        strcpy(a.lock.name, index ? "GSD" : "the lock of a long name");
        strcpy(a.lock.longest_place, index ? "f+0x1" : PLACE);
        break;
    case MEGA_INFO_IPL:
        a.ipl = (struct mega_ipl){.ipl = 7, .longest_ns = COUNT};
        strcpy(a.ipl.longest_place, PLACE "_and_a_part");
        break;
    case MEGA_INFO_HOLD:
        a.held = (struct mega_held){.ipl = 31, .longest_ns = COUNT};
        strcpy(a.held.name, index ? "the lock of a long name" : "");
        strcpy(a.held.place, PLACE);
        break;
    case MEGA_INFO_VALIDATE:
        fill(a.words, sizeof(a.validate) / 8, PAGES);
        a.validate.timed_out = 0;
        memset(a.validate.text, 'e', 60);
        strcpy(a.validate.text + 60, " and why there is this error\nanother one\n");
        break;
    case MEGA_INFO_GLOBAL:
        fill(a.words, sizeof(a.global) / 8, 1073741824);
        break;
    case MEGA_INFO_RAD:
        fill(a.words, sizeof(a.rad) / 8, PAGES);
        a.rad.cpus = 15;
        break;
    case MEGA_INFO_STATES:
        fill(a.words, sizeof(a.states) / 8, 32767);
        a.states.pool_free_blocks = COUNT;
        break;
    case MEGA_INFO_POOL_LIST:
        a.list = (struct mega_pool_list){4096, 98765432, COUNT, COUNT, COUNT};
        break;
    case MEGA_INFO_ACCOUNT:
        a.account.uid = index ? 65534 : 0;
        fill(a.account.used, MEGA_QUOTA_KINDS, 4294967296);
        fill(a.account.limit, MEGA_QUOTA_KINDS, index ? 4294967296 : MEGA_UNLIMITED);
        break;
    case MEGA_INFO_DISK:
        fill(a.words, sizeof(a.disk) / 8, COUNT);
        strcpy(a.disk.name, "vdb15");
        a.disk.flags = MEGA_DISK_READ_ONLY | MEGA_DISK_CACHE;
        a.disk.sector_bytes = 4096;
        a.disk.with_device = 128;
        a.disk.device_number = 0xFE0F;
        break;
    case MEGA_INFO_ACCOUNTING: {
        struct accdef message = {.acc$l_pid = 32767,
                                 .acc$l_owner = 32767,
                                 .acc$l_finalsts = UINT32_MAX,
                                 .acc$l_wspeak = UINT32_MAX,
                                 .acc$l_volumes = 9};

        a.accounting = (struct mega_accounting){.number = (uint64_t)index,
                                                .uid = 65534,
                                                .elapsed_ns = TIME,
                                                .cpu_ns = TIME,
                                                .faults = 98765432,
                                                .peak_bytes = PAGES * 8192ul,
                                                .peak_pages = PAGES,
                                                .buffered_io = COUNT,
                                                .direct_io = COUNT};
        memcpy(a.accounting.message, &message, ACC$K_TERMLEN);
        strcpy(a.accounting.name, "share_section_2");
        break;
    }
    case MEGA_INFO_PAGE_FILE:
        fill(a.words, sizeof(a.file) / 8, PAGES);
        a.file.used = PAGES / 2;
        a.file.bad = 1;
        a.file.reads = a.file.writes = a.file.errors = 987654321;
        strcpy(a.file.name, "vdb15");
        break;
    default:
        return SS$_BADPARAM;
    }
    memcpy(buffer, &a, length);
    return SS$_NORMAL;
}

const char *mega$condition_message(int status, unsigned parts)
{
    (void)status, (void)parts;
    return "an error";
}

int mega$control(unsigned operation, unsigned __int64 a1, unsigned __int64 a2, unsigned __int64 a3,
                 unsigned __int64 a4, unsigned __int64 a5)
{
    (void)operation, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    return SS$_NORMAL;
}

/* Three tables' names, with a second translation each. */
int mega$logical(void *table, __int64 index, __int64 translation, struct mega_logical *m)
{
    static int64_t shown;

    (void)table;
    if (index == MEGA_LOGICAL_SAME)
        return translation > 1 ? SS$_NONEXPR : SS$_NORMAL;
    shown = index == MEGA_LOGICAL_NEXT ? shown + 1 : index;
    if (shown >= ROWS)
        return SS$_NOLOGNAM;
    *m = (struct mega_logical){.name = "LNM$A_DIRECTORY_OF_TABLES_WITH_NAME",
                               .table = "LNM$PROCESS_DIRECTORY_OF_TABLES",
                               .text = "/a/path/that/somebody/has/given/a/name",
                               .attributes = LNM$M_NO_ALIAS | LNM$M_CONFINE | LNM$M_TABLE,
                               .text_attributes = LNM$M_CONCEALED | LNM$M_TERMINAL,
                               .is_table = shown == 0,
                               .translation = shown ? 0 : -1,
                               .names = 98765432,
                               .quota = COUNT,
                               .left = COUNT};
    return SS$_NORMAL;
}

int sys$trnlnm(unsigned *attributes, void *table, void *name, unsigned char *mode, void *items)
{
    (void)attributes, (void)table, (void)name, (void)mode, (void)items;
    return SS$_NOLOGNAM;
}

/* The longest line of a text; escape sequences of the screen take no columns. */
static size_t longest(const char *text)
{
    size_t most = 0, n = 0;

    for (; *text; text++) {
        if (*text == '\033') {
            text += strcspn(text, "HJKmhl");
            continue;
        }
        n = *text == '\n' ? 0 : n + 1;
        most = n > most ? n : most;
    }
    return most;
}

/* The programs leave it to their end to free memory. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

/* Does the text say this, perhaps broken into lines? */
static bool says(const char *text, const char *what)
{
    for (; *text; text++) {
        const char *a = text, *b = what;

        while (*b && (*a == *b || (*b == ' ' && strchr("\n\033", *a)))) {
            if (*b++ == ' ')
                a += strspn(a, " \n\033[K");
            else
                a++;
        }
        if (!*b)
            return true;
    }
    return false;
}

static char *printed;
static size_t size;
static FILE *terminal;

static void capture(void)
{
    terminal = stdout;
    stdout = open_memstream(&printed, &size);
}

static void release(void)
{
    fclose(stdout);
    stdout = terminal;
}

/* One display, by the words of its command; it is to say `word` in a terminal of any width. Returns
 * the longest line in the widest. */
static size_t display(const char *command, const char *word)
{
    static const char *const widths[] = {"80", "100", "120", "160"};
    size_t most = 0;

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        char words[64], *argv[] = {"show", words, NULL};

        snprintf(words, sizeof(words), "%s", command);
        setenv("COLUMNS", widths[i], 1);
        capture();
        show_main(2, argv);
        release();
        ok(longest(printed) <= strtoul(widths[i], NULL, 10) && says(printed, word),
           "show %s in %s columns takes %zu, and says %s", command, widths[i], longest(printed),
           word);
        most = longest(printed);
        if (most > strtoul(widths[i], NULL, 10))
            printf("%s", printed);
        free(printed);
    }
    return most;
}

/* A display that makes use of a wide terminal. */
static void wide(const char *command, const char *word)
{
    ok(display(command, word) > 80, "show %s is wider in a wide terminal", command);
}

static unsigned screen_columns;

static int size_of_terminal(int fd, unsigned long request, struct winsize *size_of)
{
    (void)fd, (void)request;
    *size_of = (struct winsize){60, (unsigned short)screen_columns, 0, 0};
    return 0;
}

/* Classes of figures: what is counted has not changed, levels are as high as they become. */
static void classes(const struct processes *all, unsigned width)
{
    static const char *const words[] = {"Page file slots", "Requests to disks", ": flush requests",
                                        "Paged: other requests", " 99: waits"};
    struct figures figures = {.count = 0};
    struct reading none = {0};

    for (unsigned k = PAGE; k < SUBJECTS; k++) {
        view.subject = k;
        take_figures(&figures, k, &none.states, all, all);
        usleep(1000);
        take_figures(&figures, k, &none.states, all, all);
        capture();
        draw(&none, &none, all, &figures);
        release();
        ok(longest(printed) < width && says(printed, words[k - PAGE]),
           "monitor %s takes %zu columns, and says %s", subject_names[k], longest(printed),
           words[k - PAGE]);
        free(printed);
    }
    view.subject = SYSTEM;
    free(figures.list);
}

static void monitors(unsigned width)
{
    struct figures no_figures = {.count = 0};
    struct reading a = {0}, b = {0};
    struct processes all = {0}, none = {0};
    char columns[16];

    snprintf(columns, sizeof(columns), "%u", width);
    setenv("COLUMNS", columns, 1);
    ok(take(&b), "a reading");
    a.cpus = b.cpus;
    a.ns = b.ns - 1000000000;
    for (unsigned i = 0; i < b.cpus; i++)
        for (unsigned k = 0; k < KINDS; k++)
            a.cpu[i].ns[k] = b.cpu[i].ns[k] - 1000000000;
    capture();
    show(&a, &b, b.ns - 99999000000000, 0);
    release();
    ok(longest(printed) <= width && says(printed, "Free blocks") && says(printed, "9876543210"),
       "a reading of monitor in %u columns takes %zu", width, longest(printed));
    free(printed);
    ok(take_processes(&all, &none), "processes");
    for (int help = 0; help < 2; help++) {
        static const char *const words[][3] = {{"ready 32767", "fluid 102400", "I/O/s"},
                                               {"ready 32767", "HIB for a time", "than one"}};

        view.help = help != 0;
        screen_columns = width;
        capture();
        draw(&a, &b, &all, &no_figures);
        release();
        ok(longest(printed) < width, "the screen of monitor takes %zu columns", longest(printed));
        for (int i = 0; i < 3; i++)
            ok(says(printed, words[help][i]), "and says %s", words[help][i]);
        free(printed);
    }
    view.help = false;
    classes(&all, width);
    free(all.list);
}

int main(void)
{
    wide("memory /all", "Never used");
    display("memory /pool /full", "Lookaside Hits");
    display("memory /validate", "why there is this error");
    wide("section", "SYSGBL");
    display("section /full", "global valid 13107200");
    display("process 32766", "stack 9876543210");
    wide("process /all", "[37776,177776]");
    display("process /all /full", "virtual time -123456.789 ms");
    wide("system", "MUTEX");
    display("region", "PERMANENT");
    wide("cpu /full", "by reason 9876543210");
    display("parameter", "descriptors");
    display("logical /full", "bytes left");
    display("pci", "irq 255");
    display("device /full", "cache that fsync flushes");
    wide("spinlock /full", PLACE);
    display("mutex", PLACE);
    display("ipl /full", PLACE);
    display("users /full", "requests that contexts of io_setup have room for");
    display("accounting", "share_section_2");
    display("accounting /full", "Mounted volumes");
    display("help", "/TABLE=name");
    monitors(80);
    monitors(100);
    monitors(160);
    return tap_done();
}
