/**
 * Until the first release (`npm run db:release`) each database has two migrations: its tables, generated from
 * the Drizzle schema, and its rules, written by hand. `npm run db:generate` rewrites the first and keeps the
 * second. After the release, when installations exist, it appends a migration with the changes to the
 * database that the first argument names. The other arguments go to drizzle-kit, which asks whether a column
 * was renamed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const DATABASES = [
  { folder: 'drizzle/platform', config: 'drizzle.config.ts' },
  { folder: 'drizzle/embedded-network', config: 'drizzle.embedded-network.config.ts' },
];
/** Fixed, so that a rewrite changes only what differs. */
const WRITTEN_AT = { '0000_tables': 1_795_000_000_000, '0001_rules': 1_795_000_000_001 };

if (existsSync('migrations.released.json')) append(process.argv[2], process.argv.slice(3));
else DATABASES.forEach(rewrite);

function append(name, options) {
  const database = DATABASES.find(({ folder }) => folder === `drizzle/${name}`);
  if (!database) {
    const names = DATABASES.map(({ folder }) => folder.slice('drizzle/'.length)).join(' or ');
    console.error(`Name the database: npm run db:generate -- ${names} --name what_it_does`);
    process.exit(1);
  }
  generate(database.config, options, 'inherit');
}

function rewrite({ folder, config }) {
  const rules = readFileSync(`${folder}/0001_rules.sql`, 'utf8');
  rmSync(folder, { recursive: true });
  generate(config, ['--name', 'tables']);
  generate(config, ['--name', 'rules', '--custom']);
  writeFileSync(`${folder}/0001_rules.sql`, rules);
  const journalPath = `${folder}/meta/_journal.json`;
  const journal = JSON.parse(readFileSync(journalPath, 'utf8'));
  for (const entry of journal.entries) entry.when = WRITTEN_AT[entry.tag];
  writeFileSync(journalPath, `${JSON.stringify(journal, null, 2)}\n`);
  fixIdentity(folder);
}

/** drizzle-kit gives each snapshot a random id, which its check only compares between snapshots. */
function fixIdentity(folder) {
  const ids = ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'];
  for (const [at, id] of ids.entries()) {
    const path = `${folder}/meta/000${at}_snapshot.json`;
    const snapshot = JSON.parse(readFileSync(path, 'utf8'));
    if (at === 1) snapshot.prevId = ids[0];
    writeFileSync(path, `${JSON.stringify({ ...snapshot, id }, null, 2)}\n`);
  }
}

function generate(config, options, stdio = ['ignore', 'ignore', 'inherit']) {
  execFileSync('node_modules/.bin/drizzle-kit', ['generate', '--config', config, ...options], { stdio });
}
