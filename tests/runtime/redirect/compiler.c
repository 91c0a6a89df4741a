/* SPDX-License-Identifier: Apache-2.0
 * A libnvrtc.so.13 of our own (-DLIBRARY), and a program that loads it as clients do and asks for machine code. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef LIBRARY

/* Long enough for a jump, and not inlined into each other. */
static int
give(void *program, char *to, const char *what)
{
    strcpy(to, what);
    return program != NULL;
}

int nvrtcGetCUBINSize(void *p, size_t *size) { *size = sizeof "machine code"; return p != NULL; }
int nvrtcGetPTXSize(void *p, size_t *size) { *size = sizeof "PTX"; return p != NULL; }
int nvrtcGetCUBIN(void *p, char *to) { return give(p, to, "machine code"); }
int nvrtcGetPTX(void *p, char *to) { return give(p, to, "PTX"); }

#else

#include <dlfcn.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
    size_t size = 0;
    char text[32] = "";
    void *l = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!l)
        return 2;
    int (*get_size)(void *, size_t *) = (int (*)(void *, size_t *))(size_t)dlsym(l, "nvrtcGetCUBINSize");
    int (*get)(void *, char *) = (int (*)(void *, char *))(size_t)dlsym(l, "nvrtcGetCUBIN");
    void *driver = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;         /* a first call into the driver, with NVRTC loaded */
    int (*init)(unsigned) = driver ? (int (*)(unsigned))(size_t)dlsym(driver, "cuInit") : NULL;
    if (init && init(0))
        return 3;
    if (!get_size || !get || get_size(NULL, &size) || get(NULL, text))
        return 4;
    printf("%zu %s\n", size, text);
    return 0;
}

#endif
