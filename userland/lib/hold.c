/* ASTs that the library puts off (hold.h), and what the kernel must know to deliver any. */
#include "hold.h"

#include "service.h"

int mega$ast_return_told;
_Thread_local struct mega_ast_hold mega$hold;

/* The same in every thread. Not inline: the compiler needs $0 for the thread pointer, also amid the
 * registers of a call. */
static __attribute__((noinline, noipa)) quad distance(void)
{
    return (quad)&mega$hold - (quad)__builtin_thread_pointer();
}

void mega$tell_ast_return(void)
{
    call(MEGA_SYS_AST_RETURN, (quad)mega$ast_return, distance(), 0, 0, 0, 0);
    mega$ast_return_told = 1;
}

/* The kernel clears `pending`: a signal whose handler jumps away before the call leaves it set, and
 * the next release calls. */
void mega$take_asts(void) { mega$tell_ast_return(); }

void mega$leave_holds(unsigned depth)
{
    mega$hold.depth = depth;
    if (mega$hold.pending && !depth)
        mega$take_asts();
}
