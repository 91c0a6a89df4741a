#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# programs.sh SOURCE BUILD [NVCC]: tools/programs on a folder of programs: what a list says of them, results and verdicts, --compare, --diff and --launches.
set -u
source=$1 build=$2 nvcc=${3:-}
[ -n "$nvcc" ] || { echo "there is no nvcc to build the programs with"; exit 77; }
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
failed=0
fail() { echo "FAILED: $*"; failed=1; }
programs() { # expected status, arguments...
    local want=$1; shift
    BUILD_DIR=$build "$source/tools/programs" --nvcc "$nvcc" --out "$dir/out" --list "$dir/list" "$@" "$dir/programs" >"$dir/table" 2>&1
    local got=$?
    [ $got = "$want" ] || { fail "$* gave $got, not $want"; cat "$dir/table"; }
}
row() { grep -qE -- "$1" "$dir/table" || { fail "no row: $1"; cat "$dir/table"; }; }

mkdir -p "$dir/programs/add" "$dir/programs/data" "$dir/programs/library" "$dir/programs/broken"
cat >"$dir/programs/add/add.cu" <<'EOF'
#include <cstdio>
#include <cstdlib>
__global__ void add(int *p, int n) { p[threadIdx.x] += n; }
int main(int argc, char **argv)
{
    int *p, sum = 0, host[32];
    cudaMalloc(&p, sizeof host);
    cudaMemset(p, 0, sizeof host);
    for (int i = 0; i < atoi(argv[1]); i++)
        add<<<1, 32>>>(p, i);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        sum += host[i];
    printf("sum %d\n", sum);
    return sum == 320 ? 3 : 0;
}
EOF
cat >"$dir/programs/data/data.cu" <<'EOF'
#include <cstdio>
__global__ void square(int *n) { *n *= *n; }
int main()
{
    int *p, n = 0;
    FILE *f = fopen("number", "r");
    if (!f || fscanf(f, "%d", &n) != 1)
        return 1;
    cudaMalloc(&p, 4);
    cudaMemcpy(p, &n, 4, cudaMemcpyHostToDevice);
    square<<<1, 1>>>(p);
    cudaMemcpy(&n, p, 4, cudaMemcpyDeviceToHost);
    puts(n == 49 ? "Test PASSED" : "Test FAILED");
}
EOF
printf '#include <cublas_v2.h>\n__global__ void k() {}\nint main() {}\n' >"$dir/programs/library/library.cu"
printf '__global__ void k() { nothing }\nint main() {}\n' >"$dir/programs/broken/broken.cu"
cat >"$dir/list" <<'EOF'
# what the test needs
add args=5 status=3
data prepare="echo 7 >number"
EOF

programs 1
row '^add +ok +3 +- '
row '^data +ok +0 +good '
row '^library +skipped .*cublas'
row '^broken +not built '
row '^4 programs: 1 not built, 2 ok, 1 skipped$'

sed -i 's/number/numbers/' "$dir/list"
echo 'broken skip="does not compile"' >>"$dir/list"
programs 1 --compare host:O0
row '^add +ok +3 +same '
row '^data +failed +1 '
row '^broken +skipped .*does not compile'
sed -i 's/numbers/number/' "$dir/list"

programs 0 --diff host --device host:O0 --launches 2
row '^add +same +2 .* 2 of 5 launches$'
row '^data +same +0 .* 1 launches$'

echo 'add mistake' >>"$dir/list"
programs 1
row "list:5: mistake is no KEY=VALUE"
exit $failed
