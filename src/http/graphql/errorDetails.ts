/**
 * The details of an error as clients see them. A node's id is its global id, as the node's field `id` returns
 * it and inputs accept it.
 */
import type { ErrorDetail, ErrorDetails } from '../../lib/errors.ts';
import { encodeGlobalId, type NodeType } from '../../schema/core/globalIds.ts';

/** The node type of each detail that ends in `Id`; null for an id that is not a node's. */
const NODE_TYPES: Readonly<Record<Extract<ErrorDetail, `${string}Id`>, NodeType | null>> = {
  approvalRequestId: 'ApprovalRequest',
  assetId: null,
  documentId: null,
  holderActId: 'HolderAct',
  offRampSessionId: 'OffRampSession',
  projectId: 'Project',
  receiptId: 'Receipt',
  retirementId: 'Retirement',
  submissionId: 'Submission',
};

const ENTRIES = Object.entries(NODE_TYPES) as [keyof typeof NODE_TYPES, NodeType | null][];

export function toClientDetails(details: ErrorDetails): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...details };
  for (const [name, type] of ENTRIES) {
    const id = details[name];
    if (type !== null && typeof id === 'string') shown[name] = encodeGlobalId(type, id);
  }
  return shown;
}
