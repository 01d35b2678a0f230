/**
 * The settings as they were read, for the rules that look at several of them.
 */
import type * as z from 'zod';
import type { SETTINGS, SettingName } from './settings.ts';

export type Values = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };

export interface ReadSettings {
  /** A setting that breaks its own rule was named already, and is not here. */
  values: Partial<Values>;
  isGiven: (name: SettingName) => boolean;
  isProduction: boolean;
}
