/* /proc/net/unix: the sockets that have a name. */
#include "kernel/net/socket.h"
#include "kernel/sys/procfs/procfs_private.h"

#define LISTENS         0x10000u /* flag: it accepts connections */
#define STATE_FREE      1u
#define STATE_CONNECTED 3u
#define FAMILY_BYTES    2u /* of a name, before the path */

/* The path, or an abstract name with an at sign for each NUL. */
static void put_name(struct proc_text *t, const struct sock_info *i)
{
    bool abstract = !i->name[FAMILY_BYTES];

    for (uint32_t k = FAMILY_BYTES; k < i->nbytes && (abstract || i->name[k]); k++)
        proc_put(t, i->name[k] ? (const char *)&i->name[k] : "@", 1);
}

/* One socket a record, after that with the heading; the cursor is one more than socket_next's. */
static int show_unix(const struct proc_id *who, uint64_t *cursor, struct proc_text *t)
{
    struct sock_info i;
    uint64_t at = *cursor - 1;

    (void)who;
    if (!*cursor) {
        proc_print(t, "Num       RefCount Protocol Flags    Type St Inode Path\n");
        *cursor = 1;
        return 1;
    }
    if (!socket_next(&at, &i))
        return 0;
    proc_print(t, "%016lx: %08X 00000000 %08X %04X %02X %5lu ", UINT64_C(0), i.refs,
               i.listens ? LISTENS : 0, i.type, i.connected ? STATE_CONNECTED : STATE_FREE, i.ino);
    put_name(t, &i);
    proc_put(t, "\n", 1);
    *cursor = at + 1;
    return 1;
}

const struct proc_entry proc_net_names[PROC_NET_NAMES] = {
    PROC_TEXT("unix", show_unix),
};
