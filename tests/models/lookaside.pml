/*
 * A lookaside list (mm/pool/pool_lal.h, mm/pool/pool_paged.c): CPUs that take packets off it and put them back
 * without a lock, while one gives the list back to the variable list, whose pages may then go.
 *
 * The head is one quadword, an offset and a version; the compare-and-swap is one of values, as
 * QEMU's store-conditional is. A packet in use holds anything where its link was, and the page of
 * one that was given back may be gone, so that reading the link fails. Checked over every
 * interleaving: no packet has two owners; none is lost; the chain from the head is exactly the
 * packets that were put on the list.
 *
 * The version here has VERSIONS values, more than the changes of the head that a run can make: what
 * the source argues is that a CPU does not stop between two of its accesses for 2^32 of them. The
 * model shows that this is needed: with VERSIONS=1 (no version) and 2 (it wraps) it finds the A-B-A.
 * Memory is sequentially consistent here; the acquire and release of the source order the link
 * and the packet's contents with the head.
 *
 * Steps and the lines they stand for: steps.json. Planted faults: VERSIONS=1, VERSIONS=2, NO_CAS,
 * LINK_ONCE, NO_FIXUP.
 */
#ifndef VERSIONS
#define VERSIONS 32
#endif
#ifndef CPUS
#define CPUS 3
#endif
#ifndef TURNS
#define TURNS 2
#endif
#define PACKETS  3
#define LIST     0       /* owners: on the list (or its CPU is about to know that it is not), */
#define VARIABLE 9       /* in the variable list, or CPU n: n + 1 */

byte owner[PACKETS + 1];
byte link[PACKETS + 1];  /* of a packet in use: anything */
bool there[PACKETS + 1] = true; /* the page of the packet */
byte head_offset, head_version;
byte changes;

/* The list is what its packets say. */
inline consistent()
{
    d_step {
        at = head_offset;
        count = 0;
        do
        :: at != 0 ->
            assert(at <= PACKETS);
            assert(owner[at] == LIST && there[at]);
            count++;
            assert(count <= PACKETS);
            at = link[at]
        :: else -> break
        od;
        at = 1;
        do
        :: at <= PACKETS -> count = count - (owner[at] == LIST -> 1 : 0); at++
        :: else -> break
        od;
        assert(count == 0); /* none lost */
        at = 0
    }
}

/* The version has not come round, or the run says nothing. */
inline ended()
{
    assert(changes < VERSIONS || VERSIONS <= 2)
}

/* p: the packet, or 0 */
inline pop(self, p)
{
    d_step { h_offset = head_offset; h_version = head_version }; /* ReadHead */
    do
    :: h_offset == 0 -> p = 0; break /* Empty */
    :: h_offset != 0 ->
        /* ReadLink: with a fix-up for a page that is gone */
#ifdef NO_FIXUP
        assert(there[h_offset]);
#endif
        atomic { ok = there[h_offset]; next = link[h_offset] };
        if
        :: ok -> /* PopSwap */
            atomic {
                if
#ifdef NO_CAS
                :: true ->
#else
                :: head_offset == h_offset && head_version == h_version ->
#endif
                    head_offset = next;
                    head_version = (head_version + 1) % VERSIONS;
                    changes++;
                    assert(owner[h_offset] == LIST);
                    owner[h_offset] = self + 1;
                    consistent();
                    p = h_offset
                :: else -> p = 0
                fi
            };
            if
            :: p != 0 -> break
            :: else
            fi
        :: !ok -> skip
        fi;
        atomic { h_offset = head_offset; h_version = head_version } /* ReadAgain */
    od;
    atomic { h_offset = 0; h_version = 0; next = 0; ok = false }
}

inline push(self, p)
{
    d_step { h_offset = head_offset; h_version = head_version }; /* ReadForPush */
#ifdef LINK_ONCE
    link[p] = h_offset;
#endif
    do
    :: true ->
#ifndef LINK_ONCE
        link[p] = h_offset; /* WriteLink */
#endif
        atomic { /* PushSwap */
            if
            :: head_offset == h_offset && head_version == h_version ->
                assert(owner[p] == self + 1);
                owner[p] = LIST;
                head_offset = p;
                head_version = (head_version + 1) % VERSIONS;
                changes++;
                consistent();
                ok = true
            :: else -> h_offset = head_offset; h_version = head_version; ok = false
            fi
        };
        if
        :: ok -> break
        :: else
        fi
    od;
    atomic { h_offset = 0; h_version = 0; ok = false }
}

/* Takes packets, writes to them, and puts them back in either order. */
proctype cpu(byte self)
{
    byte h_offset, h_version, next, p, q, at, count, turns;
    bool ok;

    do
    :: turns < TURNS ->
        pop(self, p);
        if
        :: p != 0 -> link[p] = 7 /* Use: no link any more */
        :: else
        fi;
        if
        :: p != 0 ->
            pop(self, q);
            if
            :: q != 0 -> link[q] = 7; push(self, p); push(self, q)
            :: else -> push(self, p)
            fi
        :: else
        fi;
        atomic { p = 0; q = 0 };
        turns++
    :: else -> break
    od;
    ended()
}

/* Gives the list back, and has one packet come into use again, as if from the variable list. */
proctype reclaimer(byte self)
{
    byte h_offset, h_version, next, p, at, count, last;
    bool ok;

    do
    :: pop(self, p);
        if
        :: p == 0 -> break
        :: else ->
            atomic { owner[p] = VARIABLE; last = p; link[p] = 7 }; /* Reclaim */
            if
            :: there[p] = false /* the page goes */
            :: skip
            fi
        fi
    od;
    if
    :: last != 0 ->
        atomic { there[last] = true; link[last] = 7; owner[last] = self + 1 }; /* comes by fault */
        push(self, last)
    :: else
    fi;
    ended()
}

init {
    byte i;

    atomic {
        link[3] = 2; link[2] = 1; link[1] = 0;
        head_offset = 3;
        i = 0;
        do
        :: i < CPUS - 1 -> run cpu(i); i++
        :: else -> break
        od;
        run reclaimer(CPUS - 1)
    }
}
