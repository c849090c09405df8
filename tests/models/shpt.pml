/*
 * The life of a FLUID section with shared page tables (mm/section/section.c, section_map.c, section_pt.c,
 * shpt.c): mapped, touched, unmapped and deleted by processes at once.
 *
 * Process A has two threads, on CPUs 0 and 1. It copies the section's level-2 PTE into a level-2
 * page of its own and picks up by fault what comes later. Process B, on CPU 2, shares the section's
 * level-2 page by its level-1 PTE, and takes a copy of it before it lets go of a part
 * (section_tables_unshare). CPU 3 deletes the section's name; with TEMPORARY there is nothing to
 * delete: A created the section, and it goes with its last share, its name still there. One level-3
 * page, one page of data. ALONE: process A has one thread, which makes the quick form quick.
 *
 * Checked over every interleaving: whoever touches the page sees its one frame; nobody reaches a
 * table or a frame that was given back, by a walk or by a translation that he still holds; the
 * section is given back exactly once, when name and shares are gone, and then nothing is missing.
 *
 * A shootdown is one step here (shootdown.pml is its own model): it waits until the other CPU is
 * between two instructions. Mutexes of an address space are taken shared by faults, alone by the
 * rest. Memory is sequentially consistent; the source says at each compare-and-swap what its
 * release and acquire order.
 *
 * Steps and the lines they stand for: steps.json. Planted faults: PLAIN_STORE, LOSER_KEEPS,
 * DROP_BEFORE_FLUSH, NO_FLUSH, SHARE_THE_DEAD (temporary only), NO_FLUSH_UNSHARE (harmless but for page-table space,
 * whose translation the model has as `window`), FREE_AT_DELETE.
 */
#define CPUS   4
#define PAGES  5          /* of memory, for tables and frames; 0 is none */
#define PERM   16         /* bit of life */

bool used[PAGES + 1];     /* the page is allocated */
byte l3[PAGES + 1];       /* of a table page: its level-3 PTE, a frame or 0 */

byte section_l2;          /* the section's own level-2 PTE */
#ifdef TEMPORARY
byte life = 1;            /* A's, who created it */
#else
byte life = PERM;
#endif
bool named = true;        /* the name is in the directory */
bool buried;              /* on the list of the dead */
byte given_back;
byte made_valid;
byte canonical;           /* the frame that was made valid */
bool gsd;                 /* the directory's mutex */

bool mapped[2];           /* process 0: A, 1: B */
byte own_l2[2];           /* the level-2 PTE in a page of its own */
bool block[2];            /* the level-1 PTE shares the section's level-2 page */
byte readers[2];
bool writer[2];           /* the address space's mutex */

byte tb[CPUS];            /* frame that the CPU's buffer has */
byte window[CPUS];        /* level-2 page that its buffer has in page-table space: 1 own, 2 shared */
bool walking[CPUS];       /* in the middle of an instruction: takes no interrupt */
byte finished;

inline page_alloc(p)
{
    atomic {
        p = 1;
        do
        :: p <= PAGES && used[p] -> p++
        :: else -> break
        od;
        assert(p <= PAGES); /* promised */
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

/* Every CPU that has the space of process p loaded. */
inline flush_space(p)
{
    if
    :: p == 0 -> flush(0); flush(1)
    :: p == 1 -> flush(2)
    fi
}

/* The level-2 PTE that a walk finds: of the process's own page, or of the section's. */
inline level2(p, t)
{
    atomic {
        if
        :: block[p] -> t = section_l2
        :: else -> t = own_l2[p]
        fi
    }
}

/* One instruction: 1 if it touched the page, 0 if it has to fault. */
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

/* section_map.c, fault_shared(): with the address space's mutex held shared. gone: not mapped. */
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

/* Under the directory's mutex: a name and a share. */
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

/* What was buried is given back, by whoever takes it off the list. */
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
    :: p == 0 -> own_l2[p] = section_l2 /* Copy: what is there already */
    :: p == 1 -> block[p] = true /* ShareBlock */
    fi;
    mapped[p] = true;
    writer[p] = false
}

/* section_pt.c, section_tables_unshare(): B leaves the shared page for a copy of it. */
inline unshare(p, t)
{
    atomic { !writer[p] && readers[p] == 0 -> writer[p] = true };
    t = section_l2; /* CopyBlock */
    own_l2[p] = t;
    block[p] = false; /* StoreLevel1 */
#ifndef NO_FLUSH_UNSHARE
    flush_space(p);
#endif
    assert(window[2] != 2); /* nobody keeps the shared page in page-table space */
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

/* Threads of A: the first maps and unmaps, both touch. */
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

/* $DGBLSC */
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
