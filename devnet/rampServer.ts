/**
 * A double of a ramp provider's HTTP interface, on a real socket: payouts by client reference, signed
 * callbacks, and faults on demand.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { CALLBACK_SIGNATURE_HEADER } from '../src/ramp/http/httpProvider.ts';
import { signBody } from '../src/lib/signature.ts';
import type { RampStatus } from '../src/ramp/port.ts';
import { listenLocally, type LocalServer } from './listenLocally.ts';

interface ServedPayout {
  id: string;
  clientReference: string;
  status: RampStatus;
  /** The request that created the payout. */
  request: Record<string, unknown>;
  fiatCurrency?: unknown;
  fiatAmount?: unknown;
}

/** The faults of the next answers. */
type Misbehaviour =
  | 'hang'
  | 'hang-after-effect'
  | 'server-error'
  | 'bad-key'
  | 'refuse'
  | 'endless'
  | 'not-json'
  | 'wrong-form'
  | 'other-reference'
  | 'other-payout'
  | 'zero-amount'
  | 'zero-rate';

/** The wrong fields in the answer. */
const WRONG_FIELDS: Partial<Record<Misbehaviour, object>> = {
  'other-reference': { clientReference: 'x' },
  'other-payout': { id: 'another' },
  'zero-amount': { fiatAmount: '0.00' },
  'zero-rate': { exchangeRate: '0' },
};

export interface RampServer extends LocalServer {
  payouts: Map<string, ServedPayout>;
  requests: { method: string; path: string; authorization: string | undefined; body: Body }[];
  /** Null for normal answers. */
  misbehave(how: Misbehaviour | null): void;
  /** Sends a payout's callback, signed with `secret`. */
  callBack(webhookUrl: string, sessionId: string, secret: string): Promise<number>;
}

/** A callback that is not accepted in this time is lost, as with real providers. */
const CALLBACK_TIMEOUT_MS = 10_000;

export const RAMP_API_KEY = 'key of the tests';

interface RampServerOptions {
  /** Whether payouts show the amount paid out, as good providers' do. */
  returnsAmounts?: boolean;
}

export async function startRampServer({
  returnsAmounts = false,
}: RampServerOptions = {}): Promise<RampServer> {
  const payouts = new Map<string, ServedPayout>();
  const requests: RampServer['requests'] = [];
  let misbehaviour: Misbehaviour | null = null;

  const server = createServer((request, response) => {
    void serve(request, response);
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://stand-in');
    const { method = 'GET', headers } = request;
    const body = JSON.parse((await text(request)) || '{}') as Body;
    requests.push({
      method,
      path: url.pathname + url.search,
      authorization: headers.authorization,
      body,
    });
    const answer = (status: number, value: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const how = misbehaviour;
    if (how !== null && misbehaveAtOnce(how, { response, body, answer })) return;

    const [status, value] = route(payouts, { method, url, body, returnsAmounts });
    if (how === 'hang-after-effect') return;
    answer(status, how === null ? value : { ...(value as object), ...WRONG_FIELDS[how] });
  }

  return {
    ...(await listenLocally(server)),
    payouts,
    requests,
    misbehave(how) {
      misbehaviour = how;
    },
    async callBack(webhookUrl, sessionId, secret) {
      const body = Buffer.from(JSON.stringify({ event: 'payout.updated', sessionId }));
      const response = await fetch(webhookUrl, {
        method: 'POST',
        headers: { [CALLBACK_SIGNATURE_HEADER]: signBody(secret, body) },
        body,
        signal: AbortSignal.timeout(CALLBACK_TIMEOUT_MS),
      });
      return response.status;
    },
  };
}

type Body = Record<string, unknown>;
type Payouts = Map<string, ServedPayout>;

interface Asked {
  method: string;
  url: URL;
  body: Body;
  returnsAmounts: boolean;
}

/** Applies the faults that act before the request does. @returns whether this was one of them */
function misbehaveAtOnce(
  how: Misbehaviour,
  to: { response: ServerResponse; body: Body; answer: (status: number, value: unknown) => void },
): boolean {
  const { response, body, answer } = to;
  switch (how) {
    case 'hang':
      break;
    case 'server-error':
      answer(503, { error: 'down' });
      break;
    case 'bad-key':
      answer(401, { code: 'bad_key' });
      break;
    case 'refuse':
      answer(422, {
        code: 'account_blocked',
        message: `account ${JSON.stringify(body['payoutAccount'])} is blocked`,
      });
      break;
    case 'endless':
      endless(response);
      break;
    case 'not-json':
      response.writeHead(200).end(`<html>${JSON.stringify(body)}</html>`);
      break;
    case 'wrong-form':
      answer(200, { id: 7, status: 'SETTLED' });
      break;
    case 'hang-after-effect':
    case 'other-reference':
    case 'other-payout':
    case 'zero-amount':
    case 'zero-rate':
      return false;
    default:
      how satisfies never;
  }
  return true;
}

function route(payouts: Payouts, { method, url, body, returnsAmounts }: Asked): [number, unknown] {
  const [, resource, id, action] = url.pathname.split('/');
  if (method === 'POST' && resource === 'quotes') return [200, quoteFor(body)];
  if (method === 'POST' && id === undefined) return create(payouts, body, returnsAmounts);
  if (method === 'GET' && id === undefined) {
    const reference = url.searchParams.get('clientReference');
    return [200, { payouts: [...payouts.values()].filter((p) => p.clientReference === reference) }];
  }
  const payout = payouts.get(id ?? '');
  if (!payout) return [404, { code: 'not_found' }];
  if (action !== 'cancel') return [200, payout];
  if (payout.status === 'settled') return [409, { code: 'already_paid' }];
  payout.status = 'failed';
  return [200, payout];
}

function create(payouts: Payouts, body: Body, returnsAmounts: boolean): [number, unknown] {
  const clientReference = String(body['clientReference']);
  const known = [...payouts.values()].find((payout) => payout.clientReference === clientReference);
  if (known) return [409, { code: 'duplicate_reference' }];
  const { fiatCurrency, fiatAmount } = body;
  const payout: ServedPayout = {
    id: randomUUID(),
    clientReference,
    status: 'pending',
    request: body,
    ...(returnsAmounts && { fiatCurrency, fiatAmount }),
  };
  payouts.set(payout.id, payout);
  return [201, payout];
}

function quoteFor(body: Body): unknown {
  return {
    ...body,
    fiatAmount: '4925.00',
    fiatFee: '75.00',
    // Banks take the same fee for each payout, which has no rate.
    ...(body['payoutAccountType'] !== 'bank' && { feeBps: 150 }),
    exchangeRate: '0.02',
    expiresAt: new Date(Date.now() + 600_000).toISOString(),
  };
}

/** Writes until the reader closes. */
function endless(response: ServerResponse): void {
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write('"'.repeat(16_384)));
  };
  response.on('drain', more);
  more();
}
