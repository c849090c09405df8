/* A report made by $FAO and $FAOL: columns, plurals, dates, and values in several radixes. */
#define __NEW_STARLET 1

#include <descrip.h>
#include <gen64def.h>
#include <lib$routines.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <stsdef.h>

static char line[132];
static struct dsc$descriptor_s out = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
static unsigned short length;

static void print(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
    printf("%.*s\n", length, line);
}

int main(void)
{
    static const struct {
        struct dsc$descriptor_s name;
        int tapes, blocks;
    } sites[] = {{{5, DSC$K_DTYPE_T, DSC$K_CLASS_S, "ORION"}, 3, 65535},
                 {{4, DSC$K_DTYPE_T, DSC$K_CLASS_S, "LYRA"}, 1, 512},
                 {{10, DSC$K_DTYPE_T, DSC$K_CLASS_S, "CASSIOPEIA"}, 0, 1234567}};
    $DESCRIPTOR(title, "!8AS!10AS!9AS  !AS");
    $DESCRIPTOR(row, "!8AS!5UL tape!%S!>!8UL  !XL");
    $DESCRIPTOR(body, "!8AS!10<!UL tape!%S!>!9UL  !XL");
    $DESCRIPTOR(rule, "!36*-");
    $DESCRIPTOR(numbers, "!3(6ZW)  !OB  !SL  !-!XB");
    $DESCRIPTOR(child, "!UL !1%Cchild!%Echildren!%F in !UL !1%Croom!%Erooms!%F");
    $DESCRIPTOR(when, "As of !11%D, !5%T, by !%U");
    $DESCRIPTOR(counted, "\"!AC\" \"!AD\" \"!AF\" \"!AZ\"!_!!");
    $DESCRIPTOR(then, "30-DEC-1988 04:15:28.00");
    $DESCRIPTOR(node, "NODE");
    $DESCRIPTOR(tapes, "TAPES");
    $DESCRIPTOR(blocks, "BLOCKS");
    $DESCRIPTOR(hex, "HEX");
    $DESCRIPTOR(small, "0123456789");
    unsigned int list[] = {10, 200, 3000, 255, (unsigned int)-400};
    GENERIC_64 time;
    int status;

    sys$bintim(&then, &time);
    print(sys$fao(&title, &length, &out, &node, &tapes, &blocks, &hex));
    print(sys$fao(&rule, &length, &out));
    for (int i = 0; i < 3; i++)
        print(sys$fao(&body, &length, &out, &sites[i].name, sites[i].tapes, sites[i].blocks,
                      sites[i].blocks));
    print(sys$faol(&numbers, &length, &out, list));
    print(sys$fao(&child, &length, &out, 1, 2));
    print(sys$fao(&child, &length, &out, 4, 1));
    print(sys$fao(&when, &length, &out, &time, &time, 0x10004));
    print(sys$fao(&counted, &length, &out, "\5count", 3, "descriptor", 4, "a\tb\n", "zero"));
    status = sys$fao(&row, &length, &out, &node, 1, 2, 3);
    printf("%s\n", status == SS$_BADPARAM ? "a field that was not opened is refused" : "?");
    out.dsc$w_length = 4;
    status = sys$fao(&small, &length, &out);
    printf("%.*s %s\n", length, line, status == SS$_BUFFEROVF ? "is all that fits" : "?");
    return SS$_NORMAL;
}
