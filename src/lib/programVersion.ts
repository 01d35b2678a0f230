/**
 * The program's version: the version in package.json and, if the build knows it, the commit. Rows that the
 * program writes name it.
 */
import { readFileSync } from 'node:fs';

// The build puts the commit here (scripts/build.mjs).
const commit = process.env['BUILD_COMMIT'];
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

export const PROGRAM_VERSION = commit ? `${version}+${commit}` : version;
