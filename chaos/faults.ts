/**
 * The faults that make up a schedule. Each fault ends itself; the platform must deal with what it leaves
 * behind, such as a silent connection or a half-done submission.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { CRASH_POINTS } from '../src/ledger/submission/submission.ts';
import { LINK_FAULTS, type LinkFault, type TcpProxy } from '../devnet/tcpProxy.ts';
import { sendBadDeliveries } from './badDeliveries.ts';
import type { Lab } from './lab.ts';
import type { ScheduledFault } from './schedule.ts';
import type { ServerSlot } from './servers.ts';

interface Fault {
  /** The fault's weight among the others, for random choice. */
  weight: number;
  /** The only networks with this fault: the embedded one, or those with a node; by default all. */
  on?: 'embedded' | 'node';
  /** @returns a description of what it did */
  run(lab: Lab, scheduled: ScheduledFault): Promise<string>;
}

/** The passage of a crash point at which the server dies: in later ones, more kinds of work are under way. */
const OCCURRENCES = 4;
/** The longest wait for a crash point: a server without work passes none. */
const CRASH_PATIENCE_MS = 6_000;
/** Below the size of every file of the write-ahead log. */
const FULL_AT_BYTES = 64 * 1024;
const DATABASE_LINKS_LOST_COMMITS = 3;

const faults = {
  'killed at a crash point': {
    weight: 4,
    async run(lab, { choice }) {
      const slot = slotOf(lab, choice);
      // Each server meets each crash point at each passage: remainders of one number would be correlated.
      const left = Math.floor(choice / lab.slots.length);
      const crashPoint = CRASH_POINTS[left % CRASH_POINTS.length];
      const point = `${crashPoint}:${1 + (Math.floor(left / CRASH_POINTS.length) % OCCURRENCES)}`;
      await slot.end('SIGKILL');
      const before = slot.starts;
      slot.start(point);
      const giveUpAt = Date.now() + CRASH_PATIENCE_MS;
      // After the server died, its supervisor starts it again.
      while (slot.starts < before + 2 && Date.now() < giveUpAt && !lab.isOver()) await delay(50);
      return `${slot.name} at ${point}${slot.starts < before + 2 ? ' (not passed yet)' : ''}`;
    },
  },
  'killed when the provider answers': {
    weight: 2,
    async run(lab) {
      // Whichever asked is among them.
      lab.rampLink.atNextAnswer(() => lab.slots.forEach((slot) => slot.signal('SIGKILL')));
      return `${lab.slots.length} servers`;
    },
  },
  'killed when the database answers': {
    weight: 1,
    async run(lab, { choice }) {
      const slot = slotOf(lab, choice);
      slot.links.database.atNextAnswer(() => slot.signal('SIGKILL'));
      return slot.name;
    },
  },
  'killed when the node answers': {
    weight: 2,
    on: 'node',
    async run(lab, { choice }) {
      const slot = slotOf(lab, choice);
      slot.links.node?.atNextAnswer(() => slot.signal('SIGKILL'));
      return slot.name;
    },
  },
  frozen: {
    weight: 2,
    async run(lab, { choice, forMs }) {
      const slot = slotOf(lab, choice);
      slot.signal('SIGSTOP');
      await delay(forMs);
      slot.signal('SIGCONT');
      return `${slot.name} for ${forMs} ms`;
    },
  },
  'clock jumped': {
    weight: 1,
    async run(lab, { choice }) {
      const slot = slotOf(lab, choice);
      slot.signal('SIGUSR2');
      return slot.name;
    },
  },
  'stopped in order': {
    weight: 1,
    async run(lab, { choice, forMs }) {
      const slot = slotOf(lab, choice);
      await slot.end('SIGTERM');
      await delay(forMs);
      slot.start();
      return `${slot.name}, down for ${forMs} ms`;
    },
  },
  'all killed': {
    weight: 1,
    async run(lab) {
      for (const slot of lab.slots) slot.signal('SIGKILL');
      return `${lab.slots.length} servers`;
    },
  },
  'database crashed': {
    weight: 2,
    async run(lab, { forMs }) {
      await lab.postgres.crash();
      await delay(forMs / 4);
      await lab.postgres.start();
      return `down for ${Math.round(forMs / 4)} ms`;
    },
  },
  'database full': {
    weight: 1,
    async run(lab, { forMs }) {
      try {
        await lab.fillDatabase(FULL_AT_BYTES);
        await delay(forMs);
      } finally {
        await lab.postgres.crash();
        await lab.postgres.start();
      }
      return `for ${forMs} ms`;
    },
  },
  'database read-only': {
    weight: 1,
    async run(lab, { forMs }) {
      try {
        await lab.setReadOnly(true);
        await delay(forMs);
      } finally {
        await lab.setReadOnly(false);
      }
      return `for ${forMs} ms`;
    },
  },
  'answers of commits lost': {
    weight: 3,
    async run(lab, { choice, forMs }) {
      const slot = slotOf(lab, choice);
      let left = DATABASE_LINKS_LOST_COMMITS;
      slot.commits.loseCommitsWhen((statements) => statements.some(isWriting) && left-- > 0);
      await delay(forMs);
      slot.commits.loseCommitsWhen(() => false);
      return `${slot.name}, ${DATABASE_LINKS_LOST_COMMITS - Math.max(left, 0)} of them`;
    },
  },
  'bad webhooks': {
    weight: 2,
    run: (lab, { choice }) => sendBadDeliveries(lab, slotOf(lab, choice)),
  },
  'database copied': {
    weight: 1,
    on: 'embedded',
    async run(lab) {
      await lab.copyDatabase();
      return 'for a restore';
    },
  },
  'older copy restored': {
    weight: 1,
    // A public ledger goes on without the copy: what follows then is an operator's (docs/operations.md).
    on: 'embedded',
    run: (lab) => lab.restoreCopy(),
  },
  'connection to the database': link((slot) => slot.links.database, 3),
  'connection to the clients': link((slot) => slot.links.client, 2),
  'connection to the provider': link((_, lab) => lab.rampLink, 2),
  'connection to the node': { ...link((slot) => slot.links.node, 3), on: 'node' },
  'connection to the indexer': { ...link((slot) => slot.links.indexer, 1), on: 'node' },
  'node frozen': {
    weight: 1,
    on: 'node',
    async run(lab, { forMs }) {
      await lab.node?.freeze();
      await delay(forMs);
      await lab.node?.thaw();
      return `for ${forMs} ms`;
    },
  },
  'node lies': {
    weight: 2,
    on: 'node',
    async run({ node, slots }, { choice, forMs }) {
      const what = await node?.lie(choice);
      await delay(forMs);
      const obstacles = await Promise.all(slots.map((slot) => slot.whyNotReady()));
      node?.obey();
      return `${what}, for ${forMs} ms; ${obstacles.filter((obstacle) => obstacle !== null).length} servers not ready`;
    },
  },
  'transactions dropped by the node': {
    weight: 2,
    on: 'node',
    async run(lab) {
      await lab.node?.dropWaiting();
      return 'all that waited';
    },
  },
  'network ahead of the clocks': {
    weight: 1,
    on: 'node',
    async run(lab, { choice }) {
      await lab.node?.advanceTime(choice);
      return `by ${choice} s`;
    },
  },
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof faults;
export const FAULTS: Readonly<Record<FaultName, Fault>> = faults;

function slotOf({ slots }: Lab, choice: number): ServerSlot {
  const slot = slots[choice % slots.length];
  if (!slot) throw new Error('the laboratory has no server');
  return slot;
}

function link(of: (slot: ServerSlot, lab: Lab) => TcpProxy | null, weight: number): Fault {
  return {
    weight,
    async run(lab, { choice, forMs }) {
      const slot = slotOf(lab, choice);
      const fault = LINK_FAULTS[Math.floor(choice / lab.slots.length) % LINK_FAULTS.length] as LinkFault;
      const proxy = of(slot, lab);
      proxy?.suffer(fault);
      await delay(forMs);
      proxy?.heal();
      return `${slot.name}: ${fault} for ${forMs} ms`;
    },
  };
}

function isWriting(statement: string): boolean {
  return /^\s*(insert|update|delete|with|select .*post_transfers)/i.test(statement);
}
