// TAP
// KERNEL: test
// RUN: --icount --smp 1
/*
 * The meter of holds and of raised IPL: it finds a hold and a time at raised IPL that are planted
 * (MEGA_CTL_HOLD), says how long each was and where it began, and leaves out interrupts and its own
 * work. The lengths are known: an instruction takes 1 ns here.
 */
#include <megalith/info.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdlib.h>
#include <string.h>
#include <tap.h>
#include <test_kernel.h>

/* What acquiring, releasing and reading the clock may add, or be taken off for it. */
#define EDGES 160

static void measure(int on)
{
    is_status(mega$control(MEGA_CTL_LOCK_STATS, (uint64_t)on, 0, 0, 0, 0), SS$_NORMAL,
              "measuring is turned %s", on ? "on" : "off");
}

/* Hold, and return the time in ns as the kernel's code saw it, interrupts included. */
static long hold(enum mega_hold what, uint64_t n)
{
    uint64_t ns = 0;

    if (mega$control(MEGA_CTL_HOLD, what, n, (uint64_t)&ns, 0, 0) != SS$_NORMAL)
        bail_out("MEGA_CTL_HOLD fails");
    return (long)ns;
}

static struct mega_lock lock_named(const char *name)
{
    struct mega_lock l;

    for (int64_t i = 0; mega$info(MEGA_INFO_SPINLOCK, i, &l, sizeof(l)) == SS$_NORMAL; i++)
        if (strcmp(l.name, name) == 0)
            return l;
    return (struct mega_lock){.name = ""};
}

/* The longest time from that function; name: of the spinlock, or empty for a raised IPL. */
static long held_from(const char *name, const char *function)
{
    struct mega_held h;
    size_t n = strlen(function);
    long longest = 0;

    for (int64_t i = 0; mega$info(MEGA_INFO_HOLD, i, &h, sizeof(h)) == SS$_NORMAL; i++)
        if (h.longest_ns && strcmp(h.name, name) == 0 && strncmp(h.place, function, n) == 0 &&
            h.place[n] == '+' && (long)h.longest_ns > longest)
            longest = (long)h.longest_ns;
    return longest;
}

static struct mega_ipl ipl_of(int64_t ipl)
{
    struct mega_ipl m = {0};

    mega$info(MEGA_INFO_IPL, ipl, &m, sizeof(m));
    return m;
}

static void found(void)
{
    struct mega_lock l;
    struct mega_ipl m;
    long spin, ipl;

    measure(1);
    spin = hold(MEGA_HOLD_SPIN, 10000);
    ipl = hold(MEGA_HOLD_IPL, 5000);
    measure(0);
    ok(spin > 20000 && ipl > 10000, "locks are held long");
    l = lock_named("planted");
    m = ipl_of(2);
    ok(labs((long)l.longest_ns - spin) < EDGES, "a hold of %ld instructions is measured as %lu",
       spin, (unsigned long)l.longest_ns);
    ok(strncmp(l.longest_place, "hold_spinlock+0x", 16) == 0, "it began at %s", l.longest_place);
    ok(labs((long)m.longest_ns - spin) < EDGES, "so long was the IPL 2: %lu",
       (unsigned long)m.longest_ns);
    ok(strncmp(m.longest_place, "hold_spinlock+0x", 16) == 0, "from %s", m.longest_place);
    m = ipl_of(4);
    ok(labs((long)m.longest_ns - ipl) < EDGES, "%ld instructions at IPL 4 are measured as %lu", ipl,
       (unsigned long)m.longest_ns);
    ok(strncmp(m.longest_place, "hold_ipl+0x", 11) == 0, "from %s", m.longest_place);
    is(held_from("planted", "hold_spinlock"), (long)l.longest_ns,
       "the place of the hold is listed");
    ok(labs(held_from("", "hold_spinlock") - spin) < EDGES, "and the IPL that it raised");
    is(held_from("", "hold_ipl"), (long)m.longest_ns, "and the shorter time from another place");
    hold(MEGA_HOLD_SPIN, 50000);
    is(lock_named("planted").longest_ns, (long)l.longest_ns, "no hold is measured any more");
}

/* Twenty million instructions or more at IPL 2: the clock interrupts some twenty times. */
static void interrupts_left_out(void)
{
    const uint64_t n = 10000000;
    long step, took, longest;

    /* To the nearest: an interrupt in one of the two shifts it by some hundred, not by 5,000. */
    step = (hold(MEGA_HOLD_SPIN, 10000) - hold(MEGA_HOLD_SPIN, 0) + 5000) / 10000;
    measure(1);
    took = hold(MEGA_HOLD_SPIN, n);
    measure(0);
    longest = (long)lock_named("planted").longest_ns;
    took -= step * (long)n;
    longest -= step * (long)n;
    ok(took > 4000, "interrupts took %ld instructions", took);
    ok(labs(longest) < took / 20, "they are left out: the hold is %ld longer than without them",
       longest);
    ok(ipl_of(5).longest_ns > 100, "a clock interrupt is itself a time at raised IPL: %lu",
       (unsigned long)ipl_of(5).longest_ns);
}

/* What the meter adds for each lock or level that is nested in a hold. */
static void own_work_left_out(enum mega_hold what, const char *name)
{
    const uint64_t n = 1000;
    long off, none, on;

    off = hold(what, n) - hold(what, 0);
    measure(1);
    hold(what, 0);
    none = what == MEGA_HOLD_SPIN_NESTED ? (long)lock_named("planted").longest_ns
                                         : (long)ipl_of(4).longest_ns;
    measure(1);
    hold(what, n);
    measure(0);
    on = what == MEGA_HOLD_SPIN_NESTED ? (long)lock_named("planted").longest_ns
                                       : (long)ipl_of(4).longest_ns;
    on -= none;
    ok(labs(on - off) < (long)n * 12, "%s, %lu times, is %ld instructions, measured as %ld", name,
       (unsigned long)n, off, on);
}

static void refused(void)
{
    uint64_t ns;

    is_status(mega$control(MEGA_CTL_HOLD, MEGA_HOLDS, 1, (uint64_t)&ns, 0, 0), SS$_BADPARAM,
              "another kind does not exist");
    is_status(mega$control(MEGA_CTL_HOLD, 0, MEGA_HOLD_MAX + 1, (uint64_t)&ns, 0, 0), SS$_BADPARAM,
              "too long a hold is refused");
    is_status(mega$control(MEGA_CTL_HOLD, 0, 1, 8, 0, 0), SS$_ACCVIO,
              "the result must be writable");
    is_status(mega$info(MEGA_INFO_IPL, 0, &ns, sizeof(ns)), SS$_NONEXPR, "IPL 0 is not measured");
    is_status(mega$info(MEGA_INFO_IPL, 8, &ns, sizeof(ns)), SS$_NONEXPR, "there is no IPL 8");
}

int main(void)
{
    if (!is_test_kernel())
        bail_out(NEEDS_TEST_KERNEL);
    found();
    interrupts_left_out();
    own_work_left_out(MEGA_HOLD_SPIN_NESTED, "to take and release another lock");
    own_work_left_out(MEGA_HOLD_IPL_NESTED, "to raise and restore the IPL");
    refused();
    return tap_done();
}
