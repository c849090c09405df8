// SOURCES: kernel/fs/ext4/volume.c kernel/fs/ext4/super.c kernel/fs/ext4/map.c
// SOURCES: kernel/fs/ext4/directory.c kernel/fs/ext4/inline.c kernel/fs/ext4/lines.c
// SOURCES: kernel/fs/ext4/journal.c kernel/fs/ext4/replay.c kernel/fs/ext4/commit.c
// SOURCES: kernel/fs/ext4/step.c kernel/fs/ext4/groups.c kernel/fs/ext4/bitmaps.c
// SOURCES: kernel/fs/ext4/extents.c kernel/fs/ext4/node.c kernel/fs/ext4/orphan.c
// SOURCES: kernel/fs/ext4/entries.c kernel/fs/ext4/index.c kernel/fs/ext4/naming.c
// SOURCES: kernel/fs/ext4/blocks.c
// SOURCES: kernel/fs/ext4/library/accessors.c kernel/fs/ext4/library/checksums.c
// EXT2FS
/*
 * Damaged file systems, in memory: everything that can be found is read, and the sanitizers look
 * on. tests/test_ext4.py runs it with images: `test_ext4 SEED ROUNDS IMAGE...`. In each round one
 * of them is damaged, mostly where it has metadata, and in some an allocation fails. Without
 * arguments there is nothing to do.
 */
#include "ext4_world.h"

#define NAMES_MOST 2000u
#define RUNS_MOST  300u
#define DEPTH_MOST 6u

static unsigned names, found;

/* ---- reading everything ---- */

static void expect(int err)
{
    if (err == 0 || err == UNCLEAN || err == NO_MEMORY)
        return;
    printf("Bail out! error %d\n", err);
    abort();
}

static void read_file(struct ext4_volume *v, struct ext4_node *n, const struct ext4_about *a)
{
    uint64_t blocks = n->size / a->block_bytes + 1, at = 0;
    struct ext4_run run;
    char text[4096];

    if (ext4_is_inline(n)) {
        expect(ext4_read_bytes(v, n, 0, text, n->size < 4096 ? n->size : 4096));
        return;
    }
    for (unsigned k = 0; k < RUNS_MOST && at < blocks; k++) {
        int err = ext4_find_run(v, n, at, &run);

        expect(err);
        if (err) {
            at++;
            continue;
        }
        if (run.first != at || run.count == 0 ||
            (run.physical && (run.physical >= a->blocks || run.count > a->blocks - run.physical))) {
            printf("Bail out! a wrong run\n");
            abort();
        }
        at += run.count;
    }
    for (unsigned k = 0; k < 5; k++)
        expect(ext4_find_run(v, n, (uint64_t)draw(1u << 31) << draw(10), &run));
    if (n->size)
        expect(ext4_read_bytes(v, n, 0, text, n->size < 4096 ? n->size : 4096));
}

static void walk(struct ext4_volume *v, uint32_t number, const struct ext4_about *a, unsigned depth)
{
    struct ext4_name name = {.place = 2};
    struct ext4_node n;
    char target[4096];
    uint32_t other;
    int err = ext4_read_node(v, number, &n);

    expect(err);
    if (err)
        return;
    found++;
    if (S_ISLNK(n.mode)) {
        long len = ext4_read_link(v, &n, target, sizeof(target));

        if (len < 0 && len != TOO_LONG)
            expect((int)len);
    } else if (S_ISREG(n.mode)) {
        read_file(v, &n, a);
    }
    if (!S_ISDIR(n.mode) || depth > DEPTH_MOST)
        return;
    while (names && (err = ext4_next_name(v, &n, name.place, &name)) == 0) {
        names--;
        err = ext4_find_name(v, &n, name.text, name.len, &other);
        if (err != NO_ENTRY) /* a damaged index may not lead to it */
            expect(err);
        walk(v, name.number, a, depth + 1);
    }
    if (err != NO_ENTRY)
        expect(err);
    err = ext4_find_name(v, &n, "not there", 9, &other);
    if (err != NO_ENTRY)
        expect(err);
}

static void read_all(void)
{
    struct ext4_lines *l = new_lines();
    struct ext4_about a;
    struct ext4_volume *v;
    int err;

    reads = 0;
    names = NAMES_MOST;
    err = ext4_volume_open(l, "image", EXT4_OPEN_NOLOAD, &v);
    if (err == 0) {
        ext4_volume_about(v, &a);
        walk(v, EXT4_ROOT, &a, 0);
        ext4_volume_close(v);
    }
    ext4_lines_free(l);
    if (allocated) {
        printf("Bail out! %u blocks are left\n", allocated);
        abort();
    }
}

/* ---- damage ---- */

/* Places that hold something: most of an image is empty. */
static size_t place(void)
{
    size_t at = 0;

    if (draw(4) == 0)
        return 1024 + draw(300);
    for (unsigned k = 0; k < 100; k++) {
        at = draw((uint32_t)(image_bytes / 64)) * (size_t)64;
        for (unsigned j = 0; j < 64; j++)
            if (image[at + j])
                return at + draw(64);
    }
    return at;
}

static void put(size_t at, const void *p, size_t n)
{
    if (at + n <= image_bytes)
        memcpy(image + at, p, n);
}

static void damage(void)
{
    static const uint32_t words[] = {0,          1,          2,          0x7FFFFFFF, 0x80000000,
                                     0xFFFFFFFF, 0xFFFFFFFE, 0x10000000, 0x0000F30A, 0x00080000};
    size_t at = place();
    uint32_t any = draw(UINT32_MAX);

    switch (draw(6)) {
    case 0:
        image[at] ^= (uint8_t)(1u << draw(8));
        break;
    case 1:
        image[at] = (uint8_t)draw(256);
        break;
    case 2:
        put(at & ~(size_t)3, &words[draw(sizeof(words) / sizeof(*words))], 4);
        break;
    case 3:
        put(at & ~(size_t)1, &words[draw(sizeof(words) / sizeof(*words))], 2);
        break;
    case 4:
        put(at & ~(size_t)3, &any, 4);
        break;
    default:
        put(at & ~(size_t)127, image + (place() & ~(size_t)127), 128);
    }
}

static void rounds(unsigned n)
{
    unsigned whole;

    memcpy(image, pristine, image_bytes);
    found = 0;
    read_all();
    whole = found;
    ok(whole > 10, "%u files in the whole image", whole);
    for (unsigned k = 1; k < 200; k += k < 30 ? 1 : 7) { /* allocations fail in a sound image */
        fail_at = k;
        read_all();
    }
    fail_at = found = 0;
    for (unsigned k = 0; k < n; k++) {
        memcpy(image, pristine, image_bytes);
        for (unsigned j = 1 + draw(draw(20) + 1); j; j--)
            damage();
        fail_at = draw(4) ? 0 : 1 + draw(300);
        read_all();
    }
    fail_at = 0;
    ok(1, "%u damaged ones, %u files found", n, found);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    ext4_checksums_prepare();
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    for (int k = 3; k < argc; k++) {
        load(argv[k]);
        rounds((unsigned)atoi(argv[2]));
        free(image);
        free(pristine);
    }
    ok(1, "done");
    return tap_done();
}
