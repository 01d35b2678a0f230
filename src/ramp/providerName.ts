/**
 * The name of the manual provider in the sessions that were opened at it. Any other name is an HTTP provider's,
 * from RAMP_NAME.
 */
export const MANUAL_PROVIDER = 'manual';
