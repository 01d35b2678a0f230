/**
 * Rules for every part of the contract. The tests walk the schema, so a new part can't miss a rule.
 */
import { readFile } from 'node:fs/promises';
import type { GraphQLField, GraphQLOutputType } from 'graphql';
import {
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  lexicographicSortSchema,
  printSchema,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { NODE_TYPES } from '../../../src/schema/core/globalIds.ts';
import { ownersOf } from '../../../src/schema/core/ownedBy.ts';
import { schema } from '../../../src/schema/index.ts';

type Field = GraphQLField<unknown, unknown>;

const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type));
const builtIn = new Set(['String', 'Int', 'Float', 'Boolean', 'ID']);

const rootFields = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()].flatMap(
  (root) =>
    Object.values(root?.getFields() ?? {}).map((field): [string, Field] => [
      `${root?.name}.${field.name}`,
      field,
    ]),
);

/** Every place that needs a description, and the description there. */
function describedPlaces(): [string, string | null | undefined][] {
  return types
    .filter((type) => !builtIn.has(type.name))
    .flatMap((type): [string, string | null | undefined][] => {
      const self: [string, string | null | undefined] = [type.name, type.description];
      if (isEnumType(type)) {
        return [
          self,
          ...type
            .getValues()
            .map((value): [string, string | null | undefined] => [
              `${type.name}.${value.name}`,
              value.description,
            ]),
        ];
      }
      if (isInputObjectType(type)) {
        return [
          self,
          ...Object.values(type.getFields()).map((field): [string, string | null | undefined] => [
            `${type.name}.${field.name}`,
            field.description,
          ]),
        ];
      }
      if (!isObjectType(type) && !isInterfaceType(type)) return [self];
      return [
        self,
        ...Object.values(type.getFields()).flatMap((field): [string, string | null | undefined][] => [
          [`${type.name}.${field.name}`, field.description],
          ...field.args.map((arg): [string, string | null | undefined] => [
            `${type.name}.${field.name}(${arg.name})`,
            arg.description,
          ]),
        ]),
      ];
    });
}

function declaredScopes(field: Field): unknown {
  const options = field.extensions['pothosOptions'] as { authScopes?: unknown } | undefined;
  return options?.authScopes;
}

describe('the contract', () => {
  it('is the committed schema.graphql', async () => {
    const committed = await readFile(new URL('../../../schema.graphql', import.meta.url), 'utf8');
    expect(committed).toBe(`${printSchema(lexicographicSortSchema(schema))}\n`);
  });

  it.each(rootFields)('%s declares who may use it, and says so', (_name, field) => {
    expect(declaredScopes(field)).toBeDefined();
    expect(field.description).toMatch(/\n\n(Public: needs no token|Needs a token with role )/);
  });

  it.each(rootFields.filter(([name]) => !name.startsWith('Subscription.')))(
    '%s is null when it fails, and leaves its neighbours their answers',
    (_name, field) => {
      expect(isNonNullType(field.type)).toBe(false);
    },
  );

  it('has retirement records that show everyone the same: their JSON is kept for all callers', () => {
    const record = schema.getType('RetirementRecord');
    const fields = isObjectType(record) ? Object.values(record.getFields()) : [];
    expect(fields.length).toBeGreaterThan(5);
    for (const field of fields) expect(declaredScopes(field), field.name).toBeUndefined();
  });

  it('has mutations that take one input and answer with a payload', () => {
    // These mutations have nothing to describe.
    const withoutInput = new Set(['expireReceipts', 'watchRetirements']);
    for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
      const form = field.args.map(({ name, type }) => `${name}: ${String(type)}`);
      const name = `${field.name.charAt(0).toUpperCase()}${field.name.slice(1)}`;
      expect(form, field.name).toEqual(withoutInput.has(field.name) ? [] : [`input: ${name}Input!`]);
      expect(String(field.type)).toBe(`${name}Payload`);
    }
  });

  it('describes every type, field, argument and value', () => {
    const places = describedPlaces();
    expect(places.length).toBeGreaterThan(100);
    const silent = places.filter(([, description]) => !description || !/[.:)…]$/.test(description.trim()));
    expect(silent.map(([place]) => place)).toEqual([]);
  });

  it.each([
    ['RetireInput', 'buyerName'],
    ['RetireInput', 'note'],
    ['PrepareRetirementInput', 'beneficiary'],
    ['PrepareRetirementInput', 'note'],
  ])('says what is refused in and made of the text %s.%s, which is on the public record', (type, field) => {
    const input = schema.getType(type);
    const { description } = (isInputObjectType(input) && input.getFields()[field]) || {};
    expect(description).toMatch(
      /bytes of UTF-8, without control, bidirectional, invisible or unassigned characters.* Stored in NFC/,
    );
  });

  it('states the limit of every text in the input of a mutation', () => {
    // The client has these texts from this API, or they are the client's own subject.
    const known = new Set([
      'buyerId',
      'fromBuyerId',
      'reviewVersion',
      'sessionId',
      'signingHaltVersion',
      'ReleasePledgeInput.loanReference',
    ]);
    const silent = types.filter(isInputObjectType).flatMap((input) =>
      input.name.endsWith('Filter')
        ? []
        : Object.values(input.getFields())
            .filter(({ name, type }) => getNamedType(type).name === 'String' && !known.has(name))
            .filter(({ name }) => !known.has(`${input.name}.${name}`))
            .filter(
              ({ description }) =>
                !/\d+ (bytes|(printable ASCII )?characters|letters)|form of a subject/.test(
                  `${description} ${input.description}`,
                ),
            )
            .map(({ name }) => `${input.name}.${name}`),
    );
    expect(silent).toEqual([]);
  });

  it('refuses every text without a limit or with a NUL, and every list of more than 100 of them', () => {
    // Compared with what this API gave out, or looked up among a few names; neither is stored.
    const compared = ['reviewVersion', 'signingHaltVersion', 'log', 'after', 'before'];
    const taken = types
      .flatMap((type) =>
        isInputObjectType(type)
          ? Object.values(type.getFields()).map((field) => [`${type.name}.${field.name}`, field] as const)
          : isObjectType(type)
            ? Object.values(type.getFields()).flatMap(({ name, args }) =>
                args.map((arg) => [`${type.name}.${name}(${arg.name})`, arg] as const),
              )
            : [],
      )
      .filter(([, { name }]) => !compared.includes(name))
      .flatMap(([place, { type, extensions }]) => {
        const { validate } = extensions['pothosOptions'] as { validate?: { schema: z.ZodType } };
        const isText = getNamedType(type).name === 'String';
        const isList = isListType(isNonNullType(type) ? type.ofType : type);
        const bad = [
          ...(isText ? ['x'.repeat(40_000), 'x\0'].map((text) => (isList ? [text] : text)) : []),
          ...(isList && !isEnumType(getNamedType(type)) ? [Array(101).fill('x')] : []),
        ];
        return bad.filter((value) => validate?.schema.safeParse(value).success ?? true).map(() => place);
      });
    expect(taken).toEqual([]);
  });

  it('names the unit of every amount and time', () => {
    const units = {
      Tonnes: /tonnes/,
      Kilograms: /kilograms/,
      UsDollars: /US dollars/,
      BaseUnits: /base units/,
      UnixTime: /Unix seconds/,
    } as const;
    const missing = types.flatMap((type) =>
      isObjectType(type) || isInputObjectType(type)
        ? Object.values(type.getFields())
            .filter((field) => {
              const { name } = getNamedType(field.type as GraphQLOutputType);
              const unit = units[name as keyof typeof units];
              return unit !== undefined && !unit.test(field.description ?? '');
            })
            .map((field) => `${type.name}.${field.name}`)
        : [],
    );
    expect(missing).toEqual([]);
  });

  it('says of every scalar where it is specified', async () => {
    const guide = await readFile(new URL('../../../docs/clients.md', import.meta.url), 'utf8');
    const headings = new Set([...guide.matchAll(/^#+ (.+)$/gm)].map(([, title]) => title?.toLowerCase()));
    const own = types.filter((type) => isScalarType(type) && !builtIn.has(type.name));
    expect(own.length).toBeGreaterThan(10);
    for (const type of own) {
      const url = isScalarType(type) ? type.specifiedByURL : null;
      // A client knows only the address of the server, so a path would lead nowhere.
      if (url) expect(new URL(url).protocol, type.name).toBe('https:');
      else expect(headings, type.name).toContain(type.name.toLowerCase());
    }
  });

  it('says of everything with an id whose it is, for the entries about what operators read', () => {
    const ofThePlatform = [
      'ApiKey',
      'AuditEntry',
      'ExpiryRun',
      'Project',
      'RetirementRecord',
      'Submission',
      'TokenRevocation',
    ];
    const node = schema.getType('Node');
    const withId = isInterfaceType(node) ? schema.getPossibleTypes(node) : [];
    const unowned = withId.filter((type) => ownersOf(type) === undefined).map(({ name }) => name);
    expect(new Set(unowned)).toEqual(new Set(ofThePlatform));
  });

  it('gives every list pages of at most 100, their items, and their number', () => {
    const lists = types.filter((type) => isObjectType(type) && type.name.endsWith('Connection'));
    expect(lists.length).toBeGreaterThan(8);
    for (const list of lists) {
      const fields = isObjectType(list) ? Object.keys(list.getFields()) : [];
      expect(new Set(fields), list.name).toEqual(new Set(['edges', 'nodes', 'pageInfo', 'totalCount']));
    }
  });

  it('names an object by its type: what a mutation answers with, and the id that an input takes', () => {
    const nodes = new Set<string>(NODE_TYPES);
    const nameOf = (typename: string) => `${typename.charAt(0).toLowerCase()}${typename.slice(1)}`;
    const wrong = types.flatMap((type): string[] => {
      if (isObjectType(type) && type.name.endsWith('Payload')) {
        return Object.values(type.getFields())
          .filter((field) => nodes.has(getNamedType(field.type).name))
          .filter((field) => field.name !== nameOf(getNamedType(field.type).name))
          .map((field) => `${type.name}.${field.name}`);
      }
      if (!isInputObjectType(type)) return [];
      return Object.values(type.getFields())
        .filter((field) => getNamedType(field.type).name === 'ID')
        .filter((field) => {
          const [meant] = field.extensions['relayGlobalIDFor'] as { typename: string }[];
          return field.name !== `${nameOf(meant?.typename ?? '')}Id${isListType(field.type) ? 's' : ''}`;
        })
        .map((field) => `${type.name}.${field.name}`);
    });
    expect(wrong).toEqual([]);
  });

  it('has an address in what is found by nothing else', () => {
    const [receipt, published] = ['Receipt', 'PublicReceipt'].map((name) => schema.getType(name));
    const addressOf = (type: typeof receipt) =>
      isObjectType(type) ? String(type.getFields()['tokenAddress']?.type) : null;
    expect(addressOf(published)).toBe('Address!');
    // The deployment of a receipt may still be under way.
    expect(addressOf(receipt)).toBe('Address');
  });

  it('answers with an object for certain only where it was there before: dryRun and approvals come without a break', () => {
    const certain = types.filter(isObjectType).flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => type.name.endsWith('Payload') && isNonNullType(field.type))
        .filter((field) => isObjectType(getNamedType(field.type)))
        .map((field) => `${type.name}.${field.name}`),
    );
    expect(certain.sort()).toEqual([
      'CancelCashOutPayload.offRampSession',
      'GrantApprovalPayload.approvalRequest',
      'RefuseApprovalPayload.approvalRequest',
      'ReleasePledgePayload.receiptPledge',
      'RemoveIssuanceCapPayload.issuanceCap',
      'ResolveOffRampSessionReviewPayload.offRampSession',
      'ResolveSubmissionReviewPayload.submission',
      'RevokeApiKeyPayload.apiKey',
      'SetProjectPricePayload.project',
      'SubmitSignedPayload.holderAct',
    ]);
  });

  it('has no defaults in what idempotency keys are remembered with: a later one would change the hash of old requests', () => {
    const withKey = types.filter(isInputObjectType).filter((type) => 'idempotencyKey' in type.getFields());
    expect(withKey.length).toBeGreaterThan(8);
    const defaults = withKey.flatMap((type) =>
      Object.values(type.getFields())
        // A dry run has no idempotency key.
        .filter(({ name, defaultValue }) => defaultValue !== undefined && name !== 'dryRun')
        .map(({ name }) => `${type.name}.${name}`),
    );
    expect(defaults).toEqual([]);
  });

  it('refuses null for what has a default: dryRun: null must not run for real', () => {
    const given = types.flatMap((type) => {
      if (isInputObjectType(type)) return Object.values(type.getFields());
      return isObjectType(type) ? Object.values(type.getFields()).flatMap(({ args }) => args) : [];
    });
    const withDefault = given.filter(({ defaultValue }) => defaultValue !== undefined);
    expect(new Set(withDefault.map(({ name, type }) => `${name}: ${String(type)}`))).toEqual(
      new Set(['dryRun: Boolean!', 'orderBy: ProjectOrder!']),
    );
  });

  it('has a dry run of each mutation that takes an amount from what may not have enough', () => {
    const inputs = types.filter(isInputObjectType).filter((type) => 'dryRun' in type.getFields());
    expect(inputs.map(({ name }) => name).sort()).toEqual([
      'CashOutInput',
      'CreateDepositInput',
      'PrepareCashOutDepositInput',
      'PurchaseInput',
      'RetireInput',
      'TransferCreditsInput',
    ]);
  });

  it('counts the leaves of logs beyond 32 bits: there is one for each transfer, and two for a mutation', () => {
    const counted = types
      .filter((type) => isObjectType(type))
      .flatMap((type) => Object.values(type.getFields()).flatMap((field) => [field, ...field.args]))
      .filter(({ name }) => /^leafIndex$|[tT]reeSize$/.test(name))
      .map(({ name, type }) => `${name}: ${getNamedType(type).name}`);
    expect([...new Set(counted)].sort()).toEqual([
      'fromTreeSize: LeafNumber',
      'leafIndex: LeafNumber',
      'toTreeSize: LeafNumber',
      'treeSize: LeafNumber',
    ]);
  });

  it('has one form of name for numbers, times, addresses, states and filters', () => {
    // Names from the specification, and names that tokens use.
    const given = new Set(['depositDate', 'expiryDate', 'timestamp', 'treasury', 'retiredBy', 'seconds']);
    const forms: Readonly<Record<string, RegExp>> = {
      Int: /Count$|^total[A-Z]|[iI]ndex$|Years?$|Bps$|Seconds$|^first$|^last$/,
      UnixTime: /At$|^from$|^until$|From$|Until$/,
      Address: /Address(es)?$/,
      LeafNumber: /^leafIndex$|[tT]reeSize$/,
    };
    const wrong = types.flatMap((type) => {
      if (!isObjectType(type) && !isInputObjectType(type)) return [];
      return Object.values(type.getFields())
        .filter((field) => {
          const named = getNamedType(field.type as GraphQLOutputType);
          if (field.name === 'state') return named.name !== `${type.name.replace(/Payload$/, '')}State`;
          if (/^is[A-Z]/.test(field.name)) return true;
          return forms[named.name]?.test(field.name) === false && !given.has(field.name);
        })
        .map((field) => `${type.name}.${field.name}: ${String(field.type)}`);
    });
    // PublicReceipt shows the same receipt to the public.
    expect(wrong).toEqual(['PublicReceipt.state: ReceiptState!']);
  });

  it('filters a list of a type with the filter of that type', () => {
    const filtered = types.flatMap((type) =>
      isObjectType(type)
        ? Object.values(type.getFields()).flatMap((field) => {
            const filter = field.args.find(({ name }) => name === 'filter');
            return filter === undefined
              ? []
              : [[getNamedType(field.type).name, getNamedType(filter.type).name]];
          })
        : [],
    );
    expect(filtered.length).toBeGreaterThan(8);
    // Totals are made of records, and so is the feed's event.
    const expected = (list = '') =>
      `${list
        .replace(/Connection$/, '')
        .replace('RetirementTotal', 'RetirementRecord')
        .replace(/Event$/, '')}Filter`;
    expect(filtered.map(([, filter]) => filter)).toEqual(filtered.map(([list]) => expected(list)));
  });

  it('finds everything again that has an id', () => {
    const node = schema.getType('Node');
    const withId = isInterfaceType(node) ? schema.getPossibleTypes(node).map(({ name }) => name) : [];
    expect(new Set(withId)).toEqual(new Set<string>(NODE_TYPES));
  });
});
