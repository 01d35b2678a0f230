/**
 * Mixed load, and the answers to its clients: each answered success is a fact that must be true at the end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Reply } from './api.ts';
import { CAPPED, FIELDS, HIGHEST_CAP_KG, cashableOf, projectsOf, type Fact, type Known } from './known.ts';
import { ASKS, MUTATIONS, sentOn, type Asked } from './operations.ts';
import { createRegisters } from './registers.ts';

export interface Load extends Known {
  /** Answered successes by mutation. */
  accepted: Record<string, number>;
  /** Refusals by mutation and code; a refusal is an answer too. */
  refusals: Record<string, number>;
  /** Resolves when there are credits to buy and receipts to cash out. */
  hasBegun(): Promise<void>;
  /** Resolves when each client has its last answer or has given up. */
  ended: Promise<unknown>;
}

type Clients = Omit<Load, 'hasBegun' | 'ended'> & { epoch: number };

/** So many, because retirements share the load with the other mutations. */
const CLIENTS = 9;
/** Each client sends a few requests a second, so that the machine is not what fails. */
const PAUSE_MS = 120;
/** For machines that are busy with other work: only a hang takes longer. */
const BEGIN_WITHIN_MS = 4 * 60_000;
const POLL_MS = 50;
/** Of so many answered successes, one is asked for again. */
const REPEATED_OF = 6;

type Subject = Partial<Fact> & { __typename: Fact['kind']; id: string };
type Payload = Readonly<Record<string, Subject | string | null>>;

export function startLoad(given: Pick<Known, 'lab' | 'api' | 'random' | 'custodyAddress'>): Load {
  let count = 0;
  const clients: Clients = {
    ...given,
    facts: [],
    registers: createRegisters(
      Object.fromEntries(CAPPED.map((commodity) => [`cap ${commodity}`, String(HIGHEST_CAP_KG)])),
    ),
    unique: () => String(count++),
    accepted: Object.fromEntries(sentOn(given.lab.network).map((name) => [name, 0])),
    refusals: {},
    epoch: given.lab.epoch,
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, () => runClient(clients)));
  return Object.assign(clients, { hasBegun: () => hasBegun(clients), ended });
}

async function runClient(clients: Clients): Promise<void> {
  const { lab, random } = clients;
  const names = sentOn(lab.network).flatMap((name) =>
    Array.from({ length: MUTATIONS[name]?.[0] ?? 0 }, () => name),
  );
  while (!lab.isOver()) {
    noticeRestore(clients);
    // Nothing can be bought or cashed out before there is something.
    const needed = lacking(clients);
    const name = needed !== null && random.below(2) === 0 ? needed : random.pick(names);
    const asked = (await ASKS[name]?.(clients)) ?? null;
    if (asked !== null) await mutate(clients, name, asked);
    // A project that was answered before it had its token is asked for again.
    if (needed !== null || random.below(4) === 0) await learnTokens(clients);
    await delay(random.below(2 * PAUSE_MS));
  }
  noticeRestore(clients);
}

/** Answers that were given after the copy was made are not in it. */
function noticeRestore(clients: Clients): void {
  const { lab } = clients;
  if (lab.epoch === clients.epoch) return;
  clients.epoch = lab.epoch;
  clients.facts = clients.facts.filter(({ answeredAt }) => answeredAt < lab.restoredTo);
  clients.registers.doubtSince(lab.restoredTo);
}

/** The mutation that makes what is missing; null when nothing is. */
function lacking(clients: Clients): string | null {
  if (projectsOf(clients).length === 0) return 'createProject';
  const owners = [clients.custodyAddress, clients.lab.holder.address];
  return owners.some((owner) => cashableOf(clients, owner).length === 0) ? 'createDeposit' : null;
}

async function hasBegun(clients: Clients): Promise<void> {
  const giveUpAt = Date.now() + BEGIN_WITHIN_MS;
  while (lacking(clients) !== null) {
    if (Date.now() > giveUpAt)
      throw new Error('without any fault, no project and no receipt was made in time');
    await delay(POLL_MS);
  }
}

/** Each object of a success is a fact. A refusal, or an unknown outcome, makes none. */
async function mutate(clients: Clients, name: string, asked: Asked): Promise<void> {
  const { lab, api, random, registers, accepted } = clients;
  const { input = {}, caller, writes, requires } = asked;
  const isKeyed = 'idempotencyKey' in input;
  const began = lab.epoch;
  const askedAt = Date.now();
  const lostBefore = api.failedTries;
  const document = documentOf(name, asked);
  const send = async (): Promise<Reply<Record<string, Payload>> | null> => {
    const reply = await api.untilAnswered<Record<string, Payload>>(document, { input }, caller, lab.isOver);
    noticeRestore(clients);
    // An answer from before a restore says nothing about the copy.
    return began === lab.epoch ? reply : null;
  };
  const write = writes && registers.begin(...writes);
  const reply = await send();
  if (reply === null) return;
  if ('refused' in reply) {
    write?.refused();
    return noteRefusal(clients, name, asked, reply.refused);
  }
  accepted[name] = (accepted[name] ?? 0) + 1;
  // A lost try without a key may take effect once more, after the answer.
  if (isKeyed || api.failedTries === lostBefore) write?.accepted();
  if (requires && !registers.couldBe(...requires, askedAt)) {
    lab.broken.push(`${name} succeeded, but the ${requires[0]} was set: ${JSON.stringify(input)}`);
  }
  const payload = reply.data[name] ?? {};
  const { key } = payload;
  const common = { input, caller, answeredAt: Date.now(), ...(typeof key === 'string' && { key }) };
  for (const { __typename: kind, ...subject } of Object.values(payload).filter(isSubject)) {
    clients.facts.push({ ...subject, ...common, kind });
  }
  if (isKeyed && random.below(REPEATED_OF) === 0) judgeRepeated(clients, name, payload, await send());
}

function documentOf(name: string, { input }: Asked): string {
  const fieldsByKind: Readonly<Record<string, string | undefined>> = FIELDS;
  const members = (MUTATIONS[name]?.[1] ?? '').split(' ').map((member) => {
    const fields = fieldsByKind[capitalized(member)];
    return fields === undefined ? member : `${member} { __typename id ${fields} }`;
  });
  const answer = `{ ${members.join(' ')} }`;
  if (input === undefined) return `mutation { ${name} ${answer} }`;
  return `mutation ($input: ${capitalized(name)}Input!) { ${name}(input: $input) ${answer} }`;
}

function capitalized(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`;
}

function isSubject(member: Payload[string]): member is Subject {
  return typeof member === 'object' && member !== null;
}

function noteRefusal(
  { facts, refusals, lab }: Clients,
  name: string,
  { input }: Asked,
  refused: string,
): void {
  const [code = ''] = refused.split(':');
  refusals[`${name} ${code}`] = (refusals[`${name} ${code}`] ?? 0) + 1;
  if (code === 'IDEMPOTENCY_CONFLICT') lab.broken.push(`${name} was refused: ${refused}`);
  if (code !== 'RECEIPT_EXPIRED') return;
  const expired = facts.filter(({ tokenAddress }) => tokenAddress === input?.['receiptTokenAddress']);
  for (const fact of expired) fact.state = 'EXPIRED';
}

/** A refusal may be right the second time, and an act may be replaced: not another object for the same key. */
function judgeRepeated(
  { lab }: Clients,
  name: string,
  first: Payload,
  again: Reply<Record<string, Payload>> | null,
): void {
  if (again === null || 'refused' in again) return;
  for (const [member, subject] of Object.entries(again.data[name] ?? {})) {
    const before = first[member] ?? null;
    if (member === 'holderAct' || !isSubject(subject) || !isSubject(before)) continue;
    if (before.id !== subject.id) lab.broken.push(`${name} made ${before.id} and ${subject.id} for one key`);
  }
}

async function learnTokens({ facts, random, api, lab }: Clients): Promise<void> {
  const all = facts.filter((fact) => fact.tokenAddress === null);
  // Not the oldest one alone: it may be under review.
  const unknown = all.length === 0 ? undefined : random.pick(all);
  if (!unknown) return;
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
