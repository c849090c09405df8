/* The hashed page table (vhpt.h). */
#include "vhpt.h"

#include <stdlib.h>
#include <string.h>

#define UPPER_HALF (UINT64_C(1) << (TB_VA_BITS - TB_PAGE_SHIFT - 1))
#define ONE_SPACE  (UINT64_C(1) << 31) /* the tag is of one address space */
#define ASN_BITS   8
#define FLUSH_BITS (32 - ASN_BITS)
/* Pages of one process are next to each other in the table, which is best for one that fits: no two
 * of them meet. Where processes begin is the fraction of the table by which their number times the
 * golden ratio exceeds a whole: whatever the size of the table is, the first n processes begin as
 * far apart as n can, but for a constant factor. (A step of some entries, the same for all sizes,
 * would let processes larger than the step meet in tables that have room for all of them.) */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

bool vhpt_parse(const char *text, struct vhpt_kind *kind)
{
    char *end;

    *kind = (struct vhpt_kind){(unsigned)strtoul(text, &end, 10), false, false};
    if (*end == 's')
        kind->is_short = *end++ == 's';
    if (*end == 'c')
        kind->has_chains = *end++ == 'c';
    return end != text && *end == 0 && kind->kib <= VHPT_KIB_MAX &&
           (kind->kib & (kind->kib - 1)) == 0 && (kind->kib >= 32 || strcmp(text, "0") == 0);
}

static uint64_t links_of(const struct tb_vhpt *v) { return v->link ? v->mask + 1 : 0; }

static void no_chains(struct tb_vhpt *v)
{
    for (uint64_t i = 0; i < 2 * links_of(v); i++)
        v->link[i] = (struct vhpt_link){VHPT_NONE, VHPT_NONE};
}

bool vhpt_init(struct tb_vhpt *v, struct vhpt_kind kind)
{
    uint64_t n = (uint64_t)kind.kib * 1024 / (kind.is_short ? VHPT_SHORT_BYTES : VHPT_ENTRY_BYTES);

    memset(v, 0, sizeof(*v));
    v->entry = calloc(n, sizeof(*v->entry));
    v->mask = (kind.has_chains ? n / 2 : n) - 1;
    v->start_shift = (uint8_t)__builtin_clzll(v->mask);
    v->is_short = kind.is_short;
    v->of_processes = v->of_all = 1;
    v->next_link = (uint32_t)(v->mask + 1);
    if (kind.has_chains)
        v->link = calloc(n, sizeof(*v->link));
    if (!v->entry || (kind.has_chains && !v->link))
        return false;
    no_chains(v);
    return true;
}

static struct vhpt_entry *entry_of(const struct tb_vhpt *v, uint64_t page, uint64_t asn)
{
    uint64_t start = page & UPPER_HALF ? 0 : asn * GOLDEN >> v->start_shift;

    return &v->entry[(page + start) & v->mask];
}

static uint64_t tag_of_one(const struct tb_vhpt *v, uint64_t page, uint64_t asn)
{
    return ((uint64_t)v->of_processes << ASN_BITS | asn) << 32 | ONE_SPACE | page;
}

static uint64_t tag_of_all(const struct tb_vhpt *v, uint64_t page)
{
    return (uint64_t)v->of_all << 32 | page;
}

static bool is_of(const struct tb_vhpt *v, const struct vhpt_entry *e, uint64_t page, uint64_t asn)
{
    return e->tag == tag_of_one(v, page, asn) || e->tag == tag_of_all(v, page);
}

/* May what the entry holds still be found? */
static bool is_live(const struct tb_vhpt *v, const struct vhpt_entry *e)
{
    if (e->tag >> 32 == 0)
        return false;
    return e->tag & ONE_SPACE ? e->tag >> (32 + ASN_BITS) == v->of_processes
                              : e->tag >> 32 == v->of_all;
}

/* What the entry holds instead of a page of that space. */
static enum vhpt_instead instead(const struct tb_vhpt *v, const struct vhpt_entry *e, uint64_t asn)
{
    if (e->tag == 0)
        return VHPT_NOTHING;
    if (!is_live(v, e))
        return VHPT_VOID;
    if (!(e->tag & ONE_SPACE))
        return VHPT_SYSTEM;
    return (e->tag >> 32 & ((1u << ASN_BITS) - 1)) == asn ? VHPT_OWN : VHPT_OTHER;
}

bool vhpt_find(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte *pte)
{
    const struct vhpt_entry *e = entry_of(v, page, asn);

    v->walks++;
    if (!is_of(v, e, page, asn)) {
        v->instead[instead(v, e, asn)]++;
        return false;
    }
    v->hits++;
    *pte = e->pte;
    return true;
}

bool vhpt_find_link(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte *pte)
{
    struct vhpt_entry *head = entry_of(v, page, asn);

    if (!v->link)
        return false;
    for (uint32_t i = v->link[head - v->entry].next; i != VHPT_NONE; i = v->link[i].next) {
        struct vhpt_entry found = v->entry[i];

        v->looked++;
        if (!is_of(v, &found, page, asn))
            continue;
        v->chained++;
        v->entry[i] = *head;
        *head = found;
        *pte = found.pte;
        return true;
    }
    return false;
}

/* Keep what the entry holds in the next link, the first of its chain. */
static void to_chain(struct tb_vhpt *v, struct vhpt_entry *head)
{
    uint32_t i = v->next_link, from = (uint32_t)(head - v->entry);
    struct vhpt_link *l = &v->link[i];

    v->next_link = i + 1 == 2 * links_of(v) ? (uint32_t)(v->mask + 1) : i + 1;
    if (l->previous != VHPT_NONE)
        v->link[l->previous].next = l->next;
    if (l->next != VHPT_NONE)
        v->link[l->next].previous = l->previous;
    *l = (struct vhpt_link){v->link[from].next, from};
    if (l->next != VHPT_NONE)
        v->link[l->next].previous = i;
    v->link[from].next = i;
    v->entry[i] = *head;
}

void vhpt_put(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte pte)
{
    struct vhpt_entry *e = entry_of(v, page, asn);

    v->replaced += e->tag != 0;
    if (v->link && is_live(v, e))
        to_chain(v, e);
    e->tag = pte.asm_ && page & UPPER_HALF ? tag_of_all(v, page) : tag_of_one(v, page, asn);
    e->pte = pte;
}

void vhpt_drop_page(struct tb_vhpt *v, uint64_t page, uint64_t asn)
{
    struct vhpt_entry *e = entry_of(v, page, asn);

    if (is_of(v, e, page, asn))
        e->tag = 0;
    for (uint32_t i = v->link ? v->link[e - v->entry].next : VHPT_NONE; i != VHPT_NONE;
         i = v->link[i].next) {
        v->looked++;
        if (is_of(v, &v->entry[i], page, asn))
            v->entry[i].tag = 0;
    }
}

/* A short entry would have to be cleared; the model does as with others, which gives the same hits,
 * and counts it. Of others the tag has 24 bits for the flushes: when they begin anew, so does the
 * table. */
void vhpt_drop_process(struct tb_vhpt *v)
{
    uint64_t n = v->mask + 1 + links_of(v);

    v->cleared += v->is_short ? n : 0;
    if (++v->of_processes < UINT32_C(1) << FLUSH_BITS)
        return;
    memset(v->entry, 0, n * sizeof(*v->entry));
    no_chains(v);
    v->of_processes = 1;
}

void vhpt_drop_all(struct tb_vhpt *v)
{
    vhpt_drop_process(v);
    v->of_all++;
}
