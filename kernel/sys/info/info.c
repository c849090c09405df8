/*
 * MEGA_SYS_INFO, the information that `show`, tests and benchmarks use: the table of items, and the
 * items on memory, pools, reservations, translation buffers, parameters, PCI, disks and page files.
 * Each structure is filled in on the kernel stack and copied out whole or, if the program's buffer
 * is shorter, truncated. There is no lock here but that of a disk's counts, and nothing is
 * allocated.
 */
#include "kernel/sys/info/info.h"
#include "kernel/base/abi/megalith/failure.h"
#include "kernel/sched/ipi.h"

#include "arch/alpha/clipper/pci.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/ssdef.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/block/block.h"
#include "kernel/block/gpt.h"
#include "kernel/event/event.h"
#include "kernel/proc/process.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/timer.h"
#include "kernel/trace/trace.h"
#include "mm/pagefile/pagefile.h"
#include "mm/phys/fluid.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pt/kstack.h"
#include "mm/pt/pt_system.h"
#include "mm/pt/shootdown.h"
#include "mm/pt/vhpt.h"
#include "mm/section/reserved.h"
#include "sysman/params.h"

union answer {
    struct mega_memory memory;
    struct mega_pool pool;
    struct mega_reserved reserved;
    struct mega_section section;
    struct mega_process process;
    struct mega_cpu cpu;
    struct mega_region region;
    struct mega_tb tb;
    struct mega_param param;
    struct mega_pci pci;
    struct mega_rad rad;
    struct mega_lock lock;
    struct mega_ipl ipl;
    struct mega_held hold;
    struct mega_validate validate;
    struct mega_global global;
    struct mega_trace trace;
    struct mega_caller caller;
    struct mega_pc_sample pc_sample;
    struct mega_states states;
    struct mega_pool_list pool_list;
    struct mega_call call;
    struct mega_account account;
    struct mega_disk disk;
    struct mega_events events;
    struct mega_cluster cluster;
    struct mega_accounting accounting;
    struct mega_page_file page_file;
};

static cond_t info_memory(int64_t index, void *out)
{
    struct mega_memory *m = out;
    struct page_stats p;
    struct pool_stats npp, pgd;

    if (index != 0)
        return SS$_NONEXPR;
    page_stats(&p);
    npp_stats(&npp);
    pgd_stats(&pgd);
    *m = (struct mega_memory){.page_size = PAGE_SIZE,
                              .total = p.total,
                              .free = p.free,
                              .zeroed = p.zeroed,
                              .never_used = p.never_used,
                              .cached = p.cached,
                              .modified = p.modified,
                              .bad = p.bad,
                              .active = p.active,
                              .reserved = p.reserved,
                              .fluid = fluid_count(),
                              .fluid_minimum = fluid_minimum(),
                              .promised_unused = fluid_promised_unused(),
                              .pt_pages = info_process_pt_pages(),
                              .kernel_pages = (npp.size + pgd.in_use) / PAGE_SIZE + vhpt_pages(),
                              .vhpt_pages = vhpt_pages(),
                              .uptime_ns = clock_ns(),
                              .system_pages = pt_system_tables() + kstack_link_pages()};
    return SS$_NORMAL;
}

static cond_t info_pool(int64_t index, void *out)
{
    struct mega_pool *m = out;
    struct pool_stats s;

    if (index < 0 || index > 1)
        return SS$_NONEXPR;
    if (index == 0)
        npp_stats(&s);
    else
        pgd_stats(&s);
    *m = (struct mega_pool){.size = s.size,
                            .free = s.free,
                            .in_use = s.in_use,
                            .largest = s.largest,
                            .smallest = s.smallest,
                            .free_blocks = s.free_blocks,
                            .free_blocks_le64 = s.free_blocks_le64,
                            .lookaside_bytes = s.lookaside_bytes,
                            .lal_size = s.lal_size,
                            .direct = s.direct,
                            .pages = index == 0 ? npp_total_pages() : pgd_present_pages()};
    for (unsigned i = 0; i < s.nlists; i++) {
        struct pool_list_stats l;

        if (index == 0)
            npp_list_stats(i, &l);
        else
            pgd_list_stats(i, &l);
        m->requests += l.requests;
        m->hits += l.hits;
    }
    return SS$_NORMAL;
}

static cond_t info_pool_list(int64_t index, void *out)
{
    uint64_t pool = (uint64_t)index >> 32, list = index & UINT32_MAX;
    struct mega_pool_list *m = out;
    struct pool_list_stats l;

    if (pool > 1 || list >= (pool ? pgd_lists() : npp_lists()))
        return SS$_NONEXPR;
    if (pool == 0)
        npp_list_stats((unsigned)list, &l);
    else
        pgd_list_stats((unsigned)list, &l);
    *m = (struct mega_pool_list){.size = (list + 1) * 16,
                                 .count = l.count,
                                 .requests = l.requests,
                                 .hits = l.hits,
                                 .frees = l.frees};
    return SS$_NORMAL;
}

static void reserved_one(const struct rmd *r, void *arg)
{
    struct mega_reserved *m = arg;

    *m = (struct mega_reserved){.flags = r->flags,
                                .group = r->group,
                                .npages = r->npages,
                                .npt_pages = r->npt_pages,
                                .used = r->used,
                                .pt_used = r->pt_used,
                                .first_pfn = r->first.n,
                                .pt_first_pfn = r->pt_first.n};
    str_copy(m->name, r->name, sizeof(m->name));
}

static cond_t info_reserved(int64_t index, void *out)
{
    return index >= 0 ? rmd_nth((uint64_t)index, reserved_one, out) : SS$_NONEXPR;
}

static cond_t info_tb(int64_t index, void *out)
{
    struct mega_tb *m = out;
    struct tb_stats s;

    _Static_assert(TB_REASONS <= ARRAY_SIZE(m->flushes), "every reason has its counter");
    if (index != 0)
        return SS$_NONEXPR;
    tb_stats(&s);
    for (unsigned i = 0; i < TB_REASONS; i++)
        m->flushes[i] = s.flushes[i];
    m->ipis = s.ipis;
    m->skipped = s.skipped;
    m->full = s.full;
    return SS$_NORMAL;
}

static cond_t info_param(int64_t index, void *out)
{
    const struct sysparam_info *p = index >= 0 ? sysparam_info((unsigned)index) : NULL;
    struct mega_param *m = out;

    if (!p)
        return SS$_NONEXPR;
    str_copy(m->name, p->name, sizeof(m->name));
    str_copy(m->older_name, sysparam_older_name((unsigned)index), sizeof(m->older_name));
    str_copy(m->unit, p->unit, sizeof(m->unit));
    m->value = sysparam((enum sysparam_id)index);
    m->dflt = p->dflt;
    m->min = p->min;
    m->max = p->max;
    m->dynamic = p->dynamic;
    return SS$_NORMAL;
}

static cond_t info_pci(int64_t index, void *out)
{
    const struct pci_function *f = index >= 0 ? pci_get((unsigned)index) : NULL;
    struct mega_pci *m = out;

    _Static_assert(ARRAY_SIZE(m->bar) == PCI_BARS, "every BAR has its place");
    if (!f)
        return SS$_NONEXPR;
    *m = (struct mega_pci){.bus = f->bus,
                           .slot = f->slot,
                           .func = f->func,
                           .vendor = f->vendor,
                           .device = f->device,
                           .class_code = f->class_code,
                           .irq = f->irq};
    memcpy(m->bar, f->bar, sizeof(m->bar));
    return SS$_NORMAL;
}

static cond_t info_rad(int64_t index, void *out)
{
    struct mega_rad *m = out;
    struct page_stats s;

    if (index < 0 || index >= rad_count)
        return SS$_NONEXPR;
    page_rad_stats((unsigned)index, &s, &m->first_pfn, &m->end_pfn);
    m->cpus = rad_cpus((unsigned)index) & __atomic_load_n(&cpu_online_mask, __ATOMIC_RELAXED);
    m->total = s.total;
    m->free = s.free;
    m->zeroed = s.zeroed;
    m->never_used = s.never_used;
    m->cached = s.cached;
    m->modified = s.modified;
    m->bad = s.bad;
    m->active = s.active;
    m->reserved = s.reserved;
    return SS$_NORMAL;
}

static cond_t info_account(int64_t index, void *out)
{
    struct mega_account *m = out;
    const struct account *a = &accounts[index];

    _Static_assert((int)QUOTA_KINDS == (int)MEGA_QUOTA_KINDS, "every kind has its place");
#define QUOTA(kind_, parameter_, unit_, what_) \
    _Static_assert((int)QUOTA_##kind_ == (int)MEGA_QUOTA_##kind_, "and its number");
#include "kernel/base/abi/megalith/quota.def"
#undef QUOTA
    _Static_assert(MEGA_UNLIMITED == QUOTA_UNLIMITED, "and no limit means the same");
    if (index < 0 || index >= ACCOUNTS_MAX)
        return SS$_NONEXPR;
    m->uid = a->uid;
    for (unsigned k = 0; k < QUOTA_KINDS; k++) {
        m->used[k] = __atomic_load_n(&a->count[k].used, __ATOMIC_RELAXED);
        m->limit[k] = __atomic_load_n(&a->count[k].limit, __ATOMIC_RELAXED);
    }
    return SS$_NORMAL;
}

static cond_t info_page_file(int64_t index, void *out)
{
    struct mega_page_file *m = out;
    struct pagefile_stats s;
    unsigned k;

    for (k = 0; k < PAGEFILES_MAX; k++)
        if (pagefile_stats(k, &s) && index-- == 0)
            break;
    if (k == PAGEFILES_MAX)
        return SS$_NONEXPR;
    *m = (struct mega_page_file){.slots = s.slots,
                                 .used = s.used,
                                 .bad = s.bad,
                                 .reads = s.reads,
                                 .writes = s.writes,
                                 .errors = s.errors,
                                 .closing = s.closing};
    memcpy(m->name, s.name, sizeof(s.name));
    return SS$_NORMAL;
}

static void disk_counts(struct block_disk *d, struct mega_disk *m)
{
    ipl_t ipl = spin_lock(&d->lock);

    m->flags |= d->failed ? MEGA_DISK_FAILED : 0;
    m->with_device = d->nstarted;
    for (unsigned k = 0; k < BLOCK_KINDS; k++) {
        m->requests[k] = d->count[k].requests;
        m->bytes[k] = d->count[k].bytes;
        m->errors[k] = d->count[k].errors;
    }
    m->retries = d->retries;
    m->late = d->late;
    spin_unlock(&d->lock, ipl);
}

static cond_t info_disk(int64_t index, void *out)
{
    struct mega_disk *m = out;
    const struct block_volume *v = NULL;
    unsigned minor;

    _Static_assert((int)BLOCK_KINDS == (int)MEGA_DISK_KINDS, "every kind has its place");
    for (minor = 0; minor < BLOCK_DISKS * BLOCK_VOLUMES; minor++)
        if ((v = block_volume(minor)) != NULL && index-- == 0)
            break;
    if (minor == BLOCK_DISKS * BLOCK_VOLUMES)
        return SS$_NONEXPR;
    memcpy(m->name, v->name, sizeof(v->name));
    m->first = v->first;
    m->sectors = v->sectors;
    m->sector_bytes = v->disk->sector_bytes;
    m->device_number = BLOCK_DEVICE_MAJOR << 8 | minor;
    m->flags = (v->disk->read_only ? MEGA_DISK_READ_ONLY : 0) |
               (v->disk->has_cache ? MEGA_DISK_CACHE : 0);
    if (minor % BLOCK_VOLUMES)
        m->flags |= MEGA_DISK_PARTITION;
    m->flags |= (v == block_system(GPT_CONFIG) ? MEGA_DISK_CONFIG : 0) |
                (v == block_system(GPT_FILES) ? MEGA_DISK_FILES : 0) |
                (v == block_system(GPT_PAGING) ? MEGA_DISK_PAGING : 0);
    disk_counts(v->disk, m);
    if (minor % BLOCK_VOLUMES) {
        memset(m->requests, 0, sizeof(m->requests));
        memset(m->bytes, 0, sizeof(m->bytes));
        memset(m->errors, 0, sizeof(m->errors));
        m->with_device = 0;
        m->retries = m->late = 0;
    }
    return SS$_NORMAL;
}

static cond_t info_cluster(int64_t index, void *out)
{
    struct mega_cluster *m = out;
    struct event_cluster_state s;

    _Static_assert(EVENT_CLUSTER_NAME < sizeof(m->name), "a name and its null have room");
    if (!(process_privileges(process_self()) & PRV_CMKRNL))
        return SS$_NOCMKRNL;
    if (index < 0 || !event_cluster_nth((uint64_t)index, &s))
        return SS$_NONEXPR;
    memcpy(m->name, s.name.text, s.name.length);
    m->length = s.name.length;
    m->uic_group = s.uic_group;
    m->uic_member = s.uic_member;
    m->permanent = s.permanent;
    m->owner_only = s.owner_only;
    m->associations = s.associations;
    return SS$_NORMAL;
}

/* ---- what only the privileged see ---- */

/*
 * Without CMKRNL nobody learns where anything lies in physical memory or in the kernel. Of other
 * users' processes info_process leaves out what `show system` does not list. Traces, the self-check
 * and failure reports require CMKRNL altogether; names of routines are no secret.
 */
static void hide_places(enum mega_item item, union answer *a)
{
    switch (item) {
    case MEGA_INFO_RESERVED:
        a->reserved.first_pfn = a->reserved.pt_first_pfn = 0;
        break;
    case MEGA_INFO_RAD:
        a->rad.first_pfn = a->rad.end_pfn = 0;
        break;
    case MEGA_INFO_PCI:
        memset(a->pci.bar, 0, sizeof(a->pci.bar));
        break;
    case MEGA_INFO_ACCOUNT: /* of other users' only that they exist */
        if (a->account.uid != process_self()->uid)
            memset(a->account.used, 0, sizeof(a->account.used));
        break;
    default:
        break;
    }
}

static struct { /* constant after boot */
    cond_t (*fn)(int64_t index, void *out);
    size_t nbytes;
} items[MEGA_INFO_LAST + 1] = {
    [MEGA_INFO_MEMORY] = {info_memory, sizeof(struct mega_memory)},
    [MEGA_INFO_POOL] = {info_pool, sizeof(struct mega_pool)},
    [MEGA_INFO_RESERVED] = {info_reserved, sizeof(struct mega_reserved)},
    [MEGA_INFO_SECTION] = {info_section, sizeof(struct mega_section)},
    [MEGA_INFO_PROCESS] = {info_process, sizeof(struct mega_process)},
    [MEGA_INFO_CPU] = {info_cpu, sizeof(struct mega_cpu)},
    [MEGA_INFO_REGION] = {info_region, sizeof(struct mega_region)},
    [MEGA_INFO_TB] = {info_tb, sizeof(struct mega_tb)},
    [MEGA_INFO_PARAM] = {info_param, sizeof(struct mega_param)},
    [MEGA_INFO_PCI] = {info_pci, sizeof(struct mega_pci)},
    [MEGA_INFO_SPINLOCK] = {trace_spinlock, sizeof(struct mega_lock)},
    [MEGA_INFO_MUTEX] = {trace_mutex, sizeof(struct mega_lock)},
    [MEGA_INFO_IPL] = {trace_ipl, sizeof(struct mega_ipl)},
    [MEGA_INFO_HOLD] = {trace_hold, sizeof(struct mega_held)},
    [MEGA_INFO_GLOBAL] = {info_global, sizeof(struct mega_global)},
    [MEGA_INFO_RAD] = {info_rad, sizeof(struct mega_rad)},
    [MEGA_INFO_TRACE] = {trace_state, sizeof(struct mega_trace)},
    [MEGA_INFO_CALLER] = {trace_caller, sizeof(struct mega_caller)},
    [MEGA_INFO_PC_SAMPLE] = {trace_pc_sample, sizeof(struct mega_pc_sample)},
    [MEGA_INFO_STATES] = {info_states, sizeof(struct mega_states)},
    [MEGA_INFO_POOL_LIST] = {info_pool_list, sizeof(struct mega_pool_list)},
    [MEGA_INFO_ACCOUNT] = {info_account, sizeof(struct mega_account)},
    [MEGA_INFO_DISK] = {info_disk, sizeof(struct mega_disk)},
    [MEGA_INFO_FAULT] = {trace_fault, sizeof(struct mega_fault)},
    [MEGA_INFO_EVENTS] = {trace_events, sizeof(struct mega_events)},
    [MEGA_INFO_PAGE_FILE] = {info_page_file, sizeof(struct mega_page_file)},
    [MEGA_INFO_CLUSTER] = {info_cluster, sizeof(struct mega_cluster)},
    [MEGA_INFO_ACCOUNTING] = {info_accounting, sizeof(struct mega_accounting)},
    [MEGA_INFO_VALIDATE] = {info_validate, sizeof(struct mega_validate)},
    [MEGA_INFO_CRASH] = {info_crash, 0},
};

void info_register(enum mega_item item, cond_t (*fn)(int64_t index, void *out), size_t nbytes)
{
    KASSERT(item < ARRAY_SIZE(items) && !items[item].fn && nbytes <= sizeof(union answer),
            "an item has one function, and its answer has room");
    items[item].fn = fn;
    items[item].nbytes = nbytes;
}

cond_t mega_sys_info(uint64_t item, uint64_t index, uint64_t buffer, uint64_t length)
{
    union answer a;
    cond_t status;

    if (item >= ARRAY_SIZE(items) || !items[item].fn)
        return SS$_BADPARAM;
    memset(&a, 0, sizeof(a));
    status = items[item].fn((int64_t)index, &a);
    if (status != SS$_NORMAL)
        return status;
    if (!(process_privileges(process_self()) & PRV_CMKRNL))
        hide_places((enum mega_item)item, &a);
    if (copyout(buffer, &a, MIN(length, (uint64_t)items[item].nbytes)) != 0)
        return SS$_ACCVIO;
    return SS$_NORMAL;
}
