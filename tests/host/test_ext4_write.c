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
 * Writing a volume in memory: `test_ext4_write SEED STEPS IMAGE OUT CUTS` makes, moves, fills, cuts
 * and removes files and directories of a model, for STEPS steps, some of which fail for want of
 * memory, and compares; ends the volume and leaves it in OUT. What was written is remembered: then
 * it is cut CUTS times, in each of which some writes behind the last flush are lost, to be
 * recovered here, and compared with what was committed, and, in OUT.k, by e2fsck.
 * `test_ext4_write SEED STEPS IMAGE` does the same to a volume whose bitmaps say now and then, with
 * right checksums, that a block is free that is not: it ends, and nothing else is demanded.
 * tests/test_ext4_write.py runs both. Without arguments there is nothing to do.
 */
#include "ext4_model.h"

/* ---- comparing ---- */

static void compare_file(const struct file *f, struct ext4_node *n, bool contents)
{
    uint8_t bytes[65536], want[65536];
    struct ext4_run run;

    check(n->size == f->size, "a wrong size");
    for (uint64_t k = 0; contents && k < f->blocks; k++) {
        check(ext4_find_run(v, n, k, &run) == 0, "unreadable");
        memset(bytes, 0, sizeof(bytes));
        if (run.physical)
            memcpy(bytes, image + (run.physical << v->shift), v->block_bytes);
        pattern(want, n->number, k);
        if (memcmp(bytes, want, v->block_bytes) == 0)
            continue;
        memset(want, 0, v->block_bytes); /* a hole */
        check(memcmp(bytes, want, v->block_bytes) == 0, "wrong contents");
    }
}

/* Are all files of the model there, and no others? */
static void compare(const struct file *all, bool contents)
{
    unsigned names = 0, expected = 0;

    for (unsigned k = 0; k < FILES; k++) {
        struct ext4_name name = {.place = 2};
        struct ext4_node n, dir;
        uint32_t number;

        if (!all[k].number)
            continue;
        expected += k != 0;
        read_node(&all[k], &n);
        check((n.mode & S_IFMT) == (all[k].mode & S_IFMT), "a wrong type");
        if (k) {
            read_node(&all[all[k].parent], &dir);
            check(ext4_find_name(v, &dir, all[k].name, (uint32_t)strlen(all[k].name), &number) ==
                          0 &&
                      number == all[k].number,
                  "a name is not there");
        }
        if ((n.mode & S_IFMT) == S_IFREG)
            compare_file(&all[k], &n, contents);
        while (S_ISDIR(n.mode) && ext4_next_name(v, &n, name.place, &name) == 0)
            names += !(k == 0 && name.len == 10 && memcmp(name.text, "lost+found", 10) == 0);
    }
    check(names == expected, "other names");
}

static void open_it(void)
{
    int err = ext4_volume_open(new_lines(), "image", EXT4_OPEN_WRITE, &v);

    check(err == 0, "it cannot be opened");
    check(ext4_volume_writes(v), "it is only read");
}

static void close_it(bool well)
{
    struct ext4_lines *l = v->lines;

    if (well)
        check(ext4_journal_detach(v) == 0, "it cannot be ended");
    ext4_volume_close(v);
    ext4_lines_free(l);
    check(allocated == 0, "memory is left");
}

/* ---- cutting the log ---- */

static unsigned committed_at; /* in the log */
static struct {
    unsigned at;
    struct file files[FILES];
} *states; /* what is safe from a place of the log on */
static unsigned nstates;

static void commit(void)
{
    check(ext4_commit(v) == 0, "it cannot be committed");
    memcpy(committed, files, sizeof(files));
    committed_at = nlog;
    states = realloc(states, (nstates + 1) * sizeof(*states));
    states[nstates].at = nlog;
    memcpy(states[nstates++].files, files, sizeof(files));
}

static void cut_log(unsigned cut, const char *out, unsigned number)
{
    unsigned flushed = 0, state = UINT32_MAX;
    char path[4096];

    memcpy(image, pristine, image_bytes);
    for (unsigned k = 0; k < cut; k++)
        if (log_of[k].n == 0)
            flushed = k;
    for (unsigned k = 0; k < cut; k++)
        if (log_of[k].n && (k < flushed || draw(2)))
            memcpy(image + log_of[k].offset, log_of[k].bytes, log_of[k].n);
    for (unsigned k = 0; k < nstates; k++)
        if (states[k].at <= cut)
            state = k;
    snprintf(path, sizeof(path), "%s.%u", out, number);
    save(path);
    keep_log = false;
    open_it();
    /* what was committed is there, and perhaps more */
    if (state != UINT32_MAX && (state + 1 == nstates ? cut == nlog : states[state].at == cut))
        compare(states[state].files, true);
    close_it(true);
    snprintf(path, sizeof(path), "%s.%u.recovered", out, number);
    save(path);
}

static void run(unsigned steps, bool failures)
{
    static void (*const all[])(void) = {make,       make,       make,     write_file, write_file,
                                        unlink_one, rename_one, cut_file, reserve};

    for (unsigned k = 0; k < steps; k++) {
        fail_at = failures && draw(4) == 0 ? 1 + draw(20) : 0;
        all[draw(alive < 30 ? 5 : 9)]();
        fail_at = 0;
        if (draw(40) == 0)
            commit();
        if (draw(100) == 0)
            check(ext4_checkpoint(v) == 0, "no checkpoint");
        if (k % 200 == 199)
            compare(files, false);
    }
    commit();
    compare(files, true);
}

/* ---- damage ---- */

/* A block that is likely to be in use, perhaps one of the root, is not any more. */
static void free_any(void)
{
    uint64_t block = draw((uint32_t)v->blocks / (draw(2) ? 1 : 8));
    struct ext4_node root;
    struct ext4_run run;
    int err;

    read_node(&files[0], &root);
    if (draw(2) && ext4_find_run(v, &root, draw(1 + (uint32_t)(root.size >> v->shift)), &run) == 0)
        block = run.physical;
    err = ext4_step(v);
    if (err)
        return;
    err = ext4_give_blocks(v, block, 1, draw(2));
    (void)ext4_step_end(v, err);
}

static void run_damaged(unsigned steps)
{
    static void (*const all[])(void) = {make,       make,       make,     write_file,
                                        unlink_one, rename_one, cut_file, reserve};

    hostile = true;
    for (volatile unsigned k = 0; k < steps; k++) {
        reads = 0;
        if (setjmp(after_change))
            continue;
        for (unsigned n = draw(4); n > 0; n--)
            free_any();
        if (draw(5) == 0)
            (void)ext4_checkpoint(v); /* so that it is given to others */
        all[draw(8)]();
    }
    hostile = false;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc == 4) {
        ext4_checksums_prepare();
        seed = strtoull(argv[1], NULL, 0);
        load(argv[3]);
        files[0] = (struct file){.number = EXT4_ROOT, .mode = S_IFDIR};
        open_it();
        run_damaged((unsigned)atoi(argv[2]));
        close_it(false);
        free(image);
        free(pristine);
    }
    if (argc == 6) {
        ext4_checksums_prepare();
        seed = strtoull(argv[1], NULL, 0);
        load(argv[3]);
        keep_log = true;
        files[0] = (struct file){.number = EXT4_ROOT, .mode = S_IFDIR};
        open_it();
        run((unsigned)atoi(argv[2]), true);
        close_it(true);
        ok(1, "%u files, %u writes", alive, nlog);
        save(argv[4]);
        open_it();
        compare(files, true);
        close_it(true);
        for (int k = 0; k < atoi(argv[5]); k++)
            cut_log(k ? draw(nlog + 1) : nlog, argv[4], (unsigned)k);
        ok(1, "cut %s times", argv[5]);
        for (unsigned k = 0; k < nlog; k++)
            free(log_of[k].bytes);
        free(log_of);
        free(states);
        free(image);
        free(pristine);
    }
    ok(1, "done");
    return tap_done();
}
