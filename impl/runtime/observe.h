/* SPDX-License-Identifier: Apache-2.0
 * Who records the Runtime's calls. When CUDAWAY_TRACE_SOCKET is set, the first call of an observed function loads
 * CW_RUNTIME_OBSERVER_FILE from the folder of libcudart and looks up CW_RUNTIME_OBSERVER, a struct cw_runtime_observer; the file
 * stays loaded. The Runtime's calls to the driver lie between before and after, and are the tracer's own business. */
#ifndef CW_RUNTIME_OBSERVE_H
#define CW_RUNTIME_OBSERVE_H

#define CW_RUNTIME_OBSERVER_FILE    "trace/libcudaway-tp.so"
#define CW_RUNTIME_OBSERVER         "cw_tp_runtime"
#define CW_RUNTIME_OBSERVER_VERSION 1u

struct cw_runtime_observer {
    unsigned version;
    const unsigned *functions;   /* how many the model has that both sides are generated from */
    /* Every call of a function that returns a cudaError_t, in the application's thread, without a lock of the Runtime. `function` is
     * its index in the model; args has the address of each parameter, in the order of the prototype. */
    void (*before)(unsigned function, void *const *args);
    void (*after)(unsigned function, void *const *args, int result);
};

#endif
