/* SPDX-License-Identifier: Apache-2.0
 * The driver inside an application that has another LLVM: a program over libLLVM's C interface, or Mesa's llvmpipe, which compiles shaders.
 *   inside DRIVER ORDER OTHER      DRIVER: libcuda.so.1; ORDER: before, after, both; OTHER: a libLLVM, "mesa", or "none"
 *   inside DRIVER exit             the process ends while one of its threads compiles: its status is 7
 * The other one works before the driver is loaded, after it worked, or both at the same time; results of both are checked, and
 * that the process is as it was: signal handlers, signal mask, environment, umask, locale, floating-point environment, folder, new-handler. */
#define _GNU_SOURCE
#if __has_include(<EGL/egl.h>) && __has_include(<GLES3/gl3.h>)
#include <EGL/egl.h>
#include <GLES3/gl3.h>
#define HAVE_EGL
#endif
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned failures;
static volatile bool ending;    /* the process is: the driver refuses calls */

static void
expect(bool ok, const char *what)
{
    if (!ok && !ending) {
        printf("FAIL %s\n", what);
        failures++;
    }
}

static void *
open_library(const char *name, int flags)
{
    void *lib = dlopen(name, RTLD_NOW | flags);
    if (!lib) {
        printf("FAIL %s\n", dlerror());
        exit(1);
    }
    return lib;
}

/* `name` of library `lib` into the pointer to a function `f`. */
static void
find(void *lib, const char *name, void *f)
{
    void *at = dlsym(lib, name);
    if (!at) {
        printf("FAIL %s\n", dlerror());
        exit(1);
    }
    memcpy(f, &at, sizeof at);
}

/* ---- the driver ---------------------------------------------------------------------------------------------------------------- */

static const char kernel_text[] =
    ".version 7.1\n.target sm_80\n.address_size 64\n"
    ".visible .entry k%d(.param .u64 data)\n"
    "{ .reg .b64 p, q; .reg .b32 t, v; ld.param.u64 p, [data]; mov.u32 t, %%tid.x; mul.wide.u32 q, t, 4; add.u64 p, p, q;\n"
    "mad.lo.u32 v, t, t, %d; st.global.u32 [p], v; ret; }\n";

static struct {
    int (*init)(unsigned);
    int (*device)(int *, int);
    int (*retain)(void **, int);
    int (*set)(void *);
    int (*load)(void **, const void *);
    int (*unload)(void *);
    int (*function)(void **, void *, const char *);
    int (*alloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*get)(void *, uint64_t, size_t);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
} cu;
static void *context;

static void
load_driver(const char *path)
{
    void *lib = open_library(path, RTLD_LOCAL);
    int device;
    find(lib, "cuInit", &cu.init);
    find(lib, "cuDeviceGet", &cu.device);
    find(lib, "cuDevicePrimaryCtxRetain", &cu.retain);
    find(lib, "cuCtxSetCurrent", &cu.set);
    find(lib, "cuModuleLoadData", &cu.load);
    find(lib, "cuModuleUnload", &cu.unload);
    find(lib, "cuModuleGetFunction", &cu.function);
    find(lib, "cuMemAlloc_v2", &cu.alloc);
    find(lib, "cuMemFree_v2", &cu.free);
    find(lib, "cuMemcpyDtoH_v2", &cu.get);
    find(lib, "cuLaunchKernel", &cu.launch);
    expect(!cu.init(0) && !cu.device(&device, 0) && !cu.retain(&context, device), "a CUDA context");
}

/* Compile and run a kernel that no run before had. */
static void
run_kernel(int n)
{
    char text[1024], name[16];
    void *module = NULL, *function = NULL;
    uint64_t memory = 0;
    uint32_t data[40] = { 0 };
    snprintf(text, sizeof text, kernel_text, n, n);
    snprintf(name, sizeof name, "k%d", n);
    bool ok = !cu.set(context) && !cu.load(&module, text) && !cu.function(&function, module, name) && !cu.alloc(&memory, sizeof data);
    ok = ok && !cu.launch(function, 1, 1, 1, 40, 1, 1, 0, NULL, (void *[]){ &memory }, NULL) && !cu.get(data, memory, sizeof data);
    for (uint32_t i = 0; i < 40 && ok; i++)
        ok = data[i] == i * i + (uint32_t)n;
    expect(ok, "a kernel's result");
    if (memory)
        cu.free(memory);
    if (module)
        cu.unload(module);
}

/* ---- a program over libLLVM ------------------------------------------------------------------------------------------------------- */

static struct {
    void *lib;
    void *(*buffer)(const char *, size_t, const char *);
    void *(*context)(void);
    int (*parse)(void *, void *, void **, char **);
    int (*jit)(void **, void *, void *, size_t, char **);
    uint64_t (*address)(void *, const char *);
    void (*dispose)(void *);
    void (*dispose_context)(void *);
} llvm;

static void
load_llvm(const char *path)
{
    void (*init)(void);
    static const char *const inits[] = { "LLVMInitializeX86TargetInfo", "LLVMInitializeX86Target", "LLVMInitializeX86TargetMC",
                                         "LLVMInitializeX86AsmPrinter", "LLVMInitializeX86AsmParser", "LLVMLinkInMCJIT" };
    llvm.lib = open_library(path, RTLD_GLOBAL);         /* for all to see: the worst case */
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        find(llvm.lib, inits[i], &init);
        init();
    }
    find(llvm.lib, "LLVMCreateMemoryBufferWithMemoryRangeCopy", &llvm.buffer);
    find(llvm.lib, "LLVMContextCreate", &llvm.context);
    find(llvm.lib, "LLVMParseIRInContext", &llvm.parse);
    find(llvm.lib, "LLVMCreateMCJITCompilerForModule", &llvm.jit);
    find(llvm.lib, "LLVMGetFunctionAddress", &llvm.address);
    find(llvm.lib, "LLVMDisposeExecutionEngine", &llvm.dispose);
    find(llvm.lib, "LLVMContextDispose", &llvm.dispose_context);
}

/* A function compiled and called. */
static void
run_llvm(int n)
{
    char text[512];
    int size = snprintf(text, sizeof text, "define i64 @f(i64 %%x) {\nentry:\n  br label %%l\nl:\n  %%i = phi i64 [ 0, %%entry ], [ %%j, %%l ]\n"
                        "  %%s = phi i64 [ %d, %%entry ], [ %%t, %%l ]\n  %%t = add i64 %%s, %%i\n  %%j = add i64 %%i, 1\n"
                        "  %%c = icmp ult i64 %%j, %%x\n  br i1 %%c, label %%l, label %%e\ne:\n  ret i64 %%t\n}\n", n);
    void *c = llvm.context(), *m = NULL, *engine = NULL;
    char *message = NULL;
    bool ok = !llvm.parse(c, llvm.buffer(text, (size_t)size, "f"), &m, &message) && !llvm.jit(&engine, m, NULL, 0, &message);
    uint64_t at = ok ? llvm.address(engine, "f") : 0;
    uint64_t (*f)(uint64_t) = (uint64_t (*)(uint64_t))(uintptr_t)at;
    expect(f && f(10) == 45 + (uint64_t)n, "a function of the other LLVM's");
    if (engine)
        llvm.dispose(engine);
    llvm.dispose_context(c);
}

/* ---- Mesa ---------------------------------------------------------------------------------------------------------------------------- */

#ifdef HAVE_EGL

static struct {
    EGLDisplay display;
    EGLContext context;
    void *(*get)(const char *);
    EGLBoolean (*current)(EGLDisplay, EGLSurface, EGLSurface, EGLContext);
} egl;

#define GL(name) __typeof__(gl##name) *name; *(void **)&name = egl.get("gl" #name); if (!name) { expect(false, "gl" #name); return; }

static void
load_mesa(void)
{
    enum { SURFACELESS = 0x31dd };
    setenv("LIBGL_ALWAYS_SOFTWARE", "1", 1);
    setenv("GALLIUM_DRIVER", "llvmpipe", 1);
    void *lib = open_library("libEGL.so.1", RTLD_GLOBAL);
    EGLDisplay (*display)(EGLenum, void *, const EGLAttrib *);
    EGLBoolean (*init)(EGLDisplay, EGLint *, EGLint *), (*bind)(EGLenum), (*choose)(EGLDisplay, const EGLint *, EGLConfig *, EGLint, EGLint *);
    EGLContext (*create)(EGLDisplay, EGLConfig, EGLContext, const EGLint *);
    find(lib, "eglGetPlatformDisplay", &display);
    find(lib, "eglInitialize", &init);
    find(lib, "eglBindAPI", &bind);
    find(lib, "eglChooseConfig", &choose);
    find(lib, "eglCreateContext", &create);
    find(lib, "eglMakeCurrent", &egl.current);
    find(lib, "eglGetProcAddress", &egl.get);
    EGLConfig config;
    EGLint n = 0;
    egl.display = display(SURFACELESS, NULL, NULL);
    bool ok = init(egl.display, NULL, NULL) && bind(EGL_OPENGL_ES_API) &&
              choose(egl.display, (EGLint[]){ EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE }, &config, 1, &n) && n;
    egl.context = ok ? create(egl.display, config, EGL_NO_CONTEXT, (EGLint[]){ EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE }) : NULL;
    if (!egl.context) {
        printf("skipped: Mesa has no software device here\n");
        exit(77);
    }
}

/* A shader that no run before had, drawn over 16 pixels. */
static void
run_mesa(int n)
{
    static const char vertex[] = "#version 300 es\nvoid main() { gl_Position = vec4(gl_VertexID == 1 ? 3. : -1., gl_VertexID == 2 ? 3. : -1., 0., 1.); }";
    char fragment[256];
    const char *texts[] = { vertex, fragment };
    snprintf(fragment, sizeof fragment, "#version 300 es\nprecision highp float;\nout vec4 c;\n"
             "void main() { float s = 0.; for (int i = 0; i < int(gl_FragCoord.x) + 1; i++) s += float(%d); c = vec4(s / 255., 0, 0, 1); }", n % 50);
    if (!egl.current(egl.display, EGL_NO_SURFACE, EGL_NO_SURFACE, egl.context)) {
        expect(false, "eglMakeCurrent");
        return;
    }
    GL(GetString)
    GL(CreateProgram)
    GL(CreateShader)
    GL(ShaderSource)
    GL(CompileShader)
    GL(AttachShader)
    GL(LinkProgram)
    GL(UseProgram)
    GL(GenRenderbuffers)
    GL(BindRenderbuffer)
    GL(RenderbufferStorage)
    GL(GenFramebuffers)
    GL(BindFramebuffer)
    GL(FramebufferRenderbuffer)
    GL(Viewport)
    GL(DrawArrays)
    GL(ReadPixels)
    expect(strstr((const char *)GetString(GL_RENDERER), "llvmpipe") != NULL, "the renderer is llvmpipe");
    GLuint program = CreateProgram(), buffer, frame;
    for (unsigned i = 0; i < 2; i++) {
        GLuint shader = CreateShader(i ? GL_FRAGMENT_SHADER : GL_VERTEX_SHADER);
        ShaderSource(shader, 1, &texts[i], NULL);
        CompileShader(shader);
        AttachShader(program, shader);
    }
    LinkProgram(program);
    UseProgram(program);
    GenRenderbuffers(1, &buffer);
    BindRenderbuffer(GL_RENDERBUFFER, buffer);
    RenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 4, 4);
    GenFramebuffers(1, &frame);
    BindFramebuffer(GL_FRAMEBUFFER, frame);
    FramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffer);
    Viewport(0, 0, 4, 4);
    DrawArrays(GL_TRIANGLES, 0, 3);
    uint8_t pixels[4][4][4] = { 0 };
    ReadPixels(0, 0, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    for (int x = 0; x < 4; x++)
        expect(pixels[2][x][0] == n % 50 * (x + 1), "a pixel of the other LLVM's");
    egl.current(egl.display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

#else

static void
load_mesa(void)
{
    printf("skipped: the headers of EGL and OpenGL ES were not there\n");
    exit(77);
}

static void
run_mesa(int n)
{
    (void)n;
}

#endif

/* ---- the process --------------------------------------------------------------------------------------------------------------------- */

struct state {
    struct sigaction action[65];
    sigset_t mask;
    fenv_t floating;
    mode_t umask;
    char locale[256], folder[4096], environment[65536];
    void *new_handler;
};

static void
look(struct state *s)
{
    extern char **environ;
    size_t n = 0;
    memset(s, 0, sizeof *s);
    for (int i = 1; i < 65; i++)
        sigaction(i, NULL, &s->action[i]);
    pthread_sigmask(SIG_SETMASK, NULL, &s->mask);
    fegetenv(&s->floating);
    s->umask = umask(0);
    umask(s->umask);
    snprintf(s->locale, sizeof s->locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(s->folder, sizeof s->folder))
        s->folder[0] = 0;
    for (char **e = environ; *e && n + strlen(*e) + 2 < sizeof s->environment; e++)
        n += (size_t)sprintf(s->environment + n, "%s\n", *e);
    void *(*get)(void);
    *(void **)&get = dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv");     /* of the C++ library that the other LLVM brought, if any */
    s->new_handler = get ? get() : NULL;
}

static void
compare(const struct state *a, const struct state *b)
{
    for (int i = 1; i < 65; i++) {
        Dl_info info;
        if (a->action[i].sa_handler == b->action[i].sa_handler && a->action[i].sa_flags == b->action[i].sa_flags)
            continue;
        /* For faults of kernels that run in this process: the host device's, and those of the emulator that stands in for HIP (docs/faults.md).
         * The compiler has none. */
        bool fault = i == SIGSEGV || i == SIGBUS || i == SIGFPE || i == SIGILL;
        const char *from = dladdr((void *)b->action[i].sa_handler, &info) ? info.dli_fname : "?";
        bool ours = fault && (strstr(from, "/libcuda.so") || strstr(from, "/libcudaway-gfxemu.so"));
        if (!ours)
            printf("signal %d: a handler of %s\n", i, from);
        expect(ours, "signal handlers");
    }
    expect(!memcmp(&a->mask, &b->mask, sizeof a->mask), "signal mask");
    expect(a->floating.__control_word == b->floating.__control_word && (a->floating.__mxcsr & 0xffc0) == (b->floating.__mxcsr & 0xffc0),
           "floating-point environment");
    expect(a->umask == b->umask, "umask");
    expect(!strcmp(a->locale, b->locale), "locale");
    expect(!strcmp(a->folder, b->folder), "current folder");
    expect(!strcmp(a->environment, b->environment), "environment");
    expect(a->new_handler == b->new_handler, "new-handler");
}

/* ---- orders --------------------------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 6 };
static void (*other_run)(int n);

static void
others(int from)
{
    for (int i = 0; i < ROUNDS && other_run; i++)
        other_run(from + i);
}

static void *
others_thread(void *unused)
{
    (void)unused;
    others(300);
    return NULL;
}

static void
kernels(int from)
{
    for (int i = 0; i < ROUNDS; i++)
        run_kernel(from + i);
}

static void
load_other(const char *name)
{
    if (!strcmp(name, "none"))
        return;
    other_run = strcmp(name, "mesa") ? run_llvm : run_mesa;
    if (other_run == run_mesa)
        load_mesa();
    else
        load_llvm(name);
}

static void *
compile_for_ever(void *unused)
{
    (void)unused;
    for (int n = 1000;; n++)
        run_kernel(n);
    return NULL;
}

int
main(int argc, char **argv)
{
    static struct state first, last;
    if (argc == 3 && !strcmp(argv[2], "exit")) {
        pthread_t thread;
        load_driver(argv[1]);
        pthread_create(&thread, NULL, compile_for_ever, NULL);
        usleep(200000 + (unsigned)getpid() % 16 * 5000);
        ending = true;
        exit(failures ? 1 : 7);
    }
    if (argc != 4) {
        fprintf(stderr, "usage: inside DRIVER before|after|both OTHER; inside DRIVER exit\n");
        return 2;
    }
    const bool before = !strcmp(argv[2], "before"), both = !strcmp(argv[2], "both");
    setlocale(LC_ALL, "C.UTF-8");
    umask(027);
    if (before || both)
        load_other(argv[3]);
    if (before)
        others(100);
    look(&first);
    load_driver(argv[1]);
    kernels(1);
    look(&last);
    compare(&first, &last);
    if (!before && !both)
        load_other(argv[3]);
    others(200);
    kernels(20);
    if (both) {
        pthread_t thread;
        pthread_create(&thread, NULL, others_thread, NULL);
        kernels(40);
        pthread_join(thread, NULL);
    }
    others(400);
    printf("%s %s: %u failures\n", argv[2], argv[3], failures);
    return failures != 0;
}
