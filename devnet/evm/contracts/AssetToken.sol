// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AccessControl} from "@openzeppelin/contracts/access/AccessControl.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {UUPSUpgradeable} from "@openzeppelin/contracts/proxy/utils/UUPSUpgradeable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Pausable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Pausable.sol";

/// The arguments of a factory that every token has, whatever its template.
struct TokenTerms {
    string name;
    string symbol;
    bytes32 assetId;
    string country;
    address admin;
    address verifier;
}

/// The common part of both tokens: ERC-20 with roles and a pause, behind a UUPS proxy.
///
/// A proxy never runs a constructor, so this contract keeps the name and the symbol, which OpenZeppelin's
/// ERC20 sets in its constructor. No other base contract sets anything in a constructor.
abstract contract AssetToken is Initializable, ERC20Pausable, AccessControl, UUPSUpgradeable {
    bytes32 public constant MINTER_ROLE = keccak256("MINTER_ROLE");
    bytes32 public constant MANAGER_ROLE = keccak256("MANAGER_ROLE");
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");
    bytes32 public constant UPGRADER_ROLE = keccak256("UPGRADER_ROLE");
    bytes32 public constant VERIFIER_ROLE = keccak256("VERIFIER_ROLE");

    string private tokenName;
    string private tokenSymbol;
    bytes32 public assetId;
    string public countryCode;

    error ZeroAmount();
    error InvalidStatus();

    constructor() ERC20("", "") {
        _disableInitializers();
    }

    function initializeAsset(TokenTerms calldata terms) internal onlyInitializing {
        tokenName = terms.name;
        tokenSymbol = terms.symbol;
        assetId = terms.assetId;
        countryCode = terms.country;
        _grantRole(DEFAULT_ADMIN_ROLE, terms.admin);
        _grantRole(MINTER_ROLE, terms.admin);
        _grantRole(MANAGER_ROLE, terms.admin);
        _grantRole(PAUSER_ROLE, terms.admin);
        _grantRole(UPGRADER_ROLE, terms.admin);
        if (terms.verifier != address(0)) _grantRole(VERIFIER_ROLE, terms.verifier);
    }

    function name() public view override returns (string memory) {
        return tokenName;
    }

    function symbol() public view override returns (string memory) {
        return tokenSymbol;
    }

    function mint(address to, uint256 amount) external onlyRole(MINTER_ROLE) {
        if (amount == 0) revert ZeroAmount();
        _mint(to, amount);
    }

    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    function unpause() external onlyRole(PAUSER_ROLE) {
        _unpause();
    }

    function _authorizeUpgrade(address) internal override onlyRole(UPGRADER_ROLE) {}
}
