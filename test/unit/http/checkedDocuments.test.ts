/**
 * What the check of documents costs, in memory and computing time, however many of them are refused.
 */
import { buildSchema } from 'graphql';
import { expect, it } from 'vitest';
import { createCheckedDocuments } from '../../../src/http/documents/checkedDocuments.ts';

function opened() {
  const charged: number[] = [];
  const kept: string[] = [];
  const documents = createCheckedDocuments({
    schema: buildSchema('type Query { hello: String }'),
    introspection: true,
    source: { keep: (hash) => void kept.push(hash) },
    chargeCpu: (_address, ms) => void charged.push(ms),
  });
  const check = (text: string, hash?: string) =>
    documents.check(hash === undefined ? { text } : { text, hash }, '203.0.113.7');
  return { documents, check, charged, kept };
}

const manyErrors = (i: number): string => `{ ${'x '.repeat(100)}query${i} }`;

it('forgets refused documents by the memory that their errors take, and no other document', () => {
  const { documents, check } = opened();
  check('{ hello }');
  for (let i = 0; i < 250; i++) check(manyErrors(i));
  const known = Array.from({ length: 250 }, (_, i) => documents.isKnown(manyErrors(i))).filter(Boolean);
  // 100 errors take as much memory as a document of 1,200 characters.
  expect(known.length).toBeGreaterThan(100);
  expect(known.length).toBeLessThan(200);
  expect(documents.get('{ hello }')).toBeDefined();
});

it('charges the errors of a refused document each time, because each answer has them', () => {
  const { check, charged } = opened();
  for (let i = 0; i < 3; i++) expect(check(manyErrors(0)).problems).toHaveLength(101);
  for (const ms of charged) expect(ms).toBeGreaterThanOrEqual(20);
});

it('keeps the hash of a valid document alone', () => {
  const { check, kept } = opened();
  check('{ hello }', 'valid');
  check('{ goodbye }', 'invalid');
  expect(() => check('{', 'unparsable')).toThrow('Syntax Error');
  expect(kept).toEqual(['valid']);
});
