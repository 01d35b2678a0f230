/**
 * Completes package-lock.json with the optional packages of other platforms that npm left out of it.
 *
 * `npm install` drops an optional package in silence when its registry does not have that version, `npm ci` counts it
 * and fails. An entry with a version and a platform, without address or hash, satisfies both: npm skips it where the
 * platform differs and asks the registry where it does not. Run it after each change of the dependencies:
 *
 *   node scripts/completeLock.mjs [lock file]           writes what is missing
 *   node scripts/completeLock.mjs [lock file] --check   exits with 1 when something is missing
 *
 * It asks no registry: what is missing is what a registry does not have, so the platform is read from the name.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const OPERATING_SYSTEMS = {
  aix: 'aix',
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  netbsd: 'netbsd',
  openbsd: 'openbsd',
  openharmony: 'openharmony',
  sunos: 'sunos',
  win32: 'win32',
  windows: 'win32',
};
const PROCESSORS = {
  amd64: 'x64',
  arm: 'arm',
  arm64: 'arm64',
  ia32: 'ia32',
  loong64: 'loong64',
  mips64el: 'mips64el',
  ppc64: 'ppc64',
  riscv64: 'riscv64',
  s390x: 's390x',
  wasm32: 'wasm32',
  x64: 'x64',
};
const IS_EXACT = /^\d+\.\d+\.\d+(-|$)/;
const LIBRARIES = { gnu: 'glibc', musl: 'musl' };

/**
 * The platform that a package names itself after, in npm's words, e.g. "@oxlint/binding-linux-x64-musl".
 * Null for a package that names none.
 */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const oneOf = (table) => table[words.findLast((word) => Object.hasOwn(table, word))];
  const os = oneOf(OPERATING_SYSTEMS);
  const cpu = oneOf(PROCESSORS);
  if (os === undefined || cpu === undefined) return null;
  // Only on Linux is there a choice of C library to name.
  const libc = os === 'linux' ? oneOf(LIBRARIES) : undefined;
  return { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
}

/** The optional dependencies that a lock names and has no entry for: `{ path, name, version, isDev }`. */
function missingOptionals({ packages }) {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {}, dev: isDev = false }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => !isFound(packages, parent, name, version))
      .map(([name, version]) => ({ path: besideOf(parent, name), name, version, isDev })),
  );
}

/** Where npm puts what no other package asks for in another version. */
const besideOf = (parent, name) =>
  `${parent.slice(0, parent.lastIndexOf('node_modules/'))}node_modules/${name}`;

/** Node's way of looking up a package: within the one that asks, beside it, then further out. */
function isFound(packages, parent, name, version) {
  for (
    let folder = parent;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
  ) {
    const entry = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    // A range is left to npm, which chose the entry by it.
    if (entry !== undefined) return entry.version === version || !IS_EXACT.test(version);
    if (folder === '') return false;
  }
}

/** The lock with an entry for each missing package, in npm's order of packages and of fields. */
function complete(lock, missing) {
  const added = missing.map(({ path, name, version, isDev }) => {
    const { os, cpu, libc } = platformOf(name);
    return [path, { version, cpu, ...(isDev && { dev: true }), ...(libc && { libc }), optional: true, os }];
  });
  const packages = Object.entries(lock.packages)
    .concat(added)
    .sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...lock, packages: Object.fromEntries(packages) };
}

function main() {
  const { values: flags, positionals } = parseArgs({
    options: { check: { type: 'boolean' } },
    allowPositionals: true,
  });
  const [file = new URL('../package-lock.json', import.meta.url)] = positionals;
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const withHost = Object.keys(lock.packages).filter((path) =>
    /^https?:/.test(lock.packages[path].resolved ?? ''),
  );
  if (withHost.length > 0) {
    return fail(
      `The lock names the registry that it was written with, for ${withHost.join(', ')}. ` +
        'Delete "resolved" there; .npmrc (omit-lockfile-registry-resolved) keeps it out from then on.',
    );
  }
  const missing = missingOptionals(lock);
  const names = missing.map(({ name, version }) => `${name}@${version}`);
  if (names.length === 0) return;
  if (flags.check) {
    return fail(`The lock lacks ${names.join(', ')}, so "npm ci" fails. Run: npm run -s lock:complete`);
  }
  const unknown = missing.find(({ name, version }) => platformOf(name) === null || !IS_EXACT.test(version));
  if (unknown !== undefined) {
    return fail(
      `The lock lacks the optional package ${unknown.name}@${unknown.version}, and its name and version do not say ` +
        'what its entry has to be. Install where the registry has it, or choose a version of its parent that it has.',
    );
  }
  writeFileSync(file, `${JSON.stringify(complete(lock, missing), null, 2)}\n`);
  process.stdout.write(`Added to the lock: ${names.join(', ')}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}

main();
