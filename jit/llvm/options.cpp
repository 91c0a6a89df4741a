/* SPDX-License-Identifier: Apache-2.0
 * See options.h. Process-wide state: the options that LLVM accepted, written once. */
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
    enum cwj_target target;             /* the target that needs it; LLVM's options are global, so the others get it, too */
    const char *why;
} options[] = {
    /* Otherwise LLVM takes all the shared memory that a block may have (assuming 1024 threads, whatever the launch says), and a launch that
     * requests dynamic shared memory fails. */
    { "disable-promote-alloca-to-lds", "true", CORRECTNESS, CWJ_TARGET_AMDGCN, "local arrays stay out of shared memory" },

    /* The scheduler tests each pair of accesses for a dependence, through the graph of the region, unless their number times the region's
     * length exceeds this (in thousands). Above it, accesses that follow the same store may be clustered. */
    { "fast-cluster-threshold", "8", SPEED, CWJ_TARGET_AMDGCN, "clusters of memory accesses in long regions are found cheaply" },

    /* The code generator takes address arithmetic apart again (constant offsets, strength reduction of straight-line code, n-ary reassociation, and
     * three runs of early CSE). The compiler of the PTX has done so for its own code generator: most objects are the same without. */
    { "amdgpu-scalar-ir-passes", "false", SPEED, CWJ_TARGET_AMDGCN, "PTX has its address arithmetic split already" },

    /* For loops that access arrays of a thread, LLVM's AMD target raises the threshold of full unrolling from 300 to 2,700 so that the arrays may
     * become registers. Where that is possible, the compiler of the PTX has done it; the arrays left would get one block for each step. */
    { "amdgpu-unroll-threshold-private", "300", SPEED, CWJ_TARGET_AMDGCN, "loops over local arrays are unrolled no further than others" },

    /* LICM promotes variables in memory that a loop uses to registers, if no other access aliases them, which takes a query per pair. The
     * compiler of the PTX has done that already: none of 44 real modules changed. */
    { "disable-licm-promotion", "true", SPEED, CWJ_TARGET_AMDGCN, "PTX has its loops' variables in registers" },

    /* CodeGenPrepare rescans a whole function after each change, but only the changed blocks of a function above this size: treat every
     * function so. Of 44 real modules two changed, and one of them became shorter. */
    { "cgpp-huge-func", "0", SPEED, CWJ_TARGET_AMDGCN, "CodeGen Prepare looks at changed blocks alone" },

    /* Join copies in block order. If copies between blocks come first, all others of a sum that a loop carries search its whole live range,
     * several hundred blocks in CUTLASS's kernels. A tenth fewer copies are left. */
    { "join-globalcopies", "false", SPEED, CWJ_TARGET_AMDGCN, "copies are joined in the order of blocks" },

    /* The number of blocks that the register allocator searches, for each of 256 registers, for a region in which to keep a value in a
     * register. Beyond it, it spills; hardly any spills are in loops. */
    { "grow-region-complexity-budget", "10", SPEED, CWJ_TARGET_AMDGCN, "the register allocator splits live ranges within fewer blocks" },

    /* Instruction selection queries alias analysis for each pair of accesses of a block. Without, code is no longer: the scheduler queries
     * it as well, and reorders accesses. X86 and NVPTX do not query by default. */
    { "combiner-global-alias-analysis", "false", SPEED, CWJ_TARGET_AMDGCN, "instruction selection does without alias analysis" },

    /* The scheduler reschedules regions of high register pressure without clustering, after which some kernels spill a few values less, and
     * others more. */
    { "amdgpu-disable-unclustered-high-rp-reschedule", "true", SPEED, CWJ_TARGET_AMDGCN, "high register pressure is scheduled for once" },
};
enum { OPTIONS = sizeof options / sizeof *options };

bool set[OPTIONS];

/* LLD resets all options that it finds to their defaults, so hide ours from it. Some options test whether they were given on the command
 * line, so set an occurrence, not a default. */
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
