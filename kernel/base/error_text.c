/* Texts of those error numbers that the start of a program, or a mount at boot, can return. */
#include "kernel/base/error_text.h"

#include "kernel/base/errno.h"
#include "kernel/base/types.h"

const char *error_text(int error)
{
    switch (error) {
    case EPERM:
        return "operation not permitted";
    case ENOENT:
        return "no such file or directory";
    case EIO:
        return "input/output error";
    case E2BIG:
        return "argument list too long";
    case ENOEXEC:
        return "not a program for this machine";
    case ENOMEM:
        return "not enough memory";
    case EACCES:
        return "permission denied";
    case EFAULT:
        return "bad address";
    case ENOTDIR:
        return "not a directory";
    case EISDIR:
        return "is a directory";
    case EINVAL:
        return "invalid argument";
    case ENFILE:
    case EMFILE:
        return "too many open files";
    case ELOOP:
        return "too many levels of symbolic links";
    case ENAMETOOLONG:
        return "file name too long";
    case EROFS:
        return "nothing can be written there";
    case EUCLEAN:
        return "the file system is damaged";
    default:
        return NULL;
    }
}
