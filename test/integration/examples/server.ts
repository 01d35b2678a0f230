/**
 * The server as a separate process for the examples: production's rule for documents, nothing else changed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onlyWith } from '../../../devnet/runToEnd.ts';
import { freePort } from '../../../src/db/embedded/freePort.ts';
import { signToken } from '../../../src/identity/tokens.ts';
import type { Role } from '../../../src/identity/roles.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { pathOf } from '../../support/run/programs.ts';

export const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));
const AUTH_SECRET = 'the bearer secret of these tests is long enough';

/** Operations of the test itself, which make data for the examples to read. */
const SETUP = `
mutation CreateProject($input: CreateProjectInput!) { createProject(input: $input) { project { id } } }
query ProjectState($id: ID!) { node(id: $id) { ... on Project { state tokenAddress } } }
mutation BuyFor($input: PurchaseInput!) { purchase(input: $input) { purchase { id } } }
mutation RetireFor($input: RetireInput!) { retire(input: $input) { retirement { id state } } }
`;
/** The files with each example's operations, which the server trusts. */
const TRUSTED = [
  'web/src/graphql/persisted-documents.json',
  'relay/src/__generated__/queries.json',
  'python/project.graphql',
  'python/watch.graphql',
  'follower/follow.graphql',
];

export interface ServerProcess {
  url: string;
  folder: string;
  start(): Promise<void>;
  /** Ends the server at once, as a crash does. */
  kill(): Promise<void>;
  tokenFor(role: Role, subject: string): Promise<string>;
  /** Sends one of the operations of SETUP. */
  send<T>(operationName: string, variables: object, token: string): Promise<T>;
  remove(): Promise<void>;
}

export async function prepareServer(): Promise<ServerProcess> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'examples-'));
  const documents = join(folder, 'documents');
  await mkdir(documents);
  await writeFile(join(documents, 'setup.graphql'), SETUP);
  for (const path of TRUSTED) await cp(join(EXAMPLES, path), join(documents, path.replaceAll('/', '-')));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/graphql`;
  let child: ChildProcess | null = null;
  const kill = async () => {
    if (child === null || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  return {
    url,
    folder,
    async start() {
      child = spawn(process.execPath, [pathOf('src/main.ts')], {
        env: onlyWith({
          HOME: folder,
          DATA_DIR: folder,
          DATABASE_URL: database.url,
          PORT: String(port),
          AUTH_SECRETS: AUTH_SECRET,
          DOCUMENTS: 'trusted',
          TRUSTED_DOCUMENTS: documents,
          LOG_LEVEL: 'warn',
        }),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'close').then(() => Promise.reject(new Error('the server has ended')));
      ended.catch(() => undefined);
      let output = '';
      const isUp = new Promise<void>((resolve) => {
        child?.stdout?.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          if (output.includes('GraphiQL in a browser')) resolve();
        });
      });
      await Promise.race([isUp, ended]);
    },
    kill,
    tokenFor: (role, subject) =>
      signToken({
        secret: AUTH_SECRET,
        issuer: 'asset-token-marketplace',
        audience: 'asset-token-marketplace',
        subject,
        roles: [role],
        expiresInSeconds: 3600,
        now: systemClock.now,
      }),
    async send<T>(operationName: string, variables: object, token: string) {
      const operation = SETUP.split('\n').find((line) => line.includes(` ${operationName}(`));
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: operation, variables }),
      });
      const { data, errors } = (await response.json()) as { data: T; errors?: unknown };
      if (errors !== undefined) throw new Error(JSON.stringify(errors));
      return data;
    },
    async remove() {
      await kill();
      await database.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
