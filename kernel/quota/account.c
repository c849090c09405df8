/*
 * The table of accounts, and charging of kinds other than pages (mm/phys/page_quick.h) and pool
 * (mm/pool/pool_charged.h). README.md describes the rules.
 *
 * An account is found by a hash of its user id under table_lock, which is held for one chain, or,
 * when a new user needs the account of one that holds nothing any more, for a pass over the table's
 * ACCOUNTS_MAX entries, a few thousand instructions; only user 0 can cause that (setuid).
 *
 * An account without references and with all counts at 0 may go to another user. Nobody can charge
 * it then: a charge needs a reference, and a reference is raised from 0 under table_lock only. So
 * once `refs` is 0 the counts only fall, but for pages that move between memory and page files, and
 * reading them one after the other, twice, is exact enough.
 */
#include "kernel/base/panic.h"
#include "kernel/quota/quota.h"
#include "kernel/sched/spinlock.h"

#define BUCKETS 256u /* chains of four with a full table */

struct account accounts[ACCOUNTS_MAX] = {
    [0] = {
        .refs = 1, .exempt = 1, .count = {[0 ... QUOTA_KINDS - 1] = {.limit = QUOTA_UNLIMITED}}}};
struct quota_count quota_users[QUOTA_KINDS] = {
    [0 ... QUOTA_KINDS - 1] = {.limit = QUOTA_UNLIMITED}};

static struct spinlock table_lock = SPINLOCK_INIT("accounts", RANK_QUOTA, IPL_ASTDEL);
static uint16_t heads[BUCKETS];      /* first account of each chain, 0: none; table_lock */
static uint32_t nused = 1;           /* accounts from here on are new; table_lock */
static struct quota_limits limits = {/* table_lock */
                                     .each = {[0 ... QUOTA_KINDS - 1] = QUOTA_UNLIMITED}};

_Static_assert(sizeof(struct account) % sizeof(struct quota_count) == 0 &&
                   offsetof(struct account, count) == 0,
               "an account begins at a counter's number");
_Static_assert(sizeof(accounts) <= (sizeof(struct quota_count) << 16),
               "a page's entry has room for the number of a counter");

/* ---- charging ---- */

bool account_charge(struct account *a, enum quota_kind kind, uint64_t n)
{
    if (!quota_count_take(&a->count[kind], n))
        return false;
    if (a->exempt || quota_count_take(&quota_users[kind], n))
        return true;
    quota_count_give(&a->count[kind], n);
    return false;
}

void account_charge_forced(struct account *a, enum quota_kind kind, uint64_t n)
{
    __atomic_fetch_add(&a->count[kind].used, n, __ATOMIC_RELAXED);
    if (!a->exempt)
        __atomic_fetch_add(&quota_users[kind].used, n, __ATOMIC_RELAXED);
}

void account_release(struct account *a, enum quota_kind kind, uint64_t n)
{
    KASSERT(__atomic_load_n(&a->count[kind].used, __ATOMIC_RELAXED) >= n,
            "what is released was charged");
    if (!a->exempt)
        quota_count_give(&quota_users[kind], n);
    quota_count_give(&a->count[kind], n);
}

/* ---- accounts ---- */

/* May the account go to another user? */
static bool is_idle(const struct account *a)
{
    if (__atomic_load_n(&a->refs, __ATOMIC_ACQUIRE) != 0)
        return false;
    /* Twice, as a page that goes to a page file, or comes back, is counted by one kind first and no
       longer by the other then: it may come back between the first look at one and that at the
       other. */
    for (unsigned k = 0; k < 2 * QUOTA_KINDS; k++)
        if (__atomic_load_n(&a->count[k % QUOTA_KINDS].used, __ATOMIC_ACQUIRE) != 0)
            return false;
    return true;
}

static void set_limits_locked(struct account *a)
{
    __atomic_store_n(&a->file_floor, limits.page_floor, __ATOMIC_RELAXED);
    if (a->exempt)
        return;
    for (unsigned k = 0; k < QUOTA_KINDS; k++)
        __atomic_store_n(&a->count[k].limit, limits.each[k], __ATOMIC_RELAXED);
    __atomic_store_n(&a->page_floor, limits.page_floor, __ATOMIC_RELAXED);
}

static void unchain_locked(struct account *a)
{
    uint32_t n = (uint32_t)(a - accounts), before = heads[a->uid % BUCKETS];

    if (before == n) {
        heads[a->uid % BUCKETS] = (uint16_t)a->next;
        return;
    }
    while (accounts[before].next != n)
        before = accounts[before].next;
    accounts[before].next = a->next;
}

/* An account for a new user, on no chain. NULL: all are in use. */
static struct account *take_locked(void)
{
    if (nused < ACCOUNTS_MAX)
        return &accounts[nused++];
    for (struct account *a = &accounts[1]; a < &accounts[ACCOUNTS_MAX]; a++)
        if (is_idle(a)) {
            unchain_locked(a);
            return a;
        }
    return NULL;
}

struct account *account_get(uint32_t uid)
{
    struct account *a = account_system;
    ipl_t ipl;
    uint32_t n;

    if (uid == 0) {
        account_ref(a);
        return a;
    }
    ipl = spin_lock(&table_lock);
    for (n = heads[uid % BUCKETS]; n && accounts[n].uid != uid; n = accounts[n].next)
        ;
    a = &accounts[n];
    if (!n && (a = take_locked()) != NULL) {
        a->uid = uid;
        a->next = heads[uid % BUCKETS];
        heads[uid % BUCKETS] = (uint16_t)(a - accounts);
        set_limits_locked(a);
    }
    if (a)
        account_ref(a);
    spin_unlock(&table_lock, ipl);
    return a;
}

void account_ref(struct account *a) { __atomic_fetch_add(&a->refs, 1, __ATOMIC_RELAXED); }

void account_unref(struct account *a)
{
    uint32_t old = __atomic_fetch_sub(&a->refs, 1, __ATOMIC_RELEASE);

    KASSERT(old != 0, "a reference that is dropped exists");
}

void account_for_each(void (*fn)(const struct account *a, void *arg), void *arg)
{
    ipl_t ipl = spin_lock(&table_lock);
    uint32_t n = nused;

    spin_unlock(&table_lock, ipl);
    for (uint32_t i = 0; i < n; i++)
        if (!is_idle(&accounts[i]))
            fn(&accounts[i], arg);
}

/* One account at a time, so that the lock is held briefly; an account that is made meanwhile has
 * the new limits already. */
void account_set_limits(const struct quota_limits *new)
{
    for (uint32_t i = 0; i < ACCOUNTS_MAX; i++) {
        ipl_t ipl = spin_lock(&table_lock);

        limits = *new;
        if (i < nused)
            set_limits_locked(&accounts[i]);
        spin_unlock(&table_lock, ipl);
    }
}
