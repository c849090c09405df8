/*
 * The translation-buffer shootdown (mm/pt/shootdown.c) concurrent with the context switch
 * (kernel/sched).
 *
 * CPUs 0 and 1 each unmap a page of their own from one address space, and request an invalidation
 * from every CPU that may hold its translation. CPU 2 switches to that address space and away from
 * it, and accesses both pages. Checked over every interleaving: no CPU accesses a page by a
 * translation in its buffer after the page was freed, and every request is acknowledged (an end
 * state in which a CPU still waits is an error).
 *
 * Memory: a store waits in its CPU's store buffer until the process `memory` performs it; a barrier
 * waits for that. Loads read memory. The Alpha may also perform a load early, which for these two
 * sequences has the same effect as a late store: what matters is the order of one CPU's store and
 * load of different locations. Atomic read-modify-writes of the inbox and waiting words, which have
 * release and acquire order in the source, are performed at once. The bit in the mask of CPUs goes
 * through the buffer, because the barrier after it is the subject of the model.
 *
 * The steps and the source lines to which they correspond are in shootdown.steps.json. Planted
 * faults: NO_MB_FLUSH, NO_MB_SWITCH, CLEAR_EARLY, FREE_EARLY, NO_ANSWER_WHILE_WAITING,
 * FORGET_REMOTE.
 */
#define CPUS  3
#define PAGES 2

bool pte[PAGES] = true;     /* in memory: the page is mapped */
bool freed[PAGES];          /* the page was freed */
bool loaded[CPUS];          /* in memory: the address space's mask of CPUs that have it loaded */
bool pte_late[CPUS];        /* the store that clears pte[CPU] is still in that CPU's store buffer */
bool bit_late[CPUS];        /* so is the store that sets loaded[CPU] */

bool root[CPUS];            /* the CPU has the space's root loaded */
typedef buffer { bool page[PAGES] };
buffer tb[CPUS];            /* translations that a CPU holds */

typedef mask { bool cpu[CPUS] };
mask inbox[CPUS];           /* inbox[target].cpu[asker] */
mask waiting[CPUS];         /* waiting[asker].cpu[target] */

proctype memory()
{
end:
    do
    :: atomic { pte_late[0] -> pte_late[0] = false; pte[0] = false }
    :: atomic { pte_late[1] -> pte_late[1] = false; pte[1] = false }
    :: atomic { bit_late[2] -> bit_late[2] = false; loaded[2] = true }
    od
}

inline barrier(self)
{
    (!pte_late[self] && !bit_late[self])
}

/* An instruction that accesses a page. Its page-table walk is part of it: the CPU takes no
   interrupt between the two steps. Without a translation it faults, which this model does not
   contain. */
inline touch(self, p)
{
    atomic { root[self] -> tb[self].page[p] = tb[self].page[p] || pte[p] }; /* Walk */
    assert(!tb[self].page[p] || !freed[p]) /* Access */
}

/* The interrupt handler: take the requests, invalidate, acknowledge. */
inline answer(self)
{
    do
    :: atomic { inbox[self].cpu[0] -> inbox[self].cpu[0] = false }; /* Take */
        tb[self].page[0] = false; /* Invalidate */
        waiting[0].cpu[self] = false /* Acknowledge */
    :: atomic { inbox[self].cpu[1] -> inbox[self].cpu[1] = false };
        tb[self].page[1] = false;
        waiting[1].cpu[self] = false
    :: else -> break
    od
}

/* CPU self, which has the address space loaded, unmaps page self and frees it. */
proctype asker(byte self)
{
    byte n;
    bool asked[CPUS];

    atomic { /* it has accessed both pages before */
        tb[self].page[self] = true;
        tb[self].page[1 - self] = true
    }
    pte_late[self] = true; /* Clear */
#ifndef NO_MB_FLUSH
    barrier(self); /* Fence */
#endif
    d_step { /* ReadMask: one quadword */
        asked[0] = loaded[0] && self != 0;
        asked[1] = loaded[1] && self != 1;
        asked[2] = loaded[2]
    }
    tb[self].page[self] = false; /* Local */
    n = 0;
    do
    :: n < CPUS && asked[n] -> waiting[self].cpu[n] = true; n++ /* Request */
    :: n < CPUS && !asked[n] -> n++
    :: else -> break
    od;
#ifndef FORGET_REMOTE
    n = 0;
    do
    :: n < CPUS && asked[n] -> inbox[n].cpu[self] = true; n++ /* Post */
    :: n < CPUS && !asked[n] -> n++
    :: else -> break
    od;
#else
    skip;
    d_step { waiting[self].cpu[0] = false; waiting[self].cpu[1] = false; waiting[self].cpu[2] = false };
#endif
#ifdef FREE_EARLY
    freed[self] = true;
#endif
    do
    :: waiting[self].cpu[0] || waiting[self].cpu[1] || waiting[self].cpu[2] -> /* Wait */
#ifdef NO_ANSWER_WHILE_WAITING
        (!waiting[self].cpu[0] && !waiting[self].cpu[1] && !waiting[self].cpu[2])
#else
        if
        :: inbox[self].cpu[0] || inbox[self].cpu[1] -> answer(self)
        :: !waiting[self].cpu[0] && !waiting[self].cpu[1] && !waiting[self].cpu[2] -> skip
        fi
#endif
    :: else -> break
    od;
    freed[self] = true; /* GiveBack */
    /* It continues in the same address space: it takes interrupts and accesses the other page. */
    do
    :: touch(self, 1 - self)
    :: inbox[self].cpu[0] || inbox[self].cpu[1] -> answer(self)
    :: freed[1 - self] && !inbox[self].cpu[0] && !inbox[self].cpu[1] -> break
    od
}

/* CPU 2 switches to the address space and away from it, ROUNDS times. */
#ifndef ROUNDS
#define ROUNDS 2
#endif
proctype switcher()
{
    byte rounds = 0;

    do
    :: rounds < ROUNDS ->
        bit_late[2] = true; /* Set */
#ifndef NO_MB_SWITCH
        barrier(2); /* BarrierA */
#endif
        d_step { root[2] = true; tb[2].page[0] = false; tb[2].page[1] = false }; /* Load */
        do
        :: touch(2, 0)
        :: touch(2, 1)
        :: inbox[2].cpu[0] || inbox[2].cpu[1] -> answer(2)
        :: break
        od;
        barrier(2);
#ifdef CLEAR_EARLY
        loaded[2] = false;
        if
        :: touch(2, 0)
        :: touch(2, 1)
        fi;
#endif
        d_step { root[2] = false; tb[2].page[0] = false; tb[2].page[1] = false }; /* Leave */
        loaded[2] = false; /* ClearBit */
        rounds++
    :: inbox[2].cpu[0] || inbox[2].cpu[1] -> answer(2)
    :: rounds == ROUNDS && freed[0] && freed[1] && !inbox[2].cpu[0] && !inbox[2].cpu[1] -> break
    od
}

init {
    atomic {
        loaded[0] = true; loaded[1] = true;
        root[0] = true; root[1] = true;
        run memory();
        run asker(0);
        run asker(1);
        run switcher()
    }
}
