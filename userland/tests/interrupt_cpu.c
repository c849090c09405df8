/*
 * Device interrupts on any CPU: the interrupt line of the serial ports is routed to each CPU in
 * turn. While input arrives, only that CPU may count interrupts once the line has been moved. Reads
 * SETTLE + ROUND_BYTES of standard input for each CPU, which tests/test_run.py sends.
 */
#include <megalith/info.h>
#include <megalith/services.h>
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>
#include <unistd.h>

#define ROUND_BYTES 65536 /* many times the receive ring of 2,048 bytes */
#define SETTLE      16384 /* read after the move and before counting, as handlers may still run */
#define CPUS_MAX    4
#define IRQ_COM2    3

static uint64_t interrupts(int cpu)
{
    struct mega_cpu c = {0};

    mega$info(MEGA_INFO_CPU, cpu, &c, sizeof(c));
    return c.interrupts;
}

static long take(long nbytes)
{
    static char buffer[16384];
    long done = 0, n = 1;

    while (done < nbytes && n > 0) {
        long left = nbytes - done;

        n = read(0, buffer, left < (long)sizeof(buffer) ? (size_t)left : sizeof(buffer));
        done += n > 0 ? n : 0;
    }
    return done;
}

static int route(uint64_t irq, uint64_t cpu)
{
    return mega$control(MEGA_CTL_IRQ_CPU, irq, cpu, 0, 0, 0);
}

int main(void)
{
    struct mega_cpu c;
    int ncpus = 0;

    while (mega$info(MEGA_INFO_CPU, ncpus, &c, sizeof(c)) == SS$_NORMAL)
        ncpus++;
    is_status(route(80, 0), SS$_BADPARAM, "interrupt 80 does not exist");
    is_status(route(IRQ_COM2, CPUS_MAX), SS$_BADPARAM, "CPU 4 does not exist");
    if (ncpus < CPUS_MAX)
        is_status(route(IRQ_COM2, (uint64_t)ncpus), SS$_BADPARAM,
                  "a CPU that is not online is refused");
    for (int cpu = ncpus - 1; cpu >= 0; cpu--) {
        uint64_t before[CPUS_MAX];

        is_status(route(IRQ_COM2, (uint64_t)cpu), SS$_NORMAL, "the line is routed to CPU %d", cpu);
        is(take(SETTLE), SETTLE, "input is received after the move");
        for (int i = 0; i < ncpus; i++)
            before[i] = interrupts(i);
        is(take(ROUND_BYTES), ROUND_BYTES, "input is received");
        for (int i = 0; i < ncpus; i++)
            ok((interrupts(i) != before[i]) == (i == cpu), "CPU %d has %s interrupts", i,
               i == cpu ? "its" : "no");
    }
    return tap_done();
}
