/*
 * A lookaside list (mm/pool/pool_lal.h, mm/pool/pool_paged.c): CPUs pop packets and push them
 * without a lock, while one CPU returns packets to the pool's variable list, whose pages may then
 * be freed.
 *
 * The head is one quadword that contains an offset and a version. The compare-and-swap compares
 * values, as QEMU's store-conditional does. A packet in use has arbitrary contents where its link
 * was. The page of a reclaimed packet may be unmapped, so that reading its link faults. Checked
 * over every interleaving: no packet has two owners; no packet is lost; the list contains exactly
 * the packets that were pushed.
 *
 * The version has VERSIONS values, more than the number of changes of the head in a run. In the
 * source a version has 32 bits, with the argument that no CPU stops between two of its accesses for
 * 2^32 changes. The model shows that the version is needed: with VERSIONS=1 (no version) and
 * VERSIONS=2 (the version wraps) it finds the A-B-A error. Memory is sequentially consistent here;
 * in the source acquire and release order the link and the packet's contents with the head.
 *
 * The steps and the source lines to which they correspond are in lookaside.steps.json. Planted
 * faults: VERSIONS=1, VERSIONS=2, NO_CAS, LINK_ONCE, NO_FIXUP.
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
/* Values of owner[]: n + 1 stands for CPU n. */
#define LIST     0       /* the packet is on the lookaside list */
#define VARIABLE 9       /* the packet is in the variable list */

byte owner[PACKETS + 1];
byte link[PACKETS + 1];  /* arbitrary if the packet is in use */
bool there[PACKETS + 1] = true; /* the packet's page is mapped */
byte head_offset, head_version;
byte changes;

/* Assert that the list contains exactly the packets whose owner is LIST. */
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
        assert(count == 0); /* no packet is lost */
        at = 0
    }
}

/* Assert that the version has not wrapped: otherwise the run would prove nothing. */
inline ended()
{
    assert(changes < VERSIONS || VERSIONS <= 2)
}

/* Pop a packet: p is the packet, or 0 */
inline pop(self, p)
{
    d_step { h_offset = head_offset; h_version = head_version }; /* ReadHead */
    do
    :: h_offset == 0 -> p = 0; break /* Empty */
    :: h_offset != 0 ->
        /* ReadLink: with a fix-up for a page that is not mapped */
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

/* A CPU that pops up to two packets, writes to them, and pushes them. */
proctype cpu(byte self)
{
    byte h_offset, h_version, next, p, q, at, count, turns;
    bool ok;

    do
    :: turns < TURNS ->
        pop(self, p);
        if
        :: p != 0 -> link[p] = 7 /* Use: overwrites the link */
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

/* A CPU that returns the list's packets to the variable list, and then allocates one of them there
   and pushes it. */
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
            :: there[p] = false /* the page is freed */
            :: skip
            fi
        fi
    od;
    if
    :: last != 0 ->
        atomic { there[last] = true; link[last] = 7; owner[last] = self + 1 }; /* a fault maps it */
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
