/*
 * Pool blocks that are charged to a user (kernel/quota): those that outlive the call that allocates
 * them, and that no other quota bounds. The owner keeps the number of the account with the block
 * and frees it with that. Otherwise as pool.h; NULL also when the account is at its limit. Only the
 * user's own counter is charged: what is kept for user 0 the pools themselves keep.
 */
#ifndef MM_POOL_POOL_CHARGED_H
#define MM_POOL_POOL_CHARGED_H

#include "kernel/quota/quota.h"
#include "mm/pool/pool.h"

/* The number of the account that the current thread charges. */
static inline uint16_t pool_account(void) { return (uint16_t)(account_self() - accounts); }

/* account: pool_account(), or the number of another account to which the caller has a reference. */
static inline void *npp_alloc_charged(size_t nbytes, uint16_t account)
{
    void *p;

    if (unlikely(!quota_count_take(&accounts[account].count[QUOTA_NONPAGED], nbytes)))
        return NULL;
    p = npp_alloc(nbytes);
    if (unlikely(!p))
        quota_count_give(&accounts[account].count[QUOTA_NONPAGED], nbytes);
    return p;
}

static inline void npp_free_charged(void *p, size_t nbytes, uint16_t account)
{
    quota_count_give(&accounts[account].count[QUOTA_NONPAGED], nbytes);
    npp_free(p, nbytes);
}

/* A structure of nonpaged pool that is counted as one of a kind of its own, instead of its bytes.
   NULL: *full tells whether the account is at its limit. */
static inline void *npp_alloc_counted(size_t nbytes, enum quota_kind kind, uint16_t account,
                                      bool *full)
{
    void *p;

    *full = !quota_count_take(&accounts[account].count[kind], 1);
    if (unlikely(*full))
        return NULL;
    p = npp_alloc(nbytes);
    if (unlikely(!p))
        quota_count_give(&accounts[account].count[kind], 1);
    return p;
}

static inline void npp_free_counted(void *p, size_t nbytes, enum quota_kind kind, uint16_t account)
{
    quota_count_give(&accounts[account].count[kind], 1);
    npp_free(p, nbytes);
}

static inline void *pgd_alloc_charged(size_t nbytes, uint16_t account)
{
    void *p;

    if (unlikely(!quota_count_take(&accounts[account].count[QUOTA_PAGED], nbytes)))
        return NULL;
    p = pgd_alloc(nbytes);
    if (unlikely(!p))
        quota_count_give(&accounts[account].count[QUOTA_PAGED], nbytes);
    return p;
}

static inline void pgd_free_charged(void *p, size_t nbytes, uint16_t account)
{
    quota_count_give(&accounts[account].count[QUOTA_PAGED], nbytes);
    pgd_free(p, nbytes);
}

#endif
