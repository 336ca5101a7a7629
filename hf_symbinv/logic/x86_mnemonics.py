"""Mnemonics of x86-64 instructions as LLVM prints them in AT&T syntax, with their suffixes.

These are the ones that occur in the basic blocks of BHive, but for jumps and calls, which end a basic block. A model
has a row for each, so the list belongs to every checkpoint: new ones would change ids.

Source: Chen et al. 2019, BHive: A Benchmark Suite and Measurement Framework for Validating x86-64 Basic Block
Performance Models.
"""

_LISTED = """
adcl adcq addb addl addpd addps addq addsd addss addw andb andl andnl andnpd andnps andnq andpd andps andq andw blsrq
bsfl bsfq bsrl bsrq bswapl bswapq btl btq btsl btsq cld cltd cltq cmovael cmovaeq cmoval cmovaq cmovbel cmovbeq cmovbl
cmovbq cmovel cmoveq cmovew cmovgel cmovgeq cmovgl cmovgq cmovlel cmovleq cmovll cmovlq cmovnel cmovneq cmovnew
cmovnsl cmovnsq cmovsl cmovsq cmpb cmpeqpd cmpeqps cmpeqsd cmpeqss cmpl cmplesd cmpltsd cmpltss cmpneqps cmpq cmpw
cmpxchgb cmpxchgl cmpxchgq comisd comiss cpuid cqto cvtpd2ps cvtps2pd cvtsd2si cvtsd2ss cvtsi2sd cvtsi2sdl cvtsi2sdq
cvtsi2ss cvtsi2ssl cvtsi2ssq cvtss2sd cvtss2si cvttsd2si cvttss2si cwtl decb decl decq divl divps divq divsd divss
emms f2xm1 fabs fadd faddp fchs fcompi fdiv fdivp fdivr fdivrp fdivs fildl fildll fistpl fistpll fld fld1 fldcw fldl
fldl2e fldlg2 flds fldt fldz fmul fmulp fmuls fnclex fnstcw fnstsw fprem frndint fscale fsqrt fstl fstp fstpl fstpt
fsub fsubp fsubr fsubrp fucomi fucompi fxam fxch fyl2x fyl2xp1 haddpd haddps idivl idivq imull imulq incb incl incq
incw insl lddqu ldmxcsr leal leaq leave lfence lock maxpd maxps maxsd maxss mfence minpd minps minsd minss movabsq
movapd movaps movb movbel movd movddup movdqa movdqu movhlps movhpd movhps movl movlhps movlpd movlps movmskpd
movmskps movntdq movq movq2dq movsbl movsbq movsd movslq movss movswl movswq movups movw movzbl movzbq movzwl movzwq
mull mulpd mulps mulq mulsd mulss negb negl negq nop nopl nopw notl notq orb orl orpd orps orq orw outb packssdw
packuswb paddb paddd paddsw paddusb paddw palignr pand pandn pause pavgb pavgw pcmpeqb pcmpeqd pcmpgtb pcmpistri
pextrw phaddd pinsrw pmaddubsw pmaddwd pmaxub pminub pmovmskb pmulhw pmullw popcntq popfq popq por prefetchnta
prefetcht0 prefetchw psadbw pshufb pshufd pshuflw pshufw pslldq psllq psllw psrad psraw psrld psrldq psrlq psrlw psubb
psubd psubq psubsw psubusb psubw ptest punpckhbw punpckhdq punpckhqdq punpckhwd punpcklbw punpckldq punpcklqdq
punpcklwd pushfq pushq pxor rcpps rcpss rdtsc roll rolq rolw rorl rorq rorw rorxl rorxq roundsd roundss rsqrtss sarb
sarl sarq sarw sarxl sbbl sbbq seta setae setb setbe sete setg setge setl setle setne setnp setp sfence shldl shldq
shll shlq shlxl shlxq shrb shrdq shrl shrq shrw shrxl shrxq shufpd shufps sqrtsd sqrtss stmxcsr subb subl subpd subps
subq subsd subss subw testb testl testq testw tzcntl tzcntq ucomisd ucomiss unpckhpd unpckhps unpcklpd unpcklps vaddpd
vaddps vaddsd vaddss vaddsubpd vaddsubps vandnpd vandnps vandpd vandps vblendpd vblendps vblendvps vbroadcastsd
vbroadcastss vcmpeqps vcmpgesd vcmpgess vcmpleps vcmplt_oqps vcmpltps vcmpneq_oqsd vcmpneq_oqss vcmpneqps vcmpngess
vcmpnleps vcmpnltps vcmpunordsd vcmpunordss vcomisd vcomiss vcvtdq2pd vcvtdq2ps vcvtpd2ps vcvtps2dq vcvtps2pd
vcvtsd2ss vcvtsi2sd vcvtsi2sdl vcvtsi2sdq vcvtsi2ss vcvtsi2ssl vcvtsi2ssq vcvtss2sd vcvttps2dq vcvttsd2si vcvttss2si
vdivps vdivsd vdivss vextractf128 vextracti128 vextractps vfmadd132ps vfmadd132sd vfmadd213pd vfmadd213ps vfmadd213sd
vfmadd231pd vfmadd231ps vfmadd231sd vfmadd231ss vfmsub213ps vfmsub231ps vfnmadd213ps vfnmadd213sd vfnmadd213ss
vfnmadd231pd vfnmadd231ps vfnmadd231sd vfnmadd231ss vhaddpd vhaddps vinsertf128 vinserti128 vinsertps vldmxcsr vmaxps
vmaxsd vmaxss vminps vmovapd vmovaps vmovd vmovddup vmovdqa vmovdqu vmovhlps vmovhpd vmovlhps vmovmskps vmovntps vmovq
vmovsd vmovss vmovupd vmovups vmulpd vmulps vmulsd vmulss vorpd vorps vpaddd vpaddq vpalignr vpand vpandn vpblendd
vpbroadcastb vpbroadcastd vpbroadcastq vpcmpeqb vpcmpeqd vpcmpgtb vpcmpgtd vpcmpistri vperm2f128 vpermd vpermilpd
vpermilps vpermpd vpermq vpextrd vpextrq vphaddd vpinsrq vpmaxsd vpminsd vpmovmskb vpmuludq vpor vpshufb vpshufd
vpslld vpslldq vpsllq vpsrad vpsrld vpsrldq vpsrlq vpsubb vpxor vrcpps vrcpss vroundps vrsqrtps vshufpd vshufps
vsqrtsd vsqrtss vstmxcsr vsubpd vsubps vsubsd vsubss vucomisd vucomiss vunpckhps vunpcklpd vunpcklps vxorpd vxorps
vzeroall vzeroupper wait xaddl xaddq xchgb xchgl xchgq xgetbv xorb xorl xorpd xorps xorq xorw
"""
MNEMONICS = tuple(_LISTED.split())
