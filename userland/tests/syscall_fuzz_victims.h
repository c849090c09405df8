/*
 * Part of syscall_fuzz.c: services that end, stop and otherwise control other processes. With
 * numbers drawn at random they would end those of everybody; so each of them acts on a child that
 * is made for it, on processes that do not exist, on those of the fuzzer that have one of its names
 * (rarely, because they make no more calls then), or it is given addresses at which nothing is.
 */
#ifndef SYSCALL_FUZZ_VICTIMS_H
#define SYSCALL_FUZZ_VICTIMS_H

#include <sys/prctl.h>

static const uint16_t controls[] = {VMS_DELPRC, VMS_FORCEX, VMS_SUSPND, VMS_RESUME,
                                    VMS_SETPRI, VMS_WAKE,   VMS_SCHDWK, VMS_CANWAK};

static int controls_others(long number)
{
    return number == VMS_DELPRC || number == VMS_FORCEX || number == VMS_SUSPND;
}

/* Shared with the victims: the number of the last one that has come so far as to end with this
 * process, at the number's place. */
#define VICTIMS_NOTED 1024u
static volatile pid_t *victims_ready;

static void victims_begin(void)
{
    victims_ready = mmap(NULL, VICTIMS_NOTED * sizeof(pid_t), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* A child that hibernates until it is killed, as it is when this process ends. It is not to be
 * suspended before that holds, or it would stay for ever if this process was killed then. */
static pid_t make_victim(void)
{
    pid_t self = getpid(), pid;

    if ((pid = fork()) != 0) {
        while (pid > 0 && victims_ready[(unsigned)pid % VICTIMS_NOTED] != pid)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    victims_ready[(unsigned)getpid() % VICTIMS_NOTED] = getpid();
    while (getppid() == self)
        call(VMS_HIBER, (const uint64_t[6]){0});
    _exit(0);
}

static void end_victim(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Some services of one victim, the last of them `number`. Another thread may have become another
 * user meanwhile, and the victim may be gone: then they are refused. */
static void control_victim(long number, const uint64_t arg[6])
{
    static __thread uint32_t victim;
    static const int64_t soon = -10000;
    pid_t pid = make_victim();

    if (pid <= 0)
        return;
    for (uint64_t n = draw(4); n != UINT64_MAX; n--) {
        long which = n ? controls[draw(sizeof(controls) / sizeof(controls[0]))] : number;
        uint64_t third = which == VMS_SCHDWK ? (uint64_t)&soon : draw(40);

        victim = (uint32_t)pid;
        call(which, (const uint64_t[6]){(uint64_t)&victim, draw(4) ? 0 : arg[1], third,
                                        draw(4) ? 0 : arg[3]});
    }
    end_victim(pid);
}

static void control(long number, const uint64_t arg[6])
{
    static const uint64_t nowhere[] = {USER_END - PAGE,
                                       USER_END - 4,
                                       USER_END - 1,
                                       USER_END,
                                       1ul << 63,
                                       (uint64_t)-4,
                                       (uint64_t)-1,
                                       0xFFFFFC0000310000,
                                       0xFFFFFD01FC0003F8,
                                       0xFFFFFE0000000000,
                                       1};
    static __thread uint32_t pid;

    pid = draw(2) ? (1u << 30) + (uint32_t)draw(100) : UINT32_MAX - (uint32_t)draw(2);
    switch (draw(8)) {
    case 0:
    case 1:
        call(number, (const uint64_t[6]){nowhere[draw(sizeof(nowhere) / sizeof(nowhere[0]))],
                                         arg[1], arg[2]});
        break;
    case 2:
    case 3:
        call(number, (const uint64_t[6]){(uint64_t)&pid, arg[1], arg[2]});
        break;
    case 4: /* by its name; without one, or by a name of its own, this process itself */
        if (number != VMS_SUSPND && draw(10) == 0)
            call(number, (const uint64_t[6]){0, arg[1], arg[2]});
        break;
    case 5:
    case 6: /* takes as long as many other calls */
        control_victim(number, arg);
        break;
    default:
        break;
    }
}

#endif
