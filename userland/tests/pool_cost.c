// TAP
// KERNEL: test
// RUN: --smp 2 -m 1G
/* MEGA_CTL_POOL_COST, with which benchmarks measure both pools (kernel/test/pool_cost.c). */
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>
#include <unistd.h>

static int set(const char *name, int64_t value)
{
    return mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0);
}

static int pool_cost_of(uint64_t pool, uint64_t nbytes, uint64_t count, void *out)
{
    return mega$control(MEGA_CTL_POOL_COST, nbytes, count, (uint64_t)out, pool, 0);
}

static int pool_cost(uint64_t nbytes, uint64_t count, void *out)
{
    return pool_cost_of(1, nbytes, count, out);
}

static struct mega_pool pool_of(int64_t pool)
{
    struct mega_pool p = {0};

    mega$info(MEGA_INFO_POOL, pool, &p, sizeof(p));
    return p;
}

static void measured(void)
{
    static struct mega_pool_cost cost[257];
    struct mega_pool before, after;
    uint64_t sum = 0;

    is_status(pool_cost(208, 256, cost), SS$_NORMAL, "the cost of 256 blocks is measured");
    for (unsigned i = 0; i < 256; i++)
        sum += cost[i].alloc_ns + cost[i].free_ns;
    ok(sum > 0, "the cost is greater than 0 (%lu ns in all)", (unsigned long)sum);
    is(cost[256].alloc_ns | cost[256].free_ns, 0, "no figure is written after the last block");
    before = pool_of(1);
    is_status(pool_cost(208, 256, cost), SS$_NORMAL, "the measurement can be repeated");
    is_status(pool_cost(65536, 1, cost), SS$_NORMAL, "the largest block is measured");
    is_status(pool_cost(1, 1, cost), SS$_NORMAL, "the smallest block is measured");
    is_status(pool_cost(0, 1, cost), SS$_BADPARAM, "blocks of 0 bytes are refused");
    is_status(pool_cost(65537, 1, cost), SS$_BADPARAM, "blocks that are too large are refused");
    is_status(pool_cost(1UL << 32 | 16, 1, cost), SS$_BADPARAM,
              "all 64 bits of the size are checked");
    is_status(pool_cost(16, 0, cost), SS$_BADPARAM, "a count of 0 is refused");
    is_status(pool_cost(16, 257, cost), SS$_BADPARAM, "a count that is too large is refused");
    is_status(pool_cost(16, 1UL << 32 | 1, cost), SS$_BADPARAM,
              "all 64 bits of the count are checked");
    is_status(pool_cost(16, 1, NULL), SS$_ACCVIO, "a null address for the results is refused");
    is_status(pool_cost(16, 256, (void *)0xFFFFFC0000000000), SS$_ACCVIO,
              "a kernel address for the results is refused");
    is_status(pool_cost(65536, 256, cost), SS$_NORMAL, "256 blocks of 64 KiB are measured");
    is_status(set("PAGED_LAL_SIZE", 0), SS$_NORMAL, "lookaside lists are turned off");
    is_status(pool_cost(80, 256, cost), SS$_NORMAL, "the cost without lookaside lists is measured");
    is_status(set("PAGED_LAL_SIZE", before.lal_size), SS$_NORMAL,
              "lookaside lists are turned on again");
    after = pool_of(1);
    is(after.in_use, before.in_use, "as much paged pool is in use as before");
}

static void at_raised_ipl(void)
{
    static struct mega_pool_cost cost[256];
    struct mega_pool before = pool_of(0), after;

    is_status(pool_cost_of(0, 416, 256, cost), SS$_NORMAL,
              "blocks of nonpaged pool are allocated at raised IPL");
    for (unsigned i = 0; i < 4; i++)
        is_status(pool_cost_of(0, 8192 - 16 * i, 256, cost), SS$_NORMAL,
                  "2 MiB of nonpaged pool are allocated at raised IPL");
    after = pool_of(0);
    ok(after.size > before.size, "nonpaged pool grows at raised IPL, by %lu bytes",
       (unsigned long)(after.size - before.size));
    is(after.in_use, before.in_use, "as much nonpaged pool is in use as before");
    is_status(pool_cost_of(0, 8193, 1, cost), SS$_BADPARAM,
              "a size for which there is no lookaside list is refused");
    is_status(pool_cost_of(2, 16, 1, cost), SS$_BADPARAM, "a third pool does not exist");
}

static void unprivileged(void)
{
    struct mega_pool_cost cost;
    int how = 0;

    if (fork() == 0) {
        if (setgid(1000) != 0 || setuid(1000) != 0)
            _exit(100);
        _exit(pool_cost(16, 1, &cost) != SS$_NOCMKRNL);
    }
    wait(&how);
    is(how, 0, "the operation requires CMKRNL");
}

int main(void)
{
    if (!is_test_kernel())
        bail_out(NEEDS_TEST_KERNEL);
    unprivileged();
    measured();
    at_raised_ipl();
    return tap_done();
}
