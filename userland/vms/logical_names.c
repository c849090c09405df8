/*
**  Logical names: a table of the program's own, a search list, translation by
**  index, attributes, and the condition values that programs test for.
*/
#define __NEW_STARLET 1
#include <descrip>
#include <iledef>
#include <lib$routines>
#include <lnmdef>
#include <psldef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <string>
#include <stsdef>

static $DESCRIPTOR(process_directory, "LNM$PROCESS_DIRECTORY");
static $DESCRIPTOR(table, "EXAMPLE_TABLE");
static $DESCRIPTOR(list, "DATA_DISKS");
static $DESCRIPTOR(lower, "data_disks");

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
}

static void create_list(void)
{
    static char *disks[3] = {"DISK1:", "DISK2:[DATA]", "DISK3:"};
    unsigned int concealed = LNM$M_CONCEALED, none = 0;
    ILE3 items[10];
    int i, n;

    for (i = n = 0; i < 3; i++) {
        items[n].ile3$w_length = sizeof none;
        items[n].ile3$w_code = LNM$_ATTRIBUTES;
        items[n].ile3$ps_bufaddr = i == 1 ? &concealed : &none;
        items[n++].ile3$ps_retlen_addr = 0;
        items[n].ile3$w_length = strlen(disks[i]);
        items[n].ile3$w_code = LNM$_STRING;
        items[n].ile3$ps_bufaddr = disks[i];
        items[n++].ile3$ps_retlen_addr = 0;
    }
    memset(&items[n], 0, sizeof items[n]);
    check(sys$crelnm(0, &table, &list, 0, items));
}

static void show_list(struct dsc$descriptor_s *name, unsigned int flags)
{
    char string[LNM$C_NAMLENGTH + 1];
    unsigned short string_length;
    int index, max_index = 0, status;
    unsigned int attributes;
    ILE3 more[3] = {{sizeof string - 1, LNM$_STRING, string, &string_length},
                    {sizeof max_index, LNM$_MAX_INDEX, &max_index, 0},
                    {0, 0, 0, 0}};
    ILE3 items[3] = {{sizeof index, LNM$_INDEX, &index, 0},
                     {sizeof attributes, LNM$_ATTRIBUTES, &attributes, 0},
                     {0, LNM$_CHAIN, more, 0}};

    for (index = 0; index <= max_index; index++) {
        status = sys$trnlnm(&flags, &table, name, 0, items);
        if (status == SS$_NOLOGNAM) {
            printf("%.*s: no such name\n", name->dsc$w_length, name->dsc$a_pointer);
            return;
        }
        check(status);
        string[string_length] = '\0';
        printf("%.*s [%d of %d] = %s%s%s\n", name->dsc$w_length, name->dsc$a_pointer, index,
               max_index, string, attributes & LNM$M_CONCEALED ? " (concealed)" : "",
               attributes & LNM$M_EXISTS ? "" : " (not there)");
    }
}

main()
{
    unsigned int quota = 1000;
    unsigned int create_if = LNM$M_CREATE_IF;
    int status;

    status = sys$crelnt(&create_if, 0, 0, &quota, 0, &table, &process_directory, 0);
    printf("The table was %s\n", status == SS$_LNMCREATED ? "created" : "there");
    status = sys$crelnt(&create_if, 0, 0, &quota, 0, &table, &process_directory, 0);
    printf("The second time it was %s\n", status == SS$_NORMAL ? "there" : "created");

    create_list();
    show_list(&list, LNM$M_INTERLOCKED);
    show_list(&lower, 0);
    show_list(&lower, LNM$M_CASE_BLIND);

    check(sys$dellnm(&table, &list, 0));
    show_list(&list, 0);
    check(SYS$DELLNM(&process_directory, &table, 0));
    status = sys$dellnm(&table, &list, 0);
    printf("Without the table: %s\n", status == SS$_NOLOGTAB ? "SS$_NOLOGTAB" : "?");
    return SS$_NORMAL;
}
