import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSealer } from '../../../src/lib/sealer.ts';

const secret = () => randomBytes(32).toString('base64');
const place = { table: 'letters', column: 'text', id: '1' };

describe('a sealed text', () => {
  it('opens in its place alone', () => {
    const sealer = createSealer([secret()]);
    const sealed = sealer.seal('a payout account', place);
    expect(sealer.unseal(sealed, place)).toBe('a payout account');
    for (const other of [{ id: '2' }, { table: 'others' }, { column: 'subject' }]) {
      expect(() => sealer.unseal(sealed, { ...place, ...other })).toThrow();
    }
  });

  it('opens under an old key, and is sealed under the first', () => {
    const [old, fresh] = [secret(), secret()];
    const before = createSealer([old]);
    const during = createSealer([fresh, old]);
    const after = createSealer([fresh]);
    const sealed = before.seal('a secret', place);
    expect(sealed.startsWith(before.currentPrefix)).toBe(true);
    expect(during.unseal(sealed, place)).toBe('a secret');
    expect(during.seal('another', place).startsWith(after.currentPrefix)).toBe(true);
    expect(() => after.unseal(sealed, place)).toThrow(
      /letters\.text of 1 is sealed under key [0-9a-f]{12}, which/,
    );
  });

  it('does not open when it was changed, or names another key of the list', () => {
    const [first, second] = [secret(), secret()];
    const sealer = createSealer([first, second]);
    const sealed = sealer.seal('a secret', place);
    const body = sealed.slice(sealer.currentPrefix.length);
    const flipped = Buffer.from(body, 'base64url');
    flipped.writeUInt8(flipped.readUInt8(20) ^ 1, 20);
    expect(() => sealer.unseal(`${sealer.currentPrefix}${flipped.toString('base64url')}`, place)).toThrow();
    expect(() => sealer.unseal(`${createSealer([second]).currentPrefix}${body}`, place)).toThrow();
    expect(() => sealer.unseal('v1.abc', place)).toThrow('unknown form');
  });
});
