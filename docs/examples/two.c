/*
 * Two processes map one memory-resident section through the same page tables, and a command runs
 * meanwhile:  /two show section TOUR
 */
#include <descrip.h>
#include <gen64def.h>
#include <ints.h>
#include <lib$routines.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <stsdef.h>
#include <unistd.h>
#include <vadef.h>

#define SIZE (64UL << 20)

static $DESCRIPTOR64(name, "TOUR");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status); /* prints the condition, and ends the program */
}

static volatile long *map(void)
{
    GENERIC_64 region;
    unsigned __int64 length;
    void *va;
    int status;

    /* 1. A region: a range of addresses. With VA$M_SHARED_PTS it is aligned as shared page tables
          need it, and only sections that have such tables can be mapped into it. */
    check(sys$create_region_64(SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                               &length));
    /* 2. The section: created by whoever comes first, found by its name by all others, and mapped
          at the region's first free address (SEC$M_EXPREG). Its pages are zero (GDZRO) and stay in
          memory. The registry decides by the name whether they were allocated at boot. */
    status = sys$crmpsc_gdzro_64(&name, 0, 0, SIZE, &region, 0, PSL$C_USER,
                                 SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length);
    check(status);
    printf("process %d %s: %lu MB at %p\n", getpid(),
           status == SS$_CREATED_SHPT ? "created the section" : "found it", length >> 20, va);
    fflush(stdout);
    return va;
}

/* A process that maps the section, adds one to its first word, and stays. */
static void start(void)
{
    int ready[2];
    char c;

    if (pipe(ready) || fork()) {
        close(ready[1]);
        read(ready[0], &c, 1); /* returns when the child has closed its end */
        return;
    }
    ++*map();
    close(ready[1]);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    start();
    start();
    printf("process %d: the first word is %ld\n", getpid(), *map());
    return argc > 1 ? system(argv[1]) != 0 : 0;
}
