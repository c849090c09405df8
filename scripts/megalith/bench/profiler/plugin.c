/*
 * A plugin of QEMU that counts the instructions of a whole run by call stack (scripts/profile
 * compiles and loads it). QEMU calls on_block() before each translated block, a straight piece of
 * code; the last instruction of the block before tells how the code got there:
 *
 *   a call          pushes a frame with its return address
 *   a return        pops frames to the one with that return address, if there is one
 *   through PALcode to one of the kernel's entries: pushes a frame that marks a trap; RTI and RETSYS
 *                   pop to the last one; SWPCTX goes on with another thread's frames
 *   anything else   a jump to another function replaces the function of the innermost frame
 *
 * The plugin interface shows no registers, but the addresses of loads and stores: those relative to
 * $30 tell the stack pointer. A thread goes on with the stack pointer with which it was switched
 * away, so that finds its frames again. Where a return fits nowhere (longjmp, a stack made by hand)
 * the frames are those that are still right; the function itself is always that of the PC.
 *
 * With -icount QEMU runs all CPUs in turn in one thread, so nothing here is locked.
 *
 * Arguments: out=FILE; elf=LABEL:FILE, the first one the kernel's; within=FUNCTION: count only from
 * a call of this function until it returns, whatever else runs meanwhile; all=on: count from the
 * first instruction, else from the first one in user mode.
 */
#include "images.h"
#include "qemu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

QEMU_EXPORT int qemu_plugin_version = PLUGIN_API;
QEMU_EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

#define CPUS_MAX 4

/* ---- what differs between versions of QEMU ---- */

/* Instructions of all CPUs. */
#if PLUGIN_API == 1
static uint64_t executed;

static void count_begin(void) {}
static void count(struct qemu_plugin_insn *insn)
{
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_ADD, &executed, 1);
}
static uint64_t instructions(void) { return executed; }
#else
static struct qemu_plugin_scoreboard *board;

static void count_begin(void) { board = qemu_plugin_scoreboard_new(sizeof(uint64_t)); }
static void count(struct qemu_plugin_insn *insn)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_ADD,
                                                        (struct qemu_plugin_u64){board, 0}, 1);
}
static uint64_t instructions(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < qemu_plugin_num_vcpus(); i++)
        sum += *(uint64_t *)qemu_plugin_scoreboard_find(board, (unsigned)i);
    return sum;
}
#endif

static uint32_t word_of(const struct qemu_plugin_insn *insn)
{
    uint32_t word = 0;

#if PLUGIN_API >= 3
    qemu_plugin_insn_data(insn, &word, sizeof(word));
#else
    memcpy(&word, qemu_plugin_insn_data(insn), sizeof(word));
#endif
    return word;
}

/* ---- the tree of call stacks ---- */

struct node {
    const struct function *function; /* NULL: the root, or below it a program */
    const char *label;
    struct node *parent, *first, *next;
    uint64_t count;
};

static struct node root;
static struct node limbo; /* for the first instructions of a thread that is not yet known */

static struct node *child(struct node *of, const struct function *function, const char *label)
{
    struct node *n;

    for (n = of->first; n; n = n->next)
        if (n->function == function && n->label == label)
            return n;
    n = need(calloc(1, sizeof(*n)));
    *n = (struct node){.function = function, .label = label, .parent = of, .next = of->first};
    return of->first = n;
}

static struct node *base_of(const struct function *f)
{
    return child(&root, NULL, function_label(f));
}

/* Give all counts of a tree to another one. */
static void move_counts(struct node *to, struct node *from)
{
    to->count += from->count;
    from->count = 0;
    for (struct node *n = from->first; n; n = n->next)
        move_counts(child(to, n->function, n->label), n);
}

/* ---- blocks ---- */

enum end { PLAIN, CALL, RETURN };

#define CODE_MAX 64 /* instructions that are compared; a block may have more */

struct block {
    uint64_t pc, next; /* its first instruction, and the one after its last */
    const struct function *function;
    enum end end;
    bool entry;
    struct block *chain;
    uint64_t code; /* a digest, because a process may run other code at this address */
};

#define BUCKETS 65536

static struct block *blocks[BUCKETS];

static enum end end_of(uint32_t insn)
{
    enum { OP_JUMP = 0x1a, OP_BSR = 0x34 };
    unsigned op = insn >> 26, kind = insn >> 14 & 3;

    if (op == OP_BSR || (op == OP_JUMP && kind == 1))
        return CALL;
    return op == OP_JUMP && kind == 2 ? RETURN : PLAIN;
}

/* Is it the beginning of a function that PALcode enters, of this kernel or of Linux? */
static bool is_entry(uint64_t pc, const struct function *f)
{
    static const char *const names[] = {
        "entry_arithmetic",
        "entry_instruction",
        "entry_interrupt",
        "entry_memory",
        "entry_syscall",
        "entry_syscall_traced",
        "entry_unaligned",
        "entArith",
        "entIF",
        "entInt",
        "entMM",
        "entSys",
        "entUna",
    };

    if (!is_kernel(pc) || pc != f->address)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(f->name, names[i]) == 0)
            return true;
    return false;
}

static struct block *block_at(uint64_t pc, const uint32_t *code, size_t n, uint64_t digest)
{
    static const struct function *before;
    struct block **bucket = &blocks[(pc / 4 ^ digest) % BUCKETS], *b;

    for (b = *bucket; b; b = b->chain)
        if (b->pc == pc && b->code == digest)
            return b;
    b = need(calloc(1, sizeof(*b)));
    b->pc = pc;
    b->code = digest;
    b->function = function_find(pc, code, n, before);
    b->entry = is_entry(pc, b->function);
    if (!is_kernel(pc))
        before = b->function;
    b->chain = *bucket;
    return *bucket = b;
}

/* ---- threads ---- */

enum mark { ORDINARY, TRAP, SIGNAL };

struct frame {
    struct node *node;
    uint64_t back; /* ORDINARY: the return address */
    enum mark mark;
    const struct block *from; /* TRAP: the block that was interrupted; SIGNAL: that one as well */
    bool opens;               /* counting began here (within=) */
};

#define FRAMES_MAX 192
#define NEARBY     4096ul /* bytes of the stack */

struct thread {
    struct frame frames[FRAMES_MAX];
    unsigned n;
    bool in_limbo;
    uint64_t sp; /* while it is switched away */
    struct thread *chain;
};

struct cpu {
    struct thread *thread;
    struct block *before; /* the last one that was not PALcode */
    bool through_pal;
    bool returned, swapped; /* by PALcode since then: RTI or RETSYS, SWPCTX */
    bool switched;          /* to a thread that is not known before its first access to its stack */
    uint64_t sp;
    struct thread *left; /* that was switched away last */
};

static struct cpu cpus[CPUS_MAX];
static struct thread *away[BUCKETS]; /* by sp */
static const char *within, *out;
static bool counting;
static bool in_user; /* some instruction in user mode was executed */
static bool from_start;
static uint64_t charged_until; /* instructions that have been charged */
static struct node *charged = &root;

static struct frame *top(struct thread *t) { return t->n ? &t->frames[t->n - 1] : NULL; }

static void pop(struct thread *t)
{
    if (t->frames[--t->n].opens)
        counting = false;
}

static void push(struct thread *t, const struct function *f, uint64_t back, enum mark mark,
                 const struct block *from)
{
    struct node *below = t->n ? top(t)->node : t->in_limbo ? &limbo : base_of(f);

    if (t->n == FRAMES_MAX)
        return;
    t->frames[t->n++] = (struct frame){child(below, f, NULL), back, mark, from, false};
    if (within && !counting && strcmp(f->name, within) == 0)
        counting = top(t)->opens = true;
}

static void pop_to(struct thread *t, unsigned n)
{
    while (t->n > n)
        pop(t);
}

/* The function of the innermost frame is another one: a jump, or a return that fits nowhere. */
static void settle(struct thread *t, const struct block *b)
{
    struct frame old;

    if (t->n && top(t)->node->function == b->function)
        return;
    for (unsigned i = t->n; i-- > 0 && t->frames[i].mark == ORDINARY;)
        if (b->pc != b->function->address && t->frames[i].node->function == b->function) {
            pop_to(t, i + 1);
            return;
        }
    if (!t->n) {
        push(t, b->function, 0, ORDINARY, NULL);
        return;
    }
    old = *top(t);
    t->n--;
    push(t, b->function, old.back, old.mark, old.from);
    top(t)->opens |= old.opens;
}

static void go_back(struct thread *t, uint64_t pc)
{
    for (unsigned i = t->n; i-- > 0 && t->frames[i].mark == ORDINARY;)
        if (t->frames[i].back == pc) {
            pop_to(t, i);
            return;
        }
}

static bool resumes(const struct block *from, uint64_t pc)
{
    return from && pc >= from->pc && pc <= from->next;
}

/* Pop the last trap and what is above it. Returns the block that was interrupted, NULL: unknown. */
static const struct block *pop_trap(struct thread *t)
{
    while (t->n) {
        struct frame f = *top(t);

        pop(t);
        if (f.mark == TRAP)
            return f.from;
    }
    return NULL;
}

/* Does the code go on where `from` was interrupted? After its last instruction the frames are
 * changed as that demands. */
static bool continues(struct thread *t, const struct block *from, const struct block *b)
{
    unsigned n = t->n;

    if (resumes(from, b->pc))
        return true;
    if (from->end == CALL && b->pc == b->function->address) {
        push(t, b->function, from->next, ORDINARY, NULL);
        return true;
    }
    if (from->end == RETURN)
        go_back(t, b->pc);
    return t->n < n || is_kernel(b->pc) || (t->n && top(t)->node->function == b->function);
}

/* Back from a trap: to where it came from; or to a handler of a signal, and later from it; or to a
 * new program. */
static void leave_trap(struct thread *t, const struct block *b)
{
    const struct block *from = pop_trap(t);

    if (!from || strcmp(b->function->name, "_start") == 0) {
        pop_to(t, 0);
        return;
    }
    if (continues(t, from, b))
        return;
    for (unsigned i = t->n; i-- > 0;)
        if (t->frames[i].mark == SIGNAL && resumes(t->frames[i].from, b->pc)) {
            pop_to(t, i);
            return;
        }
    push(t, b->function, 0, SIGNAL, from);
}

static void put_away(struct thread *t, uint64_t sp)
{
    struct thread **bucket = &away[sp / 16 % BUCKETS];

    t->sp = sp;
    t->chain = *bucket;
    *bucket = t;
}

static void begin_switch(struct cpu *c)
{
    put_away(c->thread, c->sp);
    c->left = c->thread;
    c->thread = need(calloc(1, sizeof(*c->thread)));
    c->thread->in_limbo = c->switched = true;
}

/* A thread that was switched away with this stack pointer, NULL: none. Where SWPCTX only changes the
 * address space, as Linux has it do, the thread goes on at any place nearby. */
static struct thread *take_back(const struct cpu *c)
{
    bool nearby = c->left->sp - c->sp + NEARBY < 2 * NEARBY;

    for (int pass = 0; pass < (nearby ? 2 : 1); pass++) {
        uint64_t sp = pass ? c->left->sp : c->sp;
        struct thread *t;

        for (struct thread **at = &away[sp / 16 % BUCKETS]; (t = *at); at = &t->chain)
            if (t->sp == sp && (!pass || t == c->left)) {
                *at = t->chain;
                return t;
            }
    }
    return NULL;
}

/* The thread is a new one: its frames begin here. */
static void leave_limbo(struct thread *t)
{
    struct node *below = NULL;

    for (unsigned i = 0; i < t->n; i++) {
        const struct function *f = t->frames[i].node->function;

        below = t->frames[i].node = child(below ? below : base_of(f), f, NULL);
    }
    t->in_limbo = false;
    if (t->n)
        move_counts(t->frames[0].node->parent, &limbo);
}

/* The first access to the stack after a switch. What was counted since then belongs to the function
 * in which the thread was switched away. */
static void end_switch(struct cpu *c)
{
    struct thread *t = take_back(c);

    c->switched = false;
    if (t) {
        if (t->n)
            move_counts(top(t)->node->parent, &limbo);
        free(c->thread);
        c->thread = t;
    } else {
        leave_limbo(c->thread);
    }
}

/* An interrupt may come before the first instruction after RTI: both are in one stay in PALcode. */
static void after_pal(struct cpu *c, const struct block *b)
{
    const struct block *from = c->before;

    if (c->swapped)
        begin_switch(c);
    if (c->returned && !b->entry)
        leave_trap(c->thread, b);
    else if (c->returned)
        from = pop_trap(c->thread);
    if (b->entry)
        push(c->thread, b->function, 0, TRAP, from);
    c->swapped = c->returned = false;
}

/* Is a block that of the one before which was not executed, because an access to a device had to
 * begin a block of its own? */
static bool is_rest(const struct block *before, const struct block *b)
{
    return b->pc > before->pc && b->pc < before->next;
}

static void follow(struct cpu *c, const struct block *b)
{
    if (c->through_pal)
        after_pal(c, b);
    else if (c->before && c->before->end == CALL && !is_rest(c->before, b))
        push(c->thread, b->function, c->before->next, ORDINARY, NULL);
    else if (c->before && c->before->end == RETURN)
        go_back(c->thread, b->pc);
    settle(c->thread, b);
    c->through_pal = false;
}

static void charge(void)
{
    uint64_t now = instructions();

    if (from_start || (within ? counting : in_user))
        charged->count += now - charged_until;
    charged_until = now;
}

/* Where CALL_PAL enters PALcode, which begins at an address that is a multiple of 32 KiB. */
#define VECTOR(call)  (0x1000 + 64 * (call))
#define VECTOR_MASK   0x7fff
#define VECTOR_SWPCTX VECTOR(0x30)
#define VECTOR_RETSYS VECTOR(0x3d)
#define VECTOR_RTI    VECTOR(0x3f)

static void on_block(unsigned cpu, void *data)
{
    struct cpu *c = &cpus[cpu];
    struct block *b = data;

    charge();
    if (!c->thread)
        c->thread = need(calloc(1, sizeof(*c->thread)));
    if (b->function == &function_pal) {
        uint64_t vector = b->pc & VECTOR_MASK;

        c->through_pal = true;
        c->swapped |= vector == VECTOR_SWPCTX;
        c->returned |= vector == VECTOR_RTI || vector == VECTOR_RETSYS;
        charged = child(c->thread->n ? top(c->thread)->node : base_of(&function_pal), &function_pal,
                        NULL);
        return;
    }
    in_user |= !is_kernel(b->pc);
    follow(c, b);
    c->before = b;
    charged = top(c->thread)->node;
}

/* data: the displacement of the instruction. */
static void on_stack_access(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    struct cpu *c = &cpus[cpu];

    (void)info;
    c->sp = address - (uint64_t)(intptr_t)data;
    if (c->switched) {
        charge();
        end_switch(c);
        charged = top(c->thread) ? top(c->thread)->node : charged;
    }
}

/* ---- translation ---- */

/* Is it a load or store of $30's memory? Alpha's have opcodes 0x0a to 0x0f and 0x20 to 0x2f. */
static bool uses_stack(uint32_t insn)
{
    unsigned op = insn >> 26;

    return ((op >= 0x0a && op <= 0x0f) || (op >= 0x20 && op <= 0x2f)) && (insn >> 16 & 31) == 30;
}

static void on_translation(uint64_t id, struct qemu_plugin_tb *tb)
{
    size_t n = qemu_plugin_tb_n_insns(tb);
    uint64_t pc = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)), digest = n;
    uint32_t code[CODE_MAX], insn = 0;
    struct block *b;

    (void)id;
    for (size_t i = 0; i < n; i++) {
        struct qemu_plugin_insn *at = qemu_plugin_tb_get_insn(tb, i);

        insn = word_of(at);
        digest = (digest ^ insn) * 0x100000001b3;
        if (i < CODE_MAX)
            code[i] = insn;
        count(at);
        if (is_kernel(pc) && uses_stack(insn))
            qemu_plugin_register_vcpu_mem_cb(at, on_stack_access, QEMU_NO_REGS, QEMU_ACCESSES,
                                             (void *)(intptr_t)(int16_t)insn);
    }
    b = block_at(pc, code, n < CODE_MAX ? n : CODE_MAX, digest);
    b->next = pc + 4 * n;
    b->end = end_of(insn);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_NO_REGS, b);
}

/* ---- result ---- */

static void print_stack(FILE *file, const struct node *n)
{
    if (n->parent != &root) {
        print_stack(file, n->parent);
        fputc(';', file);
    }
    if (n->label)
        fputs(n->label, file);
    else
        fprintf(file, "%s%s", n->function->name,
                function_of_kernel(n->function) && n->function != &function_pal ? "_[k]" : "");
}

static void print_tree(FILE *file, const struct node *n)
{
    if (n->count && n != &root) {
        print_stack(file, n);
        fprintf(file, " %lu\n", (unsigned long)n->count);
    }
    for (n = n->first; n; n = n->next)
        print_tree(file, n);
}

static void on_exit_of_qemu(uint64_t id, void *data)
{
    FILE *file = fopen(out, "w");

    (void)id;
    (void)data;
    charge();
    if (file) {
        print_tree(file, &root);
        fclose(file);
    } else {
        perror(out);
    }
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '='), *path;

        if (!value)
            return -1;
        *value++ = 0;
        path = strchr(value, ':');
        if (strcmp(argv[i], "out") == 0)
            out = strdup(value);
        else if (strcmp(argv[i], "within") == 0)
            within = strdup(value);
        else if (strcmp(argv[i], "all") == 0)
            from_start = true;
        else if (strcmp(argv[i], "elf") == 0 && path) {
            *path++ = 0;
            if (!image_add(strdup(value), path))
                return -1;
        } else
            return -1;
    }
    if (!out || !image_added())
        return -1;
    count_begin();
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, on_exit_of_qemu, NULL);
    return 0;
}
