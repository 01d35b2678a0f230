/**
 * The crash points of a retirement and of an issuance, for any ledger: an instance is killed at each point,
 * one or two instances finish the work, and the test proves that the work was done exactly once.
 */
import { describe, expect, it } from 'vitest';
import { toBaseUnits } from '../../src/ledger/units.ts';
import { createProject } from '../../src/resolvers/carbon/createProject.ts';
import { retire } from '../../src/resolvers/carbon/retire.ts';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import { projectInput } from '../../devnet/platform.ts';
import { itAgreesAfterwards, useSharedInstances } from './instances.ts';
import { CRASH_POINTS } from '../../src/ledger/submission/submission.ts';
import { holding, retirement } from '../support/holding.ts';

/** @param counts numbers of instances that go on with the work */
export function describeRetireCrashes(ledger: () => LedgerConfig, counts: readonly number[]): void {
  const { instances } = useSharedInstances(ledger);

  describe.each(counts)('restarted as %i instances', (count) => {
    it.each(['request-committed', ...CRASH_POINTS] as const)(
      'retires exactly once after a crash at %s',
      async (killAt) => {
        const tokenAddress = await instances.prepare((platform) => holding(platform, 100n));
        const input = retirement(tokenAddress, 30n);
        await instances.crash({ killAt, occurrence: 1, request: { kind: 'retire', input } });

        const { dependencies } = await instances.start(count);
        expect(await retire(dependencies, 'acme', input)).toMatchObject({ state: 'RETIRED' });
        expect(await dependencies.network.carbonTotals(tokenAddress)).toEqual({
          totalSupply: toBaseUnits(70n),
          totalRetired: toBaseUnits(30n),
          totalRetirements: 1,
        });
      },
    );
  });

  itAgreesAfterwards(instances);
}

export function describeIssuanceCrashes(ledger: () => LedgerConfig): void {
  const { instances } = useSharedInstances(ledger);

  describe('between deploy and mint', () => {
    // The first passing of each point belongs to the deploy, the second to the mint.
    const cases = CRASH_POINTS.flatMap((killAt) => [1, 2].map((occurrence) => ({ killAt, occurrence })));
    it.each([{ killAt: 'request-committed' as const, occurrence: 1 }, ...cases])(
      'issues exactly once after a crash at $killAt ($occurrence)',
      async ({ killAt, occurrence }) => {
        const input = projectInput({ quantityCO2e: 50n });
        await instances.stop();
        await instances.crash({ killAt, occurrence, request: { kind: 'createProject', input } });

        const { dependencies } = await instances.start(2);
        const project = await createProject(dependencies, 'developer', input);
        expect(project.state).toBe('OPEN');
        const supply = await dependencies.network.totalSupply(project.tokenAddress ?? '');
        expect(supply).toBe(toBaseUnits(50n));
      },
    );
  });

  itAgreesAfterwards(instances);
}
