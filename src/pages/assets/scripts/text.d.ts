export function shown(text: string, max: number): string;
export function shownName(name: string, max: number): string;
export function grouped(decimal: string): string;
export function isoOf(unixSeconds: number): string;
export function dateOf(unixSeconds: number): string;
export function timeOf(unixSeconds: number): string;
