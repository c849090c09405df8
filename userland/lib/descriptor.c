/*
 * Descriptors. Both forms are told apart as the kernel does: by MBO and MBMO. A varying string is a
 * word with the current length and behind it the characters, as many as the descriptor says at
 * most. A dynamic string is memory of malloc(), or nothing at length 0.
 */
#include "descriptor.h"

#include <descrip.h>
#include <libdef.h>
#include <ssdef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool mega$is_64(const void *descriptor)
{
    const struct dsc64$descriptor *d = descriptor;

    return d->dsc64$w_mbo == 1 && d->dsc64$l_mbmo == -1;
}

/* Class and extent as the descriptor has them. Of an array, whose length is that of an element, the
 * extent is its size. The long form of its descriptor is not defined here: a class of none. */
static int open_descriptor(const void *descriptor, struct text *text)
{
    const struct dsc64$descriptor *d64 = descriptor;
    const struct dsc$descriptor *d = descriptor;

    const struct dsc$descriptor_a *array = descriptor;
    bool is_array = d->dsc$b_class == DSC$K_CLASS_A || d->dsc$b_class == DSC$K_CLASS_NCA;

    if (mega$is_64(descriptor)) {
        *text = (struct text){d64->dsc64$pq_pointer, d64->dsc64$q_length};
        return is_array ? -1 : d64->dsc64$b_class;
    }
    *text = (struct text){d->dsc$a_pointer, is_array ? array->dsc$l_arsize : d->dsc$w_length};
    return d->dsc$b_class;
}

bool mega$buffer_of(const void *descriptor, struct text *text)
{
    if (!descriptor)
        return false;
    switch (open_descriptor(descriptor, text)) {
    case DSC$K_CLASS_VS:
        if (text->at)
            text->at += sizeof(uint16_t);
        break;
    case DSC$K_CLASS_Z:
    case DSC$K_CLASS_S:
    case DSC$K_CLASS_D:
    case DSC$K_CLASS_A:
    case DSC$K_CLASS_SD:
    case DSC$K_CLASS_NCA:
        break;
    default:
        return false;
    }
    return text->at || text->length == 0;
}

bool mega$text_of(const void *descriptor, struct text *text)
{
    uint16_t current;
    struct text whole;

    if (!mega$buffer_of(descriptor, text))
        return false;
    if (text->at && open_descriptor(descriptor, &whole) == DSC$K_CLASS_VS) {
        memcpy(&current, whole.at, sizeof(current));
        if (current < text->length)
            text->length = current;
    }
    return true;
}

int mega$text_resize(void *descriptor, size_t length)
{
    struct dsc64$descriptor *d64 = descriptor;
    struct dsc$descriptor *d = descriptor;
    struct text old;
    char *memory = NULL;

    if (!descriptor || open_descriptor(descriptor, &old) != DSC$K_CLASS_D)
        return LIB$_INVSTRDES;
    if (length == old.length && (old.at || length == 0))
        return SS$_NORMAL;
    if (!mega$is_64(descriptor) && length > UINT16_MAX)
        return LIB$_INVSTRDES;
    if (length && !(memory = malloc(length)))
        return LIB$_INSVIRMEM;
    free(old.at);
    if (mega$is_64(descriptor)) {
        d64->dsc64$pq_pointer = memory;
        d64->dsc64$q_length = length;
    } else {
        d->dsc$a_pointer = memory;
        d->dsc$w_length = (unsigned short)length;
    }
    return SS$_NORMAL;
}

static int store_dynamic(void *descriptor, const char *from, size_t length, size_t *stored)
{
    struct text text;
    char *copy = NULL;
    int status;

    /* The source may be a part of the destination, whose memory goes away. */
    if (length) {
        if (!(copy = malloc(length)))
            return LIB$_INSVIRMEM;
        memcpy(copy, from, length);
    }
    if ((status = mega$text_resize(descriptor, length)) == SS$_NORMAL) {
        open_descriptor(descriptor, &text);
        if (length)
            memcpy(text.at, copy, length);
        *stored = length;
    }
    free(copy);
    return status;
}

int mega$text_store(void *descriptor, const char *from, size_t length, size_t *stored)
{
    struct text to, whole;
    uint16_t current;
    size_t n;
    int class;

    *stored = 0;
    if (!mega$buffer_of(descriptor, &to))
        return LIB$_INVSTRDES;
    class = open_descriptor(descriptor, &whole);
    if (class == DSC$K_CLASS_D)
        return store_dynamic(descriptor, from, length, stored);
    n = length < to.length ? length : to.length;
    if (n)
        memmove(to.at, from, n);
    if (class == DSC$K_CLASS_VS) {
        current = (uint16_t)n;
        if (whole.at)
            memcpy(whole.at, &current, sizeof(current));
    } else if (n < to.length) {
        memset(to.at + n, ' ', to.length - n);
    }
    *stored = n;
    return n < length ? LIB$_STRTRU : SS$_NORMAL;
}
