/* Zeroing of free pages by idle CPUs. */
#ifndef MM_PHYS_IDLE_ZERO_H
#define MM_PHYS_IDLE_ZERO_H

/* Idle CPUs begin. Boot, after the parameters are set. */
void idle_zero_boot(void);

#endif
