/**
 * Changes of the contract that are refused once the contract is released.
 */
import { buildSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { findRefusedChanges } from '../../../scripts/schemaChanges.ts';

const RELEASED = `
  enum State { OPEN CLOSED OLD @deprecated(reason: "Use CLOSED. Goes on 2027-03-01.") }
  input Filter { state: State, mode: String! = "all", note: String }
  type Old { note: String }
  type Thing { id: ID!, note: String, state: State!, old: Old @deprecated(reason: "Nothing has one. Goes on 2027-03-01.") }
  type Query {
    thing(id: ID!, kind: String @deprecated(reason: "There is one kind. Goes on 2027-03-01.")): Thing
    things(filter: Filter, first: Int, state: State = OPEN): [Thing!]!
  }
`;

const DAY = new Date('2027-03-01T00:00:00Z');

function refusedAfter(...changes: [from: string, to: string][]): string[] {
  return refusedOn(DAY, RELEASED, changes);
}

function refusedOn(today: Date, released: string, changes: [from: string, to: string][]): string[] {
  let current = released;
  for (const [from, to] of changes) {
    expect(current).toContain(from);
    current = current.replace(from, to);
  }
  return findRefusedChanges(buildSchema(released), buildSchema(current), today);
}

describe('of a released contract', () => {
  it.each<[string, [string, string][]]>([
    ['nothing', []],
    ['a new field', [['note: String, state: State!,', 'note: String, more: Int, state: State!,']]],
    ['a new optional argument', [['first: Int', 'first: Int, last: Int = 20']]],
    ['a new value', [['OPEN CLOSED', 'OPEN CLOSED PAUSED']]],
    [
      'an answer that is no longer null',
      [['type Thing { id: ID!, note: String,', 'type Thing { id: ID!, note: String!,']],
    ],
    ['a deprecated value that goes', [['OLD @deprecated(reason: "Use CLOSED. Goes on 2027-03-01.")', '']]],
    [
      'a deprecated argument that goes',
      [[', kind: String @deprecated(reason: "There is one kind. Goes on 2027-03-01.")', '']],
    ],
    [
      'a deprecated field that goes, and its type with it',
      [
        [', old: Old @deprecated(reason: "Nothing has one. Goes on 2027-03-01.")', ''],
        ['type Old { note: String }', ''],
      ],
    ],
  ])('clients live with %s', (_what, changes) => {
    expect(refusedAfter(...changes)).toEqual([]);
  });

  it.each<[string, [string, string], string]>([
    [
      'a field that goes',
      ['type Thing { id: ID!, note: String,', 'type Thing { id: ID!,'],
      'FIELD_REMOVED: Thing.note',
    ],
    [
      'an input field that goes',
      [', note: String }\n  type Old', ' }\n  type Old'],
      'FIELD_REMOVED: Filter.note',
    ],
    ['a value that goes', ['OPEN CLOSED', 'OPEN'], 'VALUE_REMOVED_FROM_ENUM: CLOSED'],
    ['an argument that goes', [', first: Int', ''], 'ARG_REMOVED: Query.things arg first'],
    ['a new required argument', ['first: Int', 'first: Int, kind: String!'], 'REQUIRED_ARG_ADDED: '],
    [
      'a new required input field',
      ['input Filter {', 'input Filter { kind: String!,'],
      'REQUIRED_INPUT_FIELD_ADDED: ',
    ],
    ['an answer of another type', ['state: State!,', 'state: String!,'], 'FIELD_CHANGED_KIND: Thing.state'],
    [
      'an answer that may be null now',
      ['state: State!,', 'state: State,'],
      'FIELD_CHANGED_KIND: Thing.state',
    ],
    [
      'a required input field without its default',
      ['mode: String! = "all"', 'mode: String!'],
      'DEFAULT_CHANGED: Filter.mode was "all" where it was left out, and now has no default',
    ],
    [
      'an argument with another default',
      ['state: State = OPEN', 'state: State = CLOSED'],
      'DEFAULT_CHANGED: Query.things(state) was "OPEN" where it was left out, and now is "CLOSED"',
    ],
    [
      'a field of deprecated ones that changes',
      ['old: Old @', 'old: Int @'],
      'FIELD_CHANGED_KIND: Thing.old',
    ],
  ])('refused is %s', (_what, change, told) => {
    const refused = refusedAfter(change);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toContain(told);
  });

  const GOES: [string, [string, string][], string][] = [
    [
      'value',
      [['OLD @deprecated(reason: "Use CLOSED. Goes on 2027-03-01.")', '']],
      'VALUE_REMOVED_FROM_ENUM',
    ],
    [
      'argument',
      [[', kind: String @deprecated(reason: "There is one kind. Goes on 2027-03-01.")', '']],
      'ARG_REMOVED',
    ],
    [
      'field',
      [[', old: Old @deprecated(reason: "Nothing has one. Goes on 2027-03-01.")', '']],
      'FIELD_REMOVED',
    ],
  ];

  it.each(GOES)('a deprecated %s stays until the day that its reason names', (_what, changes, told) => {
    expect(refusedOn(new Date(DAY.getTime() - 1), RELEASED, changes)).toMatchObject([
      expect.stringContaining(told),
    ]);
  });

  it.each(GOES)('a deprecated %s whose reason names no day stays', (_what, changes, told) => {
    const undated = (text: string) => text.replaceAll(' Goes on 2027-03-01.', '');
    const undatedChanges = changes.map(([from, to]): [string, string] => [undated(from), undated(to)]);
    expect(refusedOn(DAY, undated(RELEASED), undatedChanges)).toMatchObject([expect.stringContaining(told)]);
  });

  it('the type of a deprecated field stays as long as the field', () => {
    const changes: [string, string][] = [
      [', old: Old @deprecated(reason: "Nothing has one. Goes on 2027-03-01.")', ''],
      ['type Old { note: String }', ''],
    ];
    expect(refusedOn(new Date(DAY.getTime() - 1), RELEASED, changes)).toHaveLength(2);
  });
});
