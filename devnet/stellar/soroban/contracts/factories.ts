/**
 * The two factories: one deploys tokens, the other settlement contracts.
 */
import type { xdr } from '@stellar/stellar-sdk';
import { deployedAddress, hashText } from '../../../../src/ledger/network/embedded/addresses.ts';
import type { Invocation } from '../../../../src/ledger/network/embedded/calls.ts';
import type { CodeLibrary, ContractCode, ContractFunction, Env } from '../host.ts';
import {
  address,
  asAddress,
  asBytes32,
  asI128,
  asOptionalAddress,
  asString,
  bytes32,
  i128,
  string,
  symbol,
  variant,
  vec,
} from '../values.ts';
import { readInstance, readPersistent, writeInstance, writePersistent } from './contractStorage.ts';
import { asCarbonMetadata, asCommodityMetadata, storedMetadata } from './metadata.ts';
import { runRule } from './rules.ts';
import { argument, reading } from './tokens.ts';
import { keys } from './world.ts';

const DEPLOYMENT_FEE = variant('DeploymentFee');
const FEE_RECIPIENT = variant('FeeRecipient');

/** What all deploys begin with. */
interface Deploy {
  deployer: string;
  paymentToken: string;
  salt: string;
}

export function factoryCodes(library: CodeLibrary): {
  tokenFactory: ContractCode;
  settlementFactory: ContractCode;
} {
  const fee = reading(0, (env) => readInstance(env, env.contract)?.get(DEPLOYMENT_FEE) ?? i128(0n));
  return {
    tokenFactory: {
      deployment_fee: fee,
      deploy_carbon_credit_token: tokenDeploy(library, 'deployCarbonCredit'),
      deploy_commodity_receipt_token: tokenDeploy(library, 'deployCommodityReceipt'),
      ...deployedLists('AllDeployedTokens', 'DeployerTokens', 'all_deployed_tokens', 'get_deployer_tokens'),
    },
    settlementFactory: {
      deployment_fee: fee,
      deploy_ramp_settlement: settlementDeploy(library),
      ...deployedLists(
        'AllDeployed',
        'DeployerSettlements',
        'all_deployed_settlements',
        'get_deployer_settlements',
      ),
    },
  };
}

/** For the network's beginning. */
export function factoryInstanceValues(feeRecipient: string, fee: bigint) {
  return [
    { key: variant('Owner'), val: address(feeRecipient) },
    { key: FEE_RECIPIENT, val: address(feeRecipient) },
    { key: DEPLOYMENT_FEE, val: i128(fee) },
  ];
}

function tokenDeploy(
  library: CodeLibrary,
  kind: 'deployCarbonCredit' | 'deployCommodityReceipt',
): ContractFunction {
  return {
    arity: 10,
    run(env, args) {
      const [, , , name, symbolText, assetId, countryCode, admin, verifier, metadata] = args;
      const deploy = beginDeploy(env, args);
      asOptionalAddress(argument(verifier));
      const asset = { id: asBytes32(argument(assetId)), countryCode: asString(argument(countryCode)) };
      const texts = { name: asString(argument(name)), symbol: asString(argument(symbolText)) };
      // The rules hash a readable asset id; here the caller gives the hash, which stands in for the text.
      const common = { salt: deploy.salt, ...texts, assetId: asset.id, countryCode: asset.countryCode };
      const call: Invocation =
        kind === 'deployCarbonCredit'
          ? { kind, ...common, metadata: asCarbonMetadata(argument(metadata)) }
          : { kind, ...common, metadata: asCommodityMetadata(argument(metadata)) };
      const made = env.addressOf(saltBytes(deploy.salt));
      runRule(
        { env, library },
        {
          call,
          source: deploy.deployer,
          admin: asAddress(argument(admin)),
          aliases: new Map([aliasOfDeployed(env, deploy, made), [hashText(asset.id), asset.id]]),
          deploy: (template) => void env.deploy(saltBytes(deploy.salt), template),
          errors: {},
        },
      );
      const stored = storedMetadata(argument(metadata), env.ledger.closedAt);
      writePersistent(env, made, keys.metadata, stored);
      recordDeployed(env, deploy, made, 'AllDeployedTokens', 'DeployerTokens');
      const template = kind === 'deployCarbonCredit' ? 'CarbonCredit' : 'CommodityReceipt';
      env.publish(
        [symbol('deployed'), variant(template)],
        vec([address(made), address(deploy.deployer), bytes32(asset.id), string(asset.countryCode)]),
      );
      return address(made);
    },
  };
}

function settlementDeploy(library: CodeLibrary): ContractFunction {
  return {
    arity: 5,
    run(env, args) {
      const deploy = beginDeploy(env, args);
      const [admin, treasury] = [asAddress(argument(args[3])), asAddress(argument(args[4]))];
      const made = env.addressOf(saltBytes(deploy.salt));
      runRule(
        { env, library },
        {
          call: { kind: 'deployRampSettlement', salt: deploy.salt, treasury },
          source: deploy.deployer,
          admin,
          aliases: new Map([aliasOfDeployed(env, deploy, made)]),
          deploy: (kind) => void env.deploy(saltBytes(deploy.salt), kind),
          errors: {},
        },
      );
      recordDeployed(env, deploy, made, 'AllDeployed', 'DeployerSettlements');
      env.publish(
        [symbol('deployed')],
        vec([address(made), address(deploy.deployer), address(admin), address(treasury)]),
      );
      return address(made);
    },
  };
}

function beginDeploy(env: Env, args: readonly xdr.ScVal[]): Deploy {
  const deploy = {
    deployer: asAddress(argument(args[0])),
    paymentToken: asAddress(argument(args[1])),
    salt: asBytes32(argument(args[2])),
  };
  env.requireAuth(deploy.deployer);
  const instance = readInstance(env, env.contract);
  const fee = asI128(instance?.get(DEPLOYMENT_FEE) ?? i128(0n));
  if (fee > 0n) {
    const recipient = argument(instance?.get(FEE_RECIPIENT) ?? undefined);
    env.call(deploy.paymentToken, 'transfer', [address(deploy.deployer), recipient, i128(fee)]);
  }
  return deploy;
}

function aliasOfDeployed(env: Env, deploy: Deploy, made: string): [string, string] {
  return [deployedAddress(env.ledger.passphrase, env.contract, deploy.salt), made];
}

function recordDeployed(env: Env, deploy: Deploy, made: string, all: string, own: string): void {
  const listed = readInstance(env, env.contract)?.get(variant(all))?.vec() ?? [];
  writeInstance(env, env.contract, [{ key: variant(all), val: vec([...listed, address(made)]) }]);
  const key = variant(own, address(deploy.deployer));
  const mine = readPersistent(env, env.contract, key)?.vec() ?? [];
  writePersistent(env, env.contract, key, vec([...mine, address(made)]));
}

function deployedLists(all: string, own: string, allName: string, ownName: string): ContractCode {
  return {
    [allName]: reading(0, (env) => readInstance(env, env.contract)?.get(variant(all)) ?? vec([])),
    [ownName]: reading(1, (env, [deployer]) => {
      const key = variant(own, address(asAddress(argument(deployer))));
      return readPersistent(env, env.contract, key) ?? vec([]);
    }),
  };
}

function saltBytes(salt: string): Buffer {
  return Buffer.from(salt.slice(2), 'hex');
}
