// TAP
/*
 * Which process may do what: UIC, privileges, rights identifiers, $SETPRV, and how fork, exec and
 * a change of the user id affect them.
 */
#include <descrip.h>
#include <megalith/creds.h>
#include <privileges.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdint.h>
#include <sys/wait.h>
#include <tap.h>
#include <vadef.h>

#define MIB 0x100000UL
#define ALL 0x7FFFFFFFFFUL /* the 39 privileges, independently of the headers */

static struct mega_process me(void)
{
    struct mega_process p;

    memset(&p, 0, sizeof(p));
    mega$info(MEGA_INFO_PROCESS, -1, &p, sizeof(p));
    return p;
}

static int become(struct mega_creds c)
{
    return mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
}

/* Runs f in a child. Returns the number of wrong results, or -1. */
static int in_child(int (*f)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        _exit(f());
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int command(const char *line)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", line, (char *)0);
        _exit(99);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- $SETPRV ---- */

static int set(int enable, uint64_t mask, int permanent)
{
    union prvdef m = {.prv$q_quadword = mask};

    return sys$setprv(enable, &m, permanent, 0);
}

static void setprv(void)
{
    union prvdef before, mask = {.prv$q_quadword = 0};
    uint64_t pair[2];

    is(me().privileges, ALL, "process 1 holds every privilege");
    is(me().authorised, ALL, "process 1 is authorised for all privileges");
    is(me().rights, MEGA_RIGHTS_ALL, "process 1 has every rights identifier");
    mask.prv$v_bypass = 1;
    is(mask.prv$q_quadword, PRV$M_BYPASS, "the bit fields of <prvdef.h> match the masks");
    is((union prvdef){.prv$v_security = 1}.prv$q_quadword, PRV$M_SECURITY, "up to the last one");
    is((union prvdef){.prv$v_detach = 1}.prv$q_quadword, PRV$M_IMPERSONATE,
       "DETACH is another name of IMPERSONATE");
    is_status(sys$setprv(0, &mask, 0, &before), SS$_NORMAL, "$SETPRV disables BYPASS");
    is(before.prv$q_quadword, ALL, "$SETPRV returns the previous mask");
    is(me().privileges, ALL & ~(uint64_t)PRV$M_BYPASS, "BYPASS is disabled");
    is_status(sys$setprv(1, 0, 0, &before), SS$_NORMAL, "$SETPRV without a mask changes nothing");
    is(before.prv$q_quadword, ALL & ~(uint64_t)PRV$M_BYPASS, "it returns the current mask");
    is_status(sys$setprv(1, 0, 1, &before), SS$_NORMAL, "$SETPRV can return the permanent mask");
    is(before.prv$q_quadword, ALL, "the permanent mask is unchanged");
    is_status(sys$setprv(1, &mask, 0, 0), SS$_NORMAL, "BYPASS is enabled again");
    is_status(sys$setprv(1, (void *)8, 0, 0), SS$_ACCVIO, "a mask that cannot be read is refused");
    is_status(sys$setprv(0, &mask, 0, (void *)8), SS$_ACCVIO,
              "an output that cannot be written is refused");
    is_status(sys$setprv(0, &mask, 0, (union prvdef *)((char *)pair + 4)), SS$_ACCVIO,
              "an output that is not aligned is refused");
    is(me().privileges, ALL, "the refused calls have changed nothing");
    is_status(set(1, 1UL << 40, 0), SS$_NOTALLPRIV, "a bit that is no privilege is not enabled");
    is(me().privileges, ALL, "the mask is as before");
    is_status(set(0, 1UL << 40, 0), SS$_NORMAL, "a bit that is no privilege can be disabled");
}

static int limited(void)
{
    union prvdef permanent;
    int wrong = become((struct mega_creds){0200, 5, PRV$M_SYSGBL, PRV$M_SYSGBL | PRV$M_PRMGBL,
                                           0}) != SS$_NORMAL;

    wrong += me().uic_group != 0200 || me().uic_member != 5;
    wrong += getuid() != 5 || getegid() != 0200;
    wrong += me().rights != 0;
    wrong += !status_is(set(1, PRV$M_PRMGBL, 0), SS$_NORMAL);
    wrong += !status_is(set(0, ALL, 1), SS$_NORMAL);
    wrong += me().privileges != 0;
    /* Those that are authorised are enabled, in both masks, beside one that is not. */
    wrong += !status_is(set(1, PRV$M_PRMGBL | PRV$M_CMKRNL, 1), SS$_NOTALLPRIV);
    wrong += me().privileges != PRV$M_PRMGBL;
    wrong += !status_is(sys$setprv(1, 0, 1, &permanent), SS$_NORMAL);
    wrong += permanent.prv$q_quadword != PRV$M_PRMGBL;
    wrong += !status_is(set(1, PRV$M_CMKRNL | PRV$M_TMPMBX, 0), SS$_NOTALLPRIV);
    wrong += me().privileges != PRV$M_PRMGBL;
    wrong += !status_is(set(0, ALL, 1), SS$_NORMAL);
    wrong += me().privileges != 0;
    wrong += !status_is(set(1, PRV$M_SYSGBL, 0), SS$_NORMAL);
    wrong += become((struct mega_creds){0, 0, ALL, ALL, 0}) != SS$_NOCMKRNL;
    wrong += setuid(0) != -1 || setgid(0) != -1;
    return wrong;
}

static int setprv_holder(void)
{
    int wrong = become((struct mega_creds){0200, 5, 0, PRV$M_SETPRV, 0}) != SS$_NORMAL;

    wrong += me().privileges != 0;
    wrong += !status_is(set(1, ALL, 0), SS$_NORMAL);
    wrong += me().privileges != ALL;
    wrong += become((struct mega_creds){0, 0, ALL, ALL, MEGA_RIGHTS_ALL}) != SS$_NORMAL;
    return wrong;
}

static void limits(void)
{
    is(in_child(limited), 0,
       "a process can enable the privileges for which it is authorised, and no others");
    is(in_child(setprv_holder), 0, "a process authorised for SETPRV can enable any privilege");
    is_status(become((struct mega_creds){040000, 1, 0, 0, 0}), SS$_BADPARAM,
              "group 40000 is refused");
    is_status(become((struct mega_creds){1, 0200000, 0, 0, 0}), SS$_BADPARAM,
              "member 200000 is refused");
    is_status(become((struct mega_creds){1, 1, PRV$M_SYSGBL, 0, 0}), SS$_BADPARAM,
              "privileges that are not authorised are refused");
    is_status(become((struct mega_creds){1, 1, 1UL << 39, 1UL << 39, 0}), SS$_BADPARAM,
              "a bit that is no privilege is refused");
    is_status(become((struct mega_creds){1, 1, 0, 0, MEGA_RIGHTS_ALL + 1}), SS$_BADPARAM,
              "a bit that is no rights identifier is refused");
    is_status(mega$control(MEGA_CTL_SET_CREDS, 8, 0, 0, 0, 0), SS$_ACCVIO,
              "a structure that cannot be read is refused");
    is(getuid(), 0, "the refused calls have changed nothing");
}

/* ---- other user ids, exec ---- */

static int ordinary_user(void)
{
    int wrong = setgid(7) != 0;

    wrong += me().privileges != ALL || me().uic_group != 7;
    wrong += setuid(7) != 0;
    wrong += me().privileges || me().authorised || me().rights;
    wrong += me().uic_member != 7;
    return wrong;
}

static void inheritance(void)
{
    is(in_child(ordinary_user), 0, "a change to another user id removes all privileges and rights");
    is(command("runas --uic '[200,5]' --priv SYSGBL,world --rights 'vms$mem_resident_user' -- "
               "/tests/privileges --are 200 5 2010000 1"),
       0, "exec keeps what runas sets");
    is(command("runas --uic '[200,5]' --priv SYSGBL --authorize SETPRV -- "
               "/tests/privileges --exec-without SYSGBL"),
       0, "exec starts with the permanent mask of privileges");
    is(command("runas --uic '[200,8]' -- true 2>/dev/null"), 2,
       "runas refuses a UIC with the digit 8");
    is(command("runas --priv SYSGBL,FLY -- true 2>/dev/null"), 2,
       "runas refuses an unknown privilege");
    is(command("runas --rights VMS$ROOT -- true 2>/dev/null"), 2,
       "runas refuses an unknown rights identifier");
    is(command("runas --uic '[300,1]' -- runas -- true 2>/dev/null"), 2,
       "runas cannot be used without privileges");
    is(command("runas -- /nowhere 2>/dev/null"), 127,
       "runas ends with status 127 if the command does not exist");
}

/* Checks the identity of a program that was started by runas. */
static int are(char **words)
{
    struct mega_process p = me();

    return p.uic_group != strtoul(words[0], 0, 8) || p.uic_member != strtoul(words[1], 0, 8) ||
           p.privileges != strtoul(words[2], 0, 16) || p.rights != strtoul(words[3], 0, 16);
}

static int exec_without(char *self)
{
    if (!(set(0, PRV$M_SYSGBL, 0) & 1) || me().privileges)
        return 50;
    execl(self, self, "--are", "200", "5", "2000000", "0", (char *)0);
    return 51;
}

/* ---- access to sections ---- */

static int create(const char *name, unsigned flags)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return sys$create_gdzro(&d, 0, 0xFFF0, 8 * MIB, 0, flags);
}

static int delete(const char *name, unsigned flags)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};

    return sys$dgblsc(flags, &d, 0);
}

/* Map it for reading, and delete the mapping. */
static int map(const char *name, unsigned flags)
{
    struct dsc$descriptor_s d = {(unsigned short)strlen(name), DSC$K_DTYPE_T, DSC$K_CLASS_S,
                                 (char *)name};
    unsigned __int64 length;
    GENERIC_64 id = {{VA$C_P2}};
    void *va;
    int status = sys$mgblsc_64(&d, 0, &id, 0, 0, 0, flags | SEC$M_EXPREG, &va, &length),
        gone = SS$_NORMAL;

    if (status & 1)
        gone = sys$deltva_64(&id, va, length, 0, &va, &length);
    return gone & 1 ? status : gone;
}

#define RIGHT MEGA_RIGHT_MEM_RESIDENT_USER

static int creator_without_right(void)
{
    int wrong = become((struct mega_creds){0200, 1, ALL, ALL, 0}) != SS$_NORMAL;

    wrong += !status_is(create("WHOSE", SEC$M_SYSGBL), SS$_NOMEMRESID);
    return wrong + !status_is(map("THERE", SEC$M_SYSGBL), SS$_NORMAL);
}

static int creator_without_sysgbl(void)
{
    int wrong = become((struct mega_creds){0200, 1, PRV$M_PRMGBL, PRV$M_PRMGBL, RIGHT}) !=
                SS$_NORMAL;

    wrong += !status_is(create("WHOSE", SEC$M_SYSGBL), SS$_NOSYSGBL);
    wrong += !status_is(delete ("THERE", SEC$M_SYSGBL), SS$_NOSYSGBL);
    wrong += !status_is(create("GROUPS", 0), SS$_CREATED_SHPT);
    wrong += !status_is(map("GROUPS", 0),
                        SS$_NOPRIV); /* its protection mask denies access to the owner, too */
    return wrong;
}

static int creator_without_prmgbl(void)
{
    int wrong = become((struct mega_creds){0200, 1, PRV$M_SYSGBL, PRV$M_SYSGBL, RIGHT}) !=
                SS$_NORMAL;

    wrong += !status_is(create("WHOSE", SEC$M_SYSGBL), SS$_NOPRMGBL);
    return wrong + !status_is(delete ("THERE", SEC$M_SYSGBL), SS$_NOPRMGBL);
}

static int other_member(void)
{
    int wrong = become((struct mega_creds){0200, 2, PRV$M_PRMGBL, PRV$M_PRMGBL, 0}) != SS$_NORMAL;

    wrong += !status_is(map("GROUPS", 0), SS$_NOPRIV);
    return wrong + !status_is(delete ("GROUPS", 0), SS$_NOTCREATOR);
}

static int member_with_sysprv(void)
{
    uint64_t prv = PRV$M_PRMGBL | PRV$M_SYSPRV;
    int wrong = become((struct mega_creds){0200, 2, PRV$M_PRMGBL, prv, 0}) != SS$_NORMAL;

    wrong += !status_is(map("GROUPS", 0), SS$_NOPRIV);
    wrong += !status_is(set(1, PRV$M_SYSPRV, 0), SS$_NORMAL);
    wrong += !status_is(map("GROUPS", 0), SS$_NORMAL);
    wrong += !status_is(set(0, PRV$M_SYSPRV, 0), SS$_NORMAL);
    return wrong + !status_is(map("GROUPS", 0), SS$_NOPRIV);
}

static int member_with_bypass(void)
{
    uint64_t prv = PRV$M_PRMGBL | PRV$M_BYPASS;
    int wrong = become((struct mega_creds){0200, 3, prv, prv, 0}) != SS$_NORMAL;

    wrong += !status_is(map("GROUPS", 0), SS$_NORMAL);
    return wrong + !status_is(delete ("GROUPS", 0), SS$_NORMAL);
}

static int in_group(uint32_t group)
{
    int wrong = become((struct mega_creds){group, 1, 0, 0, 0}) != SS$_NORMAL;

    return wrong ? -1 : map("THERE", SEC$M_SYSGBL);
}

static int system_groups(void) { return !status_is(in_group(010), SS$_NORMAL); }

static int ordinary_group(void) { return !status_is(in_group(011), SS$_NOPRIV); }

static void sections(void)
{
    is_status(create("THERE", SEC$M_SYSGBL), SS$_CREATED_SHPT,
              "a section for the system category only is created");
    is(in_child(creator_without_right), 0,
       "creation requires VMS$MEM_RESIDENT_USER, mapping does not");
    is(in_child(creator_without_sysgbl), 0, "a system section requires SYSGBL");
    is(in_child(creator_without_prmgbl), 0, "a permanent section requires PRMGBL");
    is(in_child(other_member), 0, "another member of the group is not the owner");
    is(in_child(member_with_sysprv), 0, "SYSPRV gives access in the system category");
    is(in_child(member_with_bypass), 0, "BYPASS ignores the protection mask");
    is(in_child(system_groups), 0, "groups up to 10 are in the system category");
    is(in_child(ordinary_group), 0, "groups from 11 on are not in the system category");
    is_status(delete ("THERE", SEC$M_SYSGBL), SS$_NORMAL, "the section is deleted");
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "--are") == 0)
        return are(argv + 2);
    if (argc == 3 && strcmp(argv[1], "--exec-without") == 0)
        return exec_without(argv[0]);
    setprv();
    is(sys$cmkrnl(NULL, NULL), SS$_NOCMKRNL, "no privilege leads to kernel mode");
    is(sys$cmkrnl_64(NULL, NULL), SS$_NOCMKRNL, "by neither service");
    is(sys$cmexec_64(NULL, NULL), SS$_NOCMEXEC, "nor to executive mode");
    is(sys$cmexec(NULL, NULL), SS$_NOCMEXEC, "by neither service");
    limits();
    inheritance();
    sections();
    return tap_done();
}
