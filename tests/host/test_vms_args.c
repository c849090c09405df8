// SOURCES: kernel/sys/vms/args.c kernel/sys/quad.c
/*
 * Arguments of system services: descriptors of both forms, names, argument blocks, and random bytes
 * in their place. User memory is a small array; an access beyond it returns an error, as the
 * kernel's access functions do after a fault.
 */
#include "kernel/sys/vms/args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/alpha/hw/usercopy.h"
#include "kernel/base/abi/descrip.h"
#include "kernel/base/abi/ssdef.h"
#include "userland/lib/include/tap.h"

#define USER_BYTES 4096
#define USER_BASE  0x120000000UL

static unsigned char user[USER_BYTES] __attribute__((aligned(16)));
static vaddr_t read_only_below = USER_BASE;

bool user_range_ok(vaddr_t ua, uint64_t n)
{
    return ua >= USER_BASE && n <= USER_BYTES && ua - USER_BASE <= USER_BYTES - n;
}

int copyin(void *dst, vaddr_t ua, size_t n)
{
    if (!user_range_ok(ua, n))
        return -1;
    memcpy(dst, user + (ua - USER_BASE), n);
    return 0;
}

int copyout(vaddr_t ua, const void *src, size_t n)
{
    if (!user_range_ok(ua, n) || ua < read_only_below)
        return -1;
    memcpy(user + (ua - USER_BASE), src, n);
    return 0;
}

int copyin_u64(uint64_t *v, vaddr_t ua) { return copyin(v, ua, 8); }
int copyout_u64(vaddr_t ua, uint64_t v) { return copyout(ua, &v, 8); }
int probe_write(vaddr_t ua, size_t n)
{
    return user_range_ok(ua, n) && ua >= read_only_below ? 0 : -1;
}

static vaddr_t put(unsigned offset, const void *what, size_t n)
{
    memcpy(user + offset, what, n);
    return USER_BASE + offset;
}

static vaddr_t string32(const char *text, size_t n)
{
    struct dsc$descriptor_s d = {(unsigned short)n, DSC$K_DTYPE_T, DSC$K_CLASS_S, NULL};

    d.dsc$a_pointer = (char *)put(512, text, n);
    return put(0, &d, sizeof(d));
}

static vaddr_t string64(const char *text, size_t n)
{
    struct dsc64$descriptor_s d = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1, n, NULL};

    d.dsc64$pq_pointer = (char *)put(512, text, n);
    return put(0, &d, sizeof(d));
}

static void names(void)
{
    static const char long_name[] = "A23456789012345678901234567890123456789012345";
    char name[SECTION_NAME_MAX + 1];
    struct dsc64$descriptor_s huge = {1, DSC64$K_DTYPE_T, DSC64$K_CLASS_S, -1, UINT64_MAX, NULL};
    uint32_t n;

    is(vms_section_name(string32("DBCACHE", 7), name, &n), SS$_NORMAL, "a 32-bit descriptor");
    ok(n == 7 && strcmp(name, "DBCACHE") == 0, "gives the name");
    is(vms_section_name(string64("DBCACHE", 7), name, &n), SS$_NORMAL, "a 64-bit descriptor");
    ok(n == 7 && strcmp(name, "DBCACHE") == 0, "gives the same");
    is(vms_section_name(string32("X", 1), name, &n), SS$_NORMAL,
       "length 1 alone is not taken for an MBO");
    ok(n == 1 && name[0] == 'X', "and names a section");
    string32("X", 1);
    put(4, &(int){-1}, 4);
    is(vms_section_name(USER_BASE, name, &n), SS$_NORMAL, "not even when its padding is an MBMO");
    ok(n == 1 && name[0] == 'X', "because what follows is a pointer");
    is(vms_section_name(string32("_X", 2), name, &n), SS$_NORMAL, "an underscore");
    ok(n == 1 && name[0] == 'X', "is taken off");
    is(vms_section_name(string32("_", 1), name, &n), SS$_IVGSDNAM, "alone it leaves nothing");
    is(vms_section_name(string32("", 0), name, &n), SS$_IVGSDNAM, "no characters");
    is(vms_section_name(string32(long_name, 43), name, &n), SS$_NORMAL, "43 characters");
    is(vms_section_name(string64(long_name, 44), name, &n), SS$_IVGSDNAM, "44 do not fit");
    is(vms_section_name(string64("_A2345678901234567890123456789012345678901234", 44), name, &n),
       SS$_NORMAL, "unless the first is an underscore");
    is(vms_section_name(string32("A:B", 3), name, &n), SS$_IVGSDNAM, "a colon");
    is(vms_section_name(string32("A\0B", 3), name, &n), SS$_IVGSDNAM, "a NUL");
    is(vms_section_name(USER_BASE + USER_BYTES - 8, name, &n), SS$_ACCVIO, "a descriptor cut off");
    is(vms_section_name(0, name, &n), SS$_ACCVIO, "no descriptor");
    huge.dsc64$pq_pointer = (char *)(USER_BASE + USER_BYTES - 20);
    is(vms_section_name(put(0, &huge, sizeof(huge)), name, &n), SS$_ACCVIO,
       "a length beyond all memory");
    put(2, "\x0E\x04", 2);
    is(vms_section_name(USER_BASE, name, &n), SS$_IVGSDNAM, "an array descriptor");
}

static void blocks(void)
{
    uint64_t block[12] = {3, 10, 20, 30}, args[VMS_ARGS_MAX];
    vaddr_t ua = put(64, block, sizeof(block));

    is(vms_args(ua, 2, 4, args), SS$_NORMAL, "an argument block");
    ok(args[0] == 10 && args[2] == 30 && args[3] == 0, "arguments that are left out are 0");
    is(vms_args(ua, 4, 5, args), SS$_INSFARG, "too few");
    is(vms_args(ua, 1, 2, args), SS$_TOO_MANY_ARGS, "too many");
    is(vms_args(ua + 4, 2, 4, args), SS$_ACCVIO, "unaligned");
    block[0] = UINT64_MAX;
    is(vms_args(put(64, block, 8), 2, 4, args), SS$_TOO_MANY_ARGS, "an impossible count");
    block[0] = 4;
    is(vms_args(put(USER_BYTES - 16, block, 16), 2, 4, args), SS$_ACCVIO, "beyond the end");
}

static void quads(void)
{
    uint32_t match, version;
    uint64_t v, id = 0x0500000000000001;

    is(vms_probe_quad(USER_BASE + 8, false), SS$_NORMAL, "an output");
    is(vms_probe_quad(USER_BASE + 4, false), SS$_ACCVIO, "unaligned");
    is(vms_probe_quad(0, false), SS$_ACCVIO, "left out");
    is(vms_probe_quad(0, true), SS$_NORMAL, "where it may be");
    read_only_below = USER_BASE + 100;
    is(vms_probe_quad(USER_BASE + 8, false), SS$_ACCVIO, "read-only");
    read_only_below = USER_BASE;
    is(vms_quad_in(USER_BASE + 1, &v), SS$_ACCVIO, "an unaligned input");
    is(vms_ident(put(0, &id, 8), &match, &version), SS$_NORMAL, "an identity");
    ok(match == SEC$K_MATEQU && version == 0x05000000, "has match control and version");
    is(vms_ident(0, &match, &version), SS$_NORMAL, "none");
    ok(match == SEC$K_MATALL && version == 0, "matches all");
    id = 3;
    is(vms_ident(put(0, &id, 8), &match, &version), SS$_IVSECIDCTL, "match control 3");
    is(vms_access_mode(3), SS$_NORMAL, "user mode");
    is(vms_access_mode(4), SS$_IVACMODE, "mode 4");
}

static void noise(void)
{
    unsigned seed = 4711;
    bool good = true;

    for (unsigned i = 0; i < 50000 && good; i++) {
        char name[SECTION_NAME_MAX + 1];
        uint64_t args[VMS_ARGS_MAX];
        uint32_t n = 0;
        int status;

        for (unsigned k = 0; k < 64; k++)
            user[rand_r(&seed) % 128] = (unsigned char)rand_r(&seed);
        if (rand_r(&seed) % 2) { /* half of them with a valid form around random fields */
            put(0, &(uint16_t){1}, 2);
            put(4, &(int){-1}, 4);
            put(16, &(uint64_t){USER_BASE + rand_r(&seed) % USER_BYTES}, 8);
        }
        status = vms_section_name(USER_BASE + rand_r(&seed) % 16, name, &n);
        good = status != SS$_NORMAL || (n >= 1 && n <= SECTION_NAME_MAX && name[n] == '\0');
        vms_args(USER_BASE + 8 * (rand_r(&seed) % 16), rand_r(&seed) % 8, 8 + rand_r(&seed) % 8,
                 args);
    }
    ok(good, "50,000 descriptors of noise (seed 4711)");
}

int main(void)
{
    names();
    blocks();
    quads();
    noise();
    return tap_done();
}
