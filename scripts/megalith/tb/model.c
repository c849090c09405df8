/* The model of the translation buffers (model.h). */
#include "model.h"

#include "vhpt.h"

#include <string.h>

#define VPN_BITS    (TB_VA_BITS - TB_PAGE_SHIFT)
#define VPN_MASK    ((UINT64_C(1) << VPN_BITS) - 1)
#define ASN_SHIFT   32
#define NO_TAG      (UINT64_C(1) << 63)
#define PT_SPACE    UINT64_C(0xFFFFFFFE00000000) /* where the level-3 PTEs appear */
#define PTE_SHIFT   3
#define GUESSES     1024u
#define NOT_FOUND   UINT32_MAX
#define BLOCK_SHIFT 3 /* each hint is 8 times the one before */

/*
 * Prices. PALcode of the 21164, as its vendor published it, has 15 instructions for a miss of
 * either buffer and 31 more for a double miss, and issues about one in a cycle; the trap into it
 * and the return are taken for 8 cycles. At most each PTE comes from memory: one load for a miss,
 * two more for a double one. The walker of a hashed page table, which no Alpha has, is taken for 10
 * cycles and one load. The latencies, and all numbers of the 21064 and the 21264, are
 * estimates (docs/translation-buffer.md, Prices).
 */
const struct tb_chip tb_chips[] = {
    {.name = "21064",
     .itb_small = 8,
     .itb_large = 4,
     .dtb = 32,
     .replacement = TB_NOT_LAST_USED,
     .fetch = {20, 80},
     .data = {20, 80},
     .second = {31, 151},
     .walker = {10, 70}},
    {.name = "21164",
     .itb_small = 48,
     .dtb = 64,
     .asn_bits = 7,
     .replacement = TB_NOT_LAST_USED,
     .fetch = {23, 103},
     .data = {23, 103},
     .second = {31, 191},
     .walker = {10, 90}},
    {.name = "21264",
     .itb_small = 128,
     .dtb = 128,
     .asn_bits = 8,
     .replacement = TB_ROUND_ROBIN,
     .fetch = {20, 150},
     .data = {20, 150},
     .second = {31, 291},
     .walker = {10, 140}},
};
const unsigned tb_nchips = sizeof(tb_chips) / sizeof(*tb_chips);

const struct tb_chip *tb_chip_named(const char *name)
{
    for (unsigned i = 0; i < tb_nchips; i++)
        if (strcmp(tb_chips[i].name, name) == 0)
            return &tb_chips[i];
    return NULL;
}

/* ---- one buffer ---- */

static void buffer_init(struct tb_buffer *b, unsigned n, enum tb_replacement replacement)
{
    memset(b, 0, sizeof(*b));
    b->n = n;
    b->replacement = replacement;
    for (unsigned i = 0; i < TB_ENTRIES_MAX; i++)
        b->tag[i] = NO_TAG;
}

static unsigned after(const struct tb_buffer *b, unsigned i) { return i + 1 == b->n ? 0 : i + 1; }

static bool translates(const struct tb_buffer *b, unsigned i, uint64_t key)
{
    return (key & b->mask[i]) == b->tag[i];
}

/* The entry that translates the key, or NOT_FOUND. There is one at most: fill() drops others. */
static uint32_t find(struct tb_buffer *b, uint64_t key)
{
    uint8_t *guess = &b->guess[key % GUESSES];

    if (translates(b, *guess, key))
        return *guess;
    for (unsigned i = 0; i < b->n; i++)
        if (translates(b, i, key)) {
            *guess = (uint8_t)i;
            return i;
        }
    return NOT_FOUND;
}

static bool use(struct tb_buffer *b, uint64_t key)
{
    uint32_t i = find(b, key);

    if (i == NOT_FOUND)
        return false;
    if (b->replacement == TB_NOT_LAST_USED && i == b->next)
        b->next = after(b, i);
    return true;
}

static void drop(struct tb_buffer *b, unsigned i)
{
    b->tag[i] = NO_TAG;
    b->mask[i] = 0;
}

/* Write an entry where the pointer stands. Two entries for one page are UNDEFINED on the chip;
 * software must have invalidated the smaller ones. Here they are dropped, and counted. */
static uint64_t fill(struct tb_buffer *b, uint64_t key, struct tb_pte pte)
{
    uint64_t pages = (UINT64_C(1) << (BLOCK_SHIFT * pte.gh)) - 1, mask = VPN_MASK & ~pages;
    uint64_t overlaps = 0;
    unsigned at = b->next;

    if (!pte.asm_)
        mask |= ~((UINT64_C(1) << ASN_SHIFT) - 1);
    /* A smaller or equal entry lies inside the new one if it agrees where both compare. That of
       another address space number stays, unless either is for all of them. */
    if (pte.gh || pte.asm_)
        for (unsigned i = 0; i < b->n; i++)
            if (b->tag[i] != NO_TAG && ((b->tag[i] ^ key) & b->mask[i] & mask) == 0) {
                overlaps += i != at;
                drop(b, i);
            }
    b->tag[at] = key & mask;
    b->mask[at] = mask;
    b->pte[at] = pte;
    b->guess[key % GUESSES] = (uint8_t)at;
    b->next = after(b, at);
    return overlaps;
}

static void drop_page(struct tb_buffer *b, uint64_t key)
{
    for (unsigned i = 0; i < b->n; i++)
        if (translates(b, i, key))
            drop(b, i);
}

static void drop_process(struct tb_buffer *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->tag[i] != NO_TAG && !b->pte[i].asm_)
            drop(b, i);
}

static void drop_all(struct tb_buffer *b)
{
    for (unsigned i = 0; i < b->n; i++)
        drop(b, i);
    b->next = 0;
}

/* ---- a CPU ---- */

void tb_init(struct tb_model *m, const struct tb_chip *chip, unsigned hint, bool asns)
{
    memset(m, 0, sizeof(*m));
    m->chip = chip;
    m->hint = (uint8_t)hint;
    m->asns = asns;
    buffer_init(&m->itb, chip->itb_small, chip->replacement);
    buffer_init(&m->itb_large, chip->itb_large, chip->replacement);
    buffer_init(&m->dtb, chip->dtb, chip->replacement);
}

static uint64_t key_of(const struct tb_model *m, uint64_t va)
{
    return (va >> TB_PAGE_SHIFT & VPN_MASK) | m->asn << ASN_SHIFT;
}

static struct tb_pte kept(const struct tb_model *m, struct tb_pte pte)
{
    if (pte.gh > m->hint)
        pte.gh = m->hint;
    return pte;
}

/* The virtual address of the level-3 PTE of va. */
static uint64_t pte_address(uint64_t va)
{
    return PT_SPACE + ((va >> TB_PAGE_SHIFT & VPN_MASK) << PTE_SHIFT);
}

static bool present(struct tb_model *m, enum tb_stream stream, uint64_t va)
{
    uint64_t key = key_of(m, va);

    if (stream == TB_DATA)
        return use(&m->dtb, key);
    return use(&m->itb, key) || (m->itb_large.n && use(&m->itb_large, key));
}

static void keep(struct tb_model *m, enum tb_stream stream, uint64_t va, struct tb_pte pte)
{
    struct tb_buffer *b = &m->dtb;

    pte = kept(m, pte);
    if (stream == TB_FETCH) {
        b = &m->itb;
        if (m->chip->itb_large && pte.gh == TB_GH_MAX)
            b = &m->itb_large;
        else if (m->chip->itb_large)
            pte.gh = 0; /* the small entries are for one page */
    }
    m->counts.overlaps += fill(b, key_of(m, va), pte);
}

unsigned tb_reference(struct tb_model *m, enum tb_stream stream, uint64_t va, tb_walk_fn *walk,
                      void *context)
{
    unsigned did = TB_MISS;
    struct tb_walk w;

    m->counts.references[stream]++;
    if (present(m, stream, va))
        return TB_HIT;
    m->counts.misses[stream]++;
    if (m->vhpt && vhpt_find(m->vhpt, va >> TB_PAGE_SHIFT & VPN_MASK, m->asn, &w.page)) {
        keep(m, stream, va, w.page);
        return TB_MISS | TB_HASHED;
    }
    m->counts.walked[stream]++;
    if (m->vhpt && vhpt_find_link(m->vhpt, va >> TB_PAGE_SHIFT & VPN_MASK, m->asn, &w.page)) {
        m->counts.chained[stream]++;
        keep(m, stream, va, w.page);
        return TB_MISS | TB_CHAINED;
    }
    w = walk(context, va);
    if (!present(m, TB_DATA, pte_address(va))) {
        did |= TB_DOUBLE;
        m->counts.doubles[stream]++;
        if (w.table.valid)
            keep(m, TB_DATA, pte_address(va), w.table);
    }
    if (!w.page.valid) {
        m->counts.unmapped[stream]++;
        return did | TB_UNMAPPED;
    }
    keep(m, stream, va, w.page);
    if (m->vhpt && kept(m, w.page).gh == 0)
        vhpt_put(m->vhpt, va >> TB_PAGE_SHIFT & VPN_MASK, m->asn, kept(m, w.page));
    return did;
}

static void drop_processes(struct tb_model *m)
{
    drop_process(&m->itb);
    drop_process(&m->itb_large);
    drop_process(&m->dtb);
    if (m->vhpt)
        vhpt_drop_process(m->vhpt);
}

void tb_switch(struct tb_model *m, uint64_t root, uint64_t asn)
{
    m->counts.switches++;
    if (root != m->root)
        m->counts.roots++;
    if (!m->asns || !m->chip->asn_bits) {
        if (root != m->root)
            drop_processes(m);
        m->root = root;
        return;
    }
    m->root = root;
    m->asn = asn & ((UINT64_C(1) << m->chip->asn_bits) - 1);
    if (m->owner[m->asn] && m->owner[m->asn] != root)
        m->counts.asn_reuse++;
    m->owner[m->asn] = root;
}

void tb_invalidate_page(struct tb_model *m, uint64_t va)
{
    m->counts.singles++;
    if (m->vhpt)
        vhpt_drop_page(m->vhpt, va >> TB_PAGE_SHIFT & VPN_MASK, m->asn);
    drop_page(&m->itb, key_of(m, va));
    drop_page(&m->itb_large, key_of(m, va));
    drop_page(&m->dtb, key_of(m, va));
}

void tb_invalidate_process(struct tb_model *m)
{
    m->counts.process_flushes++;
    drop_processes(m);
    memset(m->owner, 0, sizeof(m->owner));
}

void tb_invalidate_everything(struct tb_model *m)
{
    m->counts.flushes++;
    if (m->vhpt)
        vhpt_drop_all(m->vhpt);
    drop_all(&m->itb);
    drop_all(&m->itb_large);
    drop_all(&m->dtb);
    memset(m->owner, 0, sizeof(m->owner));
}

bool tb_check(struct tb_model *m, enum tb_stream stream, uint64_t va, tb_walk_fn *walk,
              void *context)
{
    struct tb_buffer *b = stream == TB_DATA ? &m->dtb : &m->itb;
    uint64_t key = key_of(m, va), pages;
    uint32_t i = find(b, key);
    bool is_table = false;
    struct tb_walk found;
    struct tb_pte now;

    if (i == NOT_FOUND && stream == TB_FETCH && m->itb_large.n)
        i = find(b = &m->itb_large, key);
    if (i == NOT_FOUND) { /* then PALcode loads the PTE */
        key = key_of(m, pte_address(va));
        i = find(b = &m->dtb, key);
        is_table = true;
    }
    if (i == NOT_FOUND)
        return true;
    found = walk(context, va);
    now = is_table ? found.table : found.page;
    /* The page's place in its block, by the entry and by the page tables as they are. */
    pages = (UINT64_C(1) << (BLOCK_SHIFT * b->pte[i].gh)) - 1;
    if (now.valid && (b->pte[i].pfn & ~pages) + (key & pages) == now.pfn)
        return true;
    m->counts.stale++;
    return false;
}

struct tb_cycles tb_cost(const struct tb_model *m)
{
    const struct tb_counts *c = &m->counts;
    const struct tb_chip *p = m->chip;
    uint64_t doubles = c->doubles[TB_FETCH] + c->doubles[TB_DATA];
    uint64_t looks = m->vhpt ? m->vhpt->walks + m->vhpt->looked : 0;
    uint64_t cleared = m->vhpt ? m->vhpt->cleared : 0;

    /* A miss that a chain resolves loads no PTE. To clear an entry of 8 bytes is a store; at most
       each block of 64 bytes comes from memory. */
    return (struct tb_cycles){
        .least = c->walked[TB_FETCH] * p->fetch.least + c->walked[TB_DATA] * p->data.least +
                 doubles * p->second.least + looks * p->walker.least + cleared,
        .most = c->walked[TB_FETCH] * p->fetch.most + c->walked[TB_DATA] * p->data.most -
                c->chained[TB_FETCH] * (p->fetch.most - p->fetch.least) -
                c->chained[TB_DATA] * (p->data.most - p->data.least) + doubles * p->second.most +
                looks * p->walker.most + cleared * p->walker.most / 8,
    };
}
