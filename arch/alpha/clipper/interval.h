/* The interval clock: periodic interrupts to every CPU. */
#ifndef ARCH_ALPHA_CLIPPER_INTERVAL_H
#define ARCH_ALPHA_CLIPPER_INTERVAL_H

/* Start it, 1,024 Hz. Each CPU then gets clock interrupts (entInt kind 1) at IPL below 5. Boot, one
 * CPU. */
void interval_boot(void);

#endif
