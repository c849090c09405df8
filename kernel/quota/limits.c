/*
 * The limits of each user, computed from the system parameters and from what the system has.
 *
 * Boot sets the totals; afterwards only the parameters change. Two changes at the same moment may
 * leave some accounts with the limits of either until the next change: privileged callers only.
 */
#include "kernel/quota/quota.h"
#include "sysman/params.h"

/* Of what there is of a kind, only user 0 may have one part in so many. */
#define RESERVE_SHARE 16u
/* Pages kept for user 0 beside the minimum of mm/phys/fluid.h: 1/32 of memory; at least 512, which
 * are 4 MiB: a shell and several programs, with tables and stacks, take some 60 pages each; at most
 * 8,192. */
#define RESERVE_SHIFT 5
#define RESERVE_LEAST 512u
#define RESERVE_MOST  8192u

static uint64_t defaults[QUOTA_KINDS] = {/* of a parameter that is -1; after boot only
                                         that of page files changes; atomic */
                                         [0 ... QUOTA_KINDS - 1] = QUOTA_UNLIMITED};
static uint64_t default_reserve; /* constant after boot */

static const struct kind {
    const char *name;
    enum sysparam_id parameter;
} kinds[QUOTA_KINDS] = {
#define QUOTA(kind_, parameter_, unit_, what_) {what_, SYSPARAM_##parameter_},
#include "kernel/base/abi/megalith/quota.def"
#undef QUOTA
};

const char *quota_name(enum quota_kind kind) { return kinds[kind].name; }

static uint64_t chosen(enum sysparam_id parameter, uint64_t otherwise)
{
    int64_t value = sysparam(parameter);

    return value < 0 ? otherwise : (uint64_t)value;
}

uint64_t quota_user_limit(enum quota_kind kind)
{
    return chosen(kinds[kind].parameter, defaults[kind]);
}

uint64_t quota_page_floor(void) { return chosen(SYSPARAM_ROOT_RESERVE, default_reserve); }

void quota_page_file(int64_t npages)
{
    (void)__atomic_fetch_add(&defaults[QUOTA_PAGE_FILE], (uint64_t)(npages / 2), __ATOMIC_RELAXED);
    quota_set_limits();
}

void quota_set_limits(void)
{
    struct quota_limits limits = {.page_floor = (int64_t)quota_page_floor()};

    for (unsigned k = 0; k < QUOTA_KINDS; k++)
        limits.each[k] = quota_user_limit(k);
    account_set_limits(&limits);
}

void quota_boot_total(enum quota_kind kind, uint64_t total)
{
    total -= total / RESERVE_SHARE;
    quota_users[kind].limit = total;
    /* No user alone can shut out the others. */
    defaults[kind] = MIN(defaults[kind], total / 2);
    quota_set_limits();
}

/* A user's processes may have half of memory, and their files a quarter, so that one user always
 * leaves something to the others. Blocks of nonpaged pool are made of pages too: an eighth of
 * memory. A process takes a kernel stack of 32 KiB, charged to nobody, so a quarter of memory may
 * become stacks. An inode takes about half a kilobyte of the two pools, an open file or a lock
 * an eighth. */
void quota_boot_memory(uint64_t npages)
{
    default_reserve = MIN(MAX(npages >> RESERVE_SHIFT, RESERVE_LEAST), RESERVE_MOST);
    defaults[QUOTA_PAGES] = npages / 2;
    defaults[QUOTA_FILE_PAGES] = npages / 4;
    defaults[QUOTA_PAGE_FILE] = 0; /* there is none yet */
    defaults[QUOTA_NONPAGED] = (npages << PAGE_SHIFT) / 8;
    defaults[QUOTA_INODES] = npages;
    defaults[QUOTA_FILES] = npages;
    defaults[QUOTA_WATCHES] = npages;
    defaults[QUOTA_INOTIFY_WATCHES] = npages / 2;
    /* A search for cycles looks at all of them. */
    defaults[QUOTA_FLIGHTS] = MIN(npages / 16, UINT64_C(4096));
    defaults[QUOTA_LOCKS] = npages;
    defaults[QUOTA_SHARED] = npages / 2;
    defaults[QUOTA_MESSAGE_BYTES] = (npages << PAGE_SHIFT) / 64;
    defaults[QUOTA_REGIONS] = npages;
    defaults[QUOTA_SECTION_MAPS] = npages;
    defaults[QUOTA_PROCESSES] = npages / 16;
    defaults[QUOTA_TIMERS] = npages / 8; /* each process may have one, and timerfds */
    quota_set_limits();
}
