/**
 * One run: load and faults until the time is over, then rest, then the verdict.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createApi } from './api.ts';
import { FAULTS } from './faults.ts';
import { followFeed } from './followers.ts';
import { openLab, type Lab, type LabNetwork } from './lab.ts';
import { beneficiaryOf, BUYERS, CAPPED, CAPPED_WAREHOUSE, HIGHEST_CAP_KG, person } from './known.ts';
import { startLoad } from './load.ts';
import { requireEachMutation } from './operations.ts';
import { startPayouts } from './payouts.ts';
import { createRandom, createSchedule, type ScheduledFault } from './schedule.ts';
import { comeToRest, findViolations, type Rest } from './verdict.ts';

export interface RunOptions {
  seed: number;
  lengthMs: number;
  network: LabNetwork;
  servers: number;
  say: (line: string) => void;
  /** Fewer faults than the seed's, to find the one that matters. */
  schedule?: readonly ScheduledFault[];
}

export interface RunResult {
  seed: number;
  network: LabNetwork;
  servers: number;
  lengthMs: number;
  /** From the start of the schedule to the end of the last fault: a slow machine takes longer. */
  faultyMs: number;
  /** Successes by mutation. */
  accepted: Record<string, number>;
  refusals: Record<string, number>;
  /** Tries without an answer, which clients repeated. */
  failedTries: number;
  facts: number;
  faults: Record<string, number>;
  /** The faults, with their times. */
  log: string[];
  callbacks: Record<string, number>;
  starts: number;
  reconnects: number;
  rest: Rest;
  /** The errors that servers called their own defects while faults went on. */
  defects: string[];
  violations: string[];
  /** The folder of the servers' logs, when something is violated. */
  folder: string | null;
}

/** Two followers of all retirements, and one of a single buyer's, who made few of them. */
const FOLLOWED = [null, null, beneficiaryOf(BUYERS[0])];
const PROGRESS_MS = 1_000;
const WORK_PATIENCE_MS = 10_000;
const WORK_POLL_MS = 200;
/** In a short run the provider repeats lost callbacks, because the payout's next poll would be too late. */
const SHORT_RUN_MS = 60_000;
/** After so many, the rarest mutation was asked for about ten times: none accepted is no chance. */
const COVERING_MUTATIONS = 1_000;
/** Each kind of client has its own range of numbers, so that no two take the same. */
const STREAMS = { lab: 1, load: 2, api: 3, payouts: 4, followers: 5 };

export async function runChaos(options: RunOptions): Promise<RunResult> {
  const { seed, lengthMs, network, servers, say } = options;
  const random = (stream: keyof typeof STREAMS) => createRandom(seed * 10 + STREAMS[stream]);
  await requireEachMutation();
  let isOver = false;
  say('starting PostgreSQL, the network, the provider and the servers');
  const lab = await openLab({ network, servers, random: random('lab'), isOver: () => isOver });
  let violations: string[] = ['the run did not come to its end'];
  try {
    for (const slot of lab.slots) {
      slot.start();
      await slot.ready();
    }
    const api = createApi(lab, random('api'));
    const custodyAddress = await prepare(lab, api);
    const load = startLoad({ lab, api, random: random('load'), custodyAddress });
    const payouts = startPayouts(lab, random('payouts'));
    const followRandom = random('followers');
    const followers = FOLLOWED.map((beneficiary) => followFeed(lab, followRandom, beneficiary));
    await load.hasBegun();
    // The first restore may come before the schedule's first copy.
    await lab.copyDatabase();
    const beganAt = Date.now();
    const schedule = options.schedule ?? createSchedule(seed, lengthMs, network);
    const done = {
      faults: {} as Record<string, number>,
      log: [] as string[],
      running: new Set<string>(),
    };
    const progress = setInterval(() => {
      const now = [...done.running].join(', ') || 'no fault';
      const up = lab.slots.filter((slot) => slot.isRunning()).length;
      say(
        `${secondsSince(beganAt)} s: ${sumOf(load.accepted)} accepted, ${api.failedTries} tries lost, ${up} of ${servers} up, ` +
          `${lab.ramp.payouts.size} payouts, ${done.log.length} faults; ${now}`,
      );
    }, PROGRESS_MS);
    try {
      await injectAll(lab, schedule, { beganAt, done, say });
      await delay(Math.max(beganAt + lengthMs - Date.now(), 0));
      isOver = true;
      await healAll(lab);
      const healedAt = Date.now();
      const faultyMs = healedAt - beganAt;
      await load.ended;
      for (const slot of lab.slots) await slot.ready();
      say('left alone');
      if (lengthMs < SHORT_RUN_MS) await payouts.repeatAll();
      const rest = await comeToRest(lab, healedAt);
      await payouts.stop();
      say(`at rest after ${rest.afterMs} ms; reading what was promised, and reconciling`);
      const unproved = sumOf(load.accepted) < COVERING_MUTATIONS ? [] : neverAccepted(load.accepted);
      violations = [
        ...lab.broken,
        ...unproved.map((name) => `${name} was never accepted, so the run proves nothing about it`),
        ...(await findViolations(load, followers, rest)),
      ];
      await Promise.all(followers.map((follower) => follower.stop()));
      return {
        seed,
        network,
        servers,
        lengthMs,
        faultyMs,
        accepted: load.accepted,
        refusals: load.refusals,
        failedTries: api.failedTries,
        facts: load.facts.length,
        faults: done.faults,
        log: done.log,
        callbacks: payouts.callbacks,
        starts: lab.slots.reduce((sum, slot) => sum + slot.starts, 0),
        reconnects: followers.reduce((sum, follower) => sum + follower.reconnects, 0),
        rest,
        defects: [...api.defects],
        violations,
        folder: violations.length > 0 ? lab.folder : null,
      };
    } finally {
      clearInterval(progress);
    }
  } finally {
    isOver = true;
    await lab.close({ keepLogs: violations.length > 0 });
  }
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

export function neverAccepted(accepted: RunResult['accepted']): string[] {
  return Object.keys(accepted).filter((name) => accepted[name] === 0);
}

/** @returns custody's address */
async function prepare(lab: Lab, api: ReturnType<typeof createApi>): Promise<string> {
  if (lab.node !== null) {
    await api.untilAnswered('mutation { watchRetirements { webhookId } }', {}, person('operator'));
  }
  // Each copy has the caps: a warehouse without any is not limited.
  for (const commodityType of CAPPED) {
    const input = { warehouseId: CAPPED_WAREHOUSE.subject, commodityType, limitKg: HIGHEST_CAP_KG };
    const query = 'mutation ($input: SetIssuanceCapInput!) { setIssuanceCap(input: $input) { __typename } }';
    await api.untilAnswered(query, { input }, person('operator'));
  }
  const reply = await api.untilAnswered<{ ledgerNetwork: { custodyAddress: string } }>(
    '{ ledgerNetwork { custodyAddress } }',
    {},
    null,
  );
  if (!reply || !('data' in reply)) throw new Error(`no custody address: ${JSON.stringify(reply)}`);
  return reply.data.ledgerNetwork.custodyAddress;
}

interface Injecting {
  beganAt: number;
  done: { faults: Record<string, number>; log: string[]; running: Set<string> };
  say: (line: string) => void;
}

/** Faults overlap, except those of one lane (the database, the processes), which would undo each other. */
async function injectAll(
  lab: Lab,
  schedule: readonly ScheduledFault[],
  { beganAt, done, say }: Injecting,
): Promise<void> {
  const lanes = new Map<string, Promise<void>>();
  const all: Promise<void>[] = [];
  for (const scheduled of schedule) {
    await delay(Math.max(beganAt + scheduled.atMs - Date.now(), 0));
    const lane = laneOf(scheduled.name);
    const run = async () => {
      done.running.add(scheduled.name);
      const what = await FAULTS[scheduled.name]
        .run(lab, scheduled)
        .catch((error: unknown) => `failed: ${String(error)}`);
      done.running.delete(scheduled.name);
      done.faults[scheduled.name] = (done.faults[scheduled.name] ?? 0) + 1;
      const line = `${(scheduled.atMs / 1000).toFixed(1)} s: ${scheduled.name}: ${what}`;
      done.log.push(line);
      say(line);
    };
    if (lane === null) {
      all.push(run());
      continue;
    }
    const before = lanes.get(lane) ?? Promise.resolve();
    const running = before.then(() => letWorkGoOn(lab)).then(run);
    lanes.set(lane, running);
    all.push(running);
  }
  await Promise.all(all);
}

/** On a slow machine a start takes longer than the time between two faults, so servers would only start. */
async function letWorkGoOn({ slots }: Lab): Promise<void> {
  const giveUpAt = Date.now() + WORK_PATIENCE_MS;
  const isAnyReady = async () => (await Promise.all(slots.map((slot) => slot.whyNotReady()))).includes(null);
  while (!(await isAnyReady()) && Date.now() < giveUpAt) await delay(WORK_POLL_MS);
}

const BESIDE_OTHERS: readonly ScheduledFault['name'][] = ['answers of commits lost', 'bad webhooks'];

/** A restore ends the servers and the database, so both share one lane. */
function laneOf(name: ScheduledFault['name']): string | null {
  return name.startsWith('connection') || name.startsWith('killed when') || BESIDE_OTHERS.includes(name)
    ? null
    : 'processes and database';
}

async function healAll(lab: Lab): Promise<void> {
  lab.rampLink.heal();
  lab.node?.obey();
  for (const { links, commits } of lab.slots) {
    for (const proxy of Object.values(links)) proxy?.heal();
    commits.loseCommitsWhen(() => false);
  }
  for (const slot of lab.slots) {
    slot.signal('SIGCONT');
    slot.start();
  }
}

function secondsSince(atMs: number): number {
  return Math.round((Date.now() - atMs) / 1000);
}
