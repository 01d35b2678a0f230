/**
 * The behaviour of the test contracts: like the documented contracts where that is known, and like the
 * embedded network elsewhere.
 */
import { randomBytes } from 'node:crypto';
import { bytesToHex, getAddress, parseEventLogs, zeroAddress } from 'viem';
import type { Address } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CARBON_METADATA,
  carbonAbi,
  createActors,
  deployCarbon,
  deployReceipt,
  hashText,
  mintedCarbon,
  rampAbi,
  receiptAbi,
  refusalOf,
  tokenOf,
  TONNE,
} from '../../../support/evm/actors.ts';
import type { Actors } from '../../../support/evm/actors.ts';
import { startAnvil } from '../../../../devnet/evm/anvil.ts';
import type { Anvil, AnvilAccount } from '../../../../devnet/evm/anvil.ts';
import { compileContracts } from '../../../../devnet/evm/compile.ts';
import { deployContracts } from '../../../../devnet/evm/deploy.ts';
import { MULTICALL3_ADDRESS } from '../../../../src/ledger/network/evm/contracts.ts';
import { factoryAbi, settlementFactoryAbi } from '../../../../devnet/evm/referenceAbi.ts';

let node: Anvil | null = null;
let actors: Actors;

beforeAll(async () => {
  node = await startAnvil();
  actors = await createActors(node);
});
afterAll(() => node?.stop());

describe('the factory', () => {
  it('announces a carbon token by its event: template 4, deployer, asset id and country', async () => {
    const receipt = await deployCarbon(actors);
    const [event] = parseEventLogs({ abi: factoryAbi, logs: receipt.logs, eventName: 'TokenDeployed' });
    const { timestamp } = await actors.client.getBlock({ blockNumber: receipt.blockNumber });
    expect(event?.args).toEqual({
      template: 4,
      tokenAddress: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as string,
      deployer: actors.custody.address,
      assetId: hashText('asset'),
      countryCode: 'KE',
      timestamp,
    });
  });

  it('announces a commodity receipt with template 1, a draft that stays one when it is minted', async () => {
    const { template, tokenAddress } = tokenOf(await deployReceipt(actors, { expiresInSeconds: 3600 }));
    expect(template).toBe(1);
    const at = { address: tokenAddress, abi: receiptAbi } as const;
    expect(await actors.client.readContract({ ...at, functionName: 'status' })).toBe(0);
    await actors.send(actors.custody, {
      ...at,
      functionName: 'mint',
      args: [actors.custody.address, 5n * TONNE],
    });
    expect(await actors.client.readContract({ ...at, functionName: 'status' })).toBe(0);
  });

  it('passes names and every field of the metadata on to the token', async () => {
    const { tokenAddress } = tokenOf(await deployCarbon(actors));
    const at = { address: tokenAddress, abi: (await compileContracts()).CarbonCreditToken.abi };
    const read = (functionName: string) => actors.client.readContract({ ...at, functionName });
    expect(await Promise.all(['name', 'symbol', 'decimals'].map(read))).toEqual(['Mangroves', 'MNG', 18]);
    expect(await read('getMetadata')).toEqual(CARBON_METADATA);
  });

  it('makes another token for the same asset id: nothing here refuses it', async () => {
    const [first, second] = [tokenOf(await deployCarbon(actors)), tokenOf(await deployCarbon(actors))];
    expect(first.assetId).toBe(second.assetId);
    expect(first.tokenAddress).not.toBe(second.tokenAddress);
  });

  it('takes exactly the fee that it names', async () => {
    const own = await deployContracts(actors.node, {
      deployer: actors.node.accounts[0],
      custodyAddress: actors.custody.address,
    });
    const at = { address: own.factoryAddress, abi: (await compileContracts()).TokenFactory.abi };
    await actors.send(actors.deployer, { ...at, functionName: 'setDeploymentFee', args: [7n] });
    const fee = { address: own.factoryAddress, abi: factoryAbi, functionName: 'deploymentFee' } as const;
    expect(await actors.client.readContract(fee)).toBe(7n);
    expect(await refusalOf(() => deployCarbon(actors, { factory: own.factoryAddress }))).toBeTruthy();
    expect(tokenOf(await deployCarbon(actors, { factory: own.factoryAddress, value: 7n })).template).toBe(4);
  });
});

describe('a carbon token', () => {
  it("burns the sender's own balance and keeps a record of each retirement", async () => {
    const at = await mintedCarbon(actors, 10n);
    const receipt = await actors.send(actors.custody, {
      ...at,
      functionName: 'retire',
      args: [3n * TONNE, 'Ada', 'flight'],
    });
    const { timestamp } = await actors.client.getBlock({ blockNumber: receipt.blockNumber });
    const [event] = parseEventLogs({ abi: carbonAbi, logs: receipt.logs, eventName: 'CreditsRetired' });
    const retiredBy = actors.custody.address;
    const amount = 3n * TONNE;
    expect(event?.args).toEqual({ retiredBy, amount, beneficiary: 'Ada', retirementIndex: 0n, timestamp });
    expect(await actors.client.readContract({ ...at, functionName: 'getRetirement', args: [0n] })).toEqual({
      retiredBy,
      amount,
      timestamp,
      beneficiary: 'Ada',
      retirementNote: 'flight',
    });
    const read = (functionName: 'totalSupply' | 'totalRetired' | 'totalRetirements') =>
      actors.client.readContract({ ...at, functionName });
    expect(await Promise.all([read('totalSupply'), read('totalRetired'), read('totalRetirements')])).toEqual([
      7n * TONNE,
      3n * TONNE,
      1n,
    ]);
  });

  it('names why it refuses to retire', async () => {
    const at = await mintedCarbon(actors, 1n);
    const retire = (amount: bigint, from = actors.custody) =>
      refusalOf(() => actors.send(from, { ...at, functionName: 'retire', args: [amount, 'Ada', ''] }));
    expect(await retire(0n)).toEqual({ name: 'ZeroRetirementAmount', args: [] });
    expect(await retire(2n * TONNE)).toEqual({ name: 'InsufficientBalance', args: [TONNE, 2n * TONNE] });
    expect(await retire(1n, actors.holder)).toEqual({ name: 'InsufficientBalance', args: [0n, 1n] });
  });

  it('is minted by its minter alone', async () => {
    const at = await mintedCarbon(actors, 1n);
    const mint = () =>
      actors.send(actors.holder, { ...at, functionName: 'mint', args: [actors.custody.address, 1n] });
    expect(await refusalOf(mint)).toMatchObject({ name: 'AccessControlUnauthorizedAccount' });
  });

  it('neither mints, moves nor retires while it is paused', async () => {
    const at = await mintedCarbon(actors, 5n);
    await actors.send(actors.custody, { ...at, functionName: 'pause' });
    const { address } = actors.custody;
    for (const call of [
      () => actors.send(actors.custody, { ...at, functionName: 'mint', args: [address, 1n] }),
      () => actors.send(actors.custody, { ...at, functionName: 'transfer', args: [address, 1n] }),
      () => actors.send(actors.custody, { ...at, functionName: 'retire', args: [1n, 'Ada', ''] }),
    ]) {
      expect(await refusalOf(call)).toEqual({ name: 'EnforcedPause', args: [] });
    }
    await actors.send(actors.custody, { ...at, functionName: 'unpause' });
    await actors.send(actors.custody, { ...at, functionName: 'retire', args: [1n, 'Ada', ''] });
    expect(await actors.client.readContract({ ...at, functionName: 'totalRetired' })).toBe(1n);
  });
});

describe('a commodity receipt', () => {
  it('expires after its date, when its manager says so, once', async () => {
    const { tokenAddress } = tokenOf(await deployReceipt(actors, { expiresInSeconds: 600 }));
    const at = { address: tokenAddress, abi: receiptAbi } as const;
    const markExpired = () => actors.send(actors.custody, { ...at, functionName: 'markExpired' });
    expect(await actors.client.readContract({ ...at, functionName: 'isExpired' })).toBe(false);
    expect(await refusalOf(markExpired)).toBeTruthy();
    await actors.node.advanceTime(700);
    expect(await actors.client.readContract({ ...at, functionName: 'isExpired' })).toBe(true);
    expect(
      await refusalOf(() => actors.send(actors.holder, { ...at, functionName: 'markExpired' })),
    ).toMatchObject({
      name: 'AccessControlUnauthorizedAccount',
    });
    await markExpired();
    expect(await actors.client.readContract({ ...at, functionName: 'status' })).toBe(4);
    expect(await refusalOf(markExpired)).toBeTruthy();
  });
});

describe('the settlement contract', () => {
  it('pulls an approved deposit and settles it to the treasury', async () => {
    const { token, at, deposit } = await depositor(4n);
    const settles = await deposit('session-1', 3n);
    const { timestamp } = await actors.client.getBlock({ blockNumber: settles.blockNumber });
    const read = (id: string) =>
      actors.client.readContract({ ...at, functionName: 'getOffRamp', args: [hashText(id)] });
    const pending = { depositor: actors.holder.address, token: token.address, amount: 3n * TONNE, status: 1 };
    expect(await read('session-1')).toEqual({ ...pending, initiatedAt: timestamp });
    expect(await balances(token, [actors.holder.address, at.address])).toEqual([TONNE, 3n * TONNE]);
    await actors.send(actors.custody, {
      ...at,
      functionName: 'confirmOffRampSettlement',
      args: [hashText('session-1')],
    });
    expect(await read('session-1')).toMatchObject({ status: 2 });
    expect(await balances(token, [at.address, actors.custody.address])).toEqual([0n, 3n * TONNE]);
    expect(await read('never used')).toMatchObject({ depositor: zeroAddress, status: 0 });
  });

  it('refunds to the depositor, and lets nothing in or out while it is paused', async () => {
    const { token, at, deposit } = await depositor(2n);
    await deposit('session-2', 2n);
    await actors.send(actors.custody, { ...at, functionName: 'pause' });
    expect(await refusalOf(() => deposit('session-3', 1n))).toEqual({ name: 'EnforcedPause', args: [] });
    const release = (functionName: 'confirmOffRampSettlement' | 'refundOffRamp') =>
      actors.send(actors.custody, { ...at, functionName, args: [hashText('session-2')] });
    for (const functionName of ['confirmOffRampSettlement', 'refundOffRamp'] as const) {
      const refusal = await refusalOf(() => release(functionName));
      expect(refusal).toEqual({ name: 'EnforcedPause', args: [] });
    }
    await actors.send(actors.custody, { ...at, functionName: 'unpause' });
    await release('refundOffRamp');
    expect(await balances(token, [actors.holder.address])).toEqual([2n * TONNE]);
    expect(
      await actors.client.readContract({ ...at, functionName: 'getOffRamp', args: [hashText('session-2')] }),
    ).toMatchObject({ status: 3 });
  });

  it('names why it refuses', async () => {
    const { at, deposit } = await depositor(2n);
    await deposit('session-4', 1n);
    expect(await refusalOf(() => deposit('session-4', 1n))).toEqual({
      name: 'ReferenceAlreadyUsed',
      args: [hashText('session-4')],
    });
    expect(await refusalOf(() => deposit('session-5', 0n))).toEqual({ name: 'ZeroAmount', args: [] });
    const confirm = (from: AnvilAccount, id: string) =>
      refusalOf(() =>
        actors.send(from, { ...at, functionName: 'confirmOffRampSettlement', args: [hashText(id)] }),
      );
    expect(await confirm(actors.custody, 'session-5')).toEqual({ name: 'InvalidStatus', args: [] });
    expect(await confirm(actors.holder, 'session-4')).toMatchObject({
      name: 'AccessControlUnauthorizedAccount',
    });
    await actors.send(actors.custody, {
      ...at,
      functionName: 'refundOffRamp',
      args: [hashText('session-4')],
    });
    expect(await confirm(actors.custody, 'session-4')).toEqual({ name: 'InvalidStatus', args: [] });
  });

  it('refuses a deposit without approval, or of more than there is', async () => {
    const { token, at } = await depositor(1n);
    const deposit = (amount: bigint) =>
      refusalOf(() =>
        actors.send(actors.holder, {
          ...at,
          functionName: 'initiateOffRamp',
          args: [hashText('session-6'), token.address, amount, 'session-6'],
        }),
      );
    await actors.send(actors.holder, { ...token, functionName: 'approve', args: [at.address, 0n] });
    expect(await deposit(1n)).toEqual({ name: 'ERC20InsufficientAllowance', args: [at.address, 0n, 1n] });
    await actors.send(actors.holder, { ...token, functionName: 'approve', args: [at.address, 9n * TONNE] });
    expect(await deposit(2n * TONNE)).toEqual({
      name: 'ERC20InsufficientBalance',
      args: [actors.holder.address, TONNE, 2n * TONNE],
    });
  });

  it('is made by its factory, whose event says where, for whom and when', async () => {
    const treasury = getAddress(bytesToHex(randomBytes(20)));
    const at = { address: actors.contracts.settlementFactoryAddress, abi: settlementFactoryAbi } as const;
    const args = [actors.custody.address, treasury] as const;
    const receipt = await actors.send(actors.custody, { ...at, functionName: 'deployRampSettlement', args });
    const [event] = parseEventLogs({ abi: settlementFactoryAbi, logs: receipt.logs });
    const { timestamp } = await actors.client.getBlock({ blockNumber: receipt.blockNumber });
    const { address } = actors.custody;
    expect(event?.args).toMatchObject({ deployer: address, admin: address, treasury, timestamp });
    expect(
      await actors.client.getCode({ address: event?.args.settlementAddress ?? zeroAddress }),
    ).toBeTruthy();
  });
});

describe('Multicall3', () => {
  it('stands at its address on every chain, and lets one call fail by itself', async () => {
    const token = await mintedCarbon(actors, 2n);
    const read = (functionName: 'totalSupply' | 'totalRetirements') => ({ ...token, functionName });
    const answers = await actors.client.multicall({
      contracts: [
        read('totalSupply'),
        { ...token, functionName: 'getRetirement', args: [9n] },
        read('totalRetirements'),
      ],
      multicallAddress: MULTICALL3_ADDRESS,
    });
    expect(answers.map(({ status, result }) => result ?? status)).toEqual([2n * TONNE, 'failure', 0n]);
  });
});

/** Makes a holder with some tokens, who has approved the settlement contract to take them. */
async function depositor(tonnes: bigint) {
  const { holder, contracts, send } = actors;
  const token = await mintedCarbon(actors, tonnes, holder.address);
  const at = { address: contracts.settlementAddress, abi: rampAbi };
  await send(holder, { ...token, functionName: 'approve', args: [at.address, tonnes * TONNE] });
  const deposit = (id: string, amount: bigint) => {
    const args = [hashText(id), token.address, amount * TONNE, id];
    return send(holder, { ...at, functionName: 'initiateOffRamp', args });
  };
  return { token, at, deposit };
}

function balances(token: { address: Address; abi: typeof carbonAbi }, holders: Address[]) {
  const read = (of: Address) =>
    actors.client.readContract({ ...token, functionName: 'balanceOf', args: [of] });
  return Promise.all(holders.map(read));
}
