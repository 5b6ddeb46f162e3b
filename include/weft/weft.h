/* weft: everything at once. Each subject also has a header of its own beside this one. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/errors.h>
#include <weft/synch2.h>
#include <weft/version.h>

#endif
