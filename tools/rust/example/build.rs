// SPDX-License-Identifier: Apache-2.0
fn main() {
    // PTX, which the driver compiles for its device, and code for three AMD processors, which needs no compiler when the program runs.
    cudaway_build::Kernels::new("kernels/scale.cu").include("kernels").compile("portable");
    cudaway_build::Kernels::new("kernels/scale.cu").include("kernels").targets(&["gfx1030", "gfx1100", "gfx90a"]).compile("native");
}
