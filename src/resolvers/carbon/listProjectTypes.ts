/**
 * projectTypes, creditTypes: what kinds of projects and of credits there are.
 */
import { readNames } from '../../db/distinctNames.ts';
import { projects } from '../../db/tables/index.ts';
import type { Needs } from '../core/dependencies.ts';

export function listProjectTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.projectType);
}

export function listCreditTypes({ db }: Needs<'db'>): Promise<string[]> {
  return readNames(db, projects, projects.creditType);
}
