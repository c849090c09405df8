/*
 * Allocation failure tests: every allocation inside every call is made to fail in turn. This header
 * defines a scenario and the functions that scenarios share. tests/README.md, "Allocation failure",
 * says how to write one.
 */
#ifndef FAILURE_H
#define FAILURE_H

#include <megalith/failure.h>
#include <megalith/info.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE  8192ul
#define PIECE (1024 * PAGE)  /* mapped by one level-3 page-table page */
#define BLOCK (1024 * PIECE) /* mapped by one level-2 page-table page */
/* Addresses of pages that are mapped for each try and not touched before the call. No other page
   lies in the same block, so the first access allocates two page-table pages and a page. */
#define COLD  (16 * BLOCK)
#define COLD2 (20 * BLOCK)
/* /tmp, by a path of which the kernel makes a copy in paged pool: it is longer than 95 bytes. */
#define DOTS  "/././././././././."
#define TMP   "/tmp" DOTS DOTS DOTS DOTS DOTS DOTS
#define ENDED LONG_MIN /* act() did not return: the child ended as intended */

/* The expected result when an allocation of one kind fails, where it differs from what
   right_value() of main.c says. OF_FILE: for a page of a file; after a fault, which leaves no
   report, either value is right. */
struct right {
    enum { ANY_KIND = -1, IN_FAULT = -2, OF_FILE = -3 } kind; /* enum mega_alloc, or one of these */
    long value;
};

struct scenario {
    const char *name;
    unsigned call;         /* number of the system call or service */
    void (*prepare)(void); /* called before each try; NULL: nothing to do */
    /* IN_CHILD: called in the child before the call. Then only the pools are compared there. */
    void (*child)(void);
    /* Makes the call; returns its result, -errno or condition value. NULL: `call` with args. */
    long (*act)(void);
    unsigned long args[6];
    bool (*effect)(long r); /* after success: did the call have its effect? NULL: not checked */
    void (*undo)(void); /* restores the state before prepare(), whether act() succeeded or not */
    unsigned flags;
    struct right right[4]; /* ended by an element with value 0 */
};

#define NOTHING    0x1u  /* the call allocates nothing, which is checked */
#define WARM       0x2u  /* the call may make pages of the caller's memory valid, as accesses do */
#define ABSORBS    0x4u  /* the call may succeed without the allocation that failed */
#define IN_CHILD   0x8u  /* made by a vfork child, because the call changes the program */
#define BY_FAULT   0x10u /* page faults of user mode instead of a call, in a forked child */
#define SAME_VALUE 0x20u /* after a failed allocation the call returns the value of right[0] */
#define HALFWAY    0x40u /* as WARM; shared or copied memory may also move to another object */

/* A scenario whose call is made by the function act_; the elements of `right` may follow. */
#define BY(name_, call_, prepare_, act_, effect_, undo_, flags_, ...)                        \
    {                                                                                        \
        .name = name_, .call = (call_), .prepare = prepare_, .act = act_, .effect = effect_, \
        .undo = undo_, .flags = (flags_), .right = {                                         \
            __VA_ARGS__                                                                      \
        }                                                                                    \
    }
/* The same with the file's drop() to undo it. */
#define WITH(name_, call_, prepare_, act_, effect_, flags_, ...) \
    BY(name_, call_, prepare_, act_, effect_, drop, flags_, __VA_ARGS__)

/* The scenarios of each file, ended by one without a name. */
extern const struct scenario memory_scenarios[], file_scenarios[], process_scenarios[],
    plain_scenarios[], event_scenarios[], socket_scenarios[], region_scenarios[],
    section_scenarios[], name_scenarios[], system_scenarios[], fault_scenarios[], test_scenarios[],
    storage_scenarios[], ipc_scenarios[], message_scenarios[], vms_event_scenarios[],
    vms_io_scenarios[], vms_device_scenarios[], disk_scenarios[], aio_scenarios[];

/* Must be tried once, before any other scenario. */
extern const struct scenario first_name;

/* Make the system call of that number. Returns its result, or -errno. */
long raw(unsigned long number, ...);
/* The same with six arguments. Inline, because the function that calls vfork must not return while
   the child runs on its stack. */
static inline __attribute__((always_inline)) long raw6(unsigned long number, unsigned long a0,
                                                       unsigned long a1, unsigned long a2,
                                                       unsigned long a3, unsigned long a4,
                                                       unsigned long a5)
{
    register unsigned long v0 __asm__("$0") = number;
    register unsigned long r16 __asm__("$16") = a0;
    register unsigned long r17 __asm__("$17") = a1;
    register unsigned long r18 __asm__("$18") = a2;
    register unsigned long r19 __asm__("$19") = a3;
    register unsigned long r20 __asm__("$20") = a4;
    register unsigned long r21 __asm__("$21") = a5;

    __asm__ volatile("callsys"
                     : "+r"(v0), "+r"(r16), "+r"(r17), "+r"(r18), "+r"(r19), "+r"(r20), "+r"(r21)
                     :
                     : "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25",
                       "$27", "$28", "memory");
    return number < 0x1000 && r19 ? -(long)v0 : (long)v0;
}

/* Make text, data and stack present and private, so that a try changes only the state of the
   kernel. Call it also after a fork in prepare(). */
void warm_up(void);

/* For prepare() and undo(): map [COLD, COLD + bytes) without any page present. */
void cold_map(unsigned long at, unsigned long bytes);
void cold_make(void);     /* maps one page at COLD */
extern bool cold_written; /* the scenario has written there, until cold_drop() */
void cold_drop(void);     /* unmaps what is mapped at COLD and COLD2 */

/* The state that is compared: figures of the kernel and of this process. */
struct state {
    long pages;    /* free pages, plus those of the pools and of this process */
    long npp, pgd; /* bytes in use */
    uint64_t sections, gptes, pagfil, promised, processes, shared_names;
    uint64_t rss, pt_pages, section_pages, vsize, locked; /* of this process */
    uint64_t regions, descriptors, private_names, identity, files,
        signals; /* hash sums over all elements */
};

void state_take(struct state *s);
/* Take the figures of the pools only. */
void state_pools(struct state *s);
/* Take the state when it does not change by itself any more. */
void state_settled(struct state *s);
/* For prepare(), after a child has ended: wait until its resources have been freed. */
void settle(void);
/* Are both equal except for what the flags of a scenario allow? Prints the differences if `say`. */
bool state_same(const struct state *a, const struct state *b, unsigned flags, bool say);

#endif
