/**
 * Opaque global ids: base64url of `Type:id`, so that an address can contain them unescaped.
 */
import { SUBJECT_PATTERN } from '../../identity/roles.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The form of each type's id within its global id. */
const LOCAL_IDS = {
  ApiKey: UUID,
  ApprovalRequest: UUID,
  AuditEntry: UUID,
  CreditTransfer: UUID,
  OffRampSession: UUID,
  ExpiryRun: UUID,
  HolderAct: UUID,
  IssuanceCap: UUID,
  Project: UUID,
  Purchase: UUID,
  Receipt: UUID,
  ReceiptPledge: UUID,
  Retirement: UUID,
  Submission: UUID,
  TokenRevocation: UUID,
  BuyerAccount: SUBJECT_PATTERN,
  /** The token's address and the record's index. */
  RetirementRecord: /^[0-9A-Za-z][0-9A-Za-z._-]{0,127}:(0|[1-9][0-9]{0,8})$/,
};

export type NodeType = keyof typeof LOCAL_IDS;
export const NODE_TYPES = Object.keys(LOCAL_IDS) as readonly NodeType[];

/** Undefined for a text that `encodeGlobalId` did not make. */
export function readGlobalId(globalId: string): { typename: NodeType; id: string } | undefined {
  const text = Buffer.from(globalId, 'base64url').toString();
  const end = text.indexOf(':');
  if (end === -1) return undefined;
  const typename = NODE_TYPES.find((type) => type === text.slice(0, end));
  const id = text.slice(end + 1);
  const isOurs =
    typename !== undefined && LOCAL_IDS[typename].test(id) && encodeGlobalId(typename, id) === globalId;
  return isOurs ? { typename, id } : undefined;
}

/** The id within a global id; any other text is returned as it is. */
export function localId(value: string): string {
  return readGlobalId(value)?.id ?? value;
}

export function encodeGlobalId(typename: string, id: string | number | bigint): string {
  return Buffer.from(`${typename}:${id}`).toString('base64url');
}
