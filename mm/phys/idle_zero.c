/*
 * Idle CPUs zero free pages, up to ZERO_LIST_HI for each domain, so that a demand-zero fault finds
 * a zeroed page. They zero one page at a step; between two steps interrupts are taken and the idle
 * loop looks for a runnable thread, so nobody waits for more than one page.
 */
#include "mm/phys/idle_zero.h"

#include "kernel/sched/sched.h"
#include "mm/phys/page.h"
#include "sysman/params.h"

static bool step(void) { return page_zero_idle(1, (uint64_t)sysparam(SYSPARAM_ZERO_LIST_HI)) > 0; }

void idle_zero_boot(void) { __atomic_store_n(&sched_idle_work, step, __ATOMIC_RELEASE); }
