/*
 * Basic types of the kernel.
 *
 * Physical addresses and page frame numbers are structures, so that mixing them with each other
 * or with virtual addresses (plain integers) does not compile.
 */
#ifndef KERNEL_BASE_TYPES_H
#define KERNEL_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t n;
} pfn_t; /* page frame number */

typedef struct {
    uint64_t a;
} paddr_t; /* physical address, bytes */

typedef uint64_t vaddr_t; /* virtual address, bytes */

#define PAGE_SHIFT 13
#define PAGE_SIZE  (UINT64_C(1) << PAGE_SHIFT)
#define PAGE_MASK  (PAGE_SIZE - 1)

static inline pfn_t pfn_of(uint64_t n) { return (pfn_t){n}; }
static inline paddr_t paddr_of(uint64_t a) { return (paddr_t){a}; }
static inline pfn_t pfn_add(pfn_t p, uint64_t n) { return (pfn_t){p.n + n}; }
static inline bool pfn_eq(pfn_t a, pfn_t b) { return a.n == b.n; }
static inline paddr_t pfn_to_paddr(pfn_t p) { return (paddr_t){p.n << PAGE_SHIFT}; }
static inline pfn_t paddr_to_pfn(paddr_t p) { return (pfn_t){p.a >> PAGE_SHIFT}; }

/* PFN 0 belongs to PALcode and is never allocated: it stands for "no page". */
#define PFN_NONE ((pfn_t){0})

#define ARRAY_SIZE(a)                 (sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define likely(x)                     __builtin_expect(!!(x), 1)
#define unlikely(x)                   __builtin_expect(!!(x), 0)

/* Each argument is evaluated once: it may be a call or an atomic load. */
#define MIN(a, b)                          \
    ({                                     \
        __auto_type min_a_ = (a);          \
        __auto_type min_b_ = (b);          \
        min_a_ < min_b_ ? min_a_ : min_b_; \
    })
#define MAX(a, b)                          \
    ({                                     \
        __auto_type max_a_ = (a);          \
        __auto_type max_b_ = (b);          \
        max_a_ > max_b_ ? max_a_ : max_b_; \
    })
/* For constant expressions (array sizes, static assertions), which may not contain statements. */
#define CONST_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
