/* SPDX-License-Identifier: Apache-2.0
 * What libcudart gets of the provider (impl/runtime/observe.h): its calls become events of the provider cudaway_runtime. */
#include "impl/runtime/observe.h"
#include "tracer/tp/tp.h"

#include <pthread.h>

static void
use(unsigned function)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&cw_tp_runtime_known[function], memory_order_relaxed))
        cw_tp_register(cw_tp_runtime_all, 2 * function, 2);
    atomic_store_explicit(&cw_tp_runtime_known[function], true, memory_order_release);
    pthread_mutex_unlock(&lock);
}

static void
before(unsigned function, void *const *args)
{
    if (!atomic_load_explicit(&cw_tp_runtime_known[function], memory_order_acquire))
        use(function);
    cw_tp_runtime_entry[function](&(struct cw_call){ .index = function, .args = args });
}

static void
after(unsigned function, void *const *args, int result)
{
    cw_tp_runtime_exit[function](&(struct cw_call){ .index = function, .args = args, .result = (CUresult)result });
}

__attribute__((visibility("default"))) extern const struct cw_runtime_observer cw_tp_runtime;
const struct cw_runtime_observer cw_tp_runtime = {
    .version = CW_RUNTIME_OBSERVER_VERSION,
    .functions = &cw_tp_runtime_count,
    .before = before,
    .after = after,
};
