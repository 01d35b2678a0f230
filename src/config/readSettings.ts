/**
 * The settings as they were read, for the rules that compare several of them.
 */
import type * as z from 'zod';
import type { SETTINGS, SettingName } from './settings.ts';

export type Values = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };

export interface ReadSettings {
  /** Lacks settings that break their own rule, because those are reported already. */
  values: Partial<Values>;
  isGiven: (name: SettingName) => boolean;
  isProduction: boolean;
}
