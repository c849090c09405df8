/*
 * Accounts: what each user holds of everything that users can pile up, and how much of it they may
 * hold. A user is a real user id. kernel/quota/README.md describes the rules.
 *
 * Whoever makes an object charges it first and remembers the account with the object; whoever frees
 * the object releases the charge of that account. So the right account gets it back, although the
 * object was inherited or passed on, or its process has changed its user id since.
 */
#ifndef KERNEL_QUOTA_QUOTA_H
#define KERNEL_QUOTA_QUOTA_H

#include "kernel/base/types.h"

enum quota_kind {
#define QUOTA(kind_, parameter_, unit_, what_) QUOTA_##kind_,
#include "kernel/base/abi/megalith/quota.def"
#undef QUOTA
    QUOTA_KINDS
};

#define QUOTA_UNLIMITED ((uint64_t)INT64_MAX)

struct quota_count {
    uint64_t used;  /* atomic; above limit for a moment while a charge is being refused */
    uint64_t limit; /* atomic; at most QUOTA_UNLIMITED */
};

/* In a table of ACCOUNTS_MAX, so the memory of an account can always be read. Aligned, so that
 * a counter has a short number (quota_number). */
struct account {
    struct quota_count count[QUOTA_KINDS];
    int64_t page_floor; /* fluid pages that its allocations must leave; atomic */
    int64_t file_floor; /* those that contents of its files must leave; atomic */
    uint32_t uid;       /* constant while refs is not 0 */
    uint32_t refs;      /* atomic; raised from 0 under the table's lock only */
    uint32_t next;      /* number of the next account in its hash chain, 0: none; table's lock */
    uint32_t exempt;    /* has no limits and may use the reserve; constant */
} __attribute__((aligned(16)));

/* Users that can have processes or objects at the same time. One that has neither loses its
 * account when another one needs it. Raising this costs sizeof(struct account) each. */
#define ACCOUNTS_MAX 1024u

extern struct account accounts[ACCOUNTS_MAX];
/* Account 0 belongs to user 0 and to the kernel itself. It counts, but limits nothing. */
#define account_system (&accounts[0])

/* ---- charging: lock-free, any IPL ---- */

/* Give n of c back. Relaxed, like all accesses to counters: the count says how much, and publishes
 * nothing; and whoever releases a charge does not touch the account afterwards, so that it may go
 * to another user at once. */
static inline void quota_count_give(struct quota_count *c, uint64_t n)
{
    __atomic_fetch_sub(&c->used, n, __ATOMIC_RELAXED);
}

/* Add n (up to QUOTA_UNLIMITED) to c unless that would exceed its limit. Added first and taken back
 * if it was too much, which is shorter than to compare and swap: what is granted never exceeds the
 * limit, because each addition sees all that were granted before it; but of two at the edge, one of
 * which would fit, both may be refused. */
static inline bool quota_count_take(struct quota_count *c, uint64_t n)
{
    uint64_t used = __atomic_add_fetch(&c->used, n, __ATOMIC_RELAXED);

    if (likely(used <= __atomic_load_n(&c->limit, __ATOMIC_RELAXED)))
        return true;
    quota_count_give(c, n);
    return false;
}

/* Charge n of a kind to a, to which the caller has a reference, directly or by its process. False:
 * the user's limit, or what all users together may have, would be exceeded; nothing was charged. */
bool account_charge(struct account *a, enum quota_kind kind, uint64_t n);
/* Charge a although it may exceed the limit, which then refuses the next charge: for what cannot be
 * refused any more. */
void account_charge_forced(struct account *a, enum quota_kind kind, uint64_t n);
/* Release what was charged. The charge itself keeps the account: no reference is needed. */
void account_release(struct account *a, enum quota_kind kind, uint64_t n);

/* Would a charge of n be refused? For the choice of an error after one was; it may have changed. */
static inline bool account_is_full(const struct account *a, enum quota_kind kind, uint64_t n)
{
    return __atomic_load_n(&a->count[kind].used, __ATOMIC_RELAXED) + n >
           __atomic_load_n(&a->count[kind].limit, __ATOMIC_RELAXED);
}

/* How much more c grants. For display; it may have changed. */
static inline uint64_t quota_room(const struct quota_count *c)
{
    uint64_t used = __atomic_load_n(&c->used, __ATOMIC_RELAXED);
    uint64_t limit = __atomic_load_n(&c->limit, __ATOMIC_RELAXED);

    return used < limit ? limit - used : 0;
}

/* The number of a counter, for objects in which a pointer has no room, and back. */
static inline uint32_t quota_number(const struct quota_count *c)
{
    return (uint32_t)(((uintptr_t)c - (uintptr_t)accounts) / sizeof(struct quota_count));
}
static inline struct quota_count *quota_counter(uint32_t number)
{
    return (struct quota_count *)accounts + number;
}

/* The account of a counter. */
static inline struct account *quota_account(uint32_t number)
{
    return &accounts[number / (sizeof(struct account) / sizeof(struct quota_count))];
}

/* ---- accounts ---- */

/* The account of a user, with a reference. NULL: ACCOUNTS_MAX users have processes or objects.
 * IPL up to IPL_ASTDEL; takes a spinlock of RANK_QUOTA. */
struct account *account_get(uint32_t uid);
/* One more reference to an account to which the caller has one. Any IPL. */
void account_ref(struct account *a);
void account_unref(struct account *a);
/* Call fn for each account that holds something or has a reference, in no order. The counts may
 * change meanwhile. No lock is held. */
void account_for_each(void (*fn)(const struct account *a, void *arg), void *arg);

/* ---- limits ---- */

struct quota_limits {
    uint64_t each[QUOTA_KINDS]; /* of each user but user 0 */
    int64_t page_floor;         /* pages kept for user 0 */
};

/* What users other than user 0 hold together, and may hold: what there is, less what is kept for
 * user 0. */
extern struct quota_count quota_users[QUOTA_KINDS];
/* Set the limits of all accounts but account 0, now and in future. IPL up to IPL_ASTDEL; takes a
 * spinlock of RANK_QUOTA. */
void account_set_limits(const struct quota_limits *limits);
/* The same with the limits that follow from the system parameters, after one was set (limits.c). */
void quota_set_limits(void);
/* The limit of a kind that those parameters give each user but user 0. */
uint64_t quota_user_limit(enum quota_kind kind);
/* Boot: there are `total` of a kind. Keep a share of them for user 0. */
void quota_boot_total(enum quota_kind kind, uint64_t total);
/* Boot: there are npages of memory. After the system parameters are set. */
void quota_boot_memory(uint64_t npages);
/* Pages that every user but user 0 must leave. */
uint64_t quota_page_floor(void);
/* npages more (or less, if negative) can be in page files: half of them are each user's. */
void quota_page_file(int64_t npages);
/* What a kind is. */
const char *quota_name(enum quota_kind kind);

#include "kernel/quota/current.h"

#endif
