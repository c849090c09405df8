/* Completion of services that complete before they return. */
#include "kernel/sys/vms/complete.h"

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/iosbdef.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/proc/ast.h"
#include "mm/pool/pool_charged.h"

_Static_assert(sizeof(IOSB) == 8, "a status block is a quadword");

struct vms_ast_request { /* in nonpaged pool */
    struct event_request request;
    uint16_t account;
};

static void release(struct event_request *r)
{
    struct vms_ast_request *a = container_of(r, struct vms_ast_request, request);

    npp_free_charged(a, sizeof(*a), a->account);
}

cond_t vms_ast_check(vaddr_t astadr)
{
    bool known = __atomic_load_n(&process_self()->ast_return, __ATOMIC_RELAXED) != 0;

    return !astadr || known ? SS$_NORMAL : SS$_BADPARAM;
}

static cond_t begin_ast(struct vms_completion *c, vaddr_t astadr, uint64_t astprm)
{
    uint16_t account = pool_account();
    struct vms_ast_request *a;
    cond_t status = vms_ast_check(astadr);

    if (status != SS$_NORMAL)
        return status;
    a = npp_alloc_charged(sizeof(*a), account);
    if (!a)
        return SS$_INSFMEM;
    a->account = account;
    a->request.finish = NULL;
    a->request.release = release;
    status = event_request_begin(&a->request, c->owner, c->efn, c->iosb, astadr, astprm);
    if (status == SS$_NORMAL)
        c->ast = a;
    else
        release(&a->request);
    return status;
}

static cond_t clear_flag(struct event_owner *o, uint32_t efn)
{
    cond_t status = efn == EVENT_NONE ? SS$_NORMAL : event_flag_clear(o, efn);

    return cond_ok(status) ? SS$_NORMAL : status;
}

cond_t vms_completion_begin(struct vms_completion *c, uint64_t efn, vaddr_t iosb, vaddr_t astadr,
                            uint64_t astprm)
{
    *c = (struct vms_completion){.owner = process_events(), .efn = vms_efn(efn), .iosb = iosb};
    if (!c->owner)
        return SS$_INSFMEM;
    if (iosb && probe_write(iosb, sizeof(IOSB)) != 0)
        return SS$_ACCVIO;
    return astadr ? begin_ast(c, astadr, astprm) : clear_flag(c->owner, c->efn);
}

cond_t vms_completion_end(struct vms_completion *c, cond_t status, bool failed)
{
    IOSB block = {.iosb$l_getxxi_status = cond_value(status)};

    if (failed) {
        if (c->ast) {
            event_request_cancel(&c->ast->request);
            release(&c->ast->request);
        }
        return status;
    }
    if (c->iosb && copyout(c->iosb, &block, sizeof(block)) != 0)
        status = SS$_ACCVIO;
    if (c->ast)
        event_post_self(&c->ast->request, block.iosb$l_getxxi_status);
    else if (c->efn != EVENT_NONE)
        (void)event_flag_set(c->owner, c->efn);
    return status;
}
