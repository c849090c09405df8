// SOURCES: kernel/quota/account.c
// SOURCES: mm/pool/pool_nonpaged.c mm/pool/pool_paged.c mm/pool/pool_var.c mm/pool/pool_check.c
// SOURCES: mm/phys/page.c mm/phys/page_list.c mm/phys/page_zero.c
// SOURCES: mm/phys/page_range.c mm/phys/fluid.c kernel/base/string_extra.c sysman/params.c
/*
 * Random sequences of requests compared with the plain model of pool_model.h, without and with
 * POOLCHECK; and tests of the model itself, which must notice a pool that behaves differently.
 *
 * `test_pool_model SEED` repeats a run.
 */
#define POOL_BYTES 0x100000ul
#include "pool_model.h"

#define SEQUENCES 80u
#define LENGTH    3000u

/* Half of the sequences use only small blocks of paged pool, where lists and gaps matter most. */
static void sequence(uint8_t *data, bool small)
{
    for (unsigned i = 0; i < LENGTH; i++)
        data[i] = (uint8_t)rnd(256);
    for (unsigned i = 0; small && i < LENGTH; i++)
        if (rnd(3))
            data[i] = (uint8_t)(data[i] & 7) | 0x10;
}

/* Runs in a child, because pools and model are set up once. Exit status 0, or an error number. */
static int run_all(int64_t poolcheck)
{
    static uint8_t data[LENGTH];
    const char *wrong = NULL;

    sysparam_set("POOLCHECK", poolcheck, false);
    pool_model_start();
    for (unsigned i = 0; i < SEQUENCES && !wrong; i++) {
        uint64_t began = seed;

        sequence(data, i % 2);
        wrong = pool_model_run(data, LENGTH);
        if (wrong)
            diag("sequence %u, seed %#lx: %s", i, began, wrong);
    }
    diag("%lu requests, %lu hits, %lu releases, %lu refused, lists drained %lu times, left alone "
         "%lu times, at most %lu bytes on them",
         model.did.requests, model.did.hits, model.did.frees, model.did.refused, model.did.drained,
         model.did.kept, model.did.most_on_lists);
    if (wrong)
        return 1;
    /* All cases that the model counts have occurred. */
    return model.did.hits < 10000 || model.did.refused < 1000 || model.did.drained < 100 ||
                   model.did.kept < 1000 || model.did.most_on_lists < POOL_BYTES / 4
               ? 2
               : 0;
}

/* Allocate a packet that the model does not know of. */
static int lose_one(void)
{
    static const uint8_t look[] = {0x2F};

    pool_model_start();
    pool_model_run(NULL, 0);
    pgd_alloc(64);
    return pool_model_run(look, sizeof(look)) == NULL;
}

/* Change the size of the lists without telling the model. */
static int other_lists(void)
{
    static const uint8_t some[] = {0x10, 99, 0, 4, 0, 0x10, 99, 0, 0x2F};

    pool_model_start();
    pool_model_run(NULL, 0);
    model.lal = 512;
    for (unsigned i = 0; i < 2 && !model_wrong; i++) {
        struct model_input in = {some, some + sizeof(some)};

        sysparam_set("PAGED_LAL_SIZE", i ? 2560 : 512, true);
        while (in.p < in.end)
            model_step(&in);
        model.lal = 64; /* from now on the model is wrong */
    }
    return model_wrong == NULL;
}

static int child(int (*what)(void))
{
    int status = -1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        status = what();
        fflush(stdout);
        _exit(status);
    }
    waitpid(pid, &status, 0);
    return status;
}

static int plain(void) { return run_all(0); }
static int checked(void) { return run_all(0x616400FF); }

int main(int argc, char **argv)
{
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    diag("seed %#lx", seed);
    is(child(plain), 0, "%u sequences of %u bytes: pools and model agree", SEQUENCES, LENGTH);
    is(child(checked), 0, "and with POOLCHECK");
    is(child(lose_one), 0, "the model notices a block that it does not know of");
    is(child(other_lists), 0, "and lists of a size that it does not expect");
    return tap_done();
}
