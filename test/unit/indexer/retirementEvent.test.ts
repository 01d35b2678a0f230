/**
 * What is read as a hint of a retirement. The feed filler's statements keep each of its values.
 */
import { describe, expect, it } from 'vitest';
import {
  MAX_EVENTS_PER_DELIVERY,
  readRetirementHints,
  type RetirementHint,
} from '../../../src/indexer/retirementEvent.ts';

const VALUE = ['1', 'x', 0, '1'];
const event = { id: 'e', contract: 'C', txHash: 't', data: { topics: ['G'], value: VALUE } };
const HINT: RetirementHint = { eventId: 'e', tokenAddress: 'C', recordIndex: 0, txHash: 't' };
const NOTHING_NAMED = { eventId: null, tokenAddress: null, recordIndex: null, txHash: null };

const read = (body: object) => readRetirementHints(Buffer.from(JSON.stringify(body)));
const withValue = (...value: unknown[]) => ({ ...event, data: { ...event.data, value } });

describe('an event of the deployed shape', () => {
  it.each<[string, object]>([
    ['a whole one', event],
    ['one with a number for its time, and more values', withValue('1', 'x', 0, 1, 'more')],
    ['one with the highest amount', withValue('9'.repeat(39), 'x', 0, '1')],
  ])('is a hint: %s', (_, given) => {
    expect(read({ event: given })).toEqual([HINT]);
  });

  it('may have the highest index and the longest texts that can be stored', () => {
    const id = 'e'.repeat(256);
    expect(read({ event: { ...withValue('1', 'x', 0x7fff_ffff, '1'), id } })).toEqual([
      { ...HINT, eventId: id, recordIndex: 0x7fff_ffff },
    ]);
  });

  const texts = ['id', 'contract', 'txHash'].flatMap((name) =>
    [undefined, '', 1, 'x'.repeat(257), 'a\u0000', '\ud800'].map((given): [string, object] => [
      `${name} ${JSON.stringify(given)?.slice(0, 12)}`,
      { ...event, [name]: given },
    ]),
  );
  it.each<[string, object]>([
    ...texts,
    ['no topics', { ...event, data: { topics: [], value: VALUE } }],
    ['topics of another form', { ...event, data: { topics: {}, value: VALUE } }],
    ['three values', withValue('1', 'x', 0)],
    ['a number for its amount', withValue(1, 'x', 0, '1')],
    ['a longer amount', withValue('1'.repeat(40), 'x', 0, '1')],
    ['no amount', withValue('x', 'x', 0, '1')],
    ['no name', withValue('1', 5, 0, '1')],
    ['a text for its index', withValue('1', 'x', '0', '1')],
    ['a negative index', withValue('1', 'x', -1, '1')],
    ['a broken index', withValue('1', 'x', 0.5, '1')],
    ['an index that no row can have', withValue('1', 'x', 0x8000_0000, '1')],
    ['no time', withValue('1', 'x', 0, null)],
  ])('is none with %s, and takes nothing from the one beside it', (_, given) => {
    expect(read({ event: given })).toEqual([]);
    expect(read({ events: [given, event] })).toEqual([HINT]);
  });

  it('comes with as many others as the embedded indexer sends, and with no more', () => {
    const events = Array.from({ length: MAX_EVENTS_PER_DELIVERY }, () => event);
    expect(read({ events })).toHaveLength(MAX_EVENTS_PER_DELIVERY);
    expect(read({ events: [...events, event] })).toEqual([]);
  });
});

describe('a body of the specified shape', () => {
  it.each<[object, Partial<RetirementHint>]>([
    [{ beneficiary: null }, {}],
    [{ beneficiary: 'x', contract: 'C', tokenAddress: 'D' }, { tokenAddress: 'C' }],
    [{ beneficiary: 'x', tokenAddress: 'D' }, { tokenAddress: 'D' }],
    [{ beneficiary: 'x', index: 0, retirementIndex: 1 }, { recordIndex: 0 }],
    [
      { beneficiary: 'x', retirementIndex: 1, txHash: 't' },
      { recordIndex: 1, txHash: 't' },
    ],
    [{ beneficiary: 'x', contract: 5, index: '0', txHash: 't' }, { txHash: 't' }],
    [{ beneficiary: 'x', tokenAddress: '', retirementIndex: -1, txHash: 5 }, {}],
  ])('%j is a hint, without the members that cannot be read', (data, expected) => {
    expect(read({ eventType: 'r', data })).toEqual([{ ...NOTHING_NAMED, ...expected }]);
    expect(read({ event: 'of another form', data })).toEqual([{ ...NOTHING_NAMED, ...expected }]);
  });

  it('is a hint though a name in it is no UTF-8', () => {
    const body = Buffer.from('{"data":{"beneficiary":"\xe9","contract":"C"}}', 'latin1');
    expect(readRetirementHints(body)).toEqual([{ ...NOTHING_NAMED, tokenAddress: 'C' }]);
  });

  it('is a hint behind a byte order mark', () => {
    const body = Buffer.from('\ufeff{"data":{"beneficiary":"x","contract":"C"}}');
    expect(readRetirementHints(body)).toEqual([{ ...NOTHING_NAMED, tokenAddress: 'C' }]);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{"data":{}}',
    '{"data":null}',
    '{"data":{"__proto__":{"beneficiary":1}}}',
  ])('%s is none', (body) => {
    expect(readRetirementHints(Buffer.from(body))).toEqual([]);
  });
});
