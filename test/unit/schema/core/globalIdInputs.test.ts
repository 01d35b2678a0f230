/** A wrong global id is reported with its path, as every other wrong input is. */
import {
  graphql,
  isInputObjectType,
  getNamedType,
  type GraphQLArgument,
  type GraphQLInputField,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { encodeGlobalId } from '../../../../src/schema/core/globalIds.ts';
import { builder } from '../../../../src/schema/core/builder.ts';
import { schema } from '../../../../src/schema/index.ts';

const UUID = '01a1fd63-66ce-7db7-82fe-eaf1f3dff1de';
const caller = { subject: 'olga', roles: ['operator'], warehouseIds: [] };
const contextValue = { caller, dependencies: {} };

async function ask(source: string, variableValues: Record<string, unknown>) {
  const { errors } = await graphql({ schema, source, variableValues, contextValue });
  return errors?.map(({ message, originalError }) => [message, Reflect.get(originalError ?? {}, 'details')]);
}

const ENTRIES = `query ($filter: AuditEntryFilter, $more: [ID!]) {
  a: auditEntries(filter: $filter) { totalCount } b: auditEntries(filter: { apiKeyIds: $more }) { totalCount } }`;

describe('a wrong global id', () => {
  it.each([
    ['garbage', 'garbage'],
    ['of no type', Buffer.from(`Nothing:${UUID}`).toString('base64url')],
    ['that is no UUID', Buffer.from("Project:' OR 1=1").toString('base64url')],
    ['empty', ''],
  ])('%s, in a list in a filter', async (_what, id) => {
    const good = encodeGlobalId('ApiKey', UUID);
    const errors = await ask(ENTRIES, { filter: { apiKeyIds: [good, id] }, more: id });
    expect(errors).toEqual([
      [
        expect.stringContaining('filter.apiKeyIds.1 must be an id that this server gave out; it is "'),
        {
          field: 'filter.apiKeyIds.1',
        },
      ],
      [expect.stringContaining('filter.apiKeyIds.0 must be an id'), { field: 'filter.apiKeyIds.0' }],
    ]);
  });

  it('of another type', async () => {
    const filter = { apiKeyIds: [encodeGlobalId('Receipt', UUID)] };
    expect(await ask(ENTRIES, { filter, more: [] })).toContainEqual([
      expect.stringContaining('filter.apiKeyIds.0 must be the id of ApiKey, not of Receipt; it is "'),
      { field: 'filter.apiKeyIds.0' },
    ]);
  });

  it('of a node', async () => {
    const errors = await ask('query ($id: ID!) { node(id: $id) { id } }', { id: 'x' });
    expect(errors).toEqual([[expect.stringContaining('id must be an id'), { field: 'id' }]]);
  });

  it('of a subscription and in the input of a mutation', async () => {
    // The test calls the field's own resolver, because graphql-js runs no subscription here. The schema is
    // one that no server has wrapped.
    const unwrapped = builder.toSchema();
    const { subscribe } = unwrapped.getSubscriptionType()?.getFields()['projectUpdated'] ?? {};
    const { resolve } = unwrapped.getMutationType()?.getFields()['revokeApiKey'] ?? {};
    for (const [run, args, field] of [
      [subscribe, { id: 'x' }, 'id'],
      [resolve, { input: { apiKeyId: 'x' } }, 'input.apiKeyId'],
    ] as const) {
      const told = await new Promise((settle) => {
        settle(run?.(undefined, args, contextValue, {} as never));
      }).catch((error: unknown) => error);
      expect(told).toMatchObject({ code: 'BAD_USER_INPUT', details: { field } });
    }
  });
});

/** Every ID in an argument or input member is a checked global id; none is an unchecked text. */
it('each ID of the contract is a global id', () => {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const unmarked: string[] = [];
  const look = (path: string, { type, extensions }: GraphQLArgument | GraphQLInputField) => {
    const named = getNamedType(type);
    if (named.name === 'ID' && extensions['isRelayGlobalID'] !== true) unmarked.push(path);
    if (!isInputObjectType(named)) return;
    for (const field of Object.values(named.getFields())) look(`${path}.${field.name}`, field);
  };
  for (const field of roots.flatMap((root) => Object.values(root?.getFields() ?? {}))) {
    for (const arg of field.args) look(`${field.name}.${arg.name}`, arg);
  }
  expect(unmarked).toEqual([]);
});
