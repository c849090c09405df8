/* Variables, in an unsorted list: there are only a few dozen. */
#include "sh.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct var {
    struct var *next;
    char *name, *value;
    bool exported;
};
static struct var *vars;

bool is_name(const char *s, size_t n)
{
    if (n == 0 || isdigit((unsigned char)s[0]))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && s[i] != '_')
            return false;
    return true;
}

static struct var *find(const char *name, bool make)
{
    struct var *v;

    for (v = vars; v; v = v->next)
        if (!strcmp(v->name, name))
            return v;
    if (!make)
        return NULL;
    v = calloc(1, sizeof(*v));
    v->name = strdup(name);
    v->next = vars;
    vars = v;
    return v;
}

const char *var_get(const char *name)
{
    struct var *v = find(name, false);

    return v ? v->value : NULL;
}

void var_set(const char *name, const char *value, bool export_it)
{
    struct var *v = find(name, true);
    char *copy = strdup(value);

    free(v->value);
    v->value = copy;
    v->exported |= export_it;
}

void var_export(const char *name) { find(name, true)->exported = true; }

void var_unset(const char *name)
{
    for (struct var **p = &vars; *p; p = &(*p)->next)
        if (!strcmp((*p)->name, name)) {
            struct var *v = *p;

            *p = v->next;
            free(v->name);
            free(v->value);
            free(v);
            return;
        }
}

void var_print_exported(void)
{
    for (struct var *v = vars; v; v = v->next)
        if (v->exported && v->value)
            printf("export %s='%s'\n", v->name, v->value);
}

char **var_environment(void)
{
    size_t n = 0;
    char **env;

    for (struct var *v = vars; v; v = v->next)
        n++;
    env = calloc(n + 1, sizeof(*env));
    n = 0;
    for (struct var *v = vars; v; v = v->next)
        if (v->exported && v->value && asprintf(&env[n], "%s=%s", v->name, v->value) > 0)
            n++;
    return env;
}

void vars_init(char **environment)
{
    for (; environment && *environment; environment++) {
        char *equals = strchr(*environment, '=');
        char name[256];

        if (!equals || (size_t)(equals - *environment) >= sizeof(name))
            continue;
        memcpy(name, *environment, (size_t)(equals - *environment));
        name[equals - *environment] = 0;
        var_set(name, equals + 1, true);
    }
    if (!var_get("PATH"))
        var_set("PATH", "/bin:/tests:/bench", true);
    if (!var_get("HOME"))
        var_set("HOME", "/", true);
}
