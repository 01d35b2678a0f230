import { toFunctionSelector } from 'viem';

/** A token that refuses everything because it is paused, as bytecode: revert with the error's selector. */
export const PAUSED_CODE = `0x63${toFunctionSelector('EnforcedPause()').slice(2)}60e01b60005260046000fd`;
