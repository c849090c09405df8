/*
 * Times as text, as numbers and as quadwords: when a batch of jobs is to run, day by day, and how
 * long that is.
 */
#define __NEW_STARLET 1

#include <descrip.h>
#include <gen64def.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libdtdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
}

static void show(const char *what, GENERIC_64 *time)
{
    char text[24];
    struct dsc$descriptor_s buffer = {23, DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
    unsigned short length;

    check(sys$asctim(&length, &buffer, time, 0));
    printf("%-12s %.*s\n", what, length, text);
}

int main(void)
{
    static const char *const names[] = {"",         "Monday", "Tuesday",  "Wednesday",
                                        "Thursday", "Friday", "Saturday", "Sunday"};
    $DESCRIPTOR(start_text, "27-FEB-2000 22:30:00.00");
    $DESCRIPTOR(step_text, "1 12:00:00.00");
    $DESCRIPTOR(wrong_text, "30-FEB-2000 00:00:00.00");
    $DESCRIPTOR(delta_text, "10 00:00:00.00");
    GENERIC_64 start, step, time, span, delta;
    unsigned int operation, result, day;
    unsigned short vector[7];
    int days, status;

    check(sys$bintim(&start_text, &start));
    check(sys$bintim(&step_text, &step));
    show("start", &start);
    show("step", &step);
    time = start;
    for (int i = 0; i < 3; i++) {
        check(lib$add_times(&time, &step, &time));
        check(lib$day_of_week(&time, &day));
        show(names[day], &time);
    }
    check(lib$sub_times(&time, &start, &span));
    show("altogether", &span);
    operation = LIB$K_DELTA_HOURS;
    check(lib$cvt_from_internal_time(&operation, &result, &span));
    printf("which is     %u hours\n", result);
    operation = LIB$K_DAY_OF_YEAR;
    check(lib$cvt_from_internal_time(&operation, &result, &time));
    printf("the last on  day %u of the year\n", result);
    check(sys$numtim(vector, &time));
    printf("that is      %d/%d/%d, %d:%02d\n", vector[2], vector[1], vector[0], vector[3],
           vector[4]);
    check(lib$day(&days, &time, 0));
    printf("             %d days after 17-NOV-1858\n", days);
    days = 10;
    operation = LIB$K_DELTA_DAYS;
    check(lib$cvt_to_internal_time(&operation, &days, &delta));
    check(sys$bintim(&delta_text, &span));
    printf("ten days     %s\n",
           delta.gen64$q_quadword == span.gen64$q_quadword ? "agree" : "differ");
    if (sys$bintim(&wrong_text, &time) == SS$_IVTIME)
        printf("no such day  30-FEB-2000\n");
    status = lib$sub_times(&start, &time, &span);
    status = lib$add_times(&start, &start, &span);
    if (lib$match_cond(&status, &(int){LIB$_ONEDELTIM}))
        printf("two dates cannot be added\n");
    return SS$_NORMAL;
}
