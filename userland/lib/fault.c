/* Faults of the program as conditions: signals of POSIX are caught from the start, in programs that
 * scripts/cc links as those of OpenVMS, or else once a handler was established, unless the program
 * has caught them itself. */
#include "handlers.h"
#include "hold.h"

#include <errno.h>
#include <signal.h>
#include <ssdef.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stsdef.h>
#include <ucontext.h>
#include <unwind.h>

#define PS_USER      0x1b
#define REASON_WRITE 4

/* Looks for the frame that was interrupted: its code is at pc, and its CFA is known one frame
 * further out. */
struct place {
    uintptr_t pc, cfa;
    bool next;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    struct place *p = argument;

    if (p->next) {
        p->cfa = _Unwind_GetCFA(context);
        return _URC_END_OF_STACK;
    }
    p->next = _Unwind_GetIP(context) == p->pc;
    return _URC_NO_REASON;
}

static unsigned arithmetic(int code)
{
    switch (code) {
    case FPE_INTDIV:
        return SS$_INTDIV;
    case FPE_INTOVF:
        return SS$_INTOVF;
    case FPE_FLTDIV:
        return SS$_FLTDIV;
    case FPE_FLTOVF:
        return SS$_FLTOVF;
    case FPE_FLTUND:
        return SS$_FLTUND;
    case FPE_FLTSUB:
        return SS$_SUBRNG;
    default:
        return SS$_ROPRAND;
    }
}

/* The reason mask of an access violation. Its bits 0 and 1 are about page tables with lengths,
 * which Alpha does not have, 3 and 4 about vectors; bit 2 says that the access was to write. A
 * fetch of an instruction is none, and its code cannot be looked at. */
static int64_t reason_mask(uintptr_t pc, uintptr_t va)
{
    uint32_t op;

    if ((va & ~(uintptr_t)3) == (pc & ~(uintptr_t)3))
        return 0;
    op = *(const uint32_t *)pc >> 26;
    /* STW, STB, STQ_U; STF to STT; STL to STQ_C */
    return (op >= 0x0D && op <= 0x0F) || (op >= 0x24 && op <= 0x27) || (op >= 0x2C && op <= 0x2F)
               ? REASON_WRITE
               : 0;
}

static void caught(int signal, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    struct place place = {.pc = (uintptr_t)uc->uc_mcontext.sc_pc};
    struct signalled *s = mega$new_signal(), alone = {0};
    size_t n = 0;

    if (!s) /* too many in one another: no handler is asked */
        s = &alone;
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
        s->quadwords[n++] = info->si_errno == EIO ? SS$_PAGRDERR : SS$_ACCVIO;
        s->quadwords[n++] = reason_mask(place.pc, (uintptr_t)info->si_addr);
        s->quadwords[n++] = (int64_t)info->si_addr;
        break;
    case SIGFPE:
        s->quadwords[n++] = arithmetic(info->si_code);
        break;
    case SIGTRAP:
        s->quadwords[n++] = SS$_BREAK;
        break;
    default:
        s->quadwords[n++] = SS$_OPCDEC;
        break;
    }
    s->quadwords[n++] = (int64_t)place.pc;
    s->quadwords[n++] = PS_USER;
    s->count = n;
    if (s == &alone) {
        for (size_t i = 0; i < n; i++)
            s->longwords[i + 1] = (int32_t)s->quadwords[i];
        mega$report(s);
        mega$end((unsigned)s->longwords[1] | STS$K_SEVERE | STS$M_INHIB_MSG);
    }
    mega$hold_asts(); /* the unwinder keeps what it has found last */
    _Unwind_Backtrace(look, &place);
    mega$release_asts();
    s->cfa = place.cfa;
    if (mega$dispatch(s)) { /* the instruction is tried again */
        mega$forget_signal(s);
        return;
    }
    mega$report(s);
    mega$end((unsigned)s->longwords[1] | STS$K_SEVERE | STS$M_INHIB_MSG);
}

void mega$catch_faults(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    /* Not blocked while it is handled: an unwind leaves the handler, and faults of handlers are
     * conditions too. */
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER}, old;
    static atomic_flag done = ATOMIC_FLAG_INIT;

    if (atomic_flag_test_and_set(&done)) /* what the program has set since then is its own */
        return;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (sigaction(signals[i], &action, &old) == 0 && old.sa_handler != SIG_DFL)
            sigaction(signals[i], &old, NULL);
}
