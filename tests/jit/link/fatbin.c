/* SPDX-License-Identifier: Apache-2.0
 * What images hold: every kind that a program can hand over, and images that are damaged on purpose, each of whose bytes lies
 * at the end of a page that nothing may be read behind. */
#define _GNU_SOURCE
#include "jit/link/fatbin.h"
#include "jit/link/linked_image.h"
#include "tests/jit/check.h"
#include "tests/jit/link/fatbin_writer.h"

#include <elf.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned failures;

struct seen {
    unsigned n, stop_after;
    struct { int kind; unsigned group, sm; char suffix; char name[32], compression[8], text[64]; size_t size; const void *container; bool relocatable; } e[16];
};

static int
see(void *user, const struct cwj_image_entry *e)
{
    struct seen *s = user;
    volatile char sum = 0;
    for (size_t i = 0; i < e->size; i++)
        sum += e->data[i];          /* all of it must be readable */
    if (s->n < 16) {
        s->e[s->n].kind = (int)e->kind;
        s->e[s->n].group = e->group;
        s->e[s->n].sm = e->sm;
        s->e[s->n].suffix = e->suffix;
        s->e[s->n].size = e->size;
        s->e[s->n].container = e->container;
        s->e[s->n].relocatable = e->relocatable;
        snprintf(s->e[s->n].name, sizeof s->e[0].name, "%s", e->name ? e->name : "");
        snprintf(s->e[s->n].compression, sizeof s->e[0].compression, "%s", e->compression);
        snprintf(s->e[s->n].text, sizeof s->e[0].text, "%.*s", (int)(e->size < 60 ? e->size : 60), e->data);
    }
    s->n++;
    return s->n == s->stop_after;
}

static struct seen seen;

/* `code`: a diagnostic with this number must be there. */
static void
scan(const void *data, size_t size, cw_result expect, unsigned code, const char *where)
{
    struct cwj_diags d;
    cwj_diags_init(&d);
    unsigned stop = seen.stop_after;
    memset(&seen, 0, sizeof seen);
    seen.stop_after = stop;
    cw_result r = cwj_image_scan(data, size, see, &seen, &d);
    bool found = !code;
    for (const struct cwj_diag *x = d.first; x; x = x->next)
        found |= x->code == code;
    if (r != expect || !found) {
        printf("%s: %s (should be %s), P%u %s\n", where, cw_result_name(r), cw_result_name(expect), code, found ? "" : "is missing");
        for (const struct cwj_diag *x = d.first; x; x = x->next)
            printf("   P%u: %s\n", x->code, x->text);
        failures++;
    }
    cwj_diags_finish(&d);
}
#define SCAN(data, size, expect, code) scan(data, size, expect, code, #data)

static const char ptx70[] = ".version 7.0\n.target sm_70\n.address_size 64\n// seventy\n";
static const char ptx90a[] = "//\n// made by hand\n/* .target sm_10 */\n\n.version 8.0\n.target sm_90a, debug\n.address_size 64\n";

static void
test_text(void)
{
    SCAN(ptx70, strlen(ptx70), CW_OK, 0);
    CHECK_INT(seen.n, 1);
    CHECK_INT(seen.e[0].sm, 70);
    CHECK_INT(seen.e[0].size, strlen(ptx70));
    CHECK(!seen.e[0].container && !seen.e[0].relocatable);
    SCAN(ptx70, sizeof ptx70, CW_OK, 0);                     /* with its NUL */
    CHECK_INT(seen.e[0].size, strlen(ptx70));
    SCAN(ptx70, CWJ_SIZE_UNKNOWN, CW_OK, 0);
    CHECK_INT(seen.e[0].size, strlen(ptx70));
    SCAN(ptx90a, strlen(ptx90a), CW_OK, 0);
    CHECK(seen.e[0].suffix == 'a');
    static const char bom[] = "\xEF\xBB\xBF \r\n\t.version 7.0\n.target sm_75";
    SCAN(bom, strlen(bom), CW_OK, 0);
    CHECK_INT(seen.e[0].sm, 75);
    SCAN("", 0, CW_ERR_INVALID, 4104);
    SCAN("", CWJ_SIZE_UNKNOWN, CW_ERR_INVALID, 4104);
    SCAN("hello", 5, CW_ERR_INVALID, 4104);
    SCAN("// only a comment", 17, CW_ERR_INVALID, 4104);
    SCAN("/* not closed", 13, CW_ERR_INVALID, 4104);
    SCAN("a", CWJ_SIZE_UNKNOWN, CW_ERR_INVALID, 4104);
    SCAN(NULL, 10, CW_ERR_INVALID, 4104);
}

static void
test_container(void)
{
    struct cw_buf b = { 0 };
    char big[5000];
    memset(big, ' ', sizeof big);
    memcpy(big, ptx70, strlen(ptx70));
    size_t c = fatbin_begin(&b);
    fatbin_entry(&b, 2, 80, WRITE_PLAIN, NULL, "\177ELF machine code", 17);
    fatbin_entry(&b, 1, 70, WRITE_LZ4, "file.cu", big, sizeof big);
    fatbin_entry(&b, 1, 90, WRITE_ZSTD, NULL, ptx90a, sizeof ptx90a);
    fatbin_entry(&b, 1, 60, WRITE_PLAIN, "x", ptx70, sizeof ptx70);
    fatbin_entry(&b, 8, 60, WRITE_PLAIN, NULL, "lto", 3);
    fatbin_end(&b, c);
    for (int unknown = 0; unknown < 2; unknown++) {
        SCAN(b.data, unknown ? CWJ_SIZE_UNKNOWN : b.size, CW_OK, 0);
        CHECK_INT(seen.n, 5);
        CHECK(seen.e[0].kind == CWJ_ENTRY_CUBIN && seen.e[0].sm == 80);
        CHECK(seen.e[1].kind == CWJ_ENTRY_PTX && seen.e[1].sm == 70 && !strcmp(seen.e[1].compression, "lz4"));
        CHECK(!strcmp(seen.e[1].name, "file.cu") && seen.e[1].size == sizeof big && !memcmp(seen.e[1].text, ptx70, 50));
        CHECK(seen.e[2].sm == 90 && seen.e[2].suffix == 'a' && !strcmp(seen.e[2].compression, "zstd"));
        CHECK_INT(seen.e[2].size, strlen(ptx90a));           /* the NUL inside does not count */
        CHECK(seen.e[3].sm == 60 && !strcmp(seen.e[3].name, "x") && seen.e[3].size == strlen(ptx70));
        CHECK_INT(seen.e[4].kind, CWJ_ENTRY_OTHER);
        CHECK(seen.e[0].group == 0 && seen.e[4].group == 0);
        CHECK(seen.e[0].container == b.data && seen.e[4].container == b.data && !seen.e[4].relocatable);
    }
    seen.stop_after = 2;
    SCAN(b.data, b.size, CW_OK, 0);
    CHECK_INT(seen.n, 2);
    seen.stop_after = 0;

    /* in wrappers, which only a process can hold */
    struct { uint32_t magic, version; const void *data; const void *more; } w = { 0x466243B1, 1, b.data, NULL };
    SCAN(&w, CWJ_SIZE_UNKNOWN, CW_OK, 0);
    CHECK_INT(seen.n, 5);
    SCAN(&w, sizeof w, CW_ERR_INVALID, 4104);
    const void *list[] = { b.data, b.data, NULL };
    w.version = 2;
    w.more = list;
    SCAN(&w, CWJ_SIZE_UNKNOWN, CW_OK, 0);
    CHECK_INT(seen.n, 15);
    CHECK(seen.e[0].group == 0 && seen.e[5].group == 1 && seen.e[10].group == 2);
    w.version = 3;
    SCAN(&w, CWJ_SIZE_UNKNOWN, CW_ERR_VERSION, 4104);
    w.version = 1;
    w.data = ptx70;
    SCAN(&w, CWJ_SIZE_UNKNOWN, CW_ERR_DAMAGED, 4101);

    /* no PTX: says what there is */
    b.size = 0;
    c = fatbin_begin(&b);
    fatbin_entry(&b, 2, 80, WRITE_PLAIN, NULL, "\177ELF", 4);
    fatbin_entry(&b, 2, 86, WRITE_ZSTD, NULL, "\177ELF", 4);
    fatbin_end(&b, c);
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4105);
    CHECK_INT(seen.n, 2);
    b.size = 0;
    fatbin_end(&b, fatbin_begin(&b));
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4105);

    /* sizes that lie */
    b.size = 0;
    c = fatbin_begin(&b);
    fatbin_entry(&b, 1, 70, WRITE_LZ4, NULL, big, sizeof big);
    fatbin_end(&b, c);
    patch_int(&b, 16 + 56, sizeof big - 1, 8);
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    patch_int(&b, 16 + 56, 1u << 27, 8);                     /* more than LZ4 can expand to */
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    patch_int(&b, 16 + 56, 1ull << 40, 8);
    SCAN(b.data, b.size, CW_ERR_LIMIT, 4103);
    patch_int(&b, 16 + 56, sizeof big, 8);
    patch_int(&b, 16 + 16, 100000, 4);                       /* compressed size */
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    patch_int(&b, 16 + 16, 0, 4);
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    patch_int(&b, 16 + 8, UINT64_MAX, 8);                    /* payload */
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    b.size = 0;
    c = fatbin_begin(&b);
    fatbin_entry(&b, 1, 70, WRITE_ZSTD, NULL, big, sizeof big);
    fatbin_end(&b, c);
    patch_int(&b, 16 + 56, 200 << 20, 8);
    SCAN(b.data, b.size, CW_ERR_DAMAGED, 4101);
    patch_int(&b, 16 + 40, 0x1011, 8);                       /* a compression nobody documents */
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4102);
    cw_buf_finish(&b);
}

/* A host ELF file with the section, by hand. */
static void
make_elf(struct cw_buf *b, const char *section, const void *data, size_t size, unsigned machine)
{
    char names[64] = "";
    size_t n = 1 + (size_t)sprintf(names + 1, "%s", section) + 1;
    Elf64_Ehdr h = { .e_type = ET_REL, .e_machine = (uint16_t)machine, .e_version = 1, .e_ehsize = sizeof h,
                     .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2 };
    memcpy(h.e_ident, ELFMAG "\2\1\1", 7);
    h.e_shoff = sizeof h + size + n;
    Elf64_Shdr s[3] = { { 0 }, { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof h, .sh_size = size },
                        { .sh_type = SHT_STRTAB, .sh_offset = sizeof h + size, .sh_size = n } };
    b->size = 0;
    cw_buf_append(b, &h, sizeof h);
    cw_buf_append(b, data, size);
    cw_buf_append(b, names, n);
    cw_buf_append(b, s, sizeof s);
}

static void
test_elf(void)
{
    struct cw_buf b = { 0 }, f = { 0 };
    for (int i = 0; i < 2; i++) {
        size_t c = fatbin_begin(&f);
        fatbin_entry(&f, 1, 70 + (unsigned)i, WRITE_PLAIN, NULL, ptx70, sizeof ptx70);
        fatbin_end(&f, c);
        write_int(&f, 0, 8);
    }
    make_elf(&b, ".nv_fatbin", f.data, f.size, EM_X86_64);
    SCAN(b.data, b.size, CW_OK, 0);
    CHECK_INT(seen.n, 2);
    CHECK(seen.e[0].group == 0 && seen.e[1].group == 1 && seen.e[1].sm == 71);
    CHECK(seen.e[0].container == b.data + sizeof(Elf64_Ehdr) && seen.e[1].container == b.data + sizeof(Elf64_Ehdr) + f.size / 2 && !seen.e[1].relocatable);
    make_elf(&b, "__nv_relfatbin", f.data, f.size, EM_X86_64);
    SCAN(b.data, b.size, CW_OK, 0);
    CHECK(seen.e[1].container == b.data + sizeof(Elf64_Ehdr) + f.size / 2 && seen.e[0].relocatable && seen.e[1].relocatable);
    make_elf(&b, ".text", f.data, f.size, EM_X86_64);
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4105);
    make_elf(&b, ".nv_fatbin", f.data, f.size, EM_X86_64);
    for (size_t n = 0; n < b.size; n++) {
        struct cwj_diags d;
        cwj_diags_init(&d);
        memset(&seen, 0, sizeof seen);
        CHECK(cwj_image_scan(b.data, n, see, &seen, &d) != CW_OK);
        cwj_diags_finish(&d);
    }
    /* cubins of both conventions */
    make_elf(&b, ".text", "code", 4, 190);
    patch_int(&b, offsetof(Elf64_Ehdr, e_flags), 0x00500550, 4);
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4105);
    CHECK(seen.e[0].kind == CWJ_ENTRY_CUBIN && seen.e[0].sm == 80 && seen.e[0].size == b.size);
    SCAN(b.data, CWJ_SIZE_UNKNOWN, CW_ERR_NO_PTX, 4105);
    CHECK_INT(seen.e[0].size, b.size);
    b.data[EI_OSABI] = 0x41;
    patch_int(&b, offsetof(Elf64_Ehdr, e_flags), 0x06005604, 4);
    SCAN(b.data, b.size, CW_ERR_NO_PTX, 4105);
    CHECK_INT(seen.e[0].sm, 86);
    b.data[EI_CLASS] = 1;
    SCAN(b.data, b.size, CW_ERR_INVALID, 4104);
    cw_buf_finish(&b);
    cw_buf_finish(&f);
}

static void
test_linked(void)
{
    struct cw_buf b = { 0 };
    struct cwj_linked_module m[] = { { "a", ptx70, strlen(ptx70) }, { NULL, ptx90a, strlen(ptx90a) } };
    CHECK_INT(cwj_linked_image_write(m, 2, &b), CW_OK);
    CHECK_INT(b.size % 8, 0);
    for (int unknown = 0; unknown < 2; unknown++) {
        SCAN(b.data, unknown ? CWJ_SIZE_UNKNOWN : b.size, CW_OK, 0);
        CHECK_INT(seen.n, 2);
        CHECK(seen.e[0].group == 0 && seen.e[1].group == 1 && !strcmp(seen.e[0].name, "a") && !*seen.e[1].name);
        CHECK(seen.e[0].size == strlen(ptx70) && seen.e[1].sm == 90);
    }
    for (size_t n = 0; n < b.size; n++) {
        struct cwj_diags d;
        cwj_diags_init(&d);
        memset(&seen, 0, sizeof seen);
        CHECK(cwj_image_scan(b.data, n, see, &seen, &d) != CW_OK);
        cwj_diags_finish(&d);
    }
    patch_int(&b, 8, 2, 4);
    SCAN(b.data, b.size, CW_ERR_VERSION, 4101);
    cw_buf_finish(&b);
}

/* Mutations of one good image, deterministic, each placed so that the byte behind it faults. */
static void
test_mutations(void)
{
    struct cw_buf f = { 0 }, elf = { 0 }, linked = { 0 };
    char big[600];
    memset(big, ' ', sizeof big);
    memcpy(big, ptx70, strlen(ptx70));
    size_t c = fatbin_begin(&f);
    fatbin_entry(&f, 1, 70, WRITE_LZ4, "n", big, sizeof big);
    fatbin_entry(&f, 1, 70, WRITE_ZSTD, NULL, big, sizeof big);
    fatbin_entry(&f, 2, 70, WRITE_PLAIN, NULL, "\177ELF", 4);
    fatbin_end(&f, c);
    make_elf(&elf, ".nv_fatbin", f.data, f.size, EM_X86_64);
    struct cwj_linked_module m[] = { { "a", ptx70, strlen(ptx70) }, { "b", ptx90a, strlen(ptx90a) } };
    CHECK_INT(cwj_linked_image_write(m, 2, &linked), CW_OK);
    const struct cw_buf *images[] = { &f, &elf, &linked };

    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 2 * page;
    uint8_t *area = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && !mprotect(area + room, page, PROT_NONE));
    static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };
    uint64_t random = 88172645463325252ull;
    for (unsigned i = 0; i < 3; i++) {
        size_t n = images[i]->size;
        uint8_t *at = area + room - n;
        CHECK(n <= room);
        for (size_t k = 0; k < n + 3000; k++)
            for (unsigned v = 0; v < (k < n ? 5u : 1u); v++) {
                struct cwj_diags d;
                memcpy(at, images[i]->data, n);
                if (k < n)
                    at[k] = values[v];
                for (unsigned j = 0; k >= n && j < 1 + k % 6; j++) {
                    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                    at[random % n] = (uint8_t)(random >> 40);
                }
                cwj_diags_init(&d);
                memset(&seen, 0, sizeof seen);
                cw_result r = cwj_image_scan(at, n, see, &seen, &d);
                CHECK(r == CW_OK || d.errors);              /* a refusal is explained */
                cwj_diags_finish(&d);
            }
    }
    munmap(area, room + page);
    cw_buf_finish(&f);
    cw_buf_finish(&elf);
    cw_buf_finish(&linked);
}

int
main(void)
{
    test_text();
    test_container();
    test_elf();
    test_linked();
    test_mutations();
    printf("%s\n", failures ? "FAILED" : "ok");
    return failures != 0;
}
