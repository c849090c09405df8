/*
 * A model of an ext4 volume for tests/host/test_ext4_write.c: its files, and changes, drawn at
 * random, that are made to both.
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
    uint32_t first;
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
    fail_at = 0;
    check(ext4_orphan_first(v, &first) == 0 && first == 0, "an orphan is left");
}
