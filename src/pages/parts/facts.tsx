/**
 * Names and values of one thing. Unknown values are left out.
 */
import type { Child } from 'hono/jsx';

export type Fact = readonly [name: string, value: Child | null];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
