/* The hashed page table (vhpt.h). */
#include "vhpt.h"

#include <stdlib.h>
#include <string.h>

#define UPPER_HALF (UINT64_C(1) << (TB_VA_BITS - TB_PAGE_SHIFT - 1))
#define ONE_SPACE  (UINT64_C(1) << 31) /* the tag is of one address space */
#define ASN_BITS   8
#define FLUSH_BITS (32 - ASN_BITS)
/* Neighbouring processes begin 1,021 entries apart: a prime, so that the same page of several of
 * them seldom meets. Pages of one process are next to each other. */
#define STEP 1021

bool vhpt_init(struct tb_vhpt *v, unsigned kib)
{
    uint64_t n = (uint64_t)kib * 1024 / VHPT_ENTRY_BYTES;

    memset(v, 0, sizeof(*v));
    v->entry = calloc(n, sizeof(*v->entry));
    v->mask = n - 1;
    v->of_processes = v->of_all = 1;
    return v->entry != NULL;
}

static struct vhpt_entry *entry_of(const struct tb_vhpt *v, uint64_t page, uint64_t asn)
{
    uint64_t start = page & UPPER_HALF ? 0 : asn * STEP;

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

bool vhpt_find(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte *pte)
{
    const struct vhpt_entry *e = entry_of(v, page, asn);

    v->walks++;
    if (!is_of(v, e, page, asn))
        return false;
    v->hits++;
    *pte = e->pte;
    return true;
}

void vhpt_put(struct tb_vhpt *v, uint64_t page, uint64_t asn, struct tb_pte pte)
{
    struct vhpt_entry *e = entry_of(v, page, asn);

    v->replaced += e->tag != 0;
    e->tag = pte.asm_ && page & UPPER_HALF ? tag_of_all(v, page) : tag_of_one(v, page, asn);
    e->pte = pte;
}

void vhpt_drop_page(struct tb_vhpt *v, uint64_t page, uint64_t asn)
{
    struct vhpt_entry *e = entry_of(v, page, asn);

    if (is_of(v, e, page, asn))
        e->tag = 0;
}

/* The tag has 24 bits for the flushes: when they begin anew, so does the table. */
void vhpt_drop_process(struct tb_vhpt *v)
{
    if (++v->of_processes < UINT32_C(1) << FLUSH_BITS)
        return;
    memset(v->entry, 0, (v->mask + 1) * sizeof(*v->entry));
    v->of_processes = 1;
}

void vhpt_drop_all(struct tb_vhpt *v)
{
    vhpt_drop_process(v);
    v->of_all++;
}
