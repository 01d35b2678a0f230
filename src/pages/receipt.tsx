/**
 * `/receipts/:token`: the facts of a warehouse receipt, for those who have its address.
 */
import type { PageAnswer, PageRequest } from '../http/server/pages.ts';
import { unixSeconds } from '../lib/clock.ts';
import { DomainError } from '../lib/errors.ts';
import { askOrNull } from './ask.ts';
import { htmlAnswer, redirect } from './layout.tsx';
import { Facts } from './parts/facts.tsx';
import { Code, Foreign, Moment } from './parts/shownText.tsx';
import { QrCode } from './qrCode.tsx';
import { absolute, type Site } from './site.ts';
import { countryName, grouped } from './text.ts';

interface Receipt {
  tokenAddress: string;
  state: string;
  commodityType: string;
  quantityKg: string;
  remainingKg: string;
  beingCashedOut: boolean;
  gradeClassification: string;
  warehouseId: string;
  warehouseLocation: string | null;
  countryCode: string;
  harvestSeason: string | null;
  inspectionReportHash: string | null;
  depositDate: number;
  expiryDate: number;
  pledged: boolean;
}

const QUERY = `query ReceiptPage($tokenAddress: Address!) {
  publicReceipt(tokenAddress: $tokenAddress) {
    tokenAddress state commodityType quantityKg remainingKg beingCashedOut gradeClassification warehouseId
    warehouseLocation countryCode harvestSeason inspectionReportHash depositDate expiryDate pledged
  }
}`;

const STATES: Readonly<Record<string, string>> = {
  DEPLOYING: 'Being issued',
  MINTING: 'Being issued',
  ACTIVE: 'Valid',
  EXPIRED: 'Expired',
  REFUSED: 'Never issued',
  NEEDS_REVIEW: 'Under review',
};

type Standing = Pick<Receipt, 'state' | 'quantityKg' | 'remainingKg' | 'beingCashedOut' | 'pledged'>;

/** A receipt expires by its date; the nightly job writes EXPIRED hours later. */
export function standingAt(receipt: Standing & Pick<Receipt, 'expiryDate'>, nowSeconds: bigint): Standing {
  const isOverdue = receipt.state === 'ACTIVE' && nowSeconds > receipt.expiryDate;
  return isOverdue ? { ...receipt, state: 'EXPIRED' } : receipt;
}

/** A lender may rely on this: something is left, and no other claim exists. */
export function isFree({ state, remainingKg, beingCashedOut, pledged }: Standing): boolean {
  return state === 'ACTIVE' && remainingKg !== '0' && !beingCashedOut && !pledged;
}

export function standingText({ state, quantityKg, remainingKg, beingCashedOut, pledged }: Standing): string {
  const isCashedOut = remainingKg === '0' && !beingCashedOut;
  const isPartLeft = remainingKg !== quantityKg && !isCashedOut;
  const text = [
    state === 'ACTIVE' && isCashedOut ? [] : (STATES[state] ?? state),
    isCashedOut ? 'cashed out' : [],
    beingCashedOut ? 'being cashed out' : [],
    isPartLeft ? `${grouped(remainingKg)} kg of ${grouped(quantityKg)} kg left` : [],
    pledged ? 'pledged to a lender' : 'not pledged',
  ]
    .flat()
    .join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export async function receiptPage(
  site: Site,
  request: PageRequest,
  tokenAddress: string,
): Promise<PageAnswer> {
  const answer = await askOrNull<{ publicReceipt: Receipt | null }>(request.ask, QUERY, { tokenAddress });
  const receipt = answer?.publicReceipt;
  if (!receipt) throw new DomainError('NOT_FOUND', 'There is no warehouse receipt at this address.');
  const path = `/receipts/${receipt.tokenAddress}`;
  if (receipt.tokenAddress !== tokenAddress) return redirect(path);
  const url = absolute(site, path);
  const standing = standingAt(receipt, unixSeconds(site.clock.now()));
  return htmlAnswer(
    site,
    { title: 'Warehouse receipt', description: 'A warehouse receipt', path, isUnlisted: true },
    <article>
      <p class="eyebrow">Warehouse receipt</p>
      <h1>
        {grouped(receipt.quantityKg)} kg <Foreign text={receipt.commodityType} />
      </h1>
      <div class={`result ${isFree(standing) ? 'good' : 'open'}`}>
        <h2>{standingText(standing)}</h2>
        <p>As this platform knows it now. A pledge is kept by the platform, not by the network.</p>
      </div>
      <div class="columns">
        <Facts
          facts={[
            ['Grade', <Foreign text={receipt.gradeClassification} />],
            ['Warehouse', <Foreign text={receipt.warehouseId} />],
            [
              'Place',
              receipt.warehouseLocation === null ? null : <Foreign text={receipt.warehouseLocation} />,
            ],
            ['Country', countryName(receipt.countryCode)],
            ['Harvest', receipt.harvestSeason === null ? null : <Foreign text={receipt.harvestSeason} />],
            ['Deposited', <Moment seconds={receipt.depositDate} />],
            ['Expires', <Moment seconds={receipt.expiryDate} />],
            [
              'Inspection report',
              receipt.inspectionReportHash === null ? null : <Code text={receipt.inspectionReportHash} />,
            ],
            ['Token', <Code text={receipt.tokenAddress} />],
          ]}
        />
        <aside aria-label="This receipt elsewhere">
          <QrCode text={url} label={`QR code of this receipt's address, ${url}`} />
          <p class="fine address">{url}</p>
        </aside>
      </div>
    </article>,
  );
}
