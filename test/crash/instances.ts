/**
 * Instances for crash tests: one that runs as a process and kills itself at a named point, and others that
 * take over its work.
 */
import { spawn } from 'node:child_process';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { reconcileAll } from '../../src/reconciliation/reconcileAll.ts';
import type { Platform } from '../../src/startup/compose.ts';
import { openDatabase, type DatabaseHandle } from '../../src/db/connection.ts';
import { createTestDatabase, type TestDatabase } from '../support/database/database.ts';
import { pathOf } from '../support/run/programs.ts';
import { connectLedger, embeddedLedger } from '../../devnet/ledgers.ts';
import type { LedgerConfig } from '../../src/ledger/network/families.ts';
import { platformOn } from '../support/platform.ts';
import { encodeOrder, type InstanceOrder } from './order.ts';

interface Instances {
  /** Starts `count` more instances. @returns the first of all */
  start(count: number): Promise<Platform>;
  /** Returns the first running instance. */
  running(): Platform | undefined;
  stop(): Promise<void>;
  /** Runs an instance as a process until it kills itself. */
  crash(order: Omit<InstanceOrder, 'databaseUrl' | 'ledger'>): Promise<void>;
}

export function instancesOn(
  database: () => TestDatabase,
  ledger: () => LedgerConfig = () => embeddedLedger,
): Instances {
  let handles: DatabaseHandle[] = [];
  let platforms: Platform[] = [];
  return {
    async start(count) {
      for (let i = 0; i < count; i++) {
        const { url } = database();
        const handle = openDatabase({ url, poolSize: 2, applicationName: `instance ${i}` });
        handles.push(handle);
        platforms.push(await platformOn(handle, await connectLedger(ledger(), handle)));
      }
      // Before the start: instances look for work that is not due at their start only when its lease ends.
      await expireClaims(database());
      await Promise.all(platforms.map((platform) => platform.start()));
      const [first] = platforms;
      if (!first) throw new Error('no instance was started');
      return first;
    },
    running: () => platforms[0],
    async stop() {
      await Promise.all(platforms.map((platform) => platform.stop()));
      await Promise.all(handles.map((handle) => handle.close()));
      platforms = [];
      handles = [];
    },
    crash: (order) => crash({ ...order, databaseUrl: database().url, ledger: ledger() }),
  };
}

interface InstancesOfTest<I extends Instances = Instances> {
  instances: I;
  database: () => TestDatabase;
}

/** Makes a new database for each test, and instances on it. */
export function useInstances(ledger?: () => LedgerConfig): InstancesOfTest {
  const { begin, end, ...used } = instancesAnew(ledger);
  beforeEach(begin);
  afterEach(end);
  return used;
}

interface SharedInstances extends Instances {
  /**
   * Does the work on an instance that still runs from the last test, or on a new one. No instance runs
   * afterwards.
   */
  prepare<T>(work: (platform: Platform) => Promise<T>): Promise<T>;
}

/**
 * Makes one database for the tests of a group, and instances on it. A test goes on with the instances of the
 * last one, because each start costs as much as the rest of a test. After a failed test the next one has a
 * new database.
 */
export function useSharedInstances(ledger: () => LedgerConfig): InstancesOfTest<SharedInstances> {
  const { begin, end, instances, database } = instancesAnew(ledger);
  beforeAll(begin);
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail') return;
    await end();
    await begin();
  });
  afterAll(end);
  const prepare = async <T>(work: (platform: Platform) => Promise<T>): Promise<T> => {
    const prepared = await work(instances.running() ?? (await instances.start(1)));
    await instances.stop();
    return prepared;
  };
  return { instances: { ...instances, prepare }, database };
}

/**
 * Checks agreement at the end of a group. Nothing repairs a difference, so the check finds what any test of
 * the group has left.
 */
export function itAgreesAfterwards(instances: SharedInstances): void {
  it('leaves books and network in agreement', async () => {
    const { dependencies } = instances.running() ?? (await instances.start(1));
    const agreed = { findings: [], unsettledProjects: 0, unsettledReceipts: 0 };
    expect(await reconcileAll(dependencies)).toMatchObject(agreed);
  });
}

function instancesAnew(ledger?: () => LedgerConfig) {
  let current: TestDatabase | null = null;
  const database = () => {
    if (!current) throw new Error('the database is not ready');
    return current;
  };
  const instances = instancesOn(database, ledger);
  return {
    instances,
    database,
    async begin() {
      current = await createTestDatabase();
    },
    async end() {
      await instances.stop();
      await current?.drop();
    },
  };
}

async function crash(order: InstanceOrder): Promise<void> {
  const child = spawn(process.execPath, [pathOf('test/crash/instance.ts'), encodeOrder(order)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = await new Promise((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  // The instance exits with 3 if it never passed the point.
  expect(ended).toEqual({ code: null, signal: 'SIGKILL' });
}

/** Ends a dead instance's leases. They end within seconds anyway (takeOver.test.ts). */
async function expireClaims({ handle }: TestDatabase): Promise<void> {
  await handle.sql`UPDATE submissions SET due_at = now() WHERE state = 'PENDING'`;
  await handle.sql`UPDATE off_ramp_sessions SET due_at = now() WHERE due_at IS NOT NULL`;
}
