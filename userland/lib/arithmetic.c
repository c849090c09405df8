/* Multiplication and division with longer results, as instructions of the VAX did them. */
#include <rtl/misc.h>
#include <ssdef.h>
#include <stdint.h>

int lib$ediv(const int *divisor, const __int64 *dividend, int *quotient, int *remainder)
{
    int64_t high;

    if (!divisor || !dividend || !quotient || !remainder)
        return SS$_ACCVIO;
    /* The least quadword has no positive counterpart: divided by -1 it overflows here already. */
    if (*divisor == 0 || (*divisor == -1 && *dividend == INT64_MIN)) {
        *quotient = (int)*dividend;
        *remainder = 0;
        return *divisor ? SS$_INTOVF : SS$_INTDIV;
    }
    high = *dividend / *divisor;
    if (high != (int32_t)high) {
        *quotient = (int)*dividend;
        *remainder = 0;
        return SS$_INTOVF;
    }
    *remainder = (int)(*dividend % *divisor);
    *quotient = (int)high;
    return SS$_NORMAL;
}

int lib$emul(const int *multiplier, const int *multiplicand, const int *addend, __int64 *product)
{
    if (!multiplier || !multiplicand || !addend || !product)
        return SS$_ACCVIO;
    *product = (int64_t)*multiplier * *multiplicand + *addend;
    return SS$_NORMAL;
}
