/*
 * $GETSYI: sizes, limits and use of the system, each read from the subsystem that owns it. A value
 * that does not fit into a longword is returned as the largest longword. Global page table entries
 * and page-file-backed pages stand for pages of 8,192 bytes, as in the parameters. No lock here.
 */
#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/hwrpb.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/syidef.h"
#include "kernel/base/bitops.h"
#include "kernel/base/string.h"
#include "kernel/proc/creds.h"
#include "kernel/proc/process.h"
#include "kernel/sched/ipi.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/complete.h"
#include "kernel/sys/vms/items.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/page.h"
#include "mm/section/section.h"
#include "sysman/params.h"

#define NODE_NAME_MAX  15
#define ALPHA          2 /* SYI$_ARCH_TYPE */
#define SECTION_TABLES 3

enum { SECTIONS, GPTES, PAGFIL };
enum { LIMIT_LEFT, USE, PEAK };

/* ---- where values come from ---- */

static uint64_t from_parameter(unsigned which)
{
    return (uint64_t)sysparam((enum sysparam_id)which);
}

/* which: table * SECTION_TABLES + LIMIT_LEFT, USE or PEAK. */
static uint64_t from_section_tables(unsigned which)
{
    struct section_use u[SECTION_TABLES], *t = &u[which / SECTION_TABLES];

    section_uses(&u[SECTIONS], &u[GPTES], &u[PAGFIL]);
    switch (which % SECTION_TABLES) {
    case LIMIT_LEFT:
        return t->limit > t->use ? t->limit - t->use : 0; /* the limit may have been lowered */
    case USE:
        return t->use;
    default:
        return t->peak;
    }
}

static uint64_t from_memory(unsigned which)
{
    struct page_stats s;

    (void)which;
    page_stats(&s);
    return s.total;
}

/* This system has no page files, and is a node by itself. */
static uint64_t none(unsigned which)
{
    (void)which;
    return 0;
}

/* Pages that all page files have, or how many of them are free. */
static uint64_t from_page_files(unsigned is_free)
{
    uint64_t slots, free;

    pagefile_totals(&slots, &free);
    return is_free ? free : slots;
}

/* CPUs that run, those that the console reports, and where the first CPU is among them. */
enum { ONLINE_MASK, ONLINE_COUNT, PRESENT_MASK, PRESENT_COUNT, PRIMARY, CPUS_MOST };

static uint64_t from_cpus(unsigned which)
{
    uint64_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE);
    uint64_t present = hwrpb_cpus_present() & ((1ul << MAX_CPUS) - 1);

    switch (which) {
    case ONLINE_MASK:
        return online;
    case ONLINE_COUNT:
        return bit_count(online);
    case PRESENT_MASK:
        return present;
    case PRESENT_COUNT:
        return bit_count(present);
    case PRIMARY:
        return hwrpb_primary();
    default:
        return MAX_CPUS;
    }
}

static uint64_t boot_time(unsigned which)
{
    (void)which;
    return vms_time(clock_wall_ns() - clock_ns());
}

/* The types that the console tells of the machine and, alike for all, of its processors. */
static uint64_t from_console(unsigned is_cpu)
{
    return is_cpu ? hwrpb_cpu_type() : hwrpb_system_type();
}

enum {
    PAGE_BYTES,
    PTES,
    PROCESSES,
    DOMAINS,
    SPACE_LIMIT,
    PAGE_TABLES,
    SHARED_PAGE_TABLES,
    SYSTEM_GROUPS,
    ARCHITECTURE
};

static uint64_t from_layout(unsigned which)
{
    switch (which) {
    case PAGE_BYTES:
        return PAGE_SIZE;
    case PTES:
        return PTES_PER_PAGE;
    case PROCESSES:
        return process_limit;
    case DOMAINS:
        return rad_count;
    case SPACE_LIMIT:
        return LAYOUT_USER_TOP;
    case PAGE_TABLES:
        return LAYOUT_PT_SPACE_BASE;
    case SYSTEM_GROUPS:
        return CREDS_MAXSYSGROUP;
    case ARCHITECTURE:
        return ALPHA;
    default: /* address of the level-3 PTE that maps the first address of system space */
        return LAYOUT_PT_SPACE_BASE + LAYOUT_L1_SYSTEM_FIRST * PTES_PER_PAGE * PAGE_SIZE;
    }
}

/* ---- lists of pairs, a domain and a value that belongs to it, ended by a pair of -1 ---- */

struct pair {
    uint32_t rad, value;
};

static uint32_t end_list(struct pair *list, uint32_t n)
{
    list[n] = (struct pair){UINT32_MAX, UINT32_MAX};
    return (n + 1) * sizeof(*list);
}

/* List the domain and number of each online CPU. Returns the length of the list in bytes. */
static uint32_t list_cpus(struct pair *list)
{
    cpumask_t online = __atomic_load_n(&cpu_online_mask, __ATOMIC_ACQUIRE);
    uint32_t n = 0;

    for (unsigned rad = 0; rad < rad_count; rad++)
        for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
            if ((rad_cpus(rad) & online) >> cpu & 1)
                list[n++] = (struct pair){rad, cpu};
    return end_list(list, n);
}

/* List the number of pages of each domain. Returns the length of the list in bytes. */
static uint32_t list_pages(struct pair *list)
{
    uint64_t first, end;
    struct page_stats s;

    for (unsigned rad = 0; rad < rad_count; rad++) {
        page_rad_stats(rad, &s, &first, &end);
        list[rad] = (struct pair){rad, (uint32_t)MIN(s.total, (uint64_t)UINT32_MAX)};
    }
    return end_list(list, rad_count);
}

_Static_assert((CONST_MAX(MAX_CPUS, RAD_MAX) + 1) * sizeof(struct pair) <= VMS_ANSWER_MAX,
               "a list is an answer");

static const struct {
    uint16_t code;
    uint32_t (*fill)(struct pair *list);
} lists[] = {{SYI$_RAD_CPUS, list_cpus}, {SYI$_RAD_MEMSIZE, list_pages}};

static const struct {
    uint16_t code;
    const char *text;
} texts[] = {
    {SYI$_NODENAME, VMS_NODE_NAME},
    {SYI$_ARCH_NAME, "Alpha"},
    {SYI$_HW_NAME, "Tsunami Clipper"},
    /* The version of the services, which programs ask for to find out what they may call */
    {SYI$_VERSION, "V7.1    "},
    {SYI$_NODE_SWTYPE, "VMS "},
    {SYI$_NODE_SWVERS, VMS_NODE_VERSION},
};

/* ---- items ---- */

#define TABLE(table, what) from_section_tables, (table) * SECTION_TABLES + (what)
#define PARAMETER(name)    from_parameter, SYSPARAM_##name

static const struct item {
    uint16_t code;
    uint8_t length;
    uint64_t (*value)(unsigned which);
    unsigned which;
} items[] = {
    {SYI$_GBLSECTIONS, 4, PARAMETER(GBLSECTIONS)},
    {SYI$_GBLPAGES, 4, PARAMETER(GBLPAGES)},
    {SYI$_GBLPAGFIL, 4, PARAMETER(GBLPAGFIL)},
    {SYI$_NPAGEDYN, 4, PARAMETER(NPAGEDYN)},
    {SYI$_NPAGEVIR, 4, PARAMETER(NPAGEVIR)},
    {SYI$_PAGEDYN, 4, PARAMETER(PAGEDYN)},
    {SYI$_LNMSHASHTBL, 4, PARAMETER(LNMSHASHTBL)},
    {SYI$_LNMPHASHTBL, 4, PARAMETER(LNMPHASHTBL)},
    {SYI$_POOLCHECK, 4, PARAMETER(POOLCHECK)},
    {SYI$_PHYSICAL_MEMORY, 4, PARAMETER(PHYSICAL_MEMORY)},
    {SYI$_ZERO_LIST_HI, 4, PARAMETER(ZERO_LIST_HI)},
    {SYI$_FREELIM, 4, PARAMETER(FREELIM)},
    {SYI$_FREEGOAL, 4, PARAMETER(FREEGOAL)},
    {SYI$_CHANNELCNT, 4, PARAMETER(CHANNELCNT)},
    {SYI$_DEFMBXBUFQUO, 4, PARAMETER(DEFMBXBUFQUO)},
    {SYI$_DEFMBXMXMSG, 4, PARAMETER(DEFMBXMXMSG)},
    {SYI$_PQL_DASTLM, 4, PARAMETER(PQL_DASTLM)},
    {SYI$_PQL_DBIOLM, 4, PARAMETER(PQL_DBIOLM)},
    {SYI$_PQL_DBYTLM, 4, PARAMETER(PQL_DBYTLM)},
    {SYI$_PQL_DPRCLM, 4, PARAMETER(PQL_DPRCLM)},
    {SYI$_PQL_DTQELM, 4, PARAMETER(PQL_DTQELM)},
    {SYI$_PQL_DJTQUOTA, 4, PARAMETER(PQL_DJTQUOTA)},
    {SYI$_FREE_GBLPAGES, 4, TABLE(GPTES, LIMIT_LEFT)},
    {SYI$_CONTIG_GBLPAGES, 4, TABLE(GPTES, LIMIT_LEFT)}, /* no array, so no fragmentation */
    {SYI$_USED_GBLPAGCNT, 4, TABLE(GPTES, USE)},
    {SYI$_USED_GBLPAGMAX, 4, TABLE(GPTES, PEAK)},
    {SYI$_FREE_GBLSECTS, 4, TABLE(SECTIONS, LIMIT_LEFT)},
    {SYI$_USED_GBLSECTCNT, 4, TABLE(SECTIONS, USE)},
    {SYI$_USED_GBLSECTMAX, 4, TABLE(SECTIONS, PEAK)},
    {SYI$_MEMSIZE, 4, from_memory, 0},
    {SYI$_MAXBOBMEM, 4, PARAMETER(MAXBOBMEM)},
    {SYI$_PAGE_SIZE, 4, from_layout, PAGE_BYTES},
    {SYI$_PTES_PER_PAGE, 4, from_layout, PTES},
    {SYI$_MAXPROCESSCNT, 4, from_layout, PROCESSES},
    {SYI$_RAD_MAX_RADS, 4, from_layout, DOMAINS},
    {SYI$_ACTIVECPU_CNT, 4, from_cpus, ONLINE_COUNT},
    {SYI$_AVAILCPU_CNT, 4, from_cpus, PRESENT_COUNT},
    {SYI$_POTENTIALCPU_CNT, 4, from_cpus, PRESENT_COUNT},
    {SYI$_MAX_CPUS, 4, from_cpus, CPUS_MOST},
    {SYI$_PRIMARY_CPUID, 4, from_cpus, PRIMARY},
    {SYI$_ACTIVE_CPU_MASK, 8, from_cpus, ONLINE_MASK},
    {SYI$_AVAIL_CPU_MASK, 8, from_cpus, PRESENT_MASK},
    {SYI$_POTENTIAL_CPU_MASK, 8, from_cpus, PRESENT_MASK},
    {SYI$_CPUCONF, 4, from_cpus, PRESENT_MASK},
    {SYI$_CPUTYPE, 4, from_console, true},
    {SYI$_SYSTYPE, 4, from_console, false},
    {SYI$_BOOTTIME, 8, boot_time, 0},
    {SYI$_MAXSYSGROUP, 4, from_layout, SYSTEM_GROUPS},
    {SYI$_ARCH_TYPE, 4, from_layout, ARCHITECTURE},
    {SYI$_CLUSTER_MEMBER, 1, none, 0},
    {SYI$_NODE_CSID, 4, none, 0},
    {SYI$_PAGEFILE_PAGE, 4, from_page_files, false},
    {SYI$_PAGEFILE_FREE, 4, from_page_files, true},
    {SYI$_SWAPFILE_PAGE, 4, none, 0},
    {SYI$_SWAPFILE_FREE, 4, none, 0},
    {SYI$_PROCESS_SPACE_LIMIT, 8, from_layout, SPACE_LIMIT},
    {SYI$_PT_BASE, 8, from_layout, PAGE_TABLES},
    {SYI$_SHARED_VA_PTES, 8, from_layout, SHARED_PAGE_TABLES},
};

static const struct item *item_of(uint32_t code)
{
    for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
        if (items[i].code == code)
            return &items[i];
    return NULL;
}

/* Set *a to the value of an item. False: the item is not implemented. a may be NULL. */
static bool answer(uint32_t code, struct vms_answer *a)
{
    const struct item *item = item_of(code);
    uint64_t v;

    for (unsigned i = 0; i < ARRAY_SIZE(lists); i++)
        if (lists[i].code == code) {
            if (a)
                a->length = lists[i].fill((struct pair *)a->bytes);
            return true;
        }
    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
        if (texts[i].code == code) {
            if (a) {
                a->length = (uint32_t)strlen(texts[i].text);
                memcpy(a->bytes, texts[i].text, a->length);
            }
            return true;
        }
    if (!item || !a)
        return item != NULL;
    v = item->value(item->which);
    a->length = item->length;
    if (item->length == sizeof(a->q))
        a->q = v;
    else /* -1, the value of a parameter without limit, stays -1 */
        a->l = v == UINT64_MAX ? UINT32_MAX : (uint32_t)MIN(v, (uint64_t)UINT32_MAX);
    return true;
}

/* ---- the service ---- */

static cond_t check_item(const struct vms_item *item, const void *arg)
{
    (void)arg;
    return answer(item->code, NULL) ? vms_item_probe(item) : SS$_BADITMCOD;
}

static cond_t write_item(const struct vms_item *item, const void *arg)
{
    struct vms_answer a;

    (void)arg;
    return answer(item->code, &a) ? vms_item_answer(item, &a) : SS$_BADITMCOD;
}

/* There is only one node: the system id must be omitted or 0, the name omitted or VMS_NODE_NAME. */
static cond_t check_node(vaddr_t csidadr, vaddr_t nodename)
{
    char name[NODE_NAME_MAX + 2];
    uint32_t csid = 0;
    cond_t status;

    if (csidadr && copyin(&csid, csidadr, sizeof(csid)) != 0)
        return SS$_ACCVIO;
    if (csid)
        return SS$_NOSUCHNODE;
    if (!nodename)
        return SS$_NORMAL;
    status = vms_short_name(nodename, name, NODE_NAME_MAX);
    if (status != SS$_NORMAL)
        return status;
    return strcmp(name, VMS_NODE_NAME) == 0 ? SS$_NORMAL : SS$_NOSUCHNODE;
}

static cond_t inform(vaddr_t itmlst)
{
    struct vms_item_list list;
    cond_t status = vms_items_check(itmlst, vms_items_next, check_item, &list);

    if (status == SS$_NORMAL)
        status = vms_items_each(&list, write_item, NULL);
    vms_items_end(&list);
    return status;
}

/*
 * $GETSYI(efn, csidadr, nodename, itmlst, iosb, astadr, astprm), and $GETSYIW, since it completes
 * at once.
 *
 *   SS$_NORMAL
 *   SS$_NOSUCHNODE                  csidadr or nodename names another node
 *   SS$_BADITMCOD                   an item is not implemented
 *   SS$_BADPARAM, SS$_BADBUFLEN     the item list is malformed
 *   SS$_IVLOGNAM                    the name has 0 or more than 15 characters
 *   SS$_INSFMEM                     the list is long, and there is no memory for its copy
 *   SS$_ILLEFC, SS$_UNASEFC, SS$_EXASTLM, SS$_ACCVIO
 */
cond_t vms_getsyi(uint64_t block)
{
    enum { EFN, CSIDADR, NODENAME, ITMLST, IOSB_OUT, ASTADR, ASTPRM, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    struct vms_completion c;
    cond_t status = vms_args(block, IOSB_OUT, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_completion_begin(&c, a[EFN], a[IOSB_OUT], a[ASTADR], a[ASTPRM]);
    if (status != SS$_NORMAL)
        return status;
    status = check_node(a[CSIDADR], a[NODENAME]);
    if (status == SS$_NORMAL)
        status = inform(a[ITMLST]);
    return vms_completion_end(&c, status, status != SS$_NORMAL);
}
