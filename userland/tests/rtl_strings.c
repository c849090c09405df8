// TAP
// RUN: --smp 1
/* Strings by descriptors, memory in zones, arithmetic, timers. The unit test of the same name
 * includes this file. */
#include <descrip.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libvmdef.h>
#include <limits.h>
#include <rmsdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <str$routines.h>
#include <strdef.h>
#include <string.h>
#include <tap.h>
#include <unistd.h>

typedef struct dsc$descriptor_s STRING;

static STRING string(const char *s)
{
    return (STRING){(unsigned short)strlen(s), DSC$K_DTYPE_T, DSC$K_CLASS_S, (char *)s};
}

static int holds(const STRING *s, const char *want)
{
    size_t n = strlen(want);

    return s->dsc$w_length == n && (n == 0 || memcmp(s->dsc$a_pointer, want, n) == 0);
}

static void copies(void)
{
    STRING dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, abc = string("abc"), none = string("");
    char line[5];
    STRING fixed = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    struct {
        uint16_t length;
        char text[4];
    } body = {0};
    STRING varying = {4, DSC$K_DTYPE_T, DSC$K_CLASS_VS, (char *)&body};
    STRING longer = string("abcdefgh");
    struct dsc64$descriptor_s wide = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_D, -1, 0, 0};
    unsigned short ten = 10, three = 3;

    is(str$copy_dx(&dynamic, &abc), STR$_NORMAL, "into a dynamic string");
    ok(holds(&dynamic, "abc"), "it has that length");
    is(str$copy_dx(&fixed, &abc), STR$_NORMAL, "into a fixed one");
    ok(holds(&fixed, "abc  "), "with blanks");
    is(str$copy_dx(&fixed, &longer), STR$_TRU, "into one that is too short");
    ok(holds(&fixed, "abcde"), "cut off");
    is(str$copy_dx(&varying, &abc), STR$_NORMAL, "into a varying one");
    ok(body.length == 3 && memcmp(body.text, "abc", 3) == 0, "with its length");
    is(str$copy_dx(&varying, &longer), STR$_TRU, "into a varying one that is too short");
    is(body.length, 4, "its whole length");
    is(str$copy_dx(&dynamic, &varying), STR$_NORMAL, "from a varying one");
    ok(holds(&dynamic, "abcd"), "its current characters");
    is(str$copy_dx(&dynamic, &dynamic), STR$_NORMAL, "into itself");
    ok(holds(&dynamic, "abcd"), "no change");
    is(str$copy_dx(&wide, &dynamic), STR$_NORMAL, "by a descriptor of 64 bits");
    ok(wide.dsc64$q_length == 4 && memcmp(wide.dsc64$pq_pointer, "abcd", 4) == 0, "the same");
    is(str$free1_dx(&wide), STR$_NORMAL, "freed");
    is(str$copy_dx(&dynamic, &none), STR$_NORMAL, "an empty string");
    ok(dynamic.dsc$w_length == 0 && !dynamic.dsc$a_pointer, "has no memory");
    is(str$get1_dx(&ten, &dynamic), STR$_NORMAL, "memory for ten");
    ok(dynamic.dsc$w_length == 10 && dynamic.dsc$a_pointer, "is there");
    is(str$copy_r(&dynamic, &three, "xyz!"), STR$_NORMAL, "by address");
    ok(holds(&dynamic, "xyz"), "three characters");
    is(str$free1_dx(&dynamic), STR$_NORMAL, "freed");
    ok(dynamic.dsc$w_length == 0 && !dynamic.dsc$a_pointer, "and gone");
    is(str$free1_dx(&dynamic), STR$_NORMAL, "freed again");
}

static void builds(void)
{
    char two_letters[] = "ab";
    STRING s = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, a = string(two_letters), b = string("cde");
    STRING blanks = string("word \t "), big = {65535, DSC$K_DTYPE_T, DSC$K_CLASS_S, 0};
    struct dsc64$descriptor_d s_64 = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_D, -1, 0, 0};
    unsigned short n;
    int four = 4, minus = -1, two = 2;

    is(str$concat(&s, &a, &b, &a), STR$_NORMAL, "three strings");
    ok(holds(&s, "abcdeab"), "one behind the other");
    is(str$concat(&s, &s, &s), STR$_NORMAL, "itself twice");
    ok(holds(&s, "abcdeababcdeab"), "doubled");
    is(str$append(&a, &b), STR$_TRU, "no room in a fixed string");
    str$free1_dx(&s);
    is(str$append(&s, &b), STR$_NORMAL, "appended");
    is(str$prefix(&s, &a), STR$_NORMAL, "and put before it");
    ok(holds(&s, "abcde"), "both");
    big.dsc$a_pointer = calloc(1, 65535);
    is(str$concat(&s_64, &a, &big), STR$_NORMAL, "more than 65,535 characters");
    is(s_64.dsc64$q_length, 65537, "which a long descriptor can have");
    is(str$get1_dx_64(&(const unsigned __int64){70000}, &s_64), STR$_NORMAL, "and 70,000");
    is(s_64.dsc64$q_length, 70000, "are there");
    is(str$copy_r_64(&s_64, &(const unsigned __int64){3}, "xyz"), STR$_NORMAL, "and three");
    ok(s_64.dsc64$q_length == 3 && memcmp(s_64.dsc64$pq_pointer, "xyz", 3) == 0, "xyz");
    is(str$free1_dx(&s_64), STR$_NORMAL, "freed");
    free(big.dsc$a_pointer);
    is(str$upcase(&s, &b), STR$_NORMAL, "capital letters");
    ok(holds(&s, "CDE"), "CDE");
    is(str$trim(&s, &blanks, &n), STR$_NORMAL, "trimmed");
    ok(holds(&s, "word") && n == 4, "of blanks and tabs");
    is(str$dupl_char(&s, &four, "*"), STR$_NORMAL, "four stars");
    ok(holds(&s, "****"), "are there");
    is(str$dupl_char(&s), STR$_NORMAL, "one blank");
    ok(holds(&s, " "), "is there");
    is(str$dupl_char(&s, &minus), STR$_NEGSTRLEN, "less than none");
    ok(holds(&s, ""), "is none");
    is(str$len_extr(&s, &blanks, &two, &two), STR$_NORMAL, "two from the second on");
    ok(holds(&s, "or"), "or");
    is(str$pos_extr(&s, &blanks, &two, &four), STR$_NORMAL, "from the second to the fourth");
    ok(holds(&s, "ord"), "ord");
    four = INT_MAX;
    is(str$len_extr(&s, &blanks, &two, &four), STR$_ILLSTRSPE, "more than there are");
    ok(holds(&s, "ord \t "), "all there are");
    is(str$pos_extr(&s, &blanks, &four, &two), STR$_ILLSTRSPE, "from behind the end");
    ok(holds(&s, ""), "none");
    str$free1_dx(&s);
}

static void compares(void)
{
    STRING a = string("abc"), b = string("abd"), padded = string("abc  "), high = string("abc\200");
    STRING upper = string("ABC"), none = string(""), c = string("c"), bc = string("bc");
    int three = 3, ten = 10, before = -3;

    is(str$position(&a, &none, &three), 3, "nothing, from the third on");
    is(str$position(&a, &none, &ten), 4, "or behind the end");
    is(str$compare(&a, &b), -1, "less");
    is(str$compare(&b, &a), 1, "greater");
    is(str$compare(&a, &padded), 0, "blanks do not count");
    is(str$compare(&a, &high), -1, "characters have no sign");
    is(str$compare(&none, &a), -1, "nothing is less");
    is(str$compare_eql(&a, &a), 0, "equal");
    is(str$compare_eql(&a, &padded), 1, "of other length");
    is(str$case_blind_compare(&a, &upper), 0, "in any case");
    is(str$position(&a, &bc), 2, "found");
    is(str$position(&a, &c, &three), 3, "from the third on");
    is(str$position(&a, &bc, &three), 0, "not from there");
    is(str$position(&a, &b), 0, "not at all");
    is(str$position(&a, &none), 1, "nothing is everywhere");
    is(str$position(&a, &c, &ten), 0, "behind the end");
    is(str$position(&a, &c, &before), 3, "a place before the first is the first");
}

static void memory(void)
{
    int size = 100, wrong = 50, zero = 0, negative = -1, fixed = LIB$K_VM_FIXED, page = 512;
    int flags = LIB$M_VM_GET_FILL1 | LIB$M_VM_BOUNDARY_TAGS, limit = 2, kind = 5, odd = 3;
    unsigned int zone, other, bad = 77, nought = 0;
    __int64 much = 1L << 62, some = 4000, zone_64, eight_64 = 8;
    int unknown = 256, eight = 8, four = 4;
    char *p = NULL, *q, *start;

    is(lib$get_vm(&size, &p), SS$_NORMAL, "100 bytes");
    memset(p, 1, 100);
    is(lib$free_vm(&wrong, &p), LIB$_BADBLOSIZ, "freed with another size");
    start = p++;
    is(lib$free_vm(&size, &p), LIB$_BADBLOADR, "another address");
    p = start;
    is(lib$free_vm(&size, &p), SS$_NORMAL, "freed");
    is(lib$free_vm(&size, &p), LIB$_BADBLOADR, "freed again");
    is(lib$get_vm(&zero, &p), LIB$_BADBLOSIZ, "no bytes");
    is(lib$get_vm(&negative, &p), LIB$_BADBLOSIZ, "less than none");
    is(lib$get_vm_64(&much, &p), LIB$_INSVIRMEM, "more than there is");
    is(lib$get_vm(&size, &p, &bad), LIB$_BADBLOADR, "no zone");
    is(lib$delete_vm_zone(&nought), LIB$_INVOPEZON, "zone 0 stays");
    is(lib$create_vm_zone(&zone, 0, 0, &flags, 0, 0, 0, &page, &limit), SS$_NORMAL, "a zone");
    is(lib$get_vm(&size, &p, &zone), SS$_NORMAL, "100 bytes of it");
    ok((uintptr_t)p % 512 == 0 && (unsigned char)p[99] == 0xff, "aligned, and filled with ones");
    is(lib$get_vm(&size, &q, &zone), SS$_NORMAL, "100 more");
    is(lib$free_vm(0, &p, &zone), SS$_NORMAL, "freed without the size");
    is(lib$get_vm_64(&some, &p), SS$_NORMAL, "4,000 bytes of zone 0");
    is(lib$free_vm_64(0, &p), LIB$_BADBLOSIZ, "whose size must be told");
    is(lib$free_vm_64(&some, &p), SS$_NORMAL, "as it is now");
    size = 1000;
    is(lib$get_vm(&size, &p, &zone), LIB$_PAGLIMEXC, "more than two pagelets");
    size = 900;
    is(lib$get_vm(&size, &p, &zone), SS$_NORMAL, "less");
    is(lib$reset_vm_zone(&zone), SS$_NORMAL, "all of it freed");
    is(lib$get_vm(&size, &p, &zone), SS$_NORMAL, "there is room again");
    is(lib$reset_vm_zone_64(&(const __int64){zone}), SS$_NORMAL, "freed once more");
    is(lib$create_vm_zone(&other, &fixed, &size), SS$_NORMAL, "a zone of blocks of 900 bytes");
    ok(other != zone, "another one");
    is(lib$get_vm(&wrong, &p, &other), SS$_NORMAL, "a block of it");
    memset(p, 2, 900);
    size = 901;
    is(lib$get_vm(&size, &p, &other), LIB$_BADBLOSIZ, "a larger one");
    is(lib$delete_vm_zone(&zone), SS$_NORMAL, "deleted");
    is(lib$delete_vm_zone(&zone), LIB$_BADBLOADR, "and gone");
    is(lib$delete_vm_zone(&other), SS$_NORMAL, "the other one too");
    is(lib$create_vm_zone(&zone, &kind), LIB$_INVARG, "no such algorithm");
    is(lib$create_vm_zone(&zone, 0, 0, 0, 0, 0, 0, &odd), LIB$_INVARG, "no such alignment");
    is(lib$create_vm_zone_64(&zone_64), SS$_NORMAL, "a zone by quadwords");
    is(lib$get_vm_64(&some, &p, &zone_64), SS$_NORMAL, "memory of it");
    is(lib$reset_vm_zone_64(&zone_64), SS$_NORMAL, "freed with the rest");
    is(lib$free_vm_64(&some, &p, &zone_64), LIB$_BADBLOADR, "and gone");
    is(lib$delete_vm_zone_64(&zone_64), SS$_NORMAL, "deleted with it");
    is(lib$reset_vm_zone_64(&zone_64), LIB$_BADBLOADR, "which leaves no zone");
    is(lib$create_vm_zone(&zone, 0, 0, &unknown), LIB$_INVARG, "a flag that there is not");
    is(lib$create_vm_zone(&zone, 0, 0, 0, 0, 0, &eight, &four), SS$_NORMAL, "of longwords");
    is(lib$delete_vm_zone(&zone), SS$_NORMAL, "deleted");
    is(lib$create_vm_zone_64(&zone_64, 0, 0, 0, 0, 0, &eight_64), LIB$_INVARG,
       "not in the form for octawords");
}

/* What the algorithms want, and a zone that is not extended. */
static void zones(void)
{
    int quick = LIB$K_VM_QUICK_FIT, frequent = LIB$K_VM_FREQ_SIZES, fixed = LIB$K_VM_FIXED;
    int none = 0, one = 1, sixteen = 16, seventeen = 17, most = 128, more = 129;
    __int64 algorithm = LIB$K_VM_QUICK_FIT, lists = 128, flags = LIB$M_VM_NO_EXTEND, pages = 2;
    __int64 zone_64, size = 1000, small = 16;
    unsigned int zone;
    void *p;

    is(lib$create_vm_zone(&zone, &quick), LIB$_INVARG, "quick fit without lists");
    is(lib$create_vm_zone(&zone, &quick, &more), LIB$_INVARG, "129 lists");
    is(lib$create_vm_zone(&zone, &frequent, &none), LIB$_INVARG, "frequent sizes without one");
    is(lib$create_vm_zone(&zone, &frequent, &seventeen), LIB$_INVARG, "17 sizes");
    is(lib$create_vm_zone(&zone, &fixed), LIB$_INVARG, "blocks of no size");
    is(lib$create_vm_zone(&zone, &quick, &most), SS$_NORMAL, "128 lists");
    is(lib$delete_vm_zone(&zone), SS$_NORMAL, "deleted");
    is(lib$create_vm_zone(&zone, &frequent, &sixteen), SS$_NORMAL, "16 sizes");
    is(lib$delete_vm_zone(&zone), SS$_NORMAL, "deleted, too");
    is(lib$create_vm_zone(&zone, &quick, &one), SS$_NORMAL, "one list");
    is(lib$delete_vm_zone(&zone), SS$_NORMAL, "and that");
    is(lib$create_vm_zone_64(&zone_64, &algorithm, &lists, &flags), LIB$_INVARG,
       "not extended, from no size");
    is(lib$create_vm_zone_64(&zone_64, &algorithm, &lists, &flags, 0, &pages), SS$_NORMAL,
       "from two pagelets");
    is(lib$get_vm_64(&size, &p, &zone_64), SS$_NORMAL, "1,000 bytes");
    is(lib$get_vm_64(&small, &p, &zone_64), SS$_NORMAL,
       "and 16, since sizes are multiples of that");
    is(lib$get_vm_64(&small, &p, &zone_64), LIB$_INSVIRMEM, "which is all of it");
    is(lib$delete_vm_zone_64(&zone_64), SS$_NORMAL, "deleted with its blocks");
}

static void arithmetic(void)
{
    int divisor = 1000, quotient, remainder, minus = -1, zero = 0, most = INT_MAX, least = INT_MIN;
    __int64 dividend = 2147483647999, product, low = INT64_MIN, seven = -7;
    int two = 2;

    is(lib$ediv(&divisor, &dividend, &quotient, &remainder), SS$_NORMAL, "a quotient");
    ok(quotient == INT_MAX && remainder == 999, "and what is left");
    dividend++;
    is(lib$ediv(&divisor, &dividend, &quotient, &remainder), SS$_INTOVF, "one that is too large");
    is(lib$ediv(&minus, &low, &quotient, &remainder), SS$_INTOVF, "the largest");
    is(lib$ediv(&zero, &dividend, &quotient, &remainder), SS$_INTDIV, "by zero");
    is(lib$ediv(&two, &seven, &quotient, &remainder), SS$_NORMAL, "of a negative number");
    ok(quotient == -3 && remainder == -1, "the remainder is negative");
    is(lib$emul(&least, &least, &most, &product), SS$_NORMAL, "a product");
    is(product, 4611686018427387904 + 2147483647, "and a sum");
}

static char shown[200];

static int show(STRING *line, unsigned long parameter)
{
    snprintf(shown, sizeof(shown), "%lu%.*s", parameter, line->dsc$w_length, line->dsc$a_pointer);
    return 5;
}

static void timers(void)
{
    unsigned int handle = 0, second = 0, bad = 63;
    int code = 1, hundredths = -1, cpu = 2, none = 6, buffered = 3;
    __int64 elapsed = 1;

    is(lib$show_timer(&bad), LIB$_INVARG, "no such timer");
    is(lib$init_timer(&handle), SS$_NORMAL, "a timer");
    is(lib$init_timer(&second), SS$_NORMAL, "another");
    ok(handle && second && handle != second, "two numbers");
    is(lib$show_timer(&handle, 0, show, 7), 5, "shown by a routine");
    ok(strncmp(shown, "7 ELAPSED:    0 00:00:", 22) == 0 && strstr(shown, "  CPU: 00:00:") &&
           strstr(shown, "  BUFIO: ") && strstr(shown, "  DIRIO: 0  FAULTS: "),
       "\"%s\"", shown);
    is(lib$show_timer(&handle, &buffered, show, 8), 5, "one of them");
    ok(strncmp(shown, "8 BUFIO: ", 9) == 0 && atoi(shown + 9) > 0,
       "buffered operations: lines of this test, %s", shown);
    is(lib$stat_timer(&code, &elapsed, &handle), SS$_NORMAL, "as a number");
    ok(elapsed <= 0 && elapsed > -600000000, "a delta");
    is(lib$stat_timer(&cpu, &hundredths, &handle), SS$_NORMAL, "CPU time");
    ok(hundredths >= 0 && hundredths < 6000, "in hundredths of a second");
    is(lib$stat_timer(&none, &hundredths, &handle), LIB$_INVARG, "nothing of the kind");
    is(lib$free_timer(&handle), SS$_NORMAL, "freed");
    is(lib$free_timer(&handle), LIB$_INVARG, "and gone");
    is(lib$free_timer(&second), SS$_NORMAL, "the other too");
    is(lib$init_timer(), SS$_NORMAL, "the common timer");
    is(lib$stat_timer(&cpu, &hundredths), SS$_NORMAL, "without a handle");
}

static void lines(void)
{
    STRING dynamic = {0, DSC$K_DTYPE_T, DSC$K_CLASS_D, 0}, prompt = string("not on a pipe");
    char line[4];
    STRING fixed = {sizeof(line), DSC$K_DTYPE_T, DSC$K_CLASS_S, line};
    unsigned short n;
    int ends[2];

    if (pipe(ends) < 0 || write(ends[1], "abcdef\n\nxy", 10) != 10 || dup2(ends[0], 0) != 0)
        bail_out("no pipe");
    close(ends[0]);
    close(ends[1]);
    is(lib$get_input(&fixed, &prompt, &n), LIB$_INPSTRTRU, "a line that is too long");
    ok(n == 4 && memcmp(line, "abcd", 4) == 0, "its first characters");
    is(lib$get_input(&fixed), SS$_NORMAL, "an empty line");
    ok(memcmp(line, "    ", 4) == 0, "is blanks");
    is(lib$get_input(&dynamic, 0, &n), SS$_NORMAL, "a line without an end");
    ok(n == 2 && holds(&dynamic, "xy"), "xy");
    is(lib$get_input(&dynamic), RMS$_EOF, "the end");
    str$free1_dx(&dynamic);
}

int main(void)
{
    copies();
    builds();
    compares();
    memory();
    zones();
    arithmetic();
    timers();
    lines();
    return tap_done();
}
