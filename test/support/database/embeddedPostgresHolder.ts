/**
 * A process of its own that opens the embedded PostgreSQL, says where it is, and holds it until it is killed.
 */
import { openEmbeddedPostgres } from '../../../src/db/embedded/embeddedPostgres.ts';

const [dataDir = '', password = ''] = process.argv.slice(2);
const { ownerUrl } = await openEmbeddedPostgres({ dataDir, password });
process.stdout.write(`${ownerUrl}\n`);
