import { type SQL, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openProject } from '../../../devnet/platform.ts';
import { prepareRetirement } from '../../../src/resolvers/wallets/prepareRetirement.ts';
import { changePastRules } from '../../support/database/database.ts';
import {
  createEmbeddedHolder,
  startEmbeddedWallets,
  type EmbeddedWallets,
} from '../../support/wallets/embeddedWallets.ts';
import { retirementInput } from '../../support/wallets/walletRetirements.ts';

const holder = createEmbeddedHolder();
let world: EmbeddedWallets;
let tokenAddress: string;

beforeAll(async () => {
  world = await startEmbeddedWallets();
  ({ tokenAddress } = await openProject(world.platform, 1_000n));
  await world.giveCredits(tokenAddress, holder.address, 100n);
});
afterAll(() => world.stop());

const prepareFor = (caller: string) =>
  prepareRetirement(world.platform.dependencies, caller, retirementInput(tokenAddress, holder));
const change = (statement: SQL) => changePastRules(world.database, statement);

it('refuses a caller who left a thousand unsigned in a day, and no other', async () => {
  const { id } = await prepareFor('acme');
  const copyFor = (caller: string, submissionId: SQL) =>
    change(sql`INSERT INTO holder_acts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(),
        'prepared_by', ${caller}::text, 'submission_id', ${submissionId}, 'created_at', now() - interval '23 hours'))).*
      FROM holder_acts a, generate_series(1, 1000) WHERE a.id = ${id}`);
  await copyFor('careless', sql`NULL`);
  await copyFor('busy', sql`gen_random_uuid()`);
  await expect(prepareFor('busy')).resolves.toMatchObject({ state: 'PREPARED' });
  await expect(prepareFor('careless')).rejects.toMatchObject({
    code: 'RATE_LIMITED',
    details: { limit: 1_000, retryAfterSeconds: expect.closeTo(3_600, -2) as number },
  });
  await change(
    sql`UPDATE holder_acts SET created_at = now() - interval '25 hours' WHERE prepared_by = 'careless'`,
  );
  await expect(prepareFor('careless')).resolves.toMatchObject({ state: 'PREPARED' });
});

it('gives the act of the first use to a second one that it has overtaken during its checks', async () => {
  const { dependencies } = world.platform;
  const input = retirementInput(tokenAddress, holder);
  const first: string[] = [];
  const emptied: typeof dependencies.network = {
    ...dependencies.network,
    async balanceOf() {
      first.push((await prepareRetirement(dependencies, 'acme', input)).id);
      return 0n;
    },
  };
  const second = await prepareRetirement({ ...dependencies, network: emptied }, 'acme', input);
  expect([second.id]).toEqual(first);
});
