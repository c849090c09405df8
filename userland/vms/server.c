/*
 * A server with a table in reserved memory, and workers that fill it. The server creates the
 * section once, with privileges that it disables afterwards. Every worker maps it through the
 * shared page tables, fills its part, and records its identity.
 */
#define __NEW_STARLET 1

#include <descrip.h>
#include <efndef.h>
#include <far_pointers.h>
#include <gen64def.h>
#include <iledef.h>
#include <ints.h>
#include <iosbdef.h>
#include <jpidef.h>
#include <lib$routines.h>
#include <processes.h>
#include <prvdef.h>
#include <psldef.h>
#include <secdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stsdef.h>
#include <syidef.h>
#include <vadef.h>
#include <wait.h>

#define WORKERS    3
#define TABLE_SIZE (24 * 1024 * 1024)

struct worker {
    unsigned int pid;
    char name[16];
    unsigned short name_length;
    unsigned int pages; /* pagelets of private memory in use */
    unsigned __int64 sum;
    int has_ended;
};

static $DESCRIPTOR(table_name, "SERVER_TABLE");
static GENERIC_64 region;
static CHAR_PQ table;
static unsigned __int64 table_length;

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
}

/* Parts are 8 MB apart. A worker's record is at the start of its part. */
static struct worker *part_of(int n)
{
    return (struct worker *)(table + n * (TABLE_SIZE / WORKERS));
}

static void map_table(void)
{
    unsigned __int64 length;
    VOID_PQ va;

    check(sys$create_region_64(2 * TABLE_SIZE, 0, VA$M_SHARED_PTS, &region, &va, &length));
    check(sys$mgblsc_64(&table_name, 0, &region, 0, 0, PSL$C_USER,
                        SEC$M_WRT | SEC$M_SYSGBL | SEC$M_EXPREG, (void **)&table, &table_length));
}

static void worker(int n)
{
    struct worker *me;
    IOSB iosb;

    map_table();
    me = part_of(n);
    for (unsigned __int64 i = 1; i <= 1000; i++)
        me->sum += i * (unsigned)(n + 1);
    {
        unsigned __int64 length;
        ILEB_64 items[] = {{1, JPI$_PID, -1, sizeof(me->pid), &me->pid, 0},
                           {1, JPI$_PRCNAM, -1, sizeof(me->name), me->name, &length},
                           {1, JPI$_PPGCNT, -1, sizeof(me->pages), &me->pages, 0},
                           {0, 0, 0, 0, 0, 0}};

        check(sys$getjpiw(EFN$C_ENF, 0, 0, items, &iosb, 0, 0));
        check(iosb.iosb$w_status);
        me->name_length = (unsigned short)length;
    }
    me->has_ended = 1;
}

static void create_table(void)
{
    union prvdef privileges = {0}, before;
    unsigned __int64 reserved = 0;
    int status;

    privileges.prv$v_sysgbl = 1;
    privileges.prv$v_prmgbl = 1;
    check(sys$setprv(1, &privileges, 0, &before));
    status = sys$create_gdzro(&table_name, 0, 0, TABLE_SIZE, PSL$C_USER, SEC$M_SYSGBL, &reserved);
    check(status);
    check(sys$setprv(0, &privileges, 0, 0));
    printf("Table created%s; %lu MB are reserved for it\n",
           status == SS$_CREATED_SHPT ? " with shared page tables" : "", reserved >> 20);
    printf("Without the privileges: %s\n",
           sys$dgblsc(SEC$M_SYSGBL, &table_name, 0) == SS$_NOSYSGBL ? "it cannot be deleted" : "?");
}

static void global_pages(const char *when)
{
    int sections, pages, page_size;
    ILE3 items[] = {{4, SYI$_USED_GBLSECTCNT, &sections, 0},
                    {4, SYI$_USED_GBLPAGCNT, &pages, 0},
                    {4, SYI$_PAGE_SIZE, &page_size, 0},
                    {0, 0, 0, 0}};

    check(sys$getsyiw(EFN$C_ENF, 0, 0, items, 0, 0, 0));
    printf("%s: %d section(s), %d global pages of %d bytes\n", when, sections, pages, page_size);
}

static void server(char *program)
{
    union prvdef privileges = {0};
    int failed = 0, status;
    VOID_PQ va;
    unsigned __int64 length;

    global_pages("Before");
    create_table();
    global_pages("After");
    map_table();
    printf("Mapped %lu MB\n", table_length >> 20);
    fflush(stdout);
    for (int n = 0; n < WORKERS; n++) {
        char digit[2] = {(char)('0' + n), 0};

        if (vfork() == 0) {
            execl(program, program, digit, (char *)0);
            _exit(EXIT_FAILURE);
        }
    }
    for (int n = 0; n < WORKERS; n++)
        wait(&status);
    for (int n = 0; n < WORKERS; n++)
        failed += !part_of(n)->has_ended;
    printf("%d of %d workers failed\n", failed, WORKERS);
    for (int n = 0; n < WORKERS; n++) {
        struct worker *w = part_of(n);

        printf("Worker %d: process %s, named %.*s, sum %lu, private memory: %s\n", n,
               w->pid ? "known" : "unknown", w->name_length, w->name, w->sum,
               w->pages ? "some" : "none");
    }
    privileges.prv$v_sysgbl = privileges.prv$v_prmgbl = 1;
    check(sys$setprv(1, &privileges, 0, 0));
    check(sys$dgblsc(SEC$M_SYSGBL, &table_name, 0));
    check(sys$delete_region_64(&region, PSL$C_USER, &va, &length));
    global_pages("At the end");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        worker(atoi(argv[1]));
    else
        server(argv[0]);
    return SS$_NORMAL;
}
