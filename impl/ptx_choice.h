/* SPDX-License-Identifier: Apache-2.0
 * Which of the PTX texts for several architectures a device takes. */
#ifndef CW_PTX_CHOICE_H
#define CW_PTX_CHOICE_H

#include <stdbool.h>

/* Whether a device of compute capability `cc` (80) runs PTX for sm_SM with that suffix ('a': this architecture alone; 'f': its family; 0). */
static inline bool
cw_ptx_fits(unsigned cc, unsigned sm, char suffix)
{
    return suffix == 'a' ? sm == cc : suffix == 'f' ? sm <= cc && sm / 10 == cc / 10 : sm <= cc;
}

/* Whether PTX for `sm` is taken rather than that for `old`: it runs on the device and is newer; where none runs, the oldest is tried. */
static inline bool
cw_ptx_better(bool fits, unsigned sm, bool old_fits, unsigned old)
{
    if (fits != old_fits)
        return fits;
    return fits ? sm > old : sm < old;
}

#endif
