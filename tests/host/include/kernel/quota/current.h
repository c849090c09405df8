/* Host stand-in: each POSIX thread has an account, the system's unless a test sets another one. */
#ifndef KERNEL_QUOTA_CURRENT_H
#define KERNEL_QUOTA_CURRENT_H

#include "kernel/quota/quota.h"

extern __thread struct account *host_account; /* NULL: the system's */
extern __thread uint64_t host_starved;        /* as thread.starved */

static inline struct account *account_self(void)
{
    return host_account ? host_account : account_system;
}

static inline bool quota_is_starved(uint64_t n) { return host_starved >= n; }
static inline void quota_note_last(uint64_t n) { host_starved -= n; }

static inline void quota_note_refused(const struct quota_count *c, uint64_t n) { (void)c, (void)n; }

#endif
