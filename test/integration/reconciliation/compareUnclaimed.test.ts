/**
 * Records of custody that no retirement claims, each held against the unsettled retirements that equal it alone.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RetirementRecord } from '../../../src/ledger/network/port.ts';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareUnclaimed } from '../../../src/reconciliation/compareUnclaimed.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

let database: TestDatabase;
let restorable: Restorable;

beforeAll(async () => {
  database = await createTestDatabase();
  restorable = await makeRestorable(database);
});
afterAll(async () => {
  await restorable.close();
  await database.drop();
});

type Burn = [tonnes: number, beneficiary: string, note: string];

/** @param pending how many of the burns, from the first on, have a retirement under way */
async function compare(burns: readonly Burn[], pending = burns.length) {
  const id = await insertProject(database.handle.db, { quantityTonnes: 100n });
  const records: RetirementRecord[] = [];
  for (const [index, [tonnes, beneficiary, note]] of burns.entries()) {
    const amount = toBaseUnits(BigInt(tonnes));
    records.push({ index, retiredBy: 'custody', amount, timestamp: 1n, beneficiary, note });
    if (index < pending)
      await restorable.touch(`
        INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, created_at)
        VALUES ('${randomUUID()}', '${id}', 'acme', '${beneficiary}', '${note}', ${tonnes}, 'PENDING', now())`);
  }
  const project = { id, tokenAddress: 'token', assetId: 'asset' };
  // Pages of records are compared in the order of their answers.
  const { findings, notProved } = await compareUnclaimed(
    { db: database.handle.db } as never,
    project,
    records.toReversed(),
  );
  const indexOf = ({ message }: { message: string }) => /record (\d)/.exec(message)?.[1];
  return { unknown: findings.map(indexOf), waiting: notProved.map(indexOf) };
}

it('that differ in the amount, the beneficiary or the note wait for one retirement each', async () => {
  const burns: Burn[] = [
    [5, 'Acme Ltd', 'note'],
    [6, 'Acme Ltd', 'note'],
    [5, 'Globex', 'note'],
    [5, 'Acme Ltd', 'another'],
  ];
  expect(await compare(burns)).toEqual({ unknown: [], waiting: ['0', '1', '2', '3'] });
});

it('that are equal wait from the lowest index on, in whichever order they are given', async () => {
  const burns = Array.from({ length: 4 }, (): Burn => [5, 'Acme Ltd', 'note']);
  expect(await compare(burns, 2)).toEqual({ unknown: ['2', '3'], waiting: ['0', '1'] });
});
