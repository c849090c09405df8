/*
 * Shared by the tests of reserved memory: a small machine, which each case boots in a child process
 * of its own, its registry and its console.
 */
#ifndef TESTS_HOST_RESERVED_WORLD_H
#define TESTS_HOST_RESERVED_WORLD_H

#include "mm/section/reserved.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arch/alpha/hw/kseg.h"
#include "mm/phys/page_private.h"
#include "mm/pool/pool.h"
#include "mm/section/prezero.h"
#include "sysman/config.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define MB 128UL /* pages */

static char console[4000];

void printk(const char *fmt, ...)
{
    size_t n = strlen(console);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(console + n, sizeof(console) - n, fmt, ap);
    va_end(ap);
}

/* In the kernel all CPUs share this work; here one does it all. */
void prezero_boot(pfn_t first, uint64_t npages)
{
    for (uint64_t i = 0; i < npages; i++)
        page_zero_if_needed(pfn_add(first, i));
}

static struct registry registry;

static inline void entry(const char *name, uint64_t mb, uint32_t flags)
{
    struct registry_entry *e = &registry.entries[registry.count++];

    strcpy(e->name, name);
    e->megabytes = mb;
    e->flags = flags;
    e->group = flags & RMD_GROUP ? 10 : 0;
    e->rad = CONFIG_RAD_NONE;
}

static inline void boot(uint64_t megabytes)
{
    page_boot_add_range(pfn_of(15), 385);
    page_boot_add_range(pfn_of(700), megabytes * MB - 700);
    page_boot_parameters();
    page_boot_done();
    pool_boot();
}

#define ALLOC  (RMD_ALLOC | RMD_SYSGBL)
#define TABLES RMD_PAGE_TABLES

static const struct rmd *named;
static const char *wanted_name;

static inline void find(const struct rmd *r, void *arg)
{
    (void)arg;
    if (strcmp(r->name, wanted_name) == 0)
        named = r;
}

static inline const struct rmd *rmd(const char *name)
{
    named = NULL;
    wanted_name = name;
    rmd_for_each(find, NULL);
    return named;
}

/* The pages of an entry, if its stretches are of RAM, aligned and largest first; else 0. */
static inline uint64_t stretches_sum(const struct rmd *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->nextents; i++) {
        const struct rmd_extent *e = &r->extents[i];

        if (e->first.n % 512 != 0 || (i + 1 < r->nextents && e->npages % 1024 != 0) ||
            (i > 0 && e->npages > r->extents[i - 1].npages))
            return 0;
        for (uint64_t n = 0; n < e->npages; n++)
            if (!page_is_ram(pfn_add(e->first, n)))
                return 0;
        sum += e->npages;
    }
    return sum;
}

/* Run n cases and check that each ends. */
static inline void run_cases(void (*const cases[])(void), unsigned n)
{
    /* The child processes continue the numbering of the checks. */
    int *shared = mmap(NULL, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0);

    for (unsigned i = 0; i < n; i++) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
            cases[i]();
            if (tap_failed())
                diag("console: %s", console);
            shared[0] = tap_count_;
            shared[1] = tap_failures_;
            _exit(0);
        }
        waitpid(pid, &status, 0);
        tap_count_ = shared[0];
        tap_failures_ = shared[1];
        ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "case %u ran to its end", i);
    }
}

#endif
