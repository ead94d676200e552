/*
 * Readable names of C++ symbols: compilers write namespaces, template arguments and parameters of a
 * function into its symbol (the Itanium C++ ABI), which GPU profilers report as the kernel's name.
 */
#ifndef KYMO_MODEL_MANGLED_H
#define KYMO_MODEL_MANGLED_H

#include "base/base.h"

enum { MANGLED_MAX = 1024 }; /* bytes of a readable name; longer ones end with "…" */

/* Writes the function's name with its template arguments, without result and parameters:
 * "at::native::add<float, 4>" of _ZN2at6native3addIfLi4EEEvPT_. Arguments it cannot read are "…".
 * Returns the size; 0 if the text is not the symbol of a function. */
size_t mangled_read(struct text symbol, char name[static MANGLED_MAX]);

#endif
