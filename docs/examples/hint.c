/*
 * Exercise 3, the test: the granularity hints of the section TOUR and of the program's own stack,
 * and what the service says to wrong arguments. A system service is called by callsys with its
 * number in $0; its condition value comes back there.
 */
#include <descrip.h>
#include <gen64def.h>
#include <ints.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <vadef.h>

#define MEGA_SYS_HINT 0x1803
#define SIZE          (64UL << 20)

static $DESCRIPTOR64(name, "TOUR");

static int hint(const volatile void *va, unsigned long *npages)
{
    register unsigned long v0 __asm__("$0") = MEGA_SYS_HINT;
    register unsigned long a0 __asm__("$16") = (unsigned long)va;
    register unsigned long a1 __asm__("$17") = (unsigned long)npages;

    __asm__ volatile("callsys"
                     : "+r"(v0), "+r"(a0), "+r"(a1)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$18", "$19", "$20", "$21",
                       "$22", "$23", "$24", "$25", "$27", "$28", "memory");
    return (int)v0;
}

int main(void)
{
    unsigned long pages = 0, stack = 0, none = 1, length, region_length;
    GENERIC_64 region;
    void *va, *start;

    sys$create_region_64(SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &start,
                         &region_length);
    if (!(sys$crmpsc_gdzro_64(&name, 0, 0, SIZE, &region, 0, PSL$C_USER,
                              SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
          1))
        return 1;
    if (hint(va, &pages) != SS$_NORMAL || hint(&stack, &stack) != SS$_NORMAL ||
        hint(0, &none) != SS$_NORMAL)
        return 2;
    printf("section: %lu pages, stack: %lu, nothing: %lu\n", pages, stack, none);
    if (hint(va, 0) != SS$_ACCVIO || hint(va, (void *)0xfffffc0000000000) != SS$_ACCVIO ||
        hint((void *)0xfffffc0000000000, &pages) != SS$_ACCVIO)
        return 3;
    printf("wrong addresses are refused\n");
    return 0;
}
