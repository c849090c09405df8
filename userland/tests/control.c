// TAP
// RUN: --smp 2 -m 1G
// RUN: --reserve 'C_ALLOC 16 /ALLOCATE /PAGE_TABLES' --reserve 'C_FLUID 16 /NOALLOCATE'
// RUN: --reserve 'C_GROUP 8 /ALLOCATE /GROUP=12' --reserve 'C_DRIVER 8 /ALLOCATE /NOGLOBAL_SECTION'
// RUN: --reserve 'C_PART 24 /ALLOCATE /PAGE_TABLES' --reserve 'C_DRIVER 8 /GROUP=13'
/* MEGA_SYS_CONTROL: setting dynamic parameters, and freeing reservations of the running system. */
#include <descrip.h>
#include <megalith/services.h>
#include <sys/wait.h>
#include <tap.h>
#include <test_kernel.h>

#define PAGE  8192UL
#define MIB   (1UL << 20)
#define PAGES (MIB / PAGE)

static int set(const char *name, int64_t value)
{
    return mega$control(MEGA_CTL_SET_PARAM, (uint64_t)name, (uint64_t)value, 0, 0, 0);
}

static int64_t parameter(const char *name)
{
    struct mega_param p;

    for (int i = 0; mega$info(MEGA_INFO_PARAM, i, &p, sizeof(p)) == SS$_NORMAL; i++)
        if (strcmp(p.name, name) == 0)
            return p.value;
    return INT64_MIN;
}

static int free_reserved(const char *name, uint64_t scope, uint64_t *freed)
{
    return mega$control(MEGA_CTL_FREE_RESERVED, (uint64_t)name, scope, (uint64_t)freed, 0, 0);
}

static struct mega_memory memory(void)
{
    struct mega_memory m;

    mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m));
    return m;
}

static int create(const char *name, uint64_t bytes)
{
    $DESCRIPTOR(d, "");

    d.dsc$w_length = (unsigned short)strlen(name);
    d.dsc$a_pointer = (char *)name;
    return sys$create_gdzro(&d, 0, 0, bytes, 0, SEC$M_SYSGBL);
}

static int delete(const char *name)
{
    $DESCRIPTOR(d, "");

    d.dsc$w_length = (unsigned short)strlen(name);
    d.dsc$a_pointer = (char *)name;
    return sys$dgblsc(SEC$M_SYSGBL, &d, 0);
}

/* ---- parameters ---- */

static void parameters(void)
{
    int64_t before = parameter("GBLPAGES"), lal = parameter("PAGED_LAL_SIZE");
    struct mega_pool pool;
    char name[33];

    is_status(set("GBLPAGES", 1024), SS$_NORMAL, "GBLPAGES can be set while the system runs");
    is(parameter("GBLPAGES"), 1024, "GBLPAGES has the new value");
    is_status(create("C_LIMIT", 1024 * PAGE), SS$_GPTFULL, "a section of more pages is refused");
    is_status(set("GBLPAGES", 1026), SS$_NORMAL,
              "GBLPAGES is raised by two, for entries of the section itself");
    is_status(create("C_LIMIT", 1024 * PAGE), SS$_CREATED_SHPT, "the section is created");
    is_status(delete ("C_LIMIT"), SS$_NORMAL, "the section is deleted");
    is_status(set("GBLPAGES", before), SS$_NORMAL, "GBLPAGES is set to its old value");

    is_status(set("RSVD_EXEC_1", 64), SS$_NORMAL, "a parameter can be set by its older name");
    mega$info(MEGA_INFO_POOL, 1, &pool, sizeof(pool));
    is(pool.lal_size, 64, "the pool uses the new value");
    is_status(set("PAGED_LAL_SIZE", lal), SS$_NORMAL, "PAGED_LAL_SIZE is set to its old value");

    is_status(set("ZERO_LIST_HI", 3000), SS$_NORMAL, "ZERO_LIST_HI is raised");
    for (int i = 0; i < 100 && memory().zeroed < 2500; i++)
        usleep(100000);
    ok(memory().zeroed >= 2500, "idle CPUs zero more pages");
    is_status(set("ZERO_LIST_HI", 1024), SS$_NORMAL, "ZERO_LIST_HI is set to its old value");

    is_status(set("GBLSECTIONS", 100), SS$_NOWRT, "a parameter that is not dynamic cannot be set");
    is_status(set("PAGED_LAL_SIZE", 2561), SS$_BADPARAM, "a value above the maximum is refused");
    is_status(set("PAGED_LAL_SIZE", -1), SS$_BADPARAM, "a value below the minimum is refused");
    is(parameter("PAGED_LAL_SIZE"), lal, "refused values change nothing");
    is_status(set("NOSUCH", 1), SS$_NONEXPR, "an unknown name is refused");
    is_status(set("", 1), SS$_NONEXPR, "an empty name is refused");
    memset(name, 'A', sizeof(name));
    name[32] = 0;
    is_status(set(name, 1), SS$_NONEXPR, "a name that is too long is refused");
    is_status(set((char *)8, 1), SS$_ACCVIO, "a name that cannot be read is refused");
    is_status(mega$control(0, 0, 0, 0, 0, 0), SS$_BADPARAM, "operation 0 does not exist");
    is_status(mega$control(~0u, 0, 0, 0, 0, 0), SS$_BADPARAM,
              "the largest operation number does not exist");
}

/* ---- items and operations for tests only ---- */

static void only_for_tests(void)
{
    char room[1024];

    for (unsigned item = MEGA_INFO_SELFTEST; item <= MEGA_INFO_LAST; item++)
        is_status(mega$info(item, 0, room, sizeof(room)), SS$_BADPARAM, "item %u does not exist",
                  item);
    for (unsigned op = MEGA_CTL_POOL_COST; op <= MEGA_CTL_LAST; op++)
        is_status(mega$control(op, 16, 1, (uint64_t)room, 1, 0), SS$_BADPARAM,
                  "operation %u does not exist", op);
    is_status(mega$info(MEGA_INFO_CRASH, 1, 0, 0), SS$_NONEXPR,
              "MEGA_INFO_CRASH has no other way to crash than a panic");
}

/* ---- reservations ---- */

static void freed_while_unused(void)
{
    struct mega_memory a = memory(), b;
    uint64_t freed = 0;

    is_status(free_reserved("C_FLUID", MEGA_SCOPE_SYSGBL, &freed), SS$_NORMAL,
              "a reservation without allocation is freed");
    b = memory();
    is(freed, 16 * PAGES + 3, "16 MiB and their page tables are freed");
    is(b.fluid - a.fluid, freed, "the fluid count rises by as many pages");
    is(a.promised_unused - b.promised_unused, freed, "as many fewer pages are promised");
    is(b.free, a.free, "the free list does not change");
    is(b.reserved, a.reserved, "the number of reserved pages does not change");

    is_status(free_reserved("C_ALLOC", MEGA_SCOPE_SYSGBL, &freed), SS$_NORMAL,
              "a reservation with allocation is freed");
    a = memory();
    is(freed, 16 * PAGES + 3, "16 MiB and their page tables are freed");
    is(a.fluid - b.fluid, freed, "the fluid count rises by as many pages");
    is(a.free - b.free, freed, "the free list grows by as many pages");
    is(b.reserved - a.reserved, freed, "as many fewer pages are reserved");
    is(a.promised_unused, b.promised_unused, "the promised pages do not change");
    is_status(free_reserved("C_ALLOC", MEGA_SCOPE_SYSGBL, &freed), SS$_NORESERVEDMEM,
              "it cannot be freed again");

    is_status(create("C_ALLOC", 16 * MIB), SS$_CREATED_SHPT, "a section of that name is now FLUID");
    ok(memory().promised_unused - a.promised_unused >= 16 * PAGES + 2,
       "its pages and page tables are promised");
    is_status(delete ("C_ALLOC"), SS$_NORMAL, "the section is deleted");
    is(memory().promised_unused, a.promised_unused, "deleting it releases the promise");
}

static void scopes(void)
{
    uint64_t freed = 1;

    is_status(free_reserved("C_GROUP", MEGA_SCOPE_SYSGBL, &freed), SS$_NORESERVEDMEM,
              "the reservation of a group is not found in system scope");
    is_status(free_reserved("C_GROUP", 013, &freed), SS$_NORESERVEDMEM,
              "the reservation of a group is not found in another group");
    is_status(free_reserved("C_GROUP", 012, 0), SS$_NORMAL,
              "the reservation of a group is found in its group");
    is_status(free_reserved("C_DRIVER", MEGA_SCOPE_SYSGBL, &freed), SS$_NORESERVEDMEM,
              "the reservation of a driver is not found in system scope");
    is_status(free_reserved("C_DRIVER", MEGA_SCOPE_NOGLOBAL, &freed), SS$_NORMAL,
              "the reservation of a driver is found in its own scope");
    is(freed, 8 * PAGES, "it has no page tables");
    is_status(free_reserved("C_DRIVER", 013, &freed), SS$_NORMAL,
              "the group's reservation of the same name is another one");
    is(freed, 8 * PAGES + 2, "it has page tables");
    is_status(free_reserved("C_PART", 040000, &freed), SS$_BADPARAM,
              "a group number that is too large is refused");
    is_status(free_reserved("C_PART", 1UL << 32 | MEGA_SCOPE_SYSGBL, &freed), SS$_BADPARAM,
              "all 64 bits of the scope are checked");
    is_status(free_reserved((char *)8, MEGA_SCOPE_SYSGBL, &freed), SS$_ACCVIO,
              "a name that cannot be read is refused");
    is_status(free_reserved("C_PART", MEGA_SCOPE_SYSGBL, (uint64_t *)9), SS$_ACCVIO,
              "a result that cannot be written is refused");
    is_status(free_reserved("C_PART", MEGA_SCOPE_SYSGBL, (uint64_t *)((char *)&freed + 4)),
              SS$_ACCVIO, "a result that is not aligned is refused");
}

static void freed_in_part(void)
{
    struct mega_memory a, b;
    uint64_t freed = 0;

    is_status(create("C_PART", 16 * MIB), SS$_CREATED_SHPT, "a section uses 16 of 24 MiB");
    a = memory();
    is_status(free_reserved("C_PART", MEGA_SCOPE_SYSGBL, &freed), SS$_NORMAL,
              "the unused rest is freed");
    is(freed, 8 * PAGES + 1, "8 MiB and a page-table page are freed");
    b = memory();
    is(b.fluid - a.fluid, freed, "the fluid count rises by as many pages");
    is(a.reserved - b.reserved, freed, "as many fewer pages are reserved");
    is_status(free_reserved("C_PART", MEGA_SCOPE_SYSGBL, &freed), SS$_RESERVEDMEMUSED,
              "the part in use cannot be freed");
    is_status(delete ("C_PART"), SS$_NORMAL, "the section is deleted");
    a = memory();
    is(a.reserved, 0, "the pages of the section are no longer reserved");
    is_status(free_reserved("C_PART", MEGA_SCOPE_SYSGBL, &freed), SS$_NORESERVEDMEM,
              "the reservation does not exist any more");
}

static void unprivileged(void)
{
    uint64_t freed;
    int how = 0;

    if (fork() == 0) {
        int wrong;

        if (setgid(1000) != 0 || setuid(1000) != 0)
            _exit(100);
        wrong = set("GBLPAGES", 600) != SS$_NOCMKRNL;
        wrong += free_reserved("C_PART", MEGA_SCOPE_SYSGBL, &freed) != SS$_NOCMKRNL;
        wrong += mega$control(99, 0, 0, 0, 0, 0) != SS$_BADPARAM;
        _exit(wrong);
    }
    wait(&how);
    is(how, 0, "without CMKRNL every operation is refused");
}

int main(void)
{
    unprivileged();
    parameters();
    if (!is_test_kernel())
        only_for_tests();
    freed_while_unused();
    scopes();
    freed_in_part();
    return tap_done();
}
