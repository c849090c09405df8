// TAP
// RUN: --smp 4 --set POOLCHECK=0x616400FF --set PAGEDYN=1048576 --set PQL_DJTQUOTA=16777216
// RUN: --smp 2 --set PAGEDYN=1048576 --set PQL_DJTQUOTA=16777216
// SECONDS: 120
/*
 * Paged pool under stress on all CPUs: jobs define and delete logical names of all sizes in random
 * order, while PAGED_LAL_SIZE changes, and each at last takes all of the pool that is left. The
 * strings of a name identify it and are checked before it is deleted. With POOLCHECK the kernel
 * also checks every block. At the end both pools are consistent, and nothing has leaked.
 *
 * `pool_stress SEED STEPS` repeats a run or makes it longer.
 */
#include <company.h>
#include <descrip.h>
#include <iledef.h>
#include <lnmdef.h>
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define JOBS  5
#define NAMES 400

static struct dsc$descriptor_s str(const char *s)
{
    return (struct dsc$descriptor_s){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                     (char *)s};
}

static uint64_t seed = 0x9E3779B97F4A7C15;

static unsigned rnd(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 32) % below;
}

static unsigned char lengths[NAMES]; /* length of the translations of each name; 0: no such name */
static unsigned counts[NAMES];       /* number of translations of each name */

static const char *name_of(unsigned n)
{
    static char name[24];

    snprintf(name, sizeof(name), "STRESS_%u", n);
    return name;
}

/* Returns false if the pool is exhausted, in which case nothing must have changed. */
static bool create(unsigned n, unsigned length, unsigned count)
{
    struct dsc$descriptor_s table = str("LNM$JOB"), name = str(name_of(n));
    ILE3 items[129] = {{0}};
    char text[256];
    int status;

    memset(text, 'A' + (int)(n % 26), sizeof(text));
    for (unsigned i = 0; i < count; i++)
        items[i] = (ILE3){(unsigned short)length, LNM$_STRING, text, NULL};
    status = sys$crelnm(NULL, &table, &name, NULL, items);
    if (status == SS$_INSFMEM)
        return false;
    if (status != SS$_NORMAL)
        _exit(2);
    lengths[n] = (unsigned char)length;
    counts[n] = count;
    return true;
}

static void look(unsigned n)
{
    struct dsc$descriptor_s table = str("LNM$JOB"), name = str(name_of(n));
    unsigned index = counts[n] - 1;
    unsigned short length = 0;
    char text[256];
    ILE3 items[] = {{4, LNM$_INDEX, &index, NULL}, {255, LNM$_STRING, text, &length}, {0}};

    if (sys$trnlnm(NULL, &table, &name, NULL, items) != SS$_NORMAL || length != lengths[n])
        _exit(3);
    for (unsigned i = 0; i < length; i++)
        if (text[i] != 'A' + (int)(n % 26))
            _exit(4);
}

static void delete(unsigned n)
{
    struct dsc$descriptor_s table = str("LNM$JOB"), name = str(name_of(n));

    if (sys$dellnm(&table, &name, NULL) != SS$_NORMAL)
        _exit(5);
    lengths[n] = 0;
}

static int gate[2]; /* a pipe: a reader waits until all others have closed the write end */

/* All names at their largest are 6 MiB: no pool of this test has room for them. */
static bool exhaust(void)
{
    for (unsigned n = 0; n < NAMES; n++)
        if (!lengths[n] && !create(n, 255, 60))
            return true;
    return false;
}

/* Exit status 0, or 1 if the pool was not exhausted, as it must be except in company. */
static void job(unsigned self, unsigned steps)
{
    char c;

    close(gate[1]);
    if (read(gate[0], &c, 1) != 0)
        _exit(6);
    seed += self * 0x1234567;
    setsid();
    for (unsigned step = 0; step < steps; step++) {
        unsigned n = rnd(NAMES);

        if (lengths[n]) {
            look(n);
            delete (n);
        } else if (!create(n, 1 + rnd(255), rnd(8) ? 1 : 1 + rnd(60))) {
            for (unsigned i = 0; i < NAMES; i++) /* delete a quarter of the names */
                if (lengths[i] && rnd(4) == 0)
                    delete (i);
        }
    }
    _exit(in_company() || !exhaust()); /* the end of the job deletes the other names */
}

static struct mega_pool paged(void)
{
    struct mega_pool p = {0};

    mega$info(MEGA_INFO_POOL, 1, &p, sizeof(p));
    return p;
}

static uint64_t in_use(void) { return paged().in_use; }

static void make_gate(void)
{
    if (pipe(gate) != 0)
        bail_out("no pipe");
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {512, 0, 2560, 16, 1000};
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 6000, ended = 0, was_short = 0;
    static struct mega_validate v;
    uint64_t before, most = 0;

    if (argc > 1)
        seed = strtoul(argv[1], NULL, 0);
    diag("seed %#lx", (unsigned long)seed);
    make_gate();
    if (must_fork() == 0) /* the first use of names creates tables that stay */
        job(0, 1);
    close(gate[1]);
    wait(NULL);
    before = in_use();
    make_gate();
    for (unsigned i = 0; i < JOBS; i++)
        if (must_fork() == 0)
            job(i, steps);
    close(gate[1]); /* starts all jobs at once: one by one they would not fill the pool */
    for (unsigned round = 0; ended < JOBS; round++) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        uint64_t held = paged().lookaside_bytes;

        most = held > most ? held : most;
        if (pid > 0) {
            ended++;
            ok(WIFEXITED(status) && WEXITSTATUS(status) <= 1,
               "the names of a job are as it defined them (status %#x)", status);
            was_short += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        mega$control(MEGA_CTL_SET_PARAM, (uint64_t)"PAGED_LAL_SIZE",
                     sizes[round % (sizeof(sizes) / sizeof(sizes[0]))], 0, 0, 0);
        usleep(3000);
    }
    if (in_company())
        return tap_done();
    is(was_short, JOBS, "each job exhausted the pool");
    is(in_use(), before, "as much of the pool is in use as before");
    /* A CPU that has just checked the limit may put another packet or two on a list. */
    ok(most > 0 && most <= paged().size / 4 * 3 + 4 * 2 * 2560,
       "the lists held %lu of %lu bytes at most, which is not over three quarters",
       (unsigned long)most, (unsigned long)paged().size);
    is_status(mega$info(MEGA_INFO_VALIDATE, 0, &v, sizeof(v)), SS$_NORMAL,
              "the self-check can be run");
    ok(v.errors == 0 && !v.timed_out, "memory is consistent%s%s", v.text[0] ? ": " : "", v.text);
    return tap_done();
}
