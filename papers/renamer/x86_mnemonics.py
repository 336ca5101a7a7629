"""Mnemonics of x86-64 instructions as LLVM prints them in AT&T syntax, with their suffixes and what operands they take.

These are the ones that occur in the basic blocks of BHive, but for jumps and calls, which end a basic block. A model
has a row for each, so the list belongs to every checkpoint: new ones would change ids.

Their operands are what LLVM 14 assembles, without AVX-512 and without the names of other instructions that it takes
too (`movsd` without operands).

Source: Chen et al. 2019, BHive: A Benchmark Suite and Measurement Framework for Validating x86-64 Basic Block
Performance Models; Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.
"""

# Forms, separated by blanks → the mnemonics that have just these. A form names its operands, separated by commas, and
# of each the letters of what it may be; `-` is the form without operands.
#   i m: constant, memory                        q l w b: general register of 64, 32, 16, 8 bits
#   r: general register of the suffix's width    a A c d: %ax, %al, %cl, %dx and no other
#   x y t: xmm, ymm, mm                          S s: %st, %st(0) to %st(7)         g: segment register
_LISTED = {
    "-": """
        cld cltd cltq cpuid cqto cwtl emms f2xm1 fabs fchs fld1 fldl2e fldlg2 fldz fnclex fprem frndint fscale
        fsqrt fxam fyl2x fyl2xp1 leave lfence lock mfence pause popfq pushfq rdtsc sfence vzeroall vzeroupper
        wait xgetbv
    """,
    "m": """
        fdivs fildl fildll fistpl fistpll fldcw fldl flds fldt fmuls fnstcw fstl fstpl fstpt ldmxcsr prefetchnta
        prefetcht0 prefetchw stmxcsr vldmxcsr vstmxcsr
    """,
    "mr": "decb decl decq divl divq idivl idivq incb incl incq incw mull mulq negb negl negq nopl nopw notl notq",
    "bm": "seta setae setb setbe sete setg setge setl setle setne setnp setp",
    "r": "bswapl bswapq",
    "mr,r": """
        blsrq bsfl bsfq bsrl bsrq cmovael cmovaeq cmoval cmovaq cmovbel cmovbeq cmovbl cmovbq cmovel cmoveq
        cmovew cmovgel cmovgeq cmovgl cmovgq cmovlel cmovleq cmovll cmovlq cmovnel cmovneq cmovnew cmovnsl
        cmovnsq cmovsl cmovsq popcntq tzcntl tzcntq
    """,
    "imr,r ir,m": """
        adcl adcq addb addl addq addw andb andl andq andw cmpb cmpl cmpq cmpw movb orb orl orq orw sbbl sbbq
        subb subl subq subw testb testl testq testw xorb xorl xorq xorw
    """,
    "mr ic,mr": "roll rolq rolw rorl rorq rorw sarb sarl sarq sarw shll shlq shrb shrl shrq shrw",
    "r,mr": "cmpxchgb cmpxchgl cmpxchgq xaddl xaddq",
    "ir,mr": "btl btq btsl btsq",
    "r,mr mr,r": "xchgb xchgl xchgq",
    "m,r": "leal leaq",
    "m,r r,m": "movbel",
    "im,r r,m": "movabsq",
    "m r imr,r i,mr,r": "imull imulq",
    "mr,r,r": "andnl andnq",
    "r,mr,r": "sarxl shlxl shlxq shrxl shrxq",
    "i,mr,r": "rorxl rorxq",
    "r,mr ic,r,mr": "shldl shldq shrdq",
    "bm,r": "movsbl movsbq movzbl movzbq",
    "mw,r": "movswl movswq movzwl movzwq",
    "lm,r": "movslq",
    "gimr,r gir,m lmr,g": "movw",
    "gimr,r ir,m wr,g": "movl",
    "gimr,r ir,m r,g mrt,t mrx,x tx,mr": "movq",
    "gmr": "popq",
    "gimr": "pushq",
    "- lqw": "nop",
    "di A,di": "outb",
    "d,m": "insl",
    "- S s S,Ss s,S": "fadd faddp fdiv fdivp fdivr fdivrp fmul fmulp fsub fsubp fsubr fsubrp",
    "- S s S,S s,S": "fcompi fucomi fucompi",
    "Ss": "fld fstp",
    "- Ss": "fxch",
    "- am": "fnstsw",
    "mx,x": """
        addpd addps addsd addss andnpd andnps andpd andps cmpeqpd cmpeqps cmpeqsd cmpeqss cmplesd cmpltsd
        cmpltss cmpneqps comisd comiss cvtpd2ps cvtps2pd cvtsd2ss cvtss2sd divps divsd divss haddpd haddps maxpd
        maxps maxsd maxss minpd minps minsd minss movddup mulpd mulps mulsd mulss orpd orps ptest punpckhqdq
        punpcklqdq rcpps rcpss rsqrtss sqrtsd sqrtss subpd subps subsd subss ucomisd ucomiss unpckhpd unpckhps
        unpcklpd unpcklps vcomisd vcomiss vucomisd vucomiss xorpd xorps
    """,
    "mt,t mx,x": """
        packssdw packuswb paddb paddd paddsw paddusb paddw pand pandn pavgb pavgw pcmpeqb pcmpeqd pcmpgtb phaddd
        pmaddubsw pmaddwd pmaxub pminub pmulhw pmullw por psadbw pshufb psubb psubd psubq psubsw psubusb psubw
        punpckhbw punpckhdq punpckhwd punpcklbw punpckldq punpcklwd pxor
    """,
    "m,x": "lddqu",
    "x,x": "movhlps movlhps",
    "x,m": "movntdq",
    "t,x": "movq2dq",
    "mx,x x,m": "movapd movaps movdqa movdqu movsd movss movups",
    "m,x x,m": "movhpd movhps movlpd movlps",
    "imt,t imx,x": "psllq psllw psrad psraw psrld psrlq psrlw",
    "i,x": "pslldq psrldq",
    "i,mx,x": "pcmpistri pshufd pshuflw roundsd roundss shufpd shufps vpcmpistri",
    "i,mt,t": "pshufw",
    "i,mt,t i,mx,x": "palignr",
    "mx,lq": "cvtsd2si cvtss2si cvttsd2si cvttss2si vcvttsd2si vcvttss2si",
    "lmq,x": "cvtsi2sd cvtsi2ss",
    "mr,x": "cvtsi2sdl cvtsi2sdq cvtsi2ssl cvtsi2ssq",
    "lmq,tx tx,lmq": "movd",
    "x,lq": "movmskpd movmskps",
    "tx,lq": "pmovmskb",
    "i,tx,lq i,x,m": "pextrw",
    "i,lmq,tx": "pinsrw",
    "mx,x,x my,y,y": """
        vaddpd vaddps vaddsubpd vaddsubps vandnpd vandnps vandpd vandps vcmpeqps vcmpleps vcmplt_oqps vcmpltps
        vcmpneqps vcmpnleps vcmpnltps vdivps vfmadd132ps vfmadd213pd vfmadd213ps vfmadd231pd vfmadd231ps
        vfmsub213ps vfmsub231ps vfnmadd213ps vfnmadd231pd vfnmadd231ps vhaddpd vhaddps vmaxps vminps vmulpd
        vmulps vorpd vorps vpaddd vpaddq vpand vpandn vpcmpeqb vpcmpeqd vpcmpgtb vpcmpgtd vphaddd vpmaxsd
        vpminsd vpmuludq vpor vpshufb vpsubb vpxor vsubpd vsubps vunpckhps vunpcklpd vunpcklps vxorpd vxorps
    """,
    "mx,x,x": """
        vaddsd vaddss vcmpgesd vcmpgess vcmpneq_oqsd vcmpneq_oqss vcmpngess vcmpunordsd vcmpunordss vcvtsd2ss
        vcvtss2sd vdivsd vdivss vfmadd132sd vfmadd213sd vfmadd231sd vfmadd231ss vfnmadd213sd vfnmadd213ss
        vfnmadd231sd vfnmadd231ss vmaxsd vmaxss vmulsd vmulss vrcpss vsqrtsd vsqrtss vsubsd vsubss
    """,
    "x,x,x": "vmovhlps vmovlhps",
    "my,y,y": "vpermd",
    "mx,x my,y": "vcvtdq2ps vcvtps2dq vcvttps2dq vmovddup vrcpps vrsqrtps",
    "mx,x my,y xy,m": "vmovapd vmovaps vmovdqa vmovdqu vmovupd vmovups",
    "xy,m": "vmovntps",
    "m,x x,m x,x,x": "vmovsd vmovss",
    "m,x,x x,m": "vmovhpd",
    "mx,xy": "vbroadcastss vcvtdq2pd vcvtps2pd vpbroadcastb vpbroadcastd vpbroadcastq",
    "mx,y": "vbroadcastsd",
    "xy,x": "vcvtpd2ps",
    "mrx,x x,mr": "vmovq",
    "lmq,x x,lmq": "vmovd",
    "lmq,x,x": "vcvtsi2sd vcvtsi2ss",
    "mr,x,x": "vcvtsi2sdl vcvtsi2sdq vcvtsi2ssl vcvtsi2ssq",
    "xy,lq": "vmovmskps vpmovmskb",
    "imx,x,x imx,y,y": "vpslld vpsllq vpsrad vpsrld vpsrlq",
    "i,x,x i,y,y": "vpslldq vpsrldq",
    "i,mx,x i,my,y": "vpshufd vroundps",
    "i,mx,x i,my,y mx,x,x my,y,y": "vpermilpd vpermilps",
    "i,my,y": "vpermpd vpermq",
    "i,mx,x,x i,my,y,y": "vblendpd vblendps vpalignr vpblendd vshufpd vshufps",
    "i,my,y,y": "vperm2f128",
    "i,mx,y,y": "vinsertf128 vinserti128",
    "i,mx,x,x": "vinsertps",
    "i,y,mx": "vextractf128 vextracti128",
    "x,mx,x,x y,my,y,y": "vblendvps",
    "i,x,lmq": "vextractps",
    "i,x,lm": "vpextrd",
    "i,x,mr": "vpextrq",
    "i,mr,x,x": "vpinsrq",
}
FORMS = {
    mnemonic: tuple(tuple(form.replace("r", mnemonic[-1]).split(",")) if form != "-" else () for form in forms.split())
    for forms, mnemonics in _LISTED.items()
    for mnemonic in mnemonics.split()
}
MNEMONICS = tuple(sorted(FORMS))
