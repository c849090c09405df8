/*
 * Event flags and timers: a process sets three timers, each with an event flag of its own, and
 * waits for any and for all of them; a timer that is cancelled sets no flag.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static int how_many(unsigned int flags)
{
    int n = 0;

    for (; flags; flags >>= 1)
        n += flags & 1;
    return n;
}

static void set_timer(int efn, char *text, int reqidt)
{
    struct dsc$descriptor_s when = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned int delta[2];

    while (text[when.dsc$w_length])
        when.dsc$w_length++;
    check(sys$bintim(&when, delta));
    check(sys$setimr(efn, delta, 0, reqidt, 0));
}

int main(void)
{
    int status, first, second, third;
    unsigned int flags, all;

    check(lib$get_ef(&first));
    check(lib$get_ef(&second));
    check(lib$get_ef(&third));
    printf("the same cluster: %s\n",
           first / 32 == second / 32 && second / 32 == third / 32 ? "yes" : "no");
    all = 1u << first % 32 | 1u << second % 32 | 1u << third % 32;
    set_timer(first, "0 00:00:00.05", 1);
    set_timer(second, "0 00:00:00.20", 2);
    set_timer(third, "0 00:00:00.30", 3);
    check(sys$wflor(first, all));
    status = sys$readef(first, &flags);
    printf("after the wait for any: the first flag is %s\n",
           status == SS$_WASSET ? "set" : "clear");
    check(sys$wfland(first, all));
    check(sys$readef(first, &flags));
    printf("after the wait for all: %d of 3 are set\n", how_many(flags & all));
    status = sys$clref(first);
    printf("cleared: it was %s\n", status == SS$_WASSET ? "set" : "clear");
    status = sys$clref(first);
    printf("cleared again: it was %s\n", status == SS$_WASCLR ? "clear" : "set");
    set_timer(first, "0 01:00:00.00", 4);
    set_timer(second, "0 00:00:00.02", 5);
    check(sys$cantim(4, 0));
    check(sys$waitfr(second));
    printf("the cancelled timer: its flag is %s\n",
           sys$readef(first, &flags) == SS$_WASCLR ? "clear" : "set");
    check(lib$free_ef(&first));
    status = lib$free_ef(&first);
    printf("freed twice: %s\n", $VMS_STATUS_SUCCESS(status) ? "success" : "refused");
    return SS$_NORMAL;
}
