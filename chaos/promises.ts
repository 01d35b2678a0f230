/**
 * What must hold of prices, caps, pledges, approvals, holders' acts and revoked credentials at the end.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Api, Caller } from './api.ts';
import { CAPPED_WAREHOUSE, HIGHEST_CAP_KG, factsOf, person } from './known.ts';
import type { Lab } from './lab.ts';
import type { Load } from './load.ts';

/** Servers read revocations every five seconds, should a notification be lost. */
const REVOKED_WITHIN_MS = 10_000;
const POLL_MS = 250;

/** @returns the violations, for readers */
export async function findBrokenPromises(load: Load): Promise<string[]> {
  return [
    ...(await findWrongValues(load)),
    ...(await findAcceptedCredentials(load)),
    ...(await findWrongRows(load.lab)),
  ];
}

interface Read {
  node?: { pricePerTonne: { amount: string } | null } | null;
  issuanceCaps?: { nodes: { commodityType: string; limitKg: string }[] };
  receipt?: { openPledge: { loanReference: string } | null } | null;
}

/** By the first word of the register's name. */
const QUERIES: Readonly<Record<string, string>> = {
  price: 'query ($of: ID!) { node(id: $of) { ... on Project { pricePerTonne { amount } } } }',
  cap: `{ issuanceCaps(first: 10, filter: { warehouseIds: ["${CAPPED_WAREHOUSE.subject}"] }) { nodes { commodityType limitKg } } }`,
  pledge: 'query ($of: Address!) { receipt(tokenAddress: $of) { openPledge { loanReference } } }',
};

async function findWrongValues({ api, registers }: Load): Promise<string[]> {
  const wrong: string[] = [];
  for (const register of registers.names()) {
    const [kind = '', of] = register.split(' ');
    const reply = await api.untilAnswered<Read>(QUERIES[kind] ?? '', { of }, person('operator'));
    if (reply === null || 'refused' in reply) {
      wrong.push(`the ${register} cannot be read: ${reply?.refused}`);
      continue;
    }
    const { node, issuanceCaps, receipt } = reply.data;
    // Of an object that a restore lost.
    if (node === null || receipt === null) continue;
    const cap = issuanceCaps?.nodes.find(({ commodityType }) => commodityType === of)?.limitKg;
    const value = cap ?? node?.pricePerTonne?.amount ?? receipt?.openPledge?.loanReference ?? null;
    if (registers.couldBe(register, value, Infinity)) continue;
    wrong.push(`the ${register} is ${value}, not what the last answered write made it`);
  }
  return wrong;
}

async function findAcceptedCredentials(load: Load): Promise<string[]> {
  const keys = factsOf(load, 'ApiKey');
  const revoked = keys.filter(({ revokedAt }) => revokedAt != null);
  const secrets = revoked.flatMap(({ id }) => keys.find((fact) => fact.id === id && fact.key)?.key ?? []);
  const subjects = factsOf(load, 'TokenRevocation').flatMap(({ subject }) => subject ?? []);
  const credentials = new Map<string, Caller>([
    ...secrets.map((token) => [`API key ${token}`, { ...person('admin'), token }] as const),
    ...subjects.map((subject) => [`token of ${subject}`, { role: 'buyer', subject }] as const),
  ]);
  const giveUpAt = Date.now() + REVOKED_WITHIN_MS;
  const accepted: string[] = [];
  for (const [name, caller] of credentials) {
    let isWrong = await isAccepted(load.api, caller);
    while (isWrong && Date.now() < giveUpAt) {
      await delay(POLL_MS);
      isWrong = await isAccepted(load.api, caller);
    }
    if (isWrong) accepted.push(`the revoked ${name} is accepted`);
  }
  return accepted;
}

async function isAccepted(api: Api, caller: Caller): Promise<boolean> {
  const reply = await api.untilAnswered('{ viewer { subject } }', {}, caller);
  return !(reply && 'refused' in reply && reply.refused.startsWith('UNAUTHENTICATED'));
}

async function findWrongRows(lab: Lab): Promise<string[]> {
  const sql = lab.sql();
  try {
    const rows = await sql<{ what: string }[]>`
      SELECT format('receipts of %s kg %s exceed each cap that was ever set', sum(quantity_kg), commodity_type) AS what
        FROM receipts WHERE warehouse_id = ${CAPPED_WAREHOUSE.subject} AND state NOT IN ('REFUSED', 'EXPIRED')
        GROUP BY commodity_type HAVING sum(quantity_kg) > ${HIGHEST_CAP_KG}
      UNION ALL
      SELECT format('the request %s is %s and ran %s times', a.id, a.state, count(r.id))
        FROM approval_requests a LEFT JOIN receipts r ON r.harvest_season = a.input->>'harvestSeason'
        GROUP BY a.id HAVING count(r.id) <> CASE a.state WHEN 'APPROVED' THEN 1 ELSE 0 END
      UNION ALL
      SELECT format('%s acts of a holder deposited for the session %s', count(*), off_ramp_session_id)
        FROM holder_acts JOIN submissions s ON s.id = submission_id
        WHERE s.kind = 'depositOffRamp' AND s.state = 'SUCCEEDED'
        GROUP BY off_ramp_session_id HAVING count(*) > 1`;
    return rows.map(({ what }) => what);
  } finally {
    await sql.end();
  }
}
