/**
 * Compiles the contracts in `contracts/` with solc from npm. That takes seconds, so the result is cached in
 * node_modules/.cache until a source, a library or the compiler changes.
 */
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { size, type Abi, type Hex } from 'viem';

interface CompiledContract {
  abi: Abi;
  /** The code that runs the constructor. */
  bytecode: Hex;
  /** The code at the address after the deployment, without immutables. */
  deployedBytecode: Hex;
}

type CompiledContracts = Readonly<Record<ContractName, CompiledContract>>;

const SOURCES = fileURLToPath(new URL('contracts/', import.meta.url));
const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const CONTRACT_NAMES = [
  'TokenFactory',
  'CarbonCreditToken',
  'CommodityReceiptToken',
  'RampSettlement',
  'RampSettlementFactory',
  'Multicall3',
] as const;
export type ContractName = (typeof CONTRACT_NAMES)[number];
/** The limit of real chains (EIP-170). */
const MAX_DEPLOYED_BYTES = 24_576;
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  // Chains in use have supported it for years; newer instructions would need the newest nodes.
  evmVersion: 'cancun',
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
};

const require = createRequire(import.meta.url);
let compiled: Promise<CompiledContracts> | null = null;

/** Compiles once per process. @throws Error with the compiler's messages */
export function compileContracts(): Promise<CompiledContracts> {
  compiled ??= readOrCompile();
  return compiled;
}

async function readOrCompile(): Promise<CompiledContracts> {
  const sources = await readSources();
  const key = createHash('sha256')
    .update(JSON.stringify([sources, SETTINGS, versionOf('solc'), versionOf('@openzeppelin/contracts')]))
    .digest('hex');
  const fileName = `evm-contracts-${key.slice(0, 32)}.json`;
  const folders = [join(PROJECT, 'node_modules/.cache'), tmpdir()];
  for (const folder of folders) {
    const text = await readFile(join(folder, fileName), 'utf8').catch(() => null);
    if (text !== null) return JSON.parse(text) as CompiledContracts;
  }
  const contracts = await compile(sources);
  for (const folder of folders) {
    if (await keep(folder, fileName, contracts)) break;
  }
  return contracts;
}

async function readSources(): Promise<Record<string, { content: string }>> {
  const names = (await readdir(SOURCES)).filter((name) => name.endsWith('.sol')).sort();
  const read = async (name: string) =>
    [name, { content: await readFile(join(SOURCES, name), 'utf8') }] as const;
  return Object.fromEntries(await Promise.all(names.map(read)));
}

function versionOf(name: string): string {
  return (require(`${name}/package.json`) as { version: string }).version;
}

interface CompilerOutput {
  errors?: { severity: string; formattedMessage: string }[];
  contracts: Record<string, Record<string, CompilerContract>>;
}

interface CompilerContract {
  abi: Abi;
  evm: { bytecode: { object: string }; deployedBytecode: { object: string } };
}

async function compile(sources: Record<string, { content: string }>): Promise<CompiledContracts> {
  // Loading solc takes a second.
  const { default: solc } = await import('solc');
  const input = { language: 'Solidity', sources, settings: SETTINGS };
  const answer: unknown = solc.compile(JSON.stringify(input), { import: readLibrary });
  const output = JSON.parse(String(answer)) as CompilerOutput;
  const problems = (output.errors ?? []).filter(({ severity }) => severity !== 'info');
  if (problems.length > 0) throw new Error(problems.map((problem) => problem.formattedMessage).join('\n'));
  return Object.fromEntries(CONTRACT_NAMES.map((name) => [name, pick(output, name)])) as CompiledContracts;
}

function readLibrary(path: string): { contents: string } | { error: string } {
  try {
    return { contents: readFileSync(require.resolve(path), 'utf8') };
  } catch (error) {
    return { error: `${path} is not in node_modules: ${String(error)}` };
  }
}

function pick(output: CompilerOutput, name: ContractName): CompiledContract {
  const found = output.contracts[`${name}.sol`]?.[name];
  if (!found) throw new Error(`contracts/${name}.sol has no contract ${name}`);
  const deployedBytecode: Hex = `0x${found.evm.deployedBytecode.object}`;
  const bytes = size(deployedBytecode);
  if (bytes > MAX_DEPLOYED_BYTES) {
    throw new Error(`${name} has ${bytes} bytes of code; chains take ${MAX_DEPLOYED_BYTES}`);
  }
  return { abi: found.abi, bytecode: `0x${found.evm.bytecode.object}`, deployedBytecode };
}

/**
 * Writes a temporary file and renames it, because other processes compile at the same time.
 * @returns false when the folder can't be used
 */
async function keep(folder: string, fileName: string, contracts: CompiledContracts): Promise<boolean> {
  const aside = join(folder, `${fileName}.${randomUUID()}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(aside, JSON.stringify(contracts));
    await rename(aside, join(folder, fileName));
    return true;
  } catch {
    return false;
  }
}
