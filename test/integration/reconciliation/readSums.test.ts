/**
 * A project's sums, read from the books before and after the network, and the calls under way that explain a
 * difference between them.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { toBaseUnits } from '../../../src/ledger/units.ts';
import { compareSums, readBooks, readSums } from '../../../src/reconciliation/compareSums.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database/database.ts';
import { insertProject } from '../../support/database/projects.ts';
import { makeRestorable, type Restorable } from '../../support/restorable.ts';

const NO_CALLS = { calls: 0, tonnes: 0n, isMinting: false, review: null };

let database: TestDatabase;
let restorable: Restorable;
let id: string;
let deployed: string;

/** A project of 100 t that is open, and one of which nothing is minted. */
beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database.handle;
  id = await insertProject(db, { quantityTonnes: 100n });
  deployed = await insertProject(db, { quantityTonnes: 100n, state: 'MINTING' });
  restorable = await makeRestorable(database);
});
beforeEach(() => hold(id, { issuance: -100, inventory: 100, retiring: 0, retired: 0 }));
afterEach(() => restorable.restore());
afterAll(async () => {
  await restorable.close();
  await database.drop();
});

async function hold(projectId: string, balances: Record<string, number>): Promise<void> {
  for (const [kind, tonnes] of Object.entries(balances))
    await restorable.touch(`INSERT INTO accounts (project_id, kind, owner_id, balance_tonnes, version)
      VALUES ('${projectId}', '${kind}', '', ${tonnes}, 0)
      ON CONFLICT (project_id, kind, owner_id) DO UPDATE SET balance_tonnes = excluded.balance_tonnes`);
}

const ENDS = {
  SUCCEEDED: `state = 'SUCCEEDED', tx_hash = 'hash', result = '{}', settled_at = now()`,
  REFUSED: `state = 'REFUSED', refusal_reason = 'OTHER', settled_at = now()`,
  NEEDS_REVIEW: `state = 'NEEDS_REVIEW', review_cause = 'REFUSED'`,
};

interface Call {
  kind?: 'retire' | 'mint' | 'deployCarbonCredit';
  state?: 'PENDING' | keyof typeof ENDS;
  reason?: string;
  of?: string;
}

/** @returns the submission; that of a burn is of 5 t, and holds them */
async function send({ kind = 'retire', state = 'PENDING', reason, of = id }: Call = {}): Promise<string> {
  const [submission, retirement] = [randomUUID(), randomUUID()];
  const isBurn = kind === 'retire';
  if (isBurn)
    await restorable.touch(`
      INSERT INTO retirements (id, project_id, buyer_id, beneficiary, note, amount_tonnes, state, created_at)
      VALUES ('${retirement}', '${of}', 'acme', 'Acme Ltd', 'note', 5, 'PENDING', now());
      UPDATE accounts SET balance_tonnes = balance_tonnes + CASE kind WHEN 'retiring' THEN 5 ELSE -5 END
      WHERE project_id = '${of}' AND kind IN ('inventory', 'retiring')`);
  const target = isBurn ? `'RETIREMENT', '${retirement}'` : `'PROJECT', '${of}'`;
  await restorable.touch(`
    INSERT INTO submissions (id, kind, target_type, target_id, call, signer, state, state_reason, due_at, created_at)
    VALUES ('${submission}', '${kind}', ${target}, '{}', 'CUSTODY', 'PENDING', ${reason === undefined ? 'NULL' : `'${reason}'`}, now(), now())`);
  if (state !== 'PENDING')
    await restorable.touch(`UPDATE submissions SET ${ENDS[state]} WHERE id = '${submission}'`);
  return submission;
}

/** All that is held was burned. */
const SETTLE = `UPDATE submissions SET ${ENDS.SUCCEEDED};
  UPDATE accounts SET balance_tonnes = CASE kind WHEN 'retired' THEN 5 ELSE 0 END WHERE kind IN ('retiring', 'retired')`;

describe('the calls under way', () => {
  const underWay = async () => (await readBooks(database.handle.db, id)).underWay;

  it('are burns and mints of the project that the network has not decided', async () => {
    await send({ state: 'SUCCEEDED' });
    await send({ state: 'REFUSED' });
    await send({ kind: 'mint', state: 'REFUSED' });
    await send({ of: deployed });
    await send({ kind: 'mint', of: deployed });
    expect(await underWay()).toEqual(NO_CALLS);
    await send();
    await send();
    expect(await underWay()).toEqual({ ...NO_CALLS, calls: 2, tonnes: 10n });
    await send({ kind: 'deployCarbonCredit' });
    expect(await underWay()).toEqual({ ...NO_CALLS, calls: 3, tonnes: 10n });
    await send({ kind: 'mint' });
    expect(await underWay()).toEqual({ ...NO_CALLS, calls: 4, tonnes: 10n, isMinting: true });
  });

  it('name the one that needs a review', async () => {
    await send({ reason: 'the node restarts' });
    const submission = await send({ state: 'NEEDS_REVIEW' });
    const review = `submission ${submission} needs review: no reason is given`;
    expect(await underWay()).toEqual({ ...NO_CALLS, calls: 2, tonnes: 10n, review });
    await restorable.touch(`UPDATE submissions SET state_reason = 'it is lost' WHERE id = '${submission}'`);
    expect(await underWay()).toMatchObject({ review: `submission ${submission} needs review: it is lost` });
  });

  it('are of the moment of the balances', async () => {
    await send();
    const { db } = database.handle;
    const countWaiting = async () =>
      (await db.execute(`SELECT FROM pg_locks WHERE relation = 'submissions'::regclass AND NOT granted`))
        .length;
    let reading: ReturnType<typeof readBooks> | undefined;
    await db.transaction(async (tx) => {
      await tx.execute('SET LOCAL session_replication_role = replica');
      await tx.execute('LOCK TABLE submissions IN ACCESS EXCLUSIVE MODE');
      reading = readBooks(db, id);
      await expect.poll(countWaiting).toBe(1);
      for (const statement of SETTLE.split(';')) await tx.execute(statement);
    });
    expect(await reading).toMatchObject({ balances: { retiring: 5n }, underWay: { calls: 1, tonnes: 5n } });
  });
});

describe('the sums', () => {
  /**
   * @param tonnes on the network at each read
   * @param meanwhile changes the books after the network was read
   * @returns how often they were read, and what is found in the last ones
   */
  async function read(
    tonnes: (reads: number) => { minted: bigint; custody: bigint },
    { of = id, isStill = false } = {},
    meanwhile: (reads: number) => Promise<unknown> = async () => {},
  ) {
    let reads = 0;
    const network = {
      custodyAddress: 'custody',
      carbonTotals: async () => {
        await meanwhile(++reads);
        return { totalSupply: toBaseUnits(tonnes(reads).minted), totalRetired: 0n, totalRetirements: 0 };
      },
      balanceOf: async () => toBaseUnits(tonnes(reads).custody),
    };
    const project = { id: of, tokenAddress: 'token', assetId: 'asset' };
    const sums = await readSums({ db: database.handle.db, network, isStill } as never, project);
    const { findings, notProved } = compareSums(project, sums);
    const shown = [
      ...findings.map(({ invariant }) => `${invariant} found`),
      ...notProved.map(({ invariant, obstacle }) => `${invariant} ${obstacle}`),
    ];
    return { reads, shown, calls: sums.after.underWay.calls };
  }

  const burned = () => ({ minted: 100n, custody: 95n });
  const minted = () => ({ minted: 100n, custody: 100n });

  it('are read once where no call is under way, whatever they are', async () => {
    expect(await read(burned)).toEqual({ reads: 1, shown: ['I2 found'], calls: 0 });
  });

  it('are read again while a burn is under way, five times at most', async () => {
    await send();
    expect(await read(burned)).toEqual({ reads: 5, shown: ['I2 UNDER_WAY'], calls: 1 });
  });

  it('are read once more after the burn is settled', async () => {
    await send();
    const settled = await read(burned, {}, async (reads) => reads === 2 && restorable.touch(SETTLE));
    expect(settled).toEqual({ reads: 3, shown: [], calls: 0 });
  });

  it('are read once where an operator has to decide', async () => {
    await send({ state: 'NEEDS_REVIEW' });
    expect(await read(burned)).toEqual({ reads: 1, shown: ['I2 UNDER_REVIEW'], calls: 1 });
  });

  it('are read again after a mint is settled that the network did not show yet', async () => {
    await hold(deployed, { issuance: 0, inventory: 0 });
    await send({ kind: 'mint', of: deployed });
    const settle = async () => {
      await hold(deployed, { issuance: -100, inventory: 100 });
      await restorable.touch(`UPDATE submissions SET ${ENDS.SUCCEEDED};
        UPDATE projects SET state = 'OPEN', opened_at = now()`);
    };
    const shown = (reads: number) => (reads === 1 ? { minted: 0n, custody: 100n } : minted());
    expect(await read(shown, { of: deployed }, settle)).toEqual({ reads: 2, shown: [], calls: 0 });
  });

  it('differ by no call where none is on its way', async () => {
    await send();
    expect(await read(burned, { isStill: true })).toEqual({ reads: 1, shown: ['I2 found'], calls: 0 });
    await send({ kind: 'mint', of: deployed });
    const ofDeployed = { of: deployed, isStill: true };
    expect(await read(minted, ofDeployed)).toEqual({ reads: 1, shown: ['I2 found', 'I3 found'], calls: 0 });
  });
});
