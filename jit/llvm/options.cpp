/* SPDX-License-Identifier: Apache-2.0
 * See options.h. The process-wide state here: which options LLVM took, written once. */
#include "jit/llvm/options.h"

extern "C" {
#include "impl/base/hash.h"
#include "impl/base/log.h"
}

#include <llvm/Support/CommandLine.h>

#include <cstring>

namespace {

enum purpose { CORRECTNESS, SPEED };    /* of the code; of compilation */

const struct option {
    const char *name, *value;
    enum purpose purpose;
    enum cwj_target target;             /* what it is for; LLVM knows no targets here, so the others have it, too */
    const char *why;
} options[] = {
    /* LLVM would take all shared memory that a block may have (for 1024 threads, whatever the launch says), and a launch that asks for some of
     * it would fail. */
    { "disable-promote-alloca-to-lds", "true", CORRECTNESS, CWJ_TARGET_AMDGCN, "local arrays stay out of shared memory" },

    /* The scheduler asks of each two accesses, through the graph of the region, whether one needs the other, unless their number times
     * the region's length exceeds this, in thousands; then those that follow the same store may go together. */
    { "fast-cluster-threshold", "8", SPEED, CWJ_TARGET_AMDGCN, "clusters of memory accesses in long regions are found cheaply" },

    /* Variables in memory that a loop uses become registers where no other access may be to the same, which takes asking for each two.
     * Whoever made the PTX has done that: of 44 real modules none became other code. */
    { "disable-licm-promotion", "true", SPEED, CWJ_TARGET_AMDGCN, "PTX has its loops' variables in registers" },

    /* "CodeGen Prepare" looks through a whole function again when it has changed something, but through the changed blocks alone of a function
     * that is huge: all are. Of 44 real modules two became other code, one of them shorter. */
    { "cgpp-huge-func", "0", SPEED, CWJ_TARGET_AMDGCN, "CodeGen Prepare looks at changed blocks alone" },

    /* Copies are joined in the order in which blocks have them. Where those between blocks come first, all others of a sum that a loop goes on
     * with look through its whole range, of several hundred blocks in CUTLASS's kernels. A tenth fewer copies are left. */
    { "join-globalcopies", "false", SPEED, CWJ_TARGET_AMDGCN, "copies are joined in the order of blocks" },

    /* How many blocks the register allocator looks through for a region to keep a value's register in, for each of 256 registers. It then
     * keeps values in memory instead, hardly any in loops. */
    { "grow-region-complexity-budget", "10", SPEED, CWJ_TARGET_AMDGCN, "the register allocator splits live ranges within fewer blocks" },

    /* Instruction selection asks of each two accesses of a block whether they may be the same. The scheduler asks again, and orders them: the
     * code is as long as with the answers. X86 and NVPTX do not ask by default. */
    { "combiner-global-alias-analysis", "false", SPEED, CWJ_TARGET_AMDGCN, "instruction selection does without alias analysis" },

    /* The scheduler goes once more through regions that need many registers, with memory accesses apart, after which some kernels have a few
     * values less in memory, and others more. */
    { "amdgpu-disable-unclustered-high-rp-reschedule", "true", SPEED, CWJ_TARGET_AMDGCN, "high register pressure is scheduled for once" },
};
enum { OPTIONS = sizeof options / sizeof *options };

bool set[OPTIONS];

/* LLD resets all options that it finds, when it runs, to their defaults; so they are not found any more. LLVM asks of some whether they
 * were given: so they are, as by a command line, not made defaults. */
bool
give(const option &o)
{
    llvm::cl::Option *found = llvm::cl::getRegisteredOptions().lookup(o.name);
    if (!found || found->addOccurrence(0, o.name, o.value))
        return false;
    found->removeArgument();
    return true;
}

} // namespace

extern "C" void
cwj_options_set(void)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        set[i] = give(options[i]);
        if (!set[i])
            cw_warn("this LLVM does not take the option %s=%s (%s)", options[i].name, options[i].value, options[i].why);
    }
}

extern "C" const char *
cwj_options_missing(enum cwj_target target)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].purpose == CORRECTNESS && options[i].target == target && !set[i])
            return options[i].name;
    return nullptr;
}

extern "C" void
cwj_options_hash(struct cw_sha256 *s)
{
    for (const option &o : options) {
        cw_sha256_update(s, o.name, std::strlen(o.name) + 1);
        cw_sha256_update(s, o.value, std::strlen(o.value) + 1);
    }
}

extern "C" void
cwj_options_print(struct cw_buf *out)
{
    for (size_t i = 0; i < OPTIONS; i++)
        cw_buf_printf(out, "  -%s=%s (%s): %s%s\n", options[i].name, options[i].value, options[i].purpose == CORRECTNESS ? "correctness" : "speed",
                      options[i].why, set[i] ? "" : ": this LLVM has none such");
}
