/**
 * The schedule of one run. The seed alone decides which faults come when, where, and for how long. Two runs
 * of one seed have the same faults at the same times, but not the same interleaving.
 */
import { FAULTS, type FaultName } from './faults.ts';
import type { LabNetwork } from './lab.ts';

export interface ScheduledFault {
  atMs: number;
  name: FaultName;
  /** The fault's duration, for faults that last. */
  forMs: number;
  /** Chooses the server, connection or crash point: the fault takes it modulo the number of them. */
  choice: number;
}

export interface Random {
  below(limit: number): number;
  pick<T>(items: readonly [T, ...T[]] | readonly T[]): T;
}

/** Faults follow each other so closely that some meet the remains of others, and work still gets done. */
const SHORTEST_GAP_MS = 500;
const LONGEST_GAP_MS = 5_500;
const SHORTEST_FAULT_MS = 300;
const LONGEST_FAULT_MS = 5_000;
const RESTORE: FaultName = 'older copy restored';
/** In a short run one fault must not take the whole run. */
const SHARE_OF_RUN = 0.2;

/** mulberry32: small, and the same on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (items) => items[below(items.length)] as (typeof items)[number] };
}

export function createSchedule(seed: number, lengthMs: number, network: LabNetwork): ScheduledFault[] {
  const random = createRandom(seed);
  const kind = network === 'embedded' ? 'embedded' : 'node';
  const possible = Object.entries(FAULTS).filter(([, { on }]) => on === undefined || on === kind);
  const names = possible.flatMap(([name, { weight }]) =>
    Array.from({ length: weight }, () => name as FaultName),
  );
  const longestMs = Math.min(LONGEST_FAULT_MS, lengthMs * SHARE_OF_RUN);
  const faults: ScheduledFault[] = [];
  for (let atMs = gap(random); atMs < lengthMs; atMs += gap(random)) {
    const forMs = SHORTEST_FAULT_MS + random.below(Math.max(longestMs - SHORTEST_FAULT_MS, 1));
    faults.push({ atMs, name: random.pick(names), forMs, choice: random.below(1_000) });
  }
  // These are seldom drawn, and every run needs one: there is work before and after the middle.
  const middle = faults[Math.floor(faults.length / 2)];
  const canRestore = names.includes(RESTORE);
  if (middle && canRestore && !faults.some(({ name }) => name === RESTORE)) middle.name = RESTORE;
  return faults;
}

function gap(random: Random): number {
  return SHORTEST_GAP_MS + random.below(LONGEST_GAP_MS - SHORTEST_GAP_MS);
}
