// TAP
// RUN: --smp 1
/*
 * The time routines of the library: limits, texts and condition values. The unit test of the same
 * name includes this file (tests/host/test_rtl_time.c); tests/test_rtl.py compares conversions of
 * random times with those of Python.
 */
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libdtdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <tap.h>

#define DAY    864000000000L
#define SECOND 10000000L

static struct dsc$descriptor_s string(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

/* The time of a text, or a negative number that no delta can be. */
static long time_of(const char *s)
{
    struct dsc$descriptor_s text = string(s);
    long time = -1;
    int status = sys$bintim(&text, &time);

    return status == SS$_NORMAL ? time : -0x7000000000000000L - status;
}

#define REFUSED (-0x7000000000000000L - SS$_IVTIME)

static const char *text_of(long time, char cvtflg)
{
    static char line[40];
    unsigned short n = 0;
    struct dsc$descriptor_s text = {sizeof(line) - 1, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};

    if (sys$asctim(&n, &text, &time, cvtflg) != SS$_NORMAL)
        return "refused";
    line[n] = '\0';
    return line;
}

static void texts(void)
{
    char line[24];
    struct dsc$descriptor_s text = {11, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n;
    long time = time_of("30-DEC-1988 04:15:28.99") + 99999;

    is_str(text_of(0, 0), "17-NOV-1858 00:00:00.00", "time begins in 1858");
    is_str(text_of(time, 0), "30-DEC-1988 04:15:28.99", "hundredths are cut off");
    is_str(text_of(time, 1), "04:15:28.99", "the time of day alone");
    is_str(text_of(time_of("1-MAR-2000 0:0:0.0"), 0), " 1-MAR-2000 00:00:00.00",
           "a blank in place of the day's first digit");
    is_str(text_of(-1, 0), "   0 00:00:00.00", "the shortest delta");
    is_str(text_of(-(5 * DAY + 3 * 3600 * SECOND + 7 * SECOND / 100), 0), "   5 03:00:00.07",
           "a delta");
    is_str(text_of(-(10000 * DAY - 1), 0), "9999 23:59:59.99", "the longest delta");
    is_str(text_of(-10000 * DAY, 0), "refused", "a delta of 10,000 days has no text");
    is_str(text_of((long)(1UL << 63), 0), "refused", "the least quadword has no text");
    is_str(text_of(time_of("31-DEC-9999 23:59:59.99") + 99999, 0), "31-DEC-9999 23:59:59.99",
           "the last time with a text");
    is_str(text_of(time_of("31-DEC-9999 23:59:59.99") + 100000, 0), "refused",
           "the year 10000 has none");
    is(sys$asctim(&n, &text, &time, 0), SS$_BUFFEROVF, "a buffer for the date alone");
    is(n, 11, "it was filled");
    ok(memcmp(line, "30-DEC-1988", 11) == 0, "with the date");
    is(sys$asctim(0, 0, &time, 0), SS$_ACCVIO, "no buffer");
    ok(sys$asctim(0, &text) & 1, "the current time, length not wanted");
}

static void inputs(void)
{
    long noon = time_of("17-NOV-1858 12:00:00.00");
    long now;

    is(noon, DAY / 2, "noon of the first day");
    is(time_of("17-NOV-1858 00:00:00.00"), 0, "the first time");
    is(time_of("16-NOV-1858 23:59:59.99"), REFUSED, "before it was none");
    is(time_of(" 1-JAN-2000   1:2:3.4  "), time_of("1-JAN-2000 01:02:03.40"), "blanks");
    is(time_of("1-JAN-2000 01:02:03.445"), time_of("1-JAN-2000 01:02:03.45"), "rounded up");
    is(time_of("1-JAN-2000 01:02:03.4449"), time_of("1-JAN-2000 01:02:03.44"), "rounded down");
    is(time_of("31-DEC-1999 23:59:59.999"), time_of("1-JAN-2000 00:00:00.00"), "carried");
    ok(time_of("29-FEB-2000 0:0:0.0") > 0, "2000 was a leap year");
    is(time_of("29-FEB-1900 0:0:0.0"), REFUSED, "1900 was none");
    is(time_of("31-APR-2001 0:0:0.0"), REFUSED, "April has no 31st");
    is(time_of("0-APR-2001 0:0:0.0"), REFUSED, "no month has a 0th");
    is(time_of("1-apr-2001 0:0:0.0"), REFUSED, "months have capital letters");
    is(time_of("1-APR-20010 0:0:0.0"), REFUSED, "a year of five digits");
    is(time_of("1-APR-1857"), REFUSED, "a year before 1858");
    is(time_of("1-APR-2001 24:0"), REFUSED, "hour 24");
    is(time_of("1-APR-2001 0:60"), REFUSED, "minute 60");
    is(time_of("1-APR-2001 0:0:60"), REFUSED, "second 60");
    is(time_of("1-APR-2001 0:0.5"), REFUSED, "a fraction of minutes");
    is(time_of("1-APR-2001 0:0:0.0 x"), REFUSED, "something behind it");
    is(time_of("1-APR-2001:10:00"), REFUSED, "no blank between date and time");
    is(time_of(""), REFUSED, "nothing");
    is(time_of("   "), REFUSED, "nothing but blanks");
    is(time_of("tomorrow"), REFUSED, "a word");
    is(time_of("5 0:0:0.0"), -5 * DAY, "five days");
    is(time_of("0 00:00:10.00"), -10 * SECOND, "ten seconds");
    is(time_of("05"), -5 * 3600 * SECOND, "five hours");
    is(time_of(":30"), -1800 * SECOND, "half an hour");
    is(time_of("3 ::.5"), -(3 * DAY + SECOND / 2), "three days and half a second");
    is(time_of("9999 23:59:59.99"), -(10000 * DAY - SECOND / 100), "the longest delta");
    is(time_of("9999 23:59:59.999"), REFUSED, "rounded to one too long");
    is(time_of("10000 0:0"), REFUSED, "10,000 days");
    is(time_of("3 4 5"), REFUSED, "three words");
    is(sys$gettim(&now), SS$_NORMAL, "the current time");
    ok(time_of("1-JAN-2020 0:0:0.0") < now && now < time_of("1-JAN-2200 0:0:0.0"), "is plausible");
    is(sys$gettim(0), SS$_ACCVIO, "nowhere to put it");
    is(sys$bintim(0, &now), SS$_ACCVIO, "no text");
}

static void fields(void)
{
    unsigned short f[7];
    long time = time_of("29-FEB-2024 23:59:58.97"), first = 0, delta = -(9999 * DAY + SECOND);
    long too_long = -10000 * DAY;
    int days, hundredths;
    unsigned int weekday;

    is(sys$numtim(f, &time), SS$_NORMAL, "fields of a time");
    ok(f[0] == 2024 && f[1] == 2 && f[2] == 29 && f[3] == 23 && f[4] == 59 && f[5] == 58 &&
           f[6] == 97,
       "year to hundredths");
    is(sys$numtim(f, &delta), SS$_NORMAL, "fields of a delta");
    ok(f[0] == 0 && f[1] == 0 && f[2] == 9999 && f[5] == 1, "days, no date");
    is(sys$numtim(f, &too_long), SS$_IVTIME, "a delta of 10,000 days");
    is(sys$numtim(f, &first), SS$_NORMAL, "time 0");
    ok(f[0] == 1858 && f[1] == 11 && f[2] == 17, "is in 1858");
    is(sys$numtim(0, &time), SS$_ACCVIO, "nowhere to put them");
    is(lib$day(&days, &time, &hundredths), SS$_NORMAL, "lib$day");
    ok(days == 60369 && hundredths == 8639897, "60369 days and 8639897 hundredths");
    is(lib$day(&days, &first), SS$_NORMAL, "of time 0");
    is(days, 0, "no days");
    is(lib$day(&days), SS$_NORMAL, "of now");
    ok(days > 58849 && days < 130000, "some days");
    is(lib$day_of_week(&time, &weekday), SS$_NORMAL, "lib$day_of_week");
    is(weekday, 4, "a Thursday");
    is(lib$day_of_week(&first, &weekday), SS$_NORMAL, "of time 0");
    is(weekday, 3, "a Wednesday");
}

static void sums(void)
{
    long t = time_of("1-MAR-2000 0:0:0.0"), day = -DAY, hour = -3600 * SECOND, sum = 7;
    long later = t + 2 * DAY, much = -9999 * DAY, late = 0x7fffffffffffffff, least = -late - 1;
    long zero = 0;
    int three = -3;
    float half = 0.5f;

    is(lib$add_times(&t, &day, &sum), LIB$_NORMAL, "absolute and delta");
    is(sum, t + DAY, "a day later");
    is(lib$add_times(&day, &t, &sum), LIB$_NORMAL, "delta and absolute");
    is(sum, t + DAY, "a day later");
    is(lib$add_times(&day, &hour, &sum), LIB$_NORMAL, "two deltas");
    is(sum, day + hour, "both");
    is(lib$add_times(&t, &t, &sum), LIB$_ONEDELTIM, "two absolute times");
    is(lib$add_times(&much, &day, &sum), LIB$_IVTIME, "10,000 days");
    is(lib$add_times(&late, &day, &sum), LIB$_IVTIME, "later than any time");
    is(lib$add_times(&least, &least, &sum), LIB$_IVTIME, "the least quadword twice");
    is(lib$sub_times(&later, &t, &sum), LIB$_NORMAL, "from an earlier one");
    is(sum, -2 * DAY, "two days");
    is(lib$sub_times(&t, &later, &sum), LIB$_NEGTIM, "from a later one");
    is(lib$sub_times(&late, &zero, &sum), LIB$_IVTIME, "from too early a one");
    is(lib$sub_times(&t, &t, &sum), LIB$_NORMAL, "from itself");
    is(sum, -1, "the least delta: 0 were a time");
    is(lib$sub_times(&t, &day, &sum), LIB$_NORMAL, "a day before");
    is(sum, t - DAY, "the day");
    is(lib$sub_times(&day, &hour, &sum), LIB$_NORMAL, "a day without an hour");
    is(sum, day - hour, "23 hours");
    is(lib$sub_times(&hour, &day, &sum), LIB$_NEGTIM, "an hour without a day");
    is(lib$sub_times(&day, &t, &sum), LIB$_INVARGORD, "a delta without an absolute time");
    sum = day;
    is(lib$mult_delta_time(&three, &sum), LIB$_NORMAL, "a delta times -3");
    is(sum, 3 * day, "its amount times 3");
    is(lib$multf_delta_time(&half, &sum), LIB$_NORMAL, "times a half");
    is(sum, 3 * day / 2, "a day and a half");
    three = 10000;
    is(lib$mult_delta_time(&three, &sum), LIB$_IVTIME, "too long a product");
    is(lib$mult_delta_time(&three, &t), LIB$_DELTIMREQ, "an absolute time");
}

static unsigned int taken(unsigned int operation, long time)
{
    unsigned int result = 999999;

    is(lib$cvt_from_internal_time(&operation, &result, &time), LIB$_NORMAL, "operation %u",
       operation);
    return result;
}

static void parts(void)
{
    /* Of the end of the year 2008, a Wednesday. */
    static const unsigned int last[] = {0,   12,    366,     8784, 527040, 31622400, 31,
                                        744, 44640, 2678400, 3,    72,     4320,     259200,
                                        23,  1439,  86399,   59,   3599,   59,       54831};
    static const unsigned int units[] = {1428, 9999, 9999 * 24 + 23, (9999 * 24 + 23) * 60 + 59,
                                         ((9999 * 24 + 23) * 60 + 59) * 60 + 59};
    long end = time_of("31-DEC-2009 23:59:59.99"), leap = time_of("31-DEC-2008 23:59:59.99");
    long first = time_of("1-JAN-2008 0:0:0.0"), longest = -(10000 * DAY - 1), day = -DAY, time,
         other;
    unsigned int op, result;
    float f;
    int n = 3;

    for (op = LIB$K_MONTH_OF_YEAR; op <= LIB$K_JULIAN_DATE; op++)
        is(taken(op, leap), last[op], "of the end of 2008");
    for (op = LIB$K_MONTH_OF_YEAR; op < LIB$K_DAY_OF_WEEK; op++) /* which was a Tuesday */
        is(taken(op, first), 1, "of the begin of 2008");
    for (op = LIB$K_DELTA_WEEKS; op <= LIB$K_DELTA_SECONDS; op++)
        is(taken(op, longest), units[op - LIB$K_DELTA_WEEKS], "of the longest delta");
    op = LIB$K_DELTA_WEEKS_F;
    is(lib$cvtf_from_internal_time(&op, &f, &day), LIB$_NORMAL, "a day");
    ok(f > 0.142856f && f < 0.142858f, "is a seventh of a week");
    is(lib$cvtf_to_internal_time(&op, &f, &time), LIB$_NORMAL, "a seventh of a week");
    is(lib$cvts_to_internal_time(&op, &f, &other), LIB$_NORMAL, "the other name");
    is(other, time, "of the same");
    is(lib$cvts_from_internal_time(&op, &f, &time), LIB$_NORMAL, "and back");
    ok(time > day - SECOND && time < day + SECOND, "is a day, as exact as a float is");
    is(lib$cvt_from_internal_time(&op, &result, &day), LIB$_INVOPER, "a fraction as an integer");
    op = LIB$K_DELTA_DAYS;
    is(lib$cvt_from_internal_time(&op, &result, &end), LIB$_DELTIMREQ, "days of an absolute time");
    is(lib$cvt_to_internal_time(&op, &n, &time), LIB$_NORMAL, "three days");
    is(time, -3 * DAY, "three days");
    n = 10000;
    is(lib$cvt_to_internal_time(&op, &n, &time), LIB$_IVTIME, "10,000 days");
    n = 0;
    is(lib$cvt_to_internal_time(&op, &n, &time), LIB$_IVTIME, "no days");
    n = 0x7fffffff;
    is(lib$cvt_to_internal_time(&op, &n, &time), LIB$_IVTIME, "very many days");
    op = LIB$K_DAY_OF_YEAR;
    is(lib$cvt_from_internal_time(&op, &result, &day), LIB$_ABSTIMREQ, "a date of a delta");
    is(lib$cvt_from_internal_time(&op, &result), LIB$_NORMAL, "of now");
    is(lib$cvt_to_internal_time(&op, &n, &time), LIB$_INVOPER, "a day of the year alone");
    op = 99;
    is(lib$cvt_from_internal_time(&op, &result, &day), LIB$_INVOPER, "an unknown operation");
}

static void vectors(void)
{
    unsigned short f[7], bad[][7] = {{2001, 13, 1},
                                     {2001, 2, 29},
                                     {2001, 1, 0},
                                     {0, 1, 1},
                                     {2001, 0, 1},
                                     {2001, 1, 1, 24},
                                     {2001, 1, 1, 0, 0, 0, 100}};
    long t = time_of("29-FEB-2024 23:59:58.97"), back = 0, d = -(12 * DAY + 5 * SECOND / 100);
    char line[30];
    struct dsc$descriptor_s text = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    struct dsc$descriptor_s dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};
    unsigned short n;
    unsigned int only_time = 1;

    sys$numtim(f, &t);
    is(lib$cvt_vectim(f, &back), LIB$_NORMAL, "fields to a time");
    is(back, t, "that they came from");
    sys$numtim(f, &d);
    is(lib$cvt_vectim(f, &back), LIB$_NORMAL, "fields to a delta");
    is(back, d, "that they came from");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is(lib$cvt_vectim(bad[i], &back), LIB$_IVTIME, "no such date or time");
    is(lib$sys_asctim(&n, &text, &t), SS$_NORMAL, "a text with blanks behind");
    ok(n == 23 && memcmp(line, "29-FEB-2024 23:59:58.97       ", 30) == 0, "seven blanks");
    text.dsc$w_length = 5;
    is(lib$sys_asctim(&n, &text, &t, &only_time), LIB$_STRTRU, "cut off");
    ok(n == 5 && memcmp(line, "23:59", 5) == 0, "hours and minutes");
    is(lib$date_time(&dynamic), SS$_NORMAL, "now, as a dynamic string");
    is(dynamic.dsc$w_length, 23, "of 23 characters");
    free(dynamic.dsc$a_pointer);
}

static unsigned seed = 14;

static unsigned chance(unsigned below)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % below;
}

/* Texts that are nearly times: refused, or times whose texts stand for the same. */
static void random_texts(void)
{
    static const char *const parts[] = {"1", "29",  "31",  "00",  "9999", "1858",   "2000",
                                        "-", "-",   "-",   ":",   ":",    ":",      ".",
                                        " ", "FEB", "DEC", "APR", "x",    "59.9995"};
    int wrong = 0, good = 0;

    for (int round = 0; round < 50000; round++) {
        char line[64] = "", text[24];
        struct dsc$descriptor_s out = {sizeof(text), DSC$K_DTYPE_T, DSC$K_CLASS_S, text};
        unsigned n = chance(12);
        long time = 0, again = 0;

        for (unsigned i = 0; i <= n; i++)
            strcat(line, parts[chance(sizeof(parts) / sizeof(parts[0]))]);
        struct dsc$descriptor_s in = string(line);
        int status = sys$bintim(&in, &time);

        good += status == SS$_NORMAL;
        if (status == SS$_NORMAL && time % 100000 == 0 &&
            sys$asctim(&out.dsc$w_length, &out, &time, 0) == SS$_NORMAL) {
            if (sys$bintim(&out, &again) != SS$_NORMAL || again != time)
                wrong++, diag("\"%s\" is %ld", line, time);
        } else if (status != SS$_IVTIME) {
            wrong++, diag("\"%s\": status %d, %ld", line, status, time);
        }
    }
    is(wrong, 0, "random texts");
    ok(good > 200, "%d of 50000 were times", good);
}

int main(void)
{
    texts();
    inputs();
    fields();
    sums();
    parts();
    vectors();
    random_texts();
    return tap_done();
}
