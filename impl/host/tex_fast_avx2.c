/* SPDX-License-Identifier: Apache-2.0
 * tex_fast.c once more, compiled for CPUs with AVX2 (see CMakeLists.txt); the results are the same to the bit. */
#define cwh_tex_fast cwh_tex_fast_avx2
#include "impl/host/tex_fast.c"
