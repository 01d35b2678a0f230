/**
 * Failures that mean an absent database, as opposed to defects and failures of another server.
 */
import { DrizzleQueryError } from 'drizzle-orm';
import postgres from 'postgres';
import { describe, expect, it } from 'vitest';
import { asConnectionLost, ConnectionLost, NoFreeConnection } from '../../../src/db/connectionLost.ts';
import { databaseUnavailable } from '../../../src/http/graphql/databaseUnavailable.ts';
import { NetworkUnavailable } from '../../../src/ledger/network/port.ts';

const failure = (code: string) => Object.assign(new Error(`failed with ${code}`), { code });
/**
 * The driver's types declare a message as the argument; the driver passes the fields of PostgreSQL's answer.
 */
const refusal = (code: string, severity = 'ERROR') =>
  Object.assign(new postgres.PostgresError('refused'), { code, severity });
/** A refused login as PgBouncer reports it: with the code, without the language-independent severity. */
const pooled = (code: string) =>
  Object.assign(new postgres.PostgresError('refused'), { code, severity_local: 'FATAL' });

describe('is unavailable', () => {
  it.each([
    ['a refused connection', asConnectionLost(failure('ECONNREFUSED'))],
    ['a connection that the driver saw end', asConnectionLost(failure('CONNECTION_CLOSED'))],
    ['one that is ending', asConnectionLost(failure('ERR_STREAM_WRITE_AFTER_END'))],
    ['a certificate that has expired', asConnectionLost(failure('CERT_HAS_EXPIRED'))],
    ["another server's certificate", asConnectionLost(failure('ERR_TLS_CERT_ALTNAME_INVALID'))],
    ['one that no authority has signed', asConnectionLost(failure('DEPTH_ZERO_SELF_SIGNED_CERT'))],
    ['one whose authority is not known', asConnectionLost(failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE'))],
    ['a silent one, under a statement', new DrizzleQueryError('SELECT 1', [], new ConnectionLost('silent'))],
    ['a server that shuts down', new DrizzleQueryError('SELECT 1', [], refusal('57P01', 'FATAL'))],
    ['no free connection', new DrizzleQueryError('SELECT 1', [], new NoFreeConnection('none in time'))],
    ['a full disk', refusal('53100')],
    ['a role that may not log in now', refusal('28000', 'FATAL')],
    ['a password that was changed', new DrizzleQueryError('SELECT 1', [], refusal('28P01', 'FATAL'))],
    ['the same, told by a pooler', pooled('28P01')],
    ['a database that is gone', refusal('3D000', 'FATAL')],
    ['a right to connect that was taken', refusal('42501', 'FATAL')],
    ['a primary that is a standby now', refusal('25006')],
  ])('%s', (_name, error) => {
    expect(databaseUnavailable(error)).toMatchObject({ code: 'DATABASE_UNAVAILABLE', cause: error });
  });
});

describe('is not', () => {
  it.each([
    ['a statement that breaks a rule', new DrizzleQueryError('INSERT', [], refusal('23505'))],
    ['a right to a table that was taken', refusal('42501')],
    ['a page of a table that can not be read', refusal('58030')],
    ['a parameter that can not be sent', asConnectionLost(failure('UNDEFINED_VALUE'))],
    ["another server's refused connection", failure('ECONNREFUSED')],
    ['the ledger network', new NetworkUnavailable('no node', { cause: new ConnectionLost('ended') })],
    ['a defect', new TypeError('x is not a function')],
  ])('%s', (_name, error) => {
    expect(databaseUnavailable(error)).toBeNull();
  });
});
