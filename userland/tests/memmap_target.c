/*
 * A program for tests/test_memmap.py and tests/test_explore.py to draw: it maps the section
 * DBCACHE, 128 MiB of a reservation, in a region with shared page tables, prints the address, and
 * waits for the end of its input. `memmap_target N`: so do N children, which inherit the mapping.
 */
#include <descrip.h>
#include <psldef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <vadef.h>

#define SIZE (128UL << 20)

int main(int argc, char **argv)
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
    for (int k = argc > 1 ? atoi(argv[1]) : 0; k > 0; k--) {
        pid_t pid = fork();

        if (pid < 0)
            return 4;
        if (pid == 0) {
            *(volatile long *)va = 1;
            pause();
        }
    }
    printf("mapped at %p\n", va);
    fflush(stdout);
    return read(0, &c, 1) == 0 ? 0 : 3;
}
