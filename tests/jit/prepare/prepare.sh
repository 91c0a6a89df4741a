#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# prepare.sh CUDAWAY_CC ARCH...: kernels with matrix products, or that print, call functions made of prepared code, with and without the optimiser; they
# have at least the registers that this code uses; and another generation's products, and what a processor calls that is not prepared, are compiled.
# All fetches of textures are calls of one function, whose stack the kernel has.
# Quotient and remainder of 64-bit numbers are one call, and none where the divisor is a constant or no number has more than 32 bits.
cc=$1
shift
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cat > "$dir/in.ptx" <<'PTX'
.version 7.8
.target sm_90
.address_size 64
.visible .entry half(.param .u64 p) {
 .reg .b64 p; .reg .b32 a<4>, b<2>; .reg .f32 c<4>;
 ld.param.u64 p, [p];
 ld.global.v4.u32 {a0, a1, a2, a3}, [p]; ld.global.v2.u32 {b0, b1}, [p+16]; ld.global.v4.f32 {c0, c1, c2, c3}, [p+32];
 mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c0, c1, c2, c3}, {a0, a1, a2, a3}, {b0, b1}, {c0, c1, c2, c3};
 st.global.v4.f32 [p+32], {c0, c1, c2, c3};
 ret;
}
.visible .entry double(.param .u64 p) {
 .reg .b64 p; .reg .f64 a, b, c<2>;
 ld.param.u64 p, [p];
 ld.global.f64 a, [p]; ld.global.f64 b, [p+8]; ld.global.v2.f64 {c0, c1}, [p+16];
 mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {c0, c1}, {a}, {b}, {c0, c1};
 st.global.v2.f64 [p+16], {c0, c1};
 ret;
}
.extern .func (.param .b32 n) vprintf (.param .b64 format, .param .b64 arguments);
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 line, .param .b64 function, .param .b64 size);
.extern .func free (.param .b64 at);
.visible .entry prints(.param .u64 p) {
 .reg .b64 p; .reg .b32 n; .reg .pred q;
 ld.param.u64 p, [p];
 call (n), vprintf, (p, p);
 call free, (p);
 setp.lt.s32 q, n, 0; @!q bra done;
 call __assertfail, (p, p, n, p, p);
done:
 ret;
}
PTX
cat > "$dir/divide.ptx" <<'PTX'
.version 7.8
.target sm_90
.address_size 64
.visible .entry both(.param .u64 at) {
 .reg .b64 p, a, b, q; .reg .b32 t;
 ld.param.u64 p, [at]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 16, p;
 ld.global.u64 a, [p]; ld.global.u64 b, [p+8];
 div.s64 q, a, b; rem.s64 a, a, b;
 st.global.u64 [p], q; st.global.u64 [p+8], a;
 ret;
}
.visible .entry constant(.param .u64 at) {
 .reg .b64 p, a; .reg .b32 t;
 ld.param.u64 p, [at]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 16, p;
 ld.global.u64 a, [p];
 div.u64 a, a, 1000;
 st.global.u64 [p], a;
 ret;
}
.visible .entry narrow(.param .u64 at) {
 .reg .b64 p, a, b; .reg .b32 t;
 ld.param.u64 p, [at]; mov.u32 t, %tid.x; mad.wide.u32 p, t, 16, p;
 ld.global.u32 a, [p]; ld.global.u32 b, [p+8];
 div.u64 a, a, b;
 st.global.u64 [p], a;
 ret;
}
PTX
cat > "$dir/textures.ptx" <<'PTX'
.version 7.8
.target sm_90
.address_size 64
.visible .entry textures(.param .u64 at) {
 .reg .b64 p, t; .reg .f32 x, f<4>;
 ld.param.u64 p, [at]; ld.global.u64 t, [p]; ld.global.f32 x, [p+12];
 tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {x, x}]; st.global.v4.f32 [p+16], {f0, f1, f2, f3};
 tex.level.3d.v4.f32.f32 {f0, f1, f2, f3}, [t, {x, x, x, x}], x; st.global.v4.f32 [p+32], {f0, f1, f2, f3};
 tld4.g.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {x, x}]; st.global.v4.f32 [p+48], {f0, f1, f2, f3};
 ret;
}
PTX
status=0
fail()
{
    echo "$1" >&2
    status=1
}
body()  # of a function: instructions, and lines of code
{
    awk -v f="$2:" '$0 == f { on = 1 } on && /^\.Lfunc_end/ { on = 0 } on && /^\t\.ascii/ { code++ } on && /^\t[sv]_/ { other++ }
                    END { print other + 0, code + 0 }' "$1"
}
for arch; do
    for level in 0 3; do
        "$cc" --target "$arch" --emit asm -O$level "$dir/in.ptx" -o "$dir/out.s" || exit 1
        for name in mma.m16n8k16.f32.f16.f16.f32 mma.m8n8k4.f64.f64.f64.f64 cwd_print_vprintf cwd_print_assertfail; do
            set -- $(body "$dir/out.s" $name)
            if [ "$1" -gt 40 ] || [ "$2" -lt 5 ]; then
                fail "$arch -O$level: $name has $1 instructions and $2 lines of prepared code"
            fi
        done
        # The product uses v28 or more everywhere; the kernel itself a dozen, and 10 for arguments.
        registers=$(awk '$1 == ".amdhsa_next_free_vgpr" { print $2; exit }' "$dir/out.s")
        [ "$registers" -ge 29 ] || fail "$arch -O$level: the kernel has $registers registers"
    done
    for level in 0 3; do
        "$cc" --target "$arch" --emit asm -O$level "$dir/textures.ptx" -o "$dir/out.s" || exit 1
        set -- $(body "$dir/out.s" cwd_tex_fetch)
        if [ "$1" -gt 40 ] || [ "$2" -lt 100 ]; then
            fail "$arch -O$level: cwd_tex_fetch has $1 instructions and $2 lines of prepared code"
        fi
        bytes=$(awk '$1 == ".private_segment_fixed_size:" { print $2; exit }' "$dir/out.s")
        [ "$bytes" -ge 64 ] || fail "$arch -O$level: a kernel that fetches has a stack of $bytes bytes"
    done
    for level in 0 3; do
        "$cc" --target "$arch" --emit asm -O$level "$dir/divide.ptx" -o "$dir/out.s" || exit 1
        set -- $(body "$dir/out.s" div.s64)
        if [ "$1" -gt 20 ] || [ "$2" -lt 5 ]; then
            fail "$arch -O$level: div.s64 has $1 instructions and $2 lines of prepared code"
        fi
        [ "$level" -eq 0 ] || ! grep -q '^div.u64:' "$dir/out.s" || fail "$arch: a constant divisor or 32 bits call a function"
        [ "$level" -eq 0 ] || [ "$(grep -c s_swappc "$dir/out.s")" -eq 1 ] || fail "$arch: quotient and remainder are not one call"
    done
    "$cc" --target "$arch" --emit asm --matrix 80 "$dir/in.ptx" -o "$dir/out.s" || exit 1
    set -- $(body "$dir/out.s" mma.k16.f32.f16.f16.f32)
    [ "$1" -gt 100 ] && [ "$2" -eq 0 ] || fail "$arch: the product of another generation has $1 instructions and $2 lines of prepared code"
done
"$cc" --target gfx1036 --emit asm "$dir/in.ptx" -o "$dir/out.s" || exit 1
for name in mma.m16n8k16.f32.f16.f16.f32 cwd_print_vprintf cwd_print_assertfail; do
    set -- $(body "$dir/out.s" $name)
    [ "$1" -gt 15 ] && [ "$2" -eq 0 ] || fail "gfx1036: $name has $1 instructions and $2 lines of prepared code"
done
exit $status
