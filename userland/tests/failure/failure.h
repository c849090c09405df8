/*
 * Every single allocation inside every call is made to fail in turn: what a scenario is, and what
 * they share. How to write one: tests/README.md, "Allocation failure".
 */
#ifndef FAILURE_H
#define FAILURE_H

#include <megalith/failure.h>
#include <megalith/info.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE  8192ul
#define PIECE (1024 * PAGE)  /* what a level-3 page maps */
#define BLOCK (1024 * PIECE) /* what a level-2 page maps */
/* Pages that are mapped for each try and never touched before the call: alone in blocks of their
   own, so that to touch one takes two tables and a page. */
#define COLD  (16 * BLOCK)
#define COLD2 (20 * BLOCK)
#define ENDED LONG_MIN /* act() did not come back: the child ended as it was to */

/* What is right when an allocation of one kind fails, where it differs from what is_right() of
   main.c says. */
struct right {
    enum { ANY_KIND = -1, IN_FAULT = -2 } kind; /* enum mega_alloc, or one of these */
    long value;
};

struct scenario {
    const char *name;
    unsigned call;         /* its number, of a call or service */
    void (*prepare)(void); /* before each try; NULL: nothing */
    void (*child)(
        void); /* IN_CHILD: the same, in the child; then the pools alone are compared there */
    long (*act)(void); /* the call: its result or -errno, or the condition value; NULL: with args */
    unsigned long args[6];
    bool (*effect)(long r); /* it succeeded: has it done what it should? NULL: success is enough */
    void (*undo)(void);     /* all as it was before prepare(), whether act() succeeded or not */
    unsigned flags;
    struct right right[4]; /* up to the first with value 0 */
};

#define NOTHING    0x1u  /* allocates nothing: checked */
#define WARM       0x2u  /* may leave pages of the caller's memory present, as any access does */
#define ABSORBS    0x4u  /* one that fails may be done without: the call succeeds all the same */
#define IN_CHILD   0x8u  /* a vfork child makes the call: it changes what the program is */
#define BY_FAULT   0x10u /* no call: page faults of user mode, in a forked child */
#define SAME_VALUE 0x20u /* after a failure the call has the value of right[0] as its result */
#define HALFWAY    0x40u /* as WARM, and shared or copied memory may have moved in the kernel */

/* Each file's scenarios, ended by one without a name. */
extern const struct scenario memory_scenarios[], file_scenarios[], process_scenarios[],
    plain_scenarios[], region_scenarios[], section_scenarios[], name_scenarios[],
    system_scenarios[], fault_scenarios[], test_scenarios[];

/* To be tried once, before anything else. */
extern const struct scenario first_name;

/* A system call, by number: its result, or -errno. */
long raw(unsigned long number, ...);
/* The same with six arguments: in line, because what vfork returns to twice must not leave its
   function. */
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

/* Text, data and stack are present, and nobody else's: what a try shows is the kernel's alone.
   After a fork in prepare(), too. */
void warm_up(void);

/* For prepare() and undo(): no page of [COLD, COLD + bytes) is there. */
void cold_map(unsigned long at, unsigned long bytes);
void cold_make(void); /* one page at COLD */
void cold_drop(void); /* and at COLD2, if that is there */

/* What the kernel's figures and the process's own say. */
struct state {
    long pages;    /* free ones, with those of pools and of this process */
    long npp, pgd; /* bytes in use */
    uint64_t sections, gptes, pagfil, promised, processes, shared_names;
    uint64_t rss, pt_pages, section_pages, vsize, locked; /* the process's */
    uint64_t regions, descriptors, private_names, identity, files,
        signals; /* sums over what is there */
};

void state_take(struct state *s);
/* The pools' figures only. */
void state_pools(struct state *s);
/* Wait until no more changes by itself, and take it. */
void state_settled(struct state *s);
/* For prepare(), after a child has ended: what it still has is back. */
void settle(void);
/* Are both the same but for what the flags of a scenario allow? Says what differs otherwise. */
bool state_same(const struct state *a, const struct state *b, unsigned flags, bool say);

#endif
