/**
 * Compares a project's sums in the books with its token's on the network, while both change.
 *
 * The books hold an amount before its burn is signed, and settle it after the burn landed. So custody's
 * balance at any moment is at most the books' amount before it, and at least the amount after it, less all
 * that is held then.
 */
import { sql } from 'drizzle-orm';
import type { Db } from '../db/connection.ts';
import { readProjectBalances, sumBuyerBalances, type ProjectBalances } from '../ledger/books/readBalances.ts';
import type { CarbonTotals } from '../ledger/network/port.ts';
import { toBaseUnits } from '../ledger/units.ts';
import type { ReconcileDependencies, ReconciledProject } from './reconcileProject.ts';
import type { Comparison, Finding, NotProved } from './verdicts.ts';

/** How often the sums are read again while calls are under way. */
const MAX_READS = 5;

/** The calls that the network has not decided. */
interface UnderWay {
  calls: number;
  /** Whole tonnes that retirements hold. */
  tonnes: bigint;
  isMinting: boolean;
  /** Why a call waits for an operator; null when no call does. */
  review: string | null;
}

interface Books {
  balances: ProjectBalances;
  /** Verified whole tonnes, and whether their mint is settled. */
  quantityTonnes: bigint;
  isOpen: boolean;
  underWay: UnderWay;
}

interface Sums {
  before: Books;
  network: CarbonTotals & { custodyBalance: bigint };
  after: Books;
}

const NOTHING: UnderWay = { calls: 0, tonnes: 0n, isMinting: false, review: null };

/** @throws NetworkUnavailable, NetworkRefusal */
export async function readSums(deps: ReconcileDependencies, project: ReconciledProject): Promise<Sums> {
  for (let reads = 1; ; reads++) {
    const before = await readBooks(deps.db, project.id);
    const [totals, custodyBalance] = await Promise.all([
      deps.network.carbonTotals(project.tokenAddress),
      deps.network.balanceOf(project.tokenAddress, deps.network.custodyAddress),
    ]);
    const after = await readBooks(deps.db, project.id);
    if (deps.isStill) {
      before.underWay = NOTHING;
      after.underWay = NOTHING;
    }
    const sums = { before, network: { ...totals, custodyBalance }, after };
    const { lowest, highest } = custodyBounds(sums);
    const isSettled = before.isOpen === after.isOpen && lowest === highest;
    if (isSettled || after.underWay.review !== null || reads === MAX_READS) return sums;
  }
}

export function compareSums({ assetId }: ReconciledProject, sums: Sums): Comparison {
  const findings: Finding[] = [];
  const notProved: NotProved[] = [];
  const { network, after } = sums;
  const { lowest, highest } = custodyBounds(sums);
  const held = network.custodyBalance;
  if (held < lowest || held > highest) {
    const books = lowest === highest ? `${highest}` : `${lowest} to ${highest}`;
    findings.push({
      invariant: 'I2',
      message: `${assetId}: custody holds ${held} base units, the books say ${books}`,
      ...(held > highest ? { isGift: true } : {}),
    });
  } else if (lowest !== highest) {
    notProved.push({ ...inTheWay(assetId, after.underWay), invariant: 'I2' });
  }

  const minted = network.totalSupply + network.totalRetired;
  const verified = toBaseUnits(after.quantityTonnes);
  const booked = toBaseUnits(after.balances.issued);
  const issued = after.isOpen ? verified : 0n;
  const mayBeMinted = after.underWay.isMinting && minted === verified;
  if (booked !== issued || (minted !== booked && !mayBeMinted)) {
    findings.push({
      invariant: 'I3',
      message: `${assetId}: ${minted} base units were minted and ${booked} booked, verified are ${issued}`,
    });
  } else if (minted !== booked) {
    notProved.push({ ...inTheWay(assetId, after.underWay), invariant: 'I3' });
  }
  return { findings, notProved };
}

/** @returns bounds in base units */
function custodyBounds({ before, after }: Pick<Sums, 'before' | 'after'>) {
  const minting = before.underWay.isMinting ? before.quantityTonnes : 0n;
  return {
    lowest: toBaseUnits(inCustody(after) - after.underWay.tonnes),
    highest: toBaseUnits(inCustody(before) + minting),
  };
}

function inCustody({ balances }: Books): bigint {
  return balances.inventory + balances.heldByBuyers + balances.retiring;
}

function inTheWay(assetId: string, { calls, tonnes, review }: UnderWay): Omit<NotProved, 'invariant'> {
  const what = `${calls} network calls of it are not settled, with ${tonnes} t held for retirement`;
  return review === null
    ? { obstacle: 'UNDER_WAY', message: `${assetId}: ${what}` }
    : { obstacle: 'UNDER_REVIEW', message: `${assetId}: ${what}; ${review}` };
}

export async function readBooks(db: Db, projectId: string): Promise<Books> {
  return db.transaction(
    async (tx) => {
      const found = await readProjectBalances({ db: tx }, [projectId]);
      const known = found.get(projectId);
      if (!known) throw new Error(`project ${projectId} has no balances`);
      const balances = { ...known, heldByBuyers: await sumBuyerBalances(tx, projectId) };
      const [row] = await tx.execute<{
        quantity: string;
        state: string;
        calls: number;
        tonnes: string;
        minting: boolean;
        review: string | null;
      }>(sql`
        SELECT p.quantity_tonnes::text AS quantity, p.state::text AS state, count(s.id)::int AS calls,
          coalesce(sum(r.amount_tonnes), 0)::text AS tonnes, coalesce(bool_or(s.kind = 'mint'), false) AS minting,
          min(format('submission %s needs review: %s', s.id, coalesce(s.state_reason, 'no reason is given')))
            FILTER (WHERE s.state = 'NEEDS_REVIEW') AS review
        FROM projects p
        LEFT JOIN ((SELECT * FROM submissions WHERE state = 'PENDING'
            UNION ALL SELECT * FROM submissions WHERE state = 'NEEDS_REVIEW') AS s
          LEFT JOIN retirements r ON r.id = s.target_id)
          ON s.target_id = p.id OR r.project_id = p.id
        WHERE p.id = ${projectId} GROUP BY p.id`);
      if (!row) throw new Error(`project ${projectId} has vanished`);
      const { calls, tonnes, minting: isMinting, review } = row;
      return {
        balances,
        quantityTonnes: BigInt(row.quantity),
        isOpen: row.state === 'OPEN',
        underWay: { calls, tonnes: BigInt(tonnes), isMinting, review },
      };
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}
