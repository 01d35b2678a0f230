/**
 * Amounts of the contract: `tonnes: t.expose('amountTonnes', tonnes('The purchased amount'))`.
 */

export function tonnes(what: string) {
  return { type: 'Tonnes', description: `${what}, in whole tonnes CO2e.` } as const;
}

export function kilograms(what: string) {
  return { type: 'Kilograms', description: `${what}, in whole kilograms.` } as const;
}

/** The ends of a filter's range: `minTonnes: t.field(atLeast('Tonnes', 'retirements of', 'tonnes CO2e'))`. */
export function atLeast(type: 'Tonnes' | 'Kilograms', what: string, unit: string) {
  return { type, description: `Only ${what} at least this many ${unit}.` };
}

export function atMost(type: 'Tonnes' | 'Kilograms', what: string, unit: string) {
  return { type, description: `Only ${what} at most this many ${unit}.` };
}
