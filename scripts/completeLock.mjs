/**
 * Completes package-lock.json with the optional packages of other platforms that npm left out of it.
 *
 * `npm install` silently drops an optional package when its registry does not have that version, and `npm ci`
 * counts the package and fails. An entry with a version and a platform, without address or hash, satisfies
 * both: npm skips the entry when the platform differs, and asks the registry otherwise. Run this script after
 * each change of the dependencies:
 *
 *   node scripts/completeLock.mjs [lock file]           writes the missing entries
 *   node scripts/completeLock.mjs [lock file] --check   exits with 1 when an entry is missing
 *
 * The script asks no registry, because the missing packages are those that a registry does not have. It reads
 * the platform from the package's name.
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
 * Returns the platform in a package's name, in npm's words, e.g. of "@oxlint/binding-linux-x64-musl". Null
 * when the name contains none.
 */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const oneOf = (table) => table[words.findLast((word) => Object.hasOwn(table, word))];
  const os = oneOf(OPERATING_SYSTEMS);
  const cpu = oneOf(PROCESSORS);
  if (os === undefined || cpu === undefined) return null;
  // Only Linux packages name a C library.
  const libc = os === 'linux' ? oneOf(LIBRARIES) : undefined;
  return { os: [os], cpu: [cpu], ...(libc === undefined ? {} : { libc: [libc] }) };
}

/**
 * Returns the optional dependencies that the lock names without an entry: `{ path, name, version, isDev }`.
 */
function missingOptionals({ packages }) {
  return Object.entries(packages).flatMap(([parent, { optionalDependencies = {}, dev: isDev = false }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, version]) => !isFound(packages, parent, name, version))
      .map(([name, version]) => ({ path: besideOf(parent, name), name, version, isDev })),
  );
}

/** npm's path for a package that no other package needs in another version. */
const besideOf = (parent, name) =>
  `${parent.slice(0, parent.lastIndexOf('node_modules/'))}node_modules/${name}`;

/** Looks a package up as Node does: within the package that asks, beside it, then further out. */
function isFound(packages, parent, name, version) {
  for (
    let folder = parent;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))
  ) {
    const entry = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`];
    // A range counts as found, because npm chose the entry by the range.
    if (entry !== undefined) return entry.version === version || !IS_EXACT.test(version);
    if (folder === '') return false;
  }
}

/** Returns the lock with an entry for each missing package, in npm's order of packages and of fields. */
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
