/* SPDX-License-Identifier: Apache-2.0
 * What nvcc adds to a program with relocatable device code: the registration waits until every file has announced itself, and counts
 * them. C++, because the counter's mangled name is what tells it. */
extern "C" {
struct __fatBinC_Wrapper_t { unsigned magic, version; const void *data, *list; };
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
int atexit(void (*)(void));
}

enum { FILES = 2 };
static const __fatBinC_Wrapper_t wrapper __attribute__((section(".nvFatBinSegment"), used)) = { 0x466243b1, 2, nullptr, nullptr };
static void **handle;

static void
unregister()
{
    __cudaUnregisterFatBinary(handle);
}

static void
__cudaRegisterLinkedBinary(const __fatBinC_Wrapper_t *, void (*callback)(void **), void *)
{
    static void (*callbacks[FILES + 1])(void **);
    static int __i = 0;
    callbacks[__i++] = callback;
    if (__i == FILES) {
        handle = __cudaRegisterFatBinary((void *)&wrapper);
        atexit(unregister);
        for (__i = 0; __i < FILES; ++__i)
            callbacks[__i](handle);
        __cudaRegisterFatBinaryEnd(handle);
    }
}

extern "C" void
__cudaRegisterLinkedBinary_link(const __fatBinC_Wrapper_t *w, void (*callback)(void **))
{
    __cudaRegisterLinkedBinary(w, callback, nullptr);
}
