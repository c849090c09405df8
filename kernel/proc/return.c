/* The slow path of the return to user mode: it does what the bits of hw.syscall_exit ask for. */
#include "arch/alpha/hw/trapframe.h"
#include "kernel/proc/cpu_timer.h"
#include "kernel/proc/proc_private.h"
#include "kernel/proc/ptrace.h"
#include "kernel/proc/signal.h"
#include "kernel/sched/freeze.h"

void process_return_slow(void)
{
    uint64_t wanted = __atomic_load_n(&current_hw->syscall_exit, __ATOMIC_ACQUIRE);

    if (wanted & EXIT_FREEZE)
        sched_freeze_park();
    if (wanted & ~EXIT_SIGNAL)
        sched_preempt();
    if (unlikely(wanted & EXIT_AGAIN))
        process_call_over();
    if (unlikely(wanted & EXIT_CPU_TIME))
        cpu_timers_check();
    if (unlikely(wanted & EXIT_TRACE)) {
        ptrace_return(user_frame_of(current_hw));
        wanted = __atomic_load_n(&current_hw->syscall_exit, __ATOMIC_ACQUIRE);
    }
    if (wanted & (EXIT_SIGNAL | EXIT_CPU_TIME))
        signal_deliver(user_frame_of(current_hw));
    /* Only the tracer of a stopped thread has this bit set, in one of the calls above. */
    if (unlikely(__atomic_load_n(&current_hw->syscall_exit, __ATOMIC_RELAXED) & EXIT_TRACED))
        ptrace_step(user_frame_of(current_hw));
}
