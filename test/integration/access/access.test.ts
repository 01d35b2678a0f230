/**
 * Access rights: every field of the contract with every role, with every kind of bad credential, and with ids
 * of other subjects.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import type { GraphQLArgument, GraphQLField, GraphQLInputField } from 'graphql';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../../src/identity/roles.ts';
import { schema } from '../../../src/schema/index.ts';
import type { AccessRule, Belongings } from '../../support/http/accessTable.ts';
import { testLimits } from '../../support/http/httpServer.ts';
import { makeBelongings, MUTATIONS, OWNER, QUERIES, SUBSCRIPTIONS } from '../../support/http/accessTable.ts';
import { askOver, codesOf, TRANSPORTS, type Transport } from '../../support/http/askOver.ts';
import { startMarketplace, tokenOf, type Marketplace } from '../../support/http/marketplace.ts';

const limits = testLimits();
// The limit is raised because every field is tried with every bad credential.
const patient = { ...limits, RATE_LIMIT_REFUSED_CREDENTIALS_PER_MINUTE: 100_000 };

const RULES: [string, AccessRule, Transport[]][] = [
  ...Object.entries({ ...QUERIES, ...MUTATIONS }).map(([name, rule]): [string, AccessRule, Transport[]] => [
    name,
    rule,
    [...TRANSPORTS],
  ]),
  // Plain HTTP can't answer more than once.
  ...Object.entries(SUBSCRIPTIONS).map(([name, rule]): [string, AccessRule, Transport[]] => [
    name,
    rule,
    ['sse', 'websocket'],
  ]),
];

const rsa = generateKeyPair('RS256', { extractable: true });
/** Keys of a foreign signer, made once because a pair of RSA keys takes 100 ms of computing. */
const foreignRsa = generateKeyPair('RS256');
const identityProvider = createServer((_request, response) => {
  void (async () => {
    const key = await exportJWK((await rsa).publicKey);
    response.end(JSON.stringify({ keys: [{ ...key, kid: 'one', alg: 'RS256', use: 'sig' }] }));
  })();
});

/** Error codes for callers with the right, when the table asks for a row that is missing or removed. */
const ANSWERS = ['NOT_FOUND', 'CONFLICT', 'INSUFFICIENT_BALANCE', 'INDEXER_UNAVAILABLE'];

let market: Marketplace;
/** The same platform with tokens of an identity provider. */
let federated: Marketplace;
let own: Belongings;
/**
 * Signed once, because an RSA signature takes a millisecond and the tests ask every field with each of them.
 */
let credentials: Credentials;

beforeAll(async () => {
  await new Promise<void>((resolve) => identityProvider.listen(0, '127.0.0.1', resolve));
  const { port } = identityProvider.address() as AddressInfo;
  market = await startMarketplace({ limits: patient });
  federated = await startMarketplace({
    database: market.database,
    withIndexer: false,
    limits: patient,
    auth: { jwksUrl: `http://127.0.0.1:${port}/keys`, issuer: 'tests', audience: 'tests' },
  });
  own = await makeBelongings(market);
  credentials = await makeCredentials();
});
afterAll(async () => {
  await federated.stop();
  await market.stop();
  identityProvider.close();
});

function ask(rule: AccessRule, bearer: string | null, transport: Transport, url = market.url) {
  return askOver(transport, url, { query: rule.query, variables: rule.variables?.(own), bearer });
}

/** Longer than all cases take together, also on a busy machine: they share their tokens. */
const TOKEN_LIFETIME_SECONDS = 3_000;

function claims(overrides: Record<string, unknown> = {}) {
  const now = Math.floor(Date.now() / 1000);
  const exp = now + TOKEN_LIFETIME_SECONDS;
  return { sub: OWNER, roles: ROLES, iss: 'tests', aud: 'tests', iat: now, exp, ...overrides };
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function signedBySecret(secret: string, overrides: Record<string, unknown> = {}) {
  return new SignJWT(claims(overrides))
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(secret));
}

interface Credentials {
  /** A token of the identity provider. */
  good: string;
  /** The defect of each token, and the server that gets it. */
  bad: [how: string, url: string, bearer: string][];
}

async function makeCredentials(): Promise<Credentials> {
  const { publicKey, privateKey } = await rsa;
  const rs256 = (key: typeof privateKey) =>
    new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key);
  const good = await rs256(privateKey);
  return {
    good,
    bad: [
      ['expired', market.url, await tokenOf({ role: 'admin', subject: OWNER }, { expiresInSeconds: -60 })],
      ['wrong key', market.url, await signedBySecret('another secret, as long as the right one')],
      ['alg none', market.url, `${base64url({ alg: 'none' })}.${base64url(claims())}.`],
      ['RS256 where a secret is', market.url, good],
      ['HS256 by the public key', federated.url, await signedBySecret(await exportSPKI(publicKey))],
      [
        'HS256 by the JWK',
        federated.url,
        await signedBySecret(JSON.stringify({ ...(await exportJWK(publicKey)), kid: 'one' })),
      ],
      ['alg none', federated.url, `${base64url({ alg: 'none', kid: 'one' })}.${base64url(claims())}.`],
      ['another key of the same name', federated.url, await rs256((await foreignRsa).privateKey)],
      ['not an API key', market.url, `atm_${'0'.repeat(32)}_${'x'.repeat(43)}`],
    ],
  };
}

describe('the table', () => {
  it('has every field of the contract', () => {
    const inSchema = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].map(
      (type) => Object.keys(type?.getFields() ?? {}).sort((a, b) => a.localeCompare(b)),
    );
    const inTable = [QUERIES, MUTATIONS, SUBSCRIPTIONS].map((rules) =>
      Object.keys(rules).sort((a, b) => a.localeCompare(b)),
    );
    expect(inTable).toEqual(inSchema);
  });
});

describe.each(RULES.map(([name, rule, transports], place) => ({ name, rule, transports, place })))(
  '$name',
  ({ rule, transports, place }) => {
    const mayUse = (role: Role) => rule.who === null || role === 'admin' || rule.who.includes(role);

    it('lets in who may, and refuses the other roles', async () => {
      for (const role of ROLES) {
        const codes = codesOf(
          await ask(rule, await tokenOf({ role, subject: OWNER }), transports[0] ?? 'http'),
        );
        if (mayUse(role))
          for (const code of codes) expect([role, ANSWERS]).toEqual([role, expect.arrayContaining([code])]);
        else expect([role, codes]).toEqual([role, ['FORBIDDEN']]);
      }
    });

    it('without a token gives the public what is public', async () => {
      for (const over of transports) {
        const { errors } = await ask(rule, null, over);
        const codes = errors.map(({ extensions }) => extensions.code);
        expect([over, codes]).toEqual([over, rule.who === null ? [] : ['UNAUTHENTICATED']]);
      }
    });

    it('lets in with a token of the identity provider', async () => {
      for (const over of transports) {
        const reply = await ask(rule, credentials.good, over, federated.url);
        for (const code of codesOf(reply))
          expect([over, ANSWERS]).toEqual([over, expect.arrayContaining([code])]);
      }
    });

    it('takes no bad credential for better than none', async () => {
      // Each credential meets each field; the transports alternate.
      const requests = transports.filter((transport) => transport !== 'websocket');
      for (const [i, [how, url, bearer]] of credentials.bad.entries()) {
        const over = requests[(place + i) % requests.length] ?? 'sse';
        const reply = await ask(rule, bearer, over, url);
        expect([how, reply.status, codesOf(reply), reply.data]).toEqual([
          how,
          401,
          ['UNAUTHENTICATED'],
          null,
        ]);
      }
    });
  },
);

describe('a websocket', () => {
  it('is closed for a bad credential before it can ask for any field', async () => {
    for (const [how, url, bearer] of credentials.bad) {
      const reply = await askOver('websocket', url, { query: '{ viewer { subject } }', bearer });
      expect([how, reply.closeCode, reply.text]).toEqual([how, 4403, '']);
    }
  });
});

describe('a malformed global id', () => {
  const inputs = globalIdInputs();

  it('can stand in every kind of place', () => {
    expect(inputs.map(({ place }) => place)).toEqual(
      expect.arrayContaining([
        'Query.node id',
        'Query.auditEntries filter.apiKeyIds.0',
        'Mutation.submitSigned input.holderActId',
        'Subscription.projectUpdated id',
      ]),
    );
    // The tests below try only arguments of root fields.
    expect(inputs.filter(({ place }) => !/^(Query|Mutation|Subscription)\./.test(place))).toEqual([]);
  });

  it.each(inputs)(
    'at $place is reported with that path, and its neighbours are answered',
    async ({ root, field, path }) => {
      const rule = { ...QUERIES, ...MUTATIONS, ...SUBSCRIPTIONS }[field.name];
      const usual = root === 'Mutation' ? rule?.variables?.(own) : {};
      const variables = withValueAt({ ...neededBy(field), ...usual }, path, 'malformed');
      const args = field.args.filter(({ name }) => name in variables);
      const query = `${root.toLowerCase()} (${args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ')}) {
      ${field.name}(${args.map(({ name }) => `${name}: $${name}`).join(', ')}) { __typename }
      ${root === 'Query' ? 'viewer { subject }' : ''} }`;
      const bearer = await tokenOf({ role: 'admin', subject: OWNER });
      for (const transport of root === 'Subscription' ? (['sse', 'websocket'] as const) : TRANSPORTS) {
        const reply = await askOver(transport, market.url, { query, variables, bearer });
        expect(reply.errors).toMatchObject([
          { path: [field.name], extensions: { code: 'BAD_USER_INPUT', field: path } },
        ]);
        if (root === 'Query') expect(reply.data).toEqual({ [field.name]: null, viewer: { subject: OWNER } });
      }
    },
  );
});

interface IdInput {
  place: string;
  root: string;
  field: GraphQLField<unknown, unknown>;
  /** The path as in `extensions.field`; for a list, its first item. */
  path: string;
}

/** Every argument and member of an input, of every field of the contract, that is an ID. */
function globalIdInputs(): IdInput[] {
  const pathsOf = (prefix: string, { name, type }: GraphQLArgument | GraphQLInputField): string[] => {
    const path = `${prefix}${name}${isListType(type) ? '.0' : ''}`;
    const named = getNamedType(type);
    if (isInputObjectType(named)) {
      return Object.values(named.getFields()).flatMap((member) => pathsOf(`${path}.`, member));
    }
    return named.name === 'ID' ? [path] : [];
  };
  return Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) => Object.values(type.getFields()).map((field) => ({ root: type.name, field })))
    .flatMap(({ root, field }) =>
      field.args
        .flatMap((arg) => pathsOf('', arg))
        .map((path) => ({ place: `${root}.${field.name} ${path}`, root, field, path })),
    );
}

/** Required arguments of the field that are not ids. */
function neededBy(field: GraphQLField<unknown, unknown>): Record<string, unknown> {
  const enums = field.args
    .filter(isRequiredArgument)
    .map(({ name, type }) => [name, getNamedType(type)] as const);
  return Object.fromEntries(
    enums.flatMap(([name, type]) => (isEnumType(type) ? [[name, type.getValues()[0]?.name]] : [])),
  );
}

/** Returns a copy with the value at the path. Missing objects and lists on the path are created. */
function withValueAt(target: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const [name = '', ...rest] = path.split('.');
  if (rest.length === 0) return { ...target, [name]: value };
  if (rest[0] === '0') return { ...target, [name]: [value] };
  return {
    ...target,
    [name]: withValueAt((target[name] ?? {}) as Record<string, unknown>, rest.join('.'), value),
  };
}

describe("another subject's", () => {
  const node = 'query ($id: ID!) { node(id: $id) { id } }';
  const cases: [string, Role, () => { query: string; variables?: Record<string, unknown> }, unknown][] = [
    ['account', 'buyer', () => tableQuestion('buyerAccount'), 'FORBIDDEN'],
    ['retirement', 'buyer', () => tableQuestion('retirement'), null],
    ['retirement, by its node', 'buyer', () => ({ query: node, variables: { id: own.retirementId } }), null],
    ['purchase, by its node', 'buyer', () => ({ query: node, variables: { id: own.purchaseId } }), null],
    [
      'retirements, by a filter',
      'buyer',
      () => ({
        query: `{ retirements(first: 1, filter: { buyerIds: ["${OWNER}"] }) { edges { node { id } } } }`,
      }),
      'FORBIDDEN',
    ],
    ['credits, to buy for', 'buyer', () => tableQuestion('purchase'), 'FORBIDDEN'],
    ['credits, to retire', 'buyer', () => tableQuestion('retire'), 'FORBIDDEN'],
    ['receipt', 'farmer', () => tableQuestion('receipt'), null],
    ['receipt, by its node', 'farmer', () => ({ query: node, variables: { id: own.receiptId } }), null],
    ['receipt, to cash out', 'farmer', () => tableQuestion('cashOut'), 'NOT_FOUND'],
    ['session', 'farmer', () => tableQuestion('offRampSession'), null],
    [
      'session, by its node',
      'farmer',
      () => ({ query: node, variables: { id: own.offRampSessionId } }),
      null,
    ],
    ['act to sign', 'farmer', () => ({ query: node, variables: { id: own.holderActId } }), null],
    // A caller with neither the farmer's name nor the role.
    ['act to sign', 'buyer', () => ({ query: node, variables: { id: own.holderActId } }), null],
    ...(['farmer', 'buyer'] as const).map((role): (typeof cases)[number] => [
      'act, to submit',
      role,
      () => ({
        ...tableQuestion('submitSigned'),
        variables: { input: { holderActId: own.holderActId, signed: 'AAAA' } },
      }),
      'NOT_FOUND',
    ]),
    [
      'receipt, to cash out by a signature',
      'farmer',
      () => tableQuestion('prepareCashOutDeposit'),
      'NOT_FOUND',
    ],
    ['receipt', 'warehouse', () => tableQuestion('receipt'), null],
    ['receipt', 'lender', () => tableQuestion('receipt'), null],
    ['receipt, by its node', 'lender', () => ({ query: node, variables: { id: own.receiptId } }), null],
    ['receipt, by its node', 'warehouse', () => ({ query: node, variables: { id: own.receiptId } }), null],
    ['warehouse, to deposit in', 'warehouse', () => tableQuestion('createDeposit'), 'FORBIDDEN'],
    // A caller with neither the farmer's name nor the role.
    ['session', 'warehouse', () => tableQuestion('offRampSession'), 'FORBIDDEN'],
  ];

  function tableQuestion(name: string) {
    const rule = { ...QUERIES, ...MUTATIONS }[name];
    if (rule === undefined) throw new Error(`no field ${name} in the table`);
    return { query: rule.query, variables: rule.variables?.(own) };
  }

  it.each(cases)('%s is not for another %s', async (_what, role, question, expected) => {
    const bearer = await tokenOf({ role, subject: 'mallory' });
    for (const transport of TRANSPORTS) {
      const reply = await askOver(transport, market.url, { ...question(), bearer });
      if (expected === null) expect([Object.values(reply.data ?? {}), reply.errors]).toEqual([[null], []]);
      else expect(codesOf(reply)).toEqual([expected]);
    }
  });

  it.each([
    ['buyer', 'retirements'],
    ['farmer', 'receipts'],
    ['warehouse', 'receipts'],
    ['farmer', 'offRampSessions'],
  ] as const)('is in no list that another %s reads: %s', async (role, list) => {
    const query = `{ ${list}(first: 100) { edges { node { id } } } }`;
    const read = async (subject: string) => {
      const reply = await askOver('http', market.url, { query, bearer: await tokenOf({ role, subject }) });
      return (reply.data as Record<string, { edges: unknown[] }>)[list]?.edges.length;
    };
    expect(await read(OWNER)).toBeGreaterThan(0);
    expect(await read('mallory')).toBe(0);
  });
});
