/* SPDX-License-Identifier: Apache-2.0
 * loader LIBRARY TIMES [CALLS]: loads the library, calls its entry, unloads it, as many times. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (int n = atoi(argv[2]); n > 0; n--) {
        void *lib = dlopen(argv[1], RTLD_NOW);
        int (*entry)(int, char **) = lib ? (int (*)(int, char **))dlsym(lib, "entry") : NULL;
        if (!entry) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int e = entry(argc - 2, argv + 2);
        if (e || dlclose(lib))
            return 1;
    }
    return 0;
}
