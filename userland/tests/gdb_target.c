/*
 * A state of the system for tests of the debugger: a group of two processes, a region with shared
 * page tables, a section mapped in it, and one page of the section touched. The program then asks
 * for section 0, where the debugger has set a breakpoint, and ends with status 0.
 */
#include <descrip.h>
#include <psldef.h>
#include <starlet.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vadef.h>

#include "tap.h"

/* One level-2 page that is shared as a whole, and a rest. */
#define SIZE ((8UL << 30) + (16 << 20))

int main(void)
{
    $DESCRIPTOR64(name, "GDBSECT");
    struct _generic_64 region;
    struct mega_section shown;
    unsigned __int64 length;
    int wait_here[2];
    void *va;
    pid_t child;

    ok(sys$create_region_64(SIZE, VA$C_REGION_UCREATE_UOWN, VA$M_SHARED_PTS, &region, &va,
                            &length) &
           1,
       "a region is created");
    ok(sys$crmpsc_gdzro_64(&name, 0, 0, SIZE, &region, 0, PSL$C_USER,
                           SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG, &va, &length) &
           1,
       "a section is created and mapped");
    *(volatile long *)va = 0x4D656761;
    ok(pipe(wait_here) == 0, "a pipe is created");
    child = fork();
    if (child == 0) {
        char c;

        close(wait_here[1]);
        _exit(read(wait_here[0], &c, 1) == 0 ? 0 : 1);
    }
    usleep(10000);
    ok(mega$info(MEGA_INFO_SECTION, 0, &shown, sizeof(shown)) & 1, "the kernel returns section 0");
    close(wait_here[1]);
    ok(waitpid(child, NULL, 0) == child, "the child ended");
    return tap_done();
}
