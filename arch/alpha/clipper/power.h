/* Power-off. */
#ifndef ARCH_ALPHA_CLIPPER_POWER_H
#define ARCH_ALPHA_CLIPPER_POWER_H

/* Wait until both UARTs have sent their bytes, at most a second each, then power off. Any IPL. */
void power_off(void) __attribute__((noreturn));

#endif
