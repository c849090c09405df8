/*
 * Exercise 1: one process maps a section at two addresses, and both show the same memory. Two
 * regions with shared page tables: the tables are shared by the two addresses of one process as
 * they are by two processes.
 */
#include <descrip.h>
#include <gen64def.h>
#include <ints.h>
#include <lib$routines.h>
#include <psldef.h>
#include <secdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <stsdef.h>
#include <vadef.h>

#define SIZE (64UL << 20)

static $DESCRIPTOR64(name, "TOUR");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
}

static volatile long *map(void)
{
    GENERIC_64 region;
    unsigned __int64 length;
    void *va;

    check(sys$create_region_64(SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                               &length));
    check(sys$crmpsc_gdzro_64(&name, 0, 0, SIZE, &region, 0, PSL$C_USER,
                              SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length));
    return va;
}

int main(void)
{
    volatile long *one = map(), *two = map();

    one[12345] = 42;
    printf("%p and %p: %ld\n", (void *)one, (void *)two, two[12345]);
    return system("show section TOUR");
}
