/* SPDX-License-Identifier: Apache-2.0
 * matrix_dot.c once more, compiled for CPUs with AVX2 (see CMakeLists.txt); the results are the same to the bit. */
#define cwh_dot_all cwh_dot_all_avx2
#include "impl/host/matrix_dot.c"
