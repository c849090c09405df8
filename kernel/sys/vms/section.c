/*
 * Section services.
 *
 * Decode, then invoke: arguments, names, flags, privileges and outputs are all checked before
 * anything is made, each error its own value. $CRMPSC_GDZRO_64 also checks that the mapping would
 * fit before it creates a section for it; if the mapping still fails (no memory for a page table, a
 * registry entry without page tables) the share that the creation gave is dropped, and the section,
 * permanent or not, is gone with it, unless somebody else has found and mapped it meanwhile.
 */
#include "kernel/sys/vms/section.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/lnm.h"
#include "mm/phys/page.h"

/* Flags that a caller may give; those that the service implies may be given too. */
#define FLAGS_IMPLIED (SEC$M_GBL | SEC$M_DZRO | SEC$M_WRT | SEC$M_MRES)
#define FLAGS_KEPT    (SEC$M_PERM | SEC$M_SYSGBL | SEC$M_READ_ONLY_SHPT)
#define FLAGS_CREATE  (FLAGS_IMPLIED | FLAGS_KEPT | SEC$M_RAD_HINT)

static void creds_self(struct section_creds *c)
{
    const struct process *p = process_self();

    c->uic_group = p->uic_group;
    c->uic_member = p->uic_member;
    c->system = creds_is_system(p);
    c->bypass = (p->privileges & PRV_BYPASS) != 0;
}

int vms_section_decode(const struct vms_section_args *a, struct section_request *r)
{
    uint32_t length = 0;
    int status = vms_section_name(a->name, a->buffer, &length);

    if (lnm_prefix_in_use() && status == SS$_NORMAL)
        status = vms_lnm_section_name(a->buffer, &length);
    r->name.length = length;
    r->kinds = a->kinds;
    r->prot = r->flags = 0;
    r->rad = 0;
    r->npages = 0;
    r->first = pfn_of(0);
    if (status == SS$_NORMAL)
        status = vms_ident(a->ident, &r->ident_match, &r->ident_version);
    creds_self(&r->creds);
    r->name.name = a->buffer;
    r->name.sysgbl = (a->flags & SEC$M_SYSGBL) != 0;
    r->name.group = r->creds.uic_group;
    return status;
}

int vms_section_may_create(uint32_t kind, uint32_t flags)
{
    const struct process *p = process_self();

    if (kind == SEC$M_MRES && !(p->rights & RIGHT_MEM_RESIDENT_USER))
        return SS$_NOMEMRESID;
    if (kind == SEC$M_PFNMAP && !(p->privileges & PRV_PFNMAP))
        return SS$_NOPFNMAP;
    if ((flags & SEC$M_SYSGBL) && !(p->privileges & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if ((flags & SEC$M_PERM) && !(p->privileges & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return SS$_NORMAL;
}

/* rad_mask is read only when the flag says that it is valid: bit n is domain n, and the lowest one
 * is where the pages should come from. Without it the registry's /RAD counts, or else the domain of
 * the CPU that touches a page first. */
static int decode_rad(uint32_t flags, vaddr_t rad_mask, uint8_t *rad)
{
    uint64_t mask;

    *rad = RAD_ANY;
    if (!(flags & SEC$M_RAD_HINT))
        return SS$_NORMAL;
    if (vms_quad_in(rad_mask, &mask) != SS$_NORMAL)
        return SS$_ACCVIO;
    if (mask == 0 || mask >> rad_count)
        return SS$_BADRAD;
    *rad = (uint8_t)__builtin_ctzl(mask);
    return SS$_NORMAL;
}

int vms_section_length(uint64_t length, uint64_t *npages)
{
    if (length == 0 || length % PAGE_SIZE != 0)
        return SS$_LEN_NOTPAGMULT;
    if (length >> 43) /* more than any address space has */
        return SS$_LENVIO;
    *npages = length / PAGE_SIZE;
    return SS$_NORMAL;
}

/* Region, place and extent of a mapping; the share of *s passes to the mapping or is dropped, and
 * with it the section, if it was made for this mapping. */
static int map_and_return(struct section *s, const struct section_map_request *m, vaddr_t va_out,
                          vaddr_t length_out, bool made)
{
    uint64_t length;
    vaddr_t va;
    int status = section_map(process_self()->aspace, s, m, &va, &length);

    if (status != SS$_NORMAL) {
        if (made)
            section_uncreate(s);
        section_drop(s);
        section_reap();
        return status;
    }
    vms_quad_out(va_out, va);
    vms_quad_out(length_out, length);
    return status;
}

int vms_section_map_args(struct vms_section_map *c, vaddr_t region, uint64_t acmode)
{
    int status = vms_quad_in(region, &c->m.region_id);

    if (status == SS$_NORMAL)
        status = vms_access_mode(acmode);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(c->va_out, false);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(c->length_out, false);
    return status;
}

int vms_section_map_existing(const struct vms_section_map *c)
{
    struct section *s;
    int status = section_find(&c->r, c->m.write, &s);

    return status == SS$_NORMAL ? map_and_return(s, &c->m, c->va_out, c->length_out, false)
                                : status;
}

int vms_section_create_and_map(const struct vms_section_map *c)
{
    int created = SS$_NORMAL;
    struct section *s;
    int status = section_find(&c->r, c->m.write, &s);

    /* It may be there: then neither the right to create nor the length given here matters. */
    if (status == SS$_NOSUCHSEC) {
        status = vms_section_may_create(c->r.kinds, c->r.flags);
        if (status == SS$_NORMAL)
            status = section_map_check(process_self()->aspace, &c->m, c->r.npages,
                                       c->r.flags | c->r.kinds);
        if (status != SS$_NORMAL)
            return status;
        created = status = section_create(&c->r, true, c->m.write, &s);
    }
    if (!(status & 1))
        return status;
    vms_quad_out(c->reserved_out, section_reserved_bytes(s));
    status = map_and_return(s, &c->m, c->va_out, c->length_out,
                            created == SS$_CREATED || created == SS$_CREATED_SHPT);
    return status == SS$_NORMAL ? created : status;
}

int vms_section_create(const struct section_request *r, vaddr_t reserved_out)
{
    struct section *s;
    int status = section_create(r, false, true, &s);

    if (status & 1) {
        vms_quad_out(reserved_out, section_reserved_bytes(s));
        section_drop(s);
    }
    return status;
}

long vms_create_gdzro(uint64_t block)
{
    enum { NAME, IDENT, PROT, LENGTH, ACMODE, FLAGS, RESERVED_OUT, RAD_MASK, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    int status = vms_args(block, RESERVED_OUT, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS] | SEC$M_PERM;

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~FLAGS_CREATE)
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_MRES, buffer}, &r);
    if (status == SS$_NORMAL)
        status = vms_section_length(a[LENGTH], &r.npages);
    if (status == SS$_NORMAL)
        status = decode_rad(flags, a[RAD_MASK], &r.rad);
    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_section_may_create(SEC$M_MRES, flags);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[RESERVED_OUT], true);
    if (status != SS$_NORMAL)
        return status;
    r.prot = (uint32_t)a[PROT];
    r.flags = flags & FLAGS_KEPT;
    return vms_section_create(&r, a[RESERVED_OUT]);
}

long vms_crmpsc_gdzro_64(uint64_t block)
{
    enum {
        NAME,
        IDENT,
        PROT,
        LENGTH,
        REGION,
        OFFSET,
        ACMODE,
        FLAGS,
        VA_OUT,
        LENGTH_OUT,
        START,
        MAP_LENGTH,
        RESERVED_OUT,
        RAD_MASK,
        COUNT
    };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];
    /* Mapped for writing, but for a section whose shared tables are to be read-only: there
       SEC$M_WRT says so, as it does when one is mapped. */
    bool write = !(flags & SEC$M_READ_ONLY_SHPT) || (flags & SEC$M_WRT);
    struct vms_section_map c = {
        .m = {.start = a[START],
              .offset = a[OFFSET],
              .length = a[MAP_LENGTH],
              .flags = flags & VMS_SECTION_FLAGS_MAP,
              .write = write},
        .va_out = a[VA_OUT],
        .length_out = a[LENGTH_OUT],
        .reserved_out = a[RESERVED_OUT],
    };

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_CREATE | VMS_SECTION_FLAGS_MAP))
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_MRES, buffer}, &c.r);
    if (status == SS$_NORMAL)
        status = vms_section_length(a[LENGTH], &c.r.npages);
    if (status == SS$_NORMAL)
        status = decode_rad(flags, a[RAD_MASK], &c.r.rad);
    if (status == SS$_NORMAL)
        status = vms_section_map_args(&c, a[REGION], a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[RESERVED_OUT], true);
    if (status != SS$_NORMAL)
        return status;
    c.r.prot = (uint32_t)a[PROT];
    c.r.flags = flags & FLAGS_KEPT;
    return vms_section_create_and_map(&c);
}

long vms_mgblsc_64(uint64_t block)
{
    enum { NAME, IDENT, REGION, OFFSET, LENGTH, ACMODE, FLAGS, VA_OUT, LENGTH_OUT, START, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];
    struct vms_section_map c; /* r is filled in by decoding: zeroes would be written twice */

    c.m = (struct section_map_request){.start = a[START],
                                       .offset = a[OFFSET],
                                       .length = a[LENGTH],
                                       .flags = flags & VMS_SECTION_FLAGS_MAP,
                                       .write = (flags & SEC$M_WRT) != 0};
    c.va_out = a[VA_OUT];
    c.length_out = a[LENGTH_OUT];
    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_IMPLIED | SEC$M_SYSGBL | VMS_SECTION_FLAGS_MAP))
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_MRES | SEC$M_PAGFIL, buffer},
        &c.r);
    if (status == SS$_NORMAL)
        status = vms_section_map_args(&c, a[REGION], a[ACMODE]);
    return status == SS$_NORMAL ? vms_section_map_existing(&c) : status;
}

long vms_dgblsc(uint64_t flags, uint64_t name, uint64_t ident)
{
    const struct process *p = process_self();
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    int status;

    if ((uint32_t)flags & ~(SEC$M_GBL | SEC$M_SYSGBL))
        return SS$_IVSECFLG;
    status = vms_section_decode(&(struct vms_section_args){name, ident, (uint32_t)flags, 0, buffer},
                                &r);
    if (status != SS$_NORMAL)
        return status;
    if ((flags & SEC$M_SYSGBL) && !(p->privileges & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if (!(p->privileges & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return section_mark_delete(&r);
}
