/* SPDX-License-Identifier: Apache-2.0
 * Prints what cuInit returns. */
#include <dlfcn.h>
#include <stdio.h>

int
main(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
    if (!init) {
        printf("%s\n", dlerror());
        return 1;
    }
    printf("cuInit %d\n", init(0));
    return 0;
}
