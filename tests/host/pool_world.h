/*
 * The environment of both pools in their host tests: a paged pool of POOL_BYTES whose pages become
 * present when they are touched after having been made demand zero, expected panics, and random
 * numbers.
 */
#ifndef TESTS_HOST_POOL_WORLD_H
#define TESTS_HOST_POOL_WORLD_H

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/alpha/hw/cpu.h"
#include "arch/alpha/hw/layout.h"
#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/bitops.h"
#include "mm/phys/page.h"
#include "mm/pool/pool.h"
#include "mm/pool/pool_check.h"
#include "mm/pt/pt_system.h"
#include "mm/space/aspace.h"
#include "sysman/params.h"
#include "tests/host/rnd.h"
#include "userland/lib/include/tap.h"

/* ---- paged pool's pages: present when made demand zero and then touched ---- */

#ifndef POOL_BYTES
#define POOL_BYTES (4UL << 20)
#endif
static uint8_t demand_zero[POOL_BYTES >> PAGE_SHIFT], present[POOL_BYTES >> PAGE_SHIFT];
static uint64_t pages_left = UINT64_MAX;

static uint64_t pool_page(uint64_t va)
{
    uint64_t n = (va - LAYOUT_PAGED_POOL_BASE) >> PAGE_SHIFT;

    if (n >= POOL_BYTES >> PAGE_SHIFT)
        bail_out("address %#lx is not in the pool", va);
    return n;
}

int kmap_demand_zero(vaddr_t va, uint64_t npages)
{
    for (uint64_t i = 0; i < npages; i++)
        __atomic_store_n(&demand_zero[pool_page(va + i * PAGE_SIZE)], 1, __ATOMIC_RELAXED);
    return 0;
}

/* Stands for the lock of the system's page tables: one page is mapped or unmapped at a time. */
static pthread_mutex_t page_tables = PTHREAD_MUTEX_INITIALIZER;

static bool make_present(uint64_t n)
{
    bool there = __atomic_load_n(&present[n], __ATOMIC_ACQUIRE);

    if (there)
        return true;
    pthread_mutex_lock(&page_tables);
    there = __atomic_load_n(&present[n], __ATOMIC_ACQUIRE);
    if (!there && __atomic_load_n(&demand_zero[n], __ATOMIC_RELAXED) && pages_left != 0) {
        pages_left--;
        if (mprotect((void *)(LAYOUT_PAGED_POOL_BASE + n * PAGE_SIZE), PAGE_SIZE,
                     PROT_READ | PROT_WRITE))
            bail_out("mprotect failed");
        __atomic_store_n(&present[n], 1, __ATOMIC_RELEASE);
        there = true;
    }
    pthread_mutex_unlock(&page_tables);
    return there;
}

static __thread sigjmp_buf *fix_up; /* where kernel_read_u64 continues after a fault */

/* Handles an access to a missing page, by kernel_read_u64 or by any other code. */
static void fault(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    if (make_present(pool_page((uint64_t)info->si_addr)))
        return;
    if (fix_up)
        siglongjmp(*fix_up, 1);
    bail_out("fault at %p, which nobody made present", info->si_addr);
}

pfn_t kmap_lookup(vaddr_t va)
{
    return __atomic_load_n(&present[pool_page(va)], __ATOMIC_ACQUIRE) ? pfn_of(pool_page(va) + 1)
                                                                      : PFN_NONE;
}

static uint64_t unmapped; /* pages given back to the system so far */

void kunmap_pages(vaddr_t va, uint64_t npages, bool free_pages)
{
    (void)free_pages;
    for (uint64_t i = 0; i < npages; i++, va += PAGE_SIZE) {
        uint64_t n = pool_page(va);

        pthread_mutex_lock(&page_tables);
        unmapped += present[n];
        pages_left += present[n] && pages_left != UINT64_MAX;
        __atomic_store_n(&demand_zero[n], 0, __ATOMIC_RELAXED);
        __atomic_store_n(&present[n], 0, __ATOMIC_RELEASE);
        /* A page that is mapped again must be zero. */
        if (mmap((void *)(LAYOUT_PAGED_POOL_BASE + n * PAGE_SIZE), PAGE_SIZE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            bail_out("mmap failed");
        pthread_mutex_unlock(&page_tables);
    }
}

/* May race with a writer: a pop may read the link of a packet that has left its list. */
__attribute__((no_sanitize_thread)) int kernel_read_u64(uint64_t *v, const void *p)
{
    sigjmp_buf back;

    if (sigsetjmp(back, 0)) {
        fix_up = NULL;
        return -14;
    }
    if (!make_present(pool_page((uint64_t)p)))
        return -14;
    fix_up = &back;
    *v = *(const volatile uint64_t *)p;
    fix_up = NULL;
    return 0;
}

/* ---- expected panics: in a child process, because locks stay held ---- */

static bool panic_expected;

void panic(const char *fmt, ...)
{
    char text[200];
    va_list ap;

    if (panic_expected)
        _exit(42);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    bail_out("panic: %s", text);
}

#define panics(stmt)                                      \
    ({                                                    \
        int status_ = 0;                                  \
        pid_t pid_ = fork();                              \
        if (pid_ == 0) {                                  \
            panic_expected = true;                        \
            stmt;                                         \
            _exit(0);                                     \
        }                                                 \
        waitpid(pid_, &status_, 0);                       \
        WIFEXITED(status_) && WEXITSTATUS(status_) == 42; \
    })

/* Set up both pools, with the parameters that are set. */
static void pool_world_start(void)
{
    if (mmap((void *)LAYOUT_PAGED_POOL_BASE, POOL_BYTES, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
        bail_out("no room for the pool");
    sigaction(SIGSEGV,
              &(struct sigaction){.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER},
              NULL);
    sysparam_set("NPAGEDYN", 1 << 20, false);
    sysparam_set("PAGEDYN", POOL_BYTES, false);
    page_boot_add_range(pfn_of(16), 30000);
    page_boot_done();
    pool_check_boot();
    pool_boot();
    pool_boot_paged();
}

#endif
