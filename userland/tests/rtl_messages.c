// TAP
// RUN: --smp 1
/* $GETMSG and $PUTMSG. The unit test of the same name includes this file. */
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <string.h>
#include <tap.h>

static char kept[200];
static int keep_line(struct dsc$descriptor_s *line, unsigned long parameter)
{
    snprintf(kept, sizeof(kept), "%lu %.*s", parameter, line->dsc$w_length, line->dsc$a_pointer);
    return 0;
}

static void texts(void)
{
    char line[100];
    struct dsc$descriptor_s text = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned char out[4];
    unsigned short n;
    unsigned int id = SS$_INSFLPGS, only_text = 1;
    static const struct {
        unsigned flags;
        const char *line;
    } parts[] = {{15, "%SYSTEM-F-INSFLPGS, insufficient fluid pages"},
                 {0, "%SYSTEM-F-INSFLPGS, insufficient fluid pages"},
                 {1, "insufficient fluid pages"},
                 {2, "%INSFLPGS"},
                 {3, "%INSFLPGS, insufficient fluid pages"},
                 {4, "%F"},
                 {6, "%F-INSFLPGS"},
                 {8, "%SYSTEM"},
                 {9, "%SYSTEM, insufficient fluid pages"},
                 {12, "%SYSTEM-F"},
                 {14, "%SYSTEM-F-INSFLPGS"}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        is(sys$getmsg(SS$_INSFLPGS, &n, &text, parts[i].flags, out), SS$_NORMAL, "$GETMSG");
        ok(n == strlen(parts[i].line) && memcmp(line, parts[i].line, n) == 0, "\"%s\"",
           parts[i].line);
    }
    is(out[1], 0, "no parameters");
    sys$getmsg(SS$_ACCVIO, &n, &text, 15, out);
    is(out[1], 4, "four parameters of an access violation");
    is(sys$getmsg(0x7ff8012, &n, &text, 15, 0), SS$_MSGNOTFND, "no such message");
    ok(n == 40 && memcmp(line, "%NONAME-E-NOMSG, Message number 07FF8012", n) == 0, "is said");
    is(sys$getmsg(0xfff0002, &n, &text, 14, 0), SS$_NORMAL, "of all facilities");
    ok(n == 16 && memcmp(line, "%NONAME-E-NORMAL", n) == 0, "SS$_NORMAL");
    is(sys$getmsg(0, &n, &text, 15, 0), SS$_MSGNOTFND, "none for 0");
    ok(n == 40 && memcmp(line, "%NONAME-W-NOMSG, Message number 00000000", n) == 0, "is said");
    text.dsc$w_length = 7;
    is(sys$getmsg(SS$_INSFLPGS, &n, &text), SS$_BUFFEROVF, "cut off");
    ok(n == 7 && memcmp(line, "%SYSTEM", 7) == 0, "after 7 characters");
    is(sys$getmsg(SS$_INSFLPGS, &n, 0), SS$_ACCVIO, "no buffer");
    text.dsc$w_length = sizeof(line);
    is(lib$sys_getmsg(&id, &n, &text, &only_text), SS$_NORMAL, "LIB$SYS_GETMSG");
    ok(n == 24 && line[99] == ' ', "fills with blanks");
}

int main(void)
{
    int vector[] = {1, SS$_INSFLPGS}, flagged[] = {1 | 3 << 16, SS$_INSFLPGS};
    int chain[] = {5, LIB$_INVARG, 2, 7, 8, SS$_NOPRIV}, long_vector[301] = {300};
    int hostile[] = {2, LIB$_INVARG, 65535};
    int fault[] = {5, SS$_ACCVIO, 4, 0x1234, 0x5678, 0x1b}, short_fault[] = {1, SS$_ACCVIO};
    $DESCRIPTOR(facility, "MINE");

    texts();
    is(sys$putmsg(vector, keep_line, &facility, 42), SS$_NORMAL, "$PUTMSG with a routine");
    is_str(kept, "42 %MINE-F-INSFLPGS, insufficient fluid pages", "that got the line");
    is(sys$putmsg(flagged, keep_line, 0, 1), SS$_NORMAL, "with flags");
    is_str(kept, "1 %INSFLPGS, insufficient fluid pages", "and its line");
    /* Of another facility: a count, parameters, and a second message. */
    is(sys$putmsg(chain, keep_line, 0, 2), SS$_NORMAL, "two messages");
    is_str(kept, "2 -SYSTEM-F-NOPRIV, no privilege for the operation attempted", "the second");
    is(sys$putmsg(hostile, keep_line, 0, 3), SS$_NORMAL,
       "a count of parameters that are not there");
    is(sys$putmsg(long_vector, keep_line, 0, 3), SS$_BADPARAM, "300 longwords");
    is(sys$putmsg(0, keep_line), SS$_ACCVIO, "no vector");
    is(sys$putmsg(fault, keep_line, 0, 4), SS$_NORMAL, "a fault");
    is_str(kept,
           "4 %SYSTEM-F-ACCVIO, access violation, reason mask=04, virtual "
           "address=0000000000001234, PC=0000000000005678, PS=0000001B",
           "with its parameters");
    is(sys$putmsg(short_fault, keep_line, 0, 5), SS$_NORMAL, "a fault without parameters");
    ok(strstr(kept, "address=0000000000000000, PC=0000000000000000") != NULL, "which are 0 then");
    return tap_done();
}
