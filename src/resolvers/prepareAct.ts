/**
 * Preparing an act for a holder with a wallet of their own: what they are to sign is built by the network, stored as
 * it is given out, and compared with what comes back.
 */
import type { Tx } from '../db/connection.ts';
import { holderActs } from '../db/schema/index.ts';
import { DomainError } from '../errors.ts';
import type { Address, HolderCall } from '../ledger/network/port.ts';
import { encodeCall } from '../ledger/submission/callCodec.ts';
import type { Dependencies } from './dependencies.ts';

export type PreparedAct = typeof holderActs.$inferInsert;

export interface ActPlan {
  call: HolderCall;
  holder: Address;
  /** The subject who asks. */
  preparedBy: string;
  /** What it belongs to: a cash-out, or the project of a retirement. */
  cashOutSessionId?: string;
  projectId?: string;
}

/** @throws NetworkRefusal when the network would refuse it now; NetworkUnavailable */
export async function prepareAct(
  deps: Pick<Dependencies, 'network' | 'clock' | 'ids'>,
  plan: ActPlan,
): Promise<PreparedAct> {
  const { call, holder, ...rest } = plan;
  const { ledger: preparedAtLedger } = await deps.network.status();
  const unsigned = await deps.network.prepareForHolder(call, holder);
  return {
    ...unsigned,
    ...rest,
    id: deps.ids.next(),
    kind: call.kind,
    call: encodeCall(call),
    preparedAtLedger,
    createdAt: deps.clock.now(),
  };
}

export async function storeAct(db: Pick<Tx, 'insert'>, act: PreparedAct): Promise<void> {
  await db.insert(holderActs).values(act);
}

/**
 * @returns the holder's address in the network's one spelling.
 * @throws DomainError BAD_USER_INPUT
 */
export function requireHolder(deps: Pick<Dependencies, 'network'>, text: string): Address {
  const { network } = deps;
  const holder = network.normalizeAddress(text);
  const field = 'input.holder';
  if (holder === null) {
    throw new DomainError('BAD_USER_INPUT', `"${text}" is not an address of the network "${network.name}".`, {
      field,
    });
  }
  if (holder === network.custodyAddress || network.signingOrder?.accounts.includes(holder)) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `${holder} signs for the platform itself: what custody holds is retired with retire, and cashed out with cashOut.`,
      { field },
    );
  }
  return holder;
}
