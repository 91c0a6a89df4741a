/* SPDX-License-Identifier: Apache-2.0
 * Compile, load and run a kernel through the loader, and the disk cache behind it: hits, damage, eviction, folders that cannot
 * be used. The cache reads its settings once a process, so each case runs in a child of its own. */
#define _GNU_SOURCE
#include "jit/driver/aot.h"
#include "jit/loader/loader.h"
#include "jit/driver/cache.h"
#include "tests/jit/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned failures;
static char root[64];

static const char text[] = HEAD
    ".visible .entry scale(.param .u64 data, .param .f32 by)\n"
    "{ .reg .b64 p, q; .reg .b32 t; .reg .f32 f, g;\n"
    "ld.param.u64 p, [data]; ld.param.f32 g, [by]; mov.u32 t, %tid.x; mul.wide.u32 q, t, 4; add.u64 p, p, q;\n"
    "ld.global.f32 f, [p]; mul.f32 f, f, g; st.global.f32 [p], f; ret; }\n";

static void
no_runtime(void)
{
    printf("a runtime function was called\n");
    abort();
}

/* Compile, check what came from the cache, run one block of 40 threads over ascending numbers. */
static void
run(bool o0, bool expect_cached)
{
    const void *addresses[64];
    struct cwj_host_runtime rt = { 0, addresses };
#define X(ret, name, params) addresses[rt.count++] = (const void *)no_runtime;
    CWH_RT_MAP(X)
#undef X
    struct cwj_input in = { "scale", text, sizeof text - 1 };
    struct cwj_diags d;
    struct cwj_program *p = NULL;
    struct cwj_host_code *code = NULL;
    struct cwh_variant v = { .o0 = o0 };
    cwj_diags_init(&d);
    CHECK_INT(cwj_program_create(&in, 1, false, &p, &d), CW_OK);
    cw_result r = p ? cwj_host_compile(p, 0, &v, &rt, &code, &d) : CW_ERR_INTERNAL;
    for (const struct cwj_diag *x = d.first; x; x = x->next)
        printf("P%u: %s\n", x->code, x->text);
    CHECK_INT(r, CW_OK);
    cwj_diags_finish(&d);
    if (r)
        return;
    CHECK_INT(code->from_cache, expect_cached);
    CHECK(o0 ? code->info.width == 1 : code->info.width >= 1);
    CHECK_INT(code->info.static_shared, 0);

    float data[48];
    struct { float *data; float by; } params = { data, 2.5f };
    struct cwh_launch launch = { { 1, 1, 1 }, { 40, 1, 1 }, .params = (const uint8_t *)&params };
    struct cwh_block block = { .launch = &launch };
    for (int i = 0; i < 48; i++)
        data[i] = (float)i;
    for (uint32_t first = 0; first < 40; first += code->info.width) {
        struct cwh_gang gang = { .block = &block, .first = first,
                                 .lanes = 40 - first < code->info.width ? 40 - first : code->info.width };
        code->run(&gang);
    }
    for (int i = 0; i < 48; i++)
        CHECK(data[i] == (i < 40 ? 2.5f * (float)i : (float)i));
    cwj_host_release(code);
    cwj_program_destroy(p);
}

static void
set_dir(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", root, name);
    setenv("CUDAWAY_CACHE_DIR", path, 1);
    snprintf(path, PATH_MAX, "%s/%s/kernels-%u", root, name, (unsigned)geteuid());
}

/* Entries in the folder; the name of one of them. */
static unsigned
entries(const char *dir, char one[PATH_MAX])
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.') {
            n++;
            if (one)
                snprintf(one, PATH_MAX, "%s/%s", dir, e->d_name);
        }
    if (d)
        closedir(d);
    return n;
}

static void
hits(void)
{
    char dir[PATH_MAX], file[PATH_MAX];
    struct stat st;
    set_dir("hits", dir);
    run(false, false);
    CHECK_INT(entries(dir, file), 1);
    CHECK(!stat(dir, &st) && (st.st_mode & 0777) == 0700);
    CHECK(!stat(file, &st) && (st.st_mode & 0777) == 0600);
    struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
    CHECK(!utimensat(AT_FDCWD, file, old, 0));
    run(false, true);
    CHECK(!stat(file, &st) && st.st_mtim.tv_sec > 1000);     /* a hit makes it recent */
    run(true, false);                                         /* another variant is another entry */
    CHECK_INT(entries(dir, NULL), 2);
    run(true, true);
}

/* The code object for a processor: its size, and its first byte through *first. */
static size_t
code_object(const char *cpu, unsigned native_floats, char *first)
{
    struct cwj_input in = { "scale", text, sizeof text - 1 };
    struct cwj_aot_options o = { .target = CWJ_TARGET_AMDGCN, .cpu = cpu, .emit = CWJ_EMIT_OBJ, .opt_level = 3, .native_floats = native_floats, .cache = true };
    struct cwj_diags d;
    struct cwj_program *p = NULL;
    struct cw_buf out;
    cw_buf_init(&out);
    cwj_diags_init(&d);
    CHECK_INT(cwj_program_create(&in, 1, false, &p, &d), CW_OK);
    CHECK_INT(p ? cwj_aot(p, &o, &out, &d) : CW_ERR_INTERNAL, CW_OK);
    size_t n = out.size;
    *first = n ? out.data[0] : 0;
    cw_buf_finish(&out);
    cwj_diags_finish(&d);
    cwj_program_destroy(p);
    return n;
}

/* Code objects: an entry for each processor and each set of switches, and a later compilation gives what the entry holds. */
static void
code_objects(void)
{
    char dir[PATH_MAX], file[PATH_MAX], first;
    uint8_t key[32];
    struct cwh_code_info none = { 0 };
    set_dir("objects", dir);
    size_t n = code_object("gfx1100", 0, &first);
    CHECK(n > 64 && first == 0x7f);
    CHECK_INT(entries(dir, file), 1);
    const char *hex = strrchr(file, '/') + 1;
    for (unsigned i = 0; i < 32; i++)
        CHECK(sscanf(hex + 2 * i, "%2hhx", &key[i]) == 1);
    CHECK_INT(code_object("gfx1100", 0, &first), n);
    cwj_cache_put(key, &none, "other", 5);
    CHECK_INT(code_object("gfx1100", 0, &first), 5);
    CHECK(first == 'o');
    for (unsigned native = 0; native <= CWJ_NATIVE_FLOATS; native++) {      /* each set of switches is another entry */
        CHECK(code_object("gfx90a", native, &first) > 64 && first == 0x7f);
        CHECK_INT(entries(dir, NULL), 2 + native);
    }
}

/* Flip one byte anywhere, cut, empty, append: always compiled again and replaced. */
static void
damage(void)
{
    char dir[PATH_MAX], file[PATH_MAX];
    set_dir("damage", dir);
    run(false, false);
    CHECK_INT(entries(dir, file), 1);
    struct stat st;
    CHECK(!stat(file, &st));
    off_t places[] = { 0, 5, 10, 41, 66, 80, st.st_size / 2, st.st_size - 1 };
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        int fd = open(file, O_RDWR);
        uint8_t b = 0;
        CHECK(fd >= 0 && pread(fd, &b, 1, places[i]) == 1);
        b ^= 0x40;
        CHECK(pwrite(fd, &b, 1, places[i]) == 1);
        close(fd);
        run(false, false);
        run(false, true);
    }
    off_t sizes[] = { 0, 1, 50, 104, st.st_size - 1, st.st_size + 1 };
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK(!truncate(file, sizes[i]));
        run(false, false);
        run(false, true);
    }
    CHECK_INT(entries(dir, NULL), 1);
}

static void
eviction(void)
{
    char dir[PATH_MAX], data[3000];
    set_dir("eviction", dir);
    setenv("CUDAWAY_CACHE_SIZE", "40K", 1);                   /* ten blocks of 4 KiB */
    memset(data, 1, sizeof data);
    struct cwh_code_info info = { 8, 0, 0, 16, 0 };
    uint8_t key[32] = { 0 };
    char *object;
    size_t size;
    for (unsigned i = 0; i < 40; i++) {
        key[0] = (uint8_t)i;
        cwj_cache_put(key, &info, data, sizeof data);
        usleep(2000);                                         /* ages that differ on any file system */
        CHECK(entries(dir, NULL) <= 10);
        key[0] = 0;                                           /* the one that is used stays */
        CHECK(cwj_cache_get(key, &info, &object, &size));
        CHECK_INT(size, sizeof data);
        CHECK(object && !memcmp(object, data, sizeof data));
        free(object);
    }
    CHECK(entries(dir, NULL) >= 5);
    key[0] = 39;
    CHECK(cwj_cache_get(key, &info, &object, &size));
    free(object);
    key[0] = 1;
    CHECK(!cwj_cache_get(key, &info, &object, &size));
    /* more than the whole cache: not kept, nothing lost */
    char *big = calloc(1, 50000);
    key[0] = 77;
    cwj_cache_put(key, &info, big, 50000);
    CHECK(!cwj_cache_get(key, &info, &object, &size));
    free(big);
    key[0] = 0;
    CHECK(cwj_cache_get(key, &info, &object, &size));
    free(object);
}

static void
turned_off(void)
{
    char dir[PATH_MAX];
    set_dir("off", dir);
    setenv("CUDAWAY_CACHE_SIZE", "0", 1);
    run(false, false);
    run(false, false);
    CHECK_INT(entries(dir, NULL), 0);
}

/* The number of lines that the case writes to the log. */
static unsigned
count_lines(const char *path)
{
    unsigned n = 0;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static void
unusable(void)
{
    char path[PATH_MAX], log[PATH_MAX];
    snprintf(log, sizeof log, "%s/log", root);
    setenv("CUDAWAY_LOG_FILE", log, 1);
    /* a file where the folder should be: holds for root as well */
    snprintf(path, sizeof path, "%s/file", root);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    setenv("CUDAWAY_CACHE_DIR", path, 1);
    run(false, false);
    run(false, false);
    CHECK_INT(count_lines(log), 1);
}

static void
not_private(void)
{
    char dir[PATH_MAX], log[PATH_MAX], outer[PATH_MAX];
    snprintf(log, sizeof log, "%s/log2", root);
    setenv("CUDAWAY_LOG_FILE", log, 1);
    snprintf(outer, sizeof outer, "%s/public", root);
    set_dir("public", dir);
    CHECK(!mkdir(outer, 0700) && !mkdir(dir, 0777) && !chmod(dir, 0777));
    run(false, false);
    run(false, false);
    CHECK_INT(entries(dir, NULL), 0);
    CHECK_INT(count_lines(log), 1);
}

static void
dumps(void)
{
    char dir[PATH_MAX], dump[PATH_MAX];
    set_dir("dumps", dir);
    snprintf(dump, sizeof dump, "%s/stages", root);
    setenv("CUDAWAY_JIT_DUMP", dump, 1);
    run(false, false);
    run(false, false);
    unsigned suffixes = 0;
    DIR *d = opendir(dump);
    CHECK(d != NULL);
    for (struct dirent *e; d && (e = readdir(d));) {
        static const char *const want[] = { ".ptx", ".ir", ".ll", ".opt.ll", ".o" };
        const char *dot = strchr(e->d_name, '.');
        for (unsigned i = 0; dot && i < 5; i++)
            suffixes |= !strncmp(e->d_name, "scale-", 6) && !strcmp(dot, want[i]) ? 1u << i : 0;
    }
    if (d)
        closedir(d);
    CHECK_INT(suffixes, 31);
}

/* One entry's name is a folder's: that kernel is compiled each time, others are kept. */
static void
folder_for_entry(void)
{
    char dir[PATH_MAX], file[PATH_MAX];
    set_dir("folder", dir);
    run(false, false);
    CHECK_INT(entries(dir, file), 1);
    CHECK(!unlink(file) && !mkdir(file, 0700));
    run(false, false);
    run(false, false);
    run(true, false);
    run(true, true);
    CHECK(!rmdir(file));
    run(false, false);
    run(false, true);
}

int
main(void)
{
    static void (*const cases[])(void) = { hits, code_objects, damage, eviction, turned_off, unusable, not_private, folder_for_entry, dumps };
    strcpy(root, "/tmp/cudaway-cache-test-XXXXXX");
    if (!mkdtemp(root))
        return 1;
    unsetenv("CUDAWAY_CACHE_SIZE");
    unsetenv("CUDAWAY_JIT_DUMP");
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t pid = fork();
        if (!pid) {
            cases[i]();
            fflush(stdout);
            _exit(failures != 0);
        }
        int status = 1;
        waitpid(pid, &status, 0);
        if (status) {
            printf("case %u failed (status %d)\n", i, status);
            failures++;
        }
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command))
        failures++;
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
