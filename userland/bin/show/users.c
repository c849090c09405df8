/*
 * show users: what each user holds of everything that has a limit, largest memory first; with /full
 * the limits too. User 0, which includes the kernel, has none.
 */
#include "show.h"

#include <filled.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name, *unit;
} kinds[] = {
#define QUOTA(kind_, parameter_, unit_, what_) {what_, unit_},
#include <megalith/quota.def>
#undef QUOTA
};

static int by_memory(const void *a, const void *b)
{
    uint64_t x = ((const struct mega_account *)a)->used[MEGA_QUOTA_PAGES];
    uint64_t y = ((const struct mega_account *)b)->used[MEGA_QUOTA_PAGES];

    return x < y ? 1 : x > y ? -1 : 0;
}

static bool holds_something(const struct mega_account *a)
{
    for (unsigned k = 0; k < MEGA_QUOTA_KINDS; k++)
        if (a->used[k])
            return true;
    return false;
}

static void print_user(const struct mega_account *a, bool full)
{
    printf("\nUser %u\n", a->uid);
    for (unsigned k = 0; k < MEGA_QUOTA_KINDS; k++) {
        char name[64];

        if (!full && !a->used[k])
            continue;
        snprintf(name, sizeof(name), "    %s", kinds[k].name);
        mega$print_first(name, 37);
        printf("%13lu", (unsigned long)a->used[k]);
        if (a->limit[k] != MEGA_UNLIMITED)
            printf(" of %12lu", (unsigned long)a->limit[k]);
        printf(" %s\n", kinds[k].unit);
    }
}

int show_users(unsigned q, const char *name)
{
    struct mega_account *all = NULL, a;
    size_t n = 0;

    (void)name;
    for (int64_t i = 0; ask(MEGA_INFO_ACCOUNT, i, &a, sizeof(a)); i++) {
        struct mega_account *more;

        if (!holds_something(&a))
            continue;
        more = realloc(all, (n + 1) * sizeof(a));
        if (!more)
            break;
        all = more;
        all[n++] = a;
    }
    qsort(all, n, sizeof(a), by_memory);
    for (size_t i = 0; i < n; i++)
        print_user(&all[i], (q & Q_FULL) != 0);
    free(all);
    return 0;
}
