/**
 * Tonnes by week as bars, and as a table for readers who can't see them or want the numbers.
 */
import { WEEKS, type Week } from '../overview.ts';
import { grouped } from '../text.ts';

/** Units of the picture, which is stretched to the available width. */
const WIDTH = 130;
const HEIGHT = 100;
const SLOT = WIDTH / WEEKS;

export function WeekChart({ weeks }: { weeks: readonly Week[] }) {
  const largest = Math.max(0, ...weeks.map(({ tonnes }) => Number(tonnes)));
  const heightOf = (tonnes: string) =>
    Number(tonnes) > 0 ? Math.max(1, (Number(tonnes) / largest) * HEIGHT) : 0;
  return (
    <figure class="chart">
      <figcaption>
        <span id="chart-title">Tonnes retired per week</span>
        {largest === 0 ? null : <span>{`at most ${grouped(String(Math.ceil(largest)))} t`}</span>}
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby="chart-title"
      >
        {[0, HEIGHT / 2].map((y) => (
          <line class="grid" x1="0" x2={WIDTH} y1={y} y2={y} />
        ))}
        {weeks.map(({ tonnes }, i) => (
          <rect
            class="bar"
            x={i * SLOT + SLOT * 0.2}
            y={HEIGHT - heightOf(tonnes)}
            width={SLOT * 0.6}
            height={heightOf(tonnes)}
          />
        ))}
        <line class="axis" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
      </svg>
      <p class="scale" aria-hidden="true">
        {weeks
          .filter((_week, i) => i % 6 === 0)
          .map(({ day }) => (
            <span>{day}</span>
          ))}
      </p>
      <details>
        <summary>The numbers as a table</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Week of</th>
              <th scope="col" class="number">
                Retirements
              </th>
              <th scope="col" class="number">
                Tonnes
              </th>
            </tr>
          </thead>
          <tbody>
            {weeks.map(({ day, retirementCount, tonnes }) => (
              <tr>
                <th scope="row">{day}</th>
                <td class="number">{retirementCount}</td>
                <td class="number">{grouped(tonnes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
