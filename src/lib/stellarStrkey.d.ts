/** The one file of the Stellar SDK that strkey.ts loads; the SDK declares types only for the whole. */
declare module '@stellar/stellar-base/lib/strkey.js' {
  export { StrKey } from '@stellar/stellar-base';
}
