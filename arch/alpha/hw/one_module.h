/*
 * Included before every kernel source by the compiler's command line (Makefile).
 *
 * The kernel is one module that nothing is linked to at run time, so every function and variable
 * is hidden. The compiler then knows that all of them share one GP and that each function is near:
 * a call is a `bsr` behind the callee's GP load, instead of a load of the address, a `jsr`, two
 * instructions in the callee and two after it that compute GP. That is five instructions for each
 * call; -fvisibility alone would not do, as it does not apply to declarations.
 */
#ifndef __ASSEMBLER__
#pragma GCC visibility push(hidden)
#endif
