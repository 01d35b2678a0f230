// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AssetToken, TokenTerms} from "./AssetToken.sol";

struct CommodityMetadata {
    string commodityType;
    uint256 quantityKg;
    string gradeClassification;
    string warehouseId;
    string warehouseLocation;
    uint256 depositDate;
    uint256 expiryDate;
    bytes32 inspectionReportHash;
    uint256 valuationUSD;
    string harvestSeason;
    uint256 lastUpdated;
}

/// Kilograms of a commodity in a warehouse, until an expiry date.
///
///   Draft ──markExpired, block time past the expiry date──▶ Expired
///
/// An expired receipt can still be transferred, because a receipt in custody must be able to settle.
contract CommodityReceiptToken is AssetToken {
    enum AssetStatus {
        Draft,
        Active,
        Suspended,
        Redeemed,
        Expired
    }

    CommodityMetadata private metadata;
    AssetStatus public status;

    event AssetExpired(uint256 timestamp);

    error NotExpired();

    function initialize(TokenTerms calldata terms, CommodityMetadata calldata given) external initializer {
        initializeAsset(terms);
        metadata = given;
    }

    function isExpired() public view returns (bool) {
        return block.timestamp > metadata.expiryDate;
    }

    function markExpired() external onlyRole(MANAGER_ROLE) {
        if (status == AssetStatus.Expired) revert InvalidStatus();
        if (!isExpired()) revert NotExpired();
        status = AssetStatus.Expired;
        emit AssetExpired(block.timestamp);
    }

    function getMetadata() external view returns (CommodityMetadata memory) {
        return metadata;
    }
}
