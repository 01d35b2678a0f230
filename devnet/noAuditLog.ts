/**
 * An audit log that keeps nothing, for servers without a database.
 */
import type { AuditLog } from '../src/identity/auditLog.ts';

export const noAuditLog: AuditLog = {
  open: () => ({
    begin: async () => undefined,
    row: () => {
      throw new Error('without a database there is no transaction to write it in');
    },
    markWritten: () => undefined,
    end: async () => true,
  }),
  openRead: () => async () => true,
  countRefused: () => undefined,
  stop: async () => undefined,
};
