/**
 * Prepares an act for a holder with their own wallet. The network builds the unsigned transaction, which is
 * stored as it is returned to the client, and compared with the transaction that the client submits.
 */
import type { Tx } from '../../db/connection.ts';
import { holderActs } from '../../db/tables/index.ts';
import { DATABASE_NOW } from '../../db/databaseTime.ts';
import { DomainError } from '../../lib/errors.ts';
import type { Address, HolderCall } from '../../ledger/network/port.ts';
import { encodeExact } from '../../ledger/submission/exactJson.ts';
import type { Needs } from '../core/dependencies.ts';
import { requireAddress } from '../core/addresses.ts';

type PreparedAct = Omit<typeof holderActs.$inferInsert, 'createdAt'>;

interface ActPlan {
  call: HolderCall;
  holder: Address;
  /** The caller's subject. */
  preparedBy: string;
  /** The off-ramp session, or the project of the retirement, that the act belongs to. */
  offRampSessionId?: string;
  projectId?: string;
}

/** @throws NetworkRefusal when the network would refuse the act now; NetworkUnavailable */
export async function prepareAct(deps: Needs<'network' | 'ids'>, plan: ActPlan): Promise<PreparedAct> {
  const { call, holder, ...rest } = plan;
  const { holder: holderAddress, ...unsigned } = await deps.network.prepareForHolder(call, holder);
  return {
    ...unsigned,
    holderAddress,
    ...rest,
    id: deps.ids.next(),
    kind: call.kind,
    call: encodeExact(call),
  };
}

export async function storeAct(db: Pick<Tx, 'insert'>, act: PreparedAct): Promise<void> {
  // The latest act of a session is in force, so the database's clock dates the acts of all instances.
  await db.insert(holderActs).values({ ...act, createdAt: DATABASE_NOW });
}

/**
 * @returns the holder's address in the network's one spelling.
 * @throws DomainError BAD_USER_INPUT
 */
export function requireHolder(deps: Needs<'network'>, text: string): Address {
  const { network } = deps;
  const field = 'input.holderAddress';
  const holder = requireAddress(deps, text, field);
  if (holder === network.custodyAddress || network.signingOrder?.accounts.includes(holder)) {
    throw new DomainError(
      'BAD_USER_INPUT',
      `${holder} signs for the platform itself: use retire and cashOut for what custody holds.`,
      { field },
    );
  }
  return holder;
}
