/**
 * Delivery signatures: a published vector, and everything that must not pass.
 */
import { assert, nat, property, string, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { signBody, verifySignature } from '../../../src/lib/signature.ts';

// The example in GitHub's documentation on validating webhook deliveries.
const secret = "It's a Secret to Everybody";
const rawBody = Buffer.from('Hello, World!');
const header = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';

describe('delivery signatures', () => {
  it('signs and verifies the published vector', () => {
    expect(signBody(secret, rawBody)).toBe(header);
    expect(verifySignature({ rawBody, header, secrets: [secret] })).toBe(true);
  });

  it('accepts any of several live secrets, in any place', () => {
    expect(verifySignature({ rawBody, header, secrets: [secret, 'b', 'c'] })).toBe(true);
    expect(verifySignature({ rawBody, header, secrets: ['a', 'b', secret] })).toBe(true);
    expect(verifySignature({ rawBody, header, secrets: ['a', 'b'] })).toBe(false);
  });

  it('trusts nothing without a secret', () => {
    expect(verifySignature({ rawBody, header, secrets: [] })).toBe(false);
    const signedWithNothing = signBody('', rawBody);
    expect(verifySignature({ rawBody, header: signedWithNothing, secrets: [''] })).toBe(false);
  });

  it.each([
    ['no header', undefined],
    ['null', null],
    ['an empty header', ''],
    ['no prefix', header.slice('sha256='.length)],
    ['another algorithm', header.replace('sha256', 'sha512')],
    ['upper case', header.toUpperCase().replace('SHA256', 'sha256')],
    ['a digit missing', header.slice(0, -1)],
    ['a digit too many', `${header}0`],
    ['a line break behind', `${header}\n`],
    ['characters of several bytes', `sha256=${'é'.repeat(64)}`],
  ])('refuses %s', (_what, given) => {
    expect(verifySignature({ rawBody, header: given, secrets: [secret] })).toBe(false);
  });

  it('holds for the exact bytes and the exact secret alone', () => {
    assert(
      property(
        uint8Array({ minLength: 1, maxLength: 200 }),
        string({ minLength: 1 }),
        nat(),
        (body, key, at) => {
          const signature = signBody(key, body);
          const changed = Uint8Array.from(body);
          const position = at % body.length;
          changed[position] = (changed[position] ?? 0) ^ (1 + (at % 255));
          expect(verifySignature({ rawBody: body, header: signature, secrets: [key] })).toBe(true);
          expect(verifySignature({ rawBody: changed, header: signature, secrets: [key] })).toBe(false);
          expect(verifySignature({ rawBody: body, header: signature, secrets: [`${key}x`] })).toBe(false);
        },
      ),
    );
  });
});
