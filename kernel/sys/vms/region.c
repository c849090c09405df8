/*
 * Region services. Each decodes every argument and probes every output, then calls a function of
 * mm/space/region.c that either succeeds completely or changes nothing. Locks are taken there.
 */
#include "mm/space/region.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/abi/vadef.h"
#include "kernel/proc/process.h"
#include "kernel/sys/vms/args.h"
#include "kernel/sys/vms/calls.h"

_Static_assert(sizeof(REGSUM) == VA$C_REGSUM_LENGTH, "REGSUM is 40 bytes long");

static bool privileged(void) { return (process_privileges(process_self()) & PRV_CMKRNL) != 0; }

cond_t vms_create_region_64(uint64_t block)
{
    enum { LENGTH, PROT, FLAGS, ID_OUT, VA_OUT, LENGTH_OUT, START, REQUIRED = START, COUNT };
    uint64_t a[VMS_ARGS_MAX];
    struct region_view v;
    cond_t status = vms_args(block, REQUIRED, COUNT, a);

    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[ID_OUT], false);
    if (status == SS$_NORMAL)
        status = vms_probe_range(a[VA_OUT], a[LENGTH_OUT]);
    if (status == SS$_NORMAL)
        status = region_create(process_self()->aspace, a[LENGTH], (uint32_t)a[PROT],
                               (uint32_t)a[FLAGS], a[START], privileged(), &v);
    if (status != SS$_NORMAL)
        return status;
    vms_quad_out(a[ID_OUT], v.id);
    vms_range_out(a[VA_OUT], a[LENGTH_OUT], v.start, v.end - v.start);
    return SS$_NORMAL;
}

cond_t vms_delete_region_64(uint64_t id_in, uint64_t acmode, uint64_t va_out, uint64_t length_out)
{
    struct region_view v;
    uint64_t id;
    cond_t status = vms_region_args(id_in, acmode, va_out, length_out, &id);

    if (status == SS$_NORMAL)
        status = region_delete(process_self()->aspace, id, privileged(), &v);
    section_reap();
    if (status == SS$_NORMAL)
        vms_range_out(va_out, length_out, v.start, v.end - v.start);
    return status;
}

cond_t vms_get_region_info(uint64_t block)
{
    enum { FUNCTION, ID, START, RESERVED, BUFFER_LENGTH, BUFFER, LENGTH_OUT, COUNT };
    uint64_t a[VMS_ARGS_MAX], id = 0, n;
    struct region_view v;
    vaddr_t first_free;
    REGSUM sum;
    cond_t status = vms_args(block, COUNT, COUNT, a);

    if (status != SS$_NORMAL)
        return status;
    if ((uint32_t)a[FUNCTION] > VA$_NEXT_REGSUM_BY_VA || a[RESERVED] != 0)
        return SS$_BADPARAM;
    if ((uint32_t)a[FUNCTION] == VA$_REGSUM_BY_ID)
        status = vms_quad_in(a[ID], &id);
    n = MIN(a[BUFFER_LENGTH], (uint64_t)sizeof(sum));
    if (status == SS$_NORMAL && n && probe_write(a[BUFFER], n) != 0)
        status = SS$_ACCVIO;
    if (status == SS$_NORMAL)
        status = vms_probe_quad(a[LENGTH_OUT], true);
    if (status == SS$_NORMAL)
        status = region_query(process_self()->aspace, (uint32_t)a[FUNCTION], id, a[START], &v,
                              &first_free);
    if (status != SS$_NORMAL)
        return status;
    sum = (REGSUM){.va$q_region_id = v.id,
                   .va$l_flags = v.flags,
                   .va$l_region_protection = v.prot,
                   .va$pq_start_va = (void *)v.start,
                   .va$q_region_size = v.end - v.start,
                   .va$pq_first_free_va = (void *)first_free};
    if (n && copyout(a[BUFFER], &sum, n) != 0)
        return SS$_ACCVIO;
    vms_quad_out(a[LENGTH_OUT], n);
    return n < sizeof(sum) ? SS$_BUFFEROVF : SS$_NORMAL;
}

cond_t vms_deltva_64(uint64_t id_in, uint64_t start, uint64_t length, uint64_t acmode,
                     uint64_t va_out, uint64_t length_out)
{
    uint64_t id;
    cond_t status = vms_region_args(id_in, acmode, va_out, length_out, &id);

    if (status == SS$_NORMAL)
        status = region_delete_va(process_self()->aspace, id, start, length);
    section_reap();
    if (status == SS$_NORMAL)
        vms_range_out(va_out, length_out, start, length);
    return status;
}
