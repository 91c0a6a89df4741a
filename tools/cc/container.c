/* SPDX-License-Identifier: Apache-2.0
 * See cc.h. The format of the bundle: clang's documentation, "Clang Offload Bundler". */
#include "tools/cc/cc.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static void
put64(struct cw_buf *out, uint64_t v)
{
    cw_buf_append(out, &v, sizeof v);
}

void
cc_bundle(struct cw_buf *out, const struct cc_object *at, size_t n)
{
    /* HIP expects an entry of the host, which is empty. */
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__", host[] = "host-x86_64-unknown-linux-gnu-", device[] = "hipv4-amdgcn-amd-amdhsa--";
    static const char zeros[PAGE];
    uint64_t head = sizeof magic - 1 + 8 + 24 + sizeof host - 1, offset;
    for (size_t i = 0; i < n; i++)
        head += 24 + sizeof device - 1 + strlen(at[i].cpu);
    offset = (head + PAGE - 1) / PAGE * PAGE;
    cw_buf_append(out, magic, sizeof magic - 1);
    put64(out, n + 1);
    put64(out, offset);
    put64(out, 0);
    put64(out, sizeof host - 1);
    cw_buf_append(out, host, sizeof host - 1);
    for (size_t i = 0; i < n; i++) {
        put64(out, offset);
        put64(out, at[i].code.size);
        put64(out, sizeof device - 1 + strlen(at[i].cpu));
        cw_buf_append(out, device, sizeof device - 1);
        cw_buf_puts(out, at[i].cpu);
        offset += (at[i].code.size + PAGE - 1) / PAGE * PAGE;
    }
    for (size_t i = 0; i < n; i++) {
        cw_buf_append(out, zeros, (PAGE - out->size % PAGE) % PAGE);
        cw_buf_append(out, at[i].code.data, at[i].code.size);
    }
}

static void
bytes(struct cw_buf *out, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        cw_buf_printf(out, "%u,%s", data[i], i % 32 == 31 ? "\n" : "");
    cw_buf_puts(out, "\n");
}

bool
cc_embed(struct cw_buf *out, const char *language, const char *symbol, const void *data, size_t size, const struct cc_kernel *kernels, size_t n)
{
    bool cpp = !strcmp(language, "cpp"), rust = !strcmp(language, "rust");
    cw_buf_printf(out, "// Made by cudaway-cc: code for hipModuleLoadData or PTX for cuModuleLoadData, and its kernels: names, numbers of parameters, bytes of their block.\n");
    if (rust) {
        char *upper = strdup(symbol);
        for (char *s = upper; s && *s; s++)
            *s = (char)toupper((unsigned char)*s);
        cw_buf_printf(out, "#[repr(C, align(%d))]\npub struct Code(pub [u8; %zu]);\npub static %s: Code = Code([\n", PAGE, size, upper ? upper : symbol);
        bytes(out, data, size);
        cw_buf_printf(out, "]);\npub static %s_KERNELS: [(&str, u32, u32); %zu] = [\n", upper ? upper : symbol, n);
        for (size_t i = 0; i < n; i++)
            cw_buf_printf(out, "    (\"%s\", %u, %u),\n", kernels[i].name, kernels[i].parameters, kernels[i].bytes);
        cw_buf_puts(out, "];\n");
        free(upper);
        return !out->failed;
    }
    cw_buf_printf(out, "#include <stddef.h>\nstruct cudaway_kernel { const char *name; unsigned parameters, bytes; };\n%s"
                  "extern const unsigned char %s[];\nextern const size_t %s_size;\nextern const struct cudaway_kernel %s_kernels[];    // the last has no name\n"
                  "%s const unsigned char %s[%zu] = {\n", cpp ? "extern \"C\" {\n" : "", symbol, symbol, symbol, cpp ? "alignas(4096)" : "_Alignas(4096)", symbol, size);
    bytes(out, data, size);
    cw_buf_printf(out, "};\nconst size_t %s_size = sizeof %s;\nconst struct cudaway_kernel %s_kernels[] = {\n", symbol, symbol, symbol);
    for (size_t i = 0; i < n; i++)
        cw_buf_printf(out, "    { \"%s\", %u, %u },\n", kernels[i].name, kernels[i].parameters, kernels[i].bytes);
    cw_buf_printf(out, "    { 0, 0, 0 },\n};\n%s", cpp ? "}\n" : "");
    return !out->failed;
}

char *
cc_symbol(const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strchr(base, '.');
    size_t n = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    char *s = malloc(n + 2), *p = s;
    if (!s)
        return NULL;
    if (!n || isdigit((unsigned char)*base))
        *p++ = '_';
    for (size_t i = 0; i < n; i++)
        *p++ = isalnum((unsigned char)base[i]) ? base[i] : '_';
    *p = 0;
    return s;
}

/* As make reads names: blanks, # and $ have to be marked. */
static void
make_name(struct cw_buf *out, const char *name)
{
    for (; *name; name++) {
        if (*name == ' ' || *name == '#')
            cw_buf_puts(out, "\\");
        else if (*name == '$')
            cw_buf_puts(out, "$");
        cw_buf_append(out, name, 1);
    }
}

void
cc_make_rule(struct cw_buf *out, const char *target, const struct cw_buf *files)
{
    make_name(out, target);
    cw_buf_puts(out, ":");
    for (size_t at = 0; at < files->size; at += strlen(files->data + at) + 1) {
        cw_buf_puts(out, " \\\n  ");
        make_name(out, files->data + at);
    }
    cw_buf_puts(out, "\n");
}
