/**
 * Strkeys against published vectors: SEP-23, the Stellar SDKs' own tests, and RFC 8032 for the keys.
 */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  addressOfSecretKey,
  decodeStrkey,
  encodeStrkey,
  generateSecretKey,
  isAddress,
  keypairOf,
  verifyAccountSignature,
} from '../../../src/lib/strkey.ts';

const SEP23_PAYLOAD = Buffer.from('3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a', 'hex');
const SEP23_ACCOUNT = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const SEP23_CONTRACT = 'CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA';

describe('strkeys', () => {
  it('encodes and decodes the SEP-23 vectors', () => {
    expect(encodeStrkey('account', SEP23_PAYLOAD)).toBe(SEP23_ACCOUNT);
    expect(encodeStrkey('contract', SEP23_PAYLOAD)).toBe(SEP23_CONTRACT);
    expect(decodeStrkey(SEP23_ACCOUNT)).toEqual({ kind: 'account', payload: new Uint8Array(SEP23_PAYLOAD) });
    expect(decodeStrkey(SEP23_CONTRACT)).toEqual({
      kind: 'contract',
      payload: new Uint8Array(SEP23_PAYLOAD),
    });
  });

  it('encodes the contract vector of the SDKs', () => {
    const payload = Buffer.from('363eaa3867841fbad0f4ed88c779e4fe66e56a2470dc98c0ec9c073d05c7b103', 'hex');
    expect(encodeStrkey('contract', payload)).toBe(
      'CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE',
    );
  });

  it('derives the account of the secret key in the SDKs’ own tests', () => {
    expect(addressOfSecretKey('SD7X7LEHBNMUIKQGKPARG5TDJNBHKC346OUARHGZL5ITC6IJPXHILY36')).toBe(
      'GDFQVQCYYB7GKCGSCUSIQYXTPLV5YJ3XWDMWGQMDNM4EAXAL7LITIBQ7',
    );
  });

  it.each([
    ['a payload of 34 bits', 'GAAAAAAAACGC6'],
    ['one byte too many', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI'],
    ['a version byte of an unknown kind', 'G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I'],
    ['a wrong checksum', 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA'],
    ['lower case', SEP23_ACCOUNT.toLowerCase()],
    ['a space behind', `${SEP23_ACCOUNT} `],
    ['a line break behind', `${SEP23_ACCOUNT}\n`],
    ['padding', `${SEP23_ACCOUNT}===`],
    ['an EVM address', '0x52908400098527886E0F7030069857D2E4169EE7'],
    ['nothing', ''],
  ])('refuses %s', (_what, text) => {
    expect(decodeStrkey(text)).toBeNull();
    expect(isAddress(text)).toBe(false);
  });

  it('refuses every single changed character', () => {
    for (let at = 0; at < SEP23_ACCOUNT.length; at += 1) {
      const other = SEP23_ACCOUNT[at] === 'A' ? 'B' : 'A';
      expect(decodeStrkey(SEP23_ACCOUNT.slice(0, at) + other + SEP23_ACCOUNT.slice(at + 1))).toBeNull();
    }
  });

  it('does not take a seed for an address', () => {
    const secretKey = generateSecretKey(randomBytes);
    expect(secretKey).toMatch(/^S[A-Z2-7]{55}$/);
    expect(decodeStrkey(secretKey)?.kind).toBe('seed');
    expect(isAddress(secretKey)).toBe(false);
    expect(isAddress(addressOfSecretKey(secretKey))).toBe(true);
  });

  it('refuses a payload of another length', () => {
    expect(() => encodeStrkey('account', new Uint8Array(31))).toThrow(RangeError);
  });

  it('never repeats a bad secret key in its error', () => {
    const typo = 'SECRETLOOKINGTEXT';
    expect(() => addressOfSecretKey(typo)).toThrow(/not a Stellar seed/);
    expect(() => addressOfSecretKey(typo)).not.toThrow(typo);
    expect(() => addressOfSecretKey(SEP23_ACCOUNT)).toThrow(/not a Stellar seed/);
  });
});

describe('ed25519 keys', () => {
  // RFC 8032, section 7.1, TEST 2.
  const seed = Buffer.from('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', 'hex');
  const publicKey = Buffer.from('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c', 'hex');
  const message = Buffer.from('72', 'hex');
  const signature =
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00';

  it('signs as RFC 8032 says', () => {
    const keypair = keypairOf(encodeStrkey('seed', seed));
    expect(keypair.address).toBe(encodeStrkey('account', publicKey));
    expect(Buffer.from(keypair.sign(message)).toString('hex')).toBe(signature);
  });

  it('verifies that signature, and no other', () => {
    const address = encodeStrkey('account', publicKey);
    const good = Buffer.from(signature, 'hex');
    expect(verifyAccountSignature(address, message, good)).toBe(true);
    expect(verifyAccountSignature(address, Buffer.from('73', 'hex'), good)).toBe(false);
    expect(verifyAccountSignature(SEP23_ACCOUNT, message, good)).toBe(false);
    expect(verifyAccountSignature(encodeStrkey('contract', publicKey), message, good)).toBe(false);
    expect(verifyAccountSignature(address, message, good.subarray(0, 63))).toBe(false);
    expect(
      verifyAccountSignature(encodeStrkey('account', new Uint8Array(32).fill(0xff)), message, good),
    ).toBe(false);
  });
});
