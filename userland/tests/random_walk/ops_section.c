/* Regions and sections. */
#include "walk.h"

#include <secdef.h>

/* The names of sections. The registry of the run decides what kind of section each becomes. */
static const struct {
    const char *name;
    uint64_t bytes;
    bool group;
} names[] = {
    {"WALK_ALLOC", 2 * PIECE, false},    /* /ALLOCATE /PAGE_TABLES */
    {"WALK_BARE", 2 * PIECE, false},     /* /ALLOCATE /NOPAGE_TABLES */
    {"WALK_PROMISED", 2 * PIECE, false}, /* /NOALLOCATE */
    {"WALK_GIVE", PIECE, false},         /* its reservation may be freed */
    {"WALK_FLUID", 3 * PIECE + 40 * PAGE, false},
    {"WALK_GROUP", PIECE - 8 * PAGE, true},
    {"WALK_SMALL", 3 * PAGE, false},
};

#define NAMES (sizeof(names) / sizeof(names[0]))
#define ALLOC 0 /* index of names */
#define BARE  1

static const int region_errors[] = {
    SS$_IVREGFLG, SS$_IVREGPROT,      SS$_LEN_NOTPAGMULT, SS$_VA_NOTPAGALGN, SS$_VA_IN_USE,
    SS$_VASFULL,  SS$_NOT_PROCESS_VA, SS$_INSFMEM,        SS$_ACCVIO,        0};
static const int delete_region_errors[] = {SS$_IVREGID, SS$_NODELPERMANENT, SS$_INSFMEM, SS$_ACCVIO,
                                           0};
static const int create_errors[] = {SS$_DUPLNAM,
                                    SS$_GBLSEC_MISMATCH,
                                    SS$_INSFMEM,
                                    SS$_INSFLPGS,
                                    SS$_RESERVEDMEMUSED,
                                    SS$_MRES_PFNSMALL,
                                    SS$_LEN_NOTPAGMULT,
                                    SS$_GSDFULL,
                                    SS$_GPTFULL,
                                    SS$_EXGBLPAGFIL,
                                    0};
static const int map_errors[] = {SS$_NOSUCHSEC,
                                 SS$_OFF_NOTPAGALGN,
                                 SS$_OFFSET_TOO_BIG,
                                 SS$_LEN_NOTPAGMULT,
                                 SS$_LENVIO,
                                 SS$_IVREGID,
                                 SS$_NOSHPTS,
                                 SS$_VA_NOTPAGALGN,
                                 SS$_PAGNOTINREG,
                                 SS$_VA_IN_USE,
                                 SS$_REGISFULL,
                                 SS$_VASFULL,
                                 SS$_INSFMEM,
                                 SS$_GBLSEC_MISMATCH,
                                 SS$_NOWRT,
                                 SS$_EXQUOTA,
                                 0};
static const int create_map_errors[] = {
    SS$_DUPLNAM,         SS$_GBLSEC_MISMATCH, SS$_INSFMEM,        SS$_INSFLPGS,
    SS$_RESERVEDMEMUSED, SS$_MRES_PFNSMALL,   SS$_GSDFULL,        SS$_GPTFULL,
    SS$_EXGBLPAGFIL,     SS$_NOSUCHSEC,       SS$_OFF_NOTPAGALGN, SS$_OFFSET_TOO_BIG,
    SS$_LEN_NOTPAGMULT,  SS$_LENVIO,          SS$_IVREGID,        SS$_NOSHPTS,
    SS$_VA_NOTPAGALGN,   SS$_PAGNOTINREG,     SS$_VA_IN_USE,      SS$_REGISFULL,
    SS$_VASFULL,         SS$_NOWRT,           SS$_EXQUOTA,        0};
static const int delete_errors[] = {SS$_NOSUCHSEC, 0};
static const int deltva_errors[] = {SS$_IVREGID,     SS$_VA_NOTPAGALGN, SS$_LEN_NOTPAGMULT,
                                    SS$_PAGNOTINREG, SS$_INSFMEM,       0};
static const int info_errors[] = {SS$_IVREGID, SS$_NOMOREREG, 0};

static void describe(struct dsc64$descriptor *d, unsigned k)
{
    *d = (struct dsc64$descriptor){1,  DSC64$K_DTYPE_T,       DSC64$K_CLASS_S,
                                   -1, strlen(names[k].name), (char *)names[k].name};
}

static uint32_t scope(unsigned k) { return names[k].group ? 0 : SEC$M_SYSGBL; }

/* ---- regions ---- */

void op_create_region(void)
{
    static const uint32_t spaces[] = {0, 0, 0, VA$M_P0_SPACE, VA$M_P1_SPACE};
    uint32_t flags = (draw(2) ? VA$M_SHARED_PTS : 0) | (draw(5) == 0 ? VA$M_DESCEND : 0) |
                     spaces[draw(5)];
    uint64_t bytes = PIECE * (1 + draw(24)), length = 0;
    struct _generic_64 id;
    void *va = NULL, *start = NULL;
    int status;

    if (draw(16) == 0)
        bytes += PAGE * draw(1024); /* refused for regions with shared page tables */
    if (draw(16) == 0)
        start = (void *)(0x20000000000ul + draw(1024) * PIECE / (1 + draw(2)));
    if (draw(30) == 0)
        flags |= 1u << draw(32);
    status = sys$create_region_64(bytes, VA$C_REGION_UCREATE_UOWN, flags, &id, &va, &length, start);
    note(1, (uint64_t)status);
    if (!expected("$create_region_64", status, region_errors))
        return;
    for (unsigned i = 0; i < REGIONS; i++)
        if (!self.regions[i].used) {
            self.regions[i] = (struct region){true, (flags & VA$M_SHARED_PTS) != 0, id, va, length};
            return;
        }
    status = sys$delete_region_64(&id, 3, &va, &length);
    note(1, (uint64_t)status);
    expected("$delete_region_64", status, delete_region_errors);
}

void op_delete_region(void)
{
    struct region *r = region_any();
    struct _generic_64 id = {.gen64$q_quadword = draw(40)};
    uint64_t length;
    void *va;
    int status;

    if (r && draw(10))
        id = r->id;
    else
        r = NULL;
    for (unsigned i = 0; i < REGIONS;
         i++) /* the random number may be one of this walker's regions */
        if (self.regions[i].used && self.regions[i].id.gen64$q_quadword == id.gen64$q_quadword)
            r = &self.regions[i];
    status = sys$delete_region_64(&id, 3, &va, &length);
    note(2, (uint64_t)status);
    if (expected("$delete_region_64", status, delete_region_errors)) {
        if (!r)
            wrong("$delete_region_64 of a region that is nobody's");
        forget_region((int)(r - self.regions));
    }
}

void op_region_info(void)
{
    struct region *r = region_any();
    REGSUM sum;
    uint64_t length;
    struct _generic_64 id = {.gen64$q_quadword = r ? r->id.gen64$q_quadword : draw(30)};
    unsigned function = (unsigned)draw(3);
    int status = sys$get_region_info(function, &id, r ? r->start + draw(r->bytes) : NULL, NULL,
                                     sizeof(sum), &sum, &length);

    note(3, (uint64_t)status);
    if (expected("$get_region_info", status, info_errors) && r && function == VA$_REGSUM_BY_ID &&
        (sum.va$pq_start_va != (void *)r->start || sum.va$q_region_size != r->bytes))
        wrong("region %lx is not where it was made", (unsigned long)id.gen64$q_quadword);
}

/* ---- sections ---- */

void op_create_section(void)
{
    unsigned k = (unsigned)draw(NAMES);
    struct dsc64$descriptor d;
    bool pagfil = draw(4) == 0;
    int status;

    describe(&d, k);
    if (pagfil)
        status = sys$create_gpfile(&d, NULL, 0, names[k].bytes, 0, scope(k));
    else
        status = sys$create_gdzro(&d, NULL, 0, names[k].bytes, 0, scope(k), NULL, 0);
    note(4, (uint64_t)status);
    expected(pagfil ? "$create_gpfile" : "$create_gdzro", status, create_errors);
}

/* Is the memory-resident section of this name of the kind that its entry determines? */
static void resident_mapped(unsigned k)
{
    if (k == ALLOC || k == BARE)
        made(k == ALLOC ? MADE_ALLOC : MADE_BARE);
}

void section_mapped(unsigned k, enum kind kind, int region, void *va, uint64_t length,
                    uint64_t offset, bool write)
{
    struct mapping *m = mapping_new();

    if (!m) { /* not recorded: it exists until the region or the process ends */
        return;
    }
    m->kind = kind;
    m->region = region;
    m->start = va;
    m->bytes = length;
    m->section = k;
    m->first = offset / PAGE;
    m->tag = 0x100 + k;
    m->shpt = region >= 0 && self.regions[region].shpt;
    m->write = write;
    touch(m);
}

/* Choose where to map: in a region of this walker, or in a default region. */
int choose_region(struct _generic_64 *id)
{
    struct region *r = draw(4) ? region_any() : NULL;

    id->gen64$q_quadword = draw(2) ? VA$C_P0 : VA$C_P2;
    if (!r)
        return -1;
    *id = r->id;
    return (int)(r - self.regions);
}

/* Choose a part of a section of this size; often in multiples of a level-3 span. */
static void choose_part(uint64_t bytes, uint64_t *offset, uint64_t *length)
{
    *offset = *length = 0;
    if (draw(2))
        return;
    *offset = draw(2) ? draw(bytes / PIECE + 1) * PIECE : draw(bytes / PAGE + 2) * PAGE;
    if (draw(2) && *offset < bytes)
        *length = PAGE * (1 + draw((bytes - *offset) / PAGE));
}

void op_create_and_map(void)
{
    unsigned k = (unsigned)draw(NAMES);
    bool pagfil = draw(4) == 0;
    struct dsc64$descriptor d;
    struct _generic_64 id;
    uint64_t offset, part, length = 0;
    int region = choose_region(&id), status;
    uint32_t flags = scope(k) | SEC$M_EXPREG | SEC$M_WRT;
    void *va = NULL;

    describe(&d, k);
    choose_part(names[k].bytes, &offset, &part);
    if (pagfil)
        status = sys$crmpsc_gpfile_64(&d, NULL, 0, names[k].bytes, &id, offset, 3, flags, &va,
                                      &length, NULL, part);
    else
        status = sys$crmpsc_gdzro_64(&d, NULL, 0, names[k].bytes, &id, offset, 3, flags, &va,
                                     &length, NULL, part, NULL, 0);
    note(5, (uint64_t)status);
    if (!expected(pagfil ? "$crmpsc_gpfile_64" : "$crmpsc_gdzro_64", status, create_map_errors))
        return;
    if (pagfil)
        made(MADE_PAGFIL);
    else
        resident_mapped(k);
    section_mapped(k, pagfil ? PAGFIL : SECTION, region, va, length, offset, true);
}

void op_map_section(void)
{
    unsigned k = (unsigned)draw(NAMES);
    bool write = draw(5) != 0;
    struct dsc64$descriptor d;
    struct _generic_64 id;
    uint64_t offset, part, length = 0;
    int region = choose_region(&id), status;
    void *va = NULL, *start = NULL;
    uint32_t flags = scope(k) | (write ? SEC$M_WRT : 0);

    describe(&d, k);
    choose_part(names[k].bytes, &offset, &part);
    if (region >= 0 && draw(4) == 0)
        start = self.regions[region].start + draw(self.regions[region].bytes / PAGE) * PAGE;
    status = sys$mgblsc_64(&d, NULL, &id, offset, part, 3, flags | (start ? 0 : SEC$M_EXPREG), &va,
                           &length, start);
    note(6, (uint64_t)status);
    if (expected("$mgblsc_64", status, map_errors))
        section_mapped(k, SECTION, region, va, length, offset, write);
}

void op_delete_section(void)
{
    unsigned k = (unsigned)draw(NAMES);
    struct dsc64$descriptor d;
    int status;

    describe(&d, k);
    status = sys$dgblsc(scope(k), &d, NULL);
    note(7, (uint64_t)status);
    expected("$dgblsc", status, delete_errors);
}

void sections_delete(void)
{
    for (unsigned k = 0; k < NAMES; k++) {
        struct dsc64$descriptor d;

        describe(&d, k);
        sys$dgblsc(scope(k), &d, NULL);
    }
}

/* ---- unmapping ---- */

/* Choose a part of a mapping: any part, or one that shared page tables allow. */
static void choose_cut(const struct mapping *m, uint64_t *from, uint64_t *bytes)
{
    uint64_t unit = m->shpt && draw(4) ? PIECE : PAGE;
    uint64_t units = (m->bytes + unit - 1) / unit;

    *from = 0;
    *bytes = m->bytes;
    if (draw(2))
        return;
    *from = draw(units) * unit;
    *bytes = least((1 + draw(units - *from / unit)) * unit, m->bytes - *from);
}

void op_delete_va(void)
{
    struct mapping *m = mapping_any(NULL);
    struct _generic_64 id = {.gen64$q_quadword = VA$C_P2};
    uint64_t from, bytes, length;
    void *va;
    int status;

    if (!m)
        return;
    choose_cut(m, &from, &bytes);
    if (m->region >= 0)
        id = self.regions[m->region].id;
    else if ((uint64_t)m->start < 0x40000000ul)
        id.gen64$q_quadword = VA$C_P0;
    status = sys$deltva_64(&id, m->start + from, bytes, 3, &va, &length);
    note(8, (uint64_t)status);
    if (expected("$deltva_64", status, deltva_errors))
        mapping_cut(m, from, bytes);
}

/* ---- reservations ---- */

void op_free_reservation(void)
{
    static const char *const free_names[] = {"WALK_GIVE", "WALK_NONE"};
    static const int errors[] = {SS$_NORESERVEDMEM, SS$_RESERVEDMEMUSED, 0};
    uint64_t freed = 0;
    const char *name = free_names[draw(2)];
    int status;

    if (!all->give)
        return;
    status = mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)name, MEGA_SCOPE_SYSGBL,
                          (uint64_t)&freed, 0, 0);

    note(9, (uint64_t)status);
    if (expected("MEGA_CTL_FREE_RESERVED", status, errors))
        made(MADE_FREED);
}
