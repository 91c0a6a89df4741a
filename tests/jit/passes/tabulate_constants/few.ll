; A function with few vector constants keeps them: the code generator finds them quickly, and knows what they are. (More than 4,096: jit.llvm.constants.)
define <4 x i32> @few(<4 x i32> %x) {
  %a = xor <4 x i32> %x, <i32 1, i32 2, i32 3, i32 4>
  %b = add <4 x i32> %a, splat (i32 7)
  ret <4 x i32> %b
}
;---- tabulate-constants host
define <4 x i32> @few(<4 x i32> %x) {
  %a = xor <4 x i32> %x, <i32 1, i32 2, i32 3, i32 4>
  %b = add <4 x i32> %a, splat (i32 7)
  ret <4 x i32> %b
}
