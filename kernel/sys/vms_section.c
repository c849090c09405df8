/*
 * Section services.
 *
 * Decode, then invoke: arguments, names, flags, privileges and outputs are all checked before
 * anything is made, each error its own value. $CRMPSC_GDZRO_64 also checks that the mapping would
 * fit before it creates a section for it; if the mapping still fails (no memory for a page table, a
 * registry entry without page tables) the share that the creation gave is dropped, and a temporary
 * section that nobody else has found meanwhile is gone with it.
 */
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms_args.h"
#include "kernel/sys/vms_calls.h"
#include "mm/section_map.h"

/* Flags that a caller may give; those that the service implies may be given too. */
#define FLAGS_IMPLIED (SEC$M_GBL | SEC$M_DZRO | SEC$M_WRT | SEC$M_MRES)
#define FLAGS_KEPT    (SEC$M_PERM | SEC$M_SYSGBL | SEC$M_READ_ONLY_SHPT)
#define FLAGS_CREATE  (FLAGS_IMPLIED | FLAGS_KEPT | SEC$M_RAD_HINT)
#define FLAGS_MAP     (SEC$M_EXPREG | SEC$M_NO_OVERMAP)

#define RADS 1u /* memory domains; bit n of a rad_mask is domain n */

struct name_args {
    vaddr_t name, ident;
    uint32_t flags;
};

static void creds_self(struct section_creds *c)
{
    const struct process *p = process_self();

    c->uic_group = p->uic_group;
    c->uic_member = p->uic_member;
    c->system = creds_is_system(p);
    c->bypass = (p->privileges & PRV_BYPASS) != 0;
}

/* Name, identity, scope, creator. `buffer` holds the name as long as r is used. */
static int decode_name(const struct name_args *a, char buffer[SECTION_NAME_MAX + 1],
                       struct section_request *r)
{
    int status = vms_section_name(a->name, buffer, &r->name.length);

    if (status == SS$_NORMAL)
        status = vms_ident(a->ident, &r->ident_match, &r->ident_version);
    creds_self(&r->creds);
    r->name.name = buffer;
    r->name.sysgbl = (a->flags & SEC$M_SYSGBL) != 0;
    r->name.group = r->creds.uic_group;
    return status;
}

static int check_privileges(uint32_t flags)
{
    const struct process *p = process_self();

    if (!(p->rights & RIGHT_MEM_RESIDENT_USER))
        return SS$_NOMEMRESID;
    if ((flags & SEC$M_SYSGBL) && !(p->privileges & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if ((flags & SEC$M_PERM) && !(p->privileges & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return SS$_NORMAL;
}

/* rad_mask is read only when the flag says that it is valid. */
static int decode_rad(uint32_t flags, vaddr_t rad_mask, uint8_t *rad)
{
    uint64_t mask;

    *rad = 0;
    if (!(flags & SEC$M_RAD_HINT))
        return SS$_NORMAL;
    if (vms_quad_in(rad_mask, &mask) != SS$_NORMAL)
        return SS$_ACCVIO;
    if (mask == 0 || mask >> RADS)
        return SS$_BADRAD;
    *rad = (uint8_t)__builtin_ctzl(mask);
    return SS$_NORMAL;
}

static int decode_length(uint64_t length, uint64_t *npages)
{
    if (length == 0 || length % PAGE_SIZE != 0)
        return SS$_LEN_NOTPAGMULT;
    if (length >> 43) /* more than any address space has */
        return SS$_LENVIO;
    *npages = length / PAGE_SIZE;
    return SS$_NORMAL;
}

long vms_create_gdzro(uint64_t block, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                      uint64_t a5)
{
    enum { NAME, IDENT, PROT, LENGTH, ACMODE, FLAGS, RESERVED_OUT, RAD_MASK, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    struct section *s;
    int status = vms_args(block, RESERVED_OUT, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS] | SEC$M_PERM;

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    if (status != SS$_NORMAL)
        return status;
    if (flags & ~FLAGS_CREATE)
        return SS$_IVSECFLG;
    status = decode_name(&(struct name_args){a[NAME], a[IDENT], flags}, buffer, &r);
    if (status == SS$_NORMAL)
        status = decode_length(a[LENGTH], &r.npages);
    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = decode_rad(flags, a[RAD_MASK], &r.rad);
    if (status == SS$_NORMAL)
        status = check_privileges(flags);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[RESERVED_OUT], true);
    if (status != SS$_NORMAL)
        return status;
    r.prot = (uint32_t)a[PROT];
    r.flags = flags & FLAGS_KEPT;
    status = section_create(&r, false, true, &s);
    if (status == SS$_CREATED || status == SS$_CREATED_SHPT) {
        vms_quad_out(a[RESERVED_OUT], section_reserved_bytes(s));
        section_drop(s);
    }
    return status;
}

/* Region, place and extent of a mapping; the share of *s passes to the mapping or is dropped. */
static int map_and_return(struct section *s, const struct section_map_request *m, vaddr_t va_out,
                          vaddr_t length_out)
{
    uint64_t length;
    vaddr_t va;
    int status = section_map(process_self()->aspace, s, m, &va, &length);

    if (status != SS$_NORMAL) {
        section_drop(s);
        section_reap();
        return status;
    }
    vms_quad_out(va_out, va);
    vms_quad_out(length_out, length);
    return status;
}

long vms_crmpsc_gdzro_64(uint64_t block, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                         uint64_t a5)
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
    struct section_request r;
    struct section_map_request m;
    struct section *s;
    int created, status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_CREATE | FLAGS_MAP))
        return SS$_IVSECFLG;
    status = decode_name(&(struct name_args){a[NAME], a[IDENT], flags}, buffer, &r);
    if (status == SS$_NORMAL)
        status = decode_length(a[LENGTH], &r.npages);
    if (status == SS$_NORMAL)
        status = vms_quad_in(a[REGION], &m.region_id);
    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = decode_rad(flags, a[RAD_MASK], &r.rad);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[VA_OUT], false);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[LENGTH_OUT], false);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[RESERVED_OUT], true);
    if (status != SS$_NORMAL)
        return status;
    m.start = a[START];
    m.offset = a[OFFSET];
    m.length = a[MAP_LENGTH];
    m.flags = flags & FLAGS_MAP;
    m.write = true; /* SEC$M_WRT is always set here */
    r.prot = (uint32_t)a[PROT];
    r.flags = flags & FLAGS_KEPT;

    /* It may be there: then neither the right to create nor the length given here matters. */
    created = SS$_NORMAL;
    status = section_find(&r, true, &s);
    if (status == SS$_NOSUCHSEC) {
        status = check_privileges(flags);
        if (status == SS$_NORMAL)
            status = section_map_check(process_self()->aspace, &m, r.npages, r.flags);
        if (status != SS$_NORMAL)
            return status;
        created = status = section_create(&r, true, true, &s);
    }
    if (!(status & 1))
        return status;
    vms_quad_out(a[RESERVED_OUT], section_reserved_bytes(s));
    status = map_and_return(s, &m, a[VA_OUT], a[LENGTH_OUT]);
    return status == SS$_NORMAL ? created : status;
}

long vms_mgblsc_64(uint64_t block, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
    enum { NAME, IDENT, REGION, OFFSET, LENGTH, ACMODE, FLAGS, VA_OUT, LENGTH_OUT, START, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    struct section_map_request m;
    struct section *s;
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];

    (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_IMPLIED | SEC$M_SYSGBL | FLAGS_MAP))
        return SS$_IVSECFLG;
    status = decode_name(&(struct name_args){a[NAME], a[IDENT], flags}, buffer, &r);
    if (status == SS$_NORMAL)
        status = vms_quad_in(a[REGION], &m.region_id);
    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[VA_OUT], false);
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[LENGTH_OUT], false);
    if (status != SS$_NORMAL)
        return status;
    m.start = a[START];
    m.offset = a[OFFSET];
    m.length = a[LENGTH];
    m.flags = flags & FLAGS_MAP;
    m.write = (flags & SEC$M_WRT) != 0;
    status = section_find(&r, m.write, &s);
    return status == SS$_NORMAL ? map_and_return(s, &m, a[VA_OUT], a[LENGTH_OUT]) : status;
}

long vms_dgblsc(uint64_t flags, uint64_t name, uint64_t ident, uint64_t a3, uint64_t a4,
                uint64_t a5)
{
    const struct process *p = process_self();
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    int status;

    (void)a3, (void)a4, (void)a5;
    if ((uint32_t)flags & ~(SEC$M_GBL | SEC$M_SYSGBL))
        return SS$_IVSECFLG;
    status = decode_name(&(struct name_args){name, ident, (uint32_t)flags}, buffer, &r);
    if (status != SS$_NORMAL)
        return status;
    if ((flags & SEC$M_SYSGBL) && !(p->privileges & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if (!(p->privileges & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return section_mark_delete(&r);
}
