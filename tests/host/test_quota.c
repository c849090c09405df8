// SOURCES: kernel/quota/account.c kernel/quota/limits.c sysman/params.c
/* Accounts: limits at their edge, what is kept for user 0, recycling of accounts, and charges by
 * several threads. */
#include <pthread.h>

#include "kernel/quota/quota.h"
#include "sysman/params.h"
#include "userland/lib/include/tap.h"

#define THREADS 4u
#define ROUNDS  100000u

static void test_edge(void)
{
    struct account *a = account_get(100), *b = account_get(101);

    ok(a && b && a != b && account_get(100) == a, "each user has one account");
    account_unref(a);
    sysparam_set("USER_TIMERS", 3, true);
    quota_set_limits();
    ok(account_charge(a, QUOTA_TIMERS, 2) && account_charge(a, QUOTA_TIMERS, 1),
       "what the limit allows is charged");
    ok(!account_charge(a, QUOTA_TIMERS, 1) && a->count[QUOTA_TIMERS].used == 3, "and no more");
    ok(!account_charge(a, QUOTA_TIMERS, QUOTA_UNLIMITED), "nor the largest number");
    ok(account_charge(b, QUOTA_TIMERS, 3), "another user has a limit of its own");
    ok(account_charge(account_system, QUOTA_TIMERS, 1000), "user 0 has none");
    account_charge_forced(a, QUOTA_TIMERS, 2);
    account_release(a, QUOTA_TIMERS, 2);
    ok(!account_charge(a, QUOTA_TIMERS, 1), "a forced charge counts");
    is(quota_users[QUOTA_TIMERS].used, 6, "the users' total leaves out user 0's");
    account_release(a, QUOTA_TIMERS, 3);
    account_release(b, QUOTA_TIMERS, 3);
    account_release(account_system, QUOTA_TIMERS, 1000);
    is(quota_users[QUOTA_TIMERS].used + a->count[QUOTA_TIMERS].used, 0, "all is released");
    account_unref(a);
    account_unref(b);
}

static void test_total(void)
{
    struct account *a[3] = {account_get(1), account_get(2), account_get(3)};
    unsigned n[3] = {0};

    quota_boot_total(QUOTA_SECTIONS, 160);
    for (unsigned i = 0; i < 3; i++)
        while (account_charge(a[i], QUOTA_SECTIONS, 1))
            n[i]++;
    ok(n[0] == 75 && n[1] == 75, "a user may have half of what is not kept back");
    is(n[2], 0, "two leave nothing to a third");
    ok(account_charge(account_system, QUOTA_SECTIONS, 10), "but a sixteenth to user 0");
    for (unsigned i = 0; i < 2; i++)
        account_release(a[i], QUOTA_SECTIONS, n[i]);
    account_release(account_system, QUOTA_SECTIONS, 10);
    for (unsigned i = 0; i < 3; i++)
        account_unref(a[i]);
}

static void count_one(const struct account *a, void *arg)
{
    (void)a;
    ++*(unsigned *)arg;
}

static void test_table(void)
{
    struct account *last = NULL, *kept = account_get(5000), *a;
    unsigned n = 0, shown = 0;

    account_charge(kept, QUOTA_INODES, 1);
    account_unref(kept);
    for (; (a = account_get(10000 + n)) != NULL; n++)
        last = a;
    is(n, ACCOUNTS_MAX - 2, "as many users as the table holds");
    account_for_each(count_one, &shown);
    is(shown, ACCOUNTS_MAX, "all of them are shown");
    ok(account_get(10000) != NULL, "one that has an account is still found");
    account_unref(last);
    ok(account_get(77) == last && last->uid == 77, "an idle account goes to another user");
    ok(!account_get(10000 + n - 1), "and its former user has none");
    ok(kept->uid == 5000 && kept->count[QUOTA_INODES].used == 1,
       "one that holds something stays, though nothing refers to it");
    account_release(kept, QUOTA_INODES, 1);
    ok(account_get(78) == kept, "until that is released");
    ok(quota_counter(quota_number(&kept->count[QUOTA_INODES])) == &kept->count[QUOTA_INODES],
       "a counter is found by its number");
}

static struct account *shared;
static uint64_t granted;

static void *charge_and_release(void *arg)
{
    uint64_t *most = arg;

    for (unsigned i = 0; i < ROUNDS; i++)
        if (account_charge(shared, QUOTA_FILES, 2)) {
            *most = MAX(*most, __atomic_add_fetch(&granted, 2, __ATOMIC_SEQ_CST));
            __atomic_fetch_sub(&granted, 2, __ATOMIC_SEQ_CST);
            account_release(shared, QUOTA_FILES, 2);
        }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];
    uint64_t most[THREADS] = {0}, all = 0;

    shared = account_get(78);
    sysparam_set("USER_FILES", 5, true);
    quota_set_limits();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, charge_and_release, &most[i]);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all = MAX(all, most[i]);
    }
    ok(all >= 2 && all <= 5, "several threads never exceed the limit (%lu)", all);
    is(shared->count[QUOTA_FILES].used + quota_users[QUOTA_FILES].used, 0, "and nothing is lost");
}

int main(void)
{
    quota_boot_memory(16384);
    test_edge();
    test_total();
    test_table();
    test_threads();
    return tap_done();
}
