/* What the logical-name services share. Results are condition values; IPL 0, no lock held. */
#ifndef KERNEL_SYS_VMS_LNM_H
#define KERNEL_SYS_VMS_LNM_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"
#include "kernel/lnm/lnm.h"

struct section_name;

/* Who the current process is toward logical names. */
struct lnm_who vms_lnm_who(void);

/* The section name that GBL$name stands for, if it stands for one: `name` (of *length bytes, room
   for SECTION_NAME_MAX + 1) is replaced, again and again as long as there is a translation.
   SS$_NORMAL, SS$_IVLOGNAM (what it stands for is no section's name), SS$_TOOMANYLNAM. */
cond_t vms_lnm_section_name(char *name, uint32_t *length);

#endif
