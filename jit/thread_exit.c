/* SPDX-License-Identifier: Apache-2.0
 * The destructors of C++'s thread-local variables. The C library registers them under the dynamic loader's lock, which a library's constructor holds while it
 * launches a kernel and waits for the compiling thread. The lock is for counting who uses a library; this one is never unloaded. This definition is
 * hidden, so that it serves the calls of this library alone. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct variable {
    struct variable *older;
    void (*destroy)(void *object);
    void *object;
};

static pthread_key_t newest;            /* of this thread */
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
destroy_all(void *list)
{
    for (struct variable *v = list, *older; v; v = older) {
        older = v->older;
        v->destroy(v->object);
        free(v);
    }
}

static void
make_key(void)
{
    has_key = !pthread_key_create(&newest, destroy_all);
}

int __cxa_thread_atexit(void (*destroy)(void *), void *object, void *library);

/* Without memory the variable is not destroyed: the C library would end the process. */
int
__cxa_thread_atexit(void (*destroy)(void *), void *object, void *library)
{
    (void)library;
    pthread_once(&once, make_key);
    struct variable *v = has_key ? malloc(sizeof *v) : NULL;
    if (!v)
        return 0;
    *v = (struct variable){ pthread_getspecific(newest), destroy, object };
    if (pthread_setspecific(newest, v))
        free(v);
    return 0;
}
