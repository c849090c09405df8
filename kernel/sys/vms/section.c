/*
 * Section services.
 *
 * Each service is described by a struct service: the position of each argument in its argument
 * list, the flags that it accepts, and the function to call when everything is decoded. One decoder
 * (serve) uses these descriptions and checks the arguments of all services in the same order, with
 * a condition value for each error: flags, name, identity, length or frames, memory domain, part to
 * map, region, access mode, privileges (services that only create), outputs. The arguments have the
 * order of the prototypes in userland/lib/include/starlet.h.
 *
 * A service that creates and maps checks that the mapping fits before it creates the section. If
 * the mapping still fails (no memory for a page table, or a registry entry without page tables),
 * the share from the creation is dropped, and the section, permanent or not, is deleted with it,
 * unless another process has found and mapped it meanwhile.
 *
 * Services on page frames count pages of the CPU. A relative page beyond the section is
 * SS$_ILLRELPAG; a page count of 0 at creation, or one that reaches beyond the section, is
 * SS$_ILLPAGCNT. A page-frame section is read-only unless its creator gave SEC$M_WRT. Creating one
 * needs PFNMAP; mapping one needs no privilege, only access by its protection mask.
 *
 * Locks are taken in mm/section; no lock is held while arguments are read or outputs are written.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/lnm.h"
#include "mm/phys/page.h"
#include "mm/section/section_map.h"

#define PAGE_COUNT_BITS 30 /* a 43-bit address space has 2^30 pages */

/* Flags that a caller may give; they include those that the kind of section implies. */
#define FLAGS_KEPT   (SEC$M_PERM | SEC$M_SYSGBL)
#define FLAGS_GDZRO  (SEC$M_GBL | SEC$M_DZRO | SEC$M_WRT | SEC$M_MRES)
#define FLAGS_GPFN   (SEC$M_GBL | SEC$M_PFNMAP | SEC$M_WRT)
#define FLAGS_GPFILE (SEC$M_GBL | SEC$M_PAGFIL | SEC$M_DZRO | SEC$M_WRT)
#define FLAGS_CREATE (SEC$M_READ_ONLY_SHPT | SEC$M_RAD_HINT)
#define FLAGS_MAP    (SEC$M_EXPREG | SEC$M_NO_OVERMAP)

enum argument {
    NAME,
    IDENT,
    PROT,      /* of a section to create; a service that has this argument creates sections */
    LENGTH,    /* of a section to create, in bytes */
    START_PFN, /* first frame of a section to create; PAGE_COUNT: its length in pages */
    PAGE_COUNT,
    RAD_MASK,
    OFFSET, /* of the part to map, in bytes */
    MAP_LENGTH,
    RELATIVE_PAGE, /* of the part to map, in pages */
    MAP_PAGE_COUNT,
    START,
    REGION, /* a service that has this argument maps sections */
    ACMODE,
    FLAGS,
    VA_OUT,
    LENGTH_OUT,
    RESERVED_OUT,
    ARGUMENTS
};

#define AT(argument, n) [argument] = (n)

struct decoded {
    struct section_request r;
    struct section_map_request m;
    vaddr_t va_out, length_out;
    vaddr_t reserved_out; /* 0: not wanted */
    char name[SECTION_NAME_MAX + 1];
};

struct service {
    uint32_t kinds;                            /* kinds of sections that it is for, SEC$M_* */
    uint32_t flags;                            /* flags that are accepted */
    uint32_t kept;                             /* those of them with which the section is created */
    uint32_t implied;                          /* flags added to the given ones */
    bool writes;                               /* maps for writing without SEC$M_WRT, unless
                                                  SEC$M_READ_ONLY_SHPT is given */
    uint8_t required, count;                   /* of an argument block: least and most arguments */
    cond_t (*invoke)(const struct decoded *d); /* called when everything is decoded */
    uint8_t place[ARGUMENTS];                  /* position in the list, from 1; 0: none */
};

/* May the caller create a section of this kind (SEC$M_MRES, PAGFIL, PFNMAP) with these flags? */
static cond_t may_create(uint32_t kind, uint32_t flags)
{
    const struct process *p = process_self();

    if (kind == SEC$M_MRES && !(process_rights(p) & RIGHT_MEM_RESIDENT_USER))
        return SS$_NOMEMRESID;
    if (kind == SEC$M_PFNMAP && !(process_privileges(p) & PRV_PFNMAP))
        return SS$_NOPFNMAP;
    if ((flags & SEC$M_SYSGBL) && !(process_privileges(p) & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if ((flags & SEC$M_PERM) && !(process_privileges(p) & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return SS$_NORMAL;
}

/* ---- what the services do ---- */

static cond_t create(const struct decoded *d)
{
    struct section *s;
    cond_t status = section_create(&d->r, false, true, &s);

    if (cond_ok(status)) {
        vms_quad_out(d->reserved_out, section_reserved_bytes(s));
        section_drop(s);
    }
    return status;
}

/* Map s and write the outputs. The caller's share of s passes to the mapping; after an error it is
   dropped, and if the section was created for this mapping (made), the creation is undone. */
static cond_t map_and_return(struct section *s, const struct decoded *d, bool made)
{
    uint64_t length;
    vaddr_t va;
    cond_t status = section_map(process_self()->aspace, s, &d->m, &va, &length);

    if (status != SS$_NORMAL) {
        if (made)
            section_uncreate(s);
        section_drop(s);
        section_reap();
        return status;
    }
    vms_range_out(d->va_out, d->length_out, va, length);
    return status;
}

static cond_t map_existing(const struct decoded *d)
{
    struct section *s;
    cond_t status = section_find(&d->r, d->m.write, &s);

    return status == SS$_NORMAL ? map_and_return(s, d, false) : status;
}

static cond_t create_and_map(const struct decoded *d)
{
    cond_t created = SS$_NORMAL;
    struct section *s;
    cond_t status = section_find(&d->r, d->m.write, &s);

    /* If the section exists, the privileges for a creation and the length given are not checked. */
    if (status == SS$_NOSUCHSEC) {
        status = may_create(d->r.kinds, d->r.flags);
        if (status == SS$_NORMAL)
            status = section_map_check(process_self()->aspace, &d->m, d->r.npages,
                                       d->r.flags | d->r.kinds);
        if (status != SS$_NORMAL)
            return status;
        created = status = section_create(&d->r, true, d->m.write, &s);
    }
    if (!cond_ok(status))
        return status;
    vms_quad_out(d->reserved_out, section_reserved_bytes(s));
    status = map_and_return(s, d, created == SS$_CREATED || created == SS$_CREATED_SHPT);
    return status == SS$_NORMAL ? created : status;
}

/* Convert condition values for services that count pages. */
static cond_t in_pages(cond_t status)
{
    if (status == SS$_OFFSET_TOO_BIG)
        return SS$_ILLRELPAG;
    return status == SS$_LENVIO ? SS$_ILLPAGCNT : status;
}

static cond_t map_existing_pages(const struct decoded *d) { return in_pages(map_existing(d)); }
static cond_t create_and_map_pages(const struct decoded *d) { return in_pages(create_and_map(d)); }

static cond_t mark_delete(const struct decoded *d)
{
    const struct process *p = process_self();

    if (d->r.name.sysgbl && !(process_privileges(p) & PRV_SYSGBL))
        return SS$_NOSYSGBL;
    if (!(process_privileges(p) & PRV_PRMGBL))
        return SS$_NOPRMGBL;
    return section_mark_delete(&d->r);
}

/* ---- the services ---- */

static const struct service create_gdzro = {
    .kinds = SEC$M_MRES,
    .flags = FLAGS_GDZRO | FLAGS_KEPT | FLAGS_CREATE,
    .kept = FLAGS_KEPT | SEC$M_READ_ONLY_SHPT,
    .implied = SEC$M_PERM,
    .required = 6,
    .count = 8,
    .invoke = create,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(LENGTH, 4), AT(ACMODE, 5), AT(FLAGS, 6),
              AT(RESERVED_OUT, 7), AT(RAD_MASK, 8)},
};

static const struct service crmpsc_gdzro_64 = {
    .kinds = SEC$M_MRES,
    .flags = FLAGS_GDZRO | FLAGS_KEPT | FLAGS_CREATE | FLAGS_MAP,
    .kept = FLAGS_KEPT | SEC$M_READ_ONLY_SHPT,
    .writes = true,
    .required = 10,
    .count = 14,
    .invoke = create_and_map,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(LENGTH, 4), AT(REGION, 5), AT(OFFSET, 6),
              AT(ACMODE, 7), AT(FLAGS, 8), AT(VA_OUT, 9), AT(LENGTH_OUT, 10), AT(START, 11),
              AT(MAP_LENGTH, 12), AT(RESERVED_OUT, 13), AT(RAD_MASK, 14)},
};

static const struct service mgblsc_64 = {
    .kinds = SEC$M_MRES | SEC$M_PAGFIL,
    .flags = FLAGS_GDZRO | SEC$M_SYSGBL | FLAGS_MAP,
    .required = 9,
    .count = 10,
    .invoke = map_existing,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(REGION, 3), AT(OFFSET, 4), AT(MAP_LENGTH, 5),
              AT(ACMODE, 6), AT(FLAGS, 7), AT(VA_OUT, 8), AT(LENGTH_OUT, 9), AT(START, 10)},
};

static const struct service create_gpfn = {
    .kinds = SEC$M_PFNMAP,
    .flags = FLAGS_GPFN | FLAGS_KEPT,
    .kept = FLAGS_KEPT | SEC$M_WRT,
    .implied = SEC$M_PERM,
    .required = 7,
    .count = 7,
    .invoke = create,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(START_PFN, 4), AT(PAGE_COUNT, 5),
              AT(ACMODE, 6), AT(FLAGS, 7)},
};

static const struct service crmpsc_gpfn_64 = {
    .kinds = SEC$M_PFNMAP,
    .flags = FLAGS_GPFN | FLAGS_KEPT | FLAGS_MAP,
    .kept = FLAGS_KEPT | SEC$M_WRT,
    .required = 11,
    .count = 13,
    .invoke = create_and_map_pages,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(START_PFN, 4), AT(PAGE_COUNT, 5),
              AT(REGION, 6), AT(RELATIVE_PAGE, 7), AT(ACMODE, 8), AT(FLAGS, 9), AT(VA_OUT, 10),
              AT(LENGTH_OUT, 11), AT(START, 12), AT(MAP_PAGE_COUNT, 13)},
};

static const struct service mgblsc_gpfn_64 = {
    .kinds = SEC$M_PFNMAP,
    .flags = FLAGS_GPFN | SEC$M_SYSGBL | FLAGS_MAP,
    .required = 9,
    .count = 10,
    .invoke = map_existing_pages,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(REGION, 3), AT(RELATIVE_PAGE, 4), AT(MAP_PAGE_COUNT, 5),
              AT(ACMODE, 6), AT(FLAGS, 7), AT(VA_OUT, 8), AT(LENGTH_OUT, 9), AT(START, 10)},
};

static const struct service create_gpfile = {
    .kinds = SEC$M_PAGFIL,
    .flags = FLAGS_GPFILE | FLAGS_KEPT,
    .kept = FLAGS_KEPT,
    .implied = SEC$M_PERM,
    .invoke = create,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(LENGTH, 4), AT(ACMODE, 5), AT(FLAGS, 6)},
};

static const struct service crmpsc_gpfile_64 = {
    .kinds = SEC$M_PAGFIL,
    .flags = FLAGS_GPFILE | FLAGS_KEPT | FLAGS_MAP,
    .kept = FLAGS_KEPT,
    .writes = true,
    .required = 10,
    .count = 12,
    .invoke = create_and_map,
    .place = {AT(NAME, 1), AT(IDENT, 2), AT(PROT, 3), AT(LENGTH, 4), AT(REGION, 5), AT(OFFSET, 6),
              AT(ACMODE, 7), AT(FLAGS, 8), AT(VA_OUT, 9), AT(LENGTH_OUT, 10), AT(START, 11),
              AT(MAP_LENGTH, 12)},
};

static const struct service dgblsc = {
    .flags = SEC$M_GBL | SEC$M_SYSGBL,
    .invoke = mark_delete,
    .place = {AT(FLAGS, 1), AT(NAME, 2), AT(IDENT, 3)},
};

/* ---- decoding ---- */

/* The value of argument k, which the service has. */
static uint64_t value(const struct service *f, const uint64_t *a, enum argument k)
{
    return a[f->place[k] - 1];
}

/* Decode name and identification, and fill in the caller's identity; other fields of the request
   are set to 0. SS$_NORMAL, SS$_ACCVIO, SS$_IVGSDNAM, SS$_IVSECIDCTL; SS$_IVLOGNAM,
   SS$_TOOMANYLNAM: from the translation of GBL$name. */
static cond_t decode_name(vaddr_t name, vaddr_t ident, struct decoded *d)
{
    const struct process *p = process_self();
    struct section_request *r = &d->r;
    cond_t status = vms_section_name(name, d->name, &r->name.length);

    if (lnm_prefix_in_use() && status == SS$_NORMAL)
        status = vms_lnm_section_name(d->name, &r->name.length);
    if (status == SS$_NORMAL)
        status = vms_ident(ident, &r->ident_match, &r->ident_version);
    r->name.name = d->name;
    r->creds.uic_group = r->name.group = process_uic_group(p);
    r->creds.uic_member = process_uic_member(p);
    r->creds.system = creds_is_system(p);
    r->creds.bypass = (process_privileges(p) & PRV_BYPASS) != 0;
    r->prot = 0;
    r->rad = 0;
    r->npages = 0;
    r->first = pfn_of(0);
    return status;
}

static cond_t decode_length(uint64_t length, uint64_t *npages)
{
    if (length == 0 || length % PAGE_SIZE != 0)
        return SS$_LEN_NOTPAGMULT;
    if (length >> 43) /* longer than the address space */
        return SS$_LENVIO;
    *npages = length / PAGE_SIZE;
    return SS$_NORMAL;
}

static cond_t decode_frames(uint64_t start_pfn, uint64_t page_count, struct section_request *r)
{
    if (page_count == 0 || page_count >> PAGE_COUNT_BITS)
        return SS$_ILLPAGCNT;
    if (start_pfn == 0 || start_pfn >> 32 || (start_pfn + page_count - 1) >> 32)
        return SS$_INVPFN; /* a PTE has 32 bits for the frame number */
    r->first = pfn_of(start_pfn);
    r->npages = page_count;
    return SS$_NORMAL;
}

/* Decode rad_mask, which counts only if SEC$M_RAD_HINT is set. Bit n stands for domain n; pages
   should come from the lowest domain in the mask. Without the flag they come from the domain that
   /RAD of the registry entry names, else from that of the CPU that first accesses a page. */
static cond_t decode_rad(uint32_t flags, uint64_t mask, uint8_t *rad)
{
    *rad = RAD_ANY;
    if (!(flags & SEC$M_RAD_HINT))
        return SS$_NORMAL;
    if (mask == 0 || mask >> rad_count)
        return SS$_BADRAD;
    *rad = (uint8_t)__builtin_ctzl(mask);
    return SS$_NORMAL;
}

/* Decode the arguments that describe a section to create. */
static cond_t decode_creation(const struct service *f, const uint64_t *a, uint32_t flags,
                              struct section_request *r)
{
    cond_t status = f->place[LENGTH]
                        ? decode_length(value(f, a, LENGTH), &r->npages)
                        : decode_frames(value(f, a, START_PFN), value(f, a, PAGE_COUNT), r);

    if (status == SS$_NORMAL && f->place[RAD_MASK])
        status = decode_rad(flags, value(f, a, RAD_MASK), &r->rad);
    r->prot = (uint32_t)value(f, a, PROT);
    return status;
}

/* Decode which part of a section to map and where. */
static cond_t decode_mapping(const struct service *f, const uint64_t *a, uint32_t flags,
                             struct decoded *d)
{
    struct section_map_request *m = &d->m;

    if (f->place[RELATIVE_PAGE]) {
        uint64_t page = value(f, a, RELATIVE_PAGE), count = value(f, a, MAP_PAGE_COUNT);

        if (page >> PAGE_COUNT_BITS)
            return SS$_ILLRELPAG;
        if (count >> PAGE_COUNT_BITS)
            return SS$_ILLPAGCNT;
        m->offset = page * PAGE_SIZE;
        m->length = count * PAGE_SIZE;
    } else {
        m->offset = value(f, a, OFFSET);
        m->length = value(f, a, MAP_LENGTH);
    }
    m->start = value(f, a, START);
    m->flags = flags & FLAGS_MAP;
    m->write = (flags & SEC$M_WRT) || (f->writes && !(flags & SEC$M_READ_ONLY_SHPT));
    d->va_out = value(f, a, VA_OUT);
    d->length_out = value(f, a, LENGTH_OUT);
    return vms_region_args(value(f, a, REGION), value(f, a, ACMODE), d->va_out, d->length_out,
                           &m->region_id);
}

/* Decode the arguments a of the service f, then call its function. */
static cond_t serve(const struct service *f, const uint64_t *a)
{
    uint32_t flags = (uint32_t)value(f, a, FLAGS) | f->implied;
    struct decoded d; /* the fields in use are set below; clearing it would write them twice */
    cond_t status;

    if (flags & ~f->flags)
        return SS$_IVSECFLG;
    status = decode_name(value(f, a, NAME), value(f, a, IDENT), &d);
    d.r.name.sysgbl = (flags & SEC$M_SYSGBL) != 0;
    d.r.kinds = f->kinds;
    d.r.flags = flags & f->kept;
    d.reserved_out = 0;
    if (status == SS$_NORMAL && f->place[PROT])
        status = decode_creation(f, a, flags, &d.r);
    if (status == SS$_NORMAL && f->place[REGION])
        status = decode_mapping(f, a, flags, &d);
    if (status == SS$_NORMAL && f->place[PROT] && !f->place[REGION]) {
        status = vms_access_mode(value(f, a, ACMODE));
        if (status == SS$_NORMAL)
            status = may_create(d.r.kinds, d.r.flags);
    }
    if (status == SS$_NORMAL && f->place[RESERVED_OUT]) {
        d.reserved_out = value(f, a, RESERVED_OUT);
        status = vms_probe_quad(d.reserved_out, true);
    }
    return status == SS$_NORMAL ? f->invoke(&d) : status;
}

static cond_t serve_block(const struct service *f, vaddr_t block)
{
    uint64_t a[VMS_ARGS_MAX];
    cond_t status = vms_args(block, f->required, f->count, a);

    return status == SS$_NORMAL ? serve(f, a) : status;
}

cond_t vms_create_gdzro(uint64_t block) { return serve_block(&create_gdzro, block); }
cond_t vms_crmpsc_gdzro_64(uint64_t block) { return serve_block(&crmpsc_gdzro_64, block); }
cond_t vms_mgblsc_64(uint64_t block) { return serve_block(&mgblsc_64, block); }
cond_t vms_create_gpfn(uint64_t block) { return serve_block(&create_gpfn, block); }
cond_t vms_crmpsc_gpfn_64(uint64_t block) { return serve_block(&crmpsc_gpfn_64, block); }
cond_t vms_mgblsc_gpfn_64(uint64_t block) { return serve_block(&mgblsc_gpfn_64, block); }
cond_t vms_crmpsc_gpfile_64(uint64_t block) { return serve_block(&crmpsc_gpfile_64, block); }

cond_t vms_create_gpfile(uint64_t name, uint64_t ident, uint64_t prot, uint64_t length,
                         uint64_t acmode, uint64_t flags)
{
    return serve(&create_gpfile, (const uint64_t[]){name, ident, prot, length, acmode, flags});
}

cond_t vms_dgblsc(uint64_t flags, uint64_t name, uint64_t ident)
{
    return serve(&dgblsc, (const uint64_t[]){flags, name, ident});
}
