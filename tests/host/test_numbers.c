// SOURCES: kernel/proc/numbers.c
/* Numbers of processes against a model: ascending, wrapping, none that is in use. */
#include "kernel/proc/numbers.h"

#include <stdlib.h>

#include "userland/lib/include/tap.h"

#define NUMBERS 32768u

static unsigned uses[NUMBERS];
static uint32_t counts[NUMBERS];

static uint32_t expected(uint32_t last)
{
    for (uint32_t n = last + 1;; n++) {
        if (n == NUMBERS)
            n = 2;
        if (!uses[n])
            return n;
    }
}

int main(void)
{
    uint32_t last, wrong = 0, wraps = 0, in_use = 1;

    numbers_boot(counts, NUMBERS);
    last = number_allocate();
    is(last, 1, "the first process has number 1");
    uses[1] = 1;
    srandom(1);
    for (unsigned i = 0; i < 400000; i++) {
        uint32_t n = (uint32_t)random() % NUMBERS;
        /* Between nearly none and all but ten, in slow waves. */
        bool grow = (i / 60000) % 2 == 0;

        if (in_use < NUMBERS - 10 && (random() % 8 != 0) == grow) {
            uint32_t want = expected(last);

            n = number_allocate();
            wrong += n != want;
            wraps += n < last;
            uses[n] = 1;
            in_use++;
            last = n;
        } else if (n > 1 && uses[n]) {
            if (random() % 3 == 0) {
                number_use(n);
                uses[n]++;
            } else {
                number_release(n);
                in_use -= --uses[n] == 0;
            }
        }
    }
    is(wrong, 0, "each number is the next one that is not in use");
    ok(wraps > 1, "and they begin again, %u times", wraps);
    return tap_done();
}
