/*
 * The source of entropy (entropy.h).
 *
 * One thread asks the device, waits for its answer and hands the bytes over; it alone uses the
 * queue, so there is no lock. The device answers when it likes, and with as few bytes as it likes:
 * the thread asks for the rest until it has ENTROPY_BYTES, since whoever sees what is given out
 * between two small portions could try out each portion by itself.
 */
#include "kernel/drivers/virtio/entropy.h"

#include "arch/alpha/hw/kseg.h"
#include "kernel/base/errno.h"
#include "kernel/base/printk.h"
#include "kernel/drivers/virtio/virtio.h"
#include "kernel/sched/thread.h"
#include "kernel/sched/timer.h"
#include "kernel/sched/wait.h"

#define NS_PER_S UINT64_C(1000000000)

static struct {
    struct virtio_device device; /* constant after boot */
    bool there;                  /* likewise */
    void (*sink)(const uint8_t bytes[ENTROPY_BYTES]);
    struct wait_queue answered; /* the thread waits here for the device */
    /* What follows is the thread's own; the device writes what it is asked for into `buf`. */
    struct virtio_queue queue;
    struct virtio_segment table;
    uint8_t buf[ENTROPY_BYTES];
} source;

static void interrupted(void *arg)
{
    (void)arg;
    wake_one(&source.answered);
}

/* Ask the device for n bytes at source.buf + at, and wait until it has written some. Returns how
 * many, at most n, whatever the device says. */
static uint32_t ask(uint32_t at, uint32_t n)
{
    uint32_t nbytes = 0, bad = 0;
    struct waiter w;

    source.table = (struct virtio_segment){
        .address = kseg_paddr(source.buf + at).a, .nbytes = n, .flags = VIRTIO_WRITE};
    if (virtio_queue_add(&source.queue, &source.table, 1, &source) < 0)
        return 0;
    virtio_queue_notify(&source.device, &source.queue);
    for (;;) {
        bool answer;

        wait_enqueue(&source.answered, &w);
        answer = virtio_queue_take(&source.queue, &nbytes, &bad) != NULL;
        if (!answer)
            (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, WAIT_FOREVER);
        wait_finish(&w);
        if (answer)
            return MIN(nbytes, n);
    }
}

static void sleep_until(uint64_t deadline_ns)
{
    while (clock_ns() < deadline_ns) {
        struct wait_queue nobody;
        struct waiter w;

        wait_queue_init(&nobody, "entropy interval");
        wait_enqueue(&nobody, &w);
        (void)wait_block(&w, WAIT_UNINTERRUPTIBLE, deadline_ns);
        wait_finish(&w);
    }
}

static void serve(void *arg)
{
    (void)arg;
    for (;;) {
        uint64_t begun = clock_ns();
        uint32_t have = 0;

        while (have < ENTROPY_BYTES) {
            uint32_t n = ask(have, ENTROPY_BYTES - have);

            have += n;
            if (!n) /* a device that has nothing, and does not wait until it has */
                sleep_until(clock_ns() + NS_PER_S);
        }
        source.sink(source.buf);
        /* What was handed over must not be found here later. */
        for (volatile uint8_t *p = source.buf; p < source.buf + ENTROPY_BYTES; p++)
            *p = 0;
        sleep_until(begun + ENTROPY_INTERVAL_S * NS_PER_S);
    }
}

int entropy_boot(void (*sink)(const uint8_t bytes[ENTROPY_BYTES]))
{
    struct thread *t;
    int err;

    if (!virtio_find(&source.device, VIRTIO_ID_ENTROPY, 0))
        return -ENODEV;
    source.sink = sink;
    wait_queue_init(&source.answered, "entropy");
    virtio_negotiate(&source.device, VIRTIO_F_INDIRECT);
    if (!(source.device.features & VIRTIO_F_INDIRECT)) {
        virtio_fail(&source.device);
        return -EOPNOTSUPP;
    }
    err = virtio_queue_boot(&source.device, &source.queue, 0);
    source.there = !err; /* the queue's pages are there to be counted, also if the rest fails */
    t = err ? NULL : thread_create("entropy", serve, NULL, PRIO_NORMAL + 4);
    if (!err && !t)
        err = -ENOMEM;
    if (!err)
        err = virtio_start(&source.device, interrupted, NULL);
    if (err) {
        if (t)
            thread_discard(t);
        virtio_fail(&source.device);
        return err;
    }
    thread_start(t);
    return 0;
}

void entropy_validate(struct validate *v)
{
    if (source.there)
        virtio_queue_validate(v, &source.queue);
}
