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
#include <setjmp.h>

#include "ext4_world.h"

#define FILES 400u
#define NAME  200u

/* The model: what has a name. */
struct file {
    uint32_t number, parent; /* parent: index in files[]; number 0: there is none */
    uint32_t mode;
    uint64_t size, blocks; /* blocks: of a regular file, from its beginning on */
    char name[NAME];
};
static struct file files[FILES], committed[FILES];
static unsigned alive;

static struct ext4_volume *v;
static bool hostile; /* the volume is damaged: errors end a change */
static jmp_buf after_change;

static void check(bool good, const char *what)
{
    if (good)
        return;
    if (hostile)
        longjmp(after_change, 1);
    printf("Bail out! %s\n", what);
    abort();
}

static bool may_fail(int err) { return err == NO_SPACE || err == NO_MEMORY; }

static unsigned pick(uint32_t type)
{
    for (unsigned k = 0; k < 4 * FILES; k++) {
        unsigned at = draw(FILES);

        if (files[at].number && (!type || (files[at].mode & S_IFMT) == type))
            return at;
    }
    return 0;
}

static void name_file(struct file *f, unsigned k)
{
    unsigned n = draw(8) ? draw(20) : draw(NAME - 20);

    snprintf(f->name, sizeof(f->name), "%u-%u-%.*s", k, draw(1000000), (int)n,
             "a long name, which is a long name, which is a long name, which is a long name, which "
             "is a long name, which is a long name, which is a long name, which is a long name, "
             "which");
}

static void read_node(const struct file *f, struct ext4_node *n)
{
    check(ext4_read_node(v, f->number, n) == 0, "an inode cannot be read");
}

static struct ext4_text text(const char *s) { return (struct ext4_text){s, (uint32_t)strlen(s)}; }

/* ---- steps ---- */

static void make(void)
{
    static const uint32_t modes[] = {S_IFREG | 0644, S_IFREG | 0600, S_IFREG | 0644,
                                     S_IFDIR | 0755, S_IFLNK | 0777, S_IFIFO | 0600};
    struct ext4_node dir, n = {.mode = modes[draw(6)], .uid = draw(100000), .gid = 7};
    unsigned at = 0, parent = pick(S_IFDIR);
    char target[300];
    int err;

    while (at < FILES && files[at].number)
        at++;
    if (at == FILES || alive > FILES * 9 / 10)
        return;
    name_file(&files[at], at);
    read_node(&files[parent], &dir);
    memset(target, 't', sizeof(target));
    err = ext4_make(v, &dir, text(files[at].name), &n,
                    (struct ext4_text){target, 1 + draw(sizeof(target) - 1)});
    if (may_fail(err))
        return;
    check(err == 0, "a file cannot be made");
    files[at].number = n.number;
    files[at].mode = n.mode;
    files[at].parent = parent;
    files[at].size = files[at].blocks = 0;
    alive++;
}

static void erase(struct ext4_node *n)
{
    bool more = true;
    int err = 0;

    for (unsigned k = 0; more && k < 100000; k++) {
        err = ext4_erase(v, n, &more);
        if (err == NO_MEMORY) {
            more = true;
            fail_at = 0;
            continue;
        }
        check(err == 0, "a file cannot be erased");
    }
}

/* False: it cannot be removed. */
static bool remove_name(unsigned at, struct ext4_node *n)
{
    struct ext4_node dir;
    int err;

    read_node(&files[files[at].parent], &dir);
    err = ext4_unlink(v, &dir, text(files[at].name), n);
    if (err == NO_MEMORY)
        return false;
    if (err == NOT_EMPTY) {
        for (unsigned k = 1; k < FILES; k++)
            if (files[k].number && files[k].parent == at)
                return false;
    }
    check(err == 0, "a name cannot be removed");
    files[at].number = 0;
    alive--;
    return true;
}

static void unlink_one(void)
{
    unsigned at = pick(0);
    struct ext4_node n;

    if (at == 0)
        return;
    read_node(&files[at], &n);
    if (remove_name(at, &n))
        erase(&n);
}

static bool is_below(unsigned at, unsigned top)
{
    for (unsigned k = 0; at && k < FILES; at = files[at].parent, k++) /* hostile: in a circle */
        if (at == top)
            return true;
    return top == 0 || at != 0;
}

static void rename_one(void)
{
    unsigned at = pick(0), to = pick(S_IFDIR), over = draw(3) ? 0 : pick(0);
    struct ext4_node from, n, dir, other;
    struct file f = files[at];
    int err;

    if (over && ((files[over].mode ^ f.mode) & S_IFMT))
        over = 0;
    if (over)
        to = files[over].parent;
    if (at == 0 || over == at || is_below(to, at) || is_below(at, over ? over : FILES))
        return;
    if (over)
        memcpy(f.name, files[over].name, NAME);
    else
        name_file(&f, at);
    read_node(&files[f.parent], &from);
    read_node(&files[at], &n);
    read_node(&files[to], &dir);
    if (over)
        read_node(&files[over], &other);
    err = ext4_rename(v, &from, text(files[at].name), &n, to == f.parent ? &from : &dir,
                      text(f.name), over ? &other : NULL);
    if (may_fail(err) || err == NOT_EMPTY)
        return;
    check(err == 0, "a file cannot be renamed");
    f.parent = to;
    files[at] = f;
    if (over) {
        files[over].number = 0;
        alive--;
        erase(&other);
    }
}

/* Blocks get a pattern of the file and of their place. */
static void pattern(uint8_t *to, uint32_t number, uint64_t block)
{
    memset(to, 0, v->block_bytes);
    memcpy(to, &number, 4);
    memcpy(to + 8, &block, 8);
}

static int write_blocks(struct ext4_node *n, uint64_t block, uint64_t count, uint64_t *done)
{
    uint8_t bytes[65536];
    struct ext4_run run;
    bool fresh;
    int err = ext4_edit_node(v, n);

    if (!err)
        err = ext4_have_blocks(v, n, block, count, &run, &fresh);
    if (err)
        return err;
    for (uint64_t k = 0; k < run.count; k++) {
        pattern(bytes, n->number, block + k);
        ext4_store_write(&v->journal->store, (run.physical + k) << v->shift, bytes, v->block_bytes);
    }
    *done = run.count;
    if ((block + run.count) << v->shift > n->size)
        n->size = (block + run.count) << v->shift;
    err = ext4_store_finish(&v->journal->store);
    return err ? err : ext4_write_node(v, n, false);
}

static void write_file(void)
{
    struct file *f = &files[pick(S_IFREG)];
    uint64_t first = f->blocks + (draw(4) ? 0 : draw(20)), count = 1 + draw(draw(4) ? 8 : 60);
    struct ext4_node n;

    if (!f->number || (f->mode & S_IFMT) != S_IFREG)
        return;
    if (draw(3) == 0)
        first = draw((uint32_t)f->blocks + 1);
    read_node(f, &n);
    while (count) {
        uint64_t done = 0;
        unsigned tries = 0;
        int err;

        do {
            err = ext4_step(v);
            if (!err)
                err = ext4_step_end(v, draw(5) ? write_blocks(&n, first, count, &done)
                                               : write_blocks(&n, first, 1, &done));
        } while (ext4_step_again(v, &err, tries++));
        if (may_fail(err))
            break;
        check(err == 0 && done, "a file cannot be written");
        first += done;
        count -= done;
    }
    f->size = n.size;
    f->blocks = n.size >> v->shift;
}

static void reserve(void)
{
    struct file *f = &files[pick(S_IFREG)];
    struct ext4_node n;
    uint64_t done;
    int err;

    if (!f->number || (f->mode & S_IFMT) != S_IFREG)
        return;
    read_node(f, &n);
    err = ext4_reserve_blocks(v, &n, draw((uint32_t)f->blocks + 5), 1 + draw(30), &done);
    check(err == 0 || may_fail(err), "blocks cannot be reserved");
}

static void cut_rest(struct ext4_node *n)
{
    bool more = true;

    while (more) {
        int err = ext4_cut(v, n, &more);

        check(err == 0 || err == NO_MEMORY, "blocks cannot be cut off");
        more |= err != 0;
        if (err)
            fail_at = 0;
    }
}

/* Some are removed before they are cut. */
static void cut_file(void)
{
    struct file *f = &files[pick(S_IFREG)];
    struct ext4_node n;
    bool removed;
    int err;

    if (!f->number || (f->mode & S_IFMT) != S_IFREG)
        return;
    read_node(f, &n);
    f->blocks = draw((uint32_t)f->blocks + 1);
    err = ext4_set_size(v, &n, f->blocks << v->shift);
    if (err == NO_MEMORY) {
        f->blocks = f->size >> v->shift;
        return;
    }
    check(err == 0, "a file cannot be cut");
    f->size = n.size;
    removed = draw(4) == 0 && remove_name((unsigned)(f - files), &n);
    if (!removed || draw(2))
        cut_rest(&n);
    if (removed)
        erase(&n);
}

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

/* A block that is likely to be in use is not any more. */
static void free_any(void)
{
    int err = ext4_step(v);

    if (err)
        return;
    err = ext4_give_blocks(v, draw((uint32_t)v->blocks / (draw(2) ? 1 : 8)), 1, draw(2));
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
