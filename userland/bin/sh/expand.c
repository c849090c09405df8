/*
 * Expansion of words: variables, command substitution, arithmetic, field splitting, file name
 * patterns and quotes, in one pass over the text. A field is built in two forms at the same time:
 * its characters, and a pattern in which quoted characters are protected by a backslash.
 */
#include "sh.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct text {
    char *s;
    size_t n, size;
};

struct fields {
    char **v;
    int n, size;
    struct text plain, pattern;
    bool open;   /* a field has begun, perhaps an empty quoted one */
    bool wild;   /* the field has an unquoted pattern character */
    bool single; /* expand_string: no field splitting, no patterns */
};

static void put(struct text *t, char c)
{
    if (t->n + 1 >= t->size) {
        char *bigger = arena_alloc(t->size ? 2 * t->size : 64);

        if (t->n)
            memcpy(bigger, t->s, t->n);
        t->s = bigger;
        t->size = t->size ? 2 * t->size : 64;
    }
    t->s[t->n++] = c;
    t->s[t->n] = 0;
}

static void put_char(struct fields *f, char c, bool quoted)
{
    f->open = true;
    put(&f->plain, c);
    if (quoted && strchr("*?[]\\", c))
        put(&f->pattern, '\\');
    else if (strchr("*?[", c))
        f->wild = true;
    put(&f->pattern, c);
}

static void add_field(struct fields *f, char *s)
{
    if (f->n + 1 >= f->size) {
        int size = f->size ? 2 * f->size : 16;
        char **bigger = arena_alloc((size_t)size * sizeof(*bigger));

        if (f->n)
            memcpy(bigger, f->v, (size_t)f->n * sizeof(*bigger));
        f->v = bigger;
        f->size = size;
    }
    f->v[f->n++] = s;
    f->v[f->n] = NULL;
}

static void end_field(struct fields *f)
{
    glob_t found;

    if (!f->open)
        return;
    if (f->wild && !f->single && glob(f->pattern.s, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_field(f, arena_string(found.gl_pathv[i], strlen(found.gl_pathv[i])));
        globfree(&found);
    } else {
        add_field(f, f->plain.n ? f->plain.s : arena_string("", 0));
    }
    f->plain = f->pattern = (struct text){0};
    f->open = f->wild = false;
}

/* Append the value of an expansion: split at blanks unless it is quoted. */
static void put_value(struct fields *f, const char *s, bool quoted)
{
    for (; *s; s++)
        if (!quoted && !f->single && isspace((unsigned char)*s))
            end_field(f);
        else
            put_char(f, *s, quoted);
}

static void put_parameters(struct fields *f, bool quoted, bool separate)
{
    for (int i = 0; i < parameter_count; i++) {
        if (i && separate && !f->single)
            end_field(f);
        else if (i)
            put_value(f, " ", quoted);
        if (quoted && separate)
            f->open = true;
        put_value(f, parameters[i], quoted);
    }
}

static const char *value_of(const char *name, char *buffer, size_t size)
{
    if (!strcmp(name, "?"))
        snprintf(buffer, size, "%d", last_status);
    else if (!strcmp(name, "$"))
        snprintf(buffer, size, "%d", (int)getpid());
    else if (!strcmp(name, "!"))
        snprintf(buffer, size, "%d", (int)last_background);
    else if (!strcmp(name, "#"))
        snprintf(buffer, size, "%d", parameter_count);
    else if (isdigit((unsigned char)name[0])) {
        int i = atoi(name);

        return i == 0 ? shell_name : i <= parameter_count ? parameters[i - 1] : NULL;
    } else
        return var_get(name);
    return buffer;
}

/* Expand ${...}; text is what is between the braces. */
static void put_braced(struct fields *f, const char *inside, bool quoted)
{
    char number[24], *name;
    const char *value;
    size_t n = 0;
    bool length = inside[0] == '#' && inside[1];

    if (length)
        inside++;
    if (strchr("?$!#@*", inside[0]) && inside[0])
        n = 1;
    else
        while (isalnum((unsigned char)inside[n]) || inside[n] == '_')
            n++;
    name = arena_string(inside, n);
    if (n == 1 && (*name == '@' || *name == '*') && !inside[1]) {
        put_parameters(f, quoted, *name == '@');
        return;
    }
    value = value_of(name, number, sizeof(number));
    if (length) {
        snprintf(number, sizeof(number), "%zu", value ? strlen(value) : 0);
        put_value(f, number, quoted);
        return;
    }
    inside += n;
    if (*inside == ':' && value && !*value)
        value = NULL;
    if (*inside == ':')
        inside++;
    switch (*inside) {
    case '-':
        put_value(f, value ? value : expand_string(inside + 1), quoted);
        break;
    case '=':
        if (!value) {
            var_set(name, expand_string(inside + 1), false);
            value = var_get(name);
        }
        put_value(f, value, quoted);
        break;
    case '+':
        put_value(f, value ? expand_string(inside + 1) : "", quoted);
        break;
    default:
        put_value(f, value ? value : "", quoted);
    }
}

/* Expand what begins at a dollar sign or a backquote. Returns its length in characters. */
static size_t put_substitution(struct fields *f, const char *s, bool quoted)
{
    char number[24];
    const char *value;
    size_t n = skip_quoted(s);

    if (s[0] == '`') {
        put_value(f, capture_output(arena_string(s + 1, n - 2)), quoted);
        return n;
    }
    if (s[1] == '(' && s[2] == '(' && s[n - 2] == ')') {
        snprintf(number, sizeof(number), "%ld",
                 arithmetic(expand_string(arena_string(s + 3, n - 5))));
        put_value(f, number, quoted);
        return n;
    }
    if (s[1] == '(') {
        put_value(f, capture_output(arena_string(s + 2, n - 3)), quoted);
        return n;
    }
    if (s[1] == '{') {
        put_braced(f, arena_string(s + 2, n - 3), quoted);
        return n;
    }
    if (s[1] == '@' || s[1] == '*') {
        put_parameters(f, quoted, s[1] == '@');
        return 2;
    }
    n = 1;
    if (s[1] && (strchr("?$!#", s[1]) || isdigit((unsigned char)s[1])))
        n = 2;
    else
        while (isalnum((unsigned char)s[n]) || s[n] == '_')
            n++;
    if (n == 1) {
        put_char(f, '$', true);
        return 1;
    }
    value = value_of(arena_string(s + 1, n - 1), number, sizeof(number));
    put_value(f, value ? value : "", quoted);
    return n;
}

static void expand_double_quoted(struct fields *f, const char *s, size_t n)
{
    bool only_parameters = n == 2 && s[0] == '$' && s[1] == '@';

    if (!only_parameters || f->single)
        f->open = true; /* "" makes a field, "$@" without parameters does not */
    for (size_t i = 0; i < n;) {
        if (s[i] == '\\' && i + 1 < n && strchr("\"\\$`\n", s[i + 1])) {
            if (s[i + 1] != '\n')
                put_char(f, s[i + 1], true);
            i += 2;
        } else if (s[i] == '$' || s[i] == '`') {
            i += put_substitution(f, s + i, true);
        } else {
            put_char(f, s[i++], true);
        }
    }
}

static void expand_one(struct fields *f, const char *s)
{
    if (s[0] == '~' && (s[1] == '/' || !s[1])) {
        put_value(f, var_get("HOME") ? var_get("HOME") : "/", true);
        s++;
    }
    while (*s) {
        size_t n = strchr("\\'\"`$", *s) ? skip_quoted(s) : 1;

        switch (*s) {
        case '\\':
            if (s[1] != '\n')
                put_char(f, s[1], true);
            break;
        case '\'':
            f->open = true;
            for (size_t i = 1; i < n - 1; i++)
                put_char(f, s[i], true);
            break;
        case '"':
            expand_double_quoted(f, s + 1, n - 2);
            break;
        case '$':
        case '`':
            n = put_substitution(f, s, false);
            break;
        default:
            put_char(f, *s, false);
        }
        s += n;
    }
    end_field(f);
}

char **expand_words(const struct word *w, int *count)
{
    struct fields f = {0};

    for (; w; w = w->next)
        expand_one(&f, w->text);
    *count = f.n;
    return f.v ? f.v : arena_alloc(sizeof(char *));
}

char *expand_string(const char *text)
{
    struct fields f = {.single = true};

    expand_one(&f, text);
    return f.n ? f.v[0] : arena_string("", 0);
}

/* Arithmetic: || && == != < <= > >= + - * / % ! - ( ), numbers and names of variables. */
static const char *expr;

static long expr_level(int level);

static void blanks(void)
{
    while (isspace((unsigned char)*expr))
        expr++;
}

static long primary(void)
{
    blanks();
    if (*expr == '(') {
        long v;

        expr++;
        v = expr_level(0);
        blanks();
        if (*expr == ')')
            expr++;
        return v;
    }
    if (*expr == '-')
        return expr++, (long)(0 - (unsigned long)primary());
    if (*expr == '!')
        return expr++, !primary();
    if (isalpha((unsigned char)*expr) || *expr == '_') {
        const char *start = expr, *value;

        while (isalnum((unsigned char)*expr) || *expr == '_')
            expr++;
        value = var_get(arena_string(start, (size_t)(expr - start)));
        return value ? strtol(value, NULL, 0) : 0;
    }
    {
        char *end;
        long v = strtol(expr, &end, 0);

        if (end == expr)
            expr += strlen(expr); /* what cannot be parsed counts as 0 and ends the expression */
        else
            expr = end;
        return v;
    }
}

static const char *const expr_operators[][5] = {
    {"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"},
};

static long apply(const char *op, long a, long b)
{
    unsigned long ua = (unsigned long)a, ub = (unsigned long)b;

    switch (op[0]) {
    case '|':
        return a || b;
    case '&':
        return a && b;
    case '=':
        return a == b;
    case '!':
        return a != b;
    case '<':
        return op[1] ? a <= b : a < b;
    case '>':
        return op[1] ? a >= b : a > b;
    case '+':
        return (long)(ua + ub);
    case '-':
        return (long)(ua - ub);
    case '*':
        return (long)(ua * ub);
    }
    if (b == 0 || (b == -1 && ua == 1ul << 63)) {
        fprintf(stderr, "sh: division by %ld\n", b);
        return 0;
    }
    return op[0] == '/' ? a / b : a % b;
}

static long expr_level(int level)
{
    long v;

    if (level == 6)
        return primary();
    v = expr_level(level + 1);
again:
    blanks();
    for (int i = 0; i < 5 && expr_operators[level][i]; i++) {
        const char *op = expr_operators[level][i];
        size_t n = strlen(op);

        if (!strncmp(expr, op, n)) {
            expr += n;
            v = apply(op, v, expr_level(level + 1));
            goto again;
        }
    }
    return v;
}

long arithmetic(const char *text)
{
    expr = text;
    return expr_level(0);
}
