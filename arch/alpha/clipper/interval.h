/* The interval clock: periodic interrupts to every CPU. */
#ifndef ARCH_ALPHA_CLIPPER_INTERVAL_H
#define ARCH_ALPHA_CLIPPER_INTERVAL_H

/* Start the clock at 1,024 Hz. Each CPU whose IPL is below 5 then takes clock interrupts (entInt
   kind 1). Boot, one CPU. */
void interval_boot(void);

#endif
