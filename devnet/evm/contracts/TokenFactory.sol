// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {TokenTerms} from "./AssetToken.sol";
import {CarbonCreditMetadata, CarbonCreditToken} from "./CarbonCreditToken.sol";
import {CommodityMetadata, CommodityReceiptToken} from "./CommodityReceiptToken.sol";

/// Creates tokens, each behind its own proxy. It accepts every asset id, also one of an earlier token.
contract TokenFactory is Ownable {
    uint8 private constant COMMODITY_RECEIPT = 1;
    uint8 private constant CARBON_CREDIT = 4;

    address private immutable carbonCreditImplementation;
    address private immutable commodityReceiptImplementation;
    /// The exact value that a deployment must send.
    uint256 public deploymentFee;

    event TokenDeployed(
        uint8 indexed template,
        address indexed tokenAddress,
        address indexed deployer,
        bytes32 assetId,
        string countryCode,
        uint256 timestamp
    );

    error WrongDeploymentFee(uint256 required, uint256 sent);

    constructor(address carbonCredit, address commodityReceipt) Ownable(msg.sender) {
        carbonCreditImplementation = carbonCredit;
        commodityReceiptImplementation = commodityReceipt;
    }

    modifier paid() {
        if (msg.value != deploymentFee) revert WrongDeploymentFee(deploymentFee, msg.value);
        _;
    }

    function setDeploymentFee(uint256 fee) external onlyOwner {
        deploymentFee = fee;
    }

    function deployCarbonCreditToken(
        string calldata name,
        string calldata symbol,
        bytes32 assetId,
        string calldata country,
        address admin,
        address verifier,
        CarbonCreditMetadata calldata metadata
    ) external payable paid returns (address) {
        TokenTerms memory terms = TokenTerms(name, symbol, assetId, country, admin, verifier);
        bytes memory start = abi.encodeCall(CarbonCreditToken.initialize, (terms, metadata));
        return deploy(CARBON_CREDIT, carbonCreditImplementation, terms, start);
    }

    function deployCommodityReceiptToken(
        string calldata name,
        string calldata symbol,
        bytes32 assetId,
        string calldata country,
        address admin,
        address verifier,
        CommodityMetadata calldata metadata
    ) external payable paid returns (address) {
        TokenTerms memory terms = TokenTerms(name, symbol, assetId, country, admin, verifier);
        bytes memory start = abi.encodeCall(CommodityReceiptToken.initialize, (terms, metadata));
        return deploy(COMMODITY_RECEIPT, commodityReceiptImplementation, terms, start);
    }

    function deploy(
        uint8 template,
        address implementation,
        TokenTerms memory terms,
        bytes memory start
    ) private returns (address token) {
        token = address(new ERC1967Proxy(implementation, start));
        emit TokenDeployed(template, token, msg.sender, terms.assetId, terms.country, block.timestamp);
    }
}
