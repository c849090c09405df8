/*
 * Time. QEMU's PALcode (qemu-palcode of QEMU 7.2) provides virtual time in nanoseconds, the wall
 * clock, and a one-shot alarm for each CPU, which arrives as a clock interrupt like the ticks of
 * the interval clock.
 */
#ifndef ARCH_ALPHA_HW_CLOCK_H
#define ARCH_ALPHA_HW_CLOCK_H

#include "arch/alpha/hw/pal.h"

#define CLOCK_TICK_HZ 1024u
#define CLOCK_TICK_NS (1000000000u / CLOCK_TICK_HZ)

#define CSERVE_WALL_CLOCK   3
#define CSERVE_ALARM_AT     6
#define CSERVE_VIRTUAL_TIME 7

/* The low half of the cycle counter, which counts units of 4 ns of virtual time (nominally 250 MHz)
   on every CPU and wraps every 17 seconds. One instruction. */
#define CLOCK_CYCLE_NS 4u
static inline uint32_t clock_cycles(void) { return (uint32_t)__builtin_alpha_rpcc(); }

/* Virtual nanoseconds since power-on, the same on every CPU. Any IPL. */
static inline uint64_t clock_read_ns(void) { return pal_cserve(CSERVE_VIRTUAL_TIME, 0); }
/* Wall clock: nanoseconds since 1970-01-01 00:00 UTC. Any IPL. */
static inline uint64_t clock_read_wall_ns(void) { return pal_cserve(CSERVE_WALL_CLOCK, 0); }
/* Request a clock interrupt on this CPU at virtual time ns, at once if that has passed. Replaces
   the alarm set before. Any IPL. */
static inline void clock_alarm_at(uint64_t ns) { pal_cserve(CSERVE_ALARM_AT, ns); }

#endif
