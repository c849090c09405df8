/* Typhoon Cchip: which of its 64 interrupt lines reach which CPU. */
#ifndef ARCH_ALPHA_CLIPPER_CCHIP_H
#define ARCH_ALPHA_CLIPPER_CCHIP_H

#include "kernel/base/types.h"

#define CCHIP_LINE_ISA 55 /* the i8259 pair's output */
#define CCHIP_LINES    64

/* Mask every line on every CPU. Boot, one CPU. */
void cchip_boot(void);
/* Let a line interrupt its CPU, or none. A line goes to one CPU, CPU 0 at first: a level-sensitive
   line that reached two would be taken twice. Any IPL; serialised by a raw lock of its own. */
void cchip_line_enable(unsigned line, bool on);
/* Make cpu, below MAX_CPUS and online, the one that the line interrupts, enabled or not. A handler
   may still be running on the former one. Any IPL; the same lock. */
void cchip_line_route(unsigned line, unsigned cpu);

#endif
