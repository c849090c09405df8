/*
 * The translation-buffer shootdown (mm/pt/shootdown.c) against the context switch (kernel/sched).
 *
 * CPUs 0 and 1 each take a page of their own away from one address space and ask whoever may hold
 * its translation; CPU 2 enters and leaves that space and touches both pages. Checked over every
 * interleaving: no CPU reaches a page through its buffer once the page was given back, and everybody
 * gets his answers (an end state in which somebody still waits is an error).
 *
 * Memory. A store waits in its CPU's buffer until `memory` lets it out or the CPU passes a barrier;
 * loads take memory as it is (the Alpha may also take a load early, which for these two sequences
 * has the same effect as a late store: what matters is the order of one CPU's store and load of
 * different places). An atomic read-modify-write is out at once in the inbox and waiting words,
 * which are release and acquire in the source; the bit of the loaded mask, whose barrier is the
 * point in question, goes through the buffer.
 *
 * Steps and the lines they stand for: steps.json. Faults that the model must find are planted with
 * -D: NO_MB_FLUSH, NO_MB_SWITCH, CLEAR_EARLY, FREE_EARLY, NO_ANSWER_WHILE_WAITING, FORGET_REMOTE.
 */
#define CPUS  3
#define PAGES 2

bool pte[PAGES] = true;     /* in memory: the page is mapped */
bool freed[PAGES];          /* given back */
bool loaded[CPUS];          /* the address space's mask, a bit for each CPU, in memory */
bool pte_late[CPUS];        /* the store that clears pte[CPU] is still in that CPU's buffer */
bool bit_late[CPUS];        /* so is the one that sets loaded[CPU] */

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

/* An instruction that touches a page, whose walk is part of it: this CPU takes no interrupt between
   the two steps. Without a translation it faults, which is no matter of this model. */
inline touch(self, p)
{
    atomic { root[self] -> tb[self].page[p] = tb[self].page[p] || pte[p] }; /* Walk */
    assert(!tb[self].page[p] || !freed[p]) /* Access */
}

/* IPL_IPI: take what is asked, invalidate, answer. */
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

/* CPU self, which has the space loaded, unmaps page self and gives it back. */
proctype asker(byte self)
{
    byte n;
    bool asked[CPUS];

    atomic { /* it has touched the page before */
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
    /* Then it runs on in the same space, is interrupted, and touches the other's page. */
    do
    :: touch(self, 1 - self)
    :: inbox[self].cpu[0] || inbox[self].cpu[1] -> answer(self)
    :: freed[1 - self] && !inbox[self].cpu[0] && !inbox[self].cpu[1] -> break
    od
}

/* CPU 2 comes into the space and goes out of it, ROUNDS times. */
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
