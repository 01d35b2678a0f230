/**
 * Before each burn is signed, the platform looks for a landed burn that this database does not know.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUnclaimedSearch } from '../../../src/resolvers/carbon/findUnclaimedRecord.ts';
import { retire } from '../../../src/resolvers/carbon/retire.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import type { Platform } from '../../../src/startup/compose.ts';
import type { TestDatabase } from '../../support/database/database.ts';
import { holding, retirement } from '../../support/holding.ts';
import { startPlatform, type StartedPlatform } from '../../support/platform.ts';
import { makeRestorable } from '../../support/restorable.ts';

let database: TestDatabase;
let platform: Platform;
let end: StartedPlatform['end'];

beforeAll(async () => {
  ({ database, platform, end } = await startPlatform());
});
afterAll(() => end());

it('is found again when the database falls back behind a process that goes on', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 10n);
  const input = retirement(tokenAddress, 4n);
  const { id } = await retire(dependencies, 'acme', input);
  const { findOnNetwork } = dependencies.submission.effects.CUSTODY.RETIREMENT?.retire ?? {};
  const again = {
    submissionId: randomUUID(),
    targetType: 'RETIREMENT' as const,
    targetId: randomUUID(),
    signer: 'CUSTODY' as const,
    call: {
      kind: 'retire' as const,
      tokenAddress,
      amount: toBaseUnits(4n),
      beneficiary: input.buyerName,
      note: input.note,
    },
  };
  expect(await findOnNetwork?.(again)).toBeNull();

  const { corrupt, close } = await makeRestorable(database);
  await corrupt(`UPDATE retirements SET state = 'PENDING', record_index = NULL, tx_hash = NULL, ledger = NULL,
    settled_at = NULL WHERE id = '${id}'; UPDATE retirement_records SET is_claimed = false`);
  await close();
  expect(await findOnNetwork?.(again)).toMatchObject({ result: { retirementIndex: 0 } });
});

it('is not that of an equal burn which lands and settles during the search', async () => {
  const { dependencies } = platform;
  const tokenAddress = await holding(platform, 10n);
  const input = retirement(tokenAddress, 4n);
  const { network } = dependencies;
  const find = createUnclaimedSearch({
    ...dependencies.feed,
    network: {
      ...network,
      retirementRecords: async (token, from, limit) => {
        await retire(dependencies, 'acme', input);
        return network.retirementRecords(token, from, limit);
      },
    },
  });
  const { buyerName: beneficiary, note } = input;
  const burn = { kind: 'retire', tokenAddress, amount: toBaseUnits(4n), beneficiary, note } as const;
  expect(await find(burn, randomUUID())).toBeNull();
});

it('looks at no record that a retirement is known to claim, however many there are', async () => {
  const { handle } = database;
  const tokenAddress = await holding(platform, 40n);
  const input = retirement(tokenAddress, 1n);
  for (let burns = 0; burns < 3; burns++) {
    await retire(platform.dependencies, 'acme', { ...input, idempotencyKey: randomUUID() });
  }
  expect(
    await handle.sql`SELECT index FROM retirement_records WHERE token_address = ${tokenAddress} AND NOT is_claimed`,
  ).toEqual([]);
});
