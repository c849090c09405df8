// TAP
/* Random bytes: those that a program finds on its first stack (getauxval(3), AT_RANDOM), those of
 * getrandom(2) and of /dev/urandom. Each bit must take both values, none of them known from the
 * clock or the process number. */
#define _GNU_SOURCE
#include <company.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <tap.h>
#include <unistd.h>

#define PROGRAMS 64 /* a bit is the same in all of them with a chance of 2^-63 */
#define LARGE    100000u

static uint64_t large[LARGE / 8];

/* Run this program once more; it writes its two words to a pipe. */
static void seed_of_new_program(char *self, uint64_t seed[2])
{
    int p[2];

    if (pipe(p) != 0)
        bail_out("pipe");
    if (must_fork() == 0) {
        char fd[] = {(char)('0' + p[1]), '\0'};

        execv("/proc/self/exe", (char *[]){self, fd, NULL});
        _exit(1);
    }
    close(p[1]);
    if (read(p[0], seed, 16) != 16)
        bail_out("a program did not tell its random bytes");
    close(p[0]);
    wait(NULL);
}

static void test_programs(char *self)
{
    uint64_t ones[2] = {0}, zeroes[2] = {0}, seed[2];

    for (unsigned n = 0; n < PROGRAMS; n++) {
        seed_of_new_program(self, seed);
        for (unsigned k = 0; k < 2; k++) {
            ones[k] |= seed[k];
            zeroes[k] |= ~seed[k];
        }
    }
    is(ones[0] & zeroes[0], UINT64_MAX, "AT_RANDOM: each bit of the first word varies");
    is(ones[1] & zeroes[1], UINT64_MAX, "AT_RANDOM: each bit of the second word varies");
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* No word comes twice, and about half of all bits are set: 800,000 of them deviate by 0.5 % with a
   chance of 10^-18. */
static void check_large(const char *what)
{
    unsigned equal = 0;
    long ones = 0;

    qsort(large, LARGE / 8, 8, by_value);
    for (unsigned k = 0; k < LARGE / 8; k++) {
        equal += k > 0 && large[k] == large[k - 1];
        ones += __builtin_popcountl(large[k]);
    }
    is(equal, 0, "%s: no word comes twice", what);
    ok(labs(ones - (long)LARGE * 4) < (long)LARGE * 8 / 200, "%s: %ld of %u bits are set", what,
       ones, LARGE * 8);
}

static void test_large(void)
{
    int fd = open("/dev/urandom", O_RDONLY);

    is(getrandom(large, LARGE, 0), LARGE, "getrandom fills a large buffer");
    check_large("getrandom");
    is(read(fd, large, LARGE), LARGE, "/dev/urandom fills a large buffer");
    check_large("/dev/urandom");
    close(fd);
    for (unsigned k = 0; k < LARGE / 8; k += 2)
        getrandom(&large[k], 16, 0);
    check_large("small requests");
}

/* Exactly as many bytes are written as were asked for. */
static void test_lengths(void)
{
    void *volatile nowhere = NULL;
    unsigned char buf[130];
    unsigned wrong = 0;

    for (unsigned n = 0; n < sizeof(buf); n++) {
        unsigned written = 0;

        for (unsigned round = 0; round < 16; round++) {
            memset(buf, 0, sizeof(buf));
            wrong += getrandom(buf, n, 0) != (ssize_t)n;
            for (unsigned k = 0; k < sizeof(buf); k++)
                if (buf[k])
                    written = written > k + 1 ? written : k + 1;
        }
        wrong += written != n;
    }
    is(wrong, 0, "getrandom writes as many bytes as it says");
    ok(getrandom(nowhere, 16, 0) == -1 && errno == EFAULT, "getrandom at a bad address: EFAULT");
    ok(getrandom(nowhere, 160, 0) == -1 && errno == EFAULT, "the same with more bytes");
}

int main(int argc, char *argv[])
{
    if (argc > 1)
        return write(atoi(argv[1]), (void *)getauxval(AT_RANDOM), 16) != 16;
    test_programs(argv[0]);
    test_large();
    test_lengths();
    return tap_done();
}
