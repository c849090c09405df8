/* Reading the guest's memory (guest.h). QEMU's plugins run inside of QEMU, so this is an ordinary
 * read; a page that the guest never wrote stays one, because the memory is not shared. */
#include "guest.h"

#include <stdio.h>
#include <string.h>

#define PAGE_BYTES  8192u
#define PTES        1024u
#define THREAD_NAME 16

struct guest_layout guest;

static char *memory;

/* As scripts/megalith/run/guest_memory.py: the only mapping without a file of exactly that size. */
bool guest_find(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];

    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long start, end;
        int path = 0;

        if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &start, &end, &path) < 2)
            continue;
        if (end - start == guest.ram && (path == 0 || line[path] == 0)) {
            memory = (char *)start; /* NOLINT */
            break;
        }
    }
    if (maps)
        fclose(maps);
    return memory != NULL;
}

bool guest_found(void) { return memory != NULL; }

static bool copy(uint64_t at, void *to, size_t nbytes)
{
    if (at > guest.ram || nbytes > guest.ram - at)
        return false;
    memcpy(to, memory + at, nbytes);
    return true;
}

uint64_t guest_quad(uint64_t va)
{
    uint64_t value = 0;

    if (in_kseg(va))
        copy(va - KSEG, &value, sizeof(value));
    return value;
}

void guest_store(uint64_t va, const uint64_t *quads, unsigned n)
{
    uint64_t at = va - KSEG;

    if (!in_kseg(va) || at % 8 || at > guest.ram || n * 8ull > guest.ram - at)
        return;
    for (unsigned i = 0; i < n; i++)
        __atomic_store_n((uint64_t *)(memory + at) + i, quads[i], __ATOMIC_RELAXED);
}

/* ---- page tables ---- */

static uint64_t entry(uint64_t pfn, unsigned index)
{
    uint64_t pte = 0;

    copy(pfn * PAGE_BYTES + 8 * index, &pte, sizeof(pte));
    return pte;
}

static struct tb_pte decoded(uint64_t pte)
{
    return (struct tb_pte){
        .valid = pte & 1, .asm_ = pte >> 4 & 1, .gh = pte >> 5 & 3, .pfn = pte >> 32};
}

static uint64_t table_of(uint64_t root, uint64_t va)
{
    uint64_t upper = entry(root, va >> 33 & (PTES - 1));

    return upper & 1 ? entry(upper >> 32, va >> 23 & (PTES - 1)) : 0;
}

struct tb_walk guest_walk(uint64_t root, uint64_t va)
{
    uint64_t table = table_of(root, va);
    uint64_t pte = table & 1 ? entry(table >> 32, va >> 13 & (PTES - 1)) : 0;

    return (struct tb_walk){.page = decoded(pte), .table = decoded(table)};
}

/* Do all PTEs of a table say the same of the block in which this one lies? */
static bool block_agrees(uint64_t pfn, unsigned index)
{
    uint64_t first = entry(pfn, index), pages = UINT64_C(1) << 3 * (first >> 5 & 3);

    index &= ~(unsigned)(pages - 1);
    first = entry(pfn, index);
    if ((first >> 32) % pages != 0)
        return false;
    for (unsigned i = 1; i < pages; i++)
        if (entry(pfn, index + i) != first + ((uint64_t)i << 32))
            return false;
    return true;
}

bool guest_block_agrees(uint64_t root, uint64_t va)
{
    uint64_t upper = entry(root, va >> 33 & (PTES - 1)), table;

    if (!(upper & 1))
        return true;
    table = entry(upper >> 32, va >> 23 & (PTES - 1));
    return block_agrees(upper >> 32, va >> 23 & (PTES - 1)) &&
           (!(table & 1) || block_agrees(table >> 32, va >> 13 & (PTES - 1)));
}

/* ---- who ---- */

/* Copy a text of the kernel, from KSEG or through the page tables. */
static void text(uint64_t root, uint64_t va, char *to, size_t size)
{
    memset(to, 0, size);
    if (!in_kseg(va)) {
        struct tb_pte page = guest_walk(root, va).page;

        if (!page.valid)
            return;
        va = KSEG + page.pfn * PAGE_BYTES + va % PAGE_BYTES;
    }
    copy(va - KSEG, to, size - 1);
    for (char *p = to; *p; p++)
        if (*p < ' ' || *p == '"' || *p == '\\' || *p == 127)
            *p = '?';
}

void guest_program(uint64_t root, unsigned cpu, char name[NAME_BYTES])
{
    uint64_t thread = guest_quad(guest.cpus + cpu * guest.cpu_size);

    memset(name, 0, NAME_BYTES);
    if (thread)
        text(root, thread + guest.thread_name, name, THREAD_NAME + 1);
}

/* Where a word of the kernel is in this program's memory, by KSEG or the page tables; NULL: it is
 * not mapped. */
static const void *host(uint64_t root, uint64_t va)
{
    if (!in_kseg(va)) {
        struct tb_pte page = guest_walk(root, va).page;

        if (!page.valid)
            return NULL;
        va = KSEG + page.pfn * PAGE_BYTES + va % PAGE_BYTES;
    }
    return va - KSEG <= guest.ram - sizeof(uint64_t) ? memory + (va - KSEG) : NULL;
}

static uint64_t word(uint64_t root, uint64_t va, unsigned nbytes)
{
    const void *at = host(root, va);
    uint64_t value = 0;

    if (at)
        memcpy(&value, at, nbytes);
    return value;
}

#define RADS_MAX 8

static unsigned rads(void)
{
    uint64_t n = word(0, guest.rad_count, 4);

    return n == 0 || n > RADS_MAX ? 1 : (unsigned)n;
}

struct guest_thread guest_thread(uint64_t root, unsigned cpu)
{
    uint64_t current = guest.cpus + cpu * guest.cpu_size;
    struct guest_thread t = {.at = guest_quad(current), .current = host(root, current)};
    uint64_t process = t.at ? word(root, t.at + guest.thread_process, 8) : 0;

    t.pid = process ? (uint32_t)word(root, process + guest.process_pid, 4) : 0;
    t.wants = t.at ? host(root, t.at + guest.thread_home) : NULL;
    t.name = t.at ? host(root, t.at + guest.thread_name) : NULL;
    if (t.name)
        memcpy(t.named, t.name, sizeof(t.named));
    t.said = t.wants ? *t.wants : 0;
    t.home = t.said < rads() ? t.said : (uint8_t)(cpu % rads());
    return t;
}

unsigned guest_rad(uint64_t pfn)
{
    unsigned rad = 0;

    while (rad + 1 < rads() &&
           pfn >= guest_quad(guest.rads + (rad + 1) * guest.rad_size + guest.rad_first))
        rad++;
    return rad;
}

#define SECTIONS_MAX 4096 /* a list that is longer is being changed */
#define EXTENTS_MAX  64

/* Is the frame one of these stretches, which together have npages? */
static bool in_extents(uint64_t extents, uint64_t npages, uint64_t pfn)
{
    for (unsigned i = 0; i < EXTENTS_MAX && npages; i++, extents += 16) {
        uint64_t first = guest_quad(extents), n = guest_quad(extents + 8);

        if (n == 0)
            return false;
        if (n > npages)
            n = npages;
        if (pfn - first < n)
            return true;
        npages -= n;
    }
    return false;
}

/* The section whose frames were known from its creation on and include this one; 0: none. The pages
 * of other sections know their owner. */
static uint64_t section_of(uint64_t pfn)
{
    uint64_t at = guest_quad(guest.sections);

    for (unsigned i = 0; i < SECTIONS_MAX && at && at != guest.sections; i++) {
        uint64_t s = at - guest.section_link, npages = guest_quad(s + guest.section_npages);
        uint64_t first = guest_quad(s + guest.section_first);
        uint64_t extents = guest_quad(s + guest.section_extents);

        if (extents ? in_extents(extents, npages, pfn) : first && pfn - first < npages)
            return s;
        at = guest_quad(at);
    }
    return 0;
}

unsigned guest_page(uint64_t root, uint64_t pfn, char section[NAME_BYTES])
{
    uint64_t at = guest_quad(guest.page_db) + pfn * guest.page_size;
    unsigned type = guest_quad(at + (guest.page_type & ~7ull)) >> 8 * (guest.page_type & 7) & 0xFF;
    uint64_t owner, gsd;

    memset(section, 0, NAME_BYTES);
    if (type != guest.type_section)
        return type;
    owner = guest_quad(at + guest.page_owner);
    gsd = guest_quad((owner ? owner : section_of(pfn)) + guest.section_gsd);
    if (gsd)
        text(root, gsd + guest.gsd_name, section, NAME_BYTES);
    return type;
}
