/**
 * The result of comparing a record with the network, in plain words.
 */
import type { NetworkCheck } from '../certificateRecord.ts';
import { Moment } from './shownText.tsx';

const FIELD_NAMES = {
  beneficiary: 'beneficiary',
  amount: 'amount',
  timestamp: 'time',
  note: 'note',
  retiredBy: 'address that was burned from',
} as const;

export function NetworkCheckResult({ check, network }: { check: NetworkCheck; network: string }) {
  return (
    <section
      class={`result ${check.outcome === 'SAME' ? 'good' : check.outcome === 'NO_ANSWER' ? 'open' : 'bad'}`}
    >
      <h2>{titleOf(check)}</h2>
      <p>
        {textOf(check, network)} <span class="fine">Asked at</span> <Moment seconds={check.checkedAt} />.
      </p>
    </section>
  );
}

export function titleOf(check: NetworkCheck): string {
  switch (check.outcome) {
    case 'SAME':
      return 'The network confirms this record';
    case 'DIFFERENT':
      return 'The network’s record differs';
    case 'MISSING':
      return 'The network has no such record';
    case 'NO_ANSWER':
      return 'The network could not be asked';
  }
}

export function textOf(check: NetworkCheck, network: string): string {
  switch (check.outcome) {
    case 'SAME':
      return `The token’s own record on ${network} was read just now, and it says the same.`;
    case 'DIFFERENT':
      return `The token’s own record on ${network} has another ${check.fields.map((field) => FIELD_NAMES[field]).join(', ')}. Don’t rely on this certificate; please report it.`;
    case 'MISSING':
      return `The token on ${network} has no record at this index. Don’t rely on this certificate; please report it.`;
    case 'NO_ANSWER':
      return `${network} gave no answer within three seconds. What stands below was read from it earlier; a record never changes. Reload to ask again.`;
  }
}
