// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AssetToken, TokenTerms} from "./AssetToken.sol";

struct CarbonCreditMetadata {
    string creditType;
    string verificationBodyRef;
    uint256 vintageYear;
    uint256 quantityCO2e;
    string projectLocation;
    string projectType;
    bytes32 verificationDocHash;
    uint256 lastUpdated;
}

struct RetirementRecord {
    address retiredBy;
    uint256 amount;
    uint256 timestamp;
    string beneficiary;
    string retirementNote;
}

/// Tonnes of CO2e. A holder can retire them for good, and a record of each retirement stays.
contract CarbonCreditToken is AssetToken {
    CarbonCreditMetadata private metadata;
    RetirementRecord[] private retirements;
    uint256 public totalRetired;

    event CreditsRetired(
        address indexed retiredBy,
        uint256 amount,
        string beneficiary,
        uint256 retirementIndex,
        uint256 timestamp
    );

    error ZeroRetirementAmount();
    error InsufficientBalance(uint256 available, uint256 requested);
    error RetirementNotFound(uint256 index);

    function initialize(TokenTerms calldata terms, CarbonCreditMetadata calldata given) external initializer {
        initializeAsset(terms);
        metadata = given;
    }

    function retire(uint256 amount, string calldata beneficiary, string calldata note) external whenNotPaused {
        if (amount == 0) revert ZeroRetirementAmount();
        uint256 available = balanceOf(msg.sender);
        if (available < amount) revert InsufficientBalance(available, amount);
        _burn(msg.sender, amount);
        totalRetired += amount;
        uint256 index = retirements.length;
        retirements.push(RetirementRecord(msg.sender, amount, block.timestamp, beneficiary, note));
        emit CreditsRetired(msg.sender, amount, beneficiary, index, block.timestamp);
    }

    function totalRetirements() external view returns (uint256) {
        return retirements.length;
    }

    function getRetirement(uint256 index) external view returns (RetirementRecord memory) {
        if (index >= retirements.length) revert RetirementNotFound(index);
        return retirements[index];
    }

    function getMetadata() external view returns (CarbonCreditMetadata memory) {
        return metadata;
    }
}
