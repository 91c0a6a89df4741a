/* SPDX-License-Identifier: Apache-2.0
 * AMD's instructions and registers by LLVM's names. No public header has their numbers, which are the same for all processors; each process
 * looks them up once. Private to jit/llvm. */
#ifndef CWJ_LLVM_AMDGPU_OPCODES_H
#define CWJ_LLVM_AMDGPU_OPCODES_H

#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/TargetInstrInfo.h>

#define CWJ_AMD_OPCODES(X) \
    X(V_ADD_F32_e64) X(V_MUL_F32_e64) X(V_FMA_F32_e64) X(V_LDEXP_F32_e64) X(V_BFE_U32_e64) X(V_CMP_GE_U32_e64) X(V_AND_B32_e32) \
    X(V_CNDMASK_B32_e64) X(V_LSHL_ADD_U32_e64) X(V_MIN_U32_e64) X(V_MIN3_U32_e64) X(V_MAX3_F32_e64) \
    X(V_CMP_U_F64_e64) X(V_CMP_U_F64_e32) X(V_OR_B32_e32) X(V_MOV_B32_e32) X(S_MOV_B32) X(S_MOV_B64) X(S_CBRANCH_VCCNZ) X(S_BRANCH) \
    X(V_DOT4_I32_IU8) X(V_DOT8_I32_IU4) X(V_DOT4_I32_I8) X(V_DOT4_U32_U8) X(V_DOT8_I32_I4) X(V_DOT8_U32_U4) X(V_ADD_I32_e64) X(SCHED_BARRIER)

enum cwj_amd_opcode {
#define X(name) CWJ_AMD_##name,
    CWJ_AMD_OPCODES(X)
#undef X
    CWJ_AMD_OPCODE_COUNT
};

/* A name unknown to LLVM fails the compile (contain.h); so does an unknown register below. */
const llvm::MCInstrDesc &cwj_amd_instruction(const llvm::MachineFunction &f, cwj_amd_opcode o);

/* VGPR0 on, AGPR0 on, SGPR0 on, VCC, SCC. */
llvm::MCRegister cwj_amd_register(const llvm::MachineFunction &f, llvm::StringRef name);

/* The lower or upper 32 bits of a register of 64. */
llvm::MCRegister cwj_amd_half(const llvm::MachineFunction &f, llvm::MCRegister r, bool upper);

#endif
