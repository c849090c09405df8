/*
 * Flags of an entry of the reserved-memory registry, in the configuration blob (sysman/FORMAT.md),
 * in the kernel's descriptor, and in struct mega_reserved. The numbers are defined only here:
 * sysman's Python code and the debugger's commands read them from these lines.
 */
#ifndef MEGALITH_REGISTRY_H
#define MEGALITH_REGISTRY_H

#define RMD_ALLOC       0x1u
#define RMD_ZERO        0x2u /* only with ALLOC */
#define RMD_PAGE_TABLES 0x4u /* not with NOGLOBAL */
#define RMD_GROUP       0x8u /* exactly one of GROUP, SYSGBL, NOGLOBAL */
#define RMD_SYSGBL      0x10u
#define RMD_NOGLOBAL    0x20u
/* In a blob of version 2 only: a further part of the preceding entry, which has the same name,
   scope and other flags. */
#define RMD_EXTENDS 0x40u
/* In the kernel's descriptor only. */
#define RMD_ZEROED    0x100u /* pages are known to be zero */
#define RMD_FREED     0x200u
#define RMD_NO_CONTIG 0x400u /* ALLOC, but no contiguous pages were found: treated as FLUID */

/* Flags that an entry of a blob may have. Every choice is stored explicitly. */
#define RMD_CHOICES (RMD_ALLOC | RMD_ZERO | RMD_PAGE_TABLES | RMD_GROUP | RMD_SYSGBL | RMD_NOGLOBAL)

#endif
