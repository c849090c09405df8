/* Announcements to a model of translation buffers, and address space numbers (tb_model.h). */
#include "arch/alpha/hw/tb_model.h"

#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/patch.h"
#include "kernel/base/panic.h"

extern const struct patch_site _tb_sites_start[], _tb_sites_end[];

/* tb_model.S */
void tb_hook_invalidate(void);
void tb_hook_switch(void);

uint64_t tb_announced[MAX_CPUS] __attribute__((aligned(64)));
bool tb_model_listens;

static const struct patch_kind kinds[] = {
    [TB_SITE_INVALIDATE] = {tb_hook_invalidate, 25, PAL_TBI},
    [TB_SITE_SWITCH] = {tb_hook_switch, 1, 0x47F40408}, /* mov a4, t7 */
};

/*
 * Numbers by root. A slot holds one root; another one with the same slot takes it over, and the
 * first gets a new number when it comes back. `root` is set by its own CPU, and by any CPU from a
 * root to 0, with compare-and-swap: if both happen at once, the root that is dropped is not the one
 * that is being loaded, and nothing is lost.
 */
#define SLOTS 128

static struct numbers {
    struct {
        uint32_t root;       /* 0: free; atomic */
        uint32_t generation; /* own CPU */
        uint32_t asn;        /* own CPU */
    } slot[SLOTS];
    uint32_t generation, next; /* own CPU */
} numbers[MAX_CPUS];

static unsigned asn_max; /* constant after tb_model_listen() */

void tb_model_listen(unsigned max)
{
    KASSERT(max >= 1 && max <= TB_MODEL_ASN_MAX, "a chip has some address space numbers");
    asn_max = max;
    for (unsigned i = 0; i < MAX_CPUS; i++)
        numbers[i].next = 1;
    tb_model_listens = true;
    patch_sites(_tb_sites_start, _tb_sites_end, kinds, true);
}

static uint32_t number_of(struct numbers *n, uint32_t root)
{
    uint32_t slot = root % SLOTS;

    if (__atomic_load_n(&n->slot[slot].root, __ATOMIC_ACQUIRE) == root &&
        n->slot[slot].generation == n->generation)
        return n->slot[slot].asn;
    if (n->next > asn_max) {
        n->generation++;
        n->next = 1;
        pal_tbi(-1, 0);
    }
    n->slot[slot].generation = n->generation;
    n->slot[slot].asn = n->next++;
    __atomic_store_n(&n->slot[slot].root, root, __ATOMIC_RELEASE);
    return n->slot[slot].asn;
}

void tb_model_root(uint64_t root)
{
    uint64_t cpu = current_hw->cpu->id;
    uint64_t asn = number_of(&numbers[cpu], (uint32_t)root);

    __atomic_store_n(&tb_announced[cpu], root << 32 | asn << 4 | TB_SAYS_ROOT, __ATOMIC_RELAXED);
}

void tb_model_renumber(uint64_t root, uint64_t kept)
{
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        uint32_t expected = (uint32_t)root;

        if (!(kept >> i & 1))
            __atomic_compare_exchange_n(&numbers[i].slot[root % SLOTS].root, &expected, 0, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

void tb_model_new_root(uint64_t root) { tb_model_renumber(root, 0); }
