import { toFunctionSelector } from 'viem';

/** Bytecode of a token that refuses every call because it is paused: it reverts with the error's selector. */
export const PAUSED_CODE = `0x63${toFunctionSelector('EnforcedPause()').slice(2)}60e01b60005260046000fd`;
