/*
 * Signalling conditions. A signal is given to the handlers of the running procedures, innermost
 * first. A handler may signal itself: the procedures that its own signal has passed are then not
 * asked once more.
 */
#include "handlers.h"
#include "hold.h"
#include "message.h"

#include <chfdef.h>
#include <libdef.h>
#include <rtl/handler.h>
#include <ssdef.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <stsdef.h>

#undef lib$signal
#undef lib$stop
#undef lib$match_cond

#define NESTED_MAX    8    /* signals of handlers of signals */
#define PS_USER       0x1b /* the processor status that is shown: user mode */
#define MECHANISM_LEN 43   /* quadwords of a mechanism array behind the first */

static _Thread_local struct signalled signals[NESTED_MAX];
static _Thread_local int level;

const struct signalled *mega$signal_number(int n)
{
    return n < level ? &signals[level - 1 - n] : NULL;
}

struct signalled *mega$new_signal(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct signalled *s = NULL;

    unsigned held = mega$hold.depth;

    mega$hold_asts(); /* a routine that signals uses the entry that is free */
    /* Those whose frames are gone were left by longjmp(). */
    while (level && signals[level - 1].dispatcher < here)
        level--;
    if (level < NESTED_MAX) {
        s = &signals[level++];
        memset(s, 0, sizeof(*s));
        s->dispatcher = UINTPTR_MAX;
        s->held = held;
    }
    mega$release_asts();
    return s;
}

void mega$forget_signal(const struct signalled *s) { level = (int)(s - signals); }

unsigned mega$interrupted_holds(void) { return level ? signals[level - 1].held : 0; }

const int64_t *mega$signal_quadwords(const void *longwords, size_t *count)
{
    for (int i = 0; i < level; i++)
        if (longwords == signals[i].longwords) {
            *count = signals[i].count;
            return signals[i].quadwords;
        }
    return NULL;
}

/* Tells the handlers of the procedures that are left, and does so. */
static void unwind(struct signalled *s, uintptr_t target, int64_t value)
{
    struct chf$mech_array mechanism = {.chf$is_mch_args = MECHANISM_LEN};
    int32_t array[2] = {1, SS$_UNWIND};
    uintptr_t after = s->cfa - 1, from = s->cfa;
    int depth = s->unwind_depth;
    void *pc = s->unwind_pc;
    struct established e;

    /* This signal, those of its handlers, and those whose handlers are left: they hide no frame. */
    mega$forget_signal(s);
    while (level && signals[level - 1].dispatcher < target)
        level--;
    while (mega$next_established(from, after, &e) && e.cfa < target) {
        mechanism.chf$q_mch_frame = (int64_t)e.cfa;
        mechanism.chf$q_mch_depth = e.depth;
        e.handler(array, &mechanism);
        after = e.cfa;
    }
    mega$forget_below(target);
    mega$unwind_to(from, depth, value, pc);
}

__attribute__((noinline)) bool mega$dispatch(struct signalled *s)
{
    uintptr_t after = s->cfa - 1, target;
    bool continues = false;
    struct established e;

    s->dispatcher = (uintptr_t)__builtin_dwarf_cfa();
    s->longwords[0] = (int32_t)s->count;
    for (size_t i = 0; i < s->count; i++)
        s->longwords[i + 1] = (int32_t)s->quadwords[i];
    while (!continues && mega$next_established(s->cfa, after, &e)) {
        struct chf$mech_array mechanism = {.chf$is_mch_args = MECHANISM_LEN,
                                           .chf$q_mch_frame = (int64_t)e.cfa,
                                           .chf$q_mch_depth = e.depth,
                                           .chf$q_mch_sig_addr = (int64_t)s->longwords,
                                           .chf$q_mch_savr0 = s->longwords[1]};

        s->current = e;
        continues = e.handler(s->longwords, &mechanism) & 1;
        if (s->unwind && (target = mega$frame_above(s->cfa, s->unwind_depth)))
            unwind(s, target, mechanism.chf$q_mch_savr0);
        after = e.cfa;
    }
    return continues;
}

void mega$report(const struct signalled *s)
{
    static const struct message_writer plain;
    int64_t vector[SIGNAL_ARGUMENTS_MAX + 2];

    for (size_t i = 0; i < s->count; i++) { /* a handler may have changed the longwords */
        vector[i] = s->quadwords[i];
        if ((int32_t)vector[i] != s->longwords[i + 1])
            vector[i] = s->longwords[i + 1];
    }
    mega$put_messages(vector, s->count - 2, s->count, MESSAGE_ALL, &plain);
}

/* Signals; returns the condition value, or 0 if a handler continues. */
static unsigned signal_one(bool stop, void *frame, int count, va_list list, void *pc)
{
    struct signalled *s = mega$new_signal();
    struct signalled alone = {0};
    unsigned status;
    bool continues;
    size_t n = 0;

    if (!s)
        s = &alone;
    if (count > SIGNAL_ARGUMENTS_MAX)
        count = SIGNAL_ARGUMENTS_MAX;
    for (; n < (size_t)count; n++)
        s->quadwords[n] = va_arg(list, long);
    if (stop)
        s->quadwords[0] = (s->quadwords[0] & ~(int64_t)STS$M_SEVERITY) | STS$K_SEVERE;
    s->quadwords[n++] = (int64_t)pc;
    s->quadwords[n++] = PS_USER;
    s->count = n;
    s->cfa = (uintptr_t)frame;
    continues = s != &alone && mega$dispatch(s);
    status = s == &alone ? (unsigned)s->quadwords[0] : (unsigned)s->longwords[1];
    if (s == &alone)
        for (size_t i = 0; i < n; i++)
            s->longwords[i + 1] = (int32_t)s->quadwords[i];
    if (!continues)
        mega$report(s);
    if (s != &alone)
        mega$forget_signal(s);
    return continues ? 0 : status;
}

int mega$signal(int stop, void *frame, int count, ...)
{
    static const struct message_writer plain;
    unsigned status;
    va_list list;

    va_start(list, count);
    status = signal_one(stop, frame, count, list, __builtin_return_address(0));
    va_end(list);
    if (stop && !status) {
        mega$put_messages((int64_t[]){LIB$_ATTCONSTO}, 1, 1, MESSAGE_ALL, &plain);
        status = LIB$_ATTCONSTO;
    }
    if (stop || (status && $VMS_STATUS_SEVERITY(status) == STS$K_SEVERE))
        mega$end(status | STS$M_INHIB_MSG);
    return SS$_NORMAL;
}

/* For callers that take the address: of their arguments only the first is known to be there. */
int lib$signal(unsigned int condition_value, ...)
{
    return mega$signal(0, __builtin_dwarf_cfa(), 1, (long)(int)condition_value);
}

int lib$stop(unsigned int condition_value, ...)
{
    mega$signal(1, __builtin_dwarf_cfa(), 1, (long)(int)condition_value);
    __builtin_unreachable();
}

int sys$unwind(const void *depadr, void *newpc)
{
    struct signalled *s = level ? &signals[level - 1] : NULL;
    int depth;

    if (!s || !s->current.handler)
        return SS$_NOSIGNAL;
    if (s->unwind)
        return SS$_UNWINDING;
    depth = depadr ? *(const int *)depadr : s->current.depth + 1;
    if (!mega$frame_above(s->cfa, depth))
        return SS$_INSFRAME;
    s->unwind = true;
    s->unwind_depth = depth;
    s->unwind_pc = newpc;
    return SS$_NORMAL;
}

int lib$sig_to_ret(void *signal_args, void *mechanism_args)
{
    struct chf$signal_array *signal = signal_args;
    struct chf$mech_array *mechanism = mechanism_args;

    /* A handler is also told of an unwind, which it must not answer by another. */
    if (signal->chf$is_sig_name == SS$_UNWIND)
        return SS$_RESIGNAL;
    mechanism->chf$q_mch_savr0 = signal->chf$is_sig_name;
    return sys$unwind(NULL, NULL);
}

int mega$match_cond(int count, ...)
{
    uint32_t mask = STS$M_COND_ID, wanted = 0, value;
    const void *at;
    va_list list;
    int match = 0;

    va_start(list, count);
    for (int i = 0; i < count && !match; i++) {
        if (!(at = va_arg(list, const void *)))
            continue;
        memcpy(&value, at, sizeof(value));
        if (i == 0) {
            wanted = value;
            /* A number that is the same in all facilities. */
            if (!(value & STS$M_FAC_SP))
                mask &= ~(uint32_t)STS$M_FAC_NO;
        } else if (((value ^ wanted) & mask) == 0) {
            match = i;
        }
    }
    va_end(list);
    return match;
}

int lib$match_cond(const void *condition_value, ...)
{
    (void)condition_value;
    return 0;
}
