// TAP
// RUN: --smp 1 --icount
/* Writing to standard output beside busy processes: as long as the serial line accepts bytes, the
 * writer keeps the CPU, so it loses no more time than its share. */
#include <signal.h>
#include <sys/wait.h>
#include <tap.h>
#include <time.h>
#include <unistd.h>

#define BUSY  2
#define LINES 16   /* of LINE bytes, each a frame of its own */
#define LINE  400  /* with a time slice for each 16 bytes they take more than 8 seconds */
#define LIMIT 2000 /* ms */

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void)
{
    pid_t busy[BUSY];
    char line[LINE];
    long begin, took;

    memset(line, '.', sizeof(line));
    line[0] = '#';
    line[LINE - 1] = '\n';
    for (int i = 0; i < BUSY; i++)
        if ((busy[i] = fork()) == 0)
            for (;;)
                ;
    usleep(50000);
    begin = now_ms();
    for (int i = 0; i < LINES; i++)
        if (write(1, line, sizeof(line)) != LINE)
            bail_out("write");
    took = now_ms() - begin;
    for (int i = 0; i < BUSY; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    ok(took < LIMIT, "%d writes beside %d busy processes took %ld ms, less than %d", LINES, BUSY,
       took, LIMIT);
    return tap_done();
}
