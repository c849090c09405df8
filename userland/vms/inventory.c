/*
**  An inventory: records with fields, taken apart, checked and printed with routines
**  of the run-time library. At last it says where it was made.
*/
#include <descrip>
#include <jpidef>
#include <lib$routines>
#include <libdef>
#include <ssdef>
#include <starlet>
#include <stdio>
#include <str$routines>
#include <strdef>
#include <stsdef>
#include <syidef>

static $DESCRIPTOR(bolts, "M8-BOLT;0400;00C8;bolts, steel");
static $DESCRIPTOR(nuts, "M8-NUT;0x20;00C8;nuts");
static $DESCRIPTOR(washers, "D8-WASHER;1200;0FFF;washers, brass");
static $DESCRIPTOR(paint, "PAINT");
static struct dsc$descriptor_s *records[] = {&bolts, &nuts, &washers, &paint};

static $DESCRIPTOR(semicolon, ";");
static $DESCRIPTOR(metric, "M%-*");
static $DESCRIPTOR(digits, "0123456789");
static $DESCRIPTOR(comma, ",");
static $DESCRIPTOR(steel, "steel");
static $DESCRIPTOR(brass, "brass");
static $DESCRIPTOR(lower, "abcdefghijklmnopqrstuvwxyz");
static $DESCRIPTOR(upper, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
static $DESCRIPTOR(of, " of");

static void record(struct dsc$descriptor_s *line)
{
    struct dsc$descriptor_d field = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};
    int element, count, shelf, status, where, which, from, to;
    unsigned char low = 0;

    element = 0;
    status = str$element(&field, &element, &semicolon, line);
    printf("%-10.*s %s", field.dsc$w_length, field.dsc$a_pointer,
           str$match_wild(&field, &metric) == STR$_MATCH ? "metric" : "      ");

    element = 1;
    status = str$element(&field, &element, &semicolon, line);
    if (status == STR$_NOELEM) {
        printf("  no count\n");
        str$free1_dx(&field);
        return;
    }
    if (where = str$find_first_not_in_set(&field, &digits))
        printf("  character %d of the count is %c\n", where, field.dsc$a_pointer[where - 1]);
    else if (lib$cvt_dtb(field.dsc$w_length, field.dsc$a_pointer, &count)) {
        element = 2;
        str$element(&field, &element, &semicolon, line);
        lib$cvt_htb(field.dsc$w_length, field.dsc$a_pointer, &shelf);
        from = 4;
        low = 4;
        printf("  %4d on shelf %d, bits 7:4 are %u", count, shelf, lib$extzv(&from, &low, &shelf));
        element = 3;
        str$element(&field, &element, &semicolon, line);
        if (from = lib$locc(&comma, &field)) {
            str$replace(&field, &field, &from, &from, &of);
            str$find_first_substring(&field, &where, &which, &steel, &brass);
            printf(", material %d at %d", which, where);
        }
        from = to = 1;
        str$pos_extr(&field, &field, &from, &to);
        str$translate(&field, &field, &upper, &lower);
        printf(", %.*s\n", field.dsc$w_length, field.dsc$a_pointer);
    }
    str$free1_dx(&field);
}

int main(void)
{
    struct dsc$descriptor_d text = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0};
    int i, status, item, sum[2], a[2] = {-1, 0}, b[2] = {1, 0}, number;
    unsigned int pid = 0;
    unsigned short length;
    __int64 mask;

    for (i = 0; i < 4; i++)
        record(records[i]);

    lib$addx(a, b, sum);
    printf("FFFFFFFF + 1 = %X%08X\n", sum[1], sum[0]);

    item = SYI$_NODENAME;
    status = lib$getsyi(&item, 0, &text, &length);
    if (!$VMS_STATUS_SUCCESS(status))
        lib$signal(status);
    printf("Made on node %.*s", length, text.dsc$a_pointer);
    item = SYI$_PAGE_SIZE;
    status = lib$getsyi(&item, &number, &text);
    printf(", pages of %d (%.*s) bytes", number, text.dsc$w_length, text.dsc$a_pointer);
    item = JPI$_UIC;
    status = lib$getjpi(&item, &pid, 0, &number, &text);
    printf(", by %.*s\n", text.dsc$w_length, text.dsc$a_pointer);
    item = JPI$_IMAGPRIV;
    status = lib$getjpi(&item, &pid, 0, &mask, &text);
    printf("%d privileges of the image: \"%.*s\"; ", (int)mask, text.dsc$w_length,
           text.dsc$a_pointer);
    item = JPI$_STATE;
    status = lib$getjpi(&item, 0, 0, 0, &text);
    printf("state %.*s; ", text.dsc$w_length, text.dsc$a_pointer);
    item = 4711;
    status = lib$getjpi(&item, 0, 0, &number);
    printf("%s\n", status == SS$_BADITMCOD ? "no such item" : "?");
    return SS$_NORMAL;
}
