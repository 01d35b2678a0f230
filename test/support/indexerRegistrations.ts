/**
 * Stores registrations with an indexer, for tests that sign deliveries themselves.
 */
import { indexerRegistrations } from '../../src/db/tables/index.ts';
import { sealedPlace } from '../../src/db/sealedColumns.ts';
import type { Dependencies } from '../../src/resolvers/core/dependencies.ts';

/** @returns the registration's id */
export async function storeRegistration(
  dependencies: Pick<Dependencies, 'db' | 'ids' | 'sealer' | 'retirementsHookUrl'>,
  secret: string,
  { isReplaced = false, agoMs = 0 } = {},
): Promise<string> {
  const { db, ids, sealer, retirementsHookUrl: url } = dependencies;
  const [id, createdAt] = [ids.next(), new Date(Date.now() - agoMs)];
  await db.insert(indexerRegistrations).values({
    id,
    url,
    webhookId: id,
    sealedSecret: sealer.seal(secret, sealedPlace('registrationSecret', id)),
    createdAt,
    replacedAt: isReplaced ? createdAt : null,
  });
  return id;
}
