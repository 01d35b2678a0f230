/**
 * The encoding: calls as contract invocations, values within their ranges, addresses, and the host's errors.
 */
import { Address, Keypair, Networks, nativeToScVal, scValToNative, xdr } from '@stellar/stellar-sdk';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NetworkCall } from '../../../src/ledger/network/port.ts';
import { NetworkRefusal } from '../../../src/ledger/network/port.ts';
import {
  deployedAddress,
  hashText,
  normalizeAddress,
} from '../../../src/ledger/network/stellar/addresses.ts';
import { withHeadroom } from '../../../src/ledger/network/stellar/headroom.ts';
import { hostErrorOf, isNetworksOwn } from '../../../src/ledger/network/stellar/hostErrors.ts';
import { hostFunctionOf, invocationOf, paymentTokenOf } from '../../../src/ledger/network/stellar/calls.ts';
import {
  i128Val,
  retirementOf,
  structVal,
  textVal,
  u32Val,
  u64Val,
} from '../../../src/ledger/network/stellar/scvals.ts';
import { createStellarNetwork } from '../../../src/ledger/network/stellar/network.ts';
import { deployCarbon, deployReceipt, retire, TONNE } from '../../../devnet/calls.ts';

const custody = Keypair.random().publicKey();
const contractOf = (name: string) => deployedAddress(Networks.TESTNET, custody, hashText(name));
const contracts = {
  passphrase: Networks.TESTNET,
  factoryAddress: contractOf('factory'),
  settlementFactoryAddress: contractOf('settlement factory'),
  settlementAddress: contractOf('settlement'),
};
const token = contractOf('token');

/** Returns what the contract receives, after encoding and decoding. */
function sent(call: NetworkCall): { contract: string; name: string; args: unknown[]; raw: xdr.ScVal[] } {
  const bytes = hostFunctionOf(invocationOf(contracts, call, custody)).toXDR();
  const { contractAddress, functionName, args } = readInvocation(xdr.HostFunction.fromXDR(bytes));
  return { contract: contractAddress, name: functionName, args: args.map(scValToNative), raw: args };
}

function readInvocation(host: xdr.HostFunction) {
  const call = host.invokeContract();
  return {
    contractAddress: Address.fromScAddress(call.contractAddress()).toString(),
    functionName: String(call.functionName()),
    args: call.args(),
  };
}

describe('calls', () => {
  it('deploys carbon credits with the arguments in the interface’s order, and metadata sorted by key', () => {
    const call = deployCarbon();
    const { contract, name, args, raw } = sent(call);
    expect([contract, name]).toEqual([contracts.factoryAddress, 'deploy_carbon_credit_token']);
    expect(args.slice(0, 2)).toEqual([custody, paymentTokenOf(Networks.TESTNET)]);
    expect(Buffer.from(args[2] as Uint8Array).toString('hex')).toBe(call.salt.slice(2));
    expect(args.slice(3, 5)).toEqual([call.name, call.symbol]);
    expect(Buffer.from(args[5] as Uint8Array).toString('hex')).toBe(hashText(call.assetId).slice(2));
    expect(args.slice(6, 9)).toEqual(['ID', custody, null]);
    expect(raw.map((value) => value.switch().name)).toEqual([
      'scvAddress',
      'scvAddress',
      'scvBytes',
      'scvString',
      'scvString',
      'scvBytes',
      'scvString',
      'scvAddress',
      'scvVoid',
      'scvMap',
    ]);
    const fields = raw[9]?.map()?.map((entry) => [String(entry.key().sym()), entry.val().switch().name]);
    expect(fields).toEqual([
      ['credit_type', 'scvString'],
      ['last_updated', 'scvU64'],
      ['project_location', 'scvString'],
      ['project_type', 'scvString'],
      ['quantity_co2e', 'scvI128'],
      ['verification_body_ref', 'scvString'],
      ['verification_doc_hash', 'scvBytes'],
      ['vintage_year', 'scvU32'],
    ]);
    expect(args[9]).toMatchObject({ quantity_co2e: 1000n * TONNE, vintage_year: 2024 });
  });

  it('deploys receipts with their own metadata', () => {
    const call = deployReceipt(1_800_000_000n);
    const { name, args, raw } = sent(call);
    expect(name).toBe('deploy_commodity_receipt_token');
    expect(Buffer.from(args[5] as Uint8Array).toString('hex')).toBe(hashText(call.assetId).slice(2));
    expect(args[9]).toMatchObject({ quantity_kg: 5000n, expiry_date: 1_800_000_000n, warehouse_id: 'WH-7' });
    const keys = raw[9]?.map()?.map((entry) => String(entry.key().sym())) ?? [];
    expect(keys).toEqual([...keys].sort());
    expect(keys).toHaveLength(11);
  });

  it('makes the other calls as the interface has them', () => {
    const reference = Buffer.from(hashText('session-1').slice(2), 'hex');
    const { settlementAddress, settlementFactoryAddress } = contracts;
    const cases: [NetworkCall, string, string, unknown[]][] = [
      [{ kind: 'mint', tokenAddress: token, to: custody, amount: 5n }, token, 'mint', [custody, 5n]],
      [retire(token, TONNE, 'a note'), token, 'retire', [custody, TONNE, 'Ünïted Øil 🌍', 'a note']],
      [{ kind: 'markExpired', tokenAddress: token }, token, 'mark_expired', []],
      [
        { kind: 'depositOffRamp', sessionId: 'session-1', tokenAddress: token, amount: 7n },
        settlementAddress,
        'initiate_off_ramp',
        [custody, reference, token, 7n, 'session-1'],
      ],
      [
        { kind: 'confirmOffRampSettlement', sessionId: 'session-1' },
        settlementAddress,
        'confirm_off_ramp_settlement',
        [reference],
      ],
      [{ kind: 'refundOffRamp', sessionId: 'session-1' }, settlementAddress, 'refund_off_ramp', [reference]],
      [
        { kind: 'deployRampSettlement', salt: hashText('salt'), treasury: custody },
        settlementFactoryAddress,
        'deploy_ramp_settlement',
        [
          custody,
          paymentTokenOf(Networks.TESTNET),
          Buffer.from(hashText('salt').slice(2), 'hex'),
          custody,
          custody,
        ],
      ],
    ];
    for (const [call, contract, name, args] of cases) {
      expect(sent(call)).toMatchObject({ contract, name, args });
    }
  });

  it('refuses what no contract could take, before anything is asked', () => {
    const mint = { kind: 'mint', tokenAddress: token, to: custody, amount: 1n } as const;
    const refused: [NetworkCall, string][] = [
      [{ ...mint, amount: 0n }, 'ZERO_AMOUNT'],
      [{ ...mint, amount: -1n }, 'OTHER'],
      [{ ...mint, amount: 2n ** 127n }, 'OTHER'],
      [{ ...mint, to: 'no-address' }, 'OTHER'],
      [{ ...mint, tokenAddress: custody }, 'CONTRACT_NOT_FOUND'],
      [retire(token, TONNE, 'half a pair \ud83c'), 'OTHER'],
      [{ ...deployCarbon(), salt: '0x12' }, 'OTHER'],
      [{ kind: 'setAllowance', tokenAddress: token, amount: 1n }, 'OTHER'],
    ];
    for (const [call, reason] of refused) {
      const make = () => invocationOf(contracts, call, custody);
      expect(make).toThrow(NetworkRefusal);
      expect(make).toThrow(expect.objectContaining({ reason }) as Error);
    }
    const bare = { ...contracts, settlementAddress: null, settlementFactoryAddress: null };
    const orphan = { kind: 'refundOffRamp', sessionId: 's' } as const;
    expect(() => invocationOf(bare, orphan, custody)).toThrow('No settlement contract is configured');
  });
});

describe('values', () => {
  it('keep every integer of their type, and refuse the next one', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }), (value) => {
        const wire = xdr.ScVal.fromXDR(i128Val('amount', value).toXDR());
        expect(scValToNative(wire)).toBe(value);
      }),
    );
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        expect(scValToNative(u64Val('time', value))).toBe(value);
      }),
    );
    for (const bad of [
      () => i128Val('amount', -(2n ** 127n) - 1n),
      () => u64Val('time', -1n),
      () => u64Val('time', 2n ** 64n),
      () => u32Val('year', -1),
      () => u32Val('year', 2 ** 32),
      () => u32Val('year', 1.5),
    ]) {
      expect(bad).toThrow(NetworkRefusal);
    }
  });

  it('keep every text that has a UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const isWhole = !/\p{Surrogate}/u.test(text);
        if (isWhole) expect(scValToNative(xdr.ScVal.fromXDR(textVal('note', text).toXDR()))).toBe(text);
        else expect(() => textVal('note', text)).toThrow(NetworkRefusal);
      }),
    );
  });

  it('read a stored retirement, and nothing that is not one', () => {
    const stored = (beneficiary: xdr.ScVal, note: string | Buffer) =>
      xdr.ScVal.fromXDR(
        structVal({
          retired_by: new Address(custody).toScVal(),
          amount: nativeToScVal(5n, { type: 'i128' }),
          timestamp: nativeToScVal(9n, { type: 'u64' }),
          beneficiary,
          retirement_note: xdr.ScVal.scvString(note),
        }).toXDR(),
      );
    const damaged = stored(xdr.ScVal.scvString('Ø\u0000l'), Buffer.from([0xff, 0x41, 0x00]));
    expect(retirementOf(damaged)).toEqual({
      retiredBy: custody,
      amount: 5n,
      timestamp: 9n,
      beneficiary: 'Ø\ufffdl',
      note: '\ufffdA\ufffd',
    });
    const marked = { beneficiary: '\ufeffAcme', note: '\ufeff\ufeffé\ufeff' };
    const withMarks = stored(xdr.ScVal.scvString(marked.beneficiary), marked.note);
    expect(retirementOf(withMarks)).toMatchObject(marked);
    expect(() => retirementOf(stored(xdr.ScVal.scvU32(5), ''))).toThrow('beneficiary should be a text');
    expect(() => retirementOf(xdr.ScVal.scvVoid())).toThrow('a retirement record should be a struct');
    expect(() => retirementOf(structVal({ amount: nativeToScVal(5n, { type: 'i128' }) }))).toThrow(
      'retired_by',
    );
  });
});

describe('addresses', () => {
  it('are accounts and contracts, by their checksum', () => {
    expect(normalizeAddress(custody)).toBe(custody);
    expect(normalizeAddress(token)).toBe(token);
    const muxed = 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAABUTGI4';
    for (const text of [
      muxed,
      Keypair.random().secret(),
      custody.toLowerCase(),
      ` ${custody}`,
      `${token}A`,
    ]) {
      expect(normalizeAddress(text)).toBeNull();
    }
    expect(normalizeAddress(`${custody.slice(0, -1)}${custody.endsWith('A') ? 'B' : 'A'}`)).toBeNull();
  });

  it('of contracts follow from network, factory and salt', () => {
    const [salt, other] = [hashText('a'), hashText('b')];
    const address = deployedAddress(Networks.TESTNET, contracts.factoryAddress, salt);
    expect(deployedAddress(Networks.TESTNET, contracts.factoryAddress, other)).not.toBe(address);
    expect(deployedAddress(Networks.PUBLIC, contracts.factoryAddress, salt)).not.toBe(address);
    expect(deployedAddress(Networks.TESTNET, token, salt)).not.toBe(address);
  });
});

describe('settings', () => {
  const options = {
    name: 'n',
    rpcUrl: 'http://127.0.0.1:1',
    passphrase: Networks.TESTNET,
    secretKey: Keypair.random().secret(),
    channelSecretKeys: [] as string[],
    factoryAddress: contracts.factoryAddress,
    settlementFactoryAddress: undefined,
    settlementAddress: undefined,
    maxInclusionFeeStroops: 1,
    requestTimeoutMs: 1,
  };

  it('are refused by name, without repeating a key', async () => {
    const bad = `${options.secretKey.slice(0, -1)}?`;
    const failing: [Partial<typeof options>, string][] = [
      [{ secretKey: bad }, 'The custody key'],
      [{ channelSecretKeys: [options.secretKey] }, 'custody key is configured as a channel'],
      [{ channelSecretKeys: [Keypair.random().secret(), bad] }, 'Channel key 2'],
      [{ factoryAddress: custody }, 'The token factory'],
    ];
    for (const [change, message] of failing) {
      const error: unknown = await createStellarNetwork({ ...options, ...change }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toContain(message);
      expect(String(error)).not.toContain(bad);
    }
    const key = Keypair.random().secret();
    await expect(createStellarNetwork({ ...options, channelSecretKeys: [key, key] })).rejects.toThrow(
      'twice',
    );
  });

  it('make a network without asking the node, which may be away', async () => {
    const network = await createStellarNetwork(options);
    expect(network.networkId).toBe(Networks.TESTNET);
    expect(network.normalizeAddress(custody)).toBe(custody);
  });
});

describe('the host’s errors', () => {
  const event = (contract: string | null, error: xdr.ScError, text: string) =>
    new xdr.DiagnosticEvent({
      inSuccessfulContractCall: false,
      event: new xdr.ContractEvent({
        ext: new xdr.ExtensionPoint(0),
        contractId:
          contract === null ? null : (new Address(contract).toBuffer() as unknown as xdr.ContractId),
        type: xdr.ContractEventType.diagnostic(),
        body: new xdr.ContractEventBody(
          0,
          new xdr.ContractEventV0({
            topics: [xdr.ScVal.scvSymbol('error'), xdr.ScVal.scvError(error)],
            data: xdr.ScVal.scvVec([xdr.ScVal.scvString(text), xdr.ScVal.scvU32(1)]),
          }),
        ),
      }),
    });
  const number = (code: number) => xdr.ScError.sceContract(code);

  it('are traced to the contract that they arose in, past those that were caught', () => {
    const { settlementAddress: settlement } = contracts;
    const found = hostErrorOf(
      [
        event(settlement, number(7), 'caught'),
        event(token, number(2), 'too little'),
        event(settlement, number(2), 'contract call failed'),
        event(settlement, number(2), 'escalating error to VM trap'),
      ],
      null,
    );
    expect(found).toEqual({ type: 'Contract', code: 2, contract: token, message: 'too little' });
  });

  it('may arise in no contract', () => {
    const parsed = xdr.DiagnosticEvent.fromXDR(event(null, number(2), 'no contract').toXDR());
    expect(hostErrorOf([parsed], null)).toMatchObject({ contract: null, message: 'no contract' });
  });

  it('say what can be stored', () => {
    expect(hostErrorOf([event(token, number(2), 'too\u0000')], null)).toMatchObject({ message: 'too\ufffd' });
  });

  it('are read from the text alone when there are no events', () => {
    expect(hostErrorOf([], 'HostError: Error(Contract, #12)\n\nEvent log …')).toEqual({
      type: 'Contract',
      code: 12,
      contract: null,
      message: '',
    });
    expect(hostErrorOf([], 'HostError: Error(Storage, MissingValue)')).toMatchObject({
      type: 'Storage',
      code: 'MissingValue',
    });
    expect(hostErrorOf([], 'the database is locked')).toBeNull();
  });

  it('are the network’s own when the transaction declared too little, not when the contract refused', () => {
    const of = (type: string, code: string | number) =>
      isNetworksOwn({ type, code, contract: null, message: '' });
    expect([
      of('Storage', 'ExceededLimit'),
      of('Budget', 'ExceededLimit'),
      of('Auth', 'InvalidAction'),
    ]).toEqual([true, true, true]);
    expect([of('Contract', 2), of('WasmVm', 'InvalidAction'), of('Storage', 'ExistingValue')]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('headroom', () => {
  const settings = {
    feePerInstructionIncrement: 25n,
    feePerWriteEntry: 10_000n,
    feePerWriteKilobyte: 1_000n,
    feePerReadKilobyte: 1_000n,
    feePerTransactionKilobyte: 20_000n,
    maxInstructions: 1_050,
    maxWriteBytes: 500,
    maxReadBytes: 10_000,
    maxWriteEntries: 4,
    maxFootprintEntries: 10,
    ledgerMaxWriteBytes: 5_000,
    ledgerMaxWriteEntries: 100,
  };

  it('stays within what the network allows, and pays for what it adds', () => {
    const data = new xdr.SorobanTransactionData({
      ext: new xdr.SorobanTransactionDataExt(0),
      resources: new xdr.SorobanResources({
        footprint: new xdr.LedgerFootprint({ readOnly: [], readWrite: [] }),
        instructions: 1_000,
        diskReadBytes: 0,
        writeBytes: 480,
      }),
      resourceFee: xdr.Int64.fromString('77'),
    });
    const roomy = withHeadroom({ data, feeStroops: 77n, restores: false }, settings, {
      kind: 'retirements',
      token,
      sources: 3,
      ownCount: 4,
      holderCount: 4,
      recordBytes: 512,
    });
    expect(roomy.data.resources().instructions()).toBe(1_050);
    expect(roomy.data.resources().writeBytes()).toBe(500);
    expect(roomy.data.resources().diskReadBytes()).toBe(0);
    // No retirement is written, so no places of retirements are added.
    expect(roomy.data.resources().footprint().readWrite()).toEqual([]);
    expect(roomy.feeStroops).toBe(77n + 1n + 20n);
    expect(roomy.data.resourceFee().toBigInt()).toBe(roomy.feeStroops);
    expect(data.resources().instructions()).toBe(1_000);
  });
});
