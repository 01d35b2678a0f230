/**
 * Reads the settlement contract in use, and its deposits.
 *
 * Its interface promises only `get_off_ramp`. Treasury and pause are read from getters of these names, or
 * from the contract's storage under `Treasury` and `Paused`. Without either, the treasury is unknown and the
 * contract counts as not paused.
 */
import { NetworkRefusal } from '../port.ts';
import { DEPOSIT_STATUSES } from '../port/tokens.ts';
import type { Address, LedgerNetwork, OffRampDeposit, SettlementContract } from '../port.ts';
import { normalizeAddress } from './addresses.ts';
import { FACTS } from './contractReads.ts';
import type { ContractReads } from './contractReads.ts';
import { showError } from './hostErrors.ts';
import { predictedSettlement, referenceVal } from './calls.ts';
import type { Contracts } from './calls.ts';
import { explainMissing } from './refusals.ts';
import { asAddress, asBigint, asEnumName, asFields, plain, statusOf } from './scvals.ts';

/** A contract's possible answer, instead of none, for an unused reference. */
const NO_DEPOSIT = 'None';

export function createSettlementReads(
  reads: ContractReads,
  contracts: Contracts,
  mayBeOwn: (factory: Address, contract: Address) => Promise<boolean>,
): Pick<LedgerNetwork, 'settlementContract' | 'findSettlement' | 'offRampDeposit'> {
  async function offRampDeposit(contract: Address, sessionId: string): Promise<OffRampDeposit | null> {
    const answer = await reads.ask(contract, 'get_off_ramp', [referenceVal(sessionId)]);
    if (answer.ok) return depositOf(plain(answer.value));
    const missing = await explainMissing({ reads }, contract, 'get_off_ramp', answer.error);
    // Where no contract stands, no reference was used.
    if (missing?.reason === 'CONTRACT_NOT_FOUND') return null;
    throw new NetworkRefusal(
      missing ?? { reason: 'OTHER', message: `${contract} shows no deposit: ${showError(answer.error)}` },
    );
  }

  async function contractAt(address: Address | null): Promise<SettlementContract | null> {
    if (address === null || !(await reads.exists(address))) return null;
    const [treasury, paused] = await Promise.all([
      reads.fact(address, FACTS.treasury),
      reads.fact(address, FACTS.paused),
    ]);
    return {
      address,
      treasury: typeof treasury === 'string' ? normalizeAddress(treasury) : null,
      paused: paused === true,
    };
  }

  return {
    settlementContract: () => contractAt(contracts.settlementAddress),
    async findSettlement({ salt }) {
      const { settlementFactoryAddress: factory } = contracts;
      const found = await contractAt(predictedSettlement(contracts, salt));
      return factory !== null && found !== null && (await mayBeOwn(factory, found.address)) ? found : null;
    },
    offRampDeposit,
  };
}

function depositOf(value: unknown): OffRampDeposit | null {
  if (value === null || value === undefined) return null;
  const fields = asFields(value, 'a deposit');
  if (asEnumName(fields['status'], 'status') === NO_DEPOSIT) return null;
  return {
    depositor: asAddress(fields['depositor'], 'depositor'),
    tokenAddress: asAddress(fields['token'], 'token'),
    amount: asBigint(fields['amount'], 'amount'),
    status: statusOf(DEPOSIT_STATUSES, fields['status'], 'a deposit'),
  };
}
