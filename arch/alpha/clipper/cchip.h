/* Typhoon Cchip: masking and routing of its 64 interrupt lines. */
#ifndef ARCH_ALPHA_CLIPPER_CCHIP_H
#define ARCH_ALPHA_CLIPPER_CCHIP_H

#include "kernel/base/types.h"

#define CCHIP_LINE_ISA 55 /* the i8259 pair's output */
#define CCHIP_LINES    64

/* Mask every line on every CPU. Boot, one CPU. */
void cchip_boot(void);
/* Unmask (on) or mask a line, 0 to CCHIP_LINES - 1, on its CPU. A line is routed to one CPU, at
   boot CPU 0: two CPUs would both take the interrupt of a level-sensitive line that reached them.
   Any IPL; takes a raw lock. */
void cchip_line_enable(unsigned line, bool on);
/* Route a line to cpu, which is below MAX_CPUS and online; the line stays masked or unmasked as it
   was. A handler may still be running on the former CPU. Any IPL; takes the same raw lock. */
void cchip_line_route(unsigned line, unsigned cpu);

#endif
