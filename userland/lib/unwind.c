/*
 * Leaving procedures: the compiler's unwinder finds the registers that a frame further out had, and
 * mega$resume (resume.S) loads them.
 */
#include "handlers.h"
#include "hold.h"
#include "service.h"

#include <unwind.h>

/* The registers that a procedure keeps for its caller, by numbers of DWARF, which has the
 * floating-point registers behind the others. */
#define FIRST_SAVED       9
#define SAVED             7 /* $9 to $15 */
#define FIRST_SAVED_FLOAT (32 + 2)
#define SAVED_FLOAT       8 /* $f2 to $f9 */

/* What mega$resume loads; it knows the offsets. */
struct resume {
    int64_t saved[SAVED], saved_float[SAVED_FLOAT];
    int64_t pc, sp, value;
};

_Static_assert(offsetof(struct resume, saved_float) == 56 && offsetof(struct resume, pc) == 120 &&
                   offsetof(struct resume, sp) == 128 && offsetof(struct resume, value) == 136,
               "offsets of resume.S");

void mega$resume(const struct resume *r) __attribute__((noreturn));

struct search {
    uintptr_t from, cfa; /* cfa: of the frame found, or 0 */
    int wanted, depth;   /* depth: of the frame before; -1 below that of the signal */
    bool leaves_ast;     /* the routine of an AST lies in between, or below the signal */
    struct resume frame; /* of the frame before */
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    struct search *s = argument;
    uintptr_t cfa = _Unwind_GetCFA(context);

    if (cfa == s->from || s->depth >= 0)
        s->depth++;
    if (s->depth == s->wanted) {
        s->cfa = cfa;
        return _URC_END_OF_STACK;
    }
    s->leaves_ast |= _Unwind_GetIP(context) == (uintptr_t)mega$ast_return;
    for (int i = 0; i < SAVED; i++)
        s->frame.saved[i] = (int64_t)_Unwind_GetGR(context, FIRST_SAVED + i);
    for (int i = 0; i < SAVED_FLOAT; i++)
        s->frame.saved_float[i] = (int64_t)_Unwind_GetGR(context, FIRST_SAVED_FLOAT + i);
    s->frame.pc = (int64_t)_Unwind_GetIP(context);
    s->frame.sp = (int64_t)cfa;
    return _URC_NO_REASON;
}

uintptr_t mega$frame_above(uintptr_t from, int depth)
{
    struct search s = {.from = from, .wanted = depth, .depth = -1};

    if (depth >= 0) {
        mega$hold_asts(); /* the unwinder keeps what it has found last */
        _Unwind_Backtrace(look, &s);
        mega$release_asts();
    }
    return s.cfa;
}

void mega$unwind_to(uintptr_t from, int depth, int64_t value, void *pc)
{
    struct search s = {.from = from, .wanted = depth, .depth = -1};

    mega$hold_asts();
    _Unwind_Backtrace(look, &s);
    s.frame.value = value;
    if (pc)
        s.frame.pc = (int64_t)pc;
    if (s.leaves_ast)
        sys$clrast(); /* the routine does not return: without this, no other one would run */
    /* Those of a routine of the library that a fault has ended are left too. */
    mega$leave_holds(mega$interrupted_holds());
    mega$resume(&s.frame);
}
