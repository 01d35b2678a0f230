/**
 * Reads an option that is a number of days.
 */
import { InvalidArgumentError } from 'commander';

/** A century: dates that are some hundred thousand years away can't be computed. */
const MAX_DAYS = 36_500;

/** @param least the smallest number that the option takes */
export function wholeDays(least: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number >= least && number <= MAX_DAYS) return number;
    throw new InvalidArgumentError(`Use a whole number from ${least} to ${MAX_DAYS}.`);
  };
}
