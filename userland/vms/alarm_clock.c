/*
 * Hibernation: a process sleeps until an AST routine of a timer wakes it, and AST routines that do
 * not wake it come in between. A wake-up that comes first is not lost.
 */
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

#define SNOOZES 3

static int snoozed;
static int tenth[2] = {-1000000 / 4, -1}; /* 25 ms */

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void ring(int times)
{
    printf("ring %d\n", times);
    if (times < SNOOZES) {
        snoozed++;
        check(sys$setimr(1, tenth, ring, times + 1, 0));
    } else {
        check(sys$wake(0, 0));
    }
}

int main(void)
{
    float moment = 0.05F;

    check(sys$setimr(1, tenth, ring, 1, 0));
    printf("good night\n");
    check(sys$hiber());
    printf("good morning, after %d times of snoozing\n", snoozed);
    check(sys$wake(0, 0));
    check(sys$hiber());
    printf("a wake-up that had come before\n");
    check(lib$wait(&moment));
    sys$exit(SS$_NORMAL);
}
