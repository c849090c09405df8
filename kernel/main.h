/* The order in which the house is put up. */
#ifndef KERNEL_MAIN_H
#define KERNEL_MAIN_H

/* Called once, on the primary CPU, at the highest IPL on its boot stack, with traps and console
 * working. */
void kernel_main(void) __attribute__((noreturn));

#endif
