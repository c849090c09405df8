// SOURCES: kernel/fs/ninep/message.c kernel/drivers/virtio/ring.c
/* What a hostile server or device may answer: messages cut off at every byte, with bytes changed,
 * and of random contents; a ring of requests with wrong answers. Buffers have the exact size, so
 * that the address sanitizer sees each access beyond. */
#include <stdlib.h>
#include <string.h>

#include "kernel/base/errno.h"
#include "kernel/drivers/virtio/ring.h"
#include "kernel/fs/ninep/message.h"

/* As the kernel numbers them: tap.h brings the numbers of this machine. */
enum { PROTO = -EPROTO };

#include "userland/lib/include/tap.h"

#define TAG 77

static uint32_t seed = 1, slashes;

static uint32_t draw(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 8;
}

/* A message as a server would make it. */
static uint8_t message[4096];
static struct ninep_message m;

static void begin(enum ninep_type type) { ninep_begin(&m, message, sizeof(message), type + 1); }

static size_t end(void)
{
    ninep_end(&m, TAG, 0);
    return (size_t)(m.at - m.start);
}

static void put_qid(uint8_t type, uint64_t path)
{
    ninep_put8(&m, type);
    ninep_put32(&m, 5);
    ninep_put64(&m, path);
}

static size_t make_attributes(void)
{
    begin(NINEP_GETATTR);
    ninep_put64(&m, 0x7FF);
    put_qid(0, 99);
    ninep_put32(&m, 0100644);
    ninep_put32(&m, 1);
    ninep_put32(&m, 2);
    for (unsigned k = 3; k <= 7; k++) /* links, device, size, size for reads, blocks */
        ninep_put64(&m, k);
    for (unsigned k = 0; k < 4; k++) {
        ninep_put64(&m, 1000 + k);
        ninep_put64(&m, k);
    }
    ninep_put64(&m, 0);
    ninep_put64(&m, 0);
    return end();
}

static size_t make_listing(void)
{
    begin(NINEP_READDIR);
    ninep_put32(&m, 0);
    for (unsigned k = 0; k < 5; k++) {
        put_qid(k % 2 ? NINEP_QID_DIR : 0, k);
        ninep_put64(&m, k + 1);
        ninep_put8(&m, 8);
        ninep_put_text(&m, "a name of a file" + k, 16 - k);
    }
    return end();
}

/* Read an answer in every way; returns a sum of what was read, so that nothing is left out. */
static uint64_t read_all(enum ninep_type type, const void *from, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    struct ninep_message a;
    struct ninep_attributes attr = {0};
    struct ninep_statfs fs = {0};
    struct ninep_dirent d;
    uint64_t sum = 0;
    uint32_t len;

    memcpy(copy, from, n);
    if (ninep_answer(&a, copy, n, n, 0, type, TAG) == 0) {
        struct ninep_message start = a;
        const char *text;

        if (type == NINEP_GETATTR && ninep_get_attributes(&a, &attr) == 0)
            sum += attr.size + attr.mode;
        a = start;
        if (ninep_get_statfs(&a, &fs) == 0)
            sum += fs.blocks;
        a = start;
        text = ninep_get_text(&a, 255, &len);
        for (uint32_t k = 0; text && k < len; k++)
            sum += (uint8_t)text[k];
        a = start;
        (void)ninep_get32(&a);
        while (ninep_get_dirent(&a, &d) > 0)
            for (uint32_t k = 0; k < d.len; k++)
                slashes += d.name[k] == '/' || !d.name[k];
    }
    free(copy);
    return sum;
}

static void test_answers(void)
{
    struct ninep_attributes a;
    struct ninep_dirent d;
    struct ninep_message in;
    size_t n = make_attributes();
    unsigned names = 0;

    is(ninep_answer(&in, message, n, n, 0, NINEP_GETATTR, TAG), 0, "an answer is taken");
    is(ninep_get_attributes(&in, &a), 0, "with its attributes");
    ok(a.qid.path == 99 && a.mode == 0100644 && a.uid == 1 && a.gid == 2 && a.nlink == 3 &&
           a.size == 5 && a.blocks == 7,
       "as they were sent");
    ok(a.atime_ns == 1000000000000 && a.mtime_ns == 1001000000001, "the times too");
    is(ninep_answer(&in, message, n, n, 0, NINEP_GETATTR, TAG + 1), PROTO, "not with another tag");
    is(ninep_answer(&in, message, n, n, 0, NINEP_WALK, TAG), PROTO, "nor of another type");
    is(ninep_answer(&in, message, n, n - 1, 0, NINEP_GETATTR, TAG), PROTO, "nor cut off");
    is(ninep_answer(&in, message, 100, n, 0, NINEP_GETATTR, TAG), PROTO, "nor without room");
    message[7 + 8] = NINEP_QID_DIR;
    is(ninep_answer(&in, message, n, n, 0, NINEP_GETATTR, TAG), 0, "a type in the qid");
    is(ninep_get_attributes(&in, &a), PROTO, "that is not that of the mode is refused");
    n = make_listing();
    is(ninep_answer(&in, message, n, n, 0, NINEP_READDIR, TAG), 0, "a listing is taken");
    (void)ninep_get32(&in);
    while (ninep_get_dirent(&in, &d) > 0)
        names += d.len == 16 - names && d.offset == names + 1;
    is(names, 5, "with its names");
    begin(NINEP_LERROR);
    ninep_put32(&m, 39);
    n = end();
    is(ninep_answer(&in, message, n, n, 0, NINEP_UNLINKAT, TAG), ninep_error(39),
       "an error is one");
    ok(ninep_error(0) == -EIO && ninep_error(100000) == -EIO && ninep_error(2) == -ENOENT,
       "numbers of errors are those known, or EIO");
}

static void test_names(void)
{
    char longest[256];

    memset(longest, 'x', sizeof(longest));
    ok(ninep_is_name("a", 1) && ninep_is_name(longest, 255), "names are names");
    ok(!ninep_is_name("", 0) && !ninep_is_name(longest, 256), "but for those too short or long");
    ok(!ninep_is_name("a/b", 3) && !ninep_is_name("a\0b", 3), "or with a slash or NUL");
}

static void test_hostile(void)
{
    static const enum ninep_type types[] = {NINEP_GETATTR, NINEP_READDIR, NINEP_STATFS,
                                            NINEP_READLINK};
    uint8_t whole[4096];

    for (unsigned which = 0; which < 2; which++) {
        size_t n = which ? make_listing() : make_attributes();

        memcpy(whole, message, n);
        for (size_t cut = 0; cut <= n; cut++) { /* with the size of what is left, or of all */
            for (unsigned honest = 0; honest < 2; honest++) {
                uint32_t size = (uint32_t)(honest ? cut : n);

                memcpy(message, whole, n);
                memcpy(message, &size, sizeof(size));
                (void)read_all(which ? NINEP_READDIR : NINEP_GETATTR, message, cut);
            }
        }
        for (unsigned round = 0; round < 20000; round++) {
            memcpy(message, whole, n);
            for (unsigned k = draw() % 4; k < 4; k++)
                message[(draw() % 8 ? 7 : 0) + draw() % (n - 7)] = (uint8_t)draw();
            (void)read_all(types[which], message, n);
        }
    }
    for (unsigned round = 0; round < 50000; round++) {
        uint32_t n = 7 + draw() % 200;
        enum ninep_type type = types[draw() % ARRAY_SIZE(types)];

        for (uint32_t k = 0; k < n; k++)
            message[k] = (uint8_t)draw();
        memcpy(message, &n, sizeof(n));
        message[4] = (uint8_t)(type + 1);
        message[5] = TAG;
        message[6] = 0;
        (void)read_all(type, message, n);
    }
    is(slashes, 0, "no name has a slash");
}

static void test_requests(void)
{
    uint8_t buf[20];

    ninep_begin(&m, buf, sizeof(buf), NINEP_WALK);
    ninep_put32(&m, 1);
    ninep_put64(&m, 2);
    ok(!m.bad, "a request that fits is good");
    ninep_put8(&m, 3);
    ninep_put32(&m, 4);
    ok(m.bad, "one that does not fit is bad");
    is(m.at - m.start, 20, "and nothing was written behind its end");
}

#define RING 8u

static void test_ring(void)
{
    struct virtio_queue q = {0};
    struct virtio_segment table[3] = {{.nbytes = 1}, {.nbytes = 2}, {.nbytes = 3}};
    size_t n = ring_bytes(RING);
    void *memory = aligned_alloc(8192, (n + 8191) / 8192 * 8192);
    void *owners[RING];
    char mine[RING];
    uint32_t nbytes, bad = 0, wrong = 0;

    memset(memory, 0, n);
    q.owner = owners;
    memset(owners, 0, sizeof(owners));
    q.free = malloc(RING * sizeof(*q.free));
    ring_init(&q, memory, RING, 0);
    for (unsigned round = 0; round < 30000; round++) { /* the indexes wrap at 65536 */
        unsigned k = draw() % RING;

        wrong += virtio_queue_add(&q, table, 3, &mine[k]) < 0;
        for (unsigned j = draw() % 2; j; j--) { /* answers to what nobody has asked */
            q.used->ring[q.used->index % RING].id = draw() % 4 ? RING + draw() : UINT32_MAX;
            q.used->index++;
        }
        q.used->ring[q.used->index % RING].id = q.available->ring[(q.added - 1u) % RING];
        q.used->ring[q.used->index % RING].nbytes = round;
        q.used->index++;
        wrong += virtio_queue_take(&q, &nbytes, &bad) != &mine[k] || nbytes != round;
        q.used->index++; /* the same answer, or a former one, again */
        wrong += virtio_queue_take(&q, &nbytes, &bad) != NULL;
    }
    is(wrong, 0, "the answers are those of the requests");
    ok(bad > 30000, "and others are counted");
    for (unsigned k = 0; k < RING; k++)
        wrong += virtio_queue_add(&q, table, 3, &mine[k]) < 0;
    is(wrong, 0, "as many requests as the ring has entries");
    is(virtio_queue_add(&q, table, 3, mine), -ENOSPC, "and no more");
    ok(table[0].flags == VIRTIO_NEXT && table[2].flags == 0, "segments are chained");
    free(q.free);
    free(memory);
}

int main(void)
{
    test_answers();
    test_names();
    test_hostile();
    test_requests();
    test_ring();
    return tap_done();
}
