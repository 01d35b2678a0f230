/**
 * The whole product on a real EVM chain.
 */
import { startEvmWorld } from '../../../devnet/evm/evmWorld.ts';
import { describeDemo } from '../suite/demo.ts';

describeDemo('an EVM chain', startEvmWorld);
