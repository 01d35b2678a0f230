/**
 * The metadata structs of the two token templates, by field and type.
 */
import type { xdr } from '@stellar/stellar-sdk';
import type { CarbonCreditMetadata, CommodityMetadata } from '../../../../src/ledger/network/port.ts';
import { asBytes32, asI128, asString, asStruct, asU32, asU64, fieldsOf, struct, u64 } from '../values.ts';

const CARBON_FIELDS = [
  'credit_type',
  'verification_body_ref',
  'vintage_year',
  'quantity_co2e',
  'project_location',
  'project_type',
  'verification_doc_hash',
  'last_updated',
] as const;

const COMMODITY_FIELDS = [
  'commodity_type',
  'quantity_kg',
  'grade_classification',
  'warehouse_id',
  'warehouse_location',
  'deposit_date',
  'expiry_date',
  'inspection_report_hash',
  'valuation_usd',
  'harvest_season',
  'last_updated',
] as const;

export function asCarbonMetadata(value: xdr.ScVal): CarbonCreditMetadata {
  const fields = asStruct(value, CARBON_FIELDS);
  return {
    creditType: asString(fields.credit_type),
    verificationBodyRef: asString(fields.verification_body_ref),
    vintageYear: asU32(fields.vintage_year),
    quantityCO2e: asI128(fields.quantity_co2e),
    projectLocation: asString(fields.project_location),
    projectType: asString(fields.project_type),
    verificationDocHash: asBytes32(fields.verification_doc_hash),
    lastUpdated: asU64(fields.last_updated),
  };
}

export function asCommodityMetadata(value: xdr.ScVal): CommodityMetadata {
  const fields = asStruct(value, COMMODITY_FIELDS);
  return {
    commodityType: asString(fields.commodity_type),
    quantityKg: asI128(fields.quantity_kg),
    gradeClassification: asString(fields.grade_classification),
    warehouseId: asString(fields.warehouse_id),
    warehouseLocation: asString(fields.warehouse_location),
    depositDate: asU64(fields.deposit_date),
    expiryDate: asU64(fields.expiry_date),
    inspectionReportHash: asBytes32(fields.inspection_report_hash),
    valuationUSD: asI128(fields.valuation_usd),
    harvestSeason: asString(fields.harvest_season),
    lastUpdated: asU64(fields.last_updated),
  };
}

/** As the contract stores it: it sets the time of the last update itself. */
export function storedMetadata(value: xdr.ScVal, updatedAt: bigint): xdr.ScVal {
  return struct({ ...Object.fromEntries(fieldsOf(value)), last_updated: u64(updatedAt) });
}
