/* The parser: a lexer that returns one token at a time, and a recursive-descent parser. */
#include "sh.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
    struct chunk *before;
    size_t used, size;
    _Alignas(16) char data[];
};
static struct chunk *arena;

void *arena_alloc(size_t n)
{
    n = (n + 15) & ~(size_t)15;
    if (!arena || arena->size - arena->used < n) {
        size_t size = n > 8000 ? n : 8000;
        struct chunk *c = malloc(sizeof(*c) + size);

        if (!c) {
            fprintf(stderr, "sh: out of memory\n");
            exit(2);
        }
        c->before = arena;
        c->used = 0;
        c->size = size;
        arena = c;
    }
    arena->used += n;
    return memset(arena->data + arena->used - n, 0, n);
}

char *arena_string(const char *s, size_t n)
{
    char *p = arena_alloc(n + 1);

    memcpy(p, s, n);
    return p;
}

void *arena_mark(void) { return arena_alloc(16); }

void arena_release(void *mark)
{
    while ((char *)mark < arena->data || (char *)mark >= arena->data + arena->size) {
        struct chunk *c = arena;

        arena = c->before;
        free(c);
    }
    arena->used = (size_t)((char *)mark - arena->data);
}

enum token {
    T_END,
    T_NEWLINE,
    T_WORD,
    T_IO_NUMBER,
    T_SEMI,
    T_AMP,
    T_AND,
    T_OR,
    T_PIPE,
    T_LPAREN,
    T_RPAREN,
    T_LESS,
    T_GREAT,
    T_DGREAT,
    T_LESSGREAT,
    T_LESSAMP,
    T_GREATAMP,
    T_DLESS
};

static const char *at;   /* the next character to read */
static enum token token; /* the current token */
static char *token_text; /* text of a T_WORD or T_IO_NUMBER */
static enum parse_result result;

size_t skip_quoted(const char *s)
{
    size_t i = 1;

    if (*s == '\\')
        return s[1] ? 2 : 0;
    if (*s == '\'') {
        while (s[i] && s[i] != '\'')
            i++;
        return s[i] ? i + 1 : 0;
    }
    if (*s == '"' || *s == '`') {
        while (s[i] && s[i] != *s) {
            size_t n = 1;

            if (s[i] == '\\' || (*s == '"' && (s[i] == '`' || (s[i] == '$' && (s[i + 1] == '(' ||
                                                                               s[i + 1] == '{')))))
                n = skip_quoted(s + i);
            if (!n)
                return 0;
            i += n;
        }
        return s[i] ? i + 1 : 0;
    }
    if (*s == '$' && (s[1] == '(' || s[1] == '{')) {
        char open = s[1], close = open == '(' ? ')' : '}';
        int depth = 1;

        for (i = 2; s[i];) {
            size_t n = 1;

            if (s[i] == open)
                depth++;
            else if (s[i] == close && --depth == 0)
                return i + 1;
            else if (strchr("\\'\"`$", s[i]))
                n = skip_quoted(s + i);
            if (!n)
                return 0;
            i += n;
        }
        return 0;
    }
    return 1;
}

static void give_up(enum parse_result r, const char *what)
{
    if (result == PARSE_DONE) {
        result = r;
        if (r == PARSE_ERROR)
            fprintf(stderr, "sh: syntax error near %s\n", what);
    }
    token = T_END;
}

static void word_token(void)
{
    const char *start = at;

    while (*at && !strchr(" \t\n;&|<>()", *at)) {
        size_t n = strchr("\\'\"`$", *at) ? skip_quoted(at) : 1;

        if (!n) {
            give_up(PARSE_MORE, start);
            return;
        }
        at += n;
    }
    token_text = arena_string(start, (size_t)(at - start));
    token = T_WORD;
    if ((*at == '<' || *at == '>') && token_text[strspn(token_text, "0123456789")] == 0)
        token = T_IO_NUMBER;
}

static void advance(void)
{
    static const struct {
        const char *text;
        enum token token;
    } operators[] = {
        {"&&", T_AND},     {"||", T_OR},    {">>", T_DGREAT},   {"<>", T_LESSGREAT},
        {"<&", T_LESSAMP}, {"<<", T_DLESS}, {">&", T_GREATAMP}, {";", T_SEMI},
        {"&", T_AMP},      {"|", T_PIPE},   {"(", T_LPAREN},    {")", T_RPAREN},
        {"<", T_LESS},     {">", T_GREAT},
    };

    if (result != PARSE_DONE)
        return;
    while (*at == ' ' || *at == '\t' || (*at == '\\' && at[1] == '\n'))
        at += *at == '\\' ? 2 : 1;
    if (*at == '#')
        at += strcspn(at, "\n");
    if (!*at) {
        token = T_END;
        return;
    }
    if (*at == '\n') {
        at++;
        token = T_NEWLINE;
        return;
    }
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        size_t n = strlen(operators[i].text);

        if (!strncmp(at, operators[i].text, n)) {
            at += n;
            token = operators[i].token;
            token_text = (char *)operators[i].text;
            return;
        }
    }
    word_token();
}

static void unexpected(void)
{
    if (token == T_END)
        give_up(PARSE_MORE, "the end");
    else
        give_up(PARSE_ERROR, token == T_NEWLINE ? "the end of the line" : token_text);
}

static bool is_word(const char *s) { return token == T_WORD && !strcmp(token_text, s); }

static void need_word(const char *s)
{
    if (is_word(s))
        advance();
    else
        unexpected();
}

static void skip_newlines(void)
{
    while (token == T_NEWLINE)
        advance();
}

static struct node *make(enum node_kind kind, struct node *left, struct node *right)
{
    struct node *n = arena_alloc(sizeof(*n));

    n->kind = kind;
    n->left = left;
    n->right = right;
    return n;
}

static struct node *parse_list(bool nested);

/* Parse one redirection, if there is one. */
static bool redirection(struct redir ***tail)
{
    int fd = -1;
    struct redir *r;

    if (token == T_IO_NUMBER) {
        fd = atoi(token_text);
        advance();
    }
    if (token < T_LESS)
        return false;
    if (token == T_DLESS) { /* a here-document: its text must not run as commands */
        unexpected();
        return false;
    }
    r = arena_alloc(sizeof(*r));
    r->kind = token == T_LESS        ? REDIR_IN
              : token == T_GREAT     ? REDIR_OUT
              : token == T_DGREAT    ? REDIR_APPEND
              : token == T_LESSGREAT ? REDIR_BOTH
                                     : REDIR_DUP;
    r->fd = fd >= 0 ? fd : token == T_LESS || token == T_LESSAMP || token == T_LESSGREAT ? 0 : 1;
    advance();
    if (token != T_WORD) {
        unexpected();
        return false;
    }
    r->target = token_text;
    advance();
    **tail = r;
    *tail = &r->next;
    return true;
}

static struct node *parse_simple(void)
{
    struct node *n = make(NODE_SIMPLE, NULL, NULL);
    struct word **tail = &n->words;
    struct redir **rtail = &n->redirs;

    for (;;) {
        if (token == T_WORD) {
            struct word *w = arena_alloc(sizeof(*w));

            w->text = token_text;
            *tail = w;
            tail = &w->next;
            advance();
        } else if (!redirection(&rtail)) {
            break;
        }
    }
    if (!n->words && !n->redirs)
        unexpected();
    return n;
}

static bool closes_list(void)
{
    static const char *const words[] = {"then", "elif", "else", "fi", "do", "done", "}"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (is_word(words[i]))
            return true;
    return token == T_RPAREN;
}

/* Parse what follows "if" or "elif". */
static struct node *parse_if(void)
{
    struct node *n = make(NODE_IF, parse_list(true), NULL);

    need_word("then");
    n->right = parse_list(true);
    if (is_word("elif")) {
        advance();
        n->other = parse_if();
        return n;
    }
    if (is_word("else")) {
        advance();
        n->other = parse_list(true);
    }
    need_word("fi");
    return n;
}

static struct node *parse_for(void)
{
    struct node *n = make(NODE_FOR, NULL, NULL);
    struct word **tail = &n->words;

    if (token != T_WORD || !is_name(token_text, strlen(token_text)))
        unexpected();
    n->name = token_text;
    advance();
    skip_newlines();
    if (is_word("in")) {
        n->in = true;
        for (advance(); token == T_WORD; advance()) {
            struct word *w = arena_alloc(sizeof(*w));

            w->text = token_text;
            *tail = w;
            tail = &w->next;
        }
    }
    if (token == T_SEMI)
        advance();
    skip_newlines();
    need_word("do");
    n->right = parse_list(true);
    need_word("done");
    return n;
}

static struct node *parse_command(void)
{
    struct node *n;
    struct redir **tail;

    if (token == T_LPAREN) {
        advance();
        n = make(NODE_SUBSHELL, parse_list(true), NULL);
        if (token == T_RPAREN)
            advance();
        else
            unexpected();
    } else if (is_word("{")) {
        advance();
        n = make(NODE_GROUP, parse_list(true), NULL);
        need_word("}");
    } else if (is_word("if")) {
        advance();
        n = make(NODE_GROUP, parse_if(), NULL);
    } else if (is_word("while") || is_word("until")) {
        struct node *loop = make(is_word("while") ? NODE_WHILE : NODE_UNTIL, NULL, NULL);

        advance();
        loop->left = parse_list(true);
        need_word("do");
        loop->right = parse_list(true);
        need_word("done");
        n = make(NODE_GROUP, loop, NULL);
    } else if (is_word("for")) {
        advance();
        n = make(NODE_GROUP, parse_for(), NULL);
    } else if (closes_list() || is_word("case")) {
        unexpected();
        return make(NODE_SIMPLE, NULL, NULL);
    } else {
        return parse_simple();
    }
    tail = &n->redirs;
    while (redirection(&tail))
        ;
    return n;
}

static struct node *parse_pipeline(void)
{
    bool negated = false;
    struct node *n;

    while (is_word("!")) {
        negated = !negated;
        advance();
    }
    n = parse_command();
    if (token == T_PIPE) {
        advance();
        skip_newlines();
        if (token == T_END)
            unexpected();
        n = make(NODE_PIPE, n, parse_pipeline());
    }
    return negated ? make(NODE_NOT, n, NULL) : n;
}

static struct node *parse_and_or(void)
{
    struct node *n = parse_pipeline();

    while (token == T_AND || token == T_OR) {
        enum node_kind kind = token == T_AND ? NODE_AND : NODE_OR;

        advance();
        skip_newlines();
        if (token == T_END)
            unexpected();
        n = make(kind, n, parse_pipeline());
    }
    return n;
}

/* Parse commands up to the end of the text or, if nested, up to what closes the construct. */
static struct node *parse_list(bool nested)
{
    struct node *all = NULL;

    for (skip_newlines(); token != T_END && result == PARSE_DONE && !(nested && closes_list());
         skip_newlines()) {
        struct node *n = parse_and_or();

        if (token == T_AMP) {
            n = make(NODE_BACKGROUND, n, NULL);
            advance();
        } else if (token == T_SEMI) {
            advance();
        } else if (token != T_NEWLINE && token != T_END && !(nested && closes_list())) {
            unexpected();
        }
        all = all ? make(NODE_SEQUENCE, all, n) : n;
    }
    if (nested && (token == T_END || !all))
        unexpected();
    return all;
}

enum parse_result parse(const char *text, struct node **out)
{
    at = text;
    result = PARSE_DONE;
    advance();
    *out = parse_list(false);
    return result;
}
