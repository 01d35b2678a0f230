/**
 * Where a project's tonnes are, as one bar, with its numbers below.
 */
import { grouped } from '../text.ts';

interface Books {
  issued: string;
  inventory: string;
  heldByBuyers: string;
  retiring: string;
  retired: string;
}

const WIDTH = 1000;

export function TonnesPicture({ books }: { books: Books }) {
  const parts = [
    ['retired', 'Retired', books.retired],
    ['retiring', 'Being retired', books.retiring],
    ['held', 'Held by buyers', books.heldByBuyers],
    ['unsold', 'Unsold', books.inventory],
  ] as const;
  const issued = Number(books.issued);
  let x = 0;
  return (
    <figure class="chart">
      <figcaption>
        <span>{`${grouped(books.issued)} tonnes issued`}</span>
      </figcaption>
      {issued === 0 ? null : (
        <svg class="stack" viewBox={`0 0 ${WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
          {parts.map(([name, , tonnes]) => {
            const width = (Number(tonnes) / issued) * WIDTH;
            const begin = x;
            x += width;
            return <rect class={`part-${name}`} x={begin} y="0" width={width} height="10" />;
          })}
        </svg>
      )}
      <dl class="legend">
        {parts.map(([name, label, tonnes]) => (
          <div>
            <dt>
              <i class={`part-${name}`} aria-hidden="true"></i>
              {label}
            </dt>
            <dd>{`${grouped(tonnes)} t`}</dd>
          </div>
        ))}
      </dl>
    </figure>
  );
}
