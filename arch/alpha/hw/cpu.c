/* The per-CPU blocks, indexed by cpu_id(). arch/alpha/entry/start.c fills them in at boot. */
#include "arch/alpha/hw/cpu.h"

struct cpu cpus[MAX_CPUS];
uint32_t cpu_count;
