/* The end of the machine. */
#ifndef ARCH_ALPHA_CLIPPER_POWER_H
#define ARCH_ALPHA_CLIPPER_POWER_H

/* Let both UARTs finish what they have, then power off. Any IPL. */
void power_off(void) __attribute__((noreturn));

#endif
