/*
 * The memory map (docs/architecture.md, Address space): all other addresses derive from it.
 *
 *   0x00000000_00000000  +------------------------------------------------------+
 *                        | P0, program region, 1 GiB; page 0 is never mapped    |
 *   0x00000000_40000000  +------------------------------------------------------+
 *                        | P1, control region, 1 GiB: user stack, grows down    |
 *   0x00000000_80000000  +------------------------------------------------------+
 *                        | P2: images (0x1_20000000), heap and mmap from the    |
 *                        |     low end up, created regions from the high end    |
 *                        |     down                                             |
 *   0x00000400_00000000  +------------------------------------------------------+  LAYOUT_USER_TOP
 *                        | not canonical                                        |
 *   0xFFFFFC00_00000000  +------------------------------------------------------+
 *                        | KSEG: physical memory (nonpaged pool too) and, from  |
 *                        |     KSEG + 2^40 on, I/O space; no page tables        |
 *   0xFFFFFE00_00000000  +------------------------------------------------------+
 *                        | mapped system space, level-1 entries 768 to 1022:    |
 *                        |     768  kernel stacks with guard pages              |
 *                        |     769  paged pool                                  |
 *                        |     770  temporary windows and driver mappings       |
 *   0xFFFFFFFE_00000000  +------------------------------------------------------+
 *                        | page-table space (self-map, level-1 entry 1023)      |
 *                        +------------------------------------------------------+
 */
#ifndef ARCH_ALPHA_HW_LAYOUT_H
#define ARCH_ALPHA_HW_LAYOUT_H

#define LAYOUT_P0_BASE  0x00000000000UL
#define LAYOUT_P0_FIRST 0x00000002000UL /* page 0 is never mapped */
#define LAYOUT_P1_BASE  0x00040000000UL
#define LAYOUT_P1_TOP   0x00080000000UL
#define LAYOUT_P2_BASE  0x00080000000UL
#define LAYOUT_USER_TOP 0x40000000000UL /* first address above user space */

#define LAYOUT_KSEG_BASE 0xFFFFFC0000000000UL
#define LAYOUT_KSEG_IO   0xFFFFFD0000000000UL /* KSEG + 2^40: physical I/O space (bit 43) */

#define LAYOUT_L1_SPAN         0x200000000UL /* 8 GiB, what one level-1 entry maps */
#define LAYOUT_SYSTEM_BASE     0xFFFFFE0000000000UL
#define LAYOUT_L1_SYSTEM_FIRST 768 /* level-1 index of LAYOUT_SYSTEM_BASE */
#define LAYOUT_L1_SYSTEM_USED  3   /* entries that get their level-2 page at boot */
#define LAYOUT_KSTACK_BASE     (LAYOUT_SYSTEM_BASE + 0 * LAYOUT_L1_SPAN)
#define LAYOUT_PAGED_POOL_BASE (LAYOUT_SYSTEM_BASE + 1 * LAYOUT_L1_SPAN)
#define LAYOUT_WINDOW_BASE     (LAYOUT_SYSTEM_BASE + 2 * LAYOUT_L1_SPAN)

#define LAYOUT_L1_SELFMAP    1023
#define LAYOUT_PT_SPACE_BASE 0xFFFFFFFE00000000UL

#endif
