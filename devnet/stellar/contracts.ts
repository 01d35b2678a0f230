/**
 * Installs the contracts of the deployed interface on a Soroban node: their code, and the two factories.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Address, Asset, Keypair, nativeToScVal, Operation, xdr } from '@stellar/stellar-sdk';
import type { SorobanNode } from '../soroban/startSorobanNode.ts';

/**
 * Whether `initiate_off_ramp` asks the caller itself (`root`), or leaves it to the token's transfer
 * (`nested`). Both are in use; with the second, a simulation has to allow authorisations below the root.
 */
export type DepositAuth = 'root' | 'nested';

export interface FurnishOptions {
  depositAuth: DepositAuth;
  /** The fee of the factories, in stroops. */
  deploymentFee: bigint;
}

export interface Furniture {
  factoryAddress: string;
  settlementFactory: string;
  nativeAsset: string;
}

export async function furnish(node: SorobanNode, options: FurnishOptions): Promise<Furniture> {
  // The account that owns a new network.
  const owner = Keypair.fromRawEd25519Seed(sha256(node.passphrase)).publicKey();
  const invoke = (operation: xdr.Operation<Operation.InvokeHostFunction>) => {
    const hostFunction = operation.body().invokeHostFunctionOp().hostFunction();
    return xdr.ScVal.fromXDR(node.invoke(hostFunction.toXDR('base64'), owner), 'base64');
  };
  const call = (contract: string, name: string, ...args: xdr.ScVal[]) =>
    invoke(Operation.invokeContractFunction({ contract, function: name, args }));
  const upload = async (name: string) => {
    const wasm = await readFile(new URL(`../soroban/built/${name}.wasm`, import.meta.url));
    invoke(Operation.uploadContractWasm({ wasm }));
    return sha256(wasm);
  };
  const makeFactory = async (name: string) => {
    const address = new Address(owner);
    const constructorArgs = [address.toScVal(), address.toScVal()];
    const wasmHash = await upload(name);
    const made = invoke(
      Operation.createCustomContract({ address, wasmHash, salt: sha256(name), constructorArgs }),
    );
    const contract = Address.fromScVal(made).toString();
    const fee = nativeToScVal(options.deploymentFee, { type: 'i128' });
    if (options.deploymentFee > 0n) call(contract, 'set_deployment_fee', fee);
    return contract;
  };
  const register = async (factory: string, kind: string, name: string) =>
    call(factory, 'register_code', xdr.ScVal.scvSymbol(kind), xdr.ScVal.scvBytes(await upload(name)));

  invoke(Operation.createStellarAssetContract({ asset: Asset.native() }));
  const factoryAddress = await makeFactory('token_factory');
  await register(factoryAddress, 'CarbonCredit', 'carbon_credit');
  await register(factoryAddress, 'CommodityReceipt', 'commodity_receipt');
  const settlementFactory = await makeFactory('settlement_factory');
  const settlement = options.depositAuth === 'root' ? 'ramp_settlement_root_auth' : 'ramp_settlement';
  await register(settlementFactory, 'RampSettlement', settlement);
  return { factoryAddress, settlementFactory, nativeAsset: Asset.native().contractId(node.passphrase) };
}

function sha256(content: string | Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}
