/*
 * Ends the system on purpose, so that a test can see what a person would see:
 *
 *     crash_kernel                a panic
 *     crash_kernel --stack        a kernel stack run into its guard
 *     crash_kernel --spin         a lock whose holder never lets go
 *     crash_kernel --hang         a CPU stuck with its interrupts off
 *     crash_kernel --unaligned    an unaligned access in kernel mode
 *     crash_kernel --null         a reference through a null pointer in kernel mode
 *     crash_kernel --rank         spinlocks taken in falling rank
 *     crash_kernel --ipl          a spinlock taken above its IPL
 *     crash_kernel --release      the release of a spinlock that nobody holds
 *     crash_kernel --sleep        a sleep with a spinlock held
 *     crash_kernel --mutex        mutexes taken in falling rank
 *     crash_kernel --lose         a page is lost: the kernel goes on, only a check at the end finds
 * it
 *
 * Comes back only when the kernel refuses.
 */
#include <condition.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>

static const char *const ways[] = {"--panic",     "--stack", "--spin",  "--hang",
                                   "--unaligned", "--null",  "--rank",  "--ipl",
                                   "--release",   "--sleep", "--mutex", "--lose"};

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : ways[0];
    int way = 0;

    while (strcmp(ways[way], wanted) != 0)
        if (++way == (int)(sizeof(ways) / sizeof(ways[0]))) {
            fprintf(stderr, "%s: there is no way of crashing called %s\n", argv[0], wanted);
            return 2;
        }
    printf("crash_kernel: the kernel went on: %s\n",
           mega$condition_text(mega$info(MEGA_INFO_CRASH, way, NULL, 0)));
    return 1;
}
