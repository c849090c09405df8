/*
 * Between the pager (page_out.c) and what it does for users at their limits (page_out_user.c).
 */
#ifndef KERNEL_PROC_PAGE_OUT_PRIVATE_H
#define KERNEL_PROC_PAGE_OUT_PRIVATE_H

#include "kernel/base/types.h"

struct quota_count;

/* Rounds that free nothing, before the pager gives up; the last one follows at once. */
#define PAGE_OUT_ROUNDS 5u
/* Without slots and memory, before a process is to end. */
#define PAGE_OUT_THRASH_NS 4000000000u
/* A round begins this long after the one before at the earliest: with less, pages would go that
   were not used only because nobody has run meanwhile. */
#define PAGE_OUT_ROUND_NS 20000000u

/* ---- page_out.c ---- */

/* One round over the pages that are charged to the counter, until page_out_user_has_room(c,
 * wanted). Returns how many pages it has freed. Pager's thread. */
uint64_t page_out_round_for(const struct quota_count *c, uint64_t wanted);
/* Wake those who wait for the pager, to look at what has changed. IPL 0. */
void page_out_tell(void);

/* ---- page_out_user.c ---- */

/* Has the counter so much room again that its user's rounds may end? Any IPL. */
bool page_out_user_has_room(const struct quota_count *c, uint64_t wanted);
/* Has its user had neither room nor slots for long, although pages went and came back? Any IPL. */
bool page_out_user_is_thrash(const struct quota_count *c);
/* How often the pager has found that rounds for the counter are in vain. Any IPL. */
uint32_t page_out_user_verdicts(const struct quota_count *c);
/* Have rounds made for the counter until there is room for n pages (1 or more), or in vain. True:
 * nobody has asked for so many yet, and the pager is to look. The caller's process has a reference
 * to the account. IPL 0. */
bool page_out_user_ask(const struct quota_count *c, uint16_t n);
/* Which counter of the current thread's user has no room, and for how many pages: the one that has
 * refused some last; or that of pages, for who has not asked yet, or is after memory of another
 * kind. NULL: none. IPL 0. */
const struct quota_count *page_out_user_full(uint64_t *wanted);
/* Does anybody wait at a limit? Any IPL. */
bool page_out_users_wait(void);
/* One round for the next user at a limit whose round may begin. False: there is none. Pager's
 * thread. */
bool page_out_serve_user(void);

#endif
