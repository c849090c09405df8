/* The state that a failed call must not change: figures of the kernel, and what the process can
 * observe of itself, each list as a hash sum over its elements. */
#include "failure.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <ssdef.h>
#include <starlet.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define FIRST_FDS 80
#define LOOKS_MAX 2000 /* 1 ms apart */

static uint64_t add(uint64_t sum, const void *p, size_t n)
{
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i++)
        sum = (sum ^ b[i]) * 0x100000001B3ul;
    return sum;
}

static void kernel_state(struct state *s)
{
    struct mega_memory m;
    struct mega_pool npp, pgd;
    struct mega_global g;
    struct mega_states st;

    if (mega$control(MEGA_CTL_DRAIN, 0, 0, 0, 0, 0) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 0, &npp, sizeof(npp)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 1, &pgd, sizeof(pgd)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_GLOBAL, 0, &g, sizeof(g)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_STATES, 0, &st, sizeof(st)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_MEMORY, 0, &m, sizeof(m)) != SS$_NORMAL)
        bail_out("the kernel does not tell its figures");
    /* The fluid count, because a page that an idle CPU is about to zero is on no free list. */
    s->pages = (long)(m.fluid + m.promised_unused + npp.pages + pgd.pages);
    s->npp = (long)npp.in_use;
    s->pgd = (long)pgd.in_use;
    s->sections = g.sections.use;
    s->gptes = g.gptes.use;
    s->pagfil = g.pagfil_pages.use;
    s->promised = m.promised_unused;
    s->processes = 0;
    for (unsigned i = 0; i < MEGA_STATES; i++)
        s->processes += st.count[i];
}

void state_pools(struct state *s)
{
    struct mega_pool npp, pgd;

    if (mega$info(MEGA_INFO_POOL, 0, &npp, sizeof(npp)) != SS$_NORMAL ||
        mega$info(MEGA_INFO_POOL, 1, &pgd, sizeof(pgd)) != SS$_NORMAL)
        bail_out("the pools do not tell their figures");
    s->npp = (long)npp.in_use;
    s->pgd = (long)pgd.in_use;
}

static uint64_t names_in(const char *table, bool *there)
{
    struct dsc {
        uint16_t length;
        uint8_t type, class;
        char *text;
    } d = {(uint16_t)strlen(table), 14, 1, (char *)table};
    static struct mega_logical m;
    uint64_t sum = 0;

    *there = false;
    for (long i = 0;; i++) {
        memset(&m, 0, sizeof(m));
        if (mega$logical(&d, i, 0, &m) != SS$_NORMAL)
            return sum;
        *there = true;
        m.left = 0; /* the charge to the directory shows in the pool's figures */
        sum = add(sum, &m, sizeof(m));
    }
}

static void process_state(struct state *s)
{
    static struct mega_process p;
    struct mega_region r;
    unsigned long ids[8];
    bool there;

    if (mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p)) != SS$_NORMAL)
        bail_out("the process does not tell its figures");
    s->rss = p.rss;
    s->pt_pages = p.pt_pages;
    s->section_pages = p.section_pages;
    s->vsize = p.vsize;
    s->locked = p.locked;
    s->pages += (long)(p.rss + p.pt_pages);
    s->regions = 0;
    for (r.id = 0; mega$info(MEGA_INFO_REGION, (long)r.id, &r, sizeof(r)) == SS$_NORMAL;)
        s->regions = add(s->regions, &r, sizeof(r));
    ids[0] = (unsigned long)raw(SYS_getpgid, 0);
    ids[1] = (unsigned long)raw(SYS_getsid, 0);
    ids[2] = p.uid;
    ids[3] = p.privileges;
    ids[4] = p.authorised;
    ids[5] = (unsigned long)raw6(SYS_brk, 0, 0, 0, 0, 0, 0);
    ids[6] = umask(0);
    umask((mode_t)ids[6]);
    ids[7] = p.rights;
    s->identity = add(0, ids, sizeof(ids));
    s->private_names = names_in("LNM$PROCESS_TABLE", &there);
    s->shared_names = names_in("LNM$SYSTEM_DIRECTORY", &there);
}

static void signal_state(struct state *s)
{
    unsigned long old[16];

    s->signals = 0;
    for (unsigned i = 1; i < 32; i++) {
        memset(old, 0, sizeof(old));
        if (i == SIGKILL || i == SIGSTOP)
            continue;
        raw6(SYS_rt_sigaction, i, 0, (unsigned long)old, 8, 0, 0);
        s->signals = add(s->signals, old, sizeof(old));
    }
    memset(old, 0, sizeof(old));
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, 0, (unsigned long)old, 8, 0, 0);
    raw6(SYS_rt_sigpending, (unsigned long)(old + 1), 8, 0, 0, 0, 0);
    raw6(SYS_sigaltstack, 0, (unsigned long)(old + 2), 0, 0, 0, 0);
    raw6(SYS_getitimer, 0, (unsigned long)(old + 8), 0, 0, 0, 0);
    old[10] = old[10] != 0; /* the time that is left of the timer decreases */
    old[11] = 0;
    s->signals = add(s->signals, old, sizeof(old));
}

static void file_state(struct state *s)
{
    static unsigned long room[256];
    long fd = raw(SYS_open, "/tmp", O_RDONLY | O_DIRECTORY, 0), n;
    struct stat st;

    s->descriptors = 0;
    for (int i = 0; i < FIRST_FDS; i++) {
        long flags[3] = {fcntl(i, F_GETFD), 0, 0};

        if (i == fd || flags[0] < 0)
            continue;
        flags[1] = fcntl(i, F_GETFL);
        flags[2] = lseek(i, 0, SEEK_CUR);
        s->descriptors = add(s->descriptors + (uint64_t)i, flags, sizeof(flags));
    }
    s->files = 0;
    memset(room, 0, sizeof(room));
    while ((n = raw(SYS_getdents64, fd, room, sizeof(room))) > 0)
        for (char *at = (char *)room; at < (char *)room + n;) {
            struct dirent *d = (struct dirent *)(void *)at;
            char path[64];

            snprintf(path, sizeof(path), "/tmp/%.40s", d->d_name);
            if (d->d_name[0] != '.' && lstat(path, &st) == 0) {
                uint64_t what[4] = {st.st_ino, (uint64_t)st.st_size, st.st_mode, st.st_nlink};

                s->files += add(add(0, d->d_name, strlen(d->d_name)), what, sizeof(what));
            }
            at += d->d_reclen;
        }
    close((int)fd);
}

void state_take(struct state *s)
{
    signal_state(s);
    file_state(s);
    kernel_state(s);
    process_state(s);
}

static void nap(void) { nanosleep(&(struct timespec){0, 1000000}, NULL); }

void state_settled(struct state *s)
{
    struct state before;

    state_take(s);
    for (int same = 0, looks = 0; same < 3 && looks < LOOKS_MAX; looks++) {
        before = *s;
        nap();
        state_take(s);
        same = memcmp(&before, s, sizeof(*s)) == 0 ? same + 1 : 0;
    }
}

void settle(void)
{
    struct state s;

    state_settled(&s);
}

#define FIELD(name_, when_) {#name_, offsetof(struct state, name_), when_}

static const struct {
    const char *name;
    size_t at;
    unsigned spared; /* flags of scenarios in which it may differ */
} fields[] = {
    FIELD(pages, HALFWAY),
    FIELD(npp, HALFWAY),
    FIELD(pgd, 0),
    FIELD(sections, 0),
    FIELD(gptes, 0),
    FIELD(pagfil, 0),
    FIELD(promised, 0),
    FIELD(processes, 0),
    FIELD(shared_names, 0),
    FIELD(rss, WARM | HALFWAY),
    FIELD(pt_pages, WARM | HALFWAY),
    FIELD(section_pages, 0),
    FIELD(vsize, 0),
    FIELD(locked, 0),
    FIELD(regions, 0),
    FIELD(descriptors, 0),
    FIELD(private_names, 0),
    FIELD(identity, 0),
    FIELD(files, 0),
    FIELD(signals, 0),
};

static bool compare(const struct state *a, const struct state *b, unsigned flags, bool say)
{
    bool same = true;

    for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        uint64_t x, y;

        memcpy(&x, (const char *)a + fields[i].at, sizeof(x));
        memcpy(&y, (const char *)b + fields[i].at, sizeof(y));
        if (x == y || (fields[i].spared & flags))
            continue;
        same = false;
        if (say)
            diag("  %s: %ld before, %ld after", fields[i].name, (long)x, (long)y);
    }
    return same;
}

bool state_same(const struct state *a, const struct state *b, unsigned flags, bool say)
{
    struct state now = *b;

    /* The last process that ended may still have resources, which it will free. */
    for (unsigned looks = 0; !compare(a, &now, flags, false); looks++) {
        if (looks == 200)
            return compare(a, &now, flags, say);
        nap();
        state_take(&now);
    }
    return true;
}
