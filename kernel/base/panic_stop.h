/* Interface between panic and arch/alpha/entry: stopping the other CPUs. */
#ifndef KERNEL_BASE_PANIC_STOP_H
#define KERNEL_BASE_PANIC_STOP_H

/* Register fn, which makes every other online CPU call panic_stopped(). Boot, one CPU. */
void panic_set_stop(void (*fn)(void));
/* Stop this CPU: print its state in turn, and do not return. Returns at once if there is no panic.
   Interprocessor interrupt handler; any IPL. */
void panic_stopped(void);

#endif
