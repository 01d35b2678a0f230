import { expect, it } from 'vitest';
import { toClientError } from '../../../src/http/graphql/errors.ts';
import { DomainError, type ErrorDetails } from '../../../src/lib/errors.ts';
import { encodeGlobalId } from '../../../src/schema/core/globalIds.ts';

const ID = '0191e1a0-0000-7000-8000-000000000001';

const shown = (details: ErrorDetails) => toClientError(new DomainError('CONFLICT', 'no', details)).extensions;

it.each([
  ['holderActId', 'HolderAct'],
  ['offRampSessionId', 'OffRampSession'],
  ['projectId', 'Project'],
  ['receiptId', 'Receipt'],
  ['retirementId', 'Retirement'],
  ['submissionId', 'Submission'],
] as const)('shows the detail %s as the id of its %s', (name, type) => {
  expect(shown({ [name]: ID, state: 'REFUSED' })).toMatchObject({
    [name]: encodeGlobalId(type, ID),
    state: 'REFUSED',
  });
});

it('shows the ids that are none of nodes as they are', () => {
  expect(shown({ assetId: 'VCS-1', documentId: 'abc' })).toMatchObject({
    assetId: 'VCS-1',
    documentId: 'abc',
  });
});
