/* System V shared memory, from shmget(2), shmop(2), shmctl(2). */
#include "conformance.h"

#include <grp.h>
#include <sys/ipc.h>
#include <sys/shm.h>

#define KEY     0x5EED0001
#define BAD     ((void *)-1)
#define NOWHERE ((struct shmid_ds *)8)
#define OTHER   12345 /* a user and group id */

static size_t page;

static void remove_key(key_t key)
{
    int id = shmget(key, 0, 0);

    if (id >= 0)
        shmctl(id, IPC_RMID, NULL);
}

/* shmat, only whether it succeeds. */
#define ATTACHED(name, id, at, flags)                   \
    do {                                                \
        void *p_;                                       \
                                                        \
        errno = 0;                                      \
        p_ = shmat(id, at, flags);                      \
        report_result(name, p_ == BAD ? -1 : 0, errno); \
        if (p_ != BAD)                                  \
            shmdt(p_);                                  \
    } while (0)

/* shmget, only whether it succeeds. */
#define GOT(name, call)                               \
    do {                                              \
        int id_;                                      \
                                                      \
        errno = 0;                                    \
        id_ = (call);                                 \
        report_result(name, id_ < 0 ? -1 : 0, errno); \
    } while (0)

static struct shmid_ds status(int id)
{
    struct shmid_ds ds;

    memset(&ds, 0xAA, sizeof(ds));
    if (shmctl(id, IPC_STAT, &ds) != 0)
        TEXT("status", "%s", strerrorname_np(errno));
    return ds;
}

static void getting(void)
{
    int id, other, third;

    GOT("no such key", shmget(KEY, 100, 0600));
    GOT("size 0", shmget(KEY, 0, IPC_CREAT | 0600));
    GOT("size of all addresses", shmget(KEY, (size_t)-1, IPC_CREAT | 0600));
    GOT("private, size 0", shmget(IPC_PRIVATE, 0, 0600));
    id = shmget(KEY, 3 * page + 1, IPC_CREAT | IPC_EXCL | 0640);
    VALUE_AS("made", id >= 0);
    VALUE_AS("found again", shmget(KEY, 0, 0) == id);
    VALUE_AS("found with IPC_CREAT", shmget(KEY, 100, IPC_CREAT | 0600) == id);
    GOT("IPC_EXCL", shmget(KEY, 100, IPC_CREAT | IPC_EXCL | 0600));
    GOT("IPC_EXCL alone", shmget(KEY, 100, IPC_EXCL));
    GOT("larger than it is", shmget(KEY, 3 * page + 2, 0600));
    GOT("larger than it is, IPC_EXCL", shmget(KEY, 4 * page, IPC_CREAT | IPC_EXCL | 0600));
    VALUE_AS("all of its size", shmget(KEY, 3 * page + 1, 0600) == id);
    other = shmget(IPC_PRIVATE, 10, 0600);
    VALUE_AS("a private one is another", other >= 0 && other != id);
    third = shmget(IPC_PRIVATE, 10, 0);
    VALUE_AS("two private ones", third >= 0 && third != other);
    shmctl(third, IPC_RMID, NULL);
    VALUE_AS("permissions", status(id).shm_perm.mode);
    VALUE_AS("size", status(id).shm_segsz == 3 * page + 1);
    VALUE_AS("key", status(id).shm_perm.__key);
    VALUE_AS("key of a private one", status(other).shm_perm.__key);
    VALUE_AS("attachments", (long)status(id).shm_nattch);
    VALUE_AS("made by this process", status(id).shm_cpid == getpid());
    VALUE_AS("attached by", status(id).shm_lpid);
    VALUE_AS("time of attachment", status(id).shm_atime);
    VALUE_AS("time of detachment", status(id).shm_dtime);
    VALUE_AS("time of change", status(id).shm_ctime != 0);
    CASE_AS("remove", shmctl(id, IPC_RMID, NULL));
    CASE_AS("remove again", shmctl(id, IPC_RMID, NULL));
    CASE_AS("remove the other", shmctl(other, IPC_RMID, NULL));
    GOT("the key is free", shmget(KEY, 0, 0));
    VALUE_AS("its identifier is not used again", shmget(KEY, page, IPC_CREAT | 0600) != id);
    GOT("huge pages, none in the pool", shmget(IPC_PRIVATE, page, SHM_HUGETLB | 0600));
    GOT("huge pages of unknown size", shmget(IPC_PRIVATE, page, SHM_HUGETLB | 14 << 26 | 0600));
    GOT("huge pages, size 0", shmget(IPC_PRIVATE, 0, SHM_HUGETLB | 0600));
    GOT("huge pages, but the segment is there", shmget(KEY, page, SHM_HUGETLB | 0600));
    remove_key(KEY);
}

static void attaching(void)
{
    int id = shmget(IPC_PRIVATE, 2 * page, 0600), small = shmget(IPC_PRIVATE, 1, 0600);
    char *p = shmat(id, NULL, 0), *q, *hole, byte;

    VALUE_AS("attached", p != BAD);
    VALUE_AS("zeroes", p[0] == 0 && p[2 * page - 1] == 0);
    strcpy(p + page, "some text");
    q = shmat(id, NULL, 0);
    VALUE_AS("a second time, elsewhere", q != BAD && q != p);
    TEXT("the same bytes", "%s", q + page);
    VALUE_AS("two attachments", (long)status(id).shm_nattch);
    VALUE_AS("attached by this process", status(id).shm_lpid == getpid());
    VALUE_AS("time of the attachment", status(id).shm_atime != 0);
    CASE_AS("detach", shmdt(q));
    CASE_AS("detach again", shmdt(q));
    VALUE_AS("time of the detachment", status(id).shm_dtime != 0);
    CASE_AS("detach at the second page", shmdt(p + page));
    CASE_AS("detach between pages", shmdt(p + 1));
    CASE_AS("detach at no address", shmdt(NULL));
    CASE_AS("detach what mmap made",
            shmdt(mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    /* addresses */
    hole = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(hole, 8 * page);
    VALUE_AS("at an address", shmat(id, hole + page, 0) == hole + page);
    ATTACHED("where it is attached", id, hole + page, 0);
    ATTACHED("over a part", id, hole, 0);
    VALUE_AS("SHM_REMAP over a part", shmat(small, hole + page, SHM_REMAP) == hole + page);
    hole[2 * page] = 1;
    VALUE_AS("both in part", hole[page] == 0 && p[page] == 1);
    VALUE_AS("attachments after SHM_REMAP", (long)status(id).shm_nattch);
    ATTACHED("SHM_REMAP without an address", id, NULL, SHM_REMAP);
    ATTACHED("between two pages", id, hole + 5, 0);
    VALUE_AS("SHM_RND", shmat(small, hole + 5 * page + 100, SHM_RND) == hole + 5 * page);
    CASE_AS("detach it", shmdt(hole + 5 * page));
    ATTACHED("SHM_RND to no address", small, (void *)1, SHM_RND | SHM_REMAP);
    CASE_AS("detach the rest", shmdt(hole + page));
    ATTACHED("no such segment", 0x7FFFFFF0, NULL, 0);
    ATTACHED("a negative number", -1, NULL, 0);
    /* a part is unmapped */
    q = shmat(id, NULL, 0);
    munmap(q, page);
    VALUE_AS("attachments, the first page unmapped", (long)status(id).shm_nattch);
    CASE_AS("detach without the first page", shmdt(q));
    CASE_AS("the second page is gone", mprotect(q + page, page, PROT_READ));
    /* protection */
    q = shmat(id, NULL, SHM_RDONLY);
    byte = q[page];
    VALUE_AS("read-only", byte);
    CASE_AS("to make it writable", mprotect(q, page, PROT_READ | PROT_WRITE));
    shmdt(q);
    CASE_AS("to make it unreadable", mprotect(p, page, PROT_NONE));
    VALUE_AS("attachments, one in two parts", (long)status(id).shm_nattch);
    CASE_AS("detach both parts", shmdt(p));
    VALUE_AS("none is left", (long)status(id).shm_nattch);
    p = shmat(id, NULL, SHM_EXEC);
    VALUE_AS("SHM_EXEC", p != BAD);
    shmdt(p);
    shmctl(id, IPC_RMID, NULL);
    shmctl(small, IPC_RMID, NULL);
}

/* Discarding keeps the contents. */
static void advising(void)
{
    int id = shmget(IPC_PRIVATE, 2 * page, 0600);
    char *hole = mmap(NULL, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p;

    munmap(hole, 4 * page);
    p = shmat(id, hole, 0);
    strcpy(p + page, "some text");
    CASE_AS("madvise, don't need", madvise(p, 2 * page, MADV_DONTNEED));
    TEXT("the text is still there", "%s", p + page);
    CASE_AS("madvise, free", madvise(p, page, MADV_FREE));
    CASE_AS("madvise, will need", madvise(p, page, MADV_WILLNEED));
    CASE_AS("madvise, don't need, and beyond", madvise(p + page, 2 * page, MADV_DONTNEED));
    TEXT("the text after that", "%s", p + page);
    shmdt(p);
    shmctl(id, IPC_RMID, NULL);
}

static int shared_id;
static char *shared;

static void use_it(void)
{
    VALUE_AS("attachments in a child", (long)status(shared_id).shm_nattch);
    shared[0] = 'c';
}

static void write_read_only(void)
{
    shared = shmat(shared_id, NULL, SHM_RDONLY);
    shared[0] = 1;
}

static void removing(void)
{
    int id = shmget(KEY, page, IPC_CREAT | 0600);
    char *p;

    shared_id = id;
    shared = shmat(id, NULL, 0);
    in_child("a child", use_it);
    VALUE_AS("what it wrote", shared[0]);
    VALUE_AS("attachments after the child", (long)status(id).shm_nattch);
    in_child("write to a read-only attachment", write_read_only);
    shared[1] = 'x';
    CASE_AS("remove it while attached", shmctl(id, IPC_RMID, NULL));
    VALUE_AS("mode, removed", status(id).shm_perm.mode);
    VALUE_AS("key, removed", status(id).shm_perm.__key);
    GOT("by its key", shmget(KEY, 0, 0));
    VALUE_AS("its memory", shared[1]);
    p = shmat(id, NULL, 0);
    VALUE_AS("it can be attached", p != BAD && p[1] == 'x');
    shmdt(p);
    VALUE_AS("and is still there", (long)status(id).shm_nattch);
    VALUE_AS("a new one with the key", shmget(KEY, page, IPC_CREAT | IPC_EXCL | 0600) >= 0);
    CASE_AS("remove it again", shmctl(id, IPC_RMID, NULL));
    shmdt(shared);
    CASE_AS("after the last detachment", shmctl(id, IPC_STAT, &(struct shmid_ds){0}));
    remove_key(KEY);
}

static void control(void)
{
    int id = shmget(IPC_PRIVATE, page, 0640);
    struct shmid_ds ds = status(id);
    struct shminfo limits;
    struct shm_info totals;

    ds.shm_perm.mode = 0107604;
    ds.shm_perm.uid = OTHER;
    CASE_AS("IPC_SET", shmctl(id, IPC_SET, &ds));
    VALUE_AS("the mode set", status(id).shm_perm.mode);
    VALUE_AS("the owner set", status(id).shm_perm.uid);
    VALUE_AS("the creator", status(id).shm_perm.cuid);
    ds.shm_perm.uid = (uid_t)-1;
    CASE_AS("IPC_SET, no owner", shmctl(id, IPC_SET, &ds));
    CASE_AS("SHM_LOCK", shmctl(id, SHM_LOCK, NULL));
    VALUE_AS("mode, locked", status(id).shm_perm.mode);
    CASE_AS("SHM_UNLOCK", shmctl(id, SHM_UNLOCK, NULL));
    VALUE_AS("mode, unlocked", status(id).shm_perm.mode);
    CASE_AS("an unknown command", shmctl(id, 99, &ds));
    CASE_AS("a negative command", shmctl(id, -1, &ds));
    CASE_AS("a negative number", shmctl(-1, IPC_STAT, &ds));
    CASE_AS("IPC_STAT of none", shmctl(0x7FFFFFF0, IPC_STAT, &ds));
    CASE_AS("IPC_SET of none", shmctl(0x7FFFFFF0, IPC_SET, &ds));
    CASE_AS("SHM_LOCK of none", shmctl(0x7FFFFFF0, SHM_LOCK, NULL));
    CASE_AS("IPC_STAT to nowhere", shmctl(id, IPC_STAT, NOWHERE));
    CASE_AS("IPC_SET from nowhere", shmctl(id, IPC_SET, NOWHERE));
    VALUE_AS("IPC_INFO", shmctl(0, IPC_INFO, (struct shmid_ds *)&limits) >= 0);
    VALUE_AS("limits", limits.shmmin == 1 && limits.shmmni >= 4096 && limits.shmmax > 1ul << 32);
    VALUE_AS("SHM_INFO", shmctl(0, SHM_INFO, (struct shmid_ds *)&totals) >= 0);
    VALUE_AS("totals", totals.used_ids >= 1 && totals.shm_tot >= 1);
    CASE_AS("SHM_STAT of a free slot", shmctl(4000, SHM_STAT, &ds));
    VALUE_AS("SHM_STAT", shmctl(id % 32768, SHM_STAT, &ds) == id);
    VALUE_AS("its size", ds.shm_segsz == page);
    shmctl(id, IPC_RMID, NULL);
}

static int their_id, group_id, open_id;

static void as_another(void)
{
    struct shmid_ds ds = {.shm_perm.mode = 0666};

    if (setgroups(0, NULL) != 0 || setgid(OTHER) != 0 || setuid(OTHER) != 0)
        _exit(9);
    ATTACHED("attach without permission", their_id, NULL, 0);
    ATTACHED("attach read-only without permission", their_id, NULL, SHM_RDONLY);
    ATTACHED("attach by the group", group_id, NULL, 0);
    ATTACHED("attach read-only by the group", group_id, NULL, SHM_RDONLY);
    ATTACHED("SHM_EXEC by the group", group_id, NULL, SHM_RDONLY | SHM_EXEC);
    ATTACHED("attach as others may", open_id, NULL, 0);
    GOT("by the key, for writing", shmget(KEY, 0, 0200));
    GOT("by the key, without permissions", shmget(KEY, 0, 0));
    CASE_AS("status without permission", shmctl(their_id, IPC_STAT, &ds));
    CASE_AS("status by the group", shmctl(group_id, IPC_STAT, &ds));
    CASE_AS("SHM_STAT without permission", shmctl(their_id % 32768, SHM_STAT, &ds));
    CASE_AS("IPC_SET by another", shmctl(open_id, IPC_SET, &ds));
    CASE_AS("SHM_LOCK by another", shmctl(open_id, SHM_LOCK, NULL));
    CASE_AS("remove by another", shmctl(open_id, IPC_RMID, NULL));
    GOT("huge pages without the privilege", shmget(IPC_PRIVATE, page, SHM_HUGETLB | 0600));
}

static void permissions(void)
{
    struct shmid_ds ds;

    their_id = shmget(KEY, page, IPC_CREAT | 0600);
    group_id = shmget(IPC_PRIVATE, page, 0640);
    open_id = shmget(IPC_PRIVATE, page, 0606);
    ds = status(group_id);
    ds.shm_perm.gid = OTHER;
    shmctl(group_id, IPC_SET, &ds);
    in_child("another user", as_another);
    shmctl(their_id, IPC_RMID, NULL);
    shmctl(group_id, IPC_RMID, NULL);
    shmctl(open_id, IPC_RMID, NULL);
}

int main(void)
{
    cases_begin();
    page = (size_t)sysconf(_SC_PAGESIZE);
    remove_key(KEY);
    getting();
    attaching();
    advising();
    removing();
    control();
    permissions();
    return 0;
}
