/*
 * Scheduled wake-ups: a process that works at fixed times, ten of them, 20 ms apart, and stops the
 * series. The time that has passed is measured by the system's clock.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

#define BEATS 10

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

int main(void)
{
    $DESCRIPTOR(interval, "0 00:00:00.02");
    __int64 step, begin, end, wrong = 1;
    int beats;

    check(sys$bintim(&interval, &step));
    printf("one beat every %d units of 100 ns\n", (int)-step);
    check(sys$gettim(&begin));
    check(sys$schdwk(0, 0, &step, &step));
    for (beats = 0; beats < BEATS; beats++)
        check(sys$hiber());
    check(sys$canwak(0, 0));
    check(sys$gettim(&end));
    printf("%d beats took %s\n", beats,
           end - begin >= -step * (BEATS - 2) ? "their time" : "too little time");
    printf("an interval that is a date: %s\n",
           sys$schdwk(0, 0, &step, &wrong) == SS$_IVTIME ? "SS$_IVTIME" : "accepted");
    return SS$_NORMAL;
}
