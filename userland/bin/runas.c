/*
 * runas [--uic '[g,m]'] [--priv LIST] [--authorize LIST] [--rights LIST] [--] COMMAND...: run a
 * command with another UIC and other privileges and rights. The UIC stays the same unless it is
 * given; the lists are empty unless they are given. --authorize names privileges that COMMAND may
 * enable by $SETPRV, in addition to those that it starts with.
 */
#include <condition.h>
#include <errno.h>
#include <getopt.h>
#include <megalith/creds.h>
#include <privileges.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_USAGE     2
#define STATUS_NOT_RUN   126
#define STATUS_NOT_FOUND 127

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "runas: %s: %s\n", what, which);
    exit(STATUS_USAGE);
}

static uint64_t names(const struct mega_name *table, const char *what, const char *list)
{
    uint64_t mask;
    const char *wrong = mega$parse_names(table, list, &mask);

    if (wrong)
        fail(what, wrong);
    return mask;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"uic", required_argument, NULL, 'u'},    {"priv", required_argument, NULL, 'p'},
        {"rights", required_argument, NULL, 'r'}, {"authorize", required_argument, NULL, 'a'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    struct mega_process self;
    struct mega_creds c = {0};
    int status = mega$info(MEGA_INFO_PROCESS, -1, &self, sizeof(self)), option;

    c.uic_group = self.uic_group;
    c.uic_member = self.uic_member;
    while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1)
        switch (option) {
        case 'u':
            if (mega$parse_uic(optarg, &c.uic_group, &c.uic_member) != 0)
                fail("not a UIC in octal such as [200,5]", optarg);
            break;
        case 'p':
            c.privileges = names(mega$privileges, "not a privilege", optarg);
            break;
        case 'a':
            c.authorised = names(mega$privileges, "not a privilege", optarg);
            break;
        case 'r':
            c.rights = names(mega$rights, "not a rights identifier", optarg);
            break;
        default:
            printf("usage: runas [--uic '[g,m]'] [--priv LIST] [--authorize LIST] [--rights LIST] "
                   "[--] COMMAND...\n");
            return option == 'h' ? 0 : STATUS_USAGE;
        }
    if (optind == argc)
        fail("nothing to run", "no command given");
    c.authorised |= c.privileges;
    if (status == SS$_NORMAL)
        status = mega$control(MEGA_CTL_SET_CREDS, (uint64_t)&c, 0, 0, 0, 0);
    if (status != SS$_NORMAL)
        fail("refused", mega$condition_message(status, 0));
    execvp(argv[optind], argv + optind);
    fprintf(stderr, "runas: %s: %s\n", argv[optind], strerror(errno));
    return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}
