/*
 * The system services on times. Days are counted from 17-NOV-1858; the calendar is that of Gregory
 * throughout. For the conversion, years begin in March, so that the day that only leap years have
 * is the last of its year, and days are counted from 1-MAR-0000: a cycle of 400 years has a fixed
 * number of days.
 */
#include "clock.h"
#include "descriptor.h"

#include <rtl/time.h>
#include <ssdef.h>
#include <stdio.h>
#include <string.h>

#undef sys$gettim
#undef sys$asctim

#define MARCH_0000  678881 /* days from 1-MAR-0000 to 17-NOV-1858 */
#define CYCLE_DAYS  146097 /* days of 400 years */
#define CYCLE_YEARS 400
#define FIRST_YEAR  1858
#define LAST_YEAR   9999

enum { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, HUNDREDTH, FIELDS };

static const char months[12][4] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};

/* Days from the first of March to the first of the month, 0 being March. */
static int64_t month_start(int64_t month) { return (153 * month + 2) / 5; }

static void date_of(int64_t days, unsigned short *fields)
{
    int64_t cycle = (days + MARCH_0000) / CYCLE_DAYS, day = (days + MARCH_0000) % CYCLE_DAYS;
    /* Without the days that 4, 100 and 400 years add, each year has 365. */
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365, month;

    day -= 365 * year + year / 4 - year / 100;
    month = (5 * day + 2) / 153;
    fields[YEAR] = (unsigned short)(cycle * CYCLE_YEARS + year + (month >= 10));
    fields[MONTH] = (unsigned short)(month < 10 ? month + 3 : month - 9);
    fields[DAY] = (unsigned short)(day - month_start(month) + 1);
}

static int64_t days_of(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, m = month > 2 ? month - 3 : month + 9;

    return 365 * y + y / 4 - y / 100 + y / 400 + month_start(m) + day - 1 - MARCH_0000;
}

static int month_days(int year, int month)
{
    return (int)(month == 12 ? 31 : days_of(year, month + 1, 1) - days_of(year, month, 1));
}

/* The seven fields of a time. False for a delta that is too long. */
static bool split(int64_t time, unsigned short *fields)
{
    uint64_t ticks = time < 0 ? -(uint64_t)time : (uint64_t)time;
    uint64_t days = ticks / TICKS_PER_DAY;

    if (time < 0 && days > DELTA_DAYS_MAX)
        return false;
    if (time < 0) {
        fields[YEAR] = fields[MONTH] = 0;
        fields[DAY] = (unsigned short)days;
    } else {
        date_of((int64_t)days, fields);
    }
    ticks %= TICKS_PER_DAY;
    fields[HOUR] = (unsigned short)(ticks / (3600 * TICKS_PER_SECOND));
    fields[MINUTE] = (unsigned short)(ticks / (60 * TICKS_PER_SECOND) % 60);
    fields[SECOND] = (unsigned short)(ticks / TICKS_PER_SECOND % 60);
    fields[HUNDREDTH] = (unsigned short)(ticks % TICKS_PER_SECOND / (TICKS_PER_SECOND / 100));
    return true;
}

static int64_t time_at(const void *timadr)
{
    int64_t time;

    if (!timadr)
        return mega$clock();
    memcpy(&time, timadr, sizeof(time));
    return time;
}

int sys$gettim(void *timadr, unsigned int flags)
{
    int64_t now = mega$clock();

    (void)flags;
    if (!timadr)
        return SS$_ACCVIO;
    memcpy(timadr, &now, sizeof(now));
    return SS$_NORMAL;
}

int sys$numtim(unsigned short *timbuf, void *timadr)
{
    unsigned short fields[FIELDS];

    if (!timbuf)
        return SS$_ACCVIO;
    if (!split(time_at(timadr), fields))
        return SS$_IVTIME;
    memcpy(timbuf, fields, sizeof(fields));
    return SS$_NORMAL;
}

int sys$asctim(unsigned short *timlen, void *timbuf, void *timadr, char cvtflg)
{
    int64_t time = time_at(timadr);
    unsigned short f[FIELDS];
    struct text buffer;
    char line[64];
    int n = 0;

    if (!mega$buffer_of(timbuf, &buffer))
        return SS$_ACCVIO;
    if (!split(time, f) || f[YEAR] > LAST_YEAR)
        return SS$_IVTIME;
    if (!(cvtflg & 1) && time < 0)
        n = snprintf(line, sizeof(line), "%4d ", f[DAY]);
    else if (!(cvtflg & 1))
        n = snprintf(line, sizeof(line), "%2d-%s-%d ", f[DAY], months[f[MONTH] - 1], f[YEAR]);
    n += snprintf(line + n, sizeof(line) - (size_t)n, "%02d:%02d:%02d.%02d", f[HOUR], f[MINUTE],
                  f[SECOND], f[HUNDREDTH]);
    bool all = (size_t)n <= buffer.length;
    size_t written = all ? (size_t)n : buffer.length;

    if (written)
        memcpy(buffer.at, line, written);
    if (timlen)
        *timlen = (unsigned short)written;
    return all ? SS$_NORMAL : SS$_BUFFEROVF;
}

/* What is left of the text. */
struct scan {
    const char *at, *end;
};

static char peek(const struct scan *s) { return s->at < s->end ? *s->at : '\0'; }

static bool accept(struct scan *s, char c)
{
    bool found = s->at < s->end && *s->at == c;

    s->at += found;
    return found;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads a number of at most so many digits into *field, which stays as it is if there is none. */
static bool number(struct scan *s, int digits, int low, int high, int *field)
{
    int value = 0, n = 0;

    for (; is_digit(peek(s)) && n < digits; n++)
        value = 10 * value + *s->at++ - '0';
    if (n == 0)
        return true;
    *field = value;
    return value >= low && value <= high;
}

/* Reads what follows the point: a third digit rounds, others are not looked at. *hundredths can
 * become 100. */
static void fraction(struct scan *s, int *hundredths)
{
    int thousandths = 0, scale = 100;

    if (!is_digit(peek(s)))
        return;
    for (; is_digit(peek(s)); s->at++, scale /= 10)
        thousandths += scale * (*s->at - '0');
    *hundredths = (thousandths + 5) / 10;
}

/* Reads "hh:mm:ss.cc" up to the end of the text; any field can be left out. */
static bool time_of_day(struct scan *s, int *fields)
{
    if (!number(s, 2, 0, 23, &fields[HOUR]))
        return false;
    if (accept(s, ':')) {
        if (!number(s, 2, 0, 59, &fields[MINUTE]))
            return false;
        if (accept(s, ':')) {
            if (!number(s, 2, 0, 59, &fields[SECOND]))
                return false;
            if (accept(s, '.'))
                fraction(s, &fields[HUNDREDTH]);
        }
    }
    return s->at == s->end;
}

static int64_t ticks_of(const int *fields)
{
    int64_t seconds = fields[HOUR] * 3600L + fields[MINUTE] * 60L + fields[SECOND];

    return seconds * TICKS_PER_SECOND + fields[HUNDREDTH] * (TICKS_PER_SECOND / 100);
}

static bool month_name(struct scan *s, int *month)
{
    if (s->at == s->end || *s->at == '-' || *s->at == ' ')
        return true;
    for (int i = 0; i < 12; i++)
        if (s->end - s->at >= 3 && memcmp(s->at, months[i], 3) == 0) {
            *month = i + 1;
            s->at += 3;
            return true;
        }
    return false;
}

static void skip_blanks(struct scan *s)
{
    while (accept(s, ' '))
        ;
}

static bool absolute(struct scan *s, int64_t *time)
{
    unsigned short now[FIELDS];
    int fields[FIELDS];

    if (!split(mega$clock(), now))
        return false;
    for (int i = 0; i < FIELDS; i++)
        fields[i] = now[i];
    if (!number(s, 2, 1, 31, &fields[DAY]) || !accept(s, '-') || !month_name(s, &fields[MONTH]))
        return false;
    if (accept(s, '-') && !number(s, 4, FIRST_YEAR, LAST_YEAR, &fields[YEAR]))
        return false;
    if (s->at < s->end && *s->at != ' ')
        return false;
    if (fields[DAY] > month_days(fields[YEAR], fields[MONTH]))
        return false;
    skip_blanks(s);
    if (!time_of_day(s, fields))
        return false;
    *time = days_of(fields[YEAR], fields[MONTH], fields[DAY]) * TICKS_PER_DAY + ticks_of(fields);
    return *time >= 0;
}

static bool delta(struct scan *s, int64_t *time)
{
    int fields[FIELDS] = {0};
    struct scan whole = *s;

    /* The first of two words is the number of days. */
    if (!number(s, 4, 0, DELTA_DAYS_MAX, &fields[DAY]) || peek(s) != ' ') {
        *s = whole;
        fields[DAY] = 0;
    }
    skip_blanks(s);
    if (!time_of_day(s, fields))
        return false;
    *time = -(fields[DAY] * TICKS_PER_DAY + ticks_of(fields));
    return *time > -(DELTA_DAYS_MAX + 1) * TICKS_PER_DAY;
}

int sys$bintim(void *timbuf, void *timadr)
{
    struct text text;
    struct scan s;
    int64_t time;
    bool hyphen = false;

    if (!timadr || !mega$text_of(timbuf, &text))
        return SS$_ACCVIO;
    s = (struct scan){text.at, text.at + text.length};
    skip_blanks(&s);
    while (s.end > s.at && s.end[-1] == ' ')
        s.end--;
    if (s.at == s.end)
        return SS$_IVTIME;
    for (const char *c = s.at; c < s.end && *c != ' '; c++)
        hyphen |= *c == '-';
    if (!(hyphen ? absolute(&s, &time) : delta(&s, &time)))
        return SS$_IVTIME;
    memcpy(timadr, &time, sizeof(time));
    return SS$_NORMAL;
}
