/*
 * A queue of jobs in zones of memory: entries are allocated, queued, taken out by priority, and
 * freed with their zone. How large the jobs are is added up with extended arithmetic.
 */
#include <descrip.h>
#include <ints.h>
#include <lib$routines.h>
#include <libdef.h>
#include <libvmdef.h>
#include <ssdef.h>
#include <starlet.h>
#include <stdio.h>
#include <stsdef.h>

struct job {
    int flink, blink; /* of the queue */
    int number, size;
};

static void check(int status)
{
    if (!$VMS_STATUS_SUCCESS(status))
        lib$stop(status);
}

int main(void)
{
    static unsigned __int64 header; /* of the queue: two longwords, at a multiple of 8 */
    int flags = LIB$M_VM_GET_FILL0 | LIB$M_VM_BOUNDARY_TAGS, size = sizeof(struct job);
    int limit = 1, many = 100, quotient, remainder, thousand = 1000000, next;
    unsigned int zone, timer = 0;
    struct job *job, *first = 0;
    __int64 total = 0, product;
    int status = SS$_NORMAL, n = 0;

    check(lib$init_timer(&timer));
    check(lib$create_vm_zone(&zone, 0, 0, &flags, 0, 0, 0, 0, &limit));
    /* As many as the zone has room for: the urgent ones, each third, go to the head. */
    while ((status = lib$get_vm(&size, &job, &zone)) == SS$_NORMAL) {
        if (!first)
            first = job;
        job->number = ++n;
        job->size = n * 100000000 % 2000000000;
        status = n % 3 ? lib$insqti(job, &header) : lib$insqhi(job, &header);
        if (status == LIB$_ONEENTQUE)
            printf("the queue was empty\n");
        check(status);
        if (job->flink == 0)
            printf("no distance\n");
    }
    printf("%d jobs, then %s\n", n, status == LIB$_PAGLIMEXC ? "the limit of the zone" : "?");
    while ((status = lib$remqhi(&header, &job)) != LIB$_QUEWASEMP) {
        check(status);
        printf("%d%s", job->number, status == LIB$_ONEENTQUE ? "\n" : " ");
        next = 1;
        check(lib$emul(&job->size, &next, &(int){0}, &product));
        total += product;
        if (job != first)
            check(lib$free_vm(0, &job, &zone));
    }
    printf("the queue is empty\n");
    status = lib$free_vm(&many, &first, &zone);
    printf("a wrong size %s\n", status == LIB$_BADBLOSIZ ? "is refused" : "?");
    check(lib$delete_vm_zone(&zone));
    printf("the zone is %s\n",
           lib$get_vm(&size, &job, &zone) == LIB$_BADBLOADR ? "deleted" : "still there");
    status = lib$ediv(&thousand, &total, &quotient, &remainder);
    check(status);
    printf("%d million and %d bytes\n", quotient, remainder);
    check(lib$free_timer(&timer));
    return SS$_NORMAL;
}
