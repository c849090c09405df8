/*
 * Library routines on times. As the system services do, they take a delta to be shorter than 10,000
 * days; a longer one, or a result that is longer, is LIB$_IVTIME.
 */
#include "clock.h"
#include "descriptor.h"

#include <descrip.h>
#include <libdef.h>
#include <libdtdef.h>
#include <rtl/time.h>
#include <ssdef.h>
#include <stdio.h>
#include <string.h>

#undef lib$day
#undef lib$sys_asctim
#undef lib$cvt_from_internal_time

#define DELTA_LIMIT ((DELTA_DAYS_MAX + 1) * TICKS_PER_DAY)

static int64_t load(const void *address)
{
    int64_t time;

    memcpy(&time, address, sizeof(time));
    return time;
}

static bool too_long(int64_t time) { return time <= -DELTA_LIMIT; }

/* Stores a time, unless it is a delta that is too long. */
static int store(void *address, int64_t time)
{
    if (too_long(time))
        return LIB$_IVTIME;
    memcpy(address, &time, sizeof(time));
    return LIB$_NORMAL;
}

int lib$day(int *number_of_days, const void *user_time, int *day_time)
{
    int64_t time = user_time ? load(user_time) : mega$clock();

    if (!number_of_days)
        return SS$_ACCVIO;
    *number_of_days = (int)(time / TICKS_PER_DAY);
    if (day_time)
        *day_time = (int)(time % TICKS_PER_DAY / (TICKS_PER_SECOND / 100));
    return SS$_NORMAL;
}

int lib$day_of_week(const void *user_time, unsigned int *day_number)
{
    int64_t time = user_time ? load(user_time) : mega$clock();

    if (!day_number)
        return SS$_ACCVIO;
    if (time < 0)
        return LIB$_ABSTIMREQ;
    /* The first day was a Wednesday. */
    *day_number = (unsigned int)((time / TICKS_PER_DAY + 2) % 7 + 1);
    return SS$_NORMAL;
}

int lib$add_times(const void *time1, const void *time2, void *resultant_time)
{
    int64_t a, b, sum;

    if (!time1 || !time2 || !resultant_time)
        return SS$_ACCVIO;
    a = load(time1);
    b = load(time2);
    if (a >= 0 && b >= 0)
        return LIB$_ONEDELTIM;
    if (too_long(a) || too_long(b))
        return LIB$_IVTIME;
    if (a < 0 && b < 0)
        return store(resultant_time, a + b);
    if (__builtin_sub_overflow(a >= 0 ? a : b, a >= 0 ? b : a, &sum))
        return LIB$_IVTIME;
    return store(resultant_time, sum);
}

int lib$sub_times(const void *time1, const void *time2, void *resultant_time)
{
    int64_t a, b, difference;

    if (!time1 || !time2 || !resultant_time)
        return SS$_ACCVIO;
    a = load(time1);
    b = load(time2);
    if (too_long(a) || too_long(b))
        return LIB$_IVTIME;
    if (a < 0 && b >= 0)
        return LIB$_INVARGORD;
    if (a >= 0 && b >= 0) { /* the delta from the second to the first */
        difference = b - a;
        return difference > 0 ? LIB$_NEGTIM : store(resultant_time, difference - !difference);
    }
    difference = a < 0 ? a - b : a + b;
    if (a < 0 ? difference > 0 : difference < 0)
        return LIB$_NEGTIM;
    /* Equal deltas differ by one tick: 0 were a time. */
    return store(resultant_time, difference - (a < 0 && !difference));
}

int lib$mult_delta_time(const int *multiplier, void *delta_time)
{
    int64_t factor, product;

    if (!multiplier || !delta_time)
        return SS$_ACCVIO;
    if (load(delta_time) >= 0)
        return LIB$_DELTIMREQ;
    factor = *multiplier < 0 ? -(int64_t)*multiplier : *multiplier;
    if (__builtin_mul_overflow(load(delta_time), factor, &product))
        return LIB$_IVTIME;
    return store(delta_time, product);
}

int lib$multf_delta_time(const float *multiplier, void *delta_time)
{
    double product;

    if (!multiplier || !delta_time)
        return SS$_ACCVIO;
    if (load(delta_time) >= 0)
        return LIB$_DELTIMREQ;
    product = (double)load(delta_time) * (*multiplier < 0 ? -(double)*multiplier : *multiplier);
    if (!(product > -(double)DELTA_LIMIT)) /* also what is no number */
        return LIB$_IVTIME;
    return store(delta_time, (int64_t)product);
}

/* Seconds of the unit of a delta operation, whole or fractional, relative to weeks. */
static int64_t unit(unsigned int operation, unsigned int weeks)
{
    static const int64_t seconds[] = {7 * 86400, 86400, 3600, 60, 1};

    return seconds[operation - weeks];
}

static bool is_delta(unsigned int operation)
{
    return operation >= LIB$K_DELTA_WEEKS && operation <= LIB$K_DELTA_SECONDS;
}

static bool is_fraction(unsigned int operation)
{
    return operation >= LIB$K_DELTA_WEEKS_F && operation <= LIB$K_DELTA_SECONDS_F;
}

/* Days of the year before that of the fields. */
static int64_t day_of_year(const unsigned short *fields)
{
    static const short before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int year = fields[0];
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return before[fields[1] - 1] + (leap && fields[1] > 2) + fields[2] - 1;
}

enum { OF_YEAR, OF_MONTH, OF_WEEK, OF_DAY, OF_HOUR, OF_MINUTE, PERIODS };

/* What the operations for absolute times, but LIB$K_MONTH_OF_YEAR and LIB$K_JULIAN_DATE, take. */
static const struct {
    short period;
    int unit; /* seconds */
} parts[] = {
    [LIB$K_DAY_OF_YEAR] = {OF_YEAR, 86400},   [LIB$K_HOUR_OF_YEAR] = {OF_YEAR, 3600},
    [LIB$K_MINUTE_OF_YEAR] = {OF_YEAR, 60},   [LIB$K_SECOND_OF_YEAR] = {OF_YEAR, 1},
    [LIB$K_DAY_OF_MONTH] = {OF_MONTH, 86400}, [LIB$K_HOUR_OF_MONTH] = {OF_MONTH, 3600},
    [LIB$K_MINUTE_OF_MONTH] = {OF_MONTH, 60}, [LIB$K_SECOND_OF_MONTH] = {OF_MONTH, 1},
    [LIB$K_DAY_OF_WEEK] = {OF_WEEK, 86400},   [LIB$K_HOUR_OF_WEEK] = {OF_WEEK, 3600},
    [LIB$K_MINUTE_OF_WEEK] = {OF_WEEK, 60},   [LIB$K_SECOND_OF_WEEK] = {OF_WEEK, 1},
    [LIB$K_HOUR_OF_DAY] = {OF_DAY, 3600},     [LIB$K_MINUTE_OF_DAY] = {OF_DAY, 60},
    [LIB$K_SECOND_OF_DAY] = {OF_DAY, 1},      [LIB$K_MINUTE_OF_HOUR] = {OF_HOUR, 60},
    [LIB$K_SECOND_OF_HOUR] = {OF_HOUR, 1},    [LIB$K_SECOND_OF_MINUTE] = {OF_MINUTE, 1},
};

/* What an operation for absolute times takes from a time. The units of a year, month or week are
 * counted from 1, those of a day, hour or minute from 0. */
static unsigned int part(unsigned int operation, int64_t time)
{
    int64_t days = time / TICKS_PER_DAY, of_day = time / TICKS_PER_SECOND % 86400;
    unsigned short fields[7];
    int period;

    sys$numtim(fields, &time);
    if (operation == LIB$K_MONTH_OF_YEAR)
        return fields[1];
    if (operation == LIB$K_JULIAN_DATE)
        return (unsigned int)days;
    int64_t seconds[PERIODS] = {day_of_year(fields) * 86400 + of_day,
                                (fields[2] - 1) * 86400 + of_day,
                                (days + 2) % 7 * 86400 + of_day,
                                of_day,
                                of_day % 3600,
                                of_day % 60};
    period = parts[operation].period;
    return (unsigned int)(seconds[period] / parts[operation].unit + (period < OF_DAY));
}

int lib$cvt_from_internal_time(const unsigned int *operation, unsigned int *resultant_time,
                               const void *input_time)
{
    int64_t time = input_time ? load(input_time) : mega$clock();

    if (!operation || !resultant_time)
        return SS$_ACCVIO;
    if (*operation < LIB$K_MONTH_OF_YEAR || *operation > LIB$K_DELTA_SECONDS)
        return LIB$_INVOPER;
    if (!is_delta(*operation)) {
        if (time < 0)
            return LIB$_ABSTIMREQ;
        *resultant_time = part(*operation, time);
        return LIB$_NORMAL;
    }
    if (time >= 0)
        return LIB$_DELTIMREQ;
    if (too_long(time))
        return LIB$_IVTIME;
    *resultant_time = (unsigned int)(-time /
                                     (unit(*operation, LIB$K_DELTA_WEEKS) * TICKS_PER_SECOND));
    return LIB$_NORMAL;
}

int lib$cvt_to_internal_time(const unsigned int *operation, const int *input_time,
                             void *resultant_time)
{
    if (!operation || !input_time || !resultant_time)
        return SS$_ACCVIO;
    if (!is_delta(*operation))
        return LIB$_INVOPER;
    /* The longest unit times the largest number is 10^23 ticks: seconds are checked first. */
    int64_t seconds = *input_time * unit(*operation, LIB$K_DELTA_WEEKS);

    if (*input_time <= 0 || seconds >= (DELTA_DAYS_MAX + 1) * 86400L)
        return LIB$_IVTIME;
    return store(resultant_time, -seconds * TICKS_PER_SECOND);
}

int lib$cvtf_from_internal_time(const unsigned int *operation, float *resultant_time,
                                const void *input_time)
{
    int64_t time;

    if (!operation || !resultant_time || !input_time)
        return SS$_ACCVIO;
    if (!is_fraction(*operation))
        return LIB$_INVOPER;
    time = load(input_time);
    if (time >= 0)
        return LIB$_DELTIMREQ;
    if (too_long(time))
        return LIB$_IVTIME;
    *resultant_time = (float)(-(double)time / TICKS_PER_SECOND /
                              (double)unit(*operation, LIB$K_DELTA_WEEKS_F));
    return LIB$_NORMAL;
}

int lib$cvtf_to_internal_time(const unsigned int *operation, const float *input_time,
                              void *resultant_time)
{
    double seconds;

    if (!operation || !input_time || !resultant_time)
        return SS$_ACCVIO;
    if (!is_fraction(*operation))
        return LIB$_INVOPER;
    seconds = (double)*input_time * (double)unit(*operation, LIB$K_DELTA_WEEKS_F);
    if (!(seconds > 0 && seconds < (DELTA_DAYS_MAX + 1) * 86400.0)) /* also what is no number */
        return LIB$_IVTIME;
    return store(resultant_time, -(int64_t)(seconds * TICKS_PER_SECOND + 0.5));
}

int lib$cvt_vectim(const unsigned short *f, void *resultant_time)
{
    static const char months[] = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
    char line[64];
    struct dsc$descriptor_s text = {0, DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    int n;

    if (!f || !resultant_time)
        return SS$_ACCVIO;
    if (f[1] > 12 || (f[0] == 0) != (f[1] == 0) || (f[0] && f[2] == 0))
        return LIB$_IVTIME;
    n = f[0] == 0
            ? snprintf(line, sizeof(line), "%d ", f[2])
            : snprintf(line, sizeof(line), "%d-%.3s-%d ", f[2], months + 3 * (f[1] - 1), f[0]);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%d:%d:%d.%02d", f[3], f[4], f[5], f[6]);
    text.dsc$w_length = (unsigned short)n;
    return f[6] < 100 && sys$bintim(&text, resultant_time) == SS$_NORMAL ? LIB$_NORMAL
                                                                         : LIB$_IVTIME;
}

int lib$sys_asctim(unsigned short *resultant_length, void *time_string, const void *user_time,
                   const unsigned int *flags)
{
    char line[32];
    struct dsc$descriptor_s text = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    int64_t time = user_time ? load(user_time) : mega$clock();
    unsigned short length;
    size_t stored;
    int status = sys$asctim(&length, &text, &time, (char)(flags ? *flags & 1 : 0));

    if (status != SS$_NORMAL)
        return status;
    status = mega$text_store(time_string, line, length, &stored);
    if (resultant_length)
        *resultant_length = (unsigned short)stored;
    return status;
}

int lib$date_time(void *date_time_string)
{
    return lib$sys_asctim(NULL, date_time_string, NULL, NULL);
}
