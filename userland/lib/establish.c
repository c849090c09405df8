/*
 * Which handlers are established. A thread has a list of them, from the outermost procedure to the
 * innermost. A procedure does not say when it returns; so a handler counts only if its procedure is
 * found on the stack: by a frame with the same CFA whose code belongs to the same function. What is
 * left of procedures that have returned is removed when one above them establishes a handler.
 *
 * One case remains: a procedure that established a handler and returned, and that is called again
 * from the same depth, has the handler still, even if it does not establish one this time.
 */
#include "handlers.h"
#include "hold.h"

#include <libdef.h>
#include <pthread.h>
#include <rtl/handler.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#undef lib$establish
#undef lib$revert

struct record {
    uintptr_t cfa;
    void *function;
    int (*handler)();
};

#define RECORDS_OWN 16

/* The first records need no memory; where there is none for more, that is signalled. */
static _Thread_local struct {
    struct record own[RECORDS_OWN];
    struct record *records;
    size_t count, size;
} list;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;

static void make_key(void)
{
    pthread_key_create(&at_exit, free);
    mega$catch_faults();
}

void mega$forget_below(uintptr_t cfa)
{
    while (list.count && list.records[list.count - 1].cfa < cfa)
        list.count--;
}

/* The new last record, or NULL without memory. */
static struct record *append(void)
{
    size_t size = 2 * list.size;
    bool own = list.records == list.own;
    struct record *more;

    if (!list.size) {
        list.records = list.own;
        list.size = RECORDS_OWN;
    } else if (list.count == list.size) {
        if (!(more = realloc(own ? NULL : list.records, size * sizeof(*more))))
            return NULL;
        if (own)
            memcpy(more, list.own, sizeof(list.own));
        list.records = more;
        list.size = size;
        pthread_setspecific(at_exit, more); /* frees it when the thread ends */
    }
    return &list.records[list.count++];
}

int (*mega$establish(int (*new_handler)(), void *frame, void *unused))()
{
    void *function, *caller = __builtin_return_address(0);
    uintptr_t cfa = (uintptr_t)frame;
    int (*old)() = NULL;
    struct record *r = NULL;

    (void)unused;
    mega$hold_asts(); /* a routine may establish a handler, too, and the unwinder has a lock */
    pthread_once(&once, make_key);
    function = _Unwind_FindEnclosingFunction(caller);
    mega$forget_below(cfa);
    if (list.count && list.records[list.count - 1].cfa == cfa) {
        r = &list.records[--list.count];
        old = r->function == function ? r->handler : NULL;
    }
    if (new_handler && (r = append()))
        *r = (struct record){cfa, function, new_handler};
    mega$release_asts();
    if (new_handler && !r)
        mega$signal(1, frame, 1, (long)LIB$_INSVIRMEM);
    return old;
}

/* For callers that take the address: they have no frame of their own that could be known here. */
int (*lib$establish(int (*new_handler)()))()
{
    (void)new_handler;
    return NULL;
}

int (*lib$revert(void))() { return NULL; }

/* A walk of the stack. */
struct walk {
    uintptr_t from, after;
    void *function;                /* of the frame before */
    int depth;                     /* of the frame before; -1 below that of the signal */
    uintptr_t hide_low, hide_high; /* frames that a signal has passed whose handler is running */
    bool found;
    struct established *result;
};

/* If the frame is that in which handlers of a signal are called: the frames that it has passed. A
 * signal whose handler was left by longjmp() has no such frame. */
static void note_signal(struct walk *w, uintptr_t cfa)
{
    const struct signalled *s;

    if (w->function != (void *)mega$dispatch)
        return;
    for (int i = 0; (s = mega$signal_number(i)); i++)
        if (s->dispatcher == cfa) {
            w->hide_low = s->cfa;
            w->hide_high = s->current.cfa;
            return;
        }
}

/* The context of a frame has as its CFA the stack pointer of that frame, which is the CFA of the
 * frame before. */
static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    struct walk *w = argument;
    uintptr_t cfa = _Unwind_GetCFA(context);

    note_signal(w, cfa);
    if (cfa == w->from || w->depth >= 0)
        w->depth++;
    if (w->depth >= 0 && cfa > w->after && !(cfa >= w->hide_low && cfa <= w->hide_high))
        for (size_t i = list.count; i-- > 0;) {
            const struct record *r = &list.records[i];

            if (r->cfa == cfa && r->function == w->function) {
                *w->result = (struct established){cfa, w->depth, r->handler};
                w->found = true;
                return _URC_END_OF_STACK;
            }
        }
    w->function = (void *)_Unwind_GetRegionStart(context);
    return _URC_NO_REASON;
}

bool mega$next_established(uintptr_t from, uintptr_t after, struct established *found)
{
    struct walk w = {.from = from, .after = after, .depth = -1, .hide_low = 1, .result = found};

    if (list.count) {
        mega$hold_asts(); /* the unwinder keeps what it has found last */
        _Unwind_Backtrace(look, &w);
        mega$release_asts();
    }
    return w.found;
}
