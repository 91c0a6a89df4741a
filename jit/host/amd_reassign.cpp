/* SPDX-License-Identifier: Apache-2.0
 * Where LLVM's register allocator has no register for a value it looks for one to take away from others, and asks of each value in each of them whether
 * that one could go to any other register. AMD's have 256, and where none is free the answer is no, after 256 searches: two thirds of the time of
 * kernels that spill. The code is the same without the question, or as long (docs/performance.md). LLVM asks it where the processor's description says so, in a virtual
 * function that AMD's description leaves as it is, and that no option overrides. So descriptions get a copy of their table of virtual functions with another one in
 * that place. */
#include "jit/host/amd_reassign.h"

#include <cstdint>
#include <cstring>

namespace {

#ifdef __x86_64__
/* Of a table of virtual functions: two entries in front of what objects point to, and as many behind as a description may have; the next table begins
 * with the place of a base in its object, which is negative or 0. More than that is copied in vain, less never. */
struct table {
    enum { FRONT = 2, MOST = 512 };
    const void *entry[FRONT + MOST] = {};

    explicit
    table(void *const *from)
    {
        std::memcpy(entry, from - FRONT, FRONT * sizeof *entry);
        for (unsigned i = 0; i < MOST && (intptr_t)from[i] > 0; i++)
            entry[FRONT + i] = from[i];
    }
};

bool
never(const llvm::TargetSubtargetInfo *, llvm::CodeGenOptLevel)
{
    return false;
}

/* The Itanium C++ ABI: a pointer to a virtual member function is its offset in the table, and one. */
unsigned
place()
{
    bool (llvm::TargetSubtargetInfo::*function)(llvm::CodeGenOptLevel) const = &llvm::TargetSubtargetInfo::enableRALocalReassignment;
    uintptr_t offset;
    std::memcpy(&offset, &function, sizeof offset);
    return offset & 1 ? unsigned(offset / sizeof(void *)) : unsigned(table::MOST);
}
#endif

} // namespace

void
cwj_amd_no_reassignment(const llvm::TargetSubtargetInfo &processor)
{
#ifdef __x86_64__
    void *const *has;
    std::memcpy(&has, static_cast<const void *>(&processor), sizeof has);
    static void *const *const original = has;   /* the class of AMD's descriptions has one table */
    static const table changed = [] {
        table t(original);
        if (place() < table::MOST && t.entry[table::FRONT + place()])
            t.entry[table::FRONT + place()] = reinterpret_cast<const void *>(never);
        return t;
    }();
    const void *const *wanted = changed.entry + table::FRONT;
    if (has == original)
        std::memcpy(static_cast<void *>(const_cast<llvm::TargetSubtargetInfo *>(&processor)), &wanted, sizeof wanted);
#else
    (void)processor;
#endif
}
