/*
 * What the section services share (vms_section.c). All run at IPL 0 and hold no lock; results are
 * condition values.
 */
#ifndef KERNEL_SYS_VMS_SECTION_H
#define KERNEL_SYS_VMS_SECTION_H

#include "mm/section/section_map.h"

/* Flags of every service that maps. */
#define VMS_SECTION_FLAGS_MAP (SEC$M_EXPREG | SEC$M_NO_OVERMAP)

struct vms_section_args {
    vaddr_t name, ident; /* descriptor, struct _secid or 0 */
    uint32_t flags, kinds;
    char *buffer; /* SECTION_NAME_MAX + 1 bytes: holds the name as long as the request is used */
};

/* Name, identity, scope, who asks; the rest of *r is 0. SS$_NORMAL, SS$_ACCVIO, SS$_IVGSDNAM,
 * SS$_IVSECIDCTL; SS$_IVLOGNAM, SS$_TOOMANYLNAM: GBL$name stands for no section's name. */
int vms_section_decode(const struct vms_section_args *a, struct section_request *r);
/* May the caller create a section of this kind (SEC$M_MRES, PAGFIL, PFNMAP) with these flags?
   SS$_NORMAL, SS$_NOMEMRESID, SS$_NOPFNMAP, SS$_NOSYSGBL, SS$_NOPRMGBL. */
int vms_section_may_create(uint32_t kind, uint32_t flags);
/* A section's length in bytes. SS$_NORMAL, SS$_LEN_NOTPAGMULT, SS$_LENVIO. */
int vms_section_length(uint64_t length, uint64_t *npages);

/* A request to map, perhaps after creating, decoded. */
struct vms_section_map {
    struct section_request r;
    struct section_map_request m;
    vaddr_t va_out, length_out;
    vaddr_t reserved_out; /* 0: not wanted */
};

/* The arguments that every service that maps has: c->m.region_id is read, the access mode and the
   two outputs are checked. SS$_NORMAL, SS$_ACCVIO, SS$_IVACMODE. */
int vms_section_map_args(struct vms_section_map *c, vaddr_t region, uint64_t acmode);
/* Map what is there: section_find's and section_map's values. Writes the outputs. */
int vms_section_map_existing(const struct vms_section_map *c);
/* Create it unless it is there, then map it. Also vms_section_may_create's and section_create's
   values. A section that was created only to be mapped is gone when that fails. */
int vms_section_create_and_map(const struct vms_section_map *c);
/* Create it and nothing else. section_create's values. */
int vms_section_create(const struct section_request *r, vaddr_t reserved_out);

#endif
