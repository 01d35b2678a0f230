/**
 * Builds the files in built/ from the sources here, with cargo. `--check` builds them as well, and compares
 * instead of writing.
 *
 * Versions are exact: crates.json names each crate of either build with its version and checksum. The build
 * makes cargo's lock file from it, so the repository has none.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';

/** Another compiler makes other bytes from the same sources. */
const RUST = '1.95.0';
const here = import.meta.dirname;
/** Kept between builds: the first one takes minutes. */
const folder = process.env.SOROBAN_BUILD_DIR ?? join(tmpdir(), 'soroban-build');

const NODES = [26, 28].map((protocol) => ({
  name: `soroban-node-${protocol}.wasm`,
  workspace: 'node',
  target: 'wasm32-wasip1',
  crate: 'soroban-node',
  features: [`protocol-${protocol}`],
}));
const CONTRACTS = [
  ['carbon_credit', 'token', 'carbon-credit'],
  ['commodity_receipt', 'token', 'commodity-receipt'],
  ['token_factory', 'factory', 'tokens'],
  ['settlement_factory', 'factory', 'settlements'],
  ['ramp_settlement', 'settlement'],
  ['ramp_settlement_root_auth', 'settlement', 'root-auth'],
].map(([name, crate, ...features]) => ({
  name: `${name}.wasm`,
  workspace: 'contracts',
  target: 'wasm32v1-none',
  crate,
  features,
}));

const isCheck = process.argv.includes('--check');
const compiler = compilerVersion();
if (compiler !== RUST) {
  const found = compiler === null ? 'there is no Rust compiler' : `the Rust compiler is ${compiler}`;
  const message = `${found}, and the WebAssembly files are built with ${RUST}`;
  if (!isCheck) throw new Error(message);
  console.log(`Soroban: not rebuilt for comparison: ${message}.`);
  process.exit(0);
}
for (const workspace of ['node', 'contracts']) prepare(workspace);
const made = new Map([...NODES, ...CONTRACTS].map((one) => [one.name, build(one)]));
const sums = [...made].map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`).join('');
if (isCheck) compare(sums);
else write(made, sums);

function compilerVersion() {
  try {
    return execFileSync('rustc', ['--version'], { encoding: 'utf8', stdio: 'pipe' }).split(' ')[1] ?? null;
  } catch {
    return null;
  }
}

/** Copies the sources, and adds a lock file with the required versions. */
function prepare(workspace) {
  const to = join(folder, workspace);
  rmSync(to, { recursive: true, force: true });
  cpSync(join(here, workspace), to, { recursive: true });
  const lockFile = join(to, 'Cargo.lock');
  cargo(to, ['generate-lockfile', '--quiet']);
  // The lock file must name the registry that cargo is configured with.
  const source = /^source = .*$/m.exec(readFileSync(lockFile, 'utf8'))?.[0];
  const crates = JSON.parse(readFileSync(join(here, 'crates.json'), 'utf8'))[workspace];
  const packages = crates.map(
    ([name, version, checksum]) =>
      `[[package]]\nname = "${name}"\nversion = "${version}"\n${source}\nchecksum = "${checksum}"\n`,
  );
  writeFileSync(lockFile, ['version = 4\n', ...packages].join('\n'));
  cargo(to, ['metadata', '--quiet', '--format-version', '1']);
  const locked = lockedCrates(readFileSync(lockFile, 'utf8'));
  if (JSON.stringify(locked) === JSON.stringify(crates)) return;
  throw new Error(
    `cargo takes other crates for ${workspace} than crates.json names: ${JSON.stringify(locked)}`,
  );
}

function lockedCrates(text) {
  return text.split('[[package]]').flatMap((part) => {
    const field = (name) => new RegExp(`^${name} = "(.*)"$`, 'm').exec(part)?.[1];
    const checksum = field('checksum');
    return checksum === undefined ? [] : [[field('name'), field('version'), checksum]];
  });
}

function build({ workspace, target, crate, features }) {
  const from = join(folder, workspace);
  const args = ['build', '--quiet', '--locked', '--release', '--target', target, '--package', crate];
  cargo(from, [...args, ...features.flatMap((feature) => ['--features', feature])]);
  const file = `${crate.replaceAll('-', '_')}.wasm`;
  return readFileSync(join(folder, `${workspace}-target`, target, 'release', file));
}

function cargo(cwd, args) {
  const cargoHome = process.env.CARGO_HOME ?? join(homedir(), '.cargo');
  const env = {
    ...process.env,
    CARGO_TARGET_DIR: `${cwd}-target`,
    // Panics name their source files; this removes the folder of this machine from them.
    RUSTFLAGS: `--remap-path-prefix=${cargoHome}=/cargo`,
  };
  mkdirSync(folder, { recursive: true });
  execFileSync('cargo', args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
}

function write(made, sums) {
  const out = join(here, 'built');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out);
  for (const [name, bytes] of made) {
    const isLarge = NODES.some((node) => node.name === name);
    if (isLarge) writeFileSync(join(out, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    else writeFileSync(join(out, name), bytes);
  }
  writeFileSync(join(out, 'SHA256SUMS'), sums);
  console.log(sums);
}

function compare(sums) {
  const kept = readFileSync(join(here, 'built', 'SHA256SUMS'), 'utf8');
  if (kept !== sums) throw new Error(`The sources make other files than those of built/:\n${sums}`);
  for (const line of kept.trim().split('\n')) {
    const [sum, name] = line.split('  ');
    const file = join(here, 'built', name);
    const isLarge = NODES.some((node) => node.name === name);
    const bytes = isLarge ? gunzipSync(readFileSync(`${file}.gz`)) : readFileSync(file);
    if (sha256(bytes) !== sum) throw new Error(`built/${name} is another file than SHA256SUMS names`);
  }
  console.log(`Soroban: ${made.size} WebAssembly files are what the sources make.`);
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}
