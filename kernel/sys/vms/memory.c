/*
 * Services on private memory. Each decodes every argument and probes every output, then calls a
 * function of mm that either succeeds completely or changes nothing. Locks are taken there.
 *
 * All five services return the range that was changed. After a failure the address is -1 and the
 * length 0, provided that both outputs could be written. $SETPRT_64, $LCKPAG_64 and $ULKPAG_64
 * round the range outward to whole pages; $CRETVA_64 and $EXPREG_64 require whole pages.
 */
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/errno.h"
#include "kernel/base/range.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"
#include "mm/space/prot_code.h"
#include "mm/space/region_memory.h"

#define NONE UINT64_MAX /* return_va_64 when nothing was changed */

/* Write the outputs that belong to status. Returns status. */
static cond_t finish(cond_t status, vaddr_t va_out, vaddr_t length_out, vaddr_t va, uint64_t length)
{
    if (cond_ok(status))
        vms_range_out(va_out, length_out, va, length);
    else
        vms_range_out(va_out, length_out, NONE, 0);
    return status;
}

cond_t vms_cretva_64(uint64_t block)
{
    enum { ID, START, LENGTH, ACMODE, FLAGS, VA_OUT, LENGTH_OUT, COUNT };
    uint64_t a[VMS_ARGS_MAX], id;
    cond_t status = vms_args(block, COUNT, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_region_args(a[ID], a[ACMODE], a[VA_OUT], a[LENGTH_OUT], &id);
    if (status != SS$_NORMAL)
        return status;
    status = region_create_va(process_self()->aspace, id, a[START], a[LENGTH], (uint32_t)a[FLAGS]);
    return finish(status, a[VA_OUT], a[LENGTH_OUT], a[START], a[LENGTH]);
}

cond_t vms_expreg_64(uint64_t id_in, uint64_t length, uint64_t acmode, uint64_t flags,
                     uint64_t va_out, uint64_t length_out)
{
    vaddr_t start = 0;
    uint64_t id;
    cond_t status = vms_region_args(id_in, acmode, va_out, length_out, &id);

    if (status != SS$_NORMAL)
        return status;
    status = region_expand(process_self()->aspace, id, length, (uint32_t)flags, &start);
    return finish(status, va_out, length_out, start, length);
}

/* Round [start, start + length) outward to whole pages: *n bytes from *first on. SS$_NORMAL;
   SS$_BADPARAM: length is 0; SS$_NOT_PROCESS_VA. */
static cond_t whole_pages(vaddr_t start, uint64_t length, vaddr_t *first, uint64_t *n)
{
    uint64_t end;

    if (length == 0)
        return SS$_BADPARAM;
    if (!range_end(start, length, &end) || end > LAYOUT_USER_TOP)
        return SS$_NOT_PROCESS_VA;
    *first = start & ~PAGE_MASK;
    *n = ((end + PAGE_MASK) & ~PAGE_MASK) - *first;
    return SS$_NORMAL;
}

/* Convert an errno of mm, from setting protection or locking pages. */
static cond_t status_of(int err, cond_t no_memory)
{
    switch (err) {
    case 0:
        return SS$_NORMAL;
    case -EPERM: /* shared page tables: the protection applies to all processes that map them */
        return SS$_PAGTYPVIO;
    case -ENOMEM:
        return no_memory;
    case -EIO:
        return SS$_PAGRDERR;
    default:
        return SS$_ACCVIO;
    }
}

static cond_t set_protection(vaddr_t first, uint64_t n, unsigned prot, unsigned *old)
{
    int err = aspace_set_protection(process_self()->aspace, first, n, prot, old);

    return err == -EACCES ? SS$_NOPRIV : status_of(err, SS$_INSFMEM);
}

static bool probe_longword(vaddr_t ua)
{
    return ua % sizeof(uint32_t) == 0 && probe_write(ua, sizeof(uint32_t)) == 0;
}

cond_t vms_setprt_64(uint64_t block)
{
    enum { START, LENGTH, ACMODE, PROT, VA_OUT, LENGTH_OUT, PROT_OUT, COUNT };
    uint64_t a[VMS_ARGS_MAX], n = 0;
    unsigned prot = 0, old = 0;
    vaddr_t first = 0;
    cond_t status = vms_args(block, COUNT, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_access_mode(a[ACMODE]);
    if (status == SS$_NORMAL)
        status = vms_probe_range(a[VA_OUT], a[LENGTH_OUT]);
    if (status == SS$_NORMAL && !probe_longword(a[PROT_OUT]))
        status = SS$_ACCVIO;
    if (status != SS$_NORMAL)
        return status;
    if (!prot_of_code(a[PROT] & 0xF, &prot)) /* the other bits are ignored */
        status = SS$_IVPROTECT;
    if (status == SS$_NORMAL)
        status = whole_pages(a[START], a[LENGTH], &first, &n);
    if (status == SS$_NORMAL)
        status = set_protection(first, n, prot, &old);
    if (status == SS$_NORMAL) {
        uint32_t code = prot_to_code(old);

        copyout(a[PROT_OUT], &code, sizeof(code));
    }
    return finish(status, a[VA_OUT], a[LENGTH_OUT], first, n);
}

typedef int lock_fn(struct aspace *as, vaddr_t va, uint64_t len, bool *set);

static cond_t lock_service(lock_fn *fn, cond_t no_memory, vaddr_t start, uint64_t length,
                           vaddr_t va_out, vaddr_t length_out)
{
    vaddr_t first = 0;
    uint64_t n = 0;
    bool set;
    cond_t status = whole_pages(start, length, &first, &n);

    if (status == SS$_NORMAL)
        status = status_of(fn(process_self()->aspace, first, n, &set), no_memory);
    if (status == SS$_NORMAL)
        status = set ? SS$_WASSET : SS$_WASCLR;
    return finish(status, va_out, length_out, first, n);
}

/* The checks common to $LCKPAG_64 and $ULKPAG_64. */
static cond_t lock_args(uint64_t acmode, vaddr_t va_out, vaddr_t length_out)
{
    cond_t status = vms_access_mode(acmode);

    if (status == SS$_NORMAL && !(process_privileges(process_self()) & PRV_PSWAPM))
        status = SS$_NOPSWAPM;
    return status == SS$_NORMAL ? vms_probe_range(va_out, length_out) : status;
}

cond_t vms_lckpag_64(uint64_t start, uint64_t length, uint64_t acmode, uint64_t va_out,
                     uint64_t length_out)
{
    cond_t status = lock_args(acmode, va_out, length_out);

    if (status != SS$_NORMAL)
        return status;
    return lock_service(aspace_lock_pages, SS$_LCKPAGFUL, start, length, va_out, length_out);
}

cond_t vms_ulkpag_64(uint64_t start, uint64_t length, uint64_t acmode, uint64_t va_out,
                     uint64_t length_out)
{
    cond_t status = lock_args(acmode, va_out, length_out);

    if (status != SS$_NORMAL)
        return status;
    return lock_service(aspace_unlock_pages, SS$_INSFMEM, start, length, va_out, length_out);
}
