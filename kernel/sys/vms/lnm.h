/* Functions common to services that use logical names. Results are condition values. IPL 0, no lock
   held. */
#ifndef KERNEL_SYS_VMS_LNM_H
#define KERNEL_SYS_VMS_LNM_H

#include "kernel/base/cond.h"
#include "kernel/base/types.h"
#include "kernel/lnm/lnm.h"

struct section_name;

/* The identity of the current process for access to logical names. */
struct lnm_who vms_lnm_who(void);

/* Translate a section name through the logical name GBL$name, repeatedly while there is a
   translation. name has *length bytes and room for SECTION_NAME_MAX + 1; both are replaced.
   SS$_NORMAL, also if there is no translation; SS$_IVLOGNAM: a translation is not a valid section
   name; SS$_TOOMANYLNAM. */
cond_t vms_lnm_section_name(char *name, uint32_t *length);

#endif
