/*
 * Leaks caused on purpose (MEGA_INFO_TEST_LEAK): one of each kind that the checks at the end of a
 * run with --validate have to find (kernel/proc/leaks.h, mm/check/validate.h).
 */
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/string.h"
#include "kernel/io/tree.h"
#include "kernel/lnm/lnm.h"
#include "kernel/proc/ast.h"
#include "kernel/proc/fdtable.h"
#include "kernel/proc/process.h"
#include "kernel/sched/timer.h"
#include "kernel/sys/vms/device.h"
#include "kernel/sys/vms/terminal.h"
#include "kernel/test/test_private.h"
#include "mm/object/object.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/kstack.h"
#include "mm/section/section.h"
#include "mm/space/aspace.h"

#define ODD_BYTES   1000u /* the size of no structure */
#define LARGE_BYTES (3 * PAGE_SIZE)

/* Each function returns true when it has leaked something. */
static bool page(void)
{
    pfn_t pfn;

    return page_alloc(0, PAGE_T_PROCESS, RAD_ANY, &pfn) == 0;
}

static bool nonpaged(void) { return npp_alloc(ODD_BYTES) != NULL; }
static bool large(void) { return npp_alloc(LARGE_BYTES) != NULL; }
static bool paged(void) { return pgd_alloc(ODD_BYTES) != NULL; }
static bool promise(void) { return fluid_promise(1) == 0; }

static bool stack(void)
{
    uint64_t top;

    return kstack_alloc(0, &top) != 0;
}

static void sleep_for_ever(void *arg)
{
    (void)arg;
    thread_sleep_ns(UINT64_MAX / 2);
}

static bool thread(void)
{
    struct thread *t = thread_create("forgotten", sleep_for_ever, NULL, PRIO_NORMAL);

    if (t)
        thread_start(t);
    return t != NULL;
}

static bool inode_reference(void)
{
    const struct io_cred root = {0};
    struct inode *i;

    return tree_lookup(&root, NULL, "/etc/complete", true, &i) == 0;
}

static bool object_reference(void)
{
    const struct io_cred root = {0};
    struct inode *i;

    if (tree_lookup(&root, NULL, "/etc/complete", true, &i) != 0)
        return false;
    object_ref(i->object);
    inode_unref(i);
    return true;
}

/* Keep the caller's standard output open. */
static bool file_reference(void)
{
    __atomic_fetch_add(&process_self()->files->file[1]->refs, 1, __ATOMIC_RELAXED);
    return true;
}

static bool section_share(void) { return section_nth(0) != NULL; }

static bool aspace_reference(void)
{
    aspace_ref(process_self()->aspace);
    return true;
}

static bool job_member(void) { return lnm_space_fork(process_self()->names) != NULL; }

/* ---- of services ---- */

#define NOWHERE PAGE_SIZE /* a user address that nothing of this is ever written to */

/* A channel to a new temporary mailbox, in no table of channels; NULL: none can be had. */
static struct qio_channel *box(struct mailbox_who *who)
{
    const struct mailbox_request r = {.maxmsg = 64, .bufquo = 64};
    struct qio_channel *c;

    if (vms_mailbox_who(who) != SS$_NORMAL || mailbox_create(who, &r, true, true, &c) != SS$_NORMAL)
        return NULL;
    return c;
}

static bool mailbox(void)
{
    struct mailbox_who who;
    struct qio_channel *c = box(&who);

    if (!c)
        return false;
    mailbox_ref(mailbox_of(c));
    qio_channel_drop(c, QIO_CLOSE);
    return true;
}

static bool channel(void)
{
    struct mailbox_who who;

    return box(&who) != NULL;
}

/* A read that waits when its channel is lost. */
static bool mailbox_request(void)
{
    const struct qio_completion done = {.owner = process_events(), .efn = EVENT_NONE};
    const struct mailbox_read read = {0};
    struct mailbox_who who;
    struct qio_channel *c = done.owner ? box(&who) : NULL;

    return c && mailbox_read(c, &who, &done, &read) == SS$_NORMAL;
}

static void keep(struct event_request *r) { (void)r; }

/* An AST that is charged to the process, and never posted. */
static bool ast(void)
{
    struct event_owner *o = process_events();
    struct event_request *r = o ? npp_alloc_zeroed(ODD_BYTES) : NULL;

    if (!r)
        return false;
    r->release = keep;
    return event_request_begin(r, o, EVENT_NONE, 0, NOWHERE, 0) == SS$_NORMAL;
}

static bool terminal_read_request(void)
{
    struct vms_qio q = {.done = {.owner = process_events(), .efn = EVENT_NONE}};
    struct terminal_request *r;

    return q.done.owner && vms_mailbox_who(&q.who) == SS$_NORMAL &&
           terminal_request_make(&q, &r) == SS$_NORMAL;
}

static const struct {
    const char *name;
    bool (*lose)(void);
} leaks[] = {
    {"page", page},
    {"nonpaged", nonpaged},
    {"large", large},
    {"paged", paged},
    {"promise", promise},
    {"stack", stack},
    {"thread", thread},
    {"inode_reference", inode_reference},
    {"object_reference", object_reference},
    {"file_reference", file_reference},
    {"section_share", section_share},
    {"aspace_reference", aspace_reference},
    {"job_member", job_member},
    {"mailbox", mailbox},
    {"channel", channel},
    {"mailbox_request", mailbox_request},
    {"ast", ast},
    {"terminal_request", terminal_read_request},
};

cond_t test_leak(int64_t index, void *out)
{
    struct mega_breach *m = out;
    uint64_t n = (uint64_t)index & ~(uint64_t)MEGA_TEST_COMMIT;

    if (process_euid(process_self()) != 0)
        return SS$_NOPRIV;
    if (n >= ARRAY_SIZE(leaks))
        return SS$_NONEXPR;
    str_copy(m->name, leaks[n].name, sizeof(m->name));
    return !(index & MEGA_TEST_COMMIT) || leaks[n].lose() ? SS$_NORMAL : SS$_ABORT;
}
