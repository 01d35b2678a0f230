/**
 * A bounded spool on disk for deliveries that arrive while the database is unavailable. Senders do not repeat a
 * delivery, so it would otherwise be lost.
 */
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { IdSource } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { parseJson } from '../lib/parseJson.ts';
import { shareRun } from '../lib/sharedRuns.ts';
import type { Delivery } from '../resolvers/carbon/receiveDelivery.ts';

/** Unverified clients can send deliveries too, which must not fill the disk. The feed filler finds what is not kept. */
const MAX_SPOOLED = 1000;
const REPLAY_INTERVAL_MS = 5_000;
const SUFFIX = '.json';
/** Of a delivery that is being written. */
const BEGUN = '.part';
/** This many failures in one replay mean that no delivery can be handled now; fewer are due to the deliveries. */
const MAX_FAILURES_PER_REPLAY = 10;
/** A delivery that fails for this long is dropped; the feed filler has found its retirement by then. */
const MAX_KEPT_MS = 3_600_000;

export interface DeliverySpool {
  /** @returns false when there is no room for it. @throws what the file system says */
  keep(delivery: Delivery): Promise<boolean>;
  /**
   * Passes kept deliveries to `handle` every few seconds, oldest first, until it succeeds. A failing delivery does not
   * delay the others, and is dropped after an hour.
   */
  start(handle: (delivery: Delivery) => Promise<unknown>): void;
  stop(): Promise<void>;
}

const storedForm = z.object({ body: z.base64(), signature: z.string().nullable() });

interface SpoolOptions {
  folder: string;
  ids: IdSource;
  log: Logger;
  replayIntervalMs?: number;
}

export function createDeliverySpool(options: SpoolOptions): DeliverySpool {
  const { folder, ids, log, replayIntervalMs = REPLAY_INTERVAL_MS } = options;
  let timer: NodeJS.Timeout | null = null;
  let replaying: Promise<void> | null = null;
  let isStopped = false;

  /** Names begin with the time, so they sort by arrival. */
  async function listed(): Promise<string[]> {
    return (await readdir(folder).catch(() => [] as string[])).sort();
  }

  async function replay(handle: (delivery: Delivery) => Promise<unknown>): Promise<void> {
    let failures = 0;
    const names = await listed();
    await removeOld(names.filter((name) => name.endsWith(BEGUN)).map((name) => join(folder, name)));
    for (const name of names.filter((one) => one.endsWith(SUFFIX))) {
      if (isStopped) return;
      const path = join(folder, name);
      try {
        const delivery = await readDelivery(path);
        if (delivery !== null) await handle(delivery);
        await rm(path, { force: true });
      } catch (error) {
        log.warn({ delivery: name, err: error }, 'spooled delivery not handled yet');
        if (await isOld(path)) await rm(path, { force: true });
        if (++failures === MAX_FAILURES_PER_REPLAY) return;
      }
    }
  }

  return {
    async keep({ rawBody, signature }) {
      if ((await listed()).length >= MAX_SPOOLED) return false;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, `${ids.next()}${SUFFIX}`);
      // Renamed when complete, so that a crash while writing leaves no partial delivery.
      const begun = `${path}${BEGUN}`;
      const body = Buffer.from(rawBody).toString('base64');
      try {
        await writeFile(begun, JSON.stringify({ body, signature }), { mode: 0o600 });
        await rename(begun, path);
      } catch (error) {
        // A full disk may be why the database is away, too: each delivery would leave a file.
        await rm(begun, { force: true });
        throw error;
      }
      return true;
    },
    start(handle) {
      const replayAll = shareRun(() =>
        replay(handle).catch((error: unknown) => {
          log.warn({ err: error }, 'spooled deliveries not handled yet');
        }),
      );
      timer = setInterval(() => {
        replaying = replayAll();
      }, replayIntervalMs);
    },
    async stop() {
      isStopped = true;
      if (timer) clearInterval(timer);
      await replaying;
    },
  };
}

/** Null for a file without a valid delivery, such as one that a power failure left incomplete. */
async function readDelivery(path: string): Promise<Delivery | null> {
  const text = await readFile(path, 'utf8');
  const stored = storedForm.safeParse(parseJson(text));
  if (!stored.success) return null;
  return { rawBody: Buffer.from(stored.data.body, 'base64'), signature: stored.data.signature };
}

/** What a killed process has begun. */
async function removeOld(paths: readonly string[]): Promise<void> {
  for (const path of paths) if (await isOld(path)) await rm(path, { force: true });
}

/** By the file system's time, which is this machine's clock. What was renamed meanwhile is not. */
async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && Date.now() - found.mtimeMs > MAX_KEPT_MS;
}
