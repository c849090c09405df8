/* Switching the hooks at changes of the IPL on and off (ipl_hook.h). */
#include "arch/alpha/hw/ipl_hook.h"

#include "arch/alpha/hw/pal.h"
#include "arch/alpha/hw/patch.h"

extern const struct patch_site _ipl_sites_start[], _ipl_sites_end[];

/* ipl_hook.S */
void ipl_hook_swpipl(void);
void ipl_hook_interrupt(void);
void ipl_hook_rti(void);

/* The hooks in use; ipl_hook.S reads them. Atomic; never NULL once a site has been replaced. */
const struct ipl_hooks *ipl_hooks;

static const struct patch_kind kinds[] = {
    [IPL_SITE_SWPIPL] = {ipl_hook_swpipl, 25, PAL_SWPIPL},
    [IPL_SITE_INTERRUPT] = {ipl_hook_interrupt, 0, 0x47FE0413}, /* mov sp, a3 */
    [IPL_SITE_RTI] = {ipl_hook_rti, 0, 0xA41E0000 | offsetof(struct trapframe, v0)}, /* ldq v0 */
};

void ipl_hooks_on(const struct ipl_hooks *h)
{
    __atomic_store_n(&ipl_hooks, h, __ATOMIC_RELEASE);
    patch_sites(_ipl_sites_start, _ipl_sites_end, kinds, true);
}

void ipl_hooks_off(void) { patch_sites(_ipl_sites_start, _ipl_sites_end, kinds, false); }
