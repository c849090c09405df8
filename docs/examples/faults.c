/*
 * Exercise 2: which faults does a fluid section cost? PROCESSES have it mapped; then one after the
 * other reads one page in each 8 MiB, which is what one level-3 page maps.
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
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

#define SIZE      (64UL << 20)
#define SPAN      (8UL << 20)
#define PROCESSES 5

static $DESCRIPTOR64(name, "FAULTS");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
}

static volatile char *map(void)
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

/* Process n starts the next one and waits for its end; then it reads a page of each 8 MiB. So all
   have the section mapped before the first page is touched, by the last process. */
static void chain(volatile char *p, int n)
{
    if (n < PROCESSES && fork() == 0) {
        chain(p, n + 1);
        _exit(0);
    }
    wait(0);
    for (unsigned long at = 0; at < SIZE; at += SPAN)
        (void)p[at];
}

int main(void)
{
    chain(map(), 1);
    return system("show section FAULTS");
}
