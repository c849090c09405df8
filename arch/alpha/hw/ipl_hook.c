/* Switching the hooks at changes of the IPL on and off (ipl_hook.h). */
#include "arch/alpha/hw/ipl_hook.h"

#include "arch/alpha/hw/pal.h"
#include "kernel/base/panic.h"

struct ipl_site {
    uint64_t address, kind;
};

extern const struct ipl_site _ipl_sites_start[], _ipl_sites_end[];

/* ipl_hook.S */
void ipl_hook_swpipl(void);
void ipl_hook_interrupt(void);
void ipl_hook_rti(void);

/* The hooks in use; ipl_hook.S reads them. Atomic; never NULL once a site has been replaced. */
const struct ipl_hooks *ipl_hooks;

/* By kind: where the branch goes, in which register it leaves its return address (one that is free
 * there), and the instruction of the site. */
static const struct {
    void (*target)(void);
    uint32_t link, instruction;
} kinds[] = {
    [IPL_SITE_SWPIPL] = {ipl_hook_swpipl, 25, PAL_SWPIPL},
    [IPL_SITE_INTERRUPT] = {ipl_hook_interrupt, 0, 0x47FE0413}, /* mov sp, a3 */
    [IPL_SITE_RTI] = {ipl_hook_rti, 0, 0xA41E0000 | offsetof(struct trapframe, v0)}, /* ldq v0 */
};

#define BSR          0xD0000000u
#define LINK_SHIFT   21
#define DISPLACEMENT 0x1FFFFFu
#define BRANCH_REACH (1L << 22) /* bytes, either way */
#define INSTRUCTION  4

static uint32_t branch_of(const struct ipl_site *s)
{
    long distance = (long)((uint64_t)kinds[s->kind].target - (s->address + INSTRUCTION));

    KASSERT(distance >= -BRANCH_REACH && distance < BRANCH_REACH, "the kernel's text is small");
    return BSR | kinds[s->kind].link << LINK_SHIFT |
           ((uint32_t)(distance / INSTRUCTION) & DISPLACEMENT);
}

static void write_sites(bool hooks)
{
    for (const struct ipl_site *s = _ipl_sites_start; s < _ipl_sites_end; s++) {
        uint32_t *at = (uint32_t *)s->address, plain = kinds[s->kind].instruction;
        uint32_t branch = branch_of(s), now = __atomic_load_n(at, __ATOMIC_RELAXED);

        KASSERT(now == plain || now == branch, "a site has the instruction of its kind");
        __atomic_store_n(at, hooks ? branch : plain, __ATOMIC_RELEASE);
    }
    pal_imb();
}

void ipl_hooks_on(const struct ipl_hooks *h)
{
    __atomic_store_n(&ipl_hooks, h, __ATOMIC_RELEASE);
    write_sites(true);
}

void ipl_hooks_off(void) { write_sites(false); }
