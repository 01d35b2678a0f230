/**
 * Deliveries to the webhooks that no indexer and no provider sends: too large, truncated, in another format
 * or forged, some of them signed with the real secret. Each must get the usual answer and change nothing: its
 * claims would show in the feed, in a session or in `reconcile`.
 */
import { CALLBACK_SIGNATURE_HEADER } from '../src/ramp/http/httpProvider.ts';
import { HOOK_PATHS } from '../src/lib/hookUrls.ts';
import { signBody } from '../src/lib/signature.ts';
import { FOREIGN_SECRET } from './known.ts';
import type { Lab } from './lab.ts';
import type { ServerSlot } from './servers.ts';

/** Larger than the size that a hook reads, with and without a declared length. */
const OVERSIZED_BYTES = 300 * 1024;
/** A frozen server, or a connection that fell silent, gives no answer. */
const ANSWER_TIMEOUT_MS = 5_000;
const INVENTED_INDEX = 999_999;

type Hook = keyof typeof HOOK_PATHS;

interface Delivery {
  hook: Hook;
  what: string;
  body: Buffer<ArrayBuffer>;
  signature: string | null;
  isChunked?: boolean;
}

/** @returns the number of answered deliveries; the laboratory records each wrong answer */
export async function sendBadDeliveries(lab: Lab, slot: ServerSlot): Promise<string> {
  const deliveries = [...retirementDeliveries(await retirementSecrets(lab)), ...payoutDeliveries(lab)];
  let answered = 0;
  for (const delivery of deliveries) {
    const answer = await send(slot, delivery);
    if (answer === null) continue;
    answered += 1;
    if (answer !== '200 ""') {
      lab.broken.push(`${slot.name} answered ${answer} to a delivery to ${delivery.hook}: ${delivery.what}`);
    }
  }
  return `${slot.name} answered ${answered} of ${deliveries.length}`;
}

/** The id of an open payout makes the body a hint; the platform believes nothing else in it. */
function payoutDeliveries({ ramp, callbackSecret }: Lab): Delivery[] {
  const [sessionId = 'none'] = ramp.payouts.keys();
  const callback = JSON.stringify({ event: 'payout.updated', sessionId });
  return [
    ...malformed('payoutSettled', [callbackSecret], callback),
    signed('payoutSettled', 'forged', callback, FOREIGN_SECRET),
    { hook: 'payoutSettled', what: 'unsigned', body: Buffer.from(callback), signature: null },
  ];
}

function retirementDeliveries(secrets: readonly string[]): Delivery[] {
  const invented = JSON.stringify({
    eventType: 'CreditsRetired',
    data: { beneficiary: 'invented', retirementIndex: INVENTED_INDEX, txHash: 'invented' },
  });
  return [
    ...malformed('retirements', secrets, invented),
    signed('retirements', 'forged', invented, FOREIGN_SECRET),
    { hook: 'retirements', what: 'unsigned', body: Buffer.from(invented), signature: null },
    ...secrets.map((secret) => signed('retirements', 'of a record that is not there', invented, secret)),
  ];
}

function malformed(hook: Hook, secrets: readonly string[], whole: string): Delivery[] {
  const padding = 'x'.repeat(OVERSIZED_BYTES);
  const bodies: [what: string, body: string | Buffer<ArrayBuffer>][] = [
    ['empty', ''],
    ['cut off', whole.slice(0, -2)],
    ['no object', '[null]'],
    ['of other types', '{"event":{"$ne":1},"sessionId":{"$ne":null},"data":[]}'],
    ['no text', Buffer.alloc(64, 0xff)],
    ['deeply nested', '['.repeat(50_000)],
    ['too large', whole.replace('{', `{"padding":"${padding}",`)],
  ];
  return (secrets.length > 0 ? secrets : [FOREIGN_SECRET]).flatMap((secret) => [
    ...bodies.map(([what, body]) => signed(hook, what, body, secret)),
    { ...signed(hook, 'too large, without a length', padding, secret), isChunked: true },
  ]);
}

function signed(hook: Hook, what: string, body: string | Buffer<ArrayBuffer>, secret: string): Delivery {
  const bytes = Buffer.from(body);
  return { hook, what, body: bytes, signature: signBody(secret, bytes) };
}

/** Null without an answer: the server may be down, or it closed the connection when it had read enough. */
async function send(
  slot: ServerSlot,
  { hook, body, signature, isChunked }: Delivery,
): Promise<string | null> {
  const names =
    hook === 'retirements' ? ['x-service-signature', 'x-ankara-signature'] : [CALLBACK_SIGNATURE_HEADER];
  try {
    const response = await fetch(`${slot.url}${HOOK_PATHS[hook]}`, {
      method: 'POST',
      headers: Object.fromEntries(names.map((name) => [name, signature ?? ''])),
      body: isChunked ? new Blob([body]).stream() : body,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      ...(isChunked && { duplex: 'half' }),
    });
    return `${response.status} ${JSON.stringify(await response.text())}`;
  } catch {
    return null;
  }
}

/** The embedded indexer's secret; none while the database does not answer. Another indexer keeps its own. */
async function retirementSecrets({ network, sql }: Lab): Promise<string[]> {
  if (network !== 'embedded') return [];
  const connection = sql();
  try {
    const rows = await connection<{ secret: string }[]>`SELECT secret FROM embedded_network.webhooks LIMIT 1`;
    return rows.map(({ secret }) => secret);
  } catch {
    return [];
  } finally {
    await connection.end({ timeout: 1 });
  }
}
