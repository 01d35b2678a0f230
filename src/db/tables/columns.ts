/**
 * Column types that Drizzle lacks, or maps with a loss.
 */
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core';

/** Integers beyond 64 bits as `numeric(39,0)`, transferred as text, so that no digit is lost in a float. */
export const bigNumeric = integersAs('numeric(39, 0)');

/** Sums of such integers, without a limit, so that no amount in a holder's record can make a sum fail. */
export const sumNumeric = integersAs('numeric');

function integersAs(type: string) {
  return customType<{ data: bigint; driverData: string }>({
    dataType: () => type,
    toDriver: String,
    fromDriver: BigInt,
  });
}

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => 'bytea',
});

/** Whole seconds since 1970, as networks and their tokens have times. */
export const unixSeconds = (name: string) => bigint(name, { mode: 'bigint' });

/** A timestamp with time zone: microseconds in the database, a Date in the program. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
