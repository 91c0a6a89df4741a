#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# products.sh PTXTEST KERNELS SEED DEVICE...: random kernels of several matrix products each, of which some are the next one's sum, with values that live
# across them; and of runs of f64 products that share operands, sums among them: the same results on each device as on host:O0. Operands are any bits, or have
# exponents near each other.
test=$1 kernels=$2 seed=$3
shift 3
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
# instruction; words of A, B, C and D; operands; sums; sparse: digits of metadata, selectors
cat > "$dir/forms" <<'END'
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 2 1 4 f16 f32
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 4 2 4 f16 f32
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 4 2 2 f16 f16
mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 2 1 4 bf16 f32
mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 4 2 4 bf16 f32
mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 2 1 4 tf32 f32
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 4 2 4 tf32 f32
mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 4 2 4 fp8 f32
mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16 2 1 2 fp8 f16
mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 4 2 4 int s32
mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.s4.s32 4 2 4 int s32
mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc 4 2 4 int s32
mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 2 2 8 f16 f32
mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 2 2 4 f16 f16
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 8 8 8 f16 f32 wmma
wmma.mma.sync.aligned.row.col.m32n8k16.f32.f32 8 8 8 f16 f32 wmma
wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32 8 8 8 f16 f32 wmma
wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 4 4 8 bf16 f32
wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 4 4 8 tf32 f32
mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 1 1 2 int s32
wmma.mma.sync.aligned.row.row.m16n16k16.s32.u8.u8.s32.satfinite 2 2 8 int s32
wmma.mma.sync.aligned.col.row.m32n8k16.s32.s8.s8.s32 4 1 8 int s32
wmma.mma.sync.aligned.col.col.m8n32k16.s32.s8.s8.s32 1 4 8 int s32
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 2 2 4 f64 f64
mma.sync.aligned.m16n8k4.row.col.rn.f64.f64.f64.f64 4 2 8 f64 f64
mma.sync.aligned.m16n8k4.row.col.rz.f64.f64.f64.f64 4 2 8 f64 f64
mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 8 4 8 f64 f64
mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 2 2 4 f16 f32 489cde 4
mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 4 4 2 f16 f16 489cde 2
mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 4 4 4 bf16 f32 489cde 2
mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 2 2 4 tf32 f32 4e 4
mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 4 4 4 tf32 f32 4e 2
mma.sp.sync.aligned.m16n8k64.row.col.f32.e5m2.e4m3.f32 4 4 4 fp8 f32 489cde 1
mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 2 2 4 int s32 489cde 2
mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.s8.s32 4 4 4 int s32 489cde 1
mma.sp.sync.aligned.m16n8k128.row.col.satfinite.s32.s4.s4.s32 4 4 4 int s32 489cde 1
END
awk -v kernels="$kernels" -v seed="$seed" '
function random(n) { state = (state * 1103515245 + 12345) % 2147483648; return int(state / 65536) % n }
function word() { return sprintf("0x%02x%02x%02x%02x", random(256), random(256), random(256), random(256)) }
# A register of bits that depend on the thread.
function bits(name, class, any) {
    printf("    mad.lo.u32 %s, t, %s, %s;\n    shr.u32 x, %s, 15;\n    xor.b32 %s, %s, x;\n    mul.lo.u32 %s, %s, %s;\n    shr.u32 x, %s, 13;\n    xor.b32 %s, %s, x;\n",
           name, "0x9e3779b1", word(), name, name, name, name, name, "0x85ebca77", name, name, name)
    if (!any && class in keep)
        printf("    and.b32 %s, %s, %s;\n    or.b32 %s, %s, %s;\n", name, name, keep[class], name, name, put[class])
    if (any && class == "f64")          # one of 128 is infinite or NaN
        printf("    or.b32 %s, %s, 0x78000000;\n", name, name)
}
# Word r of f64: its upper half has an exponent.
function half(class, r) { return class == "f64" && r % 2 == 0 ? "" : class }
# Words of an operand as f64, or back.
function doubles(of, n, back,   r, pair) {
    for (r = 0; r < n; r += 2) {
        pair = sprintf("{%s%d, %s%d}", of, r, of, r + 1)
        printf("    mov.b64 %s, %s;\n", back ? pair : "w" of r / 2, back ? "w" of r / 2 : pair)
    }
}
function group(name, n,   s, i) {
    s = "{"
    for (i = 0; i < n; i++)
        s = s (i ? ", " : "") name i
    return s "}"
}
BEGIN {
    keep["f16"] = "0x8fff8fff"; put["f16"] = "0x30003000"; keep["bf16"] = "0x81ff81ff"; put["bf16"] = "0x3e003e00"
    keep["tf32"] = keep["f32"] = "0x81ffffff"; put["tf32"] = put["f32"] = "0x3e000000"; keep["fp8"] = "0xbfbfbfbf"; put["fp8"] = "0x10101010"
    keep["f64"] = "0x80ffffff"; put["f64"] = "0x3f000000"
    state = seed
}
# A run: each operand is one of 8 registers, of which the first 6 are sums.
function run(k,   i, d, b) {
    printf("//! test products%d\n//! buffer d u32[%d]\n//! launch products%d block 32\n//! expect d recorded\n", k, 32 * 16, k)
    printf(".visible .entry products%d(.param .u64 p)\n{\n    .reg .b64 address;\n    .reg .b32 t, x, v<16>;\n    .reg .f64 wv<8>;\n", k)
    printf("    mov.u32 t, %%tid.x;\n    ld.param.u64 address, [p];\n    mad.wide.u32 address, t, 64, address;\n")
    for (i = 0; i < 16; i++)
        bits("v" i, half("f64", i), k % 4 == 0)
    doubles("v", 16)
    for (i = 0; i < 40; i++) {
        d = random(6)
        b = random(3) ? 6 + random(2) : random(8)
        printf("    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {wv%d, wv%d}, {wv%d}, {wv%d}, {wv%d, wv%d};\n", d, (d + 1 + random(5)) % 6, random(8), b,
               random(8), random(8))
    }
    for (i = 0; i < 8; i++)
        printf("    st.global.f64 [address+%d], wv%d;\n", 8 * i, i)
    print "    ret;\n}\n"
}
{ form[NR] = $0 }
END {
    print ".version 8.5\n.target sm_90\n.address_size 64\n"
    for (k = 0; k < kernels; k++) {
        if (k % 5 == 4) {
            run(k)
            continue
        }
        products = 3 + random(6)
        printf("//! test products%d\n//! buffer d u32[%d]\n//! launch products%d block 32\n//! expect d recorded\n", k, 32 * 8 * products, k)
        printf(".visible .entry products%d(.param .u64 p)\n{\n    .reg .b64 address;\n    .reg .b32 t, x, meta;\n    mov.u32 t, %%tid.x;\n", k)
        printf("    ld.param.u64 address, [p];\n    mad.wide.u32 address, t, %d, address;\n", 32 * products)
        for (i = 0; i < products; i++) {
            split(form[1 + random(NR)], f, " ")
            any = random(4) == 0
            printf("    .reg .b32 a%d_<8>, b%d_<8>, d%d_<8>;\n", i, i, i)
            for (r = 0; r < f[2]; r++)
                bits("a" i "_" r, half(f[5], r), any)
            for (r = 0; r < f[3]; r++)
                bits("b" i "_" r, half(f[5], r), any)
            for (r = 0; r < f[4]; r++)
                if (f[6] == last && f[4] == count && i % 3)
                    printf("    mov.b32 d%d_%d, d%d_%d;\n", i, r, i - 1, r)
                else
                    bits("d" i "_" r, half(f[6], r), any)
            last = f[6]
            count = f[4]
            float = f[6] == "f32" ? "f" : "d"
            instruction[i] = f[1]
            nc = f[7] == "wmma" && f[1] ~ /f32.f16$/ ? 4 : f[4]
            if (f[6] == "f32") {
                printf("    .reg .f32 f%d_<8>;\n", i)
                for (r = 0; r < f[4]; r++)
                    printf("    mov.b32 f%d_%d, d%d_%d;\n", i, r, i, r)
            }
            double = f[6] == "f64"
            if (double) {
                printf("    .reg .f64 wa%d_<4>, wb%d_<4>, wd%d_<4>;\n", i, i, i)
                doubles("a" i "_", f[2])
                doubles("b" i "_", f[3])
                doubles("d" i "_", f[4])
            }
            sparse = f[1] ~ /^mma.sp/
            if (sparse) {
                m = "0x"
                for (r = 0; r < 8; r++)
                    m = m substr(f[7], 1 + random(length(f[7])), 1)
                printf("    shl.b32 x, t, 2;\n    shf.l.wrap.b32 meta, %s, %s, x;\n", m, m)
            }
            w = double ? "w" : ""
            of = double ? 2 : 1
            printf("    %s\n        %s, %s, %s, %s%s;\n", f[1], group(w float i "_", f[4] / of), group(w "a" i "_", f[2] / of), group(w "b" i "_", f[3] / of),
                   group(w (nc == f[4] ? float : "d") i "_", nc / of), sparse ? ", meta, " random(f[8]) : "")
            if (double)
                doubles("d" i "_", f[4], 1)
            for (r = 0; f[6] == "f32" && r < f[4]; r++)
                printf("    mov.b32 d%d_%d, f%d_%d;\n", i, r, i, r)
            size[i] = f[4]
        }
        for (i = 0; i < products; i++)          # all live until here, A and B too
            for (r = 0; r < size[i]; r++)
                printf("    st.global.u32 [address+%d], d%d_%d;\n%s", 32 * i + 4 * r, i, r, size[i] > 4 ? "" : \
                       sprintf("    st.global.u32 [address+%d], a%d_%d;\n", 32 * i + 4 * r + 16, i, r % 2))
        print "    ret;\n}\n"
    }
}' "$dir/forms" > "$dir/products.ptx" || exit 2
"$test" --record --label host:O0 --on host:O0 "$dir/products.ptx" > "$dir/out" 2>&1 || { tail -n 20 "$dir/out"; exit 1; }
status=0
for device; do
    "$test" --on "$device" --limit 4 "$dir/products.ptx" > "$dir/out" 2>&1 || status=1
    echo "$device: $(tail -n 1 "$dir/out")"
    [ $status = 0 ] || head -n 20 "$dir/out"
    grep -q "^$kernels passed, 0 failed" "$dir/out" || status=1
done
exit $status
