/**
 * Mixed load, and the answers to its clients: each answered success is a fact that must be true at the end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api, Caller } from './api.ts';
import type { Lab } from './lab.ts';
import type { Random } from './schedule.ts';

interface Common {
  id: string;
  caller: Caller;
  answeredAt: number;
}
export type Fact = Common &
  (
    | { kind: 'Project'; state: string; tokenAddress: string | null }
    | { kind: 'Purchase' | 'CreditTransfer'; tonnes: string }
    | { kind: 'Retirement'; state: string; note: string }
    | { kind: 'Receipt'; state: string; tokenAddress: string | null }
    | { kind: 'OffRampSession'; state: string }
  );

export interface Load {
  facts: Fact[];
  operations: Record<string, number>;
  /** Refusals by code; a refusal is an answer too. */
  refusals: Record<string, number>;
  /** Resolves when there are credits to buy and receipts to cash out. */
  hasBegun(): Promise<void>;
  /** Resolves when each client has its last answer or has given up. */
  ended: Promise<void>;
}

const CLIENTS = 6;
export const BUYERS = ['buyer-1', 'buyer-2', 'buyer-3'] as const;
const WAREHOUSE = { role: 'warehouse', subject: 'warehouse-1' } as const;
const FARMER = { role: 'farmer', subject: 'farmer-1' } as const;
const DEVELOPER = { role: 'developer', subject: 'developer-1' } as const;
/** Each client sends a few requests a second, so that the machine is not what fails. */
const PAUSE_MS = 120;
/** Few objects, so that most requests concern existing ones. */
const MAX_PROJECTS = 5;
const MAX_RECEIPTS = 5;
/** For machines that are busy with other work: only a hang takes longer. */
const BEGIN_WITHIN_MS = 4 * 60_000;
const POLL_MS = 50;

/** The buyer's name in its retirements. */
export const beneficiaryOf = (buyer: string) => `${buyer} Ltd`;

/** The answers of the mutations, by the kind of fact. */
const ANSWERS: Readonly<Record<Fact['kind'], string>> = {
  Project: 'project { id state tokenAddress }',
  Purchase: 'purchase { id tonnes }',
  CreditTransfer: 'creditTransfer { id tonnes }',
  Retirement: 'retirement { id state note }',
  Receipt: 'receipt { id state tokenAddress }',
  OffRampSession: 'offRampSession { id state }',
};

interface Asked {
  kind: Fact['kind'];
  input: Readonly<Record<string, unknown>>;
  caller: Caller;
}

interface Known {
  projects: string[];
  receipts: string[];
}

export function startLoad(lab: Lab, api: Api, random: Random, custodyAddress: string): Load {
  const load = { facts: [] as Fact[], operations: {}, refusals: {} } as Load;
  let key = 0;
  let epoch = lab.epoch;
  /** The purchases of each buyer: another buyer's retirement would only be refused. */
  const holdings: { buyer: Caller; tokenAddress: string }[] = [];

  /** Answers that were given after the copy was made are not in it. */
  function noticeRestore(): void {
    if (lab.epoch === epoch) return;
    epoch = lab.epoch;
    load.facts = load.facts.filter(({ answeredAt }) => answeredAt < lab.restoredTo);
  }

  function known(): Known {
    const of = (kind: 'Project' | 'Receipt') =>
      load.facts.flatMap((fact) =>
        fact.kind === kind && fact.tokenAddress !== null ? [fact.tokenAddress] : [],
      );
    return { projects: [...new Set(of('Project'))], receipts: [...new Set(of('Receipt'))] };
  }

  /** Each success is a fact. @returns whether it was one: else it was refused, or the outcome is unknown */
  async function mutate(operation: string, { kind, input, caller }: Asked): Promise<boolean> {
    const began = lab.epoch;
    const type = `${operation[0]?.toUpperCase()}${operation.slice(1)}Input`;
    const reply = await api.untilAnswered<Record<string, Record<string, { id: string }>>>(
      `mutation ($input: ${type}!) { ${operation}(input: $input) { ${ANSWERS[kind]} } }`,
      { input: { ...input, idempotencyKey: `${operation} ${key++}` } },
      caller,
      lab.isOver,
    );
    noticeRestore();
    // An answer from before a restore says nothing about the copy.
    if (reply === null || began !== lab.epoch) return false;
    load.operations[operation] = (load.operations[operation] ?? 0) + 1;
    if ('refused' in reply) {
      const name = `${operation} ${reply.refused.split(':')[0]}`;
      load.refusals[name] = (load.refusals[name] ?? 0) + 1;
      return false;
    }
    const [subject] = Object.values(Object.values(reply.data)[0] ?? {});
    if (!subject) return false;
    load.facts.push({ kind, ...subject, caller, answeredAt: Date.now() } as Fact);
    return true;
  }

  const acts: Record<string, { weight: number; ask(state: Known): Asked | null }> = {
    createProject: {
      weight: 2,
      ask({ projects }) {
        if (projects.length >= MAX_PROJECTS) return null;
        const input = {
          creditType: 'VCU',
          verificationBodyRef: `LAB-${epoch}-${key}`,
          vintageYear: 2024,
          quantityCO2e: '100000',
          projectLocation: 'Kasigau Corridor, Kenya',
          projectType: 'REDD+',
          countryCode: 'KE',
        };
        return { kind: 'Project', input, caller: DEVELOPER };
      },
    },
    purchase: {
      weight: 5,
      ask({ projects }) {
        if (projects.length === 0) return null;
        const caller = { role: 'buyer', subject: random.pick(BUYERS) } as const;
        const input = { tokenAddress: random.pick(projects), amountCO2e: String(5 + random.below(20)) };
        return { kind: 'Purchase', input, caller };
      },
    },
    transferCredits: {
      weight: 2,
      ask({ projects }) {
        if (projects.length === 0) return null;
        const [from, to] = BUYERS;
        const input = { tokenAddress: random.pick(projects), amountCO2e: '1', toBuyerId: to };
        return { kind: 'CreditTransfer', input, caller: { role: 'buyer', subject: from } };
      },
    },
    retire: {
      weight: 8,
      ask() {
        if (holdings.length === 0) return null;
        const { buyer, tokenAddress } = random.pick(holdings);
        const input = {
          tokenAddress,
          amountCO2e: '1',
          buyerName: beneficiaryOf(buyer.subject),
          // Names the intent on the network: the burns of one are counted by it.
          note: `burn ${epoch} ${key}`,
        };
        return { kind: 'Retirement', input, caller: buyer };
      },
    },
    createDeposit: {
      weight: 2,
      ask({ receipts }) {
        if (receipts.length >= MAX_RECEIPTS) return null;
        const input = {
          farmerAddress: custodyAddress,
          farmerId: FARMER.subject,
          commodityType: 'Maize',
          quantityKg: 100_000,
          warehouseId: WAREHOUSE.subject,
          gradeClassification: 'Grade 1',
          valuationUSD: 400,
        };
        return { kind: 'Receipt', input, caller: WAREHOUSE };
      },
    },
    cashOut: {
      weight: 4,
      ask({ receipts }) {
        if (receipts.length === 0) return null;
        const input = {
          receiptTokenAddress: random.pick(receipts),
          tokenAmount: 10 + random.below(50),
          fiatCurrency: 'KES',
          countryCode: 'KE',
          payoutAccount: { type: 'MOBILE_MONEY', accountNumber: '254700123456', provider: 'MTN' },
        };
        return { kind: 'OffRampSession', input, caller: FARMER };
      },
    },
  };
  const names = Object.entries(acts).flatMap(([name, { weight }]) =>
    Array.from({ length: weight }, () => name),
  );

  async function runClient(): Promise<void> {
    while (!lab.isOver()) {
      noticeRestore();
      const state = known();
      // Nothing can be bought or cashed out before there is something.
      const needed =
        state.projects.length === 0 ? 'createProject' : state.receipts.length === 0 ? 'createDeposit' : null;
      const name = needed !== null && random.below(2) === 0 ? needed : random.pick(names);
      const asked = acts[name]?.ask(state) ?? null;
      const isDone = asked !== null && (await mutate(name, asked));
      if (isDone && asked.kind === 'Purchase')
        holdings.push({ buyer: asked.caller, tokenAddress: String(asked.input['tokenAddress']) });
      // A project that was answered before it had its token is asked for again.
      if (needed !== null || random.below(4) === 0) await learnTokens();
      await delay(random.below(2 * PAUSE_MS));
    }
    noticeRestore();
  }

  async function learnTokens(): Promise<void> {
    const all = load.facts.filter((fact) => 'tokenAddress' in fact && fact.tokenAddress === null);
    // Not the oldest one alone: it may be under review.
    const unknown = all.length === 0 ? undefined : random.pick(all);
    if (!unknown || !('tokenAddress' in unknown)) return;
    const began = lab.epoch;
    const reply = await api
      .once<{ node: { state: string; tokenAddress: string | null } | null }>(
        `query ($id: ID!) { node(id: $id) { ... on ${unknown.kind} { state tokenAddress } } }`,
        { id: unknown.id },
        unknown.caller,
      )
      .catch(() => null);
    if (reply && 'data' in reply && began === lab.epoch && reply.data.node?.tokenAddress) {
      const { state, tokenAddress } = reply.data.node;
      if (state === 'OPEN' || state === 'ACTIVE') Object.assign(unknown, { state, tokenAddress });
    }
  }

  load.hasBegun = async () => {
    const giveUpAt = Date.now() + BEGIN_WITHIN_MS;
    while (known().projects.length === 0 || known().receipts.length === 0) {
      if (Date.now() > giveUpAt)
        throw new Error('without any fault, no project and no receipt was made in time');
      await delay(POLL_MS);
    }
  };
  load.ended = runAll();
  return load;

  async function runAll(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, runClient));
  }
}
