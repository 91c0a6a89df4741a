; Annotations say which NaN an f64 operation gives on an H200: of the operands b, c and a, in this order, the first that is NaN, quieted, else
; 0xfff8000000000000. Operations that follow each other make one pseudo-instruction, which looks for a NaN once and goes behind the end of the
; function if there is one.
;
; Its registers have numbers: what comes out, two that are overwritten (a word and a mask of lanes), what goes in. ?N: look at register N; =N, for
; each value: its own number and, between commas, the numbers that its NaN may come from.

; One sum: it is 0, then come the two, so that b is 3 and a is 4, in the order in which a NaN is taken.
define double @sum(double %a, double %b) {
  %s = fadd double %a, %b
  %m = call double @cwj.nan64.2(double %s, double %a, double %b)
  ret double %m
}

; A product that only the sum uses: one value comes out. Its NaN is that of c, else the product's: of b, else a. That the product may be NaN by itself
; (0 times infinity) needs no word, since nothing stands behind it: the value is 0xfff8... then anyway.
define double @chain(double %a, double %b, double %c) {
  %p = fmul double %a, %b
  %pm = call double @cwj.nan64.2(double %p, double %a, double %b)
  %s = fadd double %pm, %c
  %m = call double @cwj.nan64.2(double %s, double %pm, double %c)
  ret double %m
}

; Nobody sees which NaN it is: a comparison, and the conversion to an integer, which gives 0 for any.
define i1 @compared(double %a, double %b) {
  %s = fadd double %a, %b
  %m = call double @cwj.nan64.2(double %s, double %a, double %b)
  %c = fcmp olt double %m, 1.0
  ret i1 %c
}

; Sums of integers are no NaN: the annotation goes.
define double @integers(i32 %i, i32 %j) {
  %a = sitofp i32 %i to double
  %b = uitofp i32 %j to double
  %s = fadd double %a, %b
  %m = call double @cwj.nan64.2(double %s, double %a, double %b)
  ret double %m
}
declare double @cwj.nan64.2(double, double, double)
;---- nan64 gfx1100
define double @sum(double %a, double %b) {
  %s = fadd double %a, %b
  %1 = call { double, i32, i32 } asm "cwj_nan64 ?0 =0,3,4", "=&v,=&v,=&s,0,v,v"(double %s, double %b, double %a) #0
  %2 = freeze { double, i32, i32 } %1
  %3 = extractvalue { double, i32, i32 } %2, 0
  ret double %3
}

define double @chain(double %a, double %b, double %c) {
  %p = fmul double %a, %b
  %s = fadd double %p, %c
  %1 = call { double, i32, i32 } asm "cwj_nan64 ?0 =0,3,4,5", "=&v,=&v,=&s,0,v,v,v"(double %s, double %c, double %b, double %a) #0
  %2 = freeze { double, i32, i32 } %1
  %3 = extractvalue { double, i32, i32 } %2, 0
  ret double %3
}

define i1 @compared(double %a, double %b) {
  %s = fadd double %a, %b
  %c = fcmp olt double %s, 1.000000e+00
  ret i1 %c
}

define double @integers(i32 %i, i32 %j) {
  %a = sitofp i32 %i to double
  %b = uitofp i32 %j to double
  %s = fadd double %a, %b
  ret double %s
}

attributes #0 = { nounwind willreturn memory(none) }

;---- nan64 gfx90a
define double @sum(double %a, double %b) {
  %s = fadd double %a, %b
  %1 = call { double, i32, i64 } asm "cwj_nan64 ?0 =0,3,4", "=&v,=&v,=&s,0,v,v"(double %s, double %b, double %a) #0
  %2 = freeze { double, i32, i64 } %1
  %3 = extractvalue { double, i32, i64 } %2, 0
  ret double %3
}

define double @chain(double %a, double %b, double %c) {
  %p = fmul double %a, %b
  %s = fadd double %p, %c
  %1 = call { double, i32, i64 } asm "cwj_nan64 ?0 =0,3,4,5", "=&v,=&v,=&s,0,v,v,v"(double %s, double %c, double %b, double %a) #0
  %2 = freeze { double, i32, i64 } %1
  %3 = extractvalue { double, i32, i64 } %2, 0
  ret double %3
}

define i1 @compared(double %a, double %b) {
  %s = fadd double %a, %b
  %c = fcmp olt double %s, 1.000000e+00
  ret i1 %c
}

define double @integers(i32 %i, i32 %j) {
  %a = sitofp i32 %i to double
  %b = uitofp i32 %j to double
  %s = fadd double %a, %b
  ret double %s
}

attributes #0 = { nounwind willreturn memory(none) }
