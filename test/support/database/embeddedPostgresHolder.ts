/**
 * A process that opens the embedded PostgreSQL, prints its URL, and holds it until the process is killed.
 */
import { openEmbeddedPostgres } from '../../../src/db/embedded/embeddedPostgres.ts';

const [dataDir = '', password = ''] = process.argv.slice(2);
const { ownerUrl } = await openEmbeddedPostgres({ dataDir, password });
process.stdout.write(`${ownerUrl}\n`);
