/**
 * Sums in large figures.
 */
import { grouped } from '../text.ts';

export function TotalFigures({ totals }: { totals: Readonly<Record<string, string | number>> }) {
  return (
    <dl class="totals">
      {Object.entries(totals).map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{grouped(String(value))}</dd>
        </div>
      ))}
    </dl>
  );
}
