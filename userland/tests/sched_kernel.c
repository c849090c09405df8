// TAP
// KERNEL: test
// SECONDS: 120
// RUN: --smp 1
// RUN: --smp 2
// RUN: --smp 4
// RUN: --smp 2 --schedule 20
/* The tests of the scheduler inside the kernel (kernel/test/selftest.c), run and reported here. */
#include <tap.h>
#include <test_kernel.h>

int main(void)
{
    struct mega_selftest t;
    int status, n = 0;

    if (!is_test_kernel())
        bail_out(NEEDS_TEST_KERNEL);
    while ((status = mega$info(MEGA_INFO_SELFTEST, n, &t, sizeof(t))) == SS$_NORMAL) {
        ok(t.failure[0] == 0, "%s: %lu", t.name, t.value);
        if (t.failure[0])
            diag("%s", t.failure);
        n++;
    }
    is_status(status, SS$_NONEXPR, "the list of tests has an end");
    ok(n >= 12, "%d tests were run", n);
    return tap_done();
}
