/*
 * A program for tests/test_memmap.py to draw: it maps the section DBCACHE, 128 MiB of a
 * reservation, in a region with shared page tables, prints the address, and waits for the end of
 * its input.
 */
#include <descrip.h>
#include <psldef.h>
#include <starlet.h>
#include <stdio.h>
#include <unistd.h>
#include <vadef.h>

#define SIZE (128UL << 20)

int main(void)
{
    $DESCRIPTOR64(name, "DBCACHE");
    struct _generic_64 region;
    unsigned __int64 length;
    void *va;
    char c;

    if (!(sys$create_region_64(SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                               &length) &
          1))
        return 1;
    if (!(sys$crmpsc_gdzro_64(&name, 0, 0, SIZE, &region, 0, PSL$C_USER,
                              SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
          1))
        return 2;
    *(volatile long *)va = 1;
    printf("mapped at %p\n", va);
    fflush(stdout);
    return read(0, &c, 1) == 0 ? 0 : 3;
}
