/*
 * Services for page-frame sections ($CREATE_GPFN, $CRMPSC_GPFN_64, $MGBLSC_GPFN_64) and for
 * page-file-backed ones ($CREATE_GPFILE, $CRMPSC_GPFILE_64; these are mapped by $MGBLSC_64).
 * Argument orders: openvms-api.md 1.1. Page frames are counted in pages of the CPU: a relative page
 * beyond the section is SS$_ILLRELPAG, a count that reaches beyond it, or none, SS$_ILLPAGCNT.
 *
 * A page-frame section is for reading unless its creator gave SEC$M_WRT. Creating one needs PFNMAP;
 * mapping one needs what its protection mask asks for, no privilege.
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "kernel/sys/vms/section.h"

#define FLAGS_KEPT   (SEC$M_PERM | SEC$M_SYSGBL)
#define FLAGS_GPFN   (SEC$M_GBL | SEC$M_PFNMAP | SEC$M_WRT | FLAGS_KEPT)
#define FLAGS_GPFILE (SEC$M_GBL | SEC$M_PAGFIL | SEC$M_DZRO | SEC$M_WRT | FLAGS_KEPT)

#define PAGE_COUNT_BITS 30 /* of the pages of any address space */

static int decode_frames(uint64_t start_pfn, uint64_t page_count, struct section_request *r)
{
    if (page_count == 0 || page_count >> PAGE_COUNT_BITS)
        return SS$_ILLPAGCNT;
    if (start_pfn == 0 || start_pfn >> 32 || (start_pfn + page_count - 1) >> 32)
        return SS$_INVPFN; /* no PTE can name it */
    r->first = pfn_of(start_pfn);
    r->npages = page_count;
    return SS$_NORMAL;
}

/* Which pages to map. */
static int decode_part(uint64_t relative_page, uint64_t page_count, struct section_map_request *m)
{
    if (relative_page >> PAGE_COUNT_BITS)
        return SS$_ILLRELPAG;
    if (page_count >> PAGE_COUNT_BITS)
        return SS$_ILLPAGCNT;
    m->offset = relative_page * PAGE_SIZE;
    m->length = page_count * PAGE_SIZE;
    return SS$_NORMAL;
}

/* In the words of services that count pages. */
static int in_pages(int status)
{
    return status == SS$_OFFSET_TOO_BIG ? SS$_ILLRELPAG
           : status == SS$_LENVIO       ? SS$_ILLPAGCNT
                                        : status;
}

long vms_create_gpfn(uint64_t block)
{
    enum { NAME, IDENT, PROT, START_PFN, PAGE_COUNT, ACMODE, FLAGS, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    int status = vms_args(block, COUNT, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS] | SEC$M_PERM;

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~FLAGS_GPFN)
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_PFNMAP, buffer}, &r);
    if (status == SS$_NORMAL)
        status = decode_frames(a[START_PFN], a[PAGE_COUNT], &r);
    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_section_may_create(SEC$M_PFNMAP, flags);
    if (status != SS$_NORMAL)
        return status;
    r.prot = (uint32_t)a[PROT];
    r.flags = flags & (FLAGS_KEPT | SEC$M_WRT);
    return vms_section_create(&r, 0);
}

long vms_crmpsc_gpfn_64(uint64_t block)
{
    enum {
        NAME,
        IDENT,
        PROT,
        START_PFN,
        PAGE_COUNT,
        REGION,
        RELATIVE_PAGE,
        ACMODE,
        FLAGS,
        VA_OUT,
        LENGTH_OUT,
        START,
        MAP_PAGE_COUNT,
        COUNT
    };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];
    struct vms_section_map c = {.m = {.start = a[START],
                                      .flags = flags & VMS_SECTION_FLAGS_MAP,
                                      .write = (flags & SEC$M_WRT) != 0},
                                .va_out = a[VA_OUT],
                                .length_out = a[LENGTH_OUT]};

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_GPFN | VMS_SECTION_FLAGS_MAP))
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_PFNMAP, buffer}, &c.r);
    if (status == SS$_NORMAL)
        status = decode_frames(a[START_PFN], a[PAGE_COUNT], &c.r);
    if (status == SS$_NORMAL)
        status = decode_part(a[RELATIVE_PAGE], a[MAP_PAGE_COUNT], &c.m);
    if (status == SS$_NORMAL)
        status = vms_section_map_args(&c, a[REGION], a[ACMODE]);
    if (status != SS$_NORMAL)
        return status;
    c.r.prot = (uint32_t)a[PROT];
    c.r.flags = flags & (FLAGS_KEPT | SEC$M_WRT);
    return in_pages(vms_section_create_and_map(&c));
}

long vms_mgblsc_gpfn_64(uint64_t block)
{
    enum {
        NAME,
        IDENT,
        REGION,
        RELATIVE_PAGE,
        PAGE_COUNT,
        ACMODE,
        FLAGS,
        VA_OUT,
        LENGTH_OUT,
        START,
        COUNT
    };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];
    struct vms_section_map c = {.m = {.start = a[START],
                                      .flags = flags & VMS_SECTION_FLAGS_MAP,
                                      .write = (flags & SEC$M_WRT) != 0},
                                .va_out = a[VA_OUT],
                                .length_out = a[LENGTH_OUT]};

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(SEC$M_GBL | SEC$M_PFNMAP | SEC$M_WRT | SEC$M_SYSGBL | VMS_SECTION_FLAGS_MAP))
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_PFNMAP, buffer}, &c.r);
    if (status == SS$_NORMAL)
        status = decode_part(a[RELATIVE_PAGE], a[PAGE_COUNT], &c.m);
    if (status == SS$_NORMAL)
        status = vms_section_map_args(&c, a[REGION], a[ACMODE]);
    return status == SS$_NORMAL ? in_pages(vms_section_map_existing(&c)) : status;
}

long vms_create_gpfile(uint64_t name, uint64_t ident, uint64_t prot, uint64_t length,
                       uint64_t acmode, uint64_t flags_in)
{
    char buffer[SECTION_NAME_MAX + 1];
    struct section_request r;
    uint32_t flags = (uint32_t)flags_in | SEC$M_PERM;
    int status;

    if (flags & ~FLAGS_GPFILE)
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){name, ident, flags, SEC$M_PAGFIL, buffer}, &r);
    if (status == SS$_NORMAL)
        status = vms_section_length(length, &r.npages);
    if (status == SS$_NORMAL)
        status = vms_access_mode(acmode);
    if (status == SS$_NORMAL)
        status = vms_section_may_create(SEC$M_PAGFIL, flags);
    if (status != SS$_NORMAL)
        return status;
    r.prot = (uint32_t)prot;
    r.flags = flags & FLAGS_KEPT;
    return vms_section_create(&r, 0);
}

long vms_crmpsc_gpfile_64(uint64_t block)
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
        COUNT
    };
    uint64_t a[VMS_ARGS_MAX];
    char buffer[SECTION_NAME_MAX + 1];
    int status = vms_args(block, START, COUNT, a);
    uint32_t flags = (uint32_t)a[FLAGS];
    struct vms_section_map c = {.m = {.start = a[START],
                                      .offset = a[OFFSET],
                                      .length = a[MAP_LENGTH],
                                      .flags = flags & VMS_SECTION_FLAGS_MAP,
                                      .write = true}, /* SEC$M_WRT is always set here */
                                .va_out = a[VA_OUT],
                                .length_out = a[LENGTH_OUT]};

    if (status != SS$_NORMAL)
        return status;
    if (flags & ~(FLAGS_GPFILE | VMS_SECTION_FLAGS_MAP))
        return SS$_IVSECFLG;
    status = vms_section_decode(
        &(struct vms_section_args){a[NAME], a[IDENT], flags, SEC$M_PAGFIL, buffer}, &c.r);
    if (status == SS$_NORMAL)
        status = vms_section_length(a[LENGTH], &c.r.npages);
    if (status == SS$_NORMAL)
        status = vms_section_map_args(&c, a[REGION], a[ACMODE]);
    if (status != SS$_NORMAL)
        return status;
    c.r.prot = (uint32_t)a[PROT];
    c.r.flags = flags & FLAGS_KEPT;
    return vms_section_create_and_map(&c);
}
