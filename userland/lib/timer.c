/* What has passed since a timer was started: time, CPU time, I/O, page faults. */
#include "clock.h"
#include "descriptor.h"
#include "hold.h"

#include <descrip.h>
#include <efndef.h>
#include <iledef.h>
#include <jpidef.h>
#include <libdef.h>
#include <rtl/fao.h>
#include <rtl/misc.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#undef lib$init_timer
#undef lib$show_timer
#undef lib$stat_timer

#define TIMERS_MAX 64

enum { ALL, ELAPSED, CPU, BUFFERED, DIRECT, FAULTS, CODES };

struct values {
    int64_t of[CODES]; /* times in units of 100 ns */
};

/* Protects both tables. Timer 0 is that of callers without a handle. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct values timers[TIMERS_MAX];
static bool used[TIMERS_MAX];

static struct values now(void)
{
    struct values v = {{0}};
    uint32_t buffered, direct;
    ILE3 items[] = {{sizeof(buffered), JPI$_BUFIO, &buffered, 0},
                    {sizeof(direct), JPI$_DIRIO, &direct, 0},
                    {0, 0, 0, 0}};
    struct rusage usage;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    v.of[ELAPSED] = t.tv_sec * TICKS_PER_SECOND + t.tv_nsec / 100;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    v.of[CPU] = t.tv_sec * TICKS_PER_SECOND + t.tv_nsec / 100;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        v.of[FAULTS] = usage.ru_minflt + usage.ru_majflt;
    if (sys$getjpiw(EFN$C_ENF, 0, 0, items, 0, 0, 0) == SS$_NORMAL) {
        v.of[BUFFERED] = buffered;
        v.of[DIRECT] = direct;
    }
    return v;
}

int lib$init_timer(unsigned int *handle)
{
    unsigned number = handle ? *handle : 0;
    int status = SS$_NORMAL;

    mega$lock(&lock);
    if (handle && number == 0)
        for (number = 1; number < TIMERS_MAX && used[number]; number++)
            ;
    else if (handle && (number >= TIMERS_MAX || !used[number]))
        status = LIB$_INVARG;
    if (number == TIMERS_MAX)
        status = LIB$_INSVIRMEM;
    if (status == SS$_NORMAL) {
        used[number] = true;
        timers[number] = now();
    }
    mega$unlock(&lock);
    if (status == SS$_NORMAL && handle)
        *handle = number;
    return status;
}

/* What has passed since. */
static int since(const unsigned int *handle, struct values *v)
{
    unsigned number = handle ? *handle : 0;
    int status = LIB$_INVARG;

    mega$lock(&lock);
    if (number < TIMERS_MAX && used[number]) {
        *v = now();
        for (int i = 0; i < CODES; i++)
            v->of[i] -= timers[number].of[i];
        status = SS$_NORMAL;
    }
    mega$unlock(&lock);
    return status;
}

int lib$stat_timer(const int *code, void *value, const unsigned int *handle)
{
    struct values v;
    int64_t delta;
    int32_t number;
    int status;

    if (!code || !value)
        return SS$_ACCVIO;
    if (*code < ELAPSED || *code > FAULTS)
        return LIB$_INVARG;
    if ((status = since(handle, &v)) != SS$_NORMAL)
        return status;
    delta = -v.of[ELAPSED];
    number = (int32_t)(*code == CPU ? v.of[CPU] / (TICKS_PER_SECOND / 100) : v.of[*code]);
    if (*code == ELAPSED)
        memcpy(value, &delta, sizeof(delta));
    else
        memcpy(value, &number, sizeof(number));
    return SS$_NORMAL;
}

int lib$show_timer(const unsigned int *handle, const int *code, int (*action)(),
                   unsigned long user_argument)
{
    static const char *const parts[] = {
        " ELAPSED: !%D  CPU: !%T  BUFIO: !UL  DIRIO: !UL  FAULTS: !UL",
        " ELAPSED: !%D",
        " !+CPU: !%T",
        " !2(+)BUFIO: !UL",
        " !3(+)DIRIO: !UL",
        " !4(+)FAULTS: !UL"};
    int which = code ? *code : ALL;
    char line[200];
    struct dsc$descriptor_s text = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line}, control;
    struct values v;
    int status;

    if (which < ALL || which > FAULTS)
        return LIB$_INVARG;
    if ((status = since(handle, &v)) != SS$_NORMAL)
        return status;
    v.of[ELAPSED] = -v.of[ELAPSED] - 1; /* a delta, even if nothing has passed */
    v.of[CPU] = -v.of[CPU] - 1;
    control = (struct dsc$descriptor_s){(unsigned short)strlen(parts[which]), DSC$K_DTYPE_T,
                                        DSC$K_CLASS_S, (char *)parts[which]};
    int64_t parameters[] = {(int64_t)&v.of[ELAPSED], (int64_t)&v.of[CPU], v.of[BUFFERED],
                            v.of[DIRECT], v.of[FAULTS]};

    status = sys$faol_64(&control, &text.dsc$w_length, &text, parameters);
    if (status != SS$_NORMAL)
        return status;
    return action ? action(&text, user_argument) : lib$put_output(&text);
}

int lib$free_timer(unsigned int *handle)
{
    unsigned number;
    bool there;

    if (!handle)
        return SS$_ACCVIO;
    number = *handle;
    mega$lock(&lock);
    there = number && number < TIMERS_MAX && used[number];
    if (there)
        used[number] = false;
    mega$unlock(&lock);
    if (there)
        *handle = 0;
    return there ? SS$_NORMAL : LIB$_INVARG;
}
