// SOURCES: userland/lib/time.c userland/lib/lib_time.c userland/lib/descriptor.c
/*
 * The tests of userland/tests/rtl_time.c, and those that need to know what time it is. With the
 * argument "convert" it reads times as numbers and prints text, fields, the time that the text
 * stands for, and what the library routines make of it: tests/test_rtl.py compares these with its
 * own.
 */
#include <stdlib.h>

#define main common
#include "userland/tests/rtl_time.c"
#undef main

#include "userland/lib/clock.h"

static int64_t now; /* read by the library too */

int64_t mega$clock(void) { return now; }

static void defaults(void)
{
    unsigned short f[7];
    int days;

    is(time_of("-- :50"), time_of("30-DEC-1988 04:50:28.99"), "minutes alone");
    is(time_of("-- ::.5"), time_of("30-DEC-1988 04:15:28.50"), "hundredths alone");
    is(time_of("--1990 0:0:0.0"), time_of("30-DEC-1990 00:00:00.00"), "the year alone");
    is(time_of("-FEB"), REFUSED, "the 30th of February");
    is(time_of("1-"), time_of("1-DEC-1988 04:15:28.99"), "the day alone");
    is(time_of("31-JAN"), time_of("31-JAN-1988 04:15:28.99"), "no year");
    is(time_of("-"), now / 100000 * 100000, "nothing but a hyphen");
    is(sys$numtim(f, 0), SS$_NORMAL, "fields of now");
    ok(f[0] == 1988 && f[6] == 99, "from 1988 on");
    is(lib$day(&days, 0), SS$_NORMAL, "days of now");
    is(days, 47525, "47525");
}

/* The days of a time, and hundredths since its midnight; the time of its fields. */
static int days_and_fields(const long *time, const unsigned short *f)
{
    int days, hundredths;
    long again;

    if (lib$day(&days, time, &hundredths) != SS$_NORMAL || lib$cvt_vectim(f, &again) != LIB$_NORMAL)
        return 0;
    return printf(",%d,%d,%ld", days, hundredths, again) > 0;
}

/* All that can be taken from an absolute time, and its day of the week. */
static int parts_of(const long *time)
{
    unsigned int value;

    if (lib$day_of_week(time, &value) != SS$_NORMAL)
        return 0;
    printf(",%u", value);
    for (unsigned int operation = LIB$K_MONTH_OF_YEAR; operation <= LIB$K_JULIAN_DATE;
         operation++) {
        if (lib$cvt_from_internal_time(&operation, &value, time) != LIB$_NORMAL)
            return 0;
        printf(",%u", value);
    }
    return 1;
}

/* A delta in each unit, and the delta of that; 0 if there is none. */
static int units_of(const long *time)
{
    unsigned int value;
    long again;

    for (unsigned int operation = LIB$K_DELTA_WEEKS; operation <= LIB$K_DELTA_SECONDS;
         operation++) {
        if (lib$cvt_from_internal_time(&operation, &value, time) != LIB$_NORMAL)
            return 0;
        if (lib$cvt_to_internal_time(&operation, &(int){(int)value}, &again) != LIB$_NORMAL)
            again = 0;
        printf(",%u,%ld", value, again);
    }
    return 1;
}

static int convert(void)
{
    char line[64], back[64];
    struct dsc$descriptor_s text = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n, f[7];
    long time, again;

    while (fgets(back, sizeof(back), stdin)) {
        time = strtol(back, NULL, 10);
        text.dsc$w_length = sizeof(line);
        if (sys$asctim(&n, &text, &time, 0) != SS$_NORMAL || sys$numtim(f, &time) != SS$_NORMAL)
            return EXIT_FAILURE;
        text.dsc$w_length = n;
        if (sys$bintim(&text, &again) != SS$_NORMAL)
            return EXIT_FAILURE;
        printf("%.*s,%d,%d,%d,%d,%d,%d,%d,%ld", n, line, f[0], f[1], f[2], f[3], f[4], f[5], f[6],
               again);
        if (!days_and_fields(&time, f) || !(time < 0 ? units_of(&time) : parts_of(&time)))
            return EXIT_FAILURE;
        printf("\n");
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    /* Later than 2020, for the common tests. */
    now = time_of("30-DEC-2030 04:15:28.99");
    if (argc > 1 && strcmp(argv[1], "convert") == 0)
        return convert();
    now = time_of("30-DEC-1988 04:15:28.99") + 7;
    defaults();
    now = time_of("30-DEC-2030 04:15:28.99");
    return common();
}
