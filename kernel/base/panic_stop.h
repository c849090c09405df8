/* Panic's side toward the machine's roof: how CPUs are stopped. */
#ifndef KERNEL_BASE_PANIC_STOP_H
#define KERNEL_BASE_PANIC_STOP_H

/* fn asks every other online CPU to call panic_stopped(). Boot. */
void panic_set_stop(void (*fn)(void));
/* On a CPU that was asked to stop: print in turn, never return. Returns when nobody panicked. */
void panic_stopped(void);

#endif
