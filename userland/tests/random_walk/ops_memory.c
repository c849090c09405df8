/* Private and shared memory: services and POSIX calls. */
#include "walk.h"

#include <prtdef.h>

static const int create_va_errors[] = {SS$_IVREGID,
                                       SS$_NOSHPTS,
                                       SS$_VA_NOTPAGALGN,
                                       SS$_LEN_NOTPAGMULT,
                                       SS$_PAGNOTINREG,
                                       SS$_VA_IN_USE,
                                       SS$_REGISFULL,
                                       SS$_VASFULL,
                                       SS$_INSFMEM,
                                       SS$_IVVAFLG,
                                       0};
static const int protect_errors[] = {SS$_ACCVIO,   SS$_NOPRIV,  SS$_PAGTYPVIO,
                                     SS$_BADPARAM, SS$_INSFMEM, 0};
static const int lock_errors[] = {SS$_ACCVIO, SS$_LCKPAGFUL, SS$_INSFMEM, SS$_PAGTYPVIO, 0};

static bool is_private(const struct mapping *m) { return m->kind == PRIVATE; }
static bool is_ours(const struct mapping *m)
{
    return m->kind == PRIVATE || m->kind == ANON_SHARED;
}

static void private_mapped(void *va, uint64_t bytes, int region, enum kind kind)
{
    struct mapping *m = mapping_new();

    if (!m)
        return;
    m->kind = kind;
    m->region = region;
    m->start = va;
    m->bytes = bytes;
    m->tag = ++self.next_tag + (uint64_t)(self.slot + 1) * 0x10000;
    touch(m);
}

/* Record that a call replaced or unmapped this range, whatever was there. */
static void forget_range(char *start, uint64_t bytes)
{
    for (unsigned i = 0; i < MAPPINGS; i++) {
        struct mapping *m = &self.maps[i];
        char *from = start > m->start ? start : m->start, *end = start + bytes;

        if (end > m->start + m->bytes)
            end = m->start + m->bytes;
        if (m->kind != NONE && from < end)
            mapping_cut(m, (uint64_t)(from - m->start), (uint64_t)(end - from));
    }
}

/* ---- services ---- */

void op_create_va(void)
{
    struct region *r = region_any();
    struct mapping *m = mapping_any(is_private);
    struct _generic_64 id = {.gen64$q_quadword = VA$C_P2};
    uint64_t bytes = PAGE * (1 + draw(64)), length = 0;
    int region = -1, status;
    char *start = NULL;
    void *va = NULL;

    if (m && draw(3) == 0) { /* over this walker's own pages */
        region = m->region;
        start = m->start;
    } else if (r) {
        region = (int)(r - self.regions);
        start = r->start + draw(r->bytes / PAGE) * PAGE;
    } else {
        return;
    }
    if (region >= 0)
        id = self.regions[region].id;
    else if ((uint64_t)start < 0x40000000ul)
        id.gen64$q_quadword = VA$C_P0;
    status = sys$cretva_64(&id, start, bytes, 3, draw(2) ? VA$M_NO_OVERMAP : 0, &va, &length);
    note(10, (uint64_t)status);
    if (!expected("$cretva_64", status, create_va_errors))
        return;
    if (region >= 0 && self.regions[region].shpt)
        wrong("$cretva_64 put private memory into a region with shared page tables");
    forget_range(va, length);
    private_mapped(va, length, region, PRIVATE);
}

void op_expand_region(void)
{
    struct region *r = draw(3) ? region_any() : NULL;
    struct _generic_64 id = {.gen64$q_quadword = draw(2) ? VA$C_P0 : VA$C_P2};
    uint64_t length = 0;
    void *va = NULL;
    int status;

    if (r)
        id = r->id;
    status = sys$expreg_64(&id, PAGE * (1 + draw(100)), 3, 0, &va, &length);
    note(11, (uint64_t)status);
    if (!expected("$expreg_64", status, create_va_errors))
        return;
    if (r && r->shpt)
        wrong("$expreg_64 put private memory into a region with shared page tables");
    private_mapped(va, length, r ? (int)(r - self.regions) : -1, PRIVATE);
}

/* Makes a part read-only for a while, which splits the map entry and granularity hints. */
static void protect_part(struct mapping *m)
{
    uint64_t pages = m->bytes / PAGE, at = draw(pages), n = 1 + draw(pages - at), length;
    unsigned old;
    void *va;
    int status = sys$setprt_64(m->start + at * PAGE, n * PAGE, 3, PRT$C_UR, &va, &length, &old);

    note(28, (uint64_t)status);
    if (!expected("$setprt_64", status, protect_errors))
        return;
    m->write = false;
    touch(m);
    status = sys$setprt_64(m->start + at * PAGE, n * PAGE, 3, PRT$C_UW, &va, &length, &old);
    note(28, (uint64_t)status);
    if (expected("$setprt_64", status, protect_errors)) {
        m->write = true;
        touch(m);
    }
}

/* Changes the protection of a whole mapping, so that it stays known. Sections in shared page tables
 * refuse. */
void op_protect(void)
{
    static const unsigned codes[] = {PRT$C_UW, PRT$C_UW, PRT$C_UR, PRT$C_NA};
    struct mapping *m = mapping_any(NULL);
    unsigned code = codes[draw(4)], old;
    uint64_t length;
    void *va;
    int status;

    if (!m)
        return;
    if (m->read && m->write && draw(2)) {
        protect_part(m);
        return;
    }
    status = sys$setprt_64(m->start, m->bytes, 3, code, &va, &length, &old);
    note(12, (uint64_t)status);
    if (!expected("$setprt_64", status, protect_errors))
        return;
    if (m->shpt)
        wrong("$setprt_64 changed shared page tables");
    m->write = code == PRT$C_UW;
    m->read = code != PRT$C_NA;
}

void op_lock(void)
{
    struct mapping *m = mapping_any(NULL);
    uint64_t at, n, length;
    void *va;
    int status;

    if (!m)
        return;
    at = draw(m->bytes / PAGE);
    n = least(1 + draw(32), m->bytes / PAGE - at);
    if (draw(2))
        status = sys$lckpag_64(m->start + at * PAGE, n * PAGE, 3, &va, &length);
    else
        status = sys$ulkpag_64(m->start + at * PAGE, n * PAGE, 3, &va, &length);
    note(13, (uint64_t)status);
    expected("$lckpag_64 or $ulkpag_64", status, lock_errors);
}

/* ---- POSIX ---- */

void op_mmap(void)
{
    bool shared = draw(4) == 0;
    uint64_t bytes = PAGE * (1 + draw(draw(6) ? 40 : 400));
    int flags = MAP_ANONYMOUS | (shared ? MAP_SHARED : MAP_PRIVATE) |
                (draw(5) == 0 ? MAP_POPULATE : 0);
    void *va = mmap(NULL, bytes, RW, flags, -1, 0);

    note(14, va == MAP_FAILED ? (uint64_t)errno : 0);
    if (va != MAP_FAILED)
        private_mapped(va, bytes, -1, shared ? ANON_SHARED : PRIVATE);
    else if (errno != ENOMEM)
        wrong("mmap: %s", strerror(errno));
}

void op_munmap(void)
{
    struct mapping *m = mapping_any(draw(4) ? is_ours : NULL);
    uint64_t at, n;
    int err;

    if (!m)
        return;
    at = draw(m->bytes / PAGE);
    n = draw(3) ? 1 + draw(m->bytes / PAGE - at) : m->bytes / PAGE - (at = 0);
    err = munmap(m->start + at * PAGE, n * PAGE) ? errno : 0;
    note(15, (uint64_t)err);
    if (err == 0)
        mapping_cut(m, at * PAGE, n * PAGE);
    else if (err != EINVAL && err != ENOMEM)
        wrong("munmap: %s", strerror(err));
}

void op_mprotect(void)
{
    static const int protections[] = {RW, RW, PROT_READ, PROT_NONE};
    struct mapping *m = mapping_any(is_ours);
    int prot = protections[draw(4)], err;

    if (!m)
        return;
    err = mprotect(m->start, m->bytes, prot) ? errno : 0;
    note(16, (uint64_t)err);
    if (err == 0) {
        m->read = prot != PROT_NONE;
        m->write = prot == RW;
    } else if (err != ENOMEM) {
        wrong("mprotect: %s", strerror(err));
    }
}

void op_forget(void)
{
    struct mapping *m = mapping_any(is_private);
    int err;

    if (!m)
        return;
    err = madvise(m->start, m->bytes, MADV_DONTNEED) ? errno : 0;
    note(17, (uint64_t)err);
    if (err == 0)
        memset(m->touched, 0, sizeof(m->touched));
    else if (err != EINVAL && err != ENOMEM) /* locked pages are not discarded */
        wrong("madvise: %s", strerror(err));
    if (err) /* but the pages before them are discarded */
        m->kind = NONE;
}

void op_brk(void)
{
    char *old = sbrk(0), *p = sbrk((intptr_t)(PAGE * (1 + draw(16))));

    note(18, p == (void *)-1);
    if (p == (void *)-1)
        return;
    for (char *c = p; c < (char *)sbrk(0); c += PAGE) {
        if (*c)
            wrong("the heap's page at %p is not new", (void *)c);
        *c = 1;
    }
    if (draw(8)) /* otherwise it grows */
        if (brk(old) != 0)
            wrong("brk: %s", strerror(errno));
}

void op_touch(void)
{
    struct mapping *m = mapping_any(NULL);

    note(19, m != NULL);
    if (m)
        touch(m);
}
