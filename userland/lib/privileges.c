/* Names of privileges and rights identifiers; parsing and formatting of lists of names and UICs. */
#include <ctype.h>
#include <megalith/creds.h>
#include <privileges.h>
#include <prvdef.h>
#include <string.h>
#include <strings.h>

#define PRIVILEGE(word) {#word, PRV$M_##word}

const struct mega_name mega$privileges[] = {
    PRIVILEGE(CMKRNL),   PRIVILEGE(CMEXEC),      PRIVILEGE(SYSNAM),   PRIVILEGE(GRPNAM),
    PRIVILEGE(ALLSPOOL), PRIVILEGE(IMPERSONATE), PRIVILEGE(DIAGNOSE), PRIVILEGE(LOG_IO),
    PRIVILEGE(GROUP),    PRIVILEGE(NOACNT),      PRIVILEGE(PRMCEB),   PRIVILEGE(PRMMBX),
    PRIVILEGE(PSWAPM),   PRIVILEGE(SETPRI),      PRIVILEGE(SETPRV),   PRIVILEGE(TMPMBX),
    PRIVILEGE(WORLD),    PRIVILEGE(MOUNT),       PRIVILEGE(OPER),     PRIVILEGE(EXQUOTA),
    PRIVILEGE(NETMBX),   PRIVILEGE(VOLPRO),      PRIVILEGE(PHY_IO),   PRIVILEGE(BUGCHK),
    PRIVILEGE(PRMGBL),   PRIVILEGE(SYSGBL),      PRIVILEGE(PFNMAP),   PRIVILEGE(SHMEM),
    PRIVILEGE(SYSPRV),   PRIVILEGE(BYPASS),      PRIVILEGE(SYSLCK),   PRIVILEGE(SHARE),
    PRIVILEGE(UPGRADE),  PRIVILEGE(DOWNGRADE),   PRIVILEGE(GRPPRV),   PRIVILEGE(READALL),
    PRIVILEGE(IMPORT),   PRIVILEGE(AUDIT),       PRIVILEGE(SECURITY), {NULL, 0},
};

#define RIGHT(name, mask) {name, mask},

const struct mega_name mega$rights[] = {MEGA_RIGHTS(RIGHT){NULL, 0}};

static uint64_t all_of(const struct mega_name *table)
{
    uint64_t mask = 0;

    for (; table->name; table++)
        mask |= table->mask;
    return mask;
}

/* Returns the mask of the name of n characters at text, or sets *known to 0. */
static uint64_t lookup(const struct mega_name *table, const char *text, size_t n, int *known)
{
    *known = 1;
    if (n == 3 && strncasecmp(text, "ALL", n) == 0)
        return all_of(table);
    if (n == 4 && strncasecmp(text, "NONE", n) == 0)
        return 0;
    for (; table->name; table++)
        if (strlen(table->name) == n && strncasecmp(table->name, text, n) == 0)
            return table->mask;
    *known = 0;
    return 0;
}

const char *mega$parse_names(const struct mega_name *table, const char *text, uint64_t *mask)
{
    *mask = 0;
    for (;;) {
        size_t n = strcspn(text, ",");
        int known;

        *mask |= lookup(table, text, n, &known);
        if (!known)
            return text;
        if (text[n] == '\0')
            return NULL;
        text += n + 1;
    }
}

void mega$format_names(const struct mega_name *table, uint64_t mask, char *buffer, size_t size)
{
    size_t n = 0;

    snprintf(buffer, size, "%s", mask == all_of(table) ? "ALL" : "none");
    if (mask == all_of(table))
        return;
    for (; table->name && n < size; table++)
        if (mask & table->mask)
            n += (size_t)snprintf(buffer + n, size - n, "%s%s", n ? "," : "", table->name);
}

static int octal(const char **text, uint32_t most, uint32_t *value)
{
    const char *start = *text;

    for (*value = 0; **text >= '0' && **text <= '7'; ++*text) {
        *value = *value * 8 + (uint32_t)(**text - '0');
        if (*value > most)
            return -1;
    }
    return *text == start ? -1 : 0;
}

int mega$parse_uic(const char *text, uint32_t *group, uint32_t *member)
{
    if (*text++ != '[' || octal(&text, MEGA_UIC_GROUP_MAX, group) != 0 || *text++ != ',' ||
        octal(&text, MEGA_UIC_MEMBER_MAX, member) != 0 || strcmp(text, "]") != 0)
        return -1;
    return 0;
}
