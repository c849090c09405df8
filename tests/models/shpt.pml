/*
 * A FLUID section with shared page tables (mm/section/section.c, section_map.c, section_pt.c,
 * shpt.c) that processes map, access, unmap and delete at the same time.
 *
 * Process A has two threads, on CPUs 0 and 1. It copies the section's level-2 PTE into a level-2
 * page of its own; if that PTE is set later, a fault copies it. Process B, on CPU 2, shares the
 * section's level-2 page by its level-1 PTE, and replaces it by a copy before it unmaps a part
 * (section_tables_unshare). CPU 3 deletes the section's name. With TEMPORARY the section is not
 * permanent: A created it, and it is deleted with its last share, while it still has its name.
 * There is one level-3 page and one page of data. With ALONE process A has one thread, which makes
 * the quick form quick.
 *
 * Checked over every interleaving: every access to the page reaches its one frame; no CPU reaches a
 * freed table or frame, by a walk or by a translation that it still holds; the section is freed
 * exactly once, when its name and all shares are gone, and then every page is free.
 *
 * A shootdown is one step here (shootdown.pml models it): it waits until the other CPU is between
 * two instructions. The mutex of an address space is taken shared by faults and exclusively by all
 * other operations. Memory is sequentially consistent; the source says at each compare-and-swap
 * what its release and acquire order.
 *
 * The steps and the source lines to which they correspond are in shpt.steps.json. Planted faults:
 * PLAIN_STORE, LOSER_KEEPS, DROP_BEFORE_FLUSH, NO_FLUSH, SHARE_THE_DEAD (with TEMPORARY only),
 * NO_FLUSH_UNSHARE (harmful only in page-table space, whose translation is `window` here),
 * FREE_AT_DELETE.
 */
#define CPUS   4
#define PAGES  5          /* pages of memory, for tables and frames; page 0 stands for none */
#define PERM   16         /* the bit of life that says that the section is permanent */

bool used[PAGES + 1];     /* the page is allocated */
byte l3[PAGES + 1];       /* if the page is a table: its level-3 PTE, a frame or 0 */

byte section_l2;          /* the section's own level-2 PTE */
#ifdef TEMPORARY
byte life = 1;            /* the share of A, which created it */
#else
byte life = PERM;
#endif
bool named = true;        /* the name is in the directory */
bool buried;              /* the section is on the list of dead sections */
byte given_back;          /* how often it was freed */
byte made_valid;          /* how often its page was made valid */
byte canonical;           /* the frame that was made valid */
bool gsd;                 /* the directory's mutex is held */

bool mapped[2];           /* process A (0) or B (1) has it mapped */
byte own_l2[2];           /* the level-2 PTE in a page of the process's own */
bool block[2];            /* the level-1 PTE shares the section's level-2 page */
byte readers[2];          /* the address space's mutex: shared holders */
bool writer[2];           /* the address space's mutex: held exclusively */

byte tb[CPUS];            /* translation in the CPU's buffer: a frame or 0 */
byte window[CPUS];        /* the same in page-table space, of the level-2 page: 1 own, 2 shared */
bool walking[CPUS];       /* the CPU is executing an instruction and takes no interrupt */
byte finished;            /* number of processes that have ended */

inline page_alloc(p)
{
    atomic {
        p = 1;
        do
        :: p <= PAGES && used[p] -> p++
        :: else -> break
        od;
        assert(p <= PAGES); /* a promise guarantees a free page */
        used[p] = true;
        l3[p] = 0
    }
}

inline page_free(p)
{
    atomic { assert(used[p]); used[p] = false; l3[p] = 0; p = 0 }
}

inline flush(cpu)
{
    atomic { !walking[cpu] -> tb[cpu] = 0; window[cpu] = 0 }
}

/* A shootdown on every CPU that has the address space of process p loaded. */
inline flush_space(p)
{
    if
    :: p == 0 -> flush(0); flush(1)
    :: p == 1 -> flush(2)
    fi
}

/* The level-2 PTE that a walk finds: in the process's own level-2 page or in the section's. */
inline level2(p, t)
{
    atomic {
        if
        :: block[p] -> t = section_l2
        :: else -> t = own_l2[p]
        fi
    }
}

/* One instruction: `done` is 1 if it accessed the page, 0 if it faults. */
inline instruction(cpu, p, t, f, done)
{
    atomic { walking[cpu] = true; done = false };
    if
    :: tb[cpu] != 0 -> skip
    :: else ->
        atomic { level2(p, t); window[cpu] = (block[p] -> 2 : 1) }; /* WalkLevel2 */
        if
        :: t != 0 ->
            assert(used[t]);
            f = l3[t]; /* WalkLevel3 */
            tb[cpu] = f
        :: else -> skip
        fi
    fi;
    if
    :: tb[cpu] != 0 ->
        assert(used[tb[cpu]] && tb[cpu] == canonical); /* Access */
        done = true
    :: else -> skip
    fi;
    atomic { walking[cpu] = false; t = 0; f = 0 }
}

/* fault_shared() of section_map.c, with the address space's mutex held shared. `gone` is set if the
   section is not mapped. */
inline fault(cpu, p, t, f, n, gone)
{
    atomic { !writer[p] -> readers[p]++ }; /* LockShared */
    if
    :: !mapped[p] -> gone = true
    :: else ->
        level2(p, t); /* LookLevel2 */
        if
        :: t == 0 ->
            t = section_l2; /* LookTable */
            if
            :: t == 0 ->
                page_alloc(n);
#ifdef PLAIN_STORE
                section_l2 = n; t = n; n = 0;
#else
                atomic { /* SwapTable */
                    if
                    :: section_l2 == 0 -> section_l2 = n; t = n; n = 0
                    :: else -> t = section_l2
                    fi
                };
#endif
                if
                :: n != 0 -> /* LoserTable */
#ifdef LOSER_KEEPS
                    n = 0
#else
                    page_free(n)
#endif
                :: else
                fi
            :: else
            fi;
            atomic { /* PickUp */
                if
                :: !block[p] && own_l2[p] == 0 -> own_l2[p] = t
                :: else
                fi
            }
        :: else
        fi;
        f = l3[t]; /* LookPage */
        if
        :: f == 0 ->
            page_alloc(n);
            atomic { /* SwapPage */
                if
                :: l3[t] == 0 -> l3[t] = n; canonical = n; made_valid++; n = 0
                :: else
                fi
            };
            if
            :: n != 0 -> page_free(n) /* LoserPage */
            :: else
            fi
        :: else
        fi
    fi;
    atomic { readers[p]--; t = 0; f = 0; n = 0 }
}

inline touch(cpu, p)
{
    do
    :: instruction(cpu, p, t, f, done);
        if
        :: done -> break
        :: else -> fault(cpu, p, t, f, n, gone);
            if
            :: gone -> break
            :: else
            fi
        fi
    od
}

/* Find the section by its name and get a share, under the directory's mutex. */
inline find(found)
{
    atomic { !gsd -> gsd = true };
    found = false;
    if
    :: named ->
        atomic { /* TryShare */
            if
#ifdef SHARE_THE_DEAD
            :: true -> life++; found = true
#else
            :: life != 0 -> life++; found = true
            :: else
#endif
            fi
        }
    :: else
    fi;
    gsd = false
}

/* Remove the section from the list of dead sections, if it is there, and free it. */
inline reap(t, f)
{
    atomic { !gsd -> gsd = true };
    atomic { done = buried; buried = false }; /* TakeDead */
    named = named && !done;
    gsd = false;
    if
    :: done ->
        given_back++;
        assert(given_back == 1);
        assert(!mapped[0] && !mapped[1]); /* Delist */
        t = section_l2;
        if
        :: t != 0 ->
            f = l3[t];
            if
            :: f != 0 -> page_free(f) /* FreeFrames */
            :: else
            fi;
            section_l2 = 0;
            page_free(t) /* FreeTables */
        :: else
        fi
    :: else
    fi;
    atomic { done = false; t = 0; f = 0 }
}

inline drop(last)
{
    atomic { life--; last = (life == 0) }; /* Drop */
    if
    :: last -> buried = true /* Bury */
    :: else
    fi;
    last = false
}

inline map(p)
{
    atomic { !writer[p] && readers[p] == 0 -> writer[p] = true };
    if
    :: p == 0 -> own_l2[p] = section_l2 /* Copy: the PTE may be set already */
    :: p == 1 -> block[p] = true /* ShareBlock */
    fi;
    mapped[p] = true;
    writer[p] = false
}

/* section_tables_unshare() of section_pt.c: B replaces the shared level-2 page by a copy. */
inline unshare(p, t)
{
    atomic { !writer[p] && readers[p] == 0 -> writer[p] = true };
    t = section_l2; /* CopyBlock */
    own_l2[p] = t;
    block[p] = false; /* StoreLevel1 */
#ifndef NO_FLUSH_UNSHARE
    flush_space(p);
#endif
    assert(window[2] != 2); /* no translation of the shared page remains in page-table space */
    t = 0;
    writer[p] = false
}

inline unmap(p, last)
{
    atomic { !writer[p] && readers[p] == 0 -> writer[p] = true };
    atomic { own_l2[p] = 0; block[p] = false }; /* ClearTables */
#ifdef DROP_BEFORE_FLUSH
    mapped[p] = false;
    drop(last);
    reap(t, f);
#endif
#ifndef NO_FLUSH
    flush_space(p); /* Flush */
#endif
    mapped[p] = false;
#ifndef DROP_BEFORE_FLUSH
    drop(last);
#endif
    writer[p] = false
}

/* The threads of A: the first maps and unmaps the section, both access it. */
proctype a_first()
{
    byte t, f, n;
    bool done, gone, last;

#ifdef TEMPORARY
    done = true;
#else
    find(done);
#endif
    if
    :: done ->
        map(0);
        touch(0, 0);
        unmap(0, last);
        reap(t, f)
    :: else
    fi;
    finished++
}

proctype a_second()
{
    byte t, f, n;
    bool done, gone;

#ifndef ALONE
    if
    :: mapped[0] -> touch(1, 0)
    :: skip
    fi;
#endif
    finished++
}

proctype b()
{
    byte t, f, n;
    bool done, gone, last;

    find(done);
    if
    :: done ->
        map(1);
        if
        :: touch(2, 1); unshare(1, t)
        :: unshare(1, t)
        fi;
        touch(2, 1);
        unmap(1, last);
        reap(t, f)
    :: else
    fi;
    finished++
}

/* CPU 3: $DGBLSC */
proctype deleter()
{
    byte t, f;
    bool done, last;

#ifndef TEMPORARY
    atomic { !gsd -> gsd = true };
    named = false; /* NameGone */
    atomic { life = life - PERM; last = (life == 0) }; /* PermanentGone */
    if
    :: last -> buried = true
    :: else
    fi;
    gsd = false;
#ifdef FREE_AT_DELETE
    buried = true;
#endif
#endif
    reap(t, f);
    finished++
}

proctype judge()
{
    byte i;

    (finished == 4);
    assert(life == 0 && given_back == 1 && !buried && made_valid <= 1);
    i = 1;
    do
    :: i <= PAGES -> assert(!used[i]); i++
    :: else -> break
    od
}

init {
    atomic { run a_first(); run a_second(); run b(); run deleter(); run judge() }
}
